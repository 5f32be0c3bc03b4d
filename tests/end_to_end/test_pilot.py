"""A run after a pilot, above a threshold, and beside what is left: nothing more is sent before somebody agrees."""

import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.waiting import all_shown
from workbench.ledger.queries import reading
from workbench.ledger.rows import Provenance
from workbench.local_platform.server import ThreadedServer

M = {"id": "m", "simulated": "answers"}


@pytest.fixture
def measured(tmp_path: Path) -> Iterator[tuple[Workbench, ThreadedServer]]:
    with ThreadedServer(platform_of(M)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(40))
        bench.write("job.toml", job("m"))
        yield bench, server


@pytest.mark.slow
def test_a_pilot_measures_estimates_again_and_stops_where_nobody_can_be_asked(
    measured: tuple[Workbench, ThreadedServer],
) -> None:
    bench, server = measured
    done = bench("run", "job.toml", "--pilot", "8", code=3)
    assert server.platform.statistics.requests.total() == 8
    assert "from 8 earlier answers of this model in this job" in done.stdout
    assert "32 requests not sent: --yes sends them" in done.stderr
    with reading(bench.ledger) as reader:
        assert reader.only(Provenance, run_id=bench.json("runs")[0]["run_id"]).narrowed == "a pilot of 8 samples"
    samples = {row["sample_id"] for row in bench.lines("show", "last", "--calls")}
    assert samples != {f"s{number}" for number in range(8)}, "drawn at random"
    whole = bench.json("run", "job.toml", "--pilot", "8", "--yes", "--no-report")
    assert (whole["reused"], whole["completed"], whole["status"]) == (8, 32, "complete")
    assert server.platform.statistics.requests.total() == 40, "the pilot's answers are the run's"


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "sent"), [("y", 40), ("n", 8)])
def test_at_a_terminal_it_asks(measured: tuple[Workbench, ThreadedServer], answer: str, sent: int) -> None:
    bench, server = measured
    control, terminal = pty.openpty()
    process = bench.start(
        "run", "job.toml", "--pilot", "8", "--no-report", stdin=terminal, stderr=terminal, stdout=terminal
    )
    os.close(terminal)
    asked = b""
    while b"Send 32 requests?" not in asked:
        asked += os.read(control, 4096)
    os.write(control, answer.encode() + b"\n")
    shown = all_shown(control)
    assert process.wait(30) == (0 if answer == "y" else 3), shown
    assert server.platform.statistics.requests.total() == sent


def test_a_threshold_is_asked_about_once(measured: tuple[Workbench, ThreadedServer]) -> None:
    bench, server = measured
    bench.write("workbench.toml", "[confirm]\nrequests = 30\n")
    told = bench("run", "job.toml", "--no-report", code=3).stderr
    assert "it would send 40 requests, more than [confirm] requests = 30" in told
    assert not server.platform.statistics.requests
    assert bench.json("run", "job.toml", "--limit", "30", "--no-report")["completed"] == 30
    bench.write("workbench.toml", "[confirm]\ntotal_tokens = 5\nunits = 5\n")
    told = bench("run", "job.toml", "--no-report", code=3).stderr
    assert "tokens, more than [confirm] total_tokens = 5" in told
    assert "units, more than [confirm] units = 5" in told
    assert bench.json("run", "job.toml", "--yes", "--no-report")["completed"] == 10


@pytest.mark.slow
def test_a_run_that_a_cap_stopped_says_what_a_request_draws(measured: tuple[Workbench, ThreadedServer]) -> None:
    """Its tokens were told from its answers, and its units from nothing: 2.85 to 12.6 for what is 6.0."""
    bench, _ = measured
    weights = '[allowance]\n[[allowance.weights]]\nmodel = "*"\nsince = 2026-01-01\nprompt = 1.0\ncompletion = 10.0\n'
    bench.write("workbench.toml", f'{weights}[[caps]]\nper = "day"\nrequests = 20\n')
    bench("run", "job.toml", "--no-report", code=7)
    bench.write("workbench.toml", weights)
    planned = bench.json("plan", "job.toml")
    assert planned["to_send"] == 20
    assert planned["window"]["high_units"] < 1.3 * planned["window"]["low_units"]


@pytest.mark.slow
def test_a_plan_says_what_it_leaves_and_lint_what_it_does_not(measured: tuple[Workbench, ThreadedServer]) -> None:
    bench, _ = measured
    weights = '[[allowance.weights]]\nmodel = "*"\nsince = 2026-01-01\nprompt = 1.0\ncompletion = 10.0\n'
    caps = '[[caps]]\nper = "day"\nrequests = 20\n'
    bench.write("workbench.toml", f'[allowance]\nwindow = "month"\ntotal_units = 100\n{weights}{caps}')
    bench.json("run", "job.toml", "--limit", "20", "--no-report")
    bench("allowance", "reading", "--used", "97%")
    bench.write("sums.jsonl", sums(900))
    told = bench("plan", "job.toml").stdout
    planned = bench.json("plan", "job.toml")["window"]
    assert 0.05 < planned["low_units"] / 900 < 0.2, "what a token drew in the job's runs before"
    assert planned["high_units"] < 1.3 * planned["low_units"]
    assert "left of the allowance after it: 0 to 0 units until" in told
    assert "cap: 20 requests a day, 20 of them used" in told
    found = bench("lint", "job.toml").stdout
    assert "allowance: needs at least" in found
    assert "caps: the cap of 20 requests a day is used up: nothing would be sent" in found
    bench.write("job.toml", job("m").replace("passes = 1", "passes = 1\ndeadline_s = 0.0001"))
    assert "run.deadline_s: takes at least" in bench("lint", "job.toml").stdout


def test_a_pilot_goes_with_no_other_kind_of_run(measured: tuple[Workbench, ThreadedServer]) -> None:
    bench, _ = measured
    for more in (("--fresh",), ("--limit", "3"), ("--again", "invalidated")):
        assert "--pilot runs the whole job" in bench("run", "job.toml", "--pilot", "5", *more, code=2).stderr


@pytest.mark.slow
def test_a_scorer_that_fails_stops_no_run_after_its_pilot(measured: tuple[Workbench, ThreadedServer]) -> None:
    bench, server = measured
    bench.write("own.py", "def own(answer, sample):\n    raise ValueError('no such table')\n")
    bench.write("job.toml", job("m") + '[[scorers]]\nname = "custom"\nfunction = "own.py:own"\n')
    done = bench("run", "job.toml", "--pilot", "8", "--yes", "--no-report", code=3)
    assert server.platform.statistics.requests.total() == 40
    assert "custom failed on 8 of 8 answers: ValueError: no such table" in done.stdout
    assert "custom failed on 40 of 40 answers: ValueError: no such table" in done.stdout
    (ends,) = {(run["status"], run["pending"]) for run in bench.json("runs")}
    assert ends == ("complete", 0)


def test_a_timer_s_run_has_no_pilot_and_what_was_not_agreed_to_is_not_complete(
    measured: tuple[Workbench, ThreadedServer],
) -> None:
    bench, server = measured
    assert bench.json("run", "job.toml", "--pilot", "8", "--no-report", code=3)["status"] == "not_agreed"
    nightly = (
        job("m", name="nightly").replace("[run]", '[run]\nreuse = "occasion"') + '[schedule]\ncron = "0 2 * * *"\n'
    )
    bench.write("nightly.toml", nightly)
    refused = bench("run", "nightly.toml", "--occasion", "due", "--pilot", "5", code=2).stderr
    assert "--occasion due runs the whole job as it is written: leave out --limit" in refused
    assert server.platform.statistics.requests.total() == 8
