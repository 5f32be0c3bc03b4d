"""A bare server that answers completions after a set time, streamed ones too, and counts.

`python -m tests.benchmarks.measured_server MEDIAN_MS [SIGMA]`: with a sigma the times are lognormal, the same in every run.

It prints its port as one line. `GET /statistics` gives requests, the span from the first request to the last answer,
and the time that requests spent in it; it is the same server for every client that is compared.

A request's time runs from its arrival, and the loop waits by `select`, to the microsecond: `epoll` waits in whole
milliseconds, rounded up, which would be charged to the clients (a client in C had 2,000 calls of 50 ms answered
in 2.21 s by such a loop, in 2.15 s by this one).
"""

import asyncio
import math
import random
import selectors
import sys
import time
from collections.abc import Iterator

import msgspec
from aiohttp import web

ANSWER = {
    "id": "chatcmpl-0", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "The answer is 42."}}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
}  # fmt: skip
PIECES = [{"role": "assistant", "content": ""}, *({"content": word} for word in ("The ", "answer ", "is ", "42", "."))]
CHUNK = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1, "model": "m"}
CHUNKS = [
    *(CHUNK | {"choices": [{"index": 0, "delta": piece, "finish_reason": None}]} for piece in PIECES),
    CHUNK | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    CHUNK | {"choices": [], "usage": ANSWER["usage"]},
]
EVENTS = [b"data: " + msgspec.json.encode(chunk) + b"\n\n" for chunk in CHUNKS] + [b"data: [DONE]\n\n"]
"""The same answer, one event a token, as model servers send it."""


def latencies_s(median_s: float, sigma: float) -> Iterator[float]:
    """How long each request takes, in the order in which they arrive."""
    chance = random.Random(0)
    while True:
        yield median_s * math.exp(chance.gauss(0, sigma)) if sigma else median_s


class Counting:
    """The server's state."""

    def __init__(self, median_s: float, sigma: float) -> None:
        self.median_s, self.sigma = median_s, sigma
        self.body = msgspec.json.encode(ANSWER)
        self.reset()

    def reset(self) -> None:
        self.requests, self.first, self.last, self.busy_s, self.first_at = 0, 0.0, 0.0, 0.0, 0.0
        self.latencies_s = latencies_s(self.median_s, self.sigma)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        arrived = time.perf_counter()
        self.first, self.first_at = self.first or arrived, self.first_at or time.time()
        streamed = b'"stream":true' in (await request.read()).replace(b" ", b"")
        if self.median_s:
            await asyncio.sleep(arrived + next(self.latencies_s) - time.perf_counter())
        self.requests += 1
        self.last = time.perf_counter()
        self.busy_s += self.last - arrived
        if streamed:
            reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await reply.prepare(request)
            for event in EVENTS:
                await reply.write(event)
            await reply.write_eof()
            return reply
        return web.Response(body=self.body, content_type="application/json")

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "m", "object": "model", "owned_by": "benchmark"}]})

    async def count(self, request: web.Request) -> web.Response:
        return web.json_response(self.requests)

    async def statistics(self, request: web.Request) -> web.Response:
        found = {
            "requests": self.requests,
            "span_s": self.last - self.first,
            "busy_s": self.busy_s,
            "first_at": self.first_at,
        }
        self.reset()
        return web.json_response(found)


def precise_loop() -> asyncio.AbstractEventLoop:
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


async def main() -> None:
    """Serve until killed."""
    counting = Counting(float(sys.argv[1]) / 1000, float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/api/chat/completions", counting.complete)
    app.router.add_get("/api/models", counting.models)
    app.router.add_get("/statistics", counting.statistics)
    app.router.add_get("/count", counting.count)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=512).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(main())
