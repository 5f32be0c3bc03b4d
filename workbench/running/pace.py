"""How many requests are in flight at first, and when that becomes more or fewer: for each route, within the run's limit.

Additive increase and multiplicative decrease, as TCP's congestion control (RFC 5681) does it: nothing promises that a
platform says when it has enough. A route that refuses or slows down is cut alone; all are cut only when several routes,
and at least half of those in use, refuse within the same few seconds.
"""

from collections import deque
from statistics import median
from typing import NamedTuple

from workbench.records.calls import CallRecord
from workbench.records.outcomes import EFFECTS

START = 4
"""How many are in flight at first, over all routes."""
SHARED_WINDOW_S = 10.0
"""Refusals of several routes within this time are one refusal by the platform."""
_CUT_BY_REFUSAL, _CUT_BY_LATENCY = 0.5, 0.8
_INFLATED = 3.0
"""A route whose newest answers take this many times as long as its usual ones is taken to be crowded."""
_USUAL, _NEWEST = 40, 10


class Change(NamedTuple):
    """A limit that became another."""

    reason: str
    """start, growth, latency, or the outcome that it was cut for."""
    route: int | None
    """Whose limit; None is the run's, with all of its routes."""
    before: int
    allowed: int

    @property
    def is_cut(self) -> bool:
        """Whether it became fewer."""
        return self.allowed < self.before


class Pace:
    """The limits that adapt, never above those that are set.

    Args:
        limits: Of each route.
        fixed: Keeps to these from the start.
    """

    def __init__(self, limits: list[int], limit: int, *, fixed: bool) -> None:
        self._fixed = fixed
        start = limit if fixed else START
        self._run = _Window(limit, start)
        self._routes = [_Window(most, most if fixed else -(-start // len(limits))) for most in limits]
        self._latencies = [_Latencies() for _ in limits]
        self._used_at: dict[int, float] = {}
        self._refused_at: dict[int, float] = {}

    @property
    def allowed(self) -> int:
        """How many may be in flight now, over all routes."""
        return min(self._run.allowed, sum(route.allowed for route in self._routes))

    @property
    def run_allowed(self) -> int:
        """The run's own limit, whatever those of its routes are."""
        return self._run.allowed

    def allows(self, route: int, flying: int) -> bool:
        """Return whether a route may have one more in flight than it has."""
        return flying < self._routes[route].allowed

    def ended(self, route: int, record: CallRecord, flying: int, in_flight: int, now: float) -> Change | None:
        """Take in how a call ended; which limit changed by it, if any did.

        Args:
            route: Which one was asked.
            flying: How many of the route's calls were in flight when it ended, itself among them.
            in_flight: The same over all routes.
            now: On any steady clock, in s.
        """
        self._used_at[route] = now
        if self._fixed:
            return None
        window, before, run_before = self._routes[route], self._routes[route].allowed, self._run.allowed
        window.calls_since_cut += 1
        self._run.calls_since_cut += 1
        outcome = record.attempt.outcome
        follows = EFFECTS[outcome]
        if follows.crowded:
            window.cut(_CUT_BY_REFUSAL, flying)
            if follows.crowded == "limit" and self._all_refuse(route, now):
                self._cut_all(in_flight)
                return Change(str(outcome), None, run_before, self._run.allowed)
            return _changed(str(outcome), route, before, window.allowed)
        if not record.attempt.accepted:
            return None  # it says nothing of the room there is
        self._refused_at.pop(route, None)
        if self._latencies[route].inflated(record.attempt.latency_ms):
            window.cut(_CUT_BY_LATENCY, flying)
            return _changed("latency", route, before, window.allowed)
        window.grow(flying)
        self._run.grow(in_flight)
        return _changed("growth", route, before, window.allowed) or _changed(
            "growth", None, run_before, self._run.allowed
        )

    def _all_refuse(self, route: int, now: float) -> bool:
        """Return whether at least half of the routes in use, and more than one, refuse at the same time."""
        self._refused_at[route] = now
        refusing = [at for at in self._refused_at.values() if now - at <= SHARED_WINDOW_S]
        used = [at for at in self._used_at.values() if now - at <= SHARED_WINDOW_S]
        return 1 < len(refusing) >= len(used) / 2

    def _cut_all(self, in_flight: int) -> None:
        self._run.cut(_CUT_BY_REFUSAL, in_flight)
        for number, window in enumerate(self._routes):
            if number not in self._refused_at:  # the others were cut when they refused
                window.cut(_CUT_BY_REFUSAL, window.allowed)
        self._refused_at.clear()


class _Window:
    """One limit that adapts."""

    def __init__(self, most: int, start: int) -> None:
        self._most = most
        self._allowed = float(min(most, max(1, start)))
        self._starting = True
        self.calls_since_cut = self._in_flight_at_cut = 0

    @property
    def allowed(self) -> int:
        return int(self._allowed)

    def grow(self, in_flight: int) -> None:
        """One more for an answer at first, one more for a round of answers after a cut."""
        if in_flight >= self.allowed:  # what is not used proves nothing
            self._allowed = min(self._most, self._allowed + (1.0 if self._starting else 1.0 / self._allowed))

    def cut(self, share: float, in_flight: int) -> None:
        """One cut for all that was in flight when the need for it showed."""
        self._starting = False
        # what was in flight then met the same crowd: counted call by call, one refusal of 32 calls would leave one in flight
        if self.calls_since_cut > self._in_flight_at_cut:
            self.calls_since_cut, self._in_flight_at_cut = 0, in_flight
            self._allowed = max(1.0, self._allowed * share)


class _Latencies:
    """One route's answer times, in ms."""

    def __init__(self) -> None:
        self._usual: deque[float] = deque(maxlen=_USUAL)
        self._newest: deque[float] = deque(maxlen=_NEWEST)

    def inflated(self, latency_ms: float) -> bool:
        """Return whether the newest answers take far longer than the usual ones did."""
        self._newest.append(latency_ms)
        crowded = len(self._usual) == _USUAL and median(self._newest) > _INFLATED * median(self._usual)
        self._usual.append(latency_ms)  # what lasts becomes the usual
        return crowded


def _changed(reason: str, route: int | None, before: int, allowed: int) -> Change | None:
    return Change(reason, route, before, allowed) if allowed != before else None
