"""Charts over time: a run's course, a job's runs."""

from collections.abc import Sequence

import workbench.display.text as people
from workbench.ledger.run_rows import InFlight, LatencySpan, PaceStep
from workbench.report.chart_parts import WIDTH, Spec, category, clock_axis, moment, number, over, text_tip, tip
from workbench.report.drawing import Colours, told_apart

MOST_TOGETHER = 8
"""Lines in one chart; more have a small chart each."""
_PANELS, _PANEL = 4, (130, 80)  # in a row; px


def course_chart(latency: Sequence[LatencySpan], far: float, colours: Colours) -> Spec:
    """Return latency by model in the course of a run.

    Args:
        latency: By model and span.
        far: The run's length in s.
    """
    data: list[Spec] = [
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
    lines = {
        "width": width,
        "height": height,
        "mark": {"type": "line", "point": len(data) < 60 * len(models), "strokeWidth": 2},
        "encoding": {
            "x": number(
                "s",
                title=None if apart else "seconds since the first call",
                scale={"domain": [0, far], "nice": False},
            ),
            "y": number("latency", title=None if apart else "median seconds to the answer"),
            "color": category("model", scale=colours.scale(models), title=None, legend=_legend(apart=apart)),
            **_dashes("model", colours.scale(models), apart=apart),
            "tooltip": [text_tip(column) for column in ("model", "into the run", "median", "answers")],
        },
    }
    return over(data) | (_apart(lines, "model", models) if apart else lines)


_DASHES: list[list[int]] = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]
"""Of lines whose colours are alike: whole, dashed, dotted, and both."""


def _dashes(field: str, scale: Spec, *, apart: bool) -> Spec:
    """Return how lines of like colours are told apart; empty where no two are, or each has a chart of its own."""
    dashes = told_apart(scale["range"], _DASHES)
    if apart or all(dash == _DASHES[0] for dash in dashes):
        return {}
    dashed = {"domain": scale["domain"], "range": dashes}
    return {"strokeDash": category(field, scale=dashed, title=None, legend=_legend(apart=apart))}


def _legend(*, apart: bool) -> Spec | None:
    """Return the legend of lines: whole, where the intervals beside them are faint."""
    return None if apart else {"symbolOpacity": 1}


def _apart(chart: Spec, by: str, names: Sequence[str]) -> Spec:
    """Return a small chart a series, all with the same axes."""
    titles = category(by, title=None, sort=list(names), header={"labelLimit": _PANEL[0]})
    return {"facet": titles, "columns": _PANELS, "spec": chart}


def pace_chart(in_flight: Sequence[InFlight], pace: Sequence[PaceStep], limit: int, far: float) -> Spec:
    """Return the calls in flight in the course of a run, and how many were allowed.

    Args:
        in_flight: By span.
        pace: From the first call on.
        limit: The run's `max_in_flight`.
        far: The run's length in s.
    """
    most = max((limit, *(row.most_in_flight for row in in_flight)))
    flights = [
        {"s": row.seconds, "in flight": row.most_in_flight, "into the run": people.duration(row.seconds)}
        for row in in_flight
    ]
    steps = [
        {"s": row.seconds, "allowed": row.allowed, "why": row.reason, "into the run": people.duration(row.seconds)}
        for row in pace
    ]
    scale = {"domain": [0, far], "nice": False}
    into = text_tip("into the run")
    levels = number(
        "in flight",
        title=f"in flight of {limit} (line: allowed)",
        axis={"tickMinStep": 1, "tickCount": 3},
        scale={"domain": [0, most]},
    )
    area = {
        "mark": {"type": "area", "interpolate": "step", "opacity": 0.35, "color": "var(--accent)"},
        "encoding": {
            "x": number("s", title="seconds since the first call", scale=scale),
            "y": levels,
            "tooltip": [into, tip("in flight")],
        },
    }
    allowed = {
        "mark": {"type": "line", "interpolate": "step-after", "color": "var(--accent)", "strokeWidth": 1.5},
        "encoding": {
            "x": number("s", scale=scale),
            "y": number("allowed"),
            "tooltip": [into, tip("allowed"), text_tip("why")],
        },
    }
    rule = {
        "mark": {"type": "rule", "color": "var(--soft)", "strokeDash": [4, 4]},
        "encoding": {"y": number("limit")},
    }
    layers = [over(flights) | area, over(steps) | allowed, over([{"limit": limit}]) | rule]
    return {"layer": layers, "width": WIDTH, "height": 70}


