"""The line through the real command line: a job, a dataset, a platform, a ledger, a page."""

import json
import re
import shlex
import signal
from collections import Counter
from pathlib import Path

import duckdb
import msgspec
import pytest

from tests.conftest import Workbench, job, one_route, quick, sums
from tests.waiting import until
from workbench.ledger.store import Ledger
from workbench.local_platform.config import Latency, PlatformConfig, RouteFault, load_config
from workbench.local_platform.server import ThreadedServer


def test_the_demo_needs_nothing_and_names_its_report(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    done = bench.process("demo")
    report = Path(done.stdout.splitlines()[-1].removeprefix("page: "))
    assert report.is_file()
    page = report.read_text()
    assert "Simulated" in page
    assert (tmp_path / "local.duckdb").exists()
    again = bench.json("demo", "--no-report")
    assert (again["status"], again["reused"], again["completed"]) == ("complete", again["planned"], 0)
    assert again["report"] is None


def test_a_run_is_recorded_scored_and_reported(bench: Workbench, platform: ThreadedServer) -> None:
    bench.write("sums.jsonl", sums(40))
    bench.write("job.toml", job("Abacus Large [careful]", "Abacus Mini [fast]", "Abacus Classic"))
    result = bench.json("run", "job.toml")
    assert set(result) == {
        "run_id", "job", "status", "reason", "planned", "reused", "completed", "failed", "pending", "outcomes", "usage",
        "served_models", "simulated", "failed_routes", "gates", "scores", "to_judge", "duration_s", "ledger", "report",
    }  # fmt: skip
    assert (result["planned"], result["completed"], result["status"]) == (120, 120, "complete")
    assert result["outcomes"] == {"ok": 120}
    assert result["served_models"] == {"Abacus Large [careful]": 40, "Abacus Mini [fast]": 80}
    assert result["usage"]["calls_without_usage"] == 0
    assert result["usage"]["total_tokens"] == result["usage"]["prompt_tokens"] + result["usage"]["completion_tokens"]
    assert Path(result["report"]).is_absolute()
    assert sum(platform.platform.statistics.requests.values()) == 120
    assert platform.platform.statistics.most_in_flight <= 8

    calls = bench.lines("show", result["run_id"], "--calls")
    assert len(calls) == 120
    assert set(calls[0]) == {
        "request_key", "sample_id", "epoch", "requested_model", "variant", "served_model", "identity", "identity_evidence", "outcome", "http_status", "attempts",
        "latency_ms", "prompt_tokens", "completion_tokens", "reasoning_tokens", "total_tokens", "finish_reason", "answer", "reasoning",
        "tool_calls", "evidence", "error_text", "scores",
    }  # fmt: skip
    assert all(
        call["scores"] == {"numeric": 1.0} for call in calls if call["requested_model"].startswith("Abacus Large")
    )
    assert bench.json("usage", "--by", "model")[0]["calls"] == 40
    assert bench.json("ledger", "check")["sound"]


def test_a_rerun_sends_nothing_fresh_sends_all_and_keeps_the_old(bench: Workbench, platform: ThreadedServer) -> None:
    bench.write("sums.jsonl", sums(30))
    bench.write("job.toml", job("sim/instant", "sim/prose"))
    first = bench.json("run", "job.toml", "--no-report")
    again = bench.json("run", "job.toml", "--no-report")
    assert (again["reused"], again["completed"], again["outcomes"]) == (60, 0, {})
    asked, reused = (bench.lines("show", run["run_id"], "--calls") for run in (first, again))
    assert all(call["answer"] and call["scores"] for call in reused)
    assert reused == [call | {"attempts": 0} for call in asked]
    shown, later = (bench("show", run["run_id"]).stdout for run in (first, again))
    assert [text.count("unreported") for text in (shown, later)] == [1, 0], "no table without a row"
    assert sum(platform.platform.statistics.requests.values()) == 60
    fresh = bench.json("run", "job.toml", "--no-report", "--fresh")
    assert (fresh["reused"], fresh["completed"]) == (0, 60)
    assert sum(platform.platform.statistics.requests.values()) == 120
    assert len(bench.lines("show", first["run_id"], "--calls")) == 60
    generations = bench.rows("SELECT generation, count(*) FROM attempts WHERE accepted GROUP BY ALL")
    assert sorted(count for _, count in generations) == [60, 60]
    resumed = bench.json("run", "--resume", fresh["run_id"], "--no-report")
    assert (resumed["reused"], resumed["completed"]) == (60, 0)


def test_only_what_is_new_is_sent(bench: Workbench, platform: ThreadedServer) -> None:
    bench.write("sums.jsonl", sums(10))
    bench.write("job.toml", job("sim/instant"))
    bench("run", "job.toml", "--no-report")
    bench.write("sums.jsonl", sums(15))
    bench.write("renamed.toml", job("sim/instant", "sim/prose", name="renamed"))
    planned = bench.json("plan", "renamed.toml")
    assert (planned["planned"], planned["reused"], planned["to_send"]) == (30, 10, 20)
    result = bench.json("run", "renamed.toml", "--no-report")
    assert (result["reused"], result["completed"]) == (10, 20)
    bench.write("epochs.toml", job("sim/instant").replace("[run]", "[run]\nepochs = 3"))
    result = bench.json("run", "epochs.toml", "--no-report")
    assert (result["planned"], result["reused"], result["completed"]) == (45, 15, 30)
    assert sum(platform.platform.statistics.requests.values()) == 60


@pytest.mark.slow
def test_intended_duplicates_stay_duplicates(bench: Workbench, platform: ThreadedServer) -> None:
    bench.write("sums.jsonl", sums(3) * 2)
    bench.write("job.toml", job())
    assert bench.json("run", "job.toml", "--no-report")["completed"] == 6
    assert bench.json("run", "job.toml", "--no-report")["reused"] == 6
    assert any("3 ids repeat, 6 rows" in finding["text"] for finding in bench.json("lint", "job.toml"))
    assert sum(platform.platform.statistics.requests.values()) == 6


@pytest.mark.slow
def test_changing_a_scorer_scores_again_without_a_call(bench: Workbench, platform: ThreadedServer) -> None:
    bench.write("sums.jsonl", sums(10))
    bench.write("job.toml", job("Abacus Large [careful]"))
    run = bench.json("run", "job.toml", "--no-report")["run_id"]
    assert bench.json("score", run)["written"] == 0
    bench.write("other.toml", job("Abacus Large [careful]").replace('"numeric"', '"exact"'))
    found = bench.json("score", run, "--job", "other.toml")
    assert found["written"] == 10
    assert {row["scorer"]: row["mean"] for row in found["scores"]} == {"numeric": 1.0, "exact": 0.0}
    assert sum(platform.platform.statistics.requests.values()) == 10


@pytest.mark.slow
def test_failures_that_a_rerun_can_fix_are_incomplete_and_fixed(tmp_path: Path) -> None:
    with ThreadedServer(one_route(faults=[RouteFault(0.4, 502)])) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(40))
        bench.write("job.toml", job("m"))
        result = bench.json("run", "job.toml", "--no-report", code=3)
        assert result["status"] == "incomplete"
        assert result["failed"] > 0
        assert result["planned"] == result["reused"] + result["completed"] + result["failed"] + result["pending"]
        assert result["outcomes"] == {"ok": result["completed"], "route_down": result["failed"]}
        for _ in range(20):
            done = bench("run", "job.toml", "--no-report", code=None)
            if done.returncode == 0:
                break
        assert done.returncode == 0
        assert bench.json("ledger", "check")["sound"]


