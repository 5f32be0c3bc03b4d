"""What scores without a model: the points beside which the scores of models mean something.

They come from the targets alone. A constant that scores well says that the scorer is easy, and a column that people filled in
says what can be reached.
"""

import itertools
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from workbench.records import Sample
from workbench.scoring.given import Given
from workbench.scoring.right_answers import right_answer
from workbench.scoring.scorer import Scorer
from workbench.scoring.scorers import judged, judges, score
from workbench.scoring.targets import as_text

ReferenceKind = Literal["constant", "majority", "random", "people", "column"]
MOST_SAMPLES = 20_000
_MOST_SCORINGS = 10_000
"""By one scorer, in the time that a run takes to end; fewer answers are tried where there are many samples."""
_LEAST_ANSWERS, _MOST_ANSWERS = 5, 50


class ReferenceScores(NamedTuple):
    """What one reference point scores on each sample."""

    reference: ReferenceKind
    """constant: the answer that scores best, chosen without the sample that it is scored on. majority: the target that is most
    frequent. random: the mean over the targets of the other samples. people, column: the values of a column.
    """
    column: str
    """The name that the job gives a column; else empty."""
    answer: str | None
    """The constant, over all samples, or the most frequent target."""
    values: dict[str, float]
    """By sample."""


def reference_scores(
    samples: Mapping[str, Sample], scorer: Scorer, columns: Mapping[str, str], people: str | None
) -> list[ReferenceScores]:
    """Return what is known without a model: of a scorer that compares with no target only what columns say, of a judge nothing.

    Args:
        samples: By any key; those beyond `MOST_SAMPLES` are left out.
        columns: Name -> the column of the dataset that has its answers.
        people: The column of a second annotator, if there is one.
    """
    if scorer.asks_a_model:
        return []
    first = list(samples.items())[:MOST_SAMPLES]
    there = {key: sample for key, sample in first if sample.target is not None and judges(scorer, sample)}
    found = list(_from_targets(there, scorer)) if scorer.by_target else []
    for name, column in columns.items():
        if values := _of_column(there, scorer, column):
            found.append(ReferenceScores("column", name, None, values))
    if people is not None and (values := _of_column(there, scorer, people)):
        found.append(ReferenceScores("people", people, None, values))
    return found


def _from_targets(there: Mapping[str, Sample], scorer: Scorer) -> Iterator[ReferenceScores]:
    """Return what the targets alone give: a constant, the most frequent one, and one at random."""
    rights = {key: answer for key, sample in there.items() if (answer := right_answer(sample, scorer)) is not None}
    clusters = {key: str(there[key].metadata.get("cluster", key)) for key in rights}
    if len(set(clusters.values())) < 2:
        return
    counts = Counter(rights.values())
    most = max(_LEAST_ANSWERS, min(_MOST_ANSWERS, _MOST_SCORINGS // len(rights)))
    tried = sorted(counts, key=lambda answer: (-counts[answer], _shown(answer)))[:most]
    between = _between(tried)[: most - len(tried) + 1]
    table = _Table({key: there[key] for key in rights}, scorer, [*tried, *between])
    constant = table.best()
    yield ReferenceScores("constant", "", _shown(constant), table.chosen_elsewhere(clusters, rights))
    if _shown(tried[0]) != _shown(constant):
        yield ReferenceScores("majority", "", _shown(tried[0]), table.values(tried[0]))
    if len(tried) > 1:
        yield ReferenceScores("random", "", None, table.at_random(rights, {answer: counts[answer] for answer in tried}))


class _Table:
    """What each of some answers scores on each sample; one without a score has the least of the scale."""

    def __init__(self, samples: Mapping[str, Sample], scorer: Scorer, answers: Sequence[Given]) -> None:
        least, most = scorer.ends or (0.0, 1.0)
        self._keys, self._range = list(samples), most - least
        wanted = [scorer.target_of(sample) for sample in samples.values()]
        self._of = {
            answer: [least if (value := judged(scorer, answer, one).value) is None else value for one in wanted]
            for answer in dict.fromkeys(answers)
        }

    def values(self, answer: Given) -> dict[str, float]:
        """Return what an answer scores, by sample."""
        return dict(zip(self._keys, self._of[answer], strict=True))

    def best(self) -> Given:
        """Return the answer that scores best over all samples; of several the first."""
        return max(self._of, key=lambda answer: round(sum(self._of[answer]), 9))

    def chosen_elsewhere(self, clusters: Mapping[str, str], rights: Mapping[str, Given]) -> dict[str, float]:
        """Return what the answer that is best on all other clusters scores on each sample.

        Of several between which the cluster itself would decide it is their mean: with the best of the others alone, a sample of
        two balanced classes would always be answered by the other class.

        Args:
            rights: What is right for each sample: an answer that only the cluster's own targets say is not known elsewhere.
        """
        members: dict[str, list[int]] = {}
        for place, key in enumerate(self._keys):
            members.setdefault(clusters[key], []).append(place)
        totals = {answer: sum(values) for answer, values in self._of.items()}
        said = Counter(rights.values())
        found = {}
        for places in members.values():
            own = Counter(rights[self._keys[place]] for place in places)
            elsewhere = {
                answer: total - sum(self._of[answer][place] for place in places)
                for answer, total in totals.items()
                if said[answer] == 0 or said[answer] > own[answer]
            }
            near = max(elsewhere.values()) - len(places) * self._range
            chosen = [answer for answer, total in elsewhere.items() if total >= near - 1e-9]
            for place in places:
                found[self._keys[place]] = statistics.fmean(self._of[answer][place] for answer in chosen)
        return found

    def at_random(self, rights: Mapping[str, Given], weights: Mapping[Given, int]) -> dict[str, float]:
        """Return the mean over the right answers of other samples, by sample."""
        found = {}
        for place, key in enumerate(self._keys):
            own = rights[key]
            others = {answer: number - (answer == own) for answer, number in weights.items()}
            whole = sum(others.values())
            if whole:
                found[key] = sum(number * self._of[answer][place] for answer, number in others.items()) / whole
        return found


def _between(answers: Sequence[Given]) -> list[Given]:
    """Return the numbers halfway between neighbouring targets, where all are numbers: a tolerance may hold both."""
    try:
        numbers = sorted({float(answer.text) for answer in answers})
    except ValueError:
        return []
    return [Given(f"{(low + high) / 2:g}") for low, high in itertools.pairwise(numbers)]


def _of_column(there: Mapping[str, Sample], scorer: Scorer, column: str) -> dict[str, float]:
    """Return what the values of a column score as answers; a sample without one has none."""
    found = {}
    for key, sample in there.items():
        value = sample.metadata.get(column)
        if value is None or value == "" or value != value:  # NaN says nothing
            continue
        said = right_answer(msgspec.structs.replace(sample, target=value), scorer) or Given(as_text(value))
        least = 0.0 if scorer.ends is None else scorer.ends[0]
        given = score(scorer, said, sample).value
        found[key] = least if given is None else given
    return found


def _shown(answer: Given) -> str:
    return answer.text or ", ".join(f"{call.name}({call.arguments})" for call in answer.calls)
