"""What scores without a model, beside the models of a run: a constant, a target at random, a column of the dataset."""

from collections.abc import Sequence
from typing import Any, Self

import msgspec

from workbench.evaluation.sides import (
    Difference,
    ModelResult,
    Samples,
    Sides,
    differences,
    of_samples,
    side_without_calls,
)
from workbench.job.file import ON_OWN_SCALE
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.score_rows import ReferenceRow, SideSample
from workbench.scoring.scorer import grade
from workbench.stats.intervals import SHARES, Interval, mean_intervals

_MEANS = (None, *ON_OWN_SCALE)
"""How a run may record the reducer with which an answer that is always the same keeps its score."""


LABEL_CHARS = 24
"""A longer value is a text, and not the name of a class or of a part of the dataset."""


def label_or_length(value: str) -> str:
    """Return a label, and of a text how long it is."""
    return value if len(value) <= LABEL_CHARS else f"{len(value)} characters"


class ReferencePoint(msgspec.Struct, frozen=True):
    """What scores without a model, on the samples of a run, by one scorer."""

    run_id: str
    scorer: str
    reference: str
    """constant, majority, random, column or people; see `scoring.reference`."""
    column: str
    """What the job calls a column; else empty."""
    constant: str | None
    """The answer that is always given."""
    samples: int
    interval: Interval | None
    """Of the mean, chosen without the sample that it is scored on."""
    beside: list[Difference] = []
    """Every model beside this, adjusted for all models and reference points together; by one scorer."""

    def without_text(self) -> Self:
        """Return the same for a file that leaves texts out: a longer constant is a text of the dataset, and no label."""
        return self if self.constant is None else msgspec.structs.replace(self, constant=label_or_length(self.constant))

    @property
    def is_floor(self) -> bool:
        """Whether a model that is worth its cost is above it; people may be out of reach."""
        return self.reference != "people"

    @property
    def is_exceeded(self) -> bool:
        """Whether a model is shown to be better, or scores higher where too few samples differ to show anything."""
        found = [one for one in self.beside if one.found is not None]
        few = all(one.verdict == "too few" for one in found)
        return bool(self.better) or (few and any(one.found is not None and one.found.difference > 0 for one in found))

    @property
    def better(self) -> list[ModelResult]:
        """The models that are shown to be better."""
        return [one.side for one in self.beside if one.verdict == "better"]

    @property
    def mean(self) -> float | None:
        """Over the samples that it has a value for."""
        return None if self.interval is None else self.interval.mean


def references_of(
    reader: Reader, run: Provenance, there: Sides, scorer: str | None, only: str | None = None
) -> list[ReferencePoint]:
    """Return the reference points of a run by all scorers, tested beside models by one of them.

    Models are paired with them like models, in a family of their own: what is said between models does not change.

    Args:
        there: The models, by that scorer; they may be of other runs, too.
        only: This kind alone, for which alone p-values are adjusted then.
    """
    rows = [
        row
        for row in reader.all(ReferenceRow, run_ids=[run.run_id])
        if _is_fair(row, run) and only in (None, row.reference) and row.sample_keys
    ]
    if run.reduce not in _MEANS:  # how many epochs are right: an answer that is partly right is not
        rows = [_all_or_nothing(row) for row in rows]
    taken_out = {row.sample_key for own in there.samples.values() for row in own if row.excluded == "taken out"}
    found, sides = [], dict[int, ModelResult]()
    samples: Samples = dict(there.samples)
    scored = [_as_samples(row, f"reference {place}", there, taken_out) for place, row in enumerate(rows)]
    intervals = mean_intervals(list(map(of_samples, scored)))
    for place, (row, own, interval) in enumerate(zip(rows, scored, intervals, strict=True)):
        if row.scorer == scorer:
            name = f"reference {place}"
            samples[row.run_id, name] = own
            sides[place] = side_without_calls(row.run_id, name, len(row.sample_keys), interval)
        found.append(
            ReferencePoint(row.run_id, row.scorer, row.reference, row.column_name, row.constant, len(own), interval)
        )
    models = [side for side in there.sides if side.interval is not None]
    pairs = [(side, reference) for reference in sides.values() for side in models]
    beside = iter(differences(pairs, samples, are_shares=there.are_shares, reaches=False))
    return [
        msgspec.structs.replace(point, beside=[next(beside) for _ in models]) if place in sides else point
        for place, point in enumerate(found)
    ]


def _is_fair(row: ReferenceRow, run: Provenance) -> bool:
    """Return whether a reference point is worth what it scores; of several epochs one at random could be tried as often."""
    return row.reference != "random" or run.reduce in _MEANS


def _all_or_nothing(row: ReferenceRow) -> ReferenceRow:
    ends = None if row.least is None or row.most is None else (row.least, row.most)
    values = [float(grade(value, ends) == "right") for value in row.sample_values]
    return msgspec.structs.replace(row, sample_values=values, least=0.0, most=1.0)


def floor_of(points: Sequence[ReferencePoint]) -> ReferencePoint | None:
    """Return the reference point that no model is shown to be better than, of several the one that scores best; None where some
    model is better than each, or too few samples differ for a test and a model is above it.
    """
    above = [one for one in points if one.is_floor and one.beside and not one.is_exceeded]
    return max(above, key=lambda one: one.mean or 0.0, default=None)


def reference_objects(points: Sequence[ReferencePoint]) -> list[dict[str, Any]]:
    """Return reference points as plain values, with what a test shows of each model beside them."""
    return [
        {
            "run_id": point.run_id, "scorer": point.scorer, "reference": point.reference, "column": point.column,
            "constant": point.constant, "samples": point.samples, "interval": msgspec.to_builtins(point.interval),
            "beside": [
                {
                    "run_id": one.side.run_id, "model": one.side.model,
                    "difference": None if one.found is None else one.found.difference, "low": one.low, "high": one.high,
                    "adjusted_p": one.adjusted_p, "verdict": one.verdict,
                }
                for one in point.beside
            ],
        }
        for point in points
    ]  # fmt: skip


def _as_samples(row: ReferenceRow, name: str, there: Sides, taken_out: set[str]) -> list[SideSample]:
    """Return a reference point's values as if a model had scored them, in the clusters of the samples."""
    known = {sample.sample_key: sample for own in there.samples.values() for sample in own}
    shares = SHARES if all(0 <= value <= 1 for value in row.sample_values) else (None, None)
    # of its own scorer, which need not be the one that is compared
    least, most = shares if row.least is None else (row.least, row.most)
    return [
        SideSample(
            row.run_id, name, key, key, asked=1, answered=1, scored=1, not_right=0, not_right_ends=[], unknown=0, unread=0,
            left_out=0, excluded=None, of_scored=value, value=value, low=value, high=value, least=least, most=most,
            cluster=known[key].cluster if key in known else None,
        )
        for key, value in dict(zip(row.sample_keys, row.sample_values, strict=True)).items()
        if key not in taken_out
    ]  # fmt: skip
