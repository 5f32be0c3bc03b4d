"""The tokens of each day, by model, with what was not reported."""

from collections.abc import Sequence
from typing import Any

import workbench.display.text as people
from workbench.ledger.usage_rows import DailyUsage
from workbench.report.chart_parts import WIDTH, Spec, amounts, category, hatching, moment, number, over, text_tip
from workbench.report.drawing import Colours

OTHERS = "all others"
"""The name of the models that have no colour of their own."""


def daily_chart(rows: Sequence[DailyUsage], colours: Colours) -> Spec:
    """Return tokens by day, stacked by model; hatched upon them, what calls without usage may have used.

    Args:
        rows: By day and model.
    """
    shown = list(dict.fromkeys(row.model for row in rows if row.model != OTHERS))
    known, unknown = _known(rows), _unknown(rows)
    colour_of = {model: colours.of(model) for model in shown}
    if any(row["model"] == OTHERS for row in known):
        colour_of[OTHERS] = "var(--soft)"
    days = {"format": "%d %b", "labelOverlap": True, "labelAngle": 0, "tickCount": 8}
    across = moment("day", timeUnit="utcyearmonthdate", title=None, axis=days)
    tips = [text_tip("on", title="day"), text_tip("model"), text_tip("used", title="tokens"), text_tip("calls")]
    bars = {
        "x": across,
        "y": number("tokens", title="tokens", axis=amounts()),
        "color": category("model", scale={"domain": list(colour_of), "range": list(colour_of.values())}, title=None),
        "tooltip": tips,
    }
    layers = [over(known) | {"mark": {"type": "bar"}, "encoding": bars}]
    if unknown:
        fill = hatching("var(--unknown)", 8)
        hatched = {"type": "bar", "color": fill, "stroke": "var(--unknown)", "strokeWidth": 1}
        ends = {"x": across, "y": number("low", title="tokens"), "y2": {"field": "high"}, "tooltip": tips}
        layers.append(over(unknown) | {"mark": hatched, "encoding": ends})
    return {"layer": layers, "width": WIDTH, "height": 240}


def _known(rows: Sequence[DailyUsage]) -> list[Spec]:
    """Return what was reported; a day of a model that reported nothing has no bar."""
    return [
        _tips(row, row.calls, people.count(row.total_tokens)) | {"model": row.model, "tokens": row.total_tokens}
        for row in rows
        if row.total_tokens is not None
    ]


def _unknown(rows: Sequence[DailyUsage]) -> list[Spec]:
    """By day, calls without usage, each taken to have used as much as its model's others on average, upon what is known of it.

    One bar a day: each hatched one carries all of its stripes into the page.
    """
    tokens: dict[str, int] = {}
    calls: dict[str, int] = {}
    for row in rows:
        tokens[row.model] = tokens.get(row.model, 0) + (row.total_tokens or 0)
        calls[row.model] = calls.get(row.model, 0) + row.calls - row.calls_without_usage
    days: dict[Any, Spec] = {}
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


def _tips(row: DailyUsage, calls: int, used: str) -> Spec:
    return {"day": row.day.isoformat(), "on": f"{row.day:%d %b %Y}", "calls": people.count(calls), "used": used}
