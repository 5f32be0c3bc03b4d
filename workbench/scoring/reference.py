"""What scores without a model: the points beside which the scores of models mean something.

They come from the targets alone. A constant that scores well says that the scorer is easy, and a column that people filled in
says what can be reached.
"""

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Literal, NamedTuple, TypeVar

import msgspec

from workbench.records.calls import CLUSTER, Sample
from workbench.scoring.given import Given
from workbench.scoring.right_answers import right_answer
from workbench.scoring.scorer import Scorer
from workbench.scoring.scorers import is_refusal_right, judged, judges, score
from workbench.scoring.structure import as_object
from workbench.scoring.targets import as_text

T = TypeVar("T")
ReferenceKind = Literal["constant", "majority", "random", "people", "column"]
MOST_SAMPLES = 20_000
_MOST_SCORINGS = 10_000
"""By one scorer, in the time that a run takes to end; fewer answers are tried where there are many samples."""
_LEAST_ANSWERS, _MOST_ANSWERS = 5, 100
_LOOKED_AT = 250
"""Samples, evenly spread, that say which of many answers are tried on all."""
A_REFUSAL = "a refusal"
"""What the constant is called that refuses whatever is asked."""
_MOST_FIELDS = 50
"""Of the objects of which a constant is put together."""
_SOME = 20
"""Answers that are tried on those: the most frequent, others spread over all, and others beside the best."""


class ReferenceScores(NamedTuple):
    """What one reference point scores on each sample."""

    reference: ReferenceKind
    """constant: the answer that scores best; where only the sample's own cluster says it, the best of the others. majority: the
    target that is most frequent. random: the mean over the targets of other clusters, over some that are drawn where there are
    many. people, column: the values of a column.
    """
    column: str
    """The name that the job gives a column; else empty."""
    answer: str | None
    """The constant, over all samples, or the most frequent target."""
    values: dict[str, float]
    """By sample."""
    texts: dict[str, str] = {}  # noqa: RUF012 - never changed
    """What a column says, by sample."""


def reference_scores(
    samples: Mapping[str, Sample], scorer: Scorer, cluster: str | None = None
) -> list[ReferenceScores]:
    """Return what the targets say without a model; nothing of a scorer that compares with none.

    Args:
        samples: By any key; those beyond `MOST_SAMPLES` are left out.
        cluster: The column whose equal values say which samples belong together; by default a column `cluster`.
    """
    if scorer.asks_a_model or not scorer.by_target:
        return []
    found = _from_targets(_judged(samples, scorer), scorer, cluster or CLUSTER)
    return list(_with_refusals(found, dict(list(samples.items())[:MOST_SAMPLES]), scorer))


def _with_refusals(
    found: Iterator[ReferenceScores], samples: Mapping[str, Sample], scorer: Scorer
) -> Iterator[ReferenceScores]:
    """Yield the same with the samples to which a refusal is right: a refusal may be the constant, and whatever else is said to
    them is wrong.
    """
    right = {key for key, sample in samples.items() if is_refusal_right(sample)}
    if not right or scorer.ends is None:
        yield from found
        return
    least, most = scorer.ends
    for one in found:
        values = one.values | {key: least for key in right - one.values.keys()}
        refusals = {key: most if key in right else least for key in values}
        if one.reference == "constant" and sum(refusals.values()) > sum(values.values()):
            yield one._replace(answer=A_REFUSAL, values=refusals)
        else:
            yield one._replace(values=values)


def column_scores(
    samples: Mapping[str, Sample], scorer: Scorer, columns: Mapping[str, str], people: str | None
) -> list[ReferenceScores]:
    """Return what the values of columns score as answers; nothing of a judge.

    Args:
        samples: By any key, as the dataset has them now; those beyond `MOST_SAMPLES` are left out.
        columns: Name -> the column of the dataset that has its answers.
        people: The column of a second annotator, if there is one.
    """
    if scorer.asks_a_model:
        return []
    there, found = _judged(samples, scorer), list[ReferenceScores]()
    for name, column in columns.items():
        values, texts = _of_column(there, scorer, column)
        found += [ReferenceScores("column", name, None, values, texts)] if values else []
    if people is not None:
        values, texts = _of_column(there, scorer, people)
        found += [ReferenceScores("people", people, None, values, texts)] if values else []
    return found


def _judged(samples: Mapping[str, Sample], scorer: Scorer) -> dict[str, Sample]:
    first = list(samples.items())[:MOST_SAMPLES]
    return {key: sample for key, sample in first if sample.target is not None and judges(scorer, sample)}


