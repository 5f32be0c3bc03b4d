"""The DuckDB file opened: with which schema, how much memory, and every value that goes into SQL."""

import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from workbench.errors import Fault, InputError, WorkbenchError
from workbench.ledger import duckdb
from workbench.ledger.store import LOCK_PATIENCE_S, POLL_S, Ledger, LedgerBusyError

INGEST_MEMORY_MIB = 256
"""What DuckDB may take in an ingest, beside the process's own memory; it spills to disk beyond."""
READING_MEMORY_MIB = 1024
MOST_READING_MEMORY_MIB = 4096
"""Where a query does not work with less: texts of hundreds of kilobytes are unpacked thousands at a time."""
FRUGAL_MEMORY_MIB = 40
"""What DuckDB begins with where a run reads its own answers; below it not even small joins work."""
_Config = dict[str, str | bool | int | float | list[str]]
_WRITING: _Config = {
    "memory_limit": f"{INGEST_MEMORY_MIB}MiB",
    "threads": 1,
}  # a run that goes on needs the other cores
_READING: _Config = {"memory_limit": f"{READING_MEMORY_MIB}MiB"}
_FRUGAL: _Config = {"memory_limit": f"{FRUGAL_MEMORY_MIB}MiB", "threads": 1}
_EVERYWHERE: _Config = {
    "python_enable_replacements": False,  # a table's name is never a variable of ours
    "temp_directory": tempfile.gettempdir(),  # not the working folder
}
_VIEWS = 0  # the "version" under which the digest of a file's views is kept, beside those of the migrations
_VIEW_NAMES = (
    "run_overview",
    "item_outcomes",
    "latest_scores",
    "pass_rates",
    "usage_by_day",
    "route_behaviour",
    "errors_by_kind",
)
_STORAGE_VERSION = "v1.5.0"  # a file that a newer DuckDB makes by default cannot be opened by an older one
_SQL = resources.files(__package__).joinpath("sql")


class Engine:
    """DuckDB without a file, started (in 10 to 20 ms) when it is first needed; one thread at a time uses it."""

    def __init__(self, config: _Config = _WRITING) -> None:
        self._config = config | _EVERYWHERE
        self._db: duckdb.DuckDBPyConnection | None = None

    def started(self) -> duckdb.DuckDBPyConnection:
        """The connection to an empty database in memory, to which files are attached."""
        if self._db is None:
            self._db = duckdb.connect(":memory:", config=self._config)
        return self._db

    def stop(self) -> None:
        """Close whatever is open; the next use starts afresh."""
        if self._db is not None:
            self._db.close()
            self._db = None


