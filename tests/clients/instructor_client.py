"""instructor: an answer of a type in each of its modes."""

from typing import Any

import instructor
import openai
import pydantic

from tests.clients.told import KEY, TRIP, URL, tell


class Place(pydantic.BaseModel):
    city: str
    nights: int | None = None


class Trip(pydantic.BaseModel):
    """A trip."""

    place: Place
    days: int


def asked(mode: instructor.Mode, model: str, key: str = KEY) -> Any:
    client = instructor.from_openai(openai.OpenAI(base_url=URL, api_key=key, max_retries=0), mode=mode)
    messages: Any = [{"role": "user", "content": TRIP}]
    return client.chat.completions.create(model=model, messages=messages, response_model=Trip, max_retries=0)


def structured_by(mode: instructor.Mode) -> Any:
    return asked(mode, "tools").model_dump(exclude_none=True)


def ask(model: str, key: str) -> Any:
    return asked(instructor.Mode.TOOLS, model, key)


if __name__ == "__main__":
    tell(
        {
            "structured by tool": lambda: structured_by(instructor.Mode.TOOLS),
            "structured by schema": lambda: structured_by(instructor.Mode.JSON_SCHEMA),
            "structured by prompt": lambda: structured_by(instructor.Mode.JSON),
        },
        ask,
    )
