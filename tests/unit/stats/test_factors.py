"""Main effects of a grid of models and variants, and what a variant does to one model alone."""

import math

import pytest

from workbench.stats.factors import apart, over_levels
from workbench.stats.paired import paired

PLAIN = [[1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]]
RUBRIC = [[1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
"""Two models, four samples."""


def test_a_main_effect_is_the_t_test_of_the_mean_difference_of_each_sample() -> None:
    found = paired(over_levels(RUBRIC), over_levels(PLAIN))  # type: ignore[arg-type]
    # by hand: the differences are 0, 0.5, 0.5, 0.5; their mean 0.375, deviation 0.25 and error 0.125; t = 3 with 3 degrees
    assert (found.n, found.better, found.worse) == (4, 3, 0)
    assert found.difference == pytest.approx(0.375)
    assert found.error == pytest.approx(0.125)
    assert found.freedom == pytest.approx(3)
    by_hand = 1 - 2 / math.pi * (math.atan(math.sqrt(3)) + math.sqrt(3) / 4)  # the closed form of t(3) at 3
    assert found.p_value == pytest.approx(by_hand)


def test_samples_of_a_cluster_count_once() -> None:
    found = paired(over_levels(RUBRIC), over_levels(PLAIN), ["a", "a", "b", "b"])  # type: ignore[arg-type]
    # by hand: the residuals sum to -0.25 and 0.25; 2 / 1 * 0.125 = 0.25, its root over 4 samples is 0.125; one degree
    assert found.difference == pytest.approx(0.375)
    assert found.error == pytest.approx(0.125)
    assert found.freedom == pytest.approx(1)


def test_what_is_not_known_in_one_cell_is_not_known_of_the_sample() -> None:
    assert over_levels([[1.0, None], [0.0, 1.0]]) == [0.5, None]
    assert apart([1.0, None, 0.0], [0.0, 1.0, None]) == [1.0, None, None]
