"""Who on this machine may have a request in flight on a platform: one file per slot, held by flock while a call goes on.

    <state folder>/slots/<endpoint>/00.slot … 62.slot   `busy_until` and who holds it
    <state folder>/slots/<endpoint>/<pid>-….process     held by a run for as long as it lives; says what it has and wants
    <state folder>/slots/<endpoint>/layout              the version of these files

Older versions named an endpoint's folder otherwise: a slot is taken in their folder too, where there is one.

A run with limit N takes from slots 0 to N-1, so that any number of processes together never exceed the largest limit
among them. The kernel frees a dead process's locks, but its calls may go on at the platform: a slot that was not given
back by an answer stays taken, as a ghost, until `busy_until` has passed.

Slots are shared by max-min fairness: a run leaves a slot to another that waits, may take it and has fewer; a slot that
no other run can use is not left.
"""

import bisect
import contextlib
import errno
import fcntl
import os
import secrets
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import anyio

import workbench.settings.clock as clock
from workbench.errors import Fault, InputError
from workbench.running.slot_files import (
    LAYOUT,
    LAYOUT_FILE,
    Holding,
    SlotFile,
    boot,
    is_locked,
    layout_of,
    opened,
    opened_readonly,
    steady,
)

_POLL_S = 0.02
_LOOK_EVERY_S = 0.05
_YIELD_S = 3 * _POLL_S  # long enough for one who polls to see a slot free
_STALE_S = 1.0
_ROW = struct.Struct("<?HHd")


class WaitingRun(NamedTuple):
    """What another run's process file says."""

    waits: bool
    """For a slot; not for a turn, a route or a budget."""
    held: int
    limit: int
    at: float
    """When it said so, on the machine's steady clock: one that waits says it again with every look."""


class Slot:
    """Permission to have one request in flight; to be begun before sending and given back by `Slots`."""

    def __init__(self, number: int, file: SlotFile, job: str) -> None:
        self.number = number
        self._file, self._job, self._model = file, job, ""
        self.is_ghost = False
        """Whether the last call ended without an answer, so that the platform may still be working on it."""
        self.kept_s = 0.0
        """For how long, should that be so."""

    def begin(self, model: str, hold_s: float) -> None:
        """Say, before a request is sent, for how long the platform may be at work on it should we die."""
        self.is_ghost = False
        self._model = model
        self._say_busy(hold_s)

    def keep(self, hold_s: float) -> None:
        """Record that the call ended for us, but may run this long at the platform."""
        self.is_ghost, self.kept_s = True, hold_s
        with contextlib.suppress(OSError):  # then it is as `begin` said
            self._say_busy(hold_s)

    def _say_busy(self, hold_s: float) -> None:
        now, this_boot = clock.machine_s(), boot()
        steady_until = steady() + hold_s if this_boot else 0.0
        self._file.write(Holding(now + hold_s, now, os.getpid(), self._job, self._model, this_boot, steady_until))

    def release(self) -> None:
        """Free the file for others; a ghost keeps its time."""
        with contextlib.suppress(OSError):  # what cannot be freed in the file is free when its time is over
            # before the lock is let go: after it, this would overwrite what the next holder said of its call
            if not self.is_ghost:
                self._file.write(Holding())
        self._file.unlock()


def make_folder(folder: Path, *, shared: bool) -> None:
    """Make a folder for slots where there is none; one that users share is open to all of them, whoever is first.

    Raises:
        InputError: It cannot be made.
    """
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            if shared:
                folder.chmod(0o1777)
    except OSError as error:
        raise _unusable(folder, error, shared=shared) from error


def named_by(*, shared: bool) -> str:
    """Return what says where the slots are."""
    return "slots_folder in workbench.toml names it" if shared else "XDG_STATE_HOME names another folder for them"


def _unusable(folder: Path, error: OSError, *, shared: bool) -> InputError:
    return InputError(Fault("slots", f"{error.filename or folder}: {error.strerror}", named_by(shared=shared)))


def _require_layout(folder: Path, *, shared: bool) -> None:
    try:
        layout = layout_of(folder, shared=shared)
    except OSError as error:
        raise _unusable(folder, error, shared=shared) from error
    if layout != str(LAYOUT):
        problem = f"these slots are of layout {layout[:20]!r}, and this version of Workbench knows {LAYOUT}"
        raise InputError(Fault(str(folder / LAYOUT_FILE), problem, "use the newest version that runs here"))


