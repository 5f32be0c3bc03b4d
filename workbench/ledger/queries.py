"""Named queries over everything recorded: the DuckDB file and the journals not yet ingested, as one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from workbench.errors import Fault, InputError, WorkbenchError
from workbench.ledger.database import (
    attached,
    create_views,
    insert_row,
    made_by_newer,
    migrate,
    migrations,
    opened_for_writing,
    schema_version,
    sql,
)
from workbench.ledger.engine import MOST_READING_MEMORY_MIB, READING_MEMORY_MIB, Engine, literal
from workbench.ledger.ingest import memory_mib, stage
from workbench.ledger.recovery import Unpacked, unpack
from workbench.ledger.rows import QueryRow
from workbench.ledger.store import LOCK_PATIENCE_S, Ledger
from workbench.ledger.team import data_folder, filled_tables, lost_connection
from workbench.scratch import ScratchFolder

if TYPE_CHECKING:
    import pyarrow

Row = dict[str, Any]
T = TypeVar("T", bound=QueryRow)
_NEWEST_ITEMS = """
    SELECT * FROM {these} AS item WHERE NOT EXISTS (
        SELECT 1 FROM {those} AS other
        WHERE other.run_id = item.run_id AND other.request_key = item.request_key
            AND other.answer_call_no > item.answer_call_no
    )
