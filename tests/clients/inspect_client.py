"""Inspect: an evaluation whose solver has a tool, scored."""

import tempfile
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import Tool, tool

from tests.clients.told import KEY, QUESTION, TRIP, URL, tell


class SampleError(Exception):
    """What an evaluation notes of a sample that failed."""


def weather() -> Tool:
    async def get_weather(city: str) -> str:
        """Get the weather of a city.

        Args:
            city: Its name.
        """
        return f"12 degrees and rain in {city}"

    return get_weather


def evaluated(question: str, target: str, name: str, key: str, tools: list[Any]) -> Any:
    """The one sample of an evaluation; its log is read when it is looked into."""
    model = get_model(f"openai-api/platform/{name}", base_url=URL, api_key=key, config=GenerateConfig(max_retries=0))
    task = Task([Sample(question, target=target)], solver=[use_tools(*tools), generate()], scorer=includes())
    with tempfile.TemporaryDirectory() as folder:
        (log,) = eval(task, model=model, log_dir=folder, display="none", fail_on_error=False)
        return log.samples[0]


def agent() -> Any:
    sample = evaluated(QUESTION, "12 degrees and rain in Oslo", "tools", KEY, [tool(weather, name="get_weather")()])
    assert sample.error is None, sample.error.message
    assert sample.scores["includes"].value == "C"
    return sample.output.completion


def ask(name: str, key: str) -> Any:
    sample = evaluated(TRIP, "Lisbon", name, key, [])
    if sample.error:
        raise SampleError(sample.error.traceback)  # it names the failure; the message may be of Inspect's retries only
    return sample.output.completion


if __name__ == "__main__":
    tell({"agent": agent}, ask)
