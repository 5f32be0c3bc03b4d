"""Charts over time: a run's course, a job's runs, an account's days."""

from collections.abc import Sequence
from typing import Any

import altair as alt

import workbench.display as people
from workbench.ledger.queries import Row
from workbench.report.chart_parts import WIDTH, over, tip
from workbench.report.drawing import AnyChart, Colours


def course_chart(latency: Sequence[Row], far: float, colours: Colours) -> AnyChart:
    """Latency by model in the course of a run.

    Args:
        latency: `run_latency_course` rows.
        far: The run's length in s.
        colours: Of the ledger.
    """
    data = [
        {
            "model": row["model"],
            "s": row["seconds"],
            "latency": row["p50_ms"] / 1000,
            "answers": people.count(row["answers"]),
            "into the run": people.duration(row["seconds"]),
            "median": people.milliseconds(row["p50_ms"]),
        }
        for row in latency
    ]
    models = list(dict.fromkeys(row["model"] for row in data))
    lines: alt.Chart = (
        over(data, width=WIDTH, height=160)
        .mark_line(point=len(data) < 60 * len(models), strokeWidth=2)
        .encode(
            x=alt.X("s:Q", title="seconds since the first call", scale=alt.Scale(domain=[0, far], nice=False)),
            y=alt.Y("latency:Q", title="median seconds to the answer"),
            color=alt.Color("model:N", scale=colours.scale(models), title=None),
            tooltip=[tip("model", "N"), tip("into the run", "N"), tip("median", "N"), tip("answers", "N")],
        )
    )
    return lines


def pace_chart(in_flight: Sequence[Row], pace: Sequence[Row], limit: int, far: float) -> AnyChart:
    """The calls in flight in the course of a run, and how many were allowed.

    Args:
        in_flight: `run_in_flight` rows.
        pace: `run_pace` rows.
        limit: The run's `max_in_flight`.
        far: The run's length in s.
    """
    most = max((limit, *(row["most_in_flight"] for row in in_flight)))
    across = alt.Scale(domain=[0, far], nice=False)
    into = tip("into the run", "N")
    flights = [
        {"s": row["seconds"], "in flight": row["most_in_flight"], "into the run": people.duration(row["seconds"])}
        for row in in_flight
    ]
    levels = alt.Y(
        "in flight:Q", title=f"in flight of {limit} (line: allowed)", axis=alt.Axis(tickMinStep=1, tickCount=3)
    )
    area = (
        over(flights, width=WIDTH, height=70)
        .mark_area(interpolate="step", opacity=0.35, color="var(--accent)")
        .encode(
            x=alt.X("s:Q", title="seconds since the first call", scale=across),
            y=levels.scale(domain=[0, most]),
            tooltip=[into, tip("in flight")],
        )
    )
    rule = over([{"limit": limit}]).mark_rule(color="var(--soft)", strokeDash=[4, 4]).encode(y="limit:Q")
    steps = [
        {
            "s": row["seconds"],
            "allowed": row["allowed"],
            "why": row["reason"],
            "into the run": people.duration(row["seconds"]),
        }
        for row in pace
    ]
    allowed = (
        over(steps)
        .mark_line(interpolate="step-after", color="var(--accent)", strokeWidth=1.5)
        .encode(x=alt.X("s:Q", scale=across), y="allowed:Q", tooltip=[into, tip("allowed"), tip("why", "N")])
    )
    return alt.layer(area, allowed, rule)


def daily_chart(rows: Sequence[Row], colours: Colours) -> AnyChart:
    """Tokens by UTC day, stacked by model: `usage_by_day_and_model` rows."""
    data = [
        {
            "day": row["day"].isoformat(),
            "model": row["model"],
            "tokens": row["total_tokens"] or 0,
            "calls": people.count(row["calls"]),
            "on": f"{row['day']:%d %b %Y}",
            "used": people.count(row["total_tokens"]),
        }
        for row in rows
    ]
    models = list(dict.fromkeys(row["model"] for row in data))
    days = alt.Axis(format="%d %b", labelOverlap=True, labelAngle=0)
    chart: alt.Chart = (
        over(data, width=WIDTH, height=240)
        .mark_bar()
        .encode(
            x=alt.X("day:O", timeUnit="utcyearmonthdate", title=None, axis=days),
            y=alt.Y("tokens:Q", title="tokens", axis=alt.Axis(format="~s")),
            color=alt.Color("model:N", scale=colours.scale(models), title=None),
            tooltip=[
                tip("on", "N", title="day"),
                tip("model", "N"),
                tip("used", "N", title="tokens"),
                tip("calls", "N"),
            ],
        )
    )
    return chart


def lines_over_time(
    rows: Sequence[dict[str, Any]],
    value: str,
    title: str,
    scale: alt.Scale,
    height: int = 200,
    *,
    bounded: bool = False,
) -> AnyChart:
    """One line a series over time.

    Args:
        rows: With `at` (ISO 8601 with its zone), `when` for people, `series` and `value`.
        value: The column drawn.
        title: What it is, with its unit.
        scale: The series' colours.
        height: In px.
        bounded: Draw from 0 to 1.
    """
    series = len({row["series"] for row in rows})
    times = alt.X("at:T", title="UTC", scale=alt.Scale(type="utc"), axis=alt.Axis(labelOverlap=True, tickCount=6))
    chart: alt.Chart = (
        over(rows, width=WIDTH, height=height)
        .mark_line(point={"size": 25, "filled": True}, strokeWidth=2)
        .encode(
            x=times,
            y=alt.Y(f"{value}:Q", title=title, scale=alt.Scale(domain=[0, 1]) if bounded else alt.Undefined),
            color=alt.Color("series:N", scale=scale, title=None) if series > 1 else alt.value("var(--accent)"),
            tooltip=[tip("series", "N"), tip("when", "N", title="UTC"), tip(value)],
        )
    )
    return chart


def two_lines(colour: str, names: Sequence[str]) -> alt.Scale:
    """A model's colour for the first of two lines, a quiet one for the second."""
    return alt.Scale(domain=list(names), range=[colour, "var(--soft)"])
