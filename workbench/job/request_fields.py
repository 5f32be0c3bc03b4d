"""What is wrong with the body fields of a job's requests, beyond what each key allows by itself."""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from workbench.errors import nearest, nearest_file
from workbench.job.file import UNSET, RequestFields
from workbench.strict import PathTo, Problem, kind_of

_SWALLOWED = frozenset(
    "user metadata params files variables features chat_id id parent_id folder_id filter_ids background_tasks "
    "session_id model_item extra_body".split()
)
_OURS = frozenset({"model", "messages", "stream", "stream_options", "n"})
_TOOL_NAME = re.compile(r"[\w-]{1,64}", re.ASCII)
_TOOL_SHAPE = '{type = "function", function = {name = "…", parameters = {…}}}'
_CHOICES = ("auto", "none", "required")


def request_problems(fields: RequestFields, place: PathTo, folder: Path) -> Iterator[Problem]:
    """Everything wrong with the request fields of a job or of one of its models.

    Args:
        place: Of their table.
        folder: Which `tools_path` is relative to.
    """
    for name in RequestFields.__struct_fields__:
        if _has_no_json(getattr(fields, name)):
            yield Problem((*place, name), "holds inf or nan, which JSON cannot carry", "expected a finite number")
    yield from _tools_problems(fields, place, folder)
    for name in fields.extra if isinstance(fields.extra, dict) else ():
        if name == "n":
            yield Problem((*place, "extra", name), "each request asks for one answer", "repeat it with run.epochs")
        elif name in _OURS:
            yield Problem((*place, "extra", name), "the workbench sets this field itself", "leave it out")
        elif name in _SWALLOWED:
            yield Problem(
                (*place, "extra", name), "the platform reserves this name: the model would never see it", "leave it out"
            )
        elif name in RequestFields.__struct_fields__:
            yield Problem(
                (*place, "extra", name), "is a key of its own", f"write it as {'.'.join(map(str, place))}.{name}"
            )


def tool_problem(tool: Any) -> str:
    """Return why a value is not a tool as OpenAI's API has them; empty where it is one."""
    if not isinstance(tool, dict):
        return f"expected a tool, found {kind_of(tool)}"
    if tool.get("type") != "function":
        return f"its type must be 'function'; a tool is {_TOOL_SHAPE}"
    return _function_problem(tool.get("function"))


def tools_problems(tools: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Return what is wrong with a list of tools, by place in the list."""
    names: list[str] = []
    for number, tool in enumerate(tools):
        if problem := tool_problem(tool):
            yield number, problem
        elif (name := tool_name(tool)) in names:
            yield number, f"a second tool named {name!r} (give each a name of its own)"
        else:
            names.append(name)


def tool_name(tool: Any) -> str:
    """Return the function's name of a tool or of a forced choice, which have one shape; empty where there is none."""
    function = tool.get("function") if isinstance(tool, dict) else None
    return str(function.get("name") or "") if isinstance(function, dict) else ""


def tools_from(path: Path) -> list[dict[str, Any]]:
    """Return the tools in a JSON file.

    Raises:
        ValueError: It cannot be read, or holds something else.
    """
    try:
        tools = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        hint = nearest_file(path) or "the path is relative to the job's folder"
        raise ValueError(f"{path} cannot be read: {error.strerror}; {hint}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(tools, list):
        raise ValueError(f"{path}: expected a list of tools, found {kind_of(tools)}")
    for number, problem in tools_problems(tools):
        raise ValueError(f"{path}: tool {number + 1}: {problem}")
    return tools


def _tools_problems(fields: RequestFields, place: PathTo, folder: Path) -> Iterator[Problem]:
    tools: Any = fields.tools if isinstance(fields.tools, list) else None
    if fields.tools is not UNSET and fields.tools_path is not UNSET:
        yield Problem((*place, "tools_path"), "give either tools or tools_path, not both")
    if tools is not None:
        for number, problem in tools_problems(tools):
            yield Problem((*place, "tools", number), problem)
    elif isinstance(fields.tools_path, str):
        try:
            tools = tools_from(folder / fields.tools_path)
        except ValueError as error:
            yield Problem((*place, "tools_path"), str(error))
    if problem := _choice_problem(fields.tool_choice):
        yield Problem((*place, "tool_choice"), problem)
    elif isinstance(fields.tool_choice, dict) and tools:
        names, chosen = [tool_name(tool) for tool in tools], tool_name(fields.tool_choice)
        if chosen not in names:
            hint = nearest(chosen, names) or f"its tools: {', '.join(names)}"
            yield Problem((*place, "tool_choice"), f"there is no tool {chosen!r}", hint)


def _choice_problem(choice: Any) -> str:
    if isinstance(choice, str) and choice not in _CHOICES:
        return f"expected auto, none, required or a table, found {choice!r}"
    if isinstance(choice, dict) and (choice.get("type") != "function" or not tool_name(choice)):
        return 'expected {type = "function", function = {name = "…"}}'
    return ""


def _function_problem(function: Any) -> str:
    if not isinstance(function, dict):
        return f"its function must be a table; a tool is {_TOOL_SHAPE}"
    name = function.get("name")
    if not isinstance(name, str) or not name:
        return f"its function has no name; a tool is {_TOOL_SHAPE}"
    if not _TOOL_NAME.fullmatch(name):
        return f"{name[:80]!r} is not a function name: 1 to 64 letters, digits, underscores and hyphens"
    if "parameters" in function and not isinstance(function["parameters"], dict):
        return f"the parameters of {name!r} must be a JSON Schema, found {kind_of(function['parameters'])}"
    return ""


def _has_no_json(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case list():
            return any(map(_has_no_json, value))
        case dict():
            return any(map(_has_no_json, value.values()))
        case _:
            return False
