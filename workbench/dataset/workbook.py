"""Excel workbooks (.xlsx): one sheet, with a header line."""

import datetime
import re
import warnings
import zipfile
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.dataset.json_rows import PlacedRow
from workbench.dataset.table_rows import UNNAMED_INDEX, check_index, checked_header
from workbench.dataset.workbook_parts import parts_of
from workbench.errors import Fault, InputError, nearest

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=[\"']([A-Z0-9:]+)")
_MOST_RANGES = 3


class SheetHead(NamedTuple):
    """The header line of a sheet."""

    sheet: str
    """The sheet's name."""
    row: int
    """Its row, counted from 1; 0 where the sheet has none."""
    names: list[str]
    """Of its columns, from the first; a first one without a name is ""."""
    marks: Mapping[str, str]
    """The names that the workbook defines for this sheet alone -> what they refer to."""


def workbook_rows(path: Path, sheet: str | None, needed: Collection[str] | None = None) -> Iterator[PlacedRow]:
    """Return the rows of a sheet as numbers, texts and truth values; times are ISO texts, empty cells are null.

    Args:
        sheet: Its name; None is the only one that has anything.
        needed: The columns that somebody reads: a formula without a value is an error there, and null elsewhere. None: all.

    Raises:
        InputError: There is no such sheet, several have rows, a header is missing, or a formula has no stored result.
    """
    return ((place, columns) for place, _, columns in numbered_rows(path, sheet, needed))


