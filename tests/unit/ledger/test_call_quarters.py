"""What pages over all runs sum up: calls by quarter of an hour, beside the calls themselves."""

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import msgspec
import pytest

from tests.unit.ledger.ledger_rows import STARTED_AT, answer, intent, started, write_run
from workbench.ledger.check import check_ledger
from workbench.ledger.entries import Answer, Intent, SampleSeen
from workbench.ledger.ingest import ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.route_rows import RouteOutcome
from workbench.ledger.schema import insert_rows
from workbench.ledger.store import Ledger
from workbench.ledger.usage_rows import DrawsBySegment, RunDraws, UsageBy
from workbench.records.outcomes import EFFECTS, Outcome

TRIES = 3
ENDS = (
    Outcome.OK,
    Outcome.OK,
    Outcome.TRUNCATED,
    Outcome.EMPTY,
    Outcome.GATEWAY_TIMEOUT,
    Outcome.RATE_LIMITED,
    Outcome.CANCELLED,
)
REPORTS = (
    (4, 6, None, 10),
    (4, 6, 5, 10),
    (4, 6, 5, 15),
    (None, None, None, 10),
    (None, 6, 2, 8),
    (4, 6, None, None),
    (None,) * 4,
)
Call = tuple[Intent, Answer | None]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "l.duckdb", zone="Asia/Kathmandu")  # 5:45 hours before UTC


def some_calls(run_id: str, number: int, dice: random.Random) -> Iterator[Call]:
    """Calls of three hours and two models that end in every way and report all, some or nothing of what they drew; some do not end."""
    for call_no in range(1, number + 1):
        model, sent_at = dice.choice(["m", "n"]), STARTED_AT + timedelta(seconds=dice.randrange(3 * 3600))
        cap = dice.choice(["", ', "max_tokens": 7'])
        asked = msgspec.structs.replace(
            intent(run_id, call_no),
            model=model,
            sent_at=sent_at,
            body=f'{{"model": "{model}"{cap}}}',
            body_key=f"{model}{cap}",
        )
        if dice.random() < 0.1:
            yield asked, None
            continue
        outcome, tokens = dice.choice(ENDS), dice.choice(REPORTS)
        effects, names = EFFECTS[outcome], ("prompt_tokens", "completion_tokens", "reasoning_tokens", "total_tokens")
        yield asked, answer(
            run_id, call_no, model=model, outcome=str(outcome), accepted=effects.accepted, drew=effects.drew, sent_at=sent_at,
            ended_at=sent_at + timedelta(seconds=dice.choice([1, 30, 1000])), raw=None,
            served_model=dice.choice([model, "other", None]), **dict(zip(names, tokens, strict=True)),
        )  # fmt: skip


def recorded(ledger: Ledger, seed: int) -> list[Call]:
    """Three runs, of which one is in two journals and the last is not ingested."""
    dice, calls = random.Random(seed), []
    for run_id in ("r1", "r2", "r3"):
        of_run = list(some_calls(run_id, 60, dice))
        calls += of_run
        for part in (of_run[:30], of_run[30:]):
            writer = JournalWriter(ledger.journal_folder)
            if part[0] is of_run[0]:
                writer.append(started(run_id, 60))
            for asked, ended in part:
                for entry in (SampleSeen(asked.sample_key, "{}"), asked, *([ended] if ended else [])):
                    writer.append(entry)
            writer.close()
        if run_id != "r3":
            ingest(ledger)
    return calls


def is_unknown(ended: Answer | None, *, in_parts: bool) -> bool:
    if ended is None:
        return True
    told = [ended.total_tokens, *([ended.prompt_tokens, ended.completion_tokens] if in_parts else [])]
    return ended.drew != "no" and None in told


def answer_tokens(ended: Answer) -> int:
    """Completion without reasoning, which some routes report inside of it and others beside."""
    prompt, completion, reasoning = ended.prompt_tokens, ended.completion_tokens or 0, ended.reasoning_tokens or 0
    beside = None not in (ended.total_tokens, prompt, ended.completion_tokens, ended.reasoning_tokens) and (
        (ended.total_tokens or 0) >= (prompt or 0) + completion + reasoning
    )
    return completion if beside else completion - min(reasoning, completion)


