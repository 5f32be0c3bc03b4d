"""How long an abandoned call keeps its slot, as the platform may still be working on it."""

from collections import deque
from collections.abc import Iterable, Sequence

from workbench.planning.expand import Plan
from workbench.planning.models import PlannedModel
from workbench.records.calls import CallRecord
from workbench.records.outcomes import EFFECTS
from workbench.running.rules import Tempo

_NEWEST = 1_000
"""How many of a route's newest answers are considered."""
_ENOUGH = 50
"""Fewer answers say nothing about the longest."""
_LEAST_S = 30.0


def longest_s(plan: Plan, tempo: Tempo) -> float:
    """For how long any call of a plan may go on at most from when it is sent."""
    fixed_s = tempo.ghost_s if plan.job.run.ghost_s is None else plan.job.run.ghost_s
    return max((model.timeout_s if fixed_s is None else fixed_s for model in plan.models), default=0.0)


class Ghosts:
    """Knows the longest of each route's newest answers.

    Args:
        models: The routes, with the gateway's worst case of each.
        latencies_ms: Of each route's answers so far, oldest first.
        fixed_s: What the job says instead (`run.ghost_s`).
    """

    def __init__(
        self, models: Sequence[PlannedModel], latencies_ms: Iterable[Iterable[float]], fixed_s: float | None
    ) -> None:
        self._worst_s = [model.timeout_s if fixed_s is None else fixed_s for model in models]
        self._fixed_s = fixed_s
        self._newest = [deque(known, maxlen=_NEWEST) for known in latencies_ms]
        self._longest = [max(known, default=0.0) for known in self._newest]

    def answered(self, model: int, latency_ms: float) -> None:
        """Take in how long an answer took."""
        newest = self._newest[model]
        leaves = newest[0] if len(newest) == _NEWEST else 0.0
        newest.append(latency_ms)
        if latency_ms >= self._longest[model]:
            self._longest[model] = latency_ms
        elif leaves >= self._longest[model]:
            self._longest[model] = max(newest)

    def cut_off_s(self, model: int) -> float:
        """For how long a call may go on from when it is sent, should this process be killed or the call cancelled: twice
        the longest of the route's newest answers, at least 30 s; with few answers the gateway's worst case.
        """
        if self._fixed_s is not None or len(self._newest[model]) < _ENOUGH:
            return self._worst_s[model]
        return min(max(_LEAST_S, 2 * self._longest[model] / 1000), self._worst_s[model])

    def longest_s(self) -> float:
        """Return the longest `cut_off_s` of all routes."""
        return max(map(self.cut_off_s, range(len(self._worst_s))), default=0.0)

    def kept_s(self, model: int, record: CallRecord) -> float:
        """For how much longer a call may go on that ended without the gateway's word: the gateway's worst case, from now
        where we waited for longer than that, and else from when it was sent.
        """
        attempt = record.attempt
        # from now and not from when it was sent: that the gateway's worst case is over is what was just found to be wrong
        if EFFECTS[attempt.outcome].waited_out or self._fixed_s is not None:
            return self._worst_s[model]
        if not EFFECTS[attempt.outcome].concluded:
            return max(0.0, self.cut_off_s(model) - attempt.latency_ms / 1000)
        return max(0.0, self._worst_s[model] - attempt.latency_ms / 1000)
