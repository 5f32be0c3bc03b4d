"""The answer key of a job, for simulated routes: of every prompt an answer that the job's own scorers take for right, and one
that they take for wrong.
"""

import contextlib
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from workbench.dataset.samples import selected_samples
from workbench.job.job import Job
from workbench.job.prompt import prompts_of
from workbench.local_platform.answer_key import AnswerKeyFile, Entry, KeyedAnswer
from workbench.records import Sample, ToolCall
from workbench.scoring.choice import right_letters
from workbench.scoring.custom import Custom
from workbench.scoring.given import Given
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.scorers import score
from workbench.scoring.targets import targets_of
from workbench.scoring.tool_call import CalledTool
from workbench.scoring.tool_calls import AcceptedCall, CalledTools

TOGETHER, MORE = 64, 8
"""How many questions look for a wrong answer among each other's right ones, and how many others suffice beside them."""
_MOST_TRIES = 16
_SHAPES = ("{}", "The answer is {}.", "Answer: {}", "ANSWER: {}")
_WORDS = "First the question is read with care."


class Question(NamedTuple):
    """A sample, and its messages by variant."""

    sample: Sample
    messages: list[Any]


class AnswerKeyWriter:
    """Writes an answer key, some questions at a time.

    A sample without a target has no entry. A custom scorer and a judge are not asked: where there are no others, the target
    is right, and another sample's is wrong.

    Args:
        path: Of the file, which may have other jobs' answers already.

    Raises:
        OSError: It cannot be written.
    """

    def __init__(self, path: Path, scorers: tuple[Scorer, ...]) -> None:
        self._file = AnswerKeyFile(path)
        self._scorers = tuple(s for s in scorers if not isinstance(s, Custom) and not s.asks_a_model)

    def enter(self, questions: Sequence[Question], more: Iterable[Question]) -> None:
        """Enter some questions, at best `TOGETHER` of them; they can be asked once this returns.

        Args:
            questions: What to enter.
            more: Others, whose right answers may be wrong ones here too.

        Raises:
            OSError: The disk takes no more.
        """
        rights = [self._right(question.sample) for question in questions]
        known = [*rights, *(self._right(question.sample) for question in more)]
        entries = []
        for place, (right, (sample, messages)) in enumerate(zip(rights, questions, strict=True)):
            if right is not None:
                others = [keyed for keyed in (*known[place + 1 :], *known[:place]) if keyed not in (None, right)]
                entry = Entry(right, self._wrong(sample, others), self._takes_words(right, sample))
                entries += [(sent, entry) for sent in messages]
        self._file.add(entries)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _right(self, sample: Sample) -> KeyedAnswer | None:
        """Return the first of the shapes of a target that all scorers take for right, or else the one that they like best."""
        best: tuple[float, KeyedAnswer] | None = None
        try:
            for keyed in _answers(sample, self._scorers):
                worth = self._worth(keyed, sample)
                if worth is None or worth == 1.0:
                    return keyed
                if best is None or worth > best[0]:
                    best = worth, keyed
        except Exception:  # whatever is wrong with a target, its answers will be unscored, and the run goes on
            return None
        return None if best is None else best[1]

    def _wrong(self, sample: Sample, others: list[KeyedAnswer]) -> KeyedAnswer | None:
        best: tuple[float, KeyedAnswer] | None = None
        for keyed in others[:_MOST_TRIES]:
            worth = self._worth(keyed, sample)
            if not worth:
                return keyed
            if worth < 1.0 and (best is None or worth < best[0]):
                best = worth, keyed
        return None if best is None else best[1]

    def _takes_words(self, right: KeyedAnswer, sample: Sample) -> bool:
        alone = None if right.text is None else self._worth(right, sample)
        return alone is not None and alone == self._worth(KeyedAnswer(f"{_WORDS}\n{right.text}"), sample)

    def _worth(self, keyed: KeyedAnswer, sample: Sample) -> float | None:
        """Return the mean of what the scorers give; None where none of them can judge."""
        calls = [ToolCall(None, name, arguments) for name, arguments in keyed.calls]
        given = Given(keyed.text or "", calls)
        values = [value for s in self._scorers if (value := score(s, given, sample).value) is not None]
        return sum(values) / len(values) if values else None


def write_answers(path: Path, job: Job) -> None:
    """Write the answer key of a job that is not planned.

    Raises:
        InputError: Its dataset or a prompt has a fault.
        OSError: The file cannot be written.
    """
    prompts = prompts_of(job)
    questions = (
        Question(sample, [prompt.messages(sample) for _, prompt in prompts]) for sample in selected_samples(job)
    )
    before: list[Question] = []
    with contextlib.closing(AnswerKeyWriter(path, job.scorers)) as key:
        while block := list(itertools.islice(questions, TOGETHER)):
            key.enter(block, before)
            before = block[:MORE]


def _answers(sample: Sample, scorers: tuple[Scorer, ...]) -> Iterator[KeyedAnswer]:
    """Return what may be right for a sample, the plainest first."""
    if sample.target is None:
        return
    for scorer in scorers:
        if calls := _calls(scorer, sample):
            yield KeyedAnswer(None, calls)
    targets = list(_checked(sample.target)) or [sample.target]
    for target in targets:
        for text in _texts(msgspec.structs.replace(sample, target=target)):
            yield from (KeyedAnswer(shape.format(text)) for shape in _SHAPES)
        yield KeyedAnswer(json.dumps(target, ensure_ascii=False, default=str))


def _texts(sample: Sample) -> Iterator[str]:
    """Return a target as text: as it stands, its letter among options, and all that are accepted in one line."""
    texts = targets_of(sample) if not isinstance(sample.target, dict) else []
    yield from texts[:1]
    if sample.choices and texts:
        try:
            letters = right_letters(sample)
        except CannotJudgeError:
            return
        yield letters[0]
        yield ", ".join(letters)
    elif len(texts) > 1:
        yield ", ".join(texts)


def _checked(target: Any) -> Iterator[Any]:
    """Return the targets within one that says itself how it is scored."""
    for entry in target if isinstance(target, list | tuple) else [target]:
        if isinstance(entry, dict) and "scorer" in entry and entry.get("target") is not None:
            yield entry["target"]


def _calls(scorer: Scorer, sample: Sample) -> tuple[tuple[str, str], ...]:
    """Return the tool calls that a scorer wants of a sample; none where it looks at something else."""
    try:
        if isinstance(scorer, CalledTool):
            wanted = scorer.target_of(sample)
            return ((wanted.name, json.dumps(wanted.arguments, ensure_ascii=False)),)
        if isinstance(scorer, CalledTools):
            return tuple((call.name, json.dumps(_first_accepted(call))) for call in scorer.target_of(sample))
    except CannotJudgeError:
        pass
    return ()


def _first_accepted(call: AcceptedCall) -> dict[str, Any]:
    """Of every parameter that may not be left out the first value that is accepted."""
    if not call.nested_lists_are_alternatives:
        return {name: values[0] for name, values in call.accepted.items()}
    return {name: _plain(values[0]) for name, values in call.accepted.items() if values and "" not in values}


def _plain(value: Any) -> Any:
    """Return an accepted value; an object in it has lists of values as well."""
    if not isinstance(value, dict):
        return value
    return {
        name: _plain(inner[0] if isinstance(inner, list) and inner else inner)
        for name, inner in value.items()
        if not (isinstance(inner, list) and "" in inner)
    }
