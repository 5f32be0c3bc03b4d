"""Journal entries packed into checksummed Zstandard frames, as they lie in the file."""

from typing import Any

import msgspec

from workbench.ledger.entries import Entry
from workbench.ledger.recovery import count_kinds
from workbench.zstd import CompressionParameter, ZstdCompressor

_FRAME_OPTIONS: dict[int, int] = {CompressionParameter.compression_level: 1, CompressionParameter.checksum_flag: 1}
_LONG_CHARS = 2**20


class Frame(msgspec.Struct, frozen=True):
    """Entries packed as they lie in the file."""

    entries: int
    content: bytes
    """Compressed."""
    kinds: dict[bytes, int]
    size_bytes: int
    """Not compressed."""
    longest_line_bytes: int


def compressor() -> ZstdCompressor:
    """A compressor for frames; one thread at a time uses it."""
    return ZstdCompressor(options=_FRAME_OPTIONS)


def packed(entry: Entry) -> Frame:
    """One entry as a frame, made without a writer: a long one takes long, and is packed in a thread."""
    texts = {name: getattr(entry, name) for name in entry.__struct_fields__}
    long = {name: text for name, text in texts.items() if isinstance(text, str) and len(text) > _LONG_CHARS}
    parts: dict[str, Any] = {name: msgspec.Raw(msgspec.json.encode(text)) for name, text in long.items()}
    line = msgspec.json.encode(msgspec.structs.replace(entry, **parts))  # one by one: each keeps all threads waiting
    return frame_of([line], compressor())


def frame_of(lines: list[bytes], by: ZstdCompressor) -> Frame:
    """Journal lines as one frame."""
    content = b"\n".join(lines) + b"\n"
    kinds: dict[bytes, int] = {}
    count_kinds(lines, kinds)
    compressed = by.compress(content, mode=ZstdCompressor.FLUSH_FRAME)
    return Frame(len(lines), compressed, kinds, len(content), max(map(len, lines)))
