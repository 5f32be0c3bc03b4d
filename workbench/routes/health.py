"""The times in an account's history when each route was worst."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import msgspec

from workbench.evaluation.attention import LEAST_ANSWERS, NOTICED_SHARE, SLOWER
from workbench.ledger.route_rows import RouteSpan


class Worst(msgspec.Struct, frozen=True):
    """One route's worst span of time in one respect."""

    model: str
    what: str
    """`failures`, `fallbacks`, `no usage` or `slow answers`."""
    from_at: datetime
    part: float
    """Share of its calls or answers; for `slow answers` their median in ms."""
    usual: float
    """The same over all spans."""
    whole: int
    """Calls, or answers, of the span."""


_SHARES: tuple[tuple[str, Callable[[RouteSpan], tuple[int, int]]], ...] = (
    ("failures", lambda span: (span.not_accepted, span.calls)),
    ("fallbacks", lambda span: (span.fallbacks, span.answers)),
    ("no usage", lambda span: (span.calls_without_usage, span.answers)),
)


def worst_times(course: Sequence[RouteSpan]) -> list[Worst]:
    """Return the worst span of each route in each respect, where it was worth noticing; by route.

    Args:
        course: Of all routes.
    """
    by_model: dict[str, list[RouteSpan]] = {}
    for row in course:
        by_model.setdefault(row.model, []).append(row)
    return [one for model, rows in by_model.items() for one in _of_route(model, rows)]


def _of_route(model: str, rows: Sequence[RouteSpan]) -> Iterator[Worst]:
    for what, counted in _SHARES:
        counts = [(*counted(row), row.from_at) for row in rows]
        spans = [(part / whole, whole, from_at) for part, whole, from_at in counts if whole >= LEAST_ANSWERS]
        if not spans:
            continue
        share, whole, from_at = max(spans, key=lambda span: span[0])
        if share > NOTICED_SHARE:
            usual = sum(part for part, _, _ in counts) / sum(whole for _, whole, _ in counts)
            yield Worst(model, what, from_at, share, usual, whole)
    timed = [(row.p50_ms, row) for row in rows if row.answers >= LEAST_ANSWERS and row.p50_ms is not None]
    if len(timed) > 1:
        middle = statistics.median_low(p50_ms for p50_ms, _ in timed)
        slowest_ms, worst = max(timed, key=lambda span: span[0])
        if slowest_ms > SLOWER * middle:
            yield Worst(model, "slow answers", worst.from_at, slowest_ms, middle, worst.answers)
