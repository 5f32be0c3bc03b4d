"""Everything that is known of an account's routes, for the page, the terminal and frames alike."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Literal

import msgspec

import workbench.display.text as people
from workbench.evaluation.attention import (
    NEWEST_CALLS,
    Attention,
    day_of,
    routes_that_need_attention,
    unconfirmed,
)
from workbench.ledger.queries import Reader
from workbench.ledger.route_rows import (
    RouteDay,
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
from workbench.routes.answered import MOST_RUNS, AnsweredMatrix, answered_matrix
from workbench.routes.days import Outage, RecentDays, Strip, outages, recent_days, strips
from workbench.routes.facts import RouteFacts, fact_text
from workbench.routes.health import Worst, worst_times
from workbench.routes.identity import RouteIdentity, identities
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


def late_answers(reader: Reader, totals: Sequence[RouteTotals]) -> list[LateAnswers]:
    """Return every route with such answers."""
    answers = {row.model: row.answers for row in totals}
    rows = reader.all(
        RouteRetries, medians_ms={row.model: row.p50_ms for row in totals if row.p50_ms is not None}, tries=GATEWAY_ATTEMPTS,
        margin_s=TIMEOUT_MARGIN_S, least_failures=_LEAST_FAILURES, times=_TIMES,
    )  # fmt: skip
    return [LateAnswers(row.model, answers[row.model], row.beyond_limit, row.near_failures, row) for row in rows]


State = Literal["dead", "substituted", "to look at", "fine", "not asked"]
STATES: tuple[State, ...] = ("dead", "substituted", "to look at", "fine")
"""Of routes that were asked in the recent days, the worst first."""


class AccountRoute(msgspec.Struct, frozen=True):
    """A route: what its calls came to, who answers, what probes know, and how it is now."""

    totals: RouteTotals
    usual_name: str | None
    usual_identity: str | None
    tools: str | None
    """In words, as the next two; None: not known."""
    cap: str | None
    thinks: str | None
    attention: list[Attention]
    state: State
    """In the recent days; `dead`: the newest calls all failed."""
    last_day: date
    """Of its newest call, cancelled ones aside where there are others."""

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
    recent: RecentDays | None
    """What counts as now; None: nothing is recorded."""
    strips: list[Strip]
    """In the order of the routes."""
    matrix: list[RouteServed]
    answered: AnsweredMatrix
    course: list[RouteSpan]
    span: str
    """Of `course`: day, hour or minute."""
    attention: list[Attention]
    """In the recent days."""
    earlier: list[Episode | Outage]
    """What is over: before the recent days, or followed by days on which the route answered; the newest first."""
    episodes: list[Episode]
    """When another model answered, now or earlier."""
    names: list[NewName]
    late: list[LateAnswers]
    worst: list[Worst]
    probed: Probed
    identities: list[RouteIdentity]
    unconfirmed: list[RouteServed]
    """Of `matrix`: names that are not confirmed."""


def overview(reader: Reader, zone: str, period: LedgerPeriod) -> AccountRoutes:
    """Ask the ledger for all of it.

    Args:
        reader: Of the ledger.
        zone: Whose days these are.
        period: What the ledger covers.
    """
    span, known = span_of(period), probed(reader)
    totals, matrix = reader.all(RouteTotals), reader.all(RouteServed)
    course, names = reader.all(RouteSpan, span=span, zone=zone), reader.all(RouteName)
    substitutes = reader.all(RouteSubstitute, zone=zone, most_runs=MOST_RUNS)
    named, answered_by = new_names(names), episodes(substitutes)
    recent, lately, attention, days = (
        recent_days(period, zone),
        list[RouteRecent](),
        list[Attention](),
        list[RouteDay](),
    )
    if recent is not None:
        lately = reader.all(RouteRecent, since=recent.since, newest=NEWEST_CALLS)
        attention = _attention(lately, substitutes, named, recent, zone)
        days = reader.all(RouteDay, zone=zone, first_day=recent.shown_from)
    shown = _routes(totals, lately, attention, names, known, zone)
    models = [route.model for route in shown]
    return AccountRoutes(
        routes=shown,
        recent=recent,
        strips=[] if recent is None else strips(models, days, substitutes, recent),
        matrix=matrix,
        answered=answered_matrix(models, matrix, substitutes),
        course=course,
        span=span,
        attention=attention,
        earlier=[] if recent is None else _earlier(answered_by, outages(days), recent),
        episodes=answered_by,
        names=named,
        late=late_answers(reader, totals),
        worst=worst_times(course),
        probed=known,
        identities=identities(models, matrix, known.known),
        unconfirmed=unconfirmed(matrix),
    )


def _attention(
    lately: Sequence[RouteRecent],
    substitutes: Sequence[RouteSubstitute],
    named: Sequence[NewName],
    recent: RecentDays,
    zone: str,
) -> list[Attention]:
    """Return what needs attention in the recent days; a name that is new, where the route gave it then."""
    return [
        *routes_that_need_attention(lately, [row for row in substitutes if row.day >= recent.first_day], zone),
        *(
            Attention(
                name.model, "new name", name.answers, name.answers, day_of(name.at, zone), day_of(name.last_at, zone),
                name.served_model,
            )
            for name in named
            if name.is_newest and name.last_at >= recent.since
        ),
    ]  # fmt: skip


def _earlier(answered_by: Sequence[Episode], dead: Sequence[Outage], recent: RecentDays) -> list[Episode | Outage]:
    """Return what is over, the newest first."""
    over: list[Episode | Outage] = [one for one in answered_by if one.last_day < recent.first_day]
    over += [one for one in dead if one.accepted_again is not None or one.last_day < recent.first_day]
    return sorted(over, key=lambda one: one.last_day, reverse=True)


def _routes(
    totals: Sequence[RouteTotals],
    lately: Sequence[RouteRecent],
    attention: Sequence[Attention],
    names: list[RouteName],
    known: Probed,
    zone: str,
) -> list[AccountRoute]:
    """Return every route, those that need attention first."""
    newest = {row.model: row for row in lately}
    looked: dict[str, list[Attention]] = {}
    for item in attention:
        looked.setdefault(item.model, []).append(item)
    shown = [
        _known(
            route,
            names,
            known.known[route.model].facts if route.model in known.known else RouteFacts(),
            looked.get(route.model, []),
            newest.get(route.model),
            zone,
        )
        for route in totals
    ]
    return sorted(shown, key=lambda one: (not one.attention, one.model))


def span_of(period: LedgerPeriod) -> str:
    """Minutes, hours or days: whichever shows a course in the period."""
    if period.first_at is None or period.last_at is None:
        return "day"
    length = period.last_at - period.first_at
    return "minute" if length < timedelta(hours=3) else "hour" if length < timedelta(days=4) else "day"


def _known(
    route: RouteTotals,
    names: list[RouteName],
    facts: RouteFacts,
    attention: list[Attention],
    newest: RouteRecent | None,
    zone: str,
) -> AccountRoute:
    usual = usual_name(names, route.model)
    return AccountRoute(
        route,
        None if usual is None else usual.served_model,
        None if usual is None else usual.identity,
        _tools(route, facts),
        None if facts.keeps_cap is None else fact_text("keeps_cap", facts),
        _thinks(route) if facts.thinks is None else fact_text("thinks", facts),
        attention,
        _state(attention) if newest is not None and newest.newest_calls else "not asked",
        day_of(route.last_at if newest is None else newest.last_at, zone),
    )


def _state(attention: Sequence[Attention]) -> State:
    """Return how a route is that was asked in the recent days."""
    kinds = {item.kind: item for item in attention}
    failing = kinds.get("failing")
    if failing is not None and failing.part == failing.whole:
        return "dead"
    if "fallback" in kinds or "suspected" in kinds:
        return "substituted"
    return "to look at" if kinds else "fine"


def _tools(route: RouteTotals, facts: RouteFacts) -> str | None:
    """Return what a forced tool choice gives, by the probes, else by the calls so far."""
    if facts.tools is not None:
        return facts.tools
    if not route.tools_forced:
        return None
    return f"called {route.forced_and_called} of {route.tools_forced} times"


def _thinks(route: RouteTotals) -> str | None:
    return None if route.thinking_share is None else f"{people.percent(route.thinking_share)} of its tokens"
