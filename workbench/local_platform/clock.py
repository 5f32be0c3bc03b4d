"""The platform's clock, which may run faster than the world's."""

import asyncio
import time
from datetime import datetime


class Clock:
    """The platform's own time.

    Args:
        speed: How many of its seconds pass in one.
        begins_at: The time that it tells when it starts; by default the machine's.
    """

    def __init__(self, speed: float = 1.0, begins_at: datetime | None = None) -> None:
        self._speed = speed
        self._start = time.monotonic()
        self._ahead_s = 0.0 if begins_at is None else begins_at.timestamp() - time.time()

    def unix_s(self) -> float:
        """Return the time that it tells, in Unix seconds, however fast it runs."""
        return time.time() + self._ahead_s

    def now_s(self) -> float:
        """Return the platform's seconds since it started."""
        return (time.monotonic() - self._start) * self._speed

    async def sleep(self, duration_s: float) -> None:
        """Wait for this many of the platform's seconds."""
        if duration_s > 0:
            await asyncio.sleep(duration_s / self._speed)

    def limit(self, duration_s: float) -> asyncio.Timeout:
        """Return a time limit of this many of the platform's seconds."""
        return asyncio.timeout(duration_s / self._speed)
