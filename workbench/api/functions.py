"""Workbench from Python: the same functions that the command line calls, for scripts and notebooks.

    import workbench as wb

    job = wb.load_job("jobs/quickstart.toml")
    run = wb.run(job, local=True, limit=20)
    run.status, run.scores()

Every function takes the endpoint, the key and the ledger from the same places as the command line, and raises
`WorkbenchError` with the message that the command line prints. Where an event loop runs already, as in a notebook, the plain
functions work on a thread of their own; the ones that end in `_async` run on the loop that awaits them.
"""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import msgspec

from workbench.api.arguments import as_several, named_as_arguments
from workbench.api.frames import Frames
from workbench.api.judging import run_judged
from workbench.api.made_jobs import make_job
from workbench.api.pipeline import plan_job, recorded_part
from workbench.api.session import Target, ledger_to_write, pages_folder
from workbench.errors import Fault, InputError
from workbench.job.job import Job, Part
from workbench.job.job import load_job as _load_job
from workbench.job.narrowing import allowing, flag, narrowed
from workbench.job.occasions import named_occasion
from workbench.planning.again import Kind
from workbench.planning.models import QUESTION
from workbench.planning.run_plan import RunPlan
from workbench.records.endings import FailedRoute, GateResult, RunEnd, RunStatus, RunSummary
from workbench.running.options import RunOptions
from workbench.running.signals import Interrupts, forwarded_interrupts, handlers, restore
from workbench.wording.runs import requests_text

if TYPE_CHECKING:
    import pandas


class Run:
    """A run that ended, and its records.

    Args:
        folder: The working folder, whose settings say how its ledger is read.
    """

    def __init__(self, end: RunEnd, folder: Path) -> None:
        self._folder = folder
        self.summary: RunSummary = end.summary
        self.notes: tuple[str, ...] = end.notes
        """Messages for people: a deferred ingest, scores or a page that could not be created."""
        self.exit_code: int = end.exit_code
        """The exit code that the command would have."""
        self.gates: tuple[GateResult, ...] = end.gates
        """What the gates of its job say, where it is complete."""
        self.failed_routes: tuple[FailedRoute, ...] = end.failed_routes
        """The models that were given up or paused, and why."""

    @property
    def id(self) -> str:
        """Its name in the ledger."""
        return self.summary.run_id

    @property
    def status(self) -> RunStatus:
        """How it ended; running the job again sends only what is missing."""
        return self.summary.status or RunStatus.INCOMPLETE

    @property
    def report(self) -> Path | None:
        """Its page, where one was written."""
        return None if self.summary.report is None else Path(self.summary.report)

    def scores(self) -> "pandas.DataFrame":
        """Return one row per request and scorer; `value` is missing where an answer is unscored.

        Means are over the rows whose `counts` is true: without answers of fallbacks, unless the job accepts them.
        """
        return self._frames().scores(self.id)

    def answers(self) -> "pandas.DataFrame":
        """Return one row per request, with `input`, `target` and the `answer` that the run uses, whoever paid for it."""
        return self._frames().answers(self.id)

    def calls(self) -> "pandas.DataFrame":
        """Return one row per call that ended: `requested_model`, `served_model`, `outcome`, `latency_ms`, tokens."""
        return self._frames().calls(self.id)

    def _frames(self) -> Frames:
        return Frames(self.summary.ledger, folder=self._folder)

    def __repr__(self) -> str:
        ended = self.summary
        simulated = ", simulated" if ended.simulated else ""
        return f"<Run {self.id} of {ended.job!r}: {self.status}{simulated}; {requests_text(ended)}>"


def load_job(path: str | Path) -> Job:
    """Read and check a job file.

    Raises:
        InputError: With every fault found.
    """
    return _load_job(Path(path))


def plan(
    job: Job | str | Path,
    *,
    local: bool = False,
    base_url: str | None = None,
    profile: str | None = None,
    ledger: str | Path | None = None,
    folder: str | Path | None = None,
    limit: int | None = None,
    models: str | Sequence[str] = (),
    max_in_flight: int | None = None,
    fresh: bool = False,
) -> RunPlan:
    """Show what a run would send and what it would reuse; nothing is sent.

    Args:
        job: What to plan; the other arguments are those of `run`.

    Raises:
        WorkbenchError: The job has a fault, or the platform cannot be asked for its models.
    """
    with named_as_arguments():
        where = _where(local, base_url, profile, ledger, folder)
        part = _part(job, limit, models, max_in_flight)
        return on_a_loop(partial(plan_job, where, part, RunOptions(fresh=fresh)))


