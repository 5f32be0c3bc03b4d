"""A model server that misbehaves as its model's name says."""

import asyncio
import json
from typing import Any

from aiohttp import web

CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "own name"}
WHOLE: dict[str, Any] = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "own name",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}  # fmt: skip


def delta(text: str, finish: str | None = None) -> bytes:
    chunk = CHUNK | {"choices": [{"index": 0, "delta": {"content": text} if text else {}, "finish_reason": finish}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def argument(text: str) -> bytes:
    """A piece of a tool call's arguments."""
    called = {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}
    return b"data: " + json.dumps(CHUNK | {"choices": [{"index": 0, "delta": called}]}).encode() + b"\n\n"


def thought(text: str) -> bytes:
    """A piece of thinking, as Ollama and vLLM name it."""
    return b"data: " + json.dumps(CHUNK | {"choices": [{"index": 0, "delta": {"reasoning": text}}]}).encode() + b"\n\n"


def usage(total: int, **chunk: Any) -> bytes:
    told = {"prompt_tokens": 1, "completion_tokens": total - 1, "total_tokens": total}
    return b"data: " + json.dumps(CHUNK | {"choices": [], "usage": told} | chunk).encode() + b"\n\n"


NOUGHTS = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
NO_TOTAL = {"prompt_tokens": 50, "completion_tokens": 70, "total_tokens": 0}
_TOOL_CALL = {"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_END = b"data: [DONE]\n\n"
_LAST = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
_SOME = {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}
RAW = {
    "late end": delta("Yes", "stop") + usage(7) + _END,
    "first and last usage": usage(2) + delta("Yes") + delta("", "stop") + usage(9) + _END,
    "usage in the finish": delta("Yes") + usage(4, **_LAST) + usage(9) + _END,
    "running usage": usage(2, **_SOME) + usage(3, **_SOME) + usage(9, **_LAST) + _END,
    "no last blank line": (delta("Yes") + delta("", "stop") + usage(9))[:-2],
    "null error": delta("Yes").replace(b'"id": "c"', b'"id": "c", "error": null') + delta("", "stop") + usage(9) + _END,
    "padded done": delta("Yes", "stop") + usage(9) + b"data: [DONE] \n\n",
    "byte order mark": b"\xef\xbb\xbf" + delta("Yes", "stop") + usage(9) + _END,
    "nought usage": delta("Yes", "stop") + usage(0, usage=NOUGHTS) + _END,
    "nought total": delta("Yes", "stop") + usage(0, usage=NO_TOTAL) + _END,
    "nought usage of a call": usage(0, choices=[{"index": 0, "delta": {"tool_calls": [_TOOL_CALL]}}], usage=None)
    + usage(0, usage=NOUGHTS, **_LAST) + _END,
    "noughts at the end": delta("Yes") + usage(9, **_LAST) + usage(0, usage=NOUGHTS) + _END,
    "one of two ends": delta("Yes").replace(b'"index": 0', b'"index": 1') + delta("Yes", "stop"),
    "only done": _END,
    "refuses": b'data: {"error": {"message": "too long", "code": 400}}\n\n',
    "escaped secret": delta("x").replace(b'"x"', b'"\\u0073k-of-the-model-server-itself"') + delta("", "stop") + _END,
    "secret in two": delta("SECRET-1") + delta("SECRET-2") + delta("", "stop") + _END,
    "beginning of the secret": delta("SECRET-1") + delta("", "stop") + _END,
    "odd code": b'data: {"error": {"message": "boo", "code": "\xc2\xb2"}}\n\n',
    "endless event": b"data: " + b"x" * 9_000_000,
    "many lines": b"data: xxxxxxxxxxxxxxxx\n" * 600_000,
    "thinks": thought("Let me " * 300) + thought("see.") + delta("Yes", "stop") + _END,
    "secret in its thinking": thought("SECRET-1") + thought("SECRET-2") + delta("", "stop") + _END,
    "arguments": b"data: " + json.dumps(
        CHUNK | {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "x" * 4000}}]}}]}
    ).encode() + b"\n\n",
}  # fmt: skip


