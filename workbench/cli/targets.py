"""`workbench targets`: corrected targets, for the runs that were scored by wrong ones."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

import workbench.display.commands as commands
from workbench.api.session import ledger_to_change, ledger_to_read
from workbench.cli import options
from workbench.cli.output import echo, note_ingest, print_json, print_table, say
from workbench.dataset.files import refuse_sheet
from workbench.dataset.samples import selected_samples
from workbench.display.columns import column, columns
from workbench.display.text import plural
from workbench.errors import ExitCode, Fault, InputError, WorkbenchError
from workbench.evaluation.run_figures import run_figures
from workbench.evaluation.targets import (
    TargetChange,
    TargetChanges,
    correct_targets,
    restored,
    score_corrected,
    target_changes,
)
from workbench.job.job import Job, load_job
from workbench.ledger.queries import Reader, reading
from workbench.ledger.rows import CurrentScore
from workbench.ledger.store import Ledger
from workbench.records.calls import Sample
from workbench.scoring.judge import is_pending
from workbench.wording.scores import mean_text

_MOST_LEFT = 5
_all_runs = click.option("--all-runs", is_flag=True, help="The runs of other jobs, too, that asked the same.")
_from_file = click.option(
    "--dataset",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Rows with corrected targets, in place of the job's dataset; samples that it lacks stay as they are.",
)
_sheet = click.option("--sheet", metavar="NAME", help="The sheet of FILE, where several have rows.")


@click.group()
def targets() -> None:
    """Compare a job's targets with those that its runs were scored by, and score these by the corrected ones.

    Correct the dataset first; it is what future runs are scored by.
    """


@targets.command()
@options.job_file
@options.ledger
@_from_file
@_sheet
@_all_runs
@options.as_json
def diff(job: Path, dataset: Path | None, all_runs: bool, as_json: bool, **given: Any) -> None:
    """List the targets that the dataset of JOB has otherwise than its runs are scored by."""
    where = options.where(given)
    loaded = load_job(job)
    corrected = _corrected(loaded, dataset, given["sheet"])
    with reading(ledger_to_read(where)) as reader:
        found = _changes(reader, loaded, corrected, dataset, all_runs=all_runs)
    if as_json:
        print_json({"job": found.job, "runs": found.runs, "changes": _objects(found), "left": found.left})
        return
    _print_left(found)
    _print_changes(found)
    if not found.changes:
        return
    words = ["targets", "apply", str(job), *(["--dataset", str(dataset)] if dataset else [])]
    words += [*(["--sheet", given["sheet"]] if given["sheet"] else []), "--reason", "TEXT"]
    words += ["--all-runs"] if all_runs else []
    runs = len({change.run_id for change in found.changes})
    apply = commands.command(*words, *options.words(where))
    say(f"`{apply}` scores {plural(runs, 'run')} by the targets of the dataset; nothing is sent")


@targets.command()
@options.job_file
@options.ledger
@_from_file
@_sheet
@_all_runs
@click.option("--reason", metavar="TEXT", help="Why; it is recorded.")
@click.option("--restore", is_flag=True, help="Score the runs by the targets that they recorded, again.")
@options.as_json
def apply(
    job: Path,
    dataset: Path | None,
    all_runs: bool,
    reason: str | None,
    restore: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Score the runs of JOB by the targets that its dataset has now; only judges have to be asked again, by `workbench score`.

    Targets are recorded with the runs and can be put back; answers, and what gates decided when a run ended, stay as they are.
    """
    if not restore and not (reason or "").strip():
        raise click.UsageError("say why with --reason TEXT")
    if restore and dataset is not None:
        raise click.UsageError("--restore takes back what was recorded: leave --dataset out")
    where = options.where(given)
    loaded = load_job(job)
    ledger = ledger_to_change(where)
    corrected = _corrected(loaded, dataset, given["sheet"])
    samples = corrected if dataset is None else list(selected_samples(loaded))
    with reading(ledger) as reader:
        if restore:
            found = restored(reader, loaded.name, all_runs=all_runs)
        else:
            found = _changes(reader, loaded, corrected, dataset, all_runs=all_runs)
    changed = list(dict.fromkeys(change.run_id for change in found.changes))
    # with those that were spoken of before: a process that was killed may have recorded targets without scoring by them
    runs = list(dict.fromkeys([*changed, *found.said_at]))
    before = _means(ledger, changed[:1])
    if changed:
        note_ingest(correct_targets(ledger, found, reason or "put back"))
    written, failed = _scored(ledger, runs, loaded, samples)
    pending = {run_id: count for run_id in runs if (count := _pending(ledger, run_id))}
    if as_json:
        print_json(
            {"job": found.job, "changes": _objects(found), "left": found.left, "runs": runs, "scores_changed": written}
            | {"not_scored": failed, "pending": pending}
        )
    else:
        _print_left(found)
        _print_changes(found)
        _print_means(changed[:1], before, _means(ledger, changed[:1]))
        whose = "recorded" if restore else "corrected"
        echo(
            f"{plural(len(changed), 'run')} scored by the {whose} targets: {plural(written, 'score')} changed, nothing sent"
        )
        if changed and not restore:
            words = ["targets", "apply", str(job), "--restore", *(["--all-runs"] if all_runs else [])]
            back = commands.command(*words, *options.words(where))
            say(f"`{back}` puts the recorded ones back")
    for run_id, why in failed.items():
        say(f"run {run_id} is not scored: {why}")
    for run_id, left in pending.items():
        asks = commands.command("score", run_id, "--yes", *options.words(where))
        say(f"{plural(left, 'judgement')} of run {run_id} still to be asked for: `{asks}`")
    sys.exit(ExitCode.INCOMPLETE if failed or pending else ExitCode.DONE)


