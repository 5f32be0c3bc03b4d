"""Nights in fast forward: an occasion every four seconds, with kills, a night off, a new dataset and a slow night."""

import random
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from signal import SIGKILL
from subprocess import Popen

import duckdb
import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from workbench.job.job import load_job
from workbench.job.occasions import following, occasion_name
from workbench.local_platform.server import ThreadedServer

PERIOD_S = 4
AGAIN = (3, 5, -SIGKILL)
ROWS, MORE_ROWS = 30, 40


class Timer:
    """Does what systemd does with the units that `workbench schedule` writes."""

    def __init__(self, bench: Workbench, asked: Callable[[], int]) -> None:
        self.bench, self.asked = bench, asked
        self.process: Popen[str] | None = None
        self.kill_at_asked = self.again_at = float("inf")
        self.codes: list[int] = []

    def fire(self) -> None:
        """An occasion has come: start the service unless it is running."""
        if self.process is None:
            self.process = self.bench.start("run", "job.toml", "--occasion", "due", "--no-report", "--no-progress")
            self.again_at = float("inf")

    def kill_after(self, requests: int) -> None:
        """Kill the run that has sent so many more; a time could come when all is done, or before anything is."""
        self.kill_at_asked = self.asked() + requests

    def look(self) -> None:
        """Kill, collect and restart what is to be."""
        if self.process is None:
            if time.monotonic() >= self.again_at:
                self.fire()
            return
        if self.asked() >= self.kill_at_asked:
            self.process.kill()
            self.process.wait()
        if self.process.poll() is not None:
            _, error = self.process.communicate()
            assert "Traceback" not in error, error
            self.codes.append(self.process.returncode)
            if self.process.returncode == -SIGKILL:
                self.kill_at_asked = float("inf")
            again = self.process.returncode in AGAIN
            self.process, self.again_at = None, time.monotonic() + 0.2 if again else float("inf")

    def until(self, moment: datetime) -> None:
        while datetime.now(UTC) < moment:
            self.look()
            time.sleep(0.01)

    def rest(self) -> datetime:
        """Let what runs come to its end, and say when it did."""
        while self.process is not None or self.again_at < float("inf"):
            self.look()
            time.sleep(0.01)
        return datetime.now(UTC)


def recorded(path: Path) -> tuple[Counter[str], int]:
    """Accepted answers by generation, and how many requests were about to be sent; no run sent while another did."""
    with duckdb.connect(path, read_only=True) as db:
        found = db.execute("SELECT generation, request_key FROM attempts WHERE accepted").fetchall()
        assert len(set(found)) == len(found), "nothing was paid twice within an occasion"
        ((intents,),) = db.execute("SELECT count(*) FROM requests").fetchall()
        spans = db.execute("SELECT min(sent_at), max(sent_at) FROM requests GROUP BY run_id ORDER BY 1").fetchall()
    assert all(before[1] <= after[0] for before, after in pairwise(spans)), "none ran beside another"
    return Counter(generation for generation, _ in found), intents


def unfinished(results: dict[str, str], answers: Counter[str]) -> int:
    """How many of the newest occasions were left in the middle; the others were asked whole or not at all."""
    whole = {"complete": {ROWS, MORE_ROWS}, "missed": {0}, "due": {0}, "unfinished": set(range(MORE_ROWS))}
    for name, result in results.items():
        assert answers[f"sums@{name}"] in whole[result], (name, result)
    return sum(result == "unfinished" for result in results.values())


@pytest.mark.parametrize(
    "nights",
    [
        pytest.param(2, marks=pytest.mark.slow),
        pytest.param(5, marks=pytest.mark.slow),
        pytest.param(30, marks=pytest.mark.long),
    ],
)
def test_each_occasion_is_asked_anew_exactly_once(tmp_path: Path, nights: int) -> None:
    chosen = random.Random(nights)
    slow_at = (nights // 2 + 1) * PERIOD_S
    slow = {"kind": "slow", "delay_s": 1.5, "share": 0.3, "from_s": slow_at, "until_s": slow_at + PERIOD_S}
    route = {"id": "m", "simulated": "answers", "latency_ms": {"median": 20, "sigma": 0.5}, "faults": [slow]}
    with ThreadedServer(platform_of(route)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(ROWS))
        text = job("m", limit=4).replace("passes = 1", 'passes = 2\nreuse = "occasion"')
        path = bench.write("job.toml", f'{text}[schedule]\non_calendar = "*:*:0/{PERIOD_S}"\nretries = 9\n')
        coming = following(load_job(path).timetable, datetime.now(UTC))
        timer = Timer(bench, server.platform.statistics.requests.total)
        off, moments = set[str](), list[datetime]()
        for night in range(nights):
            if night == nights - 3 or night % 3 == 1:  # on a busy machine the one before may not have ended
                timer.rest()
            moment = next(moment for moment in coming if moment > datetime.now(UTC))
            moments.append(moment)
            timer.until(moment)
            if night == nights - 3:  # the machine is off, and on again after the next occasion has come
                off.add(occasion_name(moment))
            elif night == nights - 2:
                timer.until(moment + timedelta(seconds=PERIOD_S / 4))
                timer.fire()
            else:
                timer.fire()
                if night % 3 == 1:
                    timer.kill_after(chosen.randint(1, ROWS))
            if night == 2:
                bench.write("sums.jsonl", sums(MORE_ROWS))
        ended_at = timer.rest()
        asked = server.platform.statistics.requests.total()
        bench.process("ledger", "recover")
        came = bench.json("schedule", "job.toml")
    answers, intents = recorded(tmp_path / "ledger.duckdb")
    assert -SIGKILL in timer.codes
    assert answers.total() <= asked <= intents
    results = {row["occasion"]: row["result"] for row in came["occasions"]}
    assert all(results.get(name, "missed") in ("missed", "due") for name in off)
    assert unfinished(results, answers) <= timer.codes.count(-SIGKILL), "the next came before a killed one went on"
    came_in_all = (ended_at - moments[0]) // timedelta(seconds=PERIOD_S) + 1
    assert nights // 2 < len(answers) <= came_in_all - len(off)
