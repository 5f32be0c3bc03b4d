"""Forwarding to real model servers: one that is another platform, and one that is killed, hangs and lies."""

import asyncio
import io
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Protocol

import httpx
import pytest
from aiohttp import web

from tests.contract.asking import ASKED, FORCED, TOOL, Caller, joined, platform_of
from tests.contract.clocks import HeldClock
from tests.contract.lying_server import RAW, Lying
from tests.waiting import until
from workbench.local_platform.access import AccessLog
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings
from workbench.local_platform.state import State

SECRET = "sk-of-the-model-server-itself"
BEHAVIOURS = [
    "ok", "python's json", "secret by letters", "secret in a call", "page", "cut json", "no choices", "empty choices", "no message", "hang", "reset", "cut body", "tells", "tells in an answer", "no usage",
    "odd usage", "headers", *RAW, "dies", "error", "no chunk", "no end", "drips", "500", "503", "530", "400", "301",
]  # fmt: skip


class ModelServer(Protocol):
    """What a model server of a test is."""

    def application(self) -> web.Application: ...


class Served:
    """A model server in a thread; the lying one, unless another is given."""

    def __init__(self, other: ModelServer | None = None) -> None:
        self.lying = Lying()
        self._application = (other or self.lying).application
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "Served":
        self._thread.start()
        self.url = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> str:
        self._runner = web.AppRunner(
            self._application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as served:
        yield served


def front(url: str, **fields: Any) -> ThreadedServer:
    """A platform with one route for every behaviour."""
    routes = [{"id": name, "base_url": url, "upstream": name, "secret_env": "LYING_KEY"} for name in BEHAVIOURS]
    return ThreadedServer(platform_of(*routes, **{"clock_speed": 50, **fields}), State())


def test_a_model_servers_words_go_to_no_log_and_to_a_caller_only_where_the_request_is_at_fault(served: Served) -> None:
    log = io.StringIO()
    routes = [{"id": name, "base_url": served.url, "upstream": name} for name in ("503", "400")]
    with ThreadedServer(platform_of(*routes), log=AccessLog(log)) as server, Caller(server) as caller:
        assert caller.ask("503").json()["error"] == {
            "message": "the model server answered with status 503 (route '503')",
            "type": "server_error",
            "param": None,
            "code": "route_down",
        }
        assert "answered with status 400: <h1>nginx</h1>" in caller.ask("400").json()["error"]["message"]
    assert [json.loads(line)["error"] for line in log.getvalue().splitlines()] == [
        "the model server answered with status 503",
        "the model server answered with status 400",
    ], "its words may repeat the prompt"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LYING_KEY", SECRET)


def test_an_answer_is_passed_on_under_the_platforms_names(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        reply = caller.ask("ok", temperature=0.5, tools=[TOOL]).json()
        assert reply["choices"][0]["message"]["content"] == "Yes."
        assert reply["model"] == "ok"
        assert reply["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        assert joined(caller.events("ok")) == "Yes"
    assert served.lying.bodies[0]["temperature"] == 0.5
    assert served.lying.bodies[0]["tools"] == [TOOL]
    assert served.lying.bodies[0]["model"] == "ok"


def test_neither_key_travels(served: Served) -> None:
    """The caller's key never goes to a model server; the server's own never comes back."""
    with front(served.url) as server, Caller(server) as caller:
        caller.http.headers.update(
            {
                "Cookie": "token=x",
                "X-Api-Key": server.key,
                "Connection": "keep-alive, x-odd",
                "X-Odd": "1",
            }
        )
        replies = [
            caller.ask(model, stream=streamed) for model in ("ok", "tells", "headers") for streamed in (False, True)
        ]
        told = caller.message("tells in an answer")["content"]
    for headers in served.lying.headers:
        assert server.key not in str(headers)
        assert headers["Authorization"] == f"Bearer {SECRET}"
        assert not {"Cookie", "X-Api-Key", "X-Odd"} & set(headers)
    for reply in replies:
        assert SECRET not in reply.text + str(reply.headers)
        assert not {"set-cookie", "x-internal", "keep-alive"} & set(reply.headers)
    assert SECRET not in told
    assert replies[2].status_code == 401
    assert replies[2].json()["error"]["type"] == "authentication_error"


def test_a_secret_that_is_not_set_is_401_for_that_route_only(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LYING_KEY")
    config = platform_of(
        {"id": "locked", "base_url": served.url, "secret_env": "LYING_KEY"}, {"id": "open", "base_url": served.url}
    )
    with ThreadedServer(config) as server, Caller(server) as caller:
        assert caller.ask("locked").status_code == 401
        assert caller.ask("open").status_code == 200
    assert len(served.lying.bodies) == 1


@pytest.mark.parametrize(
    ("model", "status", "attempts"),
    [
        ("page", 500, 3), ("cut json", 500, 3), ("no choices", 500, 3), ("empty choices", 500, 3), ("no message", 500, 3),
        ("reset", 500, 3), pytest.param("hang", 504, 3, marks=pytest.mark.slow),
        ("cut body", 500, 3), ("500", 500, 3), ("503", 503, 3), ("530", 530, 3), ("400", 400, 1), ("301", 500, 1),
    ],
)  # fmt: skip
def test_a_lying_server_is_tried_again_and_told_of(served: Served, model: str, status: int, attempts: int) -> None:
    with front(served.url, limits={"time_limit_s": 50}) as server, Caller(server) as caller:
        reply = caller.ask(model)
        assert reply.status_code == status
        assert reply.json()["error"]["message"]
        assert len(served.lying.bodies) == attempts
        open_draws = len(server.platform.state.draws(unsettled_only=True))
    used_nothing = ("400", "503", "530", "301")
    may_have_generated = model not in (*used_nothing, "empty choices", "no message")  # two say what they used
    assert open_draws == (3 if may_have_generated else 0)


@pytest.mark.parametrize(
    ("model", "status", "attempts"),
    [("500", 500, 3), ("400", 400, 1), pytest.param("hang", 504, 3, marks=pytest.mark.slow), ("reset", 500, 3)],
)
def test_before_the_first_byte_a_stream_is_tried_again(served: Served, model: str, status: int, attempts: int) -> None:
    with front(served.url, limits={"time_limit_s": 50}) as server, Caller(server) as caller:
        assert caller.ask(model, stream=True).status_code == status
        assert len(served.lying.bodies) == attempts


@pytest.mark.parametrize("model", ["dies", "error", "no chunk", "no end"])
def test_a_stream_that_is_cut_is_reported_in_it_and_its_draw_stays_open(served: Served, model: str) -> None:
    with front(served.url) as server, Caller(server) as caller:
        events = caller.events(model)
        assert joined(events) == "Yes"
        assert events[-1]["error"]["code"] == "route_down"
        assert len(served.lying.bodies) == 1, "what began is not tried again"
        (draw,) = server.platform.state.draws()
    assert not draw.settled
    assert draw.estimated_tokens
    assert draw.estimated_tokens < 500


@pytest.mark.parametrize(
    "model",
    [
        "first and last usage",
        "usage in the finish",
        "running usage",
        "no last blank line",
        "null error",
        "padded done",
        "byte order mark",
    ],
)
def test_streams_as_servers_send_them_are_whole_and_settled_by_their_last_usage(served: Served, model: str) -> None:
    with front(served.url) as server, Caller(server) as caller:
        events = caller.events(model, stream_options={"include_usage": True})
        assert joined(events) in ("Yes", "aa")
        assert events[-1] == "[DONE]"
        assert events[-2]["usage"]["total_tokens"] == 9
        assert [event for event in events[:-2] if event.get("error")] == []
        (draw,) = server.platform.state.draws()
        assert (draw.settled, draw.total_tokens) == (True, 9)


@pytest.mark.parametrize(
    ("model", "status", "attempts"),
    [("only done", 500, 3), ("refuses", 400, 1), ("endless event", 500, 3), ("many lines", 500, 3)],
)
def test_streams_that_never_begin(served: Served, model: str, status: int, attempts: int) -> None:
    with front(served.url) as server, Caller(server) as caller:
        assert caller.ask(model, stream=True).status_code == status
        assert len(served.lying.bodies) == attempts


@pytest.mark.parametrize("model", ["secret by letters", "secret in a call"])
def test_of_a_secret_that_comes_in_pieces_no_piece_is_passed_on(served: Served, model: str) -> None:
    with front(served.url) as server, Caller(server) as caller:
        events = caller.events(model)
    pieces = [event["choices"][0]["delta"] for event in events if event.get("choices")]
    said = "".join(piece.get("content") or piece["tool_calls"][0]["function"]["arguments"] for piece in pieces)
    assert said == f"so: {SECRET[:2]}", "two letters may begin any word"


def test_what_only_began_like_a_secret_is_passed_on(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        assert joined(caller.events("beginning of the secret")) == SECRET[:9]


def test_an_answer_that_is_not_quite_json_is_passed_on_and_settled(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        reply = caller.ask("python's json")
        assert reply.json()["choices"][0]["message"] == {"role": "assistant", "content": "Yes.\ufffd", "logprob": None}
        assert reply.json()["usage"]["total_tokens"] == 5
        assert len(served.lying.bodies) == 1


def test_an_error_code_that_is_no_number_is_a_failure_of_the_route(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        assert caller.ask("odd code", stream=True).json()["error"]["code"] == "route_down"


@pytest.mark.parametrize("model", ["escaped secret", "secret in two", "secret in its thinking"])
def test_a_secret_never_comes_back_in_a_stream_however_it_is_written(served: Served, model: str) -> None:
    with front(served.url) as server, Caller(server) as caller:
        reply = caller.ask(model, stream=True)
    assert SECRET[:9] not in reply.text
    assert reply.status_code == (200 if model == "escaped secret" else 500)


def test_what_came_of_a_tool_call_counts_in_the_estimate(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        caller.events("arguments")
        (draw,) = server.platform.state.draws()
        assert draw.estimated_tokens is not None
        assert draw.estimated_tokens > 1000


def test_an_answer_without_usage_is_estimated_by_what_came_not_by_its_cap(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        caller.ask("no usage", max_tokens=1_000_000)
        (draw,) = server.platform.state.draws()
        assert draw.estimated_tokens is not None
        assert draw.estimated_tokens < 100


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("model", ["nought usage", "nought usage of a call"])
def test_a_usage_of_noughts_says_nothing_of_the_draw(served: Served, model: str, streamed: bool) -> None:
    with front(served.url, allowance={"units": 100}) as server, Caller(server) as caller:
        reply = caller.ask(model, stream=streamed, max_tokens=1_000)
        assert reply.status_code == 200
        (draw,) = server.platform.state.draws()
        assert (draw.settled, draw.total_tokens) == (False, None)
        assert draw.estimated_tokens
        assert draw.estimated_tokens < 100, "estimated by what came"
        statuses = [caller.ask(model, stream=streamed).status_code for _ in range(9)]
        assert statuses[-1] == 429, "the allowance ends"


def test_a_stream_of_two_answers_of_which_one_ends_is_cut(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        assert caller.events("one of two ends", n=2)[-1]["error"]["code"] == "route_down"


def test_the_cap_of_an_estimate_is_that_of_all_answers_that_are_asked_for(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        caller.ask("500", n=3, max_tokens=100)
        caller.ask("500", max_tokens=100)
        *one, _, _, three = (draw.estimated_tokens or 0 for draw in server.platform.state.draws())
        assert (max(one) < 200, 300 <= three < 400) == (True, True)


def test_the_usage_of_an_answer_that_is_no_completion_is_taken(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        assert caller.ask("empty choices").status_code == 500
        draws = server.platform.state.draws()
        assert [(draw.settled, draw.total_tokens) for draw in draws] == [(True, 5)] * 3, "each attempt is reported"
        assert server.platform.accounts.drawn_units("lab") == 15


@pytest.mark.parametrize(("exhausted", "attempts"), [("refuse", 1), ("fallback", 2)])
def test_no_attempt_begins_once_the_allowance_is_used_up(served: Served, exhausted: str, attempts: int) -> None:
    routes: list[dict[str, Any]] = [
        {"id": "m", "base_url": served.url, "upstream": "empty choices", "fallback": "other"},
        {"id": "other", "simulated": "prose", "weight": 0.0},
    ]
    settings: dict[str, Any] = {"allowance": {"units": 4}, "silent": {"exhausted": exhausted}, "clock_speed": 50}
    with ThreadedServer(platform_of(*routes, **settings), State()) as server, Caller(server) as caller:
        assert caller.ask("m").status_code == (200 if exhausted == "fallback" else 500)
        assert len(server.platform.state.draws()) == attempts
        assert server.platform.statistics.as_object()["routes"]["m"]["attempts"] == 1


def test_what_is_in_flight_uses_no_allowance_up(served: Served) -> None:
    """By the cap of a single request that is under way, nothing would be left for anybody."""
    held = {"id": "held", "simulated": "prose", "latency_ms": {"median": 1_000}}
    mine = {"id": "m", "base_url": served.url, "upstream": "ok", "secret_env": "LYING_KEY"}
    config = platform_of(mine, held, allowance={"units": 1000})
    with (
        HeldClock() as clock,
        ThreadedServer(config, State(), around=Surroundings(clock=clock)) as server,
        Caller(server) as caller,
        ThreadPoolExecutor() as threads,
    ):
        asked = threads.submit(caller.ask, "held", max_tokens=100_000)
        until(lambda: sum(draw.estimated_tokens or 0 for draw in server.platform.state.draws()) >= 1000)
        assert caller.ask("m", max_tokens=5).status_code == 200
        clock.let_go()
        assert asked.result().status_code == 200


def test_no_cap_is_taken_for_more_than_a_model_generates(served: Served) -> None:
    with front(served.url, allowance={"units": 10_000_000}) as server, Caller(server) as caller:
        assert caller.ask("500", max_tokens=2**31 - 1).status_code == 500
        assert caller.ask("ok").status_code == 200, "an account was barred for the rest of its window"
        most = [draw.estimated_tokens for draw in server.platform.state.draws(unsettled_only=True)]
    assert len(most) == 3
    assert max(filter(None, most)) <= 2**17 + 100


def test_every_attempt_is_counted_once(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        caller.ask("500", stream=True)
        caller.ask("400", stream=True)
        caller.ask("500")
        counts = server.platform.statistics.draws
        assert {key: counts[key] for key in counts if counts[key]} == {("500", "estimated"): 6, ("400", "released"): 1}


def test_the_attempts_of_a_call_are_one_call_to_its_account(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        assert caller.ask("empty choices").status_code == 500
        assert caller.ask("no usage").status_code == 200
        assert len(server.platform.state.draws()) == 4
        rows = {row["model"]: row for row in caller.http.get("/api/usage").json()["days"]}
        assert [(row["calls"], row["calls_without_usage"]) for row in rows.values()] == [(1, 0), (1, 1)]


@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_has_the_documents_name_whatever_the_model_server_calls_it(served: Served, streamed: bool) -> None:
    """Chat completion response: `reasoning_content`, on routes that emit thinking."""
    with front(served.url) as server, Caller(server) as caller:
        if streamed:
            events = caller.events("thinks")
            thought, other = joined(events, "reasoning_content"), joined(events, "reasoning")
        else:
            message = caller.message("thinks")
            thought, other = message["reasoning_content"], message.get("reasoning", "")
        assert (thought, other) == ("Let me " * 300 + "see.", "")
        (draw,) = server.platform.state.draws()
        assert draw.estimated_tokens
        assert draw.estimated_tokens > 500, "it was generated too"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_total_of_nought_beside_its_parts_is_their_sum(served: Served, streamed: bool) -> None:
    with front(served.url) as server, Caller(server) as caller:
        reply = caller.ask("nought total", stream=streamed, stream_options={"include_usage": streamed})
        assert '"total_tokens":120' in reply.text
        (draw,) = server.platform.state.draws()
        assert (draw.settled, draw.prompt_tokens, draw.completion_tokens, draw.total_tokens) == (True, 50, 70, 120)


def test_noughts_after_a_usage_do_not_take_it_back(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        caller.events("noughts at the end")
        (draw,) = server.platform.state.draws()
        assert (draw.settled, draw.total_tokens) == (True, 9)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_request_that_cannot_be_written_draws_nothing(served: Served, streamed: bool) -> None:
    route = {"id": "ok", "base_url": served.url, "template_defaults": {"odd": object()}}
    with ThreadedServer(platform_of(route, allowance={"units": 1e6})) as server, Caller(server) as caller:
        reply = caller.ask("ok", stream=streamed)
        assert (reply.status_code, "cannot be written as JSON" in reply.text) == (400, True)
        assert (server.platform.state.draws(), served.lying.bodies) == ([], [])


def test_a_broken_stream_is_counted(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        caller.events("dies")
        assert server.platform.statistics.as_object()["routes"]["dies"]["failures"] == {"500": 1}


@pytest.mark.parametrize("secret", ["sk-with-a-newline\n", "sk-ümlaut-in-it"])
def test_a_secret_that_no_header_can_carry(served: Served, monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv("LYING_KEY", secret)
    with front(served.url) as server, Caller(server) as caller:
        assert caller.ask("ok").status_code == (200 if secret.isascii() else 401)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_fallback_answers_for_a_route_that_hangs_until_its_limit(served: Served, streamed: bool) -> None:
    hanging = {"id": "hang", "base_url": served.url, "upstream": "hang", "fallback": "spare", "limit_s": 5}
    spare = {"id": "spare", "token_ms": 100}
    with ThreadedServer(platform_of(hanging, spare, clock_speed=20)) as server, Caller(server) as caller:
        if streamed:
            events = caller.events("hang")
            assert events[-1] == "[DONE]"
            assert joined(events)
        else:
            assert caller.ask("hang").json()["model"] == "spare"
    assert len(served.lying.bodies) == 3


def test_a_fallback_does_not_answer_for_a_fault_of_the_caller(served: Served) -> None:
    route = {"id": "400", "base_url": served.url, "upstream": "400", "fallback": "spare"}
    with ThreadedServer(platform_of(route, {"id": "spare"})) as server, Caller(server) as caller:
        assert caller.ask("400").status_code == 400


@pytest.mark.slow
def test_a_caller_that_does_not_read_keeps_neither_slot_nor_server(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.local_platform.delivery._PATIENCE_S", 0.5)
    long = {"id": "long", "simulated": "echo"}
    with ThreadedServer(platform_of(long, limits={"in_flight": 1, "body_bytes": 2**26})) as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        body = json.dumps(
            {"model": "long", "stream": True, "messages": [{"role": "user", "content": "x y " * 3_000_000}]}
        )
        head = f"POST /api/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall((head + body).encode())
            until(lambda: server.platform.statistics.most_in_flight)
            until(lambda: not server.platform.statistics.in_flight)


@pytest.mark.parametrize(("choice", "status"), [("error", 500), ("empty", 200)])
def test_a_page_in_place_of_a_stream(served: Served, choice: str, status: int) -> None:
    with front(served.url, silent={"garbled_stream": choice}) as server, Caller(server) as caller:
        reply = caller.ask("page", stream=True)
        assert reply.status_code == status
        if status == 200:
            events = caller.events("page")
            assert joined(events) == ""
            assert events[0]["choices"][0]["finish_reason"] == "stop"
            assert events[0].keys() == {"id", "object", "created", "model", "choices"}
            assert events[-1] == "[DONE]"


@pytest.mark.parametrize("model", ["no usage", "odd usage"])
def test_usage_that_is_missing_or_nonsense_leaves_the_draw_open(served: Served, model: str) -> None:
    with front(served.url) as server, Caller(server) as caller:
        assert "usage" not in caller.ask(model, max_tokens=9).json()
        (draw,) = server.platform.state.draws()
        assert (draw.settled, draw.total_tokens) == (False, None)
        assert draw.estimated_tokens
        assert draw.estimated_tokens > 9


def test_a_stream_is_passed_on_as_it_comes_and_a_leaving_caller_cancels_it(served: Served) -> None:
    with front(served.url, clock_speed=1) as server, Caller(server) as caller:
        body = {"model": "drips", "messages": ASKED, "stream": True}
        with caller.http.stream("POST", "/api/chat/completions", json=body) as reply:
            lines = reply.iter_lines()
            assert next(lines).startswith("data: ")
        until(lambda: served.lying.cancelled)
        assert served.lying.cancelled == 1, "the rest was on its way when the first line came"
        assert server.platform.statistics.in_flight == 0


def test_connections_are_pooled(served: Served) -> None:
    with front(served.url) as server, Caller(server) as caller:
        for number in range(20):
            model = "late end" if number % 2 else "ok"
            assert caller.ask(model, str(number), stream=model == "late end").status_code == 200
    assert len(served.lying.connections) == 1


def test_another_platform_as_model_server_and_its_fallback_when_it_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same API on both sides: answers, tools, thinking and streams come through, and a dead server is replaced."""
    behind = platform_of(
        {"id": "sums", "simulated": "answers"},
        {"id": "tools", "simulated": "answers", "calls_tools": True},
        {"id": "thinks", "simulated": "answers", "thinks": True},
    )
    state, behind_state = State(), State()
    monkeypatch.setenv("FAR_KEY", behind_state.create_key("lab"))
    with ExitStack() as alive:
        back = alive.enter_context(ThreadedServer(behind, behind_state))
        far = [
            {"id": f"far {route.id}", "upstream": route.id, "base_url": f"{back.base_url}/api", "secret_env": "FAR_KEY"}
            | {"fallback": "spare"}
            for route in behind.routes
        ]
        with (
            ThreadedServer(platform_of(*far, {"id": "spare", "simulated": "answers"}), state) as server,
            Caller(server) as caller,
        ):
            assert "42" in caller.message("far sums", "What is 40 + 2?")["content"]
            assert "42" in joined(caller.events("far sums", "What is 40 + 2?"))
            assert caller.message("far tools", "Weather in Oslo?", tools=[TOOL], tool_choice=FORCED)["tool_calls"]
            assert joined(caller.events("far thinks"), "reasoning_content")
            reported = sum(draw.total_tokens or 0 for draw in behind_state.draws())
            assert sum(draw.total_tokens or 0 for draw in state.draws()) == reported > 0
            alive.close()
            assert caller.ask("far sums", "What is 40 + 2?").json()["model"] == "spare"
            assert server.platform.statistics.as_object()["routes"]["far sums"]["failures"] == {"500": 3}


def test_a_timeout_of_the_caller_is_no_error_of_the_platform(served: Served) -> None:
    with front(served.url, clock_speed=1) as server, Caller(server) as caller:
        with pytest.raises(httpx.ReadTimeout):
            caller.http.post("/api/chat/completions", json={"model": "hang", "messages": ASKED}, timeout=0.2)
        assert caller.ask("ok").status_code == 200
