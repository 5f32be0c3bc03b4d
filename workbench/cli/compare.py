"""`workbench compare`: models of a run, or runs, beside a baseline."""

from collections.abc import Sequence
from typing import Any

import click
import msgspec

import workbench.display.commands as commands
from workbench.allowance.weights import weighing_of
from workbench.api.session import ledger_to_read, pages_folder
from workbench.cli import options
from workbench.cli.output import echo, echo_sentences, print_json, print_table, say, say_notes
from workbench.cli.run_screen import print_grid
from workbench.display.columns import column, columns
from workbench.errors import Fault, InputError, nearest
from workbench.evaluation.choices import CheapestChoice, choice_of
from workbench.evaluation.comparison import (
    ON_FALLBACK,
    Comparison,
    ComparisonRequest,
    compare_sides,
    is_baseline,
    load_input,
    slice_rows,
)
from workbench.evaluation.factors import Factors
from workbench.evaluation.references import ReferencePoint, floor_of, reference_objects
from workbench.evaluation.sides import Difference, ModelResult
from workbench.evaluation.slices import Slice, SliceScore
from workbench.ledger.job_rows import JobRuns, RunOfJob
from workbench.ledger.queries import Reader, reading
from workbench.report.build import Draft
from workbench.report.compare_page import compare_page
from workbench.report.ledger_pages import PAGES
from workbench.wording.changes import alarm_objects
from workbench.wording.choices import choice_text, cost_text
from workbench.wording.comparisons import (
    agreement_lines,
    differs_text,
    headline,
    largest_first,
    prompts_text,
    shown_text,
    side_name,
    unchanged_text,
    verdict_text,
    warnings,
)
from workbench.wording.factors import effect_row, factors_object, factors_text
from workbench.wording.references import exceeded_text, floor_text, reference_name
from workbench.wording.rubrics import first_samples_text, judged_twice_text, verdict_row
from workbench.wording.scores import interval_text, mean_text, per_right_text, signed, with_bounds

_MOST_LINES = 2  # more differences are a table's
_VERDICTS = columns("sample_id", "model", "epoch", "verdict_here", "verdict_there")


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=options.complete_runs)
@options.ledger
@click.option("--job", metavar="NAME", help="The two newest runs of this job, the older as the baseline.")
@click.option(
    "--model",
    metavar="ID",
    multiple=True,
    help="Only this model, with all its variants, or one of them (MODEL · VARIANT); may be repeated.",
)
@click.option(
    "--baseline",
    metavar="NAME",
    help="The model, or of several runs the run, to compare with [default: the first with scores].",
)
@click.option("--scorer", metavar="NAME", help="Compare by this scorer [default: the first].")
@click.option("--cluster", metavar="COLUMN", default="cluster", show_default=True,
              help="The metadata column that says which samples belong together; id for the column of ids; or none.")  # fmt: skip
@click.option("--on-fallback", type=click.Choice(ON_FALLBACK),
              help="Leave out answers that another model gave, or count them [default: as the first run's job].")  # fmt: skip
@click.option("--by", metavar="COLUMN", help="Compare within each value of this further column of the dataset as well.")
@click.option("--margin", type=float, metavar="SCORE",
              help="How much worse than the baseline is acceptable, as 0.02: says of which models that is shown "
                   "[default: as the job says].")  # fmt: skip
@click.option("--verdicts", is_flag=True, help="List the answers that were judged twice, otherwise the second time.")
@options.reports
@options.to_send
@options.no_report
@options.as_json
def compare(runs: tuple[str, ...], job: str | None, as_json: bool, **given: Any) -> None:
    """Compare the models of RUN, or several RUNs with the first, on the samples that both sides were asked.

    Without RUN it is the newest with scores. A difference is called better or worse only where a paired test shows it,
    whatever the answers were that are not known, adjusted for all differences that another baseline would show as well.
    """
    if job is not None and runs:
        raise click.UsageError("give either runs or --job")
    if given["no_report"] and given["single_file"]:
        raise click.UsageError("give either --single-file or --no-report")
    single = options.single_file(given)
    where = options.where(given)
    ledger = ledger_to_read(where)
    named: Sequence[str] = runs
    if job is not None:
        with reading(ledger) as reader:
            named = _newest(reader, job)
    wanted = ComparisonRequest(
        named, given["model"], given["baseline"], given["scorer"], given["cluster"], given["on_fallback"], given["by"],
        given["margin"],
    )  # fmt: skip
    write: Draft | None = None
    if given["no_report"]:
        with reading(ledger) as reader:
            weighing = weighing_of(ledger.allowance, ledger.zone)
            found = compare_sides(load_input(reader, wanted, weighing), wanted)
    else:
        folder = pages_folder(where, ledger, given["reports"])
        found, write = compare_page(ledger, wanted, folder, PAGES, single)
    if as_json:
        print_json(as_objects(found) | {"report": None if write is None else str(write())})
        return
    _print_found(found, is_sliced=wanted.by is not None)
    _print_judged_twice(found, options.words(where), is_listed=given["verdicts"])
    if write is not None:
        say(f"page: {write()}")  # last: a folder that cannot be written costs the page only


