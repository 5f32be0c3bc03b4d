"""JSON Lines, and one JSON array of objects."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from workbench.dataset.files import BOM, opened
from workbench.errors import Fault, InputError

Row = tuple[str, dict[str, Any]]
"""A place (`file:line`) and the columns found there."""


def jsonl_rows(path: Path) -> Iterator[Row]:
    """The objects of a JSON Lines file, one a line; blank lines are passed over.

    Raises:
        InputError: A line is no JSON object.
    """
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            text = (line.removeprefix(BOM) if number == 1 else line).strip()
            if text:
                yield f"{path}:{number}", _object(text, f"{path}:{number}")


def array_rows(path: Path) -> Iterator[Row]:
    """The objects of one JSON array, parsed as a stream.

    Raises:
        InputError: The file is no JSON array of objects.
    """
    import ijson

    number = 0
    with opened(path) as stream:
        if stream.peek(len(BOM)).startswith(BOM):
            stream.read(len(BOM))
        try:
            for number, value in enumerate(ijson.items(stream, "item", use_float=True), 1):
                if not isinstance(value, dict):
                    raise InputError(Fault(f"{path}: element {number}", "expected an object"))
                yield f"{path}: element {number}", value
        except (ijson.JSONError, UnicodeDecodeError) as error:
            place, reason = _place_in(path) or (f"{path}: after element {number}", str(error))
            raise InputError(Fault(place, f"no JSON: {reason}")) from error


def _object(text: bytes, place: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(Fault(place, f"no JSON: {_reason(text, error)}")) from error
    if not isinstance(value, dict):
        raise InputError(Fault(place, f"expected one JSON object a line, found a {type(value).__name__}"))
    return value


def _reason(text: bytes, error: Exception) -> str:
    """Say it with a column; msgspec speaks of bytes, and of half a surrogate pair not at all."""
    try:
        json.loads(text)
    except json.JSONDecodeError as better:
        return f"{better.msg} at column {better.colno}"
    except (ValueError, RecursionError):
        return str(error)
    return "a \\u escape is half of a surrogate pair, which no request can carry"


def _place_in(path: Path) -> tuple[str, str] | None:
    """Find line and column of a fault; the file is read whole, once, because the run ends here."""
    with opened(path) as stream:
        try:
            json.loads(stream.read().removeprefix(BOM))
        except json.JSONDecodeError as error:
            return f"{path}:{error.lineno}", f"{error.msg} at column {error.colno}"
        except (ValueError, RecursionError, MemoryError):
            return None
    return None
