"""What a scorer read in the answers of runs, and what is right, as numbers and labels that can be set beside each other."""

import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import msgspec

from workbench.ledger.queries import Reader
from workbench.ledger.score_rows import AgreementAnswer, AgreementTarget, RunScorer
from workbench.records.calls import Sample
from workbench.scoring.folding import folded
from workbench.scoring.json_fields import JsonFields
from workbench.scoring.numeric import Numeric, Scale, ends_of_scale, is_within
from workbench.scoring.scorer import Scorer
from workbench.scoring.scorers import judges, recorded_scorer
from workbench.scoring.structure import number_of, same
from workbench.stats.agreement import is_bounded
from workbench.stats.jackknife import Missing
from workbench.stats.kappa import OTHER

PartKind = Literal["numbers", "measurements", "labels", "shares"]
"""Numbers on a scale, numbers that have no ends, labels that are few classes, or how many are right."""
_MOST_LEVELS = 25
"""More different targets are no scale: an outlier decides then. Nor are they few classes, whose table anybody reads."""
_LEAST_SAMPLES = 10
_MOST_FIELDS = 50
"""Of an object that has more, those that most samples have."""
_RIGHT = 1 - 1e-9


class ComparedPart(NamedTuple):
    """What is read in an answer as a whole, or in one field of it."""

    field: str | None
    kind: PartKind
    labels: list[str]
    """The classes, in order; empty of numbers."""
    right: dict[str, float]
    """Sample key -> the number, or the place of the label."""
    read: Callable[[str, float, Any], float | Missing]
    """Given a sample key, the score and what was extracted: the number, or the place of the label."""
    scale: tuple[float, float] | None = None
    """Of numbers, where the job declares it; of measurements with infinite ends."""


class SaidAnswer(NamedTuple):
    """What a scorer says of one answer."""

    state: str
    value: float | None
    said: Any
    """What it extracted, the object of a scorer that reads fields; None where it read nothing."""


class GivenAnswers(NamedTuple):
    """The answers of one side beside what is right, of one part."""

    keys: list[tuple[str, int]]
    """Sample key and epoch."""
    given: list[float | Missing]
    right: list[float]
    clusters: list[Hashable]


class TargetAnswers(msgspec.Struct, frozen=True):
    """The answers of runs, by side, beside their targets."""

    scorer: str
    parts: list[ComparedPart]
    fields_left_out: int
    """Fields of too few samples, or of too many others."""
    asked: dict[str, list[tuple[str, int]]]
    """Run id -> the sample keys and epochs that it sent to any of its sides."""
    unsent: dict[str, list[tuple[str, int]]]
    """The same of those that it was to send, and sent to none."""
    clusters: dict[str, Hashable]
    """Sample key -> what it belongs to, or itself."""
    answers: dict[tuple[str, str], dict[tuple[str, int], SaidAnswer]]
    """(run id, side) -> sample key and epoch -> the answer."""
    samples: dict[str, Sample]
    own_labels: dict[str, ComparedPart]
    """Run id -> the labels as its scorer reads them, where its settings are not those by which `parts` are read."""

    def of(self, part: ComparedPart, run_id: str, side: str) -> GivenAnswers:
        """Return the answers of one side; where another of its run was asked and it was not, its answer is unknown."""
        return self._of(part, (run_id, side), self.asked.get(run_id, []))

    def of_both(
        self, part: ComparedPart, one: tuple[str, str], other: tuple[str, str]
    ) -> tuple[GivenAnswers, GivenAnswers]:
        """Return the answers of two sides, each of a run, to what both were asked, or one was and the other was to be."""
        sent = {*self.asked.get(one[0], ()), *self.asked.get(other[0], ())}
        of_other = {*self.asked.get(other[0], ()), *self.unsent.get(other[0], ())}
        own = [*self.asked.get(one[0], ()), *self.unsent.get(one[0], ())]
        keys = [key for key in own if key in of_other and key in sent]
        return self._of(part, one, keys), self._of(part, other, keys)

    def _of(self, part: ComparedPart, side: tuple[str, str], keys: Sequence[tuple[str, int]]) -> GivenAnswers:
        answers, there = self.answers.get(side, {}), [key for key in keys if key[0] in part.right]
        own = self.own_labels.get(side[0], part)
        return GivenAnswers(
            there,
            [_read(own, key[0], answers.get(key)) for key in there],
            [part.right[sample_key] for sample_key, _ in there],
            [self.clusters[sample_key] for sample_key, _ in there],
        )


