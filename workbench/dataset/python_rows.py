"""Rows given in Python, as any file would hold them."""

import math
from collections.abc import Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

from workbench.errors import Fault, InputError
from workbench.strict import shown

_MOST_LEVELS = 100
_LARGEST_WHOLE = 10**4300


def checked_rows(rows: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return rows whose values are those that JSON has: text, numbers, true and false, null, lists and objects.

    Times and decimals become text, as those of Parquet do, and tuples lists; the numbers of numpy become plain ones.

    Raises:
        InputError: A value is something else; the message names its row and column.
    """
    return tuple(_object(row, f"row {number}", 0) for number, row in enumerate(rows, 1))


def _object(given: Mapping[Any, Any], place: str, level: int) -> dict[str, Any]:
    found = {}
    for name, value in given.items():
        if not isinstance(name, str):
            raise InputError(Fault(place, f"expected column names that are text, found {shown(name)}"))
        _text(name, place)
        found[name] = _value(value, f"{place}: {name}", level + 1)
    return found


def _value(value: Any, place: str, level: int) -> Any:
    """Return the value as JSON has it.

    Raises:
        InputError: JSON has no such value, or it is nested too deeply (a list within itself, for one).
    """
    if level > _MOST_LEVELS:
        raise InputError(Fault(place.split("[")[0], "nested too deeply"))
    match value:
        case str():
            return _text(value, place)
        case None | bool():
            return value
        case int() | float():
            return _number(value, place)
        case date() | time() | Decimal() if value == value:  # what pandas has for no time is not equal to itself
            return f"{value}"
        case Mapping():
            return _object(value, place, level)
        case list() | tuple():
            return [_value(entry, f"{place}[{number}]", level + 1) for number, entry in enumerate(value)]
        case _ if callable(plain := getattr(value, "item", None)) and getattr(value, "ndim", None) == 0:
            return _value(plain(), place, level + 1)
    problem = f"expected text, a number, true, false, None, a list or a dictionary, found {shown(value)}"
    raise InputError(Fault(place, problem))


def _number(value: float, place: str) -> float:
    if isinstance(value, int):
        if abs(value) >= _LARGEST_WHOLE:
            raise InputError(Fault(place, "a whole number of more than 4300 digits"))
        return int(value)
    if not math.isfinite(value):
        raise InputError(Fault(place, f"{value} is not a JSON number", "use None for a missing value"))
    return float(value)


def _text(value: str, place: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        problem = f"half of a surrogate pair at position {error.start}, which no request can carry"
        raise InputError(Fault(place, problem)) from error
    return str.__str__(value)  # of an enumeration, the text itself
