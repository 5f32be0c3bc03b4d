"""Comma- and tab-separated tables (RFC 4180, with a header line), and Parquet."""

import csv
import io
import itertools
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.dataset.files import MOST_LINE_BYTES, encoding_of, likely_encoding, opened
from workbench.dataset.json_rows import PlacedRow
from workbench.errors import Fault, InputError

UNNAMED_INDEX = "its first column has no name, and is left out as an index"
"""What is said of it."""
_BATCH_ROWS = 1024
_ENCODINGS = {"utf-16": "UTF-16", "cp1252": "CP1252 (Windows, Western Europe)"}
_MOST_BATCH_BYTES = 2**27
_OTHER_CELLS = "quote the cells that hold a delimiter, or set dataset.delimiter"


def delimited_rows(path: Path, delimiter: str) -> Iterator[PlacedRow]:
    """Return the rows of a table with a header line; every cell is text.

    A first column without a name, which pandas writes for its index, is left out.

    Raises:
        InputError: A row has more or fewer cells than the header, a quote is not closed, or its text is in no known encoding.
    """
    csv.field_size_limit(sys.maxsize)  # a long prompt must not make a row invalid
    encoding = encoding_of(path)
    with opened(path) as stream:
        reader = csv.reader(io.TextIOWrapper(stream, encoding=encoding, newline=""), delimiter=delimiter, strict=True)
        start = 1
        try:
            header, start = header_row(reader)
            at_header = f"{path}:{start}"
            skipped = checked_header(header, at_header)
            start, count = reader.line_num + 1, 0
            for cells in reader:
                if cells:
                    if len(cells) != len(header):
                        problem = f"{len(cells)} cells where the header has {len(header)}"
                        raise InputError(Fault(f"{path}:{start}", problem, _OTHER_CELLS))
                    if skipped:
                        check_index(cells[0], count, at_header)
                    count += 1
                    yield f"{path}:{start}", dict(zip(header[skipped:], cells[skipped:], strict=True))
                start = reader.line_num + 1
        except csv.Error as error:
            cut = "unexpected end" in str(error)
            problem = f"a quote opened on line {start} is never closed" if cut else str(error)
            hint = "a quote inside a cell is written twice" if cut else ""
            raise InputError(Fault(f"{path}:{reader.line_num}", f"not a valid table: {problem}", hint)) from error
        except UnicodeDecodeError as error:
            problem = f"byte {error.object[error.start]:#04x} is not UTF-8"
            raise InputError(
                Fault(f"{path}:{reader.line_num + 1} or soon after", problem, likely_encoding(error.object))
            ) from error


def header_row(reader: Any) -> tuple[list[str], int]:
    """Return the names of a table's columns, and the line where they begin; empty lines above them are skipped.

    Args:
        reader: One of the module `csv`, which has read nothing yet.
    """
    line = 1
    for cells in reader:
        if cells:
            return cells, line
        line = reader.line_num + 1
    return [], 1


def checked_header(header: list[str], place: str) -> int:
    """Return how many columns at the beginning are left out: one, where the first has no name and all others have theirs.

    Raises:
        InputError: Another column has no name, or two have the same.
    """
    seen: set[str] = set()
    skipped = int(len(header) > 1 and not header[0].strip())
    for number, name in enumerate(header[skipped:], 1 + skipped):
        if not name.strip():
            hint = "remove the line" if number == 2 and header[0] == "sep=" else "name it"
            raise InputError(Fault(place, f"column {number} of the header has no name", hint))
        if name in seen:
            raise InputError(Fault(place, f"the header names {name!r} twice", "rename one"))
        seen.add(name)
    return skipped


def check_index(cell: Any, count: int, place: str) -> None:
    """Refuse a column without a name that is not the number of each row, from 0 or from 1.

    Args:
        cell: Of a row.
        count: How many rows are before it.
        place: Of the header.

    Raises:
        InputError: It holds something else, which would be lost.
    """
    if str(cell).strip() not in (str(count), str(count + 1)):
        raise InputError(Fault(place, "column 1 of the header has no name, and is not an index", "name it"))


def table_notes(path: Path, delimiter: str) -> Iterator[str]:
    """Return what is unusual of a table that is read all the same."""
    encoding = encoding_of(path)
    if encoding != "utf-8-sig":
        yield f"read as {_ENCODINGS[encoding]}, not UTF-8"
    with opened(path) as stream, io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
        header, line = header_row(csv.reader(text, delimiter=delimiter))
    if checked_header(header, f"{path}:{line}"):
        yield UNNAMED_INDEX


