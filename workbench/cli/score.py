"""`workbench score`: a run scored again from the ledger, and by judges that are asked."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import click
import msgspec

import workbench.display.commands as commands
from workbench.api.judging import judge, judging
from workbench.api.pipeline import decided_after_judging
from workbench.api.session import Target, ledger_to_change
from workbench.cli import options
from workbench.cli.output import echo, note_ingest, print_json, say
from workbench.cli.run_screen import print_findings
from workbench.display.text import count, plural
from workbench.errors import ExitCode
from workbench.evaluation.references import reference_objects
from workbench.evaluation.rescore import rescore
from workbench.evaluation.run_figures import find_run, judges_nothing, run_figures, score_objects
from workbench.job.job import Job, load_job, parse_job
from workbench.ledger.queries import reading
from workbench.ledger.rows import CurrentScore, Provenance
from workbench.ledger.store import Ledger
from workbench.planning.again import OF_A_JUDGE, Kind
from workbench.records.endings import GateResult
from workbench.running.signals import handlers, restore
from workbench.scoring.judge import Judge, is_pending
from workbench.wording.runs import broken_text, in_vain_text


@click.command()
@options.run_id
@options.endpoint
@click.option(
    "--job",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Use the scorers of this job file [default: the run's own].",
)
@click.option("--yes", is_flag=True, help="Ask the judges among the scorers; without it the calls are only stated.")
@click.option(
    "--again",
    type=click.Choice(OF_A_JUDGE),
    help="Ask judges once more whose own answers are of another model, refused, empty or unreadable.",
)
@options.as_json
def score(run: str, job: Path | None, yes: bool, again: Kind | None, as_json: bool, **given: Any) -> None:
    """Score RUN again from the ledger; only judges send anything, and only with --yes.

    RUN may be `last`, or the beginning of an id. Scores that are still to be judged, or a scorer that fails on every answer,
    exit with code 3.
    """
    where = options.where(given)
    ledger = ledger_to_change(where)
    with reading(ledger) as reader:
        run = find_run(reader, run)
        provenance = reader.only(Provenance, run_id=run)
    chosen = load_job(job) if job else parse_job(provenance.job_toml, Path(provenance.job_path))
    written = _rescored(ledger, run, chosen, yes=yes)
    judges = [scorer for scorer in chosen.scorers if isinstance(scorer, Judge)]
    code, heard, left, before = int(ExitCode.DONE), 0, 0, handlers()
    for scorer in judges:
        said = anyio.run(partial(_judged, yes=yes, again=again), where, ledger, run, scorer)
        restore(before)  # the run of a judge leaves signals ignored; the next one is to hear them
        written, heard, left = written + said.written, heard + said.written, left + said.left
        code = max(said.exit_code, code, key=_weight)
        if said.told_to_stop:
            left += 1  # whatever is behind it was not asked
            break
    with reading(ledger) as reader:
        # as the ledger has it: of judges that were not asked any more, too
        scores, named = reader.all(CurrentScore, run_id=run), {judge.named for judge in judges}
        pending = sum(is_pending(score.reason) and score.scorer in named for score in scores)
    decided: tuple[GateResult, ...] = ()
    if not left and job is None:
        decided, gates_code = decided_after_judging(ledger, provenance, chosen, heard=heard > 0)
        code = code or gates_code
    with reading(ledger) as reader:
        figures = run_figures(reader, run)
    if as_json:
        found = {"scores": score_objects(figures), "references": reference_objects(figures.standing.references)}
        found |= {"gates": msgspec.to_builtins(decided)}
        print_json({"run_id": run, "written": written, "pending": pending} | found)
    else:
        print_findings(figures)
        say(f"{written} scores are new or changed")
        for gate in decided:
            echo(f"gate {gate.gate} {gate.result}: {gate.says}")
    for one in figures.broken if as_json else ():
        say(broken_text(one))
    is_incomplete = pending or left or judges_nothing(figures.broken)
    sys.exit(code or (ExitCode.INCOMPLETE if is_incomplete else ExitCode.DONE))


def _rescored(ledger: Ledger, run: str, job: Job, *, yes: bool) -> int:
    """Score what asks no model; return how many scores changed."""
    with reading(ledger) as reader:
        changed = _changed_judges(reader.all(CurrentScore, run_id=run), job)
    for scorer in changed:
        say(f"note: {scorer.named} judges by other settings than before, in place of what it said: {_BESIDE}")
    # what a judge has said stands until it is asked: to state what that would take changes nothing
    written, ingested = rescore(ledger, run, [one for one in job.scorers if yes or one not in changed])
    note_ingest(ingested, "the scores are")
    return written


def _changed_judges(before: Sequence[CurrentScore], job: Job) -> list[Judge]:
    """Return the judges of a job that have judged the run by other settings."""
    heard = {score.scorer: score.scorer_config for score in before if not is_pending(score.reason)}
    judges = [scorer for scorer in job.scorers if isinstance(scorer, Judge)]
    return [one for one in judges if heard.get(one.named) not in (None, one.settings)]


_BESIDE = "another `label` in the job keeps both beside each other"


def _weight(code: int) -> tuple[bool, int]:
    """Of two exit codes the one that says more: what a rerun continues by itself says least."""
    return code not in (ExitCode.DONE, ExitCode.INCOMPLETE), code


class _JudgeResult(NamedTuple):
    """What asking one judge came to."""

    written: int = 0
    """Scores that are new or changed."""
    left: int = 0
    """Answers that it is still to be asked about."""
    exit_code: int = 0
    """Of what ended it: a cap or a signal, for one."""
    told_to_stop: bool = False
    """Whether a signal came, and no other judge is to be asked."""


async def _judged(
    where: Target, ledger: Ledger, run: str, scorer: Judge, *, yes: bool, again: Kind | None
) -> _JudgeResult:
    asked = await judging(where, ledger, run, scorer, again)
    if asked is None:
        return _JudgeResult()
    answers = plural(asked.answers, "answer")
    if asked.judges_itself:
        say(f"note: {scorer.model} judges its own answers among others")
    if asked.to_send and not yes:
        calls = f"{plural(asked.to_send, 'call')}, about {count(asked.about_tokens)} tokens"
        say(f"{scorer.named}: {scorer.model} is still to judge {answers}: {calls}; --yes asks it")
        return _JudgeResult(left=asked.answers)
    done = await judge(where, ledger, asked)
    note_ingest(done.ingested, "the scores are")
    if done.left:
        why = commands.command("show", done.run_id, *options.words(where))
        how = (
            "the same command asks only for those"
            if done.end is not None and done.end.exit_code
            else f"`{why}` says why"
        )
        say(f"{scorer.named}: {plural(done.left, 'answer')} could not be judged yet; {how}")
    for kind, number in done.in_vain.items():
        say(in_vain_text(scorer.named, kind, number, run, options.words(where)))
    if done.end is None:
        say(f"{scorer.named}: judged in run {done.run_id}; nothing was sent")
        return _JudgeResult(done.written, done.left)
    if done.end.error is not None:
        say(f"error: {done.end.error}")
    ended = done.end.summary
    say(f"{scorer.named}: judged in run {ended.run_id}{f' ({ended.status}: {ended.reason})' if ended.reason else ''}")
    return _JudgeResult(done.written, done.left, done.end.exit_code, done.end.told_to_stop)
