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
            case "no choices":
                return web.json_response({"ok": True})
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
            case "headers":
                headers = {"Set-Cookie": "a=b", "X-Internal": "10.0.0.7", "Keep-Alive": "timeout=9"}
                return web.json_response(WHOLE, headers=headers)
            case status if status.isdigit():
                return web.Response(text="<h1>nginx</h1>", status=int(status), content_type="text/html")
        return web.json_response(WHOLE)

    async def streamed(self, request: web.Request, model: str) -> web.StreamResponse:  # noqa: C901
        assert request.transport is not None
        if model == "page" or model.isdigit():
            return await self.whole(request, model)
        if model == "reset":
            request.transport.abort()
        reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await reply.prepare(request)
        if model == "hang":
            await asyncio.sleep(3600)
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
