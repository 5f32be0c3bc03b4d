"""What a team needs of a platform that it shares: fair shares of the slots, waits that are passed on, and logs that say why."""

import io
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.cases import first_of
from tests.conftest import Workbench
from tests.contract.asking import Caller, platform_of
from tests.contract.clocks import HeldClock
from tests.contract.test_upstream import Served
from tests.waiting import until
from workbench.local_platform.access import AccessLog
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings
from workbench.local_platform.state import State

SLOW = {"id": "slow", "latency_ms": {"median": 1}}
TWO = [{"name": "lab", "max_in_flight": 1}, {"name": "ben"}]


@pytest.mark.parametrize(("policy", "status"), first_of(("429", 429), ("queue", 200), ("503", 429), default=2))
def test_one_account_cannot_take_every_slot(policy: str, status: int) -> None:
    state, clock = State(), HeldClock()
    config = platform_of(SLOW, accounts=TWO, limits={"in_flight": 2}, silent={"past_limit": policy})
    around = Surroundings(clock=clock)
    with ThreadedServer(config, state, around=around) as server, ThreadPoolExecutor(3) as pool, clock:
        other, statistics = state.create_key("ben"), server.platform.statistics

        def ask(key: str) -> Any:
            with Caller(server, key) as caller:
                return caller.ask("slow")

        first = pool.submit(ask, server.key)
        until(lambda: statistics.in_flight == 1)
        second, third = pool.submit(ask, server.key), pool.submit(ask, other)
        until(lambda: statistics.requests.total() == 3 and statistics.in_flight == 2)
        clock.let_go()
        assert first.result().status_code == third.result().status_code == 200, "the other account has a slot"
        assert second.result().status_code == status
        if status == 429:
            error = second.result().json()["error"]
            assert (error["code"], error["type"]) == ("account_full", "rate_limit_error")
            assert "requests in flight of your account are limited to 1" in error["message"]


class Limited:
    """A model server that asks its callers to wait, and answers the second time."""

    def __init__(self, wait_s: str) -> None:
        self.wait_s, self.asked_at = wait_s, list[float]()

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self.complete)
        return app

    async def complete(self, request: web.Request) -> web.Response:
        self.asked_at.append(time.monotonic())
        if len(self.asked_at) == 1:
            return web.json_response({"error": "slow down"}, status=429, headers={"Retry-After": self.wait_s})
        message = {"role": "assistant", "content": "Yes."}
        return web.json_response({"choices": [{"index": 0, "finish_reason": "stop", "message": message}]})


def test_a_model_servers_retry_after_is_waited_for() -> None:
    model_server = Limited("20")
    with Served(model_server) as served:
        config = platform_of({"id": "m", "base_url": served.url}, clock_speed=50)
        with ThreadedServer(config) as server, Caller(server) as caller:
            assert caller.ask("m").status_code == 200
    first, second = model_server.asked_at
    assert 20 / 50 <= second - first


@pytest.mark.parametrize(("said", "passed_on"), [("3600", "3600"), ("2592000", "2592000"), ("61.5", "62")])
def test_a_longer_retry_after_is_passed_on_in_whole_seconds(said: str, passed_on: str) -> None:
    model_server = Limited(said)
    with Served(model_server) as served:
        config = platform_of({"id": "m", "base_url": served.url})
        with ThreadedServer(config) as server, Caller(server) as caller:
            reply = caller.ask("m")
    assert (reply.status_code, reply.headers["retry-after"]) == (429, passed_on)
    assert reply.json()["error"]["code"] == "route_rate_limited"
    assert len(model_server.asked_at) == 1


def test_the_log_says_which_route_answered_after_how_many_attempts_and_why() -> None:
    log = io.StringIO()
    config = platform_of({"id": "m", "unavailable": True, "fallback": "other"}, {"id": "other"}, limits={"retries": 1})
    with ThreadedServer(config, log=AccessLog(log)) as server, Caller(server) as caller:
        used = caller.ask("m").json()["usage"]["total_tokens"]
        caller.events("other")
        caller.ask("nothing")
    answered, streamed, refused = (json.loads(line) for line in log.getvalue().splitlines())
    shown = {name: answered[name] for name in ("model", "route", "attempts", "tokens", "fallback_because", "error")}
    assert shown == {
        "model": "m", "route": "other", "attempts": 3, "tokens": used, "fallback_because": "the model server is down",
        "error": None,
    }  # fmt: skip
    assert (streamed["streamed"], streamed["attempts"], streamed["tokens"] > 0) == (True, 1, True)
    assert (refused["status"], refused["error"], refused["attempts"]) == (404, "Model not found", 0)


def test_keys_are_listed_with_their_last_use(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    state = State(tmp_path / "platform.sqlite")
    key, _ = state.create_key("lab"), state.create_key("lab")
    began = time.time()
    with ThreadedServer(platform_of({"id": "m"}), state) as server, Caller(server, key) as caller:
        for _ in range(3):
            assert caller.models() == ["m"]
    used, unused = State(tmp_path / "platform.sqlite").keys()
    assert used.last_used_at is not None
    assert used.last_used_at >= began
    assert unused.last_used_at is None
    assert [row["last_used_at"] is None for row in bench.json("platform", "keys")] == [False, True]


def test_a_state_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "platform.sqlite"
    key = State(path).create_key("lab")
    added = State(path).add_draw("lab", 7, "chat")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("ALTER TABLE keys DROP COLUMN last_used_at")
        db.execute("ALTER TABLE keys DROP COLUMN name")
        db.execute("DROP TABLE links")
        db.execute("ALTER TABLE draws DROP COLUMN first_draw")
        (made,) = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'draws'").fetchone()
        db.execute("ALTER TABLE draws RENAME TO numbered")
        db.execute(made.replace("PRIMARY KEY AUTOINCREMENT", "PRIMARY KEY"))
        db.execute("INSERT INTO draws SELECT * FROM numbered")
        db.execute("DROP TABLE numbered")
        db.execute("CREATE INDEX draws_by_account ON draws (account, at)")
        db.execute("PRAGMA user_version = 1")
    with ThreadedServer(platform_of({"id": "m"}), State(path)) as server, Caller(server, key) as caller:
        assert caller.models() == ["m"]
        assert [row["calls"] for row in caller.http.get("/api/usage").json()["days"]] == [0]
    assert State(path).keys()[0].last_used_at is not None
    assert [(draw.id, draw.total_tokens) for draw in State(path).draws()] == [(added, 7)]
    State(path).remove_draw(added)
    assert State(path).add_draw("lab", 8, "chat") > added


def test_who_sees_what_is_listed(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench("platform", "init")
    everything = {row["id"]: row for row in bench.json("platform", "models")}
    assert everything["Tutor"]["kind"] == "preset of Llama 3.2 [local]"
    seen = [row["id"] for row in bench.json("platform", "models", "ben")]
    assert set(seen) <= set(everything)
    assert "everybody" in bench("platform", "models").stdout
    hidden = '[[routes]]\nid = "m"\nupstream = "m"\nsimulated = "echo"\nvisible_to = []\n'
    bench.write("hidden.toml", hidden)
    assert "no account" in bench("platform", "models", "--config", "hidden.toml").stdout
    assert "did you mean 'ada'?" in bench("platform", "models", "adda", code=2).stderr
