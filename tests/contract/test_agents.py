"""Agents rehearsed on simulated routes: they call tools, read the results, and come to an end."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import pydantic
import pytest

from tests.contract.asking import FORCED, TOOL, platform_of
from workbench.local_platform.server import ThreadedServer

if TYPE_CHECKING:
    import openai  # at run time where it is used: a second, for which every other test would wait

CONFIG = platform_of({"id": "tools", "simulated": "answers", "calls_tools": True}, {"id": "prose"})
CLOCK: dict[str, Any] = {
    "type": "function",
    "function": {"name": "get_time", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
RESULTS = {"get_weather": "12 degrees and rain", "get_time": "14:05"}


@pytest.fixture
def client() -> Iterator["openai.OpenAI"]:
    import openai

    with ThreadedServer(CONFIG) as server:
        with openai.OpenAI(api_key=server.key, base_url=f"{server.base_url}/api", max_retries=0) as client:
            yield client


def conversation(client: "openai.OpenAI", question: str, **fields: Any) -> tuple[list[list[str]], str]:
    """What an agent's loop called in each turn, and its final answer."""
    messages: list[Any] = [{"role": "user", "content": question}]
    turns: list[list[str]] = []
    for _ in range(5):
        choice = client.chat.completions.create(model="tools", messages=messages, **fields).choices[0]
        if choice.finish_reason == "stop":
            return turns, choice.message.content or ""
        calls = choice.message.tool_calls or []
        turns.append([call.function.name for call in calls if call.type == "function"])
        messages.append(choice.message.model_dump(exclude_none=True))
        for call, name in zip(calls, turns[-1], strict=True):
            messages.append({"role": "tool", "tool_call_id": call.id, "content": RESULTS[name]})
    pytest.fail(f"it did not end: {turns}")


def test_a_route_goes_on_from_its_tools_answer_and_finishes(client: "openai.OpenAI") -> None:
    turns, said = conversation(client, "What is the weather in Oslo?", tools=[TOOL])
    assert turns == [["get_weather"]]
    assert said == "get_weather returned 12 degrees and rain."


def test_several_tools_are_called_in_one_turn_where_they_are_asked_for(client: "openai.OpenAI") -> None:
    question = "What are the weather and the time in Oslo?"
    assert conversation(client, question, tools=[TOOL, CLOCK]) == (
        [["get_weather", "get_time"]],
        "get_weather returned 12 degrees and rain. get_time returned 14:05.",
    )
    turns, _ = conversation(client, question, tools=[TOOL, CLOCK], parallel_tool_calls=False)
    assert turns == [["get_weather"], ["get_time"]]


def test_a_new_question_calls_anew(client: "openai.OpenAI") -> None:
    messages: list[Any] = [
        {"role": "user", "content": "What is the weather in Oslo?"},
        {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
        {"role": "assistant", "content": "Rain."},
        {"role": "user", "content": "And the weather in Rome?"},
    ]  # fmt: skip
    tools: Any = [TOOL]
    choice = client.chat.completions.create(model="tools", messages=messages, tools=tools).choices[0]
    assert choice.finish_reason == "tool_calls"


def test_a_forced_tool_is_called_whatever_came_before(client: "openai.OpenAI") -> None:
    tools: Any = [TOOL]
    forced: Any = FORCED
    messages: Any = [{"role": "user", "content": "Hello"}, {"role": "tool", "tool_call_id": "1", "content": "rain"}]
    choice = client.chat.completions.create(model="tools", messages=messages, tools=tools, tool_choice=forced).choices[
        0
    ]
    assert choice.finish_reason == "tool_calls"


def test_stop_is_heeded_streamed_or_not(client: "openai.OpenAI") -> None:
    messages: Any = [{"role": "user", "content": "one two three"}]
    whole = client.chat.completions.create(model="prose", messages=messages).choices[0].message.content or ""
    assert "words" in whole
    for stop in ("words", ["nothing of it", "words"]):
        given: Any = stop
        cut = client.chat.completions.create(model="prose", messages=messages, stop=given).choices[0]
        assert (cut.message.content, cut.finish_reason) == (whole.partition("words")[0], "stop")
    chunks = client.chat.completions.create(model="prose", messages=messages, stop="words", stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole.partition("words")[0]


def test_several_answers_are_refused_and_not_quietly_one(client: "openai.OpenAI") -> None:
    import openai

    messages: Any = [{"role": "user", "content": "Hello"}]
    for streamed in (False, True):
        with pytest.raises(openai.BadRequestError, match="a simulated model gives one answer: n must be 1"):
            client.chat.completions.create(model="prose", messages=messages, n=3, stream=streamed)


class Trip(pydantic.BaseModel):
    """What a structured answer is to be."""

    city: str
    days: int


def test_structured_answers_are_of_their_schema(client: "openai.OpenAI") -> None:
    messages: Any = [{"role": "user", "content": "I go to Lisbon for 4 days."}]
    parsed = (
        client.chat.completions.parse(model="prose", messages=messages, response_format=Trip).choices[0].message.parsed
    )
    assert parsed == Trip(city="Lisbon", days=4)
    text = client.chat.completions.create(model="prose", messages=messages, response_format={"type": "json_object"})
    assert json.loads(text.choices[0].message.content or "").keys() == {"answer"}


class Leg(pydantic.BaseModel):
    """A part of a journey."""

    place: Trip
    note: str | None = None
    nights: int | None


class Journey(pydantic.BaseModel):
    """A schema of references, lists of objects and values that may be null."""

    legs: list[Leg]
    by: Literal["train", "ferry"]
    then: "Journey | None" = None


def test_a_nested_schema_is_filled_or_quoted_to_the_system(client: "openai.OpenAI") -> None:
    text = "I go to Lisbon by ferry for 4 days."
    asked: Any = [{"role": "user", "content": text}]
    parsed = client.chat.completions.parse(model="prose", messages=asked, response_format=Journey)
    expected = Journey(legs=[Leg(place=Trip(city="Lisbon", days=4), nights=None)], by="ferry")
    found = parsed.choices[0].message.parsed
    assert found is not None
    assert (found.legs, found.by, found.then and found.then.then) == (expected.legs, "ferry", None), "it ends"
    quoted: Any = [
        {"role": "system", "content": f"Answer in JSON of this schema: {json.dumps(Journey.model_json_schema())} "}
    ]
    said = client.chat.completions.create(model="prose", messages=quoted + asked).choices[0].message.content
    assert Journey.model_validate_json(said or "").legs == expected.legs


def test_ids_differ_by_request(client: "openai.OpenAI") -> None:
    messages: Any = [{"role": "user", "content": "Hello"}]
    assert len({client.chat.completions.create(model="prose", messages=messages).id for _ in range(20)}) == 20
