import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from tests.cases import first_of
from workbench.stats.intervals import AskedValues, ClusterSum, Interval, mean_interval, mean_intervals, student

LEVEL = 0.025


def intervals(counted: Sequence[Mapping[float, int]], scale: tuple[float, float] | None = (0.0, 1.0)) -> list[Interval]:
    """The intervals of means of values that are all known."""
    found = mean_intervals([AskedValues(counts, counts, counts, scale, sum(counts.values())) for counts in counted])
    return [one for one in found if one is not None]


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 40), (7, 40), (40, 40), (999, 1000)])
def test_right_or_wrong_is_clopper_and_pearsons(successes: int, n: int) -> None:
    interval = mean_interval([1.0] * successes + [0.0] * (n - successes))
    reference = stats.binomtest(successes, n).proportion_ci(method="exact")
    assert interval.low == pytest.approx(reference.low, abs=1e-12)
    assert interval.high == pytest.approx(reference.high, abs=1e-12)
    assert (interval.n, interval.mean) == (n, successes / n)


@pytest.mark.parametrize(
    "values", [[0.0, 0.5, 1.0], [0.2, 0.2, 0.9, 0.4], [0.5] * 30 + [1.0] * 40 + [0.0] * 10, [n / 20 for n in range(21)]]
)
def test_other_values_are_within_a_millionth_of_a_reference_integral(values: list[float]) -> None:
    found = mean_interval(values)
    assert found.low is not None
    assert found.high is not None
    assert at_most(found.low, [*values, 0.0]) == pytest.approx(LEVEL, abs=1e-6)
    assert at_most(-found.high, [-value for value in (*values, 1.0)]) == pytest.approx(LEVEL, abs=1e-6)


def at_most(bound: float, points: list[float]) -> float:
    """The probability that a sum with Dirichlet weights is at most a bound, by an adaptive integral."""
    apart = np.array(points) - bound
    apart = apart / np.sqrt((apart**2).sum())

    def integrand(u: float) -> float:
        return float(np.sin(np.arctan(apart * u).sum()) / (u * np.prod(np.sqrt(1 + (apart * u) ** 2))))

    parts = [
        integrate.quad(integrand, a, b, limit=500, epsabs=1e-11)[0] for a, b in itertools.pairwise([0, 1, 5, 25, 500])
    ]
    return 0.5 - float(sum(parts) + integrate.quad(integrand, 500, math.inf, limit=500, epsabs=1e-11)[0]) / math.pi


@pytest.mark.parametrize("values", [[0.5, 0.5], [0.5], [1.0], [0.0] * 3, [0.3] * 50])
def test_values_without_spread_have_a_width_on_a_known_scale(values: list[float]) -> None:
    found = mean_interval(values)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.high - found.low > 0.05


def test_more_values_than_steps_are_rounded_outward() -> None:
    values = [float(value) for value in np.random.default_rng(5).random(300)]
    found, floor = mean_interval(values), mean_interval([math.floor(value * 64) / 64 for value in values])
    ceiling = mean_interval([math.ceil(value * 64) / 64 for value in values])
    assert found.low == pytest.approx(floor.low, abs=1e-9)
    assert found.high == pytest.approx(ceiling.high, abs=1e-9)


@pytest.mark.parametrize("n", [1_000, 20_000, 500_000])
@pytest.mark.parametrize("shares", [(0.3, 0.3, 0.4), (0.001, 0.004, 0.995), (0.99, 0.005, 0.005)])
def test_of_many_samples_the_interval_is_that_of_the_normal_distribution(n: int, shares: tuple[float, ...]) -> None:
    counts = {value: round(n * share) for value, share in zip((0.0, 0.3, 1.0), shares, strict=True)}
    (found,) = intervals([counts])
    assert found.low is not None
    assert found.high is not None
    spread = math.sqrt(sum(count * (value - found.mean) ** 2 for value, count in counts.items()))
    reach = [(end - found.mean) / (spread / found.n) for end in (found.low, found.high)]
    rare = min(count for count in counts.values())
    assert reach == pytest.approx([-1.96, 1.96], abs=4 / math.sqrt(rare) + 0.01)


def test_another_scale_moves_and_stretches_the_interval() -> None:
    shares = mean_interval([0.0, 0.5, 1.0, 1.0])
    found = mean_interval([1.0, 3.0, 5.0, 5.0], (1.0, 5.0))
    assert shares.low is not None
    assert shares.high is not None
    assert (found.low, found.high) == pytest.approx((1 + 4 * shares.low, 1 + 4 * shares.high))


