"""What others drew: the difference between what readings say was used and what our own calls drew, with its range."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import msgspec

from workbench.stats.intervals import student_reach
from workbench.stats.trend import TimedAmount, Trend, trend_of

CONFIDENCE = 0.9
"""Of ranges that are estimates; those that follow from readings alone hold always."""
_SHORTEST = timedelta(hours=12)
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


class Point(msgspec.Struct, frozen=True):
    """What was used of a window by one moment, by everybody, at least and at most; and our own part of it."""

    at: datetime
    low: float
    high: float
    seen: tuple[float, float | None]


class UnseenStretch(msgspec.Struct, frozen=True):
    """What others drew between two readings, or between a window's begin and the first of it."""

    start_at: datetime
    end_at: datetime
    low: float
    high: float


def points_of(start: datetime, observed: Sequence[Observed]) -> list[Point]:
    """Return what was used at the begin of a window, which is nothing, and at each of its readings.

    A reading narrows the others: what was drawn is not given back within a window. Readings that contradict each other
    leave all that lies between them.

    Args:
        start: Of the window.
        observed: Its readings, in order; those that say nothing in units are passed over.
    """
    known = [
        (one.at, max(one.used[0], one.seen[0]), max(one.used[1], one.seen[0]), one.seen) for one in observed if one.used
    ]
    lows = [low for _, low, _, _ in known]
    highs = [high for _, _, high, _ in known]
    found = [Point(start, 0.0, 0.0, (0.0, 0.0))]
    for place, (at, _, _, seen) in enumerate(known):
        low, high = max(lows[: place + 1]), min(highs[place:])
        found.append(Point(at, min(low, high), max(low, high), seen))
    return found


def stretches(found: Sequence[Point]) -> list[UnseenStretch]:
    """Return what others drew between each two of these, at least `_SHORTEST` apart: the rounding of closer ones would be all."""
    kept: list[Point] = []
    for point in found:
        if len(kept) > 1 and point.at - kept[-1].at < _SHORTEST:
            kept[-1] = point
        else:
            kept.append(point)
    made = []
    for one, other in pairwise(kept):
        own_low = max(other.seen[0] - (one.seen[0] if one.seen[1] is None else one.seen[1]), 0.0)
        own_high = None if other.seen[1] is None else other.seen[1] - one.seen[0]
        low = 0.0 if own_high is None else max(other.low - one.high - own_high, 0.0)
        made.append(UnseenStretch(one.at, other.at, low, max(other.high - one.low - own_low, low)))
    return made


def contradictions(observed: Sequence[Observed]) -> list[str]:
    """Return what cannot all be true of some readings of one window: a total, a weight or a reading is wrong."""
    told = []
    known = [one for one in observed if one.used is not None]
    for place, one in enumerate(known):
        if one.used is not None and one.used[1] < one.seen[0] - 1e-6:
            told.append(f"The reading {_named(one)} says that less was used than our own calls had drawn by then")
        later = (other for other in known[place + 1 :] if other.used is not None and one.used is not None)
        told += [
            f"The reading {_named(one)} says that more was used than the later one {_named(other)}"
            for other in later
            if one.used is not None and other.used is not None and other.used[1] < one.used[0] - 1e-6
        ]
    return [f"{text}: a total, a weight or a reading is wrong." for text in told]


def _named(one: Observed) -> str:
    return f"{one.said!r} of {one.at:%Y-%m-%d %H:%M} UTC"


def least_total(start: datetime, observed: Sequence[Observed]) -> float | None:
    """Return the least that a window's unknown total can be: what our own calls drew between two readings took at most the share
    that lies between them.

    Args:
        start: Of the window.

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
        """Return a time as so many average days."""
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
    trend: Trend | None
    """Of what is drawn in an average day, counted from now; None: too little is known to tell one."""

    def over(self, start: float, end: float) -> _Range:
        """Return what others draw between two moments, each so many average days from now, with `CONFIDENCE`.

        It is what they draw at an unchanged rate, joined with what they draw if the rate goes on changing as it did.
        """
        days = end - start
        reach = self.reach_over(days)
        low, high = max(self.a_day * days - reach, 0.0), self.a_day * days + reach
        if self.trend is None:
            return low, high
        _, least, most = self.trend.over(start, end, CONFIDENCE)
        return min(low, least), max(high, most)

    def reach_over(self, days: float) -> float:
        """Return how far off that may be."""
        return self._quantile * math.sqrt(self.spread * (days + days**2 / max(self.days, 1e-9))) if days > 0 else 0.0

    @property
    def reach_of_mean(self) -> float:
        """How far off the rate may be."""
        return self._quantile * math.sqrt(self.spread / max(self.days, 1e-9))

    @property
    def _quantile(self) -> float:
        return student_reach(self.stretches, CONFIDENCE)


def rate_of(windows: Sequence[Sequence[UnseenStretch]], weekdays: Weekdays, now: datetime) -> Rate | None:
    """Return the rate that the stretches of some windows show; None where they show none.

    A day is taken to vary by a quarter of its mean at least, and of a single stretch by its whole mean.
    """
    found = [one for window in windows for one in window]
    lengths = [weekdays.days(one.start_at, one.end_at) for one in found]
    days = math.fsum(lengths)
    if days <= 0:
        return None
    middles = [(one.low + one.high) / 2 for one in found]
    a_day = math.fsum(middles) / days
    if len(found) < 2:
        return Rate(a_day, a_day**2, days, 1, None)
    rounding = [(one.high - one.low) ** 2 / 12 for one in found]
    apart = [
        max((middle - a_day * length) ** 2 - rounded, 0.0) / length
        for middle, length, rounded in zip(middles, lengths, rounding, strict=True)
        if length > 0
    ]
    ends = [-weekdays.days(one.end_at, now) for one in found]
    parts = zip(ends, lengths, middles, strict=True)
    trend = trend_of([TimedAmount(end - length, end, middle) for end, length, middle in parts])
    return Rate(a_day, max(math.fsum(apart) / (len(found) - 1), (a_day / 4) ** 2), days, len(found), trend)