def _from_targets(there: Mapping[str, Sample], scorer: Scorer, cluster: str) -> Iterator[ReferenceScores]:
    """Return what the targets alone give: a constant, the most frequent one, and one at random."""
    rights = {key: answer for key, sample in there.items() if (answer := right_answer(sample, scorer)) is not None}
    of_column = {key: there[key].metadata.get(cluster) for key in rights}
    clusters = {key: key if value in (None, "") else str(value) for key, value in of_column.items()}
    if len(set(clusters.values())) < 2:
        return
    counts = Counter(rights.values())
    most = max(_LEAST_ANSWERS, min(_MOST_ANSWERS, _MOST_SCORINGS // len(rights)))
    ordered = _in_order(counts)
    frequent = sorted(ordered, key=lambda answer: -counts[answer])
    table = _Table({key: there[key] for key in rights}, scorer)
    if len(ordered) <= most:
        table.add([*ordered, *_spread(_between(ordered), most - len(ordered) + 1)])
    else:
        some = _Table({key: there[key] for key in _spread(list(rights), _LOOKED_AT)}, scorer)
        table.add([*frequent[:1], *_best_of_many(some, ordered, frequent)])
    constant = table.best()
    values = table.known_elsewhere(constant, clusters, rights)
    if scorer.reads == "fields" and (joined := _joined(rights, clusters)) is not None:
        of_joined = table.scores_of(joined.without)
        if sum(of_joined.values()) > sum(values.values()):
            constant, values = joined.answer, of_joined
    yield ReferenceScores("constant", "", _shown(constant), values)
    if counts[frequent[0]] > 1 and _shown(frequent[0]) != _shown(constant):
        yield ReferenceScores("majority", "", _shown(frequent[0]), table.values(frequent[0]))
    if len(ordered) > most:
        yield ReferenceScores("random", "", None, table.drawn(clusters, rights, max(_LEAST_ANSWERS, most // 2)))
    elif len(ordered) > 1:
        yield ReferenceScores("random", "", None, table.at_random(clusters, rights, counts))


class _Table:
    """What answers score on each sample; one without a score has the least of the scale."""

    def __init__(self, samples: Mapping[str, Sample], scorer: Scorer) -> None:
        self._scorer, (self._least, _) = scorer, scorer.ends or (0.0, 1.0)
        self._keys = list(samples)
        self._wanted = [scorer.target_of(sample) for sample in samples.values()]
        self._of = dict[Given, list[float]]()

    def add(self, answers: Sequence[Given]) -> None:
        """Score answers on every sample."""
        for answer in answers:
            if answer not in self._of:
                self._of[answer] = [self._scored(answer, place) for place in range(len(self._keys))]

    def _scored(self, answer: Given, place: int) -> float:
        value = judged(self._scorer, answer, self._wanted[place]).value
        return self._least if value is None else value

    def values(self, answer: Given) -> dict[str, float]:
        """Return what an answer scores, by sample."""
        return dict(zip(self._keys, self._of[answer], strict=True))

    def scores_of(self, answers: Mapping[str, Given]) -> dict[str, float]:
        """Return what an answer of its own scores on each sample.

        Args:
            answers: By sample.
        """
        return {key: self._scored(answers[key], place) for place, key in enumerate(self._keys)}

    def best(self) -> Given:
        """Return the answer that scores best over all samples; of several the first by its text."""
        return self.ranked()[0]

    def ranked(self) -> list[Given]:
        """Return the answers, the best first."""
        return sorted(sorted(self._of, key=_shown), key=lambda answer: -round(sum(self._of[answer]), 9))

    def known_elsewhere(
        self, answer: Given, clusters: Mapping[str, str], rights: Mapping[str, Given]
    ) -> dict[str, float]:
        """Return what an answer scores on each sample; where only the sample's own cluster says it, the best of the others.

        Args:
            rights: What is right for each sample.
        """
        found = self.values(answer)
        own = {clusters[key] for key, right in rights.items() if right == answer}
        if len(own) != 1:  # none: a number between two targets
            return found
        others = {right for key, right in rights.items() if clusters[key] not in own and right in self._of}
        places = {key: place for place, key in enumerate(self._keys) if clusters[key] in own}
        sums = {
            other: sum(value for place, value in enumerate(self._of[other]) if self._keys[place] not in places)
            for other in others
        }
        best = max(sorted(others, key=_shown), key=lambda other: round(sums[other], 9), default=None)
        return found if best is None else found | {key: self._of[best][place] for key, place in places.items()}

    def at_random(
        self, clusters: Mapping[str, str], rights: Mapping[str, Given], weights: Mapping[Given, int]
    ) -> dict[str, float]:
        """Return the mean over the right answers of the samples of other clusters, by sample."""
        of_cluster: dict[str, Counter[Given]] = {}
        for key, right in rights.items():
            of_cluster.setdefault(clusters[key], Counter())[right] += 1
        found = {}
        for place, key in enumerate(self._keys):
            own = of_cluster[clusters[key]]
            others = {answer: number - own[answer] for answer, number in weights.items()}
            whole = sum(others.values())
            if whole:
                found[key] = sum(number * self._of[answer][place] for answer, number in others.items()) / whole
        return found

    def drawn(self, clusters: Mapping[str, str], rights: Mapping[str, Given], most: int) -> dict[str, float]:
        """Return the mean over some right answers of samples of other clusters, others for each sample, the same every time.

        Args:
            rights: What is right for each sample.
            most: How many are drawn for each.
        """
        count = len(self._keys)
        steps = random.Random(count).sample(range(1, count), min(most, count - 1))
        order = random.Random(-count).sample(range(count), count)  # neighbours in a dataset are often alike
        place_of = {number: place for place, number in enumerate(order)}
        found = {}
        for number, key in enumerate(self._keys):
            others = [self._keys[order[(place_of[number] + step) % count]] for step in steps]
            values = [self._scored(rights[one], number) for one in others if clusters[one] != clusters[key]]
            if values:
                found[key] = fmean(values)
        return found


class _CommonObject(NamedTuple):
    """An object with the most frequent value of each field, which need not be the target of any sample."""

    answer: Given
    """Over all samples."""
    without: dict[str, Given]
    """By sample: over those of other clusters."""


def _joined(rights: Mapping[str, Given], clusters: Mapping[str, str]) -> _CommonObject | None:
    """Return the object of the most frequent values; None where a target is not an object, or they have too many fields."""
    own = dict[str, dict[str, Counter[str]]]()
    of_all = dict[str, Counter[str]]()
    for key, right in rights.items():
        if (fields := as_object(right.text)) is None or len(of_all) > _MOST_FIELDS:
            return None
        for name, value in fields.items():
            text = json.dumps(value, sort_keys=True)
            of_all.setdefault(name, Counter())[text] += 1
            own.setdefault(clusters[key], {}).setdefault(name, Counter())[text] += 1
    # of values that are as frequent the first by its text, the same every time
    ranked = {name: sorted(found.items(), key=lambda one: (-one[1], one[0])) for name, found in of_all.items()}
    none = dict[str, Counter[str]]()
    of_cluster = {cluster: _of_most_frequent(ranked, counts) for cluster, counts in own.items()}
    return _CommonObject(_of_most_frequent(ranked, none), {key: of_cluster[clusters[key]] for key in rights})


def _of_most_frequent(ranked: Mapping[str, Sequence[tuple[str, int]]], less: Mapping[str, Counter[str]]) -> Given:
    """Return the object of the most frequent value of each field.

    Args:
        ranked: Field -> its values with how often they are there, the most frequent first.
        less: How often they are there in samples that are left out.
    """
    chosen = {}
    for name, values in ranked.items():
        own = less.get(name, Counter())
        # the next one only where nothing else has the first: of two that are as frequent it would be the wrong one each time
        there = next((text for text, count in values if count > own[text]), None)
        if there is not None:
            chosen[name] = json.loads(there)
    return Given(json.dumps(chosen, ensure_ascii=False))


def _in_order(answers: Iterable[Given]) -> list[Given]:
    """Return answers by their value where all are numbers, or else by their text."""
    by_text = sorted(answers, key=_shown)
    try:
        return sorted(by_text, key=lambda answer: float(answer.text))
    except ValueError:
        return by_text


def _best_of_many(table: _Table, ordered: Sequence[Given], frequent: Sequence[Given]) -> list[Given]:
    """Return the best answers of the most frequent, of some that are spread over all, and of those beside the best of them."""
    tried = [*frequent[:_SOME], *_spread(ordered, _SOME)]
    table.add(tried)
    place, known = ordered.index(table.best()), set(tried)
    after = itertools.takewhile(lambda answer: answer not in known, ordered[place + 1 :])
    before = itertools.takewhile(lambda answer: answer not in known, reversed(ordered[:place]))
    table.add(_spread([*before, *after], _SOME))
    place = ordered.index(table.best())
    table.add(_between(ordered[max(0, place - _SOME // 2) : place + _SOME // 2]))
    return table.ranked()[:_LEAST_ANSWERS]


def _spread(items: Sequence[T], most: int) -> list[T]:
    """Return no more than so many of them, evenly spread."""
    if len(items) <= most:
        return list(items)
    return [items[(2 * place + 1) * len(items) // (2 * most)] for place in range(most)]


def _between(answers: Sequence[Given]) -> list[Given]:
    """Return the numbers halfway between neighbouring targets, where all are numbers: a tolerance may hold both."""
    try:
        numbers = sorted({float(answer.text) for answer in answers})
    except ValueError:
        return []
    return [Given(f"{(low + high) / 2:g}") for low, high in itertools.pairwise(numbers)]


def _of_column(there: Mapping[str, Sample], scorer: Scorer, column: str) -> tuple[dict[str, float], dict[str, str]]:
    """Return what the values of a column score as answers, and the values; a sample without one has none."""
    found, texts = dict[str, float](), dict[str, str]()
    least = 0.0 if scorer.ends is None else scorer.ends[0]
    for key, sample in there.items():
        value = sample.metadata.get(column)
        if value is None or value == "" or value != value:  # NaN says nothing
            continue
        said = right_answer(msgspec.structs.replace(sample, target=value), scorer) or Given(as_text(value))
        given = score(scorer, said, sample).value
        found[key], texts[key] = least if given is None else given, as_text(value)
    return found, texts


def _shown(answer: Given) -> str:
    return answer.text or ", ".join(f"{call.name}({call.arguments})" for call in answer.calls)
