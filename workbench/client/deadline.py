"""A timeout that does not count the time while the process is suspended."""

import asyncio
from types import TracebackType

_STOOD_STILL_S, _TO_CATCH_UP_S = 1.0, 5.0


class Deadline:
    """Raises TimeoutError within its context after `delay_s`; later if the process was suspended, as with Ctrl-Z
    or while a laptop slept: what waits in the sockets by then is read first.

    Args:
        delay_s: From entering the context.
    """

    __slots__ = ("_delay_s", "_loop", "_scope", "_timer")

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s

    async def __aenter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._scope = asyncio.timeout(None)
        await self._scope.__aenter__()
        self._wait_until(self._loop.time() + self._delay_s)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        await self._scope.__aexit__(kind, error, trace)

    def _wait_until(self, due_at: float) -> None:
        self._timer = self._loop.call_at(due_at, self._expire, due_at)

    def _expire(self, due_at: float) -> None:
        now = self._loop.time()
        if now - due_at > _STOOD_STILL_S:
            self._wait_until(now + _TO_CATCH_UP_S)
        else:
            self._scope.reschedule(now)
