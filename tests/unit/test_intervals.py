import math

import pytest
from scipy import stats

from workbench.stats.intervals import mean_interval, student, wilson


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 40), (7, 40), (40, 40), (999, 1000)])
def test_wilson_agrees_with_scipy(successes: int, n: int) -> None:
    interval = wilson(successes, n)
    reference = stats.binomtest(successes, n).proportion_ci(method="wilson")
    assert interval.low == pytest.approx(reference.low, abs=1e-12)
    assert interval.high == pytest.approx(reference.high, abs=1e-12)
    assert interval.n == n


def test_student_agrees_with_scipy() -> None:
    values = [0.1, 0.5, 0.25, 1.0, 0.75]
    low, high = stats.t.interval(0.95, len(values) - 1, loc=sum(values) / 5, scale=stats.sem(values))
    interval = student(values)
    assert interval.low == pytest.approx(low)
    assert interval.high == pytest.approx(high)


def test_one_value_has_no_bounds() -> None:
    assert student([0.5]).low is None


def test_the_method_suits_the_values() -> None:
    assert mean_interval([0.0, 1.0, 1.0]).method == "Wilson"
    assert mean_interval([0.0, 0.5]).method.startswith("Student")
    assert math.isclose(mean_interval([1.0] * 5).mean, 1)


def test_nothing_and_everything_right_end_at_the_bounds() -> None:
    assert wilson(0, 40).low == 0.0
    assert wilson(40, 40).high == 1.0


def test_the_interval_of_shares_stays_within_them() -> None:
    found = mean_interval([1.0] * 39 + [0.5])
    assert found.high == 1.0
    assert mean_interval([10.0, 10.0, 9.0]).high is not None
    assert mean_interval([10.0, 10.0, 9.0]).high > 10  # type: ignore[operator]
