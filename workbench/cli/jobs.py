"""`workbench demo | lint | plan | run`: check, plan and run a job."""

import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import anyio
import click
import msgspec

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.api.judging import run_judged
from workbench.api.pipeline import Shown, plan_job, recorded_part
from workbench.api.session import Target, ledger_to_write, pages_folder
from workbench.cli import options
from workbench.cli.expected import is_confirmed, print_estimate
from workbench.cli.output import echo, print_json, print_table, say, say_notes
from workbench.cli.run_screen import print_findings
from workbench.display.columns import column, columns
from workbench.display.text import count, plural
from workbench.errors import ExitCode, WorkbenchError
from workbench.evaluation.run_figures import RunFigures, judges_nothing, run_figures, run_findings, score_objects
from workbench.job.job import Job, Part, load_job
from workbench.job.narrowing import pilot_of
from workbench.ledger.queries import reading
from workbench.ledger.store import JobRunningError, Ledger
from workbench.planning.lint import of_the_job, refuse
from workbench.planning.models import GATEWAY_ATTEMPTS
from workbench.planning.run_plan import PlannedJudge
from workbench.records.endings import MOST_NAMED, RunEnd, RunStatus, RunSummary
from workbench.running.options import RunOptions
from workbench.running.signals import handlers, restore
from workbench.wording.references import planned_text
from workbench.wording.runs import because_text, requests_text, to_judge_text, to_judge_words

_FAILED_ROUTES = columns(
    column("model", "route"), "state", column("outcome", "failure"), "in_a_row", "failed_trials",
    column("failing_since", "since", "moment"),
)  # fmt: skip
_MAY_GO_ON = (ExitCode.DONE, ExitCode.INCOMPLETE, ExitCode.STOPPED, ExitCode.GATE_NOT_MET)
"""Exit codes of a run after which the next occasion may run, if it is due by then."""


@click.command()
@options.job_file
@options.narrowing
@options.endpoint
@options.as_json
def lint(job: Path, as_json: bool, **given: Any) -> None:
    """List what is wrong or questionable in JOB; nothing is sent.

    Errors exit with code 2; findings alone with 0.
    """
    where, asked = options.where(given), options.narrowed_by(given, load_job(job))
    findings = anyio.run(plan_job, where, asked).findings
    if as_json:
        print_json(msgspec.to_builtins(findings))
        return
    for finding in findings:
        stops = f" (stops a run; --allow {finding.stops} sends it)" if finding.stops else ""
        echo(f"{finding.where}: {finding.text}{stops}")
    of_job = of_the_job(findings)
    now = f", {count(len(findings) - len(of_job))} about what is left now" if len(of_job) < len(findings) else ""
    say(f"{job}: no errors, {plural(len(of_job), 'finding')}{now}")


@click.command()
@options.job_file
@options.narrowing
@options.endpoint
@click.option("--fresh", is_flag=True, help="Plan a run with --fresh.")
@click.option(
    "--show", metavar="N", type=click.IntRange(0), default=0, help="Print the first N requests as they are sent."
)
@options.as_json
def plan(job: Path, fresh: bool, show: int, as_json: bool, **given: Any) -> None:
    """Show what a run of JOB would send and what it would reuse; nothing is sent."""
    where, asked = options.where(given), options.narrowed_by(given, load_job(job))
    planned = anyio.run(partial(plan_job, show=show), where, asked, RunOptions(fresh=fresh))
    if as_json:
        described = msgspec.to_builtins(planned)
        del described["findings"]  # `lint` lists them
        print_json(described)
        return
    variants = ((len(planned.variants), "variant"),) if planned.variants else ()
    factors = ((planned.samples, "sample"), *variants, (len(planned.models), "model"), (planned.epochs, "epoch"))
    failed = f", {count(planned.failed)} failed before, which no rerun changes" if planned.failed else ""
    echo(
        f"{plural(planned.planned, 'request')}: {' × '.join(plural(*factor) for factor in factors)}; "
        f"{count(planned.to_send)} to send ({count(planned.reused)} reused{failed}), "
        f"at most {plural(planned.most_attempts, 'attempt')}"
    )
    for model in planned.models:
        waits = f"a call may wait up to {model.timeout_s:g} s (gateway limit × {GATEWAY_ATTEMPTS} tries)"
        echo(f"  {model.model}: {model.to_send} to send, at most {model.max_in_flight} in flight; {waits}")
    print_estimate(planned)
    for line in (*map(_asks_text, planned.judges), *planned.notes, *planned_text(planned.references)):
        echo(line)
    for words in planned.findable:
        echo(f"alarm: {words}")
    if planned.order != "file" and planned.to_send:
        echo("those that took longest before go first")
    echo(f"dataset {planned.dataset_hash[:12]}, ledger {planned.ledger}{', simulated' if planned.simulated else ''}")
    if planned.settings:
        echo(f"settings: {', '.join(planned.settings)}")
    if found := of_the_job(planned.findings):
        echo(findings_text(len(found), str(job), [*options.part_words(given), *options.words(where)]))
    for request in planned.requests:
        echo(msgspec.json.format(msgspec.json.encode(request), indent=2).decode())


