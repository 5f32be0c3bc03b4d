"""A platform in a process of its own whose replies claim too much; a prompt's first word says which."""

import asyncio
import gzip
import json
import random
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

KEY = "sk-fedcba9876543210fedcba9876543210"
MIB = 2**20


def answer(text: str) -> bytes:
    message = {"content": text}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    body = {"model": "m", "choices": [{"finish_reason": "stop", "message": message}], "usage": usage}
    return json.dumps(body, ensure_ascii=False).encode()


def refusal(text: str) -> bytes:
    return json.dumps({"detail": text}).encode()


def packed_zeros(size: int) -> bytes:
    """So many spaces after an answer's beginning, in some thousandths of the bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    parts = [packer.compress(b'{"choices": [{"message": {"content": "')]
    parts += [packer.compress(b" " * MIB) for _ in range(size // MIB)]
    return b"".join([*parts, packer.flush()])


SMALL = answer("The answer is 4.")
REPLIES: dict[str, Callable[[], tuple[int, str, bytes]]] = {
    "plain": lambda: (200, "", SMALL),
    "packed": lambda: (200, "gzip", gzip.compress(SMALL)),
    "members": lambda: (200, "gzip", gzip.compress(SMALL[:20]) + gzip.compress(SMALL[20:])),
    "cut": lambda: (200, "gzip", gzip.compress(SMALL)[:-9]),
    "twice": lambda: (200, "gzip, gzip", gzip.compress(packed_zeros(200 * MIB))),
    "brotli": lambda: (200, "br", b"\x0b\x02\x80\xff\x03"),
    "brotli-page": lambda: (502, "br", b"\x0b\x02\x80\xff\x03"),
    "deflate": lambda: (200, "deflate", zlib.compress(SMALL)),
    "bomb": lambda: (200, "gzip", packed_zeros(200 * MIB)),
    "quota": lambda: (400, "", refusal("quota " * 34_000)),
    "quotas": lambda: (429, "", refusal("The quota of credit, balance and budget, " * 400_000)),
    "page": lambda: (502, "", b"<html>" + b"<p>allowance " * MIB),
    "letters": lambda: (200, "", answer("x" * (15 * MIB))),
    "wide": lambda: (200, "", answer("\U0001f600" + "x" * (15 * MIB))),
    "quotes": lambda: (200, "", answer('"' * (7 * MIB))),
    "values": lambda: (200, "", b'{"choices": [' + b"{}," * (5 * MIB) + b"{}]}"),
    "numbers": lambda: (200, "", b'{"choices": [' + b"1.5," * (3 * MIB) + b"1]}"),
    "broken": lambda: (200, "", answer("\xff" + "y" * (10 * MIB)).replace(b"\xc3\xbf", b"\xff")),
    "slashes": lambda: (200, "", answer("z" * (10 * MIB)).replace(b"zz", b"\\u0073")[: 15 * MIB]),
}


ENDLESS: dict[str, tuple[str, bytes]] = {
    "endless": ("", b"z" * MIB),
    "empty-members": ("gzip", gzip.compress(b"") * 50_000),
    "empty-blocks": ("gzip", b"\0\0\0\xff\xff" * 200_000),
    "blanks": ("", b" \n" * (MIB // 2)),
    "comments": ("", b": wait\n\n" * (MIB // 8)),
    "crumbs": ("", b"\n"),
}
"""Replies without an end: their content coding, and what comes again and again."""
INTERIM = "interim"
"""A reply that says for ever that the true one is to come."""


async def endless(word: str) -> AsyncIterator[bytes]:
    if word == "empty-blocks":
        yield gzip.compress(b"")[:10]
    while True:
        yield ENDLESS[word][1]
        await asyncio.sleep(0)


async def interim(request: web.Request) -> None:
    transport = request.transport
    while transport is not None and not transport.is_closing():
        transport.write(b"HTTP/1.1 102 Processing\r\n\r\n" * 1_000)
        await asyncio.sleep(0.001)


async def models(_: web.Request) -> web.Response:
    return web.json_response({"data": [{"id": "m"}]})


async def complete(request: web.Request) -> web.StreamResponse:
    prompt = (await request.json())["messages"][-1]["content"]
    word = prompt.split()[0]
    if word == "text":
        return web.Response(body=answer(random.Random(prompt).randbytes(75_000).hex()), content_type="application/json")
    if word == INTERIM:
        await interim(request)
        return web.Response()
    if word in ENDLESS:
        coding = ENDLESS[word][0]
        headers = {"Content-Encoding": coding} if coding else {}
        return web.Response(body=endless(word), headers=headers, content_type="application/json")
    if word == "slow":
        await asyncio.sleep(600)
    status, coding, body = REPLIES[word]()
    headers = {"Content-Encoding": coding} if coding else {}
    kind = "text/html" if word == "page" else "application/json"
    return web.Response(status=status, body=body, headers=headers, content_type=kind)


def main() -> None:
    app = web.Application()
    app.router.add_get("/api/models", models)
    app.router.add_post("/api/chat/completions", complete)

    async def tell(runner: web.AppRunner) -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(json.dumps(runner.addresses[0][1]), flush=True)
        await asyncio.to_thread(sys.stdin.read)

    asyncio.run(tell(web.AppRunner(app, access_log=None)))


@contextmanager
def hostile() -> Iterator[str]:
    """The server's base URL, for as long as the context lasts."""
    command: list[Any] = [sys.executable, "-m", "tests.end_to_end.hostile_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{json.loads(process.stdout.readline())}"
        finally:
            process.kill()


if __name__ == "__main__":
    main()
