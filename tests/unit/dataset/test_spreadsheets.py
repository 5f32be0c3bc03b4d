"""Tables as spreadsheet programs write them: workbooks, other encodings, and an index without a name."""

import datetime
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from workbench.dataset.samples import notes_on, rows_of
from workbench.errors import InputError

GERMAN = "id;question;answer\n1;Grüße aus Köln für Jürgen – 5 €;Übung\n2;Straße;heiß\n"


def workbook(path: Path, *sheets: tuple[str, Sequence[Sequence[Any]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)  # type: ignore[arg-type]
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


def rows(path: Path, **named: Any) -> list[dict[str, Any]]:
    return [columns for _, columns in rows_of(path, **named)]


def fault(path: Path, **named: Any) -> str:
    with pytest.raises(InputError) as caught:
        rows(path, **named)
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_sheet_is_read_with_its_types(tmp_path: Path) -> None:
    day = datetime.datetime(2026, 11, 3)  # noqa: DTZ001 - a cell has no zone
    moment = datetime.datetime(2026, 11, 3, 9, 30)  # noqa: DTZ001
    path = workbook(
        tmp_path / "d.xlsx",
        ("Empty", []),
        (
            "Marks",
            [(None, None), ("id", "input", "target", "right", "on", "at"), (1, "a", 4.5, True, day, moment), (2, "b")],
        ),
    )
    assert rows(path) == [
        {"id": 1, "input": "a", "target": 4.5, "right": True, "on": "2026-11-03", "at": "2026-11-03T09:30:00"},
        {"id": 2, "input": "b", "target": None, "right": None, "on": None, "at": None},
    ]
    assert [place for place, _ in rows_of(path)] == [f"{path}: sheet 'Marks', row {number}" for number in (3, 4)]


def test_merged_cells_and_an_index_without_a_name_are_said(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "d.xlsx",
        ("Notes", [("no header",)]),
        ("Marks", [(None, "topic", "input"), (0, "optics", "a"), (1, None, "b"), (2, "heat", "c")]),
    )
    book = openpyxl.load_workbook(path)
    assert notes_on(path, sheet="Marks") == ["its first column has no name, and is left out as an index"]
    book["Marks"].merge_cells("B2:B3")
    book.save(path)
    assert notes_on(path, sheet="Marks")[1:] == [
        "sheet 'Marks' has merged cells (B2:B3): the first of each has its value, and the others are empty"
    ]
    assert notes_on(path, sheet="Notes") == []


def test_of_several_sheets_one_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", ("One", [("input",), ("a",)]), ("Two", [("input",), ("b",)]))
    assert (
        fault(path)
        == 'several sheets have rows (in a job, sheet = "…" under [dataset] names one, elsewhere --sheet: One, Two)'
    )
    assert rows(path, sheet="Two") == [{"input": "b"}]
    assert fault(path, sheet="Tow") == "there is no sheet 'Tow' (did you mean 'Two'?)"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([], "no sheet has a row (expected a header line and a sample a line)"),
        ([("input", "input"), (1, 2)], "sheet 'S', row 1: the header names 'input' twice (rename one)"),
        ([("input", None, "x"), (1, 2, 3)], "sheet 'S', row 1: column 2 of the header has no name (name it)"),
        ([("input",), ("a", "more")], "sheet 'S', row 2: a cell beyond the header (name its column in the first row)"),
        (
            [("input",), ("=1+1",)],
            "sheet 'S', row 2: input: the formula =1+1 has no stored result (open the workbook in a spreadsheet program and save it)",
        ),
    ],
)
def test_what_a_sheet_cannot_be_is_named(tmp_path: Path, table: Sequence[Sequence[Any]], expected: str) -> None:
    assert fault(workbook(tmp_path / "d.xlsx", ("S", table))) == expected


