"""How the models of a run stand beside each other: which leads, and by how much of what a paired test shows."""

import itertools
import math

import msgspec

from workbench.evaluation.sides import Difference, Samples, Side, differences, sides_of
from workbench.ledger.queries import Reader
from workbench.ledger.score_rows import RunScorer


class Standing(msgspec.Struct, frozen=True):
    """The models of a run by one scorer, the best first."""

    scorer: str | None
    """The first one of the job that scored anything; None where nothing is scored."""
    sides: list[Side]
    are_shares: bool
    leading: tuple[str, ...] = ()
    """The models with the best mean on the samples that those ranked share; empty where no two share any."""
    shared: int = 0
    """How many samples that is; 0 where they share too few, and each stands by its own mean."""
    means: dict[str, float] = {}
    """By ranked model: the mean by which it is ranked."""
    differences: dict[str, Difference] = {}
    """Every other scored model beside the first leading one, the nearest first, adjusted for all pairs of the run."""


def standing(reader: Reader, run_id: str) -> Standing:
    """Rank the models of a run by its first scorer.

    A model that was scored on fewer than half as many samples as another is not ranked: what all share would be its few.
    Every difference is tested on what the two models share.

    Args:
        reader: The ledger.
        run_id: Which.
    """
    scorers = [row.scorer for row in reader.all(RunScorer, run_ids=[run_id]) if row.scored]
    scorer = scorers[0] if scorers else None
    there = sides_of(reader, [run_id], scorer or "")
    scored = [side for side in there.sides if side.scored]
    if scorer is None or not scored:
        return Standing(scorer, there.sides, there.are_shares)
    most = max(side.scored for side in scored)
    ranked = [side for side in scored if 2 * side.scored >= most]
    means, shared = _shared_means(ranked, there.samples)
    others = [side for side in scored if side not in ranked]
    unscored = [side for side in there.sides if not side.scored]
    if 2 * shared < most:  # each failed at others: what all share says little
        means, shared = {side.model: side.interval.mean for side in ranked if side.interval is not None}, 0
    ranked.sort(key=lambda side: -means[side.model])
    best = means[ranked[0].model]
    ordered = [*ranked, *others]
    pairs = [(side, ranked[0]) for side in ordered[1:]]
    family = [*pairs, *itertools.combinations(ordered[1:], 2)]
    found = differences(family, there.samples, are_shares=there.are_shares, family=len(pairs))
    if pairs and all(one.found is None for one in found):
        return Standing(scorer, [*ordered, *unscored], there.are_shares)
    beside = {one.side.model: one for one in found}
    leading = tuple(
        side.model
        for side in ranked
        if (math.isclose(means[side.model], best, abs_tol=1e-9) if shared else _is_level(beside.get(side.model)))
    )
    return Standing(scorer, [*ordered, *unscored], there.are_shares, leading, shared, means, beside)


def _is_level(beside: Difference | None) -> bool:
    """Whether a model scores like the first one on every sample that both were scored on; that one is."""
    return beside is None or (beside.found is not None and not beside.found.better and not beside.found.worse)


def _shared_means(sides: list[Side], samples: Samples) -> tuple[dict[str, float], int]:
    """By model the mean over the samples that all of some sides were scored on, and how many these are."""
    values = {
        side.model: {row.sample_key: row.value for row in samples[side.run_id, side.model] if row.value is not None}
        for side in sides
    }
    shared = set.intersection(*(set(found) for found in values.values()))
    if not shared:
        return {}, 0
    return {model: math.fsum(found[key] for key in shared) / len(shared) for model, found in values.items()}, len(
        shared
    )
