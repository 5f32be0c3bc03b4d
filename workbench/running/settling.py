"""What follows from how a call ended: for its request, its route, the run's limits and its guards."""

import time

import workbench.settings.clock as clock
from workbench.errors import ExitCode, WorkbenchError
from workbench.job.file import RunTable
from workbench.ledger.entries import PaceChanged
from workbench.ledger.journal import JournalWriter
from workbench.planning.expand import Plan
from workbench.records.calls import CallRecord, ChatRequest
from workbench.records.endings import EXIT_CODES, RunStatus
from workbench.records.outcomes import EFFECTS
from workbench.running.guard import Guard
from workbench.running.notices import Notices
from workbench.running.pace import Change, Pace
from workbench.running.progress import Progress
from workbench.running.queue import Queue, Turn
from workbench.running.rules import FanOutSettings, Stop
from workbench.running.tally import AttemptEnd
from workbench.running.waiting import LOG

LONGEST_WAIT_S = 900.0
"""A route that asks for a longer rest is left to a rerun."""


class Passes:
    """Decides what follows a call that brought no accepted answer: which request is asked again in this run, and when.

    The gateway retries by itself, so that an attempt of ours is one of a pass; what may pass is asked again in a later one,
    after a wait that holds no slot.

    Args:
        rules: How many attempts a request may have in this run, and for how long.
        wait_share: Of the waits that the policies give (`Tempo.wait_share`).
    """

    def __init__(self, rules: RunTable, wait_share: float = 1.0) -> None:
        self._rules, self._share = rules, wait_share

    def wait_s(self, record: CallRecord, attempt: int, tried_s: float = 0.0) -> float | None:
        """Return how long to wait before a request is sent again, in s; None where it is not.

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


class AfterCall:
    """Lets everything that acts on the end of a call know of it, in one order.

    Args:
        journal: Where changes of limits go.
    """

    def __init__(
        self, plan: Plan, journal: JournalWriter, run_id: str, rules: FanOutSettings, progress: Progress
    ) -> None:
        self.stop = Stop()
        """Why nothing more is sent; false while more is."""
        self._plan, self._journal, self._run_id, self._progress = plan, journal, run_id, progress
        limits = [model.max_in_flight for model in plan.models]
        self.pace = Pace(limits, plan.job.run.max_in_flight, fixed=rules.fixed)
        self.queue = Queue(plan, self.pace, rules.patience_s, rules.tempo)
        self.guard = Guard(plan.job.budget, plan.job.run, rules.caps)
        self.notices = Notices(plan, progress.note, rules.patience_s)
        self._passes = Passes(plan.job.run, rules.tempo.wait_share)
        self._caps = [model.max_tokens for model in plan.models]
        self._patience_s, self._waits_since = rules.patience_s, 0.0

    def begin(self) -> None:
        """Record the limits that the run begins with."""
        self._record_pace(Change("start", None, 0, self.pace.allowed))

    def halt(
        self, status: RunStatus, reason: str, exit_code: int | None = None, error: WorkbenchError | None = None
    ) -> None:
        """Send nothing more; what is in flight is waited for. The first reason stays.

        Args:
            status: What the run is, if it leaves anything.
            exit_code: Where it is another than that of the status.
            error: What a person should read beside the run's last line.
        """
        if not self.stop:
            self.stop = Stop(status, reason, EXIT_CODES[status] if exit_code is None else exit_code, error)
            self.queue.wake()

    def reserve_or_postpone(self, turn: Turn, request: ChatRequest) -> bool:
        """Reserve for a request, and return whether the budget has room for it; where it has none now, it is postponed."""
        full = self.guard.reserve(request, self._caps[turn.model])
        if full is None:
            self._waits_since = 0.0
            return True
        self.queue.postpone(turn)
        if self.guard.has_reserves:  # what is in flight may turn out cheaper than was reserved for it
            return False
        now = time.monotonic()
        self._waits_since = self._waits_since or now
        if not self.guard.may_retry_later or now - self._waits_since > self._patience_s:
            self.halt(RunStatus.STOPPED, full)
        return False

    @property
    def waits_for_others(self) -> bool:
        """Whether nothing can be sent before other runs settle what they have reserved of a cap."""
        return self._waits_since > 0 and not self.stop

    def settle(self, turn: Turn, record: CallRecord, number: int, in_flight: int) -> None:
        """Take in how a call ended.

        Args:
            record: How it ended; its texts may be left out.
            number: Of its journal entry.
            in_flight: Requests in flight when it ended, itself included.
        """
        attempt, now = record.attempt, time.monotonic()
        # the limits first: they judge by what was in flight, before anything that is said below changes that
        if change := self.pace.ended(turn.model, record, self.queue.flying(turn.model), in_flight, now):
            self._record_pace(change)
        if too_much := self.guard.settle(record, self._caps[turn.model]):
            self.halt(RunStatus.STOPPED, too_much)
        # after the guard: once it stopped the run, what would pass again is left to a rerun
        wait_s = None if self.stop else self._passes.wait_s(record, turn.attempt, now - turn.first_at)
        self._progress.cap = self.guard.nearest_limit_text()
        self._progress.ended(number, AttemptEnd(record, turn.attempt, will_go_on=wait_s is not None))
        if wait_s is not None:
            self.queue.again(turn, wait_s)
            LOG.info("%s: %s, sent again in %.1f s", record.request.model, attempt.outcome, wait_s)
        self._judge_route(turn, record)
        if EFFECTS[attempt.outcome].stops == "key":
            self.halt(RunStatus.INCOMPLETE, "the platform no longer accepts the API key", ExitCode.KEY_REJECTED)

    def why_waiting(self, in_flight: int) -> str:
        """Return why nothing more may be sent now, for the log."""
        if in_flight >= self.pace.run_allowed:
            return f"the pace allows {self.pace.run_allowed}"
        reasons = [f"{self._plan.models[model].id} {why}" for model, why in self.queue.why_waiting()]
        return "; ".join(reasons) or "nothing else is left to send"

    def give_up_waiting(self) -> None:
        """Give up paused routes when nothing else is left, and none of them can be tried in time."""
        for model in self.queue.given_up_waiting():
            self.notices.out_of_patience(model, self.queue.breaker(model))

    def end(self) -> None:
        """Note what is left undone: paused routes, and requests that had no time for another pass."""
        for model, breaker in self.queue.paused():
            self.notices.paused(model, breaker)
        self.notices.late(self.queue.late)

    def _judge_route(self, turn: Turn, record: CallRecord) -> None:
        """Let the route's breaker know, and keep to a time that the route named."""
        outcome = record.attempt.outcome
        # a Retry-After of an outcome that is never sent again says nothing of the route
        asked_s = record.attempt.retry_after_s if EFFECTS[outcome].wait_s is not None else None
        breaker = self.queue.ended(turn, outcome, asks_for_time=bool(asked_s))
        if asked_s:
            self._leave_alone(turn.model, asked_s)
        if breaker:
            LOG.info("%s: %s", self._plan.models[turn.model].id, breaker.state)
            self.notices.route(turn.model, breaker)

    def _leave_alone(self, model: int, asked_s: float) -> None:
        """Send a route nothing before the time it named, or nothing more, where that is longer than a run waits."""
        if asked_s <= LONGEST_WAIT_S:
            if breaker := self.queue.hold(model, asked_s):
                self.notices.held(model, breaker, asked_s)
        elif self.queue.give_up(model):
            self.notices.held_too_long(model, self.queue.breaker(model), asked_s)

    def _record_pace(self, change: Change) -> None:
        """Journal a limit that changed, and report cuts."""
        model = None if change.route is None else self._plan.models[change.route].id
        now = clock.now()
        LOG.info("%s: at most %d in flight (%s)", model or "all models", change.allowed, change.reason)
        self._journal.append(PaceChanged(self._run_id, now, self.pace.allowed, change.reason, model, change.allowed))
        self.notices.cut(model, change)
