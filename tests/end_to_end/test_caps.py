"""Caps of several runs together: by window, job and tag, in requests, tokens, units and shares, across processes."""

import json
import re
import signal
from pathlib import Path

import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.contract.clocks import HeldClock
from tests.waiting import until
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings

M = {"id": "m", "simulated": "answers"}


def asking(name: str) -> str:
    """A job with a dataset of its own: equal requests would be paid once."""
    return job("m", name=name, dataset=f"{name}.jsonl", limit=4)


def written(folder: Path, server: ThreadedServer, settings: str, *names: str, samples: int = 30) -> Workbench:
    bench = Workbench(folder, server)
    bench.write("workbench.toml", settings)
    for name in names or ("one",):
        bench.write(f"{name}.jsonl", sums(samples).replace("What is", f"For {name}, what is"))
        bench.write(f"{name}.toml", asking(name))
    return bench


def test_a_day_of_tokens_ends_the_second_run(tmp_path: Path) -> None:
    with ThreadedServer(platform_of(M)) as server:
        bench = written(tmp_path, server, '[[caps]]\nper = "day"\ntotal_tokens = 450\n')
        first = bench.json("run", "one.toml", "--no-report", code=7)
        assert "the cap of 450 tokens a day has no room for" in first["reason"].replace("\u202f", " ")
        assert re.search(r"; it begins again 20\d\d-\d\d-\d\d \d\d:\d\d UTC", first["reason"])
        assert 200 < first["usage"]["total_tokens"] <= 450
        sent = server.platform.statistics.requests.total()
        again = bench.json("run", "one.toml", "--no-report", code=7)
        assert (again["reused"], again["completed"]) == (first["completed"], 0)
        assert server.platform.statistics.requests.total() == sent, "what was used today is in the ledger"
        bench.write("workbench.toml", "")
        assert bench.json("run", "one.toml", "--no-report")["status"] == "complete"


@pytest.mark.slow
def test_how_much_of_a_cap_is_used_is_said_where_the_allowance_is(tmp_path: Path) -> None:
    with ThreadedServer(platform_of(M)) as server:
        settings = '[[caps]]\nper = "day"\nrequests = 40\n[[caps]]\nper = "day"\nshare = 0.5\n'
        bench = written(tmp_path, server, settings)
        bench("run", "one.toml", "--no-report", "--limit", "10", code=None)
        bench.write("workbench.toml", settings.split('[[caps]]\nper = "day"\nshare')[0])
        bench("run", "one.toml", "--no-report", "--limit", "10")
        bench.write("workbench.toml", settings)
        known, unknown = bench.json("allowance")["caps"]
    assert (known["used"], known["reserved"], known["left"], known["most"]) == (10, 0, 30, 40)
    assert unknown["left"] is None
    assert "is a share of a total that is not known" in unknown["problem"]
    said = bench("allowance").stdout
    assert re.search(r"40 requests a day +10 \(25 %\) .* 30 ", said), said
    page = Path(bench.json("report")["report"]).with_name("allowance.html").read_text("utf-8")
    assert re.search(r'<meter min="0" max="40(\.0)?" value="10(\.0)?"', page)
    assert "cannot be told: is a share of a total that is not known" in page


@pytest.mark.slow
def test_two_processes_share_one_cap_and_a_killed_one_counts_what_it_may_have_used(tmp_path: Path) -> None:
    with ThreadedServer(platform_of(M | {"latency_ms": {"median": 30}})) as server:
        bench = written(tmp_path, server, '[[caps]]\nper = "day"\nrequests = 40\n', "one", "two")
        runs = [bench.start("run", f"{name}.toml", "--json") for name in ("one", "two")]
        ends = [json.loads(run.communicate(timeout=60)[0]) for run in runs]
        assert {end["status"] for end in ends} <= {"stopped", "complete"}
        assert sum(end["completed"] for end in ends) == 40 == server.platform.statistics.requests.total()
    clock = HeldClock()
    with (
        ThreadedServer(platform_of(M | {"latency_ms": {"median": 1}}), around=Surroundings(clock=clock)) as server,
        clock,
    ):
        bench = written(tmp_path / "killed", server, '[[caps]]\nper = "day"\nrequests = 6\n', "one", "two")
        process = bench.start("run", "one.toml")
        until(lambda: server.platform.statistics.requests.total() >= 4)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        clock.let_go()
        assert bench.json("run", "two.toml", "--no-report", code=7)["completed"] == 2


@pytest.mark.slow
def test_a_cap_holds_for_the_jobs_and_tags_that_it_names(tmp_path: Path) -> None:
    with ThreadedServer(platform_of(M)) as server:
        # what is not known of another job's cap keeps none of these from running
        settings = '[[caps]]\nper = "day"\njob = "other"\nshare = 0.1\n'
        settings += '[[caps]]\nper = "week"\njob = "one"\nrequests = 5\n[[caps]]\nper = "5h"\ntag = { team = "optics" }\nrequests = 9\n'
        bench = written(tmp_path, server, settings, "one", "two", "three")
        for name in ("two", "three"):
            bench.write(f"{name}.toml", asking(name) + '\n[tags]\nteam = "optics"\n')
        found = {
            name: bench.json("run", f"{name}.toml", "--no-report", code=7)["completed"]
            for name in ("one", "two", "three")
        }
    assert found == {"one": 5, "two": 9, "three": 0}


