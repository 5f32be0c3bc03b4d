"""Ctrl-C, SIGTERM and a closed terminal: what is in flight is waited for, and the last line balances."""

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.conftest import COMMAND, Workbench, job, quick, sums
from tests.waiting import until, until_said
from workbench.local_platform.config import load_config
from workbench.local_platform.server import ThreadedServer


def test_ctrl_c_drains_and_the_rerun_goes_on(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 150)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(80))
        bench.write("job.toml", job("sim/instant", limit=4))
        process = bench.start("run", "job.toml", "--json", "--no-report")
        until(lambda: sum(server.platform.statistics.requests.values()) >= 8)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        result = json.loads(out)
        assert result["status"] == "interrupted"
        assert result["completed"] == sum(server.platform.statistics.requests.values()) == 80 - result["pending"]
        assert "waiting for" in err
        again = bench.json("run", "job.toml", "--no-report")
        assert again["reused"] == result["completed"]
        assert sum(server.platform.statistics.requests.values()) == 80


@pytest.mark.slow
def test_ctrl_c_is_heard_after_a_pilot_too(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 100)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(60))
        bench.write("job.toml", job("sim/instant", limit=2))
        process = bench.start("run", "job.toml", "--no-report", "--pilot", "2", "--yes")
        while sum(server.platform.statistics.requests.values()) < 6:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, "interrupted: Ctrl-C" in out) == (130, True), err


@pytest.mark.slow
def test_ctrl_c_ends_the_second_judge_and_asks_no_third(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 100)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(40))
        judges = "".join(
            f'[[scorers]]\nname = "judge"\nlabel = "{label}"\nmodel = "Lab Tutor"\nrubric = "{label}"\n'
            for label in "abc"
        )
        bench.write("job.toml", job("sim/instant", limit=2) + judges + '[judge]\nwhen = "later"\n')
        bench.json("run", "job.toml", "--no-report", code=None)
        process = bench.start("score", "last", "--yes", "--json")
        until(lambda: server.platform.statistics.requests["Lab Tutor"] >= 45 or process.poll() is not None)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        asked = server.platform.statistics.requests["Lab Tutor"]
        assert json.loads(out)["pending"] == 120 - asked, "those of the third judge too"
        assert [run["job"] for run in bench.json("runs")][:2] == ["sums judged by b", "sums judged by a"]


@pytest.mark.parametrize(
    "pause_s", [0.01, *(pytest.param(other, marks=pytest.mark.slow) for other in (0.0, 0.03, 0.1, 0.2))]
)
def test_however_fast_one_types_ctrl_c_the_run_says_how_it_ended(tmp_path: Path, pause_s: float) -> None:
    with ThreadedServer(quick(load_config(), 40)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(400))
        bench.write("job.toml", job("sim/instant", limit=4))
        process = bench.start("run", "job.toml", "--no-report", "--json")
        until(lambda: server.platform.statistics.requests.total() >= 8)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(pause_s)
        out, _ = process.communicate(timeout=60)
    result = json.loads(out)
    assert (process.returncode, result["status"]) == (130, "interrupted")
    assert result["planned"] == sum(result[name] for name in ("reused", "completed", "failed", "pending"))


@pytest.mark.slow
def test_ctrl_c_while_the_embedded_platform_starts_shows_no_traceback(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("sums.jsonl", sums(1))
    bench.write("job.toml", job())
    process = bench.start("run", "job.toml", "--no-report", "--local", start_new_session=True)
    until(lambda: psutil.Process(process.pid).children())
    time.sleep(0.05)  # it imports what it needs
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.split() == ["interrupted"]


@pytest.mark.slow
def test_ctrl_c_before_the_first_request_is_told_of_too(tmp_path: Path, platform: ThreadedServer) -> None:
    """What is reused is written before anything is sent; it takes a second for some thousands."""
    bench = Workbench(tmp_path, platform)
    bench.write("sums.jsonl", sums(3000))
    bench.write("job.toml", job(limit=32))
    bench.write("again.toml", job(name="again"))
    bench("run", "job.toml", "--no-report", "--fixed")
    journals = bench.ledger.journal_folder
    process = bench.start("run", "again.toml", "--no-report", "--json")
    until(lambda: list(journals.glob("*.zst")))
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    result = json.loads(out)
    assert result["reused"] == 3000
    assert bench.json("runs")[0]["status"] == result["status"] is not None


@pytest.mark.slow
def test_a_closed_terminal_drains_and_loses_nothing(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 150)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(200))
        bench.write("job.toml", job("sim/instant", limit=4))
        ours, theirs = pty.openpty()
        as_we_were_told = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under `nohup` we would hand down to ignore it
        with subprocess.Popen(
            [str(COMMAND), "run", "job.toml", "--no-report"],
            cwd=bench.folder, env=bench.environment, stdin=theirs, stdout=theirs, stderr=theirs,
        ) as process:  # fmt: skip
            signal.signal(signal.SIGHUP, as_we_were_told)
            os.close(theirs)
            until(lambda: sum(server.platform.statistics.requests.values()) >= 8)
            os.close(ours)
            process.send_signal(signal.SIGHUP)
            assert process.wait(60) == 129
        requests = sum(server.platform.statistics.requests.values())
        shown = bench.json("runs")[0]
        assert (shown["status"], shown["completed"]) == ("interrupted", requests)
        assert requests < 200


def test_a_second_ctrl_c_cancels(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 20_000)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(20))
        bench.write("job.toml", job("sim/instant", limit=4))
        process = bench.start("run", "job.toml", "--json", "--no-report")
        until(lambda: server.platform.statistics.in_flight >= 4)
        process.send_signal(signal.SIGTERM)
        until_said(process, "again to cancel them")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 143
    result = json.loads(out)
    assert (result["completed"], result["failed"], result["pending"]) == (0, 0, 20)
    assert result["outcomes"] == {"cancelled": 4}
