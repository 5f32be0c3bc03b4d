"""Where a ledger is, and who may open it; `database` opens it.

DuckDB lets one process write and then no other even read, so no process keeps the file open. Next to it are

    <ledger>.journal/   what is not ingested yet, each file of one process; running jobs, and what they share of caps
    <ledger>.lock       shared by readers, exclusive to an ingest; held for one reading or one ingest
    <ledger>.undo       while it is written: what may have to be put back (see `undoing`)

Of a team's ledger the first two are in the state folder of each machine.
"""

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from types import MappingProxyType
from typing import Self

from workbench.errors import Fault, InputError, LockHeldError, no_folder
from workbench.ledger.address import address_of
from workbench.ledger.recovery import SUFFIX
from workbench.settings.file import AllowanceSettings, CapSettings

LOG = logging.getLogger("workbench.ledger")
LOCK_PATIENCE_S = 10.0
"""How long a reader waits for an ingest; one takes a second or two."""
POLL_S = 0.02
_MAGIC = b"DUCK"  # behind the checksum of a file that DuckDB made
_UNKNOWN_ALLOWANCE = AllowanceSettings()
_LOOKING_S = 0.2  # `is_running` holds a lock for a moment, and must not be taken for a run


class JobRunningError(LockHeldError):
    """A job is running already on this ledger."""


class LedgerBusyError(LockHeldError):
    """Another process reads or writes the ledger and does not let go in time."""


