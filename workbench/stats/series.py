"""Scores of one model over a series of occasions: when they changed, with one false-alarm rate for the whole series."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    import numpy

WINDOWS = (1, 2, 3)
"""How many of the newest occasions are compared with those before: a drop too small for one night shows over three."""
_LEAST_SAMPLES = 5


class ScoreChange(msgspec.Struct, frozen=True):
    """From some occasion on, a model scores otherwise."""

    seen_at: int
    """The number of the occasion that shows it."""
    began_at: int
    """The number of the first occasion that it was seen from."""
    difference: float
    """Of the means, after and before."""
    samples: int
    p_value: float
    level: float
    """What the p-value is below: the part of the rate that this look may spend."""


def changes(occasions: Sequence[Mapping[str, float]], rate: float) -> list[ScoreChange]:
    """Find every change of a series, each once.

    On each occasion the newest one, two and three are compared with all before them back to the last change, sample by
    sample, by a t test. The looks share the rate: the t-th occasion may spend rate / (t (t + 1)), which sums to the rate
    over any number of them. After a change the comparison begins again with the occasions that showed it.

    Source: Bonferroni's inequality; the sum is the telescoping series of 1/t - 1/(t + 1).

    Args:
        occasions: Sample -> score, the oldest first.
        rate: How probably a series without any change has one found.
    """
    import numpy

    names = sorted(set().union(*occasions))
    if not names:
        return []
    values = numpy.array([[scores.get(name, numpy.nan) for name in names] for scores in occasions]).reshape(
        -1, len(names)
    )
    known = ~numpy.isnan(values)
    zero = numpy.zeros((1, len(names)))
    sums = numpy.vstack([zero, numpy.cumsum(numpy.where(known, values, 0.0), axis=0)])
    counts = numpy.vstack([zero, numpy.cumsum(known, axis=0)])
    found: list[ScoreChange] = []
    start = 0
    for now in range(1, len(occasions)):
        level = rate / (now * (now + 1)) / len(WINDOWS)
        looks = []
        for began in (now + 1 - window for window in WINDOWS):
            if began <= start:
                continue
            before, after = counts[began] - counts[start], counts[now + 1] - counts[began]
            there = (before > 0) & (after > 0)
            means = (
                (sums[now + 1] - sums[began])[there] / after[there],
                (sums[began] - sums[start])[there] / before[there],
            )
            mean, p_value = _tested(means[0] - means[1])
            if p_value < level:
                looks.append(ScoreChange(now, began, mean, int(there.sum()), p_value, level))
        if looks:
            found.append(min(looks, key=lambda change: change.p_value))
            start = found[-1].began_at
    return found


def _tested(apart: "numpy.ndarray[Any, Any]") -> tuple[float, float]:
    """The mean of differences and its two-sided p-value."""
    from scipy.special import stdtr

    if len(apart) < _LEAST_SAMPLES:
        return 0.0, 1.0
    mean, spread = float(apart.mean()), float(apart.std(ddof=1))
    if spread < 1e-9:  # every sample by the same: sure, as far as the number of samples can make it
        return mean, 2.0 ** (1 - len(apart)) if abs(mean) > 1e-9 else 1.0
    return mean, 2 * float(stdtr(len(apart) - 1, -abs(mean) / (spread / len(apart) ** 0.5)))
