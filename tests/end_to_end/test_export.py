"""Answers for other programs, and samples that are taken out of the scores."""

import contextlib
import csv
import io
import json
import os
import pty
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import duckdb
import pytest

from tests.compared_runs import record
from tests.conftest import Workbench, job, sums
from tests.end_to_end.test_pages import HOSTILE
from tests.pages import as_shown
from tests.waiting import all_shown
from workbench.api.frames import Frames
from workbench.evaluation.exports import safe_for_a_spreadsheet
from workbench.ledger.entries import SampleInvalidated
from workbench.ledger.journal import JournalWriter

FORMULA = '=HYPERLINK("http://evil","x")'


@pytest.fixture
def answered(bench: Workbench) -> Workbench:
    """Six sums asked of one model that is right and one that refuses; two targets are wrong."""
    rows = [json.loads(line) for line in sums(6).splitlines()]
    rows[0]["target"] = rows[1]["target"] = 999
    rows[2]["id"] = FORMULA
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    bench.write("job.toml", job("sim/instant", "sim/locked"))
    bench.json("run", "job.toml", "--no-report", code=3)
    return bench


def cases(bench: Workbench) -> list[Element]:
    root = fromstring(bench("export", "--format", "junit").stdout)
    assert [suite.get("name") for suite in root] == ["sim/instant", "sim/locked"]
    right, refused = root
    assert (right.get("tests"), right.get("failures"), right.get("errors")) == ("6", "2", "0")
    assert (refused.get("tests"), refused.get("failures"), refused.get("errors")) == ("6", "0", "6")
    return list(right)


def test_junit_has_a_failure_by_scorer_and_an_error_without_an_answer(answered: Workbench) -> None:
    (failure,) = next(case for case in cases(answered) if case.get("name") == "s0")
    assert (failure.tag, failure.get("message")) == ("failure", "numeric: 0")
    assert "target: 999" in (failure.text or "")
    assert "numeric: " in (failure.text or ""), "and why"


def test_junit_has_an_error_for_what_was_never_sent(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(6))
    bench.write("job.toml", job("sim/instant", "sim/extract") + "[budget]\nrequests = 4\n")
    bench.json("run", "job.toml", "--no-report", code=7)
    suites = fromstring(bench("export", "--format", "junit").stdout)
    assert [suite.get("name") for suite in suites] == ["sim/instant", "sim/extract"]
    sent = [len(suite) - 1 for suite in suites]
    assert sum(sent) == 4
    for suite, count in zip(suites, sent, strict=True):
        assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == (str(count + 1), "0", "1")
        error = suite[-1].find("error")
        assert error is not None
        assert error.get("message") == f"{6 - count} of 6 requests were never sent"
    assert len(bench("export", "--format", "jsonl").stdout.splitlines()) == 4


@pytest.mark.slow
def test_rows_in_every_format_say_the_same(answered: Workbench, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in answered("export", "--format", "jsonl").stdout.splitlines()]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", lines[0]["sent_at"]), "as in every other JSON"
    table = list(csv.DictReader(io.StringIO(answered("export", "--format", "csv").stdout)))
    answered("export", "--format", "parquet", "--output", str(tmp_path / "x.parquet"))
    import pandas

    frame = pandas.read_parquet(tmp_path / "x.parquet")
    assert len(lines) == len(table) == len(frame) == 12
    values = [line["score.numeric"] for line in lines]
    for column in ("reason.numeric", "extracted.numeric", "state.numeric"):
        assert [row[column] for row in table] == [line[column] or "" for line in lines]
        assert list(frame[column].fillna("")) == [line[column] or "" for line in lines]
    assert {*(line["reason.numeric"] for line in lines)} - {None}, "a judge says why"
    assert values.count(1.0) == 4
    assert values.count(0.0) == 2
    assert [row["score.numeric"] for row in table] == ["" if value is None else str(value) for value in values]
    assert frame["score.numeric"].sum() == 4
    assert (
        [row["request_key"] for row in table] == [line["request_key"] for line in lines] == list(frame["request_key"])
    )
    assert {row["sample_id"] for row in table if row["sample_id"].endswith('"x")')} == {"'" + FORMULA}


