"""`workbench datasets`: what a file is taken for, and the same in our own form."""

import json
import sys
from pathlib import Path

import click
import msgspec

from workbench.cli import options
from workbench.cli.output import echo, print_json, say, terminal_safe_json
from workbench.dataset.files import refuse_sheet
from workbench.dataset.layouts.layout import Layout
from workbench.dataset.overview import Overview, converted, overview, write_converted
from workbench.display.text import in_a_line, plural, significant
from workbench.records.calls import Sample

_SHOWN_CHARS = 300
_FORMATS = {"jsonl": "JSON Lines", "json": "a JSON array", "csv": "CSV", "tsv": "TSV", "parquet": "Parquet",
            "xlsx": "an Excel workbook"}  # fmt: skip

_file = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
_layout = click.option(
    "--layout", "named", metavar="NAME", help="Take the rows for this layout [default: detected from the first row]."
)
_sheet = click.option("--sheet", metavar="NAME", help="Of a workbook, this sheet [default: the only one with rows].")


@click.group()
def datasets() -> None:
    """Look at files of samples, and convert them."""


@datasets.command()
@_file
@_layout
@_sheet
@click.option("--samples", default=3, show_default=True, type=click.IntRange(0, 1000), help="How many to show.")
@options.as_json
def show(file: Path, named: str | None, sheet: str | None, samples: int, as_json: bool) -> None:
    """Say what FILE is taken for, and show its first samples."""
    refuse_sheet(file, sheet)
    found = overview(file, _named(named), samples, sheet)
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    for line in _described(file, found):
        echo(line)
    for sample in found.first:
        _show_sample(sample)


@datasets.command()
@_file
@click.argument("target", required=False, type=click.Path(dir_okay=False, path_type=Path))
@_layout
@_sheet
def convert(file: Path, target: Path | None, named: str | None, sheet: str | None) -> None:
    """Write the samples of FILE to TARGET as JSON Lines in our own form; without TARGET, print them."""
    refuse_sheet(file, sheet)
    if target is None:
        for line in converted(file, _named(named), sheet):
            sys.stdout.buffer.write(terminal_safe_json(line))
        return
    say(f"{plural(write_converted(file, _named(named), target, sheet), 'sample')} written to {target}")


def _named(name: str | None) -> Layout | None:
    from workbench.dataset.layouts.known import layout_named

    try:
        return None if name is None else layout_named(name)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _described(file: Path, found: Overview) -> list[str]:
    note = f" ({found.note})" if found.note else ""
    parts = [
        f"{number} with {what}"
        for number, what in (
            (found.with_target, "a target"), (found.with_choices, "choices"), (found.with_tools, "tools of their own"),
            (found.is_chat, "messages"),
        ) if number
    ]  # fmt: skip
    lengths = f"{found.shortest_chars} to {found.longest_chars} characters, median {significant(found.median_chars)}"
    lines = [
        f"{in_a_line(str(file))}: {_FORMATS[found.format]}, taken for {found.title}{note}",
        f"{plural(found.samples, 'sample')}{': ' if parts else ''}{', '.join(parts)}",
        f"input: {lengths}",
    ]
    lines += [f"metadata: {', '.join(map(in_a_line, found.metadata))}"] if found.metadata else []
    lines += [f"note: {note}" for note in found.notes]
    lines += [f"equal samples: {found.equal}"] if found.equal else []
    return lines


def _show_sample(sample: Sample) -> None:
    echo(f"\nsample {in_a_line(sample.id)}")
    for name, value in (
        ("input", sample.input), ("choices", list(sample.choices)), ("target", sample.target), ("tools", list(sample.tools)),
    ):  # fmt: skip
        if value not in (None, [], ()):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            cut = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
            echo(f"  {name:<8} " + cut.replace("\n", "\n" + 11 * " "))
