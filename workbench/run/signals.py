"""What Ctrl-C, SIGTERM and a closed terminal do at the end of a run, when nothing is in flight any more."""

import signal
from types import FrameType
from typing import NoReturn

SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "the terminal was closed"}


class SkippedError(Exception):
    """A signal came while scores or pages were made, which can be made again."""


def ignore() -> None:
    """Let nothing interrupt what is short and must be done."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def let_skip() -> None:
    """Let the next signal raise `SkippedError`, once."""
    for number in SIGNALS:
        signal.signal(number, _skip)


def restore() -> None:
    """Let signals end the process as they do by default."""
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def _skip(number: int, frame: FrameType | None) -> NoReturn:
    ignore()
    raise SkippedError(SIGNALS[signal.Signals(number)])
