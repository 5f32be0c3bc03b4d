"""Machines of a team under kills, restarts of their server and cut connections: nothing lost, nothing twice, one limit."""

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.team import postgres
from tests.team.proxy import Proxy
from tests.team.rows import rows
from workbench.ledger.address import SCHEME
from workbench.local_platform.server import ThreadedServer

LIMIT = 8


class FailureCount(NamedTuple):
    """How much of it."""

    machines: int
    jobs: int
    samples: int
    kills: int
    restarts: int
    cuts: int


@contextmanager
def team(folder: Path) -> Iterator[tuple[str, Proxy, str]]:
    """A server of its own, behind what can be cut: the address of the ledger made there, the way to it, and the server."""
    with (
        postgres.server() as server,
        postgres.database(server) as conninfo,
        Proxy(conninfo) as proxy,
    ):
        address = SCHEME + proxy.conninfo
        Workbench(folder, None)("ledger", "create", address, "--data", str(folder / "data"))
        yield address, proxy, server


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(FailureCount(machines=2, jobs=2, samples=40, kills=0, restarts=1, cuts=2), marks=pytest.mark.long),
        pytest.param(
            FailureCount(machines=4, jobs=6, samples=200, kills=12, restarts=2, cuts=20), marks=pytest.mark.long
        ),
    ],
    ids=["short", "long"],
)
def test_machines_in_trouble_send_each_request_until_it_is_answered_once(tmp_path: Path, trouble: FailureCount) -> None:
    if os.environ.get("WORKBENCH_TEST_POSTGRES"):
        pytest.skip("a server that is not ours is not restarted")
    platform = ThreadedServer(platform_of({"id": "m", "latency_ms": {"median": 60, "sigma": 0.5}}))
    with team(tmp_path) as (url, proxy, ledger_server), platform as server:
        benches = [placed(tmp_path, url, server, number, trouble) for number in range(trouble.jobs)]
        left = run_in_trouble(benches, trouble, {"restart": lambda: postgres.restart(ledger_server), "cut": proxy.cut})
        assert not left, "all of it happened while runs went on"
        assert server.platform.statistics.most_in_flight <= LIMIT
        for bench in benches:
            bench.process("ledger", "recover")
        check_rows(url, trouble.jobs * trouble.samples)
        for bench in benches:
            done = bench.json("run", "job.toml", "--no-report")
            assert (done["reused"], done["completed"]) == (trouble.samples, 0)
            assert bench.json("ledger", "check")["sound"]


def placed(folder: Path, url: str, server: ThreadedServer, number: int, trouble: FailureCount) -> Workbench:
    """A job in a folder of its own, on one of the machines."""
    machine = folder / f"machine{number % trouble.machines}"
    bench = Workbench(machine / f"work{number}", server)
    bench.environment["XDG_STATE_HOME"] = str(machine / "state")
    bench.folder.mkdir(parents=True)
    bench.write("workbench.toml", f'[ledger]\nurl = """{url}"""\n')
    bench.write("sums.jsonl", sums(trouble.samples).replace("What is", f"For {number}, what is"))
    bench.write("job.toml", job("m", name=f"j{number}", limit=LIMIT))
    return bench


def run_in_trouble(benches: list[Workbench], trouble: FailureCount, means: dict[str, Callable[[], None]]) -> list[str]:
    """Run every job until it is done, again whenever it ends without that; returns the trouble that did not happen."""
    chosen = random.Random(trouble.jobs)
    left = ["kill"] * trouble.kills + ["restart"] * trouble.restarts + ["cut"] * trouble.cuts
    chosen.shuffle(left)
    running = {number: begun(bench) for number, bench in enumerate(benches)}
    next_at = time.monotonic() + 1.0
    while running:
        for number in [number for number, process in running.items() if process.poll() is not None]:
            out, errors = running[number].communicate()
            assert "Traceback" not in errors, errors
            code = running.pop(number).returncode
            assert code in (0, -9, 3, 5, 6), f"{code}\n{out}\n{errors}"
            if code:  # as a timer would, once more
                running[number] = begun(benches[number])
        if running and left and time.monotonic() > next_at:
            next_at = time.monotonic() + chosen.uniform(0.2, 2.0)
            happens = left.pop()
            means.get(happens, running[chosen.choice(list(running))].kill)()
        time.sleep(0.02)
    return left


def check_rows(url: str, planned: int) -> None:
    """Every planned request has one accepted answer, and no row is there twice."""
    accepted = "SELECT count(*), count(DISTINCT request_key) FROM ledger.attempts WHERE accepted"
    assert rows(url, accepted) == [(planned, planned)]
    for table, identity in (
        ("attempts", "run_id, call_no"),
        ("requests", "run_id, call_no"),
        ("samples", "sample_key"),
    ):
        query = f"SELECT count(*), count(DISTINCT ({identity})) FROM ledger.{table}"  # noqa: S608 - names from above
        ((count, distinct),) = rows(url, query)
        assert count == distinct, table


def begun(bench: Workbench) -> subprocess.Popen[str]:
    return bench.start("run", "job.toml", "--no-report", "--no-progress")
