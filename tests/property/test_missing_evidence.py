"""How often a difference is shown that is not there, and one that is: over models whose unknown answers depend on being wrong.

The truth is the mean over all that was asked: what is not right counts 0, and what is unknown counts what it would have scored.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from workbench.evaluation.sides import ModelResult, differences
from workbench.ledger.score_rows import SideSample
from workbench.stats.paired import LEVEL, Bounded, Paired, holm, of_counts

Scores = np.ndarray[tuple[int, ...], np.dtype[Any]]
LEAST = 200
"""Runs of a cell in the default suite."""


class Cell(NamedTuple):
    """Two models on some samples."""

    samples: int
    right: tuple[float, ...]
    missing: float
    """The share of answers that are unknown, of every model."""
    dependence: float
    """0: at random; 1: only answers that would be wrong."""


def drawn(cell: Cell, runs: int, chance: np.random.Generator) -> list[tuple[Scores, Scores]]:
    """Of each model: which answers are right, and which are unknown; as the answer key of the local platform draws them."""
    hard = chance.standard_normal((runs, cell.samples))
    found = []
    for right in cell.right:
        ease = np.sqrt(0.5) * hard + np.sqrt(0.5) * chance.standard_normal(hard.shape)
        is_right = ease < ndtri(right)
        at_random = cell.missing * (1 - cell.dependence)
        if_wrong = at_random + min(1.0, cell.dependence * cell.missing / (1 - right))
        found.append((is_right, chance.random(hard.shape) < np.where(is_right, at_random, if_wrong)))
    return found


@cache
def counted(better: int, worse: int, samples: int) -> Paired:
    return of_counts(samples, better, worse, (better - worse) / samples, None, is_binary=True)


def bounded(one: tuple[Scores, Scores], other: tuple[Scores, Scores]) -> list[Bounded]:
    """The tests of two models in every run."""
    (low, high), (base_low, base_high) = ((right & ~gone, right | gone) for right, gone in (one, other))
    counts = [(a & ~b).sum(1) for a, b in ((low, base_high), (base_high, low), (high, base_low), (base_low, high))]
    n = low.shape[1]
    return [
        Bounded(None, counted(int(a), int(b), n), counted(int(c), int(d), n))
        for a, b, c, d in zip(*counts, strict=True)
    ]


def shown(found: Sequence[Bounded]) -> tuple[float, float]:
    """In which share of the runs the first is better, and worse."""
    said = [one.is_ahead for one in found if one.p_value is not None and one.p_value < LEVEL]
    return sum(said) / len(found), (len(said) - sum(said)) / len(found)


def test_the_counts_of_these_simulations_are_what_compare_decides_by() -> None:
    chance = np.random.default_rng(3)
    cell = Cell(60, (0.8, 0.5), 0.1, 0.5)
    one, other = drawn(cell, 40, chance)
    for run, expected in enumerate(bounded(one, other)):
        samples = {
            ("r", name): sample_rows(right[run], gone[run]) for name, (right, gone) in (("a", one), ("b", other))
        }
        (found,) = differences([(side("a"), side("b"))], samples, are_shares=True)
        for ours, theirs in ((found.at_lowest, expected.at_lowest), (found.at_highest, expected.at_highest)):
            assert ours is not None
            assert theirs is not None
            assert (ours.better, ours.worse, ours.p_value, ours.method) == (
                theirs.better,
                theirs.worse,
                theirs.p_value,
                theirs.method,
            )
        assert found.adjusted_p == expected.p_value


def sample_rows(right: Scores, gone: Scores) -> list[SideSample]:
    return [
        SideSample(
            "r", "m", str(number), str(number), asked=1, answered=1, scored=int(not out), not_right=0, not_right_ends=[], unknown=int(out), unread=0,
            left_out=0, excluded=None, of_scored=None if out else float(value), value=None if out else float(value),
            low=0.0 if out else float(value), high=1.0 if out else float(value), least=0.0, most=1.0, cluster=None,
        )
        for number, (value, out) in enumerate(zip(right, gone, strict=True))
    ]  # fmt: skip


def side(model: str) -> ModelResult:
    empty: dict[str, Any] = dict.fromkeys(ModelResult.__struct_fields__)
    return ModelResult(**(empty | {"run_id": "r", "model": model}))


CELLS = [
    Cell(samples, (0.7, 0.7), missing, dependence)
    for samples in (40, 120, 500)
    for missing in (0.0, 0.01, 0.05, 0.2, 0.4)
    for dependence in (0.0, 0.5, 1.0)
    if missing or not dependence
]


@pytest.mark.parametrize("runs", [LEAST, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_equal_models_are_seldom_told_apart(cell: Cell, runs: int) -> None:
    one, other = drawn(cell, runs, np.random.default_rng(11))
    margin = 0.0 if runs > LEAST else 0.03
    assert max(shown(bounded(one, other))) <= 0.027 + margin


@pytest.mark.parametrize("runs", [LEAST, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("dependence", [0.0, 1.0])
def test_a_model_of_which_much_is_missing_is_not_better_than_one_that_is_as_good(dependence: float, runs: int) -> None:
    """Only one of two equal models lacks answers: half of them, and be it those that are wrong."""
    whole, half = drawn(Cell(200, (0.7, 0.7), 0.3, dependence), runs, np.random.default_rng(12))
    one = whole[0], np.zeros_like(whole[1])
    assert max(shown(bounded(half, one))) <= 0.027 + (0.0 if runs > LEAST else 0.03)


@pytest.mark.parametrize("runs", [LEAST, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("models", range(2, 7))
@pytest.mark.parametrize("missing", [0.0, 0.02, 0.2])
def test_of_several_equal_models_any_two_are_seldom_told_apart(models: int, missing: float, runs: int) -> None:
    found = drawn(Cell(120, (0.7,) * models, missing, 0.5), runs, np.random.default_rng(13))
    pairs = [bounded(found[one], found[other]) for one in range(models) for other in range(one)]
    wrong = 0
    for of_run in zip(*pairs, strict=True):
        wrong += min(holm([one.p_value for one in of_run if one.p_value is not None])) < LEVEL
    assert wrong / runs <= 0.052 + (0.0 if runs > LEAST else 0.05)


def graded(low: Scores, high: Scores) -> list[Paired]:
    """The t tests of differences between two models' scores, in every run."""
    apart = low - high
    counts = (apart > 1e-9).sum(1), (apart < -1e-9).sum(1), apart.mean(1), apart.std(1, ddof=1)
    n = apart.shape[1]
    return [
        of_counts(n, int(b), int(w), float(mean), float(sd), is_binary=False)
        for b, w, mean, sd in zip(*counts, strict=True)
    ]


