"""Journal entries packed into checksummed Zstandard frames, as stored in the file."""

import msgspec

from workbench.ledger.entries import Answer
from workbench.zstd import CompressionParameter, ZstdCompressor

_FRAME_OPTIONS: dict[int, int] = {CompressionParameter.compression_level: 1, CompressionParameter.checksum_flag: 1}
_LONG_CHARS = 2**20
_LONG_FIELDS = ("answer", "reasoning", "raw")
_KIND_BYTES = 64


class Frame(msgspec.Struct, frozen=True):
    """Entries packed as stored in the file."""

    entries: int
    content: bytes
    """Compressed."""
    heads: list[bytes]
    """What its lines begin with, which says of what kind they are."""
    size_bytes: int
    """Not compressed."""
    longest_line_bytes: int


def compressor() -> ZstdCompressor:
    """Return a compressor for frames; one thread at a time uses it."""
    return ZstdCompressor(options=_FRAME_OPTIONS)


def packed(entry: Answer) -> Frame:
    """Return one answer as a frame, made without a writer: a long one takes long, and is packed in a thread."""
    line = _line(entry)
    content = compressor().compress(line, mode=ZstdCompressor.FLUSH_FRAME)
    return Frame(1, content, [bytes(line[:_KIND_BYTES])], len(line), len(line) - 1)


def frame_of(lines: list[bytes], by: ZstdCompressor) -> Frame:
    """Journal lines as one frame."""
    content = b"\n".join(lines) + b"\n"
    compressed = by.compress(content, mode=ZstdCompressor.FLUSH_FRAME)
    return Frame(len(lines), compressed, lines, len(content), max(map(len, lines)))


def _line(entry: Answer) -> bytearray:
    """Return an answer as JSON, in one buffer that grows: copies of long texts are memory that a run may not have.

    They are encoded piece by piece, as each keeps all threads waiting for as long as it takes.
    """
    texts = {name: getattr(entry, name) for name in _LONG_FIELDS}
    long = {name: text for name, text in texts.items() if text is not None and len(text) > _LONG_CHARS}
    line, encoder = bytearray(), msgspec.json.Encoder()
    encoder.encode_into(msgspec.structs.replace(entry, **dict.fromkeys(long)), line)
    del line[-1:]  # the brace at its end
    for name, text in long.items():
        line += f',"{name}":"'.encode()
        for start in range(0, len(text or ""), _LONG_CHARS):
            end = len(line)
            encoder.encode_into((text or "")[start : start + _LONG_CHARS], line, end)
            del line[-1:], line[end : end + 1]  # the quotes around a piece
        line += b'"'
    line += b"}\n"
    return line
