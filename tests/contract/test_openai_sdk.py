"""The official SDK as a caller that knows nothing of us."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from tests.contract.asking import FORCED, TOOL, platform_of
from tests.waiting import until
from workbench.local_platform.server import ThreadedServer

CONFIG = platform_of(
    {"id": "Plain [one] route"},
    {"id": "echo", "simulated": "echo"},
    {"id": "tools", "simulated": "answers", "calls_tools": True},
    {"id": "thinks", "simulated": "answers", "thinks": True},
    {"id": "down", "unavailable": True},
    {"id": "locked", "secret_missing": True},
    {"id": "busy", "faults": [{"status": 429}]},
    {"id": "breaks", "faults": [{"kind": "cut"}]},
    {"id": "hangs", "faults": [{"kind": "hang"}]},
    clock_speed=400,
)
ASK: Any = [{"role": "user", "content": "What is the weather in Oslo?"}]


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadedServer]:
    with ThreadedServer(CONFIG) as server:
        yield server


@pytest.fixture
def client(server: ThreadedServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key=server.key, base_url=f"{server.base_url}/api", max_retries=0) as client:
        yield client


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [route.id for route in CONFIG.routes]


def test_a_completion(client: openai.OpenAI) -> None:
    done = client.chat.completions.create(model="Plain [one] route", messages=ASK, max_tokens=50)
    assert done.choices[0].message.content
    assert done.choices[0].finish_reason == "stop"
    assert done.model == "Plain [one] route"
    assert done.usage is not None
    assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens


def test_a_streamed_completion(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="Plain [one] route", messages=ASK).choices[0].message.content
    options: Any = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(model="Plain [one] route", messages=ASK, stream=True, stream_options=options)
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == whole
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 0


def test_tool_calls(client: openai.OpenAI) -> None:
    tools: Any = [TOOL]
    forced: Any = FORCED
    done = client.chat.completions.create(model="tools", messages=ASK, tools=tools, tool_choice=forced)
    calls = done.choices[0].message.tool_calls
    assert calls is not None
    assert calls[0].type == "function"
    assert json.loads(calls[0].function.arguments) == {"city": "Oslo"}
    assert done.choices[0].finish_reason == "tool_calls"


def test_streamed_tool_calls(client: openai.OpenAI) -> None:
    tools: Any = [TOOL]
    with client.chat.completions.stream(model="tools", messages=ASK, tools=tools) as stream:
        done = stream.get_final_completion()
    calls = done.choices[0].message.tool_calls
    assert calls is not None
    assert calls[0].function.name == "get_weather"
    assert json.loads(calls[0].function.arguments) == {"city": "Oslo"}


def test_extra_body_reaches_the_model(client: openai.OpenAI) -> None:
    extra = {"chat_template_kwargs": {"reasoning_effort": "low"}, "made_up": 1}
    done = client.chat.completions.create(model="echo", messages=ASK, extra_body=extra)
    assert json.loads(done.choices[0].message.content or "{}").items() >= extra.items()


def test_reasoning(client: openai.OpenAI) -> None:
    message = client.chat.completions.create(model="thinks", messages=ASK).choices[0].message
    assert message.model_dump()["reasoning_content"]


@pytest.mark.parametrize(
    ("model", "error"),
    [
        ("down", openai.InternalServerError), ("locked", openai.AuthenticationError), ("busy", openai.RateLimitError),
        ("nothing", openai.NotFoundError), ("hangs", openai.InternalServerError),
    ],
)  # fmt: skip
def test_error_classes(client: openai.OpenAI, model: str, error: type[openai.APIStatusError]) -> None:
    with pytest.raises(error) as caught:
        client.chat.completions.create(model=model, messages=ASK)
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["message"] in str(caught.value)
    assert caught.value.code == caught.value.body["code"]


def test_an_exhausted_allowance_is_what_it_is_at_openai_and_not_asked_for_again() -> None:
    with ThreadedServer(platform_of({"id": "m"}, allowance={"units": 0})) as server:
        with openai.OpenAI(api_key=server.key, base_url=f"{server.base_url}/api") as client:
            with pytest.raises(openai.RateLimitError, match="Your allowance is used up") as caught:
                client.chat.completions.create(model="m", messages=ASK)
        assert (caught.value.code, caught.value.type) == ("insufficient_quota", "insufficient_quota")
        assert server.platform.statistics.requests.total() == 1


@pytest.mark.slow
def test_a_full_platform_is_a_rate_limit() -> None:
    slow = platform_of({"id": "m", "faults": [{"kind": "hang"}]}, limits={"in_flight": 1})
    with ThreadedServer(slow) as server, ThreadPoolExecutor(1) as pool:
        with openai.OpenAI(api_key=server.key, base_url=f"{server.base_url}/api", max_retries=0, timeout=2) as client:
            first = pool.submit(client.chat.completions.create, model="m", messages=ASK)
            until(lambda: server.platform.statistics.in_flight)
            with pytest.raises(openai.RateLimitError, match="every slot of the platform is taken"):
                client.chat.completions.create(model="m", messages=ASK)
            with pytest.raises(openai.APITimeoutError):
                first.result()


def test_a_key_that_is_not_accepted(server: ThreadedServer) -> None:
    with openai.OpenAI(api_key="sk-no", base_url=f"{server.base_url}/api", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError, match=r"The API key is not valid or was revoked\.") as caught:
            client.models.list()
        assert caught.value.code == "invalid_api_key"


def test_a_broken_stream_is_an_error(client: openai.OpenAI) -> None:
    with pytest.raises(openai.APIError, match="broke off"):
        list(client.chat.completions.create(model="breaks", messages=ASK, stream=True))


def test_the_sdks_own_retries_come_on_top(server: ThreadedServer) -> None:
    def attempts() -> int:
        return int(server.platform.statistics.as_object()["routes"].get("down", {"attempts": 0})["attempts"])

    before = attempts()
    with openai.OpenAI(api_key=server.key, base_url=f"{server.base_url}/api", max_retries=1) as client:
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="down", messages=ASK)
    assert attempts() - before == 2 * 3
