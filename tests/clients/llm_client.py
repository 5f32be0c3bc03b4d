"""llm: a prompt, streamed and not, a chain with a tool, and a schema."""

import json
from typing import Any

import llm
from llm.default_plugins.openai_models import Chat

from tests.clients.told import KEY, QUESTION, TRIP, URL, get_weather, tell

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}


def model(name: str, key: str = KEY) -> Any:
    """As a line of llm's `extra-openai-models.yaml` makes it."""
    made = Chat(name, model_name=name, api_base=URL, key=key, supports_tools=True, supports_schema=True)
    made.key = key
    return made


def whole() -> str:
    return str(model("prose").prompt(TRIP, stream=False).text())


def streamed() -> str:
    return "".join(model("prose").prompt(TRIP, stream=True))


def agent() -> str:
    return str(model("tools").chain(QUESTION, tools=[llm.Tool.function(get_weather)]).text())


def structured() -> Any:
    return json.loads(model("prose").prompt(TRIP, schema=SCHEMA, stream=False).text())


def ask(name: str, key: str) -> Any:
    return model(name, key).prompt(TRIP, stream=False).text()


if __name__ == "__main__":
    tell({"whole": whole, "streamed": streamed, "agent": agent, "structured": structured}, ask)
