"""Two models' agreement with the same targets: their difference, its interval by the jackknife, its test by permutation."""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from workbench.stats.agreement import pearson, spearman
from workbench.stats.jackknife import estimate_of, left_out
from workbench.stats.kappa import DistanceTo, kappa
from workbench.stats.label_agreement import macro_f1

if TYPE_CHECKING:
    from workbench.stats.jackknife import Mask, Numbers

    Both = tuple[Numbers, Numbers]
    """The answers of two models."""

MOST_EXACT = 12
"""Where as many clusters differ, or fewer, every way to swap them is tried."""
DRAWS = 9_999
_SEED = 20_210
_MOST_CELLS = 2_000_000
_CLOSE = 1e-12


class PairedAgreement(msgspec.Struct, frozen=True):
    """How far one model's agreement is above another's."""

    n: int
    """Answers of each."""
    differing: int
    """Clusters in which an answer differs."""
    difference: float
    low: float | None
    high: float | None
    """At 95 %; None where nothing shows the spread."""
    p_value: float
    """Two-sided, of this pair alone."""
    method: str


class SummedFigure(Protocol):
    """A figure of answers `x` beside what is right, `y`, that sums over the answers make.

    So answers can change places cluster by cluster with the sums alone.
    """

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return the figure; None where it is not defined."""
        ...

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return what each answer adds to each sum, by model, sum and answer."""
        ...

    def of(self, sums: "Numbers") -> "Numbers":
        """Return the figure of each column of sums, in any unit; not a number where it is not defined."""
        ...


class BeyondChance:
    """Kappa, or accuracy, by a distance: 1 - Σ d / Σ e."""

    def __init__(self, distance: DistanceTo) -> None:
        self._distance = distance

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it; None where chance gives the same."""
        return kappa(x, y, self._distance)

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return d and e of each answer."""
        import numpy as np

        to = self._distance(y)
        return np.asarray([[to.apart(x, y), to.by_chance(x)] for x in both])

    def of(self, sums: "Numbers") -> "Numbers":
        """Return 1 - Σ d / Σ e."""
        found: Numbers = 1 - sums[0] / sums[1]
        return found


class MeanError:
    """The mean distance of numbers from those that are right."""

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it, of one answer or more."""
        return float(abs(x - y).mean()) if len(x) else None

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return the distance of each answer, and 1."""
        import numpy as np

        unit = _largest_error(both, y)
        return np.asarray([[abs(x - y) / unit, np.ones_like(y)] for x in both])

    def of(self, sums: "Numbers") -> "Numbers":
        """Return the mean."""
        found: Numbers = sums[0] / sums[1]
        return found


class AbsoluteBias:
    """How far the mean of numbers is from the mean of those that are right, whether above or below."""

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it, of one answer or more."""
        return abs(float((x - y).mean())) if len(x) else None

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return how far each answer is above what is right, and 1."""
        import numpy as np

        unit = _largest_error(both, y)
        return np.asarray([[(x - y) / unit, np.ones_like(y)] for x in both])

    def of(self, sums: "Numbers") -> "Numbers":
        """Return the mean without its sign."""
        found: Numbers = abs(sums[0] / sums[1])
        return found


class Correlation:
    """Pearson's."""

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it; None where the numbers, or what is right of them, are all the same."""
        return pearson(x, y)

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return 1, x, y, x², y² and xy of each answer, about the mean of what is right."""
        import numpy as np

        unit = float(y.std()) or 1.0
        return np.asarray([_moments((x - y.mean()) / unit, (y - y.mean()) / unit) for x in both])

    def of(self, sums: "Numbers") -> "Numbers":
        """Return the covariance over the root of both variances."""
        import numpy as np

        n, x, y, xx, yy, xy = sums
        spread = (xx - x * x / n) * (yy - y * y / n)
        found: Numbers = (xy - x * y / n) / np.sqrt(np.where(spread > _CLOSE, spread, np.nan))
        return found


class RankCorrelation(Correlation):
    """Spearman's. In the test an answer keeps the rank that it has among those of its own model."""

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it; None where the numbers, or what is right of them, are all the same."""
        return spearman(x, y)

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return 1, x, y, x², y² and xy of the ranks of each answer, as shares of all ranks."""
        import numpy as np

        own = _ranked(y) - 0.5
        return np.asarray([_moments(_ranked(x) - 0.5, own) for x in both])


def _largest_error(both: "Both", y: "Numbers") -> float:
    """Return the unit in which errors are summed, so that rounding is the same whatever the numbers' own unit is."""
    return max(float(abs(x - y).max()) for x in both) or 1.0


def _moments(x: "Numbers", y: "Numbers") -> "Numbers":
    import numpy as np

    return np.stack([np.ones_like(y), x, y, x * x, y * y, x * y])


def _ranked(x: "Numbers") -> "Numbers":
    """Return the mean rank of each number, as a share of their count."""
    import numpy as np

    among = np.sort(x)
    found: Numbers = (np.searchsorted(among, x) + np.searchsorted(among, x, "right")) / (2 * len(among))
    return found


