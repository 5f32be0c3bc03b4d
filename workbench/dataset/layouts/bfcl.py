"""Questions of the Berkeley Function-Calling Leaderboard, with their answers from the folder `possible_answer` beside them."""

from pathlib import Path
from typing import Any

from workbench.dataset.json_rows import jsonl_rows
from workbench.dataset.layouts.layout import Layout, Reader, Row, refused, without

_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}


def _recognises(row: Row) -> bool:
    return ("question" in row and isinstance(row.get("function"), list)) or row.keys() == {"id", "ground_truth"}


def _reader(path: Path) -> Reader:
    answers = _answers(path.parent / "possible_answer" / path.name)

    def read(place: str, row: Row) -> Row:
        if "question" not in row:
            hint = "name the questions' file; the answers are found beside it"
            raise refused(place, "answers of BFCL, not its questions", hint)
        turns = row["question"]
        if turns and isinstance(turns[0], list):
            if len(turns) > 1:
                raise refused(place, f"a BFCL question of {len(turns)} turns: only single ones can be asked")
            turns = turns[0]
        target = row.get("ground_truth", answers.get(row.get("id")))
        tools = [{"type": "function", "function": _tool(place, one)} for one in row["function"]]
        return without(row, "question", "function", "ground_truth") | {"input": turns, "target": target, "tools": tools}

    return read


def _answers(path: Path) -> dict[Any, Any]:
    if not path.is_file():
        return {}
    return {row.get("id"): row.get("ground_truth") for _, row in jsonl_rows(path)}


def _tool(place: str, function: Any) -> dict[str, Any]:
    """Return a function in the API's terms: no dots in names, and the types of JSON Schema."""
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise refused(f"{place}: function", "expected a function with a name")
    return function | {
        "name": function["name"].replace(".", "_"),
        "parameters": _schema(function.get("parameters", {})),
    }


def _schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_schema(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "type" and isinstance(value, str):
            kind = _TYPES.get(value.lower(), value.lower())
            found |= {"type": kind} if kind else {}
        else:
            found[name] = _schema(value) if name in ("properties", "items") or isinstance(value, dict) else value
    return found


LAYOUT = Layout(
    "bfcl", "BFCL questions", _recognises, _reader,
    "`question`, a list of messages, and `function`, a list of functions", "scored by tool_calls",
)  # fmt: skip
