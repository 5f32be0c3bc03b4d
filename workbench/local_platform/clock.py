"""The platform's clock, which may run faster than the world's."""

import asyncio
import time


class Clock:
    """The platform's own time.

    Args:
        speed: How many of its seconds pass in one.
    """

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = speed
        self._start = time.monotonic()

    def now_s(self) -> float:
        """The platform's seconds since it started."""
        return (time.monotonic() - self._start) * self._speed

    async def sleep(self, duration_s: float) -> None:
        """Wait for this many of the platform's seconds."""
        if duration_s > 0:
            await asyncio.sleep(duration_s / self._speed)

    def limit(self, duration_s: float) -> asyncio.Timeout:
        """A time limit of this many of the platform's seconds."""
        return asyncio.timeout(duration_s / self._speed)
