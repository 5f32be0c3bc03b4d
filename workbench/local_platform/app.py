"""The endpoints of the document, and what a server needs beside them."""

import asyncio
import contextlib
import os
import secrets
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from workbench.local_platform import replies, streaming
from workbench.local_platform.access import Access, AccessLog
from workbench.local_platform.accounts import Accounts
from workbench.local_platform.answer_key import AnswerKey
from workbench.local_platform.backend import Backend, Failure
from workbench.local_platform.calls import Call, Catalogue, RefusedError
from workbench.local_platform.chance import Chance, Repeats
from workbench.local_platform.clock import Clock
from workbench.local_platform.config import PlatformConfig, Route, RouteFault
from workbench.local_platform.gateway import Gateway, Stream
from workbench.local_platform.replies import json_reply
from workbench.local_platform.simulated import Simulated
from workbench.local_platform.state import State, StateError
from workbench.local_platform.statistics import Statistics
from workbench.local_platform.turns import FullError
from workbench.local_platform.upstream import Upstream
from workbench.local_platform.usage import own_usage

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_REQUEST_ID = "X-Request-Id"
PRIORITY, BATCH = "X-Priority", "batch"
"""The header with which a request says that it is batch work."""
RESERVED_TEXT = "Reserved for people: batch work may not use the rest of the allowance."
OFFERS, USAGE = "X-Platform-Offers", "usage"
"""The header of a model list that names what this platform offers beyond the document."""
_PATIENCE_S = 30.0
"""How long a caller may not read before its stream is given up."""
_BEGINNING_EVENTS = 2
_ACCESS = web.RequestKey("access", Access)


class Surroundings(NamedTuple):
    """What a platform finds around it."""

    environment: Mapping[str, str] = os.environ
    """Where the model servers' secrets are."""
    clock: Clock | None = None
    """What time it is for the platform; by default the world's, as fast as the configuration says."""
    answers: Path | None = None
    """The file of an answer key for the simulated routes."""
    scheduled: str = ""
    """The time for which the requests are scheduled, such as 2026-11-21T02:00Z; empty where they are not."""


