"""Draws: what is settled equals what the routes reported, to the token; the rest stays open, with its estimate."""

import asyncio
import contextlib
import io
import json
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest

from tests.conftest import COMMAND
from tests.contract.asking import ASKED, Caller, platform_of, serve
from tests.contract.clocks import HeldClock
from tests.waiting import until, until_on_loop
from workbench.local_platform.access import AccessLog
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings
from workbench.local_platform.state import Draw, State, StateError

MIX = platform_of(
    {"id": "good", "latency_ms": {"median": 5, "sigma": 1.0}, "token_ms": 1},
    {"id": "mixed", "faults": [{"share": 0.3, "status": 502, "lasting": False}, {"share": 0.2}, {"share": 0.2, "kind": "cut"}]},
    {"id": "mute", "reports_usage": False},
    {"id": "rescued", "unavailable": True, "fallback": "good"},
    {"id": "late", "latency_ms": {"median": 40_000}, "limit_s": 30},
    {"id": "lost", "faults": [{"share": 0.5, "kind": "reset"}]},
    limits={"in_flight": 200},  # whoever left and asks again may be here before it is seen to have left
    clock_speed=500,
)  # fmt: skip


async def storm(url: str, key: str, calls: int) -> Counter[str]:
    """60 callers with every kind of request; a third of them leaves early. What they saw, by kind."""
    chosen, seen = random.Random(7), Counter[str]()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        todo = iter(range(calls))

        async def caller() -> None:
            for number in todo:
                body = {
                    "model": chosen.choice([route.id for route in MIX.routes]),
                    "messages": [{"role": "user", "content": f"Say {number}"}],
                    "stream": chosen.random() < 0.5,
                    "max_tokens": chosen.randrange(1, 60),
                }
                patience = aiohttp.ClientTimeout(total=chosen.choice([0.01, 0.03, 20, 20, 20, 20]))
                headers = {"Authorization": f"Bearer {key}"}
                try:
                    async with session.post(
                        f"{url}/api/chat/completions", json=body, headers=headers, timeout=patience
                    ) as reply:
                        await reply.read()
                        seen[f"status {reply.status}"] += 1
                except TimeoutError:
                    seen["left"] += 1
                except aiohttp.ClientError:
                    seen["cut"] += 1  # by a fault of a route

        await asyncio.gather(*(caller() for _ in range(60)))
        return seen


@pytest.mark.parametrize("calls", [800, pytest.param(20_000, marks=pytest.mark.long)])
def test_settled_draws_equal_what_was_reported_and_open_ones_say_why(tmp_path: Path, calls: int) -> None:
    state, log = State(tmp_path / "platform.sqlite"), io.StringIO()
    with ThreadedServer(MIX, state, AccessLog(log)) as server:
        seen = asyncio.run(storm(server.base_url, server.key, calls))
        until(lambda: not server.platform.statistics.in_flight)
        statistics = server.platform.statistics.as_object()
        counted = server.platform.accounts.drawn_units("lab")
    reopened = State(tmp_path / "platform.sqlite")
    draws = reopened.draws()
    settled = [draw for draw in draws if draw.settled]
    assert statistics["in_flight"] == 0
    for route in ("good", "mixed", "lost"):
        reported = statistics["routes"][route]["tokens"]
        assert sum(draw.total_tokens or 0 for draw in settled if draw.route == route) == reported > 0
    assert not any(draw.settled for draw in draws if draw.route in ("mute", "rescued"))
    assert all((draw.estimated_tokens or 0) > 0 for draw in draws)
    assert len([draw for draw in draws if not draw.settled]) > 50
    assert len(draws) < sum(route["attempts"] for route in statistics["routes"].values()), "refusals drew nothing"
    assert counted == reopened.drawn_units("lab", 0), "what the running platform counted is what it wrote down"
    assert seen.total() == calls
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert len(lines) == statistics["requests"] <= calls, "every request that came in is in the log, with how it ended"
    answered = Counter(f"status {line['status']}" for line in lines)
    assert set(answered) == {"status 200", "status 499", "status 500", "status 502", "status 504"}
    assert all(answered[status] >= times for status, times in seen.items() if status.startswith("status"))
    reasons = Counter(draw.note for draw in draws if not draw.settled)
    assert set(reasons) == {
        "its usage was not reported", "no answer within the time limit", "the model server broke off", "the model server broke off in its stream",
        "given up before its end: the caller left, its time was over, or the platform was stopped",
    }  # fmt: skip
    assert not any(draw.note for draw in draws if draw.settled)


