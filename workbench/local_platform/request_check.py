"""What the document and OpenAI's API ask of a request's body: its messages, and a tool choice that names a supplied tool."""

from collections.abc import Iterator
from typing import Any

_CHOICES = ("auto", "none", "required")
_FORCED = '{"type": "function", "function": {"name": "…"}}'


def first_fault(body: dict[str, Any], *, texts_only: bool) -> str | None:
    """Return what is wrong with a body, in words; None where nothing is.

    Args:
        body: Without its model.
        texts_only: Whether parts of a message's content that are not text are refused.
    """
    return next(_faults(body, texts_only), None)


def parameter_fault(parameters: dict[str, Any]) -> str | None:
    """Return what is wrong with the fields that a preset sets, in words; None where nothing is.

    A choice of a tool is only looked at beside tools: a caller may bring them.
    """
    kept = {name: value for name, value in parameters.items() if name != "tool_choice" or "tools" in parameters}
    return next(_field_faults(kept), None)


def model_fault(body: dict[str, Any]) -> str | None:
    """Return what is wrong with the model that a body names, whichever there are."""
    if "model" not in body:
        return "model is required: an id from GET /api/models"
    return None if isinstance(body["model"], str) else f"model: expected a text, found {_kind(body['model'])}"


def _faults(body: dict[str, Any], texts_only: bool) -> Iterator[str]:
    messages = body.get("messages")
    if messages is None:
        yield "messages is required: a list of objects with role and content"
    elif not isinstance(messages, list):
        yield f"messages: expected a list, found {_kind(messages)}"
    elif not messages:
        yield "messages: expected at least one message, found an empty list"
    else:
        for number, message in enumerate(messages):
            yield from (f"messages[{number}]{fault}" for fault in _message_faults(message, texts_only))
    yield from _field_faults(body)


def _field_faults(body: dict[str, Any]) -> Iterator[str]:
    for name in ("max_tokens", "max_completion_tokens"):
        cap = body.get(name)
        if cap is not None and (type(cap) is not int or cap < 1):
            yield f"{name}: expected a whole number from 1, found {_kind(cap)}"
    if (stream := body.get("stream")) is not None and not isinstance(stream, bool):
        yield f"stream: expected true or false, found {_kind(stream)}"
    for number, tool in enumerate(body["tools"] if isinstance(body.get("tools"), list) else ()):
        if not isinstance(tool, dict) or tool.get("type") != "function" or not isinstance(_name(tool), str):
            yield f"tools[{number}]: expected {_FORCED} with its parameters, found {_kind(tool)}"
    yield from _choice_faults(body.get("tools"), body.get("tool_choice"))


def _message_faults(message: Any, texts_only: bool) -> Iterator[str]:
    if not isinstance(message, dict):
        yield f": expected an object with role and content, found {_kind(message)}"
        return
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or not role:
        yield f".role: expected a text such as 'user', found {_kind(role)}"
    elif content is None and role != "assistant":  # only an answer may consist of tool calls alone
        yield f".content is required in a message of the role {role[:40]!r}"
    elif isinstance(content, list):
        for number, part in enumerate(content):
            if not isinstance(part, dict) or not isinstance(part.get("type"), str):
                yield f".content[{number}]: expected a part, an object with its type, found {_kind(part)}"
            elif part["type"] == "text" and not isinstance(part.get("text"), str):
                yield f".content[{number}].text: expected a text, found {_kind(part.get('text'))}"
            elif texts_only and part["type"] != "text":
                yield (
                    f".content[{number}]: expected a text, found a part of the type {part['type'][:40]!r} "
                    "(silent.parts = 'passed' passes it on)"
                )
    elif content is not None and not isinstance(content, str):
        yield f".content: expected a text or a list of parts, found {_kind(content)}"


def _choice_faults(tools: Any, choice: Any) -> Iterator[str]:
    if tools is not None and not isinstance(tools, list):
        yield f"tools: expected a list, found {_kind(tools)}"
        return
    names = [_name(tool) for tool in tools or ()]
    match choice:
        case None | "auto" | "none":
            return
        case "required":
            if not names:
                yield "tool_choice: 'required' needs tools to choose from"
        case {"type": "function"} if isinstance(forced := _name(choice), str):
            if forced not in names:
                known = ", ".join(map(str, names[:10])) or "none"
                yield f"tool_choice: the request supplies no tool {forced[:80]!r} (its tools: {known[:400]})"
        case _:
            yield f"tool_choice: expected {', '.join(_CHOICES)} or {_FORCED}, found {_kind(choice)}"


def _name(tool: Any) -> Any:
    """Return the function's name in a tool or in a forced choice, which have one shape."""
    function = tool.get("function") if isinstance(tool, dict) else None
    return function.get("name") if isinstance(function, dict) else None


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case str():
            return f"the text {value[:40]!r}"
        case bool() | int() | float():
            return f"{value!r}"[:40]
        case list():
            return "a list"
        case _:
            return "an object"
