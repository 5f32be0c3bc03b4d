"""Named queries over everything recorded: the DuckDB file and the journals not yet ingested, as one."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from workbench.errors import IncompleteError, WorkbenchError
from workbench.ledger.combined import CombinedTables, RunTables, is_attached
from workbench.ledger.database import attached, opened_for_writing
from workbench.ledger.engine import MOST_READING_MEMORY_MIB, Engine, first_line, literal, with_values
from workbench.ledger.kinds import store_of
from workbench.ledger.rows import QueryRow
from workbench.ledger.schema import made_by_newer, migrations, schema_version, sql
from workbench.ledger.store import LOCK_PATIENCE_S, Ledger
from workbench.scratch import ScratchFolder

if TYPE_CHECKING:
    import pyarrow

Row = dict[str, Any]
T = TypeVar("T", bound=QueryRow)
_BATCH_ROWS = 2000


class LedgerMemoryError(WorkbenchError):
    """A query needs more memory than it may use."""


class Reader:
    """Answers named queries; made by `reading`."""

    def __init__(
        self,
        ledger: Ledger,
        engine: Engine,
        united: CombinedTables,
        most_memory_mib: int,
        narrowed: RunTables | None = None,
    ) -> None:
        self._ledger, self._united, self._narrowed = ledger, united, narrowed
        self._engine = engine
        self._most_memory_mib = most_memory_mib
        self._about: dict[tuple[str, ...] | None, Reader] = {}

    @property
    def zone(self) -> str:
        """Whose days the account's days are."""
        return self._ledger.zone

    def about(self, *run_ids: str) -> "Reader":
        """Return a reader for the queries about some runs, which reads no other's rows; of one run all of them read these once.

        What it answers to any other query is not defined.
        """
        return self._narrowed_to(tuple(sorted(set(run_ids))))

    def at_once(self) -> "Reader":
        """Return a reader for pages: where the runs of the ledger have few items, all queries about runs read these once.

        What samples scored it knows by the rules of their jobs only.
        """
        if self._narrowed is not None or not self._united.has_few_items:
            return self
        return self._narrowed_to(None)

    def _narrowed_to(self, run_ids: tuple[str, ...] | None) -> "Reader":
        if self._narrowed is not None:
            return self
        if run_ids not in self._about:
            schema = f"about_{len(self._about)}"
            tables = RunTables(self._united, self._engine.started(), schema, run_ids)
            self._about[run_ids] = Reader(self._ledger, self._engine, self._united, self._most_memory_mib, tables)
        return self._about[run_ids]

    def _rows(self, query: str, **parameters: Any) -> list[Row]:
        """Return all rows of a query in `sql/queries/`, as dictionaries in the query's column order."""
        while True:
            try:
                return list(self._stream(query, self._cursor, parameters))
            except LedgerMemoryError:
                if not self._engine.grow(self._most_memory_mib):
                    raise

    @cached_property
    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """For queries of which all rows are read before the next one."""
        return self._new_cursor()

    def _new_cursor(self) -> duckdb.DuckDBPyConnection:
        cursor = self._engine.started().cursor()
        _set_variables(cursor, self._ledger)
        if self._narrowed is not None:
            cursor.execute(f"SET search_path = '{self._narrowed.search_path}'")
        return cursor

    def _stream(self, query: str, cursor: duckdb.DuckDBPyConnection, parameters: dict[str, Any]) -> Iterator[Row]:
        """Return the rows of a query, a batch in memory at a time; their times are aware."""
        with _explained(query, self._ledger):
            self._execute(query, cursor, parameters)
            names = [column[0] for column in cursor.description or ()]
            moments = [column[0] for column in cursor.description or () if column[1] == "TIMESTAMP"]
            while batch := cursor.fetchmany(_BATCH_ROWS):
                for values in batch:
                    row = dict(zip(names, values, strict=True))
                    for name in moments:
                        row[name] = row[name] and row[name].replace(tzinfo=UTC)
                    yield row

    def all(self, kind: type[T], **parameters: Any) -> list[T]:
        """Return all rows of a query, as the struct that names it."""
        return [kind(**row) for row in self._rows(kind.query, **parameters)]

    def only(self, kind: type[T], **parameters: Any) -> T:
        """Return the only row of a query that always has one, as the struct that names it."""
        rows = self.all(kind, **parameters)
        if not rows:  # as of a run whose journals were removed
            raise IncompleteError(f"the query {kind.query} found nothing in {self._ledger.name}")
        return rows[0]

    def each(self, kind: type[T], **parameters: Any) -> Iterator[T]:
        """Return the rows of a query as the struct that names it, a batch in memory at a time."""
        return (kind(**row) for row in self._stream(kind.query, self._new_cursor(), parameters))

    def arrow(self, query: str, **parameters: Any) -> "pyarrow.Table":
        """Return a query's answer as an Arrow table; its times say that they are UTC."""
        import pyarrow

        while True:
            try:
                with _explained(query, self._ledger):
                    table = self._execute(query, self._cursor, parameters).to_arrow_table()
                break
            except LedgerMemoryError:
                if not self._engine.grow(self._most_memory_mib):
                    raise
        zoned = [
            field.with_type(pyarrow.timestamp("us", "UTC")) if pyarrow.types.is_timestamp(field.type) else field
            for field in table.schema
        ]
        return table.cast(pyarrow.schema(zoned))

    def _execute(
        self, query: str, cursor: duckdb.DuckDBPyConnection, parameters: dict[str, Any]
    ) -> duckdb.DuckDBPyConnection:
        written = sql("queries", query)
        text = with_values(written, parameters)
        while True:
            try:
                (self._narrowed or self._united).define(written)
                return cursor.execute(text)
            except duckdb.OutOfMemoryException:
                if not self._engine.grow(self._most_memory_mib):
                    raise


