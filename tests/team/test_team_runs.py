"""Runs of several machines: one limit, each job once, nothing paid twice."""

import json
import random
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

import workbench as wb
from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.contract.clocks import HeldClock
from tests.team.proxy import Proxy
from tests.team.rows import rows
from tests.waiting import until
from workbench.ledger.address import SCHEME
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings

Machine = Callable[[str], Workbench]


RUNS = "SELECT run_id FROM workbench_live.runs"
Killed = tuple[Workbench, Workbench, ThreadedServer]


def journals_of(bench: Workbench) -> Path:
    """Where a machine keeps what its team's ledger has not taken in."""
    return next(Path(bench.environment["XDG_STATE_HOME"]).glob("workbench/teams/*/ledger.journal"), Path("none"))


def forget_leases(url: str) -> None:
    """Let all leases end, as they do by themselves a while after a machine died."""
    with psycopg.connect(url.removeprefix(SCHEME)) as db:
        for table in ("runs", "holders", "slots"):
            over = "UPDATE workbench_live.{} SET expires_at = clock_timestamp() - INTERVAL '1 s'"
            db.execute(sql.SQL(over).format(sql.Identifier(table)))


def joined(bench: Workbench, server: ThreadedServer) -> Workbench:
    """A machine with a key for a platform."""
    bench.environment |= {"WORKBENCH_BASE_URL": server.base_url, "WORKBENCH_API_KEY": server.key}
    return bench


def live(url: str, statement: str) -> list[tuple[Any, ...]]:
    """What the server knows of the runs."""
    with psycopg.connect(url.removeprefix(SCHEME)) as db:
        return db.execute(statement).fetchall()


@pytest.mark.slow
def test_a_run_on_a_team_s_ledger_is_read_by_another_machine_and_not_paid_again(machine: Machine, url: str) -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server:
        first, second = joined(machine("first"), server), joined(machine("second"), server)
        for bench in (first, second):
            bench.write("sums.jsonl", sums(6))
            bench.write("job.toml", job("m"))
        done = first.json("run", "job.toml", "--no-report")
        assert (done["status"], done["completed"]) == ("complete", 6)
        again = second.json("run", "job.toml", "--no-report")
        assert (again["reused"], again["completed"]) == (6, 0)
    assert live(url, "SELECT * FROM workbench_live.runs") == [], "handed in"
    assert live(url, "SELECT * FROM workbench_live.holders") == []
    assert live(url, "SELECT * FROM workbench_live.slots WHERE expires_at > clock_timestamp()") == []


@pytest.mark.slow
def test_a_job_runs_on_one_machine_at_a_time(machine: Machine, url: str) -> None:
    slow = platform_of({"id": "m", "latency_ms": {"median": 300, "sigma": 0}}, {"id": "quick"})
    with HeldClock() as clock, ThreadedServer(slow, around=Surroundings(clock=clock)) as server:
        first, second = joined(machine("first"), server), joined(machine("second"), server)
        for bench in (first, second):
            bench.write("sums.jsonl", sums(90))
            bench.write("job.toml", job("m", limit=2))
        running = first.start("run", "job.toml", "--no-report")
        clock.let_go(4)
        until(lambda: server.platform.statistics.requests["m"] >= 6)
        refused = second("run", "job.toml", "--no-report", code=5).stderr
        assert [run["status"] for run in second.json("runs")] in ([], ["running"]), "as far as it was ingested"
        told = {check["check"]: check["text"] for check in second.json("doctor")}["team"]
        assert re.fullmatch(r"job 'sums' runs on \S+ by \S+, since .* UTC", told)
        assert {row["job"] for row in second.json("slots")} == {"sums"}
        assert re.search(r"job 'sums' is running already on this ledger, on \S+ by \S+, since .* UTC \(run 2", refused)
        assert "goes on, on" in second("run", "job.toml", "--leave-behind", live(url, RUNS)[0][0], code=2).stderr
        for bench in (first, second):  # another job of the machine whose first one goes on
            bench.write("other.toml", job("quick", name="other", dataset="other.jsonl", limit=4))
            bench.write("other.jsonl", sums(2).replace("What is", "And what is"))
        assert first.json("run", "other.toml", "--no-report")["completed"] == 2
        assert second.json("run", "other.toml", "--no-report")["reused"] == 2, "it was handed in"
        running.send_signal(signal.SIGINT)
        clock.let_go()
        running.communicate(timeout=60)
        second.write("job.toml", job("m", limit=30))
        done = second.json("run", "job.toml", "--no-report", "--fixed")
        assert done["completed"] + done["reused"] == 90
        assert done["reused"] > 0, "what the first machine had handed in"


