"""What Ctrl-C, SIGTERM and a closed terminal do while a run is sending, and after that until its last line."""

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "the terminal was closed"}


class SkippedError(BaseException):
    """A signal came while scores or pages were made, which can be made again; no scorer's crash."""


def heeded() -> list[signal.Signals]:
    """Those that this process was not told to ignore, as `nohup` does."""
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def handlers() -> list[tuple[signal.Signals, Any]]:
    """How signals are handled now; a run leaves them ignored, for the end of its process."""
    return [(number, signal.getsignal(number)) for number in SIGNALS]


def restore(before: list[tuple[signal.Signals, Any]]) -> None:
    """Handle signals as they were handled before."""
    for number, handler in before:
        signal.signal(number, handler)


@contextmanager
def caught(act: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Call `act` on the running event loop for every signal, and ignore signals from then on.

    anyio and asyncio hand signals back to their defaults when they have done with them, and the next one ends the process
    before anybody can ignore it: what is left then is short, and its last line is wanted.
    """
    loop = asyncio.get_running_loop()

    def tell(number: int, _: FrameType | None) -> None:
        loop.call_soon_threadsafe(act, signal.Signals(number))

    try:
        for number in heeded():
            signal.signal(number, tell)
        yield
    finally:
        ignore()


def ignore() -> None:
    """Let nothing interrupt what is short and must be done."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def skippable(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Let the first of these signals raise `SkippedError` within, and ignore the others."""
    try:
        for number in numbers:
            signal.signal(number, _skip)
        yield
    finally:
        ignore()


def _skip(number: int, frame: FrameType | None) -> NoReturn:
    ignore()
    raise SkippedError(SIGNALS[signal.Signals(number)])
