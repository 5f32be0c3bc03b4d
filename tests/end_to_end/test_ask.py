"""`workbench ask`, and the run that is meant by `last` or the beginning of an id."""

import json
from pathlib import Path

import pytest

from tests.conftest import Workbench, job, sums
from workbench.local_platform.server import ThreadedServer

MODEL = "Abacus Large [careful]"


@pytest.fixture
def bench(tmp_path: Path, platform: ThreadedServer) -> Workbench:
    return Workbench(tmp_path, platform)


def test_a_question_is_answered_and_recorded(bench: Workbench) -> None:
    done = bench("ask", MODEL, "What is 6 * 7? {{ x }}")
    assert "42" in done.stdout
    assert f"ok by {MODEL}" in done.stderr
    assert "simulated; run " in done.stderr
    asked = json.loads(
        bench.process("ask", MODEL, "-", "--json", "--system", "{ Answer }", input="What is 1 + 1?").stdout
    )
    assert (asked["input"], asked["outcome"], asked["simulated"]) == ("What is 1 + 1?", "ok", True)
    assert [run["job"] for run in bench.json("runs")] == ["ask", "ask"]


def test_a_question_that_a_cap_holds_back_used_nothing_and_is_asked_again_by_the_same_command(bench: Workbench) -> None:
    bench("ask", MODEL, "What is 1 + 1?")
    bench.write("workbench.toml", '[[caps]]\nper = "day"\nrequests = 1\n')
    said = bench("ask", MODEL, "What is 1 + 2?", code=7).stderr
    assert "nothing was sent" in said
    assert "tokens unknown" not in said
    assert "exceeded" not in said
    assert "or by `workbench ask MODEL TEXT`" in bench("show").stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("Abacus Larg", "hi"), 2, "MODEL: 'Abacus Larg' is not visible"),
        ((MODEL, ""), 2, "TEXT is empty"),
        (("sim/locked", "hi"), 3, "route_unauthorised, no tokens"),
    ],
)
def test_a_question_that_cannot_be_answered(bench: Workbench, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = bench("ask", *arguments, code=code)
    assert said in done.stderr
    assert not done.stdout


@pytest.mark.slow
def test_a_run_is_named_by_the_beginning_of_its_id_or_as_the_last(bench: Workbench) -> None:
    for _ in range(2):
        bench("ask", MODEL, "What is 6 * 7?")
    newest, oldest = (run["run_id"] for run in bench.json("runs"))
    assert bench.json("show")["run_id"] == bench.json("show", "last")["run_id"] == newest
    assert bench.json("show", oldest[:-1])["run_id"] == oldest
    assert "2 runs begin with '2'" in bench("show", "2", code=2).stderr
    assert "there is no run 'x'" in bench("show", "x", code=2).stderr
    assert bench.json("report", "last")["run_id"] == newest
    assert bench.json("score", oldest[:-1])["run_id"] == oldest


def test_the_run_that_is_resumed_is_recorded_by_its_id(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", job(MODEL))
    first = bench.json("run", "job.toml", "--no-report", "--fresh")["run_id"]
    assert bench.json("run", "job.toml", "--no-report", "--resume", "last")["reused"] == 2
    assert bench.rows("SELECT resumed_run FROM runs WHERE resumed_run IS NOT NULL") == [(first,)]


@pytest.mark.slow
def test_a_page_is_opened(bench: Workbench) -> None:
    bench("ask", MODEL, "What is 6 * 7?")
    bench.environment["BROWSER"] = "echo opened %s"
    assert "opened file://" in bench.process("report", "--open").stdout
    bench.environment["BROWSER"] = "no-such-browser"
    assert "no browser could be started" in bench.process("report", "--open").stderr


def test_a_plan_shows_requests_as_they_are_sent(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job(MODEL))
    (body,) = bench.json("plan", "job.toml", "--show", "1")["requests"]
    assert body["model"] == MODEL
    assert body["messages"] == [{"role": "user", "content": "What is 0 + 0?"}]
    shown = bench("plan", "job.toml", "--show", "2").stdout
    assert shown.count('"messages"') == 2
    assert not list(bench.folder.glob("*.duckdb*")), "nothing was sent"


def test_a_job_for_real_models_is_rehearsed_with_stand_ins(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("gpt-oss:20b", "Abacus Large [carefull]"))
    done = bench.process("run", "job.toml", "--no-report", "--local", "--json")
    result = json.loads(done.stdout)
    assert (result["completed"], result["simulated"]) == (6, True)
    assert "note: a simulated stand-in answers for 'gpt-oss:20b'" in done.stderr
    assert "(did you mean 'Abacus Large [careful]'?)" in done.stderr
