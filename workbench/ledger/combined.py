"""The ledger and the journals that it does not hold yet, as one set of tables and views.

Each of them is defined when a query first names it. DuckDB reads a view's definition through to its tables, and of a team's
ledger DuckLake asks its server about each table that is named: most commands need a few of them.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path

import duckdb
import msgspec

import workbench.settings.clock as clock
from workbench.errors import Fault, InputError, WorkbenchError
from workbench.ledger.engine import READING_MEMORY_MIB, first_line, literal, machine_memory_mib
from workbench.ledger.ingest import distribute, lacks_memory, memory_mib, stage
from workbench.ledger.kinds import store_of
from workbench.ledger.recovery import Unpacked, unpack
from workbench.ledger.schema import VIEW_NAMES, insert_rows, migrations, table_names, view_text
from workbench.ledger.store import Ledger

_NEWEST_ITEMS = """
    SELECT * FROM {these} AS item WHERE NOT EXISTS (
        SELECT 1 FROM {those} AS other
        WHERE other.run_id = item.run_id AND other.request_key = item.request_key
            AND other.answer_call_no > item.answer_call_no
    )
"""
_SMALL_VIEWS = {
    "outcomes", "run_overview", "job_pairs", "standing_corrections", "judged_quarters", "served_identities", "identified_answers",
    "usage_by_day",
}  # fmt: skip
"""Worked out once, as tables: they have a few rows a run, and several queries of a page name them."""
_OF_CALLS = {"requests", "judged_attempts", "call_quarters"}
"""What the queries about some runs read of these: the calls of them, and of the runs whose answers they use."""
_ROWS_OF_RUNS = {"run_items", "scores", *_OF_CALLS}
"""Of the others their own rows."""
_WORKED_OUT = {"item_identities", "latest_scores"}
"""Views over those that most queries about one run name: worked out once, as tables, like the small ones."""
_SAMPLE_SCORES = "sample_scores"
"""A macro that is worked out once too, by the rule of each run's own job: DuckDB takes 25 ms to plan it."""
_FEW_ITEMS = 10_000
"""Up to which all that is worked out of one run is worked out of all runs: the pages of a run ask about others too."""
_CONTENT_ADDRESSED = {"samples": "sample_key", "request_bodies": "body_key"}
_COPIED_BYTES = 2 * 2**20  # packed as Parquet, of one table
_MORE_MEMORY = 4
_NAME = re.compile(r"[a-z]\w*")


