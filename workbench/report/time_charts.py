"""Charts over time: a run's course, a job's runs."""

from collections.abc import Sequence
from typing import Any

import altair as alt

import workbench.display.text as people
from workbench.ledger.run_rows import InFlight, LatencySpan, PaceStep
from workbench.report.chart_parts import WIDTH, over, tip
from workbench.report.drawing import AnyChart, Colours

MOST_TOGETHER = 8
"""Lines in one chart; more have a small chart each."""
_PANELS, _PANEL = 4, (130, 80)  # in a row; px


def course_chart(latency: Sequence[LatencySpan], far: float, colours: Colours) -> AnyChart:
    """Latency by model in the course of a run.

    Args:
        latency: By model and span.
        far: The run's length in s.
        colours: Of the ledger.
    """
    data: list[dict[str, Any]] = [
        {
            "model": row.model,
            "s": row.seconds,
            "latency": row.p50_ms / 1000,
            "answers": people.count(row.answers),
            "into the run": people.duration(row.seconds),
            "median": people.milliseconds(row.p50_ms),
        }
        for row in latency
    ]
    models = list(dict.fromkeys(row["model"] for row in data))
    apart = len(models) > MOST_TOGETHER
    width, height = _PANEL if apart else (WIDTH, 160)
    lines: alt.Chart = (
        over(data, width=width, height=height)
        .mark_line(point=len(data) < 60 * len(models), strokeWidth=2)
        .encode(
            x=alt.X(
                "s:Q",
                title=None if apart else "seconds since the first call",
                scale=alt.Scale(domain=[0, far], nice=False),
            ),
            y=alt.Y("latency:Q", title=None if apart else "median seconds to the answer"),
            color=alt.Color("model:N", scale=colours.scale(models), title=None, **_legend(apart=apart)),
            tooltip=[tip("model", "N"), tip("into the run", "N"), tip("median", "N"), tip("answers", "N")],
        )
    )
    return _apart(lines, "model", models) if apart else lines


def _legend(*, apart: bool) -> dict[str, Any]:
    """Return the legend of lines: whole, where the intervals beside them are faint."""
    return {"legend": None if apart else alt.Legend(symbolOpacity=1)}


def _apart(chart: alt.Chart, by: str, names: Sequence[str]) -> AnyChart:
    """Return a small chart a series, all with the same axes."""
    titles = alt.Facet(f"{by}:N", title=None, sort=list(names), header=alt.Header(labelLimit=_PANEL[0]))
    found: AnyChart = chart.facet(titles, columns=_PANELS)
    return found


def pace_chart(in_flight: Sequence[InFlight], pace: Sequence[PaceStep], limit: int, far: float) -> AnyChart:
    """Return the calls in flight in the course of a run, and how many were allowed.

    Args:
        in_flight: By span.
        pace: From the first call on.
        limit: The run's `max_in_flight`.
        far: The run's length in s.
    """
    most = max((limit, *(row.most_in_flight for row in in_flight)))
    across = alt.Scale(domain=[0, far], nice=False)
    into = tip("into the run", "N")
    flights = [
        {"s": row.seconds, "in flight": row.most_in_flight, "into the run": people.duration(row.seconds)}
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
            "s": row.seconds,
            "allowed": row.allowed,
            "why": row.reason,
            "into the run": people.duration(row.seconds),
        }
        for row in pace
    ]
    allowed = (
        over(steps)
        .mark_line(interpolate="step-after", color="var(--accent)", strokeWidth=1.5)
        .encode(x=alt.X("s:Q", scale=across), y="allowed:Q", tooltip=[into, tip("allowed"), tip("why", "N")])
    )
    return alt.layer(area, allowed, rule)


def lines_over_time(
    rows: Sequence[dict[str, Any]],
    value: str,
    title: str,
    scale: alt.Scale,
    height: int = 200,
    *,
    marks: Sequence[dict[str, Any]] = (),
) -> AnyChart:
    """Return one line per series over time; many series have a small chart each.

    Args:
        rows: With `at` (ISO 8601 with its zone), `when` for people, `series` and `value`; with `low` and `high` an interval.
        value: The column drawn; a `mean` that is always a share from 0 to 1.
        title: What it is, with its unit.
        scale: The series' colours.
        height: In px.
        marks: Upright lines, each with `at`, `when` and `changed`; drawn where the series share a chart.
    """
    names = list(dict.fromkeys(row["series"] for row in rows))
    bounded = value == "mean" and all(0 <= row[value] <= 1 for row in rows)
    apart = len(names) > MOST_TOGETHER
    ticks = 3 if apart else 6
    axis = alt.Axis(labelOverlap=True, tickCount=ticks)
    across = alt.X("at:T", title="UTC", scale=alt.Scale(type="utc"), axis=axis)
    colour = alt.Color("series:N", scale=scale, title=None, **_legend(apart=apart))
    bounds = [tip("low"), tip("high")] if any("low" in row for row in rows) else []
    base = over(rows).encode(x=across, color=colour if len(names) > 1 else alt.value("var(--accent)"))
    line = base.mark_line(point={"size": 25, "filled": True}, strokeWidth=2).encode(
        y=alt.Y(
            f"{value}:Q", title=None if apart else title, scale=alt.Scale(domain=[0, 1]) if bounded else alt.Undefined
        ),
        tooltip=[tip("series", "N"), tip("when", "N", title="UTC"), tip(value), *bounds],
    )
    if apart:
        return _apart(line.properties(width=_PANEL[0], height=_PANEL[1]), "series", names)
    layers: list[alt.Chart] = [line]
    if bounds:
        layers.insert(0, base.mark_rule(opacity=0.35).encode(y=alt.Y("low:Q", title=title), y2="high:Q"))
    if marks:
        tips = [tip("when", "N", title="UTC"), tip("changed", "N")]
        rule = over(marks).mark_rule(strokeDash=[2, 3], color="var(--soft)", strokeWidth=1.5)
        layers.append(rule.encode(x=across, tooltip=tips))
    found: AnyChart = alt.layer(*layers).properties(width=WIDTH, height=height)
    return found


def two_lines(colour: str, names: Sequence[str]) -> alt.Scale:
    """Return a model's colour for the first of two lines, a quiet one for the second."""
    return alt.Scale(domain=list(names), range=[colour, "var(--soft)"])
