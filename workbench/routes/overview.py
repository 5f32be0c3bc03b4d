"""Everything that is known of an account's routes, for the page, the terminal and frames alike."""

from datetime import timedelta
from typing import Any

import msgspec

import workbench.display as people
from workbench.evaluation.attention import (
    NEWEST_CALLS,
    Attention,
    routes_that_need_attention,
    unconfirmed,
)
from workbench.ledger.queries import Reader, Row
from workbench.routes.facts import RouteFacts, said
from workbench.routes.health import Worst, worst_times
from workbench.routes.names import Episode, NewName, episodes, new_names, usual_name
from workbench.routes.probes import Probed, probed
from workbench.routes.retries import LateAnswers, late_answers

_MOST_RUNS = 3


ADDED_COLUMNS = ("usual_name", "usual_identity", "tools", "cap", "thinks", "attention")
"""What a route's row has besides the columns of the query `routes`."""


class AccountRoutes(msgspec.Struct, frozen=True):
    """The routes of a ledger."""

    routes: list[Row]
    """A row a route: that of `routes`, with who answers, what probes know, and why it needs attention."""
    matrix: list[Row]
    course: list[Row]
    span: str
    """Of `course`: day, hour or minute."""
    attention: list[Attention]
    episodes: list[Episode]
    """When another model answered."""
    names: list[NewName]
    late: list[LateAnswers]
    worst: list[Worst]
    probed: Probed
    unconfirmed: list[Row]
    """Of `matrix`: names that are not confirmed."""


def overview(reader: Reader, zone: str, period: Row) -> AccountRoutes:
    """Ask the ledger for all of it.

    Args:
        reader: Of the ledger.
        zone: Whose days.
        period: The row of `ledger_period`.
    """
    span = span_of(period)
    routes, matrix = reader.rows("routes"), reader.rows("route_matrix")
    course, names = reader.rows("route_course", span=span), reader.rows("route_names")
    substitutes = reader.rows("route_substitutes", zone=zone, most_runs=_MOST_RUNS)
    named, known = new_names(names), probed(reader)
    attention = [
        *routes_that_need_attention(routes, reader.rows("route_recent", newest=NEWEST_CALLS), matrix),
        *(
            Attention(name.model, "new name", name.answers, name.answers, name.served_model)
            for name in named
            if name.is_newest
        ),
    ]
    looked: dict[str, list[Attention]] = {}
    for item in attention:
        looked.setdefault(item.model, []).append(item)
    shown = [
        _row(row, names, known.known[row["model"]].facts if row["model"] in known.known else RouteFacts())
        | {"attention": looked.get(row["model"], [])}
        for row in routes
    ]
    shown.sort(key=lambda row: (not row["attention"], row["model"]))
    return AccountRoutes(
        shown, matrix, course, span, attention, episodes(substitutes), named, late_answers(reader),
        worst_times(course), known, unconfirmed(matrix),
    )  # fmt: skip


def span_of(period: Row) -> str:
    """Minutes, hours or days: whichever shows a course in the period."""
    if period["first_at"] is None:
        return "day"
    length = period["last_at"] - period["first_at"]
    return "minute" if length < timedelta(hours=3) else "hour" if length < timedelta(days=4) else "day"


def _row(route: Row, names: list[Row], facts: RouteFacts) -> dict[str, Any]:
    """One route as the table has it; shares are None where there is nothing to share."""
    usual = usual_name(names, route["model"])
    return route | {
        "usual_name": None if usual is None else usual["served_model"],
        "usual_identity": None if usual is None else usual["identity"],
        "tools": _tools(route, facts),
        "cap": said("keeps_cap", facts),
        "thinks": said("thinks", facts) if facts.thinks is not None else _thinks(route),
    }


def _tools(route: Row, facts: RouteFacts) -> str:
    """What a forced tool choice gives, by the probes, else by the calls so far."""
    if facts.tools is not None:
        return facts.tools
    if not route["tools_forced"]:
        return "–"
    return f"called {route['forced_and_called']} of {route['tools_forced']} times"


def _thinks(route: Row) -> str:
    return "–" if route["thinking_share"] is None else f"{people.percent(route['thinking_share'])} of its tokens"


def state_of(routes: list[Row]) -> dict[str, int]:
    """How many routes are dead (the newest calls all failed), substituted, otherwise to look at, and fine."""
    found = {"dead": 0, "substituted": 0, "to look at": 0, "fine": 0}
    for row in routes:
        kinds = {item.kind: item for item in row["attention"]}
        failing = kinds.get("failing")
        if failing is not None and failing.part == failing.whole:
            found["dead"] += 1
        elif "fallback" in kinds:
            found["substituted"] += 1
        else:
            found["to look at" if kinds else "fine"] += 1
    return found
