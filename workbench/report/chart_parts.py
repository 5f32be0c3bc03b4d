"""What all charts are made of: their size, their lines a model, their tooltips."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from workbench.report.drawing import AnyChart

WIDTH, ROW = 640, 28
"""px."""


def model_axis(models: Sequence[str], *, fixed: bool = False) -> alt.Y:
    """Return a line for each model, in this order; fixed: also for those of which nothing is drawn."""
    scale = alt.Scale(domain=list(models)) if fixed else alt.Undefined
    return alt.Y("model:N", sort=list(models), title=None, scale=scale)


def amounts(**options: Any) -> alt.Axis:
    """Return an axis of counts in short: 500k, 1.5M, and 0 without a unit."""
    return alt.Axis(format="~s", labelExpr="datum.value ? datum.label : '0'", **options)


def sized(chart: AnyChart, rows: int) -> AnyChart:
    """As wide as a page's column, and high enough for so many lines."""
    return chart.properties(width=WIDTH, height=max(ROW * rows, ROW))


def over(rows: Sequence[dict[str, Any]], **size: Any) -> alt.Chart:
    """Return a chart over rows."""
    return alt.Chart(alt.Data(values=list(rows)), **size)  # type: ignore[no-untyped-call]


def tip(name: str, kind: str = "Q", *, title: str | None = None, format: str = ".3~f") -> alt.Tooltip:
    """Return a line of a tooltip; what the page has in words is given as text (`N`), in the same words."""
    if kind == "Q":
        return alt.Tooltip(f"{name}:Q", title=title or name, format=format)
    return alt.Tooltip(f"{name}:{kind}", title=title or name)


def hatching(colour: str, stripes: int = 110) -> alt.Gradient:
    """Stripes: what is not known is never drawn like what is."""
    stops: list[Any] = []
    for number in range(stripes):
        fill = colour if number % 2 else "transparent"
        stops += [
            alt.GradientStop(color=fill, offset=number / stripes), alt.GradientStop(color=fill, offset=(number + 1) / stripes),
        ]  # fmt: skip
    return alt.Gradient(gradient="linear", stops=stops, x1=0, y1=0, x2=1, y2=1)  # type: ignore[no-untyped-call]