def _print_found(found: Comparison, *, is_sliced: bool) -> None:
    """Print what a comparison shows: in sentences, then in tables."""
    for sentence in filter(None, (floor_text(floor_of(found.references)), factors_text(found.factors))):
        echo_sentences(sentence)
    for difference in largest_first(found.changed) if len(found.changed) <= _MOST_LINES else ():
        echo(headline(difference, found) + "\n")
    for line in filter(None, (*prompts_text(found), unchanged_text(found))):
        echo(line)
    if found.listed:
        _print_sides(found)
    if (choice := choice_of(found)) and (choice.alternatives or found.margin is not None):
        echo_sentences(choice_text(choice, found))
    if found.factors is not None:
        _print_factors(found.factors)
    if is_sliced:
        _print_slices(found)
    say_notes([*differs_text(found), *warnings(found, said=True)])


def _print_judged_twice(found: Comparison, words: Sequence[str], *, is_listed: bool) -> None:
    """Print what two rubrics say of the same answers: in a sentence each, with the samples where they are to be listed."""
    for one in found.judged_twice:
        echo(judged_twice_text(one))
        if one.otherwise and is_listed:
            print_table(
                [verdict_row(answer) for answer in one.otherwise], _VERDICTS, whole=("sample_id",), spare=("epoch",)
            )
        elif one.otherwise:
            runs = [run.run_id for run in found.runs]
            lists = commands.command("compare", *runs, "--no-report", "--verdicts", *words)
            echo(f"  {first_samples_text(one)}: {lists}")


def as_objects(found: Comparison) -> dict[str, Any]:
    """Return a comparison as plain values."""
    plain: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(found, factors=None))
    for row, side in zip(plain["sides"], found.sides, strict=True):
        place = side.key
        row |= {
            "tokens_per_right": msgspec.to_builtins(found.per_right.get(place)),
            "units_per_right": msgspec.to_builtins(found.units_per_right.get(place)),
        }
    del plain["per_right"], plain["units_per_right"]
    plain["planned"] = {
        run.run_id: {model: number for (run_id, model), number in found.planned.items() if run_id == run.run_id}
        for run in found.runs
    }
    plain["runs"] = [{"run_id": run.run_id, "job": run.job, "started_at": run.started_at} for run in found.runs]
    for row, difference in zip(plain["differences"], found.differences, strict=True):
        row |= {"says": headline(difference, found), "beside_margin": found.beside_margin(difference)}
    for row, twice in zip(plain["judged_twice"], found.judged_twice, strict=True):
        row |= {"says": judged_twice_text(twice)}
    return plain | {
        "references": reference_objects(found.references),
        "choice": None if (choice := choice_of(found)) is None else _choice_object(choice, found),
        "factors": factors_object(found.factors),
        "notes": warnings(found),
        "slices": slice_rows(found),
        "open_alarms": alarm_objects(found.open_alarms),
    }


def _choice_object(choice: CheapestChoice, found: Comparison) -> dict[str, Any]:
    """Return what there is to choose from as plain values."""
    return {
        "says": choice_text(choice, found),
        "better": None if choice.better is None else choice.better.side.model,
        "cheapest": choice.cheapest.model,
        "loses_at_most": choice.loses,
        "costs": choice.costs,
        "costs_are": cost_text(choice, found),
    }


def _newest(reader: Reader, job: str) -> list[str]:
    """Return the two newest runs of a job, the older first."""
    found = [run.run_id for run in reader.all(RunOfJob, job=job)]
    if not found:
        known = {one.job for one in reader.all(JobRuns)}
        raise InputError(
            Fault("--job", f"no run of {job!r} has ended", nearest(job, known) or f"jobs: {', '.join(sorted(known))}")
        )
    if len(found) < 2:
        raise InputError(Fault("--job", f"{job!r} has one run", "a second one is needed to compare"))
    return [found[1], found[0]]


