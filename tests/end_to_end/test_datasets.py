"""`workbench datasets`: looking at a file, and converting it."""

import json
from pathlib import Path

import pytest

from tests.conftest import Workbench
from workbench.local_platform.server import ThreadedServer

ROWS = [{"question": f"What is {n} + 1?", "answer": f"{n} + 1\n#### {n + 1}"} for n in (1, 2, 2)]


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return Workbench(tmp_path, None)


def test_a_file_is_shown_with_what_it_is_taken_for(bench: Workbench) -> None:
    said = bench("datasets", "show", "d.jsonl", "--samples", "1").stdout
    assert said.splitlines() == [
        "d.jsonl: JSON Lines, taken for GSM8K (scored by numeric)",
        "3 samples: 3 with a target",
        "input: 14 to 14 characters, median 14.0",
        "metadata: question, answer",
        "equal samples: 1",
        "",
        "sample 1",
        "  input    What is 1 + 1?",
        "  target   2",
    ]
    found = bench.json("datasets", "show", "d.jsonl")
    assert (found["layout"], found["samples"], found["equal"]) == ("gsm8k", 3, 1)


def test_names_of_a_file_do_not_begin_lines_of_their_own(bench: Workbench) -> None:
    row = {"id": "1\n  target   5", "input": "x\ny", "note\nsamples: 99": 1, "target": "t"}
    bench.write("odd.jsonl", json.dumps(row))
    assert bench("datasets", "show", "odd.jsonl").stdout.splitlines()[3:] == [
        "metadata: note⏎samples: 99",
        "",
        "sample 1⏎  target   5",
        "  input    x",
        "           y",
        "  target   t",
    ]


def test_a_file_is_converted_whole_or_not_at_all(bench: Workbench) -> None:
    assert bench("datasets", "convert", "d.jsonl", "own.jsonl").returncode == 0
    own = [json.loads(line) for line in (bench.folder / "own.jsonl").read_text().splitlines()]
    assert own[0] == {"id": "1", "input": "What is 1 + 1?", "target": "2"} | ROWS[0]
    again = bench("datasets", "convert", "d.jsonl", "own.jsonl", code=2)
    assert (again.returncode, "own.jsonl: already exists" in again.stderr) == (2, True)
    bench.write("bad.jsonl", '{"input": "x"}\n{"input": }\n')
    broken = bench("datasets", "convert", "bad.jsonl", "other.jsonl", code=2)
    assert (broken.returncode, "bad.jsonl:2" in broken.stderr) == (2, True)
    assert not list(bench.folder.glob("other.jsonl*"))
    assert bench("datasets", "convert", "d.jsonl").stdout.count("\n") == 3


def test_a_recognised_file_is_asked_and_scored_without_naming_a_column(
    tmp_path: Path, platform: ThreadedServer
) -> None:
    local = Workbench(tmp_path, platform)
    local.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS[:2]))
    local.write(
        "job.toml", 'models = ["Abacus Large [careful]"]\n[dataset]\npath = "d.jsonl"\n[[scorers]]\nname = "numeric"\n'
    )
    done = local.json("run", "job.toml", "--no-report")
    assert (done["status"], done["completed"]) == ("complete", 2)
    assert [score["scored"] for score in local.json("show", "last")["scores"]] == [2]
