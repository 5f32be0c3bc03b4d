"""A log-linear trend: amounts that grow or fall by the same share a day."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from workbench.stats.intervals import student_reach

LEAST_STRETCHES = 5
"""Fewer tell a trend from chance too badly to be shown."""
_LEAST_VARIANCE = 1 / 16
"""Of a day's amount, as a share of its mean squared: it is taken to vary by a quarter at least."""
_MOST_STEPS, _CLOSE = 100, 1e-9
_MOST_GROWTH = math.log(2)
"""What doubles or halves every day, or more, is a beginning or an end and no trend."""
_MOST_LOG_REACH = 20.0
"""Beyond this a range says nothing, and its end leaves what numbers can hold."""


class TimedAmount(NamedTuple):
    """An amount, and the time that it took."""

    start: float
    """In days, from any day on."""
    end: float
    amount: float


class Trend(msgspec.Struct, frozen=True):
    """Amounts a day that follow exp(level + growth (day - centre))."""

    level: float
    growth: float
    """Of the logarithm, a day."""
    centre: float
    variance: float
    """Of a day's amount, as a share of its mean squared."""
    days: float
    """That it rests on."""
    apart: float
    """Sum of the squared distances of those days from the centre."""
    stretches: int

    def over(self, start: float, end: float, confidence: float) -> tuple[float, float, float]:
        """Return the amount between two moments, its least and its most."""
        days, away = end - start, (start + end) / 2 - self.centre
        if days <= 0:
            return 0.0, 0.0, 0.0
        half = self.growth * days / 2
        curved = math.sinh(half) / half if abs(half) > _CLOSE else 1.0
        amount = days * math.exp(self.level + self.growth * away) * curved
        error = math.sqrt(self.variance * (1 / days + 1 / self.days + away**2 / self.apart))
        reach = min(student_reach(self.stretches - 1, confidence) * error, _MOST_LOG_REACH)
        return amount, amount * math.exp(-reach), amount * math.exp(reach)


def trend_of(stretches: Sequence[TimedAmount]) -> Trend | None:
    """Return the trend of amounts whose variation is a share of their mean; None of too few, of nothing,
    or of a beginning or an end.

    Stretches in which nothing came count: the logarithm is of the mean, not of the amounts. Source: McCullagh and Nelder,
    Generalized Linear Models (1989), chapter 8: a constant coefficient of variation with a logarithmic link, by scoring.
    """
    known = [one for one in stretches if one.end > one.start]
    days = math.fsum(one.end - one.start for one in known)
    total = math.fsum(one.amount for one in known)
    if len(known) < LEAST_STRETCHES or total <= 0:
        return None
    centre = math.fsum((one.end**2 - one.start**2) / 2 for one in known) / days
    apart = math.fsum((one.end - one.start) * ((one.start + one.end) / 2 - centre) ** 2 for one in known)
    level, growth = math.log(total / days), 0.0
    for _ in range(_MOST_STEPS):
        excess = _excess(known, level, growth, centre)
        up = math.fsum(over for _, over in excess) / days
        turn = math.fsum(away * over for away, over in excess) / apart
        step = max(abs(up), abs(turn) * math.sqrt(apart / days))
        part = min(1.0, 1 / step) if step else 1.0  # a full step from far away runs beyond what numbers can hold
        level, growth = level + part * up, growth + part * turn
        if abs(growth) > _MOST_GROWTH:
            return None
        if step < _CLOSE:
            break
    excess = _excess(known, level, growth, centre)
    squares = (over**2 / (one.end - one.start) for one, (_, over) in zip(known, excess, strict=True))
    variance = math.fsum(squares) / (len(known) - 2)
    return Trend(level, growth, centre, max(variance, _LEAST_VARIANCE), days, apart, len(known))


def _excess(known: Sequence[TimedAmount], level: float, growth: float, centre: float) -> list[tuple[float, float]]:
    """Of each stretch how far it is from the centre, and by how many days' amounts it exceeds its mean."""
    found = []
    for start, end, amount in known:
        away = (start + end) / 2 - centre
        found.append((away, amount / math.exp(level + growth * away) - (end - start)))
    return found
