"""Scores and their differences as numbers with their units."""

from workbench.display.text import significant
from workbench.evaluation.per_right import PerRight
from workbench.evaluation.sides import Difference, ModelResult
from workbench.stats.intervals import Interval


def interval_text(difference: Difference, *, are_shares: bool) -> str:
    """Return the interval of a difference."""
    return bounds_text(difference.low, difference.high, are_shares=are_shares)


def bounds_text(low: float | None, high: float | None, *, are_shares: bool) -> str:
    """Return an interval of differences."""
    if low is None or high is None:
        return "not available"
    return f"[{signed(low, are_shares=are_shares)}, {signed(high, are_shares=are_shares)}]"


def signed(value: float, *, are_shares: bool) -> str:
    """Return a difference with its sign: in points of a hundred where scores are shares."""
    return ("+" if value > 0 else "−" if value < 0 else "") + _number(abs(value), are_shares=are_shares)


def signed_size(value: float, *, are_shares: bool) -> str:
    """Return a difference with its sign and its unit."""
    return signed(value, are_shares=are_shares) + _unit(are_shares=are_shares)


def size(value: float, *, are_shares: bool) -> str:
    """Return a difference without its sign, with its unit."""
    return _number(value, are_shares=are_shares) + _unit(are_shares=are_shares)


def margin_size(margin: float, *, are_shares: bool) -> str:
    """Return a margin as it was given, with its unit."""
    number = f"{100 * margin if are_shares else margin:.6g}"
    return number if not are_shares else f"{number} point{'' if number == '1' else 's'}"


def _unit(*, are_shares: bool) -> str:
    return " points" if are_shares else ""


def _number(value: float, *, are_shares: bool) -> str:
    return f"{100 * value:.1f}" if are_shares else significant(value)


def per_right_text(found: PerRight | None) -> str:
    """Return what a right answer takes with its interval: `412 [350, 520]`, or `at least 350` without an upper end."""
    if found is None:
        return "–"
    if found.high is None:
        return f"at least {significant(found.low)}"
    return f"{significant(found.amount)} [{significant(found.low)}, {significant(found.high)}]"


def mean_text(found: Interval) -> str:
    """Return a mean over all asked: `0.844`, or between which it is where some are unknown: `0.810 to 0.860`."""
    return range_text(found.mean, found.at_worst, found.at_best)


def range_text(mean: float | None, at_worst: float | None, at_best: float | None) -> str:
    """Return a mean over all asked, or between which it is; without a scale, the mean of what is scored, said to be that."""
    if at_worst is not None and at_best is not None:
        return f"{at_worst:.3f}" if at_worst == at_best else f"{at_worst:.3f} to {at_best:.3f}"
    return "not scored" if mean is None else f"{mean:.3f} of what is scored"


def with_bounds(found: Interval | None) -> str:
    """Return a mean with its 95 % interval: `0.844 [0.720, 0.930]`."""
    if found is None:
        return "–"
    return mean_text(found) + ("" if found.low is None else f" [{found.low:.3f}, {found.high:.3f}]")


def score_text(side: ModelResult) -> str:
    """Return a side's mean with its interval: `0.844 [0.72, 0.93]`."""
    if side.interval is None:
        return "not scored"
    mean = mean_text(side.interval)
    if side.interval.low is None or side.interval.high is None:
        return mean
    return f"{mean} [{side.interval.low:.2f}, {side.interval.high:.2f}]"


def p_text(p_value: float) -> str:
    """Return a p-value as papers give it: `p < .001`, `p = .013`."""
    if p_value < 0.001:
        return "p < .001"
    return "p = 1" if p_value > 0.9995 else f"p = {f'{p_value:.3f}'.removeprefix('0')}"
