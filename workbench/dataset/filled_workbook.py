"""Write columns into a sheet of an Excel workbook; every other byte of its parts stays as it is.

openpyxl would lose what it does not know when it saves: the results of formulas, pictures, shapes, macros, threaded comments. So
the cells are spliced into the sheet's XML, and the other parts are copied. The workbook itself says which columns these are: a
name for each of them, which a spreadsheet program shows among the names and moves with its column.
"""

import copy
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO
from xml.etree import ElementTree
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from openpyxl.utils import column_index_from_string, get_column_letter, range_boundaries

from workbench.dataset.new_columns import Cell, NewColumns, has_values
from workbench.dataset.spliced_xml import Edit, Element, SplicedXml, retagged
from workbench.dataset.workbook import SheetHead, numbered_rows
from workbench.dataset.workbook_parts import BOOK, Parts, parts_of
from workbench.errors import Fault, InputError

MOST_CELL_CHARS = 32_767
"""Of a text in a cell, in UTF-16 units, as Excel counts them."""
_NAME_PREFIX = "workbench_fill_"
_MOST_NAME_CHARS = 100
_MOST_EXACT = 10**15
"""A larger whole number would lose its last digits in a cell."""
_BROKEN_NAME = "#REF!"
_SPANS = re.compile(rb"\sspans=(?:\"[^\"]*\"|'[^']*')")
_WIDTH = re.compile(rb"\s(?:width|customWidth)=(?:\"[^\"]*\"|'[^']*')")
_NOT_IN_A_CELL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SPELT = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
"""How Excel spells a character that XML cannot hold; a text that has it already would be read as that character."""
_SHEETS, _FORMULA = "xl/worksheets/", re.compile(rb"<(?:\w+:)?f[\s>]")
_BEFORE_NAMES = ("sheets", "functionGroups", "externalReferences")
"""What stands before the defined names of a workbook (ECMA-376 part 1, 18.2.27)."""
_FILTER = "_xlnm._FilterDatabase"
"""The name under which a workbook repeats the range of a sheet's filter."""


def marked_columns(head: SheetHead) -> list[str]:
    """Return the columns of a sheet that `fill` wrote, as the names of its workbook say; that of a deleted one is broken."""
    known = {mark for mark, refers_to in head.marks.items() if _BROKEN_NAME not in refers_to}
    return [name for name in head.names if _mark(name) in known]


def _mark(column: str) -> str:
    """Return the defined name of a column: readable, and another one for every column."""
    readable = re.sub(r"\W+", "_", column[:_MOST_NAME_CHARS], flags=re.ASCII)
    return f"{_NAME_PREFIX}{readable}_{zlib.crc32(column.encode()):08x}"


