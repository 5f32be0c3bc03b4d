"""From a sample to the messages that are sent."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from workbench.errors import Fault, InputError, nearest
from workbench.job.file import PromptTable
from workbench.job.job import Job, Variant
from workbench.records.calls import Sample

if TYPE_CHECKING:
    from workbench.template import Template

Message = dict[str, Any]


class Prompt:
    """The job's templates, compiled.

    Args:
        where: Names a key of the table, for messages.
        fields: The place of `dataset.fields`, for messages.

    Raises:
        InputError: A template is not valid Jinja.
    """

    def __init__(self, table: PromptTable, where: Callable[..., str], fields: str = "dataset.fields") -> None:
        self._where, self._fields, self._has_messages = where, fields, bool(table.messages)
        self._sends_input = not table.messages and table.template == PromptTable().template
        self._parts = _compiled(table, where) if table != PromptTable() else []
        self.named = frozenset[str]().union(*(template.names for _, template in self._parts))
        """The variables that the templates name."""

    def messages(self, sample: Sample) -> list[Message]:
        """Return the messages of one sample; a sample that is already a list of messages is sent as it is.

        Raises:
            InputError: A template names a variable that the sample does not have, or fails on its values.
        """
        if sample.is_chat:
            return list(sample.input)
        if self._sends_input and isinstance(sample.input, list | dict):
            raise InputError(self._unsendable(sample))
        if not self._parts:
            text = sample.input if isinstance(sample.input, str) else msgspec.json.encode(sample.input).decode()
            return [{"role": "user", "content": text}]  # what rendering "{{ input }}" gives
        variables = variables_of(sample)
        texts = [(role, template.rendered(variables, f"sample {sample.id!r}")) for role, template in self._parts]
        if not any(text.strip() for _, text in texts):
            field = self._where("messages" if self._has_messages else "template")
            raise InputError(
                Fault(
                    field,
                    f"sample {sample.id!r}: the prompt is empty",
                    f"it shows none of: {', '.join(sorted(variables))}",
                )
            )
        return [{"role": role, "content": text} for role, text in texts]

    def _unsendable(self, sample: Sample) -> Fault:
        if sample.input == sample.metadata:
            columns = sorted(variables_of(sample))
            near = nearest("input", columns) or f"the sample has: {', '.join(columns)}"
            hint = f'fields = {{ input = "COLUMN" }} under [dataset] names its column; {near}'
            return Fault(self._fields, f"sample {sample.id!r}: 'input' is undefined", hint)
        kind = "a list" if isinstance(sample.input, list) else "an object"
        problem = f"sample {sample.id!r}: the input is {kind}"
        return Fault(self._where("template"), problem, "name its parts in a template")


def prompts_of(job: Job) -> list[tuple[Variant, Prompt]]:
    """Return the prompt of every variant of a job."""
    fields = job.where("dataset", "fields")
    return [(one, Prompt(one.prompt, functools.partial(job.where, *one.place), fields)) for one in job.variants]


def _compiled(table: PromptTable, where: Callable[..., str]) -> "list[tuple[str, Template]]":
    """Return the role and the template of every message."""
    from workbench.template import Template  # with Jinja, which the common prompt does not need

    sources: list[tuple[str, str, str]] = []
    if table.system is not None:
        sources.append((where("system"), "system", table.system))
    for number, message in enumerate(table.messages):
        sources.append((where("messages", number, "content"), message.role, message.content))
    if not table.messages:
        sources.append((where("template"), "user", table.template))
    return [(role, Template(place, source)) for place, role, source in sources]


def variables_of(sample: Sample) -> dict[str, Any]:
    """Return what a template may name: the sample's own columns, then its fields under the workbench's names."""
    own = {"id": sample.id, "target": sample.target, "choices": sample.choices, "metadata": sample.metadata}
    if sample.input != sample.metadata:  # a row without an input column has no variable of that name
        own["input"] = sample.input
    return {**sample.metadata, **own}


def request_body(
    model: str, messages: Any, fields: dict[str, Any], sample_tools: tuple[dict[str, Any], ...]
) -> dict[str, Any]:
    """Return a request body, in the order in which it is sent; `request_key` is taken of its canonical form.

    Args:
        messages: As a list, or encoded.
        fields: The job's, overridden by the model's own.
        sample_tools: Tools that the sample brings; they take the place of the job's.
    """
    body = {"model": model, "messages": messages, "stream": False, **fields}
    if sample_tools:
        body["tools"] = list(sample_tools)
    if not body.get("tools"):
        body.pop("tools", None)  # an empty list is not sent, and a choice without tools means nothing
        body.pop("tool_choice", None)
    return body


def tools_asked(body: dict[str, Any]) -> str | None:
    """Return whether a request body has tools: `forced` or `offered`; None where it has none."""
    if not body.get("tools"):
        return None
    choice = body.get("tool_choice")
    return "forced" if isinstance(choice, dict) or choice == "required" else "offered"
