"""One job all the way: plan, run, score, report."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from signal import Signals
from typing import TYPE_CHECKING

import msgspec

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.allowance.caps import caps_kept
from workbench.allowance.planned import window_findings, window_plan
from workbench.allowance.readings import begin_of_window, read_from_platform
from workbench.api.findings import findings_of, findings_of_run, judge_findings
from workbench.api.session import (
    Session,
    Target,
    account_ledger,
    check_folder,
    connected,
    ledger_to_write,
    presence_of,
    refuse_mixing,
    rehearsal,
    settings_files,
    slots_of,
    warn,
)
from workbench.dataset.spool import Spool
from workbench.display.text import plural
from workbench.errors import (
    ExitCode,
    Fault,
    IncompleteError,
    InputError,
    LockHeldError,
    UnreachableError,
    WorkbenchError,
    internal_error,
)
from workbench.evaluation.alarms import watches_of
from workbench.evaluation.gates import ask_gates, is_met, record_gates, record_status
from workbench.evaluation.ongoing import reading_with_ongoing
from workbench.evaluation.rescore import DatasetColumns, rescore
from workbench.evaluation.run_figures import (
    RunFigures,
    broken_scorers,
    find_run,
    judges_nothing,
    run_figures,
    scorer_faults,
)
from workbench.job.file import PREVIOUS, GatesTable
from workbench.job.job import Job, Part
from workbench.job.narrowing import part_of
from workbench.ledger.engine import lacks_room
from workbench.ledger.entries import RunStarted
from workbench.ledger.ingest import Ingested
from workbench.ledger.journal import JournalFullError
from workbench.ledger.queries import Reader, reading, reading_if_made
from workbench.ledger.rows import InvalidSample, NewestLatencies, Provenance
from workbench.ledger.store import Ledger
from workbench.planning.again import INVALIDATED, ReaskPlan, of_kind, with_earlier_caps
from workbench.planning.answer_key import AnswerKeyWriter
from workbench.planning.estimate import estimate, rehearsed
from workbench.planning.expand import Plan
from workbench.planning.lint import RouteExperience, prompt_warnings, refuse_worthless, repeated_ids
from workbench.planning.models import planned_models, with_cap
from workbench.planning.references import planned_references, reference_findings
from workbench.planning.run_plan import RunPlan, described, planned_judges
from workbench.records.endings import (
    BASE_GENERATION,
    EXIT_CODES,
    FILLED,
    SETTLED,
    TO_JUDGE,
    GateResult,
    RunEnd,
    RunStatus,
    occasion_generation,
)
from workbench.routes.facts import TAG as PROBE
from workbench.routes.probes import experience_of
from workbench.running.ghosts import longest_s
from workbench.running.machines import machines_of
from workbench.running.options import RunOptions, check_occasion, check_options, within_open_files
from workbench.running.provenance import new_run_id, run_started
from workbench.running.rules import ACCOUNT, EMBEDDED, OCCASION_PATIENCE_S, PATIENCE_S, FanOutSettings
from workbench.running.signals import AbortedBySignal, abort_on_signal, handled_signals
from workbench.scoring.custom import Custom
from workbench.scoring.reference import MOST_SAMPLES
from workbench.settings.endpoint import LOCAL
from workbench.wording.changes import findable_text
from workbench.wording.gates import failed_text, gate_results

if TYPE_CHECKING:
    from workbench.client.chat import ChatClient


def recorded_part(where: Target, options: RunOptions) -> tuple[Path, Part] | None:
    """Return the job file of the run that is resumed, and the part of the job that it asked; None where none is.

    Raises:
        InputError: There is no such run, or the options contradict each other.
    """
    check_options(options)
    if options.resume is None:
        return None
    ledger = ledger_to_write(where)
    if not ledger.exists:
        problem = f"there is no run {options.resume!r}: nothing is recorded at {ledger.name} yet"
        raise InputError(Fault("--resume", problem, f"`{commands.RUN_JOB}` starts one"))
    begun = _provenance(ledger, options.resume)
    part = part_of(begun.part)
    if begun.narrowed and not str(part):
        warn(
            f"{begun.run_id} was narrowed to {begun.narrowed}, which its version recorded in words only: this is the whole job"
        )
    return Path(begun.job_path), part


async def plan_job(
    where: Target,
    job: Job,
    options: RunOptions = RunOptions(),  # noqa: B008 - frozen
    *,
    show: int = 0,
) -> RunPlan:
    """Expand a job against the platform and the ledger, and send nothing.

    Args:
        show: How many requests to show.

    Raises:
        InputError: The job, its dataset or a prompt has a fault, or a model is not visible.
    """
    check_options(options)
    ledger = ledger_to_write(where)
    options = _with_meant_occasion(ledger, job, options)
    async with connected(where, job.ids) as session:
        with _expanded(session, job, options.max_tokens) as plan:
            _check_baseline(ledger, job)
            is_simulated, earlier = _is_simulated(session, plan), None
            if job.run.reuse == "always" or options.occasion is not None or options.resume is not None:
                earlier = None if options.fresh else _generation(ledger, options, "", plan)
            again = None if earlier is None else _again(ledger, job, options)
            experience: dict[str, RouteExperience] = {}
            findable: tuple[str, ...] = ()
            with reading_if_made(ledger) as reader:
                refuse_mixing(reader, ledger, simulated=is_simulated)
                if reader is not None:
                    if earlier is None or again is None:  # everything is asked again
                        plan.look_up_samples(reader)
                    else:
                        _take_answers(reader, plan, earlier, again)
                    experience = experience_of(reader, tools=plan.sends_tools)
                    findable = tuple(map(findable_text, watches_of(reader, job)))
                expected, judges = estimate(reader, plan), planned_judges(plan, reader)
                window = window_plan(reader, ledger, job, expected)
            references = planned_references(plan)
            findings = [
                *findings_of(ledger, plan, session.models, judge_findings(where, session, job), experience),
                *reference_findings(plan, references),
                *window_findings(window, job, expected),
            ]
            planned = described(plan, findings, expected, ledger.name, simulated=is_simulated)
            shown = tuple(msgspec.json.decode(plan.item(number).request.body) for number in range(min(show, len(plan))))
            return msgspec.structs.replace(
                planned,
                window=window,
                findable=findable,
                references=references,
                judges=judges,
                settings=settings_files(where),
                requests=shown,
            )


_SAYS_LESS = (ExitCode.DONE, ExitCode.INCOMPLETE)
"""Exit codes that an error after the answers are safe takes the place of."""


def _ready(where: Target, job: Job, options: RunOptions) -> tuple[Job, Ledger, RunOptions]:
    """Return the job as this machine can carry it out, where it is recorded, and the options with the occasion that is
    meant, before anything is asked.

    Raises:
        InputError: An option, a folder or a limit of this machine keeps it from running.
    """
    check_options(options)
    check_occasion(job, options)
    if options.reports is not None:
        check_folder(options.reports, "--reports")
    ledger = ledger_to_write(where)
    machines_of(ledger).refuse(options)
    job, fewer = within_open_files(job)
    if fewer:
        warn(fewer)
    return job, ledger, _with_meant_occasion(ledger, job, options)


def _with_meant_occasion(ledger: Ledger, job: Job, options: RunOptions) -> RunOptions:
    if options.occasion is None:
        return options
    from workbench.schedule.due import meant_occasion  # with parsers that few commands need

    return msgspec.structs.replace(options, occasion=meant_occasion(ledger, job, options.occasion))


Shown = Callable[[RunEnd, RunFigures | None], None]
"""Shows how a run ended, and what it found; None: that cannot be read now."""


AskJudges = Callable[[Ledger, RunEnd], Awaitable[RunEnd]]
"""Asks the judges among the scorers of a run that has its answers, and returns what that adds to its end."""


async def run_job(
    where: Target, job: Job, options: RunOptions, show: Shown | None = None, judges: AskJudges | None = None
) -> RunEnd:
    """Carry out a job: send what has no answer yet, record, score, render.

    Args:
        show: Called once scores and gates are known, before pages are rendered; not where they cannot be known.
        judges: Asks the judges, before gates are decided.

    Raises:
        InputError: Before anything is sent, if anything about the job is wrong.
        LockHeldError: The job is running already on this ledger.
    """
    (job, ledger, options), handled = _ready(where, job, options), handled_signals()
    async with connected(where, job.ids, options.occasion) as session:
        with (
            _expanded(session, job, options.max_tokens, session.answers) as plan,
            ledger.running(job.name),
            presence_of(ledger) as presence,
        ):  # what is reused is looked up under the lock, and where machines share the ledger under the claim
            if options.check is not None:
                options.check()
            _check_baseline(ledger, job)
            now = clock.now()
            run_id = new_run_id(now)
            presence.claim(job.name, run_id, options)
            generation = _generation(ledger, options, run_id, plan)
            is_simulated, again = _is_simulated(session, plan), _again(ledger, job, options)
            with reading_if_made(ledger) as reader:
                refuse_mixing(reader, ledger, simulated=is_simulated)
                latencies = _take_answers(reader, plan, generation, again)
            judges_missing = judge_findings(where, session, job)
            refuse_worthless(plan, judges_missing)
            for finding in (*judges_missing, *prompt_warnings(plan), *repeated_ids(plan)):
                warn(f"{finding.where}: {finding.text}")
            started = run_started(plan, session.endpoint, run_id, generation, now=now, simulated=is_simulated)
            started = _with_options(started, ledger, job, options)
            from workbench.running.conduct import RunExecution  # loads the client, as `connected` does, and no sooner

            conductor = RunExecution(plan, session.client, ledger, started, session.models)
            if len(plan) > 1:  # a single question is a person's
                session.client.send_as_batch()
            limit = job.run.max_in_flight
            tempo = (EMBEDDED if plan.identity == LOCAL else ACCOUNT)._replace(is_brief=options.is_brief)
            with (
                slots_of(where, session.endpoint, limit, job.name, presence, longest_s(plan, tempo)) as slots,
                caps_kept(ledger, job, plan.models, run_id) as caps,
            ):
                patience_s = job.run.patience_s or (PATIENCE_S if options.occasion is None else OCCASION_PATIENCE_S)
                presence.will_send(len(plan) - plan.reused)
                rules = FanOutSettings(slots, options.fixed, patience_s, latencies, tempo, caps, options.line_of)
                end = await conductor.run(rules, show_progress=options.show_progress, interrupts=options.interrupts)
            if options.occasion is not None and not where.local and not end.told_to_stop:
                end = await _with_reading(session.client, ledger, end)
            lint = partial(findings_of, ledger, plan, session.models, judges_missing)
            count = partial(findings_of_run, lint, plan, run_id)
            end = await _scored(ledger, plan, end, handled, judges, partial(_shown, ledger, options, show, count))
            return _beside_the_account(where, plan, end)


def _beside_the_account(where: Target, plan: Plan, end: RunEnd) -> RunEnd:
    """Say of a rehearsal what of it the account's own runs do not bear out."""
    if not where.local or not where.rehearses or rehearsal(where) is None:
        return end
    beside = rehearsed(account_ledger(where), plan, end.summary)
    return msgspec.structs.replace(end, notes=(*end.notes, *beside))


