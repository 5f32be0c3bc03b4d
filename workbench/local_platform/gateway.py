"""The gateway in front of the routes: slots, time limits, retries, cooldowns, fallbacks, and a draw for every attempt."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager
from typing import Any, TypeVar

from workbench.local_platform.accounts import OpenDraw
from workbench.local_platform.backend import Backend, CoolingDown, Failure, Usage, finishes, generated_chars, usage_of
from workbench.local_platform.calls import Call, Catalogue
from workbench.local_platform.config import PlatformConfig, Route
from workbench.local_platform.habits import Habits
from workbench.local_platform.shared import Shared

T = TypeVar("T")
Once = Callable[[Route, int, asyncio.Timeout], Awaitable[T]]
"""One attempt: at a route, for which time, within which limit."""
_NOT_REPORTED, _NO_TIME = "its usage was not reported", "no answer within the time limit"
_GIVEN_UP = "given up before its end: the caller left, its time was over, or the platform was stopped"
_LONGEST_WAIT_S = 30.0
"""A route that asks for more time is not tried again for this request: its caller is told when to come back."""
_OUTAGES = frozenset({502, 503, 530})
"""With these a model server, or what stands in front of it, says that it did not take a request on."""


class Stream:
    """A streamed answer that has begun; to be closed.

    Args:
        end_s: On the platform's clock: when its time is over.
        first: Its first chunk, if there is one.
        rest: The others; raises Failure where it breaks off.
    """

    def __init__(
        self, route: Route, end_s: float, first: dict[str, Any] | None, rest: AsyncGenerator[dict[str, Any]]
    ) -> None:
        self.route, self.end_s = route, end_s
        self._first, self._rest = first, rest

    async def chunks(self) -> AsyncIterator[dict[str, Any]]:
        """Return all of it."""
        if self._first is not None:
            yield self._first
            async for chunk in self._rest:
                yield chunk

    async def aclose(self) -> None:
        """Disconnect from the model server; a draw whose size is not known stays open."""
        await self._rest.aclose()


class Gateway:
    """Asks routes, on behalf of accounts."""

    def __init__(
        self, config: PlatformConfig, catalogue: Catalogue, shared: Shared, backends: Callable[[Route], Backend]
    ) -> None:
        self._limits, self._silent = config.limits, config.silent
        self._assumed = config.allowance.assumed_completion_tokens
        self._catalogue, self._backends = catalogue, backends
        self._accounts, self._clock, self.statistics = shared.accounts, shared.clock, shared.statistics
        self._turns, self._cold_until = shared.turns, shared.cold_until
        self._habits = shared.habits
        for route in config.routes:
            self._habits.setdefault(route.id, Habits(self._assumed)).assumed = self._assumed

    def slot(self, call: Call) -> AbstractAsyncContextManager[None]:
        """Hold one of the platform's slots for a call; raises FullError where there is none, and the call may not wait."""
        return self._turns.slot(call.account, is_batch=call.is_batch, patience_s=self.limit_s(call.route))

    async def complete(self, call: Call) -> tuple[Route, dict[str, Any]]:
        """Return an answer, and the route that gave it.

        Raises:
            Failure: Neither the route nor its fallback answers; the first route's failure.
        """

        async def once(route: Route, attempt: int, limit: asyncio.Timeout) -> dict[str, Any]:
            draw = await self._open_draw(call, route)
            with self._charged(draw, call, route, limit):
                _refuse_unusable(route)
                answer = await self._backends(route).complete(route, call, attempt)
            self._close_draw(draw, call, route, usage_of(answer), generated_chars(answer), _NOT_REPORTED)
            return answer

        return await self._routes_in_turn(call, once)

    async def open_stream(self, call: Call) -> Stream:
        """Return a streamed answer whose first chunk has come.

        Raises:
            Failure: Neither the route nor its fallback begins one.
        """
        begin_s = self._clock.now_s()

        async def once(route: Route, attempt: int, limit: asyncio.Timeout) -> Stream:
            attempt_s = begin_s if self._silent.time_limit_per == "request" else self._clock.now_s()
            draw = await self._open_draw(call, route)
            with self._charged(draw, call, route, limit):
                _refuse_unusable(route)
                chunks = self._drawing(self._backends(route).stream(route, call, attempt), draw, route, call)
                first = await anext(chunks, None)
            return Stream(route, attempt_s + self.limit_s(route), first, chunks)

        _, stream = await self._routes_in_turn(call, once)
        return stream

    def broke(self, route: Route, failure: Failure) -> None:
        """Count a stream that broke off."""
        self.statistics.failed(route.id, self.status_of(failure))

    def limit_s(self, route: Route) -> float:
        """Return the time limit of a route, on the platform's clock."""
        return route.limit_s or self._limits.time_limit_s

    def status_of(self, failure: Failure) -> int:
        """Return the HTTP status of a failure; that of a server which cannot be reached is a choice."""
        return failure.status or self._silent.unreachable_status

    async def _open_draw(self, call: Call, route: Route) -> OpenDraw:
        self.statistics.attempted(route.id)
        call.course.attempts += 1
        estimated_tokens = self._habits[route.id].estimated_tokens(call)
        draw = await self._accounts.open_draw(
            call.account, call.requested, route, estimated_tokens, call.course.first_draw
        )
        call.course.first_draw = call.course.first_draw or draw.number
        return draw

    def _close_draw(
        self, draw: OpenDraw, call: Call, route: Route, usage: Usage | None, chars: int, reason: str
    ) -> None:
        """Settle a draw; where its size is not known, for this reason, estimate it from what came."""
        if usage is not None and usage.is_known:
            draw.settle(*usage)
            self.statistics.draws[route.id, "settled"] += 1
            self.statistics.reported(route.id, usage.total)
            call.course.tokens = usage.total
            self._habits[route.id].learn(call, usage, chars)
        else:
            self._estimate(draw, route, self._habits[route.id].estimated_tokens(call, chars), reason)

    @contextmanager
    def _charged(self, draw: OpenDraw, call: Call, route: Route, limit: asyncio.Timeout) -> Iterator[None]:
        """Take a draw back where an attempt used nothing; where it may have generated, settle or estimate how much."""
        try:
            yield
        except Failure as failure:
            is_outage = failure.status in _OUTAGES and self._silent.outages == "free"
            if failure.drew is False or is_outage:
                draw.release()
                self.statistics.draws[route.id, "released"] += 1
            else:
                self._close_draw(draw, call, route, failure.usage, 0, failure.text)
            raise
        except asyncio.CancelledError:
            reason = _NO_TIME if limit.expired() else _GIVEN_UP
            self._estimate(draw, route, self._habits[route.id].estimated_tokens(call), reason)
            raise

    def _estimate(self, draw: OpenDraw, route: Route, tokens: int, reason: str) -> None:
        draw.estimate(tokens, reason)
        self.statistics.draws[route.id, "estimated"] += 1

    async def _drawing(
        self, chunks: AsyncGenerator[dict[str, Any]], draw: OpenDraw, route: Route, call: Call
    ) -> AsyncGenerator[dict[str, Any]]:
        """Return the same chunks, with a draw that is closed when they end, however they do; that of a stream which fails before
        its first chunk is closed by whoever asked for it.
        """
        chars, ended, began, reason = 0, False, False, _GIVEN_UP
        usage: Usage | None = None
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    ended = ended or finishes(chunk)
                    told = usage_of(chunk)
                    usage = told if told is not None and told.is_known else usage
                    chars += generated_chars(chunk)
                    began = True
                    yield chunk
            ended = True
        except Failure as failure:
            reason = failure.text
            raise
        finally:
            if began or ended:
                self._close_draw(draw, call, route, usage, chars, _NOT_REPORTED if ended else reason)

    async def _routes_in_turn(self, call: Call, once: Once[T]) -> tuple[Route, T]:
        end_s = float("inf")
        if self._silent.time_limit_per == "request":
            end_s = self._clock.now_s() + self.limit_s(call.route)
        try:
            return call.route, await self._attempts(call, call.route, once, end_s)
        except Failure as failure:
            fallback = self._catalogue.fallback_of(call.route)
            if fallback is None or failure.is_the_callers or self._clock.now_s() >= end_s:
                raise
            if self._silent.exhausted != "fallback" and self._has_nothing_left(call):
                raise
            first = failure
            call.course.failure = first.text
        try:
            answered = await self._attempts(call, fallback, once, end_s)
        except Failure:
            raise first from None
        self.statistics.fallbacks[call.route.id, fallback.id] += 1
        return fallback, answered

    async def _attempts(self, call: Call, route: Route, once: Once[T], end_s: float) -> T:
        attempt = 0
        while True:
            self._refuse_cold(route)
            left_s = end_s - self._clock.now_s()
            try:
                async with self._clock.limit(min(self.limit_s(route), left_s)) as limit:
                    return await once(route, attempt, limit)
            except TimeoutError:
                text = f"the model server did not answer within {self.limit_s(route):g} s"
                failure = Failure(self._silent.time_limit_status, text, drew=None)
            except Failure as found:
                failure = found
            self.statistics.failed(route.id, self.status_of(failure))
            asked_s = failure.retry_after_s or 0.0
            pause_s = max(self._limits.retry_pause_s * 2**attempt, asked_s)
            is_last = not failure.may_pass or attempt >= self._limits.retries or asked_s > _LONGEST_WAIT_S
            if is_last or self._clock.now_s() + pause_s >= end_s:
                self._cool(route, failure)
                raise failure
            await self._clock.sleep(pause_s)
            if route is call.meant and self._has_nothing_left(call):
                raise failure
            attempt += 1

    def _has_nothing_left(self, call: Call) -> bool:
        """Return whether the account's allowance was used up meanwhile, by the attempts of this call or by others."""
        is_reserved = call.is_batch and self._accounts.is_reserved(call.account)
        return is_reserved or self._accounts.is_exhausted(call.account)

    def _cool(self, route: Route, failure: Failure) -> None:
        if self._silent.cooldown_s and self.status_of(failure) in self._silent.cooldown_after:
            self._cold_until[route.id] = self._clock.now_s() + self._silent.cooldown_s

    def _refuse_cold(self, route: Route) -> None:
        left_s = self._cold_until.get(route.id, 0.0) - self._clock.now_s()
        if left_s > 0:
            raise CoolingDown(left_s)


def _refuse_unusable(route: Route) -> None:
    """Fail for what the configuration says of a route, without asking it."""
    if route.unavailable:
        raise Failure(502, "the model server is down")
    if route.secret_missing:
        raise Failure(401, "the model server rejects the platform's own secret")
