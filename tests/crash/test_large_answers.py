"""Two processes with answers of 150 KB on one machine, killed again and again as they change files."""

import json
import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Workbench, job
from tests.crash.file_events import FileEvents
from tests.end_to_end.hostile_server import KEY, hostile

SAMPLES = 80
MOST_CHANGES = 420  # what two undisturbed runs make


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
    """What lies in the temporary folder, but for the four bytes with which Python's `tempfile` tries whether it can write."""
    found = (bench.folder / "temporary").iterdir()
    return sorted(path.name for path in found if path.is_dir() or path.read_bytes() not in (b"", b"blat"))


@pytest.mark.parametrize("kills", [pytest.param(4, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.long)])
def test_kills_with_large_answers_leave_sound_ledgers_and_no_files(bench: Workbench, kills: int) -> None:
    chance, names, killed, turn = random.Random(kills), ("one", "two"), 0, 0
    while killed < kills:
        turn += 1
        for name in names:
            write_job(bench, name, turn)
        for _ in range(2):
            killed += kill_both(bench, names, chance.randrange(1, MOST_CHANGES))
        processes = [run(bench, name) for name in names]
        for process in processes:
            out, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
            result = json.loads(out)
            assert result["reused"] + result["completed"] == SAMPLES
    for name in names:
        assert bench.process("ledger", "recover", "--ledger", f"{name}.duckdb").returncode == 0
        found = bench.json("ledger", "check", "--ledger", f"{name}.duckdb")
        assert (found["problems"], found["journals"]) == ([], 0)
    assert left_over(bench) == []


def write_job(bench: Workbench, name: str, turn: int) -> None:
    rows = ({"input": f"text {name} {turn} {number}", "target": 4} for number in range(SAMPLES))
    bench.write(f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    text = job("m", name=name, dataset=f"{name}.jsonl", limit=16)
    bench.write(f"{name}.toml", text.replace("passes = 1", "passes = 1\nghost_s = 0.1"))


def run(bench: Workbench, name: str) -> subprocess.Popen[str]:
    return bench.start("run", f"{name}.toml", "--no-report", "--json", "--ledger", f"{name}.duckdb")


def kill_both(bench: Workbench, names: tuple[str, ...], changes: int) -> int:
    """Kill two runs at a change that one of them makes to a file, and return how many were still alive."""
    with FileEvents(bench.folder) as files:
        processes = [run(bench, name) for name in names]
        files.wait(changes, timeout_s=10)
        for process in processes:
            process.kill()
        codes = []
        for process in processes:
            _, err = process.communicate(timeout=120)
            assert process.returncode in (-signal.SIGKILL, 0), err
            codes.append(process.returncode)
    return codes.count(-signal.SIGKILL)