@pytest.mark.slow
def test_all_machines_together_keep_one_limit_and_share_it(machine: Machine, url: str) -> None:
    limit, names = 6, ("m0", "m1", "m2")
    slow = platform_of(*({"id": name, "latency_ms": {"median": 60, "sigma": 0}} for name in names))
    with HeldClock() as clock, ThreadedServer(slow, around=Surroundings(clock=clock)) as server:
        asked = server.platform.statistics.requests
        benches = [joined(machine(name), server) for name in names]
        for name, bench in zip(names, benches, strict=True):
            bench.write("sums.jsonl", sums(40))
            bench.write("job.toml", job(name, name=name, limit=limit))
        command = ("run", "job.toml", "--no-report", "--json", "--fixed")
        runs = [benches[0].start(*command)]
        until(lambda: asked["m0"] == limit)
        runs += [bench.start(*command) for bench in benches[1:]]
        until(lambda: live(url, "SELECT 1 FROM workbench_live.holders WHERE wants > 0") == [(1,)] * 3)
        renewed = "SELECT expires_at FROM workbench_live.holders WHERE job = 'm0'"
        before = live(url, renewed)
        until(lambda: live(url, renewed) > before)  # from here on the first one knows of the others
        clock.let_go(limit)
        until(lambda: all(asked[name] for name in names))  # none waits until another is done
        clock.let_go()
        ends = [json.loads(run.communicate(timeout=120)[0]) for run in runs]
    assert [end["completed"] for end in ends] == [40] * 3
    assert server.platform.statistics.most_in_flight == limit


@pytest.fixture
def killed(machine: Machine) -> Iterator[tuple[Workbench, Workbench, ThreadedServer]]:
    """A machine whose run was killed with answers in its journal, and another one."""
    with ThreadedServer(platform_of({"id": "m", "latency_ms": {"median": 50, "sigma": 0}})) as server:
        first, second = joined(machine("first"), server), joined(machine("second"), server)
        for bench in (first, second):
            bench.write("sums.jsonl", sums(60))
            bench.write("job.toml", job("m", limit=2))
        running = first.start("run", "job.toml", "--no-report")
        until(lambda: server.platform.statistics.in_flight > 0 and len(list(journals_of(first).glob("*.zst"))) > 0)
        until(lambda: server.platform.statistics.requests.total() > 12)
        running.kill()
        running.communicate()
        yield first, second, server


@pytest.mark.slow
def test_a_job_whose_machine_died_waits_for_its_answers(killed: Killed, url: str) -> None:
    first, second, _ = killed
    forget_leases(url)
    (run_id,) = live(url, RUNS)[0]
    refused = second("run", "job.toml", "--no-report", code=5).stderr
    told = {check["check"]: check for check in second.json("doctor")}["team"]
    for text in (refused, told["text"]):
        assert re.search(
            rf"job 'sums': run {run_id}, begun on \S+ by \S+ at .* UTC, ended without handing in its answers", text
        )
    assert "workbench ledger recover" in told["fix"]
    assert "up to 60 answers may be on that machine alone" in refused
    fresh = second.json("run", "job.toml", "--no-report", "--fresh", "--limit", "2")
    assert fresh["completed"] == 2, "answers of its own generation are in no run's way"
    assert live(url, RUNS) == [(run_id,)]
    assert f"--leave-behind {run_id}" in refused
    first("ledger", "recover")
    done = second.json("run", "job.toml", "--no-report")
    assert done["reused"] > 0
    assert done["completed"] + done["reused"] == 60


