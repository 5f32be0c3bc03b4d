"""What a paired test shows of one difference, in words that follow from it."""

from workbench.display import significant
from workbench.evaluation.sides import Difference


def outcome(difference: Difference, *, are_shares: bool) -> str:
    """What the test shows."""
    found = difference.found
    counts = "" if found is None else f"{found.better}:{found.worse}"
    match difference.verdict:
        case "better" | "worse":
            return _shown(difference)
        case "open" if found is not None:
            said = "better" if found.difference > 0 else "worse"
            all_asked = f"over all {difference.asked}: {difference.unknown} unknown"
            return f"{said} on the {difference.shared} known of both; open {all_asked}"
        case "too few" if found is not None and not found.better + found.worse:
            return f"the same on every sample{_beside_unknown(difference)}"
        case "too few":
            return f"too few samples differ to tell ({counts}){_beside_unknown(difference)}"
        case "none shown":
            if difference.detectable is None:
                return f"no difference shown ({counts}){_beside_unknown(difference)}"
            reach = size(difference.detectable, are_shares=are_shares)
            return f"no difference shown ({counts}, could have shown ±{reach}){_beside_unknown(difference)}"
        case _:
            return "not comparable"


def _shown(difference: Difference) -> str:
    """A difference that is shown, and on what it rests."""
    said, among = difference.verdict, difference.among_scored
    if difference.is_finished_only:
        return (
            f"{said} on the {difference.shared} known of both; the scorer has no scale for {difference.unknown} others"
        )
    if among is None:
        return said
    other = "worse" if said == "better" else "better"
    is_reverse = among.better + among.worse > 0 and (among.difference > 0) != (said == "better")
    beside = (
        f"{other}, {among.better}:{among.worse}" if is_reverse else f"no difference shown, {among.better}:{among.worse}"
    )
    return f"{said} in right answers delivered; among the {among.n} scored on both: {beside}"


def _beside_unknown(difference: Difference) -> str:
    return f"; {difference.unknown} of {difference.asked} unknown" if difference.unknown else ""


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
