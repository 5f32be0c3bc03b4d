"""What a run shows while it goes on: only what is durable is counted."""

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, Self

from workbench.display.text import count, visible
from workbench.records.calls import CallRecord
from workbench.records.outcomes import EFFECTS
from workbench.running.tally import AttemptEnd, Tally
from workbench.running.waiting import LOG

if TYPE_CHECKING:
    from tqdm import tqdm

_SECONDS_BETWEEN_DRAWS = 0.1


class Progress:
    """Counts acknowledged calls, and draws them as a tqdm bar on standard error.

    Args:
        tally: Told of every call once its record is durable.
        shown: False counts, and draws nothing.
    """

    def __init__(
        self, tally: Tally, limit: int, *, shown: bool, line_of: Callable[[CallRecord], str | None] | None = None
    ) -> None:
        self.in_flight = 0
        self.cap: str | None = None
        """How much is used of the cap that is nearest to its end."""
        self._tally = tally
        self._limit, self._line_of = limit, line_of
        self._waiting: deque[tuple[int, AttemptEnd]] = deque()
        is_watched = LOG.isEnabledFor(logging.INFO)  # its lines would be written into the bar
        self._bar = _bar(tally.planned - tally.reused - tally.failed_before) if shown and not is_watched else None
        self._draw()

    def ended(self, number: int, ended: AttemptEnd) -> None:
        """Note that a call ended as the journal's entry `number`; it counts once that is durable."""
        self._waiting.append((number, ended))

    def acknowledge(self, durable: int) -> None:
        """Count every call whose entry is durable by now."""
        counted, through = 0, 0
        while self._waiting and self._waiting[0][0] <= durable:
            _, ended = self._waiting.popleft()
            counted += 1
            through += not ended.will_go_on and EFFECTS[ended.record.attempt.outcome].concluded
            self._tally.count(ended)
            if self._line_of and (line := self._line_of(ended.record)):
                self.note(line)
        if counted and self._bar is not None:
            with self._on_screen():
                self._draw()
                self._bar.update(through)

    def note(self, text: str) -> None:
        """Write a line for people above the bar."""
        text = visible(text)
        with self._on_screen():
            if self._bar is None:
                print(text, file=sys.stderr, flush=True)
            else:
                self._bar.write(text, file=sys.stderr)

    @contextmanager
    def _on_screen(self) -> Iterator[None]:
        """Write no more to a terminal that was closed; it stops nothing."""
        try:
            yield
        except OSError:
            if self._bar is not None:
                self._bar.disable = True  # its end is not to be drawn either
            self._bar = None

    def _draw(self) -> None:
        if self._bar is None:
            return
        tally = self._tally
        counts = {
            "failed": tally.failed - tally.waiting, "to retry": tally.waiting,
            "cancelled": tally.cancelled,
        }  # fmt: skip
        parts = [f"{count(number)} {name}" for name, number in counts.items() if number]
        parts += [f"{self.in_flight}/{self._limit} in flight", f"{count(self._tally.total_tokens or 0)} tokens"]
        parts += [self.cap] if self.cap else []
        self._bar.set_postfix_str(", ".join(parts), refresh=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._on_screen():
            self._draw()
            if self._bar is not None:
                self._bar.close()


def _bar(total: int) -> "tqdm[NoReturn]":
    from tqdm import tqdm  # only where it is seen

    tqdm.monitor_interval = 0  # its monitor is a thread that we have no use for
    return tqdm(
        total=total,
        file=sys.stderr,
        unit="call",
        mininterval=_SECONDS_BETWEEN_DRAWS,
        smoothing=0.05,
        dynamic_ncols=True,
        bar_format="{desc}{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} done{postfix} [{elapsed}<{remaining}]",
    )
