"""The client's own cost beside a bare aiohttp loop, in one run on one server; prints figures, asserts only counts.

python -m pytest -m benchmark -s tests/benchmarks
"""

import fcntl
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import httpx
import msgspec
import psutil
import pytest

from tests.conftest import Workbench, job, sums

pytestmark = pytest.mark.benchmark
IN_FLIGHT = 48


class Measured(msgspec.Struct):
    """One command's cost."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    span_s: float
    busy_s: float
    requests: int
    first_s: float
    """From the command's start to its first request."""


@contextmanager
def server(latency_ms: float) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.benchmarks.measured_server", str(latency_ms)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def measured(command: list[str], url: str, cwd: Path, environment: dict[str, str]) -> Measured:
    began_at = time.time()
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    script = (
        "import resource, subprocess, sys\n"
        "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = httpx.get(f"{url}/statistics").json()
    return Measured(
        time.perf_counter() - began, cpu_s, int(done.stdout) / 1024, told["span_s"], told["busy_s"], told["requests"],
        told["first_at"] - began_at,
    )  # fmt: skip


def script(name: str, url: str, calls: int, folder: Path) -> Measured:
    command = [sys.executable, str(Path(__file__).with_name(name)), url, str(calls), str(IN_FLIGHT)]
    return measured(command, url, folder, dict(Workbench(folder, None).environment))


def bare(url: str, calls: int, folder: Path) -> Measured:
    return script("bare_aiohttp.py", url, calls, folder)


def sdk(url: str, calls: int, folder: Path) -> Measured:
    return script("openai_loop.py", url, calls, folder)


def workbench(url: str, calls: int, folder: Path) -> Measured:
    folder = folder / f"{calls}-{time.monotonic_ns()}"
    folder.mkdir(parents=True)
    bench = Workbench(folder, None)
    bench.environment |= {"WORKBENCH_BASE_URL": url, "WORKBENCH_API_KEY": "sk-benchmark"}
    bench.write("sums.jsonl", sums(calls))
    bench.write("job.toml", job("m", limit=IN_FLIGHT))
    command = [str(Path(sys.executable).with_name("workbench")), "run", "job.toml", "--no-report", "--fixed"]
    return measured(command, url, folder, bench.environment)


def marginal_ms(many: Measured, few: Measured) -> float:
    return 1000 * (many.cpu_s - few.cpu_s) / (many.requests - few.requests)


def test_cpu_per_recorded_call(tmp_path: Path) -> None:
    with server(0.5) as url:
        rows = {
            name: marginal_ms(send(url, 6500, tmp_path), send(url, 500, tmp_path))
            for name, send in (("bare aiohttp", bare), ("openai SDK loop", sdk), ("workbench run", workbench))
        }
    ratio = rows["workbench run"] / rows["bare aiohttp"]
    print(
        f"\nmarginal CPU a call, 6,000 calls of 0.5 ms, {IN_FLIGHT} in flight: {', '.join(f'{n} {v:.3f} ms' for n, v in rows.items())}; ratio {ratio:.2f}"
    )


def test_slots_busy_at_50_ms(tmp_path: Path) -> None:
    calls = 2000
    ideal = -(-calls // IN_FLIGHT) * 0.05
    print()
    with server(50) as url:
        for name, send in (("bare aiohttp", bare), ("openai SDK loop", sdk), ("workbench run", workbench)):
            found = send(url, calls, tmp_path)
            assert found.requests == calls
            busy = found.busy_s / (IN_FLIGHT * found.span_s)
            print(f"{name}: ideal/span {ideal / found.span_s:.3f}, server at work on {busy:.1%} of the slots, "
                  f"ideal/wall {ideal / found.wall_s:.3f}, first request after {found.first_s:.2f} s, peak {found.peak_mib:.0f} MiB")  # fmt: skip
    (ledger,) = tmp_path.rglob("*.duckdb")
    with duckdb.connect(str(ledger), read_only=True) as db:
        (busy_s, span_s) = db.execute(
            "SELECT sum(latency_ms) / 1000, epoch(max(ended_at) - min(sent_at)) FROM attempts"
        ).fetchall()[0]
    print(
        f"workbench run: slots busy {busy_s / (IN_FLIGHT * span_s):.1%} of the time from first request to last answer"
    )


def peaks_mib(url: str, calls: int, folder: Path) -> tuple[float, float]:
    """The run's peak memory while no ingest goes on, and in all; an ingest is recognised by its exclusive lock."""
    bench = Workbench(folder, None)
    bench.environment |= {"WORKBENCH_BASE_URL": url, "WORKBENCH_API_KEY": "sk-benchmark"}
    bench.write("sums.jsonl", sums(calls))
    bench.write("job.toml", job("m", limit=IN_FLIGHT))
    lock = folder / "ledger.duckdb.lock"
    lock.touch()
    apart = in_all = 0.0
    with bench.start("run", "job.toml", "--no-report") as process, lock.open() as file:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                apart = max(apart, watched.memory_info().rss / 2**20)
                fcntl.flock(file, fcntl.LOCK_UN)
            except BlockingIOError:
                in_all = max(in_all, watched.memory_info().rss / 2**20)
            except psutil.NoSuchProcess:
                break
            time.sleep(0.01)
        process.communicate()
    assert process.returncode == 0
    assert httpx.get(f"{url}/statistics").json()["requests"] == calls
    return apart, max(apart, in_all)


def test_memory_does_not_grow_with_the_samples(tmp_path: Path) -> None:
    print()
    with server(0) as url:
        for calls in (1_000, 100_000):
            folder = tmp_path / str(calls)
            folder.mkdir()
            apart, in_all = peaks_mib(url, calls, folder)
            print(f"{calls:,} samples: peak {apart:.0f} MiB apart from ingests, {in_all:.0f} MiB with them")
