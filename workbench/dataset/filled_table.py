"""Write columns into a CSV or TSV file; what it has stays as it is, byte for byte, its encoding and its line ends included."""

import codecs
import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from workbench.dataset.files import BOM, encoding_of
from workbench.dataset.new_columns import Cell, NewColumns

FLAG = "flag (workbench)"
"""The last of the columns that `fill` writes: a table has no other place for a mark."""
_FIRST = re.compile(r"answer(?: \(workbench(?: \d+)?\))?")
_BETWEEN = re.compile(r"(?:answer|score|reason)\..*", re.DOTALL)


def marked_columns(header: list[str]) -> list[str]:
    """Return the columns of a table that `fill` wrote: from `answer` to its flag, where they stand beside each other."""
    if FLAG not in header:
        return []
    last = first = header.index(FLAG)
    while first and _BETWEEN.fullmatch(header[first - 1]):
        first -= 1
    if first and _FIRST.fullmatch(header[first - 1]):
        return header[first - 1 : last + 1]
    return [FLAG]


def header_of(path: Path, delimiter: str) -> list[str]:
    """Return the names of a table's columns."""
    text, _, _ = _text(path)
    return next((cells for cells, _ in _records(text, delimiter) if cells), [])


def fitted_to_a_table(text: str, encoding: str) -> str:
    """Return a text as a table in an encoding can hold it: what it cannot hold is a question mark."""
    return text.replace("\0", "?").encode(encoding, "replace").decode(encoding)


def write_table(path: Path, delimiter: str, columns: NewColumns, target: IO[bytes]) -> None:
    """Write a table with columns beside its own: where an earlier `fill` wrote some, in their place, else after the last.

    Args:
        path: The table; it is not changed.
        columns: By its rows.
    """
    text, encoding, mark = _text(path)
    target.write(mark)
    header = list[str]()
    rows = iter(columns.rows)
    for cells, record in _records(text, delimiter):
        if not header:
            header, written = cells, record if not cells else _filled(record, delimiter, cells, columns, columns.names)
        else:
            written = _filled(record, delimiter, header, columns, next(rows)) if cells else record
        target.write(written.encode(encoding))


def _filled(record: str, delimiter: str, header: list[str], columns: NewColumns, cells: Sequence[Cell] | None) -> str:
    """Return the text of a record with its new cells; None leaves those that it has."""
    body = record.rstrip("\r\n")
    line_end = record[len(body) :]
    there = [body[start:stop] for start, stop in _spans(body, delimiter)]
    by_name = dict(zip(header, there, strict=True))
    if cells is None:
        new = [by_name.get(name, "") for name in columns.names]
    else:
        new = [_quoted(_text_of(cell), delimiter) for cell in cells]
    place = next((number for number, name in enumerate(header) if name in columns.own), len(header))
    after = [cell for name, cell in zip(header, there, strict=True) if name not in columns.own][place:]
    return delimiter.join([*there[:place], *new, *after]) + line_end


def _text_of(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return str(cell).upper()  # as spreadsheet programs write it
        case _:
            return str(cell)


def _text(path: Path) -> tuple[str, str, bytes]:
    """Return a table's text, the encoding that it is written in, and the mark before it."""
    content, encoding = path.read_bytes(), encoding_of(path)
    if encoding == "utf-16":
        mark = content[:2]
        encoding = "utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"
    else:
        mark = BOM if content.startswith(BOM) else b""
        encoding = "utf-8" if encoding == "utf-8-sig" else encoding
    return content[len(mark) :].decode(encoding), encoding, mark


def _records(text: str, delimiter: str) -> Iterator[tuple[list[str], str]]:
    """Return the cells of each record with its text as it is there; an empty line has no cells."""
    csv.field_size_limit(sys.maxsize)
    lines = list[str]()

    def noted() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):
            lines.append(line)
            yield line

    for cells in csv.reader(noted(), delimiter=delimiter, strict=True):
        yield cells, "".join(lines)
        lines.clear()


def _spans(body: str, delimiter: str) -> Iterator[tuple[int, int]]:
    """Return where each cell of a record begins and ends, its quotes included."""
    start = 0
    while True:
        place = start
        if body.startswith('"', start):
            place = body.index('"', start + 1) + 1
            while body.startswith('"', place):  # written twice: it belongs to the cell
                place = body.index('"', place + 1) + 1
        stop = body.find(delimiter, place)
        if stop < 0:
            yield start, len(body)
            return
        yield start, stop
        start = stop + len(delimiter)


def _quoted(text: str, delimiter: str) -> str:
    needs_quotes = any(sign in text for sign in (delimiter, '"', "\r", "\n"))
    return '"{}"'.format(text.replace('"', '""')) if needs_quotes else text
