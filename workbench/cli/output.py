"""How values look on a terminal: JSON for programs, tables for people."""

import sys
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import click
import msgspec

from workbench.report.figures import visible

_ENCODER = msgspec.json.Encoder(enc_hook=str)


def say(text: str) -> None:
    """A line for people, on standard error."""
    click.echo(visible(text), err=True)


def print_json(value: Any) -> None:
    """One value as indented JSON on standard output."""
    click.echo(msgspec.json.format(_ENCODER.encode(value), indent=2).decode())


def print_json_lines(values: Any) -> None:
    """Values as JSON on standard output, one a line."""
    for value in values:
        sys.stdout.buffer.write(_ENCODER.encode(value) + b"\n")


def print_table(rows: Sequence[dict[str, Any]], columns: dict[str, str]) -> None:
    """Rows as a table on standard output; numbers to the right.

    Args:
        rows: Dictionaries.
        columns: Key of a row -> heading.
    """
    cells = [[_cell(row.get(key)) for key in columns] for row in rows]
    numeric = [all(isinstance(row.get(key), int | float | None) for row in rows) for key in columns]
    headings = list(columns.values())
    widths = [max(map(len, (heading, *(line[n] for line in cells)))) for n, heading in enumerate(headings)]
    for line in (headings, *cells):
        aligned = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ]
        click.echo("  ".join(aligned).rstrip())


def _cell(value: Any) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}".replace(",", "\u202f")
        case float() | Decimal():
            return f"{value:.4g}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case _:
            return visible(str(value))