def _read(part: ComparedPart, sample_key: str, answer: SaidAnswer | None) -> float | Missing:
    if answer is None or answer.state in ("unknown", "not asked"):
        return Missing.UNKNOWN
    if answer.state == "not right" or answer.value is None:
        return Missing.NOT_RIGHT
    return part.read(sample_key, answer.value, answer.said)


def target_answers(
    reader: Reader,
    run_ids: Sequence[str],
    scorers: Sequence[RunScorer],
    *,
    cluster: str = "cluster",
    on_fallback: str | None = None,
) -> TargetAnswers | None:
    """Return the answers of runs as the first scorer that can read them beside their targets; None where none can, or where it
    means something else in another of the runs.

    Args:
        scorers: With their settings, the first that is to be asked first.
        cluster: The metadata column that says which samples belong together.
        on_fallback: `exclude` or `accept`; None as each run's job says.
    """
    able = [
        (row, scorer)
        for row in scorers
        if (scorer := recorded_scorer(row.scorer_config)) is not None and scorer.reads and row.scored
    ]
    targets = reader.all(AgreementTarget, run_ids=list(run_ids), cluster=cluster) if able else []
    samples = {one.sample_key: _sample(one) for one in targets if one.target is not None}
    for row, scorer in able:
        parts, left_out = compared_parts(scorer, samples)
        if parts:
            others = {
                one.run_id: recorded_scorer(one.scorer_config)
                for one in scorers
                if one.scorer == row.scorer and one.scored
            }
            own_labels = _own_labels(scorer, parts, others, samples)
            if own_labels is None:
                return None
            asked = {"run_ids": list(run_ids), "scorer": row.scorer, "on_fallback": on_fallback}
            rows = ((one, _said(one, scorer)) for one in reader.each(AgreementAnswer, **asked))
            return _beside(row.scorer, (parts, left_out), targets, samples, rows, own_labels)
    return None


def _own_labels(
    scorer: Scorer, parts: Sequence[ComparedPart], others: Mapping[str, Scorer | None], samples: Mapping[str, Sample]
) -> dict[str, ComparedPart] | None:
    """Return by run how other settings of a scorer read labels, which are recorded as they compare; None where a run's scorer
    is of another kind, or its classes are others.

    Args:
        parts: As the scorer reads them.
        others: Run id -> the scorer of this name there.
    """
    own = {}
    for run_id, other in others.items():
        if type(other) is not type(scorer) or other.reads != scorer.reads:
            return None
        if other != scorer and scorer.reads == "label":
            read = compared_parts(other, samples)[0]
            if [part.right for part in read] != [part.right for part in parts]:
                return None
            (own[run_id],) = read
    return own


def _said(row: AgreementAnswer, scorer: Scorer) -> SaidAnswer:
    said = row.extracted
    if scorer.reads == "fields" and said is not None:
        return SaidAnswer(row.state, row.value, json.loads(said))  # which takes half a pair of surrogates, too
    return SaidAnswer(row.state, row.value, said)


def _sample(row: AgreementTarget) -> Sample:
    target = msgspec.json.decode(row.target or "null")
    choices = tuple(map(str, msgspec.json.decode(row.choices or "[]") or ()))
    return Sample(row.sample_key, None, target, choices)


