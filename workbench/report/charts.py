"""Charts as Altair makes them, one function each."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

import workbench.display.text as people
from workbench.ledger.route_rows import RouteServed
from workbench.ledger.run_rows import RunLatency, RunScore, RunTokens
from workbench.ledger.usage_rows import UsageTotals
from workbench.report.chart_parts import ROW, WIDTH, amounts, model_axis, over, sized, tip
from workbench.report.drawing import AnyChart, Colours
from workbench.stats.intervals import Interval
from workbench.wording.scores import mean_text

_WIDE = 50  # times the fastest: beyond it a logarithmic scale


def score_chart(rows: Sequence[tuple[RunScore, Interval | None]], colours: Colours) -> AnyChart:
    """Means with their intervals, a line per model.

    Args:
        rows: `run_scores` rows with their intervals.
        colours: Of the ledger.
    """
    data: list[dict[str, Any]] = [
        {
            "model": row.model,
            "mean": interval.centre,
            "low": interval.low,
            "high": interval.high,
            "samples": interval.n,
            "label": f"{mean_text(interval)} (n {interval.n})",
        }
        for row, interval in rows
        if interval is not None
    ]
    models = [row["model"] for row in data]
    ends = [end for row in data for end in (row["mean"], row["low"], row["high"]) if end is not None]
    bounded = all(0 <= end <= 1 for end in ends)
    base = over(data).encode(y=model_axis(models), color=alt.Color("model:N", scale=colours.scale(models), legend=None))
    x = alt.X(
        "low:Q", title="mean score, 95 % interval", scale=alt.Scale(domain=[0, 1]) if bounded else alt.Scale(zero=False)
    )
    rule = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q")
    dot = base.mark_point(filled=True, size=90, opacity=1).encode(
        x="mean:Q", tooltip=[tip("model", "N"), tip("mean"), tip("low"), tip("high"), tip("samples")]
    )
    middle = 0.5 if bounded else (min(ends) + max(ends)) / 2 if ends else 0.0
    labels = [  # on the side with more room: beyond the chart's edge they are cut
        base.transform_filter(f"{'datum.mean <= ' if align == 'left' else 'datum.mean > '}{middle}")
        .mark_text(align=align, dx=8 if align == "left" else -8, dy=-8, fontSize=12)
        .encode(x="mean:Q", text="label:N", color=alt.value("var(--ink)"))
        for align in ("left", "right")
    ]
    return sized(alt.layer(rule, dot, *labels), len(models))


def difference_chart(
    rows: Sequence[dict[str, Any]], names: Sequence[str], baseline: int, unit: str, colours: Colours
) -> AnyChart:
    """Differences from a baseline with their intervals, a line each, and no difference as an upright line.

    Args:
        rows: Each with model, of (whose colour), difference, low, high, what is shown, and the number of its baseline.
        names: Of the lines, in order.
        baseline: Which of them is shown; the page's script sets the parameter `chosen` to another.
        unit: Of the differences.
        colours: Of the ledger.
    """
    of = {row["model"]: colours.of(row["of"]) for row in rows}
    scale = alt.Scale(domain=list(names), range=[of[name] for name in names])
    chosen = alt.param(name="chosen", value=baseline)
    base = (
        over(rows)
        .transform_filter(alt.datum.baseline == chosen)
        .encode(y=model_axis(names, fixed=True), color=alt.Color("model:N", scale=scale, legend=None))
    )
    x = alt.X("low:Q", title=f"difference, {unit}")
    rule = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q")
    tips = [
        tip("model", "N"),
        tip("difference", format="+.1f"),
        tip("low", format="+.1f"),
        tip("high", format="+.1f"),
    ]
    dot = base.mark_point(filled=True, size=90, opacity=1).encode(x="difference:Q", tooltip=tips)
    zero = over([{"at": 0}]).mark_rule(strokeDash=[4, 4], color="var(--soft)").encode(x="at:Q")
    return sized(alt.layer(zero, rule, dot).add_params(chosen), len(names))


def cost_chart(rows: Sequence[dict[str, Any]], colours: Colours) -> AnyChart:
    """Scores with their intervals over the tokens of an answer and over its latency, a point a model.

    Args:
        rows: Each with model, of (whose colour), mean, low, high, and tokens and p50, in seconds, with their bounds
            (`tokens_low`).
        colours: Of the ledger.
    """
    names = [row["model"] for row in rows]
    own = [colours.of(row["of"]) for row in rows]
    scale, shapes = alt.Scale(domain=names, range=own), alt.Scale(domain=names, range=_shapes(own))
    titles = {  # short ones where they say more: a title that is too long is cut
        "tokens": ("completion tokens an answer", "completion tokens, logarithmic"),
        "p50": ("median seconds to the answer", "median seconds, logarithmic"),
    }
    data = [row | {"seconds": people.milliseconds(1000 * row["p50"])} for row in rows]
    tips = [
        tip("model", "N"), tip("mean"), tip("low"), tip("high"), tip("tokens", format=",.1f"),
        tip("seconds", "N", title="median"),
    ]  # fmt: skip
    parts = []
    for name, worded in titles.items():
        wide = max(row[name] for row in rows) > _WIDE * min(row[name] for row in rows) > 0
        axis = _across(name, worded, alt.Scale(zero=True), wide=wide)
        base = over(_above_zero(data, name) if wide else data).encode(
            x=axis, color=alt.Color("model:N", scale=scale, title=None)
        )
        rule = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title="mean score"), y2="high:Q")
        across = base.mark_rule(strokeWidth=2).encode(x=f"{name}_low:Q", x2=f"{name}_high:Q", y="mean:Q")
        dot = base.mark_point(filled=True, size=90, opacity=1).encode(
            y="mean:Q", shape=alt.Shape("model:N", scale=shapes, title=None), tooltip=tips
        )
        parts.append(alt.layer(rule, across, dot).properties(width=WIDTH, height=200))
    return alt.vconcat(*parts)


def _across(name: str, titles: tuple[str, str], plain: Any, *, wide: bool) -> alt.X:
    """Return an axis, logarithmic where a wide range would hide the differences of most values; a title for each kind."""
    return alt.X(f"{name}:Q", title=titles[wide], scale=alt.Scale(type="log") if wide else plain)


def _above_zero(rows: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return rows whose intervals begin where a logarithmic scale has a place: one that begins at 0 leaves it without any."""
    least = min(row[name] for row in rows) / 2
    return [row | {f"{name}_low": row[f"{name}_low"] if row[f"{name}_low"] > 0 else least} for row in rows]


