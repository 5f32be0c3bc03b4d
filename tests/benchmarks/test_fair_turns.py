"""How long one person's request waits beside a colleague's batch of 160 on 16 slots, each call 1 s, in the platform's own clock."""

import asyncio
import time

import httpx
import pytest

from tests.contract.asking import ASKED, platform_of
from tests.waiting import until_on_loop
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.state import State

pytestmark = pytest.mark.benchmark
SLOTS, BATCH = 16, 160


@pytest.mark.parametrize("priority", [None, "batch"])
@pytest.mark.parametrize("policy", ["queue", "429"])
def test_one_request_beside_a_batch(policy: str, priority: str | None) -> None:
    config = platform_of(
        {"id": "m", "latency_ms": {"median": 1000}}, accounts=[{"name": "colleague"}, {"name": "person"}],
        limits={"in_flight": SLOTS}, silent={"past_limit": policy},
    )  # fmt: skip
    state = State()

    async def measure(server: ThreadedServer) -> tuple[int, float, float]:
        url, body = f"{server.base_url}/api/chat/completions", {"model": "m", "messages": ASKED}
        first = {"Authorization": f"Bearer {server.key}"} | ({} if priority is None else {"X-Priority": priority})
        second = {"Authorization": f"Bearer {state.create_key('person')}"}
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=60, limits=limits) as client:
            began = time.perf_counter()
            batch = [asyncio.create_task(client.post(url, json=body, headers=first)) for _ in range(BATCH)]
            await until_on_loop(lambda: server.platform.statistics.in_flight == SLOTS)
            asked = time.perf_counter()
            reply = await client.post(url, json=body, headers=second)
            took = time.perf_counter() - asked
            answered = sum(one.status_code == 200 for one in await asyncio.gather(*batch))
            return reply.status_code, took, answered / (time.perf_counter() - began) / SLOTS

    with ThreadedServer(config, state) as server:
        status, took, share = asyncio.run(measure(server))
    says = "says batch" if priority else "says nothing"
    print(f"\n{policy}, the batch {says}: {status} after {took:.2f} s; the batch kept {share:.2f} of the slots busy")
