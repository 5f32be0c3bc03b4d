"""The limit holds for all of this machine: over processes, over kills, and for calls that nobody waits for any more."""

import asyncio
import json
import random
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from aiohttp import web

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.waiting import interrupt_twice, until
from workbench.errors import InputError
from workbench.local_platform.server import ThreadedServer
from workbench.running.slot_files import slots_of_endpoint
from workbench.running.slots import Slots

ANSWER = msgspec.json.encode(
    {
        "id": "c", "object": "chat.completion", "created": 1, "model": "sim/instant",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "4"}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
)  # fmt: skip


PROXY_PAGES = ((502, "<html>Bad Gateway"), (504, "<html>Gateway Time-out"), (524, "error code: 524"))


class Stubborn:
    """A platform that works on to the end, whoever left, and counts what it is at work on."""

    def __init__(self, latency_s: float) -> None:
        self.latency_s = latency_s
        self.proxy_limit_s: float | None = None
        """After so long a proxy in front gives up, and the platform works on."""
        self._at_work: set[asyncio.Future[None]] = set()
        self.busy = self.most = self.requests = 0
        self.of: Counter[str] = Counter()
        """Requests by the first word of their prompt, which names the job."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    async def _complete(self, request: web.Request) -> web.Response:
        self.of[(await request.json())["messages"][-1]["content"].split()[0]] += 1
        work = asyncio.ensure_future(self._work())
        self._at_work.add(work)
        await asyncio.wait([work], timeout=self.proxy_limit_s)
        if work.done():
            return web.Response(body=ANSWER, content_type="application/json")
        status, body = PROXY_PAGES[self.requests % len(PROXY_PAGES)]
        return web.Response(status=status, text=body, content_type="text/html")

    async def _work(self) -> None:
        self.busy += 1
        self.requests += 1
        self.most = max(self.most, self.busy)
        try:
            await asyncio.sleep(self.latency_s)
        finally:
            self.busy -= 1

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "sim/instant", "object": "model", "owned_by": "tests"}]})

    async def _start(self) -> str:
        app = web.Application()
        app.router.add_post("/api/chat/completions", self._complete)
        app.router.add_get("/api/models", self._models)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    def __enter__(self) -> "Stubborn":
        self._thread.start()
        self.base_url = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    async def _stop(self) -> None:
        await self._runner.cleanup()
        for work in self._at_work:
            work.cancel()
        await asyncio.gather(*self._at_work, return_exceptions=True)

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@pytest.fixture
def stubborn() -> Iterator[Stubborn]:
    with Stubborn(0.12) as server:
        yield server


def bench_for(folder: Path, server: Stubborn) -> Workbench:
    bench = Workbench(folder, None)
    bench.environment |= {"WORKBENCH_BASE_URL": server.base_url, "WORKBENCH_API_KEY": "sk-" + "5" * 32}
    return bench


def write_job(bench: Workbench, name: str, samples: int, limit: int, ghost_s: float) -> str:
    rows = "".join(json.dumps({"input": f"{name} {n}", "target": n}) + "\n" for n in range(samples))
    bench.write(f"{name}.jsonl", rows)
    text = job(name=name, dataset=f"{name}.jsonl", limit=limit).replace(
        "passes = 1", f"passes = 1\nghost_s = {ghost_s}"
    )
    bench.write(f"{name}.toml", text)
    return f"{name}.toml"


@pytest.mark.slow
@pytest.mark.file_ledger
def test_four_processes_never_exceed_the_limit_kills_or_not(tmp_path: Path, stubborn: Stubborn) -> None:
    bench = bench_for(tmp_path, stubborn)
    names = [f"job{number}" for number in range(4)]
    jobs = {name: write_job(bench, name, 100, 12, ghost_s=0.3) for name in names}
    chosen = random.Random(3)

    def start(name: str) -> Any:
        return bench.start("run", jobs[name], "--no-report", "--ledger", f"{name}.duckdb")

    running = {name: start(name) for name in names}
    for _ in range(4):
        time.sleep(chosen.uniform(0.5, 1.0))
        name = chosen.choice(names)
        if running[name].poll() is None:
            running[name].kill()
            running[name].communicate()
            running[name] = start(name)
    for process in running.values():
        out, error = process.communicate(timeout=90)
        assert process.returncode == 0, out + error
    assert stubborn.most <= 12
    assert stubborn.most >= 11, "and it is used"
    assert stubborn.requests >= 400
    until(lambda: {row["state"] for row in bench.json("slots", "--all")} == {"free"})
    assert "no requests in flight from this machine" in bench("slots").stderr


@pytest.mark.slow
def test_two_runs_share_fairly(tmp_path: Path, stubborn: Stubborn) -> None:
    bench = bench_for(tmp_path, stubborn)
    first = bench.start("run", write_job(bench, "first", 150, 4, 0.3), "--no-report", "--ledger", "a.duckdb")
    until(lambda: stubborn.requests >= 8)
    second = bench.start("run", write_job(bench, "second", 20, 4, 0.3), "--no-report", "--ledger", "b.duckdb")
    until(lambda: stubborn.of["second"] >= 1)
    before = stubborn.of["first"]
    until(lambda: stubborn.of["second"] == 20)
    assert stubborn.of["first"] - before < 40, "each has two of the four slots"
    assert second.communicate(timeout=60)[0]
    assert first.poll() is None, "the second run did not wait for the end of the first"
    first.communicate(timeout=60)
    assert stubborn.most <= 4


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_killed_run_leaves_ghosts_that_the_next_waits_for(tmp_path: Path, stubborn: Stubborn) -> None:
    stubborn.latency_s = 1.5
    bench = bench_for(tmp_path, stubborn)
    file = write_job(bench, "ghosts", 6, 2, ghost_s=2.0)
    process = bench.start("run", file, "--no-report")
    until(lambda: stubborn.busy >= 2)
    process.kill()
    process.communicate()
    states = [(row["state"], row["job"], row["model"]) for row in bench.json("slots")]
    assert states == [("ghost", "ghosts", "sim/instant")] * 2
    done = bench("run", file, "--no-report")
    assert "2 of 2 slots are kept until" in done.stderr
    assert "workbench slots release" in done.stderr
    assert stubborn.most == 2
    assert stubborn.requests == 8


@pytest.mark.slow
def test_a_call_that_a_proxy_gave_up_on_keeps_its_slot(tmp_path: Path, stubborn: Stubborn) -> None:
    stubborn.latency_s, stubborn.proxy_limit_s = 1.0, 0.1
    bench = bench_for(tmp_path, stubborn)
    file = write_job(bench, "proxied", 20, 4, ghost_s=1.2)
    text = (bench.folder / file).read_text()
    bench.write(file, text.replace("[run]", "[run]\npatience_s = 1"))
    done = bench("run", file, "--no-report", "--fixed", code=3)
    assert stubborn.most <= 4, "the gateway is at work on more than the limit"
    assert stubborn.requests >= 5
    assert "of 4 slots are kept until" in done.stderr
    assert "was given up after 1 s with nothing else to send (run.patience_s)" in done.stderr


@pytest.mark.file_ledger
def test_ghosts_can_be_freed(tmp_path: Path, stubborn: Stubborn) -> None:
    stubborn.latency_s, stubborn.proxy_limit_s = 0.4, 0.1
    bench = bench_for(tmp_path, stubborn)
    bench("run", write_job(bench, "freed", 2, 2, ghost_s=60), "--no-report", "--fixed", code=3)
    assert [row["state"] for row in bench.json("slots")] == ["ghost", "ghost"]
    assert bench("slots", "release").stdout == "2 slots freed\n"
    assert bench.json("slots") == []


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_call_that_was_given_up_keeps_its_slot_beyond_the_process(tmp_path: Path, stubborn: Stubborn) -> None:
    stubborn.latency_s = 3
    bench = bench_for(tmp_path, stubborn)
    file = write_job(bench, "hasty", 3, 2, ghost_s=30)
    process = bench.start("run", file, "--no-report")
    until(lambda: stubborn.busy >= 2)
    interrupt_twice(process)
    process.communicate(timeout=60)
    assert [row["state"] for row in bench.json("slots")] == ["ghost", "ghost"]


def test_an_answer_frees_its_slot_and_a_file_says_who_holds_it(tmp_path: Path) -> None:
    with Slots(tmp_path / "slots", 2, "job") as slots:
        first, second = slots.take(), slots.take()
        assert first is not None
        assert second is not None
        assert slots.take() is None
        first.begin("m", 60)
        assert [row["state"] for row in slots_of_endpoint(tmp_path / "slots")] == ["in flight", "in flight"]
        slots.give_back(first)
        third = slots.take()
        assert third is not None
        third.begin("m", 0.1)
        third.is_ghost = True
        slots.give_back(third)
        slots.give_back(second)
        with Slots(tmp_path / "slots", 2, "other") as others:
            assert others.take() is None, "it is kept for the call that follows at once"
            slots.release_unused()
            assert until(others.take)
        assert sorted(str(row["state"]) for row in slots_of_endpoint(tmp_path / "slots")) == ["free", "ghost"]
        again = slots.take()
        assert again is not None
        assert again.number == second.number
        assert slots.take() is None
        slots.give_back(again)
        assert until(slots.take)
        assert until(slots.take), "that of the ghost"
        assert slots.take() is None
    assert not list((tmp_path / "slots").glob("*.process"))


async def _waits_in_vain(slots: Slots) -> None:
    await slots.changed()
    slots.release_unused()


def test_who_waits_for_something_else_does_not_keep_others_short(tmp_path: Path) -> None:
    with Slots(tmp_path, 2, "slow") as slow, Slots(tmp_path, 5, "quick") as quick:
        assert [slow.take() is not None for _ in range(3)] == [True, True, False]
        anyio.run(_waits_in_vain, slow)
        assert [quick.take() is not None for _ in range(3)] == [True, True, True], "more than its share: nobody waits"


def test_one_that_was_stopped_while_it_waited_is_not_waited_for(tmp_path: Path) -> None:
    with Slots(tmp_path, 2, "running") as running, Slots(tmp_path, 2, "stopped") as stopped:
        anyio.run(stopped.changed)  # its file says that it waits, and nothing renews that
        assert [running.take() is not None for _ in range(2)] == [True, False]
        assert until(running.take)


def test_what_another_cannot_use_is_not_left_to_it(tmp_path: Path) -> None:
    with (
        Slots(tmp_path, 4, "large") as large,
        Slots(tmp_path, 2, "small") as small,
        Slots(tmp_path, 2, "third") as third,
    ):
        assert [third.take() is not None for _ in range(2)] == [True, True]
        anyio.run(small.changed)  # it waits for the low slots
        assert [large.take() is not None for _ in range(3)] == [True, True, False]


def test_what_is_kept_is_let_go_for_one_who_waits(tmp_path: Path) -> None:
    with Slots(tmp_path, 2, "first") as first, Slots(tmp_path, 2, "second") as second:
        taken = [first.take(), first.take()]
        assert taken[0] is not None
        first.give_back(taken[0])
        assert second.take() is None

        async def both_wait() -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(second.changed)
                await anyio.sleep(0.001)
                await anyio.sleep(0.06)  # the next look around is due
                assert first.take() is None, "it has its share"
                await first.changed()

        anyio.run(both_wait)
        assert until(second.take)


@pytest.mark.file_ledger
def test_a_call_without_an_answer_leaves_a_ghost(tmp_path: Path) -> None:
    config = platform_of({"id": "m", "simulated": "answers", "faults": [{"kind": "reset"}]})
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(2))
        bench.write("job.toml", job("m", limit=2).replace("[run]", "[run]\nghost_s = 30"))
        assert bench.json("run", "job.toml", "--no-report", code=3)["outcomes"] == {"connection_lost": 2}
        assert [row["state"] for row in bench.json("slots")] == ["ghost", "ghost"]


def test_a_run_with_a_higher_limit_leaves_the_low_slots_to_others(tmp_path: Path) -> None:
    with Slots(tmp_path, 8, "large") as large, Slots(tmp_path, 2, "small") as small:
        taken = [large.take() for _ in range(6)]
        assert [slot.number for slot in taken if slot] == [7, 6, 5, 4, 3, 2]
        assert small.take() is not None


def test_a_cut_file_is_a_free_slot(tmp_path: Path) -> None:
    (tmp_path / "00.slot").write_bytes(b'{"busy_until": 99999')
    with Slots(tmp_path, 1, "job") as slots:
        assert slots.take() is not None


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="XDG_STATE_HOME"):
        Slots(tmp_path / "file" / "slots", 1, "job")


def test_the_embedded_platforms_slots_are_its_own(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    bench("run", "job.toml", "--local", "--no-report")
    assert not (tmp_path / "state").exists()


@pytest.mark.file_ledger  # of a team's, `slots` lists what the server knows
def test_a_run_with_nothing_to_send_waits_for_no_slot(tmp_path: Path, stubborn: Stubborn) -> None:
    bench = bench_for(tmp_path, stubborn)
    file = write_job(bench, "done", 3, 2, ghost_s=30)
    bench("run", file, "--no-report")
    folder = next((tmp_path / "state" / "workbench" / "slots").iterdir())
    with Slots(folder, 2, "other") as others:
        for slot in [others.take(), others.take()]:
            assert slot is not None
            slot.begin("m", 30)
        assert bench.json("run", file, "--no-report")["reused"] == 3
        assert {row["state"] for row in bench.json("slots")} == {"in flight"}, "the others still have them all"


def shared_out(folder: Path, limits: tuple[int, ...]) -> tuple[float, int, list[int]]:
    """Runs that take a slot again in the moment they give it back, for 3 s: the share of the slots' time that was used,
    how many were held at most, and each run's calls."""
    done = [0] * len(limits)
    held, most_held, busy_s = 0, 0, 0.0

    async def call(number: int, slots: Slots) -> None:
        while time.monotonic() < end:
            slot = slots.take()
            if slot is None:
                await slots.changed()
                continue
            nonlocal held, most_held, busy_s
            began, held = time.monotonic(), held + 1
            most_held = max(most_held, held)
            await anyio.sleep(0.2)
            done[number] += 1
            held -= 1
            busy_s += time.monotonic() - began
            slots.give_back(slot)

    async def main() -> None:
        with ExitStack() as stack:
            runs = [stack.enter_context(Slots(folder, limit, str(limit))) for limit in limits]
            async with anyio.create_task_group() as group:
                for number, slots in enumerate(runs):
                    for _ in range(limits[number]):
                        group.start_soon(call, number, slots)

    begin = time.monotonic()
    end = begin + 3
    anyio.run(main)
    return busy_s / (time.monotonic() - begin) / max(limits), most_held, done