_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")


def _shapes(colours: Sequence[str]) -> list[str]:
    """Return a shape for each, another one where a colour comes again: together they tell six times as many apart."""
    return [_SHAPES[colours[:place].count(colour) % len(_SHAPES)] for place, colour in enumerate(colours)]


_TROUBLES = {
    "route": "var(--failed)", "platform or network": "var(--m4)", "our request": "var(--m0)", "account": "var(--m3)",
    "cut off by its limit": "var(--wasted)", "refused or filtered": "var(--m6)", "unknown": "var(--m5)", "pending": "var(--m8)",
}  # fmt: skip


def trouble_chart(rows: Sequence[dict[str, Any]], models: Sequence[str]) -> AnyChart:
    """Draw requests without an answer of use, by model and by whose fault it is.

    Args:
        rows: Each with model, group, requests, and planned, of that model.
        models: All of them, in order.
    """
    there = [group for group in _TROUBLES if any(row["group"] == group for row in rows)]
    scale = alt.Scale(domain=there, range=[_TROUBLES[group] for group in there])
    data = [row | {"order": there.index(row["group"])} for row in rows]
    chart = over(data).mark_bar(height=14, stroke="var(--ground)", strokeWidth=1).encode(
        x=alt.X("requests:Q", title="requests", axis=amounts(tickMinStep=1)),
        y=alt.Y("model:N", sort=list(models), title=None, scale=alt.Scale(domain=list(models))),
        color=alt.Color("group:N", scale=scale, title=None),
        order="order:Q",
        tooltip=[tip("model", "N"), tip("group", "N"), tip("requests", format=","), tip("planned", format=",")],
    )  # fmt: skip
    return sized(chart, len(models))


