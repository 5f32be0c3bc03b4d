"""Columns that are written into a spreadsheet: all else of it stays as it is."""

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.formatting.rule import Rule
from openpyxl.styles import Font
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.table import Table

from workbench.dataset.filled import Sheet, read_sheet, write_sheet
from workbench.dataset.filled_table import FLAG
from workbench.dataset.filled_workbook import MOST_CELL_CHARS
from workbench.dataset.new_columns import Cell, NewColumns, named
from workbench.dataset.placing import why_not_in_place
from workbench.dataset.samples import rows_of

SHEET, BOOK = "xl/worksheets/sheet1.xml", "xl/workbook.xml"
OTHER_PARTS = {"xl/vbaProject.bin": b"macros", "xl/media/image1.png": b"\x89PNG", "xl/charts/chart1.xml": b"<chart/>"}


def filled(path: Path, names: Sequence[str], *rows: tuple[Cell, ...] | None) -> Sheet:
    """Write columns into a file, and return it as it is then."""
    sheet = read_sheet(path, None)
    target = io.BytesIO()
    write_sheet(sheet, NewColumns(tuple(names), rows, sheet.own), target)
    path.write_bytes(target.getvalue())
    return read_sheet(path, None)


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def with_parts(path: Path, **changes: Callable[[str], str]) -> Path:
    """The same workbook with other XML of its sheet or of the book."""
    found = parts(path)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (found | OTHER_PARTS).items():
            change = changes.get(Path(name).stem)
            archive.writestr(name, content if change is None else change(content.decode()))
    return path


def cells(path: Path) -> list[tuple[Any, ...]]:
    return list(openpyxl.load_workbook(path, data_only=True).worksheets[0].iter_rows(values_only=True))


