"""Agreement of numbers, beside scikit-learn and scipy, and its intervals by simulation."""

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from workbench.stats.agreement import UNBOUNDED, Agreement, agreement, bias_at_extreme
from workbench.stats.jackknife import Estimate, Missing
from workbench.stats.kappa import Squared, kappa


def drawn(chance: random.Random, n: int, levels: Sequence[float], alike: float) -> tuple[list[float], list[float]]:
    right = [chance.choice(levels) for _ in range(n)]
    given = [one if chance.random() < alike else chance.choice(levels) for one in right]
    return given, right


def value(found: Estimate | None) -> float:
    return math.nan if found is None else found.value


@pytest.mark.slow
def test_equal_to_scikit_learn_and_scipy_over_500_tables() -> None:
    from scipy.stats import pearsonr, spearmanr
    from sklearn.metrics import cohen_kappa_score, mean_absolute_error

    chance = random.Random(11)
    for _ in range(500):
        levels = range(chance.choice([2, 3, 6, 11]))
        given, right = drawn(chance, chance.randint(12, 60), [float(one) for one in levels], chance.random())
        if len(set(given)) < 2 or len(set(right)) < 2:
            continue
        found = agreement(given, right)
        assert value(found.weighted_kappa) == pytest.approx(
            cohen_kappa_score(list(map(int, given)), list(map(int, right)), weights="quadratic", labels=list(levels)),
            abs=1e-9,
        )
        assert value(found.pearson) == pytest.approx(float(pearsonr(given, right)[0]), abs=1e-9)
        assert value(found.spearman) == pytest.approx(float(spearmanr(given, right)[0]), abs=1e-9)
        assert found.absolute_error.value == pytest.approx(mean_absolute_error(right, given), abs=1e-9)


def test_halves_of_a_grade_weigh_as_steps_do() -> None:
    given, right = drawn(random.Random(3), 40, [0.0, 1.0, 2.0, 3.0], 0.5)
    halves = agreement([one / 2 for one in given], [one / 2 for one in right])
    assert value(halves.weighted_kappa) == pytest.approx(value(agreement(given, right).weighted_kappa), abs=1e-12)


