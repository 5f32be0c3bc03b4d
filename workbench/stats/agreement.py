"""How far given numbers agree with those that are right: on average, one by one, in their order, and beyond chance."""

import math
from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from workbench.stats.jackknife import (
    CORRELATION,
    DISTANCE,
    LEAST_GROUPS,
    Estimate,
    Jackknife,
    Missing,
    each_alone,
    largest_share,
)
from workbench.stats.kappa import Squared, ends_of, kappa_estimate

if TYPE_CHECKING:
    from workbench.stats.jackknife import Mask, Numbers


UNBOUNDED = (-math.inf, math.inf)
"""A scale without ends."""


class Agreement(msgspec.Struct, frozen=True):
    """Numbers beside those that are right; None where a figure is not defined, as for numbers that are all the same."""

    n: int
    """Answers that are known: with a number, or not right."""
    bias: Estimate
    """Of the mean: given less right."""
    absolute_error: Estimate
    """The mean distance."""
    pearson: Estimate | None
    """Of the answers with a number alone."""
    spearman: Estimate | None
    """The same of ranks, ties at their mean."""
    weighted_kappa: Estimate | None
    """Cohen's, with quadratic weights: 1 is the same everywhere, 0 what chance gives. None too without a scale that has ends."""
    numbers: int
    """Answers with a number."""


def agreement(
    given: Sequence[float | Missing],
    right: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    scale: tuple[float, float] | None = None,
) -> Agreement:
    """Return how far numbers agree with those that are right.

    Where an answer is not right, the value of the scale that is farthest from the right one stands for it; correlations
    leave it out. An unknown answer may have been any value of the scale. On a scale without ends nothing stands for either:
    figures are of the numbers given, without an interval where there are others. Intervals
    are by the jackknife that leaves out one cluster at a time, for correlations and kappa on the scale of atanh, for
    distances on that of the logarithm, with Student's t. Kappa with quadratic weights over steps of one size is
    1 - E(x - y)² / (var x + var y + (mean x - mean y)²).

    Sources: Cohen (1968), Weighted kappa; Lin (1989), A concordance correlation coefficient.

    Args:
        given: At least one that is known.
        right: As many.
        clusters: What belongs together; by default each by itself.
        scale: The least and the most that is right somewhere, which holds all of both; by default what the right numbers span.
            Infinite ends are none.

    Raises:
        ValueError: Without ends, where no answer has a number.
    """
    import numpy as np

    if not is_bounded(scale):
        return _of_numbers_alone(given, right, clusters)
    x, y, unknown = as_arrays(given, right, scale)
    each = each_alone(clusters, len(x))
    over = Jackknife((x, y), unknown, each)
    is_number = np.asarray([not isinstance(one, Missing) for one in given])
    of_numbers = [one for one, there in zip(each, is_number, strict=True) if there]
    numbers = Jackknife((x[is_number], y[is_number]), np.zeros(len(of_numbers), dtype=bool), of_numbers)

    bias, error = _bias_and_error(over, y, scale, 0 if unknown.any() else len(set(each)))
    return Agreement(
        int((~unknown).sum()),
        bias,
        error,
        numbers.estimate(pearson, ends=CORRELATION, at_worst=lambda y, wrong: _correlation_at_worst(y, wrong, scale)),
        numbers.estimate(spearman, ends=CORRELATION, at_worst=lambda y, wrong: _correlation_at_worst(ranks(y), wrong)),
        None if float(y.var()) == 0 else kappa_estimate(over, x, y, unknown, partial(Squared, scale=scale)),
        len(of_numbers),
    )


def is_bounded(scale: tuple[float, float] | None) -> bool:
    """Return whether a scale has ends: that of the right numbers has."""
    return scale is None or all(map(math.isfinite, scale))


def _of_numbers_alone(
    given: Sequence[float | Missing], right: Sequence[float], clusters: Sequence[Hashable] | None
) -> Agreement:
    """Return the agreement of numbers without ends, in which nothing can stand for an answer without one."""
    import numpy as np

    x, y, missing = as_arrays(given, right, UNBOUNDED)
    if missing.all():
        raise ValueError("no answer has a number")
    each = each_alone(clusters, len(x))
    over = Jackknife((x, y), missing, each)
    bias, error = (
        over.estimate(lambda x, y: float(np.mean(x - y))),
        over.estimate(lambda x, y: float(np.mean(np.abs(x - y))), ends=DISTANCE),
    )
    assert bias is not None
    assert error is not None
    pearson_s, spearman_s = (over.estimate(of, ends=CORRELATION) for of in (pearson, spearman))
    known = int((~missing).sum())
    return Agreement(known, bias, error, pearson_s, spearman_s, None, known)


