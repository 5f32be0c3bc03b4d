"""What a comparison leaves to choose from: quality by its tests, beside what the models cost."""

from collections.abc import Sequence

import msgspec

from workbench.evaluation.comparison import Comparison
from workbench.evaluation.sides import Difference, ModelResult

SAME = 0.005
"""By which share two costs may differ and are still told as the same."""
_NOT_WORSE = ("better", "none shown", "too few")
"""What a test did not show to be worse; `open` is left out, as the unknown samples could show it."""


class CheapestChoice(msgspec.Struct, frozen=True):
    """A baseline and the models of its run that may be chosen in its place: with a margin those that are shown to be within
    it, otherwise those that are not shown to be worse.
    """

    baseline: ModelResult
    better: Difference | None
    """The one that is shown to be better by the most; None where none is."""
    cheapest: ModelResult
    """Of the baseline and those that may be chosen; of several the one that is shown to be better, or else the baseline."""
    are_alike: bool
    """Whether another one of them costs as little."""
    loses: float | None
    """How much worse the cheapest is at most, where that is known; 0 of the baseline, and of what is shown to be better. With a
    margin of all differences together, as the margin is held against that, otherwise by the interval of its difference."""
    margin: float | None
    """How much worse a model may be; None: that was not said."""
    alternatives: int
    """How many those are beside the baseline."""
    worse: int
    """How many are shown to be worse, with a margin by more than that."""
    unclear: int
    """Of how many too little is known to say."""
    of_units: bool
    """Whether costs are units of the allowance for a right answer; otherwise completion tokens an answer."""
    costs: dict[str, float]
    """By model."""


def choice_of(found: Comparison) -> CheapestChoice | None:
    """Return what there is to choose from; None where several runs are compared, or costs are not known."""
    if len(found.runs) != 1 or not found.differences:
        return None
    baseline = found.differences[0].baseline
    if not found.is_ranked(baseline):
        return None
    others = [one for one in found.differences if _may_be_chosen(one, found) and found.is_ranked(one.side)]
    candidates = [baseline, *(one.side for one in others)]
    of_units = bool(found.unit) and all(_units(side, found) is not None for side in candidates)
    costs = _costs(candidates, found, of_units=of_units)
    if len(costs) < len(candidates):
        return None
    better = [one for one in others if one.verdict == "better" and one.found is not None]
    worse = sum(_is_worse(one, found) for one in found.differences)
    best = max(better, key=_by_how_much, default=None)
    least = min(costs.values())
    cheap = [side for side in candidates if costs[side.model] <= least * (1 + SAME)]
    cheapest = best.side if best is not None and best.side in cheap else cheap[0]
    return CheapestChoice(
        baseline,
        best,
        cheapest,
        len(cheap) > 1,
        next((_loses(one, found) for one in others if one.side is cheapest), 0.0),
        found.margin,
        len(others),
        worse,
        len(found.differences) - len(others) - worse,
        of_units,
        costs,
    )


def _may_be_chosen(one: Difference, found: Comparison) -> bool:
    return one.verdict in _NOT_WORSE if found.margin is None else found.beside_margin(one) == "within"


def _is_worse(one: Difference, found: Comparison) -> bool:
    return one.verdict == "worse" if found.margin is None else found.beside_margin(one) == "beyond"


def _loses(one: Difference, found: Comparison) -> float | None:
    low = one.low if found.margin is None else one.low_of_all
    if low is None or one.is_finished_only:
        return None
    return 0.0 if one.verdict == "better" else max(-low, 0.0)


def _by_how_much(one: Difference) -> float:
    return 0.0 if one.found is None else one.found.difference


def _units(side: ModelResult, found: Comparison) -> float | None:
    one = found.units_per_right.get(side.key)
    return None if one is None or one.high is None or not one.amount else one.amount


def _costs(sides: Sequence[ModelResult], found: Comparison, *, of_units: bool) -> dict[str, float]:
    """Return what each model costs, of those of which that is known."""
    known = {side.model: _units(side, found) if of_units else side.completion_tokens for side in sides}
    return {model: cost for model, cost in known.items() if cost}