def test_many_at_once_are_the_same_as_each_alone() -> None:
    chosen = np.random.default_rng(3)
    samples = [
        [float(value) for value in chosen.choice([0.0, 0.25, 0.5, 1.0], size=size)] for size in (1, 2, 9, 40, 200)
    ]
    samples += [[1.0] * 5]
    together = intervals([Counter(values) for values in samples])
    for one, values in zip(together, samples, strict=True):
        alone = mean_interval(values)
        assert (one.mean, one.n, one.method) == (alone.mean, alone.n, alone.method)
        assert (one.low, one.high) == pytest.approx((alone.low, alone.high), abs=1e-7)


def every(first: Sequence[int], most: int) -> list[Any]:
    """These numbers, and all others from 2 to the most where there is time."""
    return [*first, *(pytest.param(n, marks=pytest.mark.long) for n in range(2, most + 1) if n not in first)]


@pytest.mark.parametrize("n", every([2, 3, 5, 10, 30, 80, 200], 200))
def test_right_or_wrong_misses_at_most_in_the_share_that_is_said(n: int) -> None:
    """By enumeration: how often a bound lies beyond the truth, at every truth of a grid."""
    bounds = intervals([{1.0: k, 0.0: n - k} if 0 < k < n else {float(k == n): n} for k in range(n + 1)])
    for truth in np.linspace(0.005, 0.995, 100):
        chances = stats.binom.pmf(np.arange(n + 1), n, truth)
        assert (
            sum(chance for chance, one in zip(chances, bounds, strict=True) if (one.low or 0) > truth) <= LEVEL + 1e-9
        )
        assert (
            sum(chance for chance, one in zip(chances, bounds, strict=True) if (one.high or 1) < truth) <= LEVEL + 1e-9
        )


@pytest.mark.parametrize("n", every([2, 5, 12, 30], 30))
def test_three_values_miss_at_most_in_the_share_that_is_said(n: int) -> None:
    splits = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    counted = [{value: count for value, count in zip((0.0, 0.5, 1.0), split, strict=True) if count} for split in splits]
    lows = np.array([one.low for one in intervals(counted)])
    highs = np.array([one.high for one in intervals(counted)])
    for shares in itertools.product((0.05, 0.2, 0.4, 0.7), repeat=2):
        if (rest := 1 - sum(shares)) <= 0:
            continue
        chances = stats.multinomial.pmf(splits, n, [*shares, rest])
        truth = shares[1] / 2 + rest
        assert chances[lows > truth].sum() <= LEVEL + 1e-9
        assert chances[highs < truth].sum() <= LEVEL + 1e-9


def clustered(groups: Sequence[Sequence[float]]) -> Interval:
    """The interval of a mean of values from 0 to 1 that belong to clusters."""
    counts = Counter(value for group in groups for value in group)
    sums = [ClusterSum(len(group), sum(group), sum(group)) for group in groups]
    (found,) = mean_intervals([AskedValues(counts, counts, counts, (0.0, 1.0), counts.total(), sums)])
    assert found is not None
    return found


def test_clusters_of_one_are_independent_values() -> None:
    values = [1.0] * 30 + [0.0] * 10 + [0.5] * 3
    alone, found = mean_interval(values), clustered([[value] for value in values])
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), abs=1e-6)


def test_clusters_that_score_alike_count_as_so_many_values() -> None:
    found, alone = clustered([[1.0] * 10] * 7 + [[0.0] * 10] * 3), mean_interval([1.0] * 7 + [0.0] * 3)
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), abs=1e-6)
    assert (found.n, found.clusters) == (100, 10)
    assert clustered([[1.0] * 9] * 3).high == pytest.approx(1.0, abs=1e-6)
    assert clustered([[0.0] * 9] * 3).low == 0.0


