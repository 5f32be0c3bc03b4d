"""`workbench fill`: the same spreadsheet with answers out."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from tests.conftest import Workbench
from workbench.local_platform.server import ThreadedServer

JOB = """
name = "grade"
models = {models}
[dataset]
path = "of_the_job.jsonl"
fields = {{ input = "question", target = "mark", id = "id" }}
{more}
[request]
max_tokens = 64
[run]
max_in_flight = 4
[[scorers]]
name = "numeric"
"""
HEADER = ("id", "question", "mark")


def job(*models: str, more: str = "") -> str:
    return JOB.format(models=json.dumps(models or ["sim/instant"]), more=more)


def questions(count: int) -> list[tuple[Any, ...]]:
    return [(f"r{n}", f"What is {n} + 4?", n + 4) for n in range(count)]


def workbook(path: Path, rows: Sequence[Sequence[Any]], header: Sequence[str] = HEADER) -> Path:
    book = openpyxl.Workbook()
    for row in (header, *rows):
        book.worksheets[0].append(list(row))
    book.save(path)
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    header, *found = openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True)
    return [dict(zip(map(str, header), row, strict=True)) for row in found]


def last_line(done: Any) -> str:
    return str(done.stdout.splitlines()[-1])


@pytest.fixture
def sheet(bench: Workbench) -> Path:
    """Ten sums of which nothing is asked yet."""
    bench.write("job.toml", job())
    return workbook(bench.folder / "marks.xlsx", questions(10))


def asked(server: ThreadedServer) -> int:
    return sum(server.platform.statistics.requests.values())


def test_a_sheet_is_filled_and_filled_again_without_a_request(
    bench: Workbench, sheet: Path, platform: ThreadedServer
) -> None:
    done = bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
    assert last_line(done) == "filled: marks.xlsx, 10 of 10 rows"
    found = rows(sheet)
    assert list(found[0]) == [*HEADER, "answer", "score.numeric", "flag"]
    assert [tuple(row[name] for name in HEADER) for row in found] == questions(10)
    assert [(row["score.numeric"], row["flag"]) for row in found] == [(1, None)] * 10
    assert all(str(row["mark"]) in row["answer"] for row in found)
    before = sheet.read_bytes()
    found_again = bench.json("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
    assert (found_again["reused"], found_again["completed"]) == (10, 0)
    assert found_again["filled"] == {
        "file": str(sheet), "rows": 10, "filled": 10, "flagged": {}, "beyond_limit": 0, "beside": "",
    }  # fmt: skip
    assert rows(sheet) == found
    assert asked(platform) == 10
    assert len(before) == len(sheet.read_bytes())


def test_rows_keep_their_answers_when_they_are_sorted_and_others_come(
    bench: Workbench, sheet: Path, platform: ThreadedServer
) -> None:
    bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
    before = {row["id"]: row["answer"] for row in rows(sheet)}
    book = openpyxl.load_workbook(sheet)
    table = book.worksheets[0]
    for place, values in enumerate(sorted(questions(10), reverse=True), 2):  # and the answers beside them stay
        for column, value in enumerate(values, 1):
            table.cell(place, column, value)
    table.insert_cols(2)
    table["B1"] = "teacher"
    table["A12"], table["C12"], table["D12"] = "new", "What is 50 + 4?", 54
    table["C5"] = "What is 60 + 4?"
    book.save(sheet)
    bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
    found = rows(sheet)
    assert list(found[0]) == ["id", "teacher", "question", "mark", "answer", "score.numeric", "flag"]
    changed = found[3]["id"]
    assert {row["id"]: row["answer"] for row in found if row["id"] not in ("new", changed)} == {
        name: answer for name, answer in before.items() if name != changed
    }
    assert "64" in found[3]["answer"]
    assert "54" in found[10]["answer"]
    assert asked(platform) == 12, "what was answered is not asked again"