def test_a_formula_without_a_value_is_an_error_where_its_column_is_read(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", ("S", [("input", "mean"), ("a", "=AVERAGE(Z1:Z9)"), ("b", 2)]))
    assert fault(path).startswith("sheet 'S', row 2: mean: the formula =AVERAGE(Z1:Z9) has no stored result")
    assert rows(path, needed=("input",)) == [{"input": "a", "mean": None}, {"input": "b", "mean": 2}]


def test_an_index_without_a_name_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(",input,target\n0,a,1\n1,b,2\n")
    assert rows(tmp_path / "d.csv") == [{"input": "a", "target": "1"}, {"input": "b", "target": "2"}]
    assert notes_on(tmp_path / "d.csv") == ["its first column has no name, and is left out as an index"]
    assert rows(workbook(tmp_path / "d.xlsx", ("S", [(None, "input"), (0, "a")]))) == [{"input": "a"}]


@pytest.mark.parametrize(
    ("encoding", "note"),
    [("utf-8", None), ("utf-8-sig", None), ("cp1252", "CP1252 (Windows, Western Europe)"), ("utf-16", "UTF-16")],
)
def test_tables_in_the_encodings_of_spreadsheet_programs(tmp_path: Path, encoding: str, note: str | None) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(GERMAN.encode(encoding))
    assert [row["question"] for row in rows(path)] == ["Grüße aus Köln für Jürgen – 5 €", "Straße"]
    assert notes_on(path) == ([] if note is None else [f"read as {note}, not UTF-8"])


def test_utf_8_with_a_broken_byte_is_not_taken_for_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(GERMAN.encode().replace("Straße".encode(), b"Stra\xffe"))
    assert "is not UTF-8" in fault(path)


def test_an_encoding_that_is_none_of_these_is_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes("question,answer\nКак вас зовут и где вы живёте?,Иван\n".encode("cp1251"))
    assert "is it Windows-1251?" in fault(path)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Österreich? Äpfel, Über, Öl", "cp1252"),
        ("La tour Eiffel à Paris", "cp1252"),
        ("Qual è, 9 ó 16, há muito", "cp1252"),
        ("10 m², 5 µm, 1½ Tassen, ±3, 20 °C", "cp1252"),
        ("• eins, Marke®, „äöä“", "cp1252"),
        ("Kraków, Łódź, żółć", "cp1250"),
        ("Zażółć gęślą jaźń, ąb", "iso8859-2"),
        ("Žába, ľan", "iso8859-2"),
        ("И на 5 м", "cp1251"),
        ("İstanbul güneş", "cp1254"),
        ("Müller", "mac_roman"),
    ],
)
def test_only_western_letters_are_taken_for_cp1252(tmp_path: Path, text: str, encoding: str) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b"question;answer\n" + f"{text};1\n".encode(encoding))
    if encoding == "cp1252":
        assert rows(path)[0]["question"] == text
    else:
        assert "is not UTF-8" in fault(path)


def test_a_broken_byte_far_behind_utf_8_is_not_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes("question,answer\nMüller,1\n".encode() + b"plain,1\n" * 300_000 + "Grüße,2\n".encode("cp1252"))
    assert "is not UTF-8" in fault(path)


def test_a_first_column_without_a_name_is_kept_from_being_lost(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(",target\nWhat is it?,b\n")
    assert fault(tmp_path / "d.csv").endswith(":1: column 1 of the header has no name, and is not an index (name it)")


def test_a_workbook_whose_dimensions_are_wrong_is_read_whole(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", ("S", [("input", "target"), ("a", 1), ("b", 2), ("c", 3)]))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    assert b'<dimension ref="A1:B4"' in parts[sheet]
    parts[sheet] = parts[sheet].replace(b'<dimension ref="A1:B4"', b'<dimension ref="A1:A2"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert rows(path) == [{"input": text, "target": number} for number, text in enumerate("abc", 1)]


def test_hidden_sheets_and_typed_marks(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", ("Hidden", [("x",), (1,)]), ("S", [("input",), ("a",)]))
    book = openpyxl.load_workbook(path)
    book["Hidden"].sheet_state = "hidden"
    book.save(path)
    assert rows(path) == [{"input": "a"}]


def test_encodings_that_begin_late_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b"question,answer\n" + b"plain,1\n" * 300_000 + "Grüße aus Köln für Jürgen,2\n".encode("cp1252"))
    assert rows(path)[-1]["question"] == "Grüße aus Köln für Jürgen"
