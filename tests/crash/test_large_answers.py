"""Two processes with answers of 150 KB on one machine, killed again and again."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Workbench, job
from tests.end_to_end.hostile_server import KEY, hostile

SAMPLES = 80


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    with hostile() as base_url:
        bench = Workbench(tmp_path, None)
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        bench.environment |= {
            "WORKBENCH_BASE_URL": base_url, "WORKBENCH_API_KEY": KEY, "TMPDIR": str(temporary),
        }  # fmt: skip
        yield bench


def left_over(bench: Workbench) -> list[str]:
    return sorted(path.name for path in (bench.folder / "temporary").iterdir())


@pytest.mark.parametrize("kills", [8, pytest.param(300, marks=pytest.mark.long)])
def test_kills_with_large_answers_leave_sound_ledgers_and_no_files(bench: Workbench, kills: int) -> None:
    chance = random.Random(kills)
    names, killed = ("one", "two"), 0
    for turn in range(-(-kills // (2 * len(names)))):
        for name in names:
            rows = ({"input": f"text {name} {turn} {number}"} for number in range(SAMPLES))
            bench.write(f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
            text = job("m", name=name, dataset=f"{name}.jsonl", limit=16).replace(
                "passes = 1", "passes = 1\nghost_s = 0.1"
            )
            bench.write(f"{name}.toml", text)
        for is_last in (False, False, True):
            processes = [
                bench.start("run", f"{name}.toml", "--no-report", "--json", "--ledger", f"{name}.duckdb")
                for name in names
            ]
            for process in processes:
                if not is_last:
                    time.sleep(chance.uniform(0.1, 0.6))
                    process.kill()
                    killed += 1
            for process in processes:
                out, err = process.communicate(timeout=120)
                if is_last:
                    assert process.returncode == 0, err
                    result = json.loads(out)
                    assert result["reused"] + result["completed"] == SAMPLES
                else:
                    assert process.returncode in (-9, 0), err
    assert killed >= kills
    for name in names:
        assert bench("ledger", "recover", "--ledger", f"{name}.duckdb").returncode == 0
        found = bench.json("ledger", "check", "--ledger", f"{name}.duckdb")
        assert (found["problems"], found["journals"]) == ([], 0)
    assert left_over(bench) == []
