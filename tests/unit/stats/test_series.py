"""Drops in a series of nights: found soon, rarely where there are none, open until they are over or accepted."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy
import pytest

from workbench.stats.series import ASSUMED_SPREAD, FEW_NIGHTS, Drop, Nights, Rule, Watched, watch

RATE = 0.01
FIRST = datetime(2026, 1, 1, 2, tzinfo=UTC)
Scores = Any
"""An array of nights by samples."""


def night(number: int) -> datetime:
    return FIRST + timedelta(days=number)


def nights(scores: Scores, **other: Scores) -> Nights:
    """Of which everything is known, but for what `other` says."""
    arrays = {"known": scores, "low": scores, "high": scores, "scored": scores} | other
    return Nights([night(number) for number in range(len(scores))], **arrays)


def rule_of(scores: Scores, rate: float = RATE, assumed: float | None = ASSUMED_SPREAD) -> Rule:
    count = len(scores)
    return Rule([rate] * count, range(1, count + 1), None if assumed is None else [assumed] * count)


def watched(scores: Scores, *, accepted: tuple[int, ...] = (), rate: float = RATE, **other: Scores) -> Watched:
    rule = rule_of(scores, rate)
    return watch(nights(scores, **other), rule, [night(number) + timedelta(hours=1) for number in accepted])


def drawn(
    seed: int,
    count: int = 40,
    *,
    samples: int = 200,
    drop: float = 0.0,
    days: range = range(25, 10_000),
    shock: Callable[[Any, int], Scores] | None = None,
) -> Scores:
    """Right or wrong, every sample with a probability of its own, on each night anew; of some days, less by a drop."""
    chance = numpy.random.default_rng(seed)
    hard = 0.2 + 0.6 * chance.random(samples)
    moved = numpy.zeros(count) if shock is None else shock(chance, count)
    lower = numpy.array([drop if day in days else 0.0 for day in range(count)])
    return (chance.random((count, samples)) < hard + (moved - lower)[:, None]).astype(float)


def normal(points: float) -> Callable[[Any, int], Scores]:
    return lambda chance, count: chance.normal(0, points / 100, count)


def exponential(points: float) -> Callable[[Any, int], Scores]:
    """Mostly a little better than usual, and now and then a night that is much worse."""
    return lambda chance, count: points / 100 * (1 - chance.exponential(1, count))


SHOCKS = {
    "none": (normal(0), 0.015), "1 point": (normal(1), 0.015), "3 points": (normal(3), 0.015),
    "3 points, exponential": (exponential(3), 0.03),
}  # fmt: skip
"""How nights differ for reasons of their own; how many of a thousand series may have a change at a rate of 1 %."""


@pytest.mark.long
@pytest.mark.parametrize("samples", [60, 200, 1000])
@pytest.mark.parametrize("shock", SHOCKS)
def test_a_series_without_a_change_has_none_found(shock: str, samples: int) -> None:
    make, most = SHOCKS[shock]
    found = 0
    for seed in range(1_000):
        scores = drawn(seed, 60, samples=samples, shock=make)
        found += bool(
            watched(scores).drops or watched(1 - scores).drops
        )  # a rise moves the level: it must not be chance
    assert found <= most * 1_000


PRICE = [  # shock in points, drop in points, found within three nights and within seven, of 25 nights before
    (0, 5, 0.0, 0.0), (0, 10, 0.2, 0.8), (0, 20, 0.95, 0.99),
    (3, 5, 0.0, 0.0), (3, 10, 0.05, 0.4), (3, 20, 0.9, 0.99),
]  # fmt: skip
"""At least: what `workbench help comparisons` tells of 200 samples."""


@pytest.mark.long
@pytest.mark.parametrize(("shock", "drop", "three", "seven"), PRICE)
def test_a_drop_is_found_as_soon_as_is_told(shock: float, drop: float, three: float, seven: float) -> None:
    soon = later = 0
    for seed in range(400):
        found = watched(drawn(seed, 32, drop=drop / 100, shock=normal(shock))).drops
        after = [one.seen for one in found if one.seen >= 25]
        soon, later = soon + any(seen < 28 for seen in after), later + bool(after)
    assert soon >= three * 400
    assert later >= seven * 400


def only(found: Watched) -> Drop:
    (drop,) = found.drops
    return drop


def test_a_drop_stays_open_and_is_found_once() -> None:
    drop = only(watched(drawn(1, 60, drop=0.3)))
    assert (drop.began, drop.ended, drop.before) == (25, None, 25)
    assert drop.seen in (25, 26)
    assert drop.nights == 35
    assert drop.difference == pytest.approx(-0.3, abs=0.04)
    assert drop.level == pytest.approx(0.5, abs=0.04)


def test_what_is_later_does_not_change_what_was_found() -> None:
    scores = drawn(1, 60, drop=0.3)
    seen = only(watched(scores)).seen
    for count in range(seen + 1, 60, 7):
        assert only(watched(scores[:count])).seen == seen
    assert not watched(scores[:seen]).drops


def test_it_closes_when_the_newest_nights_are_above_half_of_it() -> None:
    drop = only(watched(drawn(2, 60, drop=0.3, days=range(25, 40))))
    assert drop.ending == "recovered"
    assert drop.ended in (40, 41)
    assert drop.nights == 15


def test_a_return_of_a_third_does_not_close_it() -> None:
    scores = drawn(3, 60, drop=0.3, days=range(25, 40))
    scores[40:] = drawn(4, 60, drop=0.2, days=range(60))[40:]
    assert only(watched(scores)).ending is None


def test_its_bad_nights_are_of_no_level() -> None:
    twice = drawn(5, 80, drop=0.3, days=range(25, 40))
    twice[60:] = drawn(5, 80, drop=0.3, days=range(80))[60:]
    first, second = watched(twice).drops
    assert first.ending == "recovered"
    assert (second.began, second.ending) == (60, None)
    assert second.level == pytest.approx(first.level, abs=0.02)


def test_what_is_accepted_is_the_level_from_then_on() -> None:
    scores = drawn(6, 60, drop=0.3)
    drop = only(watched(scores, accepted=(35,)))
    assert (drop.ending, drop.ended, drop.nights) == ("accepted", 36, 11)
    lower = scores.copy()
    lower[50:] = drawn(6, 60, drop=0.6, days=range(60))[50:]
    first, second = watched(lower, accepted=(35,)).drops
    assert (first.ending, second.began, second.ending) == ("accepted", 50, None)
    assert second.before == 25, "of nights since the first drop began, and none before"
    assert not watched(drawn(7, 60), accepted=(35,)).drops, "there was nothing to accept"
    assert only(watched(scores, accepted=(59,))).ending == "accepted"


def test_a_rise_moves_the_level_and_tells_nothing() -> None:
    assert not watched(drawn(8, 60, drop=-0.2)).drops
    scores = drawn(8, 60, drop=-0.2, days=range(20, 45))
    drop = only(watched(scores))
    assert drop.began == 45
    assert drop.difference == pytest.approx(-0.2, abs=0.04), "beside the nights since the rise alone"


def test_one_bad_night_is_no_change() -> None:
    scores = drawn(9, 60, drop=0.2, days=range(25, 26))
    assert not watched(scores).drops
    twice = drawn(9, 60, drop=0.2, days=range(25, 60, 6))
    assert not watched(twice).drops


def test_a_night_on_which_nothing_works_is_told_at_once() -> None:
    scores = drawn(10, 30)
    scores[29] = 0.0
    assert only(watched(scores)).seen == 29


def test_what_is_not_known_neither_opens_a_drop_nor_closes_one() -> None:
    scores = drawn(11, 30, drop=0.3)
    lost = scores.copy()
    lost[25:, :10] = numpy.nan
    low, high = numpy.nan_to_num(lost, nan=0.0), numpy.nan_to_num(lost, nan=1.0)
    assert only(watched(lost, low=low, high=high)).nights == 5
    quiet = drawn(11, 30)
    quiet[25:, :60] = numpy.nan
    low, high = numpy.nan_to_num(quiet, nan=0.0), numpy.nan_to_num(quiet, nan=1.0)
    found = watched(quiet, low=low, high=high)
    assert not found.drops
    assert found.is_possible
    back = drawn(12, 60, drop=0.2, days=range(25, 40))
    back[40:, :80] = numpy.nan
    low, high = numpy.nan_to_num(back, nan=0.0), numpy.nan_to_num(back, nan=1.0)
    assert only(watched(back, low=low, high=high)).ending is None


def test_a_drop_of_all_asked_alone_says_so() -> None:
    scores = drawn(13, 30)
    scores[25:, :80] = 0.0
    scored = scores.copy()
    scored[25:, :80] = numpy.nan
    assert not only(watched(scores, scored=scored)).is_of_scored
    assert only(watched(drawn(13, 30, drop=0.3))).is_of_scored


def test_samples_that_come_and_go_are_compared_with_themselves() -> None:
    easy, hard = numpy.ones((30, 60)), numpy.zeros((30, 60))
    easy[15:] = numpy.nan
    easy[:, :10] = hard[:, :10] = drawn(14, 30, samples=10)
    assert not watched(numpy.hstack([easy, hard])).drops, "half of the samples were taken out: no model is worse"


def test_what_cannot_be_compared_changes_nothing() -> None:
    nan = numpy.nan
    assert not watched(numpy.empty((0, 0))).drops
    assert not watched(numpy.ones((1, 1))).drops
    assert not watched(numpy.array([[1.0, nan], [nan, 0.0]])).drops
    assert not watched(numpy.vstack([numpy.ones((1, 4)), numpy.zeros((1, 4))])).drops


def test_scores_that_never_vary_are_as_sure_as_their_number_and_the_nights_make_it() -> None:
    for samples, found in ((6, 0), (60, 1)):
        scores = numpy.ones((12, samples))
        scores[10:] = 0.0
        assert len(watched(scores).drops) == found


def test_before_eight_nights_nothing_is_told_where_nothing_is_assumed() -> None:
    scores = numpy.vstack([drawn(15, FEW_NIGHTS - 1), numpy.zeros((2, 200))])
    rule = rule_of(scores, assumed=None)
    assert only(watched(scores)).before == FEW_NIGHTS - 1
    assert not watch(nights(scores[:FEW_NIGHTS]), rule).drops
    assert watch(nights(scores[: FEW_NIGHTS - 1]), rule).findable is None


@pytest.mark.slow
def test_what_is_told_to_be_findable_is_found_nine_times_in_ten() -> None:
    found = 0
    for seed in range(200):
        drop = watched(drawn(seed, 25)).findable
        assert drop is not None
        found += bool(watched(drawn(seed, 28, drop=drop)).drops)
    assert 0.87 * 200 <= found <= 0.98 * 200
    assert watched(drawn(17, 30, drop=0.4)).findable is None, "a drop is open"


@pytest.mark.slow
def test_samples_that_never_varied_need_a_drop_that_their_number_can_show() -> None:
    right = numpy.ones((25, 60))
    told = watched(right).findable
    assert told is not None
    found = 0
    for seed in range(100):
        chance = numpy.random.default_rng(seed)
        wrong = chance.choice(60, round(told * 60), replace=False)
        lower = numpy.ones((28, 60))
        lower[25:, wrong] = 0.0
        found += bool(watched(lower).drops)
    assert found >= 90
    assert watched(numpy.ones((25, 4))).findable == numpy.inf, "so few are never compared"


def test_other_samples_are_compared_with_none_before_them() -> None:
    nan = numpy.full((9, 120), numpy.nan)
    scores = numpy.vstack(
        [numpy.hstack([drawn(1, 9, samples=120), nan]), numpy.hstack([nan[:2], drawn(2, 2, samples=120) * 0.5])]
    )
    assert not watched(scores[:10]).is_compared
    assert watched(scores).is_compared, "the second night of them with the first"
    assert not watch(nights(scores), rule_of(scores, assumed=None)).drops, "of eight nights before only one has them"


def test_nights_of_which_nothing_is_known_warn_of_nothing() -> None:
    scores = drawn(3, 12)
    scores[6:] = numpy.nan
    low, high = numpy.nan_to_num(scores, nan=0.0), numpy.nan_to_num(scores, nan=1.0)
    for count in range(1, 13):
        assert not watched(scores[:count], low=low[:count], high=high[:count]).drops


def test_a_series_that_begins_later_shares_the_looks_of_the_others() -> None:
    scores = drawn(18, 12, drop=0.22, days=range(9, 12))
    late = Rule([RATE] * 12, range(201, 213), [ASSUMED_SPREAD] * 12)
    assert watched(scores).drops
    assert not watch(nights(scores), late).drops, "the two hundredth night may spend less than the tenth"
