"""A reply's body in the content codings that come."""

import asyncio
import zlib
from collections.abc import AsyncIterator

import pytest

from workbench.client.body import BrokenBodyError, UnreadableError, read_body

GZIP, ZLIB, BARE = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS


def packed_by(wbits: int) -> bytes:
    packing = zlib.compressobj(wbits=wbits)
    return packing.compress(b"4" * 1000) + packing.flush()


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("", b"4" * 1000), ("identity", b"4" * 1000), ("none", b"4" * 1000), ("utf-8", b"4" * 1000), ("gzip", packed_by(GZIP)),
        ("x-gzip", packed_by(GZIP)), ("identity, gzip", packed_by(GZIP)), ("deflate", packed_by(ZLIB)), ("deflate", packed_by(BARE)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_body_is_read_in_whichever_coding_it_came(coding: str, body: bytes, size: int) -> None:
    assert asyncio.run(read(coding, body, size)) == b"4" * 1000
    if coding not in ("", "identity", "none", "utf-8"):
        with pytest.raises(BrokenBodyError, match="cut off"):
            asyncio.run(read(coding, body[:-1], size))


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "compress"])
def test_a_body_in_another_coding_is_not_taken_for_text(coding: str) -> None:
    with pytest.raises(UnreadableError, match="was not requested"):
        asyncio.run(read(coding, b"x", 1))


async def read(coding: str, body: bytes, size: int) -> bytes:
    async def pieces() -> AsyncIterator[bytes]:
        for place in range(0, len(body), size):
            yield body[place : place + size]

    async def room() -> None:
        """There is always some."""

    return await read_body(pieces(), coding, 10**6, room)
