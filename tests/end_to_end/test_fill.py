"""`workbench fill`: the same spreadsheet with answers out."""

import csv
import gzip
import io
import json
import shlex
import signal
import stat
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.styles import Font, PatternFill

from tests.cases import first_of
from tests.conftest import Workbench, quick
from tests.waiting import until
from workbench.local_platform.config import load_config
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
        "file": str(sheet), "rows": 10, "filled": 10, "flagged": {}, "beyond_limit": 0, "not_in_place": "",
    }  # fmt: skip
    assert rows(sheet) == found
    assert asked(platform) == 10
    assert len(before) == len(sheet.read_bytes())


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_flag_says_why_a_row_has_no_answer_or_no_score_that_counts(oddly: Workbench) -> None:
    words = ["plain", "untold", "refused", "empty", "filtered", "bad", "nul"]
    oddly.write("job.toml", job("m"))
    path = workbook(oddly.folder / "d.xlsx", [(word, word, None if word == "untold" else 4) for word in words])
    done = oddly("fill", "d.xlsx", "--job", "job.toml", "--no-report")
    found = {row["id"]: row for row in rows(path)}
    assert {word: row["flag"] for word, row in found.items()} == {
        "plain": None,
        "untold": "not scored: numeric: the sample has no target",
        "refused": "refused",
        "empty": "the answer is empty",
        "filtered": "filtered",
        "bad": "failed: bad request",
        "nul": "answer: characters replaced that the file cannot hold",
    }
    assert {word: row["score.numeric"] for word, row in found.items() if row["score.numeric"] is not None} == {
        "plain": 1, "nul": 0,
    }  # fmt: skip
    assert (found["bad"]["answer"], found["nul"]["answer"]) == (None, "4 \ufffd and \ufffd[31m")
    assert last_line(done).startswith("filled: d.xlsx, 1 of 7 rows; 6 flagged (")


def test_an_answer_of_another_model_has_no_score(bench: Workbench, sheet: Path) -> None:
    bench.write("job.toml", job("Abacus Classic"))
    done = bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report", "--model", "Abacus Classic")
    found = rows(sheet)
    assert {row["flag"] for row in found} >= {"another model answered: Abacus Mini [fast]"}
    assert {row["score.numeric"] for row in found} == {None}
    assert all(row["answer"] for row in found)
    assert "another model" in last_line(done)


def test_a_sheet_without_targets_gets_answers_and_no_flags(bench: Workbench, platform: ThreadedServer) -> None:
    bench.write("job.toml", job(more='second_target = "other"'))
    path = workbook(bench.folder / "marks.xlsx", [row[:2] for row in questions(3)], HEADER[:2])
    done = bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
    assert "note: marks.xlsx has no column 'mark' (dataset.fields.target of the job)" in done.stderr
    assert [(bool(row["answer"]), row["score.numeric"], row["flag"]) for row in rows(path)] == [(True, None, None)] * 3
    assert last_line(done) == "filled: marks.xlsx, 3 of 3 rows"


@pytest.mark.slow
def test_equal_rows_are_asked_each_and_a_limit_leaves_the_others(bench: Workbench, platform: ThreadedServer) -> None:
    bench.write("job.toml", job(more="limit = 1"))
    path = workbook(bench.folder / "marks.xlsx", [*questions(2), *questions(2)])
    done = bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report", "--limit", "3")
    assert "note: dataset.limit of the job: not applied, each row of the sheet is asked once" in done.stderr
    assert last_line(done) == "filled: marks.xlsx, 3 of 4 rows; 1 beyond --limit"
    assert [row["flag"] for row in rows(path)] == [None, None, None, "not asked yet"]
    bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
    before = rows(path)
    assert [row["flag"] for row in before] == [None] * 4
    bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report", "--limit", "1")
    assert rows(path) == before
    assert asked(platform) == 4