"""
_CONTENT_ADDRESSED = {"samples": "sample_key", "request_bodies": "body_key"}
_BATCH_ROWS = 2000
_COPIED_BYTES = 2 * 2**20  # packed as Parquet, of one table
_PARAMETER = re.compile(r"\$([a-z]\w*)")


class LedgerMemoryError(WorkbenchError):
    """A query needs more memory than it may use."""


class Reader:
    """Answers named queries; made by `reading`."""

    def __init__(self, engine: Engine, most_memory_mib: int, variables: dict[str, Any]) -> None:
        self._variables = variables
        self._engine = engine
        self._most_memory_mib = most_memory_mib

    def rows(self, query: str, **parameters: Any) -> list[Row]:
        """All rows of a query in `sql/queries/`, as dictionaries in the query's column order."""
        while True:
            try:
                return list(self.stream(query, **parameters))
            except LedgerMemoryError:
                if not self._engine.grow(self._most_memory_mib):
                    raise

    def row(self, query: str, **parameters: Any) -> Row:
        """The only row of a query that always has one."""
        return self.rows(query, **parameters)[0]

    def stream(self, query: str, **parameters: Any) -> Iterator[Row]:
        """The rows of a query, a batch in memory at a time."""
        with _explained(query):
            cursor = self._executed(query, parameters)
            names = [column[0] for column in cursor.description or ()]
            while batch := cursor.fetchmany(_BATCH_ROWS):
                for values in batch:
                    yield dict(zip(names, values, strict=True))

    def all(self, kind: type[T], **parameters: Any) -> list[T]:
        """All rows of a query, as the struct that names it."""
        return [kind(**row) for row in self.rows(kind.query, **parameters)]

    def only(self, kind: type[T], **parameters: Any) -> T:
        """The only row of a query that always has one, as the struct that names it."""
        return self.all(kind, **parameters)[0]

    def each(self, kind: type[T], **parameters: Any) -> Iterator[T]:
        """The rows of a query as the struct that names it, a batch in memory at a time."""
        return (kind(**row) for row in self.stream(kind.query, **parameters))

    def arrow(self, query: str, **parameters: Any) -> "pyarrow.Table":
        """A query's answer as an Arrow table; its times say that they are UTC."""
        import pyarrow

        while True:
            try:
                with _explained(query):
                    table = self._executed(query, parameters).to_arrow_table()
                break
            except LedgerMemoryError:
                if not self._engine.grow(self._most_memory_mib):
                    raise
        zoned = [
            field.with_type(pyarrow.timestamp("us", "UTC")) if pyarrow.types.is_timestamp(field.type) else field
            for field in table.schema
        ]
        return table.cast(pyarrow.schema(zoned))

    def _executed(self, query: str, parameters: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        # not prepared: DuckDB would plan it a second time when it is executed, which takes a fifth of a short query
        text = _PARAMETER.sub(lambda found: literal(parameters[found[1]]), sql("queries", query))
        cursor = self._engine.started().cursor()
        for name, value in self._variables.items():  # a variable is one of its cursor's
            cursor.execute(f"SET VARIABLE {name} = {literal(value)}")
        while True:
            try:
                return cursor.execute(text)
            except duckdb.OutOfMemoryException:
                if not self._engine.grow(self._most_memory_mib):
                    raise


@contextmanager
def _explained(query: str) -> Iterator[None]:
    """Errors of DuckDB as ours."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise LedgerMemoryError(f"the query {query} needs more memory than it may take: {error}") from error
    except duckdb.Error as error:
        raise lost_connection(error) or WorkbenchError(f"the query {query} failed: {error}") from error


@contextmanager
def reading(
    ledger: Ledger,
    *,
    patience_s: float = LOCK_PATIENCE_S,
    frugal: bool = False,
    memory_mib: int = MOST_READING_MEMORY_MIB,
) -> Iterator[Reader]:
    """Read a ledger, whatever others do with it meanwhile; hold it for as short as possible.

    Args:
        ledger: Which.
        patience_s: How long to wait for an ingest.
        frugal: Begin with little memory, as a run must that others run beside, and take more only where a query
            does not work with it.
        memory_mib: The most that DuckDB may take where a query does not work with less.

    Raises:
        InputError: The file is not a ledger, or a newer version of this program made it.
        LedgerBusyError: An ingest does not end within `patience_s`.
    """
    with ledger.locked(exclusive=False, patience_s=patience_s):
        outdated = False
        with attached(ledger, patience_s, frugal=frugal) as engine, ScratchFolder() as scratch:
            db = engine.started()
            with _explained("schema_version"):
                shared = [] if ledger.team is None else [data_folder(db, ledger.team)]
                engine.confine(ledger.journal_folder, scratch.path, *shared)
                if _has_file(db):
                    db.execute("USE ledger")
                    version, newest = schema_version(db), len(migrations())
                    if version > newest:
                        raise made_by_newer(version)
                    outdated = version < newest
                    db.execute("USE memory")
            if not outdated:
                try:
                    _unite(ledger, db, scratch.path, copied_bytes=0 if frugal else _COPIED_BYTES)
                except duckdb.Error as error:  # a file from elsewhere, with views in place of tables
                    fault = Fault("--ledger", f"{ledger.name} cannot be read as a ledger: {error}")
                    raise lost_connection(error) or InputError(fault) from error
                yield Reader(engine, memory_mib, _variables(ledger))
                return
    with ledger.locked(exclusive=True, patience_s=patience_s), opened_for_writing(ledger, patience_s):
        pass  # opening it brings the schema up to date
    with reading(ledger, patience_s=patience_s, frugal=frugal, memory_mib=memory_mib) as reader:
        yield reader


def _variables(ledger: Ledger) -> dict[str, Any]:
    """What the account's settings say, for the views that ask."""
    zone = {} if ledger.zone == "UTC" else {"day_zone": ledger.zone}
    return zone | ({"served_as": dict(ledger.served_as)} if ledger.served_as else {})


def _unite(ledger: Ledger, db: duckdb.DuckDBPyConnection, scratch: Path, *, copied_bytes: int) -> None:
    """Lay views over the attached ledger and over tables filled from the journals that it does not hold yet.

    Args:
        ledger: Which.
        db: Where it is attached.
        scratch: For files.
        copied_bytes: Tables of a team's ledger up to this size are copied into memory first.
    """
    attached = _has_file(db)
    known = (
        {name for (name,) in db.execute("SELECT name FROM ledger.ingested_journals").fetchall()} if attached else set()
    )
    missing = [journal for journal in ledger.journals() if journal.name not in known]
    if attached and not missing and ledger.team is None:
        for table in _tables(db, "ledger", "main"):  # a user's own among them
            name = '"' + table.replace('"', '""') + '"'
            db.execute(f"CREATE VIEW {name} AS SELECT * FROM ledger.{name}")  # noqa: S608 - quoted
    else:
        _fill_live(db, missing, scratch)
        tables = _tables(db, "memory", "live")
        sources = {table: f"ledger.{table}" for table in tables} if attached else {}
        if ledger.team is not None:
            sources = _team_sources(db, copied_bytes)
        for table in tables:
            ours = sources.get(table)
            live = f"SELECT * FROM live.{table}"  # noqa: S608
            db.execute(f"CREATE VIEW {table} AS {live if ours is None else _both(db, table, ours)}")
    create_views(db)


def _team_sources(db: duckdb.DuckDBPyConnection, copied_bytes: int) -> dict[str, str]:
    """Where queries find the rows of each table of a team's ledger, of those that may have any.

    Every time a query names a table, DuckLake asks its server about it, which takes longer than to read a small one.
    """
    sizes = filled_tables(db)
    db.execute("CREATE SCHEMA copied")
    for table in (small := [table for table, size in sizes.items() if size <= copied_bytes]):
        db.execute(f"CREATE TABLE copied.{table} AS FROM ledger.{table}")
    return {table: f"{'copied' if table in small else 'ledger'}.{table}" for table in sizes}


def _fill_live(db: duckdb.DuckDBPyConnection, journals: list[Path], scratch: Path) -> None:
    db.execute("CREATE SCHEMA live")
    db.execute("USE live")
    migrate(db)
    for journal in journals:
        lines = scratch / "lines.jsonl"
        with lines.open("wb") as stream:
            content = unpack(journal, stream)
        if content.records:
            _stage_live(db, journal, lines, content)
    db.execute("USE main")


def _both(db: duckdb.DuckDBPyConnection, table: str, source: str) -> str:
    """What the ledger, in `source`, and the journals hold of a table, as one query."""
    ours, live = f"SELECT * FROM {source}", f"SELECT * FROM live.{table}"  # noqa: S608 - names from our own schema
    if not _has_rows(db, f"live.{table}"):
        return ours
    if key := _CONTENT_ADDRESSED.get(table):
        live += f" WHERE {key} NOT IN (SELECT {key} FROM {source})"  # noqa: S608
    if table == "run_items":  # of a request that was sent again the last attempt counts, wherever it is
        ours = _NEWEST_ITEMS.format(these=source, those="live.run_items")
        live = _NEWEST_ITEMS.format(these="live.run_items", those=source)
    return f"{ours} UNION ALL BY NAME {live}"


def _tables(db: duckdb.DuckDBPyConnection, database: str, schema: str) -> list[str]:
    where = f"database_name = {literal(database)} AND schema_name = {literal(schema)}"
    return [name for (name,) in db.execute(f"SELECT table_name FROM duckdb_tables() WHERE {where}").fetchall()]  # noqa: S608


def _has_rows(db: duckdb.DuckDBPyConnection, table: str) -> bool:
    return db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None  # noqa: S608 - a name of ours


def _stage_live(db: duckdb.DuckDBPyConnection, journal: Path, lines: Path, content: Unpacked) -> None:
    try:
        stage(db, lines, content, memory_mib(content, READING_MEMORY_MIB))
        db.execute(sql("ingest"))
        insert_row(db, "ingested_journals", journal.name, content.records, datetime.now(UTC), content.kinds)
    except duckdb.Error as error:
        raise WorkbenchError(f"the journal {journal} cannot be read: {error}") from error


def _has_file(db: duckdb.DuckDBPyConnection) -> bool:
    found = db.execute("SELECT count(*) FROM duckdb_databases() WHERE database_name = 'ledger'").fetchone()
    return bool(found and found[0])
