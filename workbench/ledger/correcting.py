"""Stored answers judged once more: a rule that was corrected holds for them too, and nothing is sent."""

from collections.abc import Iterator

import duckdb

import workbench.settings.clock as clock
from workbench.client.completion import WHOLE_ENDS, decode, is_error, judged
from workbench.ledger.engine import literal

CORRECTING_SCHEMAS = frozenset({15})
"""The versions of the schema that came with a corrected rule."""
_AT_ONCE = 500
_MAY_DIFFER = f"""
    outcome IN ('ok', 'empty', 'truncated') AND raw IS NOT NULL AND (
        outcome = 'empty'
        OR (outcome = 'ok' AND lower(coalesce(finish_reason, 'stop')) NOT IN ({", ".join(map(literal, sorted(WHOLE_ENDS)))}))
        OR regexp_matches(raw, '"(refusal"\\s*:\\s*"|error"\\s*:\\s*[{{"\\[])')
    )
"""
"""The answers of which a rule of today may say something else than the one by which they were recorded."""


def correct_stored(db: duckdb.DuckDBPyConnection) -> None:
    """Judge the answers of a ledger once more, in the current transaction."""
    _correct(db, "attempts JOIN responses USING (run_id, call_no)", _MAY_DIFFER)


def correct_staged(db: duckdb.DuckDBPyConnection) -> None:
    """Correct the lines of a journal that were just distributed: an earlier version may have written it."""
    _correct(db, "staged", f"kind = 'answer' AND {_MAY_DIFFER}")


def _correct(db: duckdb.DuckDBPyConnection, source: str, condition: str) -> None:
    found = db.execute(f"SELECT run_id, call_no, outcome, raw FROM {source} WHERE {condition}")  # noqa: S608 - ours
    now = clock.now()
    for row in list(_corrections(found)):
        values = ", ".join(map(literal, (*row, now)))
        db.execute(f"INSERT INTO corrected_outcomes VALUES ({values})")  # noqa: S608 - quoted


def _corrections(found: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, int, str, str]]:
    while batch := found.fetchmany(_AT_ONCE):
        for run_id, call_no, outcome, raw in batch:
            try:
                value = decode(raw.encode())
            except ValueError:  # its key was taken out of it, for one
                continue
            verdict = judged(value)
            if verdict.completion is not None and not is_error(value) and verdict.outcome != outcome:
                yield run_id, call_no, str(verdict.outcome), verdict.evidence