async def _with_reading(client: "ChatClient", ledger: Ledger, end: RunEnd) -> RunEnd:
    """Take a reading of the allowance at the end of a scheduled run, from a platform that gives one; it fails no run."""
    if not client.states_usage:
        return end
    try:
        said = await client.usage(begin_of_window(ledger, clock.now()))
        read_from_platform(ledger, said)
    except (WorkbenchError, OSError) as error:
        return msgspec.structs.replace(end, notes=(*end.notes, f"no reading of the allowance was taken: {error}"))
    return end


async def _scored(
    ledger: Ledger,
    plan: Plan,
    end: RunEnd,
    handled: list[Signals],
    judges: AskJudges | None,
    show: Callable[[RunEnd], RunEnd],
) -> RunEnd:
    """Score and show what the run left; only a judge, a gate or a failing scorer of its job changes its exit code here."""
    job = plan.job
    try:
        with abort_on_signal(handled):
            _, done = rescore(ledger, end.summary.run_id, job.scorers, _columns(plan))
            end = _with_scores_ingested(ledger, end, done)
        if judges is not None:
            end = await judges(ledger, end)
        with abort_on_signal(handled):
            if end.summary.status is RunStatus.COMPLETE:
                end = _to_judge(ledger, job, end) if end.to_judge else _decided(ledger, job, end)
            end = _with_failed_scorers(ledger, job, end)
    except (Exception, AbortedBySignal) as failed:
        return _without_pages(ledger, job, end, failed)
    try:
        with abort_on_signal(handled):
            return show(end)
    except (Exception, AbortedBySignal) as failed:
        return _without_pages(ledger, job, end, failed)