class Slots:
    """The slots of one endpoint, as one run uses them.

    Args:
        folder: Of the endpoint; created if missing.
        limit: How many this run may take.
        job: Named in the files.
        shared: Whether other users of this machine may use the folder too.
        older: The folders that older versions have for the endpoint, if they were used.

    Raises:
        InputError: The folder cannot be used, or is a newer version's.
    """

    def __init__(self, folder: Path, limit: int, job: str, *, shared: bool = False, older: Sequence[Path] = ()) -> None:
        self._folder, self._limit, self._job = folder, limit, job
        self._older = list(older)
        self._free = list(range(limit))  # from its end: high numbers, which a run with a lower limit cannot take
        self._kept: list[Slot] = []  # given back, and still locked for the call that follows at once
        self._held = 0
        self._given_back = anyio.Event()
        self._waits, self._waiters = False, 0
        self._looked_at = 0.0
        self._others = 0
        self._rivals: list[WaitingRun] = []
        """Other runs that wait."""
        self._none_until = self._yield_until = 0.0
        for path in (folder.parent, folder):
            make_folder(path, shared=shared)
        _require_layout(folder, shared=shared)
        try:
            self._own_path = folder / f"{os.getpid()}-{secrets.token_hex(3)}.process"
            fresh = self._own_path.with_suffix(".new")
            self._own = opened(fresh, shared=shared)
            fcntl.flock(self._own, fcntl.LOCK_EX)
            os.pwrite(self._own, _ROW.pack(False, 0, limit, time.monotonic()), 0)
            fresh.rename(self._own_path)  # seen by others once it is locked, not before
            self._files = [SlotFile(folder / f"{number:02}.slot", shared=shared) for number in range(limit)]
            self._join_older()
        except OSError as error:
            raise _unusable(folder, error, shared=shared) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release_unused()
        with contextlib.suppress(OSError):
            self._own_path.unlink()
        os.close(self._own)
        for file in self._files:
            file.close()

    def set_longest_call(self, longest_s: Callable[[], float]) -> None:
        """Set what tells how long a call may take at most: not needed here, as each slot is told with its call."""

    @property
    def obstacle(self) -> str | None:
        """What keeps all calls of this run from being sent, where something does."""
        return None

    def why_none(self) -> str:
        """Return what keeps this run from a slot, for the log."""
        ghosts, others = len(self.ghosts()), self._others
        why = [f"{ghosts} kept by calls that were given up"] if ghosts else []
        why += [f"{others} other {'run' if others == 1 else 'runs'} on this machine"] if others else []
        return f"no slot is free: {', '.join(why) or 'all are in use'}"

    def take(self) -> Slot | None:
        """Return a slot, if there is one and this run may have it now."""
        self._scan_other_runs()
        if self._rivals:
            self.release_unused()
        elif self._kept:
            self._held += 1
            return self._kept.pop()
        if time.monotonic() < self._none_until:
            return None
        now = clock.machine_s()
        for place in range(len(self._free) - 1, -1, -1):
            number = self._free[place]
            if self._yields_slot(number):
                continue
            file = self._files[number]
            if not file.lock():
                continue
            # read under the lock: before it, a call that is given up just then writes a time that is not read
            if file.busy_until(now) > now:
                file.unlock()
                continue
            del self._free[place]
            self._held += 1
            self._publish_state()
            return Slot(number, file, self._job)
        self._none_until = time.monotonic() + _POLL_S
        return None

    def give_back(self, slot: Slot) -> None:
        """End the use of a slot; it is kept for the call that follows at once, unless others wait."""
        self._held -= 1
        self._publish_state()
        if any(rival.limit > slot.number and not rival.held for rival in self._rivals):
            self._yield_until = time.monotonic() + _YIELD_S
        if self._rivals or slot.is_ghost:
            self._release(slot)
        else:
            self._kept.append(slot)
        self._given_back.set()

    def release_unused(self) -> None:
        """Let others have what was kept: no call follows at once."""
        self._publish_state()
        while self._kept:
            self._release(self._kept.pop())

    def _release(self, slot: Slot) -> None:
        slot.release()
        bisect.insort(self._free, slot.number)
        self._none_until = 0.0

    async def changed(self) -> None:
        """Wait until a slot may be free."""
        self.release_unused()
        if self._given_back.is_set():
            self._given_back = anyio.Event()
        self._waiters += 1
        self._publish_state()
        try:
            with anyio.move_on_after(_POLL_S):
                await self._given_back.wait()
        finally:
            self._waiters -= 1

    def ghosts(self) -> list[float]:
        """Return the Unix times until which calls that were given up keep slots of this run."""
        self.release_unused()
        found, now = [], clock.machine_s()
        for number in self._free:
            if self._files[number].lock():
                found.append(self._files[number].busy_until(now))
                self._files[number].unlock()
        return [busy_until for busy_until in found if busy_until > now]

    def _yields_slot(self, number: int) -> bool:
        """Return whether a slot is another's to take: it waits, may take it and has fewer, or nothing and did not get a turn."""
        more = self._held + (time.monotonic() < self._yield_until)
        return any(rival.limit > number and rival.held < more for rival in self._rivals)

    def _scan_other_runs(self) -> None:
        """Learn, now and then, how many other runs there are, and what those that wait have."""
        now = time.monotonic()
        if now - self._looked_at < (_POLL_S if self._rivals else _LOOK_EVERY_S):
            return
        self._looked_at, self._others = now, 0
        self._rivals.clear()
        if not self._own_path.exists():  # others would count from 0 in a new one
            raise FileNotFoundError(errno.ENOENT, f"the slots in {self._folder} were removed")
        self._join_older()
        for path in self._folder.glob("*.process"):
            if path == self._own_path:
                continue
            with opened_readonly(path) as fd:
                if fd is None:
                    continue
                if not is_locked(fd):  # its process is dead
                    with contextlib.suppress(OSError):
                        path.unlink()
                    continue
                self._others += 1
                row = os.pread(fd, _ROW.size, 0)
                if len(row) == _ROW.size:
                    rival = WaitingRun(*_ROW.unpack(row))
                    if rival.waits and now - rival.at < _STALE_S:  # else it was stopped
                        self._rivals.append(rival)

    def _join_older(self) -> None:
        """Take the slots in the folders of older versions too, from when there are any."""
        for folder in [folder for folder in self._older if folder.is_dir()]:
            self._older.remove(folder)
            for number, file in enumerate(self._files):
                file.join(folder / f"{number:02}.slot")

    def _publish_state(self) -> None:
        """Say whether we wait, and how many slots we have; the latter only where somebody may look."""
        waits = self._waiters > 0
        if waits is not self._waits or self._others:
            self._waits = waits
            with contextlib.suppress(OSError):  # others share less fairly then, and no call is lost for it
                os.pwrite(self._own, _ROW.pack(waits, self._held, self._limit, time.monotonic()), 0)
