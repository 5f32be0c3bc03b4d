"""A figure over answers with its interval, which leaves out one cluster at a time, also where some answers are not known."""

import math
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from workbench.stats.intervals import CONFIDENCE, student_reach

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

_MOST_GROUPS = 100
"""More clusters are left out by groups, as many times as this."""
LEAST_GROUPS = 3
"""Fewer clusters show no spread."""
_ONE = 1 - 1e-12
"""A figure between -1 and 1 that is beyond it has no place on the scale of atanh."""
_NO_SPREAD = 1e-12
_SIDE = (1 - CONFIDENCE) / 2
Ends = tuple[float, float]
CORRELATION: Ends = (-1.0, 1.0)
SHARE: Ends = (0.0, 1.0)
DISTANCE: Ends = (0.0, math.inf)


class Missing(Enum):
    """What stands in the place of an answer that has nothing to compare."""

    NOT_RIGHT = "not right"
    """By the model's own doing: it is as far from right as can be."""
    UNKNOWN = "unknown"
    """It could have been anything."""


class Estimate(msgspec.Struct, frozen=True):
    """A figure with its interval at 95 %; the bounds are None where nothing shows its spread."""

    value: float
    """Of the answers that are known."""
    low: float | None = None
    high: float | None = None
    """Of the figure over all answers, whatever the unknown ones are."""
    at_lowest: float | None = None
    at_highest: float | None = None
    """The figure over all, were the unknown answers those that make it least or most; None where none is unknown, or nothing
    bounds what they do to it."""


def each_alone(clusters: Sequence[Hashable] | None, answers: int) -> list[Hashable]:
    """Return what each answer belongs to: by default to itself."""
    return list(range(answers)) if clusters is None else list(clusters)


def largest_share(clusters: int, wrong: int = 0) -> float:
    """Return the largest share of all clusters that may hold something wrong where so many of these do.

    Source: Clopper, C. J., Pearson, E. S. (1934), Biometrika 26, 404-413.
    """
    from scipy.special import betaincinv

    return 1.0 if wrong >= clusters else float(betaincinv(wrong + 1, clusters - wrong, 1 - _SIDE))


def left_out(clusters: Sequence[Hashable]) -> "list[Mask]":
    """Return which answers are left when each cluster is left out in turn; none where there are too few clusters."""
    import numpy as np

    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    groups = min(len(names), _MOST_GROUPS)
    group = np.asarray([names[name] % groups for name in clusters]) if groups else np.asarray([], dtype=int)
    return [group != one for one in range(groups)] if groups >= LEAST_GROUPS else []


class Jackknife:
    """Figures over the answers that are known, and over all at both ends of what is not."""

    def __init__(self, pair: "tuple[Numbers, Numbers]", unknown: "Mask", clusters: Sequence[Hashable]) -> None:
        """Take what was given, of unknown answers anything, and what is right.

        Args:
            unknown: Which answers are not known.
            clusters: What each answer belongs to.
        """
        self._x, self._y = pair
        self._unknown, self._is_whole = unknown, not unknown.any()
        self._clusters = clusters
        self._known_clusters = [one for one, missing in zip(clusters, unknown, strict=True) if not missing]
        self._left, self._left_of_all = left_out(self._known_clusters), left_out(clusters)

    def estimate(
        self,
        figure: "Callable[[Numbers, Numbers], float | None]",
        filled: "Callable[[], tuple[Numbers, Numbers]] | None" = None,
        *,
        ends: Ends | None = None,
        at_worst: "Callable[[Numbers, float], float] | None" = None,
    ) -> Estimate | None:
        """Return a figure with its interval: from the lower bound at its least to the upper bound at its most.

        Where it is known what it is at the worst, Student's t has as many degrees of freedom as the spread is known by, which
        are few where a few answers make most of it; but the interval goes no further than that for it.

        Args:
            figure: Of what was given and what is right.
            filled: Return the answers that make it least and most; of them the unknown ones count. None: nothing says
                which these are, and where some are unknown, there is no interval.
            ends: As for `estimate_of`.
            at_worst: Return what a figure is where a share of the answers is as far as can be from what is right, and the
                others are right: of what is right, and the share.
        """
        import numpy as np

        def of(x: "Numbers", y: "Numbers", left: "Sequence[Mask]", clusters: Sequence[Hashable]) -> Estimate | None:
            value = figure(x, y)
            if value is None:
                return None
            without = [figure(x[kept], y[kept]) for kept in left]
            found = estimate_of(value, without, ends)
            if at_worst is None or not left:
                return found
            is_perfect = ends is not None and value >= ends[1] * _ONE
            wrong = {one for one, differs in zip(clusters, x != y, strict=True) if differs and not is_perfect}
            if wrong and found.low is None:  # as far from right everywhere
                return found
            worst = at_worst(y, largest_share(len(set(clusters)), len(wrong)))
            return _widened(found, estimate_of(value, without, ends, by_spread=True), worst)

        known = self._x[~self._unknown], self._y[~self._unknown]
        found = of(*known, self._left if self._is_whole else [], self._known_clusters)
        if found is None or self._is_whole or filled is None:
            return found
        lowest, highest = (
            of(np.where(self._unknown, one, self._x), self._y, self._left_of_all, self._clusters) for one in filled()
        )
        if lowest is None or highest is None:
            return found
        bounded = lowest.low is not None and highest.high is not None
        low, high = (lowest.low, highest.high) if bounded else (None, None)
        return Estimate(found.value, low, high, lowest.value, highest.value)