def lines_over_time(
    rows: Sequence[Spec],
    value: str,
    title: str,
    scale: Spec,
    height: int = 200,
    *,
    zone: str = "UTC",
) -> Spec:
    """Return one line per series over time; many series have a small chart each.

    Args:
        rows: With `at` (see `on_clock`), `when` for people, `series` and `value`; with `low` and `high` an interval.
        value: The column drawn; a `mean` that is always a share from 0 to 1.
        title: What it is, with its unit.
        height: In px.
        zone: Whose clock the times are by.
    """
    names = list(dict.fromkeys(row["series"] for row in rows))
    bounded = value == "mean" and all(0 <= row[value] <= 1 for row in rows)
    apart = len(names) > MOST_TOGETHER
    across = clock_axis(zone, tickCount=3 if apart else 6)
    colour = category("series", scale=scale, title=None, legend=_legend(apart=apart))
    by_series = {"x": across, "color": colour if len(names) > 1 else {"value": "var(--accent)"}}
    has_bounds = any("low" in row for row in rows)
    when = text_tip("when", title=zone)
    tips = [text_tip("series"), when, tip(value, title=title), *([tip("low"), tip("high")] if has_bounds else [])]
    up = number(value, title=None if apart else title, **({"scale": {"domain": [0, 1]}} if bounded else {}))
    line = {
        "mark": {"type": "line", "point": {"size": 25, "filled": True}, "strokeWidth": 2},
        "encoding": by_series | {"y": up, "tooltip": tips} | _dashes("series", scale, apart=apart),
    }
    if apart:
        panel = {"layer": [line], "width": _PANEL[0], "height": _PANEL[1]}
        return over(rows) | _apart(panel, "series", names)
    layers = [over(rows) | line]
    if has_bounds:
        ends = by_series | {"y": number("low", title=title), "y2": {"field": "high"}}
        layers.insert(0, over(rows) | {"mark": {"type": "rule", "opacity": 0.35}, "encoding": ends})
    return {"layer": layers, "width": WIDTH, "height": height}


def with_marks(chart: Spec, marks: Sequence[dict[str, str]], zone: str) -> Spec:
    """Return lines over time with upright lines, in each of its charts where the series have one each.

    Args:
        chart: Of `lines_over_time`.
        marks: Each with `at`, `when` and `changed`.
    """
    if not marks:
        return chart
    if "facet" in chart:
        return chart | {"spec": with_marks(chart["spec"], marks, zone)}
    dotted = {"type": "rule", "strokeDash": [2, 3], "color": "var(--soft)", "strokeWidth": 1.5}
    across = chart["layer"][0]["encoding"]["x"]
    tips = [text_tip("when", title=zone), text_tip("changed")]
    upright = over(marks) | {"mark": dotted, "encoding": {"x": across, "tooltip": tips}}
    return chart | {"layer": [*chart["layer"], upright]}


def with_levels(chart: Spec, levels: Sequence[Spec], scale: Spec) -> Spec:
    """Return lines over time with the level that some series had until a day; unchanged where each has a chart of its own.

    Args:
        chart: Of `lines_over_time`.
        levels: Each with `series`, `level`, `from`, `until` and `since`, the day in words.
    """
    if not levels or "layer" not in chart:
        return chart
    dashed = {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5}
    colour = {"color": category("series", scale=scale, legend=_legend(apart=False))}
    until = moment("until", scale={"type": "utc"})
    level = {"x": until | {"field": "from"}, "x2": {"field": "until"}, "y": number("level")}
    day = {"type": "text", "align": "left", "dx": 4, "baseline": "top"}
    layers = [
        over(levels) | {"mark": dashed, "encoding": colour | level},
        over(levels) | {"mark": dashed, "encoding": colour | {"x": until}},
        over(levels) | {"mark": day, "encoding": colour | {"x": until, "y": {"value": 0}, "text": category("since")}},
    ]
    return chart | {"layer": [*chart["layer"], *layers]}


def two_lines(colour: str, names: Sequence[str]) -> Spec:
    """Return a model's colour for the first of two lines, a quiet one for the second."""
    return {"domain": list(names), "range": [colour, "var(--soft)"]}
