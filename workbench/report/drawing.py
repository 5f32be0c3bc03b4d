"""A drawing: an SVG for the page as it is, and the same chart for its script to make live.

Colours are the page's own CSS variables, so one drawing serves light and dark.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt
import msgspec
import vl_convert
from markupsafe import Markup

from workbench.report.bundle import VEGA_LITE
from workbench.report.drawable import Drawable
from workbench.report.tables import Table

AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart
MODEL_COLOURS = 12
_LABEL_PX = 0  # no limit: labels are cut before
_SYMBOLS = 0  # no limit: a legend of more than 30 models would lose the others
_CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--soft)", "titleColor": "var(--soft)", "gridColor": "var(--line)", "domainColor": "var(--line)",
        "tickColor": "var(--line)", "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", 
        "labelLimit": _LABEL_PX,
    },
    "axisQuantitative": {"tickCount": 6},
    "axisY": {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleY": -8, "titleX": 0},
    "legend": {
        "labelColor": "var(--ink)", "titleColor": "var(--soft)", "labelFontSize": 12, "titleFontSize": 12, "orient": "top",
        "titleFontWeight": "normal", "labelLimit": _LABEL_PX, "symbolLimit": _SYMBOLS, "columns": 3, "columnPadding": 40,
        "symbolType": "square", "offset": 22,
    },
    "header": {"labelColor": "var(--ink)", "titleColor": "var(--soft)", "labelFontSize": 12},
}  # fmt: skip


class Chart(msgspec.Struct, frozen=True):
    """A chart with its title and the table of what it shows."""

    name: str
    title: str
    """A sentence: the finding, or the question that the chart answers."""
    spec: str
    """Vega-Lite JSON, without anything that could end a script element."""
    svg: str
    table: Table | None = None
    note: str = ""

    @property
    def drawing(self) -> Markup:
        """The SVG for the page: vl-convert escapes what comes from the data."""
        return Markup(self.svg)

    @property
    def program(self) -> Markup:
        """The specification for the page's script."""
        return Markup(self.spec)


class Colours:
    """Which model has which colour: by its place in the ledger's order of first use, on every page."""

    def __init__(self, order: Sequence[str]) -> None:
        self._place = {model: place for place, model in enumerate(order)}

    def of(self, model: str) -> str:
        """A CSS colour."""
        return f"var(--m{self._place.get(model, 0) % MODEL_COLOURS})"

    def scale(self, models: Sequence[str]) -> alt.Scale:
        """The same as a scale for a chart."""
        return alt.Scale(domain=list(models), range=[self.of(model) for model in models])


def drawn(name: str, title: str, chart: AnyChart, table: Table | None, note: str = "") -> Chart:
    """Draw a chart.

    Args:
        name: Unique on its page.
        title: A sentence.
        chart: Without configuration.
        table: What it shows, for those who read numbers.
        note: What a reader must know to read it.
    """
    spec = Drawable()(chart.to_dict(validate=False)) | {"config": _CONFIG}
    spec["$schema"] = f"https://vega.github.io/schema/vega-lite/v{VEGA_LITE}.json"
    try:
        svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    except ValueError:  # its table has the numbers all the same
        return Chart(name, title, "", "", table, "This chart cannot be drawn.")
    text = msgspec.json.encode(spec, enc_hook=str).decode().replace("<", "\\u003c")
    return Chart(name, title, text, svg, table, note)