def _widened(found: Estimate, wide: Estimate, worst: float) -> Estimate:
    """Return a figure with a wider interval, on the side of what it is at the worst no further than that."""
    if found.low is None or found.high is None or wide.low is None or wide.high is None:
        return Estimate(found.value, *sorted((worst, found.value)))
    if worst < found.value:
        return Estimate(found.value, min(found.low, max(wide.low, worst)), wide.high)
    return Estimate(found.value, wide.low, max(found.high, min(wide.high, worst)))


def estimate_of(
    value: float, without: Sequence[float | None], ends: Ends | None = None, *, by_spread: bool = False
) -> Estimate:
    """Return a figure with its interval by the jackknife from what it is without each cluster in turn.

    Between ends the interval is made on a scale where it cannot leave them; where a figure without a cluster is at an end, which
    has no place on that scale, by the slope of the scale at the figure (the delta method).

    Sources: Efron, B., Stein, C. (1981), The jackknife estimate of variance, Annals of Statistics 9, 586-596; Satterthwaite,
    F. E. (1946), An approximate distribution of estimates of variance components, Biometrics Bulletin 2, 110-114.

    Args:
        without: It without each cluster; None where it is not defined there.
        ends: Between which it is, where that shapes its interval.
        by_spread: Take Student's t with as many degrees of freedom as the spread is known by, not one fewer than clusters.
    """
    known = [one for one in without if one is not None]
    if not known or len(known) < len(without):
        return Estimate(value)
    scale = _scale(ends)
    middle = scale.to(value)
    if middle is None:
        return Estimate(value)
    there = [place for one in known if (place := scale.to(one)) is not None]
    on_scale = len(there) == len(known)
    error = _error(there) if on_scale else _error(known) * scale.slope(value)
    if error < _NO_SPREAD:  # all alike, which does not say that others would be
        return Estimate(value)
    half = student_reach(_observations(there if on_scale else known) if by_spread else len(known)) * error
    return Estimate(value, scale.back(middle - half), scale.back(middle + half))


class _Scale(NamedTuple):
    """Where the interval of a figure is made."""

    to: Callable[[float], float | None]
    """None: at an end."""
    back: Callable[[float], float]
    slope: Callable[[float], float]
    """Of `to`."""


def _scale(ends: Ends | None) -> _Scale:
    """Return the logarithm where a figure has a least alone, atanh where it has both ends, and itself where it has none."""
    if ends is None:
        return _Scale(lambda one: one, lambda one: one, lambda _: 1.0)
    least, most = ends
    if most == math.inf:
        return _Scale(
            lambda one: math.log(one - least) if one > least else None,
            lambda one: least + math.exp(one),
            lambda one: 1 / (one - least),
        )

    def unit(figure: float) -> float:
        return (2 * figure - least - most) / (most - least)

    return _Scale(
        lambda one: math.atanh(unit(one)) if abs(unit(one)) <= _ONE else None,
        lambda one: least + (most - least) * (math.tanh(one) + 1) / 2,
        lambda one: 2 / (most - least) / (1 - unit(one) ** 2),
    )


def _observations(without: Sequence[float]) -> float:
    """Return of how many normal values a variance would be known as well, from how much its own varies (their kurtosis)."""
    groups = len(without)
    centre = math.fsum(without) / groups
    squares = [(one - centre) ** 2 for one in without]
    kurtosis = groups * math.fsum(square**2 for square in squares) / math.fsum(squares) ** 2
    return min(groups, 1 + 2 * groups / (kurtosis - (groups - 3) / (groups - 1)))


def _error(without: Sequence[float]) -> float:
    """Return the jackknife's standard error of a figure."""
    groups = len(without)
    centre = math.fsum(without) / groups
    return math.sqrt((groups - 1) / groups * math.fsum((one - centre) ** 2 for one in without))
