"""How far given numbers agree with those that are right: on average, one by one, in their order, and beyond chance."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

import msgspec

from workbench.stats.intervals import student_reach

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_MOST_GROUPS = 100
"""More clusters are left out by groups, as many times as this."""
_LEAST_GROUPS = 3
_ONE = 1 - 1e-12
"""A correlation beyond it has no spread that its transformation could show."""


class Estimate(msgspec.Struct, frozen=True):
    """A figure with its interval at 95 %; None where nothing shows its spread."""

    value: float
    low: float | None = None
    high: float | None = None


class Agreement(msgspec.Struct, frozen=True):
    """Numbers beside those that are right; None where a figure is not defined, as for numbers that are all the same."""

    n: int
    bias: Estimate
    """Of the mean: given less right."""
    absolute_error: Estimate
    """The mean distance."""
    pearson: Estimate | None
    spearman: Estimate | None
    """The same of ranks, ties at their mean."""
    weighted_kappa: Estimate | None
    """Cohen's, with quadratic weights: 1 is the same everywhere, 0 what chance gives."""


def agreement(given: Sequence[float], right: Sequence[float], clusters: Sequence[Hashable] | None = None) -> Agreement:
    """Return how far numbers agree with those that are right.

    Intervals are by the jackknife that leaves out one cluster at a time, for correlations and kappa on the scale of atanh, with
    Student's t. Kappa with quadratic weights over steps of one size is 1 - E(x - y)² / (var x + var y + (mean x - mean y)²).

    Sources: Efron and Stein (1981), The jackknife estimate of variance; Cohen (1968), Weighted kappa; Lin (1989), A concordance
    correlation coefficient.

    Args:
        given: At least one number.
        right: As many.
        clusters: What belongs together; by default each by itself.
    """
    import numpy as np

    x, y = np.asarray(given, dtype=float), np.asarray(right, dtype=float)
    left = _left_out(list(range(len(x))) if clusters is None else list(clusters))

    def estimate(figure: "Callable[[Numbers, Numbers], float | None]", *, is_correlation: bool) -> Estimate | None:
        value = figure(x, y)
        if value is None:
            return None
        return _jackknifed(value, [figure(x[kept], y[kept]) for kept in left], is_correlation=is_correlation)

    bias = estimate(lambda x, y: float(np.mean(x - y)), is_correlation=False)
    error = estimate(lambda x, y: float(np.mean(np.abs(x - y))), is_correlation=False)
    assert bias is not None
    assert error is not None
    return Agreement(
        len(x),
        bias,
        error,
        estimate(_correlation, is_correlation=True),
        estimate(lambda x, y: _correlation(_ranks(x), _ranks(y)), is_correlation=True),
        estimate(_weighted_kappa, is_correlation=True),
    )


def _left_out(clusters: list[Hashable]) -> "list[np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]":
    """Return which numbers are left when each cluster is left out in turn; none where there are too few clusters."""
    import numpy as np

    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    groups = min(len(names), _MOST_GROUPS)
    group = np.asarray([names[name] % groups for name in clusters]) if groups else np.asarray([], dtype=int)
    return [group != one for one in range(groups)] if groups >= _LEAST_GROUPS else []


def _correlation(x: "Numbers", y: "Numbers") -> float | None:
    import numpy as np

    spread = math.sqrt(float(np.var(x)) * float(np.var(y)))
    return None if spread <= 0 else float(np.mean((x - x.mean()) * (y - y.mean()))) / spread


def _weighted_kappa(x: "Numbers", y: "Numbers") -> float | None:
    import numpy as np

    by_chance = float(np.var(x)) + float(np.var(y)) + (float(x.mean()) - float(y.mean())) ** 2
    return None if by_chance <= 0 else 1 - float(np.mean((x - y) ** 2)) / by_chance


def _ranks(x: "Numbers") -> "Numbers":
    import numpy as np

    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    ends: Numbers = np.cumsum(counts).astype(float)
    ranks: Numbers = (ends - (counts - 1) / 2)[place]
    return ranks


def _jackknifed(value: float, without: Sequence[float | None], *, is_correlation: bool) -> Estimate:
    known = [one for one in without if one is not None]
    if not known or len(known) < len(without):
        return Estimate(value)
    if is_correlation and max(map(abs, (value, *known))) > _ONE:
        return Estimate(value)
    groups = len(known)
    scaled = [math.atanh(one) for one in known] if is_correlation else known
    centre = math.fsum(scaled) / groups
    error = math.sqrt((groups - 1) / groups * math.fsum((one - centre) ** 2 for one in scaled))
    half = student_reach(groups) * error
    middle = math.atanh(value) if is_correlation else value
    low, high = middle - half, middle + half
    return Estimate(value, math.tanh(low), math.tanh(high)) if is_correlation else Estimate(value, low, high)
