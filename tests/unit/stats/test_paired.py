import math
import random

import pytest
from scipy import stats

from workbench.stats.paired import LEVEL, holm, holm_of_differing, paired
from workbench.stats.proportions import sign_test


@pytest.mark.parametrize(("better", "worse"), [(12, 0), (0, 12), (9, 3), (5, 5), (1, 0), (0, 0), (40, 61)])
def test_the_sign_test_agrees_with_scipy(better: int, worse: int) -> None:
    expected = stats.binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert sign_test(better, worse) == pytest.approx(expected, abs=1e-12)


def test_right_and_wrong_are_compared_by_what_differs() -> None:
    found = paired([1.0] * 49, [0.0] * 12 + [1.0] * 37)
    assert (found.better, found.worse, found.same, found.method) == (12, 0, 37, "McNemar's exact test")
    assert found.difference == pytest.approx(12 / 49)
    assert found.p_value == pytest.approx(2 * 0.5**12, abs=1e-15)


def test_other_scores_are_compared_as_scipy_does() -> None:
    chance = random.Random(1)
    one, other = ([round(chance.random(), 3) for _ in range(40)] for _ in range(2))
    found = paired(one, other)
    assert found.method == "paired t test"
    assert found.p_value == pytest.approx(float(stats.ttest_rel(one, other).pvalue), abs=1e-12)


def test_differences_without_spread_are_counted() -> None:
    found = paired([0.5] * 10, [0.4] * 10)
    assert found.method == "sign test"
    assert found.p_value == pytest.approx(2 * 0.5**10)
    found = paired([0.4, 0.3], [0.3, 0.2])
    assert (found.method, found.p_value) == ("sign test", 0.5), "what a float cannot write is not a spread"
    assert paired([0.3], [0.3]).p_value == paired([0.9], [0.3]).p_value == 1.0


@pytest.mark.parametrize(("one", "other"), [(1.0, 0.5), (0.5, 1.0), (0.3, 0.3), (0.6, 0.4)])
def test_a_difference_that_is_the_same_everywhere_is_bounded_by_the_scale(one: float, other: float) -> None:
    """It holds the mean of whatever else may be there and was not met, in 39 of 40 cases to either side."""
    for n in (3, 10, 40):
        found = paired([one] * n, [other] * n, span=1.0)
        low, high = found.interval() or (1, -1)
        unseen = 1 - 0.025 ** (1 / n)  # of all samples, were they there the chance to meet none would be 1 in 40
        assert (low, high) == pytest.approx(
            ((1 - unseen) * (one - other) - unseen, (1 - unseen) * (one - other) + unseen)
        )
        for level in (0.2, 0.05, 0.01, 1e-6):
            low, high = found.interval(level) or (1, -1)
            assert (low <= 0 <= high) == (found.p_value >= level)
    assert found.method == "exact bound"


def test_right_and_wrong_that_are_the_same_everywhere_are_bounded_as_exactly() -> None:
    low, high = paired([1.0] * 5 + [0.0] * 5, [1.0] * 5 + [0.0] * 5, span=1.0).interval() or (1, -1)
    assert -low == high == pytest.approx(1 - 0.025**0.1)


def test_holm_by_its_own_rule() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_models_that_are_alike_are_rarely_told_apart() -> None:
    """Five models of one strength, every pair looked at: any difference at all is shown in at most 6 % of the runs."""
    chance, wrong, runs = random.Random(7), 0, 1_000
    for _ in range(runs):
        hard = [chance.random() for _ in range(60)]
        models = [[float(chance.random() > 0.3 + 0.4 * sample) for sample in hard] for _ in range(5)]
        pairs = [paired(models[one], models[other]).p_value for one in range(5) for other in range(one)]
        wrong += min(holm(pairs)) < LEVEL
    assert wrong / runs <= 0.06


def test_pairs_that_cannot_differ_cost_the_others_nothing() -> None:
    assert holm_of_differing([0.02, 1.0, None, 0.03], [True, False, True, True]) == [0.04, 1.0, None, 0.04]
    assert holm_of_differing([1.0, None], [False, False]) == [1.0, None]


