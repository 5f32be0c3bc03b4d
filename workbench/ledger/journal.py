"""The journal: an append-only file of checksummed Zstandard frames that hold JSON lines.

What it promises:

- an entry is handed to the kernel (`write(2)`) by `flush`: it survives any death of the process;
- it is on the disk (`fdatasync`) once `durable` counts it: it survives a power cut. Only that is acknowledged;
- a file is written by one process, which holds its lock until it begins the next one or ends, and is never appended to again;
- what a kill or a power cut leaves torn is recognised by its missing or wrong checksum (`recovery` reads journals back).

Frames are compressed and written on the caller's thread (5 µs and 2 µs a record; a hand-over to another thread costs
more), and synced by a thread of their own, one `fdatasync` for everything written since the last.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

import workbench.settings.clock as clock
from workbench.errors import IncompleteError
from workbench.ledger.entries import Entry
from workbench.ledger.packing import Frame, compressor, frame_of
from workbench.ledger.recovery import SUFFIX, Unpacked, count_kinds, named
from workbench.scratch import sync

LEAST_RESERVE_BYTES = 4 * 2**20
"""Kept free on the disk, so that answers in flight find room when everything else is full."""
MOST_RESERVE_BYTES = 256 * 2**20
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_GATHER_S = 0.01  # a sync covers what is written meanwhile: at a thousand calls a second, 2 ms cost twice the CPU


class JournalFullError(IncompleteError):
    """The disk is full or not writable; what was acknowledged is safe."""


class JournalWriter:
    """Writes one process's journal.

    Args:
        folder: The ledger's journal folder; made when the first entry comes.
        in_flight: How many answers may be on their way at once; each needs room when the disk is full. 0: none, and what is
            written can be made again.
    """

    def __init__(self, folder: Path, in_flight: int = 1) -> None:
        self.folder = folder
        self._in_flight = in_flight
        self.durable = 0
        """How many of the appended entries are on the disk."""
        self.disk_error = ""
        """Why the disk cannot be written, once that happened: nothing more should be sent."""
        self._appended = 0
        self._written = 0
        self._lines: list[bytes] = []
        self._frames: deque[Frame] = deque()  # packed, and not written yet
        self._unsynced: deque[tuple[int, int, Frame]] = deque()  # written: entries and bytes up to its end, and itself
        self._synced_end = 0
        self._encoder = msgspec.json.Encoder()
        self._compressor = compressor()
        self._fd: int | None = None
        self._path: Path | None = None
        self._end = 0
        self._reserve: int | None = None
        self._reserve_bytes = 0
        self._longest_frame_bytes = 0
        self._reserve_is_due = False
        self.bytes_in_file = 0
        """Uncompressed, in the file that is open: what an ingest of it will read."""
        self._kinds_in_file: dict[bytes, int] = {}
        self._longest_in_file = 0
        self.whole: dict[str, Unpacked] = {}
        """What the closed files hold, by name: they need not be scanned again to know that they are whole."""
        self._file_lock = threading.Lock()  # the file may change only while no sync is under way
        self._to_sync = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed: OSError | None = None

    def append(self, entry: Entry) -> int:
        """Add an entry and return its number, counted from 1; `flush` hands it to the kernel."""
        self._lines.append(self._encoder.encode(entry))
        self._appended += 1
        return self._appended

    def append_frame(self, frame: Frame) -> int:
        """Add entries that `packing.packed` made, and return the number of the last; `flush` hands them to the kernel."""
        self._pack_lines()
        self._frames.append(frame)
        self._appended += frame.entries
        return self._appended

    def flush(self) -> None:
        """Write everything appended so far.

        Raises:
            JournalFullError: The disk is full, or cannot be written.
        """
        self._pack_lines()
        if self._failed is not None:
            self._start_next_file()
        while self._frames:
            frame = self._frames[0]
            if self._fd is None:
                self._open()
            try:
                self._write(frame.content)
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise self._full(error) from error
                try:
                    self._use_reserve(error)
                    self._write(frame.content)
                except OSError as again:
                    raise self._full(again) from again
            self._count(self._frames.popleft())

    def _pack_lines(self) -> None:
        if self._lines:
            self._frames.append(frame_of(self._lines, self._compressor))
            self._lines = []

    def _count(self, frame: Frame) -> None:
        """Count a frame that was written."""
        self.bytes_in_file += frame.size_bytes
        count_kinds(frame.heads, self._kinds_in_file)
        self._longest_in_file = max(self._longest_in_file, frame.longest_line_bytes)
        if len(frame.content) > self._longest_frame_bytes:
            self._longest_frame_bytes = len(frame.content)
            self._reserve_is_due = True
        # first this: a sync that counts the frame as written must find it here, or it would be written and counted again
        self._unsynced.append((self._written + frame.entries, self._end, frame))
        self._written += frame.entries
        self._to_sync.set()

    def _start_next_file(self) -> None:
        """Continue in a new file after a failed sync, with all that was not durable in the old one.

        The kernel forgets what it could not write: a later sync of the same file says nothing about it. What is written
        again is cut off the old file, so that no entry is there twice.
        """
        with self._file_lock:
            fd, failed = self._fd, self._failed
            if fd is None or failed is None:
                return
            try:  # before its end is written to another: an ingest of both files would take each of these entries twice
                os.ftruncate(fd, self._synced_end)
            except OSError:
                raise self._full(failed) from failed
            self._frames.extendleft(frame for _, _, frame in reversed(self._unsynced))
            self._unsynced.clear()
            self._written = self.durable
            removed = _content_of(fd) if not os.fstat(fd).st_nlink else b""
            os.close(fd)
            if self._path is not None and not self._synced_end:
                self._path.unlink(missing_ok=True)
            self._fd = self._path = self._failed = None
        if removed:
            self._write_once_more(removed)

    def _write_once_more(self, content: bytes) -> None:
        """Begin a new file with what another held that has no name any more; it was counted as durable."""
        self._open()
        self._write(content)
        assert self._fd is not None
        os.fdatasync(self._fd)
        self._synced_end = self._end

    def sync(self) -> None:
        """Write and wait until everything appended is on the disk; a sync that fails is tried once more, in a new file.

        Raises:
            JournalFullError: The disk is full, or cannot be written.
        """
        for is_last in (False, True):
            self.flush()
            try:
                with self._file_lock:
                    self._sync()
            except OSError as error:
                if is_last:
                    raise self._full(error) from error
            else:
                return

    def sync_in_background(self, notify: Callable[[int], None]) -> None:
        """Keep syncing from a thread, and report `durable` after each sync.

        Args:
            notify: Called on that thread.
        """

        def keep_syncing() -> None:
            while not self._closing.is_set():
                self._to_sync.wait()
                self._closing.wait(_GATHER_S)
                self._to_sync.clear()
                with self._file_lock:
                    try:
                        self._sync()
                    except OSError:  # the next flush starts a new file
                        continue
                notify(self.durable)

        self._thread = threading.Thread(target=keep_syncing, name="journal-sync", daemon=True)
        self._thread.start()

    def rotate(self) -> Path | None:
        """Close the file, whole and durable, and return it; the next entry opens another."""
        self.sync()
        with self._file_lock:
            path, fd = self._path, self._fd
            self._path = self._fd = None
        if path is not None:
            self.whole[path.name] = Unpacked(named(self._kinds_in_file), self._longest_in_file, self.bytes_in_file)
        if fd is not None:
            os.close(fd)  # which also frees the lock
        return path

    def close(self) -> None:
        """Sync, stop the thread, and free the reserve."""
        try:
            self.rotate()
        finally:
            self._closing.set()
            self._to_sync.set()
            if self._thread is not None:
                self._thread.join()
            self._free_reserve()
            if self._fd is not None:  # it was not rotated: its lock would say that it is being written
                os.close(self._fd)
                self._fd = None

    def _sync(self) -> None:
        """Make what is written durable; after a failure nothing in this file ever is."""
        if self._failed is not None:
            raise self._failed
        if self._fd is not None and self.durable < self._written:
            written = self._written
            try:
                os.fdatasync(self._fd)
            except OSError as error:
                self._failed = error
                self.disk_error = f"the disk did not store the journal: {error.strerror or error}"
                raise
            if problem := self._out_of_place():
                self.disk_error = problem
                self._failed = FileNotFoundError(errno.ENOENT, problem, str(self._path))
                raise self._failed
            self.durable = written
            while self._unsynced and self._unsynced[0][0] <= written:
                self._synced_end = self._unsynced.popleft()[1]

    def _out_of_place(self) -> str:
        """Return whether the file was removed or moved, in words; where it is, no ingest finds what is written to it."""
        assert self._fd is not None
        own = os.fstat(self._fd)
        if not own.st_nlink:
            return "the journal was removed while it was written"
        with contextlib.suppress(FileNotFoundError):
            if self._path is not None and os.path.samestat(own, self._path.stat()):
                return ""
        place = os.readlink(f"/proc/self/fd/{self._fd}") if Path("/proc/self/fd").exists() else "another folder"
        return f"the journal was moved while it was written: what it holds is in {place}"

    def _open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp = clock.machine_now().strftime("%Y%m%dT%H%M%S.%f")
        path = self.folder / f"{stamp}-{os.getpid()}-{secrets.token_hex(3)}{SUFFIX}"
        unlocked = path.with_name(f"{path.name}.new")  # an ingest takes whatever bears the suffix and is not locked
        try:
            if self._in_flight and not self.disk_error:
                self._keep_reserve()
            fd = os.open(unlocked, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._full(error) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.rename(unlocked, path)
            sync(self.folder)  # the file's name must be as durable as its content
        except OSError as error:  # it holds nothing yet
            os.close(fd)
            raise self._full(error) from error
        self._fd, self._path, self._end, self._synced_end = fd, path, 0, 0
        self.bytes_in_file = self._longest_in_file = 0
        self._kinds_in_file = {}

    def keep_reserve(self) -> None:
        """Grow the reserve with the answers seen; in trouble it is already in use.

        Raises:
            JournalFullError: The disk has no room for it.
        """
        if not self._reserve_is_due:
            return
        self._reserve_is_due = False
        if self.disk_error or self._reserve is None or self._wanted_reserve() <= self._reserve_bytes:
            return
        try:
            self._keep_reserve()
        except OSError as error:
            self._free_reserve()
            raise self._full(error) from error

    def _wanted_reserve(self) -> int:
        wanted = 2 * self._in_flight * self._longest_frame_bytes
        return min(max(wanted, LEAST_RESERVE_BYTES), MOST_RESERVE_BYTES)

    def _keep_reserve(self) -> None:
        """Take room on the disk through a file without a name: it is freed with this process, however that ends."""
        if self._reserve is None:
            path = self.folder / f"{secrets.token_hex(8)}.reserve"
            self._reserve = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            path.unlink()
        try:
            os.posix_fallocate(self._reserve, 0, self._wanted_reserve())
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            # a limit on file sizes, or a file system without fallocate: go on without a reserve
        self._reserve_bytes = self._wanted_reserve()

    def _free_reserve(self) -> None:
        if self._reserve is not None:
            os.close(self._reserve)
            self._reserve = None

    def _write(self, frame: bytes) -> None:
        assert self._fd is not None
        view = memoryview(frame)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            os.ftruncate(self._fd, self._end)  # a frame is whole or not there
            raise
        self._end += len(frame)

    def _use_reserve(self, error: OSError) -> None:
        """Make room for the answers that are in flight: free the reserve, or go on in another file."""
        self.disk_error = "the disk is full"
        self._free_reserve()
        if error.errno == errno.EFBIG and self._fd is not None:
            with self._file_lock:
                self._sync()
                os.close(self._fd)
                self._fd = None
            self._open()

    def _full(self, error: OSError) -> JournalFullError:
        reason = error.strerror or str(error)
        self.disk_error = self.disk_error or reason
        return JournalFullError(f"the journal in {self.folder} cannot be written: {reason}; free disk space and rerun")


def _content_of(fd: int) -> bytes:
    """Return what a file holds that has no name any more; nothing where the system does not show it."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/self/fd/{fd}").read_bytes()
    return b""
