"""Charts as Altair makes them, one function each."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from workbench.ledger.queries import Row
from workbench.report.drawing import AnyChart, Colours

WIDTH, ROW = 640, 28
_WIDE = 50  # times the fastest: beyond it a logarithmic scale


def score_chart(rows: Sequence[tuple[Row, Any]], colours: Colours) -> AnyChart:
    """Means with their intervals, a line a model.

    Args:
        rows: `run_scores` rows with their intervals.
        colours: Of the ledger.
    """
    data = [
        {
            "model": row["model"],
            "mean": interval.mean,
            "low": interval.low,
            "high": interval.high,
            "samples": interval.n,
            "told": f"{interval.mean:.3f} (n {interval.n})",
        }
        for row, interval in rows
        if interval is not None
    ]
    models = [row["model"] for row in data]
    ends = [end for row in data for end in (row["mean"], row["low"], row["high"]) if end is not None]
    bounded = all(0 <= end <= 1 for end in ends)
    base = _over(data).encode(y=_models(models), color=alt.Color("model:N", scale=colours.scale(models), legend=None))
    x = alt.X(
        "low:Q", title="mean score, 95 % interval", scale=alt.Scale(domain=[0, 1]) if bounded else alt.Scale(zero=False)
    )
    rule = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q")
    dot = base.mark_point(filled=True, size=90, opacity=1).encode(
        x="mean:Q", tooltip=[_tip("model", "N"), _tip("mean"), _tip("low"), _tip("high"), _tip("samples")]
    )
    label = base.mark_text(align="left", dx=8, dy=-8, fontSize=12).encode(
        x="mean:Q", text="told:N", color=alt.value("var(--ink)")
    )
    return _sized(alt.layer(rule, dot, label), len(models))


def difference_chart(rows: Sequence[dict[str, Any]], unit: str, colours: Colours) -> AnyChart:
    """Differences from a baseline with their intervals, a line each, and no difference as an upright line.

    Args:
        rows: Each with model, of (whose colour), difference, low, high and told.
        unit: Of the differences.
        colours: Of the ledger.
    """
    names = [row["model"] for row in rows]
    scale = alt.Scale(domain=names, range=[colours.of(row["of"]) for row in rows])
    base = _over(rows).encode(y=_models(names), color=alt.Color("model:N", scale=scale, legend=None))
    x = alt.X("low:Q", title=f"difference, {unit}")
    rule = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q")
    tips = [
        _tip("model", "N"),
        _tip("difference", format="+.1f"),
        _tip("low", format="+.1f"),
        _tip("high", format="+.1f"),
    ]
    dot = base.mark_point(filled=True, size=90, opacity=1).encode(x="difference:Q", tooltip=tips)
    zero = _over([{"at": 0}]).mark_rule(strokeDash=[4, 4], color="var(--soft)").encode(x="at:Q")
    return _sized(alt.layer(zero, rule, dot), len(names))


def cost_chart(rows: Sequence[dict[str, Any]], colours: Colours) -> AnyChart:
    """Scores with their intervals over the tokens of an answer, a point a model.

    Args:
        rows: Each with model, of (whose colour), mean, low, high and tokens.
        colours: Of the ledger.
    """
    names = [row["model"] for row in rows]
    scale = alt.Scale(domain=names, range=[colours.of(row["of"]) for row in rows])
    wide = max(row["tokens"] for row in rows) > _WIDE * min(row["tokens"] for row in rows)
    axis = alt.X(
        "tokens:Q", title="completion tokens an answer", scale=alt.Scale(type="log") if wide else alt.Scale(zero=True)
    )
    base = _over(rows).encode(x=axis, color=alt.Color("model:N", scale=scale, title=None))
    rule = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title="mean score"), y2="high:Q")
    tips = [_tip("model", "N"), _tip("mean"), _tip("low"), _tip("high"), _tip("tokens", format=",.1f")]
    dot = base.mark_point(filled=True, size=90, opacity=1).encode(y="mean:Q", tooltip=tips)
    return alt.layer(rule, dot).properties(width=WIDTH, height=240)


_TROUBLES = {
    "route": "var(--failed)", "platform or network": "var(--m4)", "our request": "var(--m0)", "account": "var(--m3)",
    "cut off by its limit": "var(--wasted)", "unknown": "var(--m5)", "never sent, or no end known": "var(--m8)",
}  # fmt: skip


def trouble_chart(rows: Sequence[dict[str, Any]], models: Sequence[str]) -> AnyChart:
    """Requests without an answer of use, by model and by whose fault it is.

    Args:
        rows: Each with model, group, requests, and planned, of that model.
        models: All of them, in order.
    """
    there = [group for group in _TROUBLES if any(row["group"] == group for row in rows)]
    scale = alt.Scale(domain=there, range=[_TROUBLES[group] for group in there])
    data = [row | {"order": there.index(row["group"])} for row in rows]
    chart = _over(data).mark_bar(height=14, stroke="var(--ground)", strokeWidth=1).encode(
        x=alt.X("requests:Q", title="requests", axis=alt.Axis(tickMinStep=1, format="~s")),
        y=alt.Y("model:N", sort=list(models), title=None, scale=alt.Scale(domain=list(models))),
        color=alt.Color("group:N", scale=scale, title=None),
        order="order:Q",
        tooltip=[_tip("model", "N"), _tip("group", "N"), _tip("requests", format=","), _tip("planned", format=",")],
    )  # fmt: skip
    return _sized(chart, len(models))


def latency_chart(rows: Sequence[Row], colours: Colours) -> AnyChart:
    """The distribution of latency a model: `run_latency` rows, or any with p10_ms to p99_ms."""
    data = [
        {"model": row["model"], "answers": row["answers"], **{name[:-3]: row[name] / 1000 for name in _QUANTILES}}
        for row in rows
    ]
    models = [row["model"] for row in data]
    base = _over(data).encode(y=_models(models), color=alt.Color("model:N", scale=colours.scale(models), legend=None))
    fastest = min((row["p10"] for row in data), default=1)
    wide = fastest > 0 and max((row["p99"] for row in data), default=1) / fastest > _WIDE
    x = alt.X(
        "p10:Q",
        title="seconds to the answer" + (", logarithmic" if wide else ""),
        scale=alt.Scale(type="log") if wide else alt.Undefined,
    )
    tips = [_tip("model", "N"), *(_tip(name[:-3], format=".3s") for name in _QUANTILES), _tip("answers", format=",")]
    whole = base.mark_rule(strokeWidth=2).encode(x=x, x2="p90:Q", tooltip=tips)
    half = base.mark_bar(height=12, opacity=0.55).encode(x="p25:Q", x2="p75:Q", tooltip=tips)
    middle = base.mark_tick(thickness=3, height=18, opacity=1).encode(
        x="p50:Q", color=alt.value("var(--ink)"), tooltip=tips
    )
    far = base.mark_point(shape="diamond", size=30, filled=True, opacity=1).encode(x="p99:Q", tooltip=tips)
    return _sized(alt.layer(whole, half, middle, far), len(models))


def course_chart(latency: Sequence[Row], far: float, colours: Colours) -> AnyChart:
    """Latency by model in the course of a run.

    Args:
        latency: `run_latency_course` rows.
        far: The run's length in s.
        colours: Of the ledger.
    """
    data = [
        {"model": row["model"], "s": row["seconds"], "latency": row["p50_ms"] / 1000, "answers": row["answers"]}
        for row in latency
    ]
    models = list(dict.fromkeys(row["model"] for row in data))
    into = _tip("s", title="seconds into the run", format=".3s")
    lines: alt.Chart = (
        _over(data, width=WIDTH, height=160)
        .mark_line(point=len(data) < 60 * len(models), strokeWidth=2)
        .encode(
            x=alt.X("s:Q", title="seconds since the first call", scale=alt.Scale(domain=[0, far], nice=False)),
            y=alt.Y("latency:Q", title="median seconds to the answer"),
            color=alt.Color("model:N", scale=colours.scale(models), title=None),
            tooltip=[_tip("model", "N"), into, _tip("latency", title="median s", format=".3s"), _tip("answers")],
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
    into = _tip("s", title="seconds into the run", format=".3s")
    flights = [{"s": row["seconds"], "in flight": row["most_in_flight"]} for row in in_flight]
    levels = alt.Y(
        "in flight:Q", title=f"in flight of {limit} (line: allowed)", axis=alt.Axis(tickMinStep=1, tickCount=3)
    )
    area = (
        _over(flights, width=WIDTH, height=70)
        .mark_area(interpolate="step", opacity=0.35, color="var(--accent)")
        .encode(
            x=alt.X("s:Q", title="seconds since the first call", scale=across),
            y=levels.scale(domain=[0, most]),
            tooltip=[into, _tip("in flight")],
        )
    )
    rule = _over([{"limit": limit}]).mark_rule(color="var(--soft)", strokeDash=[4, 4]).encode(y="limit:Q")
    steps = [{"s": row["seconds"], "allowed": row["allowed"], "why": row["reason"]} for row in pace]
    allowed = (
        _over(steps)
        .mark_line(interpolate="step-after", color="var(--accent)", strokeWidth=1.5)
        .encode(x=alt.X("s:Q", scale=across), y="allowed:Q", tooltip=[into, _tip("allowed"), _tip("why", "N")])
    )
    return alt.layer(area, allowed, rule)


def token_chart(rows: Sequence[Row], names: dict[str, str], by: str) -> AnyChart:
    """Tokens of each row, stacked by part.

    Args:
        rows: With `by`, prompt_tokens, completion_tokens and reasoning_tokens.
        names: Title of each part of the stack -> its colour.
        by: The column that names a row.
    """
    data = []
    for row in rows:
        thinking = min(row["reasoning_tokens"] or 0, row["completion_tokens"] or 0)
        parts = (row["prompt_tokens"] or 0, (row["completion_tokens"] or 0) - thinking, thinking)
        data += [
            {"by": row[by], "part": part, "tokens": tokens, "order": place}
            for place, (part, tokens) in enumerate(zip(names, parts, strict=False))
        ]
    order = list(dict.fromkeys(row["by"] for row in data))
    chart = _over(data).mark_bar(height=14, stroke="var(--ground)", strokeWidth=1).encode(
        x=alt.X("tokens:Q", title="tokens", axis=alt.Axis(format="~s")),
        y=alt.Y("by:N", sort=order, title=None),
        color=alt.Color("part:N", scale=alt.Scale(domain=list(names), range=list(names.values())), title=None),
        order="order:Q",
        tooltip=[_tip("by", "N"), _tip("part", "N"), _tip("tokens", format=",")],
    )  # fmt: skip
    return _sized(chart, len(order))


def daily_chart(rows: Sequence[Row], colours: Colours) -> AnyChart:
    """Tokens by UTC day, stacked by model: `usage_by_day_and_model` rows."""
    data = [
        {
            "day": row["day"].isoformat(),
            "model": row["model"],
            "tokens": row["total_tokens"] or 0,
            "calls": row["calls"],
        }
        for row in rows
    ]
    models = list(dict.fromkeys(row["model"] for row in data))
    days = alt.Axis(format="%d %b", labelOverlap=True, labelAngle=0)
    chart: alt.Chart = (
        _over(data, width=WIDTH, height=240)
        .mark_bar()
        .encode(
            x=alt.X("day:O", timeUnit="utcyearmonthdate", title=None, axis=days),
            y=alt.Y("tokens:Q", title="tokens", axis=alt.Axis(format="~s")),
            color=alt.Color("model:N", scale=colours.scale(models), title=None),
            tooltip=[_tip("day", "N"), _tip("model", "N"), _tip("tokens", format=","), _tip("calls", format=",")],
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
        _over(rows, width=WIDTH, height=height)
        .mark_line(point={"size": 25, "filled": True}, strokeWidth=2)
        .encode(
            x=times,
            y=alt.Y(f"{value}:Q", title=title, scale=alt.Scale(domain=[0, 1]) if bounded else alt.Undefined),
            color=alt.Color("series:N", scale=scale, title=None) if series > 1 else alt.value("var(--accent)"),
            tooltip=[_tip("series", "N"), _tip("when", "N", title="UTC"), _tip(value)],
        )
    )
    return chart


def two_lines(colour: str, names: Sequence[str]) -> alt.Scale:
    """A model's colour for the first of two lines, a quiet one for the second."""
    return alt.Scale(domain=list(names), range=[colour, "var(--soft)"])