class CombinedTables:
    """The tables and views of one reading.

    Args:
        db: Where it is attached, if there is one.
        frugal: Copy nothing into memory. Otherwise tables of a team's ledger that are small are copied: every time a query
            names one, DuckLake asks its server, which takes longer than to read it once.

    Raises:
        InputError: What is attached is not a ledger.
        UnreachableError: The connection to its server was lost.
    """

    def __init__(self, ledger: Ledger, db: duckdb.DuckDBPyConnection, scratch: Path, *, frugal: bool) -> None:
        self._ledger, self._db, self._frugal = ledger, db, frugal
        self._store = store_of(ledger)
        self._tables, self._defined = table_names(), set[str]()
        with self._as_ledger():
            self._attached = is_attached(db)
            self._filled = self._store.filled_tables(db) if self._attached else None
            """The tables that ever had a row; None: of a file, which costs nothing to ask."""
            if self._attached and self._filled is None:
                self._require_tables()
            missing = self._missing_journals()
            self._only_file = self._attached and self._filled is None and not missing
            if self._filled is not None:
                db.execute("CREATE SCHEMA copied")
            if not self._only_file:
                _fill_live(db, missing, scratch)

    @cached_property
    def has_few_items(self) -> bool:
        """Whether the items of all runs are few; many are not counted."""
        self.define("run_items")
        return len(self._db.execute(f"SELECT 1 FROM run_items LIMIT {_FEW_ITEMS + 1}").fetchall()) <= _FEW_ITEMS  # noqa: S608 - ours

    def define(self, text: str, views: tuple[str, ...] = VIEW_NAMES) -> None:
        """Define what a query names that is not defined yet, and what that builds on.

        Args:
            text: Of the query.
            views: Those that it may name; a view builds on earlier ones only.

        Raises:
            InputError: What is attached is not a ledger.
            UnreachableError: The connection to its server was lost.
            duckdb.OutOfMemoryException: More memory is needed.
        """
        for name in dict.fromkeys(_NAME.findall(text)):
            if name in self._defined or (name not in self._tables and name not in views):
                continue
            with self._as_ledger():
                if name in self._tables:
                    self._db.execute(f"CREATE VIEW {name} AS {self._rows_of(name)}")
                else:
                    view = view_text(name)
                    self.define(view, views[: views.index(name)])
                    kept = view.replace("CREATE OR REPLACE VIEW", "CREATE TABLE", 1) if name in _SMALL_VIEWS else view
                    self._db.execute(kept)
            self._defined.add(name)

    def _rows_of(self, table: str) -> str:
        """Return what the ledger and the journals hold of a table, as a query."""
        source = f"ledger.{table}"
        if self._only_file:
            return f"SELECT * FROM {source}"  # noqa: S608 - names from our own schema
        if not self._attached or (self._filled is not None and table not in self._filled):
            return f"SELECT * FROM live.{table}"  # noqa: S608
        if not self._frugal and self._filled is not None and self._filled[table] <= _COPIED_BYTES:
            self._db.execute(f"CREATE OR REPLACE TABLE copied.{table} AS FROM {source}")
            source = f"copied.{table}"
        return self._both(table, source)

    def _both(self, table: str, source: str) -> str:
        """Return what the ledger, in `source`, and the journals hold of a table, as one query."""
        ours, live = f"SELECT * FROM {source}", f"SELECT * FROM live.{table}"  # noqa: S608
        if self._db.execute(f"{live} LIMIT 1").fetchone() is None:
            return ours
        if key := _CONTENT_ADDRESSED.get(table):
            live += f" WHERE {key} NOT IN (SELECT {key} FROM {source})"  # noqa: S608
        if table == "run_items":  # of a request that was sent again the last attempt counts, wherever it is
            ours = _NEWEST_ITEMS.format(these=source, those="live.run_items")
            live = _NEWEST_ITEMS.format(these="live.run_items", those=source)
        return f"{ours} UNION ALL BY NAME {live}"

    def _missing_journals(self) -> list[Path]:
        query = "SELECT name FROM ledger.ingested_journals"
        known = {name for (name,) in self._db.execute(query).fetchall()} if self._attached else set()
        return [journal for journal in self._ledger.journals() if journal.name not in known]

    def _require_tables(self) -> None:
        """Make sure that what is attached has our tables: a file from elsewhere may have views in their place."""
        query = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'ledger' AND schema_name = 'main'"
        if lacking := self._tables - {name for (name,) in self._db.execute(query).fetchall()}:
            raise self._not_a_ledger(f"it has no table {min(lacking)!r}")

    @contextmanager
    def _as_ledger(self) -> Iterator[None]:
        """DuckDB's errors about what is attached as ours."""
        try:
            with self._store.explained():
                yield
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            raise self._not_a_ledger(first_line(error)) from error

    def _not_a_ledger(self, why: object) -> InputError:
        return InputError(Fault("--ledger", f"{self._ledger.name} cannot be read as a ledger: {why}"))


class RunTables:
    """The tables and views of one reading with what some runs need of them, in a schema of their own; the rest are shared.

    The queries about a run ask for the same few rows again and again: of one run, or of all where they have few items, these are
    read once, so that a page takes what its run has, and not what the ledger holds. Of several, which may be too many for the
    memory, each query reads them, and no others: DuckDB has no other filter that it carries through a view to the scan of the
    calls (a comparison within 10,000,000 calls takes 1.6 s, not 7.5).

    Args:
        schema: Its name.
        run_ids: Of the runs; None: all, which have few items.
    """

    def __init__(
        self, shared: CombinedTables, db: duckdb.DuckDBPyConnection, schema: str, run_ids: Sequence[str] | None
    ) -> None:
        self._shared, self._defined = shared, set[str]()
        self._runs = None if run_ids is None else [literal(run_id) for run_id in run_ids]
        self._is_worked_out = self._runs is None or len(self._runs) == 1
        self._db = db.cursor()
        self._db.execute(f"CREATE SCHEMA {schema}")
        self.search_path = f"{schema},main"
        self._db.execute(f"SET search_path = '{self.search_path}'")

    @cached_property
    def _paid_by(self) -> list[str] | None:
        """The runs whose answers they use, and themselves; None: all."""
        if self._runs is None:
            return None
        self._shared.define("run_items")
        asked = f"SELECT DISTINCT answer_run_id FROM main.run_items WHERE {_one_of(self._runs)}"  # noqa: S608 - quoted
        runs = (literal(run) for (run,) in self._db.execute(asked).fetchall() if run is not None)
        return list(dict.fromkeys([*self._runs, *runs]))

    def define(self, text: str, views: tuple[str, ...] = VIEW_NAMES) -> None:
        """Define what a query names that is not defined yet, and what that builds on; see `CombinedTables.define`."""
        for name in dict.fromkeys(_NAME.findall(text)):
            if name not in _of_runs():
                self._shared.define(name, views)
            elif name not in self._defined and (name in _ROWS_OF_RUNS or name in views):
                if name in _ROWS_OF_RUNS:
                    self._define_rows(name)
                else:
                    self._define_view(name, views)
                self._defined.add(name)

    def _define_rows(self, name: str) -> None:
        self._shared.define(name)
        rows = f"FROM main.{name} WHERE {_one_of(self._paid_by if name in _OF_CALLS else self._runs)}"
        self._db.execute(f"CREATE {'TABLE' if self._is_worked_out else 'VIEW'} {name} AS {rows}")

    def _define_view(self, name: str, views: tuple[str, ...]) -> None:
        view = view_text(name)
        self.define(view, views[: views.index(name)])
        if self._is_worked_out and name in _WORKED_OUT | _SMALL_VIEWS:
            view = view.replace("CREATE OR REPLACE VIEW", "CREATE TABLE", 1)
        self._db.execute(view)
        if self._is_worked_out and name == _SAMPLE_SCORES:
            whose = f"(SELECT list(DISTINCT run_id) FROM run_items WHERE {_one_of(self._runs)})"  # noqa: S608 - quoted
            self._db.execute(f"CREATE TABLE scores_of_samples AS FROM {name}({whose})")
            # without the error another rule than the run's own would be answered silently by the wrong one
            own_rule = "fallbacks = '' OR error('here a run is scored only by the rule of its job')"
            rows = f"FROM scores_of_samples WHERE list_contains(run_ids, run_id) AND ({own_rule})"
            self._db.execute(f"CREATE OR REPLACE MACRO {name}(run_ids, fallbacks := '') AS TABLE {rows}")


