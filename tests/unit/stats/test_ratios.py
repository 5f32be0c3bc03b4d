"""A ratio of two sums: what a right answer costs."""

import math

import numpy as np
import pytest

from workbench.stats.intervals import student_reach
from workbench.stats.ratios import fieller


def test_the_ends_are_where_a_t_test_of_the_residuals_is_at_its_level() -> None:
    parts = [(10.0, 1.0), (14.0, 1.0), (9.0, 0.0), (12.0, 1.0), (20.0, 1.0), (11.0, 0.0)] * 4
    found = fieller(parts)
    assert found is not None
    assert found.high is not None
    assert found.low < sum(above for above, _ in parts) / sum(below for _, below in parts) < found.high
    for end in (found.low, found.high):
        residuals = [above - end * below for above, below in parts]
        mean = sum(residuals) / len(parts)
        error = math.sqrt(sum((one - mean) ** 2 for one in residuals) / (len(parts) - 1) / len(parts))
        assert abs(mean) / error == pytest.approx(student_reach(len(parts)))


def test_where_hardly_any_answer_is_right_there_is_no_upper_end() -> None:
    found = fieller([(10.0, 1.0), *[(10.0, 0.0)] * 19])
    assert found is not None
    assert found.high is None
    assert 0 < found.low < 200
    assert fieller([(10.0, 0.0)] * 20) is None
    assert fieller([(10.0, 1.0)]) is None


@pytest.mark.long
@pytest.mark.parametrize("samples", [40, 200])
@pytest.mark.parametrize("right", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("longer", [0.7, 1.0, 1.5])
def test_the_interval_covers_the_ratio(samples: int, right: float, longer: float) -> None:
    """Tokens are skewed, and wrong answers take more of them, as many, or fewer."""
    rng, times, inside = np.random.default_rng(samples), 4000, 0
    spread = 0.6
    truth = (right + (1 - right) * longer) * math.exp(spread**2 / 2) / right
    for _ in range(times):
        scores = (rng.random(samples) < right).astype(float)
        tokens = rng.lognormal(0.0, spread, samples) * np.where(scores > 0, 1.0, longer)
        found = fieller(list(zip(tokens.tolist(), scores.tolist(), strict=True)))
        inside += found is not None and found.low <= truth and (found.high is None or truth <= found.high)
    assert inside / times >= 0.92, inside / times
