"""The journal: an append-only file of checksummed Zstandard frames that hold JSON lines.

What it promises:

- an entry is handed to the kernel (`write(2)`) by `flush`: it survives any death of the process;
- it is on the disk (`fdatasync`) once `durable` counts it: it survives a power cut. Only that is acknowledged;
- a file is written by one process, which holds its lock for as long as it lives, and is never appended to again;
- what a kill or a power cut leaves torn is recognised by its missing or wrong checksum (`recovery` reads journals back).

Frames are compressed and written on the caller's thread (5 µs and 2 µs a record; a hand-over to another thread costs
more), and synced by a thread of their own, one `fdatasync` for everything written since the last.
"""

import errno
import fcntl
import os
import secrets
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from workbench.errors import IncompleteError
from workbench.ledger.entries import Entry
from workbench.ledger.recovery import SUFFIX, Unpacked, count_kinds
from workbench.zstd import CompressionParameter, ZstdCompressor

RESERVE_BYTES = 4 * 2**20
"""Kept free on the disk, so that answers in flight find room when everything else is full."""
_FRAME_OPTIONS: dict[int, int] = {CompressionParameter.compression_level: 1, CompressionParameter.checksum_flag: 1}
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_GATHER_S = 0.01  # a sync covers what is written meanwhile: at a thousand calls a second, 2 ms cost twice the CPU


class JournalFullError(IncompleteError):
    """The disk takes no more; what was acknowledged is safe."""


class JournalWriter:
    """Writes one process's journal.

    Args:
        folder: The ledger's journal folder; made when the first entry comes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.durable = 0
        """How many of the appended entries are on the disk."""
        self.no_room = False
        """Set when the reserve had to be used: nothing more should be sent."""
        self._appended = 0
        self._written = 0
        self._lines: list[bytes] = []
        self._encoder = msgspec.json.Encoder()
        self._compressor = ZstdCompressor(options=_FRAME_OPTIONS)
        self._fd: int | None = None
        self._path: Path | None = None
        self._end = 0
        self._reserve: int | None = None
        self.bytes_in_file = 0
        """Uncompressed, in the file that is open: what an ingest of it will read."""
        self._kinds_in_file: dict[str, int] = {}
        self._longest_in_file = 0
        self.whole: dict[str, Unpacked] = {}
        """What the files hold that were closed, by name: nobody need walk through them to know that they are whole."""
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

    def flush(self) -> None:
        """Write everything appended so far as one frame.

        Raises:
            JournalFullError: The disk is full, or cannot be written.
        """
        if not self._lines:
            return
        content = b"\n".join(self._lines) + b"\n"
        frame = self._compressor.compress(content, mode=ZstdCompressor.FLUSH_FRAME)
        if self._failed is not None:
            raise self._full(self._failed)
        if self._fd is None:
            self._open()
        try:
            self._write(frame)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise self._full(error) from error
            try:
                self._use_reserve(error)
                self._write(frame)
            except OSError as again:
                raise self._full(again) from again
        self.bytes_in_file += len(content)
        count_kinds(self._lines, self._kinds_in_file)
        self._longest_in_file = max(self._longest_in_file, max(map(len, self._lines)))
        self._lines.clear()
        self._written = self._appended
        self._to_sync.set()

    def sync(self) -> None:
        """Write and wait until everything appended is on the disk.

        Raises:
            JournalFullError: The disk is full, or cannot be written.
        """
        self.flush()
        try:
            with self._file_lock:
                self._sync()
        except OSError as error:
            raise self._full(error) from error

    def sync_in_background(self, notify: Callable[[int], None]) -> None:
        """Keep syncing from a thread, and tell `durable` after each sync.

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
                    except OSError:  # the next flush says so
                        return
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
            self.whole[path.name] = Unpacked(self._kinds_in_file, self._longest_in_file, self.bytes_in_file)
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

    def _sync(self) -> None:
        """Make what is written durable; after a failure nothing ever is, as the kernel forgets what it could not write."""
        if self._failed is not None:
            raise self._failed
        if self._fd is not None and self.durable < self._written:
            written = self._written
            try:
                os.fdatasync(self._fd)
            except OSError as error:
                self._failed, self.no_room = error, True
                raise
            self.durable = written

    def _open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
        path = self.folder / f"{stamp}-{os.getpid()}-{secrets.token_hex(3)}{SUFFIX}"
        unlocked = path.with_name(f"{path.name}.new")  # an ingest takes whatever bears the suffix and is not locked
        try:
            if not self.no_room:
                self._keep_reserve()
            fd = os.open(unlocked, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise self._full(error) from error
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.rename(unlocked, path)
        folder = os.open(self.folder, os.O_RDONLY)
        os.fsync(folder)  # the file's name must be as durable as its content
        os.close(folder)
        self._fd, self._path, self._end = fd, path, 0
        self.bytes_in_file = self._longest_in_file = 0
        self._kinds_in_file = {}

    def _keep_reserve(self) -> None:
        """Take room on the disk through a file without a name: it is freed with this process, however that ends."""
        if self._reserve is not None:
            return
        path = self.folder / f"{secrets.token_hex(8)}.reserve"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        path.unlink()
        try:
            os.posix_fallocate(fd, 0, RESERVE_BYTES)
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            # a limit on file sizes, or a file system without fallocate: go on without a reserve
        else:
            self._reserve = fd

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
        self.no_room = True
        self._free_reserve()
        if error.errno == errno.EFBIG and self._fd is not None:
            with self._file_lock:
                self._sync()
                os.close(self._fd)
                self._fd = None
            self._open()

    def _full(self, error: OSError) -> JournalFullError:
        self.no_room = True
        reason = error.strerror or str(error)
        return JournalFullError(f"the journal in {self.folder} cannot be written: {reason}; make room and run again")
