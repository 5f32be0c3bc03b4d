"""What others drew: the difference between what readings say was used and what our own calls drew, with its range."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import msgspec

CONFIDENCE = 0.9
"""Of ranges that are estimates; those that follow from readings alone hold always."""
_Range = tuple[float, float]


class Observed(msgspec.Struct, frozen=True):
    """A moment of one window at which the used part was read."""

    at: datetime
    used: _Range | None
    """Units used since the window began, at least and at most; None where the total would be needed and is not known."""
    share: _Range | None
    """Of the total; None of a reading in units."""
    seen: tuple[float, float | None]
    """What our own calls had drawn by then, at least and at most; None: nothing bounds it."""
    said: str = ""


class Unseen(msgspec.Struct, frozen=True):
    """What others had drawn since the window began, at one moment."""

    at: datetime
    low: float
    high: float


class UnseenStretch(msgspec.Struct, frozen=True):
    """What others drew between two readings, or between a window's begin and the first of it."""

    start_at: datetime
    end_at: datetime
    low: float
    high: float


def unseen_at_readings(start: datetime, observed: Sequence[Observed]) -> list[Unseen]:
    """What others had drawn at the begin of a window, which is nothing, and at each of its readings.

    A later reading narrows an earlier one: what was drawn is not given back within a window.

    Args:
        start: Of the window.
        observed: Its readings, in order; those that say nothing in units are passed over.
    """
    found = [Unseen(start, 0.0, 0.0)]
    for one in observed:
        if one.used is None:
            continue
        low = 0.0 if one.seen[1] is None else max(one.used[0] - one.seen[1], 0.0)
        found.append(Unseen(one.at, max(low, found[-1].low), max(one.used[1] - one.seen[0], 0.0)))
    high = math.inf
    for place in range(len(found) - 1, -1, -1):
        high = min(high, found[place].high)
        found[place] = msgspec.structs.replace(found[place], high=max(high, found[place].low))
    return found


def stretches(found: Sequence[Unseen]) -> list[UnseenStretch]:
    """What others drew between each two of these."""
    return [
        UnseenStretch(one.at, other.at, max(other.low - one.high, 0.0), other.high - one.low)
        for one, other in pairwise(found)
    ]


def contradictions(observed: Sequence[Observed]) -> list[Observed]:
    """Readings that say less was used than our own calls drew: a total, a weight or a reading is wrong."""
    return [one for one in observed if one.used is not None and one.used[1] < one.seen[0] - 1e-6]


def least_total(start: datetime, observed: Sequence[Observed]) -> float | None:
    """The least that a window's unknown total can be: what our own calls drew between two readings took at most the share
    that lies between them.

    Args:
        start: Of the window.
        observed: Its readings.

    Returns:
        None where no reading is a share, or our calls drew nothing between them.
    """
    points = [Observed(start, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)), *(one for one in observed if one.share is not None)]
    bounds = []
    for place, one in enumerate(points):
        for other in points[place + 1 :]:
            if one.share is None or other.share is None or one.seen[1] is None:
                continue
            share, drawn = other.share[1] - one.share[0], other.seen[0] - one.seen[1]
            if share > 0 and drawn > 0:
                bounds.append(drawn / share)
    return max(bounds, default=None)


class Weekdays(msgspec.Struct, frozen=True):
    """How much more or less is drawn on a Monday, a Tuesday and so on than on the average day, in a zone."""

    factors: tuple[float, ...]
    zone: str

    def days(self, start: datetime, end: datetime) -> float:
        """A time as so many average days."""
        found, at = 0.0, start
        while at < end:
            local = at.astimezone(ZoneInfo(self.zone))
            midnight = datetime(local.year, local.month, local.day, tzinfo=local.tzinfo) + timedelta(days=1)
            until = min(midnight.astimezone(UTC), end)
            found += self.factors[local.weekday()] * (until - at).total_seconds() / 86_400
            at = until
        return found


class Rate(msgspec.Struct, frozen=True):
    """How much others draw a day, from what they drew between readings."""

    a_day: float
    """An average one: others are taken to keep to our weekdays."""
    spread: float
    """Variance of what is drawn in a day; over n independent days it is n times this."""
    days: float
    """That it rests on."""
    stretches: int

    def over(self, days: float, confidence: float = CONFIDENCE) -> _Range:
        """What others draw in so many average days, with this confidence."""
        if days <= 0:
            return 0.0, 0.0
        from scipy.special import stdtrit

        freedom = max(self.stretches - 1, 1)
        error = math.sqrt(self.spread * days + self.spread * days**2 / max(self.days, 1e-9))
        reach = float(stdtrit(freedom, (1 + confidence) / 2)) * error
        return max(self.a_day * days - reach, 0.0), self.a_day * days + reach


def rate_of(found: Sequence[UnseenStretch], weekdays: Weekdays) -> Rate | None:
    """The rate that some stretches show; None where they show none.

    A single stretch says nothing of the spread: then a day is taken to vary as much as its mean.
    """
    lengths = [weekdays.days(one.start_at, one.end_at) for one in found]
    days = math.fsum(lengths)
    if days <= 0:
        return None
    middles = [(one.low + one.high) / 2 for one in found]
    a_day = math.fsum(middles) / days
    known = [(middle, length) for middle, length in zip(middles, lengths, strict=True) if length > 0]
    if len(known) < 2:
        return Rate(a_day, a_day**2, days, 1)
    spread = math.fsum((middle - a_day * length) ** 2 / length for middle, length in known)
    return Rate(a_day, spread / (len(known) - 1), days, len(known))
