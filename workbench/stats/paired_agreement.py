"""Two models' agreement with the same targets: their difference, its interval by the jackknife, its test by permutation."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import msgspec

from workbench.stats.jackknife import estimate_of, left_out
from workbench.stats.kappa import DistanceTo, kappa

if TYPE_CHECKING:
    import numpy as np

    from workbench.stats.jackknife import Numbers

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


def paired_agreement(
    both: "tuple[Numbers, Numbers]", right: "Numbers", clusters: Sequence[Hashable], distance: DistanceTo
) -> PairedAgreement | None:
    """Compare the agreement of two models, which is 1 - Σ d / Σ e for a distance; None where it is not defined.

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
        distance: Of labels, or of numbers.
    """
    import numpy as np

    values = [kappa(one, right, distance) for one in both]
    if values[0] is None or values[1] is None:
        return None
    difference = values[0] - values[1]

    def without(kept: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]") -> float | None:
        one, other = (kappa(x[kept], right[kept], distance) for x in both)
        return None if one is None or other is None else one - other

    found = estimate_of(difference, [without(kept) for kept in left_out(clusters)])
    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    group = np.asarray([names[name] for name in clusters])
    differs = np.bincount(group, weights=both[0] != both[1], minlength=len(names)) > 0
    to = distance(right)
    sums = np.asarray(
        [
            [np.bincount(group, weights=part, minlength=len(names)) for part in (to.apart(x, right), to.by_chance(x))]
            for x in both
        ]
    )  # model, sum, cluster
    is_exact = int(differs.sum()) <= MOST_EXACT
    p_value = _p_value(sums.sum(axis=2), (sums[1] - sums[0])[:, differs], is_exact=is_exact)
    ways = f"all {2 ** int(differs.sum())} ways" if is_exact else f"{DRAWS} draws"
    method = f"permutation test over {len(names)} clusters, {ways}"
    return PairedAgreement(len(right), int(differs.sum()), difference, found.low, found.high, p_value, method)


def _p_value(whole: "Numbers", swap: "Numbers", *, is_exact: bool) -> float:
    """Return the share of ways to swap clusters with a difference at least as large as there is.

    Args:
        whole: By model, Σ d and Σ e.
        swap: What swapping each cluster adds to both sums of the first model, and takes from those of the second.
        is_exact: Whether every way is tried.
    """
    import numpy as np

    seen = abs(_differences(whole, np.zeros((2, 1)))[0])
    if is_exact:
        clusters = swap.shape[1]
        ways = (np.arange(2**clusters)[:, None] >> np.arange(clusters)) & 1
        return float(np.mean(np.abs(_differences(whole, (ways @ swap.T).T)) >= seen - _CLOSE))
    # clusters that do the same are drawn together: how many of them are swapped is binomial
    kinds, counts = np.unique(swap.round(12), axis=1, return_counts=True)
    chance, hits, done = np.random.default_rng(_SEED), 0, 0
    at_once = max(1, _MOST_CELLS // len(counts))
    while done < DRAWS:
        draws = min(at_once, DRAWS - done)
        swapped = chance.binomial(counts, 0.5, size=(draws, len(counts)))
        hits += int((np.abs(_differences(whole, (swapped @ kinds.T).T)) >= seen - _CLOSE).sum())
        done += draws
    return (1 + hits) / (1 + DRAWS)


def _differences(whole: "Numbers", moved: "Numbers") -> "Numbers":
    """Return the difference of the two models' 1 - Σ d / Σ e, for each way to move sums from one to the other."""
    one, other = whole[0][:, None] + moved, whole[1][:, None] - moved
    found: Numbers = other[0] / other[1] - one[0] / one[1]
    return found