@pytest.mark.slow
def test_a_budget_leaves_rows_to_the_same_command(bench: Workbench, sheet: Path, platform: ThreadedServer) -> None:
    bench.write("job.toml", job() + "[budget]\nrequests = 4\n")
    done = bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report", code=7)
    filled, goes_on = done.stdout.splitlines()[-2:]
    assert filled == "filled: marks.xlsx, 4 of 10 rows; 6 flagged (6 not asked yet)"
    assert goes_on == "continue with: workbench fill --job job.toml marks.xlsx"
    bench.write("job.toml", job())
    bench(*shlex.split(goes_on.partition("workbench ")[2]), "--no-report")
    assert {row["flag"] for row in rows(sheet)} == {None}
    assert asked(platform) == 10


@pytest.mark.slow
def test_a_table_below_empty_lines_is_filled_below_them(bench: Workbench) -> None:
    bench.write("job.toml", job("sim/instant"))
    path = bench.folder / "d.csv"
    for _ in range(2):
        path.write_bytes(path.read_bytes() if path.exists() else b"\n\nid,question,mark\n1,What is 1 + 1?,2\n")
        bench("fill", "d.csv", "--job", "job.toml", "--no-report")
        lines = path.read_text().split("\n")
        assert lines[:3] == ["", "", "id,question,mark,answer,score.numeric,flag (workbench)"]
        assert lines[3].startswith("1,What is 1 + 1?,2,")


@pytest.mark.slow
def test_json_answers_get_a_column_for_each_field_and_text_stays_text(bench: Workbench) -> None:
    wanted = [{"grade": 2, "why": "=1+1", "parts": [1]}, {"grade": 1.5, "why": "+", "ok": True}]
    bench.write("job.toml", job("sim/extract").replace('"numeric"', '"json"'))
    text = "id;question;mark;answer.why\r\n" + "".join(
        f'{n};"Grade {n}; as JSON";"{json.dumps(one).replace(chr(34), chr(34) * 2)}";mine\r\n'
        for n, one in enumerate(wanted)
    )
    path = bench.folder / "d.csv"
    path.write_bytes(text.encode())
    bench("fill", "d.csv", "--job", "job.toml", "--no-report", "--local")
    filled = path.read_bytes().decode()
    found = list(csv.DictReader(io.StringIO(filled, newline=""), delimiter=";"))
    assert [line[: len(own)] for line, own in zip(filled.split("\r\n"), text.split("\r\n"), strict=True)] == text.split(
        "\r\n"
    )
    assert set(found[0]) > {
        "answer",
        "answer.grade",
        "answer.why",
        "answer.why (workbench)",
        "score.json",
        "flag (workbench)",
    }
    for one, row in zip(wanted, found, strict=True):
        assert row["answer.why"] == "mine"
        if row["score.json"] == "1":
            assert row["answer.grade"] == str(one["grade"])
            assert row["answer.why (workbench)"] == f"'{one['why']}"
    assert "1" in {row["score.json"] for row in found}


@pytest.mark.slow
def test_a_variant_is_named_where_a_job_has_several(bench: Workbench, sheet: Path) -> None:
    variants = '[[variants]]\nname = "short"\nprompt = { system = "Be short." }\n[[variants]]\nname = "long"\n'
    bench.write("job.toml", job() + variants)
    refused = bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report", code=2)
    assert (
        "--variant: a row has one answer, and the job asks several variants (name one: short, long)" in refused.stderr
    )
    bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report", "--variant", "short")
    assert {row["flag"] for row in rows(sheet)} == {None}


@pytest.mark.slow
def test_a_judge_gives_its_reason_and_later_its_score(bench: Workbench, sheet: Path) -> None:
    judge = '[[scorers]]\nname = "judge"\nmodel = "Abacus Large [careful]"\n'
    bench.write("job.toml", job() + judge + '[judge]\nwhen = "later"\n')
    bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
    assert {row["flag"] for row in rows(sheet)} == {"pending judgement: judge"}
    bench.write("job.toml", job() + judge)
    bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
    found = rows(sheet)
    assert list(found[0])[3:] == ["answer", "score.numeric", "score.judge", "reason.judge", "flag"]
    assert all(row["reason.judge"].startswith("Abacus Large [careful] says ") for row in found)


