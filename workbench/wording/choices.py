"""What a comparison leaves to choose from, in words: better only by its test, what that costs, and what it may lose."""

from workbench.display.text import significant
from workbench.evaluation.choices import SAME, CheapestChoice
from workbench.evaluation.comparison import Comparison
from workbench.evaluation.sides import ModelResult
from workbench.wording.scores import margin_size, size


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
        return _none_beside(one, found)
    others = "the one model" if one.alternatives == 1 else f"the {one.alternatives} models"
    among = f"Of {base} and {others} {_chosen_by(one, found)}"
    cost, name = cost_text(one, found), one.cheapest.model
    takes = f"none takes fewer {cost} than {name}" if one.are_alike else f"{name} takes the fewest {cost}"
    if one.cheapest is one.baseline:
        return f"{among}, {takes}."
    ratio = "" if one.are_alike else f": {_ratio(one, one.cheapest)}"
    return f"{among}, {takes}{ratio}{_loses(one, found)}."


def _chosen_by(one: CheapestChoice, found: Comparison) -> str:
    if one.margin is None:
        return "not shown to be worse"
    return f"shown to be less than {margin_size(one.margin, are_shares=found.are_shares)} worse"


def _loses(one: CheapestChoice, found: Comparison) -> str:
    """Return how much worse the cheapest may be: that no test shows it to be worse does not say that it is as good."""
    if one.loses is None:
        return "; how much worse it may be is not known"
    return f"; it may be up to {size(one.loses, are_shares=found.are_shares)} worse" if one.loses else ""


def _none_beside(one: CheapestChoice, found: Comparison) -> str:
    """Return why there is nothing to choose from beside the baseline."""
    base = one.baseline.model
    if one.margin is not None:
        within = f"within {margin_size(one.margin, are_shares=found.are_shares)} of {base}"
        worse = f"; {one.worse} of {one.worse + one.unclear} {'is' if one.worse == 1 else 'are'} shown to be below that"
        return f"No other model is shown to be {within}{worse if one.worse else ''}."
    if not one.unclear:
        return f"{'The other model' if one.worse == 1 else 'Every other model'} is shown to be worse than {base}."
    if not one.worse:
        beside = "the other model" if one.unclear == 1 else "the others"
        return f"Too little is known to choose between {base} and {beside}."
    return f"Every other model is shown to be worse than {base}, or too little is known of it to say."


def _ratio(one: CheapestChoice, side: ModelResult) -> str:
    ratio = one.costs[side.model] / one.costs[one.baseline.model]
    if abs(ratio - 1) < SAME:
        return "as many"
    return f"{significant(ratio)} times as many"


def cost_text(one: CheapestChoice, found: Comparison) -> str:
    """Return what its costs are counted in."""
    return f"{found.unit} a right answer" if one.of_units else "tokens an answer"