CONFIG = """
[[routes]]
id = "quick"
upstream = "quick"
simulated = "prose"
[[routes]]
id = "slow"
upstream = "slow"
simulated = "prose"
latency_ms = { median = 60000 }
"""


@pytest.mark.slow
def test_a_killed_platform_leaves_open_draws_and_its_keys_live_on(tmp_path: Path) -> None:
    (tmp_path / "platform.toml").write_text(CONFIG)
    key = subprocess.run(
        [COMMAND, "platform", "keys", "create", "lab"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.strip()
    server, said = serve(tmp_path)
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=said["base_url"], headers=headers) as http:
        used = http.post("/api/chat/completions", json={"model": "quick", "messages": ASKED}).json()["usage"]
        with pytest.raises(httpx.ReadTimeout):
            http.post("/api/chat/completions", json={"model": "slow", "messages": ASKED, "max_tokens": 40}, timeout=0.3)
        with pytest.raises(httpx.ReadTimeout):
            http.post("/api/chat/completions", json={"model": "slow", "messages": ASKED}, timeout=0.3)
        body = {"model": "slow", "messages": ASKED, "max_tokens": 41}
        asyncio.run(_ask_and_kill(said["base_url"], key, body, server, lambda: len(_draws(tmp_path)) == 4))
    state = State(tmp_path / "platform.sqlite")
    draws = state.draws()
    assert [draw.settled for draw in draws] == [False, False, False, True]
    assert draws[-1].total_tokens == used["total_tokens"]
    assert draws[0].estimated_tokens is not None
    assert draws[0].estimated_tokens > 41
    server, said = serve(tmp_path)
    with httpx.Client(base_url=said["base_url"], headers=headers) as http:
        assert http.get("/api/models").status_code == 200
        assert http.get("/health").json() == {"status": "ok"}
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=60)
    assert server.returncode == 0
    assert len(State(tmp_path / "platform.sqlite").draws()) == 4


def _draws(folder: Path) -> list[Draw]:
    return State(folder / "platform.sqlite").draws()


async def _ask_and_kill(
    url: str, key: str, body: dict[str, Any], server: subprocess.Popen[str], drawn: Callable[[], bool]
) -> None:
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:
        asking = asyncio.create_task(session.post(f"{url}/api/chat/completions", json=body))
        await until_on_loop(drawn)
        server.kill()
        server.communicate()
        with pytest.raises(aiohttp.ClientError):
            await asking


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("route", ["simulated", "echo", "forwarded"])
def test_a_body_nested_too_deeply_is_refused_before_anything_is_drawn(route: str, streamed: bool) -> None:
    """Above some 970 levels it decodes but cannot be encoded again; above 1,000 it does not decode."""
    nobody = {"id": "forwarded", "base_url": "http://127.0.0.1:9/v1"}
    config = platform_of({"id": "simulated"}, {"id": "echo", "simulated": "echo"}, nobody, allowance={"units": 1e6})
    with ThreadedServer(config) as server, Caller(server) as caller:
        for levels in (300, 900, *range(950, 1001, 5), 5000):
            body = {"model": route, "stream": streamed, "messages": [{"role": "user", "content": "1 + 1"}]}
            raw = json.dumps(body)[:-1] + ', "x": ' + "[" * levels + "]" * levels + "}"
            reply = caller.http.post("/api/chat/completions", content=raw, headers={"Content-Type": "application/json"})
            assert reply.status_code == 422, levels
            assert reply.json()["detail"][0]["type"] == "json_invalid"
        assert server.platform.state.draws() == []


