"""Charts of scores, differences, costs, failures, latencies and tokens, one function each."""

import math
from collections.abc import Sequence

import workbench.display.text as people
from workbench.ledger.run_rows import RunLatency, RunScore, RunTokens
from workbench.ledger.usage_rows import UsageTotals
from workbench.report.chart_parts import (
    DOT,
    RULE,
    WIDTH,
    Spec,
    amounts,
    category,
    model_axis,
    number,
    over,
    sized,
    text_tip,
    tip,
)
from workbench.report.drawing import Colours, told_apart
from workbench.stats.intervals import Interval
from workbench.wording.scores import mean_text

_WIDE = 50  # times the fastest: beyond it a logarithmic scale


def _with_room(at: float, ends: tuple[float, float]) -> str:
    """Return how a point's label is aligned: beyond the chart's edge it is cut, and before it it covers a model's name."""
    least, most = ends
    if at < least + (most - least) / 3:
        return "left"
    return "right" if at > most - (most - least) / 3 else "center"


def score_chart(rows: Sequence[tuple[RunScore, Interval | None]], colours: Colours) -> Spec:
    """Return means with their intervals, a line per model.

    Args:
        rows: `run_scores` rows with their intervals.
    """
    data: list[Spec] = [
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
    scale = {"domain": [0, 1]} if bounded else {"zero": False}
    low = number("low", title="mean score, 95 % interval", scale=scale)
    tips = [text_tip("model"), tip("mean"), tip("low"), tip("high"), tip("samples")]
    for row in data:
        row["align"] = _with_room(row["mean"], (0.0, 1.0) if bounded else (min(ends), max(ends)))
    labels = [
        {
            "transform": [{"filter": f"datum.align === '{align}'"}],
            "mark": {"type": "text", "align": align, "dx": dx, "dy": dy, "fontSize": 12},
            "encoding": {"x": number("mean"), "text": category("label"), "color": {"value": "var(--ink)"}},
        }
        for align, dx, dy in (("left", 8, -8), ("center", 0, -11), ("right", -8, -8))
    ]
    chart = over(data) | {
        "encoding": {"y": model_axis(models), "color": _by_model(models, colours)},
        "layer": [
            {"mark": RULE, "encoding": {"x": low, "x2": {"field": "high"}}},
            {"mark": DOT, "encoding": {"x": number("mean"), "tooltip": tips}},
            *labels,
        ],
    }
    return sized(chart, len(models))


def difference_chart(
    rows: Sequence[Spec], names: Sequence[str], baseline: int, unit: str, colours: Colours, margin: float | None = None
) -> Spec:
    """Return differences from a baseline with their intervals, a line each, and no difference as an upright line.

    Args:
        rows: Each with model, of (whose colour), difference, low, high, what is shown, and the number of its baseline.
        names: Of the lines, in order.
        baseline: Which of them is shown; the page's script sets the parameter `chosen` to another.
        unit: Of the differences.
        margin: Where a second upright line stands, to the left of no difference.
    """
    of = {row["model"]: colours.of(row["of"]) for row in rows}
    scale = {"domain": list(names), "range": [of[name] for name in names]}
    of_chosen = over(rows) | {"transform": [{"filter": "datum.baseline === chosen"}]}
    by_line = {"y": model_axis(names, fixed=True), "color": category("model", scale=scale, legend=None)}
    low = number("low", title=f"difference, {unit}")
    tips = [text_tip("model"), *(tip(field, format="+.1f") for field in ("difference", "low", "high"))]
    zero = {"type": "rule", "strokeDash": [4, 4], "color": "var(--soft)"}
    chart = {
        "params": [{"name": "chosen", "value": baseline}],
        "layer": [
            over([{"at": 0}, *([] if margin is None else [{"at": -margin}])])
            | {"mark": zero, "encoding": {"x": number("at")}},
            of_chosen | {"mark": RULE, "encoding": by_line | {"x": low, "x2": {"field": "high"}}},
            of_chosen | {"mark": DOT, "encoding": by_line | {"x": number("difference"), "tooltip": tips}},
        ],
    }
    return sized(chart, len(names))


_MOST_NAMED = 8
"""Points with their names beside them; more have a legend, and so have longer names, which would cover others."""
_MOST_NAME_CHARS = 24
_COST_HEIGHT, _NAME_HEIGHT = 200, 15  # px


def cost_chart(rows: Sequence[Spec], cost: tuple[str, str], colours: Colours) -> Spec:
    """Return scores with their intervals over what an answer costs and over its latency, a point a model, named beside it.

    Args:
        rows: Each with model, of (whose colour), mean, low, high, and cost and p50, in seconds, with their bounds
            (`cost_low`).
        cost: What the cost is, and the same where its scale is logarithmic: a title that is too long is cut.
    """
    names = [row["model"] for row in rows]
    own = [colours.of(row["of"]) for row in rows]
    beside = len(rows) <= _MOST_NAMED and max((len(name) for name in names), default=0) <= _MOST_NAME_CHARS
    legend = {"legend": None} if beside else {}
    colour = category("model", scale={"domain": names, "range": own}, title=None, **legend)
    shape = category("model", scale={"domain": names, "range": told_apart(own, _SHAPES)}, title=None, **legend)
    titles = {
        "cost": cost,
        "p50": ("median seconds to the answer", "median seconds, logarithmic"),
    }
    data = [row | {"seconds": people.milliseconds(1000 * row["p50"])} for row in rows]
    tips = [
        text_tip("model"), tip("mean"), tip("low"), tip("high"), tip("cost", format=",.1f", title=cost[0]),
        text_tip("seconds", title="median"),
    ]  # fmt: skip
    low, mean = number("low", title="mean score"), number("mean")
    parts = []
    for field, worded in titles.items():
        wide = max(row[field] for row in rows) > _WIDE * min(row[field] for row in rows) > 0
        x = _across(field, worded, {"scale": {"zero": True}}, wide=wide)
        ends = {"x": number(f"{field}_low"), "x2": {"field": f"{field}_high"}}
        parts.append(
            over(_above_zero(data, field) if wide else data)
            | {
                "encoding": {"color": colour},
                "layer": [
                    {"mark": RULE, "encoding": {"x": x, "y": low, "y2": {"field": "high"}}},
                    {"mark": RULE, "encoding": ends | {"y": mean}},
                    {"mark": DOT, "encoding": {"x": x, "y": mean, "shape": shape, "tooltip": tips}},
                    *(_names_beside(data, field) if beside else []),
                ],
                "width": WIDTH,
                "height": _COST_HEIGHT,
            }
        )
    return {"vconcat": parts}


def _names_beside(rows: Sequence[Spec], field: str) -> list[Spec]:
    """Return each model's name at the end of its interval that has more room beyond it; no two at the same height."""
    ends = [end for row in rows for end in (row["low"], row["mean"], row["high"]) if end is not None]
    least = min(0.0, *ends)
    most = max(ends) if max(ends) > least else least + 1.0
    line = _NAME_HEIGHT / _COST_HEIGHT * (most - least)
    placed, above = list[Spec](), -math.inf
    for row in sorted(rows, key=lambda row: float(row["mean"])):
        above = max(row["mean"] + line / 2, above + line)
        placed.append(row | {"named_at": above})
    below = most + line
    for row in reversed(placed):  # nor above or below the chart, whose axis would reach beyond what a score can be
        below = row["named_at"] = min(row["named_at"], below - line)
    middle = max(row[field] for row in rows) / 2
    sides = {
        "left": [row for row in placed if row[field] <= middle],
        "right": [row for row in placed if row[field] > middle],
    }
    return [
        over(own)
        | {
            "mark": {"type": "text", "align": align, "dx": dx, "fontSize": 12},
            "encoding": {
                "x": number(f"{field}_{end}"),
                "y": number("named_at"),
                "text": {"field": "model"},
                "color": {"value": "var(--ink)"},
            },
        }
        for (align, own), end, dx in zip(sides.items(), ("high", "low"), (9, -9), strict=True)
        if own
    ]


def _by_model(models: Sequence[str], colours: Colours) -> Spec:
    """Return each model's colour, where its line is named beside it."""
    return category("model", scale=colours.scale(models), legend=None)


def _across(field: str, titles: tuple[str, str], plain: Spec, *, wide: bool) -> Spec:
    """Return an axis, logarithmic where a wide range would hide the differences of most values; a title for each kind."""
    return number(field, title=titles[wide], **({"scale": {"type": "log"}} if wide else plain))


def _above_zero(rows: Sequence[Spec], field: str) -> list[Spec]:
    """Return rows whose intervals begin where a logarithmic scale has a place: one that begins at 0 leaves it without any."""
    least = min(row[field] for row in rows) / 2
    return [row | {f"{field}_low": row[f"{field}_low"] if row[f"{field}_low"] > 0 else least} for row in rows]


_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")


_TROUBLES = {
    "model": "var(--m10)", "route": "var(--failed)", "platform or network": "var(--m4)", "our request": "var(--m0)",
    "account": "var(--m3)", "cut off by its limit": "var(--wasted)", "refused or filtered": "var(--m6)", "unknown": "var(--m5)",
    "pending": "var(--m8)",
}  # fmt: skip


def trouble_chart(rows: Sequence[Spec], models: Sequence[str]) -> Spec:
    """Return requests without an answer of use, by model and by whose fault it is.

    Args:
        rows: Each with model, group, requests, and planned, of that model.
        models: All of them, in order.
    """
    there = [group for group in _TROUBLES if any(row["group"] == group for row in rows)]
    groups = {group: _TROUBLES[group] for group in there}
    data = [row | {"order": there.index(row["group"])} for row in rows]
    tips = [text_tip("model"), text_tip("group"), tip("requests", format=","), tip("planned", format=",")]
    chart = over(data) | {
        "mark": _STACKED,
        "encoding": {
            "x": number("requests", title="requests", axis=amounts(labelExpr="datum.value % 1 ? '' : datum.label")),
            "y": model_axis(models, fixed=True),
            "color": _parts("group", groups),
            "order": number("order"),
            "tooltip": tips,
        },
    }
    return sized(chart, len(models))


def latency_chart(rows: Sequence[RunLatency], colours: Colours) -> Spec:
    """Return the distribution of latency a model."""
    data: list[Spec] = [
        {
            "model": row.model,
            "answers": people.count(row.answers),
            **{column[:-3]: getattr(row, column) / 1000 for column in _QUANTILES},
            **{heading: people.milliseconds(getattr(row, column)) for column, heading in _QUANTILES.items()},
        }
        for row in rows
    ]
    models = [row["model"] for row in data]
    fastest = min((row["p10"] for row in data), default=1)
    wide = fastest > 0 and max((row["p99"] for row in data), default=1) / fastest > _WIDE
    x = _across("p10", ("seconds to the answer", "seconds to the answer, logarithmic"), {}, wide=wide)
    tips = [text_tip(column) for column in ("model", *_QUANTILES.values(), "answers")]
    tick = {"type": "tick", "thickness": 3, "height": 18, "opacity": 1}
    far = {"type": "point", "shape": "diamond", "size": 30, "filled": True, "opacity": 1}
    chart = over(data) | {
        "encoding": {"y": model_axis(models), "color": _by_model(models, colours), "tooltip": tips},
        "layer": [
            {"mark": RULE, "encoding": {"x": x, "x2": {"field": "p90"}}},
            {
                "mark": {"type": "bar", "height": 12, "opacity": 0.55},
                "encoding": {"x": number("p25"), "x2": {"field": "p75"}},
            },
            {"mark": tick, "encoding": {"x": number("p50"), "color": {"value": "var(--ink)"}}},
            {"mark": far, "encoding": {"x": number("p99")}},
        ],
    }
    return sized(chart, len(models))


def token_chart(rows: Sequence[RunTokens | UsageTotals], parts: dict[str, str], by: str) -> Spec:
    """Return tokens of each row, stacked by part.

    Args:
        rows: With `by` and their tokens.
        parts: Title of each part of the stack -> its colour.
        by: The column that names a row.
    """
    data: list[Spec] = []
    for row in rows:
        thinking = min(row.reasoning_tokens or 0, row.completion_tokens or 0)
        used = (row.prompt_tokens or 0, (row.completion_tokens or 0) - thinking, thinking)
        data += [
            {"by": getattr(row, by), "part": part, "tokens": tokens, "order": place}
            for place, (part, tokens) in enumerate(zip(parts, used, strict=False))
        ]
    order = list(dict.fromkeys(row["by"] for row in data))
    bars: Spec = {
        "mark": _STACKED,
        "encoding": {
            "x": number("tokens", title="tokens", axis=amounts()),
            "y": category("by", sort=order, title=None),
            "color": _parts("part", parts),
            "order": number("order"),
            "tooltip": [text_tip("by", title="name"), text_tip("part"), tip("tokens", format=",")],
        },
    }
    silent = [getattr(row, by) for row in rows if row.prompt_tokens is None and row.completion_tokens is None]
    if not silent:
        return sized(over(data) | bars, len(order))
    said = over([{"by": name, "says": "not reported"} for name in silent]) | {
        "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 12},
        "encoding": {
            "x": {"value": 0},
            "y": category("by", sort=order, title=None),
            "text": category("says"),
            "color": {"value": "var(--soft)"},
        },
    }
    return sized({"layer": [over(data) | bars, said]}, len(order))


_STACKED: Spec = {"type": "bar", "height": 14, "stroke": "var(--ground)", "strokeWidth": 1}


def _parts(field: str, colours: dict[str, str]) -> Spec:
    """Return the colour of each part of a stack."""
    return category(field, scale={"domain": list(colours), "range": list(colours.values())}, title=None)


_QUANTILES = {
    "p10_ms": "10 % within", "p25_ms": "25 % within", "p50_ms": "median", "p75_ms": "75 % within", "p90_ms": "90 % within",
    "p99_ms": "99 % within",
}  # fmt: skip
