"""What `-v` shows of a run: what is sent, and what is waited for and why; never a text, never a key."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.waiting import until_said
from workbench.local_platform.server import ThreadedServer

ROUTES = (
    {"id": "quick", "simulated": "answers"},
    {"id": "slow", "simulated": "answers", "latency_ms": {"median": 150.0}},
    {"id": "down", "simulated": "answers", "faults": [{"status": 503}]},
)
SECONDS = r"\d\d:\d\d:\d\d\.\d{3} workbench\.(running|ledger): "


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    with ThreadedServer(platform_of(*ROUTES)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(12))
        bench.write(
            "job.toml",
            job(*(str(route["id"]) for route in ROUTES))
            .replace("[run]", "[run]\npatience_s = 1")
            .replace("passes = 1", "passes = 2"),
        )
        yield bench


@pytest.mark.file_ledger
def test_every_call_and_every_wait_is_in_the_log(bench: Workbench) -> None:
    done = bench("-v", "run", "job.toml", "--no-report", code=3)
    lines = [line for line in done.stderr.splitlines() if re.match(SECONDS, line)]
    text = "\n".join(lines)
    sent = re.findall(r"call (\d+): to (\S+), attempt (\d), slot \d+, \d+ in flight", text)
    ended = dict(re.findall(r"call (\d+): (\w+) after \d+ ms", text))
    run = bench.json("runs")[0]
    assert len(sent) == len(ended) == len(bench("show", run["run_id"], "--calls", "--json").stdout.splitlines())
    assert {ended[number] for number, model, _ in sent if model == "quick"} == {"ok"}
    assert "down: route_down, sent again in " in text
    assert re.search(r"down: (open|given up)", text)
    assert re.search(r"waiting: .*down is paused until \d\d:\d\d:\d\d UTC", text)
    assert re.search(r"all models: at most \d in flight \(start\)", text)
    assert re.search(r"ingest: 1 journals, \d+ records in", text)
    assert "lock to write: held for " in text
    begun, over = re.findall(r"waiting: (.+)", text), re.findall(r"waited \d+\.\d\d s: (.+)", text)
    assert begun == over, "each wait is told when it begins, and when it ends"
    assert "What is" not in done.stderr
    assert bench.environment["WORKBENCH_API_KEY"] not in done.stderr


def test_the_environment_asks_for_it_as_well_and_by_default_there_is_none(bench: Workbench) -> None:
    bench.write("job.toml", job("quick"))
    assert not re.search(SECONDS, bench("run", "job.toml", "--no-report").stderr)
    bench.environment["WORKBENCH_LOG"] = "info"
    told = bench("run", "job.toml", "--no-report", "--fresh").stderr
    assert "ingest: " in told
    assert "call 1: " not in told
    bench.environment["WORKBENCH_LOG"] = "loud"
    assert "'loud' is not one of 'info', 'debug'" in bench("runs", code=2).stderr


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_run_that_nobody_watches_asks_a_logger_a_few_times_a_request(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write("sums.jsonl", sums(100))
    bench.write("job.toml", job("quick", "slow"))
    asked: list[str] = []
    real = logging.Logger.isEnabledFor

    def counted(self: logging.Logger, level: int) -> bool:
        if self.name.startswith("workbench"):
            asked.append(self.name)
        return real(self, level)

    monkeypatch.setattr(logging.Logger, "isEnabledFor", counted)
    bench("run", "job.toml", "--no-report")
    assert len(asked) / 200 <= 12


def test_what_intervals_need_is_loaded_while_answers_are_waited_for(tmp_path: Path) -> None:
    """Not before the first answer, which it would delay, and not after the last one, when scores would wait for it."""
    never = {"id": "never", "simulated": "answers", "latency_ms": {"median": 120_000.0}}
    with ThreadedServer(platform_of(ROUTES[0], never)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(1))
        bench.write("job.toml", job("quick", "never"))
        bench.environment["PYTHONPROFILEIMPORTTIME"] = "1"
        with bench.start("-v", "run", "job.toml", "--no-report") as process:
            before = until_said(process, "ok after")
            assert not [line for line in before if "scipy" in line]
            between = until_said(process, "scipy.special")
            assert not [line for line in between if "ok after" in line], "the other answer is there"
            process.kill()
