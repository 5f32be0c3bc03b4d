"""Faults on demand: each does what it says, when it says, as often as it says, and the same in every run."""

import math
import statistics
from typing import Any

import httpx
import pytest

from tests.contract.asking import ASKED, Caller, joined, platform_of
from tests.contract.clocks import SteppedClock
from workbench.local_platform.clock import Clock
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings


def served(*faults: dict[str, Any], clock: Clock | None = None, **route: Any) -> ThreadedServer:
    route = {"id": "m", "faults": list(faults), **route}
    return ThreadedServer(platform_of(route, limits={"retries": 0}), around=Surroundings(clock=clock))


def statuses(server: ThreadedServer, count: int) -> list[int]:
    with Caller(server) as caller:
        return [caller.ask("m", str(number)).status_code for number in range(count)]


def test_a_mix_comes_in_its_shares_and_is_repeatable() -> None:
    mix = ({"share": 0.3, "status": 502}, {"share": 0.2, "status": 429})
    with served(*mix) as server:
        first = statuses(server, 200)
    assert 35 <= first.count(502) <= 85
    assert 20 <= first.count(429) <= 60
    with served(*mix) as server:
        assert statuses(server, 200) == first


def test_another_seed_is_another_sequence() -> None:
    found = []
    for seed in (1, 2):
        config = platform_of({"id": "m", "faults": [{"share": 0.5}]}, seed=seed, limits={"retries": 0})
        with ThreadedServer(config) as server:
            found.append(statuses(server, 40))
    assert found[0] != found[1]


def test_hang() -> None:
    with served({"kind": "hang"}) as server, Caller(server) as caller, pytest.raises(httpx.ReadTimeout):
        caller.http.post("/api/chat/completions", json={"model": "m", "messages": ASKED}, timeout=0.3)


@pytest.mark.parametrize("streamed", [False, True])
def test_slow_first_byte(streamed: bool) -> None:
    clock = SteppedClock()
    with served({"kind": "slow", "delay_s": 40}, clock=clock) as server, Caller(server) as caller:
        assert caller.ask("m", stream=streamed).status_code == 200
    assert clock.slept_s[:2] == [0, 40]


@pytest.mark.parametrize(("kind", "status"), [("html", 500), ("cut", 500)])
def test_a_model_server_that_answers_nonsense(kind: str, status: int) -> None:
    with served({"kind": kind}) as server:
        assert statuses(server, 1) == [status]


def test_the_platform_cannot_reach_its_gateway() -> None:
    with served({"kind": "gateway"}) as server, Caller(server) as caller:
        for streamed in (False, True):
            reply = caller.ask("m", stream=streamed)
            assert reply.status_code == 500
            assert "Server Connection Error" in reply.json()["detail"]
        assert server.platform.state.draws() == []
    config = platform_of({"id": "m", "faults": [{"kind": "gateway"}]}, silent={"errors": "detail_400"})
    with ThreadedServer(config) as server, Caller(server) as caller:
        assert caller.ask("m").status_code == 400


@pytest.mark.parametrize(("choice", "status"), [("error", 500), ("empty", 200)])
def test_a_page_in_place_of_a_stream(choice: str, status: int) -> None:
    config = platform_of({"id": "m", "faults": [{"kind": "html"}]}, silent={"garbled_stream": choice})
    with ThreadedServer(config) as server, Caller(server) as caller:
        assert caller.ask("m", stream=True).status_code == status


def test_a_cut_leaves_the_draw_open_and_a_refusal_does_not() -> None:
    with served({"kind": "cut"}) as server:
        statuses(server, 1)
        assert len(server.platform.state.draws(unsettled_only=True)) == 1
    with served({"status": 500}) as server:
        statuses(server, 1)
        assert server.platform.state.draws() == []


@pytest.mark.parametrize("streamed", [False, True])
def test_reset_and_truncate_happen_in_front_of_an_answer_that_was_drawn(streamed: bool) -> None:
    for kind in ("reset", "truncate"):
        with served({"kind": kind}) as server, Caller(server) as caller:
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                caller.ask("m", stream=streamed)
            assert [draw.settled for draw in server.platform.state.draws()] == [True]


def test_truncate_gives_the_first_half() -> None:
    with served({"kind": "truncate"}) as server, Caller(server) as caller:
        body = {"model": "m", "messages": ASKED}
        with caller.http.stream("POST", "/api/chat/completions", json=body) as reply:
            with pytest.raises(httpx.RemoteProtocolError):
                reply.read()
        assert 0 < reply.num_bytes_downloaded < int(reply.headers["content-length"])


def test_an_outage_window() -> None:
    clock = SteppedClock()
    with served({"from_s": 50, "until_s": 100}, clock=clock) as server:
        seen = {}
        for clock.at_s in (0, 49.9, 50, 99.9, 100, 1000):
            seen[clock.at_s] = statuses(server, 1)[0]
    assert seen == {0: 200, 49.9: 200, 50: 502, 99.9: 502, 100: 200, 1000: 200}


def test_bursts() -> None:
    clock = SteppedClock()
    with served({"every_s": 40, "for_s": 20, "status": 503}, clock=clock) as server:
        seen = []
        for clock.at_s in range(0, 120, 5):
            seen += statuses(server, 1)
    assert seen == 3 * ([503] * 4 + [200] * 4)


def test_a_fault_that_does_not_last_is_fixed_by_a_retry() -> None:
    for lasting, status in ((True, 502), (False, 200)):
        with ThreadedServer(platform_of({"id": "m", "faults": [{"lasting": lasting}]})) as server:
            assert statuses(server, 3) == [status] * 3


def test_latency_is_lognormal_and_seeded() -> None:
    took_s = []
    for _ in range(2):
        clock = SteppedClock()
        with served(latency_ms={"median": 30, "sigma": 0.5}, clock=clock) as server:
            statuses(server, 200)
        took_s.append(clock.slept_s)
    assert took_s[0] == took_s[1]
    logs = [math.log(one_s / 0.030) for one_s in took_s[0]]
    assert len(logs) == 200
    assert statistics.mean(logs) == pytest.approx(0, abs=0.1)
    assert statistics.stdev(logs) == pytest.approx(0.5, abs=0.1)


def test_pieces_of_a_stream_take_their_time() -> None:
    clock = SteppedClock()
    with served(token_ms=20, clock=clock) as server, Caller(server) as caller:
        events = caller.events("m", "one two three four five")
    assert clock.slept_s.count(0.02) >= len(events) - 3
    assert joined(events)