def _asks_text(judge: PlannedJudge) -> str:
    """Return what a judge may be asked after the answers."""
    if not judge.most_calls:
        return f"then {judge.scorer}: nothing to ask, as what is reused is judged"
    calls, tokens = plural(judge.most_calls, "call"), plural(judge.max_tokens, "token")
    return f"then {judge.scorer}: at most {calls} of {judge.model}, each with up to {tokens} of answer"


@click.command()
@click.argument("job", type=click.Path(dir_okay=False, path_type=Path), required=False)
@options.narrowing
@options.allow
@options.endpoint
@options.of_run
@click.option(
    "--pilot",
    metavar="N",
    type=click.IntRange(2),
    help="Send N samples first, estimate again from what they used, and ask before the others are sent.",
)
@click.option("--yes", is_flag=True, help="Do not ask, after a pilot or above a threshold of workbench.toml.")
@options.reports
@options.no_report
@options.no_progress
@options.as_json
def run(job: Path | None, **given: Any) -> None:
    """Run JOB: send requests without an answer, record, score, report.

    Ctrl-C once stops sending and waits for requests in flight; twice cancels them.
    """
    where = options.where(given)
    chosen = options.run_options(given)
    is_due = chosen.occasion == options.DUE
    if is_due and (chosen.fresh or chosen.resume or chosen.again):
        raise click.UsageError("--occasion due cannot be combined with --fresh, --resume or --again: give one of them")
    if is_due and any(given[name] for name in ("limit", "model", "max_in_flight", "allow", "pilot")):
        options_given = "--limit, --model, --max-in-flight, --allow or --pilot"
        raise click.UsageError(f"--occasion due runs the whole job as it is written: leave out {options_given}")
    recorded, part = (None if is_due else recorded_part(where, chosen)) or (None, Part())
    path = job or recorded
    if path is None:
        raise click.UsageError("JOB is missing: name a job file, or a run with --resume RUN")
    if is_due:
        sys.exit(_run_due(where, path, chosen, given))
    sys.exit(_checked_run(where, options.narrowed_by(given, load_job(path), part), chosen, given))


@click.command()
@options.ledger
@options.fixed
@options.reports
@options.no_report
@options.no_progress
@options.as_json
def demo(**given: Any) -> None:
    """Run the demonstration job on the embedded platform: no account, no network, about a second."""
    given["local"] = True
    where = msgspec.structs.replace(options.where(given), rehearses=False)
    with resources.as_file(resources.files("workbench.starter").joinpath("demo")) as folder:
        sys.exit(_run(where, load_job(folder / "demo.toml"), RunOptions(fixed=given["fixed"]), given).exit_code)


def _run_due(where: Target, path: Path, chosen: RunOptions, given: dict[str, Any]) -> int:
    """Run the newest occasion unless it is settled, and the next one if due by then; return the exit code."""
    from workbench.job.occasions import following  # with parsers that few commands need
    from workbench.schedule.due import NotDueError, check_still_due, due

    code, begun, before = int(ExitCode.DONE), set[str](), handlers()
    while code in _MAY_GO_ON:
        restore(before)
        job = load_job(path)  # read again: it may have changed while the last occasion ran
        ledger = ledger_to_write(where)
        found = due(ledger, job, clock.now())
        if found.occasion is None or found.occasion in begun:
            next_at = next(following(job.timetable, clock.now()), None)
            if not begun and given["as_json"]:
                print_json({"job": job.name, "status": "not_due", "reason": found.reason, "next_at": next_at})
            elif not begun and sys.stderr.isatty():  # cron runs this often: keep its log short
                then = "" if next_at is None else f"; next {next_at.astimezone():%Y-%m-%d %H:%M}"
                say(f"nothing is due: {found.reason}{then}")
            break
        check = partial(check_still_due, ledger, job, found.occasion)
        try:
            due_now = msgspec.structs.replace(chosen, occasion=found.occasion, check=check)
            finished = _run(where, job, due_now, given)
        except NotDueError:
            continue
        except JobRunningError as error:  # every timer asks while the run of before goes on
            if given["as_json"]:
                print_json({"job": job.name, "status": "not_due", "reason": str(error), "next_at": None})
            elif sys.stderr.isatty():
                say(f"nothing is started: {error}")
            break
        begun.add(found.occasion)
        code = finished.exit_code
        if finished.told_to_stop:
            break
    return code