def latency_chart(rows: Sequence[RunLatency], colours: Colours) -> AnyChart:
    """Return the distribution of latency a model."""
    data = [
        {
            "model": row.model,
            "answers": people.count(row.answers),
            **{name[:-3]: getattr(row, name) / 1000 for name in _QUANTILES},
            **{heading: people.milliseconds(getattr(row, name)) for name, heading in _QUANTILES.items()},
        }
        for row in rows
    ]
    models = [row["model"] for row in data]
    base = over(data).encode(y=model_axis(models), color=alt.Color("model:N", scale=colours.scale(models), legend=None))
    fastest = min((row["p10"] for row in data), default=1)
    wide = fastest > 0 and max((row["p99"] for row in data), default=1) / fastest > _WIDE
    x = _across("p10", ("seconds to the answer", "seconds to the answer, logarithmic"), alt.Undefined, wide=wide)
    tips = [tip("model", "N"), *(tip(heading, "N") for heading in _QUANTILES.values()), tip("answers", "N")]
    whole = base.mark_rule(strokeWidth=2).encode(x=x, x2="p90:Q", tooltip=tips)
    half = base.mark_bar(height=12, opacity=0.55).encode(x="p25:Q", x2="p75:Q", tooltip=tips)
    middle = base.mark_tick(thickness=3, height=18, opacity=1).encode(
        x="p50:Q", color=alt.value("var(--ink)"), tooltip=tips
    )
    far = base.mark_point(shape="diamond", size=30, filled=True, opacity=1).encode(x="p99:Q", tooltip=tips)
    return sized(alt.layer(whole, half, middle, far), len(models))


def token_chart(rows: Sequence[RunTokens | UsageTotals], names: dict[str, str], by: str) -> AnyChart:
    """Tokens of each row, stacked by part.

    Args:
        rows: With `by` and their tokens.
        names: Title of each part of the stack -> its colour.
        by: The column that names a row.
    """
    data = []
    for row in rows:
        thinking = min(row.reasoning_tokens or 0, row.completion_tokens or 0)
        parts = (row.prompt_tokens or 0, (row.completion_tokens or 0) - thinking, thinking)
        data += [
            {"by": getattr(row, by), "part": part, "tokens": tokens, "order": place}
            for place, (part, tokens) in enumerate(zip(names, parts, strict=False))
        ]
    order = list(dict.fromkeys(row["by"] for row in data))
    chart = over(data).mark_bar(height=14, stroke="var(--ground)", strokeWidth=1).encode(
        x=alt.X("tokens:Q", title="tokens", axis=amounts()),
        y=alt.Y("by:N", sort=order, title=None),
        color=alt.Color("part:N", scale=alt.Scale(domain=list(names), range=list(names.values())), title=None),
        order="order:Q",
        tooltip=[tip("by", "N"), tip("part", "N"), tip("tokens", format=",")],
    )  # fmt: skip
    return sized(chart, len(order))


def matrix_chart(rows: Sequence[RouteServed], whole: Sequence[RouteServed]) -> AnyChart:
    """Draw requested by served model as a matrix of shares.

    Args:
        whole: All rows of the models that they name as requested: what the shares are of.
    """
    asked: dict[str, int] = {}
    for row in whole:
        asked[row.requested_model] = asked.get(row.requested_model, 0) + row.answers
    answers: dict[tuple[str, str], int] = {}
    for row in rows:
        cell = row.requested_model, row.served_model or "(not named)"  # of one name, there may be two identities
        answers[cell] = answers.get(cell, 0) + row.answers
    data = [
        {"requested": model, "served": name, "answers": number, "share": number / asked[model]}
        for (model, name), number in answers.items()
    ]
    requested = list(asked)
    served: list[str] = sorted(
        {name for _, name in answers},
        key=lambda name: (requested.index(name) if name in requested else math.inf, name),
    )
    base = over(data).encode(
        x=alt.X("served:N", sort=served, title=None, axis=alt.Axis(orient="top", labelAngle=-40, labelLimit=160)),
        y=alt.Y("requested:N", sort=requested, title=None),
        tooltip=[tip("requested", "N"), tip("served", "N"), tip("answers", format=","), tip("share", format=".1%")],
    )  # fmt: skip
    cells = base.mark_rect(stroke="var(--ground)", strokeWidth=2, color="var(--accent)").encode(
        opacity=alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.12, 0.6]), legend=None)
    )
    texts = base.mark_text(fontSize=12, color="var(--ink)").encode(text=alt.Text("answers:Q", format="~s"))
    return alt.layer(cells, texts).properties(width={"step": 64}, height={"step": ROW})


_QUANTILES = {
    "p10_ms": "10 % within", "p25_ms": "25 % within", "p50_ms": "median", "p75_ms": "75 % within", "p90_ms": "90 % within",
    "p99_ms": "99 % within",
}  # fmt: skip
