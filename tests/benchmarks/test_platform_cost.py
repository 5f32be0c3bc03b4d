"""What the platform costs a request beside a bare handler of the same framework, in one run: throughput and CPU."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from tests.conftest import COMMAND
from workbench.local_platform.state import new_key

pytestmark = pytest.mark.benchmark
CALLS, IN_FLIGHT, ROUNDS = 6_000, 64, 3
Server = tuple[str, str, psutil.Process]
"""Its address, a key, and the process whose CPU is measured."""


@contextmanager
def bare() -> Iterator[Server]:
    command = [sys.executable, "-m", "tests.benchmarks.measured_server", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}", "none", psutil.Process(server.pid)
        server.terminate()


@contextmanager
def platform(folder: Path, route: str) -> Iterator[Server]:
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


@contextmanager
def litellm(folder: Path, url: str) -> Iterator[Server]:
    """LiteLLM's proxy in front of the same server; its rate stands for that of a gateway a team may choose instead."""
    config = folder / "litellm.yaml"
    parameters = f"{{model: openai/m, api_base: {url}/api, api_key: none}}"
    config.write_text(f"model_list:\n- model_name: m\n  litellm_params: {parameters}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(shutil.which("litellm")), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    key = new_key()
    environment = dict(os.environ) | {"LITELLM_MASTER_KEY": key, "SERVER_ROOT_PATH": "/api"}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        base = f"http://127.0.0.1:{port}"
        for _ in range(600):
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{base}/api/health/liveliness").is_success:
                    break
            assert server.poll() is None, "LiteLLM's proxy does not start"
            time.sleep(0.1)
        yield base, key, psutil.Process(server.pid)
        server.terminate()


def load(server: Server, calls: int, *, streamed: bool = False) -> tuple[float, float]:
    """Requests a second, and ms of the server's CPU a request."""
    url, key, process = server
    before, begin = sum(process.cpu_times()[:2]), time.perf_counter()
    arguments = [url, str(calls), str(IN_FLIGHT), key, *(["stream"] if streamed else [])]
    subprocess.run([sys.executable, "-m", "tests.benchmarks.bare_aiohttp", *arguments], check=True)
    took = time.perf_counter() - begin
    return calls / took, (sum(process.cpu_times()[:2]) - before) / calls * 1000


def test_throughput_and_cpu(tmp_path: Path) -> None:
    for name in ("simulated", "forwarding"):
        (tmp_path / name).mkdir()
    with ExitStack() as stack:
        one = stack.enter_context(bare())
        two = stack.enter_context(platform(tmp_path / "simulated", 'simulated = "answers"'))
        three = stack.enter_context(platform(tmp_path / "forwarding", f'base_url = "{one[0]}/api"'))
        cases = [
            ("bare handler", one, CALLS, False),
            ("simulated", two, CALLS, False),
            ("forwarded", three, CALLS, False),
        ]
        cases += [("bare handler, streamed", one, CALLS, True), ("simulated, streamed", two, CALLS, True)]
        cases += [("forwarded, streamed", three, CALLS, True)]
        if shutil.which("litellm"):
            four = stack.enter_context(litellm(tmp_path, one[0]))
            cases += [("LiteLLM's proxy", four, CALLS // 20, False), ("the same, streamed", four, CALLS // 20, True)]
        else:
            print("\nLiteLLM's proxy is not on the PATH (pip install 'litellm[proxy]') and not compared")
        found: dict[str, list[tuple[float, float]]] = {name: [] for name, *_ in cases}
        for _ in range(ROUNDS):
            for name, server, calls, streamed in cases:
                found[name].append(load(server, calls, streamed=streamed))
    middle = {name: sorted(rounds)[ROUNDS // 2] for name, rounds in found.items()}
    print(
        f"\n{IN_FLIGHT} clients at zero latency, {CALLS} requests (LiteLLM: {CALLS // 20}), median of {ROUNDS} rounds"
    )
    for name, (rate, cpu_ms) in middle.items():
        share = rate / middle["bare handler"][0]
        print(f"  {name:22} {rate:7.0f} a second ({share:.2f} of the bare handler), {cpu_ms:.3f} ms CPU a request")
    print(f"  streamed / not streamed, forwarded: {middle['forwarded, streamed'][0] / middle['forwarded'][0]:.2f}")
