"""A log-linear trend, against made-up days whose growth is known."""

import math
import random

import pytest

from workbench.stats.trend import LEAST_STRETCHES, TimedAmount, trend_of


def days(amounts: list[float]) -> list[TimedAmount]:
    return [TimedAmount(float(day), day + 1.0, amount) for day, amount in enumerate(amounts)]


@pytest.mark.parametrize("growth", [-0.05, 0.0, 0.03])
def test_days_without_chance_give_back_their_growth_and_what_comes(growth: float) -> None:
    trend = trend_of(days([1000 * math.exp(growth * day) for day in range(30)]))
    assert trend is not None
    assert trend.growth == pytest.approx(growth, abs=1e-6)
    coming = sum(1000 * math.exp(growth * day) for day in range(30, 44))
    amount, low, high = trend.over(30, 44, 0.9)
    assert amount == pytest.approx(coming, rel=1e-3)
    assert low < coming < high
    assert trend.over(30, 30, 0.9) == (0, 0, 0)


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("growth", [0.0, 0.03])
def test_what_comes_lies_in_its_range(growth: float, length: int) -> None:
    """Days vary by a quarter or by half; what is known of them are single days, or three together."""
    held, runs = 0, 400
    for seed in range(runs):
        chosen = random.Random(seed)
        shape = chosen.choice([4, 16])
        drawn = [math.exp(growth * day) * chosen.gammavariate(shape, 1 / shape) for day in range(42)]
        known = [TimedAmount(day, day + length, sum(drawn[day : day + length])) for day in range(0, 30, length)]
        trend = trend_of(known)
        assert trend is not None
        _, low, high = trend.over(30, 42, 0.9)
        held += low <= sum(drawn[30:]) <= high
    assert 0.85 * runs <= held <= 0.99 * runs


def test_days_on_which_nothing_came_count() -> None:
    whole = trend_of(days([100.0] * 40))
    half = trend_of(days([200.0, 0.0] * 20))
    assert whole is not None
    assert half is not None
    assert half.over(40, 50, 0.9)[0] == pytest.approx(whole.over(40, 50, 0.9)[0], rel=0.1)
    assert half.variance > whole.variance


@pytest.mark.parametrize(
    "amounts",
    [
        [5.0] * (LEAST_STRETCHES - 1),
        [0.0] * 30,
        [5.0] + [0.0] * 30,
        [0.0] * 30 + [5.0],
        [3.0**day for day in range(20)],
        [],
    ],
)
def test_too_few_nothing_a_beginning_and_an_end_are_no_trend(amounts: list[float]) -> None:
    assert trend_of(days(amounts)) is None


@pytest.mark.parametrize("scale", [1e-9, 1e15])
def test_no_range_leaves_what_numbers_hold(scale: float) -> None:
    chosen = random.Random(1)
    for _ in range(300):
        amounts = [scale * chosen.choice([0, 0, 1, chosen.lognormvariate(0, 3)]) for _ in range(chosen.randint(5, 60))]
        trend = trend_of(days(amounts))
        if trend is not None:
            assert all(math.isfinite(end) and end >= 0 for end in trend.over(60, 60 + 366, 0.9))
