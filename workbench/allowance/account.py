"""The account as it stands: its window, what was drawn by us and by others, what is left, and how long that lasts."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from zoneinfo import ZoneInfo

import msgspec

from workbench.allowance.course import ForecastPoint, Moment, ahead, course
from workbench.allowance.draws import Drawn, Draws, draws
from workbench.allowance.forecast import Day, DrawPace, Forecast, forecast, pace_of, weekdays_of
from workbench.allowance.readings import Reading, readings_of, refusals_of
from workbench.allowance.unseen import (
    Observed,
    Point,
    Rate,
    UnseenStretch,
    Weekdays,
    contradictions,
    least_total,
    points_of,
    rate_of,
    stretches,
)
from workbench.allowance.weights import Weights, weights_of
from workbench.allowance.windows import Window, WindowRule, window_rule
from workbench.ledger.queries import Reader
from workbench.settings.file import AllowanceSettings

LOOK_BACK = timedelta(days=90)
PACE_DAYS = 42
"""The newest whole days that the pace rests on: six of each weekday."""
_Range = tuple[float, float]
_NO_RUN = "(no run is known)"


class PartDrawn(msgspec.Struct, frozen=True):
    """What one model or job drew in the window."""

    name: str
    drawn: Drawn


class JobModelDrawn(msgspec.Struct, frozen=True):
    """What one job drew of one model in the window."""

    job: str
    model: str
    drawn: Drawn


class AccountState(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of the allowance at one moment. The object of `allowance status --json`."""

    at: datetime
    unit: str
    window: Window | None
    """None: `workbench.toml` names no window, and the calls of the last 90 days are summed up."""
    total: float | None
    """Units in a window; None where not known."""
    least_total: float | None
    """The least that an unknown total can be, from readings."""
    seen: Drawn
    """By our own calls, in the window."""
    unseen: _Range | None
    """By others, in the window; None where no reading says."""
    used: _Range | None
    """By all, in the window, at most `inf` where nothing bounds it; None where no window is known."""
    points: list[Point]
    """What was used at each reading, the window's begin before them; empty of rolling hours."""
    readings: list[Reading]
    """Of the window."""
    left: _Range | None
    """Units, from 0 where nothing bounds what others used; None where the total is not known."""
    share_read: float | None
    """The least share of the total that is used by a reading of the window."""
    pace: DrawPace | None
    forecast: Forecast | None
    models: list[PartDrawn]
    jobs: list[PartDrawn]
    parts: list[JobModelDrawn]
    days: list[Day]
    """Whole days of the account's zone that were looked at, with what we drew on each."""
    notes: list[str]
    course: list[Moment]
    """Of the window until now; empty of rolling hours."""
    ahead: list[ForecastPoint]
    """Until the window ends; empty where that is not known."""

    @property
    def resets_at(self) -> datetime | None:
        """When counting begins again; None where no window is known, or where it rolls."""
        return None if self.window is None or self.window.rolls else self.window.end_at

    @property
    def used_share(self) -> _Range | None:
        """Of the total, at least and at most; by a reading alone where the total is not known."""
        if self.used is not None and self.total is not None:
            return min(self.used[0] / self.total, 1.0), min(self.used[1] / self.total, 1.0)
        return None if self.share_read is None else (self.share_read, 1.0)


def account_state(reader: Reader, allowance: AllowanceSettings, zone: str, now: datetime) -> AccountState:
    """Work out how the account stands.

    Args:
        reader: Of its ledger.
        allowance: What `workbench.toml` says of it.
        zone: Of the account.
        now: With its zone.
    """
    weights, rule = weights_of(allowance, zone), window_rule(allowance, zone)
    window = None if rule is None else rule.at(now)
    since = now - LOOK_BACK
    told = sorted([*readings_of(reader), *refusals_of(reader)], key=lambda one: one.read_at)
    known = [one for one in told if since <= one.read_at <= now]
    starts = _window_starts(rule, since, now)
    days = _day_starts(zone, since, now)
    first = min([since, *starts, *([window.start_at] if window else [])])
    moments = [first, now, *days, *starts, *(one.read_at for one in known), *([window.start_at] if window else [])]
    found = draws(reader, [at for at in moments if first <= at <= now], weights)
    account = _Account(found, weights, allowance.total_units, starts, known, now)
    return account.state(window, days, zone)


def _window_starts(rule: WindowRule | None, since: datetime, now: datetime) -> list[datetime]:
    """Return when the windows begin that reach into the time looked at; none of rolling hours."""
    if rule is None or rule.at(now).rolls:
        return []
    starts = [rule.at(now).start_at]
    while starts[0] > since:
        starts.insert(0, rule.at(starts[0] - timedelta(seconds=1)).start_at)
    return starts


def _day_starts(zone: str, since: datetime, now: datetime) -> list[datetime]:
    """Return the midnights of a zone between two moments."""
    day = since.astimezone(ZoneInfo(zone)).date() + timedelta(days=1)
    found = []
    while (at := datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)) <= now:
        found.append(at)
        day += timedelta(days=1)
    return found


