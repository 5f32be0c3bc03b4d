"""All layouts, the most telling first; a new one is a module and a line here."""

from collections.abc import Iterator
from pathlib import Path

from workbench.dataset.json_rows import PlacedRow
from workbench.dataset.layouts import (
    batch,
    benchmarks,
    bfcl,
    chat,
    gsm8k,
    hub,
    inspect_samples,
    openai_evals,
    plain,
    promptfoo,
    truthfulqa,
)  # fmt: skip
from workbench.dataset.layouts.layout import Layout, Row
from workbench.errors import nearest

LAYOUTS = (
    batch.LAYOUT, bfcl.LAYOUT, openai_evals.LAYOUT, promptfoo.LAYOUT, truthfulqa.LAYOUT, benchmarks.LAYOUT, gsm8k.LAYOUT,
    chat.LAYOUT, inspect_samples.LAYOUT, hub.LAYOUT, plain.LAYOUT,
)  # fmt: skip
_OWN = (inspect_samples.LAYOUT, plain.LAYOUT)
"""Those of rows that have our own columns."""


def layout_of(row: Row) -> Layout:
    """The layout that a file's first row has."""
    among = _OWN if {"input", "target"} <= row.keys() else LAYOUTS
    return next(layout for layout in among if layout.recognises(row))


def layout_named(name: str) -> Layout:
    """A layout by its name.

    Raises:
        ValueError: None has it; the text says which there are.
    """
    known = {layout.name: layout for layout in LAYOUTS}
    if name not in known:
        names = ", ".join(known)
        raise ValueError(f"there is no layout {name!r}; {nearest(name, known) or f'known are: {names}'}")
    return known[name]


def in_our_columns(rows: Iterator[PlacedRow], path: Path, layout: Layout | None = None) -> Iterator[PlacedRow]:
    """A file's rows with our names for what they hold.

    Args:
        rows: As they are in the file.
        path: Where that is: some layouts have their answers beside it.
        layout: By default the one that the first row has.

    Raises:
        InputError: A row is recognised, and is not something that can be asked.
    """
    read = None
    for place, row in rows:
        read = read or (layout or layout_of(row)).reader(path)
        yield place, read(place, row)
