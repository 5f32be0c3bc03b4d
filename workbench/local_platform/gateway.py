"""The gateway in front of the routes: slots, time limits, retries, cooldowns, fallbacks, and a draw for every attempt."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from workbench.local_platform.accounts import Accounts, OpenDraw
from workbench.local_platform.backend import Backend, Failure, first_choice, usage_of
from workbench.local_platform.calls import Call, Catalogue
from workbench.local_platform.clock import Clock
from workbench.local_platform.config import PlatformConfig, Route
from workbench.local_platform.statistics import Statistics

T = TypeVar("T")
_CHARS_A_TOKEN = 4


class FullError(Exception):
    """Every slot of the platform is taken."""


@dataclass
class Stream:
    """A streamed answer that has begun."""

    route: Route
    chunks: AsyncIterator[dict[str, Any]]
    """From the first one on; raises Failure where it breaks off. To be closed."""


class Gateway:
    """Asks routes, on behalf of accounts.

    Args:
        config: Limits, and what is chosen where the document is silent.
        catalogue: Knows the fallbacks.
        accounts: Whose draws are written down.
        clock: The platform's.
        backends: The model servers of a route.
    """

    def __init__(
        self,
        config: PlatformConfig,
        catalogue: Catalogue,
        accounts: Accounts,
        clock: Clock,
        backends: Callable[[Route], Backend],
    ) -> None:
        self._limits, self._silent = config.limits, config.silent
        self._assumed = config.allowance.assumed_completion_tokens
        self._catalogue, self._accounts, self._clock, self._backends = catalogue, accounts, clock, backends
        self.statistics = Statistics()
        self._slots = asyncio.Semaphore(config.limits.in_flight)
        self._cold_until: dict[str, float] = {}

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold one of the platform's slots.

        Raises:
            FullError: There is none, and nobody may wait.
        """
        if self._silent.past_limit != "queue" and self._slots.locked():
            raise FullError
        async with self._slots:
            yield

    async def complete(self, call: Call) -> tuple[Route, dict[str, Any]]:
        """An answer, and the route that gave it.

        Raises:
            Failure: Neither the route nor its fallback answers; the first route's failure.
        """

        async def once(route: Route, attempt: int) -> dict[str, Any]:
            draw = await self._open_draw(call, route)
            try:
                answer = await self._backends(route).complete(route, call, attempt)
            except Failure as failure:
                if failure.drew is False:
                    draw.release()
                raise
            self._settle(draw, route, answer)
            return answer

        return await self._routes_in_turn(call, once)

    async def open_stream(self, call: Call) -> Stream:
        """A streamed answer whose first chunk has come.

        Raises:
            Failure: Neither the route nor its fallback begins one.
        """

        async def once(route: Route, attempt: int) -> AsyncIterator[dict[str, Any]]:
            draw = await self._open_draw(call, route)
            chunks = self._drawing(self._backends(route).stream(route, call, attempt), draw, route, call)
            try:
                first = await anext(chunks, None)
            except Failure as failure:
                if failure.drew is False:
                    draw.release()
                raise
            return _with_first(first, chunks)

        route, chunks = await self._routes_in_turn(call, once)
        return Stream(route, chunks)

    def limit_s(self, route: Route) -> float:
        """The time limit of a route, on the platform's clock."""
        return route.limit_s or self._limits.time_limit_s

    def status_of(self, failure: Failure) -> int:
        """The HTTP status of a failure; that of a server which cannot be reached is a choice."""
        return failure.status or self._silent.unreachable_status

    async def _open_draw(self, call: Call, route: Route) -> OpenDraw:
        self.statistics.attempted(route.id)
        estimated_tokens = call.estimated_tokens(self._assumed)
        return await self._accounts.open_draw(call.account, call.requested, route, estimated_tokens)

    def _settle(self, draw: OpenDraw, route: Route, answer: dict[str, Any]) -> bool:
        usage = usage_of(answer)
        if usage is None:
            return False
        draw.settle(*usage)
        self.statistics.reported(route.id, usage.total)
        return True

    async def _drawing(
        self, chunks: AsyncIterator[dict[str, Any]], draw: OpenDraw, route: Route, call: Call
    ) -> AsyncIterator[dict[str, Any]]:
        """The same chunks; the draw is settled when usage comes, and estimated by what came when it does not."""
        chars, finished, settled = 0, False, False
        try:
            async with aclosing(chunks):  # type: ignore[type-var]  # every backend's stream is a generator
                async for chunk in chunks:
                    choice = first_choice(chunk)
                    finished = finished or choice.get("finish_reason") is not None
                    if not settled and (finished or not choice):  # some servers tell in every chunk what it is so far
                        settled = self._settle(draw, route, chunk)
                    chars += _generated_chars(choice)
                    yield chunk
        finally:
            if chars and not settled:
                draw.estimate(len(call.raw) // _CHARS_A_TOKEN + chars // _CHARS_A_TOKEN + 1)

    async def _routes_in_turn(self, call: Call, once: Callable[[Route, int], Awaitable[T]]) -> tuple[Route, T]:
        try:
            return call.route, await self._attempts(call.route, once)
        except Failure as failure:
            fallback = self._catalogue.fallback_of(call.route)
            if fallback is None:
                raise
            first = failure
        try:
            return fallback, await self._attempts(fallback, once)
        except Failure:
            raise first from None

    async def _attempts(self, route: Route, once: Callable[[Route, int], Awaitable[T]]) -> T:
        begin_s, attempt = self._clock.now_s(), 0
        while True:
            self._refuse_cold(route)
            spent_s = self._clock.now_s() - begin_s if self._silent.time_limit_per == "request" else 0.0
            try:
                async with self._clock.limit(self.limit_s(route) - spent_s):
                    return await once(route, attempt)
            except TimeoutError:
                text = f"the model server did not answer within {self.limit_s(route):g} s"
                failure = Failure(self._silent.time_limit_status, text, drew=None)
                last = self._silent.time_limit_per == "request"
            except Failure as found:
                failure, last = found, not (found.may_pass or found.status == 0)
            self.statistics.failed(route.id, self.status_of(failure))
            if last or attempt >= self._limits.retries:
                if self._silent.cooldown_s and failure.status in self._silent.cooldown_after:
                    self._cold_until[route.id] = self._clock.now_s() + self._silent.cooldown_s
                raise failure
            await self._clock.sleep(self._limits.retry_pause_s * 2**attempt)
            attempt += 1

    def _refuse_cold(self, route: Route) -> None:
        left_s = self._cold_until.get(route.id, 0.0) - self._clock.now_s()
        if left_s > 0:
            text = (
                f"No deployments available for selected model, Try again in {left_s:.0f} seconds. All are in cooldown."
            )
            raise Failure(429, text, retry_after_s=left_s)


async def _with_first(
    first: dict[str, Any] | None, chunks: AsyncIterator[dict[str, Any]]
) -> AsyncIterator[dict[str, Any]]:
    async with aclosing(chunks):  # type: ignore[type-var]
        if first is not None:
            yield first
        async for chunk in chunks:
            yield chunk


def _generated_chars(choice: dict[str, Any]) -> int:
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return 0
    return sum(len(delta[name]) for name in ("content", "reasoning_content") if isinstance(delta.get(name), str))
