"""Comma- and tab-separated tables (RFC 4180, with a header line), and Parquet."""

import csv
import io
import itertools
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.dataset.files import opened
from workbench.dataset.json_rows import PlacedRow
from workbench.errors import Fault, InputError

_BATCH_ROWS = 1024
_MOST_HEADER_BYTES = 2**20


def delimited_rows(path: Path, delimiter: str) -> Iterator[PlacedRow]:
    """The rows of a table with a header line; every cell is text.

    Args:
        path: The file.
        delimiter: A comma, a semicolon or a tab.

    Raises:
        InputError: A row has more or fewer cells than the header, a quote is not closed, or it is not valid UTF-8.
    """
    csv.field_size_limit(sys.maxsize)  # a long prompt must not make a row invalid
    with opened(path) as stream:
        reader = csv.reader(
            io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), delimiter=delimiter, strict=True
        )
        start = 1
        try:
            header = next(reader, [])
            _check_header(header, path)
            start = reader.line_num + 1
            for cells in reader:
                if cells:
                    if len(cells) != len(header):
                        problem = f"{len(cells)} cells where the header has {len(header)}"
                        raise InputError(
                            Fault(f"{path}:{start}", problem, "a cell that holds a delimiter needs quotes")
                        )
                    yield f"{path}:{start}", dict(zip(header, cells, strict=True))
                start = reader.line_num + 1
        except csv.Error as error:
            cut = "unexpected end" in str(error)
            problem = f"a quote opened on line {start} is never closed" if cut else str(error)
            raise InputError(Fault(f"{path}:{reader.line_num}", f"not a valid table: {problem}")) from error
        except UnicodeDecodeError as error:
            problem = f"byte {error.object[error.start]:#04x} is not UTF-8"
            raise InputError(Fault(f"{path}:{reader.line_num + 1} or soon after", problem, "is it Latin-1?")) from error


def delimiter_of(path: Path) -> str:
    """What separates the cells of a file whose name or first line says CSV: a comma, or the semicolon of many offices."""
    with opened(path) as stream:
        first = stream.readline(_MOST_HEADER_BYTES)
    return ";" if first.count(b";") > first.count(b",") else ","


def _check_header(header: list[str], path: Path) -> None:
    for number, name in enumerate(header, 1):
        if not name.strip():
            raise InputError(Fault(f"{path}:1", f"column {number} of the header has no name"))
        if header.count(name) > 1:
            raise InputError(Fault(f"{path}:1", f"the header names {name!r} twice"))


def _plain(batch: Any) -> Any:
    """A batch whose times and decimals are text, as they would be in any other format."""
    import pyarrow.types as kinds

    for number, field in enumerate(batch.schema):
        if kinds.is_temporal(field.type) or kinds.is_decimal(field.type):
            batch = batch.set_column(number, field.name, batch.column(number).cast("string"))
    return batch


def parquet_rows(path: Path) -> Iterator[PlacedRow]:
    """The rows of a Parquet file; a compressed one is unpacked to a temporary file first, for it is read from its end.

    Raises:
        InputError: It is not a Parquet file, or is damaged.
    """
    import pyarrow
    import pyarrow.parquet

    with tempfile.TemporaryFile() as unpacked:
        with opened(path) as stream:
            shutil.copyfileobj(stream, unpacked)
        try:
            with pyarrow.parquet.ParquetFile(unpacked) as file:
                batches = file.iter_batches(batch_size=_BATCH_ROWS)
                rows = itertools.chain.from_iterable(_plain(batch).to_pylist() for batch in batches)
                for number, columns in enumerate(rows, 1):
                    yield f"{path}: row {number}", columns
        except (pyarrow.ArrowException, OSError, TypeError, ValueError, OverflowError) as error:
            raise InputError(Fault(str(path), f"not a readable Parquet file: {error}")) from error
