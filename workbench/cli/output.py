"""How values look on a terminal: JSON for programs, tables for people."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from workbench.display.columns import Column
from workbench.display.text import count, in_a_line, significant, visible

if TYPE_CHECKING:
    from workbench.ledger.ingest import Ingested

_LEAST_WIDTH = 8
_A_NUMBER = re.compile(r"[-−+±<>≥≤~ ]*(\d[\d.,\u202f]*(?![\w-])|\d{4}-\d\d-\d\d)")
"""How a cell begins that holds numbers: one that is cut would read as another number."""
_LONGEST_NUMBER = 32
"""With its interval."""
_SIX_FIGURES = 100_000
_ENCODER = msgspec.json.Encoder(enc_hook=str)


def echo(text: str = "") -> None:
    """Print a line for people on standard output, with control characters made visible."""
    _print(visible(text))


def echo_sentences(text: str) -> None:
    """Print sentences; on a terminal in lines of its width."""
    wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    echo(textwrap.fill(text, wide, break_on_hyphens=False) if wide else text)


def _print(text: str | bytes) -> None:
    try:
        click.echo(text)
    except BrokenPipeError:  # whoever read has enough; the command goes on, as its exit code may not be known yet
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")


def say(text: str) -> None:
    """Print a line for people on standard error."""
    click.echo(visible(text), err=True)


def say_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error, a line each."""
    for note in notes:
        say(f"note: {note}")


def note_ingest(done: "Ingested", what: str = "it is") -> None:
    """Print on standard error which damaged journals an ingest set aside, and why what was just recorded is not in the ledger
    yet; nothing where it is.

    Args:
        what: The beginning of the sentence.
    """
    say_notes(done.set_aside_messages())
    if done.deferred:
        say(f"note: {what} in the journal, not ingested yet: {done.deferred}")


def agreed(question: str) -> bool:
    """Ask whoever sits at the terminal; without one, the answer is no."""
    return sys.stdin.isatty() and sys.stderr.isatty() and click.confirm(question, err=True)


def terminal_safe(data: bytes) -> bytes:
    """Return data as a terminal may show it; a file or a program gets it as it is."""
    return visible(data.decode("utf-8", "replace")).encode() if sys.stdout.isatty() else data


def terminal_safe_json(data: bytes) -> bytes:
    """Return the same of JSON, which stays what it is: what would control the terminal is escaped."""
    if not sys.stdout.isatty():
        return data
    text = "".join(sign if visible(sign) == sign else f"\\u{ord(sign):04x}" for sign in data.decode("utf-8", "replace"))
    return text.encode()


def print_json(value: Any) -> None:
    """One value as indented JSON on standard output."""
    _print(terminal_safe_json(msgspec.json.format(_ENCODER.encode(value), indent=2)))


def print_json_lines(values: Any) -> None:
    """Values as JSON on standard output, one per line."""
    for value in values:
        sys.stdout.buffer.write(terminal_safe_json(_ENCODER.encode(value)) + b"\n")


class _TerminalTable(NamedTuple):
    """A table with the widths of its columns."""

    headings: list[str]
    cells: list[list[str]]
    numeric: list[bool]
    """By column."""
    widths: list[int]
    fits: bool


