"""Further passes: which request is asked again within a run, and not before when.

The gateway retries by itself, so that an attempt of ours is one of a pass; what may pass is asked again in a later one,
after a wait that holds no slot.
"""

from workbench.job_file import RunTable
from workbench.outcomes import EFFECTS
from workbench.records import CallRecord

LONGEST_WAIT_S = 900.0
"""A route that asks for a longer rest is left to a rerun."""


class Passes:
    """Decides what follows a call that brought no accepted answer.

    Args:
        rules: How many attempts a request may have in this run, and for how long.
        wait_share: Of the waits that the policies give (`Tempo.wait_share`).
    """

    def __init__(self, rules: RunTable, wait_share: float = 1.0) -> None:
        self._rules, self._share = rules, wait_share

    def wait_s(self, record: CallRecord, attempt: int, tried_s: float = 0.0) -> float | None:
        """How long to wait before a request is sent again, in s; None where it is not.

        A `Retry-After` is honoured, and one that is too long leaves the request to a rerun; without one the wait depends
        on the outcome and doubles with each attempt.

        Args:
            record: How its last attempt ended.
            attempt: How many attempts that were.
            tried_s: How long ago the first of them was sent.
        """
        usual_s = EFFECTS[record.attempt.outcome].wait_s
        asked_s = record.attempt.retry_after_s or 0.0
        if attempt >= self._rules.passes or usual_s is None or asked_s > LONGEST_WAIT_S:
            return None
        wait_s: float = usual_s * 2.0 ** (attempt - 1) * self._share
        wait_s = max(min(wait_s, LONGEST_WAIT_S), asked_s)
        deadline_s = self._rules.request_deadline_s
        return None if deadline_s is not None and tried_s + wait_s > deadline_s else wait_s
