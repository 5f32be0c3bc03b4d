"""Further passes: which request is asked again within a run, and not before when.

The gateway retries by itself, so that an attempt of ours is one of a pass; what may pass is asked again in a later one,
after a wait that holds no slot.
"""

from workbench.client.outcome import CONSEQUENCES
from workbench.job_file import RunTable
from workbench.records import CallRecord, Outcome

_WAITS_S = {
    Outcome.RATE_LIMITED: 10.0,
    Outcome.ROUTE_COOLING: 6.0,
    Outcome.ROUTE_DOWN: 10.0,
    Outcome.GATEWAY_UNREACHABLE: 20.0,
    Outcome.GATEWAY_TIMEOUT: 30.0,
    Outcome.CONNECT_FAILED: 10.0,
    Outcome.CONNECTION_LOST: 10.0,
}
_OTHER_WAIT_S = 1.0
LONGEST_WAIT_S = 900.0
"""A route that asks for a longer rest is left to a rerun."""
_LOCAL_SHARE = 0.01


class Passes:
    """Decides what follows a call that brought no accepted answer.

    Args:
        rules: How many attempts a request may have in this run, and for how long.
        local: Whether the embedded platform is asked, which needs no long rest.
    """

    def __init__(self, rules: RunTable, *, local: bool) -> None:
        self._rules, self._share = rules, _LOCAL_SHARE if local else 1.0

    def wait_s(self, record: CallRecord, attempt: int, tried_s: float = 0.0) -> float | None:
        """How long to wait before a request is sent again, in s; None where it is not.

        A `Retry-After` is honoured, and one that is too long leaves the request to a rerun; without one the wait depends
        on the outcome and doubles with each attempt.

        Args:
            record: How its last attempt ended.
            attempt: How many attempts that were.
            tried_s: How long ago the first of them was sent.
        """
        outcome = record.attempt.outcome
        asked_s = record.attempt.retry_after_s or 0.0
        if attempt >= self._rules.passes or not CONSEQUENCES[outcome].next_pass or asked_s > LONGEST_WAIT_S:
            return None
        wait_s: float = _WAITS_S.get(outcome, _OTHER_WAIT_S) * 2.0 ** (attempt - 1) * self._share
        wait_s = max(min(wait_s, LONGEST_WAIT_S), asked_s)
        deadline_s = self._rules.request_deadline_s
        return None if deadline_s is not None and tried_s + wait_s > deadline_s else wait_s