def test_a_table_is_in_the_order_of_its_dataset_with_its_own_columns(bench: Workbench) -> None:
    names = ["b", "a", "10", "9", "é", "c2", "c10", "_", "B", "z", "y", "1"]
    rows = [
        {"id": name, "input": f"What is {n} + 1?", "target": n + 1, "level": "easy", "answer": "mine"}
        for n, name in enumerate(names)
    ]
    bench.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    judge = '[[scorers]]\nname = "judge"\nmodel = "Abacus Large [careful]"\n'
    bench.write("job.toml", job("sim/instant", dataset="rows.jsonl") + judge)
    bench("run", "job.toml", "--no-report")
    table = list(csv.DictReader(io.StringIO(bench("export", "--format", "csv").stdout)))
    assert [row["sample_id"] for row in table] == names
    assert {(row["level"], row["metadata.answer"]) for row in table} == {("easy", "mine")}
    assert {row["extracted.judge"] for row in table} <= {"CORRECT", "INCORRECT"}
    assert all(row["reason.judge"].startswith("Abacus Large [careful] says ") for row in table)
    assert list(table[0])[:6] == ["sample_id", "epoch", "requested_model", "variant", "input", "target"]
    bench.write("job.toml", job("sim/instant", "sim/extract", dataset="rows.jsonl"))
    bench("run", "job.toml", "--no-report")  # one model's answers are reused, the other's are not
    again = [json.loads(line) for line in bench("export", "--format", "jsonl").stdout.splitlines()]
    assert [row["sample_id"] for row in again] == [name for name in names for _ in range(2)]


@pytest.mark.file_ledger
@pytest.mark.slow
def test_what_an_earlier_version_recorded_is_in_the_order_of_its_ids(answered: Workbench) -> None:
    with duckdb.connect(str(answered.ledger.path)) as db:
        db.execute("UPDATE run_items SET sample_no = NULL")
    table = list(csv.DictReader(io.StringIO(answered("export", "--format", "csv").stdout)))
    assert [row["sample_id"] for row in table[::2]] == ["s0", "s1", "s3", "s4", "s5", f"'{FORMULA}"], (
        "by length, then by letter"
    )


def test_batch_lines_hold_the_responses_verbatim(answered: Workbench) -> None:
    lines = [json.loads(line) for line in answered("export", "--format", "batch").stdout.splitlines()]
    found = {line["custom_id"]: line for line in lines}
    assert len(found) == 12
    right = found["s3 · sim/instant"]
    assert right["response"]["body"]["choices"][0]["message"]["content"]
    assert right["error"] is None
    refused = found["s3 · sim/locked"]
    assert (refused["response"], refused["error"]["code"]) == (None, "route_unauthorised")


def test_what_models_say_stays_inert(bench: Workbench) -> None:
    record(bench, "r1", {HOSTILE: [0.0, 1.0]}, said=HOSTILE + "{1}")
    (suite,) = fromstring(bench("export", "--format", "junit").stdout)
    assert "<script>" in (suite.get("name") or "")
    assert "\x1b" not in bench("export", "--format", "junit").stdout
    assert json.loads(bench("export", "--format", "jsonl").stdout.splitlines()[0])["requested_model"] == HOSTILE
    table = list(csv.DictReader(io.StringIO(bench("export", "--format", "csv").stdout)))
    assert table[0]["requested_model"] == HOSTILE


def test_a_file_is_whole_or_not_there(answered: Workbench) -> None:
    assert "needs --output FILE" in answered("export", "--format", "parquet", code=2).stderr
    answered("export", "last", "--format", "csv", "--output", "out.csv")
    assert (answered.folder / "out.csv").read_text("utf-8").count("\n") >= 13
    assert not list(answered.folder.glob("*.part"))
    assert "there is no run" in answered("export", "nothing", "--format", "csv", code=2).stderr


def scored(bench: Workbench, model: str = "sim/instant") -> tuple[int, float]:
    (row,) = [row for row in bench.json("show", "last")["scores"] if row["model"] == model]
    return row["samples"], round(row["mean"], 3)