def _plain(value: Any, place: str) -> Any:
    """Return a value as any other format would hold it: times and decimals as text, bytes as the text that they are.

    Raises:
        InputError: Bytes are not text, or a number is one that JSON does not have.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None  # how tables mark what is missing
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError as error:
                raise InputError(
                    Fault(place, f"{len(value)} bytes that are not text", "leave the column out")
                ) from error
        case dict():
            return {str(name): _plain(inner, place) for name, inner in value.items()}
        case list() | tuple():
            return [_plain(inner, place) for inner in value]
        case _:
            return str(value)


def _as_given(column: Any) -> Any:
    """Return a column with numbers of 32 bits as they were given: 0.1, not 0.10000000149011612,
    which is only its nearest there.
    """
    import pyarrow

    in_digits = _retyped(column.type, pyarrow.string())
    return column if in_digits == column.type else column.cast(in_digits).cast(_retyped(column.type, pyarrow.float64()))


def _retyped(kind: Any, narrow: Any) -> Any:
    """Return a type with another one in place of floats of 32 bits, at any depth."""
    import pyarrow
    import pyarrow.types as types

    if types.is_float32(kind):
        return narrow
    if types.is_dictionary(kind):
        found = _retyped(kind.value_type, narrow)
        return kind if found == kind.value_type else found
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(_retyped(field.type, narrow)) for field in kind])
    if types.is_map(kind):
        return pyarrow.map_(_retyped(kind.key_type, narrow), _retyped(kind.item_type, narrow))
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(kind.value_field.with_type(_retyped(kind.value_type, narrow)), kind.list_size)
    if types.is_list(kind) or types.is_large_list(kind):
        made = pyarrow.large_list if types.is_large_list(kind) else pyarrow.list_
        return made(kind.value_field.with_type(_retyped(kind.value_type, narrow)))
    return kind


def _rows_at_once(group: Any, path: Path) -> int:
    """Return how many rows of a row group are read at once.

    Fewer where a column repeats values by number: a small file may hold a long text a million times.
    """
    rows = _BATCH_ROWS
    for number in range(group.num_columns):
        column = group.column(number)
        if column.total_uncompressed_size > MOST_LINE_BYTES * max(1, column.num_values):
            mib = column.total_uncompressed_size // max(1, column.num_values) // 2**20
            raise InputError(
                Fault(
                    f"{path}: {column.path_in_schema}",
                    f"values of {mib} MiB: too long for a prompt",
                    "leave the column out",
                )
            )
        if column.physical_type == "BYTE_ARRAY" and column.has_dictionary_page:
            rows = min(rows, max(1, _MOST_BATCH_BYTES // max(1, _dictionary_bytes(column))))
    return rows


def _dictionary_bytes(column: Any) -> int:
    """About how long the dictionary of a column is, unpacked: no value is longer."""
    packed = column.data_page_offset - (column.dictionary_page_offset or 0)
    unpacked = packed * column.total_uncompressed_size // max(1, column.total_compressed_size)
    return int(min(column.total_uncompressed_size, max(2**17, 2 * unpacked)))


def parquet_rows(path: Path) -> Iterator[PlacedRow]:
    """Return the rows of a Parquet file; a compressed one is unpacked to a temporary file first, for it is read from its end.

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
                names = file.schema_arrow.names
                if twice := [name for number, name in enumerate(names) if name in names[:number]]:
                    raise InputError(Fault(str(path), f"two columns have the name {twice[0]!r}", "rename one"))
                rows = itertools.chain.from_iterable(
                    pyarrow.record_batch([_as_given(column) for column in batch.columns], names).to_pylist()
                    for group in range(file.metadata.num_row_groups)
                    for batch in file.iter_batches(_rows_at_once(file.metadata.row_group(group), path), [group])
                )
                for number, columns in enumerate(rows, 1):
                    place = f"{path}: row {number}"
                    yield place, {name: _plain(value, f"{place}: {name}") for name, value in columns.items()}
        except (pyarrow.ArrowException, OSError, TypeError, ValueError, OverflowError) as error:
            raise InputError(Fault(str(path), f"not a readable Parquet file: {error}", "fetch it again")) from error
