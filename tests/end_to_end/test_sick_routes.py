"""A sick route beside a healthy one: the healthy one is as quick as alone, and the sick one costs next to nothing."""

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from workbench.local_platform.server import ThreadedServer
from workbench.run.breaker import IN_A_ROW, MOST_TRIALS
from workbench.run.pace import START

SAMPLES, LIMIT, SPEED = 300, 16, 60
GOOD: dict[str, Any] = {"id": "good", "skill": "arithmetic", "latency_ms": {"median": 60 * SPEED}}
SICK: dict[str, dict[str, Any]] = {
    "429": {"faults": [{"status": 429}]},
    "408": {"faults": [{"status": 408}]},
    "502": {"unavailable": True},
    "hangs": {"faults": [{"kind": "hang"}]},
}


def span_s(folder: Path, models: list[dict[str, Any]], *options: str, limit: int) -> tuple[float, Counter[str]]:
    """How long the healthy route took from its first call to its last answer, and how often each route was asked."""
    with ThreadedServer(platform_of(*models, limits={"retries": 0}, clock_speed=SPEED)) as server:
        folder.mkdir(parents=True)
        bench = Workbench(folder, server)
        bench.write("sums.jsonl", sums(SAMPLES))
        tables = ", ".join(f'{{id = "{model["id"]}", max_in_flight = {min(LIMIT, limit)}}}' for model in models)
        bench.write("job.toml", job("MODELS", limit=limit).replace('["MODELS"]', f"[{tables}]"))
        bench("run", "job.toml", "--no-report", *options, code=None)
        asked = Counter(server.platform.statistics.requests)
    with duckdb.connect(folder / "ledger.duckdb", read_only=True) as db:
        (row,) = db.execute(
            "SELECT epoch(max(ended_at) - min(sent_at)), count(*) FROM attempts WHERE model = 'good' AND accepted"
        ).fetchall()
    assert row[1] == SAMPLES
    return float(row[0]), asked


@pytest.mark.parametrize("options", [(), ("--fixed",)], ids=["adaptive", "fixed"])
@pytest.mark.parametrize(
    "sick", ["429", "hangs", *(pytest.param(name, marks=pytest.mark.long) for name in ("408", "502"))]
)
def test_a_healthy_route_is_as_quick_beside_a_sick_one(tmp_path: Path, sick: str, options: tuple[str, ...]) -> None:
    models = [GOOD, {"id": "sick", **SICK[sick]}]
    for number in range(3):  # the machine has other work, too
        alone_s, _ = span_s(tmp_path / f"alone {number}", models[:1], *options, limit=LIMIT)
        beside_s, asked = span_s(tmp_path / f"beside {number}", models, *options, limit=2 * LIMIT)
        print(f"{sick} {options}: alone {alone_s:.2f} s, beside {beside_s:.2f} s, sick asked {asked['sick']} times")
        if beside_s < 1.1 * alone_s:
            break
    assert beside_s < 1.1 * alone_s
    assert asked["sick"] <= (LIMIT + IN_A_ROW if options else IN_A_ROW + START) + MOST_TRIALS
