"""A day on which everything goes wrong ends as a calm one would have, apart from what truly failed."""

import random
import resource
import time
from functools import partial
from pathlib import Path

import duckdb
import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from workbench.local_platform.server import ThreadedServer

SKILL = {"simulated": "answers", "latency_ms": {"median": 8, "sigma": 0.8}}
ROUTES = (
    {"id": "good", **SKILL},
    {"id": "outage", **SKILL, "faults": [{"from_s": 20, "until_s": 60}]},
    {"id": "locked", **SKILL, "secret_missing": True},
    {"id": "torn", **SKILL, "faults": [{"share": 0.08, "kind": "reset"}, {"share": 0.08, "kind": "truncate"}]},
    {"id": "garbled", **SKILL, "faults": [{"share": 0.1, "kind": "html"}, {"share": 0.1, "kind": "cut"}, {"share": 0.1, "status": 429}]},
    {"id": "late", **SKILL, "limit_s": 2, "faults": [{"share": 0.02, "kind": "hang"}, {"share": 0.1, "kind": "slow", "delay_s": 1}]},
    {"id": "rescued", **SKILL, "unavailable": True, "fallback": "good"},
)  # fmt: skip


KILLED, FULL_DISK = (0, 2, 3), 1


def _limit_files(most_bytes: int) -> None:
    """No file may grow further: what a full disk is to one that writes, without a disk of its own."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))


@pytest.mark.parametrize(
    "samples", [pytest.param(30, marks=pytest.mark.slow), pytest.param(700, marks=pytest.mark.long)]
)
def test_the_end_state_is_that_of_a_calm_run(tmp_path: Path, samples: int) -> None:
    chosen = random.Random(samples)
    models = [str(route["id"]) for route in ROUTES]
    with ThreadedServer(platform_of(*ROUTES, clock_speed=20, limits={"retries": 1})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(samples))
        bench.write("job.toml", job(*models, limit=24).replace("passes = 1", "passes = 3"))
        for turn in range(40):
            full = partial(_limit_files, 800 * samples) if turn == FULL_DISK else None
            process = bench.start("run", "job.toml", "--no-report", "--json", preexec_fn=full)
            if turn in KILLED:
                time.sleep(chosen.uniform(0.8, 1.6))
                process.kill()
            out, error = process.communicate(timeout=300)
            assert "Traceback" not in error
            if turn == FULL_DISK:
                assert process.returncode == 3, out + error
                assert "too large" in out + error
            if turn > max(KILLED):
                assert process.returncode in (0, 3), out + error
                result = bench.json("runs")[0]
                if result["reused"] + result["completed"] == samples * (len(models) - 1):
                    break
        asked = server.platform.statistics.requests
        bench.process("ledger", "recover")
        with duckdb.connect(tmp_path / "ledger.duckdb", read_only=True) as db:
            calls = db.execute("SELECT request_key, model, accepted, sent FROM attempts").fetchall()
            (intents,) = db.execute("SELECT count(*) FROM requests").fetchall()[0]
    accepted = [key for key, _, stands, _ in calls if stands]
    assert len(accepted) == len(set(accepted)) == samples * (len(models) - 1), "each answered once, and none twice"
    assert {model for _, model, stands, _ in calls if not stands} >= {"locked", "torn"}
    answered = sum(sent == "answered" for *_, sent in calls)
    assert answered <= asked.total() <= intents
    assert asked["locked"] < 40 * 20, "the breaker spared it"
    assert bench.json("ledger", "check")["sound"]
