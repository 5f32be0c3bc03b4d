"""The two endpoints of the document, answered by simulated routes."""

import asyncio
import hashlib
import time
from collections import Counter
from typing import Any

import msgspec
from aiohttp import web

from workbench.local_platform.chance import Chance
from workbench.local_platform.config import PlatformConfig, Preset, Route
from workbench.local_platform.skills.answering import Answer, answer

OWNED_BY = "simulated"
MAX_BODY_BYTES = 64 * 2**20
_STARTED_AT = 1_760_000_000  # `created` of the catalogue's entries: a constant, so that lists compare equal
_GATEWAY_ERRORS = {
    408: ("Timeout", "the model server did not answer within the time limit"),
    429: ("RateLimitError", "the model server is over its rate limit"),
    500: ("InternalServerError", "the model server failed"),
    502: ("BadGatewayError", "the model server is down"),
    503: ("ServiceUnavailableError", "the model server is overloaded"),
    530: ("APIError", "the model server's host is unreachable"),
}


class Platform:
    """One platform: its configuration, the keys it accepts, and what it has counted.

    Args:
        config: Routes, presets and accounts.
        keys: API key -> name of the account that owns it; only hashes are kept.
    """

    def __init__(self, config: PlatformConfig, keys: dict[str, str]) -> None:
        self.config = config
        self.requests: Counter[str] = Counter()
        """Chat requests received, by requested model."""
        self.in_flight = 0
        self.most_in_flight = 0
        self._accounts = {_hashed(key): account for key, account in keys.items()}
        self._routes = {route.id: route for route in config.routes}
        self._presets = {preset.id: preset for preset in config.presets}
        self._chance = Chance(config.seed)

    def application(self) -> web.Application:
        """The aiohttp application that serves this platform."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_get("/api/models", self.list_models)
        app.router.add_post("/api/chat/completions", self.complete)
        return app

    async def list_models(self, request: web.Request) -> web.Response:
        """`GET /api/models`: exactly the models that the caller's account sees."""
        account = self._account_of(request)
        if account is None:
            return _unauthenticated(request)
        routes = [_entry(route.id) for route in self.config.routes if _visible(route, account)]
        presets = [
            _entry(preset.id) | {"preset": True, "info": {"base_model_id": preset.base}}
            for preset in self.config.presets
            if self._usable(preset, account)
        ]
        return _json({"data": routes + presets})

    async def complete(self, request: web.Request) -> web.Response:
        """`POST /api/chat/completions` with `stream` false or absent."""
        account = self._account_of(request)
        if account is None:
            return _unauthenticated(request)
        try:
            raw = await request.read()
        except web.HTTPException:  # larger than a body may be
            raise
        except Exception as error:  # not encoded as it says, cut off, and whatever else a socket brings
            return _refuse(400, f"the body cannot be read: {error}")
        body, refusal = _read_body(request.content_type, raw)
        if refusal is not None:
            return refusal
        model = body.get("model")
        preset = self._presets.get(model) if isinstance(model, str) else None
        route = self._route_for(model, preset, account)
        if route is None:
            return _refuse(400, "Model not found")
        if body.get("stream"):
            return _refuse(400, "This version of the embedded platform does not stream; send stream: false")
        self.requests[str(model)] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._serve(route, body, raw, preset)
        finally:
            self.in_flight -= 1

    async def _serve(self, route: Route, body: dict[str, Any], raw: bytes, preset: Preset | None) -> web.Response:
        served, name = route, route.id
        if route.unavailable:
            fallback = self._routes.get(route.fallback or "")
            if fallback is None or fallback.unavailable:
                return _gateway_error(502, route.id)
            served, name = (
                fallback,
                fallback.upstream,
            )  # a real stack names the upstream here, not the fallback's id
        if served.secret_missing:
            return _gateway_refusal(served.id)
        if delay_s := self._chance.latency_s(served, raw):
            await asyncio.sleep(delay_s)
        if status := self._chance.fault_status(served, raw):
            return _gateway_error(status, route.id)
        return _completion(name, answer(served, body, preset.system if preset else None), raw)

    def _route_for(self, model: Any, preset: Preset | None, account: str) -> Route | None:
        if preset is not None:
            return self._routes[preset.base] if self._usable(preset, account) else None
        route = self._routes.get(model) if isinstance(model, str) else None
        return route if route is not None and _visible(route, account) else None

    def _usable(self, preset: Preset, account: str) -> bool:
        return _visible(preset, account) and _visible(self._routes[preset.base], account)

    def _account_of(self, request: web.Request) -> str | None:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        return self._accounts.get(_hashed(key.strip()))  # a look-up by hash: its time tells nothing of the key


def _hashed(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _visible(entry: Route | Preset, account: str) -> bool:
    return entry.visible_to is None or account in entry.visible_to


def _entry(model_id: str) -> dict[str, Any]:
    return {"id": model_id, "object": "model", "created": _STARTED_AT, "owned_by": OWNED_BY, "name": model_id}


def _read_body(content_type: str, raw: bytes) -> tuple[dict[str, Any], web.Response | None]:
    if content_type != "application/json":
        return {}, _invalid("dict_type", "Input should be a valid dictionary; is Content-Type application/json?")
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return {}, _invalid("json_invalid", f"JSON decode error: {error}")
    if not isinstance(body, dict):
        return {}, _invalid("dict_type", "Input should be a valid dictionary")
    if not isinstance(body.get("messages") or [], list):
        return {}, _refuse(400, "messages is not a list")
    if not isinstance(body.get("tools") or [], list):
        return {}, _refuse(400, "tools is not a list")
    return body, None


def _completion(name: str, said: Answer, raw: bytes) -> web.Response:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.reasoning is not None:
        message["reasoning_content"] = said.reasoning
    if said.tool_calls:
        message["tool_calls"] = said.tool_calls
    usage: dict[str, Any] = {
        "prompt_tokens": said.prompt_tokens,
        "completion_tokens": said.completion_tokens,
        "total_tokens": said.prompt_tokens + said.completion_tokens,
    }
    if said.reasoning_tokens:
        usage["completion_tokens_details"] = {"reasoning_tokens": said.reasoning_tokens}
    return _json(
        {
            "id": "chatcmpl-" + hashlib.blake2b(raw, digest_size=12).hexdigest(),
            "object": "chat.completion",
            "created": int(time.time()),
            "model": name,
            "choices": [{"index": 0, "finish_reason": said.finish_reason, "message": message}],
            "usage": usage,
        }
    )


def _gateway_error(status: int, route_id: str) -> web.Response:
    kind, text = _GATEWAY_ERRORS[status]
    error = {
        "message": f"litellm.{kind}: {text} (route {route_id!r})",
        "type": None,
        "param": None,
        "code": str(status),
    }
    return _json({"error": error}, status)


def _gateway_refusal(route_id: str) -> web.Response:
    text = f"litellm.AuthenticationError: the model server rejects the platform's own secret (route {route_id!r})"
    return _json({"error": {"message": text, "type": "authentication_error", "param": None, "code": "401"}}, 401)


def _unauthenticated(request: web.Request) -> web.Response:
    given = "Authorization" in request.headers
    return _refuse(401, "The API key is not valid or was revoked." if given else "Not authenticated")


def _invalid(kind: str, message: str) -> web.Response:
    return _json({"detail": [{"type": kind, "loc": ["body"], "msg": message}]}, 422)


def _refuse(status: int, detail: str) -> web.Response:
    return _json({"detail": detail}, status)


def _json(value: dict[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")
