"""Scores from the ledger: no model is called, and a score that stands is not written again."""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from workbench.job_file import ScorerTable, scorer_label
from workbench.ledger.entries import score_entry
from workbench.ledger.ingest import Ingested, ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import Reader, Row, reading
from workbench.ledger.store import Ledger
from workbench.records import Sample, Score, ToolCall
from workbench.scoring.scorers import score

_ANSWERS_AT_ONCE = 2_000
_BYTES_AT_ONCE = 2**24  # of answers: so that a few long ones do not fill the memory
_ANSWERS_A_FILE = 20_000


def rescore(ledger: Ledger, run_id: str, scorers: Sequence[ScorerTable]) -> tuple[int, Ingested]:
    """Score every accepted answer of a run, and keep what is new or different.

    Args:
        ledger: Holds the answers.
        run_id: Whose.
        scorers: By which scorers.

    Returns:
        How many scores were written, and how the ingest went.

    Raises:
        JournalFullError: The disk takes no more.
    """
    if not scorers:
        return 0, Ingested()
    configured = [(scorer, (scorer_label(scorer), msgspec.json.encode(scorer).decode())) for scorer in scorers]
    written = 0
    with contextlib.closing(JournalWriter(ledger.journal_folder)) as journal, reading(ledger, frugal=True) as reader:
        before = reader.rows("scores_of_run", run_id=run_id)
        known = {
            (row["request_key"], row["scorer"], row["scorer_config"]): Score(
                row["value"], row["reason"], row["extracted"]
            )
            for row in before
        }
        recorded_at = _after([row["recorded_at"] for row in before])
        for count, row in enumerate(_scorable_answers(reader, run_id)):
            sample = _sample_of(row)
            for scorer, name in configured:
                verdict = _judged(row, scorer, sample)
                if known.get((row["request_key"], *name)) != verdict:
                    journal.append(score_entry(run_id, row["request_key"], name, recorded_at, verdict))
                    written += 1
            if count % _ANSWERS_AT_ONCE == 0:
                journal.flush()
            if count % _ANSWERS_A_FILE == _ANSWERS_A_FILE - 1:
                journal.rotate()  # the ingest takes a file at a time
    return written, ingest(ledger, whole=journal.whole) if written else Ingested()


def _after(moments: list[datetime]) -> datetime:
    """Now, or what comes after all of these, should the clock have been put back: the newest score counts."""
    return max([datetime.now(UTC), *(moment.replace(tzinfo=UTC) + timedelta(microseconds=1) for moment in moments)])


def _scorable_answers(reader: Reader, run_id: str) -> Iterator[Row]:
    for paid in reader.rows("answering_runs", run_id=run_id):
        at_once = min(_ANSWERS_AT_ONCE, max(1, _BYTES_AT_ONCE // max(1, paid["longest_bytes"])))
        for first in range(paid["first_call_no"], paid["last_call_no"] + 1, at_once):
            yield from reader.rows(
                "scorable_answers",
                run_id=run_id,
                answer_run_id=paid["answer_run_id"],
                first_call_no=first,
                end_call_no=first + at_once,
            )


def _judged(row: Row, scorer: ScorerTable, sample: Sample) -> Score:
    if not row["scorable"]:
        return Score(None, f"the answer is {row['outcome'].replace('_', ' ')}")
    calls = [ToolCall(None, call["name"], call["arguments"]) for call in row["tool_calls"] or []]
    return score(scorer, row["answer"], sample, calls)


def _sample_of(row: Row) -> Sample:
    content = msgspec.json.decode(row["sample"]) if row["sample"] else {}
    return msgspec.convert({"input": None, **content, "id": row["sample_id"]}, Sample)
