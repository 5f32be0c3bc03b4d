"""Where in the archive of a workbook a sheet and its tables are."""

import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

BOOK = "xl/workbook.xml"
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_SIGNATURES = "_xmlsignatures/"


class Parts(NamedTuple):
    """The parts of a workbook that belong to a sheet."""

    sheet: str
    number: int
    """Of the sheet among all, from 0."""
    tables: list[str]


def parts_of(archive: zipfile.ZipFile, sheet: str) -> Parts:
    """Return the parts that belong to a sheet.

    Raises:
        LookupError: The archive has no such sheet.
    """
    sheets = ElementTree.fromstring(archive.read(BOOK)).findall(f"{_MAIN}sheets/{_MAIN}sheet")
    number, relation = {one.get("name"): (n, one.get(_RELATION)) for n, one in enumerate(sheets)}[sheet]
    part = {name: target for name, _, target in _relations(archive, BOOK)}[relation or ""]
    tables = [target for _, kind, target in _relations(archive, part) if kind.endswith("/table")]
    return Parts(part, number, tables)


def what_a_change_breaks(path: Path) -> str:
    """Return what of a workbook does not survive a change of any cell; empty where nothing is lost."""
    with zipfile.ZipFile(path) as archive:
        signed = any(name.startswith(_SIGNATURES) for name in archive.namelist())
    return "a digital signature" if signed else ""


def _relations(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[str, str, str]]:
    """Return the relations of a part: their ids, their types and the parts that they lead to."""
    folder, name = posixpath.split(part)
    relations = f"{folder}/_rels/{name}.rels"
    if relations in archive.namelist():
        for one in ElementTree.fromstring(archive.read(relations)):
            target = posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/")
            yield one.get("Id", ""), one.get("Type", ""), target
