"""Which tool a prompt calls for, and the values that a schema asks for, taken from the prompt."""

import json
import re
from collections.abc import Collection
from fractions import Fraction
from typing import Any, NamedTuple

Tool = dict[str, Any]
_MOST_OBJECTS, _MOST_STEPS = 100, 10
"""Of one schema, whose references may multiply, and to the schema that a reference or a choice comes to."""
_VERBS = frozenset({"get", "set", "find", "search", "list", "fetch", "call", "look", "lookup", "run"})

_NUMBER_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
} | {
    word: 10 * tens
    for tens, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000}

_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:/\d+)?"
_WORD = "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True))
_SCALE = "|".join(_SCALES)
_NUMBER = re.compile(
    rf"(?P<digits>{_DIGITS})(?:\s*(?P<scaled>{_SCALE})\b)?"
    rf"|\b(?P<word>{_WORD})(?:[- ](?P<unit>{_WORD}))?(?:\s+(?P<scale>{_SCALE}))?\b|\b(?:an?\s+)?(?P<alone>{_SCALE})\b",
    re.IGNORECASE,
)

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"https?://[^\s)>\]\"']+")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DATE = re.compile(
    rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}\.? {_MONTH} \d{{4}}\b"
    rf"|\b{_MONTH} \d{{1,2}}, \d{{4}}\b|\b\d{{1,2}}/\d{{1,2}}/\d{{4}}\b"
)
_TIME = re.compile(r"\b\d{1,2}:\d{2}(?:\s*[ap]m)?\b", re.IGNORECASE)
_MONEY = re.compile(
    r"(?:[$€£]|\b(?:USD|EUR|GBP)\s?)\s?(\d[\d,]*(?:\.\d+)?)|(\d[\d,]*(?:\.\d+)?)\s?(?:[$€£]|USD|EUR|GBP|dollars|euros)"
)
_PHONE = re.compile(r"\+?\d[\d ()-]{6,}\d")
_NAME = re.compile(r"\b(?:[A-Z][a-zà-öø-ÿ'’-]+ )+[A-Z][a-zà-öø-ÿ'’-]+\b")
_PLACE = re.compile(r"\b(?:in|at|from|to|near)\s+((?:[A-Z][\w'’-]+)(?: [A-Z][\w'’-]+)*)")
_QUOTED = re.compile(r"[\"“]([^\"”]+)[\"”]|`([^`]+)`")
_COUNTED = frozenset("age quantity count number total year items guests seats nights people".split())


def choose(prompt: str, tools: list[Tool], tool_choice: Any, done: Collection[str] = ()) -> list[Tool]:
    """Return the functions to call: the forced one, or the one whose words the prompt shares most, and all others that it names;
    none answers in prose.

    Args:
        prompt: The last user message.
        tool_choice: The request's field: a forced function, `required`, `none`, `auto` or absent.
        done: Names of the functions whose results are there.
    """
    functions = [tool["function"] for tool in tools if _is_function(tool)]
    if tool_choice == "none" or not functions:
        return []
    if isinstance(tool_choice, dict):
        forced = tool_choice.get("function")
        name = forced.get("name") if isinstance(forced, dict) else None
        return [function for function in functions if function["name"] == name][:1]
    words = _words(prompt)

    def shared(function: Tool) -> int:
        return len(words & _words(f"{function['name']} {function.get('description') or ''}"))

    best = max(functions, key=shared)
    wanted = [function for function in functions if function is best or _is_named(function["name"], words)]
    left = [function for function in wanted if function["name"] not in done]
    if tool_choice == "required":
        rest = [function for function in functions if function["name"] not in done]
        return left or rest[:1] or [best]
    return left if shared(best) else []


def arguments_for(prompt: str, function: Tool) -> str:
    """Return the arguments of a call as JSON text, filled from the prompt in the order of the schema's properties."""
    parameters = function.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    numbers = [float(number) if number.denominator != 1 else number.numerator for number in numbers_in(prompt)]
    return json.dumps(_Filling(prompt, numbers, parameters).whole(), ensure_ascii=False)


