"""How far a model's agreement with the targets is above the baseline's, on the answers that both were asked for."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from workbench.evaluation.agreement_answers import ComparedPart, GivenAnswers, TargetAnswers
from workbench.evaluation.sides import ModelResult
from workbench.ledger.gates import AgreementFigure
from workbench.stats.agreement import as_arrays, bias_at_extreme, farthest
from workbench.stats.jackknife import Missing
from workbench.stats.kappa import DistanceTo, Missed, Squared, Unequal, at_extreme
from workbench.stats.label_agreement import label_arrays
from workbench.stats.paired import LEVEL, holm_of_differing
from workbench.stats.paired_agreement import (
    AbsoluteBias,
    Accuracy,
    Correlation,
    Kappa,
    MacroF1,
    MeanError,
    PairedAgreement,
    RankCorrelation,
    SummedFigure,
    WeightedKappa,
    paired_agreements,
)

if TYPE_CHECKING:
    from workbench.stats.jackknife import Mask, Numbers

ComparedFigure = AgreementFigure | Literal["accuracy"]
LOWER_IS_BETTER = frozenset({"mean error", "bias"})
OF_NUMBERS_ALONE = frozenset({"pearson", "spearman"})
"""Figures that leave out an answer without a number."""
Verdict = Literal["better", "worse", "open", "none shown", "not comparable"]


class AgreementDifference(msgspec.Struct, frozen=True):
    """One figure of a side beside that of its baseline."""

    run_id: str
    model: str
    baseline_run_id: str
    baseline_model: str
    field: str | None
    """Of the objects that the answers are; None: they are compared as a whole."""
    figure: ComparedFigure
    """Of a bias its size counts, whether above or below."""
    asked: int
    """Answers that both were asked for, or one was and the other was to be."""
    unknown: int
    """Of them, those of which either is unknown, or has no number: of a correlation, and without a scale that has ends."""
    value: float | None
    """The figure of the side on the answers that are known of both; None where it is not defined there."""
    baseline_value: float | None
    found: PairedAgreement | None
    """On the answers that are known of both; None where it is not defined there."""
    at_lowest: PairedAgreement | None
    at_highest: PairedAgreement | None
    """On all, with the unknown answers that make the difference least or most."""
    low: float | None
    high: float | None
    """Of the interval at 95 %, whatever the unknown answers are; not adjusted for other models."""
    adjusted_p: float | None
    """For all models beside the baseline (Holm), and for all fields: by the first figure of each, and by any other."""
    verdict: Verdict
    """better: nearer to the targets, which is a mean error or a bias below the baseline's. open: it is shown on the answers
    that are known of both, and the unknown ones could change it, or nothing says what they do."""

    @property
    def differs(self) -> bool:
        """Whether the answers of the two say something else anywhere, or could."""
        return self.unknown > 0 or self.found is None or self.found.differing > 0


class _TestedPair(NamedTuple):
    """A pair, tested on what is known and at both ends of what is not."""

    asked: int
    unknown: int
    values: tuple[float | None, float | None]
    """Of both, on what is known of both."""
    found: PairedAgreement | None
    at_lowest: PairedAgreement | None
    at_highest: PairedAgreement | None

    @property
    def differs(self) -> bool:
        """Whether the answers differ anywhere, or could."""
        return self.unknown > 0 or self.found is None or self.found.differing > 0

    @property
    def p_value(self) -> float | None:
        """The smaller one of being better at the lowest and worse at the highest; None where nothing is tested."""
        if self.found is None or self.at_lowest is None or self.at_highest is None:
            return None
        better = self.at_lowest.p_value if self.at_lowest.difference > 0 else 1.0
        worse = self.at_highest.p_value if self.at_highest.difference < 0 else 1.0
        return min(better, worse)


class _Compared(NamedTuple):
    """A part of two sides' answers, compared by one figure."""

    part: ComparedPart
    figure: ComparedFigure
    pair: tuple[ModelResult, ModelResult]
    found: _TestedPair


