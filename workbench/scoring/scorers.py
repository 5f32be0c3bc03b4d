"""The scorers: 1 is right, 0 is wrong, and what cannot be judged is unscored, never 0."""

from collections.abc import Sequence
from typing import Any

from workbench.job_file import CalledTool, Choice, Exact, Includes, JsonFields, Numeric, Pattern, ScorerTable
from workbench.records import Sample, Score, ToolCall
from workbench.scoring.extract import as_number, chosen_letter, folded, last_number
from workbench.scoring.structured import as_object, is_tool_target, score_json, score_tool_call

_SHOWN_CHARS = 80
_LONGEST_SEARCH_S = 1.0
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def score(scorer: ScorerTable, answer: str | None, sample: Sample, calls: Sequence[ToolCall] = ()) -> Score:
    """Judge one answer; a scorer that breaks leaves it unscored and says how.

    Args:
        scorer: Which scorer, with its settings.
        answer: The text; None or empty (a tool call alone, for one) is unscored.
        sample: Brings the target.
        calls: The tools that the answer calls, in its order.
    """
    try:
        if isinstance(scorer, CalledTool):
            return score_tool_call(scorer, calls, sample)
        if not (answer or "").strip():
            return Score(None, "no text to score")
        return _judge(scorer, str(answer), sample)
    except Exception as error:  # a crash in a scorer must not lose the answers it was given
        return Score(None, f"the scorer failed: {type(error).__name__}: {error}")


def _judge(scorer: Exact | Includes | Pattern | Numeric | Choice | JsonFields, answer: str, sample: Sample) -> Score:
    if isinstance(scorer, Pattern):
        return _pattern(scorer, answer, sample)
    if isinstance(scorer, JsonFields):
        return score_json(scorer, answer, sample)
    targets = targets_of(sample)
    if not targets:
        return Score(None, "the sample has no target")
    if isinstance(sample.target, dict):
        return Score(None, "the target is an object; use the scorer json")
    match scorer:
        case Exact():
            return _exact(scorer, answer, targets)
        case Includes():
            return _includes(scorer, answer, targets)
        case Numeric():
            return _numeric(scorer, answer, targets)
        case Choice():
            return _choice(answer, targets, sample)


def targets_of(sample: Sample) -> list[str]:
    """The accepted targets as texts; empty when the sample has none."""
    target = sample.target
    if target is None:
        return []
    return (
        [_as_text(entry) for entry in target if entry is not None]
        if isinstance(target, list | tuple)
        else [_as_text(target)]
    )


def _exact(scorer: Exact, answer: str, targets: list[str]) -> Score:
    def fold(text: str) -> str:
        return folded(text, ignore_case=scorer.ignore_case, ignore_punctuation=scorer.ignore_punctuation)

    given = fold(answer)
    return _verdict(given in {fold(target) for target in targets}, given, "equal to", targets)


def _includes(scorer: Includes, answer: str, targets: list[str]) -> Score:
    given = folded(answer, ignore_case=scorer.ignore_case)
    wanted = [folded(target, ignore_case=scorer.ignore_case) for target in targets]
    if not all(wanted):
        return Score(None, "a target is empty: every answer includes it")
    found = next((target for target in wanted if target in given), None)
    return _verdict(found is not None, found, "including", targets)


def _pattern(scorer: Pattern, answer: str, sample: Sample) -> Score:
    import regex  # takes 10 ms, and few jobs have such a scorer

    flags = (regex.IGNORECASE if scorer.ignore_case else 0) | regex.MULTILINE
    try:  # unlike `re`, it can be told to give up: some patterns take years on some answers
        found = regex.search(scorer.pattern, answer, flags, timeout=_LONGEST_SEARCH_S)
    except TimeoutError:
        return Score(None, f"the search for the pattern was given up after {_LONGEST_SEARCH_S:g} s")
    if found is None:
        return Score(0.0, "the pattern is not found")
    if not found.re.groups:
        return Score(1.0, "the pattern is found", found.group())
    targets = targets_of(sample)
    if not targets:
        return Score(None, "the sample has no target", found.group(1))
    given = folded(found.group(1) or "", ignore_case=scorer.ignore_case)
    wanted = {folded(target, ignore_case=scorer.ignore_case) for target in targets}
    return _verdict(given in wanted, given, "equal to", targets)


def _numeric(scorer: Numeric, answer: str, targets: list[str]) -> Score:
    wanted = [number for target in targets if (number := _target_number(target)) is not None]
    if not wanted:
        return Score(None, f"the target is not a number: {_short(targets[0])}")
    given = last_number(answer)
    if given is None:
        return Score(0.0, "the answer holds no number")
    near = any(
        abs(given - number) <= max(scorer.tolerance, scorer.relative_tolerance * abs(number), _float_error(number))
        for number in wanted
    )
    return _verdict(near, f"{given:.15g}", "near", [f"{number:.15g}" for number in wanted])


def _float_error(number: float) -> float:
    """What two ways of writing a number may differ by; whole numbers do not."""
    return 0.0 if number == int(number) else 1e-9 * abs(number)


def _target_number(target: str) -> float | None:
    """The number a target means: itself, or what a worked solution ends on."""
    number = as_number(target)
    return number if number is not None else last_number(target)


def _choice(answer: str, targets: list[str], sample: Sample) -> Score:
    letters = _LETTERS[: len(sample.choices)] if sample.choices else _LETTERS
    wanted = _target_letters(sample)
    if not wanted:
        return Score(None, f"the target names no choice: {_short(targets[0])}")
    given = chosen_letter(answer, letters)
    if given is None:
        whole = _plain(answer)
        said = [letter for letter, text in zip(letters, sample.choices, strict=False) if _plain(text) == whole]
        given = said[0] if said else None
    if given is None:
        return Score(0.0, "the answer names no choice")
    return _verdict(given in wanted, given, "equal to", sorted(wanted))


def _target_letters(sample: Sample) -> set[str]:
    given = sample.target if isinstance(sample.target, list | tuple) else [sample.target]
    return {letter for target in given if (letter := _target_letter(target, sample)) is not None}


def _target_letter(given: Any, sample: Sample) -> str | None:
    """The letter of a target: a letter, the option's text, or its number counted from 0 (as datasets store it)."""
    options = len(sample.choices) or len(_LETTERS)
    if sample.choices and type(given) is int and 0 <= given < options:  # a number, not a text that looks like one
        return _LETTERS[given]
    target = _as_text(given)
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


def _verdict(right: bool, given: str | None, how: str, targets: list[str]) -> Score:
    shown = " or ".join(_short(target) for target in targets[:3]) + (" …" if len(targets) > 3 else "")
    return Score(float(right), f"{'' if right else 'not '}{how} {shown}", given)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def judges(scorer: ScorerTable, sample: Sample) -> bool:
    """Whether a sample has the kind of target that a scorer needs, so that an answer to it can be judged at all."""
    match scorer:
        case CalledTool():
            return is_tool_target(sample.target)
        case JsonFields():
            return bool(as_object(sample.target))
        case Pattern():
            return sample.target is not None or not scorer.groups()
    targets = targets_of(sample)
    if not targets or isinstance(sample.target, dict):
        return False
    match scorer:
        case Numeric():
            return any(_target_number(target) is not None for target in targets)
        case Choice():
            return bool(_target_letters(sample))
        case _:
            return True


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)
