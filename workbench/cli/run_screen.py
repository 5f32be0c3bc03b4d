"""A run's main results on a terminal: scores with intervals, fallbacks, and what caused failures."""

from collections import Counter

import msgspec

from workbench.cli.output import echo, print_table
from workbench.display import plural
from workbench.evaluation.attention import fallbacks
from workbench.evaluation.run_figures import RunFindings, broken_text
from workbench.outcomes import EFFECTS, Outcome
from workbench.stats.intervals import CONFIDENCE

_MOST_SHOWN = 5


def print_findings(found: RunFindings) -> None:
    """Print what a run found, after its numbers."""
    if found.provenance.narrowed:
        echo(f"narrowed to {found.provenance.narrowed}")
    _print_scores(found)
    for one in found.broken:
        echo(broken_text(one))
    _print_substitutes(found)
    _print_failures(found)
    if found.provenance.simulated:
        echo("simulated: no real model answered")


def _print_scores(found: RunFindings) -> None:
    if not found.scores:
        return
    rows = [
        msgspec.structs.asdict(row)
        | {"mean": _rounded(row.mean)}
        | ({"low": _rounded(interval.low), "high": _rounded(interval.high)} if interval else {})
        for row, interval in found.scores
    ]
    columns = {
        "mean": found.provenance.reduce or "score", "low": f"{CONFIDENCE:.0%} from", "high": "to", "samples": "n",
        "unscored": "unscored",
    }  # fmt: skip
    echo()
    print_table(rows, {"model": "model", "scorer": "scorer"} | columns)
    if taken_out := max(row.invalid_samples for row, _ in found.scores):
        echo(f"{plural(taken_out, 'sample')} taken out of the scores")
    echo()


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _print_substitutes(found: RunFindings) -> None:
    others = fallbacks(found.served)
    for row in others[:_MOST_SHOWN]:
        echo(f"{row.requested_model} was answered by {row.served_model}: {row.answers} answers")
    if len(others) > _MOST_SHOWN:
        echo(f"{sum(row.answers for row in others[_MOST_SHOWN:])} more answers came from another model")


def _print_failures(found: RunFindings) -> None:
    faults: dict[str, Counter[str]] = {}
    for row in found.outcomes:
        if not row.accepted:
            faults.setdefault(EFFECTS[Outcome(row.outcome)].fault, Counter())[row.outcome] += row.calls
    for fault, outcomes in sorted(faults.items(), key=lambda item: -item[1].total()):
        counted = ", ".join(f"{calls} {outcome}" for outcome, calls in outcomes.most_common())
        echo(f"failed calls ({fault}): {counted}")
