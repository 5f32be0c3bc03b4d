"""What the slot files say, read and written."""

import contextlib
import fcntl
import functools
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

import msgspec

import workbench.settings.clock as clock

LAYOUT = 2
"""Of an endpoint's folder, written in it: 1 named it by the URL as it was spelled, without saying so; 2 by the platform."""
LAYOUT_FILE = "layout"
_RECORD_BYTES = 1024
_NAME_CHARS = 256
_CLOCK_STEP_S = 5.0


class Holding(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a slot's file says."""

    busy_until: float = 0.0
    """Unix time until which the platform may still be at work on the call; 0 when it answered."""
    since: float = 0.0
    pid: int = 0
    job: str = ""
    model: str = ""
    boot: str = ""
    """Names the machine's start since which `steady_until` counts."""
    steady_until: float = 0.0
    """The same as `busy_until` on the clock that counts from there, also while the machine sleeps, and never jumps."""

    def seen_at(self, now: float) -> Self:
        """Return the same by today's clock: in the same boot by the steady one; else, where a clock wrote it that has been put
        back since, as if the call had begun now.
        """
        # the steady clock first: by the other one, a clock put forward would free slots whose calls still go on
        if self.busy_until and self.boot and self.boot == boot():
            return msgspec.structs.replace(self, busy_until=now + self.steady_until - steady())
        if self.since <= now + _CLOCK_STEP_S:
            return self
        return msgspec.structs.replace(self, busy_until=now + self.busy_until - self.since, since=now)


class SlotFile:
    """One slot of an endpoint, and the file of the same number in each folder that an older version has for the endpoint.

    It is taken where all of them are, so that two versions at once keep to one limit.

    Args:
        path: Of this version's file, which is made where it is not there.
        shared: Whether other users of this machine may use it too.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path, *, shared: bool) -> None:
        self._fds = [opened(path, shared=shared)]
        self._shared = shared
        self._is_locked = False

    def join(self, path: Path) -> None:
        """Take an older version's file too from now on; where the slot is in use, as far as that version leaves it."""
        fd = opened(path, shared=self._shared)
        if self._is_locked:
            locked(fd)
        self._fds.append(fd)

    def lock(self) -> bool:
        """Lock it, unless another process has; whether that worked."""
        self._is_locked = all(locked(fd) for fd in self._fds)
        if not self._is_locked:
            self.unlock()
        return self._is_locked

    def unlock(self) -> None:
        """Let others have it."""
        self._is_locked = False
        for fd in self._fds:
            fcntl.flock(fd, fcntl.LOCK_UN)

    def busy_until(self, now: float) -> float:
        """Return the Unix time until which the platform may be at work on its last call; to be asked while it is locked."""
        holdings = [read(fd) for fd in self._fds]
        seen = [holding.seen_at(now) for holding in holdings]
        last = max(seen, key=lambda one: one.busy_until)
        if last.busy_until > now and last not in holdings:
            with contextlib.suppress(OSError):
                self.write(last)
        return last.busy_until

    def write(self, holding: Holding) -> None:
        """Say what it is used for."""
        for fd in self._fds:
            write(fd, holding)

    def close(self) -> None:
        """Close its files, which unlocks them."""
        for fd in self._fds:
            os.close(fd)


def layout_of(folder: Path, *, shared: bool) -> str:
    """Return the layout of an endpoint's folder, which is this version's where it says none.

    Raises:
        OSError: It cannot be read or written.
    """
    fd = opened(folder / LAYOUT_FILE, shared=shared)
    try:
        found = os.pread(fd, _RECORD_BYTES, 0).decode(errors="replace").strip()
        if not found:
            os.pwrite(fd, f"{LAYOUT}\n".encode(), 0)
        return found or str(LAYOUT)
    finally:
        os.close(fd)


@functools.cache
def boot() -> str:
    """Return which start of the machine this is; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() if hasattr(time, "CLOCK_BOOTTIME") else ""
    except OSError:
        return ""


def steady() -> float:
    """Seconds since the machine started, also while it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def release_ghosts(folder: Path) -> int:
    """Free every slot of an endpoint that an abandoned call holds; return how many there were."""
    released = 0
    for path in sorted(folder.glob("*.slot")):
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            if locked(fd) and read(fd).seen_at(clock.machine_s()).busy_until > clock.machine_s():
                write(fd, Holding())
                released += 1
        finally:
            os.close(fd)
    return released


def slots_of_endpoint(folder: Path) -> list[dict[str, object]]:
    """Return the state of every slot in an endpoint's folder: `in flight`, a `ghost`, or `free`."""
    found: list[dict[str, object]] = []
    now = clock.machine_s()
    for path in sorted(folder.glob("*.slot")):
        with opened_readonly(path) as fd:
            if fd is None:
                continue
            holding, free = read(fd).seen_at(now), not is_locked(fd)
        state = "in flight" if not free else "ghost" if holding.busy_until > now else "free"
        found.append({"slot": int(path.stem), "state": state, **msgspec.structs.asdict(holding)})
    return found


def slots_in(folders: Iterable[Path]) -> list[dict[str, object]]:
    """Return the slots of several endpoints, each with its folder's name as `endpoint`; a call that has its slot in an older
    version's folder too is told once.
    """
    found, counted = [], set()
    for folder in folders:
        for row in slots_of_endpoint(folder):
            call = row["slot"], row["pid"], row["since"]
            if row["pid"] and call in counted:
                continue
            counted.add(call)
            found.append({"endpoint": folder.name} | row)
    return found


@contextlib.contextmanager
def opened_readonly(path: Path) -> Iterator[int | None]:
    """Yield a file's descriptor for reading; None where it cannot be opened, as when it was just removed."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def opened(path: Path, *, shared: bool = False) -> int:
    """Return a file's descriptor for reading and writing; the file is made where it is not there,
    for all users if it is shared.
    """
    flags = os.O_RDWR | os.O_CLOEXEC
    try:  # not with O_CREAT at once: Linux may refuse that for another user's file (fs.protected_regular)
        return os.open(path, flags)
    except FileNotFoundError:
        fd = os.open(path, flags | os.O_CREAT, 0o644)
    if shared:
        os.fchmod(fd, 0o666)
    return fd


def locked(fd: int) -> bool:
    """Lock a file, unless another process holds its lock; whether that worked."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(fd: int) -> bool:
    """Return whether another process has locked a file; one that asks the same at this moment has not."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def write(fd: int, holding: Holding) -> None:
    """Write the state of a slot, in one block."""
    record = msgspec.json.encode(holding)
    chars = _NAME_CHARS
    while len(record) > _RECORD_BYTES:  # cut, it would be read as a free slot
        record = msgspec.json.encode(
            msgspec.structs.replace(holding, job=holding.job[:chars], model=holding.model[:chars])
        )
        chars //= 2
    os.pwrite(fd, record.ljust(_RECORD_BYTES), 0)


def read(fd: int) -> Holding:
    """Return what a slot's file says; nothing where it is cut."""
    try:
        return msgspec.json.decode(os.pread(fd, _RECORD_BYTES, 0) or b"{}", type=Holding)
    except msgspec.DecodeError:  # cut, by a full disk for one
        return Holding()
