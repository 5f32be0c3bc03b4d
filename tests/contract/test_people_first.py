"""What this platform offers beyond its document: turns by account, batch work after people, and one's own usage."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.cases import first_of
from tests.contract.asking import ASKED, Caller, platform_of
from tests.contract.clocks import HeldClock
from tests.waiting import until, until_on_loop
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings
from workbench.local_platform.state import State

SLOTS, BATCH = 4, 32
SLOW = {"id": "slow", "latency_ms": {"median": 1}}
ACCOUNTS = [{"name": "colleague"}, {"name": "person"}]


def attempts(server: ThreadedServer) -> list[int]:
    return [route["attempts"] for route in server.platform.statistics.as_object()["routes"].values()]


@pytest.mark.parametrize("priority", first_of(None, "batch"), ids=["says nothing", "says batch"])
@pytest.mark.parametrize(
    "streamed", [pytest.param(False, id="whole", marks=pytest.mark.slow), pytest.param(True, id="streamed")]
)
@pytest.mark.parametrize("policy", ["queue", "429"])
def test_one_request_beside_a_colleague_s_batch_is_next(priority: str | None, streamed: bool, policy: str) -> None:
    state, clock = State(), HeldClock()
    config = platform_of(
        SLOW, {"id": "quick"}, accounts=ACCOUNTS, limits={"in_flight": SLOTS}, silent={"past_limit": policy}
    )
    with (
        ThreadedServer(config, state, around=Surroundings(clock=clock)) as server,
        Caller(server) as caller,
        ThreadPoolExecutor(BATCH + 1) as pool,
        clock,
    ):
        other, statistics = state.create_key("person"), server.platform.statistics
        begun = BATCH if policy == "queue" else SLOTS
        if priority is not None:
            caller.http.headers["X-Priority"] = priority

        def batch(_: int) -> int:
            return caller.ask("slow", stream=streamed).status_code

        sent = [pool.submit(batch, n) for n in range(begun)]
        until(lambda: statistics.requests.total() == begun and statistics.in_flight == SLOTS)
        with Caller(server, other) as person:
            asked = pool.submit(person.ask, "quick")
            until(lambda: server.platform.waiting().get("person"))
            clock.let_go(1)
            assert asked.result().status_code == 200, "the first slot that is free is the person's"
        clock.let_go()
        assert {one.result() for one in sent} == {200}
        assert statistics.most_in_flight == SLOTS


def test_a_caller_that_leaves_frees_its_turn() -> None:
    config = platform_of(
        {"id": "slow", "latency_ms": {"median": 60_000}}, {"id": "quick"}, accounts=ACCOUNTS, limits={"in_flight": 1},
        silent={"past_limit": "queue"},
    )  # fmt: skip

    async def leave(server: ThreadedServer) -> None:
        headers, url = {"Authorization": f"Bearer {server.key}"}, f"{server.base_url}/api/chat/completions"

        def asking(client: httpx.AsyncClient, model: str) -> asyncio.Task[httpx.Response]:
            return asyncio.create_task(client.post(url, json={"model": model, "messages": ASKED}))

        async with httpx.AsyncClient(headers=headers, timeout=60) as client:
            first = asking(client, "slow")
            await until_on_loop(lambda: server.platform.statistics.in_flight == 1)
            second = asking(client, "slow")
            await until_on_loop(lambda: server.platform.waiting() == {"colleague": 1})
            third = asking(client, "quick")
            await until_on_loop(lambda: server.platform.waiting() == {"colleague": 2})
            second.cancel()
            await until_on_loop(lambda: server.platform.waiting() == {"colleague": 1})
            first.cancel()
            assert (await third).status_code == 200

    with ThreadedServer(config) as server:
        asyncio.run(leave(server))


def test_the_list_names_what_is_offered_and_other_values_are_no_priority() -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server, Caller(server) as caller:
        assert caller.http.get("/api/models").headers["x-platform-offers"] == "batch, usage"
        for value in ("high", "", "BATCH", "0", "batch, batch"):
            caller.http.headers["X-Priority"] = value
            assert caller.ask("m").status_code == 200


def test_the_reserve_is_for_people() -> None:
    config = platform_of({"id": "m"}, allowance={"units": 1000, "reserve_for_chat": 0.2})
    state = State()
    with ThreadedServer(config, state) as server, Caller(server) as caller:
        state.add_draw("lab", 850, "chat")
        assert caller.ask("m", max_tokens=1).status_code == 200
        caller.http.headers["X-Priority"] = "batch"
        refused = caller.ask("m")
        assert refused.status_code == 429
        assert refused.headers["x-should-retry"] == "false"
        error = refused.json()["error"]
        assert (error["code"], error["type"]) == ("reserved_for_people", "insufficient_quota")
        assert error["message"] == "Reserved for people: batch work may not use the rest of the allowance."
        state.add_draw("lab", 200, "chat")
        assert "used up" in caller.ask("m").json()["error"]["message"]


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a file"])
def test_an_account_sees_its_own_usage_and_no_other_s(tmp_path: Path, kept: bool) -> None:
    state = State(tmp_path / "platform.sqlite" if kept else None)
    config = platform_of(
        {"id": "m", "weight": 2.0}, {"id": "mute", "reports_usage": False}, accounts=ACCOUNTS,
        allowance={"units": 10_000, "window_s": 86_400, "reserve_for_chat": 0.1},
    )  # fmt: skip
    state.add_draw("person", 77, "chat")
    own = state.create_key("colleague", "laptop")
    state.create_key("person", "secret name")
    with ThreadedServer(config, state) as server, Caller(server, own) as caller:
        used = sum(caller.ask("m").json()["usage"]["total_tokens"] for _ in range(3))
        assert caller.ask("mute").status_code == 200
        state.add_draw("colleague", 11, "chat")
        found = caller.http.get("/api/usage").json()
    assert found["account"] == "colleague"
    assert found["simulated"] is True
    rows = {row["model"]: row for row in found["days"]}
    assert rows.keys() == {"m", "mute", None}
    assert (rows["m"]["calls"], rows["m"]["total_tokens"], rows["m"]["units"]) == (3, used, 2.0 * used)
    assert (rows["mute"]["calls_without_usage"], rows["mute"]["total_tokens"]) == (1, None)
    assert (rows[None]["calls"], rows[None]["total_tokens"], rows[None]["units"]) == (0, 11, 11.0)
    assert found["estimated_units_since"] == rows["mute"]["units"] == rows["mute"]["estimated_units"] > 0
    assert found["unit"] == "weighted tokens"
    window = found["window"]
    assert found["units_since"] == window["used_units"] == 2.0 * used + 11 + found["estimated_units_since"]
    assert window["left_units"] == 10_000 - window["used_units"]
    assert found["reserved_for_people_units"] == 1000
    assert found["since"] == window["starts_at"]
    assert datetime.fromisoformat(window["starts_at"]) <= datetime.now(UTC) <= datetime.fromisoformat(window["ends_at"])
    assert [(key["name"], key["last_used_at"] is None) for key in found["keys"]] == [("laptop", False)]
    assert (found["in_flight"], found["waiting"]) == (0, 0)
    assert "person" not in str(found).replace("people", "")


def test_usage_is_counted_from_any_moment_on() -> None:
    state = State()
    now = state.now_s()
    state.add_draw("lab", 5, "chat", now - 86_400 * 400)
    state.add_draw("lab", 7, "chat", now - 86_400 * 40)
    with ThreadedServer(platform_of({"id": "m"}), state) as server, Caller(server) as caller:

        def since(text: str) -> Any:
            return caller.http.get("/api/usage", params={"since": text})

        early, late = datetime.fromtimestamp(now - 86_400 * 500, UTC), datetime.fromtimestamp(now - 86_400 * 41, UTC)
        found = since(early.isoformat()).json()
        assert (found["units_since"], len(found["days"]), found["window"]["used_units"]) == (12, 2, 0)
        assert since(late.isoformat()).json()["units_since"] == 7
        assert caller.http.get(f"/api/usage?since={late.isoformat()}").json()["units_since"] == 7, "an unescaped plus"
        for wrong in ("yesterday", "2026-11-01", "2026-11-01T00:00:00", "", "9999-12-31T23:59:59-14:00"):
            refused = since(wrong)
            assert refused.status_code == 400, wrong
            assert "such as 2026-11-01T00:00:00Z" in refused.json()["detail"]


def test_without_a_limit_what_is_left_is_not_known() -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server, Caller(server) as caller:
        found = caller.http.get("/api/v1/usage").json()
        assert (found["allowance_units"], found["window"]["left_units"], found["units_since"]) == (None, None, 0.0)
        assert found["unit"] == "tokens"
        caller.http.headers["Authorization"] = "Bearer sk-wrong"
        assert caller.http.get("/api/usage").status_code == 401


@pytest.mark.parametrize("name", ["Llama 3.2 [local]", "org/model v2", "m?x=1", "Über/ä#1"])
def test_one_model_is_shown_by_its_id(name: str) -> None:
    config = platform_of({"id": name}, {"id": "hidden", "visible_to": []})
    with ThreadedServer(config) as server, Caller(server) as caller:
        listed = caller.http.get("/api/models").json()["data"]
        assert caller.http.get(f"/api/models/{quote(name, safe='')}").json() == listed[0]
        assert caller.http.get(f"/api/v1/models/{quote(name)}").json() == listed[0]
        for other in ("hidden", "nothing", "a/b"):
            refused = caller.http.get(f"/api/models/{other}")
            assert (refused.status_code, refused.json()["error"]["code"]) == (404, "model_not_found")