@pytest.mark.slow
def test_the_machine_itself_goes_on_at_once(killed: Killed, url: str) -> None:
    first, _, _ = killed
    first("slots", "release")
    done = first.json("run", "job.toml", "--no-report")
    assert done["reused"] > 0
    assert done["completed"] + done["reused"] == 60
    assert live(url, RUNS) == []


@pytest.mark.slow
def test_answers_are_recovered_from_a_copy_of_journals_or_left_behind(killed: Killed, url: str, tmp_path: Path) -> None:
    first, second, _ = killed
    forget_leases(url)
    shutil.copytree(journals_of(first), tmp_path / "copy")
    assert second.json("ledger", "recover", "--journals", str(tmp_path / "copy"))["journals"] == 1
    assert live(url, RUNS) == []
    assert second.json("run", "job.toml", "--limit", "1", "--no-report")["completed"] == 0
    assert first.json("ledger", "recover")["journals"] == 1, "the same journal again"
    assert second.json("ledger", "check")["sound"]
    assert "no run 'r9' waits" in second("run", "job.toml", "--leave-behind", "r9", code=2).stderr


@pytest.mark.slow
def test_a_run_is_left_behind_when_that_is_said(killed: Killed, url: str) -> None:
    _, second, _ = killed
    forget_leases(url)
    (run_id,) = live(url, RUNS)[0]
    done = second.json("run", "job.toml", "--no-report", "--leave-behind", str(run_id))
    assert (done["reused"], done["completed"]) == (0, 60)


@pytest.mark.slow
def test_python_runs_on_a_team_s_ledger_too(
    killed: Killed, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, second, _ = killed
    forget_leases(url)
    (run_id,) = live(url, RUNS)[0]
    for name, value in second.environment.items():
        monkeypatch.setenv(name, value)
    shutil.copytree(tmp_path / "team-rows", tmp_path / "mounted")  # as this machine sees it
    second.write("workbench.toml", f'[ledger]\nurl = """{url}"""\ndata = "{tmp_path / "mounted"}"\n')
    sums_job = wb.load_job(second.folder / "job.toml")
    with pytest.raises(wb.WorkbenchError, match="ended without handing in its answers"):
        wb.run(sums_job, folder=second.folder)
    with pytest.raises(wb.WorkbenchError, match="no run 'r9' waits"):
        wb.run(sums_job, folder=second.folder, leave_behind="r9")
    done = wb.run(sums_job, folder=second.folder, ledger=url, leave_behind=run_id, report=False)
    assert done.summary.completed == 60
    assert len(done.scores()) == 60
    kept, mounted = (len(list(tmp_path.joinpath(name).rglob("*.parquet"))) for name in ("team-rows", "mounted"))
    assert mounted > kept, "rows go where the settings say, also where Python names the ledger"


def test_a_server_that_cannot_be_reached_sends_nothing(machine: Machine, tmp_path: Path) -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server:
        bench = joined(machine("one"), server)
        bench.write("sums.jsonl", sums(3))
        bench.write("job.toml", job("m"))
        bench.write("workbench.toml", f'[ledger]\nurl = "{SCHEME}host={tmp_path} dbname=none connect_timeout=2"\n')
        assert "the ledger's server" in bench("run", "job.toml", code=6).stderr
        assert server.platform.statistics.requests.total() == 0
    file = Workbench(tmp_path, None)
    file.write("job.toml", job("m"))
    file.write("sums.jsonl", sums(1))
    assert "no other machine keeps answers back" in file("run", "job.toml", "--leave-behind", "r1", code=2).stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "trouble",
    [pytest.param(Proxy.close, id="lost"), pytest.param(Proxy.fall_silent, id="silent", marks=pytest.mark.slow)],
)
def test_a_server_that_is_away_stops_no_run_and_its_answers_wait(
    machine: Machine, url: str, trouble: Callable[[Proxy], None]
) -> None:
    platform = ThreadedServer(platform_of({"id": "m", "latency_ms": {"median": 50, "sigma": 0}}))
    with platform as server, Proxy(url.removeprefix(SCHEME)) as proxy:
        first, second = joined(machine("first"), server), joined(machine("second"), server)
        first.write("workbench.toml", f'[ledger]\nurl = """{SCHEME}{proxy.conninfo} connect_timeout=2"""\n')
        for bench in (first, second):
            bench.write("sums.jsonl", sums(120))
            bench.write("job.toml", job("m", limit=4))
        running = first.start("run", "job.toml", "--no-report")
        until(lambda: server.platform.statistics.requests.total() > 12)
        trouble(proxy)
        out, errors = running.communicate(timeout=60)
        assert running.returncode == 0, errors
        assert "120 of 120 answered (0 reused)" in out
        assert "not ingested yet, but safe in" in out + errors
        refused = second("run", "job.toml", "--no-report", code=5).stderr
        assert "job 'sums'" in refused
        proxy.open()
        assert first.json("ledger", "recover")["deferred"] == ""
        assert second.json("run", "job.toml", "--no-report")["reused"] == 120


