"""The tables and views of a ledger, made and brought to those of this version."""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

import duckdb

import workbench.settings.clock as clock
from workbench.errors import Fault, InputError, WorkbenchError
from workbench.ledger.correcting import CORRECTING_SCHEMAS, correct_stored
from workbench.ledger.engine import Transactions, literal
from workbench.records.outcomes import outcomes_view

_VIEWS = 0  # the "version" under which the digest of a file's views is kept, beside those of the migrations
VIEW_NAMES = (
    "same_name",
    "reduced",
    "completions",
    "scale_of",
    "state_of",
    "cap_of",
    "cluster_of",
    "outcomes",
    "judged_attempts",
    "attempt_quarters",
    "judged_quarters",
    "open_calls",
    "every_call",
    "run_overview",
    "occasion_runs",
    "standing_corrections",
    "job_pairs",
    "corrected_items",
    "asked_samples",
    "corrected_unsent",
    "item_outcomes",
    "served_identities",
    "call_identities",
    "identified_answers",
    "item_identities",
    "latest_scores",
    "counted_scores",
    "pass_rates",
    "sample_scores",
    "usage_by_day",
    "route_behaviour",
    "errors_by_kind",
    "probe_runs",
    "call_draws",
)
"""Each builds on tables and on views before it."""
_FOR_PEOPLE = (
    "every_call",
    "run_overview",
    "latest_scores",
    "pass_rates",
    "usage_by_day",
    "route_behaviour",
    "errors_by_kind",
)
"""What a ledger holds with what these build on, for who opens it with DuckDB; to define all takes a new ledger 137 ms, not 81."""
_NAME = re.compile(r"[a-z]\w*")
_SQL = resources.files(__package__).joinpath("sql")


def migrate(transactions: Transactions) -> None:
    """Bring the current database to the newest schema, and its views to those of this version.

    Raises:
        InputError: A newer version of this program made it.
        WorkbenchError: An applied migration was edited.
    """
    transactions.alone(lambda: _migrate(transactions))


def _migrate(transactions: Transactions) -> None:
    db = transactions.db
    applied = dict(_applied(db))
    missing = []
    for version, name, text in migrations():
        digest = hashlib.sha256(text.encode()).hexdigest()
        if version not in applied:
            missing.append((version, name, text, digest))
        elif applied[version] != digest:
            raise WorkbenchError(f"migration {name} is not the one this ledger was made with")
    if unknown := set(applied) - {_VIEWS} - {version for version, _, _ in migrations()}:
        raise made_by_newer(max(unknown))
    # DuckDB refuses to change a table's rows and then its columns in one transaction; an empty ledger has no rows to change
    for together in [[one] for one in missing] if applied else [missing]:
        transactions.begin()
        for version, _, text, _ in together:
            db.execute(text)
            if applied and version in CORRECTING_SCHEMAS:
                correct_stored(db)
        insert_rows(
            db, "schema_versions", [(version, name, digest, clock.now()) for version, name, _, digest in together]
        )
        transactions.commit()
    texts = [view_text(name) for name in _held_views()]
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    if applied.get(_VIEWS) != digest:
        transactions.begin()
        for text in texts:
            db.execute(text)
        db.execute(f"DELETE FROM schema_versions WHERE version = {_VIEWS}")  # noqa: S608 - a number of ours
        insert_rows(db, "schema_versions", [(_VIEWS, "views", digest, clock.now())])
        transactions.commit()


def insert_rows(db: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Append rows to a table of ours."""
    values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    db.execute(f"INSERT INTO {table} VALUES {values}")  # noqa: S608 - quoted


@cache
def _held_views() -> tuple[str, ...]:
    """Return the views that a ledger holds, each after those that it builds on."""
    held = set(_FOR_PEOPLE)
    for name in reversed(VIEW_NAMES):
        if name in held:
            held.update(_NAME.findall(view_text(name)))
    return tuple(name for name in VIEW_NAMES if name in held)


def view_text(name: str) -> str:
    """Return the definition of a view: from its file, or from the table of outcomes."""
    return outcomes_view() if name == "outcomes" else sql("views", name)


def schema_version(db: duckdb.DuckDBPyConnection) -> int:
    """Return the newest migration applied to the current database; 0 for none."""
    return max(dict(_applied(db)), default=0)


def made_by_newer(version: int) -> InputError:
    """Return the error for a ledger with a schema that this version does not know."""
    problem = f"the ledger has schema {version}, made by a newer version of workbench"
    return InputError(Fault("--ledger", problem, "upgrade this one"))


@cache
def migrations() -> list[tuple[int, str, str]]:
    """Return the numbered migrations as (version, name, text), in order."""
    files: list[Traversable] = sorted(_SQL.joinpath("schema").iterdir(), key=lambda file: file.name)
    return [(int(file.name[:4]), file.name, file.read_text("utf-8")) for file in files if file.name.endswith(".sql")]


def table_names() -> set[str]:
    """Return the tables of the newest schema."""
    return {name for _, _, text in migrations() for name in re.findall(r"CREATE TABLE (\w+)", text)}


@cache
def sql(*parts: str) -> str:
    """Return the text of one `.sql` file, by folder and name."""
    return _SQL.joinpath(*parts[:-1], f"{parts[-1]}.sql").read_text("utf-8")


def _applied(db: duckdb.DuckDBPyConnection) -> list[tuple[int, str]]:
    try:
        return db.execute("SELECT version, sha256 FROM schema_versions").fetchall()
    except duckdb.CatalogException:  # a file that was just made
        return []
