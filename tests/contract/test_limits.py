"""Every limit of the configuration holds, and is felt when it is taken out."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.cases import first_of
from tests.contract.asking import Caller, platform_of
from tests.contract.clocks import HeldClock, NotedClock, SteppedClock
from tests.waiting import until
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings


def test_the_size_of_a_body() -> None:
    with ThreadedServer(platform_of({"id": "m"}, limits={"body_bytes": 2048})) as server, Caller(server) as caller:
        assert caller.ask("m", "x" * 1500).status_code == 200
        refused = caller.ask("m", "x" * 3000)
        size = len(refused.request.content)
        chunks = caller.http.post("/api/chat/completions", content=iter([b"x" * 1500] * 2))
    assert refused.status_code == chunks.status_code == 413
    assert refused.json()["detail"] == f"the body has {size} bytes; expected at most 2048 bytes"
    assert chunks.json()["detail"] == "the body has more; expected at most 2048 bytes"


@pytest.mark.parametrize(("allowed", "status"), [(1024, 400), (60_000, 200)])
def test_the_size_of_a_header(allowed: int, status: int) -> None:
    with ThreadedServer(platform_of({"id": "m"}, limits={"header_bytes": allowed})) as server:
        headers = {"Authorization": f"Bearer {server.key}", "X-Long": "x" * 20_000}
        reply = httpx.get(f"{server.base_url}/api/models", headers=headers)
    assert reply.status_code == status
    assert reply.json()


@pytest.mark.parametrize(("retries", "pauses_s"), [(0, []), (1, [40]), (2, [40, 80])])
def test_the_pause_before_a_retry_doubles(retries: int, pauses_s: list[float]) -> None:
    import msgspec

    from tests.conftest import one_route
    from workbench.local_platform.config import Limits

    limits = Limits(retries=retries, retry_pause_s=40)
    config, clock = msgspec.structs.replace(one_route(unavailable=True), limits=limits), SteppedClock()
    with ThreadedServer(config, around=Surroundings(clock=clock)) as server, Caller(server) as caller:
        assert caller.ask("m").status_code == 502
    assert clock.slept_s == pauses_s


def test_an_answer_that_is_not_capped_is_taken_for_so_much_until_its_usage_is_known() -> None:
    config = platform_of(
        {"id": "m", "faults": [{"kind": "cut"}]}, limits={"retries": 0}, allowance={"assumed_completion_tokens": 77_000}
    )
    with ThreadedServer(config) as server, Caller(server) as caller:
        caller.ask("m")
        caller.ask("m", max_tokens=5)
        estimates = sorted(draw.estimated_tokens or 0 for draw in server.platform.state.draws())
    assert estimates[0] < 1000 < 77_000 < estimates[1] < 78_000


def test_the_status_of_the_time_limit_within_a_stream() -> None:
    config = platform_of({"id": "m", "token_ms": 60_000}, clock_speed=500, silent={"time_limit_status": 504})
    with ThreadedServer(config) as server, Caller(server) as caller:
        assert caller.events("m", "one two three four five")[-1]["error"]["code"] == "route_timeout"


def test_time_for_all_attempts_together_includes_pauses_and_the_fallback() -> None:
    routes = (
        {"id": "m", "faults": [{"kind": "hang"}], "fallback": "spare"},
        {"id": "spare", "faults": [{"kind": "hang"}]},
    )
    config = platform_of(*routes, silent={"time_limit_per": "request"})
    for streamed in (False, True):
        clock = NotedClock(200)
        with ThreadedServer(config, around=Surroundings(clock=clock)) as server, Caller(server) as caller:
            assert caller.ask("m", stream=streamed).status_code == 504
        assert clock.limits_s == [pytest.approx(120, abs=1)]


def test_a_server_that_cannot_be_reached_cools_down_by_the_status_it_is_given() -> None:
    route = {"id": "m", "base_url": "http://127.0.0.1:9/v1"}
    silent = {"unreachable_status": 502, "cooldown_s": 1000, "cooldown_after": [502]}
    with ThreadedServer(platform_of(route, silent=silent)) as server, Caller(server) as caller:
        assert [caller.ask("m").status_code for _ in range(2)] == [502, 429]


@pytest.mark.parametrize(
    ("style", "status"), first_of(("error", 429), ("null_200", 200), ("detail", 429), ("detail_400", 400), default=2)
)
def test_the_65th_request_is_refused_in_the_chosen_style(style: str, status: int) -> None:
    config = platform_of({"id": "m", "latency_ms": {"median": 1}}, limits={"in_flight": 1}, silent={"errors": style})
    clock = HeldClock()
    around = Surroundings(clock=clock)
    with (
        ThreadedServer(config, around=around) as server,
        Caller(server) as caller,
        ThreadPoolExecutor(1) as threads,
        clock,
    ):
        held = threads.submit(caller.ask, "m")
        until(lambda: server.platform.statistics.in_flight)
        refused = caller.ask("m")
        clock.let_go()
        assert held.result().status_code == 200
    assert refused.status_code == status
    assert "retry-after" not in refused.headers, "by default it does not say when"


@pytest.mark.parametrize(
    "fields", [{"simulated": "answers", "thinks": True}, {"simulated": "prose", "calls_tools": True}]
)
def test_no_prompt_makes_a_simulated_model_think_for_long(fields: dict[str, Any]) -> None:
    config = platform_of({"id": "m"} | fields)
    with ThreadedServer(config) as server, Caller(server) as caller:
        for text in (
            " " * 20_000,
            "2+2 " + "only " * 4_000,
            "\n" * 20_000,
            "1 " * 10_000,
            "a, " * 7_000,
            "word " * 600_000,
        ):
            worked_s = time.process_time()
            assert caller.ask("m", text).status_code == 200
            assert time.process_time() - worked_s < 2.5


def test_the_time_limit_is_the_one_that_is_set() -> None:
    config = platform_of({"id": "m", "faults": [{"kind": "hang"}]}, limits={"time_limit_s": 10, "retries": 0})
    clock = NotedClock(50)
    with ThreadedServer(config, around=Surroundings(clock=clock)) as server, Caller(server) as caller:
        assert caller.ask("m").status_code == 504
        assert clock.now_s() > 9
    assert clock.limits_s == [pytest.approx(10, abs=1)]


@pytest.mark.parametrize("sent", [b"", b"POST /api/chat/completions HTTP/1.1\r\nHost: here\r\n"])
def test_a_connection_on_which_no_request_comes_is_closed(sent: bytes) -> None:
    with ThreadedServer(platform_of({"id": "m"}, limits={"head_s": 0.2})) as server, connected(server) as connection:
        connection.sendall(sent)
        assert connection.recv(1000) == b""


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    with ThreadedServer(platform_of({"id": "m"}, limits={"request_s": 0.2})) as server, connected(server) as connection:
        lines = (
            "POST /api/chat/completions HTTP/1.1",
            "Host: here",
            f"Authorization: Bearer {server.key}",
            "Content-Type: application/json",
            "Content-Length: 100",
        )
        connection.sendall("\r\n".join([*lines, "", '{"model":']).encode())
        assert b" 408 " in connection.recv(1000).splitlines()[0]


def test_a_connection_that_has_brought_a_request_stays_open() -> None:
    with (
        ThreadedServer(platform_of({"id": "m"}, limits={"head_s": 2, "request_s": 2})) as server,
        connected(server) as connection,
    ):
        for wait_s in (2.2, 0):  # beyond the limit for the first request, which a busy machine must keep
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: here\r\n\r\n")
            assert b" 200 " in connection.recv(1000).splitlines()[0]
            time.sleep(wait_s)


def connected(server: ThreadedServer) -> socket.socket:
    address = urlsplit(server.base_url)
    assert address.hostname is not None
    return socket.create_connection((address.hostname, address.port or 80), timeout=10)
