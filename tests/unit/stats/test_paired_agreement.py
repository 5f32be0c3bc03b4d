"""Differences of kappa and accuracy, beside every way to swap two models, and how often their test errs."""

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import spearmanr

from workbench.stats.jackknife import estimate_of
from workbench.stats.paired_agreement import (
    MOST_EXACT,
    AbsoluteBias,
    Accuracy,
    Correlation,
    Kappa,
    MacroF1,
    MeanError,
    PairedAgreement,
    RankCorrelation,
    SummedFigure,
    WeightedKappa,
    paired_agreements,
)


def drawn(chance: random.Random, n: int, alike: float, labels: int = 3) -> tuple[list[float], list[float], list[float]]:
    right = [float(chance.randrange(labels)) for _ in range(n)]
    one, other = (
        [target if chance.random() < alike else float(chance.randrange(-1, labels)) for target in right]
        for _ in range(2)
    )
    return one, other, right


def compared(
    both: tuple[np.ndarray, np.ndarray], right: np.ndarray, clusters: Sequence[int], figure: SummedFigure
) -> PairedAgreement | None:
    (found,) = paired_agreements(both, right, clusters, [figure])
    return found


FIGURES: list[SummedFigure] = [
    Kappa(3), WeightedKappa(), Accuracy(), MeanError(), AbsoluteBias(), Correlation(), MacroF1(3),
]  # fmt: skip


@pytest.mark.parametrize(
    "figure", FIGURES, ids=["kappa", "weighted kappa", "accuracy", "error", "bias", "pearson", "macro F1"]
)
def test_few_clusters_are_swapped_in_every_way(figure: SummedFigure) -> None:
    chance, tried = random.Random(41), 0
    for _ in range(20):
        one, other, right = map(np.array, drawn(chance, 12, 0.5))
        clusters = [chance.randrange(6) for _ in range(12)]
        found = compared((one, other), right, clusters, figure)
        if found is None:
            continue
        tried += 1
        differences = []
        for swapped in itertools.product([False, True], repeat=6):
            here = np.array([swapped[cluster] for cluster in clusters])
            values = [figure.value(np.where(here, *pair), right) for pair in ((other, one), (one, other))]
            differences.append(np.nan if None in values else float(values[0] or 0.0) - float(values[1] or 0.0))
        assert found.difference == pytest.approx(differences[0])
        as_large = ~(np.abs(differences) < abs(differences[0]) - 1e-12)
        assert found.p_value == pytest.approx(np.mean(as_large))
        assert found.method.startswith("permutation test over")
    assert tried > 10


def test_figures_together_and_alone_say_the_same_without_a_cluster() -> None:
    """The jackknife of those that add up is of their sums; of the others it is taken of the answers that are left."""
    chance = random.Random(67)
    one, other, right = map(np.array, drawn(chance, 60, 0.5))
    clusters = [chance.randrange(20) for _ in right]
    figures = [*FIGURES, RankCorrelation()]
    for figure, found in zip(figures, paired_agreements((one, other), right, clusters, figures), strict=True):
        assert found is not None
        alone = compared((one, other), right, clusters, figure)
        assert alone is not None
        assert found.p_value == pytest.approx(alone.p_value, abs=0.03)  # other draws
        left = [[cluster != name for cluster in clusters] for name in range(20)]
        values = [
            figure.value(one[kept], right[kept]) - figure.value(other[kept], right[kept])  # type: ignore[operator]
            for kept in left
        ]
        expected = estimate_of(found.difference, values)
        assert found.low == pytest.approx(expected.low)
        assert found.high == pytest.approx(expected.high)


def test_ranks_are_those_among_the_answers_of_a_model() -> None:
    """Any monotone change of its numbers changes nothing; one that uses the ends of the scale is not told from one that uses its
    middle, nor from one on a scale of its own."""
    chance = random.Random(59)
    one, other, right = map(np.array, drawn(chance, 40, 0.4))
    found = compared((one, other), right, range(40), RankCorrelation())
    bent = compared((np.exp(one), other), right**3, range(40), RankCorrelation())
    assert found is not None
    assert bent is not None
    assert found.difference == pytest.approx(bent.difference)
    assert found.p_value == pytest.approx(bent.p_value, abs=0.02)
    assert found.difference == pytest.approx(spearmanr(one, right).statistic - spearmanr(other, right).statistic)


