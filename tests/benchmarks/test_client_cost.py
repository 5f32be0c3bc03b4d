"""The client's own cost beside a bare aiohttp loop, in one run on one server; prints figures, asserts only counts.

python -m pytest -m benchmark -s tests/benchmarks
"""

import fcntl
import heapq
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TypeVar

import httpx
import msgspec
import psutil
import pytest
from playwright.sync_api import sync_playwright

from tests.benchmarks.measured_server import latencies_s
from tests.browser.conftest import installed_chromium
from tests.conftest import Workbench, job, sums

pytestmark = pytest.mark.benchmark
T = TypeVar("T")
IN_FLIGHT = 48
ROUNDS = 5


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


Send = Callable[[str, int, Path], Measured]


@contextmanager
def server(median_ms: float, sigma: float = 0.0, *, apart: bool = False) -> Iterator[str]:
    """Serve from one core; `apart` keeps that from the clients, as if it were another machine."""
    command = [sys.executable, "-m", "tests.benchmarks.measured_server", str(median_ms), str(sigma)]
    root = Path(__file__).parents[2]
    cores = sorted(os.sched_getaffinity(0))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            if len(cores) > 1:
                os.sched_setaffinity(process.pid, cores[-1:])
                os.sched_setaffinity(0, cores[:-1] if apart else cores)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            os.sched_setaffinity(0, cores)


MEASURED = """
import json, resource, subprocess, sys, time
began_at = time.time()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu_s = used.ru_utime + used.ru_stime
print(json.dumps([began_at, time.time() - began_at, cpu_s, used.ru_maxrss / 1024]))
sys.exit(code)
"""


def measured(command: list[str], url: str, cwd: Path, environment: dict[str, str]) -> Measured:
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or what is installed as source is compiled on every start
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    began_at, wall_s, cpu_s, peak_mib = json.loads(done.stdout)
    told = httpx.get(f"{url}/statistics").json()
    return Measured(
        wall_s, cpu_s, peak_mib, told["span_s"], told["busy_s"], told["requests"], told["first_at"] - began_at
    )


def script(name: str) -> Send:
    def send(url: str, calls: int, folder: Path) -> Measured:
        command = [sys.executable, str(Path(__file__).with_name(name)), url, str(calls), str(IN_FLIGHT)]
        return measured(command, url, folder, dict(Workbench(folder, None).environment))

    return send


def workbench(url: str, calls: int, folder: Path) -> Measured:
    """As the peers do: answers are recorded, and none is scored."""
    return sent_by_workbench(url, calls, folder, job("m", limit=IN_FLIGHT).split("[[scorers]]")[0])


def scoring_workbench(url: str, calls: int, folder: Path) -> Measured:
    return sent_by_workbench(url, calls, folder, job("m", limit=IN_FLIGHT))


def sent_by_workbench(url: str, calls: int, folder: Path, job_toml: str, settings: str = "") -> Measured:
    """A run in a folder of its own."""
    folder = folder / f"{calls}-{time.monotonic_ns()}"
    folder.mkdir(parents=True)
    bench = Workbench(folder, None)
    bench.environment |= {"WORKBENCH_BASE_URL": url, "WORKBENCH_API_KEY": "sk-benchmark"}
    bench.write("sums.jsonl", sums(calls))
    bench.write("job.toml", job_toml)
    bench.write("workbench.toml", settings)
    command = [str(Path(sys.executable).with_name("workbench")), "run", "job.toml", "--no-report", "--fixed"]
    return measured(command, url, folder, bench.environment)


bare = script("bare_aiohttp.py")


def contenders() -> dict[str, Send]:
    """Who is compared; a peer that is not installed is named and left out."""
    found = {
        "bare aiohttp": bare,
        "openai SDK loop": script("openai_loop.py"),
        "workbench run": workbench,
        "workbench run, with every answer scored": scoring_workbench,
    }
    if importlib.util.find_spec("flexllm"):
        return found | {"flexllm": script("flexllm_loop.py")}
    print("\nflexllm is not installed (pip install flexllm) and not compared")
    return found


def marginal_ms(many: Measured, few: Measured) -> float:
    return 1000 * (many.cpu_s - few.cpu_s) / (many.requests - few.requests)


def in_turn(measure: Callable[[Send], T]) -> dict[str, list[T]]:
    """What is measured of every contender, by rounds in which each has its turn: the machine's speed changes by the minute."""
    compared = contenders()
    found: dict[str, list[T]] = {name: [] for name in compared}
    for _ in range(ROUNDS):
        for name, send in compared.items():
            found[name].append(measure(send))
    return found


def beside_bare(found: dict[str, list[float]]) -> dict[str, float]:
    """The median over the rounds of how many times the bare loop's figure of the same round each one has."""
    bare_rounds = found["bare aiohttp"]
    return {
        name: median(own / its for own, its in zip(rounds, bare_rounds, strict=True)) for name, rounds in found.items()
    }


