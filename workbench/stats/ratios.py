"""How much of one thing there is for one of another: a ratio of two sums, with its interval."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from workbench.stats.intervals import student_reach


class Ends(NamedTuple):
    """The interval of a ratio."""

    low: float
    high: float | None
    """None: the denominator may be nothing, and the ratio as large as you like."""


def fieller(parts: Sequence[tuple[float, float]]) -> Ends | None:
    """Return the 95 % interval of a ratio of sums, each part counting as one observation of both.

    It holds every ratio r for which Student's test does not rule out that the mean of numerator - r denominator is 0. Where
    the denominator is not shown to be above 0 it has no upper end. Of skewed numerators it is approximate: with 40 lognormal
    ones it covers .926 and more of .95.

    Source: Fieller, E. C. (1954), Some problems in interval estimation, Journal of the Royal Statistical Society B 16, 175-185.

    Args:
        parts: Of each cluster the sums of numerator and denominator, neither below 0.

    Returns:
        None of fewer than two parts, where the denominator is 0 everywhere, or where the numerator may be 0.
    """
    n = len(parts)
    if n < 2 or not any(below for _, below in parts):
        return None
    above, below = (math.fsum(part[side] for part in parts) / n for side in (0, 1))
    reach = student_reach(n) ** 2 / (n * (n - 1))
    spread_above = reach * math.fsum((part[0] - above) ** 2 for part in parts)
    spread_below = reach * math.fsum((part[1] - below) ** 2 for part in parts)
    together = reach * math.fsum((part[0] - above) * (part[1] - below) for part in parts)
    square, linear, constant = below**2 - spread_below, above * below - together, above**2 - spread_above
    if constant <= 0:
        return None
    root = math.sqrt(max(linear**2 - square * constant, 0.0))
    low = constant / (linear + root)  # of both roots the smaller positive one, also where `square` is about 0
    return Ends(low, (linear + root) / square if square > 0 else None)
