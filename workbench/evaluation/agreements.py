"""How far numbers and labels in a run's answers agree with targets that are a scale, such as grades, or few classes."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from workbench.evaluation.agreement_answers import (
    ComparedPart,
    GivenAnswers,
    PartKind,
    TargetAnswers,
    target_answers,
)
from workbench.evaluation.references import label_or_length
from workbench.evaluation.sides import least_answered
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.score_rows import ReferenceRow, RunScorer
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.scorers import recorded_scorer
from workbench.stats.agreement import Agreement, agreement
from workbench.stats.jackknife import Estimate, Missing
from workbench.stats.label_agreement import LabelAgreement, ShareAgreement, label_agreement, share_agreement

Found = Agreement | LabelAgreement | ShareAgreement


class SideAgreement(msgspec.Struct, frozen=True):
    """How far one model, or a second annotator, agrees with the targets."""

    name: str
    """Of the model and its variant, or of the annotator's column."""
    is_people: bool
    asked: int
    """Answers that were asked for, or samples; `found.n` of them are known."""
    not_right: int
    """Of the known: without a number or label by the model's own doing."""
    unknown: int
    found: Found | None
    """None where nothing is known."""
    is_ranked: bool
    """Whether enough of them are known: what is unknown may be what is hard."""

    @property
    def kappa(self) -> Estimate | None:
        """Cohen's, of numbers with quadratic weights."""
        if isinstance(self.found, Agreement):
            return self.found.weighted_kappa
        return self.found.kappa if isinstance(self.found, LabelAgreement) else None


class PartAgreement(msgspec.Struct, frozen=True):
    """The agreement of everybody with the targets as a whole, or with one field of them."""

    field: str | None
    kind: PartKind
    labels: list[str]
    """The classes of the targets; empty of numbers."""
    samples: int
    """Samples with such a target."""
    sides: list[SideAgreement]
    """The nearest first, by kappa, where answers are unknown by the least that it can be, and without one by the mean error;
    after them those that are not ranked, and people."""


class RunAgreement(msgspec.Struct, frozen=True):
    """The agreement of everybody in a run with its targets."""

    run_id: str
    scorer: str
    """By which the answers were read."""
    kind: Literal["numbers", "measurements", "labels", "fields"]
    """fields: of JSON objects, each of a kind of its own."""
    labels: list[str]
    samples: int
    sides: list[SideAgreement]
    """Of the answers as a whole; empty where they are read field by field."""
    fields: list[PartAgreement]
    fields_left_out: int
    """Fields of fewer than ten samples, or beyond the fifty that most samples have."""

    @property
    def parts(self) -> list[PartAgreement]:
        """The answers as a whole, or each field."""
        if self.kind == "fields":
            return self.fields
        return [PartAgreement(None, self.kind, self.labels, self.samples, self.sides)]

    def without_texts(self) -> "RunAgreement":
        """Return the same for a file that leaves texts out: a longer target is a text of the dataset, and no label."""
        labels, sides = _without_texts(self.labels, self.sides)
        fields = [
            msgspec.structs.replace(part, labels=own[0], sides=own[1])
            for part in self.fields
            for own in [_without_texts(part.labels, part.sides)]
        ]
        return msgspec.structs.replace(self, labels=labels, sides=sides, fields=fields)


def _without_texts(labels: Sequence[str], sides: Sequence[SideAgreement]) -> tuple[list[str], list[SideAgreement]]:
    shown = dict[str, str]()
    for label in labels:
        short, number = label_or_length(label), sum(one.startswith(label_or_length(label)) for one in shown.values())
        shown[label] = short if short == label or not number else f"{short} ({number + 1})"
    found = []
    for side in sides:
        if isinstance(side.found, LabelAgreement):
            classes = [
                msgspec.structs.replace(one, label=shown.get(one.label, label_or_length(one.label)))
                for one in side.found.classes
            ]
            side = msgspec.structs.replace(side, found=msgspec.structs.replace(side.found, classes=classes))
        found.append(side)
    return [shown[label] for label in labels], found


def run_agreement(reader: Reader, run: Provenance, scorers: Sequence[RunScorer]) -> RunAgreement | None:
    """Return how far the answers of a run agree with its targets; None where no scorer reads what can be set beside them,
    or they are neither a scale nor few classes.

    Args:
        scorers: By which it was scored; the first that can tell is taken.
    """
    answers = target_answers(reader, [run.run_id], scorers)
    if answers is None:
        return None
    people = [
        row
        for row in reader.all(ReferenceRow, run_ids=[run.run_id])
        if row.reference == "people" and row.scorer == answers.scorer
    ]
    by = next(recorded_scorer(row.scorer_config) for row in scorers if row.scorer == answers.scorer)
    assert by is not None
    least = least_answered([run])
    parts = [_part(answers, part, run.run_id, least, [(row, by) for row in people]) for part in answers.parts]
    if not any(one.found for part in parts for one in part.sides):
        return None
    if parts[0].field is not None:
        return RunAgreement(
            run.run_id, answers.scorer, "fields", [], len(answers.samples), [], parts, answers.fields_left_out
        )
    (whole,) = parts
    kind = "labels" if whole.kind == "shares" else whole.kind
    return RunAgreement(run.run_id, answers.scorer, kind, whole.labels, whole.samples, whole.sides, [], 0)


