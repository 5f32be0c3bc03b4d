"""The document's "Resources and their fields", statement by statement."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.asking import FORCED, TOOL, Caller, joined, platform_of
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.state import State

CONFIG = platform_of(
    {"id": "Plain [one] route"},
    {"id": "echo", "simulated": "echo"},
    {"id": "tools", "simulated": "answers", "calls_tools": True},
    {
        "id": "thinks",
        "simulated": "answers",
        "thinks": True,
        "template_defaults": {"reasoning_effort": "high", "clear_thinking": True},
    },
    {"id": "templated", "simulated": "echo", "template_defaults": {"reasoning_effort": "high", "clear_thinking": True}},
    {"id": "staff only", "visible_to": ["staff"]},
    accounts=[{"name": "lab"}, {"name": "staff"}],
    presets=[
        {"id": "Proof Helper", "base": "echo", "system": "You prove.", "parameters": {"temperature": 0.1}},
        {"id": "Tool Helper", "base": "tools", "system": "You use tools."},
        {"id": "Staff Helper", "base": "staff only"},
    ],
)


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    with ThreadedServer(CONFIG) as server, Caller(server) as caller:
        yield caller


def test_api_key_a_secret_begins_with_sk() -> None:
    """Resources, API key: secret."""
    assert re.fullmatch(r"sk-[0-9a-f]{32}", State().create_key("lab"))


def test_api_key_is_shown_once_can_be_regenerated_or_deleted(tmp_path: Path) -> None:
    """Resources, API key: secret."""
    state = State(tmp_path / "platform.sqlite")  # as another process has it: a transaction is one connection's
    with ThreadedServer(CONFIG, State(tmp_path / "platform.sqlite")) as server:
        first = state.create_key("lab")
        assert not any(first in str(key) or first[3:] in str(key) for key in state.keys())
        with Caller(server, first) as caller:
            assert caller.models()
            second = state.regenerate_key(state.keys()[0].id)
            assert caller.http.get("/api/models").status_code == 401
        with Caller(server, second) as caller:
            assert caller.models()
            state.revoke_key(next(key.id for key in state.keys() if key.revoked_at is None))
            assert caller.http.get("/api/models").status_code == 401


def test_api_key_has_no_expiry() -> None:
    """Resources, API key: expiry."""
    state = State()
    key = state.create_key("lab")
    state._db.execute("UPDATE keys SET created_at = 0")  # as old as can be
    with ThreadedServer(CONFIG, state) as server, Caller(server, key) as caller:
        assert caller.models()


def test_api_key_acts_with_its_accounts_permissions(caller: Caller) -> None:
    """Resources, API key: a key belongs to one account."""
    state = State()
    with ThreadedServer(CONFIG, state) as server, Caller(server, state.create_key("staff")) as staff:
        assert "staff only" in staff.models()
        assert staff.ask("staff only").status_code == 200
    assert "staff only" not in caller.models()
    assert caller.ask("staff only").json()["detail"] == "Model not found"


def test_model_visibility_is_per_account(caller: Caller) -> None:
    """Resources, Model: the list contains exactly the models that the account sees."""
    seen = ["Plain [one] route", "echo", "tools", "thinks", "templated", "Proof Helper", "Tool Helper"]
    assert caller.models() == seen
    assert {caller.ask(model).status_code for model in seen} == {200}


def test_model_ids_contain_spaces_and_brackets(caller: Caller) -> None:
    """Resources, Model: id."""
    assert caller.ask("Plain [one] route").json()["model"] == "Plain [one] route"
    for other in ("plain [one] route", "Plain [one] route ", "Plain"):
        assert caller.ask(other).status_code == 404


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"messages": None}, "messages is required: a list of objects with role and content"),
        ({"messages": "hello"}, "messages: expected a list, found the text 'hello'"),
        ({"messages": ["hello"]}, "messages[0]: expected an object with role and content, found the text 'hello'"),
        ({"messages": [{"content": "a"}]}, "messages[0].role: expected a text such as 'user', found null"),
        ({"messages": [{"role": "user"}]}, "messages[0].content is required in a message of the role 'user'"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content: expected a text or a list of parts, found 5"),
        ({"messages": [{"role": "user", "content": ["a"]}]}, "messages[0].content[0]: expected a part, an object with its type, found the text 'a'"),
        ({"tools": {}}, "tools: expected a list, found an object"),
        ({"tool_choice": "required"}, "tool_choice: 'required' needs tools to choose from"),
        ({"tool_choice": "sometimes"}, "tool_choice: expected auto, none, required or"),
        ({"tool_choice": {"type": "function"}, "tools": [TOOL]}, "tool_choice: expected auto, none, required or"),
        ({"tool_choice": FORCED}, "tool_choice: the request supplies no tool 'get_weather' (its tools: none)"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}, "tools": [TOOL]}, "supplies no tool 'f' (its tools: get_weather)"),
    ],
)  # fmt: skip
def test_a_request_is_refused_where_the_document_asks_for_more(
    caller: Caller, fields: dict[str, Any], fault: str
) -> None:
    """Resources, Chat completion request: messages, tool_choice."""
    reply = caller.ask("plain" if "plain" in caller.models() else "echo", **fields)
    assert reply.status_code == 400
    assert fault in reply.json()["detail"]
    assert reply.json()["error"]["code"] == "invalid_request"


def test_messages_may_be_parts_and_an_answer_of_tool_calls_has_no_content(caller: Caller) -> None:
    """Resources, Chat completion request: messages; as OpenAI's API has them."""
    called = {
        "role": "assistant",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "What is 40 + 2?"}]},
        called | {"content": None}, called, {"role": "tool", "tool_call_id": "1", "content": "42"},
    ]  # fmt: skip
    assert caller.ask("echo", messages=messages).status_code == 200


