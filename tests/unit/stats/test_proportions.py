"""Paired proportions: tests, intervals and what they could show, beside independent computations and simulations."""

import math
from itertools import product

import numpy
import pytest
from scipy import optimize, stats

from workbench.stats import proportions
from workbench.stats.paired import LEVEL, POWER, holm, level_shown, paired

REPEATS = 10_000
GRID = [
    pytest.param(n, share, part, marks=[pytest.mark.slow] if n > 100 else [])
    for n, share, part in product((50, 100, 200, 500), (0.1, 0.2, 0.3, 0.5, 0.8), (0, 0.5, 0.9, 1))
    if n * share >= 10
]
"""Samples, the share that differs, and the difference as a part of that."""


def score_of(difference: float, better: int, worse: int, n: int) -> float:
    """Tango's statistic, with the likeliest share of losses where the likelihood is level instead of by its formula."""

    def slope(loses: float) -> float:
        return better / (loses + difference) + worse / loses - 2 * (n - better - worse) / (1 - 2 * loses - difference)

    margin = 1e-13
    low, high = max(0.0, -difference) + margin, (1 - difference) / 2 - margin
    loses = optimize.brentq(slope, low, high, xtol=1e-15, rtol=1e-15)
    return (better - worse - n * difference) / math.sqrt(n * (2 * loses + difference * (1 - difference)))


@pytest.mark.parametrize(("better", "worse", "n"), [(12, 2, 50), (40, 61, 300), (5, 5, 20), (1, 3, 44), (30, 1, 60)])
def test_the_ends_of_tangos_interval_are_where_the_score_test_turns(better: int, worse: int, n: int) -> None:
    z = stats.norm.isf(LEVEL / 2)
    low, high = proportions.tango(better, worse, n, LEVEL)
    assert score_of(low, better, worse, n) == pytest.approx(z, abs=1e-9)
    assert score_of(high, better, worse, n) == pytest.approx(-z, abs=1e-9)


def test_many_differences_are_tested_as_scipy_does() -> None:
    assert proportions.p_value(40, 61) == pytest.approx(stats.chi2.sf(21**2 / 101, 1), abs=1e-12)
    assert proportions.p_value(9, 3) == pytest.approx(stats.binomtest(9, 12).pvalue, abs=1e-12)
    assert proportions.p_value(0, 0) == 1


def test_the_worked_example_of_a_textbook() -> None:
    """Agresti, A. (2002), Categorical Data Analysis, 10.1: of 1,600 voters 150 changed one way and 86 the other."""
    assert stats.chi2.isf(proportions.p_value(86, 150), 1) == pytest.approx(17.36, abs=0.005)


def test_decision_and_interval_never_contradict_each_other() -> None:
    for n, better, worse, level in product((30, 200), range(30), range(30), (0.05, 0.0125)):
        if better + worse <= n:
            low, high = proportions.interval(better, worse, n, level)
            assert (low <= 0 <= high) == (proportions.p_value(better, worse) >= level), (n, better, worse, level)
            assert -1 <= low < (better - worse) / n < high <= 1 or better + worse == n


def test_an_adjusted_decision_and_the_interval_that_is_shown_agree() -> None:
    counts = [(12, 2), (20, 9), (14, 10), (30, 12), (3, 0)]
    p_values = [proportions.p_value(*pair) for pair in counts]
    for (better, worse), p_value, adjusted in zip(counts, p_values, holm(p_values), strict=True):
        low, high = proportions.interval(better, worse, 100, level_shown(p_value, adjusted))
        assert (low <= 0 <= high) == (adjusted >= LEVEL)


def test_a_difference_that_came_out_even_has_a_width() -> None:
    low, high = proportions.interval(0, 0, 50, LEVEL)
    assert low == pytest.approx(-high)
    assert high > 0.05


@pytest.mark.parametrize(("n", "share", "part"), GRID)
def test_intervals_cover_the_truth(n: int, share: float, part: float) -> None:
    difference = share * part
    chances = [(share + difference) / 2, (share - difference) / 2, 1 - share]
    drawn = numpy.random.default_rng(n).multinomial(n, chances, size=REPEATS)
    pairs, times = numpy.unique(drawn[:, :2], axis=0, return_counts=True)
    covered = 0
    for (better, worse), count in zip(pairs.tolist(), times.tolist(), strict=True):
        low, high = proportions.interval(better, worse, n, LEVEL)
        covered += count * (low - 1e-9 <= difference <= high + 1e-9)
    assert covered / REPEATS >= 0.93


@pytest.mark.parametrize(("n", "share"), list(product((100, 300, 1000), (0.15, 0.3, 0.6))))
def test_the_difference_that_could_be_shown_is_shown_as_often_as_said(n: int, share: float) -> None:
    half = round(n * share / 2)
    reach = proportions.detectable(half, half, n, LEVEL, POWER)
    assert reach is not None
    share = 2 * half / n
    chances = [(share + reach) / 2, (share - reach) / 2, 1 - share]
    drawn = numpy.random.default_rng(n).multinomial(n, chances, size=REPEATS)
    shown = [proportions.p_value(better, worse) < LEVEL for better, worse in drawn[:, :2].tolist()]
    assert 0.7 <= sum(shown) / REPEATS <= 0.9


def test_where_too_few_differ_nothing_could_be_shown() -> None:
    assert proportions.detectable(0, 0, 50, LEVEL, POWER) is None
    assert proportions.detectable(2, 1, 50, LEVEL, POWER) is None


def test_samples_of_one_cluster_vary_together() -> None:
    one, other = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    clusters = ["a", "a", "b", "b", "c", "c"]
    found = paired(one, other, clusters)
    mean = 1 / 6
    residuals = [2 - 2 * mean, 0 - 2 * mean, -1 - 2 * mean]
    error = math.sqrt(3 / 2 * sum(value**2 for value in residuals)) / 6
    assert (found.method, found.clusters) == ("t test over 3 clusters", 3)
    assert found.error == pytest.approx(error, abs=1e-9)
    assert found.p_value == pytest.approx(2 * stats.t.sf(mean / error, 2), abs=1e-9)
    low, high = found.interval() or (0, 0)
    assert low == pytest.approx(mean - stats.t.isf(LEVEL / 2, 2) * error, abs=1e-9)
    assert high == pytest.approx(mean + stats.t.isf(LEVEL / 2, 2) * error, abs=1e-9)


def test_one_cluster_says_nothing() -> None:
    found = paired([1.0, 1.0], [0.0, 0.0], ["a", "a"])
    assert (found.p_value, found.interval(), found.detectable()) == (1.0, None, None)


def test_clusters_of_one_are_none() -> None:
    assert paired([1.0, 0.0], [0.0, 0.0], ["a", "b"]).method == "McNemar's exact test"


def test_other_scores_have_the_interval_of_their_t_test() -> None:
    one, other = [0.9, 0.4, 0.7, 0.8], [0.5, 0.5, 0.6, 0.2]
    found, expected = paired(one, other), stats.ttest_rel(one, other).confidence_interval()
    assert found.interval() == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert found.p_value == pytest.approx(stats.ttest_rel(one, other).pvalue, abs=1e-9)
    assert paired([0.5] * 3, [0.4] * 3).interval() is None