def matrix_chart(rows: Sequence[Row]) -> AnyChart:
    """Requested by served model as a matrix of shares: `route_matrix` rows."""
    asked: dict[str, int] = {}
    answers: dict[tuple[str, str], int] = {}
    for row in rows:
        asked[row["requested_model"]] = asked.get(row["requested_model"], 0) + row["answers"]
        cell = row["requested_model"], row["served_model"] or "(not named)"  # of one name, there may be two identities
        answers[cell] = answers.get(cell, 0) + row["answers"]
    data = [
        {"requested": model, "served": name, "answers": number, "share": number / asked[model]}
        for (model, name), number in answers.items()
    ]
    requested = list(asked)
    served: list[str] = sorted(
        {name for _, name in answers},
        key=lambda name: (requested.index(name) if name in requested else math.inf, name),
    )
    base = _over(data).encode(
        x=alt.X("served:N", sort=served, title=None, axis=alt.Axis(orient="top", labelAngle=-40, labelLimit=160)),
        y=alt.Y("requested:N", sort=requested, title=None),
        tooltip=[_tip("requested", "N"), _tip("served", "N"), _tip("answers", format=","), _tip("share", format=".1%")],
    )  # fmt: skip
    cells = base.mark_rect(stroke="var(--ground)", strokeWidth=2, color="var(--accent)").encode(
        opacity=alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.12, 0.6]), legend=None)
    )
    texts = base.mark_text(fontSize=12, color="var(--ink)").encode(text=alt.Text("answers:Q", format="~s"))
    return alt.layer(cells, texts).properties(width={"step": 64}, height={"step": ROW})


_QUANTILES = ("p10_ms", "p25_ms", "p50_ms", "p75_ms", "p90_ms", "p99_ms")


def _models(models: Sequence[str]) -> alt.Y:
    return alt.Y("model:N", sort=list(models), title=None)


def _sized(chart: AnyChart, rows: int) -> AnyChart:
    return chart.properties(width=WIDTH, height=max(ROW * rows, ROW))


def _over(rows: Sequence[dict[str, Any]], **size: Any) -> alt.Chart:
    return alt.Chart(alt.Data(values=list(rows)), **size)  # type: ignore[no-untyped-call]


def _tip(name: str, kind: str = "Q", *, title: str | None = None, format: str = ".3~f") -> alt.Tooltip:
    if kind == "Q":
        return alt.Tooltip(f"{name}:Q", title=title or name, format=format)
    return alt.Tooltip(f"{name}:{kind}", title=title or name)
