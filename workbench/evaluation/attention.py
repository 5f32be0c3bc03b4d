"""Which routes need attention, and why, from what the ledger holds."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from workbench.display.text import plural
from workbench.ledger.route_rows import RouteRecent, RouteServed, RouteTotals
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
    detail: str = ""
    """The outcome or served name that shows it; for `slower`, of which days the answers before are."""
    until: str = ""
    """For `slower`, up to which day the seven days of the others are."""


def routes_that_need_attention(
    routes: Sequence[RouteTotals], recent: Sequence[RouteRecent], matrix: Sequence[RouteServed]
) -> list[Attention]:
    """Judge every route by fixed thresholds; the worst kinds come first.

    Args:
        routes: What their calls came to.
        matrix: Who answered for whom.
    """
    found = [*_failing(recent), *_substituted(matrix), *_slower(recent), *_lacking(routes)]
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
    """Return how often a name came; it shows whether the route kept to it, and proves nothing.

    Args:
        row: With the name.
        matrix: It is a row of.
    """
    answers = sum(one.answers for one in matrix if one.requested_model == row.requested_model)
    part = "the only name in" if row.answers == answers else f"the name on {row.answers} of"
    return f"{part} {plural(answers, 'answer')}"


def _of_identity(matrix: Sequence[S], identity: str) -> list[S]:
    return sorted((row for row in matrix if row.identity == identity), key=lambda row: -row.answers)


def _failing(recent: Sequence[RouteRecent]) -> Iterator[Attention]:
    for row in recent:
        calls, failed = row.newest_calls, row.newest_failed
        if failed and failed / calls > NOTICED_SHARE:
            yield Attention(row.model, "failing", failed, calls, str(row.newest_failure))


def _substituted(matrix: Sequence[RouteServed]) -> Iterator[Attention]:
    answers: dict[str, int] = {}
    for row in matrix:
        answers[row.requested_model] = answers.get(row.requested_model, 0) + row.answers
    for row in fallbacks(matrix):
        model = row.requested_model
        yield Attention(model, "fallback", row.answers, answers[model], str(row.served_model))
    for row in suspected(matrix):
        yield Attention(
            row.requested_model, "suspected", row.answers, answers[row.requested_model], str(row.served_model)
        )


def _slower(recent: Sequence[RouteRecent]) -> Iterator[Attention]:
    for row in recent:
        now, before = row.now_p50_ms, row.earlier_p50_ms
        enough = row.now_answers >= LEAST_ANSWERS and row.earlier_answers >= LEAST_ANSWERS
        if enough and now is not None and before and now / before > SLOWER:
            since, until = row.earlier_from, row.earlier_until
            dates = "" if since is None or until is None else f"{since:%Y-%m-%d} to {until:%Y-%m-%d}"
            yield Attention(row.model, "slower", now / before, row.now_answers, dates, f"{row.newest_at:%Y-%m-%d}")


def _lacking(routes: Sequence[RouteTotals]) -> Iterator[Attention]:
    for row in routes:
        silent = row.tools_forced - row.forced_and_called
        if silent and silent / row.tools_forced > NOTICED_SHARE:
            yield Attention(row.model, "no tool call", silent, row.tools_forced)
        missing = row.calls_without_usage
        if missing and missing / row.answers > NOTICED_SHARE:
            yield Attention(row.model, "no usage", missing, row.answers)
