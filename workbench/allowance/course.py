"""The course of a window: what was drawn by each moment, and what will be at the present pace."""

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from workbench.allowance.draws import Draws
from workbench.allowance.forecast import DrawPace, spread_over
from workbench.allowance.unseen import Point
from workbench.allowance.windows import Window

_Range = tuple[float, float]


class Moment(msgspec.Struct, frozen=True):
    """What was used by one moment of a window."""

    at: datetime
    seen: float
    """By our own calls, as reported."""
    low: float | None
    """With what others drew, at least and at most; None where no reading says."""
    high: float | None


class Ahead(msgspec.Struct, frozen=True):
    """What will be used by a coming moment, at the present pace."""

    at: datetime
    low: float
    high: float


def course(
    draws: Draws, window: Window, points: Sequence[Point], after: Callable[[datetime], _Range] | None
) -> list[Moment]:
    """The moments of a window at which something is known, until now.

    Args:
        draws: Ours.
        window: The window.
        points: What was used at its begin and at its readings.
        after: What was used by a moment after the last reading; None where there is none.
    """
    found = []
    for at in draws.edges:
        if not window.start_at <= at < window.end_at:
            continue
        seen = draws.begun_between(window.start_at, at).units
        if after is None:
            found.append(Moment(at, seen, None, None))
            continue
        low = next(one.low for one in reversed(points) if one.at <= at)
        high = next((one.high for one in points if one.at >= at), None)
        if high is None:
            low, high = after(at)
        found.append(Moment(at, seen, max(low, seen), max(high, seen)))
    return found


def ahead(pace: DrawPace, used: _Range, now: datetime, end: datetime) -> list[Ahead]:
    """What will be used by the coming midnights, at the present pace, until a window ends.

    Args:
        pace: Of the account.
        used: Units until now, at least and at most.
        now: From when on.
        end: Of the window.
    """
    middle, of_used = sum(used) / 2, (used[1] - used[0]) ** 2 / 12
    found = [Ahead(now, *used)]
    at = now
    while at < end:
        at = min(at + timedelta(days=1), end)
        drawn, error = spread_over(pace, pace.weekdays.days(now, at), of_used)
        found.append(Ahead(at, max(middle + drawn - error, found[-1].low), middle + drawn + error))
    return [one for one in found if not math.isinf(one.high)]