@pytest.mark.long
def test_a_slow_server_changes_nothing(machine: Machine, url: str) -> None:
    platform = ThreadedServer(platform_of({"id": "m", "latency_ms": {"median": 20, "sigma": 0}}))
    with platform as server, Proxy(url.removeprefix(SCHEME)) as proxy:
        bench = joined(machine("one"), server)
        bench.write("workbench.toml", f'[ledger]\nurl = """{SCHEME}{proxy.conninfo}"""\n')
        bench.write("sums.jsonl", sums(60))
        bench.write("job.toml", job("m", limit=4))
        proxy.delay_s = 0.002
        assert "not ingested" not in bench.process("run", "job.toml", "--no-report").stderr
        assert bench.json("runs")[0]["completed"] == 60
        assert bench.json("ledger", "check")["sound"]


@pytest.mark.slow
def test_a_run_with_caps_waits_for_a_silent_server(machine: Machine, url: str) -> None:
    platform = ThreadedServer(platform_of({"id": "m", "latency_ms": {"median": 30, "sigma": 0}}))
    with platform as server, Proxy(url.removeprefix(SCHEME)) as proxy:
        bench = joined(machine("one"), server)
        caps = '[[caps]]\nper = "day"\nrequests = 90\n'
        bench.write("workbench.toml", f'[ledger]\nurl = """{SCHEME}{proxy.conninfo} connect_timeout=2"""\n{caps}')
        bench.write("sums.jsonl", sums(120))
        bench.write("job.toml", job("m", limit=4))
        with bench.start("run", "job.toml", "--no-report", "--json") as running:
            until(lambda: server.platform.statistics.requests.total() > 12)
            proxy.fall_silent()
            until(lambda: server.platform.statistics.in_flight == 0)
            sent = server.platform.statistics.requests.total()
            assert running.poll() is None
            proxy.open()
            end = json.loads(running.communicate(timeout=60)[0])
        assert sent < 90
        assert (end["status"], end["completed"]) == ("stopped", 90)
        assert server.platform.statistics.requests.total() == 90


