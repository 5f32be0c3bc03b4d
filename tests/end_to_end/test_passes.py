"""Further passes: what may pass is asked again, as often as the job says and never more, counted at the server."""

import json
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cases import first_of
from tests.conftest import Workbench, job, one_route, sums
from tests.contract.asking import platform_of
from tests.waiting import until
from workbench.job.file import RunTable
from workbench.local_platform.config import PlatformConfig
from workbench.local_platform.server import ThreadedServer
from workbench.records.calls import Attempt, CallRecord, ChatRequest
from workbench.records.outcomes import Outcome
from workbench.running.rules import EMBEDDED
from workbench.running.settling import Passes


def passes(count: int) -> str:
    return job("m").replace("passes = 1", f"passes = {count}")


def run(folder: Path, config: PlatformConfig, count: int, samples: int = 20) -> tuple[dict[str, Any], int, Workbench]:
    with ThreadedServer(config) as server:
        bench = Workbench(folder, server)
        bench.write("sums.jsonl", sums(samples))
        bench.write("job.toml", passes(count))
        result = bench.json("run", "job.toml", "--no-report", code=None)
        return result, server.platform.statistics.requests["m"], bench


def fault(**fields: Any) -> PlatformConfig:
    """The fault meets every request once: the platform draws anew when the same request comes again."""
    return platform_of({"id": "m", "simulated": "answers", "faults": [fields]}, limits={"retries": 0})


@pytest.mark.parametrize("count", first_of(2, 1, 4))  # 4 x 1 stays below what opens the breaker
def test_never_more_attempts_than_the_job_allows(tmp_path: Path, count: int) -> None:
    samples = 4 // count
    result, requests, bench = run(tmp_path, fault(status=502), count, samples=samples)
    assert requests == samples * count
    assert result["outcomes"] == {"route_down": samples * count}
    assert (result["failed"], result["completed"], result["pending"]) == (samples, 0, 0)
    assert result["status"] == "incomplete"
    assert [row["attempts"] for row in bench.lines("show", result["run_id"], "--calls")] == [count] * samples


def test_what_passes_is_completed_in_the_same_run(tmp_path: Path) -> None:
    result, requests, bench = run(tmp_path, fault(share=0.4, status=503), 6)
    assert (result["completed"], result["failed"], result["status"]) == (20, 0, "complete")
    assert requests == sum(result["outcomes"].values()) > 20
    calls = bench.lines("show", result["run_id"], "--calls")
    assert len(calls) == 20
    assert sum(call["attempts"] for call in calls) == requests
    assert {call["outcome"] for call in calls} == {"ok"}
    assert {call["scores"]["numeric"] for call in calls} == {1.0}, "what is shown is the attempt that answered"
    again = bench.json("show", result["run_id"])
    assert {name: again[name] for name in ("planned", "completed", "failed", "pending", "outcomes")} == {
        name: result[name] for name in ("planned", "completed", "failed", "pending", "outcomes")
    }
    assert bench.json("ledger", "check")["sound"]


@pytest.mark.parametrize(
    ("fields", "outcome"), [({"status": 400}, "bad_request"), ({"status": 401}, "route_unauthorised")]
)
def test_what_cannot_pass_is_not_asked_again(tmp_path: Path, fields: dict[str, Any], outcome: str) -> None:
    result, requests, _ = run(tmp_path, fault(**fields), 5, samples=4)
    assert requests == 4
    assert result["outcomes"] == {outcome: 4}


@pytest.mark.slow
def test_plan_prints_the_cap(tmp_path: Path) -> None:
    with ThreadedServer(one_route()) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(7))
        bench.write("job.toml", passes(3))
        assert bench.json("plan", "job.toml")["most_attempts"] == 21
        assert "at most 21 attempts" in bench("plan", "job.toml").stdout
        bench("run", "job.toml", "--no-report")
        assert "0 to send (7 reused), at most 0 attempts" in bench("plan", "job.toml").stdout
        assert "7 to send (0 reused), at most 21 attempts" in bench("plan", "job.toml", "--fresh").stdout


def ended(outcome: Outcome, retry_after_s: float | None = None) -> CallRecord:
    now = datetime.now(UTC)
    request = ChatRequest("k", b"{}", "m", "s", "sk", 1, 0, 1.0, 2**20)
    attempt = Attempt(outcome, "", "answered", now, now, 1.0, None, retry_after_s)
    return CallRecord(request, attempt, None)