@pytest.mark.parametrize("runs", [LEAST, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(("missing", "dependence"), [(0.0, 0.0), (0.02, 0.0), (0.02, 1.0), (0.2, 1.0)])
def test_equal_models_with_shares_for_scores_are_seldom_told_apart(
    missing: float, dependence: float, runs: int
) -> None:
    chance = np.random.default_rng(15)
    hard = chance.standard_normal((runs, 120))
    sides = []
    for _ in range(2):
        value = np.floor(4 * ndtr(np.sqrt(0.5) * hard + np.sqrt(0.5) * chance.standard_normal(hard.shape))) / 4
        likely = missing * (1 - dependence) + np.where(value < 0.5, min(1.0, 2 * dependence * missing), 0.0)
        gone = chance.random(hard.shape) < likely
        sides.append((np.where(gone, 0.0, value), np.where(gone, 1.0, value)))
    (low, high), (base_low, base_high) = sides
    found = [Bounded(None, *ends) for ends in zip(graded(low, base_high), graded(high, base_low), strict=True)]
    assert max(shown(found)) <= 0.027 + (0.0 if runs > LEAST else 0.03)


@pytest.mark.parametrize("runs", [LEAST, pytest.param(4_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(("missing", "least"), [(0.0, 0.95), (0.01, 0.95), (0.05, 0.50)])
def test_a_difference_that_is_there_is_shown(missing: float, least: float, runs: int) -> None:
    """500 samples and ten points: to say nothing always would not do."""
    one, other = drawn(Cell(500, (0.9, 0.8), missing, 0.0), runs, np.random.default_rng(14))
    better, worse = shown(bounded(one, other))
    assert better >= least - (0.0 if runs > LEAST else 0.1)
    assert worse == 0.0
