"""What the workbench does with a platform that offers more than its document: batch work after people, and readings by itself."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.cases import first_of
from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.contract.test_upstream import Served
from workbench.local_platform.clock import Clock
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings
from workbench.local_platform.state import State
from workbench.settings.clock import SET_BY

AT = datetime(2026, 11, 25, 12, tzinfo=UTC)
"""What the workbench and its platform are told: in the first minutes of a month any reading is a steep rate."""
SETTINGS = """
[allowance]
window = "month"
"""


class Recording:
    """A platform that keeps the headers that it is sent."""

    def __init__(self, offers: str | None) -> None:
        self.headers = {} if offers is None else {"X-Platform-Offers": offers}
        self.calls: list[str | None] = []
        self.paths: list[str] = []

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        return app

    async def answer(self, request: web.Request) -> web.Response:
        self.paths.append(request.path)
        if request.path == "/api/models":
            return web.json_response({"data": [{"id": "m"}]}, headers=self.headers)
        if request.path == "/api/chat/completions":
            self.calls.append(request.headers.get("X-Priority"))
            message = {"role": "assistant", "content": "Yes."}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            return web.json_response({"model": "m", "choices": choices, "usage": usage})
        return web.json_response({"detail": "Not Found"}, status=404)


@pytest.mark.parametrize(("offers", "sent"), first_of(("batch, usage", "batch"), (None, None), ("usage", None)))
def test_batch_work_says_so_only_where_that_is_offered_and_a_question_never(
    tmp_path: Path, offers: str | None, sent: str | None
) -> None:
    platform = Recording(offers)
    with Served(platform) as served:
        bench = Workbench(tmp_path, None)
        bench.environment |= {"WORKBENCH_BASE_URL": served.url.removesuffix("/v1"), "WORKBENCH_API_KEY": "sk-own"}
        bench.write("sums.jsonl", sums(3))
        bench.write("job.toml", job("m"))
        bench("run", "job.toml", "--no-report")
        assert platform.calls == [sent] * 3
        bench("ask", "m", "Hello?")
        assert platform.calls[3:] == [None]
    assert not any("usage" in path for path in platform.paths)


@pytest.fixture
def own(tmp_path: Path) -> Any:
    config = platform_of(
        {"id": "m"}, allowance={"units": 10_000, "reserve_for_chat": 0.5, "window_s": 86_400 * 3650}
    )  # fmt: skip
    state = State(tmp_path / "platform.sqlite", clock=Clock(begins_at=AT))
    with ThreadedServer(config, state) as server:
        bench = Workbench(tmp_path, server)
        bench.environment[SET_BY] = AT.isoformat()
        bench.write("sums.jsonl", sums(3))
        bench.write("job.toml", job("m"))
        yield bench, state


@pytest.mark.slow
def test_what_is_reserved_stops_a_run_and_no_question(own: tuple[Workbench, State]) -> None:
    bench, state = own
    state.add_draw("lab", 6_000, "chat UI")
    found = bench.json("run", "job.toml", "--no-report", code=7)
    assert (found["status"], found["outcomes"].keys()) == ("stopped", {"allowance_reserved"})
    assert found["reason"] == "what is left of the allowance is reserved for people"
    assert bench.json("ask", "m", "Hello?")["outcome"] == "ok"
    assert bench.json("allowance", "status")["points"] == [], "it is not used up"
    state.remove_draw(next(draw.id for draw in state.draws() if draw.source == "added"))
    assert bench.json("run", "job.toml", "--no-report")["completed"] == 3, "a rerun sends what was refused"


@pytest.mark.slow
def test_a_reading_is_taken_from_the_platform(own: tuple[Workbench, State]) -> None:
    bench, state = own
    bench.write("workbench.toml", SETTINGS)
    bench("run", "job.toml", "--no-report")
    state.add_draw("lab", 1_000, "chat UI")
    state.add_draw("lab", 500, "chat UI of an earlier month", state.now_s() - 86_400 * 40)
    said = bench("allowance", "reading", "--from-platform")
    assert re.search(r"others: 1\u202f000( to 1\u202f00\d)?;", said.stdout), "more, the longer the reading is ago"
    assert "note: the platform's limit of 10.0\u202fk units is for its own window, until 20" in said.stderr
    (reading,) = bench.json("allowance", "readings")
    used = state.drawn_units("lab", state.now_s() - 86_400)
    assert (reading["units_low"], reading["units_high"], reading["total_units"]) == (used, used, None)
    assert bench.json("allowance", "status")["unseen"] == pytest.approx([1_000.0, 1_000.0], rel=0.01)
    assert "`workbench allowance reading --withdraw" in said.stderr
    assert (
        "with --from-platform the platform says both"
        in bench("allowance", "reading", "--from-platform", "--of", "7", code=2).stderr
    )


def test_what_the_platform_estimates_is_a_range(own: tuple[Workbench, State]) -> None:
    bench, state = own
    bench.write("workbench.toml", SETTINGS)
    state.add_draw("lab", 100, "chat UI")
    state.open_draw("lab", "m", "m", 1.0, 900)
    bench("allowance", "reading", "--from-platform")
    (reading,) = bench.json("allowance", "readings")
    assert (reading["units_low"], reading["units_high"]) == (100, 1000), "a call in flight may use less"


@pytest.mark.slow
def test_a_platform_whose_clock_is_behind_is_read_at_this_machines_time(tmp_path: Path) -> None:
    behind = Surroundings(clock=Clock(begins_at=datetime.now(UTC) - timedelta(minutes=5)))
    with ThreadedServer(platform_of({"id": "m"}), around=behind) as server:
        bench = Workbench(tmp_path, server)
        bench.write("workbench.toml", SETTINGS)
        bench.write("sums.jsonl", sums(3))
        bench.write("job.toml", job("m"))
        bench("run", "job.toml", "--no-report")
        bench("allowance", "reading", "--from-platform")
        assert bench.json("allowance", "status")["unseen"][0] == 0, "nobody else used anything"


@pytest.mark.slow
def test_a_scheduled_run_takes_a_reading_at_its_end(own: tuple[Workbench, State]) -> None:
    bench, state = own
    bench.write("workbench.toml", SETTINGS)
    text = job("m").replace("[run]", '[schedule]\ncron = "0 2 * * *"\n[run]\nreuse = "occasion"')
    bench.write("job.toml", text)
    state.add_draw("lab", 1_000, "chat UI")
    bench("run", "job.toml", "--no-report", "--occasion", "2026-11-21T02:00")
    (reading,) = bench.json("allowance", "readings")
    assert reading["units_low"] == state.drawn_units("lab", 0)
    bench("run", "job.toml", "--no-report", "--occasion", "2026-11-22T02:00")
    assert len(bench.json("allowance", "readings")) == 2


def test_a_platform_that_says_nothing_of_usage_is_named(tmp_path: Path) -> None:
    with Served(Recording(None)) as served:
        bench = Workbench(tmp_path, None)
        bench.environment |= {"WORKBENCH_BASE_URL": served.url.removesuffix("/v1"), "WORKBENCH_API_KEY": "sk-own"}
        refused = bench("allowance", "reading", "--from-platform", code=2).stderr
        assert refused.startswith("error: --from-platform: this platform does not say what was used")
        assert "--used takes what its chat UI shows" in refused


def test_a_platform_that_offers_usage_and_does_not_give_it_is_named(tmp_path: Path) -> None:
    with Served(Recording("usage")) as served:
        bench = Workbench(tmp_path, None)
        url = served.url.removesuffix("/v1")
        bench.environment |= {"WORKBENCH_BASE_URL": url, "WORKBENCH_API_KEY": "sk-own"}
        refused = bench("allowance", "reading", "--from-platform", code=6).stderr
        assert f"{url}/api/usage answered with HTTP 404, not with a statement of usage" in refused
        bench.write("sums.jsonl", sums(1))
        text = job("m").replace("[run]", '[schedule]\ncron = "0 2 * * *"\n[run]\nreuse = "occasion"')
        bench.write("job.toml", text)
        done = bench("run", "job.toml", "--no-report", "--occasion", "2026-11-21T02:00")
        assert "note: no reading of the allowance was taken: " in done.stderr, "and the run is what it is"


def test_weighted_tokens_need_weights(tmp_path: Path) -> None:
    with ThreadedServer(platform_of({"id": "m", "weight": 3.0})) as server:
        bench = Workbench(tmp_path, server)
        refused = bench("allowance", "reading", "--from-platform", code=2).stderr
        assert "the platform counts weighted tokens ([[allowance.weights]] of workbench.toml says how)" in refused
        bench.write(
            "workbench.toml",
            '[allowance]\n[[allowance.weights]]\nmodel = "*"\nsince = 2026-01-01\nprompt = 3000\ncompletion = 3000\n',
        )
        bench("allowance", "reading", "--from-platform")


def test_tokens_are_no_other_units(tmp_path: Path) -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server:
        bench = Workbench(tmp_path, server)
        weights = (
            '[allowance]\n[[allowance.weights]]\nmodel = "*"\nsince = 2026-01-01\nprompt = {0}\ncompletion = {0}\n'
        )
        bench.write("workbench.toml", weights.format(2000))
        refused = bench("allowance", "reading", "--from-platform", code=2).stderr
        assert "the platform counts tokens, and this ledger other units" in refused
        bench.write("workbench.toml", weights.format(1000))
        bench("allowance", "reading", "--from-platform")
