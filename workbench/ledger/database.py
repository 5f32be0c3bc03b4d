"""A ledger opened for reading, for writing and to be copied."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from workbench.errors import WorkbenchError
from workbench.ledger.engine import (
    FRUGAL_MEMORY_MIB,
    MOST_READING_MEMORY_MIB,
    READING_MEMORY_MIB,
    Engine,
    connected,
    first_line,
    literal,
    machine_memory_mib,
)
from workbench.ledger.kinds import Writer, store_of
from workbench.ledger.schema import migrate
from workbench.ledger.store import LOCK_PATIENCE_S, Ledger

_SMALL_BYTES = 2**24
"""Some 50,000 calls: for up to that, two threads take a third more of the processors' time than one, and are done no earlier."""


@contextmanager
def opened_for_writing(
    ledger: Ledger,
    patience_s: float = LOCK_PATIENCE_S,
    engine: Engine | None = None,
    *,
    goes_on: bool = False,
    writer: Writer | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a ledger read-write at the newest schema, and make its file if missing; the exclusive lock must be held.

    Args:
        patience_s: How long to wait for a program that has the file open.
        engine: What opens it, if not one of its own.
        goes_on: Leave the engine running, without the ledger, for its next use; else it is stopped with all its memory.
        writer: For who writes in several steps; None: one of its own.

    Raises:
        LedgerBusyError: A process that ignores the lock (a notebook) has the file open.
    """
    store = store_of(ledger)
    if writer is None:
        with store.writing() as own, opened_for_writing(ledger, patience_s, engine, goes_on=goes_on, writer=own) as db:
            yield db
        return
    with (
        connected(engine or Engine(), patience_s, ledger.file, writer.attach, goes_on=goes_on) as db,
        store.explained(),
    ):
        db.execute("USE ledger")
        migrate(writer.transactions(db))
        writer.opened(db)
        yield db


@contextmanager
def attached(ledger: Ledger, patience_s: float = LOCK_PATIENCE_S, *, frugal: bool = False) -> Iterator[Engine]:
    """Yield an engine with a ledger attached read-only as `ledger`, if there is one; of a team's its newest state, which
    stays as it is whatever others write.

    Args:
        patience_s: How long to wait for a writer.
        frugal: Stay small rather than be fast.

    Raises:
        LedgerBusyError: A process that ignores the lock is writing it.
        InputError: The file is not a ledger.
    """
    store = store_of(ledger)
    engine = Engine(FRUGAL_MEMORY_MIB) if frugal else _engine_for(ledger.held_bytes)
    with connected(engine, patience_s, ledger.file, store.attach), store.explained():
        yield engine


def _engine_for(held_bytes: int | None) -> Engine:
    """Return what reads a ledger of that size fast."""
    if held_bytes is None:
        return Engine(READING_MEMORY_MIB, threads=None)
    if held_bytes <= _SMALL_BYTES:
        return Engine(READING_MEMORY_MIB)
    # what spills to the disk, or is begun again with more, takes thrice the time over ten million calls
    enough_mib = min(2 * held_bytes // 2**20, MOST_READING_MEMORY_MIB, machine_memory_mib() // 2)
    return Engine(max(READING_MEMORY_MIB, enough_mib), threads=None)


@contextmanager
def copied(ledger: Ledger, path: Path) -> Iterator[None]:
    """Write all that the DuckDB file holds, a user's own tables and views among it, to a new file without gaps.

    The ledger stays open meanwhile, so that no other program can write to it.

    Raises:
        WorkbenchError: It cannot be written, or does not hold everything.
    """
    with attached(ledger) as engine:
        try:
            while True:
                try:
                    _copy(engine, path)
                    break
                except duckdb.OutOfMemoryException:
                    engine.started().execute("ROLLBACK")  # the copy opens a transaction
                    engine.started().execute("DETACH fresh")
                    path.unlink(missing_ok=True)
                    if not engine.grow(machine_memory_mib()):
                        raise
        except duckdb.Error as error:
            raise WorkbenchError(f"{ledger.path} cannot be copied to {path}: {first_line(error)}") from error
        if _row_counts(engine.started(), "fresh") != _row_counts(engine.started(), "ledger"):
            raise WorkbenchError(f"the copy of {ledger.path} at {path} does not hold everything")
        yield


def _copy(engine: Engine, path: Path) -> None:
    db = engine.started()
    engine.attach(path, "fresh")
    db.execute("COPY FROM DATABASE ledger TO fresh")
    db.execute("CHECKPOINT fresh")  # a failure at closing is not reported
    db.execute("DETACH fresh")
    engine.attach(path, "fresh", read_only=True)


def _row_counts(db: duckdb.DuckDBPyConnection, database: str) -> list[tuple[str, str, int]]:
    tables = db.execute(
        f"SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = {literal(database)} ORDER BY ALL"  # noqa: S608
    ).fetchall()
    found = []
    for schema, table in tables:
        name = ".".join('"' + part.replace('"', '""') + '"' for part in (database, schema, table))
        counted = db.execute(f"SELECT count(*) FROM {name}").fetchone()  # noqa: S608 - quoted
        found.append((schema, table, counted[0] if counted else 0))
    return found
