"""How far a model's agreement with the targets is above the baseline's, on the answers that both were asked for."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from workbench.evaluation.agreement_answers import ComparedPart, TargetAnswers
from workbench.evaluation.sides import ModelResult
from workbench.stats.agreement import as_arrays
from workbench.stats.jackknife import Missing
from workbench.stats.kappa import DistanceTo, Missed, Squared, Unequal, at_extreme
from workbench.stats.label_agreement import label_arrays
from workbench.stats.paired import LEVEL, holm_of_known
from workbench.stats.paired_agreement import PairedAgreement, paired_agreement

if TYPE_CHECKING:
    from workbench.stats.jackknife import Mask, Numbers

AgreementFigure = Literal["kappa", "weighted kappa", "accuracy"]
Verdict = Literal["better", "worse", "open", "none shown", "not comparable"]


class AgreementDifference(msgspec.Struct, frozen=True):
    """One figure of a side beside that of its baseline."""

    run_id: str
    model: str
    baseline_run_id: str
    baseline_model: str
    figure: AgreementFigure
    asked: int
    """Answers that both were asked for, or one was and the other was to be."""
    unknown: int
    """Of them, those of which either is unknown."""
    found: PairedAgreement | None
    """On the answers that are known of both; None where it is not defined there."""
    at_lowest: PairedAgreement | None
    at_highest: PairedAgreement | None
    """On all, with the unknown answers that make the difference least or most."""
    low: float | None
    high: float | None
    """Of the interval at 95 %, whatever the unknown answers are; not adjusted for other models."""
    adjusted_p: float | None
    """For all models beside the baseline (Holm)."""
    verdict: Verdict
    """open: it is shown on the answers that are known of both, and the unknown ones could change it."""


class _TestedPair(NamedTuple):
    """A pair, tested on what is known and at both ends of what is not."""

    asked: int
    unknown: int
    found: PairedAgreement | None
    at_lowest: PairedAgreement | None
    at_highest: PairedAgreement | None

    @property
    def p_value(self) -> float | None:
        """The smaller one of being better at the lowest and worse at the highest; None where nothing is tested."""
        if self.found is None or self.at_lowest is None or self.at_highest is None:
            return None
        better = self.at_lowest.p_value if self.at_lowest.difference > 0 else 1.0
        worse = self.at_highest.p_value if self.at_highest.difference < 0 else 1.0
        return min(better, worse)


def agreement_differences(
    answers: TargetAnswers | None, pairs: Sequence[tuple[ModelResult, ModelResult]]
) -> list[AgreementDifference]:
    """Return each side's kappa beside its baseline's, and of labels its accuracy; none where answers are read field by field.

    Args:
        answers: Of the runs of all sides, by one scorer; None where it reads nothing that can be set beside the targets.
        pairs: Sides, each with its baseline.
    """
    if answers is None or answers.parts[0].field is not None:
        return []
    (part,) = answers.parts
    wanted: dict[AgreementFigure, DistanceTo] = {"kappa": Unequal, "accuracy": Missed}
    if part.kind == "numbers":
        wanted = {"weighted kappa": partial(Squared, scale=part.scale)}
    found = []
    for figure, distance in wanted.items():
        beside = [_beside(answers, part, pair, distance) for pair in pairs]
        adjusted = holm_of_known([one.p_value for one in beside])
        finished = holm_of_known([None if one.found is None else one.found.p_value for one in beside])
        found += [
            _difference(pair, figure, one, p_value, known)
            for pair, one, p_value, known in zip(pairs, beside, adjusted, finished, strict=True)
        ]
    return found


def _difference(
    pair: tuple[ModelResult, ModelResult],
    figure: AgreementFigure,
    one: _TestedPair,
    adjusted_p: float | None,
    finished_p: float | None,
) -> AgreementDifference:
    side, base = pair
    low = None if one.at_lowest is None else one.at_lowest.low
    high = None if one.at_highest is None else one.at_highest.high
    if low is None or high is None:
        low = high = None
    return AgreementDifference(
        side.run_id, side.model, base.run_id, base.model, figure, one.asked, one.unknown, one.found, one.at_lowest,
        one.at_highest, low, high, adjusted_p, _verdict(one, adjusted_p, finished_p),
    )  # fmt: skip


def _verdict(one: _TestedPair, adjusted_p: float | None, finished_p: float | None) -> Verdict:
    if one.found is None or adjusted_p is None:
        return "not comparable"
    if adjusted_p < LEVEL and one.at_lowest is not None:
        return "better" if one.at_lowest.difference > 0 else "worse"
    return "open" if one.unknown and finished_p is not None and finished_p < LEVEL else "none shown"


def _beside(
    answers: TargetAnswers, part: ComparedPart, pair: tuple[ModelResult, ModelResult], distance: DistanceTo
) -> _TestedPair:
    own, base = answers.of_both(part, *((side.run_id, side.model) for side in pair))
    arrays = partial(as_arrays, scale=part.scale) if part.kind == "numbers" else label_arrays
    known = [place for place, both in enumerate(zip(own.given, base.given, strict=True)) if Missing.UNKNOWN not in both]
    asked, unknown = len(own.keys), len(own.keys) - len(known)
    if not known:
        return _TestedPair(asked, unknown, None, None, None)
    (one, right, one_unknown), (other, _, other_unknown) = arrays(own.given, own.right), arrays(base.given, own.right)
    found = paired_agreement(
        (one[known], other[known]), right[known], [own.clusters[place] for place in known], distance
    )
    if found is None or not unknown:
        return _TestedPair(asked, unknown, found, found, found)
    low, high = (
        paired_agreement(
            (
                _filled(one, right, one_unknown, distance, highest=ahead),
                _filled(other, right, other_unknown, distance, highest=not ahead),
            ),
            right,
            own.clusters,
            distance,
        )
        for ahead in (False, True)
    )
    return _TestedPair(asked, unknown, found, low, high)


def _filled(x: "Numbers", y: "Numbers", unknown: "Mask", distance: DistanceTo, *, highest: bool) -> "Numbers":
    return at_extreme(x, y, unknown, distance, highest=highest) if unknown.any() else x
