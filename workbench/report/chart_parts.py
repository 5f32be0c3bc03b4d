"""What charts are made of, as Vega-Lite reads it: their size, their fields, their lines a model, their tooltips."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

Spec = dict[str, Any]
"""A chart, or a part of one (https://vega.github.io/vega-lite/docs/)."""

WIDTH, ROW = 640, 28
"""px."""
RULE: Spec = {"type": "rule", "strokeWidth": 2}
DOT: Spec = {"type": "point", "filled": True, "size": 90, "opacity": 1}


def over(rows: Sequence[Spec]) -> Spec:
    """Return rows as the data of a chart or a layer."""
    return {"data": {"values": list(rows)}}


def number(field: str, **options: Any) -> Spec:
    """Return a column of numbers."""
    return {"field": field, "type": "quantitative", **options}


def category(field: str, **options: Any) -> Spec:
    """Return a column of texts."""
    return {"field": field, "type": "nominal", **options}


def moment(field: str, **options: Any) -> Spec:
    """Return a column of times."""
    return {"field": field, "type": "temporal", **options}


def clock_axis(zone: str, *, domain: Sequence[str] | None = None, **options: Any) -> Spec:
    """Return the column `at` as an axis of time in 24 hours.

    Args:
        zone: Whose clock the times are by; see `on_clock`.
        domain: From when to when; None: as far as there is something.
        **options: Of the axis.
    """
    ends = {} if domain is None else {"domain": list(domain)}
    formats = {
        "hours": "%H:%M",
        "minutes": "%H:%M",
        "seconds": "%H:%M:%S",
        "date": "%d %b",
        "week": "%d %b",
        "month": "%d %b",
    }
    axis = {"format": formats, "labelOverlap": True, **options}
    return moment("at", title=zone, scale={"type": "utc", **ends}, axis=axis)


def on_clock(at: datetime, zone: str) -> str:
    """Return a time for an axis: what clocks in a zone show, drawn as UTC: the program knows only that zone and its reader's."""
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M:%SZ}"


def said_by_clock(at: datetime, zone: str) -> str:
    """Return the same time in words."""
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"


def model_axis(models: Sequence[str], *, fixed: bool = False) -> Spec:
    """Return a line for each model, in this order; fixed: also for those of which nothing is drawn."""
    axis = category("model", sort=list(models), title=None)
    return axis | {"scale": {"domain": list(models)}} if fixed else axis


def amounts(**options: Any) -> Spec:
    """Return an axis of counts in short: 500k, 1.5M, and 0 without a unit."""
    return {"format": "~s", "labelExpr": "datum.value ? datum.label : '0'", **options}


def sized(chart: Spec, rows: int) -> Spec:
    """Return a chart as wide as a page's column, and high enough for so many lines."""
    return chart | {"width": WIDTH, "height": max(ROW * rows, ROW)}


def tip(field: str, *, title: str | None = None, format: str = ".3~f") -> Spec:
    """Return a number in a tooltip."""
    return number(field, title=title or field, format=format)


def text_tip(field: str, *, title: str | None = None) -> Spec:
    """Return what the page has in words in a tooltip, in the same words."""
    return category(field, title=title or field)


def hatching(colour: str, stripes: int = 110) -> Spec:
    """Return stripes: what is not known is never drawn like what is."""
    fills = [colour if stripe % 2 else "transparent" for stripe in range(stripes)]
    stops = [
        {"color": fill, "offset": edge / stripes} for stripe, fill in enumerate(fills) for edge in (stripe, stripe + 1)
    ]
    return {"gradient": "linear", "stops": stops, "x1": 0, "y1": 0, "x2": 1, "y2": 1}
