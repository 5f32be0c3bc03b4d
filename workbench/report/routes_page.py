"""The page of who really answers, how well and how fast."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

import workbench.display.text as people
from workbench.display.columns import column, columns
from workbench.evaluation.attention import KINDS, constancy
from workbench.ledger.route_rows import RouteOutcome, RouteServed
from workbench.report import time_charts
from workbench.report.build import PageContext, result
from workbench.report.chart_parts import on_clock, said_by_clock
from workbench.report.drawing import Chart, drawn
from workbench.report.tables import Result, Table
from workbench.routes.days import RECENT_DAYS, RecentDays, State, Strip
from workbench.routes.facts import RouteFacts, fact_text
from workbench.routes.names import Episode
from workbench.routes.overview import AccountRoutes, overview
from workbench.settings.endpoint import LOCAL
from workbench.wording.routes import (
    attention_text,
    days_text,
    earlier_text,
    identity_text,
    routes_verdict,
    strip_day_text,
    strip_text,
    unconfirmed_text,
    worst_text,
)

_MOST_CARD_CHARTS = 12
"""The others have the same numbers without a drawing, which takes most of a page of many routes."""
_MOST_POINTS = 24
"""Of a route's small bars."""
_MOST_SPANS = 42
"""In a route's table and its drawing: of years of days the newest."""
_MOST_OPEN = 8
"""Lines of a list; the others are folded."""


class DrawnDay(msgspec.Struct, frozen=True):
    """A day's mark in a strip."""

    x: int
    """Where it stands, in the drawing's units."""
    state: State
    says: str


class DrawnStrip(msgspec.Struct, frozen=True):
    """A route's strip of days as it is drawn."""

    model: str
    days: list[DrawnDay]
    says: str
    """The same in words, for those who do not see it."""


class Card(msgspec.Struct, frozen=True):
    """One route."""

    row: dict[str, Any]
    colour: str
    outcomes: list[RouteOutcome]
    served: list[RouteServed]
    probed_at: datetime | None
    probed: str
    """What its probes found, in words."""
    course: Table | None
    """Its health by day or hour; None of a single one."""
    chart: Chart | None
    """The same, drawn."""


def routes_page(asked: PageContext) -> Callable[[], dict[str, Any]]:
    """Ask what the page shows; returns what computes its content."""
    reader, period = asked.reader, asked.period
    found = overview(reader, asked.zone, period)
    outcomes = result(reader, RouteOutcome)
    return lambda: _content(found, outcomes, asked) | {"simulated": period.simulated}


def _content(found: AccountRoutes, outcomes: Result[RouteOutcome], asked: PageContext) -> dict[str, Any]:
    there = asked.there()
    cards, recent = _cards(found, outcomes, asked), found.recent
    return {
        "verdict": routes_verdict(found),
        "recent": recent,
        "attention": {
            kind: items
            for kind in KINDS
            if (items := [(one, attention_text(one)) for one in found.attention if one.kind == kind])
        },
        "earlier": [(one, earlier_text(one), one.run_ids if isinstance(one, Episode) else ()) for one in found.earlier],
        "strips": [] if recent is None else [_drawn_strip(strip, recent) for strip in found.strips],
        "strip_width": _width(found.strips),
        "answered": found.answered,
        "identities": [(one.model, identity_text(one, asked.zone)) for one in found.identities],
        "days_text": days_text,
        "most_open": _MOST_OPEN,
        "most_spans": _MOST_SPANS,
        "recent_days": RECENT_DAYS,
        "table": _routes_table(found, asked),
        "cards": cards,
        "routes": Result("routes", {}, [one.as_row() for one in found.routes]),
        "outcomes": outcomes,
        "matrix": _matrix_table(Result("route_matrix", {}, found.matrix)),
        "episodes": found.episodes,
        "there": there,
        "changes": _timeline(found),
        "when": partial(_when, span=found.span, zone=asked.zone),
        "worst": [(one, worst_text(one)) for one in found.worst],
        "span": found.span,
        "late": found.late,
        "unconfirmed": [
            unconfirmed_text(row.requested_model, str(row.served_model), constancy(row, found.matrix), asked.ledger)
            for row in found.unconfirmed
        ],
        "ledger": asked.ledger,
        "probe": asked.command("probe", *(["--local"] if asked.period.endpoint == LOCAL else [])),
        "charts": [card.chart for card in cards if card.chart is not None],
        "newest_probe": found.probed.probes[-1].started_at if found.probed.probes else None,
    }


def _routes_table(found: AccountRoutes, asked: PageContext) -> Table:
    when = partial(_when, span=found.span, zone=asked.zone)
    course: dict[str, list[tuple[datetime, float]]] = {}
    for span in found.course:
        if span.p50_ms is not None:
            course.setdefault(span.model, []).append((span.from_at, span.p50_ms))
    rows = [
        one.as_row() | {"course": _bars(course.get(one.model, []), asked.colours.of(one.model), when)}
        for one in found.routes
    ]
    probed = ("tools", "cap") if found.probed.probes else ()  # of no route there is nothing else to say
    return Table(
        "routes", Result("routes", {}, rows), ("model",),
        columns(
            column("model", "route", "card"), "usual_name", "substituted_share", "accepted_share", "calls", "p50_ms", "p90_ms",
            column("course", f"median by {found.span}", "bars", "Latency; the newest to the right"), "usage_share", *probed,
            column("last_at", "last call"),
        ),
    )  # fmt: skip