def _checked_run(where: Target, job: Job, chosen: RunOptions, given: dict[str, Any]) -> int:
    """Run a job after its pilot, and only if what is then expected is agreed to; return the exit code."""
    pilot = given["pilot"] is not None
    if pilot:
        if chosen != RunOptions(fixed=chosen.fixed) or given["limit"] or given["model"]:
            raise click.UsageError("--pilot runs the whole job: only --max-in-flight, --fixed and reports go with it")
        refuse(job, anyio.run(plan_job, where, job).findings)  # of the whole job, before its pilot is paid for
        before = handlers()
        first = _run(where, pilot_of(job, given["pilot"]), chosen, given | {"no_report": True}, is_pilot=True)
        restore(before)  # a run leaves signals ignored; the question and the run after it are to hear them
        is_enough = first.is_unscored or (first.exit_code == ExitCode.INCOMPLETE and not given["yes"])
        failed = first.exit_code != ExitCode.DONE and not is_enough
        if failed or not _is_confirmed(where, job, chosen, given):
            if given["as_json"]:
                rest = (
                    {}
                    if failed
                    else {"status": "not_agreed", "reason": "only its pilot was sent; --yes sends the rest"}
                )
                print_json(end_object(where, first) | rest)
            return first.exit_code if failed else ExitCode.INCOMPLETE
    elif not _is_confirmed(where, job, chosen, given):
        if given["as_json"]:
            print_json(
                {"job": job.name, "status": "not_agreed", "reason": "above a threshold of [confirm]; --yes runs it"}
            )
        return ExitCode.INCOMPLETE
    return _run(where, job, chosen, given).exit_code


def _is_confirmed(where: Target, job: Job, chosen: RunOptions, given: dict[str, Any]) -> bool:
    tell = say if given["as_json"] else echo
    return is_confirmed(where, job, chosen, tell, asks=given["pilot"] is not None, yes=given["yes"])


def _run(where: Target, job: Job, chosen: RunOptions, given: dict[str, Any], *, is_pilot: bool = False) -> RunEnd:
    """Carry a run out, and print what it found.

    Args:
        is_pilot: Whether another run is to follow, which then says how the job ended.
    """
    end = carry_out(where, job, chosen, given, partial(_show, where, job, chosen, given))
    if given["as_json"] and not is_pilot:
        print_json(end_object(where, end))
    return end


def carry_out(where: Target, job: Job, chosen: RunOptions, given: dict[str, Any], show: Shown) -> RunEnd:
    """Carry a run out, and print its notes, its error and its page; JSON is left to the caller.

    Args:
        show: Prints what it found, notes included, as soon as that is known: its pages come after. Not called for JSON.

    Raises:
        OSError: What it found cannot be printed; all else is done, and nothing else is amiss.
    """
    shown: list[RunEnd] = []
    unwritten: list[OSError] = []

    def show_once(end: RunEnd, figures: RunFigures | None) -> None:
        shown.append(end)
        try:
            show(end, figures)
        except OSError as error:  # the output is full or closed: the pages are still to be written
            unwritten.append(error)

    reports = None if given["no_report"] else pages_folder(where, ledger_to_write(where), given["reports"])
    is_watched = not given["no_progress"] and sys.stderr.isatty()
    chosen = msgspec.structs.replace(chosen, reports=reports, show_progress=is_watched)
    end = anyio.run(run_judged, where, job, chosen, None if given["as_json"] else show_once)
    if given["as_json"]:
        say_notes(end.notes)
    elif not shown:
        show_once(end, None)
    else:
        say_notes(end.notes[len(shown[0].notes) :])
    if end.error is not None:
        say(f"error: {end.error}")
    if unwritten and end.exit_code == ExitCode.DONE:
        shows = commands.on_ledger(ledger_to_write(where).name, "show", end.summary.run_id)
        say(f"note: the run is recorded, and `{shows}` prints what could not be written")
        raise unwritten[0]
    if end.summary.report and not given["as_json"] and not unwritten:
        echo(f"page: {end.summary.report}")
    return end