def print_table(
    rows: Sequence[dict[str, Any] | msgspec.Struct],
    columns: Sequence[Column],
    *,
    whole: Sequence[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """Rows as a table on standard output, numbers to the right; for a program that reads it, with plain digits and ISO times.

    On a terminal long texts are cut to its width; where that does not help, columns are left out and named below, and where
    even that does not, each row is a list of its own, with every column.

    Args:
        whole: Names of columns that are never cut: what the next command needs, for one.
        spare: Names of columns that may be left out, in this order.
    """
    plain = [msgspec.structs.asdict(row) if isinstance(row, msgspec.Struct) else row for row in rows]
    every = layout = _laid_out(plain, columns, whole)
    left_out: list[str] = []
    for name in spare:
        if layout.fits:
            break
        left_out += [one.head for one in columns if one.name == name]
        columns = [one for one in columns if one.name != name]
        layout = _laid_out(plain, columns, whole)
    if not layout.fits:
        _print_stacked(every.headings, every.cells)  # there every column has room
        return
    for line in (layout.headings, *layout.cells):
        aligned = [
            text.rjust(width) if right else _cut(text, width).ljust(width)
            for text, width, right in zip(line, layout.widths, layout.numeric, strict=True)
        ]
        echo("  ".join(aligned).rstrip())
    if left_out:
        say(textwrap.fill(f"no room for: {', '.join(left_out)}", shutil.get_terminal_size().columns))


def _laid_out(rows: Sequence[dict[str, Any]], columns: Sequence[Column], whole: Sequence[str]) -> _TerminalTable:
    """Return a table as wide as its texts, or on a terminal as wide as that where it can be."""
    for_people = sys.stdout.isatty()
    cells = [[_cell(one, row.get(one.name), for_people=for_people) for one in columns] for row in rows]
    numeric = [all(isinstance(row.get(one.name), int | float | Decimal | None) for row in rows) for one in columns]
    headings = [_heading(one, for_people=for_people) for one in columns]
    widths = [max(map(len, (heading, *(line[n] for line in cells)))) for n, heading in enumerate(headings)]
    if not for_people:
        return _TerminalTable(headings, cells, numeric, widths, fits=True)
    room = shutil.get_terminal_size().columns
    holds_numbers = [_is_short_with_a_number(texts) for texts in zip(*cells, strict=True)] or numeric
    fixed = [
        right or numbers or one.name in whole
        for one, right, numbers in zip(columns, numeric, holds_numbers, strict=True)
    ]
    widths = _narrowed(widths, fixed, room)
    return _TerminalTable(headings, cells, numeric, widths, _width(widths) <= room)


def _is_short_with_a_number(texts: Sequence[str]) -> bool:
    return any(map(_A_NUMBER.match, texts)) and max(map(len, texts)) <= _LONGEST_NUMBER


def _print_stacked(headings: list[str], cells: list[list[str]]) -> None:
    """Print a block of lines for each row; what does not fit beside its heading stands below it."""
    margin, room = max(map(len, headings)), shutil.get_terminal_size().columns
    for number, line in enumerate(cells):
        if number:
            echo()
        for heading, text in zip(headings, line, strict=True):
            fits = margin + 2 + len(text) <= room
            lines = textwrap.wrap(text, max(room - 2, 1), break_long_words=False, break_on_hyphens=False)
            echo(f"{heading.ljust(margin)}  {text}" if fits else "\n  ".join([heading, *lines]))


def _width(widths: list[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _narrowed(widths: list[int], fixed: list[bool], room: int) -> list[int]:
    """Shrink the widest columns that are not fixed, one character at a time, until the table fits."""
    widths = list(widths)
    free = [column for column, kept in enumerate(fixed) if not kept]
    while _width(widths) > room:
        widest = max(free, key=lambda column: widths[column], default=0)
        if not free or widths[widest] <= _LEAST_WIDTH:
            break
        widths[widest] -= 1
    return widths


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _heading(column: Column, *, for_people: bool) -> str:
    """Return the heading of one word; with the unit, where values are shown without one."""
    is_bare = column.unit and (not for_people or not column.is_figure)
    return f"{column.head} ({column.unit})" if is_bare else column.head


def _plain(value: float | Decimal) -> str:
    """Return a number with six significant figures, and with every digit before its point."""
    return f"{value:.0f}" if abs(float(value)) >= _SIX_FIGURES else f"{value:.6g}"


def _cell(column: Column, value: Any, *, for_people: bool) -> str:
    if value is not None and for_people and column.is_figure:
        return column.shown(value)
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return count(value) if for_people else str(value)
        case float() | Decimal():
            return significant(float(value)) if for_people else _plain(value)
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}" if for_people else f"{value:%Y-%m-%dT%H:%M:%SZ}"
        case _:
            return in_a_line(str(value))
