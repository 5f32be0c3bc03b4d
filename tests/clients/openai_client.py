"""openai for Python: whole and streamed, called from asyncio too, with a tool and with a schema."""

import asyncio
import json
from typing import Any

import openai
import pydantic

from tests.clients.told import KEY, QUESTION, TRIP, URL, get_weather, parameters, tell

TOOL: Any = parameters(get_weather)


class Trip(pydantic.BaseModel):
    city: str
    days: int


def client(key: str = KEY) -> openai.OpenAI:
    return openai.OpenAI(base_url=URL, api_key=key, max_retries=0)


def messages(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def whole() -> str | None:
    return client().chat.completions.create(model="prose", messages=messages(TRIP)).choices[0].message.content


def streamed() -> str:
    chunks = client().chat.completions.create(model="prose", messages=messages(TRIP), stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


async def _gathered() -> set[str | None]:
    async with openai.AsyncOpenAI(base_url=URL, api_key=KEY, max_retries=0) as asking:
        asked = [asking.chat.completions.create(model="prose", messages=messages(TRIP)) for _ in range(8)]
        return {done.choices[0].message.content for done in await asyncio.gather(*asked)}


def gathered() -> str | None:
    (said,) = asyncio.run(_gathered())
    return said


def agent() -> str | None:
    asked = messages(QUESTION)
    while True:
        choice = client().chat.completions.create(model="tools", messages=asked, tools=[TOOL]).choices[0]
        if choice.finish_reason != "tool_calls":
            return choice.message.content
        asked.append(choice.message.model_dump(exclude_none=True))
        for call in choice.message.tool_calls or []:
            assert call.type == "function"
            result = get_weather(**json.loads(call.function.arguments))
            asked.append({"role": "tool", "tool_call_id": call.id, "content": result})


def structured() -> Any:
    done = client().chat.completions.parse(model="prose", messages=messages(TRIP), response_format=Trip)
    parsed = done.choices[0].message.parsed
    return parsed and parsed.model_dump()


def ask(model: str, key: str) -> Any:
    return client(key).chat.completions.create(model=model, messages=messages(TRIP))


if __name__ == "__main__":
    tell(
        {"whole": whole, "streamed": streamed, "gathered": gathered, "agent": agent, "structured": structured},
        ask,
    )
