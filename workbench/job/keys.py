"""Every key of a job file with its type, its default and what it does, from the docstrings of its tables."""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple, get_args

import msgspec

import workbench.job.file as job_file
import workbench.settings.file as settings_file
from workbench.job.file import JobFile
from workbench.scoring.scorer import Scorer
from workbench.scoring.scorers import AnyScorer

_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "array": "list",
          "object": "table"}  # fmt: skip


class Key(NamedTuple):
    """One key of a table."""

    name: str
    kind: str
    """Its type and bounds, in words."""
    default: str
    """As TOML; empty where there is none."""
    text: str


def job_schema() -> dict[str, Any]:
    """Return the JSON Schema of a job file, for completion in editors: every key with its description."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | _described(JobFile)


def _described(file: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a TOML file with the texts under its fields."""
    schema: dict[str, Any] = msgspec.json.schema(file)
    for described in schema["$defs"].values():
        if "description" in described:  # a docstring, whose margin Python 3.13 takes away and those before keep
            described["description"] = inspect.cleandoc(described["description"])
    for table, texts in _docstrings().items():
        properties = schema["$defs"].get(table, {}).get("properties", {})
        for name in properties.keys() & texts.keys():
            properties[name]["description"] = texts[name]
    return schema


def keys_of(table: str, file: type[msgspec.Struct] = JobFile) -> Iterator[Key]:
    """Return the keys of one table, in the order in which they are written there.

    Args:
        table: The name of its struct.
        file: What the table is a part of: a job, or the settings.
    """
    for name, described in _described(file)["$defs"][table]["properties"].items():
        if "description" in described:
            default = described.get("default")
            written = "" if default is None or isinstance(default, dict | list) else json.dumps(default)
            yield Key(name, _kind(described), written, described["description"])


def scorers() -> tuple[type[Scorer], ...]:
    """Return the tables that `[[scorers]]` may be."""
    return get_args(AnyScorer)


def _docstrings() -> dict[str, dict[str, str]]:
    """By class: the texts under its fields, those of its bases included."""
    found: dict[str, dict[str, str]] = {}
    for module in _modules():
        found |= _docstrings_in(module, found)
    return found


def _modules() -> Iterator[ModuleType]:
    """Return where tables are defined, those of bases before those of their subclasses."""
    yield job_file
    yield settings_file
    tables = [table for scorer in scorers() for table in reversed(scorer.__mro__) if issubclass(table, Scorer)]
    yield from dict.fromkeys(module for table in tables if (module := inspect.getmodule(table)))


def _docstrings_in(module: ModuleType, bases: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    found = dict(bases)
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            texts: dict[str, str] = {}
            for base in node.bases:
                texts |= found.get(base.id, {}) if isinstance(base, ast.Name) else {}
            for field, below in zip(node.body, node.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                        texts[field.target.id] = re.sub(r"\s+", " ", str(below.value.value))
            found[node.name] = texts
    return found


def _kind(described: dict[str, Any]) -> str:
    branches = [branch for branch in described.get("anyOf", [described]) if branch.get("type") != "null"]
    return " or ".join(dict.fromkeys(map(_branch, branches)))


def _branch(branch: dict[str, Any]) -> str:
    if "enum" in branch:
        return " or ".join(f'"{value}"' for value in branch["enum"])
    low, high, above = (_written(branch.get(bound)) for bound in ("minimum", "maximum", "exclusiveMinimum"))
    least = f" from {low}" if low is not None else f" above {above}" if above is not None else ""
    bounds = f" {low} to {high}" if None not in (low, high) else f"{least}, up to {high}" if high is not None else least
    return _TYPES.get(branch.get("type", "object"), "table") + bounds


def _written(bound: float | None) -> str | None:
    """Return a bound as TOML writes it: 1_000_000."""
    return None if bound is None else f"{int(bound):_}" if bound == int(bound) else str(bound)
