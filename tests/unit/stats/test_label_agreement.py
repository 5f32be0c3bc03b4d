"""Agreement of labels, beside scikit-learn and every way to fill in what is unknown, and its intervals by simulation."""

import itertools
import math
import random

import numpy as np
import pytest

from workbench.stats.jackknife import Estimate, Missing
from workbench.stats.kappa import NOTHING, OTHER, Unequal, kappa
from workbench.stats.label_agreement import LabelAgreement, label_agreement, share_agreement

LABELS = ["a", "b", "c", "d", "e"]


def drawn(chance: random.Random, n: int, labels: int, alike: float) -> tuple[list[float], list[float]]:
    """Draw labels with as many other labels, and answers without one, as there are of each class."""
    right = [float(chance.randrange(labels)) for _ in range(n)]
    return [one if chance.random() < alike else float(chance.randrange(-2, labels)) for one in right], right


def missing(given: list[float]) -> list[float | Missing]:
    return [Missing.NOT_RIGHT if one == NOTHING else one for one in given]


@pytest.mark.slow
def test_equal_to_scikit_learn_over_500_tables() -> None:
    from sklearn.metrics import (
        accuracy_score,
        cohen_kappa_score,
        confusion_matrix,
        f1_score,
        precision_recall_fscore_support,
    )

    chance, compared = random.Random(19), 0
    while compared < 500:
        labels = chance.choice([2, 3, 5])
        given, right = drawn(chance, chance.randint(12, 60), labels, chance.random())
        if len(set(right)) < labels:
            continue
        compared += 1
        classes = list(range(labels))
        found = label_agreement(missing(given), right, LABELS[:labels])
        assert found.kappa is not None
        assert found.kappa.value == pytest.approx(cohen_kappa_score(given, right), abs=1e-9)
        assert found.accuracy.value == pytest.approx(accuracy_score(right, given), abs=1e-9)
        macro = f1_score(right, given, labels=classes, average="macro", zero_division=0)
        assert found.macro_f1.value == pytest.approx(macro, abs=1e-9)
        each = precision_recall_fscore_support(right, given, labels=classes, zero_division=0)
        for place, one in enumerate(found.classes):
            assert (one.precision or 0.0, one.recall, one.f1, one.support) == pytest.approx(
                [figure[place] for figure in each], abs=1e-9
            )
        table = confusion_matrix(right, given, labels=[*classes, OTHER, NOTHING])
        assert found.confusion == table[:labels].tolist()


def test_unknown_labels_leave_kappa_between_what_they_could_make_of_it() -> None:
    """By trying every label for each, and none of the targets'."""
    chance = random.Random(23)
    for _ in range(60):
        labels, unknown = chance.choice([2, 3]), chance.randint(1, 4)
        given, right = drawn(chance, chance.randint(6, 9), labels, 0.5)
        if len(set(right)) < 2:
            continue
        known = missing(given)[unknown:]
        found = label_agreement([*[Missing.UNKNOWN] * unknown, *known], right, LABELS[:labels])
        if found.kappa is None:
            continue
        every = [OTHER, *map(float, range(labels))]
        tried = [
            kappa(np.array([*filled, *given[unknown:]]), np.array(right), Unequal)
            for filled in itertools.product(every, repeat=unknown)
        ]
        values = [one for one in tried if one is not None]
        assert found.kappa.at_lowest == pytest.approx(min(values), abs=1e-12)
        assert found.kappa.at_highest == pytest.approx(max(values), abs=1e-12)
        hits = sum(one == target for one, target in zip(given[unknown:], right[unknown:], strict=True))
        assert found.accuracy.at_lowest == pytest.approx(hits / len(right))
        assert found.accuracy.at_highest == pytest.approx((hits + unknown) / len(right))
        assert found.macro_f1.low is None


def test_the_interval_reaches_from_the_lower_end_to_the_higher_one() -> None:
    given, right = drawn(random.Random(29), 80, 3, 0.6)
    whole = label_agreement(missing(given), right, LABELS[:3])
    found = label_agreement([*[Missing.UNKNOWN] * 8, *missing(given)[8:]], right, LABELS[:3])
    for with_unknown, one in ((found.kappa, whole.kappa), (found.accuracy, whole.accuracy)):
        assert with_unknown is not None
        assert one is not None
        for low, high in ((with_unknown.at_lowest, with_unknown.at_highest), (one.low, one.high)):
            assert low is not None
            assert high is not None
            assert (with_unknown.low or 0) < low < high < (with_unknown.high or 0)


