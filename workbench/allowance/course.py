"""The course of a window: what was drawn by each moment, and what will be."""

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from workbench.allowance.draws import Draws
from workbench.allowance.forecast import DrawPace, drawn_over
from workbench.allowance.unseen import Point
from workbench.allowance.windows import Window

_Range = tuple[float, float]


class Moment(msgspec.Struct, frozen=True):
    """What was used by one moment of a window."""

    at: datetime
    seen: float
    """By our own calls, as reported."""
    low: float | None
    """With what others used, at least and at most; None where no reading says, or nothing bounds it."""
    high: float | None


class ForecastPoint(msgspec.Struct, frozen=True):
    """What will be used by a coming moment."""

    at: datetime
    low: float
    high: float


def course(
    draws: Draws, window: Window, points: Sequence[Point], after: Callable[[datetime], _Range] | None
) -> list[Moment]:
    """Return the moments of a window at which something is known, until now.

    Args:
        points: What was used at its begin and at its readings.
        after: What was used by a moment after the last reading; None where there is none.
    """
    by_then = {one.at: draws.begun_between(window.start_at, one.at).units for one in points}
    found = []
    for at in draws.edges:
        if not window.start_at <= at < window.end_at:
            continue
        seen = draws.begun_between(window.start_at, at).units
        if after is None:
            found.append(Moment(at, seen, None, None))
            continue
        before = next(one for one in reversed(points) if one.at <= at)
        later = next((one for one in points if one.at >= at), None)
        if later is None:
            low, high = after(at)
        else:  # what we drew from the one to the moment was used, and what we drew from there to the other was not yet
            low, high = before.low + seen - by_then[before.at], later.high - by_then[later.at] + seen
        found.append(Moment(at, seen, max(low, seen), None if math.isinf(high) else max(high, seen)))
    return found


def ahead(pace: DrawPace, used: _Range, now: datetime, end: datetime) -> list[ForecastPoint]:
    """Return what will be used by the coming midnights, with the range of `drawn_over`, until a window ends.

    Args:
        pace: Of the account.
        used: Units until now, at least and at most.
        now: From when on.
        end: Of the window.
    """
    middle, of_used = sum(used) / 2, (used[1] - used[0]) ** 2 / 12
    found = [ForecastPoint(now, *used)]
    at = now
    while at < end:
        at = min(at + timedelta(days=1), end)
        least, most = drawn_over(pace, pace.weekdays.days(now, at), of_used)
        found.append(ForecastPoint(at, max(middle + least, found[-1].low), middle + most))
    return [one for one in found if not math.isinf(one.high)]
