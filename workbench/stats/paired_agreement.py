"""Two models' agreement with the same targets: their difference, its interval by the jackknife, its test by permutation."""

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from workbench.stats.agreement import pearson, ranks, spearman
from workbench.stats.jackknife import estimate_of, left_out
from workbench.stats.kappa import Squared, Unequal, kappa
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

    So answers can change places cluster by cluster, and clusters be left out, with the sums alone.
    """

    adds_up: bool
    """Whether what an answer adds is the same whichever others there are."""

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return the figure; None where it is not defined."""
        ...

    def unit(self, both: "Both", y: "Numbers") -> float:
        """Return in what it is summed, so that rounding is the same whatever the numbers' own unit is."""
        ...

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return what each answer adds to each sum, by model, sum and answer."""
        ...

    def of(self, sums: "Numbers") -> "Numbers":
        """Return the figure of each column of sums in its unit; not a number where it is not defined."""
        ...


class _Unitless:
    """A figure that no unit changes."""

    adds_up = True

    def unit(self, both: "Both", y: "Numbers") -> float:
        """Return 1."""
        return 1.0


class Accuracy(_Unitless):
    """The share of labels that are right."""

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it, of one answer or more."""
        return float((x == y).mean()) if len(x) else None

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return of each answer whether it is right, and 1."""
        import numpy as np

        return np.asarray([[x == y, np.ones_like(y)] for x in both], dtype=float)

    def of(self, sums: "Numbers") -> "Numbers":
        """Return the share."""
        found: Numbers = sums[0] / sums[1]
        return found


class Kappa(_Unitless):
    """Cohen's, of labels.

    Args:
        labels: How many there are.
    """

    def __init__(self, labels: int) -> None:
        self._labels = labels

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it; None where chance gives the same."""
        return kappa(x, y, Unequal)

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return of each answer 1, whether it is wrong, and by label whether it has it and whether it should."""
        import numpy as np

        classes = np.arange(self._labels)[:, None]
        return np.asarray([[np.ones_like(y), x != y, *(x == classes), *(y == classes)] for x in both], dtype=float)

    def of(self, sums: "Numbers") -> "Numbers":
        """Return 1 - wrong / wrong by chance."""
        import numpy as np

        n, wrong = sums[:2]
        given, right = np.split(sums[2:], 2)
        return _beyond_chance(wrong, n - (given * right).sum(axis=0) / n)


class _OfMoments(_Unitless):
    """A figure of means, variances and the covariance."""

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return 1, x, y, x², y² and xy of each answer, about the mean of what is right."""
        import numpy as np

        unit = float(y.std()) or 1.0
        return np.asarray([_moments((x - y.mean()) / unit, (y - y.mean()) / unit) for x in both])


class WeightedKappa(_OfMoments):
    """Kappa with quadratic weights, of numbers."""

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it; None where chance gives the same."""
        return kappa(x, y, Squared)

    def of(self, sums: "Numbers") -> "Numbers":
        """Return 1 - Σ (x - y)² / Σ of the mean (x - y)² over every y."""
        n, x, y, xx, yy, xy = sums
        return _beyond_chance(xx - 2 * xy + yy, xx - 2 * x * y / n + yy)


def _beyond_chance(apart: "Numbers", by_chance: "Numbers") -> "Numbers":
    import numpy as np

    found: Numbers = 1 - apart / np.where(by_chance > _CLOSE, by_chance, np.nan)
    return found


class MeanError:
    """The mean distance of numbers from those that are right."""

    adds_up = True

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it, of one answer or more."""
        return float(abs(x - y).mean()) if len(x) else None

    def unit(self, both: "Both", y: "Numbers") -> float:
        """Return the largest error."""
        return max(float(abs(x - y).max()) for x in both) or 1.0

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return the distance of each answer, and 1."""
        import numpy as np

        unit = self.unit(both, y)
        return np.asarray([[abs(x - y) / unit, np.ones_like(y)] for x in both])

    def of(self, sums: "Numbers") -> "Numbers":
        """Return the mean."""
        found: Numbers = sums[0] / sums[1]
        return found


class AbsoluteBias(MeanError):
    """How far the mean of numbers is from the mean of those that are right, whether above or below."""

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it, of one answer or more."""
        return abs(float((x - y).mean())) if len(x) else None

    def terms(self, both: "Both", y: "Numbers") -> "Numbers":
        """Return how far each answer is above what is right, and 1."""
        import numpy as np

        unit = self.unit(both, y)
        return np.asarray([[(x - y) / unit, np.ones_like(y)] for x in both])

    def of(self, sums: "Numbers") -> "Numbers":
        """Return the mean without its sign."""
        found: Numbers = abs(sums[0] / sums[1])
        return found


class Correlation(_OfMoments):
    """Pearson's."""

    adds_up = False  # about one mean for both models, which loses digits where a model's is far from it

    def value(self, x: "Numbers", y: "Numbers") -> float | None:
        """Return it; None where the numbers, or what is right of them, are all the same."""
        return pearson(x, y)

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

        own = ranks(y) / len(y) - 0.5
        return np.asarray([_moments(ranks(x) / len(x) - 0.5, own) for x in both])


