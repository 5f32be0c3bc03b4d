"""A sick route beside a healthy one: the healthy one is as quick as alone, and the sick one costs next to nothing."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from workbench.local_platform.server import ThreadedServer
from workbench.running.breaker import IN_A_ROW, MOST_TRIALS
from workbench.running.pace import START

SAMPLES, LIMIT, SPEED = 300, 16, 60
GOOD: dict[str, Any] = {"id": "good", "simulated": "answers", "latency_ms": {"median": 60 * SPEED}}
SICK: dict[str, dict[str, Any]] = {
    "429": {"faults": [{"status": 429}]},
    "408": {"faults": [{"status": 408}]},
    "502": {"unavailable": True},
    "hangs": {"faults": [{"kind": "hang"}]},
}


def span_s(
    folder: Path, models: list[dict[str, Any]], *options: str, limit: int, samples: int = SAMPLES
) -> tuple[float, Counter[str]]:
    """How long the healthy route took from its first call to its last answer, and how often each route was asked.

    It may have `LIMIT` requests in flight, and the run `limit`.
    """
    with ThreadedServer(platform_of(*models, limits={"retries": 0}, clock_speed=SPEED)) as server:
        folder.mkdir(parents=True)
        bench = Workbench(folder, server)
        bench.write("sums.jsonl", sums(samples))
        tables = ", ".join(f'{{id = "{model["id"]}", max_in_flight = {min(LIMIT, limit)}}}' for model in models)
        bench.write("job.toml", job("MODELS", limit=limit).replace('["MODELS"]', f"[{tables}]"))
        bench("run", "job.toml", "--no-report", *options, code=None)
        asked = Counter(server.platform.statistics.requests)
    (row,) = bench.rows(
        "SELECT epoch(max(ended_at) - min(sent_at)), count(*) FROM attempts WHERE model = 'good' AND accepted"
    )
    assert row[1] == samples
    return float(row[0]), asked


def held(folder: Path) -> tuple[int, int]:
    """How many slots the sick route held at most, in all and with calls that were sent after it was paused."""
    calls = Workbench(folder, None).rows("SELECT sent_at, ended_at FROM attempts WHERE model = 'sick' ORDER BY sent_at")
    first, enough = sorted(ended_at for _, ended_at in calls)[:: IN_A_ROW - 1][:2]
    paused_at = max(enough, *(ended_at for sent_at, ended_at in calls if sent_at <= first))  # of 429, a whole burst
    return most_at_once(calls), most_at_once([call for call in calls if call[0] > paused_at])


def most_at_once(calls: list[tuple[Any, Any]]) -> int:
    """The most calls in flight together, which is when one of them was sent."""
    return max((sum(sent <= moment < ended for sent, ended in calls) for moment, _ in calls), default=0)


LIMITS = [pytest.param((), id="adaptive"), pytest.param(("--fixed",), id="fixed", marks=pytest.mark.long)]


@pytest.mark.slow
@pytest.mark.parametrize("options", LIMITS)
@pytest.mark.parametrize(
    "sick", ["429", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("hangs", "408", "502"))]
)
def test_without_slots_to_spare_a_healthy_route_loses_those_that_a_sick_one_holds(
    tmp_path: Path, sick: str, options: tuple[str, ...]
) -> None:
    models = [GOOD, {"id": "sick", **SICK[sick]}]
    for number in range(3):  # the machine has other work, too
        beside_s, _ = span_s(tmp_path / f"beside {number}", models, *options, limit=LIMIT, samples=2 * SAMPLES)
        most, once_paused = held(tmp_path / f"beside {number}")
        alone_s, _ = span_s(tmp_path / f"alone {number}", models[:1], *options, limit=LIMIT - most, samples=2 * SAMPLES)
        print(f"{sick} {options}: beside {beside_s:.2f} s, without the {most} slots it held {alone_s:.2f} s")
        assert once_paused <= 1
        if beside_s < 1.1 * alone_s:
            break
    assert beside_s < 1.1 * alone_s


@pytest.mark.long
@pytest.mark.parametrize("options", LIMITS)
@pytest.mark.parametrize("sick", SICK)
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
