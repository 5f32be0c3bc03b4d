"""The tokens of each day, by model, with what was not reported."""

from collections.abc import Sequence
from typing import Any

import altair as alt

import workbench.display.text as people
from workbench.ledger.usage_rows import DailyUsage
from workbench.report.chart_parts import WIDTH, amounts, hatching, over, tip
from workbench.report.drawing import AnyChart, Colours

OTHERS = "all others"
"""The name of the models that have no colour of their own."""


def daily_chart(rows: Sequence[DailyUsage], colours: Colours) -> AnyChart:
    """Tokens by day, stacked by model; hatched upon them, what calls without usage may have used.

    Args:
        rows: By day and model.
        colours: Of the ledger.
    """
    shown = list(dict.fromkeys(row.model for row in rows if row.model != OTHERS))
    known, unknown = _known(rows), _unknown(rows)
    others = any(row["model"] == OTHERS for row in known)
    scale = alt.Scale(
        domain=[*shown, *([OTHERS] if others else [])],
        range=[*map(colours.of, shown), *(["var(--soft)"] if others else [])],
    )
    days = alt.Axis(format="%d %b", labelOverlap=True, labelAngle=0, tickCount=8)
    across = alt.X("day:T", timeUnit="utcyearmonthdate", title=None, axis=days)
    up = alt.Y("tokens:Q", title="tokens", axis=amounts())
    tips = [tip("on", "N", title="day"), tip("model", "N"), tip("used", "N", title="tokens"), tip("calls", "N")]
    colour = alt.Color("model:N", scale=scale, title=None)
    layers = [over(known).mark_bar().encode(x=across, y=up, color=colour, tooltip=tips)]
    if unknown:
        hatched = over(unknown).mark_bar(color=hatching("var(--unknown)", 8), stroke="var(--unknown)", strokeWidth=1)
        layers.append(hatched.encode(x=across, y=alt.Y("low:Q", title="tokens"), y2="high:Q", tooltip=tips))
    chart: AnyChart = alt.layer(*layers).properties(width=WIDTH, height=240)
    return chart


def _known(rows: Sequence[DailyUsage]) -> list[dict[str, Any]]:
    """Return what was reported; a day of a model that reported nothing has no bar."""
    return [
        _tips(row, row.calls, people.count(row.total_tokens)) | {"model": row.model, "tokens": row.total_tokens}
        for row in rows
        if row.total_tokens is not None
    ]


def _unknown(rows: Sequence[DailyUsage]) -> list[dict[str, Any]]:
    """By day, calls without usage, each taken to have used as much as its model's others on average, upon what is known of it.

    One bar a day: each hatched one carries all of its stripes into the page.
    """
    tokens: dict[str, int] = {}
    calls: dict[str, int] = {}
    for row in rows:
        tokens[row.model] = tokens.get(row.model, 0) + (row.total_tokens or 0)
        calls[row.model] = calls.get(row.model, 0) + row.calls - row.calls_without_usage
    days: dict[Any, dict[str, Any]] = {}
    for row in rows:
        tips = _tips(row, 0, "not reported; drawn as the model's other calls")
        day = days.setdefault(row.day, tips | {"model": "all models", "low": 0, "high": 0.0, "unknown": 0})
        day["low"] += row.total_tokens or 0
        if calls[row.model] and tokens[row.model]:
            day["high"] += row.calls_without_usage * tokens[row.model] / calls[row.model]
            day["unknown"] += row.calls_without_usage
    return [
        day | {"high": day["low"] + day["high"], "calls": people.count(day["unknown"])}
        for day in days.values()
        if day["unknown"]
    ]


def _tips(row: DailyUsage, calls: int, used: str) -> dict[str, Any]:
    return {"day": row.day.isoformat(), "on": f"{row.day:%d %b %Y}", "calls": people.count(calls), "used": used}
