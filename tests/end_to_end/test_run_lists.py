"""`runs` and `show`: what is running, and tables that fit the terminal."""

import json
import re
import shlex
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from tests.compared_runs import record
from tests.conftest import Workbench, job, quick, sums
from tests.pages import Page
from tests.unit.ledger.ledger_rows import STARTED_AT, key
from tests.waiting import until
from workbench.ledger.entries import score_entry
from workbench.ledger.journal import JournalWriter
from workbench.local_platform.config import PlatformConfig, load_config
from workbench.local_platform.server import ThreadedServer
from workbench.records.calls import Score
from workbench.records.outcomes import Outcome


@pytest.mark.parametrize(("scorers", "mean"), [(["exact", "length"], 0.25), (["length", "exact"], 40.0), (None, 0.25)])
def test_the_score_of_a_run_is_by_the_first_scorer_of_its_job(
    tmp_path: Path, scorers: list[str] | None, mean: float
) -> None:
    bench = Workbench(tmp_path, None)
    record(bench, "r1", {"m": [1.0, 0.0, 0.0, 0.0]}, scorers=scorers)
    writer = JournalWriter(bench.ledger.journal_folder)
    for number in range(1, 5):
        writer.append(score_entry("r1", key(number), ("length", "{}"), STARTED_AT, Score(40.0, "")))
    writer.close()
    assert bench.json("runs")[0]["mean_score"] == mean


@pytest.mark.slow
def test_a_run_in_progress_is_shown_as_running_and_a_killed_one_is_not(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 100)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(400))
        bench.write("job.toml", job("sim/instant", limit=2))
        process = bench.start("run", "job.toml", "--no-report")
        until(lambda: server.platform.statistics.requests.total() >= 6)
        (run,) = bench.json("runs")
        assert run["status"] == bench.json("show")["status"] == "running"
        assert run["answered"] + run["pending"] == 400
        assert "running" in bench("runs").stdout
        assert "continue with" not in bench("show").stderr
        assert "0 journals not ingested yet, 1 being written" in bench("doctor").stdout
        index = Path(bench.json("report")["pages"][1]).read_text("utf-8")
        assert "1 job: 1 running." in index
        assert re.search(rf"<bdi>sums</bdi>(</a>)?</b>, run {run['run_id']}", index), "and needs no action"
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert bench.json("runs")[0]["status"] is bench.json("show")["status"] is None
        listed = bench("runs")
        assert "not ended" in listed.stdout
        assert f"`workbench show {run['run_id']}` shows what is missing" in listed.stderr
        named = shlex.join(["workbench", "show", run["run_id"], "--ledger", bench.ledger.name])
        assert f"`{named}` shows" in bench("runs", "--ledger", bench.ledger.name).stderr
        assert "continue with" in bench("show").stderr
        assert "1 journal not ingested yet" in bench("ledger", "check").stdout


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, catalogue: PlatformConfig) -> Workbench:
    with ThreadedServer(catalogue) as server:
        bench = Workbench(tmp_path_factory.mktemp("recorded"), server)
        bench.write("sums.jsonl", sums(3))
        bench.write("job.toml", job("sim/instant", "Abacus Large [careful]"))
        bench("run", "job.toml", "--no-report")
    return bench


@pytest.mark.parametrize("columns", [40, *(pytest.param(other, marks=pytest.mark.slow) for other in (60, 80, 140))])
@pytest.mark.parametrize("command", [("runs",), ("show",), ("show", "--calls"), ("usage",), ("usage", "--by", "model")])
def test_tables_fit_the_terminal(recorded: Workbench, columns: int, command: tuple[str, ...]) -> None:
    lines = recorded.on_a_terminal(columns, *command)
    assert max(map(len, lines)) <= max(columns, 80 if command == ("show",) else columns)
    if command == ("runs",) and columns == 140:
        assert lines[0].split()[-5:] == ["best", "best-by", "worst", "worst-by", "scorer"]


@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.slow)])
def test_no_number_is_cut(bench: Workbench, columns: int) -> None:
    """Of 38 models with long names, in a comparison, which has the widest numbers."""
    values = {
        f"Vendor Model {n:02} [careful, with tools]": [float((7 * s + n) % 38 < 20) for s in range(40)]
        for n in range(38)
    }
    record(bench, "r1", values)
    bench.environment["NO_COLOR"] = "1"
    lines = bench.on_a_terminal(columns, "compare", "r1", "--no-report")
    cut = [line for line in lines if re.search(r"\d…|[\[−+(]…", line)]
    assert cut == []
    assert sum("[" in line and "]" in line for line in lines) >= 2 * 38 - 1, "every interval is whole"