async def plan_async(
    job: Job | str | Path,
    *,
    local: bool = False,
    base_url: str | None = None,
    profile: str | None = None,
    ledger: str | Path | None = None,
    folder: str | Path | None = None,
    limit: int | None = None,
    models: str | Sequence[str] = (),
    max_in_flight: int | None = None,
    fresh: bool = False,
) -> RunPlan:
    """`plan` on the running event loop."""
    with named_as_arguments():
        where = _where(local, base_url, profile, ledger, folder)
        part = _part(job, limit, models, max_in_flight)
        return await plan_job(where, part, RunOptions(fresh=fresh))


def run(
    job: Job | str | Path,
    *,
    local: bool = False,
    base_url: str | None = None,
    profile: str | None = None,
    ledger: str | Path | None = None,
    folder: str | Path | None = None,
    limit: int | None = None,
    models: str | Sequence[str] = (),
    max_in_flight: int | None = None,
    fresh: bool = False,
    resume: "str | Run | None" = None,
    again: Kind | None = None,
    max_tokens: int | None = None,
    leave_behind: str | None = None,
    occasion: str | None = None,
    fixed: bool = False,
    allow: str | Sequence[str] = (),
    report: bool = True,
    progress: bool | None = None,
) -> Run:
    """Run a job: send requests without an answer, record, score, report.

    Ctrl-C, or an interrupted cell, waits for what is in flight; a second one cancels that. The same call resumes the run.

    Args:
        job: What to run, or the path of its file.
        local: On the embedded platform, with its ledger `local.duckdb`.
        base_url: Of the platform; by default as on the command line.
        profile: A profile of `workbench.toml`.
        ledger: Path of the DuckDB file, or the address of a team's ledger; by default as on the command line.
        folder: Where `workbench.toml`, `.env`, ledger and reports are looked for; by default the working folder.
        limit: Only the first N samples; a run of a part records that it is one.
        models: Only these of the job's models, or this one.
        max_in_flight: At most N requests in flight.
        fresh: Send everything again; earlier answers are kept.
        resume: Continue this run, within its generation and the part of the job that it asked.
        again: Ask once more: `truncated`, with `max_tokens`, `fallback`, `refused`, `empty` or `unreadable` answers, or samples
            taken out of the newest run (`invalidated`).
        max_tokens: The higher cap for `again="truncated"`.
        leave_behind: Ignore the answers that this run, on another machine of the team, has not uploaded.
        occasion: The scheduled time to run, such as 2026-11-21 or 2026-11-21T02:00, for a job with `run.reuse = "occasion"`.
        fixed: Keep to the limit from the start, instead of adapting to the platform.
        allow: Findings of `workbench lint` that would stop this run, or one, such as `constant_prompt`; they are sent.
        report: Whether to write the run's page.
        progress: Whether to show a progress bar; by default at a terminal and in a notebook.

    Raises:
        WorkbenchError: Before anything is sent, if the job has an error; a failed run is returned.
    """
    with named_as_arguments():
        where = _where(local, base_url, profile, ledger, folder)
        options = RunOptions(
            fresh=fresh, resume=_id_of(resume), again=again, max_tokens=max_tokens, leave_behind=leave_behind,
            occasion=_occasion(occasion), fixed=fixed, interrupts=Interrupts(),
        )  # fmt: skip
        part = _part(job, limit, models, max_in_flight, recorded_part(where, options), allow)
        return on_a_loop(partial(_run, where, part, options, report, progress), options.interrupts)


async def run_async(
    job: Job | str | Path,
    *,
    local: bool = False,
    base_url: str | None = None,
    profile: str | None = None,
    ledger: str | Path | None = None,
    folder: str | Path | None = None,
    limit: int | None = None,
    models: str | Sequence[str] = (),
    max_in_flight: int | None = None,
    fresh: bool = False,
    resume: "str | Run | None" = None,
    again: Kind | None = None,
    max_tokens: int | None = None,
    leave_behind: str | None = None,
    occasion: str | None = None,
    fixed: bool = False,
    allow: str | Sequence[str] = (),
    report: bool = True,
    progress: bool | None = None,
) -> Run:
    """`run` on the running event loop; Ctrl-C reaches all runs that overlap there."""
    with named_as_arguments():
        where = _where(local, base_url, profile, ledger, folder)
        options = RunOptions(
            fresh=fresh, resume=_id_of(resume), again=again, max_tokens=max_tokens, leave_behind=leave_behind,
            occasion=_occasion(occasion), fixed=fixed,
        )  # fmt: skip
        part = _part(job, limit, models, max_in_flight, recorded_part(where, options), allow)
        return await _run(where, part, options, report, progress)


