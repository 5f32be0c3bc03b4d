"""Answers that came in another frame than was asked for: as a stream's events, or with a stream's lines around them.

They were paid for, so that they are read: a proxy that always streams, or one that keeps a connection alive with comments.
"""

import re
from typing import Any

from workbench.completion import LARGE_BYTES, decode

_END = re.compile(r"\s*data:\s*\[DONE\]\s*\Z")
_SAID_BY_PARTS = ("content", "reasoning_content", "reasoning", "refusal")


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
    lines = [
        line for line in text.splitlines() if line.strip() and not line.startswith((":", "event:", "id:", "retry:"))
    ]
    if not lines:
        raise ValueError("no lines but comments")
    if not all(line.startswith("data:") for line in lines):
        return decode(_END.sub("", "\n".join(lines)).encode())
    said = [line.removeprefix("data:").strip() for line in lines]
    events = [decode(one.encode()) for one in said if one != "[DONE]"]
    if len(events) == 1 and not _is_part(events[0]):
        return events[0]
    return _together(events, has_ended="[DONE]" in said)


def _is_part(event: Any) -> bool:
    """Whether an event is a part of an answer."""
    choices = event.get("choices") if isinstance(event, dict) else None
    return isinstance(choices, list) and any(isinstance(one, dict) and "delta" in one for one in choices)


def _together(events: list[Any], *, has_ended: bool) -> dict[str, Any]:
    """The answer that the parts of a stream make."""
    found: dict[str, Any] = {}
    message: dict[str, Any] = {}
    calls: dict[int, dict[str, Any]] = {}
    finish_reason = None
    seen: set[str] = set()
    for event in events:
        if not isinstance(event, dict):
            raise ValueError("an event that is not an object")
        seen |= event.keys()
        found |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        for choice in event.get("choices") or ():
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            finish_reason = choice.get("finish_reason") or finish_reason
            delta = choice.get("delta") or choice.get("message") or {}
            for name in _SAID_BY_PARTS:
                if isinstance(part := delta.get(name), str):
                    message[name] = message.get(name, "") + part
            for place, part in enumerate(delta.get("tool_calls") or ()):
                _add_call(calls.setdefault(part.get("index", place), {"function": {"arguments": ""}}), part)
    if "choices" not in seen or (finish_reason is None and not has_ended):
        raise ValueError("a stream that was cut")
    if calls:
        message["tool_calls"] = [calls[place] for place in sorted(calls)]
    return found | {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}


def _add_call(call: dict[str, Any], part: dict[str, Any]) -> None:
    call["id"] = part.get("id") or call.get("id")
    function = part.get("function") or {}
    call["function"]["name"] = call["function"].get("name") or function.get("name")
    call["function"]["arguments"] += function.get("arguments") or ""
