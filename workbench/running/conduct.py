"""One run from its first journal line to its last."""

import asyncio
import contextlib
import time
from itertools import islice

import anyio
import anyio.to_thread

import workbench.settings.clock as clock
from workbench.client.chat import ChatClient
from workbench.errors import ExitCode, IncompleteError, WorkbenchError
from workbench.ledger.engine import Engine
from workbench.ledger.entries import ModelSeen, Reuse, RunEnded, RunStarted, SampleSeen, SampleUnsent, of_request
from workbench.ledger.ingest import ingest, make_file
from workbench.ledger.journal import JournalFullError, JournalWriter
from workbench.ledger.store import Ledger
from workbench.planning.expand import Plan
from workbench.records.calls import Model
from workbench.records.endings import EXIT_CODES, MOST_NAMED, RunEnd, RunStatus, RunSummary
from workbench.running.machines import machines_of
from workbench.running.options import files_left
from workbench.running.progress import Progress
from workbench.running.rules import FanOutSettings
from workbench.running.signals import Interrupts, caught
from workbench.running.tally import Tally
from workbench.running.work import Work
from workbench.stats.intervals import load_distributions

INGEST_EVERY_CALLS = 5_000
"""A call is about three journal records; the journal stays short and so does every ingest."""
INGEST_EVERY_BYTES = 32 * 2**20
"""DuckDB takes a journal in with a single transaction, in memory; and other machines of a team read the ledger alone."""
_ITEMS_A_FRAME = 1000
_SPARE_FILES = 64
MOST_UNSENT = 20_000
"""As many samples as a page shows."""


