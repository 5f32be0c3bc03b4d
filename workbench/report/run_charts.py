"""The charts and the tables under them of the page of one run."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

import workbench.display.text as people
from workbench.display.columns import Column, column, columns
from workbench.evaluation.failures import failures_by_model, planned_by_model
from workbench.evaluation.run_figures import RunFigures
from workbench.ledger.rows import QueryRow
from workbench.ledger.run_rows import InFlight, LatencySpan, PaceStep, RunLatency, RunScore, RunTokens
from workbench.report import charts, time_charts
from workbench.report.drawing import Chart, Colours, drawn
from workbench.report.tables import Result, Table
from workbench.stats.intervals import Interval
from workbench.wording.scores import mean_text

T = TypeVar("T")
_UNCHANGED_PACE = 2  # its rows: the start and the end
SCORE_NOTE = (
    "Means over the n samples asked, 95 % interval. An answer that was cut off, empty or refused counts as not right, unless its "
    "sample wants a refusal; where one is not known, the interval holds whatever it was."
)
TOKEN_PARTS = {"prompt": "var(--m8)", "completion without reasoning": "var(--m0)", "reasoning": "var(--m4)"}
"""The parts of what a model cost, with their colours."""


Flights = tuple[Result[InFlight], Result[PaceStep]]
"""The calls in flight in the course of a run, and how many were allowed."""


def of_run(figures: RunFigures, query: str, rows: Sequence[T]) -> Result[T]:
    """Return rows of a query that takes the run alone."""
    return Result(query, {"run_id": figures.provenance.run_id}, rows)


def _bounds(interval: Interval | None) -> str:
    if interval is None or interval.low is None or interval.high is None:
        return people.NOT_KNOWN
    return f"{interval.low:.3f} to {interval.high:.3f}"


def _mean(interval: Interval | None) -> str:
    return people.NOT_KNOWN if interval is None else mean_text(interval)


def run_tables(figures: RunFigures) -> dict[str, Table]:
    """Return the tables of the page, by name."""

    def table(rows: Sequence[QueryRow], query: str, keys: tuple[str, ...], *shown: str | Column) -> Table:
        return Table(query, of_run(figures, query, rows), keys, columns(*shown))

    scores = [
        msgspec.structs.asdict(row) | {"of_asked": _mean(interval), "interval": _bounds(interval)}
        for row, interval in figures.scores
    ]
    return {
        "scores": Table(
            "run_scores", of_run(figures, "run_scores", scores), ("model", "scorer"),
            columns("model", "scorer", "of_asked", "interval", "asked", "mean", "scored", "not_right", "unknown", "left_out"),
        ),
        "asked": table(
            figures.items, "run_items_by_model",
            ("model",), "model", "items", "answered", column("reused", "of which reused"), "unanswered", "cut_off", "refused",
            "fallbacks", column("unknown", "name not known", description="It is not in the model list"), "suspected",
        ),
        "item_outcomes": table(
            figures.item_outcomes, "run_item_outcomes",
            ("model", "outcome"), "model", "outcome", "items",
        ),
        "outcomes": table(
            figures.outcomes, "run_outcomes",
            ("model", "outcome"), "model", "outcome", "calls",
        ),
        "served": table(
            figures.served, "run_served",
            ("requested_model", "served_model", "identity"), "requested_model", "served_model", "answers",
        ),
        "tokens": table(
            figures.tokens, "run_tokens",
            ("model",), "model", "calls", "prompt_tokens", "completion_tokens", "reasoning_tokens", "total_tokens",
            "calls_without_usage",
        ),
        "latency": table(
            figures.latency, "run_latency",
            ("model",), "model", "answers", "p10_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms",
        ),
    }  # fmt: skip


def run_charts(figures: RunFigures, colours: Colours) -> list[Chart]:
    """Return the charts that compare models, where there are several."""
    tables = run_tables(figures)
    order = {side.model: number for number, side in enumerate(figures.standing.sides)}

    def place(row: RunScore | RunTokens | RunLatency) -> int:
        return order.get(row.model, len(order))

    found: list[Chart] = []
    scored = [(row, interval) for row, interval in figures.scores if interval is not None]
    for number, scorer in enumerate(dict.fromkeys(row.scorer for row, _ in scored)):
        rows = [(row, interval) for row, interval in scored if row.scorer == scorer]
        if len(rows) > 1:
            rows.sort(key=lambda pair: place(pair[0]))
            drawing = charts.score_chart(rows, colours)
            title = f"What does each model score by “{scorer}”?"
            found.append(
                drawn(f"scores{number}", title, drawing, tables["scores"] if number == 0 else None, SCORE_NOTE)
            )
    planned = planned_by_model(figures)
    troubles = [
        {"model": model, "group": group, "requests": requests, "planned": planned[model]}
        for model, groups in failures_by_model(figures).items()
        for group, requests in groups.items()
    ]
    if troubles:
        drawing = charts.trouble_chart(troubles, list(planned))
        found.append(
            drawn(
                "trouble",
                "What is unanswered, cut off or refused, and whose fault is it?",
                drawing,
                tables["item_outcomes"],
            )
        )
    tokens = sorted(figures.tokens, key=place)
    if len(tokens) > 1 and any(row.prompt_tokens or row.completion_tokens for row in tokens):
        drawing = charts.token_chart(tokens, TOKEN_PARTS, "model")
        found.append(drawn("tokens", "What did each model cost?", drawing, tables["tokens"]))
    latency = sorted(figures.latency, key=place)
    if len(latency) > 1:
        note = "The bar holds the middle half of the answers, the line 80 %; the tick is the median, ◆ 99 %."
        drawing = charts.latency_chart(latency, colours)
        found.append(drawn("latency", "How fast were the answers?", drawing, tables["latency"], note))
    return found


def course_charts(
    figures: RunFigures,
    course: Result[LatencySpan],
    flights: Flights,
    colours: Colours,
) -> list[Chart]:
    """Latency and calls in flight in the course of the run, where it has a course."""
    in_flight, pace = flights
    has_course = len(course.rows) > len(figures.latency)
    far = max((row.seconds for found in (course, in_flight, pace) for row in found.rows), default=1)
    found = []
    if has_course:
        shown = Table(
            "run_latency_course", course, ("model", "seconds"),
            columns("model", "seconds", "answers", "p50_ms", "p90_ms"),
        )  # fmt: skip
        drawing = time_charts.course_chart(course.rows, far, colours)
        many = len({row.model for row in course.rows}) > time_charts.MOST_TOGETHER
        note = "Each chart: median seconds to the answer, over the seconds since the first call." if many else ""
        found.append(drawn("course", "Did the answers slow down in the course of the run?", drawing, shown, note))
    if has_course or len(pace.rows) > _UNCHANGED_PACE:
        shown_steps = columns("seconds", "allowed", "reason", column("model", "limit of"), "limit_allowed")
        steps = Table("run_pace", pace, ("seconds", "allowed", "reason", "model", "limit_allowed"), shown_steps)
        drawing = time_charts.pace_chart(in_flight.rows, pace.rows, figures.provenance.max_in_flight, far)
        note = "Of a limit that grows step by step: when it began to, in each moment, and how far it came."
        found.append(drawn("pace", "How many calls were in flight?", drawing, steps, note))
    return found