@pytest.mark.parametrize(
    ("text", "half"),
    [
        (r"\ud800", r"\ud800"),
        (r"\udc00", r"\udc00"),
        (r"\\\ud83d\ude00\uD83Dx", r"\uD83D"),
        (r"\ud83d\ude00\\ud800", None),
    ],
)
def test_half_of_a_surrogate_pair_is_named(text: str, half: str | None) -> None:
    body = '{"model": "m", "messages": [{"role": "user", "content": "' + text + '"}]}'
    with ThreadedServer(platform_of({"id": "m"})) as server, Caller(server) as caller:
        reply = caller.http.post(
            "/api/chat/completions", content=body.encode(), headers={"Content-Type": "application/json"}
        )
    if half is None:
        assert reply.status_code == 200
        return
    assert reply.status_code == 422
    at = body.rindex(half)
    assert reply.json()["detail"][0]["msg"] == f"JSON decode error: {half} at byte {at} is half of a surrogate pair"


def test_many_short_lists_are_not_deep() -> None:
    with ThreadedServer(platform_of({"id": "m", "simulated": "echo"})) as server, Caller(server) as caller:
        assert caller.ask("m", x=[[]] * 1000).status_code == 200
        assert caller.ask("m", x=json.loads("[" * 255 + "]" * 255)).status_code == 200


def test_an_allowance_outlives_a_restart(tmp_path: Path) -> None:
    config = platform_of({"id": "m"}, allowance={"units": 50})
    for expected in ([200, 200, 200, 429], [429]):
        with ThreadedServer(config, State(tmp_path / "s.sqlite")) as server, Caller(server) as caller:
            assert [caller.ask("m", max_tokens=8).status_code for _ in expected] == expected


def test_weights_count() -> None:
    config = platform_of({"id": "dear", "weight": 10.0}, {"id": "free", "weight": 0.0}, allowance={"units": 100})
    with ThreadedServer(config) as server, Caller(server) as caller:
        assert [caller.ask("free").status_code for _ in range(5)] == [200] * 5
        assert [caller.ask("dear").status_code for _ in range(2)] == [200, 429]


@pytest.mark.slow
def test_a_window_that_ends_gives_the_allowance_back() -> None:
    config = platform_of({"id": "m"}, allowance={"units": 1, "window_s": 2})
    with ThreadedServer(config) as server, Caller(server) as caller:
        until(lambda: time.time() % 2 < 0.5)
        assert [caller.ask("m").status_code for _ in range(2)] == [200, 429]
        until(lambda: caller.ask("m").status_code == 200, timeout_s=3)