class RunExecution:
    """Carries out one run."""

    def __init__(
        self, plan: Plan, client: ChatClient, ledger: Ledger, started: RunStarted, visible: list[Model]
    ) -> None:
        self._plan, self._client, self._ledger = plan, client, ledger
        self._started, self._visible = started, visible
        self._journal = JournalWriter(ledger.journal_folder, plan.job.run.max_in_flight)
        self._engine = Engine()
        self._notes: list[str] = []
        self._deferred, self._is_forbidden = "", False
        self._calls_to_ingest = 0
        self._ingest_due, self._has_answer = anyio.Event(), anyio.Event()

    async def run(self, rules: FanOutSettings, *, show_progress: bool, interrupts: Interrupts | None = None) -> RunEnd:
        """Record, send, drain, ingest; the run's numbers are then in the ledger or its journals.

        Raises:
            JournalFullError: The disk takes nothing from the start.
        """
        began = time.perf_counter()
        failed_before = self._plan.failed_before
        tally = Tally(len(self._plan), self._plan.reused - failed_before, failed_before)
        show = show_progress and tally.pending > 0
        progress = Progress(tally, self._plan.job.run.max_in_flight, shown=show, line_of=rules.line_of)
        work = Work(self._plan, self._client, self._journal, self._started, rules, progress)
        with progress, caught(work.signalled, interrupts):
            try:
                self._open()
                self._acknowledge_to(progress)
                async with anyio.create_task_group() as housekeeping:
                    housekeeping.start_soon(self._ingest_when_due)
                    housekeeping.start_soon(self._prepare_scores)
                    await work.run(self._count_call)
                    housekeeping.cancel_scope.cancel()
                with contextlib.suppress(JournalFullError, OSError):  # what is not durable then stays uncounted
                    self._journal.sync()
                progress.acknowledge(self._journal.durable)
                tally.nothing_sent = work.calls == 0
                self._record_unsent(work, tally)
                status, code, reason = _ending(work, tally)
                duration_s = time.perf_counter() - began
                self._journal.append(
                    RunEnded(self._started.run_id, clock.now(), status, code, duration_s, reason or None)
                )
            finally:
                error = self._close()
            progress.acknowledge(self._journal.durable)
        await anyio.to_thread.run_sync(self._ingest)
        self._engine.stop()
        if self._deferred:
            self._notes.append(f"not ingested yet, but safe in {self._ledger.journal_folder}: {self._deferred}")
        if error is not None and status is RunStatus.COMPLETE:  # what is not durable does not count
            status, code, reason = RunStatus.INCOMPLETE, error.exit_code, str(error)
        if self._is_forbidden and code == ExitCode.DONE:  # a busy ledger passes by itself, a missing right does not
            code = ExitCode.INCOMPLETE
        return RunEnd(
            self._summary(tally, status, reason, duration_s),
            code,
            work.after_call.stop.error or error,
            tuple(self._notes),
            work.signals > 0,
            tuple(work.after_call.notices.failed_routes),
            counted_tokens=work.after_call.guard.counted_tokens,
        )

    def _summary(self, tally: Tally, status: RunStatus, reason: str, duration_s: float) -> RunSummary:
        return RunSummary(
            run_id=self._started.run_id,
            job=self._started.job,
            status=status,
            reason=reason or None,
            planned=tally.planned,
            reused=tally.reused,
            completed=tally.completed,
            failed=tally.failed,
            pending=tally.pending,
            outcomes={str(outcome): calls for outcome, calls in tally.outcomes.items()},
            usage=tally.usage(),
            served_models=dict(tally.served),
            simulated=self._started.simulated,
            duration_s=duration_s,
            ledger=self._ledger.name,
        )

    def _open(self) -> None:
        """Write what is known before the first request: provenance, model list, reused answers."""
        started = self._started
        self._journal.append(started)
        for model in self._visible:
            seen = ModelSeen(started.run_id, started.recorded_at, model.id, model.preset, model.raw, model.owned_by)
            self._journal.append(seen)
        for count, (number, answer) in enumerate(self._plan.reuses(), 1):
            item = self._plan.item(number)
            if self._plan.is_new_sample(number):
                self._journal.append(SampleSeen(item.content_key, item.sample))
            self._journal.append(
                Reuse(
                    run_id=started.run_id,
                    generation=answer.generation,
                    answer_run_id=answer.run_id,
                    answer_call_no=answer.call_no,
                    **of_request(Reuse, item.request),
                )
            )
            if count % _ITEMS_A_FRAME == 0:
                self._journal.flush()
        self._journal.flush()

    def _record_unsent(self, work: Work, tally: Tally) -> None:
        """Journal the samples that no model was sent, for the run's page; on a full disk nothing more is written."""
        if not tally.pending or work.after_call.stop.error is not None:
            return
        for number in islice(work.unsent(), MOST_UNSENT):
            item = self._plan.item(number)
            if self._plan.is_new_sample(number):
                self._journal.append(SampleSeen(item.content_key, item.sample))
            self._journal.append(SampleUnsent(run_id=self._started.run_id, **of_request(SampleUnsent, item.request)))

    def _acknowledge_to(self, progress: Progress) -> None:
        loop = asyncio.get_running_loop()

        def tell(durable: int) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the count with it
                loop.call_soon_threadsafe(progress.acknowledge, durable)

        self._journal.sync_in_background(tell)

    def _close(self) -> WorkbenchError | None:
        try:
            self._journal.close()
        except (JournalFullError, OSError) as error:
            return error if isinstance(error, JournalFullError) else IncompleteError(f"the journal: {error}")
        return None

    def _count_call(self) -> None:
        self._calls_to_ingest += 1
        self._has_answer.set()
        if self._calls_to_ingest >= INGEST_EVERY_CALLS or self._journal.bytes_in_file >= INGEST_EVERY_BYTES:
            # at once, even while an ingest is under way: DuckDB takes a file in a single transaction, in memory
            self._hand_over()
            self._ingest_due.set()

    def _hand_over(self) -> None:
        """Begin a new journal, so that the one before can be ingested."""
        self._calls_to_ingest = 0
        with contextlib.suppress(JournalFullError, OSError):  # the workers meet it themselves
            self._journal.rotate()

    async def _prepare_scores(self) -> None:
        """Load what intervals need while answers are waited for: after the run it would keep its scores waiting."""
        await self._has_answer.wait()
        with contextlib.suppress(OSError, ImportError):  # what is wrong is met again where it is needed
            # what failed when it was half loaded cannot be loaded again
            if self._plan.job.scorers and files_left() >= _SPARE_FILES:
                await anyio.to_thread.run_sync(load_distributions, abandon_on_cancel=True)

    async def _ingest_when_due(self) -> None:
        await anyio.to_thread.run_sync(make_file, self._ledger, self._engine)
        while True:
            with anyio.move_on_after(machines_of(self._ledger).ingest_every_s) as waited:
                await self._ingest_due.wait()
            if waited.cancelled_caught:  # others read what is in the ledger alone
                self._hand_over()
            self._ingest_due = anyio.Event()
            await anyio.to_thread.run_sync(self._ingest)

    def _ingest(self) -> None:
        done = ingest(self._ledger, whole=self._journal.whole, engine=self._engine)
        self._notes += done.set_aside_messages()
        self._deferred, self._is_forbidden = done.deferred, done.forbidden


def _ending(work: Work, tally: Tally) -> tuple[RunStatus, int, str]:
    """Return what the run is now, its exit code, and why."""
    stop, overrun = work.after_call.stop, work.after_call.guard.overrun()
    left = bool(tally.pending or tally.retryable or tally.waiting)
    status = RunStatus.INCOMPLETE if left else RunStatus.COMPLETE
    if stop.status is RunStatus.INTERRUPTED or (stop and left):
        status = stop.status or status
    elif stop.status is RunStatus.INCOMPLETE:  # the journal or this machine failed
        status = RunStatus.INCOMPLETE
    if status is RunStatus.COMPLETE:
        return status, ExitCode.DONE, overrun or ""
    reason = "; ".join(filter(None, [stop.reason, *_few(work.after_call.notices.given_up), overrun]))
    if status is RunStatus.INCOMPLETE and not reason:
        failed = tally.retryable + tally.waiting
        reason = f"{failed} of {tally.planned} requests failed; rerun to retry them"
    return status, stop.exit_code or EXIT_CODES[status], reason


def _few(given_up: list[str]) -> list[str]:
    """Return the routes in one line; of many only the number, as a table lists each."""
    return given_up if len(given_up) <= MOST_NAMED else [f"{len(given_up)} routes failed"]