def numbered_rows(
    path: Path, sheet: str | None, needed: Collection[str] | None = None
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Return the same with the number of each row in the sheet, from 1."""
    values, formulas = _opened(path, data_only=True), _opened(path, data_only=False)
    try:
        name = _sheet_name(path, values, sheet)
        with closing(_cells(values, name)) as results, closing(_cells(formulas, name)) as written:
            yield from _rows(path, name, zip(results, written, strict=True), needed)
    finally:
        values.close()
        formulas.close()


def sheet_head(path: Path, sheet: str | None) -> SheetHead:
    """Return the header line of a sheet, and what the workbook marks in it.

    Raises:
        InputError: There is no such sheet, or several have rows, or the header has a column without a name.
    """
    with closing(_opened(path, data_only=True)) as book:
        name = _sheet_name(path, book, sheet)
        marks = {mark: str(defined.value) for mark, defined in book[name].defined_names.items()}
        with closing(_cells(book, name)) as rows:
            for number, cells in enumerate(rows, 1):
                if any(cell.value is not None for cell in cells):
                    names = _titles(cells)
                    checked_header(names, _place(path, name, number))
                    return SheetHead(name, number, names, marks)
    return SheetHead(name, 0, [], marks)


def workbook_notes(path: Path, sheet: str | None) -> Iterator[str]:
    """Return what is unusual of a sheet that is read all the same."""
    head = sheet_head(path, sheet)
    if checked_header(head.names, str(path)):
        yield UNNAMED_INDEX
    merged: list[str] = []
    with zipfile.ZipFile(path) as archive, suppress(LookupError):  # of a namespace that we do not know
        merged = [one.decode() for one in _MERGED.findall(archive.read(parts_of(archive, head.sheet).sheet))]
    if merged:
        some = ", ".join(merged[:_MOST_RANGES]) + (", …" if len(merged) > _MOST_RANGES else "")
        yield f"sheet {head.sheet!r} has merged cells ({some}): the first of each has its value, and the others are empty"


def _opened(path: Path, *, data_only: bool) -> "Workbook":
    import openpyxl  # for workbooks alone

    try:
        with _unwarned():
            return openpyxl.load_workbook(path, read_only=True, data_only=data_only)
    except Exception as error:  # whatever a broken archive makes of its parser
        raise InputError(Fault(str(path), f"not a readable workbook: {error}", "save it again as .xlsx")) from error


@contextmanager
def _unwarned() -> Iterator[None]:
    """Drop what the library says of validations and styles, which are not read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _sheet_name(path: Path, book: "Workbook", wanted: str | None) -> str:
    names = [sheet.title for sheet in book.worksheets]
    if wanted is not None and wanted not in names:
        hint = nearest(wanted, names) or f"it has: {', '.join(names)}"
        raise InputError(Fault(str(path), f"there is no sheet {wanted!r}", hint))
    if wanted is not None:
        return wanted
    shown = [sheet.title for sheet in book.worksheets if sheet.sheet_state == "visible"]
    filled = [name for name in shown if _has_rows(book, name)]
    if not filled:
        raise InputError(Fault(str(path), "no sheet has a row", "expected a header line and a sample a line"))
    if len(filled) > 1:
        problem, sheets = "several sheets have rows", ", ".join(filled)
        hint = f'in a job, sheet = "…" under [dataset] names one, elsewhere --sheet: {sheets}'
        raise InputError(Fault(str(path), problem, hint))
    return filled[0]


def _cells(book: "Workbook", sheet: str) -> Generator[Sequence[Any], None, None]:
    """Return the cells of a sheet by row; as long as it is open, so is its part of the archive."""
    there = book[sheet]
    there.reset_dimensions()  # some programs write them wrong, and what is beyond would be lost
    with closing(there.iter_rows()) as rows:
        while True:
            with _unwarned():  # for as long as a row is read: whoever takes it has warnings of its own
                row = next(rows, None)
            if row is None:
                return
            yield row


def _has_rows(book: "Workbook", sheet: str) -> bool:
    with closing(_cells(book, sheet)) as rows:
        return any(cell.value is not None for row in rows for cell in row)


def _place(path: Path, sheet: str, row: int) -> str:
    return f"{path}: sheet {sheet!r}, row {row}"


def _titles(cells: Sequence[Any]) -> list[str]:
    """Return the names of a header's columns, as far as the last one that has a name."""
    width = max((place for place, title in enumerate(cells, 1) if title.value is not None), default=0)
    return ["" if title.value is None else str(title.value) for title in cells[:width]]


def _rows(
    path: Path, sheet: str, pairs: Iterator[tuple[Sequence[Any], Sequence[Any]]], needed: Collection[str] | None
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    numbered = (
        (number, pair) for number, pair in enumerate(pairs, 1) if any(cell.value is not None for cell in pair[1])
    )
    first, (titles, _) = next(numbered, (1, ((), ())))
    header, where = _titles(titles), _place(path, sheet, first)
    width, skipped = len(header), checked_header(header, where)
    for count, (number, (results, written)) in enumerate(numbered):
        place = _place(path, sheet, number)
        if any(cell.value is not None for cell in results[width:]):
            raise InputError(Fault(place, "a cell beyond the header", "name its column in the first row"))
        cells = [
            _plain(result, formula, f"{place}: {name}" if name else place, is_needed=needed is None or name in needed)
            for name, result, formula in zip(header, results, written, strict=False)
        ]
        cells += [None] * (width - len(cells))
        if skipped:
            check_index(cells[0], count, where)
        yield place, number, dict(zip(header[skipped:], cells[skipped:], strict=True))


def _plain(result: Any, written: Any, place: str, *, is_needed: bool) -> Any:
    """Return a cell's value as any other format would hold it.

    Args:
        result: The cell with its stored result.
        written: The same with its formula.
        is_needed: Whether somebody reads its column; else what has no value is null.

    Raises:
        InputError: A formula was never worked out by whatever wrote the file, or its result is an error.
    """
    value = result.value
    if not is_needed and result.data_type == "e":
        return None
    if value is None and is_needed and written.data_type == "f" and result.data_type not in ("s", "str"):
        problem = f"the formula {getattr(written.value, 'text', written.value)!s:.40} has no stored result"
        raise InputError(Fault(place, problem, "open the workbook in a spreadsheet program and save it"))
    if result.data_type == "e":
        raise InputError(Fault(place, f"a formula gives {value}", "repair it, or leave the column out"))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, datetime.timedelta) else value
