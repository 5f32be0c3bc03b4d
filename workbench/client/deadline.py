"""A time-out that does not count while the process stands still."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_STOOD_STILL_S, _TO_CATCH_UP_S = 1.0, 5.0


@asynccontextmanager
async def deadline(delay_s: float) -> AsyncIterator[None]:
    """Raise TimeoutError after some s; later where the process stood still meanwhile, as with Ctrl-Z or while a laptop
    slept: what waits in the sockets by then is read first.
    """
    loop = asyncio.get_running_loop()

    def expire(due_at: float) -> None:
        if loop.time() - due_at > _STOOD_STILL_S:
            due_at = loop.time() + _TO_CATCH_UP_S
            timers.append(loop.call_at(due_at, expire, due_at))
        else:
            scope.reschedule(loop.time())

    due_at = loop.time() + delay_s
    timers = [loop.call_at(due_at, expire, due_at)]
    try:
        async with asyncio.timeout(None) as scope:
            yield
    finally:
        timers[-1].cancel()