@pytest.mark.slow
def test_a_state_that_another_process_holds_keeps_nobody_waiting_and_loses_nothing(tmp_path: Path) -> None:
    state = State(tmp_path / "platform.sqlite", busy_s=0.0)
    config, clock = platform_of({"id": "m", "latency_ms": {"median": 1}}), HeldClock()
    around = Surroundings(clock=clock)
    with (
        ThreadedServer(config, state, around=around) as server,
        Caller(server) as caller,
        ThreadPoolExecutor(10) as threads,
        clock,
    ):
        asked = [threads.submit(caller.ask, "m") for _ in range(10)]
        until(lambda: server.platform.statistics.in_flight >= 10)
        with contextlib.closing(sqlite3.connect(tmp_path / "platform.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            clock.let_go()
            assert [one.result().status_code for one in asked] == [200] * 10
            for _ in range(20):
                assert httpx.get(f"{server.base_url}/health").status_code == 200
            other.execute("ROLLBACK")
        assert caller.ask("m").status_code == 200
    assert [draw.settled for draw in State(tmp_path / "platform.sqlite").draws()] == [True] * 11


class Refusing(State):
    """A disk that refuses one commit, or new keys."""

    refuses_commit = refuses_key = False

    def commit(self) -> None:
        if self.refuses_commit:
            type(self).refuses_commit = False
            raise StateError("disk full")
        super().commit()

    def create_key(self, account: str, name: str = "") -> str:
        if self.refuses_key:
            raise StateError("disk full")
        return super().create_key(account, name)


def test_what_a_commit_that_failed_held_is_written_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, beside = Refusing(tmp_path / "platform.sqlite", busy_s=0.0), tmp_path / "platform.sqlite"
    config, clock = platform_of({"id": "m", "latency_ms": {"median": 1}}), HeldClock()
    around = Surroundings(clock=clock)
    with (
        ThreadedServer(config, state, around=around) as server,
        Caller(server) as caller,
        ThreadPoolExecutor(1) as threads,
        clock,
    ):
        asked = threads.submit(caller.ask, "m")
        until(lambda: State(beside).draws())
        monkeypatch.setattr(Refusing, "refuses_commit", True)
        clock.let_go()
        assert asked.result().status_code == 200
        until(lambda: State(beside).draws()[0].settled)


def test_a_key_that_cannot_be_replaced_lives_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = Refusing(tmp_path / "platform.sqlite")
    state.create_key("lab")
    monkeypatch.setattr(Refusing, "refuses_key", True)
    with pytest.raises(StateError, match="disk full"):
        state.regenerate_key(state.keys()[0].id)
    assert len(state.living_keys()) == 1


def test_the_number_of_a_draw_that_is_gone_is_not_given_again(tmp_path: Path) -> None:
    state = State(tmp_path / "platform.sqlite")
    first = state.add_draw("lab", 7, "chat")
    state.remove_draw(first)
    assert state.add_draw("ben", 77, "chat") > first


def test_without_room_for_a_draw_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server, Caller(server) as caller:
        server.platform.state._db.execute("PRAGMA max_page_count = 1")
        found = {caller.ask("m", "x" * 5000 + str(number)).status_code for number in range(200)}
        assert 503 in found
        assert found <= {200, 503}
        server.platform.state._db.execute("PRAGMA max_page_count = 100000")
        assert caller.ask("m").status_code == 200


@pytest.mark.parametrize("replaced", [False, True])
def test_a_state_that_is_deleted_while_it_serves_accepts_nothing_more(tmp_path: Path, replaced: bool) -> None:
    path, log = tmp_path / "platform.sqlite", io.StringIO()
    with ThreadedServer(platform_of({"id": "m"}), State(path), AccessLog(log)) as server, Caller(server) as caller:
        assert caller.ask("m").status_code == 200
        for file in tmp_path.glob("platform.sqlite*"):
            file.unlink()
        if replaced:
            State(path).close()
        refused = [caller.ask("m"), caller.http.get("/api/usage")]
        assert caller.http.get("/api/models").status_code == 200
    assert [reply.status_code for reply in refused] == [503, 503]
    assert refused[0].json()["detail"] == "The platform cannot record usage, so it accepts no requests."
    first, *failed, _ = [json.loads(line)["error"] for line in log.getvalue().splitlines()]
    text = (
        "is another file than when the platform began: restart it"
        if replaced
        else "is gone (No such file or directory)"
    )
    assert first is None
    assert all(str(path) in error and text in error for error in failed), failed
    with ThreadedServer(platform_of({"id": "m"}), State(path)) as server, Caller(server) as caller:
        assert caller.ask("m").status_code == 200


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be looked at" * 50, b""])
def test_a_state_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.sqlite"
    path.write_bytes(content)
    if content:
        with pytest.raises(StateError, match="cannot be used"):
            State(path)
    else:
        State(path).close()
    newer = State(tmp_path / "new.sqlite")
    newer._db.execute("PRAGMA user_version = 9")
    newer.close()
    with pytest.raises(StateError, match="newer workbench"):
        State(tmp_path / "new.sqlite")
