"""Intervals beside means."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    import numpy as np

    FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

CONFIDENCE = 0.95
SHARES = (0.0, 1.0)
"""The scale of the scorers that are built in."""
_SIDE = (1 - CONFIDENCE) / 2
_MOST_STEPS = 64
"""More distinct values than this are rounded outward to so many steps of their scale."""
_NODES, _STEP, _FROM, _TO = 64, 0.1, -3.3, 3.0
"""Of the quadrature: checked against the beta distribution, the largest error of a probability is 3e-8."""
_MOST_TRIES, _CLOSE, _CLOSE_CLUSTERED = 100, 1e-9, 1e-7
_REACH = math.sqrt(1 / _SIDE - 1)
"""No 2.5 % point is further from its mean, in standard deviations (Cantelli's inequality), and far beyond the quadrature is
blind.
"""


class Interval(msgspec.Struct, frozen=True):
    """A mean with its interval at `CONFIDENCE`; bounds are None where nothing shows the spread."""

    mean: float
    """Of the values that are known."""
    low: float | None
    high: float | None
    """Of the mean over all, whatever the unknown values are."""
    n: int
    """Independent observations: samples, not calls, where epochs repeat."""
    method: str
    at_worst: float | None
    at_best: float | None
    """The mean were the unknown values the lowest or the highest that they can be; None where no scale says so."""
    clusters: int | None = None
    """Of how many groups of samples that vary together the interval is; None: the samples are taken for independent."""

    @property
    def is_whole(self) -> bool:
        """Whether all values are known."""
        return self.at_worst is not None and self.at_worst == self.at_best

    @property
    def centre(self) -> float:
        """Where a drawing has the mean: in the middle of where it can be."""
        return self.mean if self.at_worst is None or self.at_best is None else (self.at_worst + self.at_best) / 2


Counts = Mapping[float, int] | None


class ClusterSum(NamedTuple):
    """A cluster's samples together."""

    samples: int
    low: float
    """The sum of the lowest that they can be."""
    high: float


class AskedValues(NamedTuple):
    """The values that a mean is over, each with how often it occurs."""

    values: Mapping[float, int]
    """Those that are known."""
    lows: Mapping[float, int]
    highs: Mapping[float, int]
    """The lowest and the highest that each of all can be; of fewer where no scale says so."""
    scale: tuple[float, float] | None
    asked: int
    """How many there are, known or not."""
    clusters: Sequence[ClusterSum] = ()
    """Of the same samples; none where they are taken for independent."""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The scale; None also where it is a single point, on which no value tells anything."""
        return None if self.scale is None or self.scale[0] >= self.scale[1] else self.scale

    @classmethod
    def counted(
        cls,
        values: Counts,
        lows: Counts,
        highs: Counts,
        ends: tuple[float | None, float | None],
        asked: int,
        clusters: Sequence[ClusterSum] = (),
    ) -> "AskedValues":
        """Return the same from a row of a query, which has None where it counted nothing or no scale is known."""
        least, most = ends
        scale = None if least is None or most is None else (least, most)
        return cls(values or {}, lows or {}, highs or {}, scale, asked, clusters)


def mean_interval(values: Sequence[float], scale: tuple[float, float] | None = None) -> Interval:
    """Return the interval of a mean of values that are all known.

    Args:
        values: Independent observations, at least one.
        scale: The least and the most that one may be; by default 0 and 1 where all are from 0 to 1, and otherwise unknown.
    """
    counts = Counter(values)
    known = scale or (SHARES if all(0 <= value <= 1 for value in counts) else None)
    found = mean_intervals([AskedValues(counts, counts, counts, known, len(values))])[0]
    assert found is not None
    return found


def mean_intervals(asked: Sequence[AskedValues]) -> list[Interval | None]:
    """Return the intervals of several means at once; None where nothing is known.

    On a known scale this is Gaffke's bound at 2.5 % a side, the lower of the lowest values and the upper of the highest. It makes
    no assumption on the values but that they are independent and alike, and is Clopper and Pearson's interval for right or wrong.
    That it holds its level is a conjecture; the largest error that exact enumeration has found is .0244 of .025. On an unknown
    scale it is Student's over the known values, which is approximate. Where values belong to clusters, a mean is inside where the
    clusters' sums do not rule it out, each taken for one observation of it (`_clustered_end`).

    Source: Gaffke, N. (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
    variable, Mathematical Methods of Statistics 14, 451-467; Learned-Miller, E. and Thomas, P. (2019), arXiv:1905.06208.
    """
    independent = iter(_of_samples([one for one in asked if not one.clusters or one.bounds is None]))
    return [
        next(independent) if not one.clusters or one.bounds is None else _clustered(one, *one.bounds) for one in asked
    ]


def _of_samples(asked: Sequence[AskedValues]) -> list[Interval | None]:
    """Return the intervals of means of independent values."""
    on_scale = [(one, one.bounds) for one in asked if one.bounds is not None and one.lows]
    lows = iter(_lower_ends([(one.lows, least, most) for one, (least, most) in on_scale]))
    mirrored = [({-value: n for value, n in one.highs.items()}, -most, -least) for one, (least, most) in on_scale]
    highs = iter([-bound for bound in _lower_ends(mirrored)])
    return [
        _student_of(one) if one.bounds is None or not one.lows else _on_scale(one, next(lows), next(highs))
        for one in asked
    ]


def _on_scale(one: AskedValues, low: float, high: float) -> Interval | None:
    if not one.values:
        return None
    return Interval(_mean(one.values), low, high, sum(one.lows.values()), _METHOD, _mean(one.lows), _mean(one.highs))


def _clustered(one: AskedValues, least: float, most: float) -> Interval | None:
    if not one.values:
        return None
    low = _clustered_end([(group.samples, group.low) for group in one.clusters], least)
    high = -_clustered_end([(group.samples, -group.high) for group in one.clusters], -most)
    groups = len(one.clusters)
    method = f"Gaffke's bound over {groups} clusters"
    ends = _mean(one.lows), _mean(one.highs)
    return Interval(_mean(one.values), low, high, sum(one.lows.values()), method, *ends, groups)


def _clustered_end(groups: Sequence[tuple[int, float]], least: float) -> float:
    """Return the lower end of a mean over clusters, each with its size and its sum.

    Supposed that m is the mean, each cluster is one value (sum - m size) / largest size + m, whose mean is m and whose scale is
    that of a sample. The end is the m of which Gaffke's bound over these values is m.
    """
    import numpy as np

    counted = Counter(groups)
    sizes, sums = (np.array(part, dtype=float) for part in zip(*counted, strict=True))
    times = np.array([*counted.values(), 1.0])[None, :]

    def excess(mean: float) -> float:
        apart = np.append((sums - mean * sizes) / sizes.max(), least - mean)[None, :]
        centre = float((times * apart).sum() / times.sum())
        spread = float(np.sqrt((times * (apart - centre) ** 2).sum() / (times.sum() * (times.sum() + 1))))
        if centre >= _REACH * spread:
            return -_SIDE
        return float(_probability(apart, times, np.zeros(1))[0]) - _SIDE

    low, high = least, float(sums @ times[0, :-1] / (sizes @ times[0, :-1]))
    while high - low > _CLOSE_CLUSTERED * max(1.0, abs(high)):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) >= 0 else (middle, high)
    return low


def _mean(counts: Mapping[float, int]) -> float:
    return math.fsum(value * count for value, count in counts.items()) / sum(counts.values())


_METHOD = "Gaffke's bound over samples; for right or wrong Clopper and Pearson's"


def load_distributions() -> None:
    """Import what the distributions come from, which takes a fifth of a second and is put off everywhere."""
    import scipy.special  # noqa: F401 - to have it


def student_reach(observations: float, confidence: float = CONFIDENCE) -> float:
    """Return how many standard errors an interval reaches to each side of a mean; of one observation as far as of two."""
    from scipy.special import stdtrit

    return float(stdtrit(max(observations - 1, 1), (1 + confidence) / 2))


def student(n: int, mean: float, deviation: float | None) -> Interval:
    """Return the interval of a mean whose values have no known scale, from what it needs of them; it is approximate.

    Source: Student (1908), The probable error of a mean, Biometrika 6, 1-25: m ± t(n-1) s / √n.

    Args:
        n: How many values, at least one.
        deviation: Their standard deviation; None of a single one.
    """
    if not deviation:
        return Interval(mean, None, None, n, "not available: nothing shows the spread", mean, mean)
    half = student_reach(n) * deviation / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n, "Student's t over samples, approximate", mean, mean)


def _student_of(asked: AskedValues) -> Interval | None:
    counts = asked.values
    if not counts:
        return None
    n, mean = sum(counts.values()), _mean(counts)
    squares = math.fsum(count * (value - mean) ** 2 for value, count in counts.items())
    found = student(n, mean, math.sqrt(squares / (n - 1)) if n > 1 else None)
    is_whole = sum(asked.lows.values()) == asked.asked and asked.lows == asked.highs
    return found if is_whole else msgspec.structs.replace(found, at_worst=None, at_best=None)


def _lower_ends(given: Sequence[tuple[Mapping[float, int], float, float]]) -> list[float]:
    """Return the lower end of each: the 2.5 % point of Σ wᵢ xᵢ with Dirichlet(1, …, 1) weights, the scale's least among the x.

    Args:
        given: Values with their counts, the least and the most of the scale.
    """
    from scipy.special import betaincinv

    found: dict[int, float] = {}
    rest: list[tuple[int, dict[float, int]]] = []
    for place, (counts, least, most) in enumerate(given):
        points = _in_steps(counts, least, most)
        points[least] = points.get(least, 0) + 1
        if len(points) == 1:
            found[place] = least
        elif len(points) == 2:  # the weight of the upper one has a beta distribution
            above = max(points)
            found[place] = least + (above - least) * float(betaincinv(points[above], points[least], _SIDE))
        else:
            rest.append((place, points))
    return [found[n] for n in range(len(given))] if not rest else _with_quadrature(found, rest)


def _in_steps(counts: Mapping[float, int], least: float, most: float) -> dict[float, int]:
    """Return the values, where they are many rounded down to steps of the scale."""
    if len(counts) <= _MOST_STEPS:
        return dict(counts)
    step, found = (most - least) / _MOST_STEPS, Counter[float]()
    for value, count in counts.items():
        found[least + math.floor((value - least) / step) * step] += count
    return dict(found)


def _with_quadrature(found: dict[int, float], rest: list[tuple[int, dict[float, int]]]) -> list[float]:
    """Return the same where there are three values or more, all at once."""
    import numpy as np

    width = max(len(points) for _, points in rest)
    values, counts = np.zeros((len(rest), width)), np.zeros((len(rest), width))
    for row, (_, points) in enumerate(rest):
        values[row, : len(points)], counts[row, : len(points)] = list(points), list(points.values())
        values[row, len(points) :] = values[row, 0]  # with the count 0, which weighs nothing
    total = counts.sum(axis=1)
    high = (values * counts).sum(axis=1) / total
    deviation = np.sqrt((counts * (values - high[:, None]) ** 2).sum(axis=1) / (total * (total + 1)))
    low = np.maximum(values.min(axis=1), high - _REACH * deviation)
    at_low, at_high = (_probability(values, counts, ends) - _SIDE for ends in (low, high))
    kept = np.zeros(len(rest))
    for _ in range(_MOST_TRIES):  # regula falsi, as Illinois has it
        middle = high - at_high * (high - low) / (at_high - at_low)
        at_middle = _probability(values, counts, middle) - _SIDE
        if np.all((np.abs(at_middle) < _CLOSE) | (high - low < _CLOSE)):
            break
        below = at_middle < 0
        at_high = np.where(below & (kept == -1), at_high / 2, np.where(below, at_high, at_middle))
        at_low = np.where(~below & (kept == 1), at_low / 2, np.where(below, at_middle, at_low))
        low, high = np.where(below, middle, low), np.where(below, high, middle)
        kept = np.where(below, -1, 1)
    found |= {place: float(bound) for (place, _), bound in zip(rest, middle, strict=True)}
    return [found[n] for n in range(len(found))]


def _probability(values: "FloatArray", counts: "FloatArray", bound: "FloatArray") -> "FloatArray":
    """By row, the probability that Σ wᵢ xᵢ is at most a bound.

    The weights are gamma variables over their sum, so that it is the probability that Σ gᵢ (xᵢ - bound) is at most 0.
    Source: Gil-Pelaez, J. (1951), Note on the inversion theorem, Biometrika 38, 481-482, with a double-exponential quadrature.
    """
    import numpy as np

    steps = np.linspace(_FROM, _TO, _NODES)
    at, weight = np.exp(np.pi / 2 * np.sinh(steps)), _STEP * np.pi / 2 * np.cosh(steps)
    apart = values - bound[:, None]
    apart = apart / np.sqrt((counts * apart**2).sum(axis=1, keepdims=True))
    angles, logs = np.zeros((len(values), _NODES)), np.zeros((len(values), _NODES))
    for column in range(values.shape[1]):
        turned = apart[:, column, None] * at
        angles += counts[:, column, None] * np.arctan(turned)
        logs += counts[:, column, None] / 2 * np.log1p(turned**2)
    probability: FloatArray = 0.5 - (np.sin(angles) * np.exp(-logs) * weight).sum(axis=1) / np.pi
    return probability