def formatted(path: Path) -> Path:
    """A sheet as people have them: widths, number formats, a frozen pane, a filter, rules, validation, a formula's result."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Bob's & co"
    for row in [("id", "text", "points"), ("a", "first", 1.5), ("b", "second", None)]:
        sheet.append(list(row))
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    sheet["C2"].number_format = "0.00 €"
    sheet.column_dimensions["B"].width = 60
    sheet.freeze_panes = "B2"
    sheet.auto_filter.ref = "A1:C3"
    sheet.conditional_formatting.add("C2:C3", Rule("cellIs", operator="lessThan", formula=["1"]))
    choice = DataValidation("list", formula1='"a,b"')
    choice.add("A2:A3")
    sheet.add_data_validation(choice)
    book.create_sheet("Notes")["A1"] = None
    book.save(path)
    return with_parts(
        path,
        sheet1=lambda xml: xml.replace('<c r="C3"', '<c r="C3"><f>C2*2</f><v>3</v></c><c r="G3"').replace(
            '<row r="2">', '<row r="2" spans="1:3" ht="30">'
        ),
    )


def test_all_else_of_a_workbook_stays_as_it_is(tmp_path: Path) -> None:
    path = formatted(tmp_path / "d.xlsm")
    before, kept = parts(path), rows_of(path)
    samples = [row for _, row in kept]
    sheet = filled(path, ["answer", "flag"], ("yes", None), ("no", "cut off"))
    after = parts(path)
    assert list(after) == list(before)
    assert {name for name in after if after[name] != before[name]} == {SHEET, BOOK}
    xml = re.sub(rb'<c r="[DE]\d+".*?</c>', b"", after[SHEET])
    as_before = before[SHEET].replace(b' spans="1:3"', b"").replace(b'"A1:C3"', b'"A1:E3"')
    assert xml == as_before.replace(b'<dimension ref="A1:G3"', b'<dimension ref="A1:E3"')
    assert sheet.header == ("id", "text", "points", "answer", "flag")
    assert sheet.own == {"answer", "flag"}
    assert [row for _, row in rows_of(path, as_they_are=True)] == [
        samples[0] | {"answer": "yes", "flag": None},
        samples[1] | {"answer": "no", "flag": "cut off"},
    ]
    book = openpyxl.load_workbook(path)
    header = book.worksheets[0][1]
    assert [cell.font.bold for cell in header[:5]] == [True] * 5, "a new header looks like the one before it"
    assert book.worksheets[0].auto_filter.ref == "A1:E3", "sorted by it, rows would lose their answers"
    assert "'Bob''s &amp; co'!$A$1:$E$3" in after[BOOK].decode()


def test_columns_of_an_earlier_fill_are_written_in_place_wherever_they_are(tmp_path: Path) -> None:
    path = formatted(tmp_path / "d.xlsx")
    filled(path, ["answer", "flag"], ("yes", None), ("no", "cut off"))
    once = parts(path)
    assert filled(path, ["answer", "flag"], ("yes", None), ("no", "cut off")).own == {"answer", "flag"}
    assert parts(path) == once
    book = openpyxl.load_workbook(path)
    book.worksheets[0].insert_cols(2)
    book.worksheets[0]["B1"] = "mine"
    book.worksheets[0].title = "renamed"
    book.save(path)
    filled(path, ["answer", "flag"], ("maybe", None), None)
    assert cells(path)[0][:6] == ("id", "mine", "text", "points", "answer", "flag")
    assert [row[4:6] for row in cells(path)[1:]] == [("maybe", None), ("no", "cut off")]


def test_a_column_that_somebody_else_wrote_is_never_taken(tmp_path: Path) -> None:
    path = formatted(tmp_path / "d.xlsx")
    book = openpyxl.load_workbook(path)
    book.worksheets[0]["D1"], book.worksheets[0]["D2"] = "Answer", "mine"
    book.save(path)
    sheet = read_sheet(path, None)
    names = named(["answer", "flag"], sheet.header, sheet.own)
    assert names == ["answer (workbench)", "flag"]
    sheet = filled(path, names, ("yes", None), ("no", None))
    assert named(["answer", "flag"], sheet.header, sheet.own) == names, "the next time they are known"
    assert cells(path)[1][3:5] == ("mine", "yes")
    xml = parts(path)[BOOK].decode()
    deleted = xml.replace("'Bob''s &amp; co'!$E$1", "#REF!")
    assert deleted != xml
    with_parts(path, workbook=lambda _: deleted)
    assert read_sheet(path, None).own == {"flag"}, "a column of the same name is another one"


@pytest.mark.parametrize(
    ("text", "held", "is_short", "is_other"),
    [
        ('=HYPERLINK("http://evil","x")', None, False, False),
        ("a\r\nb\tc <&> 😀 ", "a\nb\tc <&> 😀 ", False, False),
        ("\x07bell\ud800", "\ufffdbell\ufffd", False, True),
        ("😀" * MOST_CELL_CHARS, "😀" * (MOST_CELL_CHARS // 2), True, False),
    ],
)
def test_a_text_is_a_text_in_a_cell(
    tmp_path: Path, text: str, held: str | None, is_short: bool, is_other: bool
) -> None:
    path = formatted(tmp_path / "d.xlsx")
    found = read_sheet(path, None).fitted(text)
    assert found == (held or text, is_short, is_other)
    filled(path, ["answer", "score.x"], (found[0], 0.5), ("", True))
    cell, score = openpyxl.load_workbook(path).worksheets[0]["D2":"E2"][0]
    assert (cell.value, cell.data_type, score.value) == (held or text, "s", 0.5)


def test_what_looks_like_an_escape_of_excel_is_not_read_as_one(tmp_path: Path) -> None:
    path = formatted(tmp_path / "d.xlsx")
    filled(path, ["answer"], ("_x0041_",), (10**20,))
    xml = parts(path)[SHEET].decode()
    assert "_x005F_x0041_" in xml
    assert f">{10**20}</t>" in xml, "as a number it would lose its last digits"


def test_a_table_takes_the_new_columns_in(tmp_path: Path) -> None:
    path = tmp_path / "d.xlsx"
    book = openpyxl.Workbook()
    for row in [("id", "text"), ("a", "first"), ("b", "second")]:
        book.worksheets[0].append(row)
    book.worksheets[0].add_table(Table(displayName="Marks", ref="A1:B3"))
    book.save(path)
    for _ in range(2):
        filled(path, ["answer", "flag"], ("yes", None), ("no", None))
        (table,) = openpyxl.load_workbook(path).worksheets[0].tables.values()
        assert (table.ref, table.autoFilter.ref, table.tableColumns[-1].id) == ("A1:D3", "A1:D3", 4)
        assert table.column_names == ["id", "text", "answer", "flag"]


def test_a_signed_workbook_is_not_changed(tmp_path: Path) -> None:
    path = formatted(tmp_path / "d.xlsx")
    assert why_not_in_place(read_sheet(path, None)) == ""
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("_xmlsignatures/origin.sigs", b"")
    assert why_not_in_place(read_sheet(path, None)) == "d.xlsx has a digital signature, which a change would break"


def test_hidden_empty_columns_do_not_hide_the_answers(tmp_path: Path) -> None:
    path = with_parts(
        formatted(tmp_path / "d.xlsx"),
        sheet1=lambda xml: xml.replace("</cols>", '<col min="3" max="16384" hidden="1" width="0"/></cols>'),
    )
    filled(path, ["answer", "flag"], ("yes", None), ("no", None))
    found = re.findall(rb'<col min="(\d+)" max="(\d+)" hidden="(\d)"( width="0")?/>', parts(path)[SHEET])
    narrow = b' width="0"'
    assert found == [(b"3", b"3", b"1", narrow), (b"4", b"5", b"0", b""), (b"6", b"16384", b"1", narrow)]


def test_a_sheet_of_another_writer_is_filled_too(tmp_path: Path) -> None:
    """Prefixed names, places that are only implied, rows of one tag, no defined names."""
    path = formatted(tmp_path / "d.xlsx")
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    row = "<x:row><x:c t='inlineStr'><x:is><x:t>{}</x:t></x:is></x:c></x:row>"
    with_parts(
        path,
        sheet1=lambda _: (
            f"<x:worksheet xmlns:x='{space}'><x:sheetData>{row.format('text')}<x:row/>{row.format('a > b')}"
            f"{row.format('c')}</x:sheetData></x:worksheet>"
        ),
        workbook=lambda xml: re.sub("<definedNames>.*</definedNames>|<calcPr[^>]*>", "", xml),
        sheet2=lambda xml: xml.replace('<row r="1">', '<row r="1"><c r="A1"><f>1+1</f></c>'),
    )
    assert filled(path, ["answer"], ("yes",), (None,)).own == {"answer"}
    assert cells(path) == [("text", "answer"), (None, None), ("a > b", "yes"), ("c", None)]
    calculated = parts(path)[BOOK].partition(b"</definedNames>")[2]
    assert calculated.startswith(b'<calcPr fullCalcOnLoad="1"/>'), "a formula may be about the new cells"


def test_a_formula_that_somebody_wrote_into_a_column_stays(tmp_path: Path) -> None:
    path = formatted(tmp_path / "d.xlsx")
    filled(path, ["answer", "score.x"], ("yes", 1), ("no", 0))
    with_parts(path, sheet1=lambda xml: xml.replace('<c r="E3"><v>0</v>', '<c r="E3"><f>C2/3</f><v>0.5</v>'))
    filled(path, ["answer", "score.x"], ("yes", 0.75), ("no", 0.75))
    assert [row[4] for row in cells(path)] == ["score.x", 0.75, 0.5]


GERMAN = 'id;Frage;Punkte\r\n1;"Grüße; aus ""Köln""\r\n– 5 €";1,5\r\n\r\n2;Straße;'


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8-sig", "utf-16"])
def test_all_else_of_a_table_stays_as_it_is(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(GERMAN.encode(encoding))
    names, asked = ["answer", "score.x", FLAG], [row for _, row in rows_of(path, as_they_are=True)]
    for value in (0.5, 0.75):
        assert filled(path, names, ("ja;\nnein", value, None), (True, None, "cut off")).own == set(names)
    expected = (
        f'id;Frage;Punkte;answer;score.x;{FLAG}\r\n1;"Grüße; aus ""Köln""\r\n– 5 €";1,5;"ja;\nnein";0.75;\r\n\r\n'
        "2;Straße;;TRUE;;cut off"
    )
    assert path.read_bytes() == expected.encode(encoding)
    assert [{name: row[name] for name in ("id", "Frage", "Punkte")} for _, row in rows_of(path)] == asked


def test_the_columns_of_a_table_stay_together(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(f"text,answer,answer (workbench),score.x,{FLAG},mine\na,own,old,1,,x\nb,own,older,0,,y\n")
    sheet = read_sheet(path, None)
    assert sheet.own == {"answer (workbench)", "score.x", FLAG}
    names = named(["answer", "answer.k", FLAG], sheet.header, sheet.own)
    filled(path, names, ("new", 1, None), None)
    assert path.read_text() == f"text,answer,answer (workbench),answer.k,{FLAG},mine\na,own,new,1,,x\nb,own,older,,,y\n"


def test_a_table_holds_what_its_encoding_has(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(GERMAN.encode("cp1252"))
    assert read_sheet(path, None).fitted("Ω – €") == ("? – €", False, True)
