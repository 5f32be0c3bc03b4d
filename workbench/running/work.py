"""N workers on one queue: intent, request, answer, and nothing in between that could lose one."""

import signal
import time
from collections.abc import Callable, Iterator

import anyio
import anyio.to_thread
import msgspec

import workbench.settings.clock as clock
from workbench.client.chat import ChatClient, cancelled
from workbench.client.completion import LARGE_BYTES
from workbench.client.transport import Sending
from workbench.errors import WorkbenchError, internal_error
from workbench.ledger.entries import Intent, RunStarted, SampleSeen, answer_entry, of_request
from workbench.ledger.journal import JournalFullError, JournalWriter
from workbench.ledger.packing import packed
from workbench.planning.expand import Plan, PlannedItem
from workbench.records.calls import CallRecord, ChatRequest, without_texts
from workbench.records.endings import RunStatus
from workbench.running.ghosts import Ghosts
from workbench.running.progress import Progress
from workbench.running.queue import Turn
from workbench.running.rules import FanOutSettings
from workbench.running.settling import AfterCall
from workbench.running.signals import SIGNALS
from workbench.running.slots import Slot
from workbench.running.waiting import LOG, Waiting

_BETWEEN_TRIES_S = 0.5


class Work:
    """The fan-out of one run."""

    def __init__(
        self,
        plan: Plan,
        client: ChatClient,
        journal: JournalWriter,
        started: RunStarted,
        rules: FanOutSettings,
        progress: Progress,
    ) -> None:
        self._plan, self._client, self._journal = plan, client, journal
        self._run_id, self._generation = started.run_id, started.generation
        self._slots, self._progress = rules.slots, progress
        self._waiting = Waiting(plan.job.run.max_in_flight)
        self.after_call = AfterCall(plan, journal, started.run_id, rules, progress)
        ghost_s = plan.job.run.ghost_s
        latencies = [rules.latencies_ms.get(model.id, ()) for model in plan.models]
        self._ghosts = Ghosts(plan.models, latencies, rules.tempo.ghost_s if ghost_s is None else ghost_s)
        self._slots.set_longest_call(self._ghosts.longest_s)
        self._packing = anyio.CapacityLimiter(1)  # a long answer takes many times its size while it is packed
        self._flying = anyio.CancelScope()
        self._in_flight = 0
        self._is_brief, self._began = rules.tempo.is_brief, time.monotonic()
        self._begun = bytearray(len(plan))
        self.calls = 0
        """Begun, each with an intent in the journal before it was sent."""
        self.signals = 0
        """How many came to stop the run."""

    async def run(self, keep_house: Callable[[], None]) -> None:
        """Send everything that is to be sent, and return when nothing is in flight.

        Args:
            keep_house: Called after every call: counts it, and hands over what was written.
        """
        self._keep_house = keep_house
        self.after_call.begin()
        async with anyio.create_task_group() as watching:
            watching.start_soon(self._watch_deadline)
            watching.start_soon(self._watch_caps)
            with self._flying:  # what a second Ctrl-C cancels: the calls alone, and not the writing that follows
                async with anyio.create_task_group() as workers:
                    for _ in range(self._plan.job.run.max_in_flight):
                        workers.start_soon(self._worker)
            watching.cancel_scope.cancel()
        self._write()
        self._slots.release_unused()
        self._waiting.over()
        self.after_call.end()

    async def _worker(self) -> None:
        try:
            await self._send_what_is_left()
        except OSError as error:  # too many open files, for one: what is in flight is waited for all the same
            self.after_call.halt(RunStatus.INCOMPLETE, f"error on this machine: {error.strerror or error}")
        except WorkbenchError as error:  # a server that refuses, for one
            self.after_call.halt(RunStatus.INCOMPLETE, str(error), error.exit_code, error)
        except Exception as error:  # as it is for a fault of ours: it is paid for
            fault = internal_error(error)
            self.after_call.halt(RunStatus.INCOMPLETE, str(fault), fault.exit_code, fault)
        self.after_call.queue.wake()
        self._write()
        self._slots.release_unused()

    async def _send_what_is_left(self) -> None:
        after_call, queue = self.after_call, self.after_call.queue
        while not after_call.stop and not queue.exhausted:
            if self._in_flight >= after_call.pace.run_allowed or not queue.is_ready():
                await self._wait_for_a_turn()
                continue
            # the slot before the turn: who waits for a slot must not keep a request from others
            slot = self._slots.take()
            if slot is None:
                await self._wait_for_a_slot()
                continue
            after_call.notices.slot_taken()
            turn = queue.take()
            if turn is None:
                self._slots.give_back(slot)
                continue
            item = self._plan.item(turn.item)
            if not after_call.reserve_or_postpone(turn, item.request):
                self._slots.give_back(slot)
                if not after_call.stop:
                    await self._wait_for_room()
                continue
            try:
                await self._call(turn, item, slot)
            finally:
                self._slots.give_back(slot)
                queue.give_back(turn.model)

    async def _wait_for_a_turn(self) -> None:
        """Wait until a request may be sent; write first: what was answered meanwhile must not wait for the next intent."""
        self._write()
        self._slots.release_unused()
        self.after_call.give_up_waiting()
        if not self._in_flight and (used_up := self.after_call.guard.used_up()):
            self.after_call.halt(RunStatus.STOPPED, used_up)  # retries would wait in vain
            return
        if self._waiting.is_watched:
            self._waiting.because(self.after_call.why_waiting(self._in_flight), self._in_flight)
        await self.after_call.queue.changed()

    async def _wait_for_a_slot(self) -> None:
        self._write()
        self.after_call.notices.no_slot(self._slots)
        if self._waiting.is_watched:
            self._waiting.because(self._slots.obstacle or self._slots.why_none(), self._in_flight)
        await self._slots.changed()

    async def _wait_for_room(self) -> None:
        """Wait until what is in flight leaves room in a budget or a cap."""
        self._write()
        self._slots.release_unused()
        if self._waiting.is_watched:
            self._waiting.because("a budget or a cap has no room before others end", self._in_flight)
        await self.after_call.queue.changed()

    async def _call(self, turn: Turn, item: PlannedItem, slot: Slot) -> None:
        request = self._within_deadline(item.request)
        # slot, intent, request, in this order: a kill between them leaves a slot taken or an intent without an end; in another
        # one, a call at the platform that neither the slots nor the ledger know of
        try:
            slot.begin(request.model, self._ghosts.cut_off_s(turn.model))
        except OSError as error:
            problem = f"the slots of this machine cannot be written: {error.strerror or error}"
            self.after_call.halt(RunStatus.INCOMPLETE, problem)
            return
        call_no = self.calls = self.calls + 1
        self._intend(turn, item, call_no)
        if not self._write():
            return  # an intent that is not on record must not be sent
        self._count_flying(1)
        if self._waiting.is_watched:
            self._log_sent(turn, request, call_no, slot)
        with Sending() as sending:
            try:
                record = await self._client.complete(request, sending)
            except anyio.get_cancelled_exc_class():
                # nothing is awaited below: in a cancelled scope that raises, and the call's end would not be journalled
                record = cancelled(request, sending)
                self._keep_slot(slot, turn, record)
                self._record(turn, record, call_no)
                raise
            finally:
                self._count_flying(-1)
            self._keep_slot(slot, turn, record)
            if len(record.attempt.raw or "") > LARGE_BYTES:
                await self._record_large(turn, record, call_no)
            else:
                self._record(turn, record, call_no)

    def _log_sent(self, turn: Turn, request: ChatRequest, call_no: int, slot: Slot) -> None:
        if self._in_flight >= self._plan.job.run.max_in_flight:
            self._waiting.over()
        flying = f"{self._in_flight} in flight"
        LOG.debug("call %d: to %s, attempt %d, slot %d, %s", call_no, request.model, turn.attempt, slot.number, flying)

    def _within_deadline(self, request: ChatRequest) -> ChatRequest:
        """Return the same, waited for no longer than the run where that is brief."""
        deadline_s = self._plan.job.run.deadline_s
        if not self._is_brief or deadline_s is None:
            return request
        left_s = self._began + deadline_s - time.monotonic()
        return msgspec.structs.replace(request, timeout_s=max(0.0, min(request.timeout_s, left_s)))

    def _intend(self, turn: Turn, item: PlannedItem, call_no: int) -> None:
        """Journal that a request is about to be sent, with its sample where the ledger does not know that yet."""
        self._begun[turn.item] = 1
        request = item.request
        if self._plan.is_new_sample(turn.item):
            self._journal.append(SampleSeen(item.content_key, item.sample))
        self._journal.append(
            Intent(
                run_id=self._run_id,
                call_no=call_no,
                generation=self._generation,
                body_key=item.body_key,
                body=request.body.decode(),
                sent_at=clock.now(),
                tools=item.tools,
                attempt=turn.attempt,
                **of_request(Intent, request),
            )
        )

    def unsent(self) -> Iterator[int]:
        """Return one item of each sample and epoch of which nothing was sent, to no model, and that has no earlier answer."""
        epochs = self._plan.job.run.epochs
        seen = {(self._plan.sample_of(item), item % epochs) for item, begun in enumerate(self._begun) if begun}
        seen |= {(self._plan.sample_of(item), item % epochs) for item, _ in self._plan.reuses()}
        for item in range(len(self._plan)):
            place = self._plan.sample_of(item), item % epochs
            if place not in seen:
                seen.add(place)
                yield item

    def _count_flying(self, change: int) -> None:
        """Count what is in flight; admission goes by this, and the progress bar is only told."""
        self._in_flight += change
        self._progress.in_flight = self._in_flight

    def _keep_slot(self, slot: Slot, turn: Turn, record: CallRecord) -> None:
        """Keep the slot of a call that may go on at the platform."""
        if record.attempt.goes_on:
            slot.keep(self._ghosts.kept_s(turn.model, record))
            LOG.info("slot %d stays taken for %.0f s: its call may go on at the platform", slot.number, slot.kept_s)
        elif record.attempt.accepted:
            self._ghosts.answered(turn.model, record.attempt.latency_ms)

    def _record(self, turn: Turn, record: CallRecord, call_no: int) -> None:
        """Journal how a call ended; it is written with the next intent, or at once by a worker that waits."""
        number = self._journal.append(answer_entry(self._run_id, call_no, self._generation, record))
        self._settle(turn, record, number, call_no)

    async def _record_large(self, turn: Turn, record: CallRecord, call_no: int) -> None:
        """Journal a long answer: packed in a thread, written at once, and let go."""
        entry = answer_entry(self._run_id, call_no, self._generation, record)
        with anyio.CancelScope(shield=True):  # it has arrived
            frame = await anyio.to_thread.run_sync(packed, entry, limiter=self._packing)
        number = self._journal.append_frame(frame)
        self._write()
        self._settle(turn, without_texts(record), number, call_no)

    def _settle(self, turn: Turn, record: CallRecord, number: int, call_no: int) -> None:
        if self._waiting.is_watched:
            attempt = record.attempt
            served = f", served by {record.completion.served_model}" if record.completion is not None else ""
            LOG.debug("call %d: %s after %.0f ms%s", call_no, attempt.outcome, attempt.latency_ms, served)
        self.after_call.settle(turn, record, number, self._in_flight + 1)
        self._keep_house()

    def _write(self) -> bool:
        """Write what is journalled; False, and nothing more is sent, where the disk does not take it."""
        try:
            self._journal.flush()
            self._journal.keep_reserve()
        except JournalFullError as error:
            self.after_call.halt(RunStatus.INCOMPLETE, "the journal cannot be written", error.exit_code, error)
            return False
        if self._journal.disk_error:
            self.after_call.halt(RunStatus.INCOMPLETE, self._journal.disk_error)
        return True

    async def _watch_deadline(self) -> None:
        deadline_s = self._plan.job.run.deadline_s
        if deadline_s is not None:
            await anyio.sleep(deadline_s)
            status = RunStatus.INCOMPLETE if self._is_brief else RunStatus.STOPPED
            reason = f"the deadline of {deadline_s:g} s has passed"
            if not self.after_call.stop:
                self._progress.note(self._sending_no_more(reason))
            self.after_call.halt(status, reason)

    async def _watch_caps(self) -> None:
        """Try again where other runs have reserved what a cap leaves: nothing here says when they settle it."""
        while True:
            await anyio.sleep(_BETWEEN_TRIES_S)
            if self.after_call.waits_for_others:
                self.after_call.queue.wake()

    def _sending_no_more(self, reason: str) -> str:
        return f"{reason}: sending nothing more, waiting for {self._in_flight} in flight"

    def signalled(self, number: signal.Signals) -> None:
        """Stop sending at the first signal, wait for nothing more at the second; either may come before `run`."""
        self.signals += 1
        if self.signals == 1:
            name = SIGNALS[number]
            self._progress.note(f"{self._sending_no_more(name)} (again to cancel them)")
            self.after_call.halt(RunStatus.INTERRUPTED, name, 128 + number)
        elif self.signals == 2:
            self._progress.note("cancelled: requests in flight may have been paid for; a rerun sends them again")
            self._flying.cancel()
