"""The document's "Endpoints", "Authentication", "Errors" and "Limits", statement by statement."""

import asyncio
import json
from collections.abc import Iterator

import aiohttp
import httpx
import pytest

from tests.contract.asking import ASKED, FORCED, TOOL, Caller, joined, platform_of
from tests.contract.clocks import HeldClock, NotedClock
from tests.waiting import until, until_on_loop
from workbench.local_platform.config import load_config
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings
from workbench.local_platform.state import State

CONFIG = platform_of(
    {"id": "plain"},
    {"id": "tools", "simulated": "answers", "calls_tools": True},
    {"id": "prover", "simulated": "prose"},
    {"id": "down", "unavailable": True},
    {"id": "rescued", "unavailable": True, "fallback": "prover"},
    {"id": "lost", "unavailable": True, "fallback": "down"},
    {"id": "locked", "secret_missing": True},
    {"id": "flaky once", "faults": [{"status": 503, "lasting": False}]},
    {"id": "always 500", "faults": [{"status": 500}]},
    {"id": "bad request", "faults": [{"status": 400}]},
)


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    with ThreadedServer(CONFIG) as server, Caller(server) as caller:
        yield caller


def attempts(caller: Caller, route: str) -> int:
    counted = caller.server.platform.statistics.as_object()["routes"].get(route, {"attempts": 0})
    return int(counted["attempts"])


def test_get_models_is_200_with_entries_that_carry_an_id(caller: Caller) -> None:
    """Endpoints, GET /api/models."""
    reply = caller.http.get("/api/models")
    assert reply.status_code == 200
    assert all(entry["id"] for entry in reply.json()["data"])


def test_rule_1_both_endpoints_require_authorization(caller: Caller) -> None:
    """Endpoints, rule 1; Authentication, invalid key."""
    for headers in ({}, {"Authorization": "Bearer sk-" + "0" * 32}, {"Authorization": f"Basic {caller.server.key}"}):
        assert httpx.get(f"{caller.server.base_url}/api/models", headers=headers).status_code == 401
        url = f"{caller.server.base_url}/api/chat/completions"
        refused = httpx.post(url, headers=headers, json={"model": "plain", "messages": ASKED})
        assert refused.status_code == 401
        assert isinstance(refused.json()["detail"], str)


def test_rule_2_tools_are_passed_and_server_side_resolution_is_skipped(caller: Caller) -> None:
    """Endpoints, rule 2."""
    called = caller.message("tools", "Weather in Oslo?", tools=[TOOL], tool_ids=["other"])["tool_calls"]
    assert [call["function"]["name"] for call in called] == ["get_weather"]


def test_rule_3_a_forced_call_carries_tool_calls_streamed_too(caller: Caller) -> None:
    """Endpoints, rule 3."""
    events = caller.events("tools", "Weather in Oslo?", tools=[TOOL], tool_choice=FORCED)
    pieces = [call for event in events[:-1] for call in event["choices"][0]["delta"].get("tool_calls", [])]
    assert pieces[0]["function"]["name"] == "get_weather"
    assert pieces[0]["id"]
    assert json.loads("".join(piece["function"]["arguments"] for piece in pieces)) == {"city": "Oslo"}
    assert len(pieces) > 2
    assert events[-2]["choices"][0]["finish_reason"] == "tool_calls"


def test_rule_4_a_fallback_may_answer_and_model_says_which_route_did(caller: Caller) -> None:
    """Endpoints, rule 4."""
    reply = caller.ask("rescued").json()
    assert reply["choices"][0]["message"]["content"]
    assert reply["model"] == "prover"
    events = caller.events("rescued")
    assert {event["model"] for event in events[:-1]} == {"prover"}
    assert joined(events) == reply["choices"][0]["message"]["content"]


