"""JSON objects in texts, and when two values are the same."""

import json
import math
import re
from collections.abc import Container, Iterator
from decimal import Decimal
from typing import Any, Literal

import msgspec

from workbench.scoring.folding import folded
from workbench.scoring.number import as_number, near
from workbench.scoring.numeric import Tolerance, finite
from workbench.scoring.scorer import Scorer

_MOST_TRIES = 200
_BROKEN_CHARS = 10_000
_OF_A_CALL = frozenset({"id", "type", "function"})
_NO_ARGUMENTS = ("", "null", '"null"', '""')
_BRACE = re.compile(r"[{}]")


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"{text} is beyond any number")
    return number


JSON = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)
"""Reads JSON, which has neither NaN nor Infinity; a number that would become one is refused too."""


class ValueRules(Scorer, frozen=True):
    """A scorer that compares values of JSON: when one is the wanted one."""

    case: Literal["ignore", "exact"] = "ignore"
    """Whether capitals matter in texts."""
    types: Literal["loose", "exact"] = "loose"
    """Whether "5" is taken for 5, and 5 for "5"; true, false and null never stand for anything else."""
    extra: Literal["accept", "refuse"] = "accept"
    """What to do with fields that the target does not have, at any depth."""
    tolerance: Tolerance = 0.0
    """How far a number may be from the target's."""
    relative_tolerance: Tolerance = 0.0
    """As a share of the target's number; without it whole numbers must be equal, others to nine digits."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """Tolerances that are not finite."""
        yield from finite(tolerance=self.tolerance, relative_tolerance=self.relative_tolerance)


def object_in(text: str, wanted: Container[str] | None) -> dict[str, Any] | None:
    """Return the last JSON object in a text, alone, in a fence or among words, that has a wanted field, or else the first of all.

    Args:
        wanted: The names of the fields; None takes any object for the wanted one.
    """
    found, start = None, text.find("{")
    for _ in range(_MOST_TRIES):
        if start < 0:
            break
        try:
            here, end = JSON.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = _closing(text, start)  # what is within a broken object is not the answer's object
        else:
            if found is None or wanted is None or any(name in wanted for name in here):
                found = here
        start = text.find("{", end)
    return found


def _closing(text: str, start: int) -> int:
    """Return where a broken object ends: after the brace that closes it, or after its first where none does soon."""
    depth = 0
    for match in _BRACE.finditer(text, start, start + _BROKEN_CHARS):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.end()
    return start + 1


def as_object(value: Any) -> dict[str, Any] | None:
    """Return a target that is an object, also where a file could only hold it as JSON text."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def arguments_in(text: str) -> Any:
    """Return the arguments of a call: an object, or whatever else its JSON holds; `{}` where models write none.

    Raises:
        ValueError: It is not JSON, or nested too deeply.
    """
    if text.strip() in _NO_ARGUMENTS:
        return {}
    try:
        return msgspec.json.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def bare_call(value: dict[str, Any]) -> dict[str, Any]:
    """Return the name and arguments of a wanted call, also where it has the shape of OpenAI's API."""
    inner = value.get("function")
    is_wrapped = value.get("type") == "function" and isinstance(inner, dict) and not value.keys() - _OF_A_CALL
    return inner if is_wrapped and isinstance(inner, dict) else value


def same(given: Any, wanted: Any, by: ValueRules) -> bool:
    """Equal by a scorer's rules: numbers by value, texts without regard to spaces.

    `true` is not 1 and `null` is not missing, whatever the rules; a text such as `True` or `None` stays a text.
    """
    if isinstance(wanted, bool) or wanted is None or isinstance(given, bool):
        return given is wanted
    if isinstance(wanted, int | float):
        if isinstance(given, str) and by.types == "exact":
            return False
        return _same_number(number_of(given), number_of(wanted), by)
    if isinstance(wanted, str):
        return _same_text(given, wanted, by)
    if isinstance(wanted, list):
        return (
            isinstance(given, list)
            and len(given) == len(wanted)
            and all(same(*pair, by) for pair in zip(given, wanted, strict=True))
        )
    return isinstance(given, dict) and not wrong_fields(given, wanted, by)


def wrong_fields(given: dict[str, Any], wanted: dict[str, Any], by: ValueRules) -> list[str]:
    """Return the names that are missing or have another value, and where the rules refuse them those that were not asked for."""
    wrong = [name for name, value in wanted.items() if name not in given or not same(given[name], value, by)]
    return wrong + ([name for name in given if name not in wanted] if by.extra == "refuse" else [])


def _same_text(given: Any, wanted: str, by: ValueRules) -> bool:
    if isinstance(given, int | float):
        if by.types == "exact":
            return False
        is_code = re.match(r"[-+]?0\d", wanted)  # as of a place or a person: no number is written like that
        if not is_code and (number := as_number(wanted)) is not None:
            return _same_number(number_of(given), number, by)
    ignore_case = by.case == "ignore"
    return isinstance(given, str | int | float) and folded(str(given), ignore_case=ignore_case) == folded(
        wanted, ignore_case=ignore_case
    )


def number_of(value: Any) -> Decimal | None:
    """Return a number, also one written as text; None for everything else."""
    if isinstance(value, str):
        return as_number(value)
    if isinstance(value, int):
        return Decimal(value)
    return Decimal(repr(value)) if isinstance(value, float) and math.isfinite(value) else None


def _same_number(given: Decimal | None, wanted: Decimal | None, by: ValueRules) -> bool:
    if given is None or wanted is None:
        return False
    return near(given, wanted, by.tolerance, by.relative_tolerance)