def print_run(where: Target, end: RunEnd, figures: RunFigures | None) -> None:
    """Print how a run ended and what it found."""
    say_notes(end.notes)
    _print_end(end, figures or _figures(end.summary, ledger_to_write(where)))


def findings_text(findings: int, path: str, words: Sequence[str]) -> str:
    """Return how much lint has to say about a job, and the command that says it."""
    return f"{plural(findings, 'finding')}: {commands.command('lint', path, *words)}"


def _show(
    where: Target, job: Job, chosen: RunOptions, given: dict[str, Any], end: RunEnd, figures: RunFigures | None
) -> None:
    say_notes(end.notes)
    resume = end.summary.run_id if chosen.fresh or chosen.resume else None
    path = os.path.relpath(job.path, where.folder)
    words = [*options.narrowing_words(given), *options.repeated_words(chosen), *options.words(where)]
    if end.findings and "limit" in given:  # the demonstration's file is not its user's
        say(f"note: {findings_text(end.findings, path, [*options.part_words(given), *options.words(where)])}")
    _print_end(end, figures or _figures(end.summary, ledger_to_write(where)))
    if job.judge.when == "later" and figures and (left := to_judge_text(figures)):
        say(f"{left}: `{commands.on_ledger(ledger_to_write(where).name, *to_judge_words(figures))}`")
    if end.exit_code and end.summary.status is not RunStatus.GATE_FAILED:  # there every request is settled
        says = commands.resume(path, words, chosen.occasion, resume)
        is_unjudged = end.to_judge or (figures is not None and to_judge_text(figures))
        if is_unjudged and not end.summary.failed and not end.summary.pending:
            asks = ["score", end.summary.run_id, "--yes"] if figures is None else to_judge_words(figures)
            # to run it again would ask a judge nothing that was asked in vain, and weigh it as little as this run did
            if job.budget.is_in_units or "--again" in asks:
                platform = [word for word in where.platform_words if word not in asks]
                says = commands.on_ledger(ledger_to_write(where).name, *asks, *platform)
        if end.summary.status is RunStatus.COMPLETE and figures and judges_nothing(figures.broken):
            says = commands.on_ledger(ledger_to_write(where).name, "score", end.summary.run_id)  # once it is repaired
        echo(f"continue with: {says}")


def _print_end(end: RunEnd, figures: RunFigures | None) -> None:
    run = end.summary
    tokens = run.usage.total_tokens
    cost = "tokens not reported" if tokens is None else f"{tokens} tokens"
    echo(f"run {run.run_id} {run.status}{because_text(run)}")
    outcomes = ", ".join(f"{count} {name}" for name, count in run.outcomes.items())
    echo(f"outcomes: {outcomes or 'nothing was sent'}; {cost}")
    echo(requests_text(run))
    if len(end.failed_routes) > MOST_NAMED:
        print_table([msgspec.to_builtins(route) for route in end.failed_routes], _FAILED_ROUTES)
    for gate in end.gates:
        echo(f"gate {gate.gate} {gate.result}: {gate.says}")
    if figures is not None:
        print_findings(figures)


def end_object(where: Target, end: RunEnd) -> dict[str, Any]:
    """Return the object of `run --json`: how a run ended, and its scores; none where the ledger cannot be read now."""
    ledger, run_id = ledger_to_write(where), end.summary.run_id
    scores: list[dict[str, Any]] = []
    try:
        with reading(ledger, frugal=True) as reader:
            scores = score_objects(run_findings(reader.about(run_id), run_id))
    except (WorkbenchError, OSError) as error:
        say(_not_shown_text(ledger, run_id, error))
    return end.as_object() | {"scores": scores}


def _not_shown_text(ledger: Ledger, run_id: str, error: Exception) -> str:
    shows = commands.on_ledger(ledger.name, "show", run_id)
    return f"note: the scores cannot be shown now ({error}); `{shows}` shows them"


def _figures(run: RunSummary, ledger: Ledger) -> RunFigures | None:
    """Return what a run found; a ledger that cannot be read now changes nothing of how it ended."""
    try:
        with reading(ledger, frugal=True) as reader:
            return run_figures(reader, run.run_id)
    except (WorkbenchError, OSError) as error:
        say(_not_shown_text(ledger, run.run_id, error))
        return None