def _corrected(job: Job, path: Path | None, sheet: str | None) -> list[Sample]:
    """Return the samples with corrected targets: of the job's dataset, or all of a file that has rows as that does."""
    if path is None:
        if sheet is not None:
            raise click.UsageError("--sheet names one of the file that --dataset gives")
        return list(selected_samples(job))
    refuse_sheet(path, sheet)
    is_own = [str(path.absolute())] == list(job.dataset_paths)
    table = msgspec.structs.replace(
        job.dataset, path=str(path), format=None, delimiter=None, sheet=sheet or (job.dataset.sheet if is_own else None),
        limit=None, sample_ids=[], shuffle_seed=None, second_target=None, reference={}, cluster=None,
    )  # fmt: skip
    return list(selected_samples(msgspec.structs.replace(job, dataset=table, dataset_paths=(str(path.absolute()),))))


def _changes(
    reader: Reader, job: Job, corrected: Sequence[Sample], path: Path | None, *, all_runs: bool
) -> TargetChanges:
    """Return what is corrected, and say how many rows of a file of its own no run asked.

    Args:
        path: Of that file; None: it is the job's dataset, which may have new rows.

    Raises:
        InputError: No run asked any of them.
    """
    found = target_changes(reader, job, corrected, all_runs=all_runs)
    if path is None or not found.not_asked:
        return found
    if found.not_asked == sum(sample.target is not None for sample in corrected):
        problem = f"no run of {job.name!r} asked any of its rows"
        raise InputError(Fault(str(path), problem, "they must ask what the job asks, with other targets"))
    say(f"note: no run asked {plural(found.not_asked, 'row')} of {path.name}")
    return found


def _scored(ledger: Ledger, runs: Sequence[str], job: Job, samples: Sequence[Sample]) -> tuple[int, dict[str, str]]:
    """Score some runs; return how many scores changed, and why a run could not be scored."""
    written, failed = 0, {}
    for run_id in runs:
        try:
            changed, done = score_corrected(ledger, run_id, job, samples)
        except WorkbenchError as error:
            failed[run_id] = str(error)
            continue
        written += changed
        note_ingest(done, f"scores of run {run_id} are")
    return written, failed


def _pending(ledger: Ledger, run_id: str) -> int:
    with reading(ledger) as reader:
        return sum(is_pending(score.reason) for score in reader.all(CurrentScore, run_id=run_id))


def _means(ledger: Ledger, run_ids: Sequence[str]) -> dict[tuple[str, str, str], str]:
    """Return the mean of everything asked by run, model and scorer."""
    found = {}
    with reading(ledger) as reader:
        for run_id in run_ids:
            for row, interval in run_figures(reader, run_id).scores:
                found[run_id, row.model, row.scorer] = "–" if interval is None else mean_text(interval)
    return found


def _print_means(
    run_ids: Sequence[str], before: dict[tuple[str, str, str], str], after: dict[tuple[str, str, str], str]
) -> None:
    """Print what the newest run scores by the targets before and after."""
    for run_id in run_ids:
        echo(f"\nrun {run_id}, the newest of them:")
        rows = [
            {"model": model, "scorer": scorer, "before": before.get((run, model, scorer), "–"), "after": text}
            for (run, model, scorer), text in after.items()
        ]
        print_table(rows, columns("model", "scorer", column("before", kind="text"), column("after", kind="text")))
        echo()


def _print_changes(found: TargetChanges) -> None:
    if not found.changes:
        echo(f"no target of {found.job} is otherwise in its {plural(len(found.runs), 'run')}")
        return
    rows: dict[tuple[str, str, str], list[TargetChange]] = {}
    for change in found.changes:
        rows.setdefault((change.sample_id, *_told_apart(change.before, change.target)), []).append(change)
    lines = [
        {"sample_id": sample, "before": before, "target": after, "runs": len(changes)}
        for (sample, before, after), changes in rows.items()
    ]
    print_table(lines, columns("sample_id", column("before", kind="text"), "target", "runs"), whole=("sample_id",))


def _print_left(found: TargetChanges) -> None:
    for left in found.left[:_MOST_LEFT]:
        what = f"run {left.run_id}" if left.sample_id is None else f"sample {left.sample_id!r} of run {left.run_id}"
        say(f"note: {what} is left alone: {left.why}")
    if len(found.left) > _MOST_LEFT:
        say(f"note: {len(found.left) - _MOST_LEFT} more are left alone; --json has them")


def _objects(found: TargetChanges) -> list[dict[str, Any]]:
    return [
        {"run_id": one.run_id, "sample_id": one.sample_id, "before": one.before, "target": one.target}
        for one in found.changes
    ]


def _told_apart(before: Any, after: Any) -> tuple[str, str]:
    """Return two targets as texts; as JSON where only their types differ, as of "1" and 1."""
    if _text(before) != _text(after):
        return _text(before), _text(after)
    return msgspec.json.encode(before).decode(), msgspec.json.encode(after).decode()


def _text(target: Any) -> str:
    return target if isinstance(target, str) else msgspec.json.encode(target).decode()
