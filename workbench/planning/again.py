"""Answers that are asked once more although they stand: cut off, empty, refused, unreadable, by another model, or of invalid
samples.
"""

from typing import Any, Literal, get_args

import msgspec

from workbench.ledger.queries import Reader
from workbench.ledger.rows import HigherCap
from workbench.planning.models import max_tokens_of
from workbench.records.outcomes import EFFECTS, Outcome

CUT_OFF, INVALIDATED = "truncated", "invalidated"
Kind = Literal["truncated", "invalidated", "fallback", "refused", "empty", "unreadable"]
KINDS: tuple[Kind, ...] = get_args(Kind)
OF_A_JUDGE: tuple[Kind, ...] = ("fallback", "refused", "empty", "unreadable")
"""Those that a judge's answers can be asked again for."""

_UNREADABLE = frozenset(
    name for name, it in EFFECTS.items() if not (it.accepted or it.rerun or it.ends) and it.drew == "yes"
)
"""How an answer ended that was paid for and stands, though nothing could be read in it and the model did nothing wrong."""


class ReaskPlan(msgspec.Struct, frozen=True):
    """Which answers do not count as answered."""

    max_tokens: int | None = None
    """Answers that were cut off are asked again with this cap; None leaves them."""
    earlier_caps: tuple[int, ...] = ()
    """Those with which answers that were cut off were asked again before, the highest first: what was answered then counts."""
    sample_keys: frozenset[str] = frozenset()
    """Samples that are asked again as they are."""
    ends: frozenset[str] = frozenset()
    """Answers that are asked again for why there is nothing to score in them, as `[unscored]` names it."""
    outcomes: frozenset[str] = frozenset()
    """Answers that are asked again for how they ended."""
    by_another: bool = False
    """Whether answers of another model are asked again."""


def kind_of(outcome: str, *, by_another: bool) -> Kind | None:
    """Return which kind an answer is in which a judge says nothing; None: one that is asked again under no name."""
    ends = EFFECTS[Outcome(outcome)].ends
    if ends in ("refused", "filtered"):
        return "refused"
    if ends == "empty":
        return "empty"
    if outcome in _UNREADABLE:
        return "unreadable"
    return "fallback" if by_another else None


def of_kind(kind: Kind | None, max_tokens: int | None, invalid: frozenset[str] = frozenset()) -> ReaskPlan:
    """Return the answers of one kind.

    Args:
        max_tokens: The higher cap for those that were cut off.
    """
    match kind:
        case "truncated":
            return ReaskPlan(max_tokens)
        case "invalidated":
            return ReaskPlan(sample_keys=invalid)
        case "fallback":
            return ReaskPlan(by_another=True)
        case "refused":
            return ReaskPlan(ends=frozenset({"refused", "filtered"}))
        case "empty":
            return ReaskPlan(ends=frozenset({"empty"}))
        case "unreadable":
            return ReaskPlan(outcomes=_UNREADABLE)
        case None:
            return ReaskPlan()


def with_earlier_caps(reader: Reader, job: str, again: ReaskPlan) -> ReaskPlan:
    """Return the same, where what was asked again with higher caps by earlier runs of a job counts.

    A row of a sheet has one answer, and one that was cut off is not put back in the place of what was paid for since.
    """
    return msgspec.structs.replace(again, earlier_caps=tuple(row.max_tokens for row in reader.all(HigherCap, job=job)))


def with_raised_limit(fields: dict[str, Any], max_tokens: int) -> dict[str, Any] | None:
    """Body fields with a higher cap, under the name that they have; None where theirs is as high, or they have none."""
    cap = max_tokens_of(fields)
    if cap is None or cap >= max_tokens:
        return None
    names = [name for name in ("max_tokens", "max_completion_tokens") if isinstance(fields.get(name), int)]
    return fields | dict.fromkeys(names, max_tokens)