def _one_of(runs: Sequence[str] | None) -> str:
    """Return a filter of the rows of runs, or of all; a single one prunes a scan by itself (17 ms, not 120)."""
    if runs is None:
        return "true"
    return f"run_id IN ({', '.join(runs)})" if runs else "false"


@cache
def _of_runs() -> frozenset[str]:
    """Return the tables and views that are others for some runs: their rows, and what builds on them."""
    found = set(_ROWS_OF_RUNS)
    for name in VIEW_NAMES:
        if not found.isdisjoint(_NAME.findall(view_text(name))):
            found.add(name)
    return frozenset(found)


def is_attached(db: duckdb.DuckDBPyConnection) -> bool:
    """Return whether there is a ledger; without one there may be journals."""
    found = db.execute("SELECT count(*) FROM duckdb_databases() WHERE database_name = 'ledger'").fetchone()
    return bool(found and found[0])


def _fill_live(db: duckdb.DuckDBPyConnection, journals: list[Path], scratch: Path) -> None:
    """Make empty tables in the schema `live`, and fill them from journals."""
    db.execute("CREATE SCHEMA live")
    db.execute("USE live")
    db.execute("\n".join(text for _, _, text in migrations()))
    held_bytes = 0
    for journal in journals:
        lines = scratch / "lines.jsonl"
        with lines.open("wb") as stream:
            content = unpack(journal, stream)
        held_bytes += content.size_bytes  # all of them stay in memory
        if content.records:
            in_all = msgspec.structs.replace(content, size_bytes=held_bytes)
            _stage_live(db, journal, lines, content, memory_mib(in_all, READING_MEMORY_MIB))
    db.execute("USE main")


def _stage_live(db: duckdb.DuckDBPyConnection, journal: Path, lines: Path, content: Unpacked, enough_mib: int) -> None:
    """Take in a journal, with more memory where that is not enough, up to what the machine has."""
    most_mib = machine_memory_mib()
    while True:
        try:
            db.execute("BEGIN")
            stage(db, lines, content, enough_mib)
            distribute(db, content.kinds)
            insert_rows(db, "ingested_journals", [(journal.name, content.records, clock.now(), content.kinds)])
            db.execute("COMMIT")
            return
        except (duckdb.Error, WorkbenchError) as error:
            with contextlib.suppress(duckdb.TransactionException):
                db.execute("ROLLBACK")
            problem = f"the journal {journal} cannot be read: {first_line(error)}"
            if not lacks_memory(error):
                raise WorkbenchError(f"{problem}; move it to another folder to read the rest") from error
            if enough_mib >= most_mib:
                remedy = f"this machine has {most_mib} MiB: move the ledger and its journals to one that has more"
                raise WorkbenchError(f"{problem}; {remedy}") from error
        enough_mib = min(_MORE_MEMORY * enough_mib, most_mib)