def test_rule_4_a_fallback_that_loses_the_tools_answers_in_prose(caller: Caller) -> None:
    """Endpoints, rule 4; Errors, tools sent to a reasoning-only or prover route."""
    said = caller.message("rescued", tools=[TOOL], tool_choice=FORCED)
    assert said["content"]
    assert "tool_calls" not in said


def test_authentication_a_key_reaches_every_endpoint_and_bearer_may_be_small(caller: Caller) -> None:
    """Authentication, scheme and scope."""
    headers = {"Authorization": f"bearer {caller.server.key}"}
    assert httpx.get(f"{caller.server.base_url}/api/models", headers=headers).status_code == 200
    assert caller.ask("plain").status_code == 200


def test_errors_a_missing_secret_is_401_for_that_route_while_others_work(caller: Caller) -> None:
    """Errors, model server behind a route rejects a missing or wrong key."""
    refused = caller.ask("locked")
    assert refused.status_code == 401
    assert refused.json()["error"]["type"] == "authentication_error"
    assert caller.ask("plain").status_code == 200
    assert attempts(caller, "locked") == 1, "a refusal is not tried again"


def test_errors_a_backend_that_is_down(caller: Caller) -> None:
    """Errors, model server behind a route is down."""
    assert caller.ask("down").status_code == 502
    assert caller.ask("down", stream=True).status_code == 502
    assert caller.ask("lost").status_code == 502, "both down: the first route's failure"


@pytest.mark.parametrize(
    ("route", "expected"), [("always 500", 3), ("flaky once", 2), ("bad request", 1), ("plain", 1)]
)
def test_limits_two_automatic_retries(caller: Caller, route: str, expected: int) -> None:
    """Limits, automatic retries by the gateway."""
    before = attempts(caller, route)
    status = caller.ask(route, f"a text of its own for {route}").status_code
    assert attempts(caller, route) - before == expected
    assert status == {"always 500": 500, "flaky once": 200, "bad request": 400, "plain": 200}[route]


def test_limits_64_requests_in_flight_platform_wide() -> None:
    """Limits, gateway concurrency: over every route and account together."""
    config = platform_of(
        {"id": "slow", "latency_ms": {"median": 1}}, {"id": "slow too", "latency_ms": {"median": 1}},
        accounts=[{"name": "lab"}, {"name": "ben"}],
    )  # fmt: skip
    state, clock = State(), HeldClock()
    with ThreadedServer(config, state, around=Surroundings(clock=clock)) as server, clock:
        keys = [server.key, state.create_key("ben")]

        async def ask(session: aiohttp.ClientSession, number: int) -> int:
            body: dict[str, object] = {"model": ("slow", "slow too")[number % 2], "messages": ASKED}
            headers = {"Authorization": f"Bearer {keys[number % 2]}"}
            url = f"{server.base_url}/api/chat/completions"
            async with session.post(url, json=body, headers=headers) as reply:
                return reply.status

        async def ask_all() -> list[int]:
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
                answers = asyncio.gather(*(ask(session, number) for number in range(80)))
                await until_on_loop(lambda: server.platform.statistics.requests.total() == 80)
                clock.let_go()
                return await answers

        statuses = asyncio.run(ask_all())
        assert server.platform.statistics.most_in_flight == 64
    assert statuses.count(200) == 64
    assert statuses.count(429) == 16


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_limits_120_seconds_per_request_and_300_for_one_route(streamed: bool) -> None:
    """Limits, gateway per-request time; on a clock that runs 2000 times faster."""
    hanging = {"faults": [{"kind": "hang"}]}
    config = platform_of(
        {"id": "hangs", **hanging}, {"id": "patient", "limit_s": 300, **hanging}, limits={"retries": 0}
    )
    for route, limit_s in (("hangs", 120), ("patient", 300)):
        clock = NotedClock(2000)
        with ThreadedServer(config, around=Surroundings(clock=clock)) as server, Caller(server) as caller:
            assert caller.ask(route, stream=streamed).status_code == 504
            assert clock.now_s() > limit_s * 0.95
        assert clock.limits_s == [pytest.approx(limit_s, rel=0.1)]