def test_a_route_with_a_missing_secret_fails_alone(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(5))
    bench.write("job.toml", job("sim/instant", "sim/locked"))
    result = bench.json("run", "job.toml", "--no-report", code=3)
    assert result["outcomes"] == {"ok": 5, "route_unauthorised": 5}


@pytest.mark.slow
def test_messages_tools_and_reasoning_are_recorded(bench: Workbench) -> None:
    tool = {
        "type": "function",
        "function": {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}}},
    }
    row = {
        "id": "w",
        "messages": [{"role": "user", "content": "What is the weather in Oslo?"}],
        "tools": [tool],
        "target": 7,
    }
    bench.write("sums.jsonl", json.dumps(row) + "\n")
    bench.write(
        "job.toml",
        job("Toolsmith (forced ok)", "Ponder [thinking only]").replace(
            "max_tokens = 64", 'max_tokens = 90\ntool_choice = "required"'
        ),
    )
    run = bench.json("run", "job.toml", "--no-report")["run_id"]
    calls = {call["requested_model"]: call for call in bench.lines("show", run, "--calls")}
    assert calls["Toolsmith (forced ok)"]["tool_calls"][0]["name"] == "get_weather"
    assert json.loads(calls["Toolsmith (forced ok)"]["tool_calls"][0]["arguments"]) == {"city": "Oslo"}
    assert calls["Toolsmith (forced ok)"]["answer"] is None
    assert calls["Toolsmith (forced ok)"]["scores"] == {"numeric": None}
    assert calls["Ponder [thinking only]"]["reasoning"]
    assert any("never called a tool" in finding["text"] for finding in bench.json("lint", "job.toml"))