def test_model_tool_capability_is_per_route(caller: Caller) -> None:
    """Resources, Model: tool-capable is who returns a real tool call when forced; others answer in prose."""
    call = caller.message("tools", "Weather in Oslo?", tools=[TOOL], tool_choice=FORCED)["tool_calls"][0]
    assert call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == {"city": "Oslo"}
    for model in ("Plain [one] route", "thinks"):
        said = caller.message(model, "Weather in Oslo?", tools=[TOOL], tool_choice=FORCED)
        assert said["content"]
        assert "tool_calls" not in said


def test_request_messages_are_objects_with_role_and_content(caller: Caller) -> None:
    """Resources, Chat completion request: messages."""
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    body = {"model": "echo", "messages": messages}
    reply = caller.http.post("/api/chat/completions", json=body).json()
    assert json.loads(reply["choices"][0]["message"]["content"])["messages"] == messages


def test_request_max_tokens_caps_generated_tokens(caller: Caller) -> None:
    """Resources, Chat completion request: max_tokens."""
    cut = caller.ask("Plain [one] route", max_tokens=3).json()
    assert cut["usage"]["completion_tokens"] == 3
    assert cut["choices"][0]["finish_reason"] == "length"
    events = caller.events("Plain [one] route", max_tokens=3)
    assert events[-2]["choices"][0]["finish_reason"] == "length"
    assert joined(events) == cut["choices"][0]["message"]["content"]


def test_request_max_tokens_caps_a_tool_call_too(caller: Caller) -> None:
    """Resources, Chat completion request: max_tokens."""
    forced = {"tools": [TOOL], "tool_choice": FORCED}
    whole = caller.ask("tools", "Weather in Paris?", **forced).json()
    generated = whole["usage"]["completion_tokens"]
    for most, finish in ((1, "length"), (generated - 2, "length"), (generated, "tool_calls")):
        cut = caller.ask("tools", "Weather in Paris?", max_tokens=most, **forced).json()
        assert (cut["usage"]["completion_tokens"], cut["choices"][0]["finish_reason"]) == (most, finish)
        (got,), (all_of_it,) = (each["choices"][0]["message"]["tool_calls"] for each in (cut, whole))
        assert got["function"]["name"] == all_of_it["function"]["name"]
        assert all_of_it["function"]["arguments"].startswith(got["function"]["arguments"])
        assert (got["function"]["arguments"] == all_of_it["function"]["arguments"]) is (finish == "tool_calls")