def _with_scores_ingested(ledger: Ledger, end: RunEnd, done: Ingested) -> RunEnd:
    """Return the end of a run with notes about the ingest of its scores."""
    notes = [*end.notes, *done.set_aside_messages()]
    if done.deferred and not any(done.deferred in note for note in notes):  # else it is said of the answers already
        notes.append(f"scores are not ingested yet, but safe in {ledger.journal_folder}: {done.deferred}")
    is_left = done.forbidden and end.exit_code == ExitCode.DONE
    code = ExitCode.INCOMPLETE if is_left else end.exit_code
    return msgspec.structs.replace(end, notes=tuple(notes), exit_code=code)


def _with_failed_scorers(ledger: Ledger, job: Job, end: RunEnd) -> RunEnd:
    """Return the end of a run, which is incomplete where a scorer of one's own failed on every answer."""
    if end.exit_code != ExitCode.DONE or not any(isinstance(scorer, Custom) for scorer in job.scorers):
        return end
    with reading(ledger, frugal=True) as reader:
        is_left = judges_nothing(broken_scorers(scorer_faults(reader, [end.summary.run_id])))
    return msgspec.structs.replace(end, exit_code=ExitCode.INCOMPLETE, is_unscored=True) if is_left else end


def _columns(plan: Plan) -> DatasetColumns:
    """Return the columns of a plan's dataset that are reference points."""
    named = plan.job.dataset
    is_needed = named.reference or named.second_target is not None
    samples = plan.samples_by_key(MOST_SAMPLES) if is_needed else {}
    return DatasetColumns(samples, named.reference, named.second_target)


