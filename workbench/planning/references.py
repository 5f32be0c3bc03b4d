"""What scores without a model, before anything is spent."""

import statistics
from collections.abc import Iterator, Sequence

import msgspec

from workbench.planning.expand import Plan
from workbench.planning.lint import Finding
from workbench.records.calls import Sample
from workbench.scoring.reference import ReferenceKind, column_scores, reference_scores

MOST_PLANNED = 2_000
"""Samples that a plan looks at."""
_EASY = 0.5
"""Of a scorer's scale: a constant that reaches it leaves models little room."""


class PlannedReference(msgspec.Struct, frozen=True):
    """What one reference point scores on the samples of a job."""

    scorer: str
    reference: ReferenceKind
    column: str
    """What the job calls a column; else empty."""
    constant: str | None
    """The answer that is always given."""
    mean: float
    samples: int
    """That it has a value for."""
    of: int
    """How many the job has; of more than `MOST_PLANNED` so many are looked at, evenly spread."""

    @property
    def is_part(self) -> bool:
        """Whether not all samples were looked at."""
        return self.of > MOST_PLANNED


def spread_samples(plan: Plan) -> dict[str, Sample]:
    """Return the samples of a plan that are looked at before anything is spent, by their keys: of at most `MOST_PLANNED` rows.

    Rows that are one sample in a run's figures are one here, too, and in the order of a run's.
    """
    looked_at = min(plan.samples, MOST_PLANNED)  # a dataset that is sorted by its targets has others at its end
    rows = dict(plan.keyed_sample((2 * n + 1) * plan.samples // (2 * looked_at)) for n in range(looked_at))
    return dict(sorted(rows.items()))


def planned_references(plan: Plan) -> tuple[PlannedReference, ...]:
    """Return what the samples of a plan say of each scorer, without a call and without the job's own functions."""
    samples, dataset = spread_samples(plan), plan.job.dataset
    return tuple(
        PlannedReference(
            scorer.named,
            one.reference,
            one.column,
            one.answer,
            statistics.fmean(one.values.values()),
            len(one.values),
            plan.samples,
        )
        for scorer in plan.job.scorers
        if scorer.by_target
        for one in (
            *reference_scores(samples, scorer, dataset.cluster),
            *column_scores(samples, scorer, dataset.reference, dataset.second_target),
        )
    )


def reference_findings(plan: Plan, found: Sequence[PlannedReference]) -> Iterator[Finding]:
    """Return the scorers by which a constant scores so well that a model's score may mean nothing."""
    places = {scorer.named: number for number, scorer in enumerate(plan.job.scorers)}
    for one in found:
        if one.reference == "constant" and is_easy(plan, one.scorer, one.mean):
            part = f" on {MOST_PLANNED} of {one.of} samples" if one.is_part else ""
            above = "a model's score means something above it"
            text = f"a constant {one.constant} scores {one.mean:.3f} by this scorer{part}: {above}"
            yield Finding(plan.job.where("scorers", places[one.scorer]), text)


def is_easy(plan: Plan, scorer: str, mean: float) -> bool:
    """Return whether a constant that scores so much leaves models little room."""
    least, most = next(one.ends or (0.0, 1.0) for one in plan.job.scorers if one.named == scorer)
    return mean >= least + _EASY * (most - least)
