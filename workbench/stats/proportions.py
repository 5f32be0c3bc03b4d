"""The difference of two proportions on the same samples: its test, its interval, and what it could have shown.

Only samples on which the two differ say anything: `better` and `worse` of n.
"""

import math
from collections.abc import Callable
from statistics import NormalDist

FEW = 25
"""With fewer samples that differ, an exact test decides, and the score test otherwise."""
_LEAST, _MOST = -1 + 1e-12, 1 - 1e-12


def p_value(better: int, worse: int) -> float:
    """Two-sided, of no difference: exact where few samples differ, and McNemar's score test otherwise.

    Source: McNemar, Q. (1947), Note on the sampling error of the difference between correlated proportions or
    percentages, Psychometrika 12, 153-157: (b - c)² / (b + c) is chi-square with 1 degree of freedom.
    """
    from scipy.special import chdtrc

    if better + worse < FEW:
        return sign_test(better, worse)
    return float(chdtrc(1, (better - worse) ** 2 / (better + worse)))


def highest_share(found: int, n: int, confidence: float) -> float:
    """Return the highest share that so many found among n independent ones do not exclude; with none found about 3/n at 95 %.

    Source: Clopper, C. and Pearson, E. (1934), The use of confidence or fiducial limits, Biometrika 26, 404-413.
    """
    from scipy.special import betaincinv

    return float(betaincinv(found + 1, n - found, confidence)) if found < n else 1.0


def sign_test(better: int, worse: int) -> float:
    """Return the exact two-sided p-value of so many differences for and against; of McNemar's test where scores are 0 and 1.

    It is twice the smaller tail of a binomial with p = 1/2, at most 1.
    """
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(better, worse), better + worse, 0.5)))


def interval(better: int, worse: int, n: int, level: float) -> tuple[float, float]:
    """Return the interval of the difference (better - worse) / n at confidence 1 - level.

    It holds 0 exactly where `p_value` is not below the level: Tango's score interval is the score test turned round; where
    the exact test decides it is widened to the exact conditional interval, as far as that reaches.
    """
    low, high = tango(better, worse, n, level)
    if better + worse < FEW:
        other = _conditional(better, worse, n, level)
        low, high = min(low, other[0]), max(high, other[1])
    return low, high


def tango(better: int, worse: int, n: int, level: float) -> tuple[float, float]:
    """Return the score interval of a difference of paired proportions.

    Source: Tango, T. (1998), Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design, Statistics in Medicine 17, 891-908.
    """
    z = NormalDist().inv_cdf(1 - level / 2)

    def score(difference: float) -> float:
        return _score(difference, better, worse, n)

    low = -1.0 if score(_LEAST) < z else _where(lambda difference: score(difference) <= z, _LEAST, _MOST)
    high = 1.0 if score(_MOST) > -z else _where(lambda difference: score(difference) <= -z, _LEAST, _MOST)
    return low, high


def _where(begun: Callable[[float], bool], low: float, high: float, *, within: float = 1e-13) -> float:
    """Return where something begins to be so between two numbers, by halves:
    importing scipy's solvers takes longer than a page.
    """
    while high - low > within:
        middle = (low + high) / 2
        low, high = (low, middle) if begun(middle) else (middle, high)
    return (low + high) / 2


def _score(difference: float, better: int, worse: int, n: int) -> float:
    """Tango's statistic of a supposed difference: 0 at the observed one, falling as it grows."""
    a, b = 2 * n, -better - worse + (2 * n - better + worse) * difference
    c = -worse * difference * (1 - difference)
    loses = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)  # the likeliest share of losses there
    variance = n * (2 * loses + difference * (1 - difference))
    return (better - worse - n * difference) / math.sqrt(max(variance, 1e-300))


def _conditional(better: int, worse: int, n: int, level: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson of better among the samples that differ, as a difference over all of them."""
    from scipy.special import betaincinv

    differ = better + worse
    low = float(betaincinv(better, worse + 1, level / 2)) if better else 0.0
    high = highest_share(better, better + worse, 1 - level / 2)
    return (2 * low - 1) * differ / n, (2 * high - 1) * differ / n


def detectable(better: int, worse: int, n: int, level: float, power: float) -> float | None:
    """Return the smallest difference that the test shows with a probability, at the share of samples that differ here.

    Args:
        level: Of the test.

    Returns:
        None where so few samples differ that none would be shown.
    """
    share = (better + worse) / n
    if not share or (power_of := _power(share, n, level))(share) < power:
        return None
    return _where(lambda difference: power_of(difference) >= power, 0.0, share, within=1e-4)


def _power(share: float, n: int, level: float) -> Callable[[float], float]:
    """Return what tells how probably the test shows a difference: over every number of samples that may differ."""
    import numpy
    from scipy.special import bdtr, gammaln, ndtri, xlog1py, xlogy

    differ = numpy.arange(1, n + 1)
    ways = gammaln(n + 1) - gammaln(differ + 1) - gammaln(n - differ + 1)
    weight = numpy.exp(ways + xlogy(differ, share) + xlog1py(n - differ, -share))
    differ, weight = differ[weight > 1e-12], weight[weight > 1e-12]
    z = float(ndtri(1 - level / 2))
    most = [_most_against(int(number), level, z) for number in differ]
    shown, against = numpy.array(most) >= 0, numpy.maximum(most, 0)

    def power_of(difference: float) -> float:
        chance = (1 + difference / share) / 2
        return float(numpy.sum((weight * (bdtr(against, differ, 1 - chance) + bdtr(against, differ, chance)))[shown]))

    return power_of


def _most_against(differ: int, level: float, z: float) -> int:
    """As many samples on the smaller side as the test still takes for a difference; -1 where it takes none."""
    from scipy.special import bdtr

    if differ >= FEW:
        return math.ceil((differ - z * math.sqrt(differ)) / 2) - 1
    return max((number for number in range(differ) if bdtr(number, differ, 0.5) <= level / 2), default=-1)
