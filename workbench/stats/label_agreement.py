"""How far given labels agree with those that are right: in all, beyond chance, and class by class."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import msgspec

from workbench.stats.jackknife import SHARE, Estimate, Jackknife, Missing, each_alone
from workbench.stats.kappa import NOTHING, OTHER, Unequal, kappa_estimate

if TYPE_CHECKING:
    from workbench.stats.jackknife import Mask, Numbers


class ClassFigures(msgspec.Struct, frozen=True):
    """One label of the targets, over the answers that are known."""

    label: str
    support: int
    """Answers whose target it is."""
    given: int
    """Answers that have it."""
    precision: float | None
    """Of those that have it, the share of which it is the target; None where no answer has it."""
    recall: float | None
    """Of those whose target it is, the share that has it; None where there is none."""
    f1: float | None
    """2 P R / (P + R); 0 where no answer is right."""


class LabelAgreement(msgspec.Struct, frozen=True):
    """Labels beside those that are right."""

    n: int
    """Answers that are known: with a label or without, by the model's own doing."""
    accuracy: Estimate
    kappa: Estimate | None
    """Cohen's: 1 is the same everywhere, 0 what chance gives; None where all targets are alike."""
    macro_f1: Estimate
    """The mean over the classes, whatever their support; where answers are unknown, of the others and without an interval."""
    classes: list[ClassFigures]
    confusion: list[list[int]]
    """Answers by target (rows) and by what was given (columns): the classes, another label, none."""


def label_agreement(
    given: Sequence[float | Missing],
    right: Sequence[float],
    labels: Sequence[str],
    clusters: Sequence[Hashable] | None = None,
) -> LabelAgreement:
    """Return how far labels agree with those that are right.

    An answer that is not right has a label of its own, as has one whose label is none of the targets': neither is right,
    nor expected by chance. An unknown answer may have been any label. Intervals are by the jackknife that leaves out one
    cluster at a time, for kappa on the scale of atanh and for shares on that of logits, with Student's t.

    Sources: Cohen (1960), A coefficient of agreement for nominal scales; Sokolova, Lapalme (2009), A systematic analysis of
    performance measures for classification tasks (macro F1 as the mean of the classes' F1).

    Args:
        given: Places in `labels`, or `OTHER`; at least one that is known.
        right: Places in `labels`, as many.
        clusters: What belongs together; by default each answer by itself.
    """
    x, y, unknown = label_arrays(given, right)
    over = Jackknife((x, y), unknown, each_alone(clusters, len(x)))
    macro = over.estimate(lambda x, y: macro_f1(x, y, len(labels)), ends=SHARE)
    assert macro is not None
    table = _confusion(x[~unknown], y[~unknown], len(labels))
    return LabelAgreement(
        int((~unknown).sum()),
        accuracy_of(over, y),
        kappa_of_labels(over, x, y, unknown),
        macro,
        [_class(table, place, label) for place, label in enumerate(labels)],
        table.astype(int).tolist(),
    )


def label_arrays(given: Sequence[float | Missing], right: Sequence[float]) -> "tuple[Numbers, Numbers, Mask]":
    """Return the labels given, those that are right, and which are unknown; what is not right has none."""
    import numpy as np

    x = np.asarray([NOTHING if isinstance(one, Missing) else one for one in given], dtype=float)
    return x, np.asarray(right, dtype=float), np.asarray([one is Missing.UNKNOWN for one in given])


def kappa_of_labels(over: Jackknife, x: "Numbers", y: "Numbers", unknown: "Mask") -> Estimate | None:
    """Return Cohen's kappa with its interval; None where all targets are alike, so that it says nothing."""
    if y.min() == y.max():
        return None
    return kappa_estimate(over, x, y, unknown, Unequal)


def _confusion(x: "Numbers", y: "Numbers", labels: int) -> "Numbers":
    import numpy as np

    column = np.where(x >= 0, x, labels - 1 - x).astype(int)  # OTHER and NOTHING are the last two
    places = y.astype(int) * (labels + 2) + column
    counts: Numbers = np.bincount(places, minlength=labels * (labels + 2)).astype(float).reshape(labels, labels + 2)
    return counts


def macro_f1(x: "Numbers", y: "Numbers", labels: int) -> float | None:
    """Return the mean F1 of the classes that are right somewhere; None of no answers.

    Args:
        x: What was given, as places of labels.
        y: What is right.
        labels: How many there are.
    """
    table = _confusion(x, y, labels)
    support, given, hits = table.sum(axis=1), table.sum(axis=0)[:labels], table.diagonal()
    there = support > 0
    return float((2 * hits[there] / (support + given)[there]).mean()) if there.any() else None


def _class(table: "Numbers", place: int, label: str) -> ClassFigures:
    hits, support, given = table[place, place], table[place].sum(), table[:, place].sum()
    return ClassFigures(
        label,
        int(support),
        int(given),
        float(hits / given) if given else None,
        float(hits / support) if support else None,
        float(2 * hits / (support + given)) if support else None,
    )


class ShareAgreement(msgspec.Struct, frozen=True):
    """How often what was given is right, where it is neither one of few labels nor a number on a scale."""

    n: int
    accuracy: Estimate


def share_agreement(
    given: Sequence[float | Missing],
    right: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
) -> ShareAgreement:
    """Return how often what was given is right; the arguments are those of `label_agreement`."""
    x, y, unknown = label_arrays(given, right)
    over = Jackknife((x, y), unknown, each_alone(clusters, len(x)))
    return ShareAgreement(int((~unknown).sum()), accuracy_of(over, y))


def accuracy_of(over: Jackknife, right: "Numbers") -> Estimate:
    """Return the share that is right with its interval: at its least no unknown answer is, at its most each."""
    import numpy as np

    found = over.estimate(
        lambda x, y: float(np.mean(x == y)),
        lambda: (np.full_like(right, OTHER), right),
        ends=SHARE,
        at_worst=lambda _, wrong: 1 - wrong,
    )
    assert found is not None
    return found