def _shown(
    ledger: Ledger, options: RunOptions, show: Shown | None, count: Callable[[Reader], int | None], end: RunEnd
) -> RunEnd:
    """Show what a run found, and write its pages, for which its rows are read once.

    Args:
        count: Returns how many findings lint has about its job.
    """
    run_id, figures = end.summary.run_id, None
    if options.reports is None:
        if show is not None:
            with contextlib.suppress(WorkbenchError, OSError), reading(ledger, frugal=True) as reader:
                end = msgspec.structs.replace(end, findings=count(reader))
                figures = run_figures(reader, run_id)
            show(end, figures)
        return end
    try:
        with reading_with_ongoing(ledger) as read:
            reader = read[0].at_once()
            end = msgspec.structs.replace(end, findings=count(reader))
            figures = run_figures(reader, run_id)
            if show is not None:
                show(end, figures)
            from workbench.report.ledger_pages import ended_run_pages  # loaded once the result is shown

            write = ended_run_pages(ledger, options.reports, read, figures)
    except (WorkbenchError, OSError):
        if show is not None and figures is None:
            show(end, None)
        raise
    path = write()[0]
    return msgspec.structs.replace(end, summary=msgspec.structs.replace(end.summary, report=str(path)))


def _without_pages(ledger: Ledger, job: Job, end: RunEnd, failed: BaseException) -> RunEnd:
    """Return the end of a run whose scores or pages could not be made, which says what makes them."""
    told_to_stop = end.told_to_stop or isinstance(failed, AbortedBySignal)
    error = None if _passes(failed) else _explained(failed)
    score, page = (commands.on_ledger(ledger.name, name, end.summary.run_id) for name in ("score", "report"))
    why = f" ({failed})" if error is None else ""
    notes = [*end.notes, f"scores or page are missing{why}; `{score}` and `{page}` create them"]
    if job.gates is not None and not end.gates and end.exit_code == ExitCode.DONE:  # nothing undecided passes
        notes.append("its gates are not decided: the same command decides them")
        end = msgspec.structs.replace(end, exit_code=ExitCode.INCOMPLETE)
    if error is not None and end.exit_code in _SAYS_LESS:
        end = msgspec.structs.replace(end, exit_code=error.exit_code, error=end.error or error)
    return msgspec.structs.replace(end, notes=tuple(notes), told_to_stop=told_to_stop)


