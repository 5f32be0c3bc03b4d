"""The charts of the allowance's page: the course of a window, seen, unseen and ahead; and the tokens of each day, by model."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import workbench.display.text as people
from workbench.allowance.account import AccountState
from workbench.allowance.course import ForecastPoint, Moment
from workbench.ledger.usage_rows import DailyUsage
from workbench.report.chart_parts import (
    DOT,
    RULE,
    WIDTH,
    Spec,
    amounts,
    category,
    clock_axis,
    hatching,
    moment,
    number,
    on_clock,
    over,
    said_by_clock,
    text_tip,
)
from workbench.report.drawing import Colours
from workbench.wording.allowance import span, units

OTHERS = "all others"
"""The name of the models that have no colour of their own."""


def window_chart(found: AccountState, zone: str) -> Spec | None:
    """Return the units used since the window began; None where it has no course.

    Args:
        zone: The account's, whose clock the axis has.
    """
    if found.window is None or len(found.course) < 2:
        return None
    domain = [on_clock(at, zone) for at in (found.window.start_at, found.window.end_at)]
    across = clock_axis(zone, domain=domain, tickCount=8)
    seen = [_at(one.at, zone) | {"seen": one.seen, "used": units(one.seen)} for one in found.course]

    def layer(rows: Sequence[Spec], mark: Spec, y: str, y2: str | None = None, used: str | None = None) -> Spec:
        up = number(y, title=f"{found.unit} used", axis=amounts())
        top = {} if y2 is None else {"y2": {"field": y2}}
        tips = {} if used is None else {"tooltip": [text_tip("when", title=zone), text_tip("used", title=used)]}
        return over(rows) | {"mark": mark, "encoding": {"x": across, "y": up} | top | tips}

    layers: list[Spec] = []
    if found.ahead:
        forecast = {"type": "area", "color": "var(--m8)", "opacity": 0.25, "clip": True}
        layers.append(layer(_spans(found.ahead, zone), forecast, "low", "high", "used by then"))
    if whole := _spans(found.course, zone):
        seen_at = {point["at"]: point["seen"] for point in seen}
        others = [row | {"seen": seen_at[row["at"]]} for row in whole]
        at_least = {"type": "area", "color": "var(--others)", "opacity": 0.5}
        layers.append(layer(others, at_least, "seen", "low", "used in all"))
        at_most = {"type": "area", "color": hatching("var(--others)"), "stroke": "var(--others)", "strokeWidth": 1}
        layers.append(layer(others, at_most, "low", "high", "used in all"))
    edge = {"color": "var(--m0)", "strokeWidth": 2}
    ours = {"type": "area", "color": "var(--m0)", "opacity": 0.35, "line": edge}
    layers += [layer(seen, ours, "seen", used="seen"), *_readings(found, across, zone)]
    if found.total is not None:
        dashed = {"type": "rule", "strokeDash": [6, 4], "color": "var(--failed)", "strokeWidth": 1.5}
        layers.append(over([{"total": found.total}]) | {"mark": dashed, "encoding": {"y": number("total")}})
    return {"layer": layers, "width": WIDTH, "height": 260}


def _spans(points: Sequence[Moment | ForecastPoint], zone: str) -> list[Spec]:
    """Return what was used in all at each moment, from the least to the most, where that is known."""
    return [
        _at(one.at, zone) | {"low": one.low, "high": one.high, "used": span(one.low, one.high)}
        for one in points
        if one.low is not None and one.high is not None
    ]


def _readings(found: AccountState, across: Spec, zone: str) -> list[Spec]:
    """Return a point, with its rounding, at each reading that says something in units."""
    total = None if found.total is None else (found.total, found.total)
    rows = [
        _at(one.read_at, zone)
        | {"low": used[0], "high": used[1], "middle": sum(used) / 2, "read": f"{one.of_what} {one.said}"}
        for one in found.readings
        if (used := one.used(total)) is not None
    ]
    if not rows:
        return []
    ends = {"x": across, "y": number("low"), "y2": {"field": "high"}}
    middle = {
        "x": across,
        "y": number("middle"),
        "tooltip": [text_tip("when", title=zone), text_tip("read")],
    }
    return [
        over(rows) | {"mark": RULE | {"color": "var(--ink)"}, "encoding": ends},
        over(rows) | {"mark": DOT | {"size": 60, "color": "var(--ink)"}, "encoding": middle},
    ]


def _at(at: datetime, zone: str) -> Spec:
    return {"at": on_clock(at, zone), "when": said_by_clock(at, zone)}


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
