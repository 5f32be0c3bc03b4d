"""Agreement of numbers, beside scikit-learn and scipy, and its intervals by simulation."""

import math
import random
from collections.abc import Sequence

import pytest

from workbench.stats.agreement import Agreement, Estimate, agreement


def drawn(chance: random.Random, n: int, levels: Sequence[float], alike: float) -> tuple[list[float], list[float]]:
    right = [chance.choice(levels) for _ in range(n)]
    given = [one if chance.random() < alike else chance.choice(levels) for one in right]
    return given, right


def value(found: Estimate | None) -> float:
    return math.nan if found is None else found.value


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
    assert perfect.weighted_kappa == Estimate(1.0)
    single = agreement([1.0], [2.0])
    assert (single.bias, single.absolute_error) == (Estimate(-1.0), Estimate(1.0))


def test_numbers_of_one_cluster_are_left_out_together() -> None:
    given, right = drawn(random.Random(5), 20, [0.0, 1.0, 2.0, 3.0, 4.0], 0.6)
    alone = agreement(given, right)
    copied = agreement(given * 4, right * 4, [n % 20 for n in range(80)])
    assert copied.bias.low == pytest.approx(alone.bias.low)
    assert copied.weighted_kappa is not None
    assert copied.weighted_kappa.low == pytest.approx(alone.weighted_kappa.low if alone.weighted_kappa else None)


def figures(found: Agreement) -> dict[str, Estimate | None]:
    return {name: getattr(found, name) for name in ("bias", "absolute_error", "pearson", "spearman", "weighted_kappa")}


@pytest.mark.long
@pytest.mark.parametrize("alike", [0.2, 0.6])
def test_intervals_cover_what_they_promise_from_80_samples_on(alike: float) -> None:
    chance, levels = random.Random(7), [n / 2 for n in range(11)]
    true = figures(agreement(*drawn(chance, 400_000, levels, alike)))
    rounds, held = 1500, dict.fromkeys(true, 0)
    for _ in range(rounds):
        for name, found in figures(agreement(*drawn(chance, 80, levels, alike))).items():
            wanted = true[name]
            assert found is not None
            held[name] += (found.low or -9) <= value(wanted) <= (9 if found.high is None else found.high)
    assert min(held.values()) / rounds >= 0.94 - 3 * math.sqrt(0.95 * 0.05 / rounds), held