def drawn_one_by_one(calls: Sequence[Call], edges: Sequence[datetime], *, in_parts: bool) -> dict[object, Counter[str]]:
    """What `draws_by_segment` answers, from each call."""
    found: dict[object, Counter[str]] = {}
    for asked, ended in calls:
        if asked.sent_at < edges[0]:
            continue
        sent = bisect_right(edges, asked.sent_at)
        until = max(sent, bisect_right(edges, ended.ended_at)) if ended else None
        sums = found.setdefault((sent, until, asked.model), Counter())
        sums["calls"] += 1
        if not is_unknown(ended, in_parts=in_parts):
            assert ended is not None
            sums["prompt_tokens"] += ended.prompt_tokens or 0
            sums["completion_tokens"] += answer_tokens(ended)
            sums["reasoning_tokens"] += ended.reasoning_tokens or 0
            sums["total_tokens"] += ended.total_tokens or 0
            continue
        tries = 1 if ended and ended.drew == "yes" else TRIES
        sums["unknown_calls"] += 1
        if "max_tokens" in asked.body:
            sums["prompt_bound"] += tries * len(asked.body.encode())
            sums["completion_bound"] += tries * 7
        else:
            sums["uncapped_calls"] += 1
    return {key: +sums for key, sums in found.items()}


@pytest.mark.parametrize("in_parts", [False, True])
def test_what_calls_drew_between_moments_is_the_sum_of_theirs(ledger: Ledger, in_parts: bool) -> None:
    calls = recorded(ledger, 1)
    a_sending, an_end = calls[3][0].sent_at, next(ended.ended_at for _, ended in calls if ended)
    edges = sorted({STARTED_AT + timedelta(minutes=20), a_sending, an_end, STARTED_AT + timedelta(minutes=90)})
    with reading(ledger) as reader:
        told = {"edges": edges, "since": edges[0], "in_parts": in_parts, "tries": TRIES}
        rows = reader.all(DrawsBySegment, **told)
    names = DrawsBySegment.__struct_fields__[4:]
    found = {
        (row.sent_segment, row.ended_segment, row.model): +Counter({name: getattr(row, name) for name in names})
        for row in rows
    }
    assert found == drawn_one_by_one(calls, edges, in_parts=in_parts)
    assert check_ledger(ledger)["contradicting_sums"] == 0


def test_what_a_run_drew_is_the_sum_of_its_calls(ledger: Ledger) -> None:
    calls = recorded(ledger, 2)
    with reading(ledger) as reader:
        rows = reader.all(RunDraws, most=9, in_part=True, in_parts=False)
    for row in rows:
        of_it = [ended for asked, ended in calls if (asked.run_id, asked.model) == (row.run_id, row.model)]
        known = [ended for ended in of_it if ended and not is_unknown(ended, in_parts=False)]
        assert row.unknown_calls == len(of_it) - len(known)
        assert row.completion_tokens == sum(map(answer_tokens, known))
        assert row.total_tokens == sum(ended.total_tokens or 0 for ended in known)
    assert {(row.run_id, row.model) for row in rows} == {(run, model) for run in ("r1", "r2", "r3") for model in "mn"}


def test_the_days_of_usage_are_those_of_the_zone(ledger: Ledger) -> None:
    midnight = datetime(2026, 11, 21, tzinfo=ZoneInfo(ledger.zone))
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 2))
    for number, sent_at in enumerate([midnight - timedelta(seconds=1), midnight, midnight], 1):
        at = sent_at.astimezone(UTC)
        writer.append(msgspec.structs.replace(intent("r1", number), sent_at=at))
        if number < 3:  # the last was never heard of again
            writer.append(answer("r1", number, sent_at=at, ended_at=at))
    writer.close()
    ingest(ledger)
    with reading(ledger) as reader:
        days = reader.all(UsageBy, by="day", since=None, until=None)
    assert [(day.name, day.calls, day.open_intents) for day in days] == [("2026-11-20", 1, 0), ("2026-11-21", 2, 1)]


def test_a_corrected_outcome_counts_in_every_sum(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 3)
    write_run(ledger.journal_folder, "r2", 2)
    ingest(ledger)
    with duckdb.connect(str(ledger.path)) as db:
        insert_rows(db, "corrected_outcomes", [("r1", 2, "refused", "e", STARTED_AT)])
    with reading(ledger) as reader:
        assert [(row.outcome, row.calls) for row in reader.all(RouteOutcome)] == [("ok", 4), ("refused", 1)]
        (used,) = reader.all(UsageBy, by="model", since=None, until=None)
        assert (used.calls, used.total_tokens) == (5, 50)
    assert check_ledger(ledger)["sound"]


def test_sums_that_are_not_those_of_the_attempts_are_a_fault(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    assert check_ledger(ledger)["problems"] == []
    with duckdb.connect(str(ledger.path)) as db:
        db.execute("UPDATE call_quarters SET total_tokens = total_tokens + 1")
    said = "sums by quarter of an hour, which pages show, that differ from the attempts"
    assert check_ledger(ledger)["problems"] == [f"{said}: 2"]
    with duckdb.connect(str(ledger.path)) as db:
        db.execute("DELETE FROM call_quarters")
    assert check_ledger(ledger)["problems"] == [f"{said}: 1"]