def test_waits() -> None:
    rule = Passes(RunTable(passes=4))
    assert rule.wait_s(ended(Outcome.OK), 1) is None
    assert rule.wait_s(ended(Outcome.ROUTE_DOWN), 1) == 10
    assert rule.wait_s(ended(Outcome.ROUTE_DOWN), 3) == 40
    assert rule.wait_s(ended(Outcome.ROUTE_DOWN), 4) is None
    assert rule.wait_s(ended(Outcome.RATE_LIMITED, 16.649005), 1) == 16.649005
    assert rule.wait_s(ended(Outcome.RATE_LIMITED, 900), 1) == 900
    assert rule.wait_s(ended(Outcome.RATE_LIMITED, 901), 1) is None
    assert rule.wait_s(ended(Outcome.KEY_REJECTED), 1) is None
    assert Passes(RunTable(passes=4), EMBEDDED.wait_share).wait_s(ended(Outcome.ROUTE_COOLING, 0.3), 1) == 0.3
    within = Passes(RunTable(passes=4, request_deadline_s=60))
    assert within.wait_s(ended(Outcome.ROUTE_DOWN), 1, 50) == 10
    assert within.wait_s(ended(Outcome.ROUTE_DOWN), 1, 50.1) is None


def test_a_request_is_not_asked_again_after_its_deadline(tmp_path: Path) -> None:
    config = platform_of({"id": "m", "simulated": "answers", "faults": [{"status": 503}]}, limits={"retries": 0})
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(1))
        bench.write("job.toml", passes(10).replace("[run]", "[run]\nrequest_deadline_s = 0.5"))
        result = bench.json("run", "job.toml", "--no-report", code=3)
        # after 0.1 and 0.2 s more; the next would be after 0.4 s more
        assert result["outcomes"] == {"route_down": 3}
        assert (result["failed"], result["pending"]) == (1, 0)


def test_a_request_whose_deadline_passes_while_its_route_is_paused_is_not_asked_again(tmp_path: Path) -> None:
    config = platform_of({"id": "m", "faults": [{"status": 502}]}, limits={"retries": 0})
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(5))
        # the next attempt is planned for after 0.1 s, and the five failures pause the route for 0.2 s
        bench.write("job.toml", passes(2).replace("[run]", "[run]\nrequest_deadline_s = 0.15"))
        result = bench.json("run", "job.toml", "--no-report", code=3)
        assert (result["failed"], result["pending"]) == (5, 0)
        assert server.platform.statistics.requests["m"] == 5


def test_a_retry_after_is_honoured(tmp_path: Path) -> None:
    config = platform_of(
        {"id": "m", "simulated": "answers", "faults": [{"status": 429, "until_s": 0.7}]},
        limits={"retries": 0}, silent={"cooldown_s": 1.0},
    )  # fmt: skip
    result, requests, _ = run(tmp_path, config, 2, samples=1)
    assert result["completed"] in (0, 1)
    assert requests == 2


@pytest.mark.slow
def test_an_interrupted_run_counts_what_waited_as_failed(tmp_path: Path) -> None:
    config = platform_of(
        {"id": "m", "faults": [{"status": 503}]},
        limits={"retries": 0},
        silent={"cooldown_s": 300, "cooldown_after": [503]},
    )
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(3))
        bench.write("job.toml", passes(3).replace("max_in_flight = 8", "max_in_flight = 1\npatience_s = 600"))
        process = bench.start("run", "job.toml", "--no-report", "--json")
        until(lambda: server.platform.statistics.requests["m"] >= 2 and not server.platform.statistics.in_flight)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)  # without waiting for the 300 s
    result = json.loads(out)
    assert process.returncode == 130
    assert result["planned"] == 3 == result["failed"] + result["pending"]
    assert result["failed"] == 2, "the route asked for 300 s, and the third request was never sent"


@pytest.mark.parametrize(("speed", "limit_s"), [(400, 0.3), pytest.param(12, 10.0, marks=pytest.mark.long)])
def test_a_route_that_hangs_is_waited_out_and_the_plan_said_how_long(
    tmp_path: Path, speed: float, limit_s: float
) -> None:
    """At the slower speed the gateway takes longer than its limit and the client's margin: whoever knew nothing of its retries would give up."""
    config = platform_of({"id": "m", "simulated": "answers", "faults": [{"kind": "hang"}]}, clock_speed=speed)
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(2))
        bench.write("job.toml", passes(1).replace("[run]", f"[run]\ngateway_limit_s = {limit_s}"))
        (model,) = bench.json("plan", "job.toml")["models"]
        assert model["timeout_s"] == 3 * limit_s + 15
        result = bench.json("run", "job.toml", "--no-report", code=3)
        assert result["outcomes"] == {"gateway_timeout": 2}
        assert server.platform.statistics.requests["m"] == 2
        for call in bench.lines("show", result["run_id"], "--calls"):
            assert call["http_status"] == 504
            assert 3 * limit_s <= call["latency_ms"] / 1000 < model["timeout_s"]
