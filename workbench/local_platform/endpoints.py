"""The endpoints of the document, and what this platform offers beside them, by one configuration."""

import contextlib
from contextlib import aclosing
from datetime import datetime
from typing import Any

import msgspec
from aiohttp import web

from workbench.local_platform import replies, streaming
from workbench.local_platform.access import ACCESS, Access
from workbench.local_platform.backend import Backend, Failure
from workbench.local_platform.calls import Call, Catalogue, RefusedError
from workbench.local_platform.chance import Chance
from workbench.local_platform.config import PlatformConfig, Preset, Route, RouteFault
from workbench.local_platform.delivery import Writer, body_of, spoilt
from workbench.local_platform.gateway import Gateway, Stream
from workbench.local_platform.replies import json_reply
from workbench.local_platform.shared import Shared
from workbench.local_platform.simulated import Simulated
from workbench.local_platform.turns import FullError
from workbench.local_platform.upstream import Upstream
from workbench.local_platform.usage import own_usage

REQUEST_ID = "X-Request-Id"
PRIORITY, BATCH = "X-Priority", "batch"
"""The header with which a request says that it is batch work."""
RESERVED_TEXT = "Reserved for people: batch work may not use the rest of the allowance."
OFFERS, USAGE = "X-Platform-Offers", "usage"
"""The header of a model list that names what this platform offers beyond the document."""


