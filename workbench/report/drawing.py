"""A chart on its page: a Vega-Lite specification, which the page's script draws, and the table of what it shows.

Colours are the page's own CSS variables, so one drawing serves light and dark.
"""

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from markupsafe import Markup

import workbench.display.text as people
from workbench.report.bundle import VEGA_LITE
from workbench.report.chart_parts import Spec
from workbench.report.tables import Table

T = TypeVar("T")
MOST_CHARS = 34
"""A label's length; the program itself may cut one within a character."""
_WORD_JOINER = "\u2060"  # not seen
_TAKEN = frozenset(
    {
        "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor",
        "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
    }
)  # fmt: skip
"""What every JavaScript object has already: a series of that name would find it."""


class Drawable:
    """Makes the texts of one chart drawable: on some the charts' program throws.

    The same text always becomes the same, and different ones stay different.
    """

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    def __call__(self, value: Any) -> Any:
        """Return the same value with every text in it made drawable."""
        match value:
            case str():
                return value if _COLOUR.fullmatch(value) else self._text(value)
            case dict():
                return {key: self(item) for key, item in value.items()}
            case list():
                return [self(item) for item in value]
            case _:
                return value

    def _text(self, text: str) -> str:
        if text not in self._made:
            shown = people.visible(text)
            if shown in _TAKEN:
                shown += _WORD_JOINER
            number = 1
            while (label := _clipped(shown, number)) in self._made.values():
                number += 1
            self._made[text] = label
        return self._made[text]


def _clipped(text: str, number: int) -> str:
    """Return a text of at most `MOST_CHARS`, cut in its middle; a number tells it from others that are cut to the same."""
    suffix = "" if number == 1 else f" ({number})"
    if len(text) + len(suffix) <= MOST_CHARS:
        return text + suffix
    kept = MOST_CHARS - len(suffix) - 1
    return f"{text[: kept - kept // 2]}…{text[-(kept // 2) :]}{suffix}"


MODEL_COLOURS = 12
_MIXES = ("", "55%, var(--ink)", "50%, var(--ground)", "30%, var(--ink)")
"""What a colour is mixed with where it comes again."""
_MIXED = "color-mix(in oklab, "
_COLOUR = re.compile(rf"{re.escape(_MIXED)}var\(--m\d+\) [\w%, ()-]+\)")
"""One of these, whose end is not to be clipped."""
_AXIS_PX = 40


class Chart(msgspec.Struct, frozen=True):
    """A chart with its title and the table of what it shows."""

    name: str
    title: str
    """A sentence: the finding, or the question that the chart answers."""
    spec: Spec
    table: Table | None = None
    note: str = ""

    @property
    def height(self) -> int:
        """The room to keep for the drawing while it is not there, in px."""
        parts = self.spec.get("vconcat", [self.spec])
        return sum(_AXIS_PX + part["height"] for part in parts if isinstance(part.get("height"), int))

    @property
    def program(self) -> Markup:
        """The specification for the page's script, without anything that could end a script element."""
        return Markup(msgspec.json.encode(self.spec, enc_hook=str).decode().replace("<", "\\u003c"))


class Colours:
    """Which model has which colour: by its place in the ledger's order of first use, on every page."""

    def __init__(self, order: Sequence[str]) -> None:
        self._place = {model: place for place, model in enumerate(order)}

    def of(self, model: str) -> str:
        """Return a CSS colour; after so many models each comes again, darker or paler."""
        again, place = divmod(self._place.get(model, 0), MODEL_COLOURS)
        mix = _MIXES[again % len(_MIXES)]
        return f"{_MIXED}var(--m{place}) {mix})" if mix else f"var(--m{place})"

    def scale(self, models: Sequence[str]) -> Spec:
        """Return the same as a scale for a chart."""
        return {"domain": list(models), "range": [self.of(model) for model in models]}


def told_apart(colours: Sequence[str], ways: Sequence[T]) -> list[T]:
    """Return a way to draw each, another one where a colour comes again, also darker or paler."""
    hues = [re.sub(rf"{re.escape(_MIXED)}(\S+) .*", r"\1", colour) for colour in colours]
    return [ways[hues[:place].count(hue) % len(ways)] for place, hue in enumerate(hues)]


def drawn(name: str, title: str, chart: Spec, table: Table | None, note: str = "") -> Chart:
    """Return a chart as a page has it.

    Args:
        name: Unique on its page.
        table: What it shows, for those who read numbers; None where the page has them in another table.
        note: What a reader must know to read it.
    """
    schema = f"https://vega.github.io/schema/vega-lite/v{VEGA_LITE}.json"
    return Chart(name, title, {"$schema": schema, **Drawable()(chart)}, table, note)
