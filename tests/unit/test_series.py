"""Changes in a series of occasions: found soon, rarely where there are none, and each once."""

import random

import pytest

from workbench.stats.series import changes

NIGHTS, SAMPLES, MODELS, RATE = 30, 200, 3, 0.01


def series(chance: random.Random, *, drop: float = 0.0, day: int = 20) -> list[dict[str, float]]:
    """Every sample is answered rightly with a probability of its own, on each night anew."""
    hard = [0.2 + 0.6 * chance.random() for _ in range(SAMPLES)]
    return [
        {str(n): float(chance.random() < right - (drop if night >= day else 0)) for n, right in enumerate(hard)}
        for night in range(NIGHTS)
    ]


@pytest.mark.long
def test_a_planted_drop_is_named_within_three_nights_and_false_alarms_are_rare() -> None:
    named = alarms = 0
    repetitions = 400
    for seed in range(repetitions):
        chance = random.Random(seed)
        steady = [changes(series(chance), RATE / MODELS) for _ in range(MODELS)]
        alarms += any(steady)
        dropped = changes(series(chance, drop=0.15), RATE / MODELS)
        named += any(20 <= change.seen_at <= 22 and change.difference < 0 for change in dropped) and not any(steady[1:])
    assert named >= 0.9 * repetitions
    assert alarms <= 0.02 * repetitions


def test_a_change_is_found_once() -> None:
    found = changes(series(random.Random(5), drop=0.4), RATE)
    assert [(change.began_at, change.seen_at) for change in found] == [(20, 20)]
    assert found[0].difference == pytest.approx(-0.4, abs=0.1)
    assert found[0].p_value < found[0].level


def test_what_cannot_be_compared_changes_nothing() -> None:
    assert changes([], RATE) == []
    assert changes([{"a": 1.0}], RATE) == []
    assert changes([{"a": 1.0}, {"b": 0.0}], RATE) == []
    assert changes([{}, {}], RATE) == []
    few = {str(n): 1.0 for n in range(4)}
    assert changes([few, dict.fromkeys(few, 0.0)], RATE) == []


def test_all_samples_alike_are_as_sure_as_their_number_makes_it() -> None:
    few, many = ({str(n): 1.0 for n in range(count)} for count in (6, 30))
    assert changes([few, dict.fromkeys(few, 0.0)], RATE) == []
    assert len(changes([many, dict.fromkeys(many, 0.0)], RATE)) == 1
