"""What the platform costs a request beside a bare handler of the same framework, in one run: throughput and CPU."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.conftest import COMMAND

pytestmark = pytest.mark.benchmark
CALLS, IN_FLIGHT, ROUNDS = 6_000, 64, 3


@contextmanager
def bare() -> Iterator[tuple[str, str, psutil.Process]]:
    command = [sys.executable, "-m", "tests.benchmarks.measured_server", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}", "none", psutil.Process(server.pid)
        server.terminate()


@contextmanager
def platform(folder: Path, route: str) -> Iterator[tuple[str, str, psutil.Process]]:
    config = folder / "platform.toml"
    config.write_text(f'[[routes]]\nid = "m"\nupstream = "m"\n{route}\n')
    key = subprocess.run(
        [COMMAND, "platform", "keys", "create", "lab"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()
    command = [str(COMMAND), "platform", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["base_url"], key, psutil.Process(server.pid)
        server.terminate()


def load(url: str, key: str, server: psutil.Process) -> tuple[float, float]:
    """Requests a second, and ms of the server's CPU a request."""
    before, begin = sum(server.cpu_times()[:2]), time.perf_counter()
    arguments = [url, str(CALLS), str(IN_FLIGHT), key]
    subprocess.run([sys.executable, "-m", "tests.benchmarks.bare_aiohttp", *arguments], check=True)
    took = time.perf_counter() - begin
    return CALLS / took, (sum(server.cpu_times()[:2]) - before) / CALLS * 1000


def test_throughput_and_cpu(tmp_path: Path) -> None:
    (tmp_path / "simulated").mkdir()
    (tmp_path / "forwarding").mkdir()
    with bare() as one, platform(tmp_path / "simulated", 'skill = "arithmetic"') as two:
        base = f'base_url = "{one[0]}/api"'
        with platform(tmp_path / "forwarding", base) as three:
            servers = {"bare handler": one, "simulated": two, "forwarding": three}
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
            for _ in range(ROUNDS):
                for name, server in servers.items():
                    found[name].append(load(*server))
    print(f"\n{CALLS} requests of {IN_FLIGHT} clients at zero latency, median of {ROUNDS} rounds")
    for name, rounds in found.items():
        rate, cpu_ms = sorted(rounds)[ROUNDS // 2]
        share = rate / sorted(found["bare handler"])[ROUNDS // 2][0]
        print(f"  {name:14} {rate:7.0f} a second ({share:.2f} of the bare handler), {cpu_ms:.3f} ms CPU a request")
