"""The model list as it comes over the wire."""

from collections.abc import Callable
from typing import Any

import msgspec

from workbench.records import Model


def models_from(value: Any, redact: Callable[[str], str] = str) -> list[Model] | None:
    """Read a decoded model list; None if it is not one.

    Args:
        redact: Applied to every text that is kept.
    """
    entries = value.get("data") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        return None
    return [
        Model(
            id=redact(entry["id"]),
            owned_by=redact(owned_by) if (owned_by := _string(entry.get("owned_by"))) else None,
            preset=entry.get("preset") is True,
            raw=redact(msgspec.json.encode(entry).decode()),
        )
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    ]


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None