class _Figure(NamedTuple):
    """A figure by which two sides are compared."""

    name: ComparedFigure
    sums: SummedFigure
    at_end: Callable[["Numbers", "Numbers", "Mask", bool], "Numbers"] | None
    """Given answers, what is right, which are unknown, and whether the most is wanted: the answers with which it is the most, or
    the least. None: nothing bounds what the unknown ones do to it."""


_BEYOND_CHANCE = ("kappa", "weighted kappa")
_CORRELATIONS = (_Figure("pearson", Correlation(), None), _Figure("spearman", RankCorrelation(), None))


def agreement_differences(
    answers: TargetAnswers | None, pairs: Sequence[tuple[ModelResult, ModelResult]], further: int = 0
) -> list[AgreementDifference]:
    """Return each side's agreement beside its baseline's, by each figure: of the answers as a whole, and of each field.

    Args:
        answers: Of the runs of all sides, by one scorer; None where it reads nothing that can be set beside the targets.
        pairs: Sides, each with its baseline.
        further: How many more pairs another baseline would show: p-values are adjusted for them as if none showed anything.
    """
    if answers is None:
        return []
    families: dict[tuple[ComparedFigure | None, bool], list[_Compared]] = {}
    for part in answers.parts:
        figures, is_field = _figures(part), part.field is not None
        for pair in pairs:
            both = answers.of_both(part, *(side.key for side in pair))
            for place, (name, tested) in enumerate(_beside(part, both, figures).items()):
                family = (None if is_field and place == 0 else name, is_field)
                families.setdefault(family, []).append(_Compared(part, name, pair, tested))
    return [one for family in families.values() for one in _differences(family, further * len(family) // len(pairs))]


def _differences(family: Sequence[_Compared], further: int) -> list[AgreementDifference]:
    """Return what is said of pairs whose p-values are adjusted for each other, and for further ones that are not tested."""
    beside, more = [one.found for one in family], [1.0] * further
    differ = [one.differs for one in beside] + [True] * further
    adjusted = holm_of_differing([*(one.p_value for one in beside), *more], differ)
    known = [None if one.found is None else one.found.p_value for one in beside]
    finished = holm_of_differing([*known, *more], differ)
    return [_difference(*of) for of in zip(family, adjusted, finished, strict=False)]


def _figures(part: ComparedPart) -> list[_Figure]:
    """Return by what a part is compared, first what says most of it."""
    import numpy as np

    def by_chance(name: ComparedFigure, sums: SummedFigure, distance: DistanceTo) -> _Figure:
        return _Figure(
            name,
            sums,
            lambda x, y, unknown, is_highest: at_extreme(x, y, unknown, distance, highest=is_highest),
        )

    if part.kind == "shares" or (part.field is not None and part.kind == "labels" and len(part.labels) < 2):
        return [by_chance("accuracy", Accuracy(), Missed)]
    if part.kind == "labels":
        return [
            by_chance("kappa", Kappa(len(part.labels)), Unequal),
            by_chance("accuracy", Accuracy(), Missed),
            _Figure("macro F1", MacroF1(len(part.labels)), None),
        ]
    if part.kind == "numbers":
        return [
            by_chance("weighted kappa", WeightedKappa(), partial(Squared, scale=part.scale)),
            _Figure(
                "mean error",
                MeanError(),
                lambda x, y, unknown, is_highest: np.where(unknown, farthest(y, part.scale) if is_highest else y, x),
            ),
            _Figure(
                "bias",
                AbsoluteBias(),
                lambda x, y, unknown, is_highest: bias_at_extreme(x, y, unknown, part.scale, highest=is_highest),
            ),
            *_CORRELATIONS,
        ]
    return [_Figure("mean error", MeanError(), None), _Figure("bias", AbsoluteBias(), None), *_CORRELATIONS]


def _difference(compared: _Compared, adjusted_p: float | None, finished_p: float | None) -> AgreementDifference:
    part, figure, (side, base), one = compared
    low = None if one.at_lowest is None else one.at_lowest.low
    high = None if one.at_highest is None else one.at_highest.high
    if low is None or high is None:
        low = high = None
    return AgreementDifference(
        side.run_id, side.model, base.run_id, base.model, part.field, figure, one.asked, one.unknown, *one.values, one.found,
        one.at_lowest, one.at_highest, low, high, adjusted_p, _verdict(figure, one, adjusted_p, finished_p),
    )  # fmt: skip


def _verdict(figure: ComparedFigure, one: _TestedPair, adjusted_p: float | None, finished_p: float | None) -> Verdict:
    if one.found is None:
        return "not comparable"
    if adjusted_p is not None and adjusted_p < LEVEL and one.at_lowest is not None:
        is_above = one.at_lowest.difference > 0
        return "better" if is_above is not (figure in LOWER_IS_BETTER) else "worse"
    return "open" if one.unknown and finished_p is not None and finished_p < LEVEL else "none shown"


def _beside(
    part: ComparedPart, both: tuple[GivenAnswers, GivenAnswers], figures: Sequence[_Figure]
) -> dict[ComparedFigure, _TestedPair]:
    by_known: dict[tuple[int, ...], list[_Figure]] = {}
    for figure in figures:
        of_numbers = figure.name in OF_NUMBERS_ALONE or part.kind == "measurements"
        left_out = (Missing.UNKNOWN, Missing.NOT_RIGHT) if of_numbers else (Missing.UNKNOWN,)
        pairs = enumerate(zip(both[0].given, both[1].given, strict=True))
        known = tuple(place for place, pair in pairs if pair[0] not in left_out and pair[1] not in left_out)
        by_known.setdefault(known, []).append(figure)
    return {
        figure.name: tested
        for known, some in by_known.items()
        for figure, tested in zip(some, _tested(part, both, known, some), strict=True)
    }


def _tested(
    part: ComparedPart, both: tuple[GivenAnswers, GivenAnswers], known: Sequence[int], figures: Sequence[_Figure]
) -> list[_TestedPair]:
    """Return a pair tested by figures that are of the same answers.

    Args:
        known: The places of those that are known of both.
    """
    own, base = both
    asked, unknown = len(own.keys), len(own.keys) - len(known)
    if not known:
        return [_TestedPair(asked, unknown, (None, None), None, None, None) for _ in figures]
    arrays = partial(as_arrays, scale=part.scale) if part.kind in ("numbers", "measurements") else label_arrays
    (one, right, one_unknown), (other, _, other_unknown) = arrays(own.given, own.right), arrays(base.given, own.right)
    places = list(known)
    on_known, clusters = (one[places], other[places]), [own.clusters[place] for place in known]
    found = paired_agreements(on_known, right[places], clusters, [figure.sums for figure in figures])

    def at_ends(figure: _Figure) -> tuple[PairedAgreement | None, PairedAgreement | None]:
        if figure.at_end is None:
            return None, None

        def filled(x: "Numbers", missing: "Mask", *, is_highest: bool) -> "Numbers":
            assert figure.at_end is not None
            return figure.at_end(x, right, missing, is_highest) if missing.any() else x

        low, high = (
            paired_agreements(
                (
                    filled(one, one_unknown, is_highest=is_highest),
                    filled(other, other_unknown, is_highest=not is_highest),
                ),
                right,
                own.clusters,
                [figure.sums],
            )[0]
            for is_highest in (False, True)
        )
        return low, high

    tested = []
    is_one_class = len(set(right[places].tolist())) < 2  # chance alone agrees with it
    for figure, of_known in zip(figures, found, strict=True):
        if is_one_class and figure.name in _BEYOND_CHANCE:
            tested.append(_TestedPair(asked, unknown, (None, None), None, None, None))
            continue
        values = tuple(figure.sums.value(x, right[places]) for x in on_known)
        ends = (of_known, of_known) if of_known is None or not unknown else at_ends(figure)
        tested.append(_TestedPair(asked, unknown, (values[0], values[1]), of_known, *ends))
    return tested
