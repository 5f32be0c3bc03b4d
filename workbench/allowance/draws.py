"""What our own calls drew between given moments, in units, with what of it is not known."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from workbench.allowance.weights import ReportedTokens, Weights
from workbench.ledger.queries import Reader


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

    def between(self, start: datetime, end: datetime) -> Drawn:
        """What the calls drew that ended between two edges."""
        low, high = self.edges.index(start) + 1, self.edges.index(end) + 1
        return sum((call.drawn for call in self.calls if call.ended is not None and low <= call.ended < high), Drawn())

    def begun_between(self, start: datetime, end: datetime) -> Drawn:
        """What the calls drew, or will have drawn, that were sent between two edges."""
        return sum((call.drawn for call in self.begun(start, end)), Drawn())

    def begun(self, start: datetime, end: datetime) -> list[CallsDrawn]:
        """The calls that were sent between two edges."""
        low, high = self.edges.index(start) + 1, self.edges.index(end) + 1
        return [call for call in self.calls if low <= call.sent < high]


def draws(reader: Reader, edges: Sequence[datetime], weights: Weights) -> Draws:
    """Read what our calls drew, by stretches.

    Args:
        reader: Of the ledger.
        edges: Moments with their zones; calls before the first are left out. Those at which weights change are added.
        weights: What tokens draw.
    """
    utc = {edge.astimezone(UTC) for edge in edges}
    first = min(utc)
    ordered = tuple(sorted(utc | {at.astimezone(UTC) for at in weights.changes() if at > first}))
    rows = reader.rows("draws_by_segment", edges=list(ordered), since=first)
    calls = []
    for row in rows:
        at = ordered[max(row["sent_segment"] - 1, 0)]
        tokens = ReportedTokens(
            row["prompt_tokens"], row["completion_tokens"], row["reasoning_tokens"], row["total_tokens"]
        )
        units = weights.units(row["model"], at, tokens)
        bound = ReportedTokens(
            row["prompt_bound"], row["completion_bound"], 0, row["prompt_bound"] + row["completion_bound"]
        )
        most = weights.units(row["model"], at, bound)
        drawn = Drawn(
            units or 0.0, row["total_tokens"], row["calls"], row["unknown_calls"], most or 0.0,
            row["uncapped_calls"] if most is not None else row["unknown_calls"],
            row["total_tokens"] if units is None else 0,
        )  # fmt: skip
        calls.append(CallsDrawn(row["sent_segment"], row["ended_segment"], row["model"], row["job"], drawn))
    return Draws(ordered, tuple(calls))
