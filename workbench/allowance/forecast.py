"""When an allowance runs out if things go on as they did, with a range."""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec

from workbench.allowance.unseen import CONFIDENCE, Rate, Weekdays
from workbench.stats.intervals import student_reach
from workbench.stats.trend import TimedAmount, Trend, trend_of

LEAST_DAYS = 3
"""Of history: fewer say nothing about a rate."""
_FURTHEST_DAYS = 366
_STEP = timedelta(hours=1)
_LEAST_FOR_WEEKDAYS = 14
_OWN_WEIGHT = 1.0
"""Average days that are added to each weekday's own, so that one odd Sunday does not make them all."""

_Range = tuple[float, float]


class Day(msgspec.Struct, frozen=True):
    """What our own calls drew on one whole day of the account's zone."""

    day: date
    units: float


class DrawPace(msgspec.Struct, frozen=True):
    """How the allowance is drawn: what is seen, and what is not."""

    seen_a_day: float
    """Units of an average day."""
    weekdays: Weekdays
    spread: float
    """Variance of a day's seen units around its weekday's."""
    days: int
    unseen: Rate | None
    """None: nothing is known of what others draw."""
    trend: Trend | None
    """Of our own units, in average days from now; None: of too few days."""

    @property
    def a_day(self) -> float:
        """Units of an average day."""
        return self.seen_a_day + (self.unseen.a_day if self.unseen else 0.0)

    @property
    def a_day_range(self) -> tuple[float, float]:
        """The same with its range."""
        reach = student_reach(self.days, CONFIDENCE) * math.sqrt(self.spread / self.days)
        if self.unseen is not None:
            reach = math.hypot(reach, self.unseen.reach_of_mean)
        return max(self.a_day - reach, 0.0), self.a_day + reach


class Between(msgspec.Struct, frozen=True):
    """A moment, with its range."""

    earliest_at: datetime | None
    """None: not within a year."""
    latest_at: datetime | None


class Forecast(Between, frozen=True):
    """When the allowance is used up: at an unchanged pace, joined with a pace that goes on changing as it did."""

    unchanged: Between
    changing: Between | None
    """None: too little is known to tell a trend."""


def weekdays_of(days: Sequence[Day], zone: str) -> Weekdays:
    """Return how our own draws vary over the week; evenly where not every weekday was seen twice, or nothing was drawn.

    Args:
        days: Whole ones, with those on which nothing was drawn.
        zone: Theirs.
    """
    mean = math.fsum(one.units for one in days) / max(len(days), 1)
    if len(days) < _LEAST_FOR_WEEKDAYS or not mean:
        return Weekdays((1.0,) * 7, zone)
    own = [[one.units for one in days if one.day.weekday() == weekday] for weekday in range(7)]
    factors = [(math.fsum(values) / mean + _OWN_WEIGHT) / (len(values) + _OWN_WEIGHT) for values in own]
    return Weekdays(tuple(7 * factor / math.fsum(factors) for factor in factors), zone)


def pace_of(days: Sequence[Day], weekdays: Weekdays, unseen: Rate | None, now: datetime) -> DrawPace | None:
    """Return how the allowance was drawn.

    Args:
        days: Whole ones, with those on which nothing was drawn, oldest first.
        unseen: What others draw.
        now: After those days.

    Returns:
        None where there are fewer than `LEAST_DAYS`.
    """
    if len(days) < LEAST_DAYS:
        return None
    expected = [weekdays.factors[one.day.weekday()] for one in days]
    a_day = math.fsum(one.units for one in days) / math.fsum(expected)
    rest = math.fsum((one.units - a_day * factor) ** 2 for one, factor in zip(days, expected, strict=True))
    fitted = 7 if len(days) >= _LEAST_FOR_WEEKDAYS else 1
    trend = _trend(days, expected, weekdays, now)
    return DrawPace(a_day, weekdays, rest / max(len(days) - fitted, 1), len(days), unseen, trend)


