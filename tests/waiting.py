"""Waiting until something is so, instead of for as long as it should take."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_BETWEEN_S = 0.005


def until(condition: Callable[[], T], timeout_s: float = 120.0) -> T:
    """Wait until a condition holds, and return what it found.

    Raises:
        AssertionError: It did not hold in time: the test fails, instead of standing still.
    """
    ends_at = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < ends_at, f"it did not hold within {timeout_s:g} s"
        time.sleep(_BETWEEN_S)
    return found


async def until_on_loop(condition: Callable[[], object], timeout_s: float = 120.0) -> None:
    """The same, while the event loop works on."""
    ends_at = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < ends_at, f"it did not hold within {timeout_s:g} s"
        await asyncio.sleep(_BETWEEN_S)


def until_said(process: subprocess.Popen[str], words: str) -> list[str]:
    """Wait until a command writes a line with these words to stderr, and return what it wrote up to there.

    Raises:
        AssertionError: It ended without.
    """
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(f"never said: {words}\n{''.join(lines)}")


def all_shown(terminal: int) -> str:
    """Return what a terminal shows until nobody holds its other end, and close it.

    Read while the command runs: a terminal keeps some 18 KB, and a command that has more to show waits for a reader.
    """
    shown = b""
    try:
        while part := os.read(terminal, 65_536):
            shown += part
    except OSError:  # its end, as Linux says it
        pass
    os.close(terminal)
    return shown.decode()


def interrupt_twice(process: subprocess.Popen[str]) -> None:
    """Press Ctrl-C, and again once a run has said that it heard the first."""
    process.send_signal(signal.SIGINT)
    until_said(process, "again to cancel them")
    process.send_signal(signal.SIGINT)
