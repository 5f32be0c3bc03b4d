"""All layouts, the most telling first; a new one is a line here."""

from collections.abc import Iterator
from pathlib import Path

from workbench.dataset.json_rows import PlacedRow
from workbench.dataset.layouts import benchmarks, bfcl, chat, hub, promptfoo
from workbench.dataset.layouts.layout import PLAIN, Layout, Reader, Row
from workbench.errors import Fault, InputError, nearest

LAYOUTS = (
    chat.BATCH, bfcl.LAYOUT, benchmarks.OPENAI_EVALS, promptfoo.LAYOUT, hub.TRUTHFULQA, benchmarks.BENCHMARK, hub.GSM8K,
    chat.LAYOUT, benchmarks.INSPECT, hub.LAYOUT, PLAIN,
)  # fmt: skip
_OWN = (benchmarks.INSPECT, PLAIN)
"""Those of rows that have our own columns."""
_AS_THEY_ARE = 'dataset.layout = "plain" or --layout plain takes the rows as they are'
_ODD_ROW = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What code that expects a layout's columns raises where a row has others, or other kinds of values."""


def layout_of(row: Row) -> Layout:
    """Return the layout that a file's first row has."""
    among = _OWN if {"input", "target"} <= row.keys() else LAYOUTS
    return next(layout for layout in among if layout.recognises(row))


def layout_named(name: str) -> Layout:
    """Return a layout by its name.

    Raises:
        ValueError: None has it; the text says which there are.
    """
    known = {layout.name: layout for layout in LAYOUTS}
    if name not in known:
        names = ", ".join(known)
        raise ValueError(f"there is no layout {name!r}; {nearest(name, known) or f'known are: {names}'}")
    return known[name]


def in_our_columns(rows: Iterator[PlacedRow], path: Path, layout: Layout | None = None) -> Iterator[PlacedRow]:
    """Return a file's rows with our names for what they hold.

    Args:
        path: Where that is: some layouts have their answers beside it.
        layout: By default the one that the first row has.

    Raises:
        InputError: A row is recognised, and is not something that can be asked.
    """
    read = None
    for place, row in rows:
        if read is None:
            layout = layout or layout_of(row)
            read = _careful(layout, path)
        yield place, read(place, row)


def _careful(layout: Layout, path: Path) -> Reader:
    """Return a layout's reader whose every error is an InputError that says how to go without the layout."""
    hint = "" if layout is PLAIN else _AS_THEY_ARE
    started: list[Reader] = []

    def read(place: str, row: Row) -> Row:
        try:
            if not started:
                started.append(layout.reader(path))
            return started[0](place, row)
        except InputError as error:
            faults = [Fault(one.where, one.problem, "; ".join(filter(None, (one.hint, hint)))) for one in error.faults]
            raise InputError(*faults) from error
        except _ODD_ROW as error:
            missing = error.args[0] if isinstance(error, KeyError) else None
            lack = f" (no column {missing!r})" if missing not in row and f"`{missing}`" in layout.expects else ""
            problem = f"cannot be read as {layout.title}{lack}: expected {layout.expects}"
            raise InputError(Fault(place, problem, hint)) from error

    return read
