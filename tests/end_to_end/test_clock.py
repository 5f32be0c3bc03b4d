"""The clock set for a rehearsed night: every time that is recorded, shown and told follows it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from tests.conftest import Workbench, job, sums
from tests.end_to_end.odd_server import OddServer, prompts
from workbench.api.frames import Frames

NIGHT = "2026-03-29T02:00Z"


@pytest.fixture
def night(bench: Workbench) -> Workbench:
    bench.environment = {name: value for name, value in bench.environment.items() if not name.startswith("WORKBENCH")}
    bench.environment["WORKBENCH_NOW"] = NIGHT
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    return bench


def is_then(moment: datetime) -> bool:
    begin = datetime.fromisoformat(NIGHT)
    return begin <= moment < begin + timedelta(minutes=10)


def test_a_run_is_of_the_night_that_is_set(night: Workbench) -> None:
    done = night("run", "job.toml", "--local", "--json")
    assert "note: WORKBENCH_NOW sets the clock: it is 2026-03-29 02:00 UTC" in done.stderr
    end = json.loads(done.stdout)
    assert end["run_id"].startswith("20260329T0200")
    frames = Frames(folder=night.folder)
    (run,) = frames.runs().to_dict("records")
    assert is_then(run["started_at"])
    assert is_then(run["ended_at"])
    assert all(map(is_then, frames.calls()["sent_at"]))
    (usage,) = night.json("usage", "--local")
    assert usage["day"] == "2026-03-29"
    assert "2026-03-29" in Path(end["report"]).read_text()


def test_the_platform_is_told_the_time(night: Workbench) -> None:
    night("run", "job.toml", "--local", "--no-report")
    with duckdb.connect(str(night.folder / "local.duckdb"), read_only=True) as ledger:
        (raw,) = ledger.execute("SELECT raw FROM responses LIMIT 1").fetchone() or ("",)
    assert is_then(datetime.fromtimestamp(json.loads(raw)["created"], UTC))


def test_a_clock_that_is_set_to_no_time_is_refused(night: Workbench) -> None:
    night.environment["WORKBENCH_NOW"] = "tonight"
    said = night("runs", code=2).stderr
    assert said == "error: WORKBENCH_NOW: 'tonight' is not a valid time (expected such as 2026-11-20T02:00Z)\n"


def test_an_account_is_not_asked_at_a_time_that_is_set(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, "plain")
    oddly.environment["WORKBENCH_NOW"] = NIGHT
    said = oddly("run", "job.toml", code=2).stderr
    assert "error: WORKBENCH_NOW: the clock is set, and an account's calls are recorded" in said
    assert not odd.requests
