"""`-v`: what a command does and waits for, as `workbench.*` logs it, on standard error."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.display.text import visible


class _Line(logging.Formatter):
    """A line in UTC, with what would control the terminal made visible."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


@contextmanager
def watched(level: str | None) -> Iterator[None]:
    """Write what is logged from this level on to standard error while a command runs; None: nothing."""
    if level is None:
        yield
        return
    handler, logger = logging.StreamHandler(sys.stderr), logging.getLogger("workbench")
    line = _Line("%(asctime)s.%(msecs)03d %(name)s: %(message)s", "%H:%M:%S")
    line.converter = time.gmtime
    handler.setFormatter(line)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