def _beside(
    scorer: str,
    parts: tuple[list[ComparedPart], int],
    targets: Sequence[AgreementTarget],
    samples: dict[str, Sample],
    rows: Iterable[tuple[AgreementAnswer, SaidAnswer]],
    own_labels: dict[str, ComparedPart],
) -> TargetAnswers:
    answers: dict[tuple[str, str], dict[tuple[str, int], SaidAnswer]] = {}
    unjudged = set()
    for row, said in rows:
        answers.setdefault((row.run_id, row.side), {})[row.sample_key, row.epoch] = said
        if row.state == "not asked":
            unjudged.add(row.sample_key)
    asked, unsent = dict[str, list[tuple[str, int]]](), dict[str, list[tuple[str, int]]]()
    for one in targets:
        if one.sample_key not in unjudged:
            own = (asked if one.is_sent else unsent).setdefault(one.run_id, [])
            own += [(one.sample_key, epoch) for epoch in range(1, one.epochs + 1)]
    return TargetAnswers(
        scorer,
        *parts,
        asked,
        unsent,
        {one.sample_key: one.cluster or one.sample_key for one in targets},
        answers,
        samples,
        own_labels,
    )


def compared_parts(scorer: Scorer, samples: Mapping[str, Sample]) -> tuple[list[ComparedPart], int]:
    """Return what can be set beside the targets, and how many fields cannot."""
    wanted = {key: scorer.target_of(sample) for key, sample in samples.items() if judges(scorer, sample)}
    if len(wanted) < _LEAST_SAMPLES:
        return [], 0
    if scorer.reads == "number":
        return list(_of_numbers(scorer, {key: float(numbers[0]) for key, numbers in wanted.items()})), 0
    if isinstance(scorer, JsonFields):
        return _of_fields(scorer, wanted)
    names = {key: labels for key, one in wanted.items() if (labels := scorer.right_labels(one))}
    part = _of_labels(None, names, lambda said, labels: scorer.label_read(said, labels))
    return ([] if part is None else [part]), 0


def _of_numbers(scorer: Scorer, right: Mapping[str, float]) -> Iterator[ComparedPart]:
    """Yield the numbers of answers beside those of the targets, where these are a scale: a declared one, or few levels."""
    declared = scorer.target_scale if isinstance(scorer, Numeric) else msgspec.UNSET
    if declared is msgspec.UNSET:
        if _is_scale(list(right.values())):
            yield ComparedPart(None, "numbers", [], dict(right), _number)
        return
    if (part := _scaled(None, ends_of_scale(declared), right, _number)) is not None:
        yield part


def _scaled(
    field: str | None, scale: Scale, right: Mapping[str, float], read: Callable[[str, float, Any], float | Missing]
) -> ComparedPart | None:
    """Return numbers beside those of the targets on a declared scale: one that is given beyond it is not right."""
    on_scale = {
        key: value for key, value in right.items() if is_within(value, scale)
    }  # a run of before it was declared
    if len(on_scale) < _LEAST_SAMPLES:
        return None

    def read_within(sample_key: str, value: float, said: Any) -> float | Missing:
        given = read(sample_key, value, said)
        return given if isinstance(given, Missing) or is_within(given, scale) else Missing.NOT_RIGHT

    return ComparedPart(field, "numbers" if is_bounded(scale) else "measurements", [], on_scale, read_within, scale)


def _is_scale(targets: Sequence[float]) -> bool:
    levels = len(set(targets))
    return all(map(math.isfinite, targets)) and 1 < levels <= _MOST_LEVELS and 2 * levels <= len(targets)


def _are_classes(targets: Sequence[str]) -> bool:
    """Return whether labels are few classes: at most `_MOST_LEVELS`, each of which has two samples on average."""
    labels = len(set(targets))
    return len(targets) >= _LEAST_SAMPLES and labels <= _MOST_LEVELS and 2 * labels <= len(targets)


def _number(_: str, __: float, said: Any) -> float | Missing:
    try:
        number = math.nan if said is None else float(said)
    except ValueError:
        return Missing.NOT_RIGHT
    return number if math.isfinite(number) else Missing.NOT_RIGHT


