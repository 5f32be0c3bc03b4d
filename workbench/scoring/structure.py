"""JSON objects in texts, and when two values are the same."""

import json
import re
from collections.abc import Container
from typing import Any

import msgspec

from workbench.scoring.extract import as_number, folded

_MOST_TRIES = 200
_BROKEN_CHARS = 10_000
_BRACE = re.compile(r"[{}]")
_WHOLE = re.compile(r"[-+]?\d{1,40}")


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
