"""`choices`: the letters chosen are exactly the target's."""

import contextlib
import json
import re
from typing import Any, Literal

from workbench.records.calls import Sample, Score
from workbench.scoring.choice import LETTERS, right_letters
from workbench.scoring.given import Given
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.targets import as_text, short

_LINE_CHARS = 1_000
_OPEN, _CLOSE = r"[*_\"'`$(\[{]{0,9}", r"[*_\"'`$)\]}]{0,9}"
_ONE = rf"{_OPEN}([A-Za-z])(?![\w'’]){_CLOSE}"
_SEPARATOR = r"\s{0,9}(?:,|;|/|\+|&|\band\b)\s{0,9}(?:(?:and|&)\s{1,9})?"
_LIST = rf"(?<![\w'’]){_ONE}(?:{_SEPARATOR}{_ONE}){{0,25}}"
_WITH_TEXT = r"(?:^|\n|[,;]\s{1,9}|\band\s{1,9})[\s\-*_•(]{0,9}([A-Z])[).:](?=\s)"
_LISTED = r"[\s:*_]{0,99}[\s\-*_•(]{0,9}[A-Z][).:]\s"
_TOGETHER = r"[\s:*_\"'(]{0,99}([A-Z]{2,26})(?!\w)"  # AC
_ARE_RIGHT = r"\s{1,9}(?i:(?:is|are)\s{1,9}(?:(?:both|all|the)\s{1,9}){0,2}(?:only\s{1,9})?(?:correct|right|true)\b)"
_ARE_WRONG = r"\s{1,9}(?i:(?:is|are)\s{1,9}(?:(?:both|all)\s{1,9})?(?:wrong|incorrect|false|not)\b|(?:is|are)n['’]t\b)"
_REJECTED = r"(?i)\b(?:wrong|incorrect|false|not|none\s{1,9}of(?:\s{1,9}the)?)\s{1,9}\Z"
_EACH = r"(?<![\w'’])([A-Z])[).]?\s{0,3}(?::|=|-|–|is\b)\s{0,3}(?i:(true|correct|right|yes)|false|incorrect|wrong|no)\b"
_NOUN = r"(?:answers?|choices?|options?|letters?)"
_MARK = rf"(?i)\bboth\b|\b{_NOUN}\b[*_]{{0,3}}\s{{0,9}}(?:is|are|:|=)?|\\boxed\{{(?:\\text\{{)?|####|<answer>"
_MARK_ENDS = r"[\s:*_\"']{0,99}"
_MOST_MARKS, _NEAR_CHARS = 20, 30


class Choices(Scorer, frozen=True, tag="choices"):
    """The letters chosen are exactly the target's, a list or text such as `A, C`; for questions with several right options."""

    def target_of(self, sample: Sample) -> frozenset[str]:
        """Return the right letters."""
        target = sample.target
        if isinstance(target, str) and target not in sample.choices:
            target = _several(target.strip(), LETTERS[: len(sample.choices) or None])
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

    @property
    def reads(self) -> Literal["label"]:
        """The letters are one label together."""
        return "label"

    def right_labels(self, wanted: frozenset[str]) -> list[str]:
        """Return the right letters, which are one label together."""
        return [", ".join(sorted(wanted))]


def chosen_letters(text: str) -> frozenset[str]:
    """Return the options that an answer settles on: those that it calls right one by one, those after its last mark of an answer,
    those it calls right together, those of its last line, or a list of options that is all it says.
    """
    each = list(re.finditer(_EACH, text[-_LINE_CHARS:]))
    if len({one[1] for one in each}) > 1:
        return frozenset(one[1] for one in each if one[2])
    for mark in list(re.finditer(_MARK, text))[-1 : -_MOST_MARKS - 1 : -1]:
        is_rejected = re.search(_REJECTED, text[max(mark.start() - _NEAR_CHARS, 0) : mark.start()])
        if not is_rejected and (letters := _after_mark(text[mark.end() :][:_LINE_CHARS])):
            return letters
    if right := list(re.finditer(rf"{_LIST}(?={_ARE_RIGHT})", text[-_LINE_CHARS:])):
        return frozenset().union(*(_letters(found.group()) for found in right))
    return _listed_alone([line for line in text.splitlines() if line.strip()])


def _after_mark(after: str) -> frozenset[str]:
    """Return the options that stand behind a mark of an answer; none where it calls them wrong."""
    listed = re.match(rf"{_MARK_ENDS}{_LIST}", after)
    if listed and re.match(_ARE_WRONG, after[listed.end() :]):
        listed = re.match(rf"{_MARK_ENDS}{_LIST}(?=\s{{0,9}}[,;]\s{{0,9}}{_ONE}{_ARE_WRONG})", after)
        return _letters(listed.group()) if listed else frozenset()
    if listed:
        return _letters(listed.group()) | frozenset(re.findall(_WITH_TEXT, after))
    if re.match(_LISTED, after):
        return frozenset(re.findall(_WITH_TEXT, after))
    together = re.match(_TOGETHER, after)
    return _in_order(together[1]) if together else frozenset()


def _listed_alone(lines: list[str]) -> frozenset[str]:
    """Return the options of the last line, or of all lines where they are a list."""
    line = lines[-1][-_LINE_CHARS:].strip().rstrip(".") if lines else ""
    if len(lines) > 1 and all(re.fullmatch(rf"[\s\-*_•]{{0,9}}{_ONE}[).]?\s{{0,9}}", one) for one in lines):
        return _letters(" ".join(lines))
    if re.fullmatch(_LIST, line):
        return _letters(line)
    if len(lines) <= len(LETTERS) and all(re.match(_LISTED, line) for line in lines):
        return frozenset(re.findall(_WITH_TEXT, "\n".join(lines)))
    return _in_order(line)


def _several(target: str, letters: str) -> Any:
    """Return a target of several letters as a list: `A, C`, `A and C`, `AC`, and a list as JSON writes it."""
    if re.fullmatch(r"[A-Za-z](?:\s*(?:[,;]|\band\b)\s*[A-Za-z])+", target):
        return re.findall(r"\b[A-Za-z]\b", target)
    if len(target) > 1 and _in_order(target) and set(target) <= set(letters):
        return list(target)
    if target.startswith("["):
        with contextlib.suppress(ValueError):
            return json.loads(target)
    return target


def _in_order(word: str) -> frozenset[str]:
    """Return the letters of a word such as `ACD`; none where they are not in the order of options."""
    is_list = len(word) > 1 and word.isupper() and word.isascii() and list(word) == sorted(set(word))
    return frozenset(word) if is_list and word.isalpha() else frozenset()


def _letters(listed: str) -> frozenset[str]:
    return frozenset(letter.upper() for letter in re.findall(r"(?<!\w)[A-Za-z](?!\w)", listed)) & set(LETTERS)
