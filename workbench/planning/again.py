"""Answers that are asked once more although they were accepted: those cut off by their limit, and those of invalid samples."""

from typing import Any, Literal, get_args

import msgspec

from workbench.planning.models import max_tokens_of

CUT_OFF, INVALIDATED = "truncated", "invalidated"
Kind = Literal["truncated", "invalidated"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Again(msgspec.Struct, frozen=True):
    """Which answers do not count as answered."""

    max_tokens: int | None = None
    """Answers that were cut off are asked again with this cap; None leaves them."""
    sample_keys: frozenset[str] = frozenset()
    """Samples that are asked again as they are."""


def raised(fields: dict[str, Any], max_tokens: int) -> dict[str, Any] | None:
    """Body fields with a higher cap, under the name that they have; None where theirs is as high, or they have none."""
    cap = max_tokens_of(fields)
    if cap is None or cap >= max_tokens:
        return None
    names = [name for name in ("max_tokens", "max_completion_tokens") if isinstance(fields.get(name), int)]
    return fields | dict.fromkeys(names, max_tokens)