def _passes(failed: BaseException) -> bool:
    """Return whether scores and pages are missing for a while only: skipped, or the ledger is busy or away, or the disk full."""
    return isinstance(failed, AbortedBySignal | LockHeldError | UnreachableError | JournalFullError) or lacks_room(
        failed
    )


def _explained(failed: BaseException) -> WorkbenchError:
    """Return what keeps scores and pages from being made until somebody repairs it, or a fault of ours."""
    match failed:
        case InputError():  # not 2, which says that nothing was sent
            return IncompleteError(str(failed))
        case WorkbenchError():
            return failed
        case OSError():
            return IncompleteError(f"{failed.filename or 'this machine'}: {failed.strerror or failed}")
        case _:
            return internal_error(failed)


def _to_judge(ledger: Ledger, job: Job, end: RunEnd) -> RunEnd:
    """Return the end of a run whose judgements are not all there: incomplete, so that it is continued, and nothing is decided."""
    reason = f"{plural(end.to_judge, 'judgement')} {TO_JUDGE}"
    record_status(ledger, end.summary.run_id, RunStatus.INCOMPLETE, end.exit_code, reason)
    note = (
        ("its gates are not decided: the command that asks for the rest decides them",) if job.gates is not None else ()
    )
    summary = msgspec.structs.replace(end.summary, status=RunStatus.INCOMPLETE, reason=reason)
    return msgspec.structs.replace(end, summary=summary, notes=(*end.notes, *note))


def _decided(ledger: Ledger, job: Job, end: RunEnd) -> RunEnd:
    """Return how a complete run ends by the gates of its job."""
    results, reason = evaluate_gates(ledger, end.summary.run_id, job)
    if reason is None:
        return msgspec.structs.replace(end, gates=results)
    summary = msgspec.structs.replace(end.summary, status=RunStatus.GATE_FAILED, reason=reason)
    code = EXIT_CODES[RunStatus.GATE_FAILED]
    return msgspec.structs.replace(end, summary=summary, exit_code=code, gates=results)


def decided_after_judging(
    ledger: Ledger, run: Provenance, job: Job, *, heard: bool
) -> tuple[tuple[GateResult, ...], int]:
    """Decide the gates of a run once all its judgements are there, and return what they say and the exit code.

    Args:
        run: As it was before.
        heard: Whether a judge has said anything new of it.
    """
    was_left = run.status == RunStatus.INCOMPLETE and (run.reason or "").endswith(TO_JUDGE)
    if was_left:
        record_status(ledger, run.run_id, RunStatus.COMPLETE, ExitCode.DONE, None)
    is_over = was_left or (heard and run.status in SETTLED)
    if not is_over or part_of(run.part).pilot is not None:  # a few samples decide nothing
        return (), ExitCode.DONE
    results, reason = evaluate_gates(ledger, run.run_id, job)
    return results, EXIT_CODES[RunStatus.GATE_FAILED] if reason else ExitCode.DONE


def evaluate_gates(ledger: Ledger, run_id: str, job: Job) -> tuple[tuple[GateResult, ...], str | None]:
    """Ask the gates of a job about a complete run of it, and record what they find.

    Returns:
        What each says, and why the run does not pass; None where it does.
    """
    asked = ask_gates(ledger, run_id, job)
    if asked is None:
        return (), None
    run, findings = asked
    reason = None if is_met(findings, job.gates or GatesTable()) else failed_text(findings)
    record_gates(ledger, run, findings, reason)
    return gate_results(findings), reason


@contextmanager
def _expanded(session: Session, job: Job, max_tokens: int | None = None, answers: Path | None = None) -> Iterator[Plan]:
    """Yield a job times its dataset; `answers` is where the embedded platform looks for an answer key."""
    models = with_cap(planned_models(job, session.models, session.endpoint.gateway_limit_s), max_tokens)
    with Spool() as spool, contextlib.ExitStack() as stack:
        plan = Plan(job, models, session.endpoint.identity, spool)
        plan.expand()
        if answers is not None:
            plan.answer_key = stack.enter_context(contextlib.closing(AnswerKeyWriter(answers, job.scorers)))
        yield plan


