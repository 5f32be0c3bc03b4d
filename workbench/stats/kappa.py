"""Cohen's kappa, of labels and of numbers, and between which it is where answers are not known.

Both are 1 - Σ d(x, y) / Σ e(x): how far answers x are from what is right, beside how far they are from what is right
elsewhere, e(x) being the mean distance of x from every right answer. Labels are a distance of 1 apart where they differ;
numbers the square of their difference, which is kappa with quadratic weights. Both sums are over answers, so that what an
unknown answer does to either does not hang on the other unknown ones.

Sources: Cohen, J. (1960), A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20,
37-46; (1968), Weighted kappa, Psychological Bulletin 70, 213-220.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from workbench.stats.jackknife import CORRELATION

if TYPE_CHECKING:
    from workbench.stats.jackknife import Estimate, Jackknife, Mask, Numbers

OTHER = -1.0
"""A label that is none of those that are right somewhere; they are 0.0, 1.0 and so on."""
NOTHING = -2.0
"""No label at all."""
_MOST_STEPS, _CLOSE = 100, 1e-13


class Distance(Protocol):
    """How far answers are from what is right."""

    farthest: float
    """The largest distance that there is."""

    def apart(self, x: "Numbers", y: "Numbers") -> "Numbers":
        """Return the distance of each answer from what is right."""
        ...

    def by_chance(self, x: "Numbers") -> "Numbers":
        """Return the mean distance of each answer from what is right anywhere."""
        ...

    def options(self, y: "Numbers", ratio: float) -> "Numbers":
        """Return what unknown answers may have been, a row per option: the least and the most of d - ratio · e are among
        them.
        """
        ...


class Squared:
    """Of numbers on a scale: a declared one, or that which the right ones span."""

    def __init__(self, right: "Numbers", scale: tuple[float, float] | None = None) -> None:
        self._mean, self._spread = float(right.mean()), float(right.var())
        self._ends = ends_of(right, scale)
        self.farthest = (self._ends[1] - self._ends[0]) ** 2

    def apart(self, x: "Numbers", y: "Numbers") -> "Numbers":
        """Return the square of each difference."""
        return (x - y) ** 2

    def by_chance(self, x: "Numbers") -> "Numbers":
        """Return the mean square of the difference from every right number."""
        return self._spread + (x - self._mean) ** 2

    def options(self, y: "Numbers", ratio: float) -> "Numbers":
        """Return both ends of the scale, and the vertex of the parabola d - ratio · e where it is between them."""
        import numpy as np

        least, most = self._ends
        vertex = np.clip((y - ratio * self._mean) / (1 - ratio), least, most) if ratio != 1 else y
        return np.stack([np.full_like(y, least), np.full_like(y, most), vertex])


def ends_of(right: "Numbers", scale: tuple[float, float] | None) -> tuple[float, float]:
    """Return the least and the most of a scale: of the declared one, or of that which the right numbers span."""
    return (float(right.min()), float(right.max())) if scale is None else scale


class Unequal:
    """Of labels, as their places among those that are right somewhere."""

    def __init__(self, right: "Numbers") -> None:
        import numpy as np

        self._labels, counts = np.unique(right, return_counts=True)
        self._shares = counts / len(right)
        self.farthest = 1.0

    def apart(self, x: "Numbers", y: "Numbers") -> "Numbers":
        """Return 1 where a label differs."""
        differs: Numbers = (x != y).astype(float)
        return differs

    def by_chance(self, x: "Numbers") -> "Numbers":
        """Return the share of the right labels that differ."""
        import numpy as np

        place = np.minimum(np.searchsorted(self._labels, x), len(self._labels) - 1)
        found: Numbers = 1 - np.where(self._labels[place] == x, self._shares[place], 0.0)
        return found

    def options(self, y: "Numbers", ratio: float) -> "Numbers":
        """Return every label, and none of them."""
        import numpy as np

        every = np.append(self._labels, OTHER)
        return np.tile(every[:, None], (1, len(y)))


class Missed(Unequal):
    """Of labels where chance is left aside: 1 less the ratio of the sums is accuracy."""

    def by_chance(self, x: "Numbers") -> "Numbers":
        """Return 1 for each answer."""
        import numpy as np

        return np.ones_like(x)

    def options(self, y: "Numbers", ratio: float) -> "Numbers":
        """Return the right label, and none."""
        import numpy as np

        return np.stack([y, np.full_like(y, OTHER)])


DistanceTo = Callable[["Numbers"], Distance]
"""Given every right answer."""


def kappa(x: "Numbers", y: "Numbers", distance: DistanceTo) -> float | None:
    """Return 1 - Σ d(x, y) / Σ e(x); None where answers and targets are all the same, so that chance gives that too."""
    to = distance(y)
    by_chance = float(to.by_chance(x).sum())
    return None if by_chance <= 0 else 1 - float(to.apart(x, y).sum()) / by_chance


def kappa_at_worst(y: "Numbers", wrong: float, distance: DistanceTo) -> float:
    """Return kappa where answers are what is right, but for a share that is as far from it as can be.

    Args:
        y: What is right.
        wrong: The share.
        distance: Of labels, or of numbers.
    """
    to = distance(y)
    return max(-1.0, 1 - wrong * to.farthest / float(to.by_chance(y).mean()))


def kappa_estimate(
    over: "Jackknife", x: "Numbers", y: "Numbers", unknown: "Mask", distance: DistanceTo
) -> "Estimate | None":
    """Return kappa with its interval; the arguments are those of `at_extreme`, which `over` was made of."""
    return over.estimate(
        lambda x, y: kappa(x, y, distance),
        lambda: (at_extreme(x, y, unknown, distance, highest=False), at_extreme(x, y, unknown, distance, highest=True)),
        ends=CORRELATION,
        at_worst=lambda y, wrong: kappa_at_worst(y, wrong, distance),
    )


def at_extreme(x: "Numbers", y: "Numbers", unknown: "Mask", distance: DistanceTo, *, highest: bool) -> "Numbers":
    """Return all answers, the unknown ones such that kappa is the highest or the lowest that it can be.

    The ratio of two sums of which each unknown answer adds to both is a linear-fractional program: at the best ratio r, each
    answer by itself has the best d - r · e. It is found from any r in a few steps, each of which takes the ratio of the one
    before.

    Source: Dinkelbach, W. (1967), On nonlinear fractional programming, Management Science 13, 492-498.

    Args:
        x: What was given; of unknown answers anything.
        y: What is right, not the same everywhere.
        unknown: Which answers are not known.
        distance: Of labels, or of numbers.
        highest: Whether the highest is wanted.
    """
    import numpy as np

    to, known, right = distance(y), ~unknown, y[unknown]
    apart, by_chance = to.apart(x[known], y[known]).sum(), to.by_chance(x[known]).sum()
    ratio, filled = 1.0, x.copy()
    for _ in range(_MOST_STEPS):
        options = to.options(right, ratio)
        worth = to.apart(options, right) - ratio * to.by_chance(options)
        best = worth.argmin(axis=0) if highest else worth.argmax(axis=0)
        chosen = np.take_along_axis(options, best[None], axis=0)[0]
        before = ratio
        ratio = float((apart + to.apart(chosen, right).sum()) / (by_chance + to.by_chance(chosen).sum()))
        filled[unknown] = chosen
        if abs(ratio - before) <= _CLOSE:
            break
    return filled