def _of_labels(
    field: str | None,
    names: Mapping[str, Sequence[str]],
    label_read: Callable[[str, Mapping[str, int]], str | None],
) -> ComparedPart | None:
    """Return labels beside those of the targets; None where they are not few classes.

    Whether an answer is right, the scorer says: several texts may be accepted of a sample, of which the first names its
    class.

    Args:
        field: Of the answer's object.
        names: Sample key -> the accepted labels.
        label_read: Given what was extracted, which label it is.
    """
    first = {key: labels[0] for key, labels in names.items()}
    if not _are_classes(list(first.values())):
        return None
    classes = sorted(set(first.values()))
    places = {name: place for place, name in enumerate(classes)}
    known = {name: places[labels[0]] for labels in names.values() for name in labels} | places
    right = {key: float(places[label]) for key, label in first.items()}

    def read(sample_key: str, value: float, said: str | None) -> float | Missing:
        if value >= _RIGHT:
            return right[sample_key]
        if not said:
            return Missing.NOT_RIGHT
        label = label_read(said, known)
        # what the scorer does not take for right is not, whatever it looks like
        return OTHER if label is None or known[label] == right[sample_key] else float(known[label])

    return ComparedPart(field, "labels", classes, right, read)


def _of_fields(scorer: JsonFields, wanted: Mapping[str, Mapping[str, Any]]) -> tuple[list[ComparedPart], int]:
    """Return the fields of the target objects, each by what its targets are."""
    counts = Counter(name for one in wanted.values() for name in one)
    enough = [name for name, samples in counts.most_common(_MOST_FIELDS) if samples >= _LEAST_SAMPLES]
    kept = [name for name in counts if name in enough]  # in the order of the targets
    parts = [_field(scorer, name, {key: one[name] for key, one in wanted.items() if name in one}) for name in kept]
    return parts, len(counts) - len(kept)


def _field(scorer: JsonFields, name: str, wanted: Mapping[str, Any]) -> ComparedPart:
    values = list(wanted.values())
    numbers = {key: float(number) for key, one in wanted.items() if (number := _plain_number(one)) is not None}

    def read_number(sample_key: str, value: float, said: Any) -> float | Missing:
        return _number(sample_key, value, scorer.number_in(_field_of(said, name)))

    declared = (scorer.target_scales or {}).get(name)
    if declared is not None:
        on_it = {key: float(number) for key, one in wanted.items() if (number := scorer.number_in(one)) is not None}
        if (part := _scaled(name, ends_of_scale(declared), on_it, read_number)) is not None:
            return part
    elif len(numbers) == len(values) and _is_scale(list(numbers.values())):
        return ComparedPart(name, "numbers", [], numbers, read_number)

    def is_right(sample_key: str, said: Any) -> float:
        return float(isinstance(said, dict) and name in said and same(said[name], wanted[sample_key], scorer))

    labels = None
    if all(isinstance(one, str) for one in values) or all(isinstance(one, bool) for one in values):
        names = {key: [_label(one, scorer)] for key, one in wanted.items()}
        labels = _of_labels(name, names, lambda said, known: said if said in known else None)
    if labels is None:

        def read_share(sample_key: str, _: float, said: Any) -> float | Missing:
            if is_right(sample_key, said):
                return 0.0
            return Missing.NOT_RIGHT if _field_of(said, name) is None else OTHER

        return ComparedPart(name, "shares", ["right"], dict.fromkeys(wanted, 0.0), read_share)
    read = labels.read
    return labels._replace(
        read=lambda key, _, said: read(key, is_right(key, said), _label(_field_of(said, name), scorer))
    )


def _field_of(said: Any, name: str) -> Any:
    return said.get(name) if isinstance(said, dict) else None


def _plain_number(value: Any) -> Decimal | None:
    return number_of(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _label(value: Any, scorer: JsonFields) -> str:
    """Return a field's value as the scorer compares texts; empty where there is none."""
    if value is None:
        return ""
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else json.dumps(value)
    return folded(text, ignore_case=scorer.case == "ignore")
