"""Tests of a difference between two models on the samples that both answered."""

import math
from collections.abc import Sequence

import msgspec

LEVEL = 0.05
"""A difference is shown where its p-value, adjusted for all pairs that were looked at, is below this."""


class Paired(msgspec.Struct, frozen=True):
    """How the scores of one model differ from another's, sample by sample."""

    better: int
    worse: int
    same: int
    difference: float
    """Of the means."""
    p_value: float
    """Two-sided, of this pair alone."""
    method: str


def paired(one: Sequence[float], other: Sequence[float]) -> Paired:
    """Compare the scores of two models.

    Right and wrong are compared by the exact test of McNemar; other scores by the t test of their differences, and where
    these are all alike by the sign test, as they have no spread.

    Args:
        one: A score for each sample.
        other: Scores of the same samples, in the same order.
    """
    differences = [left - right for left, right in zip(one, other, strict=True)]
    better, worse = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    mean = math.fsum(differences) / len(differences)
    if all(value in (0.0, 1.0) for values in (one, other) for value in values):
        p_value, method = sign_test(better, worse), "McNemar's exact test"
    elif len({round(value, 9) for value in differences}) == 1:  # as floats 0.4 - 0.3 and 0.3 - 0.2 are not equal
        p_value, method = sign_test(better, worse), "sign test"
    else:
        p_value, method = _t_test(differences, mean), "paired t test"
    return Paired(better, worse, len(differences) - better - worse, mean, p_value, method)


def sign_test(better: int, worse: int) -> float:
    """The exact two-sided p-value of so many differences for and against; of McNemar's test where scores are 0 and 1.

    Source: McNemar, Q. (1947), Note on the sampling error of the difference between correlated proportions or
    percentages, Psychometrika 12, 153-157: twice the smaller tail of a binomial with p = 1/2, at most 1.
    """
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(better, worse), better + worse, 0.5)))


def _t_test(differences: Sequence[float], mean: float) -> float:
    """Student's two-sided test of a mean difference of 0: t = m / (s / √n), with n - 1 degrees of freedom."""
    from scipy.special import stdtr

    n = len(differences)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in differences) / (n - 1))
    return 2 * float(stdtr(n - 1, -abs(mean) / (deviation / math.sqrt(n))))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of several tests, adjusted so that any of them is below a level by mere chance as rarely as one would.

    Source: Holm, S. (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6, 65-70.
    """
    adjusted, least = [0.0] * len(p_values), 0.0
    for place, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[number]))
        adjusted[number] = least
    return adjusted
