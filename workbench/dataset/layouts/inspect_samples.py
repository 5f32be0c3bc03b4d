"""Samples of Inspect, whose options may be one text with commas."""

from typing import Any

import msgspec

from workbench.dataset.layouts.layout import Layout, Row, always, refused, without

_NEEDS_SANDBOX = ("sandbox", "files", "setup")
_OUR_NAMES = ("input", "target", "choices", "id", "tools")


def _recognises(row: Row) -> bool:
    if "input" not in row or "target" not in row:
        return False
    has_commas = (
        isinstance(row.get("choices"), str) and "," in row["choices"] and not row["choices"].lstrip().startswith("[")
    )
    return has_commas or isinstance(row.get("metadata"), dict) or "sandbox" in row


def _read(place: str, row: Row) -> Row:
    needed = [name for name in _NEEDS_SANDBOX if row.get(name)]
    if needed:
        raise refused(f"{place}: {needed[0]}", "an Inspect sample that runs in a sandbox: nothing is executed here")
    choices: Any = row.get("choices")
    if isinstance(choices, str):
        choices = _listed(choices)
    more = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
    # what metadata says under a name of ours is about the sample, and never a part of it
    return without(more, *_OUR_NAMES) | without(row, *_NEEDS_SANDBOX, "metadata") | {"choices": choices}


def _listed(choices: str) -> list[Any]:
    try:
        found = msgspec.json.decode(choices)
    except msgspec.DecodeError:
        found = None
    return found if isinstance(found, list) else [part.strip() for part in choices.split(",") if part.strip()]


LAYOUT = Layout(
    "inspect", "Inspect samples", _recognises, always(_read), "`input`, `target` and perhaps `choices` and `metadata`"
)
