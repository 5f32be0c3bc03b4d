"""What our own calls drew between given moments, in units, with what of it is not known."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from workbench.allowance.weights import ReportedTokens, Weights
from workbench.ledger.queries import Reader
from workbench.ledger.usage_rows import DrawsBySegment
from workbench.planning.models import GATEWAY_ATTEMPTS


class Drawn(msgspec.Struct, frozen=True):
    """What some calls drew."""

    units: float = 0.0
    """Reported, by the weights of their models."""
    tokens: int = 0
    """Reported."""
    calls: int = 0
    unknown_calls: int = 0
    """That may have drawn, and reported nothing."""
    unknown_most: float = 0.0
    """The most that those with a cap can have drawn, in units: a bound, not an estimate."""
    unbounded_calls: int = 0
    """Unknown ones without a cap or a weight: nothing bounds them."""
    unweighted_tokens: int = 0
    """Reported by models without a weight: not free, but not in `units`."""
    units_by_newest: float = 0.0
    """What the same tokens would draw by the weights of now."""

    def __add__(self, other: "Drawn") -> "Drawn":
        return Drawn(
            *(a + b for a, b in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True))
        )

    @property
    def most(self) -> float | None:
        """The most that all of them can have drawn; None where nothing bounds it."""
        return None if self.unbounded_calls or self.unweighted_tokens else self.units + self.unknown_most


class CallsDrawn(msgspec.Struct, frozen=True):
    """Calls of one model and job that began in one stretch and ended in one, as `Draws` has them."""

    sent: int
    """The number of the last edge that was not after it; 0 before the first."""
    ended: int | None
    model: str
    job: str | None
    drawn: Drawn


class Draws(msgspec.Struct, frozen=True):
    """Our calls by the stretches between edges."""

    edges: tuple[datetime, ...]
    calls: tuple[CallsDrawn, ...]

    def within(self, start: datetime, end: datetime) -> Drawn:
        """Return what the calls drew that began and ended between two edges: it was drawn then,
        whenever the platform counts it.
        """
        low, high = self._numbers(start, end)
        return _sum(call for call in self.begun(start, end) if call.ended is not None and low <= call.ended < high)

    def overlapping(self, start: datetime, end: datetime) -> Drawn:
        """Return what the calls drew, or will have drawn, that began or ended between two edges: no more was drawn by us then."""
        low, high = self._numbers(start, end)
        found = (
            low <= call.sent < high or (call.ended is not None and low <= call.ended < high) for call in self.calls
        )
        return _sum(call for call, touches in zip(self.calls, found, strict=True) if touches)

    def begun_between(self, start: datetime, end: datetime) -> Drawn:
        """Return what the calls drew, or will have drawn, that were sent between two edges."""
        return _sum(self.begun(start, end))

    def begun(self, start: datetime, end: datetime) -> list[CallsDrawn]:
        """Return the calls that were sent between two edges."""
        low, high = self._numbers(start, end)
        return [call for call in self.calls if low <= call.sent < high]

    def _numbers(self, start: datetime, end: datetime) -> tuple[int, int]:
        return self.edges.index(start) + 1, self.edges.index(end) + 1


def _sum(calls: Iterable[CallsDrawn]) -> Drawn:
    return sum((call.drawn for call in calls), Drawn())


def draws(reader: Reader, edges: Sequence[datetime], weights: Weights) -> Draws:
    """Read what our calls drew, by stretches.

    Args:
        reader: Of the ledger.
        edges: Moments with their zones; calls before the first are left out. Those between them at which weights change are
            added: what holds from a later day on prices nothing yet.
        weights: What tokens draw.
    """
    utc = {edge.astimezone(UTC) for edge in edges}
    first, last = min(utc), max(utc)
    ordered = tuple(sorted(utc | {at.astimezone(UTC) for at in weights.changes() if first < at < last}))
    told = {"edges": list(ordered), "since": first, "in_parts": bool(weights.entries), "tries": GATEWAY_ATTEMPTS}
    rows = reader.all(DrawsBySegment, **told)
    calls = []
    for row in rows:
        model, at = row.model, ordered[max(row.sent_segment - 1, 0)]
        tokens = ReportedTokens(row.prompt_tokens, row.completion_tokens, row.reasoning_tokens, row.total_tokens)
        units = weights.units(model, at, tokens)
        most = weights.most_units(model, at, row.prompt_bound, row.completion_bound)
        drawn = Drawn(
            units or 0.0, row.total_tokens, row.calls, row.unknown_calls, most or 0.0,
            row.uncapped_calls if most is not None else row.unknown_calls,
            row.total_tokens if units is None else 0, weights.units(model, ordered[-1], tokens) or 0.0,
        )  # fmt: skip
        calls.append(CallsDrawn(row.sent_segment, row.ended_segment, model, row.job, drawn))
    return Draws(ordered, tuple(calls))
