"""The structs, the queries, the INSERTs and the tables name the same columns."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

import workbench
import workbench.ledger.entries as entries
from tests.asked_rows import rows_of
from tests.unit.ledger.ledger_rows import every_kind, key, started, write_run
from workbench.ledger.entries import (
    ChangeAccepted,
    Entry,
    ReadingTaken,
    SampleInvalidated,
    Scored,
    journal_columns,
    kind_name,
)
from workbench.ledger.ingest import ingest_text
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import Reader, reading
from workbench.ledger.rows import QueryRow
from workbench.ledger.schema import migrations, sql
from workbench.ledger.store import Ledger
from workbench.scoring.scorer import FAILED

GIVEN: dict[str, Any] = {
    "answer_run_id": "r1", "cluster": "cluster", "keys": ["sample1"], "most_chars": 100, "on_fallback": None,
    "scorer": "numeric", "scorer_config": "{}", "until_at": None, "edges": [datetime(2026, 1, 1, tzinfo=UTC)], "end_call_no": 9, "pending": "pending: ", "failed": FAILED, "first_call_no": 1,
    "generation": None, "in_part": True, "in_parts": False, "job": "nightly", "models": ["m"], "scorers": ["numeric"], "most": 10,
    "request_keys": [key(1)], "run_id": "r1", "run_ids": ["r1"], "sample_keys": ["sample1"],
    "since": datetime(2026, 1, 1, tzinfo=UTC), "tries": 3, "zone": "UTC", "span": "minute", "newest": 50, "most_runs": 3, "first_day": date(2026, 1, 1), "margin_s": 15.0, "least_failures": 5,
    "times": 3.0, "medians_ms": {"good": 1.0}, "unknown_reason": "x", "by": "day", "until": None, "others": "others", "spans": 5, "call_nos": [1, 2], "last_call_no": 9,
}  # fmt: skip
"""A value for each parameter that a query may have."""


def parameters_of(kind: type[QueryRow]) -> dict[str, Any]:
    return {name: GIVEN[name] for name in re.findall(r"\$([a-z_]+)", sql("queries", kind.query))}


KINDS = [kind for kind in every_kind(QueryRow) if hasattr(kind, "query")]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Runs of which every query has something to say, in a journal."""
    ledger = Ledger(tmp_path_factory.mktemp("rows") / "ledger.duckdb")
    write_run(ledger.journal_folder, "r1", 3)
    journal = JournalWriter(ledger.journal_folder)
    occasion = {"occasion": "2026-11-20", "generation": "nightly@2026-11-20"}
    journal.append(started("r2", 3, job="nightly", part='{"max_tokens": 512}', **occasion))
    now = started("r1", 1).recorded_at
    journal.append(ReadingTaken("abc", now, now, "used", "37%", False, 0.365, 0.375))
    journal.append(SampleInvalidated("r2", now, "sample1", True, "wrong"))
    journal.append(ChangeAccepted("nightly", now, True, "a new version", "m"))
    journal.append(Scored("r1", "k", "numeric", "{}", started("r1", 1).recorded_at, "equal", 1.0))
    journal.append(Scored("r1", key(1), "judge", '{"name": "judge"}', now, "it is so", 1.0, "GRADE: C"))
    journal.append(Scored("r1", "k", "custom", "{}", started("r1", 1).recorded_at, f"{FAILED}KeyError: 'x'"))
    journal.close()
    with reading(ledger) as reader:
        yield reader


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_struct_is_its_query(reader: Reader, kind: type[QueryRow]) -> None:
    parameters = parameters_of(kind)
    table = reader.arrow(kind.query, **parameters)
    found = rows_of(reader, kind.query, **parameters)
    assert tuple(table.column_names) == kind.__struct_fields__
    for row in found:
        msgspec.convert(row, kind)  # raises where a value is not of the type that the struct promises


def test_every_query_has_a_struct_but_those_that_are_read_in_columns() -> None:
    queries = {path.stem for path in (Path(workbench.__file__).parent / "ledger" / "sql" / "queries").iterdir()}
    in_columns = {"calls", "references", "tags", "tool_calls", "usage"}
    assert queries - {kind.query for kind in KINDS} == in_columns | {"accepted_per_request"}  # which tests ask


@pytest.fixture(scope="module")
def empty() -> duckdb.DuckDBPyConnection:
    """A ledger's tables, and the lines of no journal."""
    db = duckdb.connect()
    for _, _, text in migrations():
        db.execute(text)
    db.execute(f"CREATE TEMP TABLE staged ({', '.join(f'{name} {kind}' for name, kind in journal_columns().items())})")
    return db


def inserts() -> dict[str, list[str]]:
    """The SELECTs of an ingest by the table that they fill."""
    found: dict[str, list[str]] = {}
    for statement in re.sub(r"--[^\n]*", "", ingest_text()).split(";"):
        if match := re.match(r"\s*INSERT INTO (\w+) BY NAME\s+(.*)", statement, re.DOTALL):
            found.setdefault(match[1], []).append(match[2])
    return found


@pytest.mark.parametrize("table", inserts())
def test_an_insert_fills_every_column_of_its_table(empty: duckdb.DuckDBPyConnection, table: str) -> None:
    columns = {name: kind for name, kind, *_ in empty.execute(f"DESCRIBE {table}").fetchall()}
    filled: dict[str, str] = {}
    for select in inserts()[table]:
        filled |= {name: kind for name, kind, *_ in empty.execute(f"DESCRIBE {select}").fetchall()}
    assert filled == columns


@pytest.mark.parametrize("kind", entries.KINDS, ids=kind_name)
def test_a_journal_of_one_kind_is_ingested_by_its_own_columns(
    empty: duckdb.DuckDBPyConnection, kind: type[Entry]
) -> None:
    """What a journal does not have is neither read nor distributed: it would take most of a short one's time."""
    cursor = empty.cursor()  # whose temporary tables are its own
    cursor.execute(f"CREATE TEMP TABLE staged ({', '.join(f'{n} {t}' for n, t in journal_columns([kind]).items())})")
    assert cursor.execute(ingest_text([kind]))


def test_every_table_is_filled(empty: duckdb.DuckDBPyConnection) -> None:
    tables = {
        name for (name,) in empty.execute("SELECT table_name FROM duckdb_tables() WHERE NOT temporary").fetchall()
    }
    by_hand = {
        "schema_versions",
        "ingested_journals",
        "corrected_outcomes",
    }  # written by `insert_rows`, for which a missing column is an error
    assert tables == set(inserts()) | by_hand
