"""A disk that fills up while a run goes on: a clear message, nothing acknowledged lost, and it goes on when there is room."""

import json
import random
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import COMMAND, Workbench, job, quick, sums
from workbench.local_platform.config import load_config
from workbench.local_platform.server import ThreadedServer

ROWS = 400
LONG = "".join(  # texts that do not compress to nothing
    json.dumps({"id": str(n), "input": f"{n} {random.Random(n).randbytes(10_000).hex()}", "target": n}) + "\n"
    for n in range(ROWS)
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=9m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not possible here; the limit on file sizes is tested instead")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk(tmp_path: Path, small_disk: Path) -> None:
    with ThreadedServer(quick(load_config(), 5)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("long.jsonl", LONG)
        bench.write("job.toml", job("sim/prose", dataset="long.jsonl"))
        ledger = str(small_disk / "l.duckdb")
        filler = small_disk / "filler"
        filler.write_bytes(b"x" * 3_000_000)
        done = bench.process("run", "job.toml", "--ledger", ledger, "--no-report", "--json", code=3)
        assert "full" in done.stderr or "No space" in done.stderr
        result = json.loads(done.stdout)
        sent = sum(server.platform.statistics.requests.values())
        assert 0 < result["completed"] < ROWS
        assert result["completed"] == sent, "an answer that arrived is not on record"
        filler.unlink()
        subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
        again = bench.json("run", "job.toml", "--ledger", ledger, "--no-report")
        assert again["reused"] == result["completed"]
        assert again["reused"] + again["completed"] == ROWS
        assert sum(server.platform.statistics.requests.values()) == ROWS
        assert bench.json("ledger", "check", "--ledger", ledger)["sound"]


def test_a_disk_that_is_full_from_the_start(tmp_path: Path, small_disk: Path) -> None:
    with ThreadedServer(quick(load_config())) as server:
        bench = Workbench(tmp_path, server)
        bench.write("long.jsonl", LONG)
        bench.write("job.toml", job("sim/prose", dataset="long.jsonl"))
        (small_disk / "filler").write_bytes(b"x" * 8_900_000)
        done = bench.process("run", "job.toml", "--ledger", str(small_disk / "l.duckdb"), "--no-report", code=3)
        assert "free disk space and rerun" in done.stderr
        assert not server.platform.statistics.requests


def test_a_limit_on_file_sizes(tmp_path: Path) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))

    with ThreadedServer(quick(load_config(), 5)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("long.jsonl", LONG[: len(LONG) // 4].rsplit("\n", 1)[0] + "\n")
        bench.write("job.toml", job("sim/prose", dataset="long.jsonl"))
        rows = 99
        done = subprocess.run(
            [str(COMMAND), "run", "job.toml", "--no-report", "--json"],
            cwd=tmp_path, env=bench.environment, capture_output=True, text=True, preexec_fn=limited, check=False,
        )  # fmt: skip
        assert done.returncode == 3, done.stderr
        assert "Traceback" not in done.stderr
        sent = sum(server.platform.statistics.requests.values())
        again = bench.json("run", "job.toml", "--no-report")
        assert again["planned"] in (rows, rows + 1)
        assert again["reused"] == sent, "an answer that arrived is not on record"
        assert sum(server.platform.statistics.requests.values()) == again["planned"]


@pytest.mark.slow
def test_compacting_on_a_full_disk_changes_nothing(tmp_path: Path, small_disk: Path) -> None:
    with ThreadedServer(quick(load_config(), 5)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(50))
        bench.write("job.toml", job())
        ledger = str(small_disk / "l.duckdb")
        bench.process("run", "job.toml", "--ledger", ledger, "--no-report")
        filler = small_disk / "filler"
        filler.write_bytes(bytes(shutil.disk_usage(small_disk).free))
        done = bench.process("ledger", "compact", "--ledger", ledger, code=3)
        assert "l.duckdb.undo cannot be written: No space left on device" in done.stderr
        assert sorted(path.name for path in small_disk.iterdir() if path.is_file()) == [
            "filler",
            "l.duckdb",
            "l.duckdb.lock",
        ]
        filler.unlink()
        assert bench.json("ledger", "check", "--ledger", ledger)["attempts"] == 50
        bench.process("ledger", "compact", "--ledger", ledger)
        assert bench.json("ledger", "check", "--ledger", ledger)["attempts"] == 50