class _Account(msgspec.Struct, frozen=True):
    """What is known, on the way to an `AccountState`."""

    draws: Draws
    weights: Weights
    total_units: float | None
    starts: list[datetime]
    readings: list[Reading]
    now: datetime

    def state(self, window: Window | None, days: Sequence[datetime], zone: str) -> AccountState:
        total, least = self._total()
        begin = window.start_at if window else self.draws.edges[0]
        fixed = window is not None and not window.rolls  # what was used at a reading rolls off again
        seen = self.draws.begun_between(begin, self.now)
        here = [one for one in self.readings if window is not None and window.start_at < one.read_at]
        observed = [self._observed(one, begin, total) for one in here] if fixed else []
        points = points_of(begin, observed) if fixed else []
        whole = [
            Day(one.astimezone(ZoneInfo(zone)).date(), self.draws.begun_between(one, end).units_by_newest)
            for one, end in pairwise(days)
        ]
        paced = self._known_days(whole, zone)[-PACE_DAYS:]
        weekdays = weekdays_of(paced, zone)
        rate = rate_of(self._stretches(total), weekdays, self.now)
        pace = pace_of(paced, weekdays, rate, self.now)
        after = partial(self._used_after, points[-1], rate, weekdays) if len(points) > 1 else None
        used = None if window is None else after(self.now) if after else (seen.units, math.inf)
        if used is not None:
            used = max(used[0], seen.units), max(used[1], seen.units)
        left = None if total is None or used is None else (max(total - used[1], 0.0), max(total - used[0], 0.0))
        is_bounded = left is not None and used is not None and not math.isinf(used[1])
        return AccountState(
            at=self.now, unit=self.weights.unit, window=window, total=total, least_total=least if total is None else None,
            seen=seen, used=used, unseen=_unseen(used, seen, points) if after else None, points=points, readings=here, left=left,
            share_read=max((one.share[0] for one in observed if one.share is not None), default=None), pace=pace,
            forecast=forecast(pace, left, self.now) if pace and left and is_bounded else None,
            models=self._parts(begin, "model"), jobs=self._parts(begin, "job"), parts=self._jobs_by_model(begin), days=whole,
            notes=[*contradictions(observed), *self._other_totals(total)],
            course=course(self.draws, window, points, after) if window and fixed else [],
            ahead=ahead(pace, used, self.now, window.end_at) if pace and window and used and is_bounded else [],
        )  # fmt: skip

    def _used_after(self, newest: Point, rate: Rate | None, weekdays: Weekdays, at: datetime) -> _Range:
        """Return what is used by a moment after the newest reading: that, what our own calls drew since,
        and others at their rate.
        """
        until = -weekdays.days(at, self.now)
        others = (0.0, 0.0) if rate is None else rate.over(until - weekdays.days(newest.at, at), until)
        most = self.draws.overlapping(newest.at, at).most
        high = math.inf if most is None else newest.high + most + others[1]
        return newest.low + self.draws.within(newest.at, at).units + others[0], high

    def _other_totals(self, total: float | None) -> list[str]:
        told = dict.fromkeys(one.total_units for one in self.readings if one.total_units not in (None, total))
        return [
            f"A reading says that the total is {other:.0f} {self.weights.unit}; {total:.0f} is used here."
            for other in told
        ]

    def _known_days(self, whole: Sequence[Day], zone: str) -> Sequence[Day]:
        """From the first on which something was drawn, or from the begin of the first window with a reading."""
        drawn = [one.day for one in whole if one.units]
        told = [start.astimezone(ZoneInfo(zone)).date() for start, observed in self._by_window(None) if observed]
        first = min([*drawn[:1], *told[:1]], default=None)
        return [] if first is None else [one for one in whole if one.day >= first]

    def _total(self) -> tuple[float | None, float | None]:
        """Return the window's units, as the settings or the newest reading that has them say; and the least that they can be."""
        told = [one.total_units for one in self.readings if one.total_units is not None]
        known = self.total_units if self.total_units is not None else told[-1] if told else None
        bounds = [least_total(start, observed) for start, observed in self._by_window(None)]
        return known, max((bound for bound in bounds if bound is not None), default=None)

    def _by_window(self, total: float | None) -> list[tuple[datetime, list[Observed]]]:
        """Return the readings of each window that was looked at, with its begin."""
        ends = [*self.starts[1:], self.now + timedelta(seconds=1)]
        return [
            (start, [self._observed(one, start, total) for one in self.readings if start < one.read_at < end])
            for start, end in zip(self.starts, ends, strict=False)
        ]

    def _stretches(self, total: float | None) -> list[list[UnseenStretch]]:
        return [stretches(points_of(start, observed)) for start, observed in self._by_window(total)]

    def _observed(self, one: Reading, start: datetime, total: float | None) -> Observed:
        least, most = self.draws.within(start, one.read_at), self.draws.overlapping(start, one.read_at)
        used = one.used(None if total is None else (total, total))
        return Observed(one.read_at, used, one.used_share, (least.units, most.most), f"{one.of_what} {one.said}")

    def _parts(self, begin: datetime, by: str) -> list[PartDrawn]:
        parts: dict[str, Drawn] = {}
        for call in self.draws.begun(begin, self.now):
            name = getattr(call, by) or _NO_RUN
            parts[name] = parts.get(name, Drawn()) + call.drawn
        return sorted((PartDrawn(*part) for part in parts.items()), key=lambda part: -part.drawn.units)

    def _jobs_by_model(self, begin: datetime) -> list[JobModelDrawn]:
        parts: dict[tuple[str, str], Drawn] = {}
        for call in self.draws.begun(begin, self.now):
            key = call.job or _NO_RUN, call.model
            parts[key] = parts.get(key, Drawn()) + call.drawn
        return [JobModelDrawn(*key, drawn) for key, drawn in parts.items()]


def _unseen(used: _Range | None, seen: Drawn, points: Sequence[Point]) -> _Range | None:
    """Return what others drew, of all that was used: no less than by an earlier reading, as nothing is given back in a window."""
    if used is None:
        return None
    by_readings = [point.low - point.seen[1] for point in points if point.seen[1] is not None]
    by_now = [] if seen.most is None else [used[0] - seen.most]
    low = max([0.0, *by_readings, *by_now])
    return low, max(used[1] - seen.units, low)
