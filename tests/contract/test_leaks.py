"""Nothing leaks: connections and memory stay flat over many requests whose callers leave when they like."""

import asyncio
import os
import random
import signal
from pathlib import Path

import aiohttp
import psutil
import pytest

from tests.contract.asking import ASKED, serve
from tests.contract.test_upstream import Served
from workbench.local_platform.state import State

MODELS = ("ok", "drips", "dies", "hang", "reset", "cut body", "503")


async def storm(url: str, key: str, calls: int, seed: int) -> None:
    chosen = random.Random(seed)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        todo = iter(range(calls))

        async def caller() -> None:
            for _ in todo:
                body = {"model": chosen.choice(MODELS), "messages": ASKED, "stream": chosen.random() < 0.6}
                patience = aiohttp.ClientTimeout(total=chosen.choice([0.02, 0.05, 0.1]))
                try:
                    async with session.post(f"{url}/api/chat/completions", json=body, timeout=patience) as reply:
                        await reply.read()
                except (aiohttp.ClientError, TimeoutError):
                    pass

        session.headers["Authorization"] = f"Bearer {key}"
        await asyncio.gather(*(caller() for _ in range(50)))


@pytest.mark.slow
@pytest.mark.parametrize("calls", [1_000, pytest.param(20_000, marks=pytest.mark.long)])
def test_connections_and_memory_stay_flat(tmp_path: Path, calls: int) -> None:
    with Served() as served:
        routes = "".join(
            f'[[routes]]\nid = "{name}"\nupstream = "{name}"\nbase_url = "{served.url}"\n' for name in MODELS
        )
        (tmp_path / "platform.toml").write_text(f"clock_speed = 20\nlimits = {{ retry_pause_s = 0.1 }}\n{routes}")
        key = State(tmp_path / "platform.sqlite").create_key("lab")
        server, said = serve(tmp_path)
        process = psutil.Process(server.pid)
        asyncio.run(storm(said["base_url"], key, calls // 4, 1))
        files, memory = process.num_fds(), process.memory_info().rss
        asyncio.run(storm(said["base_url"], key, calls, 2))
        os.kill(server.pid, 0)
        for _ in range(100):
            if process.num_fds() <= files + 5:
                break
            asyncio.run(asyncio.sleep(0.1))
        assert process.num_fds() <= files + 5
        grown = process.memory_info().rss - memory
        server.send_signal(signal.SIGTERM)
        _, told = server.communicate(timeout=60)
    assert server.returncode == 0
    assert "Traceback" not in told
    assert grown < 12 * 2**20, f"{grown / 2**20:.1f} MiB over {calls} requests"
    print(f"{calls} requests: {grown / 2**20:.1f} MiB")