class Platform:
    """One platform.

    Args:
        config: Routes, presets, accounts, limits.
        state: Keys and draws; by default in memory.
        keys: Key -> account of keys that live as long as this process only; just their hashes are kept.
        log: Logs every request; off by default.
        around: What it finds around it.
    """

    def __init__(
        self,
        config: PlatformConfig,
        state: State | None = None,
        keys: dict[str, str] | None = None,
        log: AccessLog | None = None,
        around: Surroundings = Surroundings(),  # noqa: B008 - frozen
    ) -> None:
        self.config = config
        self.stopping = False
        """Whether requests in flight are cut off now."""
        self._clock = around.clock or Clock(config.clock_speed)
        self.state = state or State(busy_s=0.0, clock=self._clock)
        self._log = log
        self._catalogue = Catalogue(config)
        self._accounts = Accounts(config, self.state, keys or {})
        self._chance = Chance(config.seed)
        draws_again = any(route.faults or route.wrong_verdicts for route in config.routes) or around.answers is not None
        self._repeats = Repeats() if draws_again else None
        silent_streams = config.silent.garbled_stream == "empty"
        self._simulated: Backend = Simulated(
            self._clock,
            config.seed,
            silent_streams=silent_streams,
            key=None if around.answers is None else AnswerKey(around.answers),
            scheduled=around.scheduled,
        )
        self._upstream: Backend = Upstream(around.environment, config.limits.in_flight, silent_streams=silent_streams)
        self._gateway = Gateway(config, self._catalogue, self._accounts, self._clock, self._backend_of)

    @property
    def statistics(self) -> Statistics:
        """What was counted since the start."""
        return self._gateway.statistics

    def waiting(self) -> dict[str, int]:
        """Return how many requests of an account wait for a slot, of those that have any."""
        return self._gateway.turns.waiting()

    def application(self) -> web.Application:
        """Return the aiohttp application that serves this platform."""
        app = web.Application(client_max_size=self.config.limits.body_bytes, middlewares=[self._around])
        for prefix in ("/api", "/api/v1"):  # the second was seen to be the same
            app.router.add_get(f"{prefix}/models", self.list_models)
            app.router.add_get(f"{prefix}/models/{{id:.+}}", self.show_model)
            app.router.add_get(f"{prefix}/usage", self.show_usage)
            app.router.add_post(f"{prefix}/chat/completions", self.complete, expect_handler=_expected)
        app.router.add_get("/health", self.health)
        app.router.add_get("/statistics", self.show_statistics)
        app.on_cleanup.append(self._close)
        return app

    async def health(self, request: web.Request) -> web.Response:
        """`GET /health`: that requests are taken; without a key."""
        return json_reply({"status": "ok"})

    async def show_statistics(self, request: web.Request) -> web.Response:
        """`GET /statistics`: counters, for the accounts that may read them."""
        if not self.config.statistics_for:
            return replies.unknown_path(self.config.silent, request.method)
        if self._account_of(request) not in self.config.statistics_for:
            raise RefusedError(403, "This account may not read the statistics.")
        return json_reply(self.statistics.as_object())

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
        found = await own_usage(account, self.config, self.state, self._accounts, self._gateway.turns, since)
        return json_reply(found)

    def _entries(self, account: str) -> list[dict[str, Any]]:
        routes, presets = self._catalogue.visible(account)
        bases = {route.id: route for route in self.config.routes}
        entries = [replies.entry(route, route) for route in routes]
        return entries + [replies.entry(preset, bases[preset.base]) for preset in presets]

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """`POST /api/chat/completions`, streamed and not."""
        account = self._account_of(request)
        raw = await _body_of(request, self.config.limits.request_s)
        repeat = 0 if self._repeats is None else self._repeats.count(raw)
        is_batch = request.headers.get(PRIORITY, "").strip().lower() == BATCH
        call = self._catalogue.call(account, request.content_type, raw, repeat, is_batch=is_batch)
        request[_ACCESS].model, request[_ACCESS].course = call.requested, call.course
        self.statistics.received(account, call.requested)
        fault = self._chance.fault(call.route, call, self._clock.now_s(), front=True)
        if fault is not None and fault.kind == "gateway":
            status = 400 if self.config.silent.errors == "detail_400" else 500
            raise RefusedError(status, "Server Connection Error: the gateway cannot be reached.")
        if fault is not None:
            request[_ACCESS].error = f"simulated: the answer is lost on its way to the caller ({fault.kind})"
        try:
            async with self._gateway.slot(call):
                with self.statistics.flight(account, call.route.id):
                    call = await self._within_allowance(call)
                    return await (self._stream if call.streamed else self._whole)(request, call, fault)
        except FullError as full:
            return replies.full(full.own_limit, self.config.silent)
        except Failure as failure:
            request[_ACCESS].error = failure.text
            return replies.failed(failure, self._gateway.status_of(failure), call, self.config.silent)

    async def _whole(self, request: web.Request, call: Call, fault: RouteFault | None) -> web.StreamResponse:
        route, answer = await self._gateway.complete(call)
        request[_ACCESS].route = route.id
        reply = replies.completion(answer, self._served_name(call, route), self.config.silent)
        return reply if fault is None else await _spoilt(request, reply, fault)

    async def _stream(self, request: web.Request, call: Call, fault: RouteFault | None) -> web.StreamResponse:
        stream = await self._gateway.open_stream(call)
        request[_ACCESS].route, request[_ACCESS].streamed = stream.route.id, True
        headers = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
        reply = web.StreamResponse(headers=headers | {_REQUEST_ID: request[_ACCESS].request_id})
        async with aclosing(stream):
            writer = _Writer(request, reply, fault)
            await self._relay(request[_ACCESS], writer, stream, call)
        await writer.end()
        return reply

    async def _relay(self, access: Access, writer: "_Writer", stream: Stream, call: Call) -> None:
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
        request[_ACCESS].account = account
        return account

    @web.middleware
    async def _around(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Give every request an id, every refusal its shape, and every end a line in the log."""
        access = request[_ACCESS] = Access(secrets.token_hex(8), request.method, request.path)
        try:
            reply = await self._answered(request, handler)
        except (asyncio.CancelledError, ConnectionError):  # the second of the caller's own connection, in a stream
            access.status = 503 if self.stopping else 499  # 499: as web servers log a caller that left
            raise
        else:
            access.status = reply.status
            if not reply.prepared:
                reply.headers[_REQUEST_ID] = access.request_id
            return reply
        finally:
            if self._log is not None:
                self._log.write(access)

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except RefusedError as refused:
            request[_ACCESS].error = "the body is not valid" if refused.quotes_body else str(refused.detail)
            return replies.refusal(refused.status, refused.detail, refused.code)
        except StateError:
            return replies.refusal(503, "The platform cannot record usage, so it accepts no requests.")
        except web.HTTPNotFound:
            return replies.unknown_path(self.config.silent, request.method)
        except web.HTTPMethodNotAllowed as error:
            reply = replies.refusal(error.status, error.reason)
            reply.headers["Allow"] = error.headers["Allow"]  # RFC 9110, 15.5.6
            return reply
        except web.HTTPException as error:
            return replies.refusal(error.status, error.reason)
        except Exception as error:  # a bug here: reported, and the server keeps running
            if request.writer.output_size:
                raise
            place = traceback.extract_tb(error.__traceback__)[-1]  # its text may quote the request
            request[_ACCESS].error = f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
            return replies.refusal(500, "The platform failed.")

    async def _close(self, _: web.Application) -> None:
        await self._upstream.close()
        await self._simulated.close()
        self._accounts.close()


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


async def _body_of(request: web.Request, patience_s: float) -> bytes:
    if request.headers.get("Content-Encoding", "identity").lower() not in ("", "identity"):
        raise RefusedError(415, "the body is compressed; send it as it is")
    try:
        async with asyncio.timeout(patience_s):
            return await request.read()
    except web.HTTPException:  # larger than a body may be
        raise
    except TimeoutError as error:
        raise RefusedError(408, f"the body did not come within {patience_s:g} s") from error
    except Exception as error:  # cut off, and whatever else a socket brings
        raise RefusedError(400, f"the body cannot be read: {type(error).__name__}") from error


async def _expected(request: web.Request) -> web.Response | None:
    """Send 100 Continue to a caller that waits for it, and refuse other expectations (RFC 9110, 10.1.1)."""
    if request.headers.get("Expect", "").lower() != "100-continue":
        return replies.refusal(417, "Expectation Failed")
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    request.writer.output_size = 0
    return None


class _Writer:
    """Writes a stream to a caller, or loses it on the way; one who does not read is not waited for.

    Args:
        reply: Not prepared yet.
        fault: One in front of the model server: `reset` loses everything, `truncate` all but the beginning.
    """

    def __init__(self, request: web.Request, reply: web.StreamResponse, fault: RouteFault | None) -> None:
        self.events = 0
        self._request, self._reply = request, reply
        self._gone = False
        self._most = None if fault is None else 0 if fault.kind == "reset" else _BEGINNING_EVENTS

    async def write(self, event: bytes) -> None:
        """Write one event."""
        self.events += 1
        if self._gone or not event or (self._most is not None and self.events > self._most):
            return
        try:
            async with asyncio.timeout(_PATIENCE_S):
                if not self._reply.prepared:
                    await self._reply.prepare(self._request)
                await self._reply.write(event)
        except TimeoutError:
            self._abort()

    async def end(self) -> None:
        """Write the end."""
        if self._most is not None:
            self._abort()
        elif not self._gone:
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    await self._reply.write_eof()
            except TimeoutError:
                self._abort()

    def _abort(self) -> None:
        self._gone = True
        if self._request.transport is not None:
            self._request.transport.abort()


async def _spoilt(request: web.Request, reply: web.Response, fault: RouteFault) -> web.StreamResponse:
    """Lose an answer on its way to the caller, all of it or its second half."""
    if request.transport is None:
        return reply
    if fault.kind == "reset":
        request.transport.abort()
        return reply
    body = reply.body if isinstance(reply.body, bytes) else b""
    cut = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
    await cut.prepare(request)
    await cut.write(body[: len(body) // 2])
    request.transport.close()
    return cut
