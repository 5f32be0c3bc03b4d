"""How the models of a run stand beside each other: which leads, and by how much of what a paired test shows."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from workbench.evaluation.factors import Factors, GridInput, factors_of
from workbench.evaluation.references import ReferencePoint, floor_of, references_of
from workbench.evaluation.sides import Coverage, Difference, ModelResult, differences, least_answered, sides_of
from workbench.job.file import MIN_ANSWERED
from workbench.ledger.job_rows import ModelMean, run_means
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.score_rows import RunScorer, SideFigures
from workbench.stats.intervals import Interval


class Ranking(msgspec.Struct, frozen=True):
    """The models of a run by one scorer, the best first; those that are not ranked after those that are."""

    scorer: str | None
    """The first one of the job that scored anything; None where nothing is scored."""
    sides: list[ModelResult]
    are_shares: bool
    min_answered: float
    """The share of its answers that must be known of a model that is ranked."""
    leading: tuple[str, ...] = ()
    """The ranked models that are best: the first one, and those that have the same mean and of which all is known."""
    means: dict[str, Interval] = {}
    """By ranked model its mean over all asked; what is not known lifts no model: the mean at the worst ranks it."""
    differences: dict[str, Difference] = {}
    """Every other model of which something is known beside the first leading one, the nearest first, adjusted for all pairs of
    the run."""

    factors: Factors | None = None
    """The models and variants as a grid, where it has several of each; beside the first combination with scores."""
    figures: list[SideFigures] = []
    """What each model was asked and used, in the order in which it was first asked."""
    references: list[ReferencePoint] = []
    """What scores without a model, by every scorer; tested beside the models by this one."""

    @property
    def floor(self) -> ReferencePoint | None:
        """The reference point that no model is shown to be better than; see `floor_of`."""
        return floor_of(self.references)

    @property
    def unranked(self) -> list[ModelResult]:
        """The models of which too little is known to rank them."""
        return [side for side in self.sides if side.model not in self.means]


def standing(reader: Reader, run: Provenance, scorers: Sequence[RunScorer]) -> Ranking:
    """Rank the models of a run by its first scorer.

    Every difference is tested on all that the two models were asked.

    Args:
        scorers: Of the run, in its job's order.
    """
    scorer = next((row.scorer for row in scorers if row.scored), None)
    there = sides_of(reader, [run.run_id], scorer or "")
    least = least_answered([run])
    known = [side for side in there.sides if side.interval is not None]
    references = references_of(reader, run, there, scorer)
    if scorer is None or not known:
        return Ranking(scorer, there.sides, there.are_shares, least, figures=there.figures, references=references)
    ranked = [side for side in known if side.coverage.is_enough(least)]
    means = {side.model: side.interval for side in ranked if side.interval is not None}
    ranked.sort(key=lambda side: [-end for end in _ends(means[side.model])])
    others = [side for side in known if side not in ranked]
    ordered = [*ranked, *others]
    first, *rest = ordered
    pairs = [(side, first) for side in rest]
    unknown = [side for side in there.sides if side.interval is None]
    # as `compare` adjusts: what is missing of a model makes no other difference surer
    family = [
        pair for pair in itertools.combinations([*ordered, *unknown], 2) if pair[0] is not first or pair[1] in unknown
    ]
    found = differences(pairs, there.samples, are_shares=there.are_shares, family=family)
    beside = {one.side.model: one for one in found}
    best = means.get(first.model)
    leading = tuple(
        side.model
        for side in ranked
        if best is not None and (side is first or (best.is_whole and _ends(means[side.model]) == _ends(best)))
    )
    grid = factors_of(GridInput(run, scorer, there.sides, there.samples, there.are_shares, least), known[0])
    return Ranking(
        scorer, [*ordered, *unknown], there.are_shares, least, leading, means, beside, grid, there.figures, references
    )


def _ends(found: Interval) -> tuple[float, float]:
    """Return the means at the worst and at the best, alike where only the last digits of a float differ."""
    worst, best = found.at_worst or 0.0, found.at_best or 0.0
    return round(worst, 9), round(best, 9)


class BestAndWorst(NamedTuple):
    """The ranked models of a run with the highest and the lowest mean; both are one where there is no other."""

    best: ModelMean
    worst: ModelMean


def best_and_worst(means: Sequence[ModelMean]) -> dict[str, BestAndWorst]:
    """Run id -> what has the highest and the lowest mean by the scorer of `run_means`; what is not known lifts none, and a model
    that is not ranked is neither, but where it is alone.

    Args:
        means: In the order of the query.
    """
    scorers = {row.run_id: row.scorer for row in run_means(means)}
    sides: dict[str, list[ModelMean]] = {}
    for row in means:
        if row.model is not None and row.scorer == scorers.get(row.run_id):
            sides.setdefault(row.run_id, []).append(row)
    found = {}
    for run_id, own in sides.items():
        wanted = max(row.asked for row in own)
        ranked = [row for row in own if row.mean is not None and (len(own) == 1 or _is_ranked(row, wanted))]
        if ranked:
            ranked.sort(key=lambda row: (row.at_worst or 0.0, row.mean or 0.0))
            found[run_id] = BestAndWorst(ranked[-1], ranked[0])
    return found


def _is_ranked(row: ModelMean, wanted: int) -> bool:
    least = MIN_ANSWERED if row.min_answered is None else row.min_answered
    return Coverage(row.known, wanted, is_bounded=row.at_worst is not None).is_enough(least)
