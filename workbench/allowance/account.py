"""The account as it stands: its window, what was drawn by us and by others, what is left, and how long that lasts."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import msgspec

from workbench.allowance.course import Ahead, Moment, ahead, course
from workbench.allowance.draws import Drawn, Draws, draws
from workbench.allowance.forecast import Day, DrawPace, Forecast, forecast, pace_of, weekdays_of
from workbench.allowance.readings import Reading, readings_of
from workbench.allowance.unseen import (
    Observed,
    Unseen,
    UnseenStretch,
    contradictions,
    least_total,
    rate_of,
    stretches,
    unseen_at_readings,
)
from workbench.allowance.weights import Weights, weights_of
from workbench.allowance.windows import Window, WindowRule, window_rule
from workbench.ledger.queries import Reader
from workbench.settings import AllowanceSettings

LOOK_BACK = timedelta(days=56)
PACE_DAYS = 42
"""The newest whole days that the pace rests on: six of each weekday."""
_Range = tuple[float, float]


class PartDrawn(msgspec.Struct, frozen=True):
    """What one model or job drew in the window."""

    name: str
    drawn: Drawn


class AccountState(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of the allowance at one moment. The object of `allowance status --json`."""

    at: datetime
    unit: str
    window: Window | None
    """None: `workbench.toml` names no window, and the calls of the last eight weeks are summed up."""
    total: _Range | None
    """Units in a window; None where not known."""
    least_total: float | None
    """The least that an unknown total can be, from readings."""
    seen: Drawn
    """By our own calls, in the window."""
    unseen: _Range | None
    """By others, in the window; None where no reading says."""
    unseen_at: list[Unseen]
    """The same at each reading."""
    readings: list[Reading]
    """Of the window."""
    left: _Range | None
    left_share_most: float | None
    """The most that is left as a share of the total, where that is all that a reading says."""
    pace: DrawPace | None
    forecast: Forecast | None
    models: list[PartDrawn]
    jobs: list[PartDrawn]
    days: list[Day]
    """Whole days of the account's zone that were looked at, with what we drew on each."""
    notes: list[str]
    course: list[Moment]
    """Of the window until now; empty of rolling hours."""
    ahead: list[Ahead]
    """Until the window ends, at the present pace; empty where that is not known."""

    @property
    def used_share(self) -> _Range | None:
        """Of the total, at least and at most."""
        if self.left is None or self.total is None:
            return None
        return max(1 - self.left[1] / self.total[0], 0.0), min(1 - self.left[0] / self.total[1], 1.0)


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
    known = [one for one in readings_of(reader) if since <= one.read_at <= now]
    starts = _window_starts(rule, since, now)
    days = _day_starts(zone, since, now)
    first = min([since, *starts])
    moments = [first, now, *days, *starts, *(one.read_at for one in known), *([window.start_at] if window else [])]
    found = draws(reader, [at for at in moments if first <= at <= now], weights)
    account = _Account(found, weights, allowance.total_units, starts, known, now)
    return account.state(window, days, zone)


def _window_starts(rule: WindowRule | None, since: datetime, now: datetime) -> list[datetime]:
    """When the windows begin that reach into the time looked at; none of rolling hours."""
    if rule is None or rule.at(now).rolls:
        return []
    starts = [rule.at(now).start_at]
    while starts[0] > since:
        starts.insert(0, rule.at(starts[0] - timedelta(seconds=1)).start_at)
    return starts


def _day_starts(zone: str, since: datetime, now: datetime) -> list[datetime]:
    """The midnights of a zone between two moments."""
    day = since.astimezone(ZoneInfo(zone)).date() + timedelta(days=1)
    found = []
    while (at := datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)) <= now:
        found.append(at)
        day += timedelta(days=1)
    return found