def without_slots(limits: tuple[int, ...]) -> float:
    """The same share where as many tasks take turns within one process: what this machine leaves of the time today."""
    busy_s = 0.0

    async def main() -> None:
        limiter = anyio.CapacityLimiter(max(limits))

        async def call() -> None:
            nonlocal busy_s
            while time.monotonic() < end:
                async with limiter:
                    began = time.monotonic()
                    await anyio.sleep(0.2)
                    busy_s += time.monotonic() - began

        async with anyio.create_task_group() as group:
            for _ in range(sum(limits)):
                group.start_soon(call)

    begin = time.monotonic()
    end = begin + 3
    anyio.run(main)
    return busy_s / (time.monotonic() - begin) / max(limits)


EVERY_LIMIT = ((1, 1), (63, 1), (8, 3), (8, 8), (8, 8, 8))


@pytest.mark.slow
@pytest.mark.parametrize(
    "limits",
    [(8, 2), (2, 2, 2, 2), *(pytest.param(one, marks=pytest.mark.long) for one in EVERY_LIMIT)],
)
def test_nobody_starves_and_nothing_stays_idle(tmp_path: Path, limits: tuple[int, ...]) -> None:
    each = max(limits) / len(limits)
    for _ in range(3):  # a busy machine wakes a waiter late, now and then; a slot that is left idle is so each time
        bare = without_slots(limits)
        share, most_held, done = shared_out(tmp_path, limits)
        assert most_held <= max(limits)
        of_a_slot = sum(done) / max(limits)
        fair = all(calls >= 0.6 * min(limit, each) * of_a_slot for limit, calls in zip(limits, done, strict=True))
        if fair and share > 0.9 * bare:
            return
    pytest.fail(f"{share:.3f} of the slots' time was used, {bare:.3f} without files; calls of each run: {done}")