@pytest.mark.slow
def test_a_wrong_sample_is_taken_out_and_put_back(answered: Workbench) -> None:
    assert scored(answered) == (6, 0.667)
    done = answered("invalidate", "last", "--sample", "s0", "--sample", "s1", "--reason", "the key is wrong")
    assert "2 samples taken out of the scores" in done.stderr
    assert "2 samples taken out of the scores" in answered("show").stdout
    assert "1 sample already taken out" in answered("invalidate", "last", "--sample", "s0", "--reason", "x").stderr
    assert scored(answered) == (4, 1.0)
    frame = Frames(folder=answered.folder).scores()
    assert sorted(frame.loc[~frame["counts"], "sample_id"].unique()) == ["s0", "s1"]
    page = Path(answered.json("report", "last")["report"]).read_text("utf-8")
    assert "Taken out of the scores: 2 samples" in page
    assert "the key is wrong" in page
    (skipped,) = next(
        case for case in fromstring(answered("export", "--format", "junit").stdout)[0] if case.get("name") == "s0"
    )
    assert skipped.tag == "skipped"
    answered("invalidate", "last", "--sample", "s0", "--restore")
    assert scored(answered) == (5, 0.8)
    answered("ledger", "check")


@pytest.mark.slow
def test_a_scorer_that_breaks_is_told_everywhere_and_passes_nothing(bench: Workbench) -> None:
    bench.write("own.py", 'def odd(answer, sample):\n    raise ValueError("no number")\n')
    bench.write("sums.jsonl", sums(4))
    bench.write("job.toml", job() + '[[scorers]]\nname = "custom"\nfunction = "own.py:odd"\n')
    said = "custom failed on 4 of 4 answers: ValueError: no number"
    done = bench("run", "job.toml", code=3)
    command = f"workbench score {bench.json('runs')[0]['run_id']} --ledger "
    assert f"continue with: {command}" in done.stdout
    assert f"{said}." in Path(done.stdout.split("page: ")[1].strip()).read_text("utf-8")
    for printed in (done.stdout, bench("show").stdout, bench("score", "last", code=3).stdout):
        assert printed.count("custom failed") == printed.count(said) == 1
    assert bench("run", "job.toml", "--no-report", "--json", code=3).stdout
    shown = bench.json("show")
    assert shown["broken_scorers"] == [
        {
            "run_id": shown["run_id"], "scorer": "custom", "failed": 4, "answers": 4,
            "reason": "the scorer failed: ValueError: no number",
        }
    ]  # fmt: skip
    index = Path(bench.json("report")["pages"][1]).read_text("utf-8")
    assert "1 job: 1 needs action." in index
    again = f"workbench score {shown['run_id']} --ledger {as_shown(bench.ledger)}"
    assert f"{said}. Fix it, then score the same answers again: <code>{again}</code>" in index
    (suite,) = fromstring(bench("export", "--format", "junit").stdout)
    assert (suite.get("errors"), suite.get("failures"), suite.get("skipped")) == ("4", "0", "0")
    error = suite[0].find("error")
    assert error is not None
    assert error.get("message") == "custom: the scorer failed: ValueError: no number"
    bench.write("own.py", "def odd(answer, sample):\n    return 1\n")
    bench("score", "last")
    bench("run", "job.toml", "--no-report")


@pytest.mark.slow
def test_a_run_of_which_every_sample_is_taken_out_is_shown_without_scores(bench: Workbench) -> None:
    record(bench, "r1", {"m": [1.0, 0.0], "n": [1.0, 1.0]})
    bench("invalidate", "r1", "--sample", "0", "--sample", "1", "--reason", "wrong targets")
    shown = bench.json("show", "r1")
    assert [(row["mean"], row["invalid_samples"]) for row in shown["scores"]] == [(None, 2), (None, 2)]
    assert "Taken out of the scores: 2 samples" in Path(bench.json("report", "r1")["report"]).read_text("utf-8")
    assert bench.json("show", "r1", "--suspects") == []
    assert "no answer of use" not in bench("show", "r1").stdout, "all were answered"
    assert "n is not ranked: no answer of it counts in a mean." in bench("compare", "r1", "--no-report").stderr
    assert {row["verdict"] for row in bench.json("compare", "r1")["differences"]} == {"not comparable"}
    record(bench, "r2", {"m": [1.0, 0.0], "n": [1.0, 1.0]})
    assert {row["verdict"] for row in bench.json("compare", "r1", "r2")["differences"]} == {"not comparable"}


@pytest.mark.slow
def test_a_sample_is_put_back_also_after_the_clock_was(bench: Workbench) -> None:
    record(bench, "r1", {"m": [1.0, 0.0]})
    an_hour_ahead = datetime.now(UTC) + timedelta(hours=1)
    with contextlib.closing(JournalWriter(bench.ledger.journal_folder)) as journal:
        journal.append(SampleInvalidated("r1", an_hour_ahead, "sample0", True, "wrong"))
    assert bench.json("show", "r1")["scores"][0]["samples"] == 1
    bench("invalidate", "r1", "--sample", "0", "--restore")
    assert bench.json("show", "r1")["scores"][0]["samples"] == 2