def test_what_is_not_defined_is_not_said() -> None:
    same = agreement([4.0] * 10, [4.0] * 10)
    assert (same.pearson, same.spearman, same.weighted_kappa) == (None, None, None)
    constant = agreement([4.5] * 10, [float(n % 5) for n in range(10)])
    assert constant.pearson is None
    assert value(constant.weighted_kappa) == pytest.approx(0.0)
    perfect = agreement([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    assert perfect.weighted_kappa is not None
    assert perfect.weighted_kappa.high == 1  # and four samples hardly say that it is not 0
    assert perfect.bias.low == pytest.approx(-1.5 * (1 - 0.025**0.25)), "as many other answers may be unseen"
    single = agreement([1.0], [2.0])
    assert (single.bias, single.absolute_error) == (Estimate(-1.0), Estimate(1.0))


def test_numbers_of_one_cluster_are_left_out_together() -> None:
    given, right = drawn(random.Random(5), 20, [0.0, 1.0, 2.0, 3.0, 4.0], 0.6)
    alone = agreement(given, right)
    copied = agreement(given * 4, right * 4, [n % 20 for n in range(80)])
    assert copied.bias.low == pytest.approx(alone.bias.low)
    assert copied.weighted_kappa is not None
    assert copied.weighted_kappa.low == pytest.approx(alone.weighted_kappa.low if alone.weighted_kappa else None)


def test_what_is_not_right_is_as_far_from_right_as_can_be() -> None:
    right = [1.0, 2.0, 4.0, 5.0, 3.0] * 4
    given: list[float | Missing] = [1.0, 2.0, Missing.NOT_RIGHT, 5.0, Missing.NOT_RIGHT] * 4
    found = agreement(given, right)
    assert (found.n, found.numbers) == (20, 12)
    assert found.absolute_error.value == pytest.approx(
        (3 + 2) / 5
    )  # 4 is 3 from 1; of the ends that are as far from 3 the least
    assert found.bias.value == pytest.approx(-1)
    assert found.pearson is not None  # of the numbers that there are
    assert found.pearson.value == pytest.approx(1)
    assert found.pearson.high == found.pearson.value
    assert found.weighted_kappa is not None
    assert found.weighted_kappa.value == pytest.approx(kappa(np.array([1.0, 2, 1, 5, 1] * 4), np.array(right), Squared))


def test_a_declared_scale_reaches_beyond_what_is_right_somewhere() -> None:
    right = [2.0, 3.0, 4.0, 5.0] * 5
    given: list[float | Missing] = [2.0, 3.0, 4.0, Missing.NOT_RIGHT] * 5
    spanned, declared = agreement(given, right), agreement(given, right, scale=(0.0, 5.0))
    assert [spanned.bias.value, declared.bias.value] == pytest.approx([-3 / 4, -5 / 4])
    assert spanned.weighted_kappa is not None
    assert declared.weighted_kappa is not None
    assert declared.weighted_kappa.value < spanned.weighted_kappa.value
    given[:] = [2.0, 3.0, 4.0, Missing.UNKNOWN] * 5
    unknown = agreement(given, right, scale=(0.0, 5.0))
    assert [unknown.bias.at_lowest, unknown.bias.at_highest] == pytest.approx([-5 / 4, 0])


def test_numbers_without_ends_say_nothing_of_answers_without_one() -> None:
    right = [1.5, -300.0, 40.25, 7.0, 81000.0, 2.0]
    given = [1.0, -300.0, 41.25, 7.5, 80000.0, 3.0]
    whole = agreement(given, right, scale=UNBOUNDED)
    assert whole.weighted_kappa is None
    assert whole.n == 6
    assert whole.bias.value == pytest.approx(sum(x - y for x, y in zip(given, right, strict=True)) / 6)
    assert whole.absolute_error.high is not None
    for missing in Missing:
        found = agreement([*given[:5], missing], right, scale=UNBOUNDED)
        assert (found.n, found.numbers) == (5, 5)
        assert found.absolute_error.value == pytest.approx((0.5 + 0 + 1 + 0.5 + 1000) / 5)
        assert (found.absolute_error.high, found.absolute_error.at_highest) == (None, None)
        assert found.pearson is not None
        assert found.pearson.low is None
    with pytest.raises(ValueError, match="no answer has a number"):
        agreement([Missing.NOT_RIGHT] * 3, right[:3], scale=UNBOUNDED)


def test_targets_that_are_all_alike_have_a_bias_and_no_kappa() -> None:
    found = agreement([4.0, 3.0, 5.0, 4.0, Missing.UNKNOWN], [4.0] * 5, scale=(0.0, 5.0))
    assert (found.weighted_kappa, found.pearson) == (None, None)
    assert (found.absolute_error.at_lowest, found.absolute_error.at_highest) == pytest.approx((2 / 5, 6 / 5))


def test_the_size_of_a_bias_is_between_what_unknown_numbers_could_make_it() -> None:
    """By trying every number of a fine scale for each of two."""
    chance, scale = random.Random(23), (0.0, 4.0)
    for _ in range(40):
        y = np.array([float(chance.randrange(5)) for _ in range(7)])
        x = np.array([*(float(chance.randrange(5)) for _ in range(5)), math.nan, math.nan])
        tried = [
            abs(float((np.array([*x[:5], *two]) - y).mean()))
            for two in itertools.product(np.linspace(*scale, 41), repeat=2)
        ]
        least, most = (
            abs(float((bias_at_extreme(x, y, np.isnan(x), scale, highest=highest) - y).mean()))
            for highest in (False, True)
        )
        assert most == pytest.approx(max(tried))
        assert -1e-9 <= min(tried) - least < 0.1 / 7 + 1e-9


def test_unknown_numbers_leave_figures_between_what_they_could_be() -> None:
    """By trying every number of a fine scale for each of three."""
    chance = random.Random(17)
    for _ in range(10):
        right = [float(chance.randrange(5)) for _ in range(9)]
        if len(set(right)) < 2:
            continue
        known = [float(chance.randrange(5)) for _ in range(6)]
        found = agreement([*known, *[Missing.UNKNOWN] * 3], right)
        scale = np.linspace(min(right), max(right), 13)
        tried = [np.array([*known, *three]) - np.array(right) for three in itertools.product(scale, repeat=3)]
        for figure, values in (
            (found.bias, [float(one.mean()) for one in tried]),
            (found.absolute_error, [float(np.abs(one).mean()) for one in tried]),
            (found.weighted_kappa, [kappa(one + right, np.array(right), Squared) or 0.0 for one in tried]),
        ):
            assert figure is not None
            assert figure.at_lowest is not None
            assert figure.at_highest is not None
            assert -1e-9 <= min(values) - figure.at_lowest < 0.02
            assert -1e-9 <= figure.at_highest - max(values) < 0.02


def figures(found: Agreement) -> dict[str, Estimate | None]:
    return {name: getattr(found, name) for name in ("bias", "absolute_error", "pearson", "spearman", "weighted_kappa")}


@pytest.mark.long
@pytest.mark.parametrize("alike", [0.2, 0.6, 0.9, 0.95, 0.975])
def test_intervals_cover_what_they_promise_from_80_samples_on(alike: float) -> None:
    """Also where two or four of 80 differ, of which hardly more is known than of so many."""
    chance, levels = random.Random(7), [n / 2 for n in range(11)]
    true = figures(agreement(*drawn(chance, 400_000, levels, alike)))
    rounds, held = 1500, dict.fromkeys(true, 0)
    for _ in range(rounds):
        for name, found in figures(agreement(*drawn(chance, 80, levels, alike))).items():
            wanted = true[name]
            assert found is not None
            held[name] += (found.low or -9) <= value(wanted) <= (9 if found.high is None else found.high)
    assert min(held.values()) / rounds >= 0.94 - 3 * math.sqrt(0.95 * 0.05 / rounds), held


def test_the_interval_of_a_mean_distance_is_wider_above_it_and_never_below_nothing() -> None:
    right = [float(number % 5) for number in range(80)]
    given = [one + (1.0 if number < 4 else 0.0) for number, one in enumerate(right)]
    found = agreement(given, right).absolute_error
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < found.value == pytest.approx(0.05)
    assert found.high / found.value == pytest.approx(found.value / found.low), "the same in times"
    nothing = agreement(right, right)
    unseen = 1 - 0.025 ** (1 / 80)
    assert nothing.absolute_error.low == 0
    assert nothing.absolute_error.high == pytest.approx(unseen * 3.2)
    assert nothing.bias.high == pytest.approx(unseen * 2)
    assert nothing.pearson is not None
    assert nothing.pearson.low is not None
    off = [4.0 if one <= 2 else 0.0 for one in right]  # as far as can be; of two ends that are as far the least
    worst = np.corrcoef([*right * 22, *off], [*right * 22, *right])[0, 1]  # one in 23 is 0.0435
    assert nothing.pearson.low == pytest.approx(worst, abs=0.01)


def test_one_wrong_answer_makes_nothing_surer() -> None:
    """Without a wrong one the lower bound is what so many answers leave open; with one that is slightly wrong it is hardly higher."""
    right = [float(number % 5) for number in range(80)]
    one_off = [*right[:-1], right[-1] - 1]
    perfect, nearly = figures(agreement(right, right)), figures(agreement(one_off, right))
    for name in ("pearson", "spearman", "weighted_kappa"):
        whole, almost = perfect[name], nearly[name]
        assert whole is not None
        assert almost is not None
        assert whole.low is not None
        assert almost.low is not None
        assert 0.5 < almost.low < whole.low + 0.01 < almost.value < 1
    assert perfect["absolute_error"] is not None
    assert nearly["absolute_error"] is not None
    assert (perfect["absolute_error"].high or 9) < (nearly["absolute_error"].high or 0)


def clustered(
    chance: random.Random, clusters: int, levels: Sequence[float]
) -> tuple[list[float], list[float], list[int]]:
    """Draw answers to five questions of each text, which are easier or harder together."""
    given, right, texts = list[float](), list[float](), list[int]()
    for text in range(clusters):
        own = drawn(chance, 5, levels, chance.choice([0.3, 0.6, 0.9]))
        given += own[0]
        right += own[1]
        texts += [text] * 5
    return given, right, texts


@pytest.mark.long
def test_intervals_cover_what_they_promise_from_20_clusters_on() -> None:
    chance, levels = random.Random(13), [n / 2 for n in range(11)]
    given, right, _ = clustered(chance, 40_000, levels)
    true = figures(agreement(given, right))
    rounds, held = 1500, dict.fromkeys(true, 0)
    for _ in range(rounds):
        for name, found in figures(agreement(*clustered(chance, 20, levels))).items():
            wanted = true[name]
            assert found is not None
            held[name] += (found.low or -9) <= value(wanted) <= (9 if found.high is None else found.high)
    assert min(held.values()) / rounds >= 0.94 - 3 * math.sqrt(0.95 * 0.05 / rounds), held
