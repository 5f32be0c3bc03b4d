"""How many requests are let into flight: few at first, more while routes keep their pace, fewer when they do not.

Additive increase and multiplicative decrease, as TCP's congestion control (RFC 5681) does it: nothing promises that a
platform says when it has enough.
"""

from collections import deque

from workbench.records import CallRecord, Outcome

_START = 4
_CUT_BY_REFUSAL, _CUT_BY_LATENCY = 0.5, 0.8
_INFLATED = 3.0
"""A route whose newest answers take so many times as long as its usual ones is taken to be crowded."""
_USUAL, _NEWEST = 40, 10
_CROWDED = frozenset({Outcome.RATE_LIMITED, Outcome.GATEWAY_TIMEOUT})


class Pace:
    """The limit that adapts, never above the one that is set.

    Args:
        limit: The one that is set.
        fixed: Keeps to it from the start.
    """

    def __init__(self, limit: int, *, fixed: bool) -> None:
        self._limit, self._fixed = limit, fixed
        self._allowed = float(limit if fixed else min(limit, _START))
        self._starting = True
        self._calls_since_cut = self._in_flight_at_cut = 0
        self._latencies: dict[str, _Latencies] = {}

    @property
    def allowed(self) -> int:
        """How many may be in flight now."""
        return int(self._allowed)

    def ended(self, record: CallRecord, in_flight: int) -> str | None:
        """Take in how a call ended; why the limit changed, where it did.

        Args:
            record: The call.
            in_flight: How many were in flight when it ended, itself among them.
        """
        if self._fixed:
            return None
        before = self.allowed
        self._calls_since_cut += 1
        reason = self._judged(record, in_flight)
        return reason if self.allowed != before else None

    def _judged(self, record: CallRecord, in_flight: int) -> str:
        attempt = record.attempt
        if attempt.outcome in _CROWDED:
            return self._cut(_CUT_BY_REFUSAL, in_flight, str(attempt.outcome))
        if not attempt.accepted:
            return ""  # it says nothing of the room there is
        latencies = self._latencies.setdefault(record.request.model, _Latencies())
        if latencies.inflated(attempt.latency_ms):
            return self._cut(_CUT_BY_LATENCY, in_flight, "latency")
        if in_flight >= self.allowed:  # what is not used proves nothing
            self._allowed = min(self._limit, self._allowed + (1.0 if self._starting else 1.0 / self._allowed))
        return "growth"

    def _cut(self, share: float, in_flight: int, reason: str) -> str:
        """One cut for all that was in flight when the need for it showed."""
        self._starting = False
        if self._calls_since_cut > self._in_flight_at_cut:
            self._calls_since_cut, self._in_flight_at_cut = 0, in_flight
            self._allowed = max(1.0, self._allowed * share)
        return reason


class _Latencies:
    """One route's answer times, in ms."""

    def __init__(self) -> None:
        self._usual: deque[float] = deque(maxlen=_USUAL)
        self._newest: deque[float] = deque(maxlen=_NEWEST)

    def inflated(self, latency_ms: float) -> bool:
        """Whether the newest answers take far longer than the usual ones did."""
        from statistics import median  # with fractions, for a limit that adapts

        self._newest.append(latency_ms)
        crowded = len(self._usual) == _USUAL and median(self._newest) > _INFLATED * median(self._usual)
        self._usual.append(latency_ms)  # what lasts becomes the usual
        return crowded
