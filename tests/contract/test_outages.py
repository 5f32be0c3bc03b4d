"""What an account is charged when model servers fail: nothing for an outage, and never less than what was really used."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from tests.cases import first_of
from tests.conftest import Workbench
from tests.contract.asking import Caller, platform_of
from tests.contract.test_upstream import Served, served
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.state import State

CAP = 60
OUTAGES = (502, 503, 530)
FAULTS = ("outage", "failed", "cut", "silent", "hang", "unreported")


class Metered:
    """A model server that knows what it used for each prompt, and fails at random."""

    def __init__(self) -> None:
        self._chance = random.Random(18)
        self.used: Counter[str] = Counter()
        self.fails = self.hangs = False

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self.complete)
        return app

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        prompt = body["messages"][0]["content"]
        fault = self._chance.choice(FAULTS) if self.fails and self._chance.random() < 0.5 else ""
        if fault == "outage":
            return web.Response(status=self._chance.choice(OUTAGES), text="down")
        generated = self._chance.randint(1, CAP) if self.fails else CAP
        prompt_tokens = len(prompt.split())
        self.used[prompt] += prompt_tokens + generated
        if fault == "failed":
            return web.Response(status=500, text="out of memory")
        if fault == "hang" or self.hangs:
            await asyncio.sleep(3600)
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": generated}
        if fault == "unreported":
            usage = {}
        return await (self._streamed if body.get("stream") else self._whole)(request, generated, usage, fault)

    async def _whole(
        self, request: web.Request, generated: int, usage: dict[str, int], fault: str
    ) -> web.StreamResponse:
        assert request.transport is not None
        message = {"role": "assistant", "content": "so " * generated}
        answer = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}
        if fault == "silent":
            request.transport.abort()
        if fault != "cut":
            return web.json_response(answer)
        reply = web.StreamResponse(headers={"Content-Length": "100000"})
        await reply.prepare(request)
        await reply.write(json.dumps(answer).encode()[:20])
        request.transport.abort()
        return reply

    async def _streamed(
        self, request: web.Request, generated: int, usage: dict[str, int], fault: str
    ) -> web.StreamResponse:
        assert request.transport is not None
        reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await reply.prepare(request)
        if fault == "silent":
            request.transport.abort()
        for _ in range(generated):
            await reply.write(_event({"choices": [{"index": 0, "delta": {"content": "so "}, "finish_reason": None}]}))
        if fault == "cut":
            request.transport.abort()
        await reply.write(_event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}))
        await reply.write(b"data: [DONE]\n\n")
        return reply


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"id": "c", "model": "m"} | chunk).encode() + b"\n\n"


__all__ = ["served"]  # a fixture


@pytest.fixture
def metered() -> Iterator[tuple[Metered, Served]]:
    model_server = Metered()
    with Served(model_server) as served:
        yield model_server, served


def charged(state: State, after: int) -> tuple[int, int, int]:
    """Tokens charged by the draws after one, how many draws these are, and the last one's number."""
    new = [draw for draw in state.draws() if draw.id > after]
    tokens = sum((draw.total_tokens if draw.settled else draw.estimated_tokens) or 0 for draw in new)
    return tokens, len(new), max((draw.id for draw in new), default=after)


@pytest.mark.parametrize(("outages", "calls"), first_of(("free", 60), ("free", 250), ("strict", 250)))
def test_no_sequence_of_faults_charges_less_than_was_used(
    metered: tuple[Metered, Served], outages: str, calls: int
) -> None:
    """Nor more than the cap and the prompt's bytes for each attempt; the route's usual answers are known."""
    model_server, served = metered
    config = platform_of(
        {"id": "m", "base_url": served.url}, clock_speed=50, limits={"time_limit_s": 5}, silent={"outages": outages}
    )
    state, chosen = State(), random.Random(500)
    with ThreadedServer(config, state) as server, Caller(server) as caller:
        for number in range(20):
            caller.ask("m", f"one two three {number}", max_tokens=CAP)
        _, _, last = charged(state, 0)
        model_server.fails = True
        for number in range(calls):
            text, streamed = f"{'word ' * chosen.randint(1, 30)}{number}", chosen.random() < 0.5
            sent_bytes = len(caller.ask("m", text, max_tokens=CAP, stream=streamed).request.content)
            tokens, attempts, last = charged(state, last)
            used = model_server.used[text]
            assert used <= tokens <= used + attempts * (CAP + sent_bytes // 2), number
        assert len(state.draws(unsettled_only=True)) > calls // 5


@pytest.mark.parametrize(
    "primary", [{"unavailable": True}, *({"faults": [{"status": status}]} for status in OUTAGES), {"base_url": None}]
)
def test_an_outage_charges_what_the_fallback_used_and_nothing_else(primary: dict[str, Any]) -> None:
    if "base_url" in primary:  # nothing listens there
        primary = {"base_url": "http://127.0.0.1:9/v1"}
    config = platform_of({"id": "m", "fallback": "other", **primary}, {"id": "other"}, allowance={"units": 1e6})
    state = State()
    with ThreadedServer(config, state) as server, Caller(server) as caller:
        reported = sum(
            caller.ask("m", f"Say {number}.", max_tokens=500).json()["usage"]["total_tokens"] for number in range(200)
        )
        assert server.platform.accounts.drawn_units("lab") == reported > 0
        assert state.drawn_units("lab", 0) == reported
        assert not state.draws(unsettled_only=True)


@pytest.mark.parametrize(("outages", "unsettled"), [("free", 0), ("strict", 3)])
def test_an_outage_may_be_charged_all_the_same(served: Served, outages: str, unsettled: int) -> None:
    config = platform_of({"id": "503", "base_url": served.url, "upstream": "503"}, silent={"outages": outages})
    with ThreadedServer(config) as server, Caller(server) as caller:
        assert caller.ask("503", max_tokens=9).status_code == 503
        assert len(server.platform.state.draws(unsettled_only=True)) == unsettled


def test_a_time_out_is_charged_as_the_routes_answers_are_and_not_by_a_large_cap(
    metered: tuple[Metered, Served],
) -> None:
    model_server, served = metered
    config = platform_of({"id": "m", "base_url": served.url}, clock_speed=50, limits={"time_limit_s": 50, "retries": 0})
    with ThreadedServer(config) as server, Caller(server) as caller:
        for number in range(20):
            caller.ask("m", f"Say {number}.")
        model_server.hangs = True
        assert caller.ask("m", max_tokens=1_000_000).status_code == 504
        (draw,) = server.platform.state.draws(unsettled_only=True)
    assert draw.estimated_tokens is not None
    assert CAP < draw.estimated_tokens < 2 * CAP


def test_unsettled_draws_are_settled_by_hand(tmp_path: Any) -> None:
    bench = Workbench(tmp_path, None)
    state = State(tmp_path / "platform.sqlite")
    first, second = (state.open_draw("lab", "m", "m", 1.0, 500) for _ in range(2))
    assert "settled at 120 tokens" in bench("platform", "usage", "settle", str(first), "120", "--reason", "log").stderr
    bench("platform", "usage", "release", str(second), "--reason", "never reached it")
    assert state.drawn_units("lab", 0) == 120
    rows = bench.json("platform", "usage")
    assert [(row["total_tokens"], row["estimated_tokens"], row["note"]) for row in rows] == [
        (0, 500, "never reached it"),
        (120, 500, "log"),
    ]
    again = bench("platform", "usage", "release", str(second), "--reason", "twice", code=2)
    assert f"there is no unsettled entry {second}" in again.stderr
    assert "--reason is empty" in bench("platform", "usage", "release", "1", "--reason", " ", code=2).stderr
