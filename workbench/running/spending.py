"""What the runs of a ledger have used and reserved, each in a small file that it alone writes, under one lock for all."""

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from workbench.errors import LockHeldError
from workbench.running.slot_files import is_locked, locked, opened, opened_readonly

SUFFIX, LOCK = ".spent", "lock"
STRETCH_S = 900
"""What was used is kept by stretches of so many seconds: every time zone's midnight begins one."""
_PATIENCE_S = 10.0
_TRIES, _BETWEEN_S = 20, 0.001

ROUNDING = 1e-9
"""Less than this is what sums of fractions leave, and no use of anything."""


class Spending(NamedTuple):
    """How much of each kind."""

    requests: float = 0.0
    tokens: float = 0.0
    units: float = 0.0

    def plus(self, other: "Spending") -> "Spending":
        """Both together."""
        return Spending(*(one + more for one, more in zip(self, other, strict=True)))

    def minus(self, other: "Spending") -> "Spending":
        """Return what is left without the other; what is left of rounding is nothing."""
        left = (one - less for one, less in zip(self, other, strict=True))
        return Spending(*(0.0 if abs(one) < ROUNDING else one for one in left))

    def times(self, factor: float) -> "Spending":
        """So many times as much."""
        return Spending(*(one * factor for one in self))


class Spender(msgspec.Struct):
    """What one run has used, by when, and reserved."""

    job: str
    tags: dict[str, str]
    reserved: Spending = Spending()
    drawn: dict[int, Spending] = {}
    """By the Unix time at which a stretch of `STRETCH_S` begins."""

    def draw(self, spent: Spending, at: float) -> None:
        """Count what a call used.

        Args:
            at: Unix time.
        """
        stretch = int(at // STRETCH_S * STRETCH_S)
        self.drawn[stretch] = self.drawn.get(stretch, Spending()).plus(spent)

    def since(self, start: float) -> Spending:
        """Return what was used in the stretches that end after a Unix time, without reserves."""
        found = Spending()
        for stretch, spent in self.drawn.items():
            if stretch + STRETCH_S > start:
                found = found.plus(spent)
        return found


class SharedSpending:
    """This run among the others of its ledger.

    Args:
        own: What it has used, which starts with nothing.

    Raises:
        LockHeldError: Another process holds the lock.
    """

    def __init__(self, folder: Path, run_id: str, own: Spender) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._run_id, self._own = folder, run_id, own
        self._lock = opened(folder / LOCK)
        self._heads: dict[str, tuple[str, dict[str, str]]] = {}
        with self._patiently_locked():
            self.over = self._remove_what_is_over()
            self._fd = opened(folder / f"{run_id}{SUFFIX}")
            _lock_patiently(self._fd, folder / f"{run_id}{SUFFIX}")  # whoever looks for live runs holds it for a moment
            os.pwrite(self._fd, msgspec.json.encode((own.job, own.tags)).ljust(_HEAD_BYTES)[:_HEAD_BYTES], 0)
            self.write()

    def _remove_what_is_over(self) -> set[str]:
        """Remove the files of runs that ended, once none is going on that still counts them; return whose they are."""
        live = set(live_spenders(self._folder))
        ended = {path.stem for path in self._folder.glob(f"*{SUFFIX}")} - live
        for name in () if live else ended:
            (self._folder / f"{name}{SUFFIX}").unlink(missing_ok=True)
        return ended

    def counted(self) -> set[str]:
        """Return the ids of the runs whose files count, this one's included: the ledger need not be asked of them."""
        return {path.stem for path in self._folder.glob(f"*{SUFFIX}")} - self.over

    @contextlib.contextmanager
    def _patiently_locked(self) -> Iterator[None]:
        _lock_patiently(self._lock, self._folder / LOCK)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def others(self) -> Iterator[dict[str, Spender] | None]:
        """Yield what other runs have spent, by run id; none of them spends more before the block ends.

        None where another process keeps the lock: it may have been stopped, and nothing here waits for that.
        """
        for _ in range(_TRIES):
            if locked(self._lock):
                break
            time.sleep(_BETWEEN_S)  # whoever holds it is done in much less
        else:
            yield None
            return
        try:
            yield {run_id: found for run_id in self.counted() - {self._run_id} if (found := self._read(run_id))}
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _read(self, run_id: str) -> Spender | None:
        with opened_readonly(self._folder / f"{run_id}{SUFFIX}") as fd:
            if fd is None:
                return None
            try:
                if run_id not in self._heads:
                    self._heads[run_id] = _head(fd)
                found = Spender(*self._heads[run_id], *_state(fd))
            except (msgspec.DecodeError, struct.error):  # its process was killed, or is about, to write it first
                return None
            # of a dead process, what it had reserved may have been used, and is never given back
            if not is_locked(fd):
                found.draw(found.reserved, os.fstat(fd).st_mtime)
                found.reserved = Spending()
            return found

    def write(self) -> None:
        """Say what this run has used and reserved."""
        stretches = sorted(self._own.drawn.items())[-_MOST_STRETCHES:]
        packed = b"".join(_STRETCH.pack(at, *spent) for at, spent in stretches)
        os.pwrite(self._fd, _STATE.pack(len(stretches), *self._own.reserved) + packed, _HEAD_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)  # the file stays, for the runs that still count it
        os.close(self._lock)


def _lock_patiently(fd: int, path: Path) -> None:
    """Lock a file, and wait for who has it.

    Raises:
        LockHeldError: It does not let go in time.
    """
    until = time.monotonic() + _PATIENCE_S
    while not locked(fd):
        if time.monotonic() > until:
            raise LockHeldError(f"another process holds {path}, with which runs share their caps")
        time.sleep(_BETWEEN_S)


_HEAD_BYTES = 2**16
_STATE, _STRETCH = struct.Struct("<qddd"), struct.Struct("<qddd")
_MOST_STRETCHES = 4_000


def live_spenders(folder: Path) -> dict[str, Spender]:
    """Return what the runs that are going on have used and reserved, by run id."""
    found = {}
    for path in folder.glob(f"*{SUFFIX}"):
        with opened_readonly(path) as fd:
            if fd is not None and is_locked(fd):
                with contextlib.suppress(msgspec.DecodeError, struct.error):  # it is just being made
                    found[path.stem] = Spender(*_head(fd), *_state(fd))
    return found


def _head(fd: int) -> tuple[str, dict[str, str]]:
    return msgspec.json.decode(os.pread(fd, _HEAD_BYTES, 0).rstrip(), type=tuple[str, dict[str, str]])


def _state(fd: int) -> tuple[Spending, dict[int, Spending]]:
    count, *reserved = _STATE.unpack(os.pread(fd, _STATE.size, _HEAD_BYTES))
    rest = os.pread(fd, count * _STRETCH.size, _HEAD_BYTES + _STATE.size)
    drawn = {at: Spending(*spent) for at, *spent in _STRETCH.iter_unpack(rest)}
    return Spending(*reserved), drawn
