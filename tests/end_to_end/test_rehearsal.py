"""A job rehearsed on simulated routes like the account's own: their ids, latencies, lengths, failures and fallbacks."""

import json
import statistics
import tomllib
from pathlib import Path
from typing import Any

from tests.compared_runs import record
from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from workbench.local_platform.config import load_config
from workbench.local_platform.server import ThreadedServer

ACCOUNT: list[dict[str, Any]] = [
    {"id": "quick", "skill": "arithmetic", "latency_ms": {"median": 20, "sigma": 0.3}, "answer_tokens": {"median": 60, "sigma": 0.4}},
    {"id": "slow", "skill": "arithmetic", "latency_ms": {"median": 80, "sigma": 0.5}, "answer_tokens": {"median": 150, "sigma": 0.2}},
    {"id": "sick", "skill": "arithmetic", "faults": [{"share": 0.25, "status": 502}]},
    {"id": "gone", "skill": "arithmetic", "unavailable": True, "fallback": "quick"},
    {"id": "dead", "skill": "arithmetic", "unavailable": True},
]  # fmt: skip


def test_a_rehearsal_is_like_the_account(tmp_path: Path) -> None:
    bench = recorded(tmp_path)
    bench.here("platform", "init", "--from-history")
    config = load_config(tmp_path / "platform.toml")
    routes = {route.id: route for route in config.routes}
    assert set(routes) == {"quick", "slow", "sick", "gone", "dead"}
    assert 0.6 < routes["quick"].latency_ms.median / routes["slow"].latency_ms.median * 4 < 2.4
    lengths = routes["slow"].answer_tokens
    assert lengths is not None
    assert 130 < lengths.median < 170
    assert 0.15 < sum(fault.share for fault in routes["sick"].faults) < 0.35
    assert (routes["gone"].unavailable, routes["gone"].fallback) == (True, "quick")
    assert routes["dead"].unavailable
    bench.environment = {name: value for name, value in bench.environment.items() if not name.startswith("WORKBENCH")}
    done = bench.here("run", "job.toml", "--local", "--json", "--no-report", code=3)
    end = json.loads(done.stdout)
    assert "note: rehearsing on the simulated routes of platform.toml" in done.stderr
    assert "stand-in" not in done.stderr
    assert "note: rehearsed: " in done.stderr
    assert "planned, by the account's history: " in done.stderr
    assert end["served_models"]["quick"] == 80, "its own answers, and those in place of another"
    assert end["outcomes"]["route_down"] > 0
    calls = [row for row in bench.lines("show", "last", "--calls", "--local") if row["requested_model"] == "slow"]
    assert 120 < statistics.median(row["completion_tokens"] for row in calls) < 180


def recorded(folder: Path) -> Workbench:
    """A folder whose ledger holds a run on the account."""
    with ThreadedServer(platform_of(*ACCOUNT)) as server:
        bench = Workbench(folder, server)
        bench.write("sums.jsonl", sums(40))
        bench.write(
            "job.toml",
            job(*(str(route["id"]) for route in ACCOUNT), limit=16).replace("max_tokens = 64", "max_tokens = 900"),
        )
        bench.json("run", "job.toml", "--no-report", code=3)
    return bench


def test_a_fallback_that_answers_at_times_does_so_as_often(bench: Workbench) -> None:
    record(
        bench, "r1", {"partly": [1.0] * 20, "other": [1.0] * 20}, served_by={("partly", n): "other" for n in range(5)}
    )
    bench.here("platform", "init", "sub", "--from-history")
    (partly,) = [
        route
        for route in tomllib.loads((bench.folder / "sub" / "platform.toml").read_text())["routes"]
        if route["id"] == "partly"
    ]
    assert (partly["fallback"], partly["faults"]) == ("other", [{"share": 0.25, "status": 502}])


def test_a_platform_with_model_servers_is_not_rehearsed_on(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.here("platform", "init")
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", job("Abacus Mini [fast]"))
    done = bench.here("run", "job.toml", "--local", "--no-report")
    assert "rehearsing" not in done.stderr