def test_what_cannot_be_taken_out_is_said(answered: Workbench) -> None:
    missing = answered("invalidate", "last", "--sample", "ss1", "--reason", "x", code=2)
    assert "has no sample 'ss1' (did you mean 's1'?)" in missing.stderr
    again = answered("invalidate", "last", "--sample", "s0", "--restore").stderr
    assert "1 sample already counted in the scores" in again
    assert "put back" not in again
    assert "say why with --reason TEXT" in answered("invalidate", "last", "--sample", "s0", code=2).stderr


def test_targets_that_most_models_contradict_are_suspect(bench: Workbench) -> None:
    right = [1.0, 0.0, 0.0, 1.0]
    record(bench, "r1", {"a": right, "b": right, "c": right, "d": [1.0, 1.0, 0.0, 1.0]}, extracted=lambda _, n: f"x{n}")
    found = bench.json("show", "last", "--suspects")
    assert [(row["sample_id"], row["answer"], row["agree"], row["models"]) for row in found] == [
        ("2", "x2", 4, 4),
        ("1", "x1", 3, 4),
    ]
    said = bench("show", "--suspects").stderr
    assert "workbench invalidate r1 --sample ID" in said
    assert re.search(r"`workbench targets diff \S+\.toml`", said), "of its own job"


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", " =1", "\0=1", "＝1"])
def test_what_a_spreadsheet_would_compute_is_a_text(text: str) -> None:
    assert safe_for_a_spreadsheet(text) == f"'{text}"


@pytest.mark.parametrize("value", ["1 = 1", " a", "", 1, -1.5, None, "\n"])
def test_what_it_would_not_stays_as_it_is(value: object) -> None:
    assert safe_for_a_spreadsheet(value) == value


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [("export", "--format", "jsonl"), ("export", "--format", "csv"), ("show", "--calls", "--json")]
)
def test_data_on_a_terminal_moves_nothing_there(bench: Workbench, command: tuple[str, ...]) -> None:
    record(bench, "r1", {"m": [1.0]}, said="a\x9b31m\u202e{1}{0}\x1b]0;title\x07")
    ours, theirs = pty.openpty()
    process = bench.start(*command, stdout=theirs)
    os.close(theirs)
    text, is_json = all_shown(ours), "csv" not in command
    assert process.communicate(timeout=60)[1] == ""
    assert ("\\u202e" if is_json else "⟨U+202E⟩") in text
    if is_json:
        assert [json.loads(line) for line in text.splitlines()] == [
            json.loads(line) for line in bench(*command).stdout.splitlines()
        ]
    assert not {"\x9b", "\x1b", "\x07", "\u202e"} & set(text)
    assert "\u202e" in bench(*command).stdout, "for programs as it is"


@pytest.mark.file_ledger
def test_an_export_writes_over_exports_alone(bench: Workbench, tmp_path: Path) -> None:
    record(bench, "r1", {"m": [1.0, 0.0]}, scorers=["exact"])
    for form in ("csv", "jsonl", "parquet", "batch", "junit"):
        for _ in range(2):
            bench("export", "r1", "--format", form, "--output", f"o.{form}")
    mine = bench.write("mine.csv", "question,answer\n1,2\n")
    refused = bench("export", "r1", "--format", "csv", "--output", "mine.csv", code=2).stderr
    assert "mine.csv is there and is not an export of a run: it would be lost (name a new file" in refused
    assert mine.read_text() == "question,answer\n1,2\n"
    link = tmp_path / "link.csv"
    link.symlink_to("o.csv")
    bench("export", "r1", "--format", "csv", "--output", str(link))
    assert link.is_symlink()


@pytest.mark.slow
def test_an_export_goes_into_a_pipe_and_removes_none(bench: Workbench, tmp_path: Path) -> None:
    record(bench, "r1", {"m": [1.0, 0.0]}, scorers=["exact"])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(pipe.read_bytes)
        bench("export", "r1", "--format", "csv", "--output", str(pipe))
    assert read.result().startswith(b"sample_id,epoch,requested_model")
    assert pipe.is_fifo()
    assert bench("export", "r1", "--format", "csv", "--output", "-").stdout == read.result().decode()
    assert "needs --output FILE" in bench("export", "--format", "parquet", "--output", str(pipe), code=2).stderr