def test_labels_that_say_nothing_have_no_kappa() -> None:
    alike = label_agreement([0.0] * 9 + [OTHER], [0.0] * 10, ["yes"])
    assert alike.kappa is None
    assert alike.accuracy.value == pytest.approx(0.9)
    perfect = label_agreement([0.0, 1.0] * 10, [0.0, 1.0] * 10, ["yes", "no"])
    low = 0.025 ** (1 / 20)
    assert perfect.accuracy.low == pytest.approx(low)  # as Clopper and Pearson have it
    assert perfect.kappa is not None
    assert perfect.kappa.low == pytest.approx(1 - (1 - low) / 0.5)
    assert perfect.macro_f1 == Estimate(1.0)


def test_a_single_wrong_answer_has_an_interval_of_what_a_share_can_be() -> None:
    """Without it all are right, which has no place on the scale of logits."""
    found = label_agreement([1.0] + [0.0, 1.0] * 30, [0.0] + [0.0, 1.0] * 30, ["yes", "no"])
    for one in (found.accuracy, found.kappa, found.macro_f1):
        assert one is not None
        assert one.low is not None
        assert one.high is not None
        assert 0.7 < one.low < one.value < one.high < 1
    whole = label_agreement([0.0, 1.0] * 30 + [0.0], [0.0, 1.0] * 30 + [0.0], ["yes", "no"])
    assert whole.accuracy.low is not None
    assert found.accuracy.low is not None
    assert found.accuracy.low < whole.accuracy.low, "one wrong answer makes nothing surer"


def test_a_class_that_no_answer_has_is_no_help() -> None:
    found = label_agreement([0.0] * 20, [0.0] * 10 + [1.0] * 10, ["yes", "no"])
    assert [(one.precision, one.recall, one.f1) for one in found.classes] == [
        (0.5, 1.0, pytest.approx(2 / 3)),
        (None, 0.0, 0.0),
    ]
    assert found.macro_f1.value == pytest.approx(1 / 3)
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(0.0)


def test_answers_of_one_cluster_are_left_out_together() -> None:
    given, right = drawn(random.Random(31), 30, 3, 0.6)
    alone = figures(label_agreement(missing(given), right, LABELS[:3]))
    copied = figures(label_agreement(missing(given) * 3, right * 3, LABELS[:3], [n % 30 for n in range(90)]))
    for name, one in alone.items():
        assert (copied[name].low, copied[name].high) == pytest.approx((one.low, one.high))
    shares = share_agreement(missing(given), right)
    assert shares.accuracy == alone["accuracy"]


def figures(found: LabelAgreement) -> dict[str, Estimate]:
    assert found.kappa is not None
    return {"accuracy": found.accuracy, "kappa": found.kappa, "macro_f1": found.macro_f1}


def clustered(chance: random.Random, clusters: int) -> tuple[list[float], list[float], list[int]]:
    """Draw answers to five questions of each text, which are easier or harder together."""
    given, right, texts = list[float](), list[float](), list[int]()
    for text in range(clusters):
        own = drawn(chance, 5, 3, chance.choice([0.3, 0.6, 0.9]))
        given += own[0]
        right += own[1]
        texts += [text] * 5
    return given, right, texts


@pytest.mark.long
@pytest.mark.parametrize(("clusters", "alike"), [(None, 0.2), (None, 0.6), (20, None)])
def test_intervals_cover_what_they_promise(clusters: int | None, alike: float | None) -> None:
    """From 80 samples on, and from 20 clusters."""
    chance = random.Random(37)

    def one(size: int) -> dict[str, Estimate]:
        if alike is not None:
            return figures(label_agreement(*_missing_of(drawn(chance, size, 3, alike)), LABELS[:3]))
        given, right, texts = clustered(chance, size)
        return figures(label_agreement(missing(given), right, LABELS[:3], texts))

    true = one(400_000 if clusters is None else 80_000)
    rounds, held = 1500, dict.fromkeys(true, 0)
    for _ in range(rounds):
        for name, found in one(clusters or 80).items():
            held[name] += (found.low or -9) <= true[name].value <= (9 if found.high is None else found.high)
    assert min(held.values()) / rounds >= 0.94 - 3 * math.sqrt(0.95 * 0.05 / rounds), held


def _missing_of(pair: tuple[list[float], list[float]]) -> tuple[list[float | Missing], list[float]]:
    return missing(pair[0]), pair[1]
