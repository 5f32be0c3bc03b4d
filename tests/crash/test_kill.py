"""Kill -9 at random moments, then the same command again."""

import fcntl
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from tests.asked_rows import rows_of
from tests.conftest import COMMAND, Workbench, job, quick, sums
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.local_platform.config import load_config
from workbench.local_platform.server import ThreadedServer

SAMPLES, LIMIT = 150, 8
PLANNED = 2 * SAMPLES
SHOWN = re.compile(rb"(\d+)/%d done" % PLANNED)


def run_and_kill(bench: Workbench, after_s: float, *, once_shown: bool = False) -> int:
    """Run with a progress bar on a terminal of its own, kill, and return the last count that was shown.

    `once_shown` counts the time from the first answer that is shown: a busy machine may take long to come to it.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    with subprocess.Popen(
        [str(COMMAND), "run", "job.toml", "--no-report"],
        cwd=bench.folder,
        env=bench.environment | {"TERM": "xterm"},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        seen = b""
        deadline = time.monotonic() + (60.0 if once_shown else after_s)
        while (left := deadline - time.monotonic()) > 0 and process.poll() is None:
            if select.select([ours], [], [], left)[0]:
                seen += read(ours)
            if once_shown and any(int(count) for count in SHOWN.findall(seen)):
                once_shown, deadline = False, time.monotonic() + after_s
        process.send_signal(signal.SIGKILL)
    while more := read(ours):
        seen += more
    os.close(ours)
    counts = [int(match) for match in SHOWN.findall(seen)]
    return max(counts, default=0)


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # nobody holds the other end any more
        return b""


def accepted(ledger: Ledger) -> dict[tuple[str, str], int]:
    with reading(ledger) as reader:
        rows = rows_of(reader, "accepted_per_request")
    return {(row["request_key"], row["generation"]): row["answers"] for row in rows}


def kill_once(folder: Path, chance: random.Random) -> None:
    with ThreadedServer(quick(load_config(), chance.choice([0, 5, 20]))) as server:
        folder.mkdir()
        bench = Workbench(folder, server)
        bench.write("sums.jsonl", sums(SAMPLES))
        bench.write("job.toml", job("sim/instant", "sim/prose", limit=LIMIT))
        shown = run_and_kill(bench, chance.uniform(0.4, 3.0))
        ledger = Ledger(folder / "ledger.duckdb")
        kept = accepted(ledger) if ledger.exists else {}
        assert len(kept) >= shown, "an acknowledged answer is missing"
        result = bench.json("run", "job.toml", "--no-report")
        assert (result["planned"], result["reused"], result["failed"], result["pending"]) == (PLANNED, len(kept), 0, 0)
        found = accepted(ledger)
        assert len(found) == PLANNED
        assert set(found.values()) == {1}
        assert sum(server.platform.statistics.requests.values()) <= PLANNED + LIMIT
        assert bench.json("ledger", "check")["sound"]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_a_killed_run_loses_nothing_and_pays_for_nothing_twice(tmp_path: Path, seed: int) -> None:
    kill_once(tmp_path / "w", random.Random(seed))


@pytest.mark.long
def test_a_hundred_kills(tmp_path: Path) -> None:
    for seed in range(100, 200):
        kill_once(tmp_path / str(seed), random.Random(seed))


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends(tmp_path: Path) -> None:
    chance = random.Random(7)
    with ThreadedServer(quick(load_config(), 15)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(SAMPLES))
        bench.write("job.toml", job("sim/instant", "sim/prose", limit=LIMIT))
        kills = 6
        shown = [run_and_kill(bench, chance.uniform(0.0, 0.8), once_shown=True) for _ in range(kills)]
        assert any(shown), "nothing was acknowledged before a kill: this test shows nothing"
        result = bench.json("run", "job.toml", "--no-report")
        assert result["reused"] + result["completed"] == PLANNED
        assert set(accepted(Ledger(tmp_path / "ledger.duckdb")).values()) == {1}
        assert sum(server.platform.statistics.requests.values()) <= PLANNED + kills * LIMIT
