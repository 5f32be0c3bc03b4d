"""Documented and observed exchanges, tried on the embedded platform and on the client's reading of its replies."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import one_route
from tests.contract.asking import ASKED, NO_TLS
from workbench.client import outcome, wire
from workbench.client.completion import Verdict
from workbench.client.transport import Reply
from workbench.local_platform.config import PlatformConfig, Preset, RouteFault
from workbench.local_platform.server import ThreadedServer
from workbench.records.outcomes import Outcome

EXCHANGES = json.loads((Path(__file__).parent / "exchanges.json").read_text())
SIGNATURE = outcome.AllowanceSignature()
KINDS = {"string": str, "number": int, "null": type(None)}


def sent(server: ThreadedServer, exchange: dict[str, Any]) -> httpx.Response:
    key = exchange.get("key", server.key)
    headers = {"Authorization": f"Basic {server.key}" if key == "Basic" else f"Bearer {key}"} if key else {}
    headers["Content-Type"] = exchange.get("content_type", "application/json")
    content = exchange.get("raw") or (json.dumps(exchange["body"]) if "body" in exchange else None)
    url = server.base_url + exchange["path"]
    return httpx.request(exchange["method"], url, headers=headers, content=content, verify=NO_TLS)


def fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(key in value and fits(value[key], inner) for key, inner in shape.items())
    if isinstance(shape, list):
        return isinstance(value, list) and bool(value) and all(fits(entry, shape[0]) for entry in value)
    return shape is None or isinstance(value, KINDS[shape])


def judged(response: httpx.Response) -> Verdict:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return outcome.of_reply(Reply(response.status_code, headers, response.content), SIGNATURE)


@pytest.mark.parametrize("exchange", EXCHANGES, ids=[exchange["name"] for exchange in EXCHANGES])
def test_status_shape_and_reading(platform: ThreadedServer, exchange: dict[str, Any]) -> None:
    response = sent(platform, exchange)
    assert response.status_code == exchange["status"], response.text
    if exchange["shape"]:
        assert fits(response.json(), exchange["shape"]), response.text
    if "outcome" in exchange:
        assert judged(response).outcome == exchange["outcome"]


def ask(server: ThreadedServer, model: str, content: str = "What is 17 * 23 + 4?", **fields: Any) -> dict[str, Any]:
    body = {"model": model, "messages": [{"role": "user", "content": content}], **fields}
    response = sent(server, {"method": "POST", "path": "/api/chat/completions", "body": body})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def message(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["choices"][0]["message"]
    return found


def test_the_list_is_what_the_account_sees(platform: ThreadedServer, catalogue: PlatformConfig) -> None:
    models = wire.models_from(sent(platform, {"method": "GET", "path": "/api/models"}).json())
    assert models is not None
    ids = {model.id for model in models}
    assert {"Abacus Large [careful]", "Lab Tutor"} < ids
    assert "sim/staff only" not in ids
    assert len(ids) >= 8
    assert all(model.simulated for model in models)
    assert [model.id for model in models if model.preset] == ["Lab Tutor"]
    staff = ThreadedServer(PlatformConfig(catalogue.routes, catalogue.presets, tuple(reversed(catalogue.accounts))))
    with staff as server:
        assert "sim/staff only" in sent(server, {"method": "GET", "path": "/api/models"}).text


def test_answers_are_computed_from_the_prompt_and_repeat(platform: ThreadedServer) -> None:
    for a, b in ((3, 4), (1234, 5678), (99, 1)):
        answer = ask(platform, "Abacus Large [careful]", f"What is {a} + {b} * 2?")
        assert str(a + b * 2) in message(answer)["content"]
        assert message(ask(platform, "Abacus Large [careful]", f"What is {a} + {b} * 2?")) == message(answer)


def test_forced_tool_calls_are_filled_from_prompt_and_schema(platform: ThreadedServer) -> None:
    exchange = next(entry for entry in EXCHANGES if entry["name"] == "forced tool call")
    (call,) = message(sent(platform, exchange).json())["tool_calls"]
    assert call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == {"city": "Lisbon", "days": 4}


def test_tools_are_called_by_choice_when_the_prompt_asks_for_one(platform: ThreadedServer) -> None:
    tool = {
        "type": "function",
        "function": {"name": "book_flight", "parameters": {"properties": {"city": {"type": "string"}}}},
    }
    assert "tool_calls" in message(ask(platform, "Toolsmith (forced ok)", "Book a flight to Oslo", tools=[tool]))
    assert "tool_calls" not in message(ask(platform, "Toolsmith (forced ok)", "Say hello", tools=[tool]))
    assert "tool_calls" not in message(
        ask(platform, "Toolsmith (forced ok)", "Book a flight", tools=[tool], tool_choice="none")
    )


def test_a_fallback_answers_for_a_route_that_is_down_and_is_named(platform: ThreadedServer) -> None:
    assert ask(platform, "Abacus Classic")["model"] == "Abacus Mini [fast]"


def test_a_preset_applies_its_prompt_and_names_its_base(platform: ThreadedServer) -> None:
    answer = ask(platform, "Lab Tutor")
    assert answer["model"] == "Abacus Large [careful]"
    assert answer["usage"]["prompt_tokens"] > ask(platform, "Abacus Large [careful]")["usage"]["prompt_tokens"]


def test_template_arguments_have_a_default_that_a_caller_replaces(platform: ThreadedServer) -> None:
    long = message(ask(platform, "Ponder [thinking only]"))["reasoning_content"]
    low = ask(platform, "Ponder [thinking only]", chat_template_kwargs={"reasoning_effort": "low"})
    assert len(message(low)["reasoning_content"]) < len(long)


@pytest.mark.slow
def test_faults_come_in_their_share_and_pass(catalogue: PlatformConfig) -> None:
    with ThreadedServer(one_route(faults=[RouteFault(0.5, 502)])) as server:
        body = {"model": "m", "messages": [{"role": "user", "content": "What is 1 + 1?"}]}
        exchange = {"method": "POST", "path": "/api/chat/completions", "body": body}
        statuses = [sent(server, exchange).status_code for _ in range(60)]
    assert set(statuses) == {200, 502}
    assert 15 <= statuses.count(502) <= 45
    with ThreadedServer(one_route(faults=[RouteFault(0.5, 502)])) as server:  # the same sequence again
        assert [sent(server, exchange).status_code for _ in range(60)] == statuses


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (408, Outcome.GATEWAY_TIMEOUT), (429, Outcome.RATE_LIMITED), (500, Outcome.ROUTE_DOWN),
        (502, Outcome.ROUTE_DOWN), (503, Outcome.ROUTE_DOWN), (530, Outcome.ROUTE_DOWN),
    ],
)  # fmt: skip
def test_every_fault_is_read_as_what_it_is(status: int, expected: Outcome) -> None:
    with ThreadedServer(one_route(faults=[{"share": 1, "status": status}])) as server:
        exchange = {"method": "POST", "path": "/api/chat/completions", "body": {"model": "m", "messages": ASKED}}
        response = sent(server, exchange)
    assert response.status_code == status
    assert judged(response).outcome is expected


def test_a_route_that_is_down_without_fallback_is_a_502() -> None:
    with ThreadedServer(one_route(unavailable=True)) as server:
        response = sent(
            server, {"method": "POST", "path": "/api/chat/completions", "body": {"model": "m", "messages": ASKED}}
        )
    assert response.status_code == 502
    assert judged(response).outcome is Outcome.ROUTE_DOWN


def test_a_preset_on_a_route_the_account_does_not_see_is_not_usable() -> None:
    config = one_route(visible_to=["other"])
    config = PlatformConfig(config.routes, (Preset("p", "m", "s"),), config.accounts)
    with ThreadedServer(config) as server:
        response = sent(
            server, {"method": "POST", "path": "/api/chat/completions", "body": {"model": "p", "messages": ASKED}}
        )
    assert response.json()["detail"] == "Model not found"


def test_no_row_of_any_dataset_stands_in_the_source() -> None:
    root = Path(__file__).parents[2]
    source = "".join(path.read_text() for path in (root / "workbench" / "local_platform").rglob("*.py"))
    files = [path for folder in ("datasets", "workbench/starter/demo") for path in (root / folder).glob("*.jsonl")]
    rows = [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()]
    assert rows
    for row in rows:
        for value in row.values():
            assert len(str(value)) < 20 or str(value) not in source


@pytest.mark.parametrize(
    "model", ["sim/instant", "Abacus Large [careful]", "Ponder [thinking only]", "sim/extract", "Lab Tutor"]
)
@pytest.mark.parametrize(
    "prompt",
    [
        "2 (3 + 4)", "Extract keys: guests, total. guests is 1.2.3.4", "9" * 5000 + " + 1", "1" * 400 + ".5 + 2", "-" * 90_000,
        "1 " * 20_000, " * ".join(["9" * 100] * 60), "((((", "1/0", "5 / 0 + ()", "\x00", "A) \nB) ",
    ],
)  # fmt: skip
def test_no_prompt_is_too_odd(platform: ThreadedServer, model: str, prompt: str) -> None:
    assert message(ask(platform, model, prompt))["content"] is not None


def test_a_compressed_body_is_refused(platform: ThreadedServer) -> None:
    headers = {
        "Authorization": f"Bearer {platform.key}",
        "Content-Type": "application/json",
        "Content-Encoding": "gzip",
    }
    response = httpx.post(f"{platform.base_url}/api/chat/completions", headers=headers, content=b"not gzip")
    assert response.status_code == 415
