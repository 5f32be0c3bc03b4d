"""What a comparison leaves to choose from, in words: better only by its test, and what that costs."""

from workbench.display.text import significant
from workbench.evaluation.choices import CheapestChoice
from workbench.evaluation.comparison import Comparison
from workbench.evaluation.sides import ModelResult
from workbench.wording.scores import size

_SAME = 0.005


def choice_text(one: CheapestChoice, found: Comparison) -> str:
    """Return which model is shown to be better and at what cost, and which of the others is the cheapest."""
    return " ".join(filter(None, (_better(one, found), _cheapest(one, found))))


def _better(one: CheapestChoice, found: Comparison) -> str:
    if one.better is None or one.better.found is None:
        return ""
    name, points = one.better.side.model, size(one.better.found.difference, are_shares=found.are_shares)
    takes = f"{_ratio(one, one.better.side)} {cost_text(one, found)}"
    return f"{name} is better than {one.baseline.model} by {points} and takes {takes}."


def _cheapest(one: CheapestChoice, found: Comparison) -> str:
    base = one.baseline.model
    if not one.alternatives:
        return _none_beside(one)
    others = "the one model" if one.alternatives == 1 else f"the {one.alternatives} models"
    among = f"Of {base} and {others} not shown to be worse"
    if one.cheapest is one.baseline:
        return f"{among}, {base} takes the fewest {cost_text(one, found)}."
    return f"{among}, {one.cheapest.model} takes the fewest {cost_text(one, found)}: {_ratio(one, one.cheapest)}."


def _none_beside(one: CheapestChoice) -> str:
    """Return why there is nothing to choose from beside the baseline."""
    base = one.baseline.model
    if not one.unclear:
        return f"{'The other model' if one.worse == 1 else 'Every other model'} is shown to be worse than {base}."
    if not one.worse:
        beside = "the other model" if one.unclear == 1 else "the others"
        return f"Too little is known to choose between {base} and {beside}."
    return f"Every other model is shown to be worse than {base}, or too little is known of it to say."


def _ratio(one: CheapestChoice, side: ModelResult) -> str:
    ratio = one.costs[side.model] / one.costs[one.baseline.model]
    if abs(ratio - 1) < _SAME:
        return "as many"
    return f"{significant(ratio)} times as many"


def cost_text(one: CheapestChoice, found: Comparison) -> str:
    """Return what its costs are counted in."""
    return f"{found.unit} a right answer" if one.of_units else "tokens an answer"