def test_a_list_that_is_cut_says_of_how_many(bench: Workbench) -> None:
    for number in range(3):
        record(bench, f"r{number}", {"m": [1.0]})
    done = bench("runs", "--limit", "2")
    assert done.stderr == "2 of 3 runs; --limit N shows more\n"
    assert bench("runs", "--most", "2").stdout == done.stdout
    assert len(bench.json("runs")) == 3
    assert len(bench.json("runs", "--limit", "1")) == 1
    assert bench.json("runs")[0]["scorer"] == "exact"


def test_calls_are_listed_with_score_and_answer(recorded: Workbench) -> None:
    heading, first, *_ = recorded("show", "last", "--calls").stdout.splitlines()
    assert heading.split("  ")[-1].strip() == "answer"
    assert "numeric" in heading
    assert re.search(r"\d\.?$", first), "an answer to a sum"


def test_an_id_of_several_lines_is_one_line_of_a_table(bench: Workbench) -> None:
    bench.write("d.csv", 'id,input,target\n"a\nb",What is 1 + 1?,2\n"c\td",What is 1 + 2?,3\n')
    bench.write("job.toml", job(dataset="d.csv"))
    bench("run", "job.toml", "--no-report")
    heading, *rows = bench("show", "last", "--calls").stdout.splitlines()
    assert sorted(row.split("  ")[0] for row in rows) == ["a⏎b", "c␉d"]
    assert len({row.index("sim/instant") for row in rows} | {heading.index("requested")}) == 1
    (said,) = bench("invalidate", "last", "--sample", "zz", "--reason", "x", code=2).stderr.splitlines()
    assert "a⏎b" in said


LONG = [f"Vendor Model {n:02} [careful, with tools]" for n in range(38)]


def test_the_list_of_runs_keeps_status_and_scorer_on_a_narrow_terminal(bench: Workbench) -> None:
    record(bench, "r1", {model: [1.0, 0.0, 1.0] for model in LONG[:2]}, status="gate_failed")
    record(bench, "r2", {model: [1.0, 0.5, None] for model in LONG[:2]})
    heading, newest, oldest, *said = bench.on_a_terminal(80, "runs")
    assert heading.split()[-1] == "scorer"
    assert newest.split()[-1] == oldest.split()[-1] == "exact"
    assert ("complete" in newest, "gate_failed" in oldest) == (True, True)
    assert "best-by" in " ".join(said)


def test_a_list_of_calls_keeps_the_models(bench: Workbench) -> None:
    record(bench, "r1", {model: [1.0] for model in LONG})
    lines = bench.on_a_terminal(80, "show", "r1", "--calls")
    assert [sum(model in line for line in lines) for model in LONG] == [1] * len(LONG)


