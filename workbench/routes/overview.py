"""Everything that is known of an account's routes, for the page, the terminal and frames alike."""

from datetime import timedelta
from typing import Any

import msgspec

import workbench.display.text as people
from workbench.evaluation.attention import (
    NEWEST_CALLS,
    Attention,
    routes_that_need_attention,
    unconfirmed,
)
from workbench.ledger.queries import Reader
from workbench.ledger.route_rows import (
    RouteName,
    RouteRecent,
    RouteRetries,
    RouteServed,
    RouteSpan,
    RouteSubstitute,
    RouteTotals,
)
from workbench.ledger.usage_rows import LedgerPeriod
from workbench.planning.models import GATEWAY_ATTEMPTS, TIMEOUT_MARGIN_S
from workbench.routes.facts import RouteFacts, fact_text
from workbench.routes.health import Worst, worst_times
from workbench.routes.names import Episode, NewName, episodes, new_names, usual_name
from workbench.routes.probes import Probed, probed

_LEAST_FAILURES = 5
_TIMES = 3.0
"""A failed try this many times as long as an answer stands apart from it."""


class LateAnswers(msgspec.Struct, frozen=True):
    """Answers that came so late that the gateway may have tried before, unseen: a share with its evidence, never a fact."""

    model: str
    answers: int
    beyond_limit: int
    """Later than one try may last."""
    near_failures: int
    """As late as one or two tries that failed fast, and an answer."""
    row: RouteRetries
    """The evidence."""


def late_answers(reader: Reader) -> list[LateAnswers]:
    """Return every route with such answers."""
    rows = reader.all(
        RouteRetries, tries=GATEWAY_ATTEMPTS, margin_s=TIMEOUT_MARGIN_S, least_failures=_LEAST_FAILURES, times=_TIMES
    )
    return [LateAnswers(row.model, row.answers, row.beyond_limit, row.near_failures, row) for row in rows]


_MOST_RUNS = 3


class AccountRoute(msgspec.Struct, frozen=True):
    """A route: what its calls came to, who answers, what probes know, and why it needs attention."""

    totals: RouteTotals
    usual_name: str | None
    usual_identity: str | None
    tools: str
    cap: str
    thinks: str
    attention: list[Attention]

    @property
    def model(self) -> str:
        """That is asked."""
        return self.totals.model

    @classmethod
    def columns(cls) -> list[str]:
        """Return the keys of a row."""
        return [*RouteTotals.__struct_fields__, *cls.__struct_fields__[1:]]

    def as_row(self) -> dict[str, Any]:
        """Return all of it as one row."""
        return msgspec.structs.asdict(self.totals) | {
            name: getattr(self, name) for name in self.__struct_fields__ if name != "totals"
        }


class AccountRoutes(msgspec.Struct, frozen=True):
    """The routes of a ledger."""

    routes: list[AccountRoute]
    """Those that need attention first."""
    matrix: list[RouteServed]
    course: list[RouteSpan]
    span: str
    """Of `course`: day, hour or minute."""
    attention: list[Attention]
    episodes: list[Episode]
    """When another model answered."""
    names: list[NewName]
    late: list[LateAnswers]
    worst: list[Worst]
    probed: Probed
    unconfirmed: list[RouteServed]
    """Of `matrix`: names that are not confirmed."""


def overview(reader: Reader, zone: str, period: LedgerPeriod) -> AccountRoutes:
    """Ask the ledger for all of it.

    Args:
        reader: Of the ledger.
        period: What the ledger covers.
    """
    span = span_of(period)
    routes, matrix = reader.all(RouteTotals), reader.all(RouteServed)
    course, names = reader.all(RouteSpan, span=span), reader.all(RouteName)
    substitutes = reader.all(RouteSubstitute, zone=zone, most_runs=_MOST_RUNS)
    named, known = new_names(names), probed(reader)
    attention = [
        *routes_that_need_attention(routes, reader.all(RouteRecent, newest=NEWEST_CALLS), matrix),
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
        _known(
            route,
            names,
            known.known[route.model].facts if route.model in known.known else RouteFacts(),
            looked.get(route.model, []),
        )
        for route in routes
    ]
    shown.sort(key=lambda one: (not one.attention, one.model))
    return AccountRoutes(
        shown, matrix, course, span, attention, episodes(substitutes), named, late_answers(reader),
        worst_times(course), known, unconfirmed(matrix),
    )  # fmt: skip


def span_of(period: LedgerPeriod) -> str:
    """Minutes, hours or days: whichever shows a course in the period."""
    if period.first_at is None or period.last_at is None:
        return "day"
    length = period.last_at - period.first_at
    return "minute" if length < timedelta(hours=3) else "hour" if length < timedelta(days=4) else "day"


def _known(route: RouteTotals, names: list[RouteName], facts: RouteFacts, attention: list[Attention]) -> AccountRoute:
    usual = usual_name(names, route.model)
    return AccountRoute(
        route,
        None if usual is None else usual.served_model,
        None if usual is None else usual.identity,
        _tools(route, facts),
        fact_text("keeps_cap", facts),
        fact_text("thinks", facts) if facts.thinks is not None else _thinks(route),
        attention,
    )


def _tools(route: RouteTotals, facts: RouteFacts) -> str:
    """Return what a forced tool choice gives, by the probes, else by the calls so far."""
    if facts.tools is not None:
        return facts.tools
    if not route.tools_forced:
        return "–"
    return f"called {route.forced_and_called} of {route.tools_forced} times"


def _thinks(route: RouteTotals) -> str:
    return "–" if route.thinking_share is None else f"{people.percent(route.thinking_share)} of its tokens"


def state_of(routes: list[AccountRoute]) -> dict[str, int]:
    """Return how many routes are dead (the newest calls all failed), substituted, otherwise to look at, and fine."""
    found = {"dead": 0, "substituted": 0, "to look at": 0, "fine": 0}
    for route in routes:
        kinds = {item.kind: item for item in route.attention}
        failing = kinds.get("failing")
        if failing is not None and failing.part == failing.whole:
            found["dead"] += 1
        elif "fallback" in kinds or "suspected" in kinds:
            found["substituted"] += 1
        else:
            found["to look at" if kinds else "fine"] += 1
    return found