def _again(ledger: Ledger, job: Job, options: RunOptions) -> ReaskPlan:
    """Return which accepted answers are asked once more.

    Raises:
        InputError: No sample of the job's newest run is taken out.
    """
    if options.again != INVALIDATED:
        return of_kind(options.again, options.max_tokens)
    keys: frozenset[str] = frozenset()
    if ledger.exists:
        with reading(ledger, frugal=True) as reader:
            keys = frozenset(sample.sample_key for sample in reader.all(InvalidSample, job=job.name))
    if not keys:
        hint = f"`{commands.INVALIDATE_SAMPLE}` takes samples out"
        raise InputError(
            Fault("--again", f"no sample of a run of {job.name!r} is taken out and not yet asked again", hint)
        )
    return of_kind(options.again, None, keys)


def _take_answers(reader: Reader | None, plan: Plan, generation: str, again: ReaskPlan) -> dict[str, list[float]]:
    """Take over what is answered already; returns how long the newest answers of each route took, in ms."""
    if reader is None:
        return {}
    if FILLED in plan.job.tags:
        again = with_earlier_caps(reader, plan.job.name, again)
    plan.take_answers(reader, None if generation == BASE_GENERATION else generation, again)
    newest = reader.all(NewestLatencies, models=[model.id for model in plan.models], most=1_000)
    return {of.model: of.latencies_ms for of in newest}


def _is_simulated(session: Session, plan: Plan) -> bool:
    """Return whether a run asks simulated models.

    Raises:
        InputError: It asks real ones too, as your own platform may have both; or real ones, with a clock that is set.
    """
    asked = {model.id for model in plan.models}
    kinds = {model.simulated: model.id for model in session.models if model.id in asked}
    if len(kinds) > 1:
        problem = f"{kinds[True]!r} is simulated and {kinds[False]!r} is not; a ledger never mixes them"
        real = [model.id for model in session.models if model.id in asked and not model.simulated]
        is_probe = PROBE in plan.job.tags  # it has no file to change
        hint = commands.command("probe", *real) if is_probe else "use a separate job and ledger for each"
        raise InputError(Fault(plan.job.where("models"), problem, hint))
    if clock.is_set() and True not in kinds:
        problem = "the clock is set, and an account's calls are recorded at the times at which they are made"
        raise InputError(Fault(clock.SET_BY, problem, "it is for simulated models"))
    return True in kinds


def _check_baseline(ledger: Ledger, job: Job) -> None:
    """Find the run that a gate compares with before anything is spent.

    Raises:
        InputError: There is no such run.
    """
    if job.gates is not None and job.gates.baseline != PREVIOUS:
        try:
            _provenance(ledger, job.gates.baseline)
        except InputError as error:
            raise InputError(
                *(Fault(job.where("gates", "baseline"), one.problem, one.hint) for one in error.faults)
            ) from error


def _with_options(started: RunStarted, ledger: Ledger, job: Job, options: RunOptions) -> RunStarted:
    """Return how a run begins with what its command asks beside the job."""
    resumed = None if options.resume is None else _provenance(ledger, options.resume).run_id
    found = msgspec.structs.replace(started, fresh=options.fresh, resumed_run=resumed, occasion=options.occasion)
    if options.again is None:
        return found
    part = msgspec.structs.replace(job.part, again=options.again, max_tokens=options.max_tokens)
    return msgspec.structs.replace(found, part=msgspec.json.encode(part).decode())


def _generation(ledger: Ledger, options: RunOptions, run_id: str, plan: Plan) -> str:
    """Return the generation of a run's answers; a resumed one must ask the same dataset."""
    if options.fresh:
        return run_id
    if options.resume is None:
        return BASE_GENERATION if options.occasion is None else occasion_generation(plan.job.name, options.occasion)
    before = _provenance(ledger, options.resume)
    if before.dataset_hash != plan.dataset_hash:
        raise InputError(
            Fault(
                plan.job.where("dataset"),
                f"it is not the dataset of run {options.resume} "
                f"({before.dataset_rows} samples then, {plan.samples} now)",
                "run without --resume: matching answers are still reused",
            )
        )
    return before.generation


def _provenance(ledger: Ledger, run_id: str) -> Provenance:
    """Return how an earlier run began."""
    with reading(ledger) as reader:
        return reader.only(Provenance, run_id=find_run(reader, run_id))
