"""A job's timer: printed, checked by the system, installed, removed, and listed."""

import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Workbench, job, sums
from tests.end_to_end.odd_server import OddServer
from tests.waiting import until, until_said
from workbench.local_platform.server import ThreadedServer

CRONTAB = """#!/bin/sh
if [ "$1" = -l ]; then cat "$HOME/crontab" 2>/dev/null || { echo "no crontab for you" >&2; exit 1; }
else cat > "$HOME/crontab"; fi
"""
SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$HOME/systemctl"
[ ! -e "$HOME/no-systemd" ] || { echo "Failed to connect to bus: No medium found" >&2; exit 1; }
"""


def scheduled(line: str, **run: object) -> str:
    more = "".join(f"{key} = {value}\n" for key, value in run.items())
    text = job().replace("passes = 1", f'passes = 1\nreuse = "occasion"\n{more}')
    return f"{text}[schedule]\n{line}\n"


@pytest.fixture
def home(bench: Workbench) -> Workbench:
    """A folder with a scheduled job, and a machine whose systemctl and crontab write down what they are told."""
    bench.write("sums.jsonl", sums(5))
    bench.write("night ly.toml", scheduled('on_calendar = "Mon..Fri 02:00"'))
    for name, text in (("crontab", CRONTAB), ("systemctl", SYSTEMCTL)):
        path = bench.write(f"bin/{name}", text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    bench.environment["PATH"] = f"{bench.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    bench.environment |= {"HOME": str(bench.folder), "XDG_CONFIG_HOME": str(bench.folder / "config")}
    bench.write(".env", "WORKBENCH_BASE_URL=http://127.0.0.1:9\nWORKBENCH_API_KEY=sk-of-the-timer\n")
    return bench


def units(bench: Workbench) -> Path:
    return bench.folder / "config" / "systemd" / "user"


def test_the_units(home: Workbench) -> None:
    home.write("night ly.toml", scheduled('cron = "0 2 1 * 1"\ncatch_up = false', gateway_limit_s=50))
    printed = home("schedule", "night ly.toml", "--systemd", "--fixed", "--no-report").stdout
    lines = printed.splitlines()
    assert "OnCalendar=*:0/5" in lines
    assert "Persistent=false" in lines
    assert "TimeoutStopSec=225" in lines, "three times 50 s, a margin of 15 s, and a minute to record"
    assert "RestartPreventExitStatus=1 2 4 7 100" in lines
    assert f"WorkingDirectory={home.folder}" in lines
    assert f'Environment="XDG_STATE_HOME={home.folder}/state"' in lines or (
        f"Environment=XDG_STATE_HOME={home.folder}/state" in lines
    )
    started = next(line for line in lines if line.startswith("ExecStart="))
    assert started.endswith('run "night ly.toml" --occasion due --no-progress --fixed --no-report')
    assert "StartLimitIntervalSec=0" in lines, "a job of every minute is started as often"
    assert "OnStartupSec=2min" in lines, "what a shutdown cut off is gone on with"
    assert "sk-" not in printed
    assert sorted(home.json("schedule", "night ly.toml", "--systemd")) == [
        "workbench-sums.service",
        "workbench-sums.timer",
    ]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_the_system_takes_the_units(home: Workbench, tmp_path: Path) -> None:
    folder = tmp_path / 'a "odd" $HOME \\ %n folder'
    folder.mkdir()
    for name in ("sums.jsonl", "night ly.toml", ".env"):
        shutil.copy(home.folder / name, folder)
    odd = Workbench(folder, None)
    odd.environment |= {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    printed = odd("schedule", "night ly.toml", "--systemd").stdout
    service, timer = printed.split("# workbench-sums.timer\n")
    (tmp_path / "workbench-sums.service").write_text(service)
    (tmp_path / "workbench-sums.timer").write_text(timer)
    command = ["systemd-analyze", "--user", "verify", str(tmp_path / "workbench-sums.timer")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert [line for line in done.stderr.splitlines() if "workbench-sums" in line] == []


def test_a_timer_of_systemd_comes_and_goes(home: Workbench) -> None:
    assert home.json("schedule", "list")[0]["timer"] == "not installed"
    home("schedule", "night ly.toml", "--systemd", "--install")
    assert sorted(path.name for path in units(home).iterdir()) == ["workbench-sums.service", "workbench-sums.timer"]
    told = (home.folder / "systemctl").read_text().splitlines()
    assert told == ["--user daemon-reload", "--user enable --now workbench-sums.timer"]
    assert home.json("schedule", "list")[0]["timer"] == "systemd"
    home.write("other.toml", scheduled('on_calendar = "daily"'))
    assert "another job's timer" in home("schedule", "other.toml", "--systemd", "--install", code=2).stderr
    home("schedule", "night ly.toml", "--systemd", "--remove")
    assert list(units(home).iterdir()) == []
    assert "nothing was installed" in home("schedule", "night ly.toml", "--systemd", "--remove").stdout
    home.write("no-systemd", "")
    refused = home("schedule", "night ly.toml", "--systemd", "--install", code=2).stderr
    assert "systemctl --user daemon-reload: Failed to connect to bus" in refused
    assert "--cron" in refused
    assert list(units(home).iterdir()) == [], "what was refused is not left to be taken for installed"
    assert home.json("schedule", "list")[0]["timer"] == "not installed"


def test_a_timer_is_found_again_whatever_the_job_is_called(home: Workbench) -> None:
    home("schedule", "night ly.toml", "--systemd", "--install")
    text = (home.folder / "night ly.toml").read_text()
    home.write("night ly.toml", text.replace('name = "sums"', 'name = "renamed"'))
    home("schedule", "night ly.toml", "--systemd", "--install")
    assert sorted(path.name for path in units(home).iterdir()) == [
        "workbench-renamed.service",
        "workbench-renamed.timer",
    ]
    home.write("night ly.toml", "nothing that can be read")
    home("schedule", "./night ly.toml", "--systemd", "--remove")
    assert list(units(home).iterdir()) == []


def test_a_crontab_that_was_edited_is_left_alone(home: Workbench) -> None:
    home("schedule", "night ly.toml", "--cron", "--install")
    mine = b"\n5 5 * * * caf\xe9\r\n"
    crontab = home.folder / "crontab"
    crontab.write_bytes(crontab.read_bytes().replace(b"# end of that workbench schedule\n", b"") + mine)
    before = crontab.read_bytes()
    for act in ("--install", "--remove"):
        assert "fix it with `crontab -e`" in home("schedule", "night ly.toml", "--cron", act, code=2).stderr
    assert crontab.read_bytes() == before
    crontab.write_bytes(mine)
    home("schedule", "night ly.toml", "--cron", "--install")
    home("schedule", "night ly.toml", "--cron", "--remove")
    assert crontab.read_bytes() == mine


@pytest.mark.parametrize("name", ["x\\n[Service]\\nExecStartPre=/bin/evil", "trailing\\\\"])
def test_a_name_that_no_line_can_hold(home: Workbench, name: str) -> None:
    home.write("odd.toml", scheduled('cron = "0 2 * * *"').replace('"sums"', f'"{name}"'))
    for kind in ("--systemd", "--cron"):
        assert "odd.toml:2: name: " in home("schedule", "odd.toml", kind, code=2).stderr


def test_a_very_long_name(home: Workbench) -> None:
    home.write("long.toml", scheduled('cron = "0 2 * * *"').replace('"sums"', f'"{"é" * 100}"'))
    assert max(map(len, home.json("schedule", "long.toml", "--systemd"))) < 150


@pytest.mark.slow
def test_processes_that_fire_at_once_run_an_occasion_once(home: Workbench, platform: ThreadedServer) -> None:
    home.write("often.toml", scheduled('on_calendar = "*:*"'))
    until(lambda: time.time() % 60 <= 40)
    processes = [home.start("run", "often.toml", "--occasion", "due", "--no-report") for _ in range(4)]
    outputs = [process.communicate(timeout=60) for process in processes]
    assert {process.returncode for process in processes} <= {0, 5}
    assert sum("run 20" in out for out, _ in outputs) == 1, outputs
    assert platform.platform.statistics.requests.total() == 5


def test_crontab_lines_come_and_go(home: Workbench) -> None:
    home.write("crontab", "MAILTO=me\n5 4 * * * true")
    for _ in range(2):  # again is the same as once
        home("schedule", "night ly.toml", "--cron", "--install")
    lines = (home.folder / "crontab").read_text().splitlines()
    assert lines[:2] == ["MAILTO=me", "5 4 * * * true"]
    assert len(lines) == 5
    assert lines[3].startswith("*/5 * * * * mkdir -p ")
    assert home.json("schedule", "list")[0]["timer"] == "cron"
    home("schedule", "night ly.toml", "--cron", "--remove")
    assert (home.folder / "crontab").read_text().splitlines() == ["MAILTO=me", "5 4 * * * true"]


@pytest.mark.slow
def test_a_crontab_line_runs_what_is_due(home: Workbench, platform: ThreadedServer) -> None:
    folder = home.folder / "50% done"
    folder.mkdir()
    for name in ("sums.jsonl", "night ly.toml"):
        shutil.copy(home.folder / name, folder)
    (folder / ".env").write_text(f"WORKBENCH_BASE_URL={platform.base_url}\nWORKBENCH_API_KEY={platform.key}\n")
    came = datetime.now(UTC) - timedelta(minutes=1)  # it does not come again while the test looks
    (folder / "night ly.toml").write_text(scheduled(f'on_calendar = "{came:%H:%M} UTC"'))
    there = Workbench(folder, None)
    there.environment |= {"PATH": home.environment["PATH"], "HOME": str(home.folder)}
    line = there.process("schedule", "night ly.toml", "--cron", "--no-report").stdout.splitlines()[1]
    command = line.split(maxsplit=5)[5].replace("\\%", "%")  # as cron does
    environment = {"HOME": str(home.folder), "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh"}
    for _ in range(2):
        subprocess.run(["/bin/sh", "-c", command], env=environment, check=True, timeout=60)
    result = there.json("schedule", "night ly.toml")
    assert result["result"] == "complete"
    log = next((folder / "state").glob("workbench/schedule/*.log")).read_text()
    assert log.count("5 of 5 answered") >= 1
    assert platform.platform.statistics.requests.total() == 5 * log.count("answered (0 reused)")
    assert platform.key not in line + log


def asking(odd: OddServer, folder: Path, word: str, calendar: str) -> Workbench:
    """A job that asks an odd server for a word, whenever the calendar says."""
    bench = Workbench(folder, None)
    bench.environment |= {"WORKBENCH_BASE_URL": odd.base_url, "WORKBENCH_API_KEY": odd.key}
    bench.write("sums.jsonl", f'{{"input": "{word}", "target": 4}}\n')
    bench.write("often.toml", scheduled(f'on_calendar = "{calendar}"').replace("sim/instant", "m"))
    return bench


@pytest.mark.slow
def test_an_occasion_that_another_process_ran_meanwhile_is_not_run_again(tmp_path: Path) -> None:
    with OddServer() as odd:
        bench = asking(odd, tmp_path, "plain", "*:*")
        until(lambda: time.time() % 60 <= 40)
        odd.held_list = 1
        slow = bench.start("run", "often.toml", "--occasion", "due", "--no-report", "--json")
        until(lambda: odd.lists >= 1)
        quick = bench.json("run", "often.toml", "--occasion", "due", "--no-report")
        odd.let_go()
        out, error = slow.communicate(timeout=60)
        said = json.loads(out)
        assert (slow.returncode, said["status"]) == (0, "not_due"), error
        assert quick["run_id"] in said["reason"]
        assert [row["run_id"] for row in bench.json("runs")] == [quick["run_id"]]
        assert len(odd.requests) == 1


@pytest.mark.slow
def test_an_occasion_that_comes_while_a_run_is_planned_is_run(tmp_path: Path) -> None:
    with OddServer() as odd:
        bench = asking(odd, tmp_path, "plain", "*:*:0/10")
        odd.held_list = 1
        process = bench.start("run", "often.toml", "--occasion", "due", "--no-report", "--json")
        until(lambda: odd.lists >= 1)
        following = 10 * (time.time() // 10 + 1)
        until(lambda: time.time() > following)
        odd.let_go()
        out, error = process.communicate(timeout=60)
        assert (process.returncode, json.loads(out)["completed"]) == (0, 1), error


@pytest.mark.slow
def test_a_timer_that_asks_while_the_run_of_before_goes_on_is_quiet(tmp_path: Path) -> None:
    """A crontab would send a letter each five minutes of a long run."""
    with OddServer() as odd:
        bench = asking(odd, tmp_path, "held", "*:*:*")
        process = bench.start("run", "often.toml", "--occasion", "due", "--no-report", "--json")
        until(lambda: odd.requests)
        asked = bench("run", "often.toml", "--occasion", "due", "--no-report")
        assert (asked.stdout, asked.stderr) == ("", "")
        said = bench.json("run", "often.toml", "--occasion", "due", "--no-report")
        assert (said["status"], said["next_at"]) == ("not_due", None)
        assert "wait for it, or end it" in said["reason"]
        process.send_signal(signal.SIGTERM)
        odd.let_go()
        process.communicate(timeout=60)
        assert len(odd.requests) == 1


@pytest.mark.slow
@pytest.mark.parametrize("when", ["after the deadline", "while scores are made"])
def test_a_process_that_is_told_to_stop_begins_no_other_occasion(tmp_path: Path, when: str) -> None:
    bench = Workbench(tmp_path, None)
    with OddServer() as odd, bench.ledger.lock_path.open("w") as lock:
        bench.environment |= {"WORKBENCH_BASE_URL": odd.base_url, "WORKBENCH_API_KEY": odd.key}
        word = "held" if when == "after the deadline" else "slow"
        bench.write("sums.jsonl", f'{{"input": "{word}", "target": 4}}\n' * (40 if word == "held" else 2))
        more = {"deadline_s": 0.1} if word == "held" else {}
        bench.write("often.toml", scheduled('on_calendar = "*:*:*"', **more).replace("sim/instant", "m"))
        process = bench.start("run", "often.toml", "--occasion", "due", "--no-report")
        until(lambda: odd.requests)
        if more:
            until_said(process, "the deadline of 0.1 s has passed")
        else:
            time.sleep(0.2)
            fcntl.flock(lock, fcntl.LOCK_EX)
            time.sleep(4.5)  # the last ingest has given up, and who scores waits to read
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        fcntl.flock(lock, fcntl.LOCK_UN)
        odd.let_go()
        out, error = process.communicate(timeout=60)
        assert f"\n{out}".count("\nrun 20") == 1, out + error
        assert len(odd.requests) <= 8
        assert process.returncode == (7 if more else 0), error


@pytest.mark.slow
def test_what_is_due_and_what_is_not(home: Workbench, platform: ThreadedServer) -> None:
    home.write("often.toml", scheduled('on_calendar = "*:*"').replace('name = "sums"', 'name = "often"'))
    home.write(
        "seldom.toml", scheduled('on_calendar = "*-01-01 00:00 UTC"').replace('name = "sums"', 'name = "seldom"')
    )
    until(lambda: time.time() % 60 <= 40)
    first = home.json("run", "often.toml", "--occasion", "due", "--no-report")
    assert (first["status"], first["completed"]) == ("complete", 5)
    again = home.json("run", "often.toml", "--occasion", "due", "--no-report")
    assert again["status"] == "not_due"
    assert first["run_id"] in again["reason"]
    assert home("run", "often.toml", "--occasion", "due").stdout == "", "a crontab that asks often fills no log"
    late = home.json("run", "--no-report", "seldom.toml", "--occasion", "due")
    assert "first one never runs late" in late["reason"]
    assert late["next_at"].endswith("-01-01T00:00:00Z")
    assert platform.platform.statistics.requests.total() == 5
    listed = {row["job"]: row for row in home.json("schedule")}
    assert listed["often"]["result"] == "complete"
    assert listed["often"]["run_id"] == first["run_id"]
    assert listed["seldom"]["last"] is None
    assert listed["seldom"]["next_at"] == f"{datetime.now(UTC).year + 1}-01-01T00:00:00Z"
    assert first["run_id"] in home("schedule", "often.toml").stdout


@pytest.mark.slow
def test_a_day_with_one_time_by_the_schedule_is_that_time(home: Workbench, platform: ThreadedServer) -> None:
    def asked(schedule: str, occasion: str) -> Any:
        home.write("nightly.toml", scheduled(schedule))
        return home.json("run", "nightly.toml", "--no-report", "--occasion", occasion)["completed"]

    assert asked('on_calendar = "02:00,14:00"', "2026-11-19") == 5, "which of the two it means nothing says"
    nightly = 'on_calendar = "02:00"'
    assert asked(nightly, "2026-11-19") == 0, "what was asked as a day stays that"
    assert asked(nightly, "2026-11-20") == 5
    assert asked(nightly, "2026-11-20T02:00") == 0, "the timer pays for it no second time"
    assert asked(nightly, "2026-11-21T02:00") == 5
    assert asked(nightly, "2026-11-21") == 0
    assert platform.platform.statistics.requests.total() == 15


def test_wrong_input(home: Workbench) -> None:
    home.write("bad.toml", scheduled('on_calendar = "Mon 25:00"'))
    said = home("schedule", "bad.toml", "--cron", code=2).stderr
    assert "bad.toml:" in said
    assert "schedule.on_calendar: 'Mon 25:00' is not a valid calendar event: Bad hour" in said
    home.write(".#bad.toml", "[schedule]")
    (home.folder / "folder.toml").mkdir()
    assert "error: " in home("schedule", "list", code=2).stderr
    home.write("bad.toml", scheduled('on_calendar = "Mon 25:00"').replace("[schedule]", "[ schedule ]"))
    assert "Bad hour" in home("schedule", "list", code=2).stderr
    assert "is not a valid time" in home("run", "bad.toml", "--occasion", "0001-01-01T00:00", code=2).stderr
    home.write("always.toml", scheduled('cron = "0 2 * * *"').replace('reuse = "occasion"', 'reuse = "always"'))
    assert 'needs run.reuse = "occasion"' in home("lint", "always.toml", code=2).stderr
    home.write("none.toml", job())
    for arguments in (
        ("schedule", "none.toml"),
        ("schedule", "none.toml", "--cron"),
        ("run", "none.toml", "--occasion", "due"),
    ):
        assert "schedule: the job has no [schedule] table" in home(*arguments, code=2).stderr
    home.write("seconds.toml", scheduled('on_calendar = "*:*:0/3"'))
    assert "every five minutes" in home("schedule", "seconds.toml", "--cron").stderr
    assert "every five minutes" not in home("schedule", "seconds.toml", "--systemd").stderr
    assert "needs --systemd or --cron" in home("schedule", "night ly.toml", "--install", code=2).stderr
    assert "name the job" in home("schedule", "list", "--cron", code=2).stderr
    both = home("run", "night ly.toml", "--occasion", "due", "--fresh", code=2).stderr
    assert "cannot be combined with --fresh, --resume or --again" in both
    home.write(".env", "")
    home.environment["SSL_CERT_FILE"] = "authority.pem"
    warned = home("schedule", "night ly.toml", "--cron").stderr
    assert "a timer does not see this shell's environment" in warned
    assert "SSL_CERT_FILE" in warned.split(" of this shell will not be set")[0]


def test_a_line_break_in_the_job_s_real_path_is_no_line_of_a_crontab(bench: Workbench) -> None:
    folder = bench.folder / "a\n* * * * * touch x #"
    folder.mkdir()
    real = scheduled('on_calendar = "daily"').replace("sums.jsonl", str(bench.folder / "sums.jsonl"))
    (folder / "real.toml").write_text(real)
    bench.write("sums.jsonl", sums(1))
    (bench.folder / "job.toml").symlink_to(folder / "real.toml")
    told = bench("schedule", "job.toml", "--cron", code=2).stderr
    assert "cannot be written into a timer" in told