@pytest.mark.slow
def test_a_list_of_calls_names_the_scorers_that_it_does_not_show(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", job() + '[[scorers]]\nname = "f1"\n')
    bench("run", "job.toml", "--no-report")
    assert bench("show", "--calls").stderr == "no column for f1; --json has every score\n"
    bench.write("job.toml", job())
    bench("run", "job.toml", "--no-report")
    assert bench("show", "--calls").stderr == ""


def test_a_list_of_the_allowance_says_of_how_many(bench: Workbench) -> None:
    record(bench, "r1", {model: [1.0] for model in LONG})
    bench.write("workbench.toml", '[allowance]\nwindow = "month"\n')
    bench.environment["WORKBENCH_NOW"] = (STARTED_AT + timedelta(days=9)).isoformat()
    done = bench("allowance")
    assert sum(model in done.stdout for model in LONG) == 8
    assert "8 of 38 models; --json has all\n" in done.stderr
    assert "jobs; --json" not in done.stderr
    assert len(bench.json("allowance")["models"]) == 38


@pytest.mark.slow
def test_a_probe_cuts_no_heading_on_a_narrow_terminal(bench: Workbench) -> None:
    wide, narrow = (bench.on_a_terminal(columns, "probe", "Abacus Large [careful]", "--yes") for columns in (300, 80))
    table = [line for line in narrow if line.startswith(("route ", "Abacus Large [careful] "))]
    assert len(table) == 2
    assert "…" not in "".join(table)
    assert "answers" in table[0]
    assert "no room for: " in "".join(narrow)
    assert "no room for: " not in "".join(wide)


@pytest.mark.slow
def test_columns_that_do_not_fit_are_named(recorded: Workbench) -> None:
    wide, narrow = (recorded.on_a_terminal(columns, "runs") for columns in (200, 80))
    assert not any("no room for" in line for line in wide)
    lost = next(line for line in narrow if line.startswith("no room for: ")).removeprefix("no room for: ").split(", ")
    assert lost
    assert [name for name in lost if name in narrow[0]] == []
    assert all(name in wide[0] for name in lost)


def test_the_score_of_a_run_is_of_the_first_scorer_that_scored(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    judge = '[[scorers]]\nname = "judge"\nmodel = "Lab Tutor"\n'
    own = job("sim/instant")
    place = own.index("[[scorers]]")
    bench.write(
        "job.toml",
        own[:place] + judge + own[place:] + '[[scorers]]\nname = "length"\nat_most = 0\n[judge]\nwhen = "later"\n',
    )
    bench("run", "job.toml", "--no-report", code=None)
    assert bench.json("runs")[0]["mean_score"] == 1.0, "of numeric: the judge was not asked"


@pytest.mark.slow
def test_numbers_in_a_pipe_are_plain_digits(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(120))
    bench.write("job.toml", job("sim/instant"))
    bench("run", "job.toml", "--no-report")
    tokens = bench.json("runs")[0]["total_tokens"]
    assert tokens > 1000
    assert f" {tokens} " in bench("runs").stdout
    assert any(f"{tokens:,}".replace(",", "\u202f") in line for line in bench.on_a_terminal(140, "runs"))


@pytest.mark.slow
def test_what_a_later_run_completed_is_not_said_to_be_missing(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(4))
    bench.write("job.toml", job() + "[budget]\nrequests = 2\n")
    bench("run", "job.toml", "--no-report", code=7)
    bench("run", "job.toml", "--no-report", "--limit", "1")
    assert "shows what is missing" in bench("runs").stderr, "a part of it is not all of it"
    bench("run", "job.toml", "--no-report")
    assert "shows what is missing" not in bench("runs").stderr


@pytest.mark.slow
def test_a_model_that_was_down_makes_no_job_look_worse(bench: Workbench) -> None:
    right, wrong = [1.0] * 8, [0.0] * 8
    for number in (1, 2, 4):
        record(bench, f"r{number}", {"good": right, "bad": wrong}, scorers=["exact"])
    down = {("good", sample): Outcome.ROUTE_DOWN for sample in range(8)}
    record(bench, "r3", {"good": [None] * 8, "bad": wrong}, scorers=["exact"], outcomes=down)
    cut = {("good", 7): Outcome.ROUTE_DOWN}
    record(bench, "r5", {"good": [*right[:7], None], "bad": wrong}, scorers=["exact"], outcomes=cut)
    page = Page(Path(bench.json("report")["report"]).with_name("index.html"))
    (chart,) = [one for one in page.charts if "as before" in json.dumps(one) or "series" in json.dumps(one)]
    (points,) = {json.dumps(layer["data"]["values"]) for layer in chart["layer"] if "values" in layer["data"]}
    drawn = [(row["mean"], row.get("low"), row.get("high")) for row in json.loads(points)]
    assert drawn == [(0.5, None, None)] * 3 + [(pytest.approx(0.46875), pytest.approx(0.4375), 0.5)]
    assert re.search(
        r"Without a point, as not all models have a score: j, [^:]*\d\d:\d\d[^:]*: good did not answer\.", page.text
    )


def test_a_model_that_never_answers_hides_no_point(bench: Workbench) -> None:
    down = {("gone", sample): Outcome.ROUTE_DOWN for sample in range(8)}
    for number in (1, 2):
        record(bench, f"r{number}", {"good": [1.0] * 8, "gone": [None] * 8}, scorers=["exact"], outcomes=down)
    page = Page(Path(bench.json("report")["report"]).with_name("index.html"))
    assert "Do the jobs score as before?" in page.text
    assert "Without a point" not in page.text


def test_the_object_of_a_run_has_its_scores_where_there_are_none_too(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    scored = bench.json("run", "job.toml", "--no-report")
    assert scored["scores"] == bench.json("show", "last")["scores"]
    assert [row["mean"] for row in scored["scores"]] == [1.0]
    bench.write("job.toml", job().replace('[[scorers]]\nname = "numeric"\n', ""))
    assert bench.json("run", "job.toml", "--no-report")["scores"] == []