class _Account(msgspec.Struct, frozen=True):
    """What is known, on the way to a `AccountState`."""

    draws: Draws
    weights: Weights
    total_units: float | None
    starts: list[datetime]
    readings: list[Reading]
    now: datetime

    def state(self, window: Window | None, days: Sequence[datetime], zone: str) -> AccountState:
        total, least = self._total()
        begin = window.start_at if window else self.draws.edges[0]
        seen = self.draws.begun_between(begin, self.now)
        here = [one for one in self.readings if window is not None and window.start_at < one.read_at]
        observed = [self._observed(one, begin, total) for one in here]
        points = [] if window is None else unseen_at_readings(begin, observed)
        whole = [
            Day(one.astimezone(ZoneInfo(zone)).date(), self.draws.between(one, end).units)
            for one, end in pairwise(days)
        ]
        paced = self._known_days(whole, zone)[-PACE_DAYS:]
        weekdays = weekdays_of(paced, zone)
        rate = rate_of(self._stretches(total), weekdays)
        pace = pace_of(paced, weekdays, rate)

        def after(at: datetime) -> _Range:
            more = (0.0, 0.0) if rate is None else rate.over(weekdays.days(points[-1].at, at))
            return points[-1].low + more[0], points[-1].high + more[1]

        unseen = None if window is None or len(points) < 2 or window.rolls else after(self.now)
        left = _left(total, seen, unseen)
        used = None if unseen is None else (seen.units + unseen[0], seen.units + unseen[1])
        share = min((1 - one.share[0] for one in observed if one.share is not None), default=None)
        return AccountState(
            at=self.now, unit=self.weights.unit, window=window, total=total,
            least_total=least if total is None else None, seen=seen, unseen=unseen, unseen_at=points, readings=here, left=left,
            left_share_most=share if left is None else None, pace=pace,
            forecast=None if pace is None or left is None else forecast(pace, left, self.now),
            models=self._parts(begin, "model"), jobs=self._parts(begin, "job"), days=whole,
            notes=[_contradiction(one, self.weights.unit) for one in contradictions(observed)],
            course=[] if window is None or window.rolls else course(self.draws, window, points, after if unseen else None),
            ahead=[] if used is None or pace is None or window is None else ahead(pace, used, self.now, window.end_at),
        )  # fmt: skip

    def _known_days(self, whole: Sequence[Day], zone: str) -> Sequence[Day]:
        """From the first on which something was drawn, or from the begin of the first window with a reading."""
        drawn = [one.day for one in whole if one.units]
        told = [start.astimezone(ZoneInfo(zone)).date() for start, observed in self._by_window(None) if observed]
        first = min([*drawn[:1], *told[:1]], default=None)
        return [] if first is None else [one for one in whole if one.day >= first]

    def _total(self) -> tuple[_Range | None, float | None]:
        """The window's units, as the settings or the newest reading that has them say; and the least that they can be."""
        told = [one.total_units for one in self.readings if one.total_units is not None]
        known = self.total_units if self.total_units is not None else told[-1] if told else None
        bounds = [least_total(start, observed) for start, observed in self._by_window(None)]
        return None if known is None else (known, known), max(
            (bound for bound in bounds if bound is not None), default=None
        )

    def _by_window(self, total: _Range | None) -> list[tuple[datetime, list[Observed]]]:
        """The readings of each window that was looked at, with its begin."""
        ends = [*self.starts[1:], self.now + timedelta(seconds=1)]
        return [
            (start, [self._observed(one, start, total) for one in self.readings if start < one.read_at < end])
            for start, end in zip(self.starts, ends, strict=False)
        ]

    def _stretches(self, total: _Range | None) -> list[UnseenStretch]:
        return [
            one for start, observed in self._by_window(total) for one in stretches(unseen_at_readings(start, observed))
        ]

    def _observed(self, one: Reading, start: datetime, total: _Range | None) -> Observed:
        ended, begun = self.draws.between(start, one.read_at), self.draws.begun_between(start, one.read_at)
        return Observed(one.read_at, one.used(total), one.used_share, (ended.units, begun.most), one.said)

    def _parts(self, begin: datetime, by: str) -> list[PartDrawn]:
        parts: dict[str, Drawn] = {}
        for call in self.draws.begun(begin, self.now):
            name = getattr(call, by) or "(no run is known)"
            parts[name] = parts.get(name, Drawn()) + call.drawn
        return sorted((PartDrawn(*part) for part in parts.items()), key=lambda part: -part.drawn.units)


def _left(total: _Range | None, seen: Drawn, unseen: _Range | None) -> _Range | None:
    """What is left; None where the total or what others drew is not known."""
    if total is None or unseen is None:
        return None
    most = seen.units + seen.unknown_most + unseen[1] if seen.most is not None else math.inf
    return max(total[0] - most, 0.0), max(total[1] - seen.units - unseen[0], 0.0)


def _contradiction(one: Observed, unit: str) -> str:
    at = f"{one.at:%Y-%m-%d %H:%M} UTC"
    high = 0.0 if one.used is None else one.used[1]
    return (
        f"The reading {one.said!r} of {at} says that at most {high:.0f} {unit} were used, and our own calls had drawn "
        f"{one.seen[0]:.0f}: the total, a weight or the reading is wrong."
    )
