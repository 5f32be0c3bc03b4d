"""Figures of runs that did not go as usual: what the sentences and the queries behind them say."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

from tests.asked_rows import rows_of
from tests.unit.ledger.ledger_rows import STARTED_AT, answer, intent, key, started, write_run
from workbench.evaluation.rescore import rescore
from workbench.evaluation.run_figures import run_figures
from workbench.ledger.entries import RunEnded, score_entry
from workbench.ledger.ingest import ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import Row, reading
from workbench.ledger.schema import insert_rows
from workbench.ledger.store import Ledger
from workbench.ledger.usage_rows import Spend, UnknownDraw
from workbench.records.calls import Score
from workbench.records.endings import SETTLED, RunStatus
from workbench.scoring.exact import Exact
from workbench.wording.allowance import spend_text as spent
from workbench.wording.runs import run_verdict


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.duckdb")


def asked(ledger: Ledger, query: str, **parameters: Any) -> list[Row]:
    with reading(ledger) as reader:
        return rows_of(reader, query, **parameters)


def said(ledger: Ledger, run_id: str) -> str:
    with reading(ledger) as reader:
        return run_verdict(run_figures(reader, run_id))


def test_a_job_whose_newest_run_goes_on_is_not_complete(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 1)
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r2", 1, recorded_at=STARTED_AT + timedelta(hours=1)))
    writer.close()
    (job,) = asked(ledger, "jobs")
    assert (job["last_run_id"], job["last_status"]) == ("r2", None)


def test_runs_are_found_by_id_however_old(ledger: Ledger) -> None:
    for number in range(5):
        write_run(ledger.journal_folder, f"r{number}", 1)
    assert [row["run_id"] for row in asked(ledger, "runs", most=9, run_ids=["r0"])] == ["r0"]
    assert asked(ledger, "runs", most=0, run_ids=[]) == []


def test_calls_that_were_sent_and_never_ended_are_said(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 3))
    for number in (1, 2, 3):
        writer.append(intent("r1", number))
    writer.close()
    assert said(ledger, "r1") == "3 of 3 requests have no answer yet: not sent, in flight or interrupted."
    with reading(ledger) as reader:
        total, unknown = reader.only(Spend), reader.all(UnknownDraw)
        summary, (run,) = rows_of(reader, "run_summary", run_id="r1")[0], rows_of(reader, "runs", most=1, run_ids=None)
    assert summary["total_tokens"] is run["total_tokens"] is None, "what was sent may have drawn"
    assert spent(total, unknown) == "No tokens were reported in 3 calls on 1 day. The usage of 3 of them is not known."


def test_what_is_pending_is_not_all(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 10))
    for number in (1, 2, 3):
        writer.append(intent("r1", number))
        writer.append(answer("r1", number))
    writer.close()
    assert said(ledger, "r1") == "7 of 10 requests have no answer yet: not sent, in flight or interrupted."


def test_a_model_without_an_estimate_does_not_delete_the_range_of_the_others(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 3))
    answers: list[dict[str, object]] = [{}, {"total_tokens": None}, {"total_tokens": None, "model": "silent"}]
    for number, fields in enumerate(answers, 1):
        writer.append(intent("r1", number))
        writer.append(answer("r1", number, **fields))
    writer.close()
    with reading(ledger) as reader:
        total = reader.only(Spend)
    known = UnknownDraw("m", 1, 0, 0, 1, 10.0, 10.0, 10, 10)
    silent = msgspec.structs.replace(known, low_tokens=None, high_tokens=None)
    assert spent(total, [known]).endswith(
        "usage of 2 of them is not known: between 10 and 10 tokens, estimated from similar calls."
    )
    told = spent(total, [known, silent])
    assert told.endswith("between 10 and 10 tokens, estimated from similar calls, and 1 of them without an estimate.")
    assert spent(total, [silent]).endswith("usage of 2 of them is not known.")


def test_a_sample_counts_once_however_many_of_its_epochs_are_scored(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 4))
    for number, (sample, value) in enumerate((("a", 1.0), ("a", 1.0), ("a", 1.0), ("b", 0.0)), 1):
        writer.append(msgspec.structs.replace(intent("r1", number), sample_key=sample))
        writer.append(answer("r1", number, sample_key=sample))
        writer.append(score_entry("r1", key(number), ("exact", "{}"), STARTED_AT, Score(value, "")))
    writer.append(RunEnded("r1", STARTED_AT + timedelta(minutes=1), "complete", 0, 60.0))
    writer.close()
    with reading(ledger) as reader:
        ((row, interval),) = run_figures(reader, "r1").scores
    assert interval is not None
    assert row.mean == interval.mean == 0.5
    assert (interval.n, row.scored, row.samples) == (2, 4, 2)


ALL_RIGHT = dict.fromkeys("abcdefghijklmnopqrstuvwx", 1.0)


def scored(ledger: Ledger, values: dict[str, dict[str, float]]) -> str:
    """The verdict on a run with those values by model and sample."""
    writer = JournalWriter(ledger.journal_folder)
    calls = [(model, sample, value) for model, found in values.items() for sample, value in found.items()]
    writer.append(started("r1", len(calls)))
    for number, (model, sample, value) in enumerate(calls, 1):
        writer.append(msgspec.structs.replace(intent("r1", number), model=model, sample_key=sample))
        writer.append(answer("r1", number, model=model, served_model=model, sample_key=sample))
        writer.append(score_entry("r1", key(number), ("exact", "{}"), STARTED_AT, Score(value, "")))
    writer.append(RunEnded("r1", STARTED_AT + timedelta(minutes=1), "complete", 0, 60.0))
    writer.close()
    return said(ledger, "r1")


def test_a_model_that_failed_at_what_is_hard_is_not_best(ledger: Ledger) -> None:
    easy, hard = {"a": 1.0, "b": 1.0, "c": 0.0}, {"d": 0.0, "e": 0.0}
    verdict = scored(ledger, {"flaky": easy, "steady": easy | hard, "worse": easy | hard | {"a": 0.0}})
    assert verdict == (
        "steady scores higher than worse by “exact”, 0.400 and 0.200, but too few samples differ to tell (1–0 on 5 samples). "
        "Not ranked: flaky (3 of 5 answers have a result, and 80 % must). All 13 requests are answered."
    )


def test_a_model_scored_on_few_samples_does_not_decide_what_the_others_share(ledger: Ledger) -> None:
    verdict = scored(ledger, {"m": ALL_RIGHT, "n": dict.fromkeys(ALL_RIGHT, 0.0), "few": {"a": 1.0}})
    assert verdict.startswith(
        "m is better than n by “exact”, by 100.0 points [61.4, 100.0], 24–0 on 24 samples. Not ranked: few (1 of 24 answers have a result"
    )


@pytest.mark.parametrize(
    ("values", "said_of_them"),
    [
        (
            {"m": {"a": 1.0}, "n": {"a": 0.0}},
            "m scores higher than n by “exact”, 1.000 and 0.000, but too few samples differ to tell (1–0 on 1 sample).",
        ),
        (
            {"m": ALL_RIGHT, "n": ALL_RIGHT | dict.fromkeys("abcdefghijkl", 0.0)},
            "m is better than n by “exact”, by 50.0 points [23.5, 68.6], 12–0 on 24 samples.",
        ),
        (
            {"m": ALL_RIGHT, "n": dict.fromkeys(ALL_RIGHT, 0.0), "o": ALL_RIGHT | {"a": 0.0}},
            "m scores best by “exact”, 1.000 on 24 samples; it is better than n, but is not shown to be better than o.",
        ),
        (
            {"m": ALL_RIGHT, "n": dict.fromkeys(ALL_RIGHT, 0.0), "o": dict.fromkeys(ALL_RIGHT, 0.0)},
            "m is better than both others by “exact”; than the nearest, n, by 100.0 points [61.4, 100.0], 24–0 on 24 samples.",
        ),
        ({"m": {"a": 1.0}, "n": {"a": 1.0}}, "m and n tie for best by “exact”: 1.000 on 1 sample."),
        ({"m": {"a": 1.0, "b": 0.0}}, "m scores 0.500 [0.01, 0.99] by “exact” on 2 samples."),
        (
            {"m": {"a": 1.0}, "n": {"b": 0.0, "c": 0.0}},
            "No model is ranked by “exact”. Not ranked: m (1 of 3 answers have a result, and 80 % must); n (2 of 3 answers",
        ),
        (
            {"m": {"a": 1.0}, "n": {"b": 0.0, "c": 0.0}, "o": {"a": 1.0}, "p": {"a": 1.0}},
            "Not ranked: m and o (each: 1 of 3 answers have a result, and 80 % must); n (2 of 3 answers have a result, and 80 % must); 1 more.",
        ),
        (
            {"m": {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}, "o": {"a": 1.0, "b": 1.0}},
            "m scores 0.500 [0.07, 0.93] by “exact” on 4 samples. Not ranked: o (2 of 4 answers have a result, and 80 % must).",
        ),
        (
            {"m": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0}, "n": {"a": 1.0, "b": 1.0}, "o": {"c": 1.0, "d": 0.0}},
            "m scores 0.750 [0.19, 0.99] by “exact” on 4 samples. Not ranked: n and o (each: 2 of 4",
        ),
        (
            {"m": ALL_RIGHT | {"a": 0.0}, "n": {k: v for k, v in ALL_RIGHT.items() if k != "a"}},
            "n scores higher than m by “exact”, 0.958 to 1.000 and 0.958, but too few samples differ to tell (0–0 on 23 samples",
        ),
    ],
)
def test_only_what_compares_is_compared(ledger: Ledger, values: dict[str, dict[str, float]], said_of_them: str) -> None:
    assert said_of_them in scored(ledger, values)


def test_models_without_an_answer_of_use_are_counted_by_why(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 5))
    ends = {"down": "route_down", "gone": "route_down", "cut": "truncated", "good": "ok", "fine": "ok"}
    for number, (model, outcome) in enumerate(ends.items(), 1):
        accepted = outcome in ("ok", "truncated")
        writer.append(msgspec.structs.replace(intent("r1", number), model=model))
        ended = {"outcome": outcome, "accepted": accepted, "rerun": not accepted, "scorable": outcome == "ok"}
        writer.append(answer("r1", number, model=model, served_model=model, **ended))
    writer.append(RunEnded("r1", STARTED_AT + timedelta(minutes=1), "incomplete", 3, 60.0))
    writer.close()
    assert said(ledger, "r1") == "3 of 5 models gave no answer of use: 2 route down, 1 cut off."


def test_flights_are_counted_also_where_nothing_changes(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 9))
    for number in range(1, 9):
        writer.append(answer("r1", number, sent_at=STARTED_AT, ended_at=STARTED_AT + timedelta(seconds=100)))
    at = STARTED_AT + timedelta(seconds=50)
    writer.append(answer("r1", 9, sent_at=at, ended_at=at + timedelta(seconds=1)))
    writer.close()
    assert [row["most_in_flight"] for row in asked(ledger, "run_in_flight", run_id="r1", spans=4)] == [8, 8, 9, 8]
    assert asked(ledger, "run_in_flight", run_id="none", spans=4) == []


def test_one_model_does_not_disagree_with_itself(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 2))
    for number in (1, 2):
        writer.append(msgspec.structs.replace(intent("r1", number), sample_key="same"))
        writer.append(answer("r1", number, sample_key="same"))
    writer.close()
    assert [row["disagree"] for row in asked(ledger, "run_samples", run_id="r1", most=9)] == [False, False]


def test_the_period_reaches_to_the_newest_call(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 1))
    late = STARTED_AT + timedelta(days=2)
    writer.append(answer("r1", 1, sent_at=late, ended_at=late))
    writer.close()
    (period,) = asked(ledger, "ledger_period")
    assert period["last_at"] == late


def test_a_request_cut_off_in_its_second_attempt_is_pending(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r", 2))
    failed = {"outcome": "route_down", "accepted": False, "rerun": True, "scorable": False, "answer": None, "raw": None}
    for number in (1, 2):
        writer.append(intent("r", number))
        writer.append(answer("r", number, **failed))
    writer.append(msgspec.structs.replace(intent("r", 1), call_no=3, attempt=2))
    writer.close()
    (summary,), (run,) = asked(ledger, "run_summary", run_id="r"), asked(ledger, "runs", most=1, run_ids=None)
    for row in (summary, run):
        assert (row["completed"], row["failed"], row["pending"]) == (0, 1, 1)
    assert summary["open_intents"] == 1


def test_a_score_made_after_the_clock_was_put_back_counts(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 1)
    writer = JournalWriter(ledger.journal_folder)
    later = datetime.now(UTC) + timedelta(hours=1)
    writer.append(
        score_entry("r1", key(1), ("exact", '{"name":"exact"}'), later, Score(1.0, "of a clock that was ahead"))
    )
    writer.close()
    rescore(ledger, "r1", [Exact(ignore_case=False)])
    with reading(ledger) as reader:
        (row,) = rows_of(reader, "scores_of_run", run_id="r1")
    assert row["reason"] != "of a clock that was ahead"
    assert rescore(ledger, "r1", [Exact(ignore_case=False)])[0] == 0


@pytest.mark.parametrize("status", RunStatus)
def test_a_run_is_settled_as_the_one_list_says(ledger: Ledger, status: RunStatus) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 1))
    writer.append(RunEnded("r1", STARTED_AT, status, 0, 1.0))
    writer.close()
    ingest(ledger)
    with duckdb.connect(str(ledger.path), read_only=True) as db:
        assert db.execute("SELECT is_settled FROM run_overview").fetchone() == (status in SETTLED,)


@pytest.mark.parametrize(
    ("spans", "steps"),
    [
        (1, [(0, 1), (1, 4), (5, 2), (6, 3), (9, 3)]),
        (4, [(0, 1), (1, 2), (3, 4), (5, 2), (6, 3), (9, 3)]),
        (1000, [(0, 1), (1, 2), (3, 3), (4, 4), (5, 2), (6, 3), (9, 3)]),
    ],
)
def test_of_a_limit_that_grows_each_moment_tells_when_it_began_and_how_far_it_came_and_every_cut_is_told(
    tmp_path: Path, spans: int, steps: list[tuple[int, int]]
) -> None:
    ledger = Ledger(tmp_path / "ledger.duckdb")
    write_run(ledger.journal_folder, "r1", 9)
    ingest(ledger)
    grown = [(1, 1, "start"), (2, 2, "growth"), (4, 3, "growth"), (5, 4, "growth"), (6, 2, "latency"), (7, 3, "growth")]
    with duckdb.connect(str(ledger.path)) as db:
        for at, level, reason in grown:
            limit = None if reason == "start" else level
            insert_rows(db, "paces", [("r1", STARTED_AT + timedelta(seconds=at), level, reason, None, limit)])
    with reading(ledger) as reader:
        rows = rows_of(reader, "run_pace", run_id="r1", spans=spans)
    assert [(row["seconds"], row["allowed"]) for row in rows] == steps
    assert [row["reason"] for row in rows if row["reason"] != "growth"] == ["start", "latency", "end"]


def test_of_equally_costly_calls_that_of_the_newest_run_is_told(ledger: Ledger) -> None:
    for run_id in ("r2", "r3", "r1"):
        write_run(ledger.journal_folder, run_id, 2)
        ingest(ledger)
    rows = asked(ledger, "costliest_samples", most=9)
    assert [(row["sample_key"], row["calls"], row["run_id"]) for row in rows] == [
        ("sample1", 3, "r3"),
        ("sample2", 3, "r3"),
    ]