class _Filling:
    """Values for the places of one schema, from one prompt.

    Args:
        prompt: The text that the values are taken from.
        numbers: Those of the prompt; each is used once.
        root: The whole schema, which `$ref` points into.
    """

    def __init__(self, prompt: str, numbers: list[int | float], root: dict[str, Any]) -> None:
        self._prompt, self._numbers, self._root = prompt, numbers, root
        self._objects = 0

    def whole(self) -> dict[str, Any]:
        """Return an object of the whole schema."""
        place = self._place(self._root, frozenset())
        return self._object_of(place.schema, place.inside)

    def _object_of(self, schema: dict[str, Any], inside: frozenset[str]) -> dict[str, Any]:
        """Return an object with all required properties, and the others for which the prompt has something.

        Args:
            inside: The references that led to it; a schema may refer to itself.
        """
        properties, required = schema.get("properties"), schema.get("required")
        filled: dict[str, Any] = {}
        self._objects += 1
        if self._objects > _MOST_OBJECTS:
            return filled
        for name, given in properties.items() if isinstance(properties, dict) else ():
            place = self._place(given, inside)
            value = self._value(str(name), place)
            if value is None and isinstance(required, list) and name in required:
                filled[name] = None if place.may_be_null else self._placeholder(place)
            elif value is not None:
                filled[name] = value
        return filled

    def _place(self, schema: Any, inside: frozenset[str]) -> "_Place":
        """Return a schema with its references followed and the first of its choices taken."""
        may_be_null = again = False
        for _ in range(_MOST_STEPS):
            if not isinstance(schema, dict):
                break
            if isinstance(reference := schema.get("$ref"), str):
                again |= reference in inside
                schema, inside = self._referred(reference), inside | {reference}
                continue
            choices = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
            if isinstance(kinds := schema.get("type"), list):
                choices = [schema | {"type": kind} for kind in kinds]
            if not isinstance(choices, list):
                break
            others = [choice for choice in choices if not (isinstance(choice, dict) and choice.get("type") == "null")]
            may_be_null |= len(others) < len(choices)
            schema = others[0] if others else {}
        return _Place(schema if isinstance(schema, dict) else {}, inside, may_be_null, again)

    def _referred(self, reference: str) -> Any:
        found: Any = self._root
        for name in reference.removeprefix("#").split("/")[1:]:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def _value(self, name: str, place: "_Place") -> Any:
        schema = place.schema
        if "const" in schema:
            return schema["const"]
        if isinstance(options := schema.get("enum"), list):
            return next((option for option in options if str(option).casefold() in self._prompt.casefold()), None)
        match schema.get("type"):
            case "integer" | "number" | "float" as kind:
                return self._number(name, whole=kind == "integer", named_only=place.may_be_null)
            case "boolean":
                return self._truth(name)
            case "array":
                return self._list_of(schema, place.inside)
            case "object" if "properties" in schema:
                return None if place.again else self._object_of(schema, place.inside) or None
        found = value_for(name, self._prompt)
        return found if found or place.may_be_null else next(iter(_proper_names(self._prompt)), None)

    def _number(self, name: str, *, whole: bool, named_only: bool) -> int | float | None:
        beside = rf"\b{re.escape(name.replace('_', ' '))}\b\D{{0,12}}?(\d+(?:\.\d+)?)"
        named = re.search(beside, self._prompt, re.IGNORECASE)
        next_number = self._numbers[0] if self._numbers and not named_only else None
        number = float(named.group(1)) if named else next_number
        if number in self._numbers:
            self._numbers.remove(number)  # the next property takes the next number
        return int(number) if number is not None and whole else number

    def _truth(self, name: str) -> bool | None:
        if not re.search(rf"\b{re.escape(name.split('_')[-1])}\b", self._prompt, re.IGNORECASE):
            return None
        return not re.search(r"\b(no|not|without|don't)\b", self._prompt, re.IGNORECASE)

    def _list_of(self, schema: dict[str, Any], inside: frozenset[str]) -> list[Any]:
        item = self._place(schema.get("items"), inside)
        match item.schema.get("type"):
            case "integer" | "number" | "float":
                return list(self._numbers)
            case "object":
                one = {} if item.again else self._object_of(item.schema, item.inside)
                return [one] if one else []
        return list(_proper_names(self._prompt))

    def _placeholder(self, place: "_Place") -> Any:
        if isinstance(options := place.schema.get("enum"), list) and options:
            return options[0]
        kind = str(place.schema.get("type"))
        if kind == "object" and not place.again:
            return self._object_of(place.schema, place.inside)
        return {"integer": 0, "number": 0, "float": 0, "boolean": False, "array": [], "object": {}, "dict": {}}.get(
            kind, ""
        )