@pytest.mark.parametrize("model", ["Plain [one] route", "thinks"])
def test_request_stream_true_streams_and_false_returns_one_body(caller: Caller, model: str) -> None:
    """Resources, Chat completion request: stream."""
    whole = caller.message(model, stream=False)
    events = caller.events(model)
    assert events[-1] == "[DONE]"
    assert {event["object"] for event in events[:-1]} == {"chat.completion.chunk"}
    assert events[0]["choices"][0]["delta"]["role"] == "assistant"
    assert joined(events) == whole["content"]
    assert joined(events, "reasoning_content") == whole.get("reasoning_content", "")
    assert [event["choices"][0]["finish_reason"] for event in events[:-1]] == [None] * (len(events) - 2) + ["stop"]


def test_request_tools_reach_the_model_unchanged(caller: Caller) -> None:
    """Resources, Chat completion request: tools; Endpoints, rule 2."""
    odd = TOOL | {"strict": True, "x": [1, {"y": None}]}
    assert caller.echoed("echo", tools=[odd], tool_choice="auto")["tools"] == [odd]
    assert caller.echoed("Proof Helper", tools=[odd], tool_ids=["server_tool"])["tools"] == [odd]


def test_request_tool_ids_execute_nothing(caller: Caller) -> None:
    """Resources, Chat completion request: tool_ids."""
    assert caller.echoed("echo", tool_ids=["builtin:notebook"]) == caller.echoed("echo")
    said = caller.message("tools", "What is the weather in Oslo?", tool_ids=["weather"])
    assert "tool_calls" not in said


def test_request_extra_fields_reach_the_model(caller: Caller) -> None:
    """Resources, Chat completion request: extra request fields."""
    got = caller.echoed(
        "echo", temperature=0.3, seed=5, made_up={"a": [1]}, user="u1", metadata={"m": 1}, session_id="s"
    )
    assert (got["temperature"], got["seed"], got["made_up"]) == (0.3, 5, {"a": [1]})
    assert not {"user", "metadata", "session_id"} & set(got), "the platform takes these names for itself"


def test_request_one_route_defaults_chat_template_kwargs_and_callers_override_it(caller: Caller) -> None:
    """Resources, Chat completion request: extra request fields."""
    default = {"reasoning_effort": "high", "clear_thinking": True}
    assert caller.echoed("templated")["chat_template_kwargs"] == default
    low = {"reasoning_effort": "low"}
    assert caller.echoed("templated", chat_template_kwargs=low)["chat_template_kwargs"] == low
    assert "chat_template_kwargs" not in caller.echoed("echo")
    assert len(caller.message("thinks", chat_template_kwargs=low)["reasoning_content"]) < len(
        caller.message("thinks")["reasoning_content"]
    )


def test_response_carries_choices_model_and_usage(caller: Caller) -> None:
    """Resources, Chat completion response."""
    reply = caller.ask("Plain [one] route").json()
    assert isinstance(reply["choices"][0]["message"]["content"], str)
    assert reply["model"] == "Plain [one] route"
    assert reply["usage"]["prompt_tokens"] > 0
    assert reply["usage"]["completion_tokens"] > 0
    assert reply["usage"]["total_tokens"] == reply["usage"]["prompt_tokens"] + reply["usage"]["completion_tokens"]


def test_response_reasoning_content_is_present_on_routes_that_think(caller: Caller) -> None:
    """Resources, Chat completion response: choices[0].message.reasoning_content."""
    assert caller.message("thinks")["reasoning_content"]
    assert "reasoning_content" not in caller.message("Plain [one] route")
    assert joined(caller.events("thinks"), "reasoning_content")


def test_preset_returns_a_completion_and_runs_no_tool(caller: Caller) -> None:
    """What the service does, server-side tools and presets; Errors, last row."""
    got = caller.echoed("Proof Helper", tool_ids=["lean"])
    assert "tools" not in got
    assert got["messages"][0] == {"role": "system", "content": "You prove."}
    assert got["temperature"] == 0.1
    assert "tool_calls" not in caller.message("Tool Helper", "What is the weather in Oslo?")


def test_preset_a_caller_can_bring_its_own_tools(caller: Caller) -> None:
    """What the service does, server-side tools and presets."""
    assert caller.message("Tool Helper", "Weather in Oslo?", tools=[TOOL], tool_choice=FORCED)["tool_calls"]