def test_limits_one_route_of_the_catalogue_has_300_seconds() -> None:
    """Limits, gateway per-request time: without any configuration."""
    config = load_config()
    assert config.limits.time_limit_s == 120
    assert [route.limit_s for route in config.routes if route.limit_s is not None] == [300]


def test_limits_the_time_limit_holds_for_a_whole_stream() -> None:
    """Limits, gateway per-request time."""
    config = platform_of({"id": "drips", "token_ms": 60_000}, clock_speed=400)
    with ThreadedServer(config) as server, Caller(server) as caller:
        events = caller.events("drips", "one two three four five six seven eight nine")
    assert events[-1]["error"]["code"] == "route_timeout"
    assert 2 <= len(events) <= 5


def test_limits_no_rate_limit_per_user() -> None:
    """Limits, per-user rate limit."""
    with ThreadedServer(platform_of({"id": "plain"})) as server, Caller(server) as caller:
        assert {caller.ask("plain", str(number)).status_code for number in range(300)} == {200}


def test_limits_one_allowance_per_account_drawn_by_every_call() -> None:
    """What the service does; Limits, subscription allowance: chat UI and API calls draw from the same."""
    state = State()
    config = platform_of({"id": "plain"}, accounts=[{"name": "lab"}, {"name": "ben"}], allowance={"units": 200})
    with ThreadedServer(config, state) as server, Caller(server) as caller:
        used = sum(caller.ask("plain", str(n), max_tokens=5).json()["usage"]["total_tokens"] for n in range(3))
        assert sum(draw.total_tokens or 0 for draw in state.draws("lab")) == used
        assert caller.ask("plain", max_tokens=5).status_code == 200
        state.add_draw("lab", 200, "chat UI")
        assert caller.ask("plain").json()["detail"] == "Your allowance is used up."
        with Caller(server, state.create_key("ben")) as other:
            assert other.ask("plain").status_code == 200


def test_content_type_is_required(caller: Caller) -> None:
    """Endpoints, POST: header Content-Type."""
    body = json.dumps({"model": "plain", "messages": ASKED})
    for headers in ({"Content-Type": "text/plain"}, {"Content-Type": ""}):
        refused = caller.http.post("/api/chat/completions", content=body, headers=headers)
        assert refused.status_code == 422
        assert refused.json()["detail"][0].keys() == {"type", "loc", "msg", "input"}


def test_a_caller_that_leaves_frees_its_slot_and_its_draw_stays_open() -> None:
    """What no statement says, but a shared allowance needs: who leaves may have drawn."""
    state = State()
    with ThreadedServer(platform_of({"id": "hangs", "faults": [{"kind": "hang"}]}), state) as server:
        with Caller(server) as caller, pytest.raises(httpx.ReadTimeout):
            caller.http.post(
                "/api/chat/completions", json={"model": "hangs", "messages": ASKED, "max_tokens": 7}, timeout=0.3
            )
        until(lambda: not server.platform.statistics.in_flight)
        (draw,) = state.draws(unsettled_only=True)
    assert draw.estimated_tokens is not None
    assert draw.estimated_tokens > 7