@pytest.mark.slow
def test_slots_that_cannot_be_written_end_the_run_and_lose_nothing(tmp_path: Path, stubborn: Stubborn) -> None:
    bench = bench_for(tmp_path, stubborn)
    file = write_job(bench, "full", 20, 3, ghost_s=1)
    broken = "import workbench.running.slot_files as s\nreal, count = s.write, [0]\n"
    broken += "def write(fd, holding):\n    count[0] += 1\n    if count[0] > 14: raise OSError(28, 'No space left')\n    real(fd, holding)\n"
    broken += "s.write = write\nfrom workbench.cli.main import console\nconsole()\n"
    done = subprocess.run(
        [sys.executable, "-c", broken, "run", file, "--no-report"],
        cwd=bench.folder, env=bench.environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "the slots of this machine cannot be written" in done.stdout
    assert bench.json("runs")[0]["completed"] == stubborn.requests


@pytest.mark.slow
def test_a_full_budget_costs_no_time_of_the_processor(tmp_path: Path, stubborn: Stubborn) -> None:
    stubborn.latency_s = 2.5
    bench = bench_for(tmp_path, stubborn)
    file = write_job(bench, "budget", 30, 8, ghost_s=1)
    text = (tmp_path / file).read_text().replace("[[scorers]]", "[budget]\nrequests = 2\n[[scorers]]")
    bench.write(file, text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    bench.process("run", file, "--no-report", "--fixed", code=7)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < 2.0
    assert stubborn.requests == 2


@pytest.mark.slow
def test_a_deadline_that_ends_with_the_last_answer_stops_nothing(tmp_path: Path, stubborn: Stubborn) -> None:
    stubborn.latency_s = 1.5
    bench = bench_for(tmp_path, stubborn)
    file = write_job(bench, "just", 2, 2, ghost_s=1)
    bench.write(file, (tmp_path / file).read_text().replace("ghost_s = 1", "ghost_s = 1\ndeadline_s = 0.5"))
    assert bench.json("run", file, "--no-report")["status"] == "complete"
