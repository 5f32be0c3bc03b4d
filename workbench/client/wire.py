"""The model list, and a statement of usage, as they come over the wire."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import msgspec

from workbench.records.calls import Model, UsageStatement


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


Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class _StatedWindow(msgspec.Struct):
    ends_at: Moment


class _Statement(msgspec.Struct):
    as_of: Moment
    unit: str
    since: Moment
    units_since: float
    estimated_units_since: float
    allowance_units: float | None
    window: _StatedWindow


def statement_from(value: Any) -> UsageStatement:
    """Read a decoded statement of usage.

    Raises:
        msgspec.ValidationError: It is not one.
    """
    said = msgspec.convert(value, _Statement)
    return UsageStatement(
        said.as_of,
        said.unit,
        said.since,
        said.units_since,
        said.estimated_units_since,
        said.allowance_units,
        said.window.ends_at,
    )


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None