def test_models_are_interleaved_and_limits_hold(tmp_path: Path) -> None:
    config = load_config()
    slow = msgspec.structs.replace(config.routes[0], id="slow", latency_ms=Latency(400), visible_to=None)
    fast = msgspec.structs.replace(config.routes[1], id="fast", latency_ms=Latency(5))
    with ThreadedServer(PlatformConfig((slow, fast))) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(24))
        bench.write("job.toml", job("slow", "fast", limit=6))
        bench.json("run", "job.toml", "--no-report")
        assert server.platform.statistics.most_in_flight == 6
        last_fast, half_of_slow = bench.rows(
            "SELECT max(ended_at) FILTER (model = 'fast'), quantile_disc(ended_at, 0.5) FILTER (model = 'slow') FROM attempts"
        )[0]
    assert last_fast < half_of_slow


@pytest.mark.slow
def test_one_run_of_a_job_at_a_time_and_two_jobs_together(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 400)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(60))
        bench.write("one.toml", job("sim/instant", name="one"))
        bench.write("two.toml", job("sim/prose", name="two"))
        first = bench.start("run", "one.toml", "--json", "--no-report")
        until(lambda: server.platform.statistics.requests)
        refused = bench("run", "--no-report", "one.toml", code=5)
        assert f"in process {first.pid}" in refused.stderr
        other = bench.start("run", "two.toml", "--json", "--no-report")
        live = bench.json("runs")
        assert [row["status"] for row in live if row["job"] == "one"] == ["running"]
        outs = [json.loads(process.communicate(timeout=60)[0]) for process in (first, other)]
        assert [out["completed"] for out in outs] == [60, 60]
        assert bench.json("ledger", "check")["sound"]


@pytest.mark.long  # each of them waits for the notebook
@pytest.mark.file_ledger
def test_a_notebook_a_report_and_two_runs_at_once(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 250)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(16))
        bench.write("one.toml", job("sim/instant", name="one"))
        bench.write("two.toml", job("sim/prose", name="two"))
        before = bench.json("run", "one.toml", "--no-report")
        ledger = Path(before["ledger"])
        bench.write("sums.jsonl", sums(100))
        with duckdb.connect(str(ledger), read_only=True) as notebook:
            holding = notebook.execute("SELECT * FROM attempts")
            runs = [bench.start("run", name, "--json") for name in ("one.toml", "two.toml")]
            until(lambda: server.platform.statistics.requests["sim/prose"] >= 20)
            listed = json.loads(
                bench.process("runs", "--json").stdout
            )  # in a process of its own: this one holds the file
            (live,) = [row for row in listed if row["status"] == "running" and row["job"] == "two"]
            assert live["completed"] > 0  # from its journal
            page = Path(bench.process("report", live["run_id"]).stdout.strip()).read_text()
            assert '<span class="unknown">running</span>' in page
            assert re.search(rf"<bdi>two</bdi>(</a>)?</b>, run {live['run_id']}", page)
            outs = [process.communicate(timeout=60) for process in runs]
            assert [process.returncode for process in runs] == [0, 0]
            assert all("not ingested yet" in err for _, err in outs)
            assert len(holding.fetchall()) == 16
        results = [json.loads(out) for out, _ in outs]
        assert [result["completed"] for result in results] == [84, 100]
        assert all(Path(result["report"]).exists() for result in results)
        assert bench.json("ledger", "recover")["journals"] > 0
        counts = Counter(row["job"] for row in bench.json("runs"))
        assert counts == {"one": 2, "two": 1}
        assert bench.json("ledger", "check")["sound"]


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_new_ledger_can_be_opened_while_its_first_answer_is_on_its_way(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 3000)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(1))
        bench.write("job.toml", job("sim/instant"))
        process = bench.start("run", "job.toml", "--no-report")
        ledger = tmp_path / "ledger.duckdb"
        until(ledger.exists)
        with Ledger(ledger).locked(exclusive=False), duckdb.connect(ledger, read_only=True) as notebook:
            assert notebook.sql("SELECT * FROM run_overview").fetchall() == []
        process.communicate(timeout=60)
    assert [run["completed"] for run in bench.json("runs")] == [1]