def test_the_api_is_text_in_text_out_without_uploads_or_knowledge(caller: Caller) -> None:
    """What the service does: uploads, knowledge collections and notebooks are not reachable; Limits, content."""
    for path in (
        "/api/v1/files/",
        "/api/v1/knowledge/",
        "/api/v1/retrieval/process/file",
        "/api/embeddings",
        "/api/images",
    ):
        assert caller.http.post(path, json={}).status_code == 404
    parts = [{"type": "text", "text": "What is 40 + 2?"}]
    body = {"model": "plain", "messages": [{"role": "user", "content": parts}]}
    assert caller.http.post("/api/chat/completions", json=body).status_code == 200


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({}, 400, "model is required: an id from GET /api/models"), ({"model": None}, 400, "model: expected a text, found null"),
        ({"model": 7}, 400, "model: expected a text, found 7"), ({"model": ""}, 404, "Model not found"),
    ],
)  # fmt: skip
def test_model_is_required_and_has_to_be_visible(
    caller: Caller, given: dict[str, object], status: int, said: str
) -> None:
    """Resources, Chat completion request: model."""
    reply = caller.http.post("/api/chat/completions", json={"messages": ASKED} | given)
    assert (reply.status_code, reply.json()["detail"]) == (status, said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"messages": []}, "messages: expected at least one message, found an empty list"),
        ({"max_tokens": "many"}, "max_tokens: expected a whole number from 1, found the text 'many'"),
        ({"max_tokens": 0}, "max_tokens: expected a whole number from 1, found 0"),
        ({"max_tokens": 1.5}, "max_tokens: expected a whole number from 1, found 1.5"),
        ({"max_tokens": True}, "max_tokens: expected a whole number from 1, found True"),
        ({"stream": "yes"}, "stream: expected true or false, found the text 'yes'"),
        ({"stream": 1}, "stream: expected true or false, found 1"),
        ({"tools": [{"name": "f"}]}, "tools[0]: expected"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
         "messages[0].content[0]: expected a text, found a part of the type 'image_url'"),
    ],
)  # fmt: skip
def test_a_field_of_another_type_is_named(caller: Caller, given: dict[str, object], said: str) -> None:
    """Resources, Chat completion request: the types of its fields."""
    reply = caller.http.post("/api/chat/completions", json={"model": "plain", "messages": ASKED} | given)
    assert reply.status_code == 400
    assert reply.json()["detail"].startswith(said)
    for fine in ({"max_tokens": None}, {"stream": None}, {"max_tokens": 1}):
        assert (
            caller.http.post("/api/chat/completions", json={"model": "plain", "messages": ASKED} | fine).status_code
            == 200
        )


def test_no_endpoint_creates_keys(caller: Caller) -> None:
    """Endpoints, rule 5: not shown; there is none here."""
    for method in ("GET", "POST", "DELETE"):
        assert caller.http.request(method, "/api/v1/auths/api_key").status_code == 404


def test_another_method_is_refused_with_those_that_are_allowed(caller: Caller) -> None:
    """Endpoints: one method each (RFC 9110, 15.5.6)."""
    refused = caller.http.put("/api/models"), caller.http.get("/api/chat/completions")
    assert [(reply.status_code, reply.headers["Allow"]) for reply in refused] == [(405, "GET,HEAD"), (405, "POST")]


def test_nothing_but_the_api_is_public(caller: Caller) -> None:
    """What the service does: the gateway's own paths do not answer, with the right key either."""
    body = {"model": "plain", "messages": ASKED}
    for path in (
        "/v1/chat/completions",
        "/chat/completions",
        "/completions",
        "/api/v1/completions",
        "/openai/chat/completions",
    ):
        assert caller.http.post(path, json=body).status_code == 404
    for path in ("/v1/models", "/models", "/model/info", "/key/info", "/", "/docs", "/openapi.json", "/statistics"):
        assert caller.http.get(path).status_code == 404
    assert caller.http.get("/health").json() == {"status": "ok"}, "which says nothing of the gateway"


def test_the_path_carries_no_version_segment(caller: Caller) -> None:
    """Versioning."""
    assert caller.http.get("/api/models").json() == caller.http.get("/api/v1/models").json()
    assert caller.http.get("/models").status_code == 404


def test_errors_a_backend_that_answers_530() -> None:
    """Errors, model server behind a route is down: 502 or 530."""
    config = platform_of({"id": "m", "faults": [{"status": 530}]})
    with ThreadedServer(config) as server, Caller(server) as caller:
        assert caller.ask("m").status_code == 530
