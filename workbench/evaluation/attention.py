"""Which routes need attention now, and why, from what the ledger holds of the newest days."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

import msgspec

from workbench.display.text import plural
from workbench.ledger.route_rows import RouteRecent, RouteSubstitute
from workbench.ledger.run_rows import RunServed

NEWEST_CALLS = 50
"""How many of a route's newest calls say whether it fails."""
NOTICED_SHARE = 0.05
"""Failures, missing tool calls and missing usage below this share appear in the tables only."""
SLOWER = 1.5
"""Times the earlier median latency."""
LEAST_ANSWERS = 10
"""Fewer answers than this say nothing about a change."""
ANOTHER = ("fallback", "suspected")
"""The identities of answers that are another model's, or are taken for it."""
KINDS = ("failing", "fallback", "suspected", "new name", "slower", "no tool call", "no usage")


S = TypeVar("S", bound=RunServed)


class Attention(msgspec.Struct, frozen=True):
    """One reason to look at a route."""

    model: str
    kind: str
    """One of `KINDS`, the worst first."""
    part: float
    """How many calls show it; for `slower`, how many times as long they take as before."""
    whole: int
    """Of how many calls."""
    first_day: date
    """On which it was so, of those that are looked at."""
    last_day: date
    detail: str = ""
    """The outcome or served name that shows it; for `slower`, of which days the answers before are."""


def day_of(at: datetime, zone: str) -> date:
    """Return the day of a time in a zone."""
    return at.astimezone(ZoneInfo(zone)).date()


def routes_that_need_attention(
    recent: Sequence[RouteRecent], substitutes: Sequence[RouteSubstitute], zone: str
) -> list[Attention]:
    """Judge every route by fixed thresholds; the worst kinds come first.

    Args:
        substitutes: What others answered, of the same days.
        zone: Whose days these are.
    """
    found = [
        *_failing(recent, zone),
        *_substituted(recent, substitutes),
        *_slower(recent, zone),
        *_lacking(recent, zone),
    ]
    return sorted(found, key=lambda attention: KINDS.index(attention.kind))


def fallbacks(matrix: Sequence[S]) -> list[S]:
    """Return the rows that another model answered, the most answers first.

    Args:
        matrix: Who answered for whom, of a run or over everything.
    """
    return _of_identity(matrix, "fallback")


def suspected(matrix: Sequence[S]) -> list[S]:
    """Return the rows with a name that is not the model's, though no list says whose it is."""
    return _of_identity(matrix, "suspected")


def unconfirmed(matrix: Sequence[S]) -> list[S]:
    """Return the rows with a served name that the model list does not have: perhaps another name of the same model."""
    return [row for row in _of_identity(matrix, "unknown") if row.served_model is not None]


def constancy(row: RunServed, matrix: Sequence[RunServed]) -> str:
    """Return how often a name came; it shows whether the route kept to it, and proves nothing."""
    answers = sum(one.answers for one in matrix if one.requested_model == row.requested_model)
    part = "the only name in" if row.answers == answers else f"the name on {row.answers} of"
    return f"{part} {plural(answers, 'answer')}"


def _of_identity(matrix: Sequence[S], identity: str) -> list[S]:
    return sorted((row for row in matrix if row.identity == identity), key=lambda row: -row.answers)


def _failing(recent: Sequence[RouteRecent], zone: str) -> Iterator[Attention]:
    for row in recent:
        calls, failed = row.newest_calls, row.newest_failed
        if failed and failed / calls > NOTICED_SHARE:
            days = _days(row.failed_first_at, row.failed_last_at, zone)
            yield Attention(row.model, "failing", failed, calls, *days, str(row.newest_failure))


def _substituted(recent: Sequence[RouteRecent], substitutes: Sequence[RouteSubstitute]) -> Iterator[Attention]:
    answers = {row.model: row.now_answers for row in recent}
    found: dict[tuple[str, str], list[RouteSubstitute]] = {}
    for row in substitutes:
        found.setdefault((row.model, row.served_model), []).append(row)
    for (model, served_model), days in sorted(found.items(), key=lambda one: -sum(row.answers for row in one[1])):
        yield Attention(
            model,
            min(row.identity for row in days),  # a fallback, where one of the lists of models says so
            sum(row.answers for row in days),
            answers[model],
            min(row.day for row in days),
            max(row.day for row in days),
            served_model,
        )


def _slower(recent: Sequence[RouteRecent], zone: str) -> Iterator[Attention]:
    for row in recent:
        now, before = row.now_p50_ms, row.earlier_p50_ms
        enough = row.now_answers >= LEAST_ANSWERS and row.earlier_answers >= LEAST_ANSWERS
        if enough and now is not None and before and now / before > SLOWER:
            since, until = _days(row.earlier_from, row.earlier_until, zone)
            days = _days(row.now_first_at, row.now_last_at, zone)
            yield Attention(row.model, "slower", now / before, row.now_answers, *days, f"{since} to {until}")


def _lacking(recent: Sequence[RouteRecent], zone: str) -> Iterator[Attention]:
    for row in recent:
        silent = row.tools_forced - row.forced_and_called
        if silent and silent / row.tools_forced > NOTICED_SHARE:
            days = _days(row.prose_first_at, row.prose_last_at, zone)
            yield Attention(row.model, "no tool call", silent, row.tools_forced, *days)
        missing = row.calls_without_usage
        if missing and missing / row.now_answers > NOTICED_SHARE:
            days = _days(row.without_first_at, row.without_last_at, zone)
            yield Attention(row.model, "no usage", missing, row.now_answers, *days)


def _days(first_at: datetime | None, last_at: datetime | None, zone: str) -> tuple[date, date]:
    """Return the days of the first and the last of some calls; where there are any, there are both."""
    assert first_at is not None
    assert last_at is not None
    return day_of(first_at, zone), day_of(last_at, zone)
