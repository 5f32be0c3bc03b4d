"""What DuckDB overwrites in place of a ledger's file, kept until that is done.

A checkpoint writes rows into free blocks, and then a header that names them. But blocks of metadata that have room left are
written again where they are, while the header on the disk still names them: half of such a write and then nothing (power, a
host, a kill within it) leaves a file that opens no more, with a log of DuckDB's own or without (measured with DuckDB 1.5.5:
12 of the 122 blocks that twelve checkpoints wrote; duckdb's pull request 25106 is about blocks that are reused too early).

So these blocks lie in a file beside the ledger for as long as it may be written, packed, 30 to 80 kilobytes (of
ledgers of 2 to 240 MiB). Whoever finds that file puts them back, unless the header is another one: then the checkpoint was done.
"""

import contextlib
import fcntl
import hashlib
import os
from pathlib import Path
from typing import Self

import duckdb
import msgspec

from workbench.errors import IncompleteError
from workbench.ledger.store import LedgerBusyError
from workbench.scratch import sync
from workbench.zstd import ZstdCompressor, ZstdDecompressor, ZstdError

_HEADER_BYTES = 3 * 4096  # of the file, and of its two states, of which the newer counts
_DIGEST_BYTES = hashlib.sha256().digest_size
_BLOCKS = "SELECT block_id FROM pragma_metadata_info('ledger')"
_BLOCK_BYTES = "SELECT block_size FROM pragma_database_size() WHERE database_name = 'ledger'"


class _Kept(msgspec.Struct, frozen=True):
    """What a file was at one moment, where it may be overwritten."""

    header: bytes
    blocks: dict[int, bytes]
    """By their place in the file."""


def undo_of(path: Path) -> Path:
    """Return the file with what may have to be put back."""
    return path.with_name(f"{path.name}.undo")


def undo_torn_write(path: Path) -> None:
    """Put back what an interrupted write left torn, if there was one; the exclusive lock must be held.

    Raises:
        LedgerBusyError: A program that ignores that lock, as a notebook may, has the file open in DuckDB.
        OSError: This user may not write here.
    """
    undo = undo_of(path)
    try:
        kept = _read(undo.read_bytes())
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        undo.unlink(missing_ok=True)
        return
    try:
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # DuckDB's own: what it writes now must not be put back
        except (BlockingIOError, PermissionError) as error:
            raise LedgerBusyError("another program has the ledger open in DuckDB and does not close it") from error
        if kept is not None and os.pread(fd, _HEADER_BYTES, 0) == kept.header:
            torn = {place: block for place, block in kept.blocks.items() if os.pread(fd, len(block), place) != block}
            for place, block in torn.items():
                os.pwrite(fd, block, place)
            if torn:
                os.fsync(fd)
        undo.unlink()
    finally:
        os.close(fd)


class Undoing:
    """Keeps what of a file may be overwritten, from `keep` to the end of the context; the exclusive lock must be held."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: list[int] = []

    def keep(self, db: duckdb.DuckDBPyConnection) -> None:
        """Keep the file's state as it is now on the disk, in place of an earlier one.

        Args:
            db: Has it attached as `ledger`.

        Raises:
            IncompleteError: There is no room for it on the disk; nothing was overwritten.
        """
        size = db.execute(_BLOCK_BYTES).fetchone()
        assert size is not None
        # closed at the end only: a process that closes any descriptor of a file loses DuckDB's lock on it
        fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        self._files.append(fd)
        places = (_HEADER_BYTES + number * int(size[0]) for (number,) in db.execute(_BLOCKS).fetchall())
        end = os.fstat(fd).st_size
        blocks = {place: os.pread(fd, int(size[0]), place) for place in places if 0 <= place < end}
        try:
            self._write(_Kept(os.pread(fd, _HEADER_BYTES, 0), blocks))
        except OSError as error:
            _part_of(undo_of(self._path)).unlink(missing_ok=True)
            raise IncompleteError(f"{undo_of(self._path)} cannot be written: {error.strerror}") from error

    def _write(self, kept: _Kept) -> None:
        content = ZstdCompressor(level=1).compress(msgspec.msgpack.encode(kept), ZstdCompressor.FLUSH_FRAME)
        undo = undo_of(self._path)
        part = _part_of(undo)
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(fd, os.stat(self._path).st_mode & 0o666)  # for whoever may write the ledger
            with open(fd, "wb", closefd=False) as stream:
                stream.write(content + hashlib.sha256(content).digest())
            os.fsync(fd)
        finally:
            os.close(fd)
        part.replace(undo)
        sync(undo.parent)

    def __enter__(self) -> Self:
        undo_torn_write(self._path)
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._files:
            os.close(fd)
        with contextlib.suppress(OSError, LedgerBusyError):  # a full disk, for one: whoever opens it next does it
            undo_torn_write(self._path)


def _part_of(undo: Path) -> Path:
    return undo.with_name(f"{undo.name}.part")


def _read(content: bytes) -> _Kept | None:
    """Return what a file keeps; None where it was not written to its end, and nothing was overwritten yet."""
    kept, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
    if hashlib.sha256(kept).digest() != digest:
        return None
    try:
        return msgspec.msgpack.decode(ZstdDecompressor().decompress(kept), type=_Kept)
    except (ValueError, ZstdError):  # another version's
        return None