def figure_rows(found: RunAgreement | None) -> list[dict[str, Any]]:
    """Return every figure as a flat row, each class's with its label."""
    if found is None:
        return []
    rows = []
    for part in found.parts:
        for side in part.sides:
            named = {
                "run_id": found.run_id, "model": side.name, "is_people": side.is_people, "scorer": found.scorer,
                "field": part.field, "label": None,
            }  # fmt: skip
            rows += [named | one for one in _figures(side)]
    return rows


def confusion_rows(found: RunAgreement | None) -> list[dict[str, Any]]:
    """Return how often each side gave each label for each target, as flat rows; of labels alone."""
    if found is None:
        return []
    rows = []
    for part in found.parts:
        for side in part.sides:
            if not isinstance(side.found, LabelAgreement):
                continue
            for target, counts in zip(part.labels, side.found.confusion, strict=True):
                named = {
                    "run_id": found.run_id, "model": side.name, "is_people": side.is_people,
                    "field": part.field, "target": target,
                }  # fmt: skip
                given = [(label, "label") for label in part.labels] + [(None, "another label"), (None, "no label")]
                rows += [
                    named | {"given": label, "kind": kind, "answers": count}
                    for (label, kind), count in zip(given, counts, strict=True)
                ]
    return rows


def _figures(side: SideAgreement) -> Iterator[dict[str, Any]]:
    of = side.found
    if of is None:
        return
    for name in of.__struct_fields__:
        figure = getattr(of, name)
        if isinstance(figure, Estimate):
            n = of.numbers if isinstance(of, Agreement) and name in ("pearson", "spearman") else of.n
            yield {"figure": name, "value": figure.value, "low": figure.low, "high": figure.high, "n": n}
    for one in of.classes if isinstance(of, LabelAgreement) else ():
        for name, n in (("precision", one.given), ("recall", one.support), ("f1", one.support)):
            if (value := getattr(one, name)) is not None:
                yield {"label": one.label, "figure": name, "value": value, "low": None, "high": None, "n": n}


def _part(
    answers: TargetAnswers, part: ComparedPart, run_id: str, least: float, people: Sequence[tuple[ReferenceRow, Scorer]]
) -> PartAgreement:
    sides = []
    for own_run_id, side in answers.answers:
        if own_run_id == run_id:
            sides.append(_side(side, part, answers.of(part, run_id, side), least))
    sides += [_annotator(row, scorer, part, answers, least) for row, scorer in people]
    return PartAgreement(part.field, part.kind, part.labels, len(part.right), sorted(sides, key=_by_kappa))


def _by_kappa(one: SideAgreement) -> tuple[bool, bool, float]:
    found = one.kappa
    if isinstance(one.found, Agreement) and found is None:
        return one.is_people, not one.is_ranked, one.found.absolute_error.value
    if isinstance(one.found, ShareAgreement | LabelAgreement) and found is None:
        found = one.found.accuracy
    at = None if found is None else found.at_lowest if one.unknown else found.value
    return one.is_people, not one.is_ranked, math.inf if at is None else -at


def _side(
    name: str, part: ComparedPart, given: GivenAnswers, least: float, *, is_people: bool = False
) -> SideAgreement:
    asked = len(given.given)
    not_right, unknown = given.given.count(Missing.NOT_RIGHT), given.given.count(Missing.UNKNOWN)
    known = asked - unknown - (not_right if part.kind == "measurements" else 0)
    found = found_of(part, given) if known else None
    return SideAgreement(name, is_people, asked, not_right, unknown, found, known >= least * asked)


def found_of(part: ComparedPart, given: GivenAnswers) -> Found:
    """Return how far the answers of a side agree with the targets, of which one at least is known."""
    beside: tuple[list[float | Missing], list[float]] = given.given, given.right
    if part.kind in ("numbers", "measurements"):
        return agreement(*beside, given.clusters, part.scale)
    if part.kind == "labels":
        return label_agreement(*beside, part.labels, given.clusters)
    return share_agreement(*beside, given.clusters)


def _annotator(
    row: ReferenceRow, scorer: Scorer, part: ComparedPart, answers: TargetAnswers, least: float
) -> SideAgreement:
    """Return how far a second annotator agrees; what is left out of the column is not asked."""
    found = GivenAnswers([], [], [], [])
    asked = 0
    for key, value, text in zip(row.sample_keys, row.sample_values, row.sample_texts or (), strict=False):
        if key not in part.right:
            continue
        asked += 1
        for said in _said_by(scorer, text, key, answers):
            given = part.read(key, value, said)
            if given is not Missing.NOT_RIGHT:
                found.keys.append((key, 1))
                found.given.append(given)
                found.right.append(part.right[key])
                found.clusters.append(answers.clusters[key])
    one, known = _side(row.column_name, part, found, least, is_people=True), len(found.given)
    return msgspec.structs.replace(one, asked=asked, unknown=asked - known, is_ranked=known >= least * asked)


def _said_by(scorer: Scorer, text: str, key: str, answers: TargetAnswers) -> Iterator[Any]:
    """Return what the scorer would read in an answer that says what a column does; nothing where it cannot tell."""
    if scorer.reads == "number":
        yield text
        return
    try:
        wanted = scorer.target_of(msgspec.structs.replace(answers.samples[key], target=text))
    except CannotJudgeError:
        return
    if scorer.reads == "fields":
        yield wanted
        return
    yield from list(scorer.right_labels(wanted))[:1]
