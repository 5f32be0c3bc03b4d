"""Which tool a prompt calls for, and the arguments that its schema asks for, taken from the prompt."""

import json
import re
from collections.abc import Collection
from typing import Any

from workbench.local_platform.skills.extraction import value_for
from workbench.local_platform.skills.numbers import numbers_in

Tool = dict[str, Any]
_VERBS = frozenset({"get", "set", "find", "search", "list", "fetch", "call", "look", "lookup", "run"})


def choose(prompt: str, tools: list[Tool], tool_choice: Any, done: Collection[str] = ()) -> list[Tool]:
    """The functions to call: the forced one, or the one whose words the prompt shares most, and all others that it names;
    none answers in prose.

    Args:
        prompt: The last user message.
        tools: OpenAI-style tools of the request.
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
    """The arguments of a call as JSON text, filled from the prompt in the order of the schema's properties."""
    parameters = function.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    properties = parameters.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = parameters.get("required")
    required = required if isinstance(required, list) else []
    numbers = [float(number) if number.denominator != 1 else number.numerator for number in numbers_in(prompt)]
    filled: dict[str, Any] = {}
    for name, schema in properties.items():
        schema = schema if isinstance(schema, dict) else {}
        value = _value(str(name), schema, prompt, numbers)
        if value is None and name in required:
            value = _placeholder(schema)
        if value is not None:
            filled[name] = value
    return json.dumps(filled, ensure_ascii=False)


def _value(name: str, schema: dict[str, Any], prompt: str, numbers: list[int | float]) -> Any:
    if isinstance(options := schema.get("enum"), list):
        return next((option for option in options if str(option).casefold() in prompt.casefold()), None)
    kind = schema.get("type")
    if kind in ("integer", "number", "float"):
        named = re.search(rf"\b{re.escape(name.replace('_', ' '))}\b\D{{0,12}}?(\d+(?:\.\d+)?)", prompt, re.IGNORECASE)
        number = float(named.group(1)) if named else (numbers[0] if numbers else None)
        if number in numbers:
            numbers.remove(number)  # the next property takes the next number
        return int(number) if number is not None and kind == "integer" else number
    if kind == "boolean":
        mentioned = re.search(rf"\b{re.escape(name.split('_')[-1])}\b", prompt, re.IGNORECASE)
        return (
            bool(mentioned and not re.search(r"\b(no|not|without|don't)\b", prompt, re.IGNORECASE))
            if mentioned
            else None
        )
    if kind == "array":
        items = schema.get("items")
        kind_of_item = items.get("type") if isinstance(items, dict) else None
        return list(numbers) if kind_of_item in ("integer", "number", "float") else _proper_names(prompt)
    return value_for(name, prompt) or next(iter(_proper_names(prompt)), None)


def _placeholder(schema: dict[str, Any]) -> Any:
    if isinstance(options := schema.get("enum"), list) and options:
        return options[0]
    return {
        "integer": 0,
        "number": 0,
        "float": 0,
        "boolean": False,
        "array": [],
        "object": {},
        "dict": {},
    }.get(str(schema.get("type")), "")


def _proper_names(prompt: str) -> list[str]:
    return re.findall(r"(?<![.?!]\s)(?<!^)\b[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*", prompt)


def _is_named(name: str, words: set[str]) -> bool:
    """Whether a text says what a function is called, but for words such as `get`."""
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