WRONG: list[tuple[list[str], str]] = [
    (["mraks.xlsx", "--job", "job.toml"], "mraks.xlsx: there is no such file (did you mean 'marks.xlsx'?)"),
    (["marks.xlsx", "--job", "jop.toml"], "jop.toml: the job cannot be read: No such file or directory (did you mean 'job.toml'?)"),
    (["marks.xlsx", "--job", "job.toml", "--sheet", "Shete"], "marks.xlsx: there is no sheet 'Shete' (did you mean 'Sheet'?)"),
    (["marks.xlsx", "--job", "job.toml", "--model", "sim/instnat"],
     "model: 'sim/instnat' is not one of the job's models (did you mean 'sim/instant'?)"),
    (["marks.xlsx", "--job", "two.toml"], "--model: a row has one answer, and the job asks several models (name one: sim/instant, sim/prose)"),
    (["marks.xlsx", "--job", "job.toml", "--variant", "x"], "--variant: 'x' is not one of the job's variants (it has no variants)"),
    (["marks.xlsx", "--job", "job.toml", "--out", "none/x.xlsx"], "--out: there is no folder "),
    (["marks.xlsx", "--job", "job.toml", "--out", "x.csv"], "--out: x.csv would be in another format than marks.xlsx, which is kept (name it x.xlsx)"),
    (["other.xlsx", "--job", "job.toml"], "dataset.fields.input: FOLDER/other.xlsx: sheet 'Sheet', row 2: no column 'question'; the columns are: "
     "id, questoin, mark (did you mean 'questoin'?)"),
    (["marks.xlsx", "--job", "prompt.toml"],
     "prompt.toml:8: prompt.template: marks.xlsx: sample 'r0': 'inptu' is undefined (did you mean 'input'?)"),
    (["d.jsonl", "--job", "job.toml"], "d.jsonl: expected a spreadsheet (.xlsx, CSV or TSV), found jsonl"),
    (["d.csv.gz", "--job", "job.toml"], "d.csv.gz: a compressed table has no cells to write to (decompress it first)"),
    (["d.csv", "--job", "job.toml", "--sheet", "A"], "--sheet: names a sheet of a workbook, and d.csv is csv (leave it out)"),
    (["locked.xlsx", "--job", "job.toml"], "locked.xlsx: an old Excel workbook (.xls), or one with a password"),
    (["broken.csv", "--job", "job.toml"], "broken.csv:1 or soon after: byte 0xff is not UTF-8"),
    (["ragged.csv", "--job", "job.toml"], "ragged.csv:3: 1 cells where the header has 2"),
    ([".", "--job", "job.toml"], "FILE: . is a folder"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_what_is_wrong_is_said_before_anything_is_sent(
    bench: Workbench, sheet: Path, platform: ThreadedServer, words: list[str], said: str
) -> None:
    bench.write("two.toml", job("sim/instant", "sim/prose"))
    bench.write("prompt.toml", job(more='[prompt]\ntemplate = "{{ inptu }}"'))
    workbook(bench.folder / "other.xlsx", questions(1), ("id", "questoin", "mark"))
    bench.write("d.jsonl", json.dumps({"question": "x"}) + "\n")
    bench.write("d.csv", "question,mark\nx,1\n")
    (bench.folder / "d.csv.gz").write_bytes(gzip.compress(b"question,mark\nx,1\n"))
    (bench.folder / "broken.csv").write_bytes(b"question,mark\nx,1\n\xff,2\n")
    bench.write("ragged.csv", "question,mark\nx,1\ny\n")
    (bench.folder / "locked.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00")
    before = {path.name: path.read_bytes() for path in bench.folder.iterdir() if path.is_file()}
    done = bench("fill", *words, "--no-report", code=2)
    assert said.replace("FOLDER", str(bench.folder)) in done.stderr
    assert {path.name: path.read_bytes() for path in bench.folder.iterdir() if path.name in before} == before
    assert asked(platform) == 0


@pytest.mark.slow
def test_a_formula_in_a_column_that_nobody_reads_keeps_nothing_from_being_filled(bench: Workbench) -> None:
    """Of a formula that was never worked out, or whose result is an error; where the job reads it, it is named."""
    bench.write("job.toml", job())
    path = workbook(
        bench.folder / "marks.xlsx", [(*row, "=1/0") for row in questions(3)], ("id", "question", "mark", "mean")
    )
    fill = ("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
    assert last_line(bench(*fill)) == "filled: marks.xlsx, 3 of 3 rows"
    assert openpyxl.load_workbook(path).worksheets[0]["D2"].value == "=1/0"
    text = (bench.folder / "job.toml").read_text()
    bench.write("job.toml", text.replace('target = "mark"', 'target = "mean"'))
    assert "row 2: mean: the formula =1/0 has no stored result" in bench(*fill, code=2).stderr


@pytest.mark.slow
@pytest.mark.parametrize("column", ["target", "id", "choices", "cluster"])
def test_a_formula_without_a_value_is_refused_in_a_column_with_a_meaning_of_its_own(
    bench: Workbench, column: str
) -> None:
    """A job that names its input alone reads these by their own names."""
    text = job().replace('input = "question", target = "mark", id = "id"', 'input = "question"')
    assert 'fields = { input = "question" }' in text
    bench.write("job.toml", text)
    workbook(bench.folder / "marks.xlsx", [("x?", "=1+1")], ("question", column))
    said = bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report", code=2).stderr
    assert f"row 2: {column}: the formula =1+1 has no stored result" in said


@pytest.mark.slow
def test_merged_cells_are_said_and_stay(bench: Workbench, sheet: Path) -> None:
    book = openpyxl.load_workbook(sheet)
    book.worksheets[0].merge_cells("A3:A4")
    book.save(sheet)
    said = bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report", code=None).stderr
    assert "has merged cells (A3:A4): the first of each has its value, and the others are empty" in said
    assert [str(one) for one in openpyxl.load_workbook(sheet).worksheets[0].merged_cells.ranges] == ["A3:A4"]


@pytest.mark.slow
def test_a_file_that_is_open_or_read_only_gets_its_answers_beside_it(bench: Workbench, sheet: Path) -> None:
    before = sheet.read_bytes()
    other = workbook(bench.folder / "marks.filled.xlsx", [("x", "mine", 1)]).read_bytes()
    fill = ("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
    for lock, program in (("~$marks.xlsx", "Excel"), (".~lock.marks.xlsx#", "LibreOffice")):
        bench.write(lock, "")
        done = bench(*fill)
        assert f"the answers are in marks.filled-2.xlsx: marks.xlsx is open in {program}" in done.stderr
        assert last_line(done) == "filled: marks.filled-2.xlsx, 10 of 10 rows"
        (bench.folder / lock).unlink()
    sheet.chmod(0o444)
    assert "marks.xlsx is read-only" in bench(*fill).stderr
    (bench.folder / "linked.xlsx").symlink_to(sheet)
    for same in ("marks.xlsx", "linked.xlsx"):
        assert "marks.xlsx is read-only" in bench(*fill, "--out", same).stderr
    assert (sheet.read_bytes(), (bench.folder / "marks.filled.xlsx").read_bytes()) == (before, other)
    assert {row["flag"] for row in rows(bench.folder / "marks.filled-2.xlsx")} == {None}
    sheet.chmod(0o640)
    assert last_line(bench(*fill, "--out", "x.xlsx")) == "filled: x.xlsx, 10 of 10 rows"
    assert sheet.read_bytes() == before
    bench(*fill)
    assert stat.S_IMODE(sheet.stat().st_mode) == 0o640
    assert {row["flag"] for row in rows(sheet)} == {None}
    assert not list(bench.folder.glob(".*.part"))


def started(bench: Workbench, server: ThreadedServer, *words: str, after: int) -> subprocess.Popen[str]:
    """A fill of which the platform has so many requests."""
    process = bench.start("fill", "marks.xlsx", "--job", "job.toml", "--no-report", *words)
    until(lambda: asked(server) >= after or process.poll() is not None)
    return process


@pytest.mark.slow
def test_rows_that_change_while_they_are_asked_say_so(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 150)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("job.toml", job())
        path = workbook(tmp_path / "marks.xlsx", questions(20))
        process = started(bench, server, after=8)
        changed = [*reversed(questions(20)), ("new", "What is 70 + 4?", 74)]
        changed[2] = ("r17", "What is 80 + 4?", 84)
        workbook(path, changed)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 3, err
        found = rows(path)
        assert [row["flag"] for row in found if row["flag"]] == [
            "changed since it was asked",
            "added since the run began",
        ]
        assert all(str(row["mark"]) in row["answer"] for row in found if not row["flag"])
        goes_on = out.splitlines()[-1].partition("continue with: workbench ")[2]
        bench(*shlex.split(goes_on), "--no-report")
        assert {row["flag"] for row in rows(path)} == {None}
        assert asked(server) == 22


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--out", "marks.xlsx")], ids=["in place", "by its name"])
def test_a_sheet_that_is_another_one_by_the_end_is_left_alone(tmp_path: Path, words: tuple[str, ...]) -> None:
    with ThreadedServer(quick(load_config(), 100)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("job.toml", job())
        path = workbook(tmp_path / "marks.xlsx", questions(12))
        process = started(bench, server, *words, after=4)
        other = workbook(path, [("x", 1)], ("name", "points")).read_bytes()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "marks.xlsx is not what it was when the run began: " in err
    assert "no column 'question'" in err
    assert (path.read_bytes(), out.splitlines()[-1]) == (other, "filled: marks.filled.xlsx, 12 of 12 rows")
    assert [row["id"] for row in rows(tmp_path / "marks.filled.xlsx")] == [f"r{n}" for n in range(12)]


@pytest.mark.slow
def test_ctrl_c_writes_what_is_known(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 150)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("job.toml", job())
        path = workbook(tmp_path / "marks.xlsx", questions(60))
        process = started(bench, server, "--json", after=8)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        filled = json.loads(out)["filled"]
        flags = [row["flag"] for row in rows(path)]
        assert (flags.count(None), flags.count("not asked yet")) == (filled["filled"], 60 - filled["filled"])
        assert filled["filled"] == asked(server)


def dressed(path: Path) -> list[Any]:
    """Give a workbook formats of every kind that its owner sees, and return them."""
    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    sheet.freeze_panes, sheet.column_dimensions["B"].width = "A2", 47.5
    for number, (_, text, mark) in enumerate(sheet.iter_rows(min_row=2), 2):
        sheet.row_dimensions[number].height = 21 + number % 3
        text.font = Font(bold=number % 2 == 0, color="00C00000")
        mark.number_format, mark.fill = "0.00", PatternFill("solid", fgColor="00FFF2CC")
    book.save(path)
    return looks(path)


def looks(path: Path) -> list[Any]:
    """The formats of a sheet's own columns, its rows' heights and its panes."""
    sheet = openpyxl.load_workbook(path).worksheets[0]
    cells = [
        (
            cell.coordinate,
            cell.number_format,
            cell.font.b,
            cell.font.color and cell.font.color.rgb,
            cell.fill.fgColor.rgb,
        )
        for row in sheet.iter_rows(max_col=len(HEADER))
        for cell in row
    ]
    heights = {number: row.height for number, row in sheet.row_dimensions.items()}
    return [cells, heights, sheet.freeze_panes, sheet.column_dimensions["B"].width]


@pytest.mark.slow
@pytest.mark.file_ledger  # on a team's, a killed run keeps its claim until its lease ends
def test_a_sheet_whose_filling_is_killed_twice_is_paid_once(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 20)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("job.toml", job())
        path = workbook(tmp_path / "marks.xlsx", questions(300))
        before, in_flight = dressed(path), 0
        for after in (60, 160):
            process = started(bench, server, after=after)
            assert process.poll() is None, "it ended before it was killed: this shows nothing"
            process.kill()
            process.communicate(timeout=60)
            in_flight += 4
        done = bench("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
        assert last_line(done) == "filled: marks.xlsx, 300 of 300 rows"
        found = rows(path)
        assert [tuple(row[name] for name in HEADER) for row in found] == questions(300)
        assert all(str(row["mark"]) in row["answer"] for row in found)
        assert looks(path) == before
        paid = Counter(body for (body,) in bench.rows("SELECT request_key FROM attempts WHERE accepted"))
        assert (len(paid), set(paid.values())) == (300, {1})
        assert asked(server) <= 300 + in_flight, "only what was in flight at a kill is asked twice"


@pytest.mark.slow
def test_what_another_job_scored_is_not_left_beside_new_answers(bench: Workbench) -> None:
    bench.write("job.toml", job())
    path = bench.write(
        "d.csv", "id,question,mark\n" + "".join(f"{i},{text},{mark}\n" for i, text, mark in questions(2))
    )
    bench("fill", "d.csv", "--job", "job.toml", "--no-report")
    bench.write("other.toml", job().replace("max_tokens = 64", "max_tokens = 65").replace('"numeric"', '"includes"'))
    bench("fill", "d.csv", "--job", "other.toml", "--no-report", "--limit", "1")
    asked_again, left = csv.DictReader(io.StringIO(path.read_text()))
    assert list(left) == ["id", "question", "mark", "answer", "score.includes", "score.numeric", "flag (workbench)"]
    assert (asked_again["score.includes"], asked_again["score.numeric"], left["score.numeric"]) == ("1", "", "1")
    bench("fill", "d.csv", "--job", "other.toml", "--no-report")
    assert "score.numeric" not in path.read_text()


@pytest.mark.slow
def test_rows_that_were_cut_off_are_asked_again_with_a_higher_cap(
    bench: Workbench, sheet: Path, platform: ThreadedServer
) -> None:
    bench.write("job.toml", job("Abacus Large [careful]").replace("max_tokens = 64", "max_tokens = 2"))
    fill = ("fill", "marks.xlsx", "--job", "job.toml", "--no-report")
    bench(*fill)
    again = bench(*fill, "--again", "truncated", "--max-tokens", "3")
    assert {row["flag"] for row in rows(sheet)} == {"cut off"}, "and not changed, though they are other requests"
    assert last_line(again) == "filled: marks.xlsx, 0 of 10 rows; 10 flagged (10 cut off)"
    assert asked(platform) == 20
    bench(*fill, "--again", "truncated", "--max-tokens", "2000")
    answers = [row["answer"] for row in rows(sheet)]
    assert {row["flag"] for row in rows(sheet)} == {None}
    for more in ((), ("--again", "refused"), ("--again", "truncated", "--max-tokens", "3"), ()):
        assert last_line(bench(*fill, *more)) == "filled: marks.xlsx, 10 of 10 rows"
        assert [row["answer"] for row in rows(sheet)] == answers, "what was paid for last stays"
    assert asked(platform) == 30


@pytest.mark.parametrize("name", first_of("d.csv", "d.tsv", "d.xlsx"))
def test_a_model_s_answers_in_a_filled_sheet_are_no_targets(bench: Workbench, name: str) -> None:
    """Under usual names, `question` and `answer`, they would be: the next run was scored by them."""
    asked = [(number, f"What is {number} + 1?") for number in range(3)]
    if name.endswith("xlsx"):
        workbook(bench.folder / name, asked, ("id", "question"))
    else:
        mark = "," if name.endswith("csv") else "\t"
        bench.write(name, "".join(mark.join(map(str, row)) + "\n" for row in [("id", "question"), *asked]))
    text = f'models = ["sim/instant"]\n[dataset]\npath = "{name}"\nfields = {{ input = "question" }}\n'
    bench.write("ask.toml", text)
    done = bench("fill", name, "--job", "ask.toml", "--no-report")
    assert last_line(done) == f"filled: {name}, 3 of 3 rows"
    shown = bench("datasets", "show", name, code=None)
    assert "target" not in shown.stdout, shown.stdout
