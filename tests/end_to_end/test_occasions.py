"""A job (timer): every occasion is asked anew exactly once, whatever happens to it."""

from pathlib import Path

import pytest

from tests.conftest import Workbench, job, quick, sums
from tests.waiting import until
from workbench.local_platform.config import load_config
from workbench.local_platform.server import ThreadedServer


@pytest.fixture
def nightly(bench: Workbench) -> Workbench:
    bench.write("sums.jsonl", sums(30))
    bench.write("job.toml", job().replace("passes = 1", 'passes = 1\nreuse = "occasion"'))
    return bench


def asked(platform: ThreadedServer) -> int:
    return platform.platform.statistics.requests.total()


def test_every_occasion_is_asked_anew_once(nightly: Workbench, platform: ThreadedServer) -> None:
    for night, expected in (("2026-11-20", 30), ("2026-11-20", 30), ("2026-11-21", 60), ("2026-11-20", 60)):
        result = nightly.json("run", "job.toml", "--no-report", "--occasion", night)
        assert result["completed"] + result["reused"] == 30
        assert asked(platform) == expected


@pytest.mark.slow
def test_a_killed_night_is_gone_on_with(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 60)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(60))
        bench.write("job.toml", job(limit=4).replace("passes = 1", 'passes = 1\nreuse = "occasion"'))
        bench("run", "job.toml", "--no-report", "--occasion", "2026-11-20")
        process = bench.start("run", "job.toml", "--no-report", "--occasion", "2026-11-21")
        until(lambda: asked(server) >= 75)
        process.kill()
        process.communicate()
        result = bench.json("run", "job.toml", "--no-report", "--occasion", "2026-11-21")
        assert result["reused"] >= 10
        assert result["reused"] + result["completed"] == 60
        assert 120 <= asked(server) <= 120 + 4
        moved = bench.json("run", "job.toml", "--no-report", "--occasion", "2026-11-21")
        assert moved["reused"] == 60


def test_a_moment_is_one_in_every_zone(nightly: Workbench, platform: ThreadedServer) -> None:
    nightly.json("run", "job.toml", "--no-report", "--occasion", "2026-11-21T02:00+01:00")
    nightly.json("run", "job.toml", "--no-report", "--occasion", "2026-11-21T01:00Z")
    assert asked(platform) == 30


@pytest.mark.slow
def test_what_does_not_go_together_is_refused(nightly: Workbench, platform: ThreadedServer) -> None:
    assert "name the scheduled time with --occasion" in nightly("run", "job.toml", code=2).stderr
    assert "is not a valid time" in nightly("run", "job.toml", "--occasion", "tonight", code=2).stderr
    assert (
        "cannot be combined with --fresh" in nightly("run", "job.toml", "--occasion", "today", "--fresh", code=2).stderr
    )
    nightly.write("other.toml", job(name="other"))
    assert 'reuse = "occasion" under [run]' in nightly("run", "other.toml", "--occasion", "today", code=2).stderr
    assert asked(platform) == 0
    assert nightly.json("plan", "job.toml")["to_send"] == 30
    nightly("run", "job.toml", "--no-report", "--occasion", "today")
    assert nightly.json("plan", "job.toml")["to_send"] == 30


@pytest.mark.parametrize("odd", ["0001-01-01", "9999-12-31", "1969-12-31T23:59", "someday"])
def test_an_occasion_that_no_calendar_reaches_is_refused(tmp_path: Path, odd: str) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("sums.jsonl", sums(1))
    bench.write("job.toml", job().replace("passes = 1", 'reuse = "occasion"'))
    told = bench("run", "job.toml", "--local", "--occasion", odd, code=2).stderr
    assert f"--occasion: {odd!r} is not a valid time" in told
    assert not (tmp_path / "local.duckdb").exists()
