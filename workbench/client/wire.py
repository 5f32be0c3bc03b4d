"""JSON as it comes over the wire, and the records it becomes.

Only what the document and `choices[0]` promise is read; every other field is kept in the raw text.
"""

import json
import math
from collections.abc import Callable
from typing import Any

import msgspec

from workbench.client.body import LARGE_BYTES
from workbench.records import Completion, Model, ToolCall, Usage

_MOST_TOKENS = 10**12
_MOST_VALUES = 200_000  # objects and lists of a long reply: each takes many times its bytes in memory
_MOST_REPAIRED_BYTES = 4 * 2**20  # the standard library takes 5 ms a MB, in which nothing else happens


def decode(body: bytes) -> Any:
    """Decode JSON from the platform.

    Raises:
        ValueError: The bytes are not valid JSON.
    """
    if len(body) > LARGE_BYTES and body.count(b"{") + body.count(b"[") > _MOST_VALUES:
        raise ValueError("too many values")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as odd:
        if len(body) > _MOST_REPAIRED_BYTES:
            raise ValueError("not valid JSON") from odd
        try:
            return msgspec.json.decode(_repaired(body))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def _repaired(body: bytes) -> bytes:
    r"""Repair almost valid JSON: an answer that was paid for is not discarded for one odd character.

    Half of a surrogate pair (`\ud83d`) is legal and seen where answers are cut; bytes that are not UTF-8, control
    characters, NaN and infinite numbers are not. The standard library reads them; text becomes the sign for an unreadable
    character, a number null.
    """
    text = body.decode(json.detect_encoding(body), "replace")
    value = json.loads(text, strict=False, parse_constant=lambda _: None, parse_float=_finite)
    repaired = json.dumps(value, ensure_ascii=False)
    return repaired.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def completion_from(value: Any) -> Completion | str:
    """Read a decoded body as a completion; a string says why it is not one."""
    if not isinstance(value, dict):
        return f"a JSON {type(value).__name__}, not an object"
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "no choices[0]"
    message = choices[0].get("message")
    if not isinstance(message, dict):
        return "no choices[0].message"
    calls = message.get("tool_calls")
    return Completion(
        answer=_text(message.get("content")),
        reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        tool_calls=tuple(call for entry in calls if (call := _tool_call(entry))) if isinstance(calls, list) else (),
        finish_reason=_string(choices[0].get("finish_reason")),
        served_model=_string(value.get("model")),
        usage=usage_from(value.get("usage")),
        response_id=_string(value.get("id")),
    )


def usage_from(value: Any) -> Usage:
    """Read a usage object; absent, mistyped or all zero is unknown (a gateway fills in zeros for a silent backend)."""
    if not isinstance(value, dict):
        return Usage()
    details = value.get("completion_tokens_details")
    usage = Usage(
        prompt_tokens=_count(value.get("prompt_tokens", value.get("input_tokens"))),
        completion_tokens=_count(value.get("completion_tokens", value.get("output_tokens"))),
        reasoning_tokens=_count(details.get("reasoning_tokens")) if isinstance(details, dict) else None,
        total_tokens=_count(value.get("total_tokens")),
    )
    if not (usage.prompt_tokens or usage.completion_tokens or usage.total_tokens):
        return Usage()
    parts = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
    is_complete = usage.prompt_tokens is not None and usage.completion_tokens is not None
    if is_complete if usage.total_tokens is None else usage.total_tokens < parts:
        return msgspec.structs.replace(usage, total_tokens=parts)  # a total below the sum of its parts is an error
    return usage


def models_from(value: Any, redact: Callable[[str], str] = str) -> list[Model] | None:
    """Read a decoded model list; None if it is not one.

    Args:
        value: As decoded.
        redact: Applied to every text that is kept.
    """
    entries = value.get("data") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        return None
    return [
        Model(
            id=redact(entry["id"]),
            owned_by=redact(owned_by) if (owned_by := _string(entry.get("owned_by"))) else None,
            preset=entry.get("preset") is True,
            raw=redact(msgspec.json.encode(entry).decode()),
        )
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    ]


def error_text_from(value: Any) -> tuple[str, str]:
    """Read a decoded error body as (style, text).

    The style is `error` (the gateway's), `detail` (the platform's), `validation` (a list of details) or `other`.
    """
    if isinstance(value, dict):
        error, detail = value.get("error"), value.get("detail")
        if isinstance(detail, str):  # first: an `error` beside it says the same to other clients
            return "detail", detail
        if detail is not None:
            return "validation", msgspec.json.encode(detail).decode()
        if isinstance(error, dict):
            return "error", f"{error.get('type') or ''} {error.get('message') or ''}".strip()
        if isinstance(error, str):
            return "error", error
    return "other", ""


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list):  # content parts: the text ones, in order
        return "".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
    return None


def _tool_call(entry: Any) -> ToolCall | None:
    function = entry.get("function") if isinstance(entry, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return ToolCall(_string(entry.get("id")), function["name"], text)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    plain = isinstance(value, int) and not isinstance(value, bool)
    return value if plain and 0 <= value <= _MOST_TOKENS else None  # a larger number is an error, not a count
