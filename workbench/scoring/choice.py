"""`choice`: the letter chosen is the target's."""

from typing import Any, NamedTuple

from workbench.job_file import Choice
from workbench.records import Sample, Score
from workbench.scoring.extract import chosen_letter, folded
from workbench.scoring.given import Given
from workbench.scoring.targets import CannotJudgeError, as_text, short, text_targets, verdict

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Options(NamedTuple):
    """Which letters are right, and what the options say."""

    right: set[str]
    texts: tuple[str, ...]
    """In the order of their letters; empty where the sample does not bring them."""


def target_of(scorer: Choice, sample: Sample) -> Options:
    """The right letters."""
    targets = text_targets(sample)
    given = sample.target if isinstance(sample.target, list | tuple) else [sample.target]
    right = {letter for target in given if (letter := _letter(target, sample)) is not None}
    if not right:
        raise CannotJudgeError(f"the target names no choice: {short(targets[0])}")
    return Options(right, sample.choices)


def score(scorer: Choice, answer: Given, options: Options) -> Score:
    """1 where the answer settles on a right letter, or is a right option's text."""
    letters = _LETTERS[: len(options.texts)] if options.texts else _LETTERS
    given = chosen_letter(answer.text, letters)
    if given is None:
        whole = _plain(answer.text)
        said = [letter for letter, text in zip(letters, options.texts, strict=False) if _plain(text) == whole]
        given = said[0] if said else None
    if given is None:
        return Score(0.0, "the answer names no choice")
    return verdict(given in options.right, given, "equal to", sorted(options.right))


def _letter(given: Any, sample: Sample) -> str | None:
    """The letter of a target: a letter, the option's text, or its number counted from 0 (as datasets store it)."""
    options = len(sample.choices) or len(_LETTERS)
    if sample.choices and type(given) is int and 0 <= given < options:  # a number, not a text that looks like one
        return _LETTERS[given]
    target = as_text(given)
    plain = _plain(target)
    for number, text in enumerate(sample.choices):
        if _plain(text) == plain:
            return _LETTERS[number]
    stripped = target.strip().strip("().").upper()
    if len(stripped) == 1 and stripped in _LETTERS[:options]:
        return stripped
    if sample.choices and stripped.isdigit() and int(stripped) < options:
        return _LETTERS[int(stripped)]
    return None


def _plain(text: str) -> str:
    return folded(text, ignore_case=True, ignore_punctuation=True)