class Endpoints:
    """Answers requests by one configuration, for as long as they take: another one has endpoints of its own."""

    def __init__(self, config: PlatformConfig, shared: Shared) -> None:
        self.config, self._shared = config, shared
        self._clock, self._accounts = shared.clock, shared.accounts
        self._catalogue = Catalogue(config)
        self._chance = Chance(config.seed)
        has_answers = shared.answer_key is not None
        self._draws_again = has_answers or any(route.faults or route.wrong_verdicts for route in config.routes)
        silent_streams = config.silent.garbled_stream == "empty"
        self._simulated: Backend = Simulated(
            self._clock,
            config.seed,
            silent_streams=silent_streams,
            key=shared.answer_key,
            scheduled=shared.around.scheduled,
        )
        self._upstream = Upstream(shared.around.environment, shared.connections, silent_streams=silent_streams)
        self._gateway = Gateway(config, self._catalogue, shared, self._backend_of)

    async def show_statistics(self, request: web.Request) -> web.Response:
        """`GET /statistics`: counters, for the accounts that may read them."""
        if not self.config.statistics_for:
            return replies.unknown_path(self.config.silent, request.method)
        if self._account_of(request) not in self.config.statistics_for:
            raise RefusedError(403, "This account may not read the statistics.")
        return json_reply(self._shared.statistics.as_object())

    async def show_metrics(self, request: web.Request) -> web.Response:
        """`GET /metrics`: the same and more for Prometheus, for the same accounts."""
        if not self.config.statistics_for:
            return replies.unknown_path(self.config.silent, request.method)
        if self._account_of(request) not in self.config.statistics_for:
            raise RefusedError(403, "This account may not read the metrics.")
        from workbench.local_platform.metrics import CONTENT_TYPE, metrics  # most platforms are asked for none

        return web.Response(body=metrics(self.config, self._shared), headers={"Content-Type": CONTENT_TYPE})

    async def list_models(self, request: web.Request) -> web.Response:
        """`GET /api/models`: exactly the models that the caller's account sees."""
        return json_reply({"data": self._entries(self._account_of(request))}, headers={OFFERS: f"{BATCH}, {USAGE}"})

    async def show_model(self, request: web.Request) -> web.Response:
        """`GET /api/models/{id}`: one entry of the list, as OpenAI's clients ask for it."""
        wanted = request.match_info["id"]
        for entry in self._entries(self._account_of(request)):
            if entry["id"] == wanted:
                return json_reply(entry)
        raise RefusedError(404, "Model not found", "model_not_found")

    async def show_usage(self, request: web.Request) -> web.Response:
        """`GET /api/usage`: what the caller's account used and has left; `since` counts from another moment on."""
        account, since = self._account_of(request), _since(request)
        found = await own_usage(account, self.config, self._shared.state, self._accounts, self._shared.turns, since)
        return json_reply(found)

    def _entries(self, account: str) -> list[dict[str, Any]]:
        routes, presets = self._catalogue.visible(account)
        models: list[Route | Preset] = [*routes, *presets]
        return [replies.entry(model, self._catalogue.route_of(model)) for model in models]

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """`POST /api/chat/completions`, streamed and not."""
        account = self._account_of(request)
        raw = await body_of(request, self.config.limits.body_bytes, self.config.limits.request_s)
        repeat = self._shared.repeats.count(raw) if self._draws_again else 0
        is_batch = request.headers.get(PRIORITY, "").strip().lower() == BATCH
        call = self._catalogue.call(account, request.content_type, raw, repeat, is_batch=is_batch)
        request[ACCESS].model, request[ACCESS].course = call.requested, call.course
        self._shared.statistics.received(account, call.requested)
        fault = self._chance.fault(call.route, call, self._clock.now_s(), front=True)
        if fault is not None and fault.kind == "gateway":
            status = 400 if self.config.silent.errors == "detail_400" else 500
            raise RefusedError(status, "Server Connection Error: the gateway cannot be reached.")
        if fault is not None:
            request[ACCESS].error = f"simulated: the answer is lost on its way to the caller ({fault.kind})"
        try:
            async with self._gateway.slot(call):
                with self._shared.statistics.flight(account, call.route.id):
                    call = await self._within_allowance(call)
                    return await (self._stream if call.streamed else self._whole)(request, call, fault)
        except FullError as full:
            return replies.full(full.own_limit, self.config.silent)
        except Failure as failure:
            request[ACCESS].error = failure.text
            return replies.failed(failure, self._gateway.status_of(failure), call, self.config.silent)

    async def _whole(self, request: web.Request, call: Call, fault: RouteFault | None) -> web.StreamResponse:
        route, answer = await self._gateway.complete(call)
        request[ACCESS].route = route.id
        reply = replies.completion(answer, self._served_name(call, route), self.config.silent)
        return reply if fault is None else await spoilt(request, reply, fault)

    async def _stream(self, request: web.Request, call: Call, fault: RouteFault | None) -> web.StreamResponse:
        stream = await self._gateway.open_stream(call)
        request[ACCESS].route, request[ACCESS].streamed = stream.route.id, True
        headers = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
        reply = web.StreamResponse(headers=headers | {REQUEST_ID: request[ACCESS].request_id})
        async with aclosing(stream):
            writer = Writer(request, reply, fault)
            await self._relay(request[ACCESS], writer, stream, call)
        await writer.end()
        return reply

    async def _relay(self, access: Access, writer: Writer, stream: Stream, call: Call) -> None:
        """Pass a stream on until it ends, breaks off, or its time is over."""
        silent, name = self.config.silent, self._streamed_name(call, stream.route)
        try:
            async with self._clock.limit(max(stream.end_s - self._clock.now_s(), 0.0)):
                async for event in streaming.events(stream.chunks(), name, silent, wants_usage=call.wants_usage):
                    if event is streaming.DONE and not writer.events:  # a model server that said nothing
                        await writer.write(streaming.empty_end(name, self._clock.unix_s()))
                    await writer.write(event)
            return
        except TimeoutError:
            failure = Failure(silent.time_limit_status, "the time limit is over", drew=None)
        except Failure as found:
            failure = found
        status = self._gateway.status_of(failure)
        self._gateway.broke(stream.route, failure)
        access.error = f"the stream broke off: {failure.text}"
        await writer.write(streaming.broken(failure, status, silent))

    async def _within_allowance(self, call: Call) -> Call:
        if not self._accounts.is_exhausted(call.account):
            if call.is_batch and self._accounts.is_reserved(call.account):
                raise RefusedError(429, RESERVED_TEXT, replies.RESERVED)
            return call
        silent = self.config.silent
        fallback = self._catalogue.fallback_of(call.route)
        if silent.exhausted == "fallback" and fallback is not None:
            return call.on(fallback)
        if silent.exhausted == "silent":
            await self._clock.sleep(self._gateway.limit_s(call.route))
            raise Failure(silent.time_limit_status, "nothing was said within the time limit")
        raise RefusedError(silent.exhausted_status, silent.exhausted_detail, replies.QUOTA)

    def _served_name(self, call: Call, route: Route) -> str:
        """Return what `model` says of an answer that is not streamed (Resources, Chat completion response)."""
        match self.config.silent.served_name:
            case "upstream":
                return route.upstream
            case "requested" if route is not call.meant:
                return route.upstream
            case _:
                return route.id

    def _streamed_name(self, call: Call, route: Route) -> str:
        """Return the same in a stream, where a fallback was seen to give its own id."""
        return route.upstream if self.config.silent.served_name == "upstream" else route.id

    def _backend_of(self, route: Route) -> Backend:
        return self._simulated if route.simulated is not None else self._upstream

    def _account_of(self, request: web.Request) -> str:
        """Return the account whose key a request bears (Authentication).

        Raises:
            RefusedError: It bears none that is accepted.
        """
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        account = self._accounts.owner_of(key.strip()) if scheme.lower() == "bearer" else None
        if account is None:
            given = "Authorization" in request.headers
            raise RefusedError(401, "The API key is not valid or was revoked." if given else "Not authenticated")
        request[ACCESS].account = account
        return account


def _since(request: web.Request) -> datetime | None:
    """Return the moment that a query names.

    Raises:
        RefusedError: It is none, or has no offset.
    """
    text = request.query.get("since")
    if text is None:
        return None
    moment: datetime | None = None
    with contextlib.suppress(msgspec.ValidationError):
        moment = msgspec.convert(text.replace(" ", "+"), datetime)  # a plus that was not escaped
    if moment is None or moment.tzinfo is None or not 1 < moment.year < 9999:
        raise RefusedError(400, "since is not a moment with an offset, such as 2026-11-01T00:00:00Z", quotes_body=True)
    return moment
