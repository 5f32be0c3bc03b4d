"""How the models of a run stand beside each other: which leads, and by how much of what a paired test shows."""

import itertools
from collections.abc import Sequence

import msgspec

from workbench.evaluation.factors import Factors, GridInput, factors_of
from workbench.evaluation.references import ReferencePoint, floor_of, references_of
from workbench.evaluation.sides import Difference, ModelResult, differences, least_answered, sides_of
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
    found = differences(pairs, there.samples, are_shares=there.are_shares, family=list(itertools.combinations(rest, 2)))
    beside = {one.side.model: one for one in found}
    best = means.get(first.model)
    leading = tuple(
        side.model
        for side in ranked
        if best is not None and (side is first or (best.is_whole and _ends(means[side.model]) == _ends(best)))
    )
    unknown = [side for side in there.sides if side.interval is None]
    grid = factors_of(GridInput(run, scorer, there.sides, there.samples, there.are_shares, least), known[0])
    return Ranking(
        scorer, [*ordered, *unknown], there.are_shares, least, leading, means, beside, grid, there.figures, references
    )


def _ends(found: Interval) -> tuple[float, float]:
    """Return the means at the worst and at the best, alike where only the last digits of a float differ."""
    worst, best = found.at_worst or 0.0, found.at_best or 0.0
    return round(worst, 9), round(best, 9)
