"""Simulated model servers: answers computed by a skill, with the latencies and faults of their configuration."""

import asyncio
import hashlib
import itertools
import re
import time
from collections.abc import AsyncGenerator
from typing import Any

from workbench.local_platform.backend import UNREACHABLE, Failure
from workbench.local_platform.calls import Call
from workbench.local_platform.chance import Chance
from workbench.local_platform.clock import Clock
from workbench.local_platform.config import Route, RouteFault
from workbench.local_platform.skills.answering import Answer, answer

_PIECE = re.compile(r"\s*\S+\s*?|\s+")
_ARGUMENT_CHARS = 8
_BREATH = 64
_SAID = {
    400: "the model server rejects the request",
    401: "the model server rejects the platform's own secret",
    404: "the model server does not know the model",
    408: "the model server did not answer within its own time limit",
    429: "the model server is over its rate limit",
    500: "the model server failed",
    502: "the model server is down",
    503: "the model server is overloaded",
    530: "the model server's host is unreachable",
}


class Simulated:
    """Every simulated route of a platform.

    Args:
        clock: The platform's.
        seed: Of latencies and faults.
        silent_streams: Whether a page in place of a stream counts as a stream that says nothing.
    """

    def __init__(self, clock: Clock, seed: int, *, silent_streams: bool) -> None:
        self._clock, self._chance, self._silent_streams = clock, Chance(seed), silent_streams
        self._answers = itertools.count()

    async def complete(self, route: Route, call: Call, attempt: int) -> dict[str, Any]:
        """One chat completion."""
        _refuse_several(call)
        fault = await self._before(route, call, attempt)
        if fault is not None:
            raise (_page() if fault.kind == "html" else Failure(UNREACHABLE, "the model server broke off", drew=None))
        said = answer(route, call.body_for(route), self._chance.answer_tokens(route, call.raw))
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.reasoning is not None:
            message["reasoning_content"] = said.reasoning
        if said.tool_calls:
            message["tool_calls"] = said.tool_calls
        completion = _head("chat.completion", route, call.raw, next(self._answers)) | {
            "choices": [{"index": 0, "finish_reason": said.finish_reason, "message": message}]
        }
        return completion | ({"usage": _usage(said)} if route.reports_usage else {})

    async def stream(self, route: Route, call: Call, attempt: int) -> AsyncGenerator[dict[str, Any]]:
        """The same in chunks: a role, thinking, text, tool calls in pieces, an end, usage."""
        _refuse_several(call)
        fault = await self._before(route, call, attempt)
        if fault is not None and fault.kind == "html":
            if self._silent_streams:
                return
            raise _page()
        said = answer(route, call.body_for(route), self._chance.answer_tokens(route, call.raw))
        head = _head("chat.completion.chunk", route, call.raw, next(self._answers))
        deltas = _deltas(said)
        for number, delta in enumerate(deltas):
            if fault is not None and number >= max(1, len(deltas) // 2):
                raise Failure(UNREACHABLE, "the model server broke off in its stream", drew=None)
            if number and route.token_ms:
                await self._clock.sleep(route.token_ms / 1000)
            elif number % _BREATH == 0:
                await asyncio.sleep(0)  # others want to be served too
            yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": said.finish_reason}]}
        if route.reports_usage:
            yield head | {"choices": [], "usage": _usage(said)}

    async def close(self) -> None:
        """Nothing is held open."""

    async def _before(self, route: Route, call: Call, attempt: int) -> RouteFault | None:
        """Wait for the first byte; a fault that shows only in the answer is returned."""
        fault = self._chance.fault(route, call, self._clock.now_s())
        if fault is not None and attempt and not fault.lasting:
            fault = None
        await self._clock.sleep(self._chance.latency_s(route, call.raw))
        if fault is None:
            return None
        match fault.kind:
            case "status":
                status = fault.status or 502
                raise Failure(status, _SAID[status])
            case "hang":
                await asyncio.Event().wait()
            case "slow":
                await self._clock.sleep(fault.delay_s)
                return None
        return fault


def _refuse_several(call: Call) -> None:
    """Fail where more than one answer is asked for, instead of giving fewer than that."""
    if call.body.get("n") not in (None, 1):
        raise Failure(400, "a simulated model gives one answer: n must be 1")


def _page() -> Failure:
    return Failure(500, "the model server answered with a page in place of JSON", drew=None)


def _head(kind: str, route: Route, raw: bytes, number: int) -> dict[str, Any]:
    return {
        "id": "chatcmpl-" + hashlib.blake2b(b"%d %b" % (number, raw), digest_size=12).hexdigest(),
        "object": kind,
        "created": int(time.time()),
        "model": route.upstream,
    }


def _usage(said: Answer) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "prompt_tokens": said.prompt_tokens,
        "completion_tokens": said.completion_tokens,
        "total_tokens": said.prompt_tokens + said.completion_tokens,
    }
    if said.reasoning_tokens:
        usage["completion_tokens_details"] = {"reasoning_tokens": said.reasoning_tokens}
    return usage


def _deltas(said: Answer) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in _PIECE.findall(said.reasoning or "")]
    deltas += [{"content": piece} for piece in _PIECE.findall(said.text or "")]
    for index, call in enumerate(said.tool_calls):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        opened = {"index": index, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [opened]})
        for start in range(0, len(arguments), _ARGUMENT_CHARS):
            piece = {"index": index, "function": {"arguments": arguments[start : start + _ARGUMENT_CHARS]}}
            deltas.append({"tool_calls": [piece]})
    return deltas