class Lying:
    """The server, and what it was sent."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.cancelled = 0
        self.connections: set[Any] = set()

    def application(self) -> web.Application:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self.complete)
        return app

    async def complete(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        body = await request.json()
        self.bodies.append(body)
        self.connections.add(request.transport)
        try:
            return await (self.streamed if body.get("stream") else self.whole)(request, body["model"])
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def whole(self, request: web.Request, model: str) -> web.StreamResponse:  # noqa: C901 - one case a lie
        assert request.transport is not None
        match model:
            case "page":
                return web.Response(text="<html>maintenance</html>", content_type="text/html")
            case "cut json":
                return web.Response(body=b'{"choices": [', content_type="application/json")
            case "python's json":
                odd = json.dumps(WHOLE).replace('"Yes."', r'"Yes.\ud83d", "logprob": NaN').encode()
                return web.Response(body=b"\xef\xbb\xbf" + odd, content_type="application/json")
            case "no choices":
                return web.json_response({"ok": True})
            case "empty choices":
                return web.json_response(WHOLE | {"choices": []})
            case "no message":
                return web.json_response(WHOLE | {"choices": [None]})
            case "hang":
                await asyncio.sleep(3600)
            case "reset":
                request.transport.abort()
            case "cut body":
                reply = web.StreamResponse(headers={"Content-Length": "1000"})
                await reply.prepare(request)
                await reply.write(b'{"choices"')
                request.transport.abort()
            case "tells":
                secret = request.headers["Authorization"]
                return web.json_response({"error": {"message": f"wrong key: {secret}"}}, status=401)
            case "tells in an answer":
                message = {"role": "assistant", "content": request.headers["Authorization"]}
                return web.json_response(
                    WHOLE | {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
                )
            case "no usage":
                return web.json_response({key: value for key, value in WHOLE.items() if key != "usage"})
            case "odd usage":
                return web.json_response(WHOLE | {"usage": {"prompt_tokens": -1, "completion_tokens": "many"}})
            case "thinks":
                message = {"role": "assistant", "content": "Yes", "reasoning": "Let me " * 300 + "see."}
                return web.json_response(
                    {
                        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                        "object": "chat.completion",
                    }
                )
            case "nought usage":
                return web.json_response(WHOLE | {"usage": NOUGHTS})
            case "nought total":
                return web.json_response(WHOLE | {"usage": NO_TOTAL})
            case "nought usage of a call":
                called = {"index": 0, "finish_reason": "tool_calls", "message": {"tool_calls": [_TOOL_CALL]}}
                return web.json_response(WHOLE | {"choices": [called], "usage": NOUGHTS})
            case "headers":
                headers = {"Set-Cookie": "a=b", "X-Internal": "10.0.0.7", "Keep-Alive": "timeout=9"}
                return web.json_response(WHOLE, headers=headers)
            case status if status.isdigit():
                elsewhere = {"Location": "/elsewhere"} if status == "301" else None
                return web.Response(
                    text="<h1>nginx</h1>", status=int(status), content_type="text/html", headers=elsewhere
                )
        return web.json_response(WHOLE)

    async def streamed(self, request: web.Request, model: str) -> web.StreamResponse:  # noqa: C901
        assert request.transport is not None
        if model in ("page", "tells") or model.isdigit():
            return await self.whole(request, model)
        if model == "reset":
            request.transport.abort()
        reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await reply.prepare(request)
        if model == "hang":
            await asyncio.sleep(3600)
        secret = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if model in ("secret by letters", "secret in a call"):
            for letter in f"so: {secret}":
                await reply.write(delta(letter) if model == "secret by letters" else argument(letter))
            await reply.write(delta("", "stop") + _END)
            return reply
        if model in RAW:
            await reply.write(
                RAW[model].replace(b"SECRET-1", secret[:9].encode()).replace(b"SECRET-2", secret[9:].encode())
            )
            await asyncio.sleep(0.02)  # a server that ends late
            return reply
        await reply.write(b": a comment\n\n")
        await reply.write(delta("Yes")[:20])
        await asyncio.sleep(0.01)
        await reply.write(delta("Yes")[20:])
        match model:
            case "dies":
                request.transport.abort()
                return reply
            case "error":
                await reply.write(b'data: {"error": {"message": "engine died"}}\n\n')
                return reply
            case "no chunk":
                await reply.write(b"data: {oops\n\n")
                return reply
            case "no end":
                return reply
            case "drips":
                for _ in range(1000):
                    await reply.write(delta(" and"))
                    await asyncio.sleep(0.02)
        await reply.write(delta("", "stop").replace(b"\n", b"\r\n"))
        if model != "no usage":
            await reply.write(
                b"data: " + json.dumps(CHUNK | {"choices": [], "usage": WHOLE["usage"]}).encode() + b"\n\n"
            )
        await reply.write(b"data: [DONE]\n\n")
        return reply
