"""Scorers of structure: a JSON object in an answer, and tool calls."""

import json
import re
from collections.abc import Container, Sequence
from typing import Any

import msgspec

from workbench.job_file import CalledTool, JsonFields
from workbench.records import Sample, Score, ToolCall
from workbench.scoring.extract import as_number, folded

_SHOWN = 3
_MOST_TRIES = 200
_BROKEN_CHARS = 10_000
_BRACE = re.compile(r"[{}]")
_WHOLE = re.compile(r"[-+]?\d{1,40}")


def score_json(scorer: JsonFields, answer: str, sample: Sample) -> Score:
    """How many of the target object's fields the answer's JSON object has right."""
    wanted = as_object(sample.target)
    if not wanted:
        return Score(None, "the target is not a JSON object")
    given = object_in(answer, wanted)
    if given is None:
        return Score(0.0, "the answer does not contain a JSON object")
    wrong = [name for name, value in wanted.items() if name not in given or not same(given[name], value)]
    right = len(wanted) - len(wrong)
    value = float(not wrong) if scorer.whole else right / len(wanted)
    said = f"{right} of {len(wanted)} fields are right" + (f", wrong: {', '.join(wrong[:_SHOWN])}" if wrong else "")
    return Score(value, said, json.dumps(given))  # ASCII: an answer may hold half a character


def score_tool_call(scorer: CalledTool, calls: Sequence[ToolCall], sample: Sample) -> Score:
    """Whether one of the calls made is the target's."""
    if not is_tool_target(sample.target):
        return Score(None, 'the target is not a tool call {"name": …, "arguments": {…}}')
    wanted = as_object(sample.target) or {}
    arguments = as_object(wanted.get("arguments") or {}) or {}
    if not calls:
        return Score(0.0, "no tool was called")
    named = [call for call in calls if call.name == wanted["name"]]
    if not named:
        return Score(0.0, f"not a call of {wanted['name']}", calls[0].name)
    if scorer.name_only:
        return Score(1.0, f"a call of {wanted['name']}", named[0].name)
    faults = [_wrong_arguments(call.arguments, arguments) for call in named]
    best = min(range(len(named)), key=lambda number: len(faults[number]))
    if not faults[best]:
        return Score(1.0, "the arguments are right", named[best].arguments)
    return Score(0.0, f"wrong: {', '.join(faults[best][:_SHOWN])}", named[best].arguments)


def object_in(text: str, wanted: Container[str]) -> dict[str, Any] | None:
    """The last JSON object in a text, alone, in a fence or among words, that has a wanted field, or else the first of all.

    Args:
        text: An answer.
        wanted: The names of the fields.
    """
    decoder, found, start = json.JSONDecoder(), None, text.find("{")
    for _ in range(_MOST_TRIES):
        if start < 0:
            break
        try:
            here, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = _closing(text, start)  # what is within a broken object is not the answer's object
        else:
            if found is None or any(name in wanted for name in here):
                found = here
        start = text.find("{", end)
    return found


def _closing(text: str, start: int) -> int:
    """Where a broken object ends: after the brace that closes it, or after its first where none does soon."""
    depth = 0
    for match in _BRACE.finditer(text, start, start + _BROKEN_CHARS):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.end()
    return start + 1


def as_object(value: Any) -> dict[str, Any] | None:
    """A target that is an object, also where a file could only hold it as JSON text."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def is_tool_target(target: Any) -> bool:
    """Whether a target says which tool is to be called: `{"name": …, "arguments": {…}}`."""
    wanted = as_object(target) or {}
    return isinstance(wanted.get("name"), str) and as_object(wanted.get("arguments") or {}) is not None


def same(given: Any, wanted: Any) -> bool:
    """Equal as people mean it: numbers by value, also written as text; texts without regard to case and spaces."""
    if isinstance(wanted, bool) or wanted is None or isinstance(given, bool):
        return given is wanted
    if isinstance(wanted, int | float):
        return _same_number(given, wanted)
    if isinstance(wanted, str):
        if isinstance(given, int | float) and (number := as_number(wanted)) is not None:
            return _same_number(given, number)
        return isinstance(given, str | int | float) and folded(str(given), ignore_case=True) == folded(
            wanted, ignore_case=True
        )
    if isinstance(wanted, list):
        return isinstance(given, list) and len(given) == len(wanted) and all(map(same, given, wanted))
    return (
        isinstance(given, dict)
        and given.keys() == wanted.keys()
        and all(same(given[key], wanted[key]) for key in wanted)
    )


def _same_number(given: Any, wanted: int | float) -> bool:
    """Equal exactly where both are whole, and else but for the last digits that a float keeps."""
    if isinstance(given, str) and _WHOLE.fullmatch(given.strip()):
        given = int(given)
    number = as_number(given) if isinstance(given, str) else given
    if not isinstance(number, int | float):
        return False
    if isinstance(number, int) and isinstance(wanted, int):
        return number == wanted
    return abs(number - wanted) <= 1e-9 * max(1.0, abs(wanted))


def _wrong_arguments(text: str, wanted: dict[str, Any]) -> list[str]:
    """The names of the arguments that are missing, wrong or not asked for."""
    try:
        given = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return ["arguments that are not valid JSON", *wanted]
    if not isinstance(given, dict):
        return ["arguments that are not an object", *wanted]
    missing = [name for name, value in wanted.items() if name not in given or not same(given[name], value)]
    return missing + [name for name in given if name not in wanted]
