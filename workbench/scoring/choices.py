"""`choices`: the letters chosen are exactly the target's."""

import re

from workbench.records import Sample, Score
from workbench.scoring.choice import LETTERS, right_letters
from workbench.scoring.given import Given
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.targets import as_text, short

_LINE_CHARS = 1_000
_OPEN, _CLOSE = r"[*_\"'`$(\[{]{0,9}", r"[*_\"'`$)\]}]{0,9}"
_ONE = rf"{_OPEN}([A-Za-z])(?![\w'’]){_CLOSE}"
_SEPARATOR = r"\s{0,9}(?:,|;|/|\+|&|\band\b)\s{0,9}(?:(?:and|&)\s{1,9})?"
_LIST = rf"(?<![\w'’]){_ONE}(?:{_SEPARATOR}{_ONE}){{0,25}}"
_WITH_TEXT = r"(?:^|\n|[,;]\s{1,9})[\s\-*_(]{0,9}([A-Z])[).:](?=\s)"
_NOUN = r"(?:answers?|choices?|options?|letters?)"
_MARK = rf"(?i)\bboth\b|\b{_NOUN}\b[*_]{{0,3}}\s{{0,9}}(?:is|are|:|=)?|\\boxed\{{(?:\\text\{{)?|####|<answer>"
_MOST_MARKS = 20


class Choices(Scorer, frozen=True, tag="choices"):
    """The letters chosen are exactly the target's, a list or text such as `A, C`; for questions with several right options."""

    def target_of(self, sample: Sample) -> frozenset[str]:
        """The right letters."""
        target = sample.target
        if isinstance(target, str) and re.fullmatch(r"[A-Za-z](?:\s*[,;]\s*[A-Za-z])+", target.strip()):
            target = re.findall(r"[A-Za-z]", target)
        letters = right_letters(Sample(sample.id, sample.input, target, sample.choices))
        if isinstance(target, list | tuple) and len(letters) < len(target):
            raise CannotJudgeError(f"the target names something that is not an option: {short(as_text(target))}")
        return frozenset(letters)

    def score(self, answer: Given, right: frozenset[str]) -> Score:
        """1 where all right letters are chosen, and no other."""
        chosen = chosen_letters(answer.text)
        if not chosen:
            return Score(0.0, "the answer names no choice")
        missing, wrong = sorted(right - chosen), sorted(chosen - right)
        parts = [f"without {', '.join(missing)}"] if missing else []
        parts += [f"with {', '.join(wrong)}, which is wrong"] if wrong else []
        return Score(float(chosen == right), "; ".join(parts) or "all of them", ", ".join(sorted(chosen)))


def chosen_letters(text: str) -> frozenset[str]:
    """The options that an answer settles on: those after its last mark of an answer, or else those of its last line."""
    for mark in list(re.finditer(_MARK, text))[-1 : -_MOST_MARKS - 1 : -1]:
        if listed := re.match(rf"[\s:*_\"']{{0,99}}{_LIST}", after := text[mark.end() :][:_LINE_CHARS]):
            return _letters(listed.group()) | frozenset(re.findall(_WITH_TEXT, after))
    line = next((line for line in reversed(text.splitlines()) if line.strip()), "")[-_LINE_CHARS:].strip().rstrip(".")
    return _letters(line) if re.fullmatch(_LIST, line) else frozenset()


def _letters(listed: str) -> frozenset[str]:
    return frozenset(letter.upper() for letter in re.findall(r"(?<!\w)[A-Za-z](?!\w)", listed)) & set(LETTERS)