def fitted_to_a_cell(text: str) -> tuple[str, bool, bool]:
    """Return a text as a cell can hold it, whether it was shortened, and whether characters of it were replaced."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    held = _NOT_IN_A_CELL.sub("\ufffd", text)
    units = held.encode("utf-16-le")[: 2 * MOST_CELL_CHARS]
    short = units.decode("utf-16-le", "ignore")  # half a pair at the end is dropped
    return short, len(short) < len(held), held != text


def write_workbook(path: Path, head: SheetHead, columns: NewColumns, target: IO[bytes]) -> None:
    """Write a workbook with columns beside those of a sheet.

    Args:
        path: The workbook; it is not changed.
        columns: By the rows that make samples.

    Raises:
        InputError: It cannot be read as a workbook.
    """
    places = columns.places(head.names)
    grid: dict[int, Mapping[int, Cell]] = {head.row: dict(zip(places, columns.names, strict=True))}
    numbers = (number for _, number, row in numbered_rows(path, head.sheet, ()) if has_values(row, columns.own))
    for number, cells in zip(numbers, columns.rows, strict=True):
        if cells is not None:
            grid[number] = dict(zip(places, cells, strict=True))
    try:
        with zipfile.ZipFile(path) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as written:
            changed = _changed(archive, parts_of(archive, head.sheet), head, columns, grid)
            for info in archive.infolist():
                content = changed.get(info.filename)
                written.writestr(copy.copy(info), archive.read(info) if content is None else content)
    except (zipfile.BadZipFile, zlib.error, LookupError, ValueError, ElementTree.ParseError, expat.ExpatError) as error:
        raise InputError(Fault(str(path), f"not a readable workbook: {error}", "save it again as .xlsx")) from error


def _changed(
    archive: zipfile.ZipFile, parts: Parts, head: SheetHead, columns: NewColumns, grid: dict[int, Mapping[int, Cell]]
) -> dict[str, bytes]:
    """Return the parts of a workbook that change, by name."""
    last = max(len(head.names), *columns.places(head.names))
    sheet = _SheetXml(archive.read(parts.sheet), grid, head, last)
    book = _BookXml(archive.read(BOOK), parts.number, head, columns, sheet.filters)
    sheets = (name for name in archive.namelist() if name.startswith(_SHEETS))
    if any(_FORMULA.search(archive.read(name)) for name in sheets):
        book.recalculate()
    added = [name for name in columns.names if name not in head.names]
    tables = {part: _TableXml(archive.read(part), head, added).spliced for part in parts.tables}
    return {parts.sheet: sheet.spliced, BOOK: book.spliced} | tables


class _SheetXml(SplicedXml):
    """The XML of a sheet, with cells put into it.

    Args:
        grid: The cells by row and column, from 1; of the other columns and rows nothing changes.
        last: The last column that has a header then.
    """

    def __init__(self, data: bytes, grid: Mapping[int, Mapping[int, Cell]], head: SheetHead, last: int) -> None:
        super().__init__(data)
        self.filters: tuple[str, str] | None = None
        """The range of its filter, before and after."""
        self._grid, self._head, self._last = grid, head, last
        self._width = len(head.names)
        self._from = min(self._width, *grid[head.row])  # what is left of it is not looked at
        self._row, self._column = 0, 0
        self._cells: list[tuple[int, Element]] = []
        self._has_formula, self._formulas = False, set[int]()
        self.read(self._ended)

    def _ended(self, element: Element, around: str) -> None:
        match (around, element.name):
            case ("c", "f"):
                self._has_formula = True
            case ("row", "c"):
                place = element.attributes.get("r")
                own = self._column + 1 if place is None else column_index_from_string(place.rstrip("0123456789"))
                self._column = own
                self._cells += [(own, element)] if own >= self._from else []
                self._formulas |= {own} if self._has_formula else set()
                self._has_formula = False
            case ("sheetData", "row"):
                self._row = int(element.attributes.get("r", self._row + 1))
                if self._row in self._grid:
                    self._fill_row(element, self._grid[self._row])
                self._cells, self._formulas, self._column = [], set(), 0
            case ("worksheet", "dimension"):
                self.replace_tag(element, ref=_reaching(element.attributes["ref"], self._last))
            case ("worksheet", "autoFilter"):
                self._widen_filter(element)
            case ("cols", "col"):
                self._show_columns(element)

    def _fill_row(self, row: Element, cells: Mapping[int, Cell]) -> None:
        tag = self.tag(row)
        opened = _SPANS.sub(b"", tag)  # between which columns its cells are: a hint that would be wrong
        there = dict(self._cells)
        heading = there.get(self._width) if self._row == self._head.row else None
        added = dict[int, list[bytes]]()
        end = row.start + len(tag) if row.is_empty else self.data.rindex(b"</", row.start, row.stop)
        for column, value in sorted(cells.items()):
            old = there.get(column)
            styled = old or heading  # a new header looks like the one before it
            style = "" if styled is None else styled.attributes.get("s", "")
            content = self._cell(f"{get_column_letter(column)}{self._row}", value, style)
            if column in self._formulas:
                continue  # somebody wrote it there, and the workbook may list it among its formulas
            if old is not None:
                self.edits.append(Edit(old.start, old.stop, content))
            else:
                before = next((cell.start for place, cell in self._cells if place > column), end)
                added.setdefault(before, []).append(content)
        if row.is_empty:
            opened = opened[:-2] + b">" + b"".join(added.pop(end, [])) + f"</{self.prefix}row>".encode()
        if opened != tag:
            self.edits.append(Edit(row.start, row.start + len(tag), opened))
        self.edits += (Edit(place, place, b"".join(contents)) for place, contents in added.items())

    def _cell(self, place: str, value: Cell, style: str) -> bytes:
        """Return a cell in ASCII; a text is a string, whatever it looks like."""
        p, styled = self.prefix, f' s="{style}"' if style not in ("", "0") else ""
        match value:
            case None | "":
                return f'<{p}c r="{place}"{styled}/>'.encode() if styled else b""
            case bool():
                content, kind = f"<{p}v>{int(value)}</{p}v>", ' t="b"'
            case int() if abs(value) < _MOST_EXACT:
                content, kind = f"<{p}v>{value}</{p}v>", ""
            case float():
                content, kind = f"<{p}v>{value!r}</{p}v>", ""
            case _:
                text = escape(_SPELT.sub("_x005F_", str(value)))
                content, kind = f'<{p}is><{p}t xml:space="preserve">{text}</{p}t></{p}is>', ' t="inlineStr"'
        return f'<{p}c r="{place}"{styled}{kind}>{content}</{p}c>'.encode("ascii", "xmlcharrefreplace")

    def _widen_filter(self, element: Element) -> None:
        old = element.attributes.get("ref", "")
        new = _wider(old, self._head, self._last)
        if new != old:
            self.filters = (old, new)
            self.replace_tag(element, ref=new)

    def _show_columns(self, element: Element) -> None:
        """Take the new columns out of a range of hidden ones, such as that of all empty columns."""
        low, high = (int(element.attributes[name]) for name in ("min", "max"))
        first = self._width + 1
        if element.attributes.get("hidden") not in ("1", "true") or max(low, first) > min(high, self._last):
            return
        tag = self.data[element.start : element.stop]
        shown = retagged(_WIDTH.sub(b"", tag), hidden="0")  # the width of a hidden column may be 0
        parts = [
            (tag, low, min(high, self._width)),
            (shown, max(low, first), min(high, self._last)),
            (tag, max(low, self._last + 1), high),
        ]
        kept = [retagged(part, min=str(begin), max=str(end)) for part, begin, end in parts if begin <= end]
        self.edits.append(Edit(element.start, element.stop, b"".join(kept)))


def _wider(ref: str, head: SheetHead, last: int) -> str:
    """Return a range from the header line, as far as its last column, with the new ones; any other as it is.

    Sorted by a range that ends before them, rows would lose their answers.
    """
    _, top, right, _ = range_boundaries(ref) if ref else (None, None, None, None)
    return _reaching(ref, last) if top == head.row and right == len(head.names) else ref


def _reaching(ref: str, last: int) -> str:
    left, top, right, bottom = range_boundaries(ref)
    return f"{get_column_letter(left or 1)}{top}:{get_column_letter(max(right or last, last))}{bottom}"


class _BookXml(SplicedXml):
    """The XML of a workbook, with a name for each of the columns.

    Args:
        index: Of the sheet, from 0.
        filters: The range of its filter, before and after.
    """

    def __init__(
        self, data: bytes, index: int, head: SheetHead, columns: NewColumns, filters: tuple[str, str] | None
    ) -> None:
        super().__init__(data)
        self._index, self._filters = str(index), filters
        self._after = 0
        self._calculation: list[Element] = []
        self._names: list[Element] = []
        self.read(self._ended)
        sheet, p = head.sheet.replace("'", "''"), self.prefix
        made = b""
        for name, place in zip(columns.names, columns.places(head.names), strict=True):
            refers_to = escape(f"'{sheet}'!${get_column_letter(place)}${head.row}")
            tag = f'<{p}definedName name="{_mark(name)}" localSheetId="{index}">{refers_to}</{p}definedName>'
            made += tag.encode("ascii", "xmlcharrefreplace")
        start, end = self._after, self._after
        if self._names and not self._names[0].is_empty:
            start = end = self.data.rindex(b"</", self._names[0].start, self._names[0].stop)
        else:
            made = f"<{p}definedNames>".encode() + made + f"</{p}definedNames>".encode()
            if self._names:
                start, end = self._names[0].start, self._names[0].stop
        self.edits.append(Edit(start, end, made))

    def recalculate(self) -> None:
        """Have formulas worked out when the workbook is opened: what they say of the new cells is not known before."""
        wanted = ' fullCalcOnLoad="1"'
        if not self._calculation:
            place = self._names[0].stop if self._names else self._after
            self.edits.append(Edit(place, place, f"<{self.prefix}calcPr{wanted}/>".encode()))
        elif "fullCalcOnLoad" in self._calculation[0].attributes:
            self.replace_tag(self._calculation[0], fullCalcOnLoad="1")
        else:
            place = self._calculation[0].start + len(f"<{self.prefix}calcPr")
            self.edits.append(Edit(place, place, wanted.encode()))

    def _ended(self, element: Element, around: str) -> None:
        if around == "workbook" and element.name in _BEFORE_NAMES:
            self._after = element.stop
        elif around == "workbook" and element.name == "definedNames":
            self._names.append(element)
        elif around == "workbook" and element.name == "calcPr":
            self._calculation.append(element)
        elif element.name == "definedName" and element.attributes.get("localSheetId") == self._index:
            name = element.attributes.get("name", "")
            if name.startswith(_NAME_PREFIX):
                self.edits.append(Edit(element.start, element.stop, b""))
            elif name == _FILTER and self._filters is not None:
                old, new = (_absolute(ref).encode() for ref in self._filters)
                text = self.data[element.start : element.stop].replace(b"!" + old + b"<", b"!" + new + b"<")
                self.edits.append(Edit(element.start, element.stop, text))


def _absolute(ref: str) -> str:
    return re.sub(r"([A-Z]+)([0-9]+)", r"$\1$\2", ref)


class _TableXml(SplicedXml):
    """The XML of a table of a sheet, with the new columns as its own where it ends at the last column of the sheet.

    Args:
        added: The columns that are new.
    """

    def __init__(self, data: bytes, head: SheetHead, added: list[str]) -> None:
        super().__init__(data)
        self._head, self._added, self._ids = head, added, [0]
        self._last = len(head.names) + len(added)
        self._is_wider = False
        self.read(self._ended)
        if not self._is_wider:
            self.edits.clear()

    def _ended(self, element: Element, around: str) -> None:
        ref = element.attributes.get("ref", "")
        match (around, element.name):
            case ("tableColumns", "tableColumn"):
                self._ids.append(int(element.attributes["id"]))
            case ("table", "tableColumns"):
                self._add_columns(element)
            case ("table", "autoFilter") | ("", "table"):
                new = _wider(ref, self._head, self._last)
                self._is_wider = new != ref  # the table itself ends last
                self.replace_tag(element, ref=new)

    def _add_columns(self, columns: Element) -> None:
        count, newest = int(columns.attributes.get("count", "0")) + len(self._added), max(self._ids)
        end = self.data.rindex(b"</", columns.start, columns.stop)
        made = "".join(
            f'<{self.prefix}tableColumn id="{newest + number}" name={quoteattr(name)}/>'
            for number, name in enumerate(self._added, 1)
        )
        self.replace_tag(columns, count=str(count))
        self.edits.append(Edit(end, end, made.encode("ascii", "xmlcharrefreplace")))