def test_cpu_per_recorded_call(tmp_path: Path) -> None:
    print(f"\n6,000 calls of 0.5 ms, {IN_FLIGHT} in flight, medians of {ROUNDS}:")
    with server(0.5) as url:
        found = in_turn(lambda send: (send(url, 6000, tmp_path), send(url, 500, tmp_path)))
    assert {many.requests for rounds in found.values() for many, _ in rounds} == {6000}
    costs_ms = {name: [marginal_ms(*pair) for pair in rounds] for name, rounds in found.items()}
    times_bare = beside_bare(costs_ms)
    for name, rounds in found.items():
        wall_s, peak_mib = (median(getattr(many, field) for many, _ in rounds) for field in ("wall_s", "peak_mib"))
        print(f"  {name}: marginal CPU a call {median(costs_ms[name]):.3f} ms, {times_bare[name]:.2f} x bare, "
              f"wall {wall_s:.2f} s, peak {peak_mib:.0f} MiB")  # fmt: skip


def test_slots_busy_at_50_ms(tmp_path: Path) -> None:
    calls = 2000
    ideal = -(-calls // IN_FLIGHT) * 0.05
    print(f"\n{calls:,} calls of 50 ms, {IN_FLIGHT} in flight, medians of {ROUNDS}:")
    with server(50, apart=True) as url:
        found = in_turn(lambda send: send(url, calls, tmp_path))
    assert {one.requests for rounds in found.values() for one in rounds} == {calls}
    times_bare = beside_bare({name: [ideal / one.wall_s for one in rounds] for name, rounds in found.items()})
    for name, rounds in found.items():
        span_s, wall_s, first_s, cpu_s, peak_mib, busy_s = (
            median(getattr(one, field) for one in rounds)
            for field in ("span_s", "wall_s", "first_s", "cpu_s", "peak_mib", "busy_s")
        )
        print(f"  {name}: ideal/span {ideal / span_s:.3f}, ideal/wall {ideal / wall_s:.3f}, {times_bare[name]:.3f} of bare, "
              f"first request after {first_s:.2f} s, wall {wall_s:.2f} s, CPU {1000 * cpu_s / calls:.2f} ms a call, "
              f"peak {peak_mib:.0f} MiB, {calls:,} requests seen, each {1000 * busy_s / calls:.1f} ms at the server")  # fmt: skip


def test_slots_busy_where_times_differ(tmp_path: Path) -> None:
    calls = 1000
    times = list(islice(latencies_s(0.2, 0.8), calls))
    free = [0.0] * IN_FLIGHT
    for took in times:  # each goes to the slot that is free first, in the order of sending
        heapq.heapreplace(free, free[0] + took)
    print(f"\n{calls:,} calls of 200 ms (lognormal, sigma 0.8), {IN_FLIGHT} in flight: ideal span {max(free):.3f} s")
    with server(200, 0.8, apart=True) as url:
        for name, send in contenders().items():
            spans = [send(url, calls, tmp_path).span_s for _ in range(ROUNDS)]
            print(f"  {name}: span {median(spans):.3f} s, {median(spans) / max(free) - 1:+.1%}")


def memory_over(url: str, calls: int, folder: Path) -> list[tuple[int, float, bool]]:
    """What a run takes while it goes on: (calls answered, MiB, whether an ingest goes on), every 20 ms.

    An ingest is recognised by its exclusive lock.
    """
    bench = Workbench(folder, None)
    bench.environment |= {"WORKBENCH_BASE_URL": url, "WORKBENCH_API_KEY": "sk-benchmark"}
    bench.write("sums.jsonl", sums(calls))
    bench.write("job.toml", job("m", limit=IN_FLIGHT))
    lock = folder / "ledger.duckdb.lock"
    lock.touch()
    found = []
    with bench.start("run", "job.toml", "--no-report") as process, lock.open() as file, httpx.Client() as client:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            try:
                answered = client.get(f"{url}/count").json()
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                found.append((answered, watched.memory_info().rss / 2**20, False))
                fcntl.flock(file, fcntl.LOCK_UN)
            except BlockingIOError:
                found.append((answered, watched.memory_info().rss / 2**20, True))
            except psutil.NoSuchProcess:
                break
            time.sleep(0.02)
        process.communicate()
    assert process.returncode == 0
    assert httpx.get(f"{url}/statistics").json()["requests"] == calls
    return found


def test_a_long_run(tmp_path: Path) -> None:
    calls, first = 200_000, 10_000
    folder = tmp_path
    with server(0) as url:
        found = memory_over(url, calls, folder)
    sending = [(answered, mib) for answered, mib, ingests in found if not ingests and 0 < answered < calls]
    before = max(mib for answered, mib in sending if answered <= first)
    after = max(mib for answered, mib in sending if answered > first)
    print(f"\n{calls:,} calls: {before:.0f} MiB up to the {first:,}th, {after:.0f} MiB after it; "
          f"with ingests {max(mib for _, mib, _ in found):.0f} MiB, "
          f"while scores are made {max(mib for answered, mib, ingests in found if answered == calls and not ingests):.0f} MiB")  # fmt: skip
    bench = Workbench(folder, None)
    began = time.perf_counter()
    page = Path(bench.process("report", timeout=600).stdout.split()[-1])
    rendered_s = time.perf_counter() - began
    assert bench.json("runs")[0]["completed"] == calls
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_chromium(), args=["--no-sandbox"])
        began = time.perf_counter()
        browser.new_page().goto(page.as_uri())
        print(
            f"its page: rendered in {rendered_s:.1f} s, {page.stat().st_size / 1e6:.1f} MB, opens in {time.perf_counter() - began:.2f} s"
        )
        browser.close()