@contextmanager
def opened_for_writing(
    ledger: Ledger, patience_s: float = LOCK_PATIENCE_S, engine: Engine | None = None, *, goes_on: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the file read-write at the newest schema, and make it where it is not there; the exclusive lock must be held.

    Args:
        ledger: Which.
        patience_s: How long to wait for a program that has the file open.
        engine: What opens it, if not one of its own.
        goes_on: Leave the engine running, without the file, for its next use; else it is stopped with all its memory.

    Raises:
        LedgerBusyError: A process that knows nothing of the lock (a notebook) has the file open.
    """

    def attach(db: duckdb.DuckDBPyConnection) -> None:
        if not ledger.path.exists() or not ledger.path.stat().st_size:
            _make(db, ledger.path.resolve())
        db.execute(_attachment(ledger.path, "ledger"))

    with _connected(engine or Engine(), patience_s, ledger.path, attach, goes_on=goes_on) as db:
        db.execute("USE ledger")
        migrate(db)
        yield db


@contextmanager
def attached(
    ledger: Ledger, patience_s: float = LOCK_PATIENCE_S, *, frugal: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """An in-memory database with the file attached read-only as `ledger`, if there is one.

    Args:
        ledger: Which.
        patience_s: How long to wait for a writer.
        frugal: Stay small rather than be fast.

    Raises:
        LedgerBusyError: A process that knows nothing of the lock is writing it.
    """

    def attach(db: duckdb.DuckDBPyConnection) -> None:
        if ledger.path.exists():
            db.execute(f"ATTACH {literal(str(ledger.path))} AS ledger (READ_ONLY)")

    with _connected(Engine(_FRUGAL if frugal else _READING), patience_s, ledger.path, attach) as db:
        yield db


@contextmanager
def copied(ledger: Ledger, path: Path) -> Iterator[None]:
    """Write all that the DuckDB file holds, a user's own tables and views among it, to a new file without gaps.

    The ledger stays open meanwhile, so that no other program can write to it.

    Raises:
        WorkbenchError: It cannot be written, or does not hold everything.
    """
    with attached(ledger) as db:
        try:
            db.execute(_attachment(path, "fresh"))
            db.execute("COPY FROM DATABASE ledger TO fresh")
            db.execute("CHECKPOINT fresh")  # what fails at the file's closing is told to nobody
            db.execute("DETACH fresh")
            db.execute(f"ATTACH {literal(str(path))} AS fresh (READ_ONLY)")
            if _row_counts(db, "fresh") != _row_counts(db, "ledger"):
                raise WorkbenchError(f"the copy of {ledger.path} at {path} does not hold everything")
        except duckdb.Error as error:
            raise WorkbenchError(f"{ledger.path} cannot be copied to {path}: {error}") from error
        yield


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


def _make(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """A new file, whole from the moment at which it bears its name: DuckDB opens none whose beginning is cut off."""
    fresh = path.with_name(path.name + ".new")
    for left in (fresh, fresh.with_name(fresh.name + ".wal")):  # by a process that was killed here
        left.unlink(missing_ok=True)
    db.execute(_attachment(fresh, "fresh"))
    db.execute("USE fresh")
    migrate(db)
    db.execute("USE memory")
    db.execute("CHECKPOINT fresh")
    db.execute("DETACH fresh")
    if path.exists():
        shutil.copymode(path, fresh)
    path.with_name(path.name + ".wal").unlink(missing_ok=True)  # of a file that is no more; it fits no other
    fresh.replace(path)


def _attachment(path: Path, name: str) -> str:
    return f"ATTACH {literal(str(path))} AS {name} (STORAGE_VERSION '{_STORAGE_VERSION}')"


def migrate(db: duckdb.DuckDBPyConnection) -> None:
    """Bring the current database to the newest schema, and its views to those of this version.

    Raises:
        WorkbenchError: A newer version of this program made it, or an applied migration was edited.
    """
    applied = dict(_applied(db))
    for version, name, text in migrations():
        digest = hashlib.sha256(text.encode()).hexdigest()
        if version in applied:
            if applied[version] != digest:
                raise WorkbenchError(f"migration {name} is not the one this ledger was made with")
            continue
        db.execute("BEGIN")
        db.execute(text)
        insert_row(db, "schema_versions", version, name, digest, datetime.now(UTC))
        db.execute("COMMIT")
    if unknown := set(applied) - {_VIEWS} - {version for version, _, _ in migrations()}:
        raise WorkbenchError(f"the ledger has schema {max(unknown)}, made by a newer workbench; upgrade this one")
    digest = hashlib.sha256("\n".join(view_texts()).encode()).hexdigest()
    if applied.get(_VIEWS) != digest:
        db.execute("BEGIN")
        create_views(db)
        db.execute(f"DELETE FROM schema_versions WHERE version = {_VIEWS}")  # noqa: S608 - a number of ours
        insert_row(db, "schema_versions", _VIEWS, "views", digest, datetime.now(UTC))
        db.execute("COMMIT")


def insert_row(db: duckdb.DuckDBPyConnection, table: str, *values: object) -> None:
    """Append one row to a table of ours."""
    db.execute(f"INSERT INTO {table} VALUES ({', '.join(map(literal, values))})")  # noqa: S608 - quoted


def create_views(db: duckdb.DuckDBPyConnection) -> None:
    """Define the views over the current schema's tables."""
    for text in view_texts():
        db.execute(text)


def view_texts() -> list[str]:
    """The views' definitions, in an order in which each finds what it builds on."""
    return [sql("views", name) for name in _VIEW_NAMES]


def schema_version(db: duckdb.DuckDBPyConnection) -> int:
    """The newest migration applied to the current database; 0 for none."""
    return max(dict(_applied(db)), default=0)


def migrations() -> list[tuple[int, str, str]]:
    """The numbered migrations as (version, name, text), in order."""
    files: list[Traversable] = sorted(_SQL.joinpath("schema").iterdir(), key=lambda file: file.name)
    return [(int(file.name[:4]), file.name, file.read_text("utf-8")) for file in files if file.name.endswith(".sql")]


def sql(*parts: str) -> str:
    """The text of one `.sql` file, by folder and name."""
    return _SQL.joinpath(*parts[:-1], f"{parts[-1]}.sql").read_text("utf-8")


def _applied(db: duckdb.DuckDBPyConnection) -> list[tuple[int, str]]:
    try:
        return db.execute("SELECT version, sha256 FROM schema_versions").fetchall()
    except duckdb.CatalogException:  # a file that was just made
        return []


@contextmanager
def _connected(
    engine: Engine,
    patience_s: float,
    path: Path,
    attach: Callable[[duckdb.DuckDBPyConnection], None],
    *,
    goes_on: bool = False,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """An engine with a file attached as `ledger`; one in which anything failed is never used again."""
    deadline = time.monotonic() + patience_s
    while True:
        db = engine.started()
        try:
            attach(db)
        except duckdb.Error as error:
            engine.stop()
            if not isinstance(error, duckdb.IOException) or "set lock" not in str(error):
                raise _unusable(path, error) from error
            if time.monotonic() > deadline:
                raise LedgerBusyError("another program has the ledger open in DuckDB and does not close it") from error
            time.sleep(POLL_S)
        except BaseException:
            engine.stop()
            raise
        else:
            break
    try:
        yield db
        if goes_on:
            db.execute("USE memory")
            db.execute("DETACH ledger")
    except BaseException:
        engine.stop()
        raise
    if not goes_on:
        engine.stop()


def _unusable(path: Path, error: duckdb.Error) -> InputError:
    return InputError(Fault("--ledger", f"{path} cannot be opened as a ledger: {error}"))


def literal(value: object) -> str:
    """A text, whole number, UTC time, list of these or None as SQL.

    Bound parameters are not used: the first one makes DuckDB's Python client import pandas (0.5 s, 50 MB).
    """
    match value:
        case None:
            return "NULL"
        case int():
            return str(int(value))
        case list():
            return f"[{', '.join(map(literal, value))}]"
        case datetime():
            return f"TIMESTAMP '{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}'"
        case _:
            return "'" + str(value).replace("'", "''") + "'"
