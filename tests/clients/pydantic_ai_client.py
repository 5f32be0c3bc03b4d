"""pydantic-ai: an agent with a tool, streamed and not, and answers of a type in each of its ways."""

import asyncio
from typing import Any

import openai
import pydantic
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.clients.told import KEY, QUESTION, TRIP, URL, get_weather, tell


class Place(pydantic.BaseModel):
    city: str
    nights: int | None = None


class Trip(pydantic.BaseModel):
    """A trip."""

    place: Place
    days: int


def model(name: str, key: str = KEY) -> OpenAIChatModel:
    asking = openai.AsyncOpenAI(base_url=URL, api_key=key, max_retries=0)
    return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=asking))


def agent() -> Any:
    return Agent(model("tools"), tools=[get_weather]).run_sync(QUESTION).output


async def _streamed() -> Any:
    async with Agent(model("tools"), tools=[get_weather]).run_stream(QUESTION) as stream:
        return await stream.get_output()


def streamed_agent() -> Any:
    return asyncio.run(_streamed())


def structured_by(way: Any) -> Any:
    return Agent(model("tools"), output_type=way(Trip)).run_sync(TRIP).output.model_dump(exclude_none=True)


def ask(name: str, key: str) -> Any:
    return Agent(model(name, key)).run_sync(TRIP).output


if __name__ == "__main__":
    tell(
        {
            "agent": agent, "streamed agent": streamed_agent,
            "structured by tool": lambda: structured_by(ToolOutput),
            "structured by schema": lambda: structured_by(NativeOutput),
            "structured by prompt": lambda: structured_by(PromptedOutput),
        },
        ask,
    )  # fmt: skip