@pytest.mark.slow
def test_a_cap_is_one_for_all_machines(machine: Machine, url: str) -> None:
    with ThreadedServer(platform_of({"id": "m", "latency_ms": {"median": 30, "sigma": 0}})) as server:
        benches = [joined(machine(f"m{number}"), server) for number in range(2)]
        for number, bench in enumerate(benches):
            bench.write("workbench.toml", f'[ledger]\nurl = """{url}"""\n[[caps]]\nper = "day"\nrequests = 40\n')
            bench.write("sums.jsonl", sums(30).replace("What is", f"For {number}, what is"))
            bench.write("job.toml", job("m", name=f"j{number}", limit=4))
        runs = [bench.start("run", "job.toml", "--no-report", "--json") for bench in benches]
        ends = [json.loads(run.communicate(timeout=60)[0]) for run in runs]
        assert {end["status"] for end in ends} <= {"stopped", "complete"}
        assert sum(end["completed"] for end in ends) == 40 == server.platform.statistics.requests.total()
        third = joined(machine("m2"), server)
        third.write("workbench.toml", benches[0].folder.joinpath("workbench.toml").read_text())
        third.write("sums.jsonl", sums(3).replace("What is", "For 2, what is"))
        third.write("job.toml", job("m", name="j2"))
        assert third.json("run", "job.toml", "--no-report", code=7)["completed"] == 0, "what was used is in the ledger"


@pytest.mark.parametrize("nights", [pytest.param(10, marks=pytest.mark.long)])
def test_a_timer_on_two_machines_asks_each_occasion_once(machine: Machine, url: str, nights: int) -> None:
    chosen, samples = random.Random(nights), 12
    with ThreadedServer(platform_of({"id": "m", "latency_ms": {"median": 60, "sigma": 0.3}})) as server:
        benches = [joined(machine(name), server) for name in ("first", "second")]
        for bench in benches:
            bench.write("sums.jsonl", sums(samples))
            bench.write("job.toml", job("m", limit=2).replace("[run]", '[run]\nreuse = "occasion"'))
        for night in range(1, nights + 1):
            command = ("run", "job.toml", "--no-report", "--occasion", f"2026-11-{night:02}")
            begun = [bench.start(*command) for bench in benches]
            if night % 3 == 2:
                sent = server.platform.statistics.requests.total()
                until(lambda sent=sent: server.platform.statistics.requests.total() > sent + 3)  # type: ignore[misc]
                chosen.choice(begun).kill()
            codes = [(process.communicate(timeout=60), process.returncode)[1] for process in begun]
            assert set(codes) <= {0, 5, -9}, codes
            forget_leases(url)
            for bench in benches:  # as the timers do at their next time; what was killed is gone on with where it was
                bench.process(*command, code=None)
                bench.process(*command, code=None)
            for bench in benches:
                again = bench.json(*command)
                assert (again["reused"], again["completed"]) == (samples, 0)
    accepted = "SELECT count(*), count(DISTINCT (generation, request_key)) FROM ledger.attempts WHERE accepted"
    assert rows(url, accepted) == [(nights * samples, nights * samples)]


@pytest.mark.slow
def test_what_a_killed_run_had_reserved_makes_no_other_run_of_its_machine_wait(machine: Machine, url: str) -> None:
    with ThreadedServer(platform_of({"id": "m", "latency_ms": {"median": 60_000, "sigma": 0}})) as server:
        bench = joined(machine("one"), server)
        room_for_one = f'[ledger]\nurl = """{url}"""\n[[caps]]\nper = "day"\ntotal_tokens = 250\n'
        bench.write("workbench.toml", room_for_one)
        bench.write("sums.jsonl", sums(1))
        bench.write("first.toml", job("m", name="first", limit=1))
        bench.write("second.toml", job("m", name="second", limit=8))
        first = bench.start("run", "first.toml", "--no-report", "--fixed")
        until(lambda: server.platform.statistics.in_flight == 1)
        first.kill()
        first.communicate()
        ended = bench.json("run", "second.toml", "--no-report", "--fresh", code=7)
    assert ended["completed"] == 0
    assert ended["duration_s"] < 30, "the claim of the first lasts three times as long"
