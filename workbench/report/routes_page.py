"""The page of who really answers, how well and how fast."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import msgspec

import workbench.display as people
from workbench.evaluation.attention import (
    KINDS,
    NEWEST_CALLS,
    Attention,
    fallbacks,
    routes_that_need_attention,
    unconfirmed,
)
from workbench.ledger.queries import Row
from workbench.report import charts, time_charts
from workbench.report.build import Asked, result
from workbench.report.drawing import Chart, Colours, drawn
from workbench.report.tables import Column, Result, Table

_NAMED = 3
_MOST_CARD_CHARTS = 40


class Card(msgspec.Struct, frozen=True):
    """One route."""

    row: Row
    colour: str
    attention: list[str]
    outcomes: list[Row]
    served: list[Row]
    chart: Chart | None


class Answers(msgspec.Struct, frozen=True):
    """What the page asks of the ledger."""

    routes: Result
    matrix: Result
    outcomes: Result
    recent: Result
    course: Result


def routes_page(asked: Asked) -> Callable[[], dict[str, Any]]:
    """Ask what the page shows; returns what computes its content."""
    reader, period = asked.reader, asked.period.rows[0]
    answers = Answers(
        result(reader, "routes"),
        result(reader, "route_matrix"),
        result(reader, "route_outcomes"),
        result(reader, "route_recent", newest=NEWEST_CALLS),
        result(reader, "route_course", span=_span(period)),
    )
    return lambda: _content(answers, asked.colours) | {"simulated": period["simulated"]}


def _content(answers: Answers, colours: Colours) -> dict[str, Any]:
    attention = routes_that_need_attention(answers.routes.rows, answers.recent.rows, answers.matrix.rows)
    return {
        "verdict": verdict(answers.routes.rows, answers.matrix.rows, attention),
        "attention": {
            kind: found for kind in KINDS if (found := [(item, told(item)) for item in attention if item.kind == kind])
        },
        "cards": _cards(answers, attention, colours),
        "routes": answers.routes,
        "outcomes": answers.outcomes,
        "matrix": _matrix_table(answers.matrix),
        "unconfirmed": unconfirmed(answers.matrix.rows),
        "charts": _charts(answers),
    }


def verdict(routes: Sequence[Row], matrix: Sequence[Row], attention: Sequence[Attention]) -> str:
    """Who answered, in a sentence or two."""
    if not routes:
        return "No calls yet."
    answers = sum(row["answers"] for row in matrix)
    said = f"{people.plural(len(routes), 'model')} asked, {people.plural(answers, 'answer')}"
    several = sum(row["answers"] for row in fallbacks(matrix))
    if several:
        said += f", {people.count(several)} of them by another model"
    looked = list(dict.fromkeys(item.model for item in attention))
    if not looked:
        return said + ". No route needs attention."
    more = f" and {people.plural(len(looked) - _NAMED, 'other')}" if len(looked) > _NAMED else ""
    return said + f". Needs attention: {people.words(looked[:_NAMED])}{more}."


def told(item: Attention) -> str:
    """Why a route needs attention, in words."""
    part, whole = people.count(round(item.part)), people.count(item.whole)
    match item.kind:
        case "failing":
            return f"{part} of its newest {whole} calls failed, most often {item.detail.replace('_', ' ')}"
        case "fallback":
            return f"{part} of its {whole} answers are of {item.detail}"
        case "slower":
            return f"its newest {whole} answers took {people.significant(item.part)} times as long as those before (medians)"
        case "no tool call":
            return f"answered without a tool call {part} of the {whole} times that one was forced"
        case _:
            return f"{part} of its {whole} answers came without usage"


def _cards(answers: Answers, attention: Sequence[Attention], colours: Colours) -> list[Card]:
    """A card a route, those that need attention first."""
    reasons: dict[str, list[str]] = {}
    for item in attention:
        reasons.setdefault(item.model, []).append(told(item))
    found = []
    for number, row in enumerate(
        sorted(answers.routes.rows, key=lambda row: (row["model"] not in reasons, row["model"]))
    ):
        model = row["model"]
        found.append(
            Card(
                row,
                colours.of(model),
                reasons.get(model, []),
                [line for line in answers.outcomes.rows if line["model"] == model],
                [line for line in answers.matrix.rows if line["requested_model"] == model],
                _card_chart(number, model, answers.course, colours) if number < _MOST_CARD_CHARTS else None,
            )
        )
    return found


def _card_chart(number: int, model: str, course: Result, colours: Colours) -> Chart | None:
    rows = [row for row in course.rows if row["model"] == model and row["p50_ms"] is not None]
    if len(rows) < 2:
        return None
    names = ("median", "90 % within")
    points: list[dict[str, Any]] = [
        {
            "series": name,
            "at": f"{row['from_at']:%Y-%m-%dT%H:%M:%SZ}",
            "when": f"{row['from_at']:%Y-%m-%d %H:%M}",
            "seconds": row[column] / 1000,
        }
        for row in rows
        for name, column in zip(names, ("p50_ms", "p90_ms"), strict=True)
    ]
    drawing = time_charts.lines_over_time(
        points, "seconds", "seconds", time_charts.two_lines(colours.of(model), names), height=110
    )
    own = Result(course.query, course.parameters, rows)
    shown = Table(
        f"course{number}", own, ("model", "from_at"),
        (Column("from_at", f"{course.parameters['span']}", "moment"), Column("calls", "calls"),
         Column("not_accepted", "not accepted"), Column("p50_ms", "median", "ms"), Column("p90_ms", "90 % within", "ms")),
    )  # fmt: skip
    return drawn(f"course{number}", f"Latency by {course.parameters['span']}", drawing, shown)


def _matrix_table(matrix: Result) -> Table:
    return Table(
        "route_matrix", matrix, ("requested_model", "served_model", "identity"),
        (Column("requested_model", "requested model", "text"), Column("served_model", "served model", "served"),
         Column("answers", "answers"), Column("first_at", "first", "moment"), Column("last_at", "newest", "moment")),
    )  # fmt: skip


def _charts(answers: Answers) -> list[Chart]:
    found = []
    if answers.matrix.rows:
        drawing = charts.matrix_chart(answers.matrix.rows)
        note = "Rows: requested model; columns: served model; the shade is the share of the requested model's answers."
        found.append(drawn("matrix", "Who answers for whom?", drawing, _matrix_table(answers.matrix), note))
    return found


def _span(period: Row) -> str:
    """Minutes, hours or days: whichever shows a course in the period."""
    if period["first_at"] is None:
        return "day"
    length = period["last_at"] - period["first_at"]
    return "minute" if length < timedelta(hours=3) else "hour" if length < timedelta(days=4) else "day"
