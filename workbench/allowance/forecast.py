"""When an allowance runs out if things go on as they did, with a range."""

import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta

import msgspec

from workbench.allowance.unseen import CONFIDENCE, Rate, Weekdays
from workbench.stats.intervals import student_reach

LEAST_DAYS = 3
"""Of history: fewer say nothing about a rate."""
_FURTHEST_DAYS = 366
_STEP = timedelta(hours=1)
_LEAST_FOR_WEEKDAYS = 14
_OWN_WEIGHT = 1.0
"""Average days that are added to each weekday's own, so that one odd Sunday does not make them all."""


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


class Forecast(msgspec.Struct, frozen=True):
    """When the allowance is used up."""

    earliest_at: datetime | None
    """None: not within a year."""
    latest_at: datetime | None


def weekdays_of(days: Sequence[Day], zone: str) -> Weekdays:
    """How our own draws vary over the week; evenly where not every weekday was seen twice, or nothing was drawn.

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


def pace_of(days: Sequence[Day], weekdays: Weekdays, unseen: Rate | None) -> DrawPace | None:
    """How the allowance was drawn.

    Args:
        days: Whole ones, with those on which nothing was drawn, oldest first.
        weekdays: Of them.
        unseen: What others draw.

    Returns:
        None where there are fewer than `LEAST_DAYS`.
    """
    if len(days) < LEAST_DAYS:
        return None
    expected = [weekdays.factors[one.day.weekday()] for one in days]
    a_day = math.fsum(one.units for one in days) / math.fsum(expected)
    rest = math.fsum((one.units - a_day * factor) ** 2 for one, factor in zip(days, expected, strict=True))
    fitted = 7 if len(days) >= _LEAST_FOR_WEEKDAYS else 1
    return DrawPace(a_day, weekdays, rest / max(len(days) - fitted, 1), len(days), unseen)


def forecast(pace: DrawPace, left: tuple[float, float], now: datetime) -> Forecast:
    """When what is left is drawn, at the present pace.

    Args:
        pace: Of the account.
        left: Units, at least and at most.
        now: From when on.
    """
    middle, of_left = (left[0] + left[1]) / 2, (left[1] - left[0]) ** 2 / 12
    earliest = latest = None
    days, at, end = 0.0, now, now + timedelta(days=_FURTHEST_DAYS)
    while at < end and (earliest is None or latest is None):
        days += pace.weekdays.days(at, at + _STEP)
        at += _STEP
        drawn, error = spread_over(pace, days, of_left)
        if earliest is None and drawn + error >= middle:
            earliest = at
        if latest is None and drawn - error >= middle:
            latest = at
    return Forecast(earliest, latest)


def spread_over(pace: DrawPace, days: float, more: float = 0.0) -> tuple[float, float]:
    """What is drawn in so many average days, and how far off that may be with `CONFIDENCE`.

    The sum over coming days is taken as normal around the pace's: each day varies, and the pace is known from so many only.

    Args:
        pace: Of the account.
        days: How many.
        more: Variance of what it is counted from.
    """
    variance = more + pace.spread * (days + days**2 / pace.days)
    reach = student_reach(pace.days, CONFIDENCE) * math.sqrt(variance)
    if pace.unseen is None:
        return pace.a_day * days, reach
    others = pace.unseen.reach_over(days)  # rests on fewer readings than there are days
    return pace.a_day * days, math.hypot(reach, others)
