"""How long a run of long-tailed answers takes, longest first and in file order, beside a bare loop: `-m benchmark -s`."""

import asyncio
import json
import math
import random
import time
from pathlib import Path

import aiohttp
import duckdb
import pytest

from tests.conftest import Workbench
from tests.contract.asking import platform_of
from workbench.local_platform.server import ThreadedServer

pytestmark = pytest.mark.benchmark
SAMPLES, SLOTS = 334, 48
MEDIANS_MS = {"quick": 100, "middling": 200, "slow": 400}
JOB = """
name = "{order}"
models = {models}
[dataset]
path = "sums.jsonl"
[request]
max_tokens = 64
[run]
max_in_flight = {slots}
order = "{order}"
"""


@pytest.mark.parametrize("sigma", [1.0, 1.5])
def test_a_run_takes_hardly_longer_than_it_must(tmp_path: Path, sigma: float) -> None:
    """1,002 lognormal answers of three routes on 48 slots, after a night whose times correlate .8 in their logarithms."""
    routes = [
        {"id": name, "simulated": "answers", "latency_ms": {"median": median, "sigma": sigma}}
        for name, median in MEDIANS_MS.items()
    ]
    with ThreadedServer(platform_of(*routes)) as server:
        bench = Workbench(tmp_path, server)
        rows = [{"id": f"s{n}", "input": f"What is {n} + {n % 7}?"} for n in range(SAMPLES)]
        bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        for order in ("file", "auto"):
            text = JOB.format(order=order, models=json.dumps(list(MEDIANS_MS)), slots=SLOTS)
            bench.write(f"{order}.toml", text)
        bodies = bench.json("plan", "file.toml", "--show", str(SAMPLES * len(MEDIANS_MS)))["requests"]
        bare_s = asyncio.run(bare_loop(server, bodies))
        in_file_order = bench.json("run", "file.toml", "--fixed", "--no-report")
        bound_s = remembered(tmp_path / "ledger.duckdb", sigma)
        assert bench.json("plan", "auto.toml", "--fresh")["order"] == "longest first"
        longest_first = bench.json("run", "auto.toml", "--fixed", "--no-report", "--fresh")
    spans = {
        "bare loop": bare_s,
        "file order": in_file_order["duration_s"],
        "longest first": longest_first["duration_s"],
    }
    told = ", ".join(f"{name} {span_s:.1f} s ({span_s / bound_s:.2f} x)" for name, span_s in spans.items())
    print(f"\nsigma {sigma}: bound {bound_s:.1f} s; {told}")
    assert spans["longest first"] <= 1.06 * bound_s + 0.5  # the half second: starting, and writing the last line


async def bare_loop(server: ThreadedServer, bodies: list[dict[str, object]]) -> float:
    """How long a loop of as many workers takes with the same bodies, in s."""
    waiting, began = iter(bodies), time.perf_counter()
    headers = {"Authorization": f"Bearer {server.key}"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=SLOTS), headers=headers) as session:

        async def worker() -> None:
            for body in waiting:
                async with session.post(f"{server.base_url}/api/chat/completions", json=body) as response:
                    await response.json()

        await asyncio.gather(*(worker() for _ in range(SLOTS)))
    return time.perf_counter() - began


def remembered(ledger: Path, sigma: float) -> float:
    """Let the ledger remember times that correlate .8 with the true ones; returns the least that a run can take, in s."""
    luck = random.Random(7)
    with duckdb.connect(ledger) as db:
        took = db.execute("SELECT call_no, model, latency_ms FROM attempts").fetchall()
        for call_no, model, latency_ms in took:
            normal = math.log(latency_ms / MEDIANS_MS[model]) / sigma
            other = MEDIANS_MS[model] * math.exp(sigma * (0.8 * normal + 0.6 * luck.gauss(0, 1)))
            db.execute("UPDATE attempts SET latency_ms = ? WHERE call_no = ?", [other, call_no])
    times = [latency_ms / 1000 for _, _, latency_ms in took]
    assert len(times) == SAMPLES * len(MEDIANS_MS)
    return float(max(math.fsum(times) / SLOTS, *times))