def ask(
    model: str,
    text: str,
    *,
    system: str | None = None,
    request: Mapping[str, Any] | None = None,
    local: bool = False,
    base_url: str | None = None,
    profile: str | None = None,
    ledger: str | Path | None = None,
    folder: str | Path | None = None,
) -> str | None:
    """Send one prompt, never reusing an answer, record it as a run of the job `ask`, and return the answer's text.

    Args:
        system: The system prompt.
        request: Body fields, such as `max_tokens`; the other arguments are those of `run`.

    Returns:
        None where the answer has no text, or the call failed: `workbench runs` says how.

    Raises:
        WorkbenchError: The model is not visible, the platform cannot be reached, or another question is being asked on
            the same ledger.
    """
    asked = run(
        question(model, text, system, request), local=local, base_url=base_url, profile=profile, ledger=ledger,
        folder=folder, fresh=True, report=False, progress=False,
    )  # fmt: skip
    answer = asked.answers()["answer"].iloc[0] if asked.summary.completed else None
    return answer if isinstance(answer, str) else None


def question(model: str, text: str, system: str | None = None, request: Mapping[str, Any] | None = None) -> Job:
    """Return the job that asks a model once; the texts are sent as they are, whatever braces they have.

    Raises:
        InputError: A body field is wrong.
    """
    if isinstance(text, str) and not text:
        raise InputError(Fault("text", "it is empty: expected the question"))
    prompt = {"template": "{{ input }}"} | ({"system": "{{ system }}"} if system else {})
    row = {"input": text} | ({"system": system} if system else {})
    return make_job(QUESTION, [model], [row], prompt=prompt, request=request or {})


def open(ledger: str | Path | None = None, *, folder: str | Path | None = None) -> Frames:
    """Return the tables of a ledger, for pandas; see `Frames`."""
    return Frames(ledger, folder=folder)


async def _run(where: Target, part: Job, options: RunOptions, report: bool, progress: bool | None) -> Run:
    reports = pages_folder(where, ledger_to_write(where)) if flag("report", report) else None
    is_watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    shows = is_watched if progress is None else flag("progress", progress)
    before = handlers()
    try:
        end = await run_judged(where, part, msgspec.structs.replace(options, reports=reports, show_progress=shows))
        return Run(end, where.folder)
    finally:
        restore(before)


def _where(
    local: bool, base_url: str | None, profile: str | None, ledger: str | Path | None, folder: str | Path | None
) -> Target:
    """Return where a platform and a ledger are looked for.

    Raises:
        InputError: Several platforms are named.
    """
    if sum(map(bool, (flag("local", local), base_url, profile))) > 1:
        raise InputError(Fault("local, base_url, profile", "give only one of them"))
    working = Path.cwd() if folder is None else Path(folder).absolute()
    return Target(working, local, base_url, profile, None if ledger is None else str(ledger))


def _part(
    job: Job | str | Path,
    limit: int | None,
    models: str | Sequence[str],
    max_in_flight: int | None,
    begun: tuple[Path, Part] | None = None,
    allow: str | Sequence[str] = (),
) -> Job:
    if isinstance(job, str | Path):
        job = load_job(job)
    if not isinstance(job, Job):  # a notebook has no type checker
        raise TypeError(f"expected a job or the path of one, found {job!r}; `make_job` makes one")
    chosen, part = as_several(models, "models"), begun[1] if begun else Part()
    some = narrowed(job, limit=limit, models=chosen, max_in_flight=max_in_flight, begun=part)
    return allowing(some, as_several(allow, "allow"))


def _id_of(run: "str | Run | None") -> str | None:
    return run.id if isinstance(run, Run) else run


def _occasion(given: str | None) -> str | None:
    return None if given is None else named_occasion(given)


T = TypeVar("T")


def on_a_loop(main: Callable[[], Awaitable[T]], interrupts: Interrupts | None = None) -> T:
    """Run a coroutine function to its end: on this thread, or on another one where a loop runs on this one already.

    Args:
        main: Called on the loop.
        interrupts: Told when this thread is interrupted while it waits for the other one.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        before = handlers()
        try:
            return anyio.run(main)
        finally:
            restore(before)
    return _on_a_thread(main, interrupts)


def _on_a_thread(main: Callable[[], Awaitable[T]], interrupts: Interrupts | None) -> T:
    returned: list[T] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            returned.append(anyio.run(main))
        except BaseException as error:  # raised again where it was asked for
            failed.append(error)

    thread = threading.Thread(target=work, name="workbench")
    with forwarded_interrupts(interrupts):  # an interrupted cell: the run drains, and is returned
        thread.start()
        thread.join()
    if failed:
        raise failed[0]
    return returned[0]
