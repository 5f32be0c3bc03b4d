"""Answers that were judged twice, by two judges, by two rubrics of one or again by the same, and whose verdicts differ."""

import itertools
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from workbench.ledger.queries import Reader
from workbench.ledger.score_rows import AnswerVerdict, RunScorer
from workbench.stats.paired import LEVEL, Paired, holm_of_known, paired

_ALIKE = 1e-9


class Rubric(msgspec.Struct, frozen=True):
    """A judge with its settings."""

    scorer: str
    """Its label."""
    judged_at: datetime
    """When it judged last."""
    is_current: bool
    """Whether it is the newest of its label; else that has judged by other settings since."""


class OtherVerdict(msgspec.Struct, frozen=True):
    """An answer with two verdicts."""

    model: str
    sample_id: str
    epoch: int
    value: float
    said: str | None
    """The verdict's word."""
    other_value: float
    other_said: str | None


class JudgedTwice(msgspec.Struct, frozen=True):
    """Two rubrics beside each other, on the answers that were judged by both; or one, as it judged first and last."""

    rubric: Rubric
    other: Rubric | None
    """None: the same one before, when it was asked the first time."""
    answers: int
    """Judged by both."""
    only: int
    """Without a verdict by the other one: they are no difference."""
    only_other: int
    otherwise: list[OtherVerdict]
    are_right_or_wrong: bool
    """Whether all verdicts are worth 0 or 1."""
    found: Paired | None
    """The test of whether one of them gives higher scores; None: the same rubric, or nothing is judged by both."""
    adjusted_p: float | None
    """For all pairs of rubrics."""
    units: Literal["samples", "clusters"] = "samples"
    """What the test's clusters of answers are."""

    @property
    def lower(self) -> int:
        """How many the other one scores higher."""
        return sum(one.value < one.other_value for one in self.otherwise)

    @property
    def higher(self) -> int:
        """How many the other one scores lower."""
        return len(self.otherwise) - self.lower

    @property
    def stricter(self) -> Rubric | None:
        """Return the rubric that is shown to give lower scores."""
        if self.found is None or self.adjusted_p is None or self.adjusted_p >= LEVEL:
            return None
        return self.rubric if self.found.difference < 0 else self.other


class _Judged(NamedTuple):
    """What one rubric says."""

    rubric: Rubric
    verdicts: dict[tuple[str, int, str], AnswerVerdict]
    """By answer, and by the sample whose target it was judged by."""


def judged_twice(
    reader: Reader, settings: Sequence[RunScorer], models: set[str], *, cluster: str, on_fallback: str
) -> list[JudgedTwice]:
    """Return each two rubrics that some answers of runs were judged by, and each that changed its mind.

    Args:
        settings: Of the runs' scorers, in the order in which they are set beside each other.
        models: Only answers of these, with their variants.
        cluster: The column that says which samples belong together.
        on_fallback: Whether the answers of other models count.
    """
    asked = {
        "run_ids": list(dict.fromkeys(row.run_id for row in settings)),
        "cluster": cluster,
        "on_fallback": on_fallback,
    }
    found: dict[tuple[str, str], dict[tuple[str, int, str], AnswerVerdict]] = {}
    for row in reader.all(AnswerVerdict, **asked):
        if row.model in models:
            judged = row.answer_run_id, row.answer_call_no, row.sample_key
            found.setdefault((row.scorer, row.scorer_config), {})[judged] = row
    order = list(dict.fromkeys(row.scorer for row in settings))
    judged_at = {key: max(row.judged_at for row in rows.values()) for key, rows in found.items()}
    newest = {scorer: at for (scorer, _), at in sorted(judged_at.items(), key=lambda one: one[1])}
    each = [
        _Judged(Rubric(key[0], judged_at[key], judged_at[key] == newest[key[0]]), rows) for key, rows in found.items()
    ]
    each.sort(
        key=lambda one: (order.index(one.rubric.scorer), not one.rubric.is_current, -one.rubric.judged_at.timestamp())
    )
    # what counted once is of no interest beside what counted before it
    chosen = [two for two in itertools.combinations(each, 2) if any(one.rubric.is_current for one in two)]
    beside = [pair for two in chosen if (pair := _beside(*two)) is not None]
    adjusted = holm_of_known([one.found.p_value if one.found else None for one in beside])
    beside = [msgspec.structs.replace(one, adjusted_p=p_value) for one, p_value in zip(beside, adjusted, strict=True)]
    return [*beside, *(again for one in each if (again := _again(one)) is not None)]


def _beside(one: _Judged, other: _Judged) -> JudgedTwice | None:
    """Return two rubrics beside each other; None where no answer was put to both."""
    shared = [(row, other.verdicts[key]) for key, row in one.verdicts.items() if key in other.verdicts]
    if not shared:
        return None
    known = [
        (row, there, row.value, there.value)
        for row, there in shared
        if row.value is not None and there.value is not None
    ]
    judged, judged_there = (sum(row.value is not None for row in of.verdicts.values()) for of in (one, other))
    values, values_there = [value for _, _, value, _ in known], [value for _, _, _, value in known]
    # what several models answer to one sample is judged alike, so that they are no independent observations
    clusters = [row.cluster or row.sample_key for row, *_ in known]
    return JudgedTwice(
        one.rubric,
        other.rubric,
        len(known),
        judged - len(known),
        judged_there - len(known),
        [
            OtherVerdict(row.model, row.sample_id, row.epoch, value, row.extracted, value_there, there.extracted)
            for row, there, value, value_there in known
            if abs(value - value_there) > _ALIKE
        ],
        {*values, *values_there} <= {0.0, 1.0},
        paired(values, values_there, clusters) if known else None,
        None,
        "clusters" if any(row.cluster for row, *_ in known) else "samples",
    )


def _again(one: _Judged) -> JudgedTwice | None:
    """Return where a judge says something else than when it was asked the first time; None where it does not."""
    known = [
        (row, row.value, row.first_value)
        for row in one.verdicts.values()
        if row.value is not None and row.first_value is not None
    ]
    otherwise = [
        OtherVerdict(row.model, row.sample_id, row.epoch, value, row.extracted, first, row.first_extracted)
        for row, value, first in known
        if abs(value - first) > _ALIKE
    ]
    are_right_or_wrong = all(value in (0.0, 1.0) for _, *values in known for value in values)
    return (
        JudgedTwice(one.rubric, None, len(known), 0, 0, otherwise, are_right_or_wrong, None, None)
        if otherwise
        else None
    )