class _Place(NamedTuple):
    """Where a value is wanted."""

    schema: dict[str, Any]
    inside: frozenset[str]
    """The references that led here."""
    may_be_null: bool
    again: bool
    """Whether one of them led here before."""


def _proper_names(prompt: str) -> list[str]:
    return re.findall(r"(?<![.?!]\s)(?<!^)\b[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*", prompt)


def _is_named(name: str, words: set[str]) -> bool:
    """Return whether a text says what a function is called, but for words such as `get`."""
    own = _words(name) - _VERBS
    return bool(own) and own <= words


def _is_function(tool: Any) -> bool:
    return (
        isinstance(tool, dict)
        and isinstance(tool.get("function"), dict)
        and isinstance(tool["function"].get("name"), str)
    )


def _words(text: str) -> set[str]:
    return {word.casefold().rstrip("s") for word in re.findall(r"[A-Za-z]{3,}", text.replace("_", " "))}


def numbers_in(text: str) -> list[Fraction]:
    """Return every number of a text, digits or English words, in reading order."""
    return [number_of(match) for match in _NUMBER.finditer(text)]


def number_of(match: re.Match[str]) -> Fraction:
    """Return the value of one match of `_NUMBER`."""
    if match["digits"]:
        numerator, _, denominator = match["digits"].replace(",", "").partition("/")
        divisor = Fraction(denominator) if denominator else Fraction(1)
        value = Fraction(numerator) / divisor if divisor else Fraction(numerator)
        return value * _SCALES.get((match["scaled"] or "").lower(), 1)
    if match["alone"]:
        return Fraction(_SCALES[match["alone"].lower()])
    value = Fraction(_NUMBER_WORDS[match["word"].lower()])
    if match["unit"]:
        value += _NUMBER_WORDS[match["unit"].lower()]
    return value * _SCALES.get((match["scale"] or "").lower(), 1)


def value_for(key: str, text: str) -> Any:
    """Return the value in a text that suits a key by the key's name; None when nothing does."""
    name = key.casefold()
    for hints, pattern in (
        (("mail",), _EMAIL),
        (("url", "link", "website"), _URL),
        (("date", "day", "deadline", "due"), _DATE),
        (("time", "hour"), _TIME),
        (("phone", "tel"), _PHONE),
    ):
        if any(hint in name for hint in hints):
            match = pattern.search(text)
            return match.group() if match else None
    if any(hint in name for hint in ("amount", "price", "cost", "total", "fee", "salary")) and (
        match := _MONEY.search(text)
    ):
        return _number((match.group(1) or match.group(2)).replace(",", ""))
    return _worded(key, name, text)


def _worded(key: str, name: str, text: str) -> Any:
    if any(hint in name for hint in ("city", "place", "location", "country", "venue", "destination")):
        match = _PLACE.search(text)
        return match.group(1) if match else None
    if beside := re.search(
        rf"(\d[\d,]*(?:\.\d+)?)\s+{re.escape(name.rstrip('s'))}|{re.escape(name)}\s+(?:of\s+|is\s+)?(\d[\d,.]*\d|\d)",
        text,
        re.IGNORECASE,
    ):
        return _number((beside.group(1) or beside.group(2)).replace(",", ""))
    if name in _COUNTED and (numbers := numbers_in(text)):
        return float(numbers[0]) if numbers[0].denominator != 1 else numbers[0].numerator
    if any(hint in name for hint in ("name", "person", "customer", "author", "speaker", "sender")) and (
        match := _NAME.search(text)
    ):
        return match.group()
    if match := _QUOTED.search(text):
        return match.group(1) or match.group(2)
    match = re.search(rf"\b{re.escape(key)}\b\s+(?:is|was|:)?\s*([\w-]+)", text, re.IGNORECASE)
    return match.group(1) if match else None


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)
