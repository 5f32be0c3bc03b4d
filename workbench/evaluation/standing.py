"""How the models of a run stand beside each other: which leads, and by how much of what a paired test shows."""

import itertools
import math
from collections.abc import Sequence

import msgspec

from workbench.evaluation.sides import MIN_ANSWERED, Difference, Samples, Side, differences, is_ranked, sides_of
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.score_rows import RunScorer


class Standing(msgspec.Struct, frozen=True):
    """The models of a run by one scorer, the best first; those that are not ranked after those that are."""

    scorer: str | None
    """The first one of the job that scored anything; None where nothing is scored."""
    sides: list[Side]
    are_shares: bool
    min_answered: float
    """The share of its answers that must be known of a model that is ranked."""
    leading: tuple[str, ...] = ()
    """The ranked models with the best mean on the samples that all of these share; empty where no two share any."""
    shared: int = 0
    """How many samples that is; 0 where they share too few, and each stands by its own mean."""
    means: dict[str, float] = {}
    """By ranked model: the mean by which it is ranked."""
    differences: dict[str, Difference] = {}
    """Every other model of which something is known beside the first leading one, the nearest first, adjusted for all pairs of
    the run."""

    @property
    def unranked(self) -> list[Side]:
        """The models of which too little is known to rank them."""
        return [side for side in self.sides if side.model not in self.means]


def standing(reader: Reader, run: Provenance) -> Standing:
    """Rank the models of a run by its first scorer.

    Every difference is tested on all that the two models were asked.

    Args:
        reader: The ledger.
        run: Which.
    """
    scorers = [row.scorer for row in reader.all(RunScorer, run_ids=[run.run_id]) if row.scored]
    scorer = scorers[0] if scorers else None
    there = sides_of(reader, [run.run_id], scorer or "")
    least = MIN_ANSWERED if run.min_answered is None else run.min_answered
    known = [side for side in there.sides if side.interval is not None]
    if scorer is None or not known:
        return Standing(scorer, there.sides, there.are_shares, least)
    ranked = [side for side in known if is_ranked(side, least)]
    means, shared = _means(ranked, there.samples)
    ranked.sort(key=lambda side: -means[side.model])
    others = [side for side in known if side not in ranked]
    ordered = [*ranked, *others]
    first, *rest = ordered
    pairs = [(side, first) for side in rest]
    found = differences(pairs, there.samples, are_shares=there.are_shares, family=list(itertools.combinations(rest, 2)))
    beside = {one.side.model: one for one in found}
    leading = tuple(
        side.model
        for side in ranked
        if (
            math.isclose(means[side.model], means[first.model], abs_tol=1e-9)
            if shared
            else _is_level(beside.get(side.model))
        )
    )
    if pairs and all(one.found is None for one in found):
        leading, beside = (), {}
    unknown = [side for side in there.sides if side.interval is None]
    return Standing(scorer, [*ordered, *unknown], there.are_shares, least, leading, shared, means, beside)


def _is_level(beside: Difference | None) -> bool:
    """Whether a model scores like the first one on every sample that both were scored on; that one is."""
    return beside is None or (beside.found is not None and not beside.found.better and not beside.found.worse)


def _means(ranked: Sequence[Side], samples: Samples) -> tuple[dict[str, float], int]:
    """By model the mean by which it is ranked, and over how many samples that all share; 0: each over its own.

    Where each lacks others, what all share says little.
    """
    values = {
        side.model: {row.sample_key: row.value for row in samples[side.run_id, side.model] if row.value is not None}
        for side in ranked
    }
    if not values:
        return {}, 0
    shared = set.intersection(*(set(found) for found in values.values()))
    if 2 * len(shared) < max(map(len, values.values())):
        return {side.model: side.interval.mean for side in ranked if side.interval is not None}, 0
    return {model: math.fsum(found[key] for key in shared) / len(shared) for model, found in values.items()}, len(
        shared
    )