_DAY, _GAP = 8, 4
"""The width of a day in a strip, and of the gap before the recent ones, in the drawing's units."""


def _drawn_strip(strip: Strip, recent: RecentDays) -> DrawnStrip:
    days = [
        DrawnDay(_DAY * place + (_GAP if one.day >= recent.first_day else 0), one.state, strip_day_text(one))
        for place, one in enumerate(strip.days)
    ]
    return DrawnStrip(strip.model, days, strip_text(strip))


def _width(strips: Sequence[Strip]) -> int:
    return _DAY * max((len(strip.days) for strip in strips), default=0) + _GAP


def _when(from_at: datetime, span: str, zone: str) -> str:
    """Return a stretch's beginning, of which the heading says the zone."""
    by_clock = said_by_clock(from_at, zone)
    return by_clock.partition(" ")[0] if span == "day" else by_clock


def _bars(
    medians_ms: list[tuple[datetime, float]], colour: str, when: Callable[[datetime], str]
) -> list[dict[str, Any]]:
    newest = medians_ms[-_MOST_POINTS:]
    most = max((p50_ms for _, p50_ms in newest), default=0) or 1
    return [
        {"mean": p50_ms / most, "colour": colour, "label": f"{when(from_at)}: {people.milliseconds(p50_ms)}"}
        for from_at, p50_ms in newest
    ]


def _cards(found: AccountRoutes, outcomes: Result[RouteOutcome], asked: PageContext) -> list[Card]:
    """Return a card a route, in the order of the table."""
    cards = []
    for number, one in enumerate(found.routes):
        model = one.model
        known = found.probed.known.get(model)
        course, colour = _course(number, model, found, asked.zone), asked.colours.of(model)
        cards.append(
            Card(
                one.as_row(),
                colour,
                [line for line in outcomes.rows if line.model == model],
                [line for line in found.matrix if line.requested_model == model],
                None if known is None else known.probed_at,
                "" if known is None else _probed(known.facts),
                course,
                None
                if course is None or number >= _MOST_CARD_CHARTS
                else _card_chart(course, found.span, colour, asked.zone),
            )
        )
    return cards


_PROBED = {
    "answers": "answers", "tools": "forced tool call", "thinks": "reasoning", "reports_usage": "usage", "keeps_cap": "max_tokens",
}  # fmt: skip
"""What a card says of what probes found."""


def _probed(facts: RouteFacts) -> str:
    found = {what: fact_text(name, facts) for name, what in _PROBED.items()}
    return ", ".join(f"{what}: {how}" for what, how in found.items() if how != "–")


def _course(number: int, model: str, found: AccountRoutes, zone: str) -> Table | None:
    rows = [
        msgspec.structs.asdict(one) | {"when": _when(one.from_at, found.span, zone)}
        for one in found.course
        if one.model == model
    ][-_MOST_SPANS:]
    if len(rows) < 2:
        return None
    return Table(
        f"course{number}", Result("route_course", {"span": found.span, "zone": zone}, rows), ("model", "from_at"),
        columns(
            column("when", f"{found.span} ({zone})", "period"), "calls", "not_accepted", "fallbacks", "calls_without_usage",
            "p50_ms", "p90_ms",
        ),
    )  # fmt: skip


def _card_chart(course: Table, span: str, colour: str, zone: str) -> Chart | None:
    names = ("median", "90 % within")
    points: list[dict[str, Any]] = [
        {
            "series": name,
            "at": on_clock(row["from_at"], zone),
            "when": row["when"],
            "seconds": row[column] / 1000,
        }
        for row in course.result.rows
        if row["p50_ms"] is not None
        for name, column in zip(names, ("p50_ms", "p90_ms"), strict=True)
    ]
    if len(points) < 2 * len(names):
        return None
    lines = time_charts.two_lines(colour, names)
    drawing = time_charts.lines_over_time(points, "seconds", "seconds", lines, height=110, zone=zone)
    return drawn(course.name, f"Latency by {span}", drawing, course)


def _matrix_table(matrix: Result[RouteServed]) -> Table:
    return Table(
        "route_matrix", matrix, ("requested_model", "served_model", "identity"),
        columns("requested_model", "served_model", "answers", "first_at", "last_at"),
    )  # fmt: skip


def _timeline(found: AccountRoutes) -> list[dict[str, Any]]:
    """Return what changed, the newest first: names that came, and what probes found otherwise than before."""
    names = [
        {"at": one.at, "model": one.model, "what": "answers as", "before": one.before, "after": one.served_model,
         "source": f"{people.plural(one.answers, 'answer')}"}
        for one in found.names
    ]  # fmt: skip
    probes = [
        {
            "at": one.since,
            "model": one.model,
            "what": one.what,
            "before": one.before,
            "after": one.after,
            "source": "probe",
        }
        for one in found.probed.changes
    ]
    return sorted(names + probes, key=lambda one: one["at"], reverse=True)
