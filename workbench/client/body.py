"""A response's body, bounded: how much of it is kept, and in which content coding.

Nothing that a reply claims is believed: neither its length nor what it unpacks to decides how much memory is used.
"""

import asyncio
import zlib
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator

from workbench.completion import LARGE_BYTES

MOST_LARGE = 2
"""How many long bodies may be in memory at a time."""
_PIECE_BYTES = 2**18
_PAUSE_EVERY_BYTES = 2**22  # unpacking this much blocks the event loop for some 10 ms
_GZIP = 16 + zlib.MAX_WBITS


class UnreadableError(Exception):
    """A body that cannot be kept: it is too long, or packed in a way that was not asked for."""


class BrokenBodyError(Exception):
    """A packed body that is cut or damaged."""


async def read_body(
    stream: AsyncIterable[bytes], coding: str, most_bytes: int, make_room: Callable[[], Awaitable[None]]
) -> bytes:
    """Read a body to its end.

    Args:
        stream: Its bytes as they come.
        coding: The `Content-Encoding` header; only `gzip` is asked for.
        most_bytes: After unpacking; a longer body is read no further.
        make_room: Awaited once, when the body turns out to be long.

    Raises:
        UnreadableError: It is too long, or packed in another way.
        BrokenBodyError: It is packed, and cut or damaged.
    """
    packing = _Gzip() if coding in ("gzip", "x-gzip") else None
    if packing is None and coding not in ("", "identity"):
        raise UnreadableError(f"the answer has Content-Encoding {coding[:80]!r}, which was not requested")
    kept: list[bytes] = []
    size = paused_at = 0
    has_room = False
    async for chunk in stream:
        for piece in packing.unpacked(chunk) if packing else (chunk,):
            size += len(piece)
            if size > most_bytes:
                raise UnreadableError(f"the answer is longer than {most_bytes} bytes (run.max_reply_bytes)")
            if size > LARGE_BYTES and not has_room:
                await make_room()
                has_room = True
            kept.append(piece)
            if size - paused_at > _PAUSE_EVERY_BYTES:
                paused_at = size
                await asyncio.sleep(0)
    if packing is not None and not packing.is_whole:
        raise BrokenBodyError("the compressed answer is cut off")
    return b"".join(kept)


class _Gzip:
    """Unpacks one gzip stream (RFC 1952) a bounded piece at a time."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self.is_whole = False

    def unpacked(self, data: bytes) -> Iterator[bytes]:
        """What a part of the stream unpacks to, in pieces."""
        try:
            while True:
                piece = self._member.decompress(data, _PIECE_BYTES)
                yield piece
                self.is_whole = self._member.eof
                if self.is_whole and self._member.unused_data:  # a stream may have several members
                    data, self._member = self._member.unused_data, zlib.decompressobj(_GZIP)
                    continue
                data = self._member.unconsumed_tail
                if not data and len(piece) < _PIECE_BYTES:  # otherwise more output may be pending
                    return
        except zlib.error as error:
            raise BrokenBodyError(f"the compressed answer is damaged: {error}") from error
