"""What caps let through, by the count of the model server that answered; over random jobs, caps and failures."""

import json
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import web

from tests.conftest import Workbench, job
from tests.contract.asking import platform_of
from tests.contract.test_upstream import Served
from workbench.local_platform.server import ThreadedServer

KINDS = ("requests", "tokens", "units")
TRIES = {"no": 0, "yes": 1, "maybe": 3}
"""How often a request may have been tried that reported nothing, as the gateway repeats it."""
WEIGHTS = '[[allowance.weights]]\nmodel = "*"\nsince = 2026-01-01\nprompt = 1.0\ncompletion = 10.0\n'


class Used(NamedTuple):
    """Of one request."""

    tokens: int = 0
    units: float = 0.0

    @classmethod
    def of(cls, prompt: int, completion: int) -> "Used":
        return cls(prompt + completion, (prompt + 10 * completion) / 1_000)

    def plus(self, other: "Used") -> "Used":
        return Used(self.tokens + other.tokens, self.units + other.units)


class CountingModels:
    """A model server that fails, keeps silent about its usage and ignores caps as its luck has it, and counts.

    Args:
        seed: Of its luck.
        passing: Whether a request may fail after it used tokens, and be answered when it is tried again: the gateway does
            that unseen, and no answer reports what was used before it.
    """

    def __init__(self, seed: int, *, passing: bool) -> None:
        luck = random.Random(seed)
        self._seed, self._passing = seed, passing
        self._failing, self._silent, self._ignoring = (luck.choice((0.0, 0.1, 0.3)) for _ in range(3))
        self._tries: Counter[tuple[str, str]] = Counter()
        self.used: dict[str, Used] = {}
        """By prompt: whatever was tried for it, on every route."""
        self.unseen: dict[str, Used] = {}
        """By prompt that was answered: what failed before that."""

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self.complete)
        return app

    async def complete(self, request: web.Request) -> web.Response:
        body = await request.json()
        prompt = body["messages"][-1]["content"]
        self._tries[body["model"], prompt] += 1
        luck = random.Random(f"{self._seed} {body['model']} {prompt} {self._tries[body['model'], prompt]}")
        status = self._status(body["model"], prompt, luck)
        completion = round(body["max_tokens"] * luck.uniform(0.1, 3 if luck.random() < self._ignoring else 1))
        tokens = luck.randint(1, len(prompt)), completion
        before = self.used.get(prompt, Used())
        if status in (200, 500):  # a refusal and an outage use nothing
            self.used[prompt] = before.plus(Used.of(*tokens))
        if status != 200:
            return web.json_response({"error": {"message": "not now"}}, status=status)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "The answer is 1."}}
        reply: dict[str, Any] = {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"]}
        usage = dict(zip(("prompt_tokens", "completion_tokens", "total_tokens"), (*tokens, sum(tokens)), strict=True))
        if luck.random() < self._silent:
            return web.json_response(reply | {"choices": [choice]})
        self.unseen[prompt] = before
        return web.json_response(reply | {"choices": [choice], "usage": usage})

    def _status(self, model: str, prompt: str, luck: random.Random) -> int:
        """Of one try; what fails after it used tokens fails on every route, unless that passes."""
        if self._passing:
            return luck.choice((400, 500, 503)) if luck.random() < self._failing else 200
        lasting, here = random.Random(f"{self._seed} {prompt}"), random.Random(f"{self._seed} {model} {prompt}")
        if lasting.random() < self._failing:
            return lasting.choice((400, 500))
        return 503 if here.random() < self._failing else 200


class History(NamedTuple):
    """Some runs under one cap, and what the ledger knows of them."""

    bench: Workbench
    kind: str
    most: float

    def write(self, luck: random.Random, names: list[str], *, alone: bool) -> None:
        """The settings, and the jobs; the cap is the budget of a run that is alone."""
        most = round(self.most) if self.kind != "units" else round(self.most, 3)
        name = "total_tokens" if self.kind == "tokens" else self.kind
        self.bench.write("workbench.toml", WEIGHTS + ("" if alone else f'[[caps]]\nper = "week"\n{name} = {most}\n'))
        for number, called in enumerate(names):
            rows = [
                {"id": f"s{n}", "input": f"{called} {n}: {'what is ' * luck.randint(1, 20)}", "target": n}
                for n in range(luck.randint(8, 40))
            ]
            self.bench.write(f"{called}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
            text = job("ab"[number % 2], name=called, dataset=f"{called}.jsonl", limit=luck.randint(1, 12))
            cap = luck.randint(5, 200)
            text = text.replace("max_tokens = 64", f"max_tokens = {cap}")
            self.bench.write(f"{called}.toml", text + (f"\n[budget]\n{name} = {most}\n" if alone else ""))

    def bounds(self) -> dict[str, Used]:
        """The most that each request may use whose route keeps to its cap, by prompt."""
        found = {}
        for (body,) in self.bench.rows("SELECT body FROM request_bodies"):
            fields = json.loads(body)
            found[fields["messages"][-1]["content"]] = Used.of(len(body.encode()), fields["max_tokens"])
        return found

    def counted(self) -> float:
        """What the runs know to have been used at least: as reported, else up to the bound of each try."""
        bounds, total = self.bounds(), 0.0
        rows = self.bench.rows(
            "SELECT b.body, a.drew, a.prompt_tokens, a.completion_tokens FROM attempts AS a "
            "JOIN requests AS r USING (run_id, call_no) JOIN request_bodies AS b USING (body_key)"
        )
        for body, drew, prompt, completion in rows:
            bound = bounds[json.loads(body)["messages"][-1]["content"]]
            known = Used.of(prompt, completion) if prompt is not None else None
            of = Used(bound.tokens * TRIES[drew], bound.units * TRIES[drew]) if known is None else known
            total += 1 if self.kind == "requests" else getattr(of, self.kind)
        return total


def one_after_the_other(history: History, names: list[str]) -> None:
    """Run the jobs; each says at its end by how much the cap was exceeded, if it was."""
    for name in names:
        end = history.bench.json("run", f"{name}.toml", "--no-report", code=None)
        assert end["status"] in ("complete", "incomplete", "stopped"), end
        if history.counted() > history.most * (1 + 1e-6):
            assert "was exceeded by" in (end["reason"] or ""), "every overrun is reported"


def at_once(history: History, names: list[str], server: ThreadedServer, *, kill_after: int) -> None:
    """Run all jobs but the last together, and it afterwards; the first is killed after so many requests, if it lives as long."""
    *together, last = names
    runs = [history.bench.start("run", f"{name}.toml", "--json", "--no-report") for name in together]
    while kill_after and runs[0].poll() is None:
        if server.platform.statistics.requests.total() >= kill_after:
            runs[0].send_signal(signal.SIGKILL)
            runs[0].wait()
            history.bench("slots", "release")  # what was killed keeps its slots until the platform is surely done
            break
        time.sleep(0.001)
    for run in runs:
        run.communicate(timeout=120)  # on a team what a killed one reserved is waited for until its claim ends
    one_after_the_other(history, [last])  # takes what a killed one left into the ledger


def seeds(many: range, few: int) -> list[Any]:
    return [*many[:few], *(pytest.param(seed, marks=pytest.mark.long) for seed in many[few:])]


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(range(500), 4))
def test_the_server_counts_no_more_than_the_cap_and_what_it_used_beyond_the_bounds(seed: int, tmp_path: Path) -> None:
    most, used, beyond, _ = counted_by_the_server(seed, tmp_path, passing=False)
    assert used <= most + beyond + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(range(500, 600), 1))