def _moments(x: "Numbers", y: "Numbers") -> "Numbers":
    import numpy as np

    return np.stack([np.ones_like(y), x, y, x * x, y * y, x * y])


class MacroF1(_Unitless):
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
        there = right > 0
        f1 = np.divide(2 * hits, given + right, out=np.zeros_like(hits), where=there)
        found: Numbers = f1.sum(axis=0) / there.sum(axis=0)
        return found


def paired_agreements(
    both: "Both", right: "Numbers", clusters: Sequence[Hashable], figures: Sequence[SummedFigure]
) -> list[PairedAgreement | None]:
    """Compare the agreement of two models by each figure; None where one is not defined.

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
    """
    import numpy as np

    values = [(figure.value(both[0], right), figure.value(both[1], right)) for figure in figures]
    terms = [figure.terms(both, right) for figure in figures]  # each by model, sum and answer
    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    group = np.asarray([names[name] for name in clusters])
    differs = np.bincount(group, weights=both[0] != both[1], minlength=len(names)) > 0
    swaps = _by_cluster(np.concatenate([own[1] - own[0] for own in terms]), group, len(names))[:, differs]
    is_exact = int(differs.sum()) <= MOST_EXACT
    p_values = _p_values(figures, [own.sum(axis=2) for own in terms], swaps, is_exact=is_exact)
    ways = f"all {2 ** int(differs.sum())} ways" if is_exact else f"{DRAWS} draws"
    method = f"permutation test over {len(names)} clusters, {ways}"
    left, found = left_out(clusters), list[PairedAgreement | None]()
    for figure, (one, other), own, p_value in zip(figures, values, terms, p_values, strict=True):
        if one is None or other is None:
            found.append(None)
            continue
        interval = estimate_of(one - other, _without(figure, both, right, own, left))
        found.append(
            PairedAgreement(len(right), int(differs.sum()), one - other, interval.low, interval.high, p_value, method)
        )
    return found


def _by_cluster(terms: "Numbers", group: "Numbers", clusters: int) -> "Numbers":
    """Return each row of what answers add, summed by cluster."""
    import numpy as np

    return np.asarray([np.bincount(group, weights=row, minlength=clusters) for row in terms])


def _without(
    figure: SummedFigure, both: "Both", right: "Numbers", terms: "Numbers", left: "Sequence[Mask]"
) -> list[float | None]:
    """Return the difference of both models over the answers that are left each time; None where it is not defined."""
    import numpy as np

    if not left or not figure.adds_up:
        pairs = [tuple(figure.value(x[kept], right[kept]) for x in both) for kept in left]
        return [None if one is None or other is None else one - other for one, other in pairs]
    one, other = (figure.of(sums) for sums in terms @ np.asarray(left, dtype=float).T)
    differences = (one - other) * figure.unit(both, right)
    return [None if math.isnan(value) else value for value in differences.tolist()]


def _p_values(
    figures: Sequence[SummedFigure], whole: "Sequence[Numbers]", swaps: "Numbers", *, is_exact: bool
) -> list[float]:
    """Return for each figure the share of ways to swap clusters with a difference at least as large as there is.

    Args:
        figures: Of which each has some of the sums, in order.
        whole: For each figure by model, its sums.
        swaps: What swapping each cluster adds to the sums of the first model, and takes from those of the second.
        is_exact: Whether every way is tried.
    """
    import numpy as np

    ends = np.cumsum([own.shape[1] for own in whole])[:-1]

    def differences(moved: "Numbers") -> "list[Numbers]":
        """Return the difference of the two models by each figure for each way to move sums from one to the other."""
        return [
            np.abs(figure.of(own[0][:, None] + part) - figure.of(own[1][:, None] - part))
            for figure, own, part in zip(figures, whole, np.split(moved, ends), strict=True)
        ]

    seen = [one[0] for one in differences(np.zeros((len(swaps), 1)))]

    def as_large(moved: "Numbers") -> "Numbers":
        """Return how many of the ways have one, by figure."""
        smaller = [(one < at - _CLOSE).sum() for one, at in zip(differences(moved), seen, strict=True)]
        return moved.shape[1] - np.asarray(
            smaller
        )  # a way that leaves the figure undefined counts against the difference

    if is_exact:
        clusters = swaps.shape[1]
        ways = (np.arange(2**clusters)[:, None] >> np.arange(clusters)) & 1
        return list((as_large((ways @ swaps.T).T) / len(ways)).tolist())
    # clusters that do the same are drawn together: how many of them are swapped is binomial
    kinds, counts = np.unique(swaps.round(12), axis=1, return_counts=True)
    chance, hits, done = np.random.default_rng(_SEED), np.zeros(len(figures)), 0
    at_once = max(1, _MOST_CELLS // max(len(counts), len(swaps)))
    while done < DRAWS:
        draws = min(at_once, DRAWS - done)
        swapped = chance.binomial(counts, 0.5, size=(draws, len(counts)))
        hits += as_large((swapped @ kinds.T).T)
        done += draws
    return list(((1 + hits) / (1 + DRAWS)).tolist())
