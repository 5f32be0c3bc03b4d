"""What stops a run before its end keeps what arrived, exits 7, and goes on where it is told to."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.contract.clocks import HeldClock
from tests.waiting import until_said
from workbench.local_platform.config import PlatformConfig
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings
from workbench.local_platform.state import State

M = {"id": "m", "simulated": "answers"}


def run(
    folder: Path, config: PlatformConfig, more: str, *, samples: int = 30, limit: int = 4, state: State | None = None
) -> tuple[dict[str, Any], str, int]:
    with ThreadedServer(config, state) as server:
        bench = Workbench(folder, server)
        bench.write("sums.jsonl", sums(samples))
        bench.write("job.toml", job("m", limit=limit).replace("passes = 1", f"passes = 1\n{more}"))
        result = bench.json("run", "job.toml", "--no-report", code=None)
        told = bench("show", result["run_id"]).stderr
        return result, told, server.platform.statistics.requests["m"]


def balanced(result: dict[str, Any]) -> bool:
    parts = ("reused", "completed", "failed", "pending")
    return bool(result["planned"] == sum(result[name] for name in parts))


def test_a_budget_of_requests(tmp_path: Path) -> None:
    result, told, requests = run(tmp_path, platform_of(M), "[budget]\nrequests = 7")
    assert (result["status"], result["completed"], result["pending"], requests) == ("stopped", 7, 23, 7)
    assert balanced(result)
    assert "continue with: workbench run" in told


def test_the_command_that_show_names_resumes_the_run(tmp_path: Path) -> None:
    with ThreadedServer(platform_of(M)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(10))
        bench.write("job.toml", job("m").replace("[run]", "[budget]\nrequests = 7\n[run]"))
        first = bench("run", "job.toml", "--no-report", code=7)
        told = bench("show", bench.json("runs")[0]["run_id"]).stderr
        (command,) = (line.removeprefix("continue with: ") for line in told.splitlines() if "continue with" in line)
        assert "continue with: workbench run job.toml" in first.stdout
        assert shlex.split(command)[:2] == ["workbench", "run"]
        again = bench.json(*shlex.split(command)[1:], "--no-report")
    assert (again["reused"], again["completed"], again["status"]) == (7, 3, "complete")


def test_a_model_that_a_stopped_run_asked_nothing_is_named(tmp_path: Path) -> None:
    with ThreadedServer(platform_of(M, M | {"id": "n"})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(10))
        bench.write("job.toml", job("m", "n").replace("[run]", "[budget]\nrequests = 1\n[run]"))
        assert "Not asked: n." in bench("run", "job.toml", "--no-report", code=7).stdout
        bench.write("job.toml", job("m", "n"))
        bench("run", "job.toml", "--no-report")
        assert "Not asked" not in bench("show", "last").stdout


@pytest.mark.slow
def test_a_rerun_goes_on_where_the_budget_ended(tmp_path: Path) -> None:
    with ThreadedServer(platform_of(M)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(10))
        bench.write("job.toml", job("m").replace("passes = 1", "passes = 1\n[budget]\nrequests = 4"))
        codes = [bench("run", "job.toml", "--no-report", code=None).returncode for _ in range(3)]
        assert codes == [7, 7, 0]
        assert server.platform.statistics.requests["m"] == 10
        assert (
            "the budget of 4 requests is used up" in bench("run", "job.toml", "--no-report", "--fresh", code=7).stdout
        )


def test_a_budget_of_tokens_is_never_overrun_and_nearly_used(tmp_path: Path) -> None:
    result, _, _ = run(tmp_path, platform_of(M), "[budget]\ntotal_tokens = 500")
    drawn = result["usage"]["total_tokens"]
    assert result["status"] == "stopped"
    assert 250 < drawn <= 500, "what is left is less than one request may draw"
    assert result["pending"] > 0
    assert balanced(result)


def test_a_route_that_reports_nothing_draws_its_reserve(tmp_path: Path) -> None:
    result, _, requests = run(tmp_path, platform_of(M | {"reports_usage": False}), "[budget]\ntotal_tokens = 900")
    assert result["status"] == "stopped"
    assert requests <= 6


def test_a_token_budget_needs_caps(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("sums.jsonl", sums(1))
    bench.write("job.toml", job("m").replace("max_tokens = 64", "").replace("passes = 1", "[budget]\ntotal_tokens = 9"))
    assert "budget.total_tokens: needs request.max_tokens" in bench("run", "job.toml", code=2).stderr


@pytest.mark.slow
def test_a_deadline_lets_what_is_in_flight_end(tmp_path: Path) -> None:
    slow = platform_of(M | {"latency_ms": {"median": 400}})
    with HeldClock() as clock, ThreadedServer(slow, around=Surroundings(clock=clock)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(30))
        bench.write("job.toml", job("m", limit=4).replace("passes = 1", "passes = 1\ndeadline_s = 1.0"))
        process = bench.start("run", "job.toml", "--no-report", "--fixed", "--json")
        until_said(process, "the deadline of 1 s has passed: sending nothing more, waiting for")
        clock.let_go()
        result = json.loads(process.communicate(timeout=60)[0])
        requests = server.platform.statistics.requests["m"]
    assert (result["status"], result["failed"]) == ("stopped", 0)
    assert 1 <= result["completed"] == requests <= 4
    assert balanced(result)


def test_too_many_failures(tmp_path: Path) -> None:
    faults = [{"share": 0.5, "status": 400}]
    result, _, requests = run(tmp_path, platform_of(M | {"faults": faults}), "max_failed_share = 0.1", samples=200)
    assert result["status"] == "stopped"
    assert 20 <= requests <= 30
    assert balanced(result)


def test_an_exhausted_allowance_stops_the_run_and_keeps_everything(tmp_path: Path) -> None:
    config, state = platform_of(M, allowance={"units": 400}), State()
    result, _, requests = run(tmp_path, config, "", state=state)
    assert result["status"] == "stopped"
    assert result["outcomes"]["allowance_suspected"] <= 4
    assert result["completed"] > 3
    assert requests == sum(result["outcomes"].values()) < 30
    assert balanced(result)


@pytest.mark.slow
def test_routes_that_suddenly_all_refuse_alike_stop_the_run(tmp_path: Path) -> None:
    silent = {
        "exhausted_status": 403,
        "exhausted_detail": "Come back tomorrow",
    }  # words that say nothing of an allowance
    config = platform_of(M, {"id": "n", "simulated": "answers"}, allowance={"units": 800}, silent=silent)
    with ThreadedServer(config, State()) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(200))
        bench.write("job.toml", job("m", "n", limit=4))
        told = bench("run", "job.toml", "--no-report", code=7).stdout
        asked = server.platform.statistics.requests.total()
        result = bench.json("show", bench.json("runs")[0]["run_id"])
    assert "on 2 routes that answered before, were refused with the same text (HTTP 403)" in told
    assert result["completed"] > 10
    assert 8 <= result["outcomes"]["key_not_allowed"] < 40
    assert asked == sum(result["outcomes"].values()) < 100
    assert balanced(result)


def test_one_route_that_refuses_is_no_matter_of_the_allowance(tmp_path: Path) -> None:
    refusing = {"id": "n", "simulated": "answers", "faults": [{"status": 400, "share": 0.7}]}
    with ThreadedServer(platform_of(M, refusing)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(40))
        bench.write("job.toml", job("m", "n", limit=4))
        result = bench.json("run", "job.toml", "--no-report", code=0)
    assert result["pending"] == 0
    assert result["outcomes"]["bad_request"] > 12
