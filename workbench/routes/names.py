"""Who answered instead of whom, and since when a route answers under a new name."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

import msgspec

from workbench.evaluation.attention import ANOTHER
from workbench.ledger.route_rows import RouteName, RouteSubstitute
from workbench.routes.answered import MOST_RUNS

_LEAST_BEFORE = 10
"""Answers under other names; several names from the start on are servers that share the work."""
NOT_CONFIRMED = "not the confirmed name"


class Episode(msgspec.Struct, frozen=True):
    """Days in a row on which another model answered."""

    model: str
    """That was asked."""
    served_model: str
    evidence: str
    answers: int
    first_at: datetime
    last_at: datetime
    first_day: date
    last_day: date
    run_ids: tuple[str, ...]
    """The newest runs that got them, the newest first."""


class NewName(msgspec.Struct, frozen=True):
    """A name under which a route answers that it did not answer under before."""

    model: str
    before: str
    served_model: str
    at: datetime
    last_at: datetime
    answers: int
    is_newest: bool
    """Whether the route's newest answer of its own carries it."""


def episodes(rows: Sequence[RouteSubstitute]) -> list[Episode]:
    """Join days that follow each other; the newest first.

    Args:
        rows: By model, served model and day.
    """
    found: list[Episode] = []
    last: Episode | None = None
    for row in rows:
        one = Episode(
            row.model, row.served_model, row.evidence, row.answers, row.first_at, row.last_at, row.day, row.day,
            tuple(row.run_ids),
        )  # fmt: skip
        if last is not None and _goes_on(last, one):
            before = found.pop()
            runs = tuple(dict.fromkeys((*one.run_ids, *before.run_ids)))[:MOST_RUNS]
            one = msgspec.structs.replace(
                one,
                answers=before.answers + one.answers,
                first_at=before.first_at,
                first_day=before.first_day,
                run_ids=runs,
            )
        found.append(one)
        last = one
    return sorted(found, key=lambda episode: episode.last_at, reverse=True)


def _goes_on(last: Episode, one: Episode) -> bool:
    same = (last.model, last.served_model) == (one.model, one.served_model)
    return same and one.last_day - last.last_day <= timedelta(days=1)


def new_names(rows: Sequence[RouteName]) -> list[NewName]:
    """Return names of no listed model that came after another one, the newest first: each is reported once.

    Args:
        rows: The names of all routes.
    """
    found = []
    usual: dict[str, str] = {}
    newest: dict[str, datetime] = {}
    own = [row for row in rows if row.identity != "fallback" or row.evidence == NOT_CONFIRMED]
    for row in own:
        newest[row.model] = max(row.last_at, newest.get(row.model, row.last_at))
    for row in own:
        unlisted = row.identity in ("unknown", "suspected") or row.evidence == NOT_CONFIRMED
        before = usual.get(row.model)
        if before is not None and unlisted and row.answers_before >= _LEAST_BEFORE:
            found.append(
                NewName(
                    row.model,
                    before,
                    row.served_model,
                    row.first_at,
                    row.last_at,
                    row.answers,
                    row.last_at == newest[row.model],
                )
            )
        if before is None or unlisted:
            usual[row.model] = row.served_model
    return sorted(found, key=lambda name: name.at, reverse=True)


def usual_name(rows: Sequence[RouteName], model: str) -> RouteName | None:
    """Return the row of the name under which a route itself answers most, fallbacks aside; None where there is none.

    Args:
        rows: The names of all routes.
    """
    own = [row for row in rows if row.model == model and row.identity not in ANOTHER]
    return max(own, key=lambda row: row.answers, default=None)
