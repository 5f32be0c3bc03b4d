"""A route that is down costs a few calls, and the others go on."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from workbench.local_platform.server import ThreadedServer
from workbench.records.endings import MOST_NAMED
from workbench.running.breaker import IN_A_ROW, MOST_TRIALS

GOOD = {"id": "good", "simulated": "answers"}


def test_a_dead_route_is_given_up_and_the_other_completes(tmp_path: Path) -> None:
    config = platform_of({"id": "dead", "unavailable": True}, GOOD, limits={"retries": 0})
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(100))
        bench.write("job.toml", job("dead", "good", limit=4))
        began = datetime.now(UTC).replace(microsecond=0)
        done = bench("run", "job.toml", "--no-report", code=3)
        ended = datetime.now(UTC)
        shown = bench.json("show", "last")
        page = next(Path(bench.json("report", "last")["report"]).parent.glob("job-sums*.html")).read_text("utf-8")
        asked = server.platform.statistics.requests
    assert asked["good"] == 100
    assert IN_A_ROW + MOST_TRIALS <= asked["dead"] <= IN_A_ROW + MOST_TRIALS + 4
    since = re.search(r"dead has failed since ([-0-9]+ [:0-9]+) UTC and was given up", done.stdout)
    assert since is not None
    assert began <= datetime.fromisoformat(since[1]).replace(tzinfo=UTC) <= ended
    assert "route down 5 times in a row and in 3 trials" in done.stdout
    assert "dead: paused after 5 × route down" in done.stderr
    assert (shown["completed"], shown["failed"], shown["pending"]) == (100, asked["dead"], 100 - asked["dead"])
    assert shown["status"] == "incomplete"
    assert "which is incomplete (dead: 100 of 100 requests unanswered)" in page


def test_a_route_that_is_paused_when_the_run_ends_is_named(tmp_path: Path) -> None:
    with ThreadedServer(platform_of({"id": "dead", "unavailable": True}, GOOD, limits={"retries": 0})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(IN_A_ROW))
        bench.write("job.toml", job("dead", "good"))
        done = bench("run", "job.toml", "--no-report", code=3)
    assert re.search(r"dead has failed since .* UTC and is paused: route down 5 times in a row", done.stdout)
    assert "good has failed" not in done.stdout


@pytest.mark.slow
def test_many_failed_routes_are_one_line_and_a_table(tmp_path: Path) -> None:
    dead = [f"dead-{number}" for number in range(MOST_NAMED + 1)]
    routes = ({"id": name, "unavailable": True} for name in dead)
    with ThreadedServer(platform_of(*routes, GOOD, limits={"retries": 0})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(IN_A_ROW))
        bench.write("job.toml", job(*dead, "good"))
        done = bench("run", "job.toml", "--no-report", code=3)
        again = json.loads(bench("run", "job.toml", "--no-report", "--json", code=3).stdout)
    assert done.stdout.splitlines()[0].endswith(f"incomplete: {len(dead)} routes failed")
    rows = [line.split() for line in done.stdout.splitlines() if re.match("dead-.* paused", line)]
    assert sorted(row[:5] for row in rows) == [[name, "paused", "route_down", str(IN_A_ROW), "0"] for name in dead]
    assert sorted(route["model"] for route in again["failed_routes"]) == dead
    assert {route["state"] for route in again["failed_routes"]} == {"paused"}


@pytest.mark.slow
def test_a_route_that_comes_back_is_asked_to_the_end(tmp_path: Path) -> None:
    outage = {
        "id": "m",
        "simulated": "answers",
        "latency_ms": {"median": 10},
        "faults": [{"from_s": 0, "until_s": 2.5}],
    }
    with ThreadedServer(platform_of(outage, limits={"retries": 0})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(60))
        bench.write("job.toml", job("m", limit=2).replace("passes = 1", "passes = 4"))
        done = bench("run", "job.toml", "--no-report", code=None)
        for _ in range(3):
            if done.returncode == 0:
                break
            done = bench("run", "job.toml", "--no-report", code=None)
        assert done.returncode == 0
        assert server.platform.statistics.requests["m"] < 60 + 3 * (IN_A_ROW + MOST_TRIALS + 2)
