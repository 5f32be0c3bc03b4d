"""A reply's body in the content codings that come."""

import asyncio
import gzip
import random
import zlib
from collections.abc import AsyncIterator

import pytest

from workbench.client.body import Body, BrokenBodyError, UnreadableError, read_body

MOST_BYTES = 10**6
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
    assert asyncio.run(read(coding, body, size)) == Body(b"4" * 1000)
    if coding not in ("", "identity", "none", "utf-8"):
        with pytest.raises(BrokenBodyError, match="cut off"):
            asyncio.run(read(coding, body[:-1], size))


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "compress"])
def test_a_body_in_another_coding_is_kept_as_it_came(coding: str) -> None:
    assert asyncio.run(read(coding, b"x" * 100, 7)) == Body(b"x" * 100, coding)
    with pytest.raises(UnreadableError, match="longer than"):
        asyncio.run(read(coding, b"x" * 2 * MOST_BYTES, 10_000))


def test_what_is_packed_is_bounded_however_little_is_in_it() -> None:
    empty = gzip.compress(b"")
    with pytest.raises(UnreadableError, match="more than 4096 gzip members"):
        asyncio.run(read("gzip", empty * 5_000, 10_000))
    packing = zlib.compressobj(wbits=GZIP)
    nothing = packing.compress(b"4") + b"".join(
        packing.flush(zlib.Z_FULL_FLUSH) or b"\0\0\0\xff\xff" for _ in range(400_000)
    )
    with pytest.raises(UnreadableError, match="longer than"):
        asyncio.run(read("gzip", nothing, 10_000))


def test_what_hardly_packs_is_no_longer_than_it_is() -> None:
    body = random.Random(1).randbytes(MOST_BYTES)
    packing = zlib.compressobj(0, wbits=GZIP)
    assert asyncio.run(read("gzip", packing.compress(body) + packing.flush(), 10_000)) == Body(body)


async def read(coding: str, body: bytes, size: int) -> Body:
    async def pieces() -> AsyncIterator[bytes]:
        for place in range(0, len(body), size):
            yield body[place : place + size]

    async def room() -> None:
        """There is always some."""

    return await read_body(pieces(), coding, MOST_BYTES, room)
