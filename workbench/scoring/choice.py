"""`choice`: the letter chosen is the target's."""

import functools
import re
from typing import Any, Literal, NamedTuple

from workbench.records.calls import Sample, Score
from workbench.scoring.folding import folded
from workbench.scoring.given import Given
from workbench.scoring.letter import chosen_letter
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.targets import as_text, right_or_wrong, short, text_targets
from workbench.scoring.wording import asks_what_is_false, denies, is_read, rejects, spelled_out

_SENTENCE_CHARS = 1_000
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Options(NamedTuple):
    """Which letters are right, and what the options say."""

    right: set[str]
    texts: tuple[str, ...]
    """In the order of their letters; empty where the sample does not bring them."""
    asks_what_is_false: bool
    """Whether the question asks which of them does not hold."""


class Choice(Scorer, frozen=True, tag="choice"):
    """The letter chosen is the target's."""

    def target_of(self, sample: Sample) -> Options:
        """Return the right letters."""
        return Options(set(right_letters(sample)), sample.choices, asks_what_is_false(_asked(sample)))

    def score(self, answer: Given, options: Options) -> Score:
        """1 where the answer settles on a right letter, or is a right option's text."""
        letters = LETTERS[: len(options.texts)] if options.texts else LETTERS
        is_label = len(answer.text.strip().strip("().")) == 1  # of one option, though it may be another's text
        whole = None if is_label else _letter_of_text(answer.text, options.texts)
        given = (
            whole
            or chosen_letter(answer.text, letters, asks_what_is_false=options.asks_what_is_false)
            or _option_stated(answer.text, options)
        )
        if given is None and not is_read(answer.text):
            return Score(None, "no choice is told in a language that is read here")
        if given is None:
            return Score(0.0, "the answer names no choice")
        return right_or_wrong(given in options.right, given, "equal to", sorted(options.right))

    @property
    def reads(self) -> Literal["label"]:
        """The letter is a label."""
        return "label"

    def right_labels(self, wanted: Options) -> list[str]:
        """Return the right letters."""
        return sorted(wanted.right)


def right_letters(sample: Sample) -> list[str]:
    """Return the letters of a sample's target, at least one.

    Raises:
        CannotJudgeError: It names no option.
    """
    targets = text_targets(sample)
    given = sample.target if isinstance(sample.target, list | tuple) else [sample.target]
    letters = [letter for target in given if (letter := _letter(target, sample)) is not None]
    if not letters:
        raise CannotJudgeError(f"the target names no choice: {short(targets[0])}")
    return letters


def _letter(given: Any, sample: Sample) -> str | None:
    """Return the letter of a target: a letter, the option's text, or its number counted from 0 (as datasets store it)."""
    letters = LETTERS[: len(sample.choices) or None]
    if isinstance(given, float) and given.is_integer():  # as pandas stores whole numbers where one is missing
        given = int(given)
    if sample.choices and type(given) is int and 0 <= given < len(letters):  # a number, not a text that looks like one
        return letters[given]
    target = as_text(given)
    by_text = _letter_of_text(target, sample.choices)
    label = target.strip().strip("().").upper()
    by_label = label if len(label) == 1 and label in letters else None
    if by_text and by_label and by_text != by_label:
        raise CannotJudgeError(f"the target {short(target)} is the letter of one option and the text of {by_text}")
    if by_text or by_label:
        return by_text or by_label
    if sample.choices and label.isdecimal() and int(label) < len(letters):
        return letters[int(label)]
    return None


def _letter_of_text(given: str, texts: tuple[str, ...]) -> str | None:
    """Return the letter of the option with that text, read as closely as tells it from the others: `x > 0` is not `x < 0`."""
    for reading in (_close, _plain):
        wanted = reading(given)
        alike = [letter for letter, text in zip(LETTERS, texts, strict=False) if wanted and reading(text) == wanted]
        if alike and (reading is _close or len(alike) == 1):
            exact = [letter for letter in alike if texts[LETTERS.index(letter)].strip() == given.strip()]
            return (exact or alike)[0]
    return None


def _asked(sample: Sample) -> str:
    """Return the text of a sample's question."""
    if isinstance(sample.input, str):
        return sample.input
    contents = [message.get("content") for message in sample.input]
    return " ".join(content for content in contents if isinstance(content, str))


def _option_stated(answer: str, options: Options) -> str | None:
    """Return the letter of the only option whose text stands in an answer's last sentence."""
    texts = {letter: text for letter, text in zip(LETTERS, map(_plain, options.texts), strict=False) if text}
    line = next((line for line in reversed(answer.splitlines()) if line.strip()), "")[-_SENTENCE_CHARS:]
    sentence = re.split(r"[.!?]\s", line.rstrip(".!? "))[-1]
    said = _plain(spelled_out(sentence))
    held = {letter: text for letter, text in texts.items() if f" {text} " in f" {said} "}
    # without the options, which may deny something themselves
    left = functools.reduce(lambda rest, text: rest.replace(text, " "), held.values(), said)
    if (denies(sentence) and denies(left)) or (not options.asks_what_is_false and rejects(left)):
        return None
    # an option may be part of another, as "oxide" is of "carbon oxide": the longer one is meant
    stated = [one for one, text in held.items() if not any(text != other and text in other for other in held.values())]
    return stated[0] if len(stated) == 1 else None


def _close(text: str) -> str:
    return folded(text, ignore_case=True)


def _plain(text: str) -> str:
    return folded(text, ignore_case=True, ignore_punctuation=True)