def test_scores_that_never_differ_are_bounded_by_how_many_there_are() -> None:
    values = [0.5, 0.25, 1.0, 0.75] * 20
    same = paired(values, values, span=1.0)
    assert (same.difference, same.p_value) == (0.0, 1.0)
    low, high = same.interval() or (math.nan, math.nan)
    assert high == -low == pytest.approx(1 - 0.025 ** (1 / 80))
    exact = paired([1.0] * 80, [1.0] * 80, span=1.0).interval()
    assert exact is not None
    assert high == exact[1], "as of right or wrong"
    tens = paired([10 * value for value in values], [10 * value for value in values], span=10.0).interval()
    assert tens == pytest.approx((10 * low, 10 * high))
    assert paired(values, values).interval() is None, "nothing says how far a sample could differ"
    by_twos = paired(values, values, [n // 2 for n in range(80)], span=1.0).interval()
    assert by_twos == pytest.approx((0.025 ** (1 / 40) - 1, 1 - 0.025 ** (1 / 40)))
    uneven = paired(values, values, [min(n, 40) for n in range(80)], span=1.0).interval()
    assert uneven is not None
    assert uneven[1] > 0.5, "the largest cluster may be what differs"
    lifted = paired([value + 0.1 for value in values], values, span=1.0)
    above = lifted.interval()
    assert above is not None
    assert above[0] < 0.1 < above[1], "around a difference that is the same everywhere"


@pytest.mark.parametrize(
    ("sizes", "least"),
    [([5] * 6, 0.03), ([1, 3, 5, 7, 9, 11, 13, 15, 17, 19], 0.02), ([30] + [2] * 5, 0.0), ([100] + [2] * 19, 0.0)],
)
def test_clusters_of_any_sizes_show_no_difference_by_chance(sizes: list[int], least: float) -> None:
    """Of 20 texts one of which has most of the questions, two models of one strength were told apart in 3 of 4 cases."""
    chance, shown, runs = random.Random(3), 0, 1_500
    clusters = [place for place, size in enumerate(sizes) for _ in range(size)]
    for _ in range(runs):
        texts = [chance.gauss(0, 1) for _ in sizes]
        one = [texts[place] + chance.gauss(0, 0.3) for place in clusters]
        found = paired(one, [0.0] * len(one), clusters)
        low, high = found.interval() or (math.nan, math.nan)
        assert (low <= 0 <= high) == (found.p_value >= LEVEL), "the interval says what the test says"
        shown += found.p_value < LEVEL
    assert least <= shown / runs <= 0.065


def test_clusters_of_one_size_are_compared_by_their_means() -> None:
    chance = random.Random(4)
    one, other = ([round(chance.random(), 3) for _ in range(40)] for _ in range(2))
    found = paired(one, other, [place // 4 for place in range(40)])
    means = [math.fsum(one[n] - other[n] for n in range(first, first + 4)) / 4 for first in range(0, 40, 4)]
    assert found.p_value == pytest.approx(float(stats.ttest_1samp(means, 0).pvalue))
    assert found.freedom == pytest.approx(9)
    assert found.clusters == 10


def test_one_text_shows_nothing_of_others() -> None:
    """It has 30 of 40 questions, and the others are alike: what differs is one text."""
    texts = [0] * 30 + [1 + place // 2 for place in range(10)]
    assert paired([1.0] * 40, [0.0] * 30 + [1.0] * 10, texts).p_value > 0.2


@pytest.mark.parametrize("share", [0.01, 0.03, 0.1])
def test_the_bound_of_scores_that_never_differ_holds(share: float) -> None:
    """Of samples where so many would differ by all of the scale, as few look alike as the level says where that is more."""
    found = paired([0.5] * 60, [0.5] * 60, span=1.0).interval()
    assert found is not None
    all_alike = (1 - share) ** 60
    assert share <= found[1] or all_alike <= LEVEL / 2
