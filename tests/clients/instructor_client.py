"""instructor: an answer of a type in each of its modes."""

from collections.abc import Iterable
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


def asked(mode: instructor.Mode, model: str, key: str = KEY, text: str = TRIP, kind: Any = Trip) -> Any:
    client = instructor.from_openai(openai.OpenAI(base_url=URL, api_key=key, max_retries=0), mode=mode)
    messages: Any = [{"role": "user", "content": text}]
    return client.chat.completions.create(model=model, messages=messages, response_model=kind, max_retries=0)


def structured_by(mode: instructor.Mode) -> Any:
    return asked(mode, "tools").model_dump(exclude_none=True)


def structured_in_parallel() -> Any:
    text = f"Note this trip: {TRIP}"  # this mode leaves the choice of a tool to the model
    (trip,) = asked(instructor.Mode.PARALLEL_TOOLS, "tools", text=text, kind=Iterable[Trip])
    return trip.model_dump(exclude_none=True)


def ask(model: str, key: str) -> Any:
    return asked(instructor.Mode.TOOLS, model, key)


if __name__ == "__main__":
    tell(
        {
            "structured by tool": lambda: structured_by(instructor.Mode.TOOLS),
            "structured by schema": lambda: structured_by(instructor.Mode.JSON_SCHEMA),
            "structured by prompt": lambda: structured_by(instructor.Mode.JSON),
            "structured by strict tool": lambda: structured_by(instructor.Mode.TOOLS_STRICT),
            "structured in Markdown": lambda: structured_by(instructor.Mode.MD_JSON),
            "structured in parallel": structured_in_parallel,
        },
        ask,
    )