def _print_sides(found: Comparison) -> None:
    beside = {difference.side.key: difference for difference in found.differences}
    rows = [_row(side, beside.get(side.key), found) for side in map(found.sides.__getitem__, found.listed)]
    rows += [_reference_row(point) for point in found.references]
    shown = columns(
        column("side", "model"), "of_asked", "difference", "verdict",
        column("wins", "won:lost:same"), "mean_of_scored", column("scored", kind="text"),
        column("completion_tokens", "tokens/answer", "number"), "tokens_per_right",
        *([column("units_per_right", f"{found.unit}/right", "text")] if found.unit else []),
        "p50_ms", "unanswered", "fallbacks",
    )  # fmt: skip
    echo(f"{found.scorer} (95 %), by model:")
    print_table(
        rows,
        shown,
        whole=("side", "verdict"),
        spare=(
            "fallbacks",
            "unanswered",
            "p50_ms",
            "mean_of_scored",
            "units_per_right",
            "tokens_per_right",
            "completion_tokens",
            "scored",
            "wins",
        ),
    )
    for line in agreement_lines(found):
        echo(line)


def _print_factors(found: Factors) -> None:
    """Print the grid, and every main effect beside the baseline."""
    print_grid(found)
    if found.effects:
        echo()
        print_table(
            [effect_row(one, found) for one in found.effects],
            columns("main_effect", "over", "difference", "verdict"),
            whole=("main_effect", "verdict"),
            spare=("over",),
        )


def _print_slices(found: Comparison) -> None:
    """Print a line for each value and difference."""
    rows = [
        {
            "value": part.value, "side": side_name(one.side, found),
            "of_asked": _mean(part, one.side), "baseline": _mean(part, one.baseline),
            "mean_of_scored": _of_scored(part, one.side),
            "difference": _difference(one.side, one, found), "verdict": shown_text(one, are_shares=found.are_shares),
            "shared": one.shared,
        }
        for part in found.slices
        for one in part.differences
    ]  # fmt: skip
    shown = columns(
        column("value", found.slices[0].column), column("side", "model"), "of_asked",
        column("mean_of_scored", kind="text"), "baseline", "difference", "verdict", "shared",
    )  # fmt: skip
    echo("")
    print_table(rows, shown, whole=("value",), spare=("baseline", "mean_of_scored", "of_asked"))


def _score(part: Slice, side: ModelResult) -> SliceScore:
    return next(score for score in part.scores if (score.run_id, score.model) == side.key)


def _mean(part: Slice, side: ModelResult) -> str:
    interval = _score(part, side).interval
    return "–" if interval is None else mean_text(interval)


def _of_scored(part: Slice, side: ModelResult) -> str:
    score = _score(part, side)
    return "–" if score.mean_of_scored is None else f"{score.mean_of_scored:.3f} of {score.scored}"


def _row(side: ModelResult, difference: Difference | None, found: Comparison) -> dict[str, Any]:
    score = with_bounds(side.interval)
    pair = difference.found if difference is not None else None
    shown = "" if difference is None else verdict_text(difference, found)
    return {
        "side": side_name(side, found),
        "of_asked": score,
        "mean_of_scored": side.mean_of_scored,
        "difference": _difference(side, difference, found),
        "verdict": "; ".join(filter(None, (shown, "" if found.is_ranked(side) else "not ranked"))),
        "wins": "" if pair is None else f"{pair.better}:{pair.worse}:{pair.same}",
        "scored": f"{side.scored} of {side.samples}",
        "completion_tokens": side.completion_tokens,
        "tokens_per_right": per_right_text(found.per_right.get(side.key)),
        "units_per_right": per_right_text(found.units_per_right.get(side.key)),
        "p50_ms": side.p50_ms,
        "unanswered": found.unanswered(side),
        "fallbacks": side.fallbacks,
    }


def _reference_row(point: ReferencePoint) -> dict[str, Any]:
    """Return what scores without a model as a line of the same table."""
    return {
        "side": reference_name(point),
        "of_asked": with_bounds(point.interval),
        "verdict": exceeded_text(point),
    }


def _difference(side: ModelResult, difference: Difference | None, found: Comparison) -> str:
    if difference is None:
        return "baseline" if is_baseline(side, found) else "–"
    if difference.found is None:
        return "–"
    value = signed(difference.found.difference, are_shares=found.are_shares)
    return f"{value} {interval_text(difference, are_shares=found.are_shares)}"
