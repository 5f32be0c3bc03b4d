"""A response's body, bounded: how much of it is kept, and in which content coding.

Nothing that a reply claims is believed: neither its length nor what it unpacks to decides how much memory is used.
"""

import asyncio
import zlib
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator
from typing import NamedTuple

from workbench.client.completion import LARGE_BYTES

MOST_LARGE = 2
"""How many long bodies may be in memory at a time."""
_PIECE_BYTES = 2**18
_PAUSE_EVERY_BYTES = 2**22  # unpacking this much blocks the event loop for some 10 ms
_MOST_MEMBERS = 2**12  # one takes 20 bytes and grows nothing, and a server may pack by the piece
_GZIP = 16 + zlib.MAX_WBITS
_ZLIB = 8
"""The low half of the first byte of a deflate stream with its header; a bare one that begins so is not written."""
_NOT_PACKED = ("", "identity", "none", "utf-8", "utf8")
"""What stands in the header of bodies that are as they are; some of it by mistake."""


class UnreadableError(Exception):
    """A body that is too long to be kept."""


class BrokenBodyError(Exception):
    """A packed body that is cut or damaged."""


class Body(NamedTuple):
    """A body as it is kept."""

    content: bytes
    coding: str = ""
    """The content coding that it still has, as nothing here reads it; empty: it is unpacked."""


async def read_body(
    stream: AsyncIterable[bytes], coding: str, most_bytes: int, make_room: Callable[[], Awaitable[None]]
) -> Body:
    """Read a body to its end.

    Args:
        coding: The `Content-Encoding` header; only `gzip` is asked for, and `deflate` is read as well. What came in another
            one is kept as it came: it may be an answer that was paid for.
        most_bytes: Before and after unpacking; a longer body is read no further.
        make_room: Awaited once, when the body turns out to be long.

    Raises:
        UnreadableError: It is too long.
        BrokenBodyError: It is packed, and cut or damaged.
    """
    codings = [name for part in coding.split(",") if (name := part.strip()) not in _NOT_PACKED]
    is_readable = codings in ([], ["gzip"], ["x-gzip"], ["deflate"])
    packing = _Packed(is_deflate=codings == ["deflate"]) if codings and is_readable else None
    kept: list[bytes] = []
    size = received = paused_at = 0
    has_room = False
    async for chunk in stream:
        received += len(chunk)
        for piece in packing.unpacked(chunk) if packing else (chunk,):
            size += len(piece)
            # what is packed may be a little longer than what it holds, and hold nothing at all
            if size > most_bytes or received > most_bytes + _PIECE_BYTES:
                raise UnreadableError(f"the answer is longer than {most_bytes} bytes (run.max_reply_bytes)")
            if size > LARGE_BYTES and not has_room:
                await make_room()
                has_room = True
            if piece:
                kept.append(piece)
            if size + received - paused_at > _PAUSE_EVERY_BYTES:
                paused_at = size + received
                await asyncio.sleep(0)
    if packing is not None and not packing.is_whole:
        raise BrokenBodyError("the compressed answer is cut off")
    return Body(b"".join(kept), "" if is_readable else coding)


class _Packed:
    """Unpacks one stream a bounded piece at a time: gzip (RFC 1952), or deflate, with its header (RFC 1950) or bare."""

    def __init__(self, *, is_deflate: bool) -> None:
        self._member = None if is_deflate else zlib.decompressobj(_GZIP)
        self._is_deflate, self._members = is_deflate, 1
        self.is_whole = False

    def unpacked(self, data: bytes) -> Iterator[bytes]:
        """Return what a part of the stream unpacks to, in pieces."""
        if not data or (self._is_deflate and self.is_whole):  # what follows a deflate stream would only pile up
            return
        member = self._member or zlib.decompressobj(zlib.MAX_WBITS if data[0] & 15 == _ZLIB else -zlib.MAX_WBITS)
        self._member = member
        try:
            while True:
                piece = member.decompress(data, _PIECE_BYTES)
                yield piece
                self.is_whole = member.eof
                if self.is_whole and member.unused_data and not self._is_deflate:  # a stream may have several members
                    self._members += 1
                    if self._members > _MOST_MEMBERS:
                        raise UnreadableError(f"the answer has more than {_MOST_MEMBERS} gzip members")
                    data, member = member.unused_data, zlib.decompressobj(_GZIP)
                    self._member = member
                    continue
                data = member.unconsumed_tail
                if not data and len(piece) < _PIECE_BYTES:  # otherwise more output may be pending
                    return
        except zlib.error as error:
            raise BrokenBodyError(f"the compressed answer is damaged: {error}") from error
