"""Clocks for a platform whose time tests look into, so that nothing depends on how busy the machine is."""

import asyncio
import threading
from typing import Self

from tests.waiting import until_on_loop
from workbench.local_platform.clock import Clock


class NotedClock(Clock):
    """Notes what the platform waits for, and how long it gives a model."""

    def __init__(self, speed: float = 1.0) -> None:
        super().__init__(speed)
        self.slept_s: list[float] = []
        self.limits_s: list[float] = []

    async def sleep(self, duration_s: float) -> None:
        """Wait for this many of the platform's seconds."""
        self.slept_s.append(duration_s)
        await super().sleep(duration_s)

    def limit(self, duration_s: float) -> asyncio.Timeout:
        """A time limit of this many of the platform's seconds."""
        self.limits_s.append(duration_s)
        return super().limit(duration_s)


class SteppedClock(NotedClock):
    """Passes only as far as the platform waits, without anybody waiting, and when a test sets it."""

    at_s = 0.0

    def now_s(self) -> float:
        """The platform's seconds since it started."""
        return self.at_s

    async def sleep(self, duration_s: float) -> None:
        """Let this many of the platform's seconds be over."""
        self.slept_s.append(duration_s)
        self.at_s += duration_s
        await asyncio.sleep(0)


class HeldClock(Clock):
    """Holds whoever waits for a slow model until a test lets go, so that "in flight together" is no matter of time.

    As a context it lets go of all at its end: a test that fails does not stand still.
    """

    def __init__(self) -> None:
        super().__init__()
        self._free = threading.Semaphore(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()

    def let_go(self, count: int = 1_000_000) -> None:
        """Let this many of the platform's waits end, now or when they begin; by default all."""
        self._free.release(count)

    async def sleep(self, duration_s: float) -> None:
        """Wait until a test lets go of one wait more."""
        if duration_s > 0:
            await until_on_loop(lambda: self._free.acquire(blocking=False), timeout_s=600)