class Ledger:
    """A ledger's address: the path of its DuckDB file, which need not exist yet, or that of a team's.

    Args:
        address: The path, or `ducklake:postgres:` and what PostgreSQL's clients are given.
        zone: Whose days usage is summed up by (IANA time zone).
        served_as: Model -> the names under which it is confirmed to answer.
        allowance: What is known of the account's.
        caps: What the account's runs may use.
        data: The folder of a team's rows, where this machine sees it elsewhere than the catalog says.

    Raises:
        InputError: The address names a scheme that is not known, or a folder that does not exist.
    """

    def __init__(
        self,
        address: str | Path,
        zone: str = "UTC",
        served_as: Mapping[str, list[str]] = MappingProxyType({}),
        allowance: AllowanceSettings = _UNKNOWN_ALLOWANCE,
        caps: Sequence[CapSettings] = (),
        data: Path | None = None,
    ) -> None:
        self.zone = zone
        self.served_as = served_as
        self.allowance = allowance
        self.caps = caps
        self.address = address_of(str(address), data)
        self.path = self.address.path
        """As it was given; of a team's ledger what its locks and journals lie beside."""
        self.file = self.path.resolve()
        """Without links: a link and what it names are one ledger, with the same log, locks and journals."""
        self.journal_folder = self.file.with_name(self.file.name + ".journal")
        self.lock_path = self.file.with_name(self.file.name + ".lock")
        if self.address.is_shared:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return
        _check_surroundings(self.path, self.file)
        for beside, is_right in (
            (self.lock_path, self.lock_path.is_file),
            (self.journal_folder, self.journal_folder.is_dir),
            (undo := self.file.with_name(f"{self.file.name}.undo"), undo.is_file),
        ):
            if beside.exists() and not is_right():
                raise InputError(
                    Fault("--ledger", f"{beside} is in the way", "the ledger needs this path: move it away")
                )
        if _is_something_else(self.path):
            raise InputError(Fault("--ledger", f"{self.path} is not a DuckDB file", "give another file"))

    @property
    def name(self) -> str:
        """The address, for people."""
        return self.address.name

    @property
    def label(self) -> str:
        """The address in short, where the folder is known."""
        return self.address.label

    @property
    def exists(self) -> bool:
        """Whether anything was ever recorded here; a team's ledger is made before it is used."""
        return self.address.is_made or bool(self.journals())

    @property
    def held_bytes(self) -> int | None:
        """What its file and journals take; None of a team's ledger, of which that is not known here."""
        held_bytes = self.address.size_bytes
        if held_bytes is None:
            return None
        for path in self.journals():
            with contextlib.suppress(FileNotFoundError):  # ingested just now
                held_bytes += path.stat().st_size
        return held_bytes

    def with_journals(self, folder: Path) -> Self:
        """Return the same ledger with the journals of another folder, such as a copy of another machine's."""
        other = copy(self)
        other.journal_folder = folder.resolve()
        return other

    def journals(self) -> list[Path]:
        """Return the journal files that are here, oldest first."""
        return sorted(path for path in self.journal_folder.glob(f"*{SUFFIX}") if path.is_file())

    @contextmanager
    def locked(self, *, exclusive: bool, patience_s: float = LOCK_PATIENCE_S) -> Iterator[None]:
        """Hold the ledger's side lock.

        Raises:
            LedgerBusyError: Others hold it for longer than `patience_s`.
        """
        fd = self._open_lock(exclusive=exclusive)
        if fd is None:
            yield
            return
        try:
            began_at = time.monotonic()
            deadline = began_at + patience_s
            while not _lock_at_once(fd, exclusive=exclusive):
                if time.monotonic() > deadline:
                    raise LedgerBusyError(f"another process has held {self.lock_path} for more than {patience_s:g} s")
                time.sleep(POLL_S)
            taken_at = time.monotonic()
            LOG.debug("lock %s: taken after %.3f s", "to write" if exclusive else "to read", taken_at - began_at)
            yield
            LOG.debug("lock %s: held for %.3f s", "to write" if exclusive else "to read", time.monotonic() - taken_at)
        finally:
            os.close(fd)

    def _open_lock(self, *, exclusive: bool) -> int | None:
        """Return the lock file's descriptor; None if it does not exist and cannot be created."""
        try:
            return os.open(self.lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if exclusive or error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
        try:
            return os.open(self.lock_path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None

    @contextmanager
    def running(self, job: str) -> Iterator[None]:
        """Allow one run of a job at a time on this ledger.

        Raises:
            JobRunningError: Another process runs it.
        """
        try:
            self.journal_folder.mkdir(mode=folder_mode(self.address.mode), parents=True, exist_ok=True)
        except OSError as error:
            problem = f"{self.journal_folder} cannot be written: {error.strerror}"
            raise InputError(Fault("--ledger", problem, "name a file elsewhere")) from error
        path = self._running_path(job)
        self._remove_left_behind()
        fd = self._locked_alone(path, job)
        try:
            os.ftruncate(fd, 0)  # of another user's run, whose file stays
            os.pwrite(fd, str(os.getpid()).encode(), 0)
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink()  # while it is locked: whoever opened it meanwhile sees that it is another file by now
            os.close(fd)

    def _locked_alone(self, path: Path, job: str) -> int:
        """Lock the file that says that a job runs.

        Raises:
            JobRunningError: Another process has it.
        """
        deadline = time.monotonic() + _LOOKING_S
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, self.address.mode)
            if not _lock_at_once(fd, exclusive=True):
                holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip() or "unknown"
                os.close(fd)
                if time.monotonic() > deadline:
                    running = f"job {job!r} is running already on this ledger, in process {holder}"
                    raise JobRunningError(f"{running}; wait for it, or end it: a rerun sends what is missing")
                time.sleep(POLL_S)
            elif _is_at(path, fd):
                return fd
            else:
                os.close(fd)

    def _remove_left_behind(self) -> None:
        """Remove the files of runs that were killed."""
        for path in self.journal_folder.glob("*.running"):
            with contextlib.suppress(OSError):  # another user's, or removed meanwhile
                fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                try:
                    if _lock_at_once(fd, exclusive=True) and _is_at(path, fd):
                        path.unlink()
                finally:
                    os.close(fd)

    def is_running(self, job: str) -> bool:
        """Return whether a process of this machine runs a job now."""
        try:
            fd = os.open(self._running_path(job), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # it never ran here, or for another user only
            return False
        try:
            return not _lock_at_once(fd, exclusive=False)
        finally:
            os.close(fd)

    def _running_path(self, job: str) -> Path:
        return self.journal_folder / f"{hashlib.sha256(job.encode()).hexdigest()[:16]}.running"


def _check_surroundings(path: Path, file: Path) -> None:
    if "?" in str(file.parent):  # DuckDB puts `.wal` before it, and looks for a folder that is not there
        problem = f"DuckDB cannot write in {file.parent}: its path has a question mark"
        raise InputError(Fault("--ledger", problem, "name a file elsewhere: --ledger PATH"))
    if not path.parent.is_dir():
        raise InputError(no_folder("--ledger", path.parent))
    if path.is_dir():
        raise InputError(Fault("--ledger", f"{path} is a folder, not a file", "name a file in it"))


def log_of(path: Path) -> Path:
    """DuckDB's write-ahead log of a file; it puts `.wal` before a question mark."""
    name, mark, rest = path.name.partition("?")
    return path.with_name(f"{name}.wal{mark}{rest}")


def is_of_duckdb(path: Path) -> bool:
    """Return whether a file is there that DuckDB made, as a ledger is."""
    return _head(path)[8:] == _MAGIC


def _is_something_else(path: Path) -> bool:
    """Return whether a file is there that DuckDB did not make; one that cannot be read is reported when it is opened."""
    head = _head(path)
    return bool(head) and head[8:] != _MAGIC


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(8 + len(_MAGIC))
    except OSError:
        return b""


def is_being_written(journal: Path) -> bool:
    """Return whether the writer of a journal still holds its lock; no process opens one again."""
    fd = os.open(journal, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return not _lock_at_once(fd, exclusive=False)
    finally:
        os.close(fd)


def _is_at(path: Path, fd: int) -> bool:
    """Return whether an open file is still the one of its path."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _lock_at_once(fd: int, *, exclusive: bool) -> bool:
    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def folder_mode(file_mode: int) -> int:
    """Return the mode of a folder whose files have a mode: whoever may read them may enter it."""
    return file_mode | (file_mode & 0o444) >> 2
