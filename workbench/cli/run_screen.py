"""A run's main results on a terminal: scores with intervals, fallbacks, and what caused failures."""

from collections.abc import Iterator

import msgspec

import workbench.display.commands as commands
from workbench.cli.output import echo, echo_sentences, print_table
from workbench.display.columns import column, columns
from workbench.display.text import plural, visible
from workbench.evaluation.agreements import RunAgreement
from workbench.evaluation.attention import fallbacks, suspected
from workbench.evaluation.factors import Factors
from workbench.evaluation.run_figures import RunFigures
from workbench.evaluation.sides import Coverage, least_answered
from workbench.ledger.run_rows import RunScore
from workbench.wording.agreements import CLASSES, agreement_table
from workbench.wording.comparisons import not_ranked_words
from workbench.wording.differences import corrected_text
from workbench.wording.factors import cell_text, factors_text
from workbench.wording.references import reference_name
from workbench.wording.runs import broken_text, failures_text, run_verdict, unknown_end_text
from workbench.wording.scores import mean_text, with_bounds

_MOST_SHOWN = 5
_WHERE_MISSING = ("mean", "scored", "not_right", "unknown")
"""Columns that say something only where something is without a score."""


def print_findings(found: RunFigures) -> None:
    """Print what a run found, after its numbers: last its verdict and the table behind it."""
    verdict = run_verdict(found)
    for line in _notes(found, verdict):
        echo(line)
    echo()
    if verdict:
        echo_sentences(verdict)
    if grid := found.standing.factors:
        echo_sentences(factors_text(grid))
        print_grid(grid)
    if found.scores:
        echo()
        _print_scores(found)


def print_grid(found: Factors) -> None:
    """Print a line for each model, with a column for each variant, and the means over them."""
    rows = [
        {"model": model, "mean": with_bounds(mean)}
        | {
            f"variant {n}": cell_text(found.cells.get((model, variant)), (model, variant), found)
            for n, variant in enumerate(found.variants)
        }
        for model, mean in zip(found.models, found.means["model"], strict=True)
    ]
    over = {f"variant {n}": with_bounds(mean) for n, mean in enumerate(found.means["variant"])}
    shown = columns(
        "model", *(column(f"variant {n}", variant, "text") for n, variant in enumerate(found.variants)),
        column("mean", "all", "text"),
    )  # fmt: skip
    echo(f"\n{found.scorer} (95 %), by model and variant:")
    print_table([*rows, {"model": "all models", "mean": ""} | over], shown, whole=("model",))


def print_agreement(found: RunAgreement, *, by_class: bool = False) -> None:
    """Print how far the numbers or labels in answers agree with the targets; of labels class by class where that is wanted."""
    shown = agreement_table(found)
    echo(f"agreement with the targets, by {shown.by}:")
    print_table(shown.rows, shown.columns, spare=("spearman", "pearson", "bias", "absolute_error", "macro_f1"))
    for note in shown.notes:
        echo(note)
    for one in shown.classes if by_class else ():
        echo(f"\n{one.title}, class by class:")
        print_table(one.rows, CLASSES)
        echo("\nanswers by target (rows) and by the label that was given (columns):")
        print_table(one.given, one.confusion)
    echo()


def _notes(found: RunFigures, verdict: str) -> Iterator[str]:
    """Return what a reader of the scores has to know and the verdict does not say."""
    if found.provenance.narrowed:
        yield f"narrowed to {found.provenance.narrowed}"
    yield from (text for text in map(broken_text, found.broken) if text not in verdict)
    yield from map(unknown_end_text, found.unknown_ends)
    yield from _substitutes(found)
    yield from failures_text(found.outcomes)
    least = least_answered([found.provenance])
    for row, coverage in _coverages(found):
        if row.scorer != found.standing.scorer and not coverage.is_enough(least) and coverage.wanted:
            yield f"not ranked by {row.scorer}: {row.model}: {not_ranked_words(coverage, least)}"
    if taken_out := max((row.invalid_samples for row, _ in found.scores), default=0):
        reasons = list(dict.fromkeys(row.reason for row in found.taken_out))
        why = f": {'; '.join(map(visible, reasons))}" if reasons else ""
        yield f"{plural(taken_out, 'sample')} taken out of the scores{why}"
    if found.corrected:
        yield corrected_text(len(found.corrected), [(row.reason, row.recorded_at) for row in found.corrected])
    if found.provenance.simulated:
        yield "simulated: no real model answered"


def _print_scores(found: RunFigures) -> None:
    rows = [
        msgspec.structs.asdict(row)
        | {"mean": _rounded(row.mean), "of_asked": None if interval is None else mean_text(interval)}
        | ({"low": _rounded(interval.low), "high": _rounded(interval.high)} if interval else {})
        for row, interval in found.scores
    ]
    rows += [
        {
            "model": reference_name(one),
            "scorer": one.scorer,
            "asked": one.samples,
            "mean": _rounded(one.mean),
            "scored": one.samples,
        }
        | {"of_asked": None if one.interval is None else mean_text(one.interval), "not_right": 0, "unknown": 0}
        | ({"low": _rounded(one.interval.low), "high": _rounded(one.interval.high)} if one.interval else {})
        for one in found.standing.references
    ]
    shown = columns(
        "model", "scorer", column("of_asked", found.provenance.reduce or "mean"),
        "low", "high", "asked", "mean", "scored", "not_right", "unknown",
    )  # fmt: skip
    if all(row.samples == row.asked and not row.not_right and not row.unknown for row, _ in found.scores):
        shown = tuple(one for one in shown if one.name not in _WHERE_MISSING)
    print_table(rows, shown)


def _coverages(found: RunFigures) -> Iterator[tuple[RunScore, Coverage]]:
    """Return how much is known of every model by every scorer."""
    asked = [row.scored + row.not_right + row.unknown for row, _ in found.scores]
    wanted: dict[str, int] = {}
    for (row, _), answers in zip(found.scores, asked, strict=True):
        wanted[row.scorer] = max(answers, wanted.get(row.scorer, 0))
    for row, interval in found.scores:
        bounded = interval is not None and interval.at_worst is not None
        yield row, Coverage(row.scored + row.not_right, wanted[row.scorer], bounded)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _substitutes(found: RunFigures) -> Iterator[str]:
    others = fallbacks(found.served)
    for row in others[:_MOST_SHOWN]:
        yield f"{row.requested_model} was answered by {row.served_model}: {row.answers} answers"
    if len(others) > _MOST_SHOWN:
        yield f"{sum(row.answers for row in others[_MOST_SHOWN:])} more answers came from another model"
    for row in suspected(found.served)[:_MOST_SHOWN]:
        yield (
            f"{plural(row.answers, 'answer')} of {row.requested_model} came as {row.served_model}, {row.evidence}: "
            f"probably another model's; where it is not, `{commands.confirm_name(row.requested_model, str(row.served_model))}`"
        )