def _bias_and_error(
    over: Jackknife, y: "Numbers", scale: tuple[float, float] | None, clusters: int
) -> tuple[Estimate, Estimate]:
    """Return the bias and the mean error.

    Args:
        y: What is right.
        clusters: How many there are; 0 where answers are unknown.
    """
    import numpy as np

    least, most = (np.full_like(y, end) for end in ends_of(y, scale))
    far = farthest(y, scale)
    bias = over.estimate(lambda x, y: float(np.mean(x - y)), lambda: (least, most))
    error = over.estimate(
        lambda x, y: float(np.mean(np.abs(x - y))),
        lambda: (y, far),
        ends=DISTANCE,
        at_worst=lambda y, wrong: wrong * float(np.abs(farthest(y, scale) - y).mean()),
    )
    assert bias is not None
    assert error is not None
    if clusters < LEAST_GROUPS:
        return bias, error
    unseen = largest_share(clusters)
    return (
        _at_most(bias, unseen, float((least - y).mean()), float((most - y).mean())),
        _at_most(error, unseen, 0.0, float(np.abs(far - y).mean())),
    )


def _at_most(found: Estimate, unseen: float, least: float, most: float) -> Estimate:
    """Return a mean that is the same in every answer, which shows no spread, with what a share of other answers may do to it.

    Args:
        unseen: The share.
        least: The mean over answers that make it least.
        most: The mean over answers that make it most.
    """
    if found.low is not None:
        return found
    low, high = (found.value + unseen * (end - found.value) for end in (least, most))
    return Estimate(found.value, low, high)


def _correlation_at_worst(right: "Numbers", wrong: float, scale: tuple[float, float] | None = None) -> float:
    """Return a correlation of answers that are right but for a share that is as far off as can be.

    Args:
        right: What is right, not all the same, or its ranks.
        wrong: The share.
    """
    import numpy as np

    far = farthest(right, scale)
    mean = (1 - wrong) * right + wrong * far
    spread = float(np.mean((1 - wrong) * right**2 + wrong * far**2) - mean.mean() ** 2) * float(right.var())
    return float(np.mean(mean * (right - right.mean()))) / math.sqrt(spread) if spread > 0 else -1.0


def as_arrays(
    given: Sequence[float | Missing], right: Sequence[float], scale: tuple[float, float] | None = None
) -> "tuple[Numbers, Numbers, Mask]":
    """Return the numbers given, those that are right, and which are unknown; what is not right is the farthest there can
    be.
    """
    import numpy as np

    y = np.asarray(right, dtype=float)
    unknown = np.asarray([one is Missing.UNKNOWN for one in given])
    x = np.asarray([math.nan if isinstance(one, Missing) else one for one in given], dtype=float)
    not_right = np.asarray([one is Missing.NOT_RIGHT for one in given])
    if not is_bounded(scale):  # nothing is the farthest
        return x, y, unknown | not_right
    x[not_right] = farthest(y, scale)[not_right]
    return x, y, unknown


def farthest(right: "Numbers", scale: tuple[float, float] | None = None) -> "Numbers":
    """Return the end of the scale that is farthest from each right number; of two that are as far, the least."""
    import numpy as np

    least, most = ends_of(right, scale)
    far: Numbers = np.where(right - least >= most - right, least, most)
    return far


def bias_at_extreme(
    x: "Numbers", y: "Numbers", unknown: "Mask", scale: tuple[float, float] | None, *, highest: bool
) -> "Numbers":
    """Return all answers, the unknown ones such that the size of the bias is the largest or the smallest that it can be.

    Args:
        x: What was given; of unknown answers anything.
        y: What is right.
        unknown: Which answers are not known; one at least.
        highest: Whether the largest is wanted.
    """
    import numpy as np

    least, most = ends_of(y, scale)
    lowest, uppermost = np.where(unknown, least, x), np.where(unknown, most, x)
    below, above = float((lowest - y).sum()), float((uppermost - y).sum())
    if highest:
        share = 1.0 if abs(above) >= abs(below) else 0.0
    else:  # as near to none as they reach
        share = min(max(-below / (above - below), 0.0), 1.0) if above > below else 0.0
    filled: Numbers = lowest + share * (uppermost - lowest)
    return filled


def pearson(x: "Numbers", y: "Numbers") -> float | None:
    """Return Pearson's correlation; None where either is the same everywhere."""
    if not len(x):
        return None
    x, y = x - x.mean(), y - y.mean()
    spread = math.sqrt(float(x @ x)) * math.sqrt(float(y @ y))
    return None if spread <= 0 else float(x @ y) / spread


def spearman(x: "Numbers", y: "Numbers") -> float | None:
    """Return Spearman's correlation, Pearson's of ranks; None where either is the same everywhere."""
    return pearson(ranks(x), ranks(y))


def ranks(x: "Numbers") -> "Numbers":
    """Return the rank of each number, of equal ones the mean of theirs."""
    import numpy as np

    among = np.sort(x)
    found: Numbers = (np.searchsorted(among, x) + np.searchsorted(among, x, "right") + 1) / 2
    return found
