"""Simulated model servers: answers by a key or computed, with the latencies and faults of their configuration."""

import asyncio
import hashlib
import itertools
import re
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

from workbench.local_platform.answer_key import AnswerKey, digest_of
from workbench.local_platform.answering import Answer, Draw, answer, text_of
from workbench.local_platform.backend import UNREACHABLE, Failure
from workbench.local_platform.calls import Call
from workbench.local_platform.chance import Chance
from workbench.local_platform.clock import Clock
from workbench.local_platform.config import Answers, Route, RouteFault

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
        seed: Of latencies and faults.
        silent_streams: Whether a page in place of a stream counts as a stream that says nothing.
        key: What is right and wrong, where somebody knows.
        scheduled: The time for which the requests are scheduled; empty where they are not.
    """

    def __init__(
        self, clock: Clock, seed: int, *, silent_streams: bool, key: AnswerKey | None = None, scheduled: str = ""
    ) -> None:
        self._clock, self._chance, self._silent_streams = clock, Chance(seed), silent_streams
        self._key, self._scheduled = key, scheduled
        self._count = itertools.count()

    async def complete(self, route: Route, call: Call, attempt: int) -> dict[str, Any]:
        """Return one chat completion."""
        _refuse_several(call)
        fault = await self._before(route, call, attempt)
        if fault is not None:
            raise (_page() if fault.kind == "html" else Failure(UNREACHABLE, "the model server broke off", drew=None))
        answer = self._answer(route, call)
        message: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if answer.reasoning is not None:
            message["reasoning_content"] = answer.reasoning
        if answer.tool_calls:
            message["tool_calls"] = answer.tool_calls
        if answer.refusal is not None:
            message["refusal"] = answer.refusal
        completion = _head("chat.completion", route, call.raw, next(self._count), self._clock.unix_s()) | {
            "choices": [{"index": 0, "finish_reason": answer.finish_reason, "message": message}]
        }
        return completion | ({"usage": _usage(answer)} if route.reports_usage else {})

    async def stream(self, route: Route, call: Call, attempt: int) -> AsyncGenerator[dict[str, Any]]:
        """Return the same in chunks: a role, thinking, text, tool calls in pieces, an end, usage."""
        _refuse_several(call)
        fault = await self._before(route, call, attempt)
        if fault is not None and fault.kind == "html":
            if self._silent_streams:
                return
            raise _page()
        answer = self._answer(route, call)
        head = _head("chat.completion.chunk", route, call.raw, next(self._count), self._clock.unix_s())
        deltas = _deltas(answer)
        for number, delta in enumerate(deltas):
            if fault is not None and number >= max(1, len(deltas) // 2):
                raise Failure(UNREACHABLE, "the model server broke off in its stream", drew=None)
            if number and route.token_ms:
                await self._clock.sleep(route.token_ms / 1000)
            elif number % _BREATH == 0:
                await asyncio.sleep(0)  # others want to be served too
            yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish_reason}]}
        if route.reports_usage:
            yield head | {"choices": [], "usage": _usage(answer)}

    def _answer(self, route: Route, call: Call) -> Answer:
        body = call.body_for(route)
        answers = self._answers_to(route, body)
        draw = Draw(
            tokens=self._chance.answer_tokens(route, answers.tokens or route.answer_tokens, call.raw),
            misjudges=self._chance.misjudges(route, call),
        )
        entry = None
        if self._key is not None and route.simulated == "answers":
            question = digest_of(call.messages)
            entry = self._key.entry(question)
        if entry is not None:
            draw = draw._replace(standing=self._chance.standing(route, call, question, answers, self._scheduled))
        return answer(route, body, entry, draw)

    def _answers_to(self, route: Route, body: dict[str, Any]) -> Answers:
        """Return how well a route answers a request: the last that suits it of what is set."""
        today = self._scheduled[:10] or datetime.fromtimestamp(self._clock.unix_s(), UTC).date().isoformat()
        for answers in reversed(route.answers):
            begins = answers.from_date is None or answers.from_date.isoformat() <= today
            if begins and (not answers.contains or answers.contains in text_of(body["messages"])):
                return answers
        return Answers()

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


def _head(kind: str, route: Route, raw: bytes, number: int, created: float) -> dict[str, Any]:
    return {
        "id": "chatcmpl-" + hashlib.blake2b(b"%d %b" % (number, raw), digest_size=12).hexdigest(),
        "object": kind,
        "created": int(created),
        "model": route.upstream,
    }


def _usage(answer: Answer) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "total_tokens": answer.prompt_tokens + answer.completion_tokens,
    }
    if answer.reasoning_tokens:
        usage["completion_tokens_details"] = {"reasoning_tokens": answer.reasoning_tokens}
    return usage


def _deltas(answer: Answer) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in _PIECE.findall(answer.reasoning or "")]
    deltas += [{"content": piece} for piece in _PIECE.findall(answer.text or "")]
    deltas += [{"refusal": piece} for piece in _PIECE.findall(answer.refusal or "")]
    for index, call in enumerate(answer.tool_calls):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        opened = {"index": index, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [opened]})
        for start in range(0, len(arguments), _ARGUMENT_CHARS):
            piece = {"index": index, "function": {"arguments": arguments[start : start + _ARGUMENT_CHARS]}}
            deltas.append({"tool_calls": [piece]})
    return deltas