@pytest.mark.parametrize("runs", [100, pytest.param(4_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(("groups", "size", "alike"), first_of((10, 10, 0.5), (30, 4, 0.9), (60, 3, 0.0), (8, 25, 0.2)))
def test_the_interval_over_clusters_holds_what_it_should(groups: int, size: int, alike: float, runs: int) -> None:
    """Clusters of many sizes whose values are alike: at most 2.5 % of the intervals lie beyond the truth on either side."""
    chance, missed = np.random.default_rng(9), [0, 0]
    for _ in range(runs):
        sizes = chance.integers(1, 2 * size, groups)
        ease = [
            np.sqrt(alike) * chance.standard_normal() + np.sqrt(1 - alike) * chance.standard_normal(n) for n in sizes
        ]
        found = clustered([[float(value) for value in one < stats.norm.ppf(0.7)] for one in ease])
        missed = [missed[0] + ((found.low or 0) > 0.7), missed[1] + ((found.high or 1) < 0.7)]
    assert max(missed) / runs <= LEVEL + (0.04 if runs < 1_000 else 0.003)


@pytest.mark.parametrize("runs", [200, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(("samples", "epochs", "alike"), [(20, 4, 0.8), (50, 3, 0.5), (200, 5, 0.9)])
def test_the_interval_over_repeated_samples_holds_what_it_should(
    samples: int, epochs: int, alike: float, runs: int
) -> None:
    """The unit is the sample, with the mean of its epochs: at most 2.5 % of the intervals lie beyond the truth on a side."""
    chance = np.random.default_rng(10)
    hard = np.sqrt(alike) * chance.standard_normal((runs, samples, 1))
    right = hard + np.sqrt(1 - alike) * chance.standard_normal((runs, samples, epochs)) < stats.norm.ppf(0.7)
    found = intervals([Counter(map(float, means)) for means in right.mean(axis=2)])
    missed = sum((one.low or 0) > 0.7 for one in found), sum((one.high or 1) < 0.7 for one in found)
    assert max(missed) / runs <= LEVEL + (0.03 if runs < 1_000 else 0.0)


@pytest.mark.parametrize("weight", [0.02, 0.2, 0.5])
def test_the_width_is_near_student_s_where_student_s_covers(weight: float) -> None:
    values = [0.0] * round(200 * weight) + [0.5] * 40 + [1.0] * (160 - round(200 * weight))
    ours, low_high = mean_interval(values), stats.t.interval(0.95, 199, loc=np.mean(values), scale=stats.sem(values))
    assert ours.low is not None
    assert ours.high is not None
    assert ours.high - ours.low <= 1.6 * (low_high[1] - low_high[0])


def test_unknown_values_widen_the_interval_to_both_ends() -> None:
    known = Counter({1.0: 30, 0.0: 10})
    (found,) = mean_intervals(
        [AskedValues(known, known + Counter({0.0: 5}), known + Counter({1.0: 5}), (0.0, 1.0), 45)]
    )
    assert found is not None
    lowest, highest = mean_interval([1.0] * 30 + [0.0] * 15), mean_interval([1.0] * 35 + [0.0] * 10)
    assert (found.mean, found.n, found.at_worst, found.at_best) == (0.75, 45, 30 / 45, 35 / 45)
    assert (found.low, found.high) == (lowest.low, highest.high)
    assert not found.is_whole
    (nothing,) = mean_intervals([AskedValues({}, Counter({0.0: 5}), Counter({1.0: 5}), (0.0, 1.0), 5)])
    assert nothing is None, "of nothing known there is no mean"


def test_a_scale_of_one_point_is_none() -> None:
    """As of a judge whose verdicts all had the same score."""
    (found,) = intervals([Counter({0.5: 30})], (0.5, 0.5))
    assert (found.low, found.high) == (None, None), "no interval has the width 0"


def test_without_a_scale_what_is_missing_bounds_nothing() -> None:
    known = Counter({10.0: 3, 20.0: 5})
    (found,) = mean_intervals([AskedValues(known, known, known, None, 9)])
    assert found is not None
    assert (found.at_worst, found.at_best) == (None, None)
    assert "Student" in found.method


def test_without_a_scale_the_interval_is_students_and_says_so() -> None:
    values = [10.0, 50.0, 25.0, 100.0, 75.0]
    low, high = stats.t.interval(0.95, len(values) - 1, loc=sum(values) / 5, scale=stats.sem(values))
    found = mean_interval(values)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert "approximate" in found.method
    assert student(5, 52.0, stats.tstd(values)).low == pytest.approx(low)


@pytest.mark.parametrize("values", [[7.0], [7.0, 7.0]])
def test_without_a_scale_and_a_spread_there_is_no_interval(values: list[float]) -> None:
    found = mean_interval(values)
    assert (found.low, found.high) == (None, None)
    assert "not available" in found.method
