"""A spreadsheet that is filled: its columns, which of them an earlier `fill` wrote, and the same with new ones."""

from pathlib import Path
from typing import IO

import msgspec

import workbench.display.commands as commands
from workbench.dataset.files import Format, delimiter_of, encoding_of, format_of, is_compressed, refuse_sheet
from workbench.dataset.filled_table import FLAG, fitted_to_a_table, header_of, write_table
from workbench.dataset.filled_table import marked_columns as marked_in_a_table
from workbench.dataset.new_columns import NewColumns
from workbench.dataset.table_rows import delimited_rows
from workbench.errors import Fault, InputError, missing_file


class Sheet(msgspec.Struct, frozen=True):
    """A spreadsheet, or one sheet of a workbook."""

    path: Path
    format: Format
    """`xlsx`, `csv` or `tsv`."""
    name: str | None
    """Of the sheet of a workbook."""
    delimiter: str
    """Of the cells of a table."""
    encoding: str
    """Of a table."""
    header: tuple[str, ...]
    own: frozenset[str]
    """The columns that an earlier `fill` wrote."""

    @property
    def is_workbook(self) -> bool:
        """Whether it is one of Excel."""
        return self.format == "xlsx"

    @property
    def flag(self) -> str:
        """The name of the last of the columns that are written."""
        return "flag" if self.is_workbook else FLAG

    @property
    def columns(self) -> list[str]:
        """Its columns without those that an earlier `fill` wrote."""
        return [name for name in self.header if name not in self.own]

    def fitted(self, text: str) -> tuple[str, bool, bool]:
        """Return a text as it can hold it, whether it was shortened, and whether characters of it were replaced."""
        if not self.is_workbook:
            held = fitted_to_a_table(text, self.encoding)
            return held, False, held != text
        from workbench.dataset.filled_workbook import fitted_to_a_cell

        return fitted_to_a_cell(text)


def read_sheet(path: Path, name: str | None) -> Sheet:
    """Return a spreadsheet as it is now.

    Args:
        name: Of a workbook's sheet; None is the only one that has anything.

    Raises:
        InputError: There is no such file or sheet, it is not a spreadsheet, or a row of a table is broken.
    """
    if path.is_dir():
        raise InputError(Fault("FILE", f"{path} is a folder", "name the spreadsheet in it"))
    if not path.is_file():
        raise InputError(Fault(str(path), "there is no such file", missing_file(path)))
    found = format_of(path)
    if found == "xlsx":
        from workbench.dataset.filled_workbook import marked_columns
        from workbench.dataset.workbook import sheet_head

        head = sheet_head(path, name)
        return Sheet(path, found, head.sheet, "", "", tuple(head.names), frozenset(marked_columns(head)))
    refuse_sheet(path, name)
    if found not in ("csv", "tsv"):
        hint = f"run its job, then `{commands.EXPORT_TO_FILE}`"
        raise InputError(Fault(str(path), f"expected a spreadsheet (.xlsx, CSV or TSV), found {found}", hint))
    if is_compressed(path):
        raise InputError(Fault(str(path), "a compressed table has no cells to write to", "decompress it first"))
    delimiter = "\t" if found == "tsv" else delimiter_of(path)
    for _ in delimited_rows(path, delimiter):
        pass  # whatever is wrong with a row is found before anything is sent, and named
    header = header_of(path, delimiter)
    return Sheet(path, found, None, delimiter, encoding_of(path), tuple(header), frozenset(marked_in_a_table(header)))


def write_sheet(sheet: Sheet, columns: NewColumns, target: IO[bytes]) -> None:
    """Write a spreadsheet with columns beside its own; all else of it stays as it is.

    Args:
        sheet: It is not changed.
        columns: By the rows that make samples.
    """
    if not sheet.is_workbook:
        write_table(sheet.path, sheet.delimiter, columns, target)
        return
    from workbench.dataset.filled_workbook import write_workbook
    from workbench.dataset.workbook import sheet_head

    write_workbook(sheet.path, sheet_head(sheet.path, sheet.name), columns, target)