def _trend(days: Sequence[Day], lengths: Sequence[float], weekdays: Weekdays, now: datetime) -> Trend | None:
    """Return the trend of days, each as long as its weekday's share of an average one."""
    today = now.astimezone(ZoneInfo(weekdays.zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    at = -weekdays.days(today.astimezone(UTC), now)
    found = []
    for one, length in zip(reversed(days), reversed(lengths), strict=True):
        found.append(TimedAmount(at - length, at, one.units))
        at -= length
    return trend_of(found)


def forecast(pace: DrawPace, left: _Range, now: datetime) -> Forecast:
    """Return when what is left is drawn.

    Args:
        pace: Of the account.
        left: Units, at least and at most.
        now: From when on.
    """
    middle, of_left = (left[0] + left[1]) / 2, (left[1] - left[0]) ** 2 / 12
    hours = [0.0]
    for number in range(24 * _FURTHEST_DAYS):
        at = now + number * _STEP
        hours.append(hours[-1] + pace.weekdays.days(at, at + _STEP))

    def between(drawn: Callable[[float], _Range]) -> Between:
        earliest = _first(hours, lambda days: drawn(days)[1] >= middle)
        latest = _first(hours, lambda days: drawn(days)[0] >= middle)
        return Between(*(None if hour is None else now + hour * _STEP for hour in (earliest, latest)))

    unchanged = between(lambda days: unchanged_over(pace, days, of_left))
    if (trend := pace.trend) is None:
        return Forecast(unchanged.earliest_at, unchanged.latest_at, unchanged, None)
    changing = between(lambda days: changing_over(pace, trend, days, of_left))
    joined = between(lambda days: drawn_over(pace, days, of_left))
    return Forecast(joined.earliest_at, joined.latest_at, unchanged, changing)


def _first(hours: Sequence[float], is_reached: Callable[[float], bool]) -> int | None:
    """Return the hour from which something is so, looked for day by day; None: not at the end of any day.

    Args:
        hours: Average days until each.
        is_reached: Whether it is so after so many average days.
    """
    for day in range(24, len(hours), 24):
        if is_reached(hours[day]):
            return next(hour for hour in range(day - 23, day + 1) if is_reached(hours[hour]))
    return None


def drawn_over(pace: DrawPace, days: float, more: float = 0.0) -> _Range:
    """Return what is drawn in so many coming average days, at least and at most, with `CONFIDENCE`.

    It is what is drawn at an unchanged pace, joined with what is drawn if the pace goes on changing as it did: six weeks do
    not say which of them it will be.

    Args:
        pace: Of the account.
        more: Variance of what it is counted from.
    """
    low, high = unchanged_over(pace, days, more)
    if pace.trend is None:
        return low, high
    least, most = changing_over(pace, pace.trend, days, more)
    return min(low, least), max(high, most)


def unchanged_over(pace: DrawPace, days: float, more: float) -> _Range:
    """Return the same at an unchanged pace.

    The sum over coming days is taken as normal around the pace's: each day varies, and the pace is known from so many only.
    """
    variance = more + pace.spread * (days + days**2 / pace.days)
    reach = student_reach(pace.days, CONFIDENCE) * math.sqrt(variance)
    if pace.unseen is not None:
        reach = math.hypot(reach, pace.unseen.reach_over(days))  # rests on fewer readings than there are days
    return pace.a_day * days - reach, pace.a_day * days + reach


def changing_over(pace: DrawPace, trend: Trend, days: float, more: float) -> _Range:
    """Return the same if our own draws go on changing by their trend,
    and those of others by theirs where enough is known of them.
    """
    parts = [trend.over(0, days, CONFIDENCE)]
    if pace.unseen is not None and pace.unseen.trend is not None:
        parts.append(pace.unseen.trend.over(0, days, CONFIDENCE))
    elif pace.unseen is not None:
        others, reach = pace.unseen.a_day * days, pace.unseen.reach_over(days)
        parts.append((others, others - reach, others + reach))
    drawn = math.fsum(middle for middle, _, _ in parts)
    of_start = student_reach(pace.days, CONFIDENCE) * math.sqrt(more)
    below = math.hypot(of_start, *(middle - low for middle, low, _ in parts))
    above = math.hypot(of_start, *(high - middle for middle, _, high in parts))
    return drawn - below, drawn + above