@pytest.mark.slow
def test_a_killed_fresh_run_goes_on_with_resume(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 40)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(100))
        bench.write("job.toml", job("sim/instant", limit=4))
        first = bench.json("run", "job.toml", "--no-report")
        process = bench.start("run", "job.toml", "--fresh", "--no-report")
        until(lambda: sum(server.platform.statistics.requests.values()) >= 130)
        process.kill()
        process.communicate()
        killed = bench.json("runs")[0]
        assert killed["status"] is None
        command = bench("runs").stderr.partition("continue with: workbench ")[2].splitlines()[0]
        assert command == bench("show").stderr.partition("continue with: workbench ")[2].splitlines()[0]
        result = bench.json(*shlex.split(command), "--no-report")
        assert result["planned"] == 100
        assert result["reused"] + result["completed"] == 100
        assert result["reused"] >= 20
        assert sum(server.platform.statistics.requests.values()) <= 200 + 4
        calls = bench.lines("show", first["run_id"], "--calls")
        assert len(calls) == 100  # the old answers are kept
        bench.write("sums.jsonl", sums(99))
        refused = bench("run", "job.toml", "--resume", killed["run_id"], code=2)
        assert "not the dataset of run" in refused.stderr


@pytest.mark.parametrize("command", ["models", "doctor"])
def test_reading_commands(bench: Workbench, command: str) -> None:
    assert "Abacus" in bench("models").stdout
    assert bench.json(command)


def test_the_key_is_nowhere(bench: Workbench, platform: ThreadedServer) -> None:
    bench.write("sums.jsonl", sums(10))
    bench.write("job.toml", job("sim/instant", "sim/flaky", "sim/locked"))
    outputs = [
        bench.process("run", "job.toml", "--no-report", code=3),
        bench("models"),
        bench("doctor"),
        bench("runs"),
    ]
    bench.environment["WORKBENCH_API_KEY"] = platform.key[:-1] + "x"
    outputs.append(bench.process("run", "job.toml", "--no-report", code=4))
    secret = platform.key[3:-1].encode()
    for path in bench.folder.rglob("*"):
        if path.is_file():
            assert secret not in path.read_bytes(), path
    for output in outputs:
        assert secret.decode() not in output.stdout + output.stderr


def test_the_standalone_platform_serves_until_told(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    process = bench.start("platform", "serve", "--port", "0", "--ephemeral", "--json")
    assert process.stdout is not None
    announced = json.loads(process.stdout.readline())
    bench.environment |= {"WORKBENCH_BASE_URL": announced["base_url"] + "/api", "WORKBENCH_API_KEY": announced["key"]}
    assert len(bench.json("models")) >= 8
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    process.communicate()
    assert "no endpoint" not in bench("models", code=6).stderr


@pytest.mark.slow
def test_the_embedded_platform_dies_with_its_command(tmp_path: Path) -> None:
    import psutil

    bench = Workbench(tmp_path, None)
    bench.write("sums.jsonl", sums(5000))
    bench.write("job.toml", job("Ponder [thinking only]"))
    process = bench.start("run", "job.toml", "--local", "--no-report")
    until(lambda: list(tmp_path.rglob("*.journal/*.zst")))
    children = psutil.Process(process.pid).children()
    assert children
    process.kill()
    process.communicate()
    _, alive = psutil.wait_procs(children, timeout=5)
    assert not alive
