"""A streamed answer on its way to the caller: server-sent events in OpenAI's shape."""

import secrets
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from workbench.local_platform.backend import Failure, choices_of, finishes, usage_of
from workbench.local_platform.replies import broken_stream, usage_shown
from workbench.local_platform.silent import Silent

DONE = b"data: [DONE]\n\n"


async def events(
    chunks: AsyncIterator[dict[str, Any]], name: str, silent: Silent, *, wants_usage: bool
) -> AsyncIterator[bytes]:
    """Chunks as the bytes of events, up to their end.

    Args:
        name: What `model` is to say.
        wants_usage: Whether the caller is to see a last chunk with usage.

    Raises:
        Failure: The model server breaks off.
    """
    calls_tools = False
    newest: dict[str, Any] = {}
    last: dict[str, Any] = {}
    async for chunk in chunks:
        newest, usage = chunk, usage_of(chunk)
        last = chunk if usage is not None else last
        if usage is not None and not any(choice.get("delta") for choice in choices_of(chunk)) and not finishes(chunk):
            continue  # it brings nothing else
        shown = {key: value for key, value in chunk.items() if key != "usage"} | {"model": name}
        calls_tools = calls_tools or _calls_tools(chunk)
        if calls_tools and finishes(chunk) and silent.stream_tool_finish == "stop":
            shown["choices"] = [choice | {"finish_reason": "stop"} for choice in choices_of(chunk)]
        yield event(_rewritten(shown) if silent.stream_pieces == "gateway" else shown)
    told = usage_shown(last, silent) if wants_usage and newest else None
    if told is not None:
        nothing = [] if silent.stream_usage_choices == "empty" else [{"index": 0, "delta": {}}]
        if silent.stream_pieces == "gateway" and "completion_tokens" in told:
            details = {"reasoning_tokens": 0, "text_tokens": told["completion_tokens"]}
            told = {"completion_tokens_details": details} | told
        yield event(newest | {"model": name, "choices": nothing, "usage": told})
    yield DONE


def _calls_tools(chunk: dict[str, Any]) -> bool:
    deltas = [choice.get("delta") for choice in choices_of(chunk)]
    return any(isinstance(delta, dict) and delta.get("tool_calls") for delta in deltas)


def _rewritten(chunk: dict[str, Any]) -> dict[str, Any]:
    """Return a chunk as a gateway writes it."""
    choices = []
    for choice in choices_of(chunk):
        kept = {key: value for key, value in choice.items() if key != "finish_reason" or value is not None}
        delta = kept.get("delta")
        pieces = delta.get("tool_calls") if isinstance(delta, dict) else None
        if isinstance(delta, dict) and isinstance(pieces, list):
            typed = [{"type": "function"} | piece if isinstance(piece, dict) else piece for piece in pieces]
            kept["delta"] = delta | {"tool_calls": typed}
        choices.append(kept)
    return chunk | {"choices": choices}


def broken(failure: Failure, status: int, silent: Silent) -> bytes:
    """Return how a stream ends whose model server broke off."""
    if silent.broken_stream == "end":
        return b""
    error = event(broken_stream(failure, status, silent))
    return error + DONE if silent.broken_stream == "error_done" else error


def empty_end(name: str, created: float) -> bytes:
    """Return a stream that says nothing and ends well, as was seen where a model server answers with a page."""
    choice = {"index": 0, "delta": {}, "finish_reason": "stop"}
    head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "object": "chat.completion.chunk", "created": int(created)}
    return event(head | {"model": name, "choices": [choice]})


def event(value: dict[str, Any]) -> bytes:
    """Return one server-sent event."""
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
