"""Scorers of structure: a JSON object in an answer, and tool calls."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from workbench.job_file import CalledTool, JsonFields
from workbench.records import Sample, Score, ToolCall
from workbench.scoring.extract import as_number, folded

_SHOWN = 3


def score_json(scorer: JsonFields, answer: str, sample: Sample) -> Score:
    """How many of the target object's fields the answer's JSON object has right."""
    wanted = sample.target
    if not isinstance(wanted, dict) or not wanted:
        return Score(None, "the target is no JSON object")
    given = object_in(answer)
    if given is None:
        return Score(0.0, "the answer holds no JSON object")
    wrong = [name for name, value in wanted.items() if name not in given or not same(given[name], value)]
    right = len(wanted) - len(wrong)
    value = float(not wrong) if scorer.whole else right / len(wanted)
    said = f"{right} of {len(wanted)} fields are right" + (f", not {', '.join(wrong[:_SHOWN])}" if wrong else "")
    return Score(value, said, json.dumps(given, ensure_ascii=False))


def score_tool_call(scorer: CalledTool, calls: Sequence[ToolCall], sample: Sample) -> Score:
    """Whether one of the calls made is the target's."""
    wanted = sample.target
    if not isinstance(wanted, dict) or not isinstance(wanted.get("name"), str):
        return Score(None, 'the target is no tool call {"name": …, "arguments": {…}}')
    if not calls:
        return Score(0.0, "no tool was called")
    named = [call for call in calls if call.name == wanted["name"]]
    if not named:
        return Score(0.0, f"not a call of {wanted['name']}", calls[0].name)
    if scorer.name_only:
        return Score(1.0, f"a call of {wanted['name']}", named[0].name)
    faults = [_wrong_arguments(call.arguments, wanted.get("arguments") or {}) for call in named]
    best = min(range(len(named)), key=lambda number: len(faults[number]))
    if not faults[best]:
        return Score(1.0, "the arguments are right", named[best].arguments)
    return Score(0.0, f"not right: {', '.join(faults[best][:_SHOWN])}", named[best].arguments)


def object_in(text: str) -> dict[str, Any] | None:
    """The last JSON object that stands in a text, alone, in a fence or among words; None without one."""
    decoder, found, start = json.JSONDecoder(), None, text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        start = text.find("{", end)
    return found


def same(given: Any, wanted: Any) -> bool:
    """Equal as people mean it: numbers by value, also written as text; texts without regard to case and spaces."""
    if isinstance(wanted, bool) or wanted is None or isinstance(given, bool):
        return given is wanted
    if isinstance(wanted, int | float):
        number = as_number(str(given)) if isinstance(given, int | float | str) else None
        return number is not None and abs(number - wanted) <= 1e-9 * max(1.0, abs(wanted))
    if isinstance(wanted, str):
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


def _wrong_arguments(text: str, wanted: dict[str, Any]) -> list[str]:
    """The names of the arguments that are missing, wrong or not asked for."""
    try:
        given = msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return ["arguments that are no JSON", *wanted]
    if not isinstance(given, dict):
        return ["arguments that are no object", *wanted]
    missing = [name for name, value in wanted.items() if name not in given or not same(given[name], value)]
    return missing + [name for name in given if name not in wanted]