class MacroF1:
    """The mean of the classes' F1, over the classes that are right somewhere.

    Args:
        labels: How many classes there are.
    """

    def __init__(self, labels: int) -> None:
        self._labels = labels

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it, of one answer or more."""
        return macro_f1(x, y, self._labels)

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return of each answer by class whether it is a hit, whether it has the class, and whether it should."""
        import numpy as np

        classes = np.arange(self._labels)[:, None]
        right = y == classes
        return np.asarray([np.concatenate([(x == classes) & right, x == classes, right]) for x in both], dtype=float)

    def of(self, sums: "Numbers") -> "Numbers":
        """Return the mean of 2 · hits / (given + right)."""
        import numpy as np

        hits, given, right = np.split(sums, 3)
        there = right[:, 0] > 0  # the same whoever answers
        found: Numbers = (2 * hits[there] / (given[there] + right[there])).mean(axis=0)
        return found


def paired_agreement(
    both: "Both", right: "Numbers", clusters: Sequence[Hashable], figure: SummedFigure
) -> PairedAgreement | None:
    """Compare the agreement of two models by a figure; None where it is not defined.

    If it makes no difference which model answers, the answers of the two can change places: they do so cluster by cluster,
    in every way where few clusters differ, else in `DRAWS` ways at random, always the same. The p-value is the share of
    these ways, the one that was seen among them, with a difference at least as large.

    Sources: Fisher, R. A. (1935), The design of experiments, section 21; Phipson, B., Smyth, G. K. (2010), Permutation
    p-values should never be zero, Statistical Applications in Genetics and Molecular Biology 9, 39: (1 + hits) / (1 +
    draws).

    Args:
        both: The answers of each to the same requests, as numbers or places of labels.
        right: What is right.
        clusters: What each answer belongs to.
        figure: By which they are compared.
    """
    import numpy as np

    values = [figure.value(one, right) for one in both]
    if values[0] is None or values[1] is None:
        return None
    difference = values[0] - values[1]

    def without(kept: "Mask") -> float | None:
        one, other = (figure.value(x[kept], right[kept]) for x in both)
        return None if one is None or other is None else one - other

    found = estimate_of(difference, [without(kept) for kept in left_out(clusters)])
    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    group = np.asarray([names[name] for name in clusters])
    differs = np.bincount(group, weights=both[0] != both[1], minlength=len(names)) > 0
    sums = np.asarray(
        [[np.bincount(group, weights=one, minlength=len(names)) for one in own] for own in figure.terms(both, right)]
    )  # model, sum, cluster
    is_exact = int(differs.sum()) <= MOST_EXACT
    p_value = _p_value(sums.sum(axis=2), (sums[1] - sums[0])[:, differs], figure.of, is_exact=is_exact)
    ways = f"all {2 ** int(differs.sum())} ways" if is_exact else f"{DRAWS} draws"
    method = f"permutation test over {len(names)} clusters, {ways}"
    return PairedAgreement(len(right), int(differs.sum()), difference, found.low, found.high, p_value, method)


def _p_value(whole: "Numbers", swap: "Numbers", of: "Callable[[Numbers], Numbers]", *, is_exact: bool) -> float:
    """Return the share of ways to swap clusters with a difference at least as large as there is.

    Args:
        whole: By model, its sums.
        swap: What swapping each cluster adds to the sums of the first model, and takes from those of the second.
        of: Return the figure of each column of sums.
        is_exact: Whether every way is tried.
    """
    import numpy as np

    def differences(moved: "Numbers") -> "Numbers":
        """Return the difference of the two models for each way to move sums from one to the other."""
        found: Numbers = np.abs(of(whole[0][:, None] + moved) - of(whole[1][:, None] - moved))
        return found

    seen = differences(np.zeros((len(whole[0]), 1)))[0]

    def as_large(moved: "Numbers") -> "Mask":
        smaller: Mask = differences(moved) < seen - _CLOSE
        return ~smaller  # nor is a way that leaves the figure undefined: it counts against the difference

    if is_exact:
        clusters = swap.shape[1]
        ways = (np.arange(2**clusters)[:, None] >> np.arange(clusters)) & 1
        return float(np.mean(as_large((ways @ swap.T).T)))
    # clusters that do the same are drawn together: how many of them are swapped is binomial
    kinds, counts = np.unique(swap.round(12), axis=1, return_counts=True)
    chance, hits, done = np.random.default_rng(_SEED), 0, 0
    at_once = max(1, _MOST_CELLS // max(len(counts), len(swap)))
    while done < DRAWS:
        draws = min(at_once, DRAWS - done)
        swapped = chance.binomial(counts, 0.5, size=(draws, len(counts)))
        hits += int(as_large((swapped @ kinds.T).T).sum())
        done += draws
    return (1 + hits) / (1 + DRAWS)