@contextmanager
def _explained(query: str, ledger: Ledger) -> Iterator[None]:
    """Errors of DuckDB as ours."""
    try:
        with store_of(ledger).explained():
            yield
    except duckdb.OutOfMemoryException as error:
        raise LedgerMemoryError(f"the query {query} needs more memory than it may take: {first_line(error)}") from error
    except duckdb.Error as error:
        raise WorkbenchError(f"the query {query} failed: {first_line(error)}") from error


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
        patience_s: How long to wait for an ingest.
        frugal: Begin with little memory, as a run must that others run beside, and take more only where a query
            does not work with it.
        memory_mib: The most that DuckDB may take where a query does not work with less.

    Raises:
        InputError: The file is not a ledger, or a newer version of this program made it.
        LedgerBusyError: An ingest does not end within `patience_s`.
    """
    store = store_of(ledger)
    store.restore(patience_s)
    with ledger.locked(exclusive=False, patience_s=patience_s):
        outdated = False
        with attached(ledger, patience_s, frugal=frugal) as engine, ScratchFolder() as scratch:
            db = engine.started()
            with _explained("schema_version", ledger):
                engine.confine(ledger.journal_folder, scratch.path, *store.folders(db))
                if is_attached(db):
                    db.execute("USE ledger")
                    version, newest = schema_version(db), len(migrations())
                    if version > newest:
                        raise made_by_newer(version)
                    outdated = version < newest
                    db.execute("USE memory")
            if not outdated:
                _set_variables(db, ledger)
                united = CombinedTables(ledger, db, scratch.path, frugal=frugal)
                yield Reader(ledger, engine, united, memory_mib)
                return
    with ledger.locked(exclusive=True, patience_s=patience_s), opened_for_writing(ledger, patience_s):
        pass  # opening it brings the schema up to date
    with reading(ledger, patience_s=patience_s, frugal=frugal, memory_mib=memory_mib) as reader:
        yield reader


@contextmanager
def reading_if_made(ledger: Ledger) -> Iterator[Reader | None]:
    """Read a ledger, if there is one yet, in a single reading: to open a team's takes half a second; see `reading`."""
    if not ledger.exists:
        yield None
        return
    with reading(ledger) as reader:
        yield reader


def _set_variables(cursor: duckdb.DuckDBPyConnection, ledger: Ledger) -> None:
    """Tell a cursor, whose variables are its own, what the account's settings say, for the views that ask."""
    zone = {} if ledger.zone == "UTC" else {"day_zone": ledger.zone}
    names = {"served_as": dict(ledger.served_as)} if ledger.served_as else {}
    for name, value in (zone | names).items():
        cursor.execute(f"SET VARIABLE {name} = {literal(value)}")
