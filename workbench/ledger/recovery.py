"""Journals read back: every whole frame, whatever lies between, before or behind it."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import msgspec

from workbench.zstd import ZstdDecompressor, ZstdError

SUFFIX = ".jsonl.zst"
_MAGIC = b"\x28\xb5\x2f\xfd"  # how a frame begins: RFC 8878, section 3.1.1
_KIND_STARTS = len(b'{"kind":"')
_CHUNK_BYTES = 2**14  # what follows a frame in the chunk is copied once a frame


class Stretch(msgspec.Struct, frozen=True):
    """A part of a journal that is not a whole frame."""

    offset: int
    size: int


class Unpacked(msgspec.Struct, frozen=True):
    """What a journal held."""

    kinds: dict[str, int]
    """How many records of each kind, counted without DuckDB."""
    longest_line_bytes: int
    size_bytes: int
    """Uncompressed."""
    torn: Stretch | None = None
    """What follows the last whole frame: its writer died while writing it, or writes it just now."""
    damaged: tuple[Stretch, ...] = ()
    """What lies before a whole frame and was one: a disk or another program changed it."""

    @property
    def records(self) -> int:
        """How many in all."""
        return sum(self.kinds.values())


class Counts:
    """Counts the lines of frames."""

    def __init__(self) -> None:
        self.kinds: dict[bytes, int] = {}
        self.longest_line_bytes = self.size_bytes = 0

    def add(self, content: bytes) -> None:
        """Take in the lines of one frame."""
        lines = content.splitlines()
        count_kinds(lines, self.kinds)
        self.longest_line_bytes = max(self.longest_line_bytes, max(map(len, lines)))
        self.size_bytes += len(content)

    def unpacked(self, torn: Stretch | None = None, damaged: tuple[Stretch, ...] = ()) -> Unpacked:
        """Return what was counted so far."""
        return Unpacked(named(self.kinds), self.longest_line_bytes, self.size_bytes, torn, damaged)


def unpack(journal: Path, into: IO[bytes]) -> Unpacked:
    """Write the lines of a journal's whole frames to a file.

    Args:
        journal: The file; it may still be growing.
        into: Where the lines go.
    """
    counts = Counts()

    def take(content: bytes) -> None:
        into.write(content)
        counts.add(content)

    return counts.unpacked(*read_frames(journal, take))


def read_frames(journal: Path, take: Callable[[bytes], None]) -> tuple[Stretch | None, tuple[Stretch, ...]]:
    """Pass on the lines of every whole frame of a journal, one frame at a time; return what is torn or damaged.

    Args:
        journal: The file; it may still be growing.
        take: Called with the lines of each frame.
    """
    end = 0
    damaged = []
    with journal.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        for content, start, frame_end in frames(stream, size):
            if start > end:
                damaged.append(Stretch(end, start - end))
            end = frame_end
            take(content)
    return Stretch(end, size - end) if size > end else None, tuple(damaged)


def count_kinds(lines: Iterable[bytes], counts: dict[bytes, int]) -> None:
    """Count journal lines by kind, which each begins with: `{"kind":"intent",…`.

    Args:
        lines: Without their ends.
    """
    for line in lines:
        kind = line[_KIND_STARTS : line.find(b'"', _KIND_STARTS)]
        counts[kind] = counts.get(kind, 0) + 1


def named(counts: dict[bytes, int]) -> dict[str, int]:
    """Return the same counts with texts for kinds."""
    return {kind.decode("utf-8", "replace"): count for kind, count in counts.items()}


def frames(stream: IO[bytes], size: int) -> Iterator[tuple[bytes, int, int]]:
    """Return the whole frames of a journal as (content, offset of the frame's beginning, of its end).

    Args:
        size: How much of it to read, in bytes: what comes while it is read would make what is torn look damaged.
    """
    start: int | None = 0
    while start is not None:
        stream.seek(start)
        for content, frame_start, end in _run_of_frames(stream, start, size):
            yield content, frame_start, end
            start = end
        start = _next_beginning(stream, start + 1, size)


def _run_of_frames(stream: IO[bytes], start: int, size: int) -> Iterator[tuple[bytes, int, int]]:
    """Frames that follow each other without a gap, up to the first thing that is not one."""
    consumed, pending = start, b""
    decoder = ZstdDecompressor()
    parts: list[bytes] = []
    while data := pending or stream.read(min(_CHUNK_BYTES, size - consumed)):
        pending = b""
        try:
            parts.append(decoder.decompress(data))
        except ZstdError:
            return
        consumed += len(data)
        if decoder.eof:
            pending = decoder.unused_data
            consumed -= len(pending)
            yield b"".join(parts), start, consumed
            start = consumed
            parts.clear()
            decoder = ZstdDecompressor()


def _next_beginning(stream: IO[bytes], offset: int, size: int) -> int | None:
    """Return where the next frame may begin; None where none does."""
    stream.seek(offset)
    kept = b""
    while offset < size and (data := stream.read(min(_CHUNK_BYTES, size - offset))):
        window = kept + data
        if (place := window.find(_MAGIC)) >= 0:
            return offset - len(kept) + place
        kept = window[1 - len(_MAGIC) :]
        offset += len(data)
    return None


def set_aside(journal: Path, stretches: Sequence[Stretch], suffix: str) -> Path:
    """Copy parts of a journal that cannot be read to a file beside it, of its name and the suffix."""
    aside = journal.with_name(journal.name + suffix)
    with journal.open("rb") as stream, aside.open("wb") as into:
        for stretch in stretches:
            stream.seek(stretch.offset)
            into.write(stream.read(stretch.size))
    return aside
