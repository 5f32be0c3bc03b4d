"""What the program of one client tells of its cases: what each came to, or how it was refused. Run with that client's Python."""

import inspect
import json
import os
from collections.abc import Callable
from typing import Any

URL, KEY = os.environ.get("PLATFORM_URL", ""), os.environ.get("PLATFORM_KEY", "")
QUESTION = "What is the weather in Oslo?"
TRIP = "I go to Lisbon for 4 days."
REFUSED: dict[str, dict[str, str]] = json.loads(os.environ.get("REFUSED", "{}"))
"""Refusals by name: the `model` and the `key` that lead to each."""

Case = Callable[[], Any]
Ask = Callable[[str, str], Any]
"""Ask a model with a key."""


def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"12 degrees and rain in {city}"


def tell(cases: dict[str, Case], ask: Ask) -> None:
    """Run every case, and ask for every refusal; print both as one line of JSON."""
    told = {name: case() for name, case in cases.items()}
    refusals = {name: refusal(ask, given["model"], given["key"]) for name, given in REFUSED.items()}
    print(json.dumps({"cases": told, "refusals": refusals}))


def refusal(ask: Ask, model: str, key: str) -> list[str]:
    """The class and the text of what asking raises."""
    try:
        done = ask(model, key)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return ["nothing was raised", repr(done)]


def parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """A function of texts as an OpenAI-style tool."""
    names = [*inspect.signature(function).parameters]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    described = {"name": function.__name__, "description": inspect.getdoc(function), "parameters": schema}
    return {"type": "function", "function": described}
