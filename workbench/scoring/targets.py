"""What a sample says is right, as the scorers read it, and the words of a verdict."""

import json
from typing import Any

from workbench.records.calls import Sample, Score
from workbench.scoring.scorer import CannotJudgeError

_SHOWN_CHARS = 80
_MOST_WHOLE = 2**53
"""Beyond it a float holds no whole number exactly."""


def targets_of(sample: Sample) -> list[str]:
    """Return the accepted targets as texts; empty when the sample has none."""
    target = sample.target
    if target is None:
        return []
    entries = target if isinstance(target, list | tuple) else [target]
    there = [entry for entry in entries if entry is not None and entry == entry]  # NaN says nothing
    as_stored = [str(entry) for entry in there if isinstance(entry, float)]  # an answer may be 5.0 where the target is
    return list(dict.fromkeys([*map(as_text, there), *as_stored]))


def text_targets(sample: Sample) -> list[str]:
    """Return the accepted targets as texts, at least one.

    Raises:
        CannotJudgeError: There is none, or it is an object or a list, or a list of these.
    """
    targets = targets_of(sample)
    if not targets:
        raise CannotJudgeError("the sample has no target")
    if isinstance(sample.target, dict):
        raise CannotJudgeError("the target is an object; use the scorer json")
    if isinstance(sample.target, list | tuple) and any(isinstance(one, dict | list | tuple) for one in sample.target):
        raise CannotJudgeError("the target is a list of objects or lists; use the scorer json, tool_call or tool_calls")
    return targets


def as_text(value: Any) -> str:
    """Return a target as text: objects, true and false as JSON writes them, whole numbers without a point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _MOST_WHOLE:
        return str(int(value))  # pandas stores whole numbers so where one is missing
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value if isinstance(value, str) else str(value)


def right_or_wrong(right: bool, given: str | None, how: str, targets: list[str]) -> Score:
    """Return a score of right or wrong, with what was compared with what."""
    shown = " or ".join(short(target) for target in targets[:3]) + (" …" if len(targets) > 3 else "")
    return Score(float(right), f"{'' if right else 'not '}{how} {shown}", given)


def short(text: str) -> str:
    """Return a text as a reason quotes it."""
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