def test_what_the_gateway_retries_unseen_comes_on_top(seed: int, tmp_path: Path) -> None:
    most, used, beyond, unseen = counted_by_the_server(seed, tmp_path, passing=True)
    assert used <= most + beyond + unseen + 1e-6


def counted_by_the_server(seed: int, folder: Path, *, passing: bool) -> tuple[float, float, float, float]:
    """A random history: the cap, what was used, how much of it beyond the bounds of requests, and unseen retries."""
    luck, models = random.Random(seed), CountingModels(seed, passing=passing)
    kind = luck.choice(KINDS)
    most = {"requests": 30, "tokens": 8_000, "units": 30.0}[kind] * luck.uniform(0.2, 2)
    most = round(most) if kind != "units" else round(most, 3)
    names = [f"job{number}" for number in range(luck.randint(1, 4))]
    with Served(models) as served:
        routes = [{"id": name, "upstream": f"lab/{name}", "base_url": served.url} for name in "ab"]
        routes[0]["fallback"] = "b"
        with ThreadedServer(platform_of(*routes)) as server:
            history = History(Workbench(folder, server), kind, most)
            history.write(luck, names, alone=len(names) == 1)
            if len(names) > 1 and luck.random() < 0.2:
                at_once(history, names, server, kill_after=luck.choice((0, 5)))
            else:
                one_after_the_other(history, names)
            sent = server.platform.statistics.requests.total()
    if kind == "requests":
        return most, sent, 0.0, 0.0
    bounds = history.bounds()
    used = {prompt: getattr(found, kind) for prompt, found in models.used.items()}
    unseen = {prompt: getattr(found, kind) for prompt, found in models.unseen.items()}
    beyond = sum(
        max(0.0, found - unseen.get(prompt, 0.0) - getattr(bounds[prompt], kind)) for prompt, found in used.items()
    )
    return most, sum(used.values()), beyond, sum(unseen.values())
