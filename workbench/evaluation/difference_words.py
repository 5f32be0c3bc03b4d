"""What a paired test shows of one difference, in words that follow from it."""

from workbench.display import significant
from workbench.evaluation.sides import Difference


def outcome(difference: Difference, *, are_shares: bool) -> str:
    """What the test shows."""
    found = difference.found
    counts = "" if found is None else f"{found.better}:{found.worse}"
    match difference.verdict:
        case "better" | "worse":
            return difference.verdict
        case "too few" if found is not None and not found.better + found.worse:
            return "the same on every sample"
        case "too few":
            return f"too few samples differ to tell ({counts})"
        case "none shown":
            if difference.detectable is None:
                return f"no difference shown ({counts})"
            reach = size(difference.detectable, are_shares=are_shares)
            return f"no difference shown ({counts}, could have shown ±{reach})"
        case _:
            return "not comparable"


def interval_text(difference: Difference, *, are_shares: bool) -> str:
    """The interval of a difference."""
    if difference.low is None or difference.high is None:
        return "not available"
    return f"[{signed(difference.low, are_shares=are_shares)}, {signed(difference.high, are_shares=are_shares)}]"


def signed(value: float, *, are_shares: bool) -> str:
    """A difference with its sign: in points of a hundred where scores are shares."""
    return ("+" if value > 0 else "−" if value < 0 else "") + _number(abs(value), are_shares=are_shares)


def size(value: float, *, are_shares: bool) -> str:
    """A difference without its sign, with its unit."""
    return _number(value, are_shares=are_shares) + unit(are_shares=are_shares)


def unit(*, are_shares: bool) -> str:
    """What follows the number."""
    return " points" if are_shares else ""


def _number(value: float, *, are_shares: bool) -> str:
    return f"{100 * value:.1f}" if are_shares else significant(value)
