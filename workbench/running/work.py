"""N workers on one queue: intent, request, answer, and nothing in between that could lose one."""

import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime

import anyio
import anyio.to_thread

from workbench.client.body import LARGE_BYTES
from workbench.client.chat import ChatClient, cancelled
from workbench.client.transport import Progress as Sending
from workbench.endings import EXIT_CODES, FailedRoute, RunStatus
from workbench.errors import ExitCode, WorkbenchError
from workbench.ledger.entries import Intent, PaceChanged, SampleSeen, answer_entry
from workbench.ledger.journal import JournalFullError, JournalWriter
from workbench.ledger.packing import packed
from workbench.planning.expand import Plan, PlannedItem
from workbench.policy import POLICIES
from workbench.records import CallRecord, ChatRequest, Outcome, without_texts
from workbench.running.ghosts import Ghosts
from workbench.running.guard import Guard
from workbench.running.notices import Notices
from workbench.running.pace import Change, Pace
from workbench.running.passes import LONGEST_WAIT_S, Passes
from workbench.running.progress import Progress
from workbench.running.queue import Queue, Turn
from workbench.running.rules import Rules, Stop
from workbench.running.signals import SIGNALS
from workbench.running.slots import Slot
from workbench.running.tally import AttemptEnd


class Work:
    """The fan-out of one run.

    Args:
        plan: What to send.
        client: To whom.
        journal: Where every intent and answer goes first.
        run_id: The run that pays.
        generation: Of the answers.
        rules: Who may be in flight, and how many at first.
    """

    def __init__(
        self, plan: Plan, client: ChatClient, journal: JournalWriter, run_id: str, generation: str, rules: Rules
    ) -> None:
        self.stop = Stop()
        self._plan, self._client, self._journal = plan, client, journal
        self._run_id, self._generation, self._slots = run_id, generation, rules.slots
        limits = [model.max_in_flight for model in plan.models]
        self._pace = Pace(limits, plan.job.run.max_in_flight, fixed=rules.fixed)
        ghost_s = plan.job.run.ghost_s
        if ghost_s is None:
            ghost_s = rules.tempo.ghost_s
        latencies = [rules.latencies_ms.get(model.id, ()) for model in plan.models]
        self._ghosts = Ghosts(plan.models, latencies, ghost_s)
        self._patience_s = rules.patience_s
        self._guard = Guard(plan.job.budget, plan.job.run)
        self._caps = [model.max_tokens for model in plan.models]
        self._packing = anyio.CapacityLimiter(1)
        self.overrun: str | None = None
        """By how much the budget was overrun, if it was."""
        self._queue = Queue(plan, self._pace, rules.patience_s, rules.tempo)
        self._passes = Passes(plan.job.run, rules.tempo.wait_share)
        self._flying = anyio.CancelScope()
        self.calls = 0
        """Begun, each with an intent in the journal before it was sent."""
        self.signals = 0
        """How many came to stop the run."""
        self.ended = 0
        """Finished requests: accepted, or not sent again in this run."""
        self.retryable = 0
        """Those of them that a rerun sends again."""

    async def run(self, progress: Progress, after_call: Callable[[], None]) -> None:
        """Send everything that is to be sent, and return when nothing is in flight.

        Args:
            progress: Told of every call.
            after_call: Called after every call, for housekeeping.
        """
        limit = self._plan.job.run.max_in_flight
        self._progress, self._after_call = progress, after_call
        self._notices = Notices(self._plan, progress.note, self._patience_s)
        self._record_pace(Change("start", None, 0, self._pace.allowed))
        async with anyio.create_task_group() as watching:
            watching.start_soon(self._watch_deadline)
            with self._flying:
                async with anyio.create_task_group() as workers:
                    for _ in range(limit):
                        workers.start_soon(self._worker)
            watching.cancel_scope.cancel()
        self._slots.rest()
        self._write()
        self.ended += self._queue.late
        self.retryable += self._queue.late
        for model, breaker in self._queue.paused():
            self._notices.paused(model, breaker)
        self._notices.late(self._queue.late)
        self.overrun = self._guard.overrun()

    @property
    def given_up(self) -> list[str]:
        """Messages about routes that failed to the end, and about requests that ran out of time."""
        return self._notices.given_up

    @property
    def failed_routes(self) -> list[FailedRoute]:
        """The routes that this run could not finish with."""
        return self._notices.failed_routes

    def halt(
        self, status: RunStatus, reason: str, exit_code: int | None = None, error: WorkbenchError | None = None
    ) -> None:
        """Send nothing more; what is in flight is waited for. The first reason stays.

        Args:
            status: What the run is, if it leaves anything.
            reason: In words.
            exit_code: Where it is another than that of the status.
            error: What a person should read beside the run's last line.
        """
        if not self.stop:
            self.stop = Stop(status, reason, EXIT_CODES[status] if exit_code is None else exit_code, error)
            self._queue.wake()

    async def _worker(self) -> None:
        try:
            await self._send_what_is_left()
        except OSError as error:  # too many open files, for one: what is in flight is waited for all the same
            self.halt(RunStatus.INCOMPLETE, f"error on this machine: {error.strerror or error}")
        self._queue.wake()
        self._write()
        self._slots.rest()

    async def _send_what_is_left(self) -> None:
        while not self.stop and not self._queue.exhausted:
            if self._progress.in_flight >= self._pace.run_allowed or not self._queue.is_ready():
                self._write()
                self._slots.rest()
                self._give_up_waiting()
                if not self._progress.in_flight and (used_up := self._guard.used_up()):
                    self.halt(RunStatus.STOPPED, used_up)  # retries would wait in vain
                    break
                await self._queue.changed()
                continue
            slot = self._slots.take()
            if slot is None:
                self._write()
                self._notices.ghosts(self._slots)
                await self._slots.changed()
                continue
            turn = self._queue.take()
            if turn is None:
                self._slots.give_back(slot)
                continue
            item = self._plan.item(turn.item)
            if self._is_beyond_budget(turn, item.request):
                self._slots.give_back(slot)
                if not self.stop:
                    self._write()
                    self._slots.rest()
                    await self._queue.changed()
                continue
            try:
                await self._call(turn, item, slot)
            finally:
                self._slots.give_back(slot)
                self._queue.give_back(turn.model)

    def _is_beyond_budget(self, turn: Turn, request: ChatRequest) -> bool:
        """Whether the budget has no room for a request now; else it is reserved."""
        full = self._guard.reserve(request, self._caps[turn.model])
        if full is None:
            return False
        self._queue.postpone(turn)
        if not self._guard.has_reserves:
            self.halt(RunStatus.STOPPED, full)
        return True

    async def _call(self, turn: Turn, item: PlannedItem, slot: Slot) -> None:
        sample = self._plan.sample_of(turn.item)
        request = item.request
        try:
            slot.begin(request.model, self._ghosts.killed_s(turn.model))
        except OSError as error:
            self.halt(RunStatus.INCOMPLETE, f"the slots of this machine cannot be written: {error.strerror or error}")
            return
        call_no = self.calls = self.calls + 1
        if self._plan.unknown_samples[sample]:
            self._plan.unknown_samples[sample] = 0
            self._journal.append(SampleSeen(request.sample_key, item.sample))
        self._journal.append(
            Intent(
                run_id=self._run_id,
                call_no=call_no,
                request_key=request.request_key,
                generation=self._generation,
                body_key=item.body_key,
                body=request.body.decode(),
                model=request.model,
                sample_id=request.sample_id,
                sample_key=request.sample_key,
                epoch=request.epoch,
                occurrence=request.occurrence,
                sent_at=datetime.now(UTC),
                tools=item.tools,
                attempt=turn.attempt,
            )
        )
        if not self._write():
            return  # an intent that is not on record must not be sent
        self._progress.in_flight += 1
        with Sending() as sending:
            try:
                record = await self._client.complete(request, sending)
            except anyio.get_cancelled_exc_class():
                record = cancelled(request, sending)
                self._keep_slot(slot, turn, record)
                self._record(turn, record, call_no)
                raise
            finally:
                self._progress.in_flight -= 1
            self._keep_slot(slot, turn, record)
            if len(record.attempt.raw or "") > LARGE_BYTES:
                await self._record_large(turn, record, call_no)
            else:
                self._record(turn, record, call_no)

    def _keep_slot(self, slot: Slot, turn: Turn, record: CallRecord) -> None:
        """Keep the slot of a call that may go on at the platform."""
        if record.attempt.goes_on:
            slot.keep(self._ghosts.kept_s(turn.model, record))
        elif record.attempt.accepted:
            self._ghosts.answered(turn.model, record.attempt.latency_ms)

    def _record(self, turn: Turn, record: CallRecord, call_no: int) -> None:
        """Journal how a call ended; it is written with the next intent, or at once by a worker that waits."""
        number = self._journal.append(answer_entry(self._run_id, call_no, self._generation, record))
        self._settle(turn, record, number)

    async def _record_large(self, turn: Turn, record: CallRecord, call_no: int) -> None:
        """The same for a long answer: packed in a thread, written at once, and let go."""
        entry = answer_entry(self._run_id, call_no, self._generation, record)
        with anyio.CancelScope(shield=True):  # it has arrived
            frame = await anyio.to_thread.run_sync(packed, entry, limiter=self._packing)
        number = self._journal.append_frame(frame)
        self._write()
        self._settle(turn, without_texts(record), number)

    def _settle(self, turn: Turn, record: CallRecord, number: int) -> None:
        """Report how a call ended to everything that watches the run; `number` is that of its journal entry."""
        flying, now = self._queue.flying(turn.model), time.monotonic()
        if change := self._pace.ended(turn.model, record, flying, self._progress.in_flight + 1, now):
            self._record_pace(change)
        if too_much := self._guard.settle(record, self._caps[turn.model]):
            self.halt(RunStatus.STOPPED, too_much)
        tried_s = time.monotonic() - turn.first_at
        wait_s = None if self.stop else self._passes.wait_s(record, turn.attempt, tried_s)
        self._progress.ended(number, AttemptEnd(record, turn.attempt, will_go_on=wait_s is not None))
        if wait_s is not None:
            self._queue.again(turn, wait_s)
        elif record.attempt.outcome is not Outcome.CANCELLED:
            self.ended += 1
            self.retryable += record.attempt.rerun and not record.attempt.accepted
        asked_s = record.attempt.retry_after_s if POLICIES[record.attempt.outcome].wait_s is not None else None
        breaker = self._queue.ended(turn, record.attempt.outcome, asks_for_time=bool(asked_s))
        if asked_s:
            self._leave_alone(turn.model, asked_s)
        if breaker:
            self._notices.route(turn.model, breaker)
        if record.attempt.outcome is Outcome.KEY_REJECTED:
            problem = "the platform no longer accepts the API key"
            self.halt(RunStatus.INCOMPLETE, problem, ExitCode.KEY_REJECTED)
        self._after_call()

    def _record_pace(self, change: Change) -> None:
        """Journal a limit that changed, and report cuts."""
        model = None if change.route is None else self._plan.models[change.route].id
        now = datetime.now(UTC)
        self._journal.append(PaceChanged(self._run_id, now, self._pace.allowed, change.reason, model, change.allowed))
        self._notices.cut(model, change)

    def _give_up_waiting(self) -> None:
        """Give up paused routes when nothing else is left, and none of them can be tried in time."""
        for model in self._queue.given_up_waiting():
            self._notices.out_of_patience(model, self._queue.breaker(model))

    def _leave_alone(self, model: int, asked_s: float) -> None:
        """Send a route nothing before the time it named, or nothing more, where that is longer than a run waits."""
        if asked_s <= LONGEST_WAIT_S:
            if breaker := self._queue.hold(model, asked_s):
                self._notices.held(model, breaker, asked_s)
        elif self._queue.give_up(model):
            self._notices.held_too_long(model, self._queue.breaker(model), asked_s)

    def _write(self) -> bool:
        try:
            self._journal.flush()
            self._journal.keep_reserve()
        except JournalFullError as error:
            self.halt(RunStatus.INCOMPLETE, "the journal cannot be written", error.exit_code, error)
            return False
        if self._journal.trouble:
            self.halt(RunStatus.INCOMPLETE, self._journal.trouble)
        return True

    async def _watch_deadline(self) -> None:
        deadline_s = self._plan.job.run.deadline_s
        if deadline_s is not None:
            await anyio.sleep(deadline_s)
            self.halt(RunStatus.STOPPED, f"the deadline of {deadline_s:g} s has passed")

    def signalled(self, progress: Progress, number: signal.Signals) -> None:
        """Stop sending at the first signal, wait for nothing more at the second; either may come before `run`."""
        self.signals += 1
        if self.signals == 1:
            name, flying = SIGNALS[number], progress.in_flight
            progress.note(f"{name}: sending nothing more, waiting for {flying} in flight (again to cancel them)")
            self.halt(RunStatus.INTERRUPTED, name, 128 + number)
        elif self.signals == 2:
            progress.note("cancelled: requests in flight may have been paid for; a rerun sends them again")
            self._flying.cancel()
