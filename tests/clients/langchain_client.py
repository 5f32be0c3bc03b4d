"""LangChain: structured output in each of its methods, a bound tool, streaming."""

from typing import Any

import pydantic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from tests.clients.told import KEY, QUESTION, TRIP, URL, get_weather, tell


class Place(pydantic.BaseModel):
    city: str
    nights: int | None = None


class Trip(pydantic.BaseModel):
    """A trip."""

    place: Place
    days: int


def model(name: str, key: str = KEY) -> ChatOpenAI:
    return ChatOpenAI(model=name, base_url=URL, api_key=pydantic.SecretStr(key), max_retries=0)


def whole() -> Any:
    return model("prose").invoke(TRIP).content


def streamed() -> str:
    return "".join(str(chunk.content) for chunk in model("prose").stream(TRIP))


def structured_by(method: Any) -> Any:
    found: Any = model("tools").with_structured_output(Trip, method=method).invoke(TRIP)
    return found.model_dump(exclude_none=True)


def agent() -> Any:
    weather = tool(get_weather)
    bound, messages = model("tools").bind_tools([weather]), list[Any]([HumanMessage(QUESTION)])
    while True:
        said = bound.invoke(messages)
        if not said.tool_calls:
            return said.content
        messages.append(said)
        messages += [ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"]) for call in said.tool_calls]


def ask(name: str, key: str) -> Any:
    return model(name, key).invoke(TRIP)


if __name__ == "__main__":
    tell(
        {
            "whole": whole, "streamed": streamed, "agent": agent,
            "structured by tool": lambda: structured_by("function_calling"),
            "structured by schema": lambda: structured_by("json_schema"),
        },
        ask,
    )  # fmt: skip
