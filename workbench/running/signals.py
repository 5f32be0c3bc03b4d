"""What Ctrl-C, SIGTERM and a closed terminal do while a run is sending, and after that until its last line."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, NoReturn

SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "the terminal was closed"}


class AbortedBySignal(BaseException):
    """A signal came while scores or pages were made, which can be made again; no scorer's crash."""


class Interrupts:
    """Lets another thread interrupt a run, as Ctrl-C does one on the main thread: only that one hears of signals."""

    def __init__(self) -> None:
        self._tell: Callable[[], object] | None = None
        self._early = 0  # came before the run could hear of them
        self._lock = threading.RLock()  # a signal may come while its thread has it

    def connect(self, tell: Callable[[], object]) -> None:
        """Say what an interrupt does, from now on and for those that came before; it may be called on any thread."""
        with self._lock:
            self._tell, early, self._early = tell, self._early, 0
        for _ in range(early):
            tell()

    def send(self) -> None:
        """Interrupt the run: it sends nothing more and waits for what is in flight; again, to cancel that."""
        with self._lock:
            tell = self._tell
            self._early += tell is None
        if tell is not None:
            tell()


def _hears_signals() -> bool:
    return threading.current_thread() is threading.main_thread()


def handled_signals() -> list[signal.Signals]:
    """Signals that reach this thread and that the process does not ignore, as under `nohup`."""
    if not _hears_signals():
        return []
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


class _SignalRelay:
    """What a run puts in the place of a signal's handler while it is sending.

    Args:
        tell: Told of the signal.
        before: The handler that it takes the place of; that of another run, which sends beside this one, is told too.
    """

    def __init__(self, tell: Callable[[signal.Signals], object], before: Any) -> None:
        self._tell, self.before = tell, before
        self.is_sending = True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.is_sending:
            self._tell(signal.Signals(number))
        if isinstance(self.before, _SignalRelay):
            self.before(number, frame)


def handlers() -> list[tuple[signal.Signals, Any]]:
    """Return how signals are handled now, runs that are sending aside; a run leaves them ignored, for the end of its process."""
    return [(number, _without_runs(signal.getsignal(number))) for number in SIGNALS]


def _without_runs(handler: Any) -> Any:
    """Return the handler below those of runs: one that outlives its run, and with that its event loop, is never put back."""
    while isinstance(handler, _SignalRelay):
        handler = handler.before
    return handler


def restore(before: list[tuple[signal.Signals, Any]]) -> None:
    """Handle signals as they were handled before, unless a run hears them; only the main thread ever changes them."""
    if not _hears_signals():
        return
    for number, handler in before:
        _unless_sending(number, handler)


def _unless_sending(number: signal.Signals, handler: Any) -> None:
    """Handle a signal in another way, unless a run is sending that is to hear it."""
    now = signal.getsignal(number)
    while isinstance(now, _SignalRelay) and not now.is_sending:
        now = now.before
    if not isinstance(now, _SignalRelay):
        signal.signal(number, handler)


@contextmanager
def caught(act: Callable[[signal.Signals], None], interrupts: Interrupts | None = None) -> Iterator[None]:
    """Call `act` on the running event loop for every signal and interrupt; ignore them then, unless another run is sending.

    anyio and asyncio hand signals back to their defaults when they have done with them, and the next one ends the process
    before anybody can ignore it: what is left then is short, and its last line is wanted.
    """
    loop = asyncio.get_running_loop()

    def tell(number: signal.Signals) -> None:
        loop.call_soon_threadsafe(act, number)

    if interrupts is not None:
        interrupts.connect(partial(loop.call_soon_threadsafe, act, signal.SIGINT))
    tellers: list[_SignalRelay] = []
    try:
        for number in handled_signals():
            tellers.append(_SignalRelay(tell, signal.getsignal(number)))
            signal.signal(number, tellers[-1])
        yield
    finally:
        # not the handlers of before: with Python's, the next Ctrl-C would raise within the writing of what has arrived
        for teller in tellers:
            teller.is_sending = False
        ignore()


@contextmanager
def forwarded_interrupts(interrupts: Interrupts | None) -> Iterator[None]:
    """Pass Ctrl-C on to a run on another thread, where this one hears of it."""
    before = handlers()
    if interrupts is not None and _hears_signals():
        signal.signal(signal.SIGINT, lambda *_: interrupts.send())
    try:
        yield
    finally:
        restore(before)


class NotedSignals:
    """Notes that a signal came, where one is not to interrupt what is done; what begins then hears of signals as always."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Note it."""
        self.came = True


def note_signals(before: list[tuple[signal.Signals, Any]]) -> NotedSignals:
    """Note signals from now on, but for those that were ignored before."""
    noted = NotedSignals()
    if _hears_signals():
        for number, handler in before:
            if handler is not signal.SIG_IGN:
                _unless_sending(number, noted)
    return noted


def ignore() -> None:
    """Ignore signals for the short final work that must be done, unless a run is sending."""
    if not _hears_signals():
        return
    for number in SIGNALS:
        _unless_sending(number, signal.SIG_IGN)


@contextmanager
def abort_on_signal(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Let the first of these signals raise `AbortedBySignal` within, and ignore the others."""
    try:
        for number in numbers:
            _unless_sending(number, _skip)
        yield
    finally:
        ignore()


def _skip(number: int, frame: FrameType | None) -> NoReturn:
    ignore()
    raise AbortedBySignal(SIGNALS[signal.Signals(number)])
