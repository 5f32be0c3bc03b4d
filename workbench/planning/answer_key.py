"""The answer key of a job, for simulated routes: of every prompt an answer that the job's own scorers take for right, and one
that they take for wrong.
"""

import contextlib
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from workbench.dataset.samples import selected_samples
from workbench.job.job import Job
from workbench.job.prompt import prompts_of
from workbench.local_platform.answer_key import AnswerKeyFile, Entry, KeyedAnswer
from workbench.records.calls import Sample, ToolCall
from workbench.scoring.custom import Custom
from workbench.scoring.given import Given
from workbench.scoring.right_answers import right_answers
from workbench.scoring.scorer import Scorer
from workbench.scoring.scorers import score

TOGETHER, MORE = 64, 8
"""How many questions look for a wrong answer among each other's right ones, and how many others suffice beside them."""
_MOST_TRIES = 16
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
    """

    def __init__(self, path: Path, scorers: tuple[Scorer, ...]) -> None:
        self._file = AnswerKeyFile(path)
        self._scorers = tuple(s for s in scorers if not isinstance(s, Custom) and not s.asks_a_model)

    def enter(self, questions: Sequence[Question], more: Iterable[Question]) -> None:
        """Enter some questions, at best `TOGETHER` of them; they can be asked once this returns.

        Args:
            more: Others, whose right answers may be wrong ones here too.
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
            for keyed in map(_keyed, right_answers(sample, self._scorers)):
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


def _keyed(given: Given) -> KeyedAnswer:
    calls = tuple((call.name, call.arguments) for call in given.calls)
    return KeyedAnswer(None if calls else given.text, calls)