@pytest.mark.slow
@pytest.mark.parametrize("of", ['tag = { team = "optics" }', 'job = "one"'])
def test_a_judge_keeps_the_caps_and_tags_of_the_job_that_it_judges(tmp_path: Path, of: str) -> None:
    with ThreadedServer(platform_of(M)) as server:
        bench = written(tmp_path, server, "", samples=6)
        judge = '[[scorers]]\nname = "judge"\nmodel = "m"\n[judge]\nwhen = "later"\n'
        bench.write(
            "one.toml", f'{asking("one")}\n[tags]\nteam = "optics"\n{judge}'.replace("[run]", "[run]\nghost_s = 7", 1)
        )
        run_id = bench.json("run", "one.toml", "--no-report")["run_id"]
        bench.write("workbench.toml", f'[[caps]]\nper = "day"\nrequests = 8\n{of}\n')
        stopped = bench("score", run_id, "--yes", code=7)
        assert "the cap of 8 requests a day" in stopped.stderr
        assert server.platform.statistics.requests.total() == 8
        assert bench.json("runs")[0]["tags"] == {
            "judge": "judge",
            "judged_job": "one",
            "judged_run": run_id,
            "team": "optics",
        }
        used = {row["tag"]: row["calls"] for row in bench.json("usage", "--by", "tag")}
        assert (used["team = optics"], used["judge = judge"]) == (8, 2)
        ((toml,),) = bench.rows("SELECT job_toml FROM runs WHERE event = 'started' AND job LIKE '%judged by%'")
        assert "ghost_s = 7" in toml


@pytest.mark.slow
def test_units_and_shares_follow_the_weights(tmp_path: Path) -> None:
    weights = '[[allowance.weights]]\nmodel = "*"\nsince = 2026-01-01\nprompt = 1.0\ncompletion = 10.0\n'
    with ThreadedServer(platform_of(M)) as server:
        bench = written(
            tmp_path, server, f'[allowance]\nwindow = "month"\ntotal_units = 30\n{weights}[[caps]]\nshare = 0.05\n'
        )
        first = bench.json("run", "one.toml", "--no-report", code=7)
        assert "the cap of 1.50 units (5 %) a window has no room for" in first["reason"].replace("\u202f", " ")
        drawn = json.loads(bench("allowance", "status", "--json").stdout)["seen"]["units"]
        assert 0.7 < drawn <= 1.5
        bench.write("workbench.toml", f'[allowance]\nwindow = "month"\ntotal_units = 30\n{weights}')
        bench.write("one.toml", asking("one") + "\n[budget]\nshare_of_left = 0.05\n")
        assert "is not known (a reading tells" in bench("run", "one.toml", "--fresh", code=2).stderr
        bench("allowance", "reading", "--used", "10%")
        second = bench.json("run", "one.toml", "--no-report", "--fresh", code=7)
        assert second["completed"] > 0
        assert "of this run (5 % of what is left at least)" in second["reason"]
        assert json.loads(bench("allowance", "status", "--json").stdout)["seen"]["units"] - drawn <= 1.5


@pytest.mark.slow
def test_calls_that_nothing_bounds_make_what_is_used_a_least(tmp_path: Path) -> None:
    with ThreadedServer(platform_of(M | {"reports_usage": False})) as server:
        bench = written(tmp_path, server, "", "one", "two", samples=3)
        bench.write("one.toml", asking("one").replace("max_tokens = 64\n", ""))
        bench("run", "one.toml", "--no-report")
        bench.write("workbench.toml", '[[caps]]\nper = "day"\ntotal_tokens = 60000\n')
        told = bench("plan", "two.toml").stdout.replace("\u202f", " ")
        assert "cap: 60 000 tokens a day, at least " in told
        assert "  3 calls reported no usage and had no max_tokens: what they used is not known" in told
        (cap,) = bench.json("plan", "two.toml")["window"]["caps"]
        assert cap["unbounded_calls"] == 3


@pytest.mark.slow
def test_of_two_caps_in_a_request_the_higher_counts(tmp_path: Path) -> None:
    with ThreadedServer(platform_of(M | {"reports_usage": False})) as server:
        bench = written(tmp_path, server, '[[caps]]\nper = "day"\ntotal_tokens = 60000\n', samples=1)
        bench.write(
            "one.toml", asking("one").replace("max_tokens = 64\n", "max_tokens = 64\nmax_completion_tokens = 5000\n")
        )
        bench("run", "one.toml", "--no-report")
        (cap,) = bench.json("plan", "one.toml")["window"]["caps"]
        assert 5000 < cap["used"] < 5500


@pytest.mark.parametrize("ahead", [True, False])
def test_an_overrun_is_reported(ahead: bool, tmp_path: Path) -> None:
    """A route that ignores `max_tokens` uses more than was reserved for it."""
    with ThreadedServer(platform_of({"id": "m", "simulated": "echo", "keeps_max_tokens": False})) as server:
        settings = '[[caps]]\nper = "day"\ntotal_tokens = 400\n' if ahead else ""
        bench = written(tmp_path, server, settings)
        text = (
            asking("one").replace("max_in_flight = 4", "max_in_flight = 1").replace("max_tokens = 64", "max_tokens = 1")
        )
        bench.write("one.toml", text if ahead else text + "\n[budget]\nunits = 400\n")
        end = bench.json("run", "one.toml", "--no-report", code=7)
    assert "has no room for" in end["reason"]
    used = end["usage"]["total_tokens"]
    assert (used > 400) == ("was exceeded by" in end["reason"])


def test_a_cap_that_has_no_room_for_any_request_is_refused_before_the_run(tmp_path: Path) -> None:
    with ThreadedServer(platform_of(M)) as server:
        bench = written(tmp_path, server, '[[caps]]\nper = "day"\ntotal_tokens = 50\n')
        said = "the cap of 50 tokens a day has no room for a request, whose answer may take 64 tokens"
        assert said in bench("lint", "one.toml").stdout
        assert said in bench("run", "one.toml", code=2).stderr
        assert server.platform.statistics.requests.total() == 0
