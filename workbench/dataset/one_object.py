"""Rows that a file has as one object: column by column, by id, or as a list within it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import workbench.display.commands as commands
from workbench.dataset.files import BOM, MOST_LINE_BYTES, opened
from workbench.dataset.json_rows import PlacedRow
from workbench.dataset.layouts.known import layout_of
from workbench.dataset.layouts.layout import PLAIN
from workbench.errors import Fault, InputError
from workbench.records.calls import are_messages

_OWN_COLUMNS = {"input", "messages", "target"}
_LEAST_ROWS = 2


class Inside(NamedTuple):
    """The rows that one object holds."""

    what: str
    """How they are laid out in it, in words."""
    rows: list[dict[str, Any]]


def rows_inside(value: dict[str, Any]) -> Inside | None:
    """Return the rows that an object holds; None where it looks like a row itself."""
    lists = {name: column for name, column in value.items() if isinstance(column, list)}
    objects = {name: inner for name, inner in value.items() if isinstance(inner, dict)}
    if len(lists) == len(value) and (found := _by_column(lists)):
        return found
    if value.keys() & _OWN_COLUMNS:
        return None
    if value and len(objects) == len(value) and (found := _of_objects(objects)):
        return found
    if layout_of(value) is PLAIN:
        for name, rows in lists.items():
            if _are_objects(rows) and not are_messages(rows):
                return Inside(f"{name!r} in it is a list of objects", rows)
    return None


def _by_column(lists: dict[str, list[Any]]) -> Inside | None:
    if any(map(_are_objects, lists.values())):
        return None
    if _is_split(lists):
        rows = [dict(zip(lists["columns"], row, strict=True)) for row in lists["data"]]
        return Inside("`columns` and `data` apart", rows)
    lengths = {len(column) for column in lists.values()}
    if len(lengths) != 1 or lengths.pop() < _LEAST_ROWS:
        return None
    return Inside(
        "a list for each column", [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    )


def _of_objects(objects: dict[str, dict[str, Any]]) -> Inside | None:
    names = list(next(iter(objects.values())))
    if names and all(name.isdecimal() for name in names) and all(list(inner) == names for inner in objects.values()):
        return Inside(
            "a column by row numbers", [{name: inner[row] for name, inner in objects.items()} for row in names]
        )
    if len(objects) >= _LEAST_ROWS:
        return Inside("a row by each id", [{"id": name} | inner for name, inner in objects.items()])
    return None


def refuse_one_object(path: Path, value: dict[str, Any]) -> None:
    """Refuse a file whose only row is an object that holds the rows.

    Raises:
        InputError: It is; the text has the command that converts it.
    """
    if found := rows_inside(value):
        target = re.sub(r"(\.(jsonl?|ndjson))?(\.(gz|zst))?$", "", path.name) + ".rows.jsonl"
        converts = commands.command("datasets", "convert", path.name, target)
        raise InputError(Fault(str(path), f"one object, not rows: {found.what}", converts))


def object_in(path: Path) -> dict[str, Any] | None:
    """Return the object that a whole file is; None where it is something else."""
    with opened(path) as stream:
        text = stream.read(MOST_LINE_BYTES + 1)
    try:
        value = json.loads(text.removeprefix(BOM)) if len(text) <= MOST_LINE_BYTES else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def rows_within(path: Path) -> Iterator[PlacedRow] | None:
    """Return the rows that a file has as one object; None where it has them otherwise."""
    value = object_in(path)
    found = None if value is None else rows_inside(value)
    return None if found is None else ((f"{path}: row {number}", row) for number, row in enumerate(found.rows, 1))


def _are_objects(values: list[Any]) -> bool:
    """Return whether a list is one of objects: messages, tools or rows, and no column."""
    return bool(values) and all(isinstance(value, dict) for value in values)


def _is_split(lists: dict[str, list[Any]]) -> bool:
    columns, data = lists.get("columns"), lists.get("data")
    if not columns or not data or not all(isinstance(name, str) for name in columns):
        return False
    return all(isinstance(row, list) and len(row) == len(columns) for row in data)
