"""Where the document is silent: every switch changes what it says it changes, and only that."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cases import first_of
from tests.contract.asking import FORCED, TOOL, Caller, joined, platform_of
from tests.contract.clocks import HeldClock, NotedClock, SteppedClock
from tests.waiting import until
from workbench.local_platform.clock import Clock
from workbench.local_platform.config import PlatformConfig
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings
from workbench.local_platform.silent import Silent
from workbench.local_platform.state import State

ROUTES: tuple[dict[str, Any], ...] = (
    {"id": "plain"},
    {"id": "echo", "simulated": "echo"},
    {"id": "tools", "simulated": "answers", "calls_tools": True},
    {"id": "down", "unavailable": True},
    {"id": "rescued", "unavailable": True, "fallback": "plain"},
    {"id": "locked", "secret_missing": True},
    {"id": "breaks", "faults": [{"kind": "cut"}]},
    {"id": "mute", "reports_usage": False},
    {"id": "hangs", "faults": [{"kind": "hang"}]},
)


def platform(clock: Clock | None = None, **silent: Any) -> ThreadedServer:
    presets = [{"id": "Helper", "base": "echo", "system": "Be kind.", "parameters": {"temperature": 0.1, "seed": 1}}]
    return ThreadedServer(
        platform_of(*ROUTES, silent=silent, presets=presets), around=Surroundings(clock=clock or Clock(400))
    )


def test_every_switch_is_tried_here() -> None:
    tried = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in Silent.__struct_fields__ if not re.search(rf'{name}=|"{name}":', tried)] == []


@pytest.mark.parametrize(
    ("style", "status", "kind"), [("gateway", 502, "error"), ("detail", 502, "detail"), ("detail_400", 400, "detail")]
)
def test_error_style(style: str, status: int, kind: str) -> None:
    with platform(errors=style) as server, Caller(server) as caller:
        for streamed in (False, True):
            reply = caller.ask("down", stream=streamed)
            assert reply.status_code == status
            assert list(reply.json()) == [kind]
            assert "litellm.BadGatewayError" in reply.text
        assert list(caller.ask("nothing").json()) == ["detail", "error"], "the platform's own refusals stay as they are"


def test_errors_in_our_words() -> None:
    with platform(errors="error") as server, Caller(server) as caller:
        found = {model: caller.ask(model).json()["error"] for model in ("down", "locked", "hangs", "breaks")}
    assert {model: (error["type"], error["code"]) for model, error in found.items()} == {
        "down": ("server_error", "route_down"),
        "locked": ("authentication_error", "route_unauthorised"),
        "hangs": ("timeout_error", "route_timeout"),
        "breaks": ("server_error", "route_down"),
    }
    assert found["down"]["message"] == "the model server is down (route 'down')"


@pytest.mark.parametrize("status", [400, 404])
def test_status_of_an_unknown_model(status: int) -> None:
    with platform(unknown_model_status=status) as server, Caller(server) as caller:
        reply = caller.ask("nothing")
        assert (reply.status_code, reply.json()["detail"]) == (status, "Model not found")
        assert reply.json()["error"]["code"] == "model_not_found"


def test_error_style_null() -> None:
    with platform(errors="null_200") as server, Caller(server) as caller:
        reply = caller.ask("down")
    assert (reply.status_code, reply.text) == (200, "null")


@pytest.mark.parametrize(("requests", "status"), [("checked", 400), ("passed", 200)])
def test_requests_are_checked_or_passed_on(requests: str, status: int) -> None:
    with platform(requests=requests) as server, Caller(server) as caller:
        assert caller.ask("echo", messages=None).status_code == status
        assert caller.ask("echo", messages=[{"role": "someone"}]).status_code == status
        assert caller.ask("echo", tool_choice=FORCED).status_code == status
        assert caller.ask("echo", messages="hello").status_code == 400


@pytest.mark.parametrize("status", [500, 502, 503])
def test_status_of_a_server_that_cannot_be_reached(status: int) -> None:
    config = platform_of({"id": "gone", "base_url": "http://127.0.0.1:9/v1"}, silent={"unreachable_status": status})
    with ThreadedServer(config) as server, Caller(server) as caller:
        assert caller.ask("gone").status_code == status


@pytest.mark.parametrize("status", [408, 504])
def test_status_of_the_time_limit(status: int) -> None:
    with platform(time_limit_status=status) as server, Caller(server) as caller:
        assert caller.ask("hangs").status_code == status


@pytest.mark.parametrize(("per", "limit_s"), [("attempt", 360), ("request", 120)])
def test_the_time_limit_is_of_an_attempt_or_of_all(per: str, limit_s: float) -> None:
    clock = NotedClock(400)
    with platform(clock, time_limit_per=per) as server, Caller(server) as caller:
        assert caller.ask("hangs").status_code == 504
        assert clock.now_s() > limit_s * 0.95
    assert sum(clock.limits_s) == pytest.approx(limit_s, rel=0.1)


def one_slot(**silent: Any) -> PlatformConfig:
    slow = {"id": "slow", "latency_ms": {"median": 1}}
    return platform_of(slow, limits={"in_flight": 1}, silent=silent)


@pytest.mark.parametrize(("policy", "status"), first_of(("429", 429), ("queue", 200), ("503", 503), default=2))
def test_past_the_limit(policy: str, status: int) -> None:
    clock, config = HeldClock(), one_slot(past_limit=policy, past_limit_retry_after_s=17)
    with ThreadedServer(config, around=Surroundings(clock=clock)) as server:
        statistics = server.platform.statistics

        def ask(number: int) -> Any:
            with Caller(server) as caller:
                until(lambda: statistics.in_flight >= number)
                return caller.ask("slow", str(number))

        with ThreadPoolExecutor(2) as pool, clock:
            answers = [pool.submit(ask, number) for number in range(2)]
            until(lambda: statistics.requests.total() == 2)
            clock.let_go()
            first, second = (answer.result() for answer in answers)
        assert (first.status_code, second.status_code) == (200, status)
        assert second.headers.get("retry-after") == ("17" if status == 429 else None)
        assert server.platform.statistics.most_in_flight == 1


def test_cooldown_after_a_failure() -> None:
    clock = SteppedClock()
    with platform(clock, cooldown_s=200, cooldown_after=[401]) as server, Caller(server) as caller:
        assert caller.ask("locked").status_code == 401
        cold = caller.ask("locked")
        assert cold.status_code == 429
        assert 0 < float(cold.headers["retry-after"]) <= 200
        assert caller.ask("plain").status_code == 200, "only that route"
        assert caller.ask("down").status_code == caller.ask("down").status_code == 502, "only after that failure"
        clock.at_s += 200
        assert caller.ask("locked").status_code == 401
    with platform() as server, Caller(server) as caller:
        assert caller.ask("locked").status_code == caller.ask("locked").status_code == 401


def test_usage_keys() -> None:
    with platform(usage_keys="input_output") as server, Caller(server) as caller:
        assert set(caller.ask("plain").json()["usage"]) == {"input_tokens", "output_tokens"}
    with platform(usage_keys="openai") as server, Caller(server) as caller:
        assert set(caller.ask("plain").json()["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}


def test_usage_absent_or_zero_and_the_draw_is_settled_all_the_same() -> None:
    for choice in ("absent", "zero"):
        config, state = platform_of({"id": "plain"}, silent={"usage": choice}), State()
        with ThreadedServer(config, state) as server, Caller(server) as caller:
            usage = caller.ask("plain").json().get("usage")
            assert usage == (
                None if choice == "absent" else dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), 0)
            )
            assert state.draws()[0].settled


def test_a_route_that_reports_no_usage() -> None:
    with platform(missing_usage="absent", usage="reported") as server, Caller(server) as caller:
        assert "usage" not in caller.ask("mute").json()
    with platform(missing_usage="zero") as server, Caller(server) as caller:
        assert caller.ask("mute").json()["usage"]["total_tokens"] == 0
        assert server.platform.state.draws(unsettled_only=True), "noughts are no report"


@pytest.mark.parametrize(
    ("style", "own", "rescued", "streamed"),
    [("requested", "plain", "lab/plain", "plain"), ("upstream", "lab/plain", "lab/plain", "lab/plain"), ("route", "plain", "plain", "plain")],
)  # fmt: skip
def test_served_name(style: str, own: str, rescued: str, streamed: str) -> None:
    with platform(served_name=style) as server, Caller(server) as caller:
        assert caller.ask("plain").json()["model"] == own
        assert caller.ask("rescued").json()["model"] == rescued
        assert caller.events("rescued")[0]["model"] == streamed


@pytest.mark.parametrize(
    ("choice", "expected"), [("before", "Be kind.\nBe short."), ("alone", "Be kind."), ("off", "Be short.")]
)
def test_preset_prompt(choice: str, expected: str) -> None:
    body = {
        "model": "Helper",
        "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "x"}],
    }
    with platform(preset_prompt=choice) as server, Caller(server) as caller:
        reply = caller.http.post("/api/chat/completions", json=body).json()
    got = json.loads(reply["choices"][0]["message"]["content"])
    assert got["messages"] == [{"role": "system", "content": expected}, {"role": "user", "content": "x"}]


def test_a_presets_prompt_goes_before_a_system_message_that_has_parts() -> None:
    parts = [{"type": "text", "text": "Be short."}, {"type": "text", "text": "Be glad."}]
    messages = [{"role": "system", "content": parts}, {"role": "user", "content": "x"}]
    with platform(preset_prompt="before") as server, Caller(server) as caller:
        reply = caller.http.post("/api/chat/completions", json={"model": "Helper", "messages": messages}).json()
    got = json.loads(reply["choices"][0]["message"]["content"])["messages"]
    assert got == [{"role": "system", "content": [{"type": "text", "text": "Be kind."}, *parts]}, messages[1]]


def test_preset_parameters() -> None:
    with platform(preset_parameters=True) as server, Caller(server) as caller:
        got = caller.echoed("Helper", temperature=0.9)
        assert (got["temperature"], got["seed"]) == (0.9, 1)
    with platform(preset_parameters=False) as server, Caller(server) as caller:
        assert "seed" not in caller.echoed("Helper")


@pytest.mark.parametrize("fields", [{}, {"max_tokens": None}])
def test_max_completion_tokens_is_renamed(fields: dict[str, Any]) -> None:
    with platform() as server, Caller(server) as caller:
        got = caller.echoed("echo", max_completion_tokens=700, **fields)
        assert (got["max_tokens"], "max_completion_tokens" in got) == (700, False)


def exhausted_platform(clock: Clock | None = None, **silent: Any) -> ThreadedServer:
    state = State()
    state.add_draw("lab", 50, "chat UI")
    config = platform_of(*ROUTES, silent=silent, allowance={"units": 50})
    return ThreadedServer(config, state, around=Surroundings(clock=clock or Clock(400)))


def test_an_exhausted_allowance_is_refused() -> None:
    with exhausted_platform(exhausted="refuse", exhausted_status=402, exhausted_detail="No more.") as server:
        with Caller(server) as caller:
            reply = caller.ask("plain")
        assert (reply.status_code, reply.json()["detail"]) == (402, "No more.")
        assert not server.platform.statistics.tokens.total()


def test_an_exhausted_allowance_falls_back() -> None:
    with exhausted_platform(exhausted="fallback") as server, Caller(server) as caller:
        assert caller.ask("rescued").json()["model"] == "plain"
        assert server.platform.statistics.as_object()["routes"].keys() == {"plain"}
        assert caller.ask("plain").status_code == 429, "it has no fallback"


def test_an_exhausted_allowance_goes_silent() -> None:
    clock = SteppedClock()
    with exhausted_platform(clock, exhausted="silent") as server, Caller(server) as caller:
        assert caller.ask("plain").status_code == 504
    assert clock.slept_s == [120]


@pytest.mark.parametrize(("choice", "plain", "asked"), [("asked", 0, 1), ("always", 1, 1), ("never", 0, 0)])
def test_stream_usage(choice: str, plain: int, asked: int) -> None:
    with platform(stream_usage=choice) as server, Caller(server) as caller:
        given: list[tuple[dict[str, Any], int]] = [({}, plain), ({"stream_options": {"include_usage": True}}, asked)]
        for fields, expected in given:
            events = caller.events("plain", **fields)
            assert [event for event in events[:-1] if "usage" in event] == events[-2:-1] * expected
        assert all(draw.settled for draw in server.platform.state.draws())


@pytest.mark.parametrize(("choice", "expected"), [("empty", []), ("delta", [{"index": 0, "delta": {}}])])
def test_choices_of_the_usage_chunk(choice: str, expected: list[Any]) -> None:
    with platform(stream_usage_choices=choice) as server, Caller(server) as caller:
        assert caller.events("plain", stream_options={"include_usage": True})[-2]["choices"] == expected


@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
def test_finish_of_a_streamed_tool_call(finish: str) -> None:
    with platform(stream_tool_finish=finish) as server, Caller(server) as caller:
        events = caller.events("tools", "Weather in Oslo?", tools=[TOOL], tool_choice=FORCED)
    assert events[-2]["choices"][0]["finish_reason"] == finish


def test_pieces_of_a_stream_as_a_gateway_rewrites_them() -> None:
    with platform(stream_pieces="gateway") as server, Caller(server) as caller:
        plain = caller.events("plain", stream_options={"include_usage": True})
        called = caller.events("tools", "Weather in Oslo?", tools=[TOOL], tool_choice=FORCED)
    assert [event for event in plain[:-2] if "finish_reason" in event["choices"][0]] == plain[-3:-2]
    usage = plain[-2]["usage"]
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 0, "text_tokens": usage["completion_tokens"]}
    pieces = [piece for event in called[:-1] for piece in event["choices"][0]["delta"].get("tool_calls", ())]
    assert len(pieces) > 1
    assert {piece["type"] for piece in pieces} == {"function"}


def test_pieces_of_a_stream_as_openai_writes_them() -> None:
    with platform() as server, Caller(server) as caller:
        plain = caller.events("plain", stream_options={"include_usage": True})
        called = caller.events("tools", "Weather in Oslo?", tools=[TOOL], tool_choice=FORCED)
    assert all("finish_reason" in event["choices"][0] for event in plain[:-2])
    assert "completion_tokens_details" not in plain[-2]["usage"]
    pieces = [piece for event in called[:-1] for piece in event["choices"][0]["delta"].get("tool_calls", ())]
    assert ["type" in piece for piece in pieces] == [True] + [False] * (len(pieces) - 1)


@pytest.mark.parametrize(("choice", "last"), [("error", ["error"]), ("error_done", ["error", "[DONE]"]), ("end", [])])
def test_a_stream_that_breaks(choice: str, last: list[str]) -> None:
    with platform(broken_stream=choice) as server, Caller(server) as caller:
        events = caller.events("breaks")
    assert joined(events)
    ends = [event if isinstance(event, str) else "error" for event in events if "choices" not in event]
    assert ends == last
    assert not any(event["choices"][0]["finish_reason"] for event in events if "choices" in event)


def test_unknown_paths() -> None:
    with platform(unknown_path="404") as server, Caller(server) as caller:
        assert caller.http.get("/api/nothing").json()["detail"] == "Not Found"
        assert caller.http.get("/api/chat/completions").json()["detail"] == "Method Not Allowed"
    with platform(unknown_path="page") as server, Caller(server) as caller:
        assert caller.http.get("/models").headers["content-type"].startswith("text/html")
        assert caller.http.get("/models").status_code == 200
        assert caller.http.post("/chat/completions", json={}).status_code == 404


def test_parts_that_are_not_text() -> None:
    """Where the document has text alone."""
    parts = [{"type": "text", "text": "1 + 1"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    body = {"messages": [{"role": "user", "content": parts}]}
    cases: list[tuple[dict[str, Any], int]] = [({"parts": "text"}, 400), ({"parts": "passed"}, 200)]
    for switch, status in (*cases, ({"parts": "text", "requests": "passed"}, 200)):
        with platform(**switch) as server, Caller(server) as caller:
            assert caller.http.post("/api/chat/completions", json={"model": "echo"} | body).status_code == status