def test_the_unit_of_the_numbers_does_not_matter() -> None:
    """Where five answers differ, the way that was seen and its mirror are as far apart, at amounts of a million with cents too."""
    chance = random.Random(61)
    for _ in range(40):
        right = np.array([round(chance.uniform(0.5e6, 1.5e6), 2) for _ in range(30)])
        off = np.array([round(chance.uniform(-1e6, 1e6), 2) for _ in range(30)])
        one, other = (
            right + off + [round(chance.uniform(-9, 9), 2) if n < 5 else 0.0 for n in range(30)] for _ in range(2)
        )
        for figure in (MeanError(), AbsoluteBias()):
            found = compared((one, other), right, range(30), figure)
            assert found is not None
            assert found.p_value > 1.5 / 32
    right = np.arange(30.0)
    far = [compared((right * unit, right[::-1] * unit), right * unit, range(30), Correlation()) for unit in (1e-5, 1.0)]
    assert far[0] is not None
    assert far[1] is not None
    assert far[0].p_value == far[1].p_value < 0.01


@pytest.mark.parametrize("figure", [Kappa(3), MeanError(), Correlation(), RankCorrelation(), MacroF1(3)])
def test_a_model_that_is_nearer_is_told_from_one_that_guesses(figure: SummedFigure) -> None:
    one, other, right = map(np.array, drawn(random.Random(53), 90, 0.0))
    near = np.where(np.arange(90) % 10 == 0, one, right)
    found = compared((near, other), right, range(90), figure)
    assert found is not None
    assert found.p_value < 0.001
    assert (found.difference > 0) is not isinstance(figure, MeanError)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.difference < found.high


def test_draws_say_what_every_way_does() -> None:
    """Thirteen clusters that differ are drawn; that there is one more, which changes nothing much, leaves the p-value."""
    one = [0.0] * 13 + [1.0] * 17
    right = [0.0, 1.0] * 15
    other = [1.0 - label for label in one[:13]] + one[13:]
    found = compared((np.array(one), np.array(other)), np.array(right), range(30), Accuracy())
    assert found is not None
    assert found.differing == MOST_EXACT + 1
    assert "9999 draws" in found.method
    assert found.difference == pytest.approx(1 / 30)
    assert found.p_value == 1  # 7 : 6 is the least that thirteen can differ
    ahead = compared((np.array(right), np.array(other)), np.array(right), range(30), Accuracy())
    again = compared((np.array(right), np.array(other)), np.array(right), range(30), Accuracy())
    assert ahead == again
    assert ahead is not None
    wrong = sum(label != target for label, target in zip(other, right, strict=True))
    assert ahead.p_value == pytest.approx(max(2 * 0.5**wrong, 1 / 10_000), abs=0.002)


def test_models_that_answer_alike_do_not_differ() -> None:
    one, _, right = drawn(random.Random(43), 30, 0.5)
    found = compared((np.array(one), np.array(one)), np.array(right), range(30), Kappa(3))
    assert found is not None
    assert (found.difference, found.p_value, found.low) == (0, 1, None)


@pytest.mark.long
@pytest.mark.parametrize("figure", [Kappa(3), AbsoluteBias(), Correlation(), RankCorrelation(), MacroF1(3)])
def test_models_that_are_alike_are_rarely_told_apart(figure: SummedFigure) -> None:
    chance, hits, rounds = random.Random(47), 0, 400
    for _ in range(rounds):
        one, other, right = map(np.array, drawn(chance, 60, 0.6))
        found = compared((one, other), right, range(60), figure)
        assert found is not None
        hits += found.p_value < 0.05
    assert hits / rounds < 0.05 + 3 * (0.05 * 0.95 / rounds) ** 0.5
