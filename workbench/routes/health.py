"""The times in an account's history when each route was worst."""

import statistics
from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from workbench.ledger.queries import Row

_LEAST_CALLS = 10
_NOTICED_SHARE = 0.05
_SLOWER = 1.5


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


_SHARES = (
    ("failures", "not_accepted", "calls"),
    ("fallbacks", "fallbacks", "answers"),
    ("no usage", "calls_without_usage", "answers"),
)


def worst_times(course: Sequence[Row]) -> list[Worst]:
    """The worst span of each route in each respect, where it was worth noticing; by route.

    Args:
        course: `route_course` rows.
    """
    by_model: dict[str, list[Row]] = {}
    for row in course:
        by_model.setdefault(row["model"], []).append(row)
    return [one for model, rows in by_model.items() for one in _of_route(model, rows)]


def _of_route(model: str, rows: Sequence[Row]) -> Iterator[Worst]:
    for what, part, whole in _SHARES:
        spans = [row for row in rows if row[whole] >= _LEAST_CALLS]
        if not spans:
            continue
        worst = max(spans, key=lambda row: row[part] / row[whole])
        share = worst[part] / worst[whole]
        if share > _NOTICED_SHARE:
            usual = sum(row[part] for row in rows) / sum(row[whole] for row in rows)
            yield Worst(model, what, worst["from_at"], share, usual, worst[whole])
    spans = [row for row in rows if row["answers"] >= _LEAST_CALLS]
    if len(spans) > 1:
        middle = statistics.median_low(row["p50_ms"] for row in spans)
        worst = max(spans, key=lambda row: row["p50_ms"])
        if worst["p50_ms"] > _SLOWER * middle:
            yield Worst(model, "slow answers", worst["from_at"], worst["p50_ms"], middle, worst["answers"])
