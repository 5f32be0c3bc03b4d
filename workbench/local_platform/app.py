"""A platform: its endpoints by the configuration of the moment, and what a server needs beside them."""

import asyncio
import secrets
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from aiohttp import web

from workbench.local_platform import replies
from workbench.local_platform.access import ACCESS, Access, AccessLog
from workbench.local_platform.accounts import Accounts
from workbench.local_platform.calls import RefusedError
from workbench.local_platform.config import MOST_BODY_BYTES, PlatformConfig
from workbench.local_platform.endpoints import REQUEST_ID, Endpoints
from workbench.local_platform.pane import Pane
from workbench.local_platform.replies import json_reply
from workbench.local_platform.shared import Shared, Surroundings
from workbench.local_platform.state import State, StateError
from workbench.local_platform.statistics import Statistics

_FIXED: dict[str, Callable[[PlatformConfig], float]] = {
    "clock_speed": lambda config: config.clock_speed,
    "limits.header_bytes": lambda config: config.limits.header_bytes,
    "limits.head_s": lambda config: config.limits.head_s,
}
"""What the listening server was made with."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Platform:
    """One platform.

    Args:
        state: Keys and draws; by default in memory.
        keys: Key -> account of keys that live as long as this process only; just their hashes are kept.
    """

    def __init__(
        self,
        config: PlatformConfig,
        state: State | None = None,
        keys: dict[str, str] | None = None,
        log: AccessLog | None = None,
        around: Surroundings = Surroundings(),  # noqa: B008 - frozen
    ) -> None:
        self.stopping = False
        """Whether requests in flight are cut off now."""
        self._shared = Shared(config, state, keys or {}, around)
        self._endpoints = Endpoints(config, self._shared)
        self._log = log

    @property
    def config(self) -> PlatformConfig:
        """The configuration by which new requests are answered."""
        return self._endpoints.config

    @property
    def state(self) -> State:
        """Keys and draws."""
        return self._shared.state

    def change(self, config: PlatformConfig, environment: Mapping[str, str]) -> list[str]:
        """Answer new requests by another configuration; those in flight keep what they began with.

        Args:
            environment: Where the model servers' secrets are.

        Returns:
            What of it takes a restart.
        """
        before = self.config
        self._shared.change(config, environment)
        self._endpoints = Endpoints(config, self._shared)
        return [name for name, value in _FIXED.items() if value(config) != value(before)]

    @property
    def statistics(self) -> Statistics:
        """What was counted since the start."""
        return self._shared.statistics

    @property
    def accounts(self) -> Accounts:
        """The accounts, as the running platform sees them."""
        return self._shared.accounts

    def waiting(self) -> dict[str, int]:
        """Return how many requests of an account wait for a slot, of those that have any."""
        return self._shared.turns.waiting()

    def application(self) -> web.Application:
        """Return the aiohttp application that serves this platform."""
        app = web.Application(client_max_size=MOST_BODY_BYTES, middlewares=[self._around])
        for prefix in ("/api", "/api/v1"):  # the second was seen to be the same
            app.router.add_get(f"{prefix}/models", self._by(Endpoints.list_models))
            app.router.add_get(f"{prefix}/models/{{id:.+}}", self._by(Endpoints.show_model))
            app.router.add_get(f"{prefix}/usage", self._by(Endpoints.show_usage))
            app.router.add_post(
                f"{prefix}/chat/completions",
                self._by(Endpoints.complete),
                expect_handler=_expected,
            )
        app.router.add_get("/health", self.health)
        app.router.add_get("/metrics", self._by(Endpoints.show_metrics))
        app.router.add_get("/statistics", self._by(Endpoints.show_statistics))
        pane = Pane(self._shared, lambda: self.config, lambda method: replies.unknown_path(self.config.silent, method))
        pane.add_to(app)
        app.on_cleanup.append(self._close)
        return app

    def _by(self, answer: Callable[[Endpoints, web.Request], Awaitable[web.StreamResponse]]) -> Handler:
        """Return a handler that answers by the configuration of the moment in which a request comes."""

        async def handle(request: web.Request) -> web.StreamResponse:
            return await answer(self._endpoints, request)

        return handle

    async def health(self, request: web.Request) -> web.Response:
        """`GET /health`: whether requests are taken, and else why not; without a key."""
        because = [
            *(["it is stopping"] if self.stopping else []),
            *(["usage cannot be recorded"] if not self._shared.accounts.records() else []),
        ]
        return json_reply({"status": "not ready", "because": because}, 503) if because else json_reply({"status": "ok"})

    @web.middleware
    async def _around(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Give every request an id, every refusal its shape, and every end a line in the log."""
        access = request[ACCESS] = Access(secrets.token_hex(8), request.method, request.path)
        try:
            reply = await self._answered(request, handler)
        except (asyncio.CancelledError, ConnectionError):  # the second of the caller's own connection, in a stream
            access.status = 503 if self.stopping else 499  # 499: as web servers log a caller that left
            raise
        else:
            access.status = reply.status
            if not reply.prepared:
                reply.headers[REQUEST_ID] = access.request_id
            return reply
        finally:
            if access.model is not None:
                self.statistics.ended(access.model, access.status, time.perf_counter() - access.began_s)
            if self._log is not None:
                self._log.write(access)

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except RefusedError as refused:
            request[ACCESS].error = "the body is not valid" if refused.quotes_body else str(refused.detail)
            return replies.refusal(refused.status, refused.detail, refused.code)
        except StateError as error:
            request[ACCESS].error = str(error)
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
            request[ACCESS].error = f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
            return replies.refusal(500, "The platform failed.")

    async def _close(self, _: web.Application) -> None:
        await self._shared.close()


async def _expected(request: web.Request) -> web.Response | None:
    """Send 100 Continue to a caller that waits for it, and refuse other expectations (RFC 9110, 10.1.1)."""
    if request.headers.get("Expect", "").lower() != "100-continue":
        return replies.refusal(417, "Expectation Failed")
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    request.writer.output_size = 0
    return None
