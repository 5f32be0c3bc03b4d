"""Test tables of promptfoo: variables, and what is expected in columns `__expected`."""

import re
from typing import Any

from workbench.dataset.layouts.layout import Layout, Row, always, refused

_CODE = ("javascript", "fn", "eval", "python", "ruby", "webhook", "file")
_ALONE = ("is-json", "contains-json")
"""The checks that need no value after a colon."""
_TARGETS = {
    "equals": {"name": "exact"},
    "contains": {"name": "includes", "ignore_case": False},
    "icontains": {"name": "includes"},
}
_LISTS = {"contains": {"name": "includes", "ignore_case": False}, "icontains": {"name": "includes"}}


def _recognises(row: Row) -> bool:
    return any(name.startswith("__expected") for name in row)


def _read(place: str, row: Row) -> Row:
    own = {name: value for name, value in row.items() if not name.startswith("__")}
    checks: list[dict[str, Any]] = []
    for name, value in row.items():
        if name.startswith("__expected") and str(value or "").strip():
            checks += _checks(f"{place}: {name}", str(value).strip())
        elif name in ("__prefix", "__suffix") and value:
            raise refused(f"{place}: {name}", "not supported; write it into the job's template")
    described = {"description": row["__description"]} if row.get("__description") else {}
    return own | described | {"target": checks or None}


def _checks(place: str, expected: str) -> list[dict[str, Any]]:
    """Return the checks of one cell, as the scorer `by_sample` reads them."""
    match = re.match(r"(not-)?([a-z-]+)(?:\(([\d.]+)\))?(?::|$)", expected)
    if match and not (match[0].endswith(":") or match[3] or match[2] in _ALONE):
        match = None  # an ordinary word, such as "python" or "contains"
    kind = match[2] if match else ""
    if kind in _CODE:
        raise refused(
            place,
            f"a promptfoo check in code ({kind}:), which is never executed",
            "the scorer custom takes a function of yours",
        )
    found = _known(place, kind, match[3] if match else None, expected[match.end() :].strip() if match else "")
    if found is None:
        if match and expected[match.end() - 1] == ":" and "-" in kind:
            raise refused(place, f"a check {kind!r}, which is not supported")
        return [{"scorer": {"name": "exact"}, "target": expected}]
    if not (match and match[1]):
        return found
    return [check | {"not": True} for check in found]


def _all_of(checks: list[dict[str, Any]]) -> dict[str, Any]:
    """Several checks `includes` as one, which an answer meets or does not: one of two is not half of it."""
    every = "".join(rf"(?=[\s\S]*{re.escape(check['target'])})" for check in checks)
    ignore_case = checks[0]["scorer"].get("ignore_case", True)
    return {"scorer": {"name": "pattern", "pattern": rf"\A{every}", "ignore_case": ignore_case, "use_group": False}}


def _known(place: str, kind: str, argument: str | None, value: str) -> list[dict[str, Any]] | None:
    if kind in _TARGETS:
        return [{"scorer": _TARGETS[kind], "target": value}]
    how, _, which = kind.rpartition("-")
    if how in _LISTS and which in ("any", "all"):
        values = [entry.strip() for entry in value.split(",") if entry.strip()]
        if which == "any":
            return [{"scorer": _LISTS[how], "target": values}]
        checks = [{"scorer": _LISTS[how], "target": entry} for entry in values]
        return [_all_of(checks)] if len(checks) > 1 else checks
    match kind:
        case "starts-with":
            return [{"scorer": {"name": "pattern", "pattern": rf"\A{re.escape(value)}", "ignore_case": False}}]
        case "regex":
            return [{"scorer": {"name": "pattern", "pattern": value, "ignore_case": False, "use_group": False}}]
        case "is-json" | "contains-json":
            return [{"scorer": {"name": "json_schema", "schema": {}, "alone": kind == "is-json"}}]
        case "latency" if argument:
            return [{"scorer": {"name": "latency", "at_most_ms": float(argument)}}]
        case "similar" | "llm-rubric" | "grade" | "factuality" | "model-graded-closedqa" | "cost" | "levenshtein":
            raise refused(place, f"a check {kind!r}, which is not supported")
    return None


LAYOUT = Layout(
    "promptfoo", "a promptfoo test table", _recognises, always(_read),
    "checks such as `contains: text` or `latency(500)` in `__expected`", "scored by by_sample",
)  # fmt: skip
