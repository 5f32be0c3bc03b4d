"""Intervals beside means."""

import math
from collections.abc import Sequence

import msgspec

CONFIDENCE = 0.95


class Interval(msgspec.Struct, frozen=True):
    """A mean with its interval at `CONFIDENCE`; bounds are None where one value tells nothing of the spread."""

    mean: float
    low: float | None
    high: float | None
    n: int
    """Independent observations: samples, not calls, where epochs repeat."""
    method: str


def wilson(successes: int, n: int) -> Interval:
    """The score interval of a proportion.

    Args:
        successes: 0 to n.
        n: Independent trials, at least 1.

    Source: Wilson, E. B. (1927), Probable inference, the law of succession, and statistical inference, JASA 22,
    209-212: centre (p + z²/2n) / (1 + z²/n), half width z √(p(1-p)/n + z²/4n²) / (1 + z²/n).
    """
    from statistics import NormalDist  # with fractions, for a page

    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    p, z2 = successes / n, z * z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low, high = (0.0 if successes == 0 else centre - half), (1.0 if successes == n else centre + half)
    return Interval(p, low, high, n, "Wilson")


def student(values: Sequence[float]) -> Interval:
    """The t interval of a mean.

    Args:
        values: Independent observations, at least one.
    """
    n = len(values)
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1)) if n > 1 else None
    return _student(n, mean, deviation)


def student_reach(observations: int, confidence: float = CONFIDENCE) -> float:
    """How many standard errors an interval reaches to each side of a mean; of one observation as far as of two."""
    from scipy.special import stdtrit  # takes 50 ms to import

    return float(stdtrit(max(observations - 1, 1), (1 + confidence) / 2))


def _student(n: int, mean: float, deviation: float | None) -> Interval:
    """Source: Student (1908), The probable error of a mean, Biometrika 6, 1-25: m ± t(n-1) s / √n."""
    if n < 2 or deviation is None:
        return Interval(mean, None, None, n, "one value")
    half = student_reach(n) * deviation / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n, "Student's t over samples")


def mean_interval(values: Sequence[float]) -> Interval:
    """The interval that suits the values: Wilson's for right or wrong, Student's otherwise.

    Where every value is a share, from 0 to 1, the mean's interval ends there too.
    """
    if all(value in (0.0, 1.0) for value in values):
        return wilson(round(sum(values)), len(values))
    return _within(student(values), are_shares=all(0 <= value <= 1 for value in values))


def interval_of_moments(n: int, mean: float, deviation: float | None, *, is_binary: bool, are_shares: bool) -> Interval:
    """The same from what it needs of the values.

    Args:
        n: How many, at least one.
        mean: Of them.
        deviation: Their standard deviation; None of a single one.
        is_binary: Whether every one is 0 or 1.
        are_shares: Whether every one is from 0 to 1.
    """
    return wilson(round(n * mean), n) if is_binary else _within(_student(n, mean, deviation), are_shares=are_shares)


def _within(found: Interval, *, are_shares: bool) -> Interval:
    """A mean of shares is a share."""
    if found.low is None or found.high is None or not are_shares:
        return found
    return msgspec.structs.replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))
