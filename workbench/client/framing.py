"""Answers that came in another frame than was asked for: as a stream's events, or with a stream's lines around them.

They were paid for, so that they are read: a proxy that always streams, or one that keeps a connection alive with comments.
"""

import re
from typing import Any

import msgspec

from workbench.client.completion import LARGE_BYTES, decode

_LINE_END = re.compile(r"\r\n|\r|\n")  # and none of the further ones that `splitlines` knows, which a text may have
_END = re.compile(r"\s*data:\s*\[DONE\]\s*\Z")
_NO_DATA = (":", "event:", "id:", "retry:")


class _Function(msgspec.Struct, frozen=True):
    name: str | None = None
    arguments: str | None = None


class _CallPart(msgspec.Struct, frozen=True):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct, frozen=True):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallPart] | None = None


class _Choice(msgspec.Struct, frozen=True):
    index: int = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Event(msgspec.Struct, frozen=True):
    choices: list[_Choice] | None = None


_TEXTS = tuple(name for name in _Delta.__struct_fields__ if name != "tool_calls")


def decode_reply(body: bytes) -> Any:
    """Decode a reply's JSON, whatever lines of a stream (`data:`, comments, `[DONE]`) are around it.

    Raises:
        ValueError: It is not JSON in any such frame, or a stream that was cut.
    """
    try:
        return decode(body)
    except ValueError:
        if len(body) > LARGE_BYTES:  # the event loop would stand still
            raise
        text = body.decode("utf-8", "replace")
        if "data:" not in text and not text.lstrip().startswith(":"):
            raise
    lines = [line for line in _LINE_END.split(text) if line.strip() and not line.startswith(_NO_DATA)]
    if not lines or not all(line.startswith("data:") for line in lines):
        return decode(_END.sub("", "\n".join(lines)).encode())
    said = [line.removeprefix("data:").strip() for line in lines]
    events = [decode(one.encode()) for one in said if one != "[DONE]"]
    if len(events) == 1 and '"delta"' not in text:
        return events[0]
    return _together(events, has_ended="[DONE]" in said)


def _together(events: list[Any], *, has_ended: bool) -> dict[str, Any]:
    """Return the answer that the parts of a stream make.

    Raises:
        ValueError: They are no parts of one, or it was cut.
    """
    found: dict[str, Any] = {}
    texts: dict[str, str] = {}
    calls: dict[int, dict[str, Any]] = {}
    choices, finish_reason = 0, None
    for event in events:
        parts = [one for one in msgspec.convert(event, _Event).choices or () if one.index == 0]
        found |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        choices += len(parts)
        for part in parts:
            finish_reason = part.finish_reason or finish_reason
            delta = part.delta or _Delta()
            for name in _TEXTS:
                if (said := getattr(delta, name)) is not None:
                    texts[name] = texts.get(name, "") + said
            for place, call in enumerate(delta.tool_calls or ()):
                _add_call(calls, place if call.index is None else call.index, call)
    if not choices or (finish_reason is None and not has_ended):
        raise ValueError("a stream that was cut")
    message = texts | ({"tool_calls": [calls[place] for place in sorted(calls)]} if calls else {})
    return found | {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}


def _add_call(calls: dict[int, dict[str, Any]], place: int, part: _CallPart) -> None:
    call = calls.setdefault(place, {"id": None, "function": {"name": None, "arguments": ""}})
    said, function = part.function or _Function(), call["function"]
    call["id"] = call["id"] or part.id
    function["name"] = function["name"] or said.name
    function["arguments"] += said.arguments or ""
