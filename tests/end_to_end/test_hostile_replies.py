"""A reply of any size, plain or packed, stops neither the run nor the machine it runs on."""

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Workbench, job
from tests.end_to_end.hostile_server import ENDLESS, INTERIM, KEY, REPLIES, hostile
from tests.waiting import interrupt_twice, until
from workbench.client.chat import ChatClient
from workbench.client.completion import decode
from workbench.client.transport import Http, Sending
from workbench.ledger.entries import answer_entry
from workbench.ledger.journal import JournalWriter
from workbench.ledger.packing import packed
from workbench.records.calls import ChatRequest
from workbench.records.outcomes import Outcome
from workbench.settings.endpoint import Endpoint

EXPECTED = {
    "plain": Outcome.OK, "packed": Outcome.OK, "members": Outcome.OK, "cut": Outcome.CONNECTION_LOST,
    "twice": Outcome.UNREADABLE_BODY, "deflate": Outcome.OK, "bomb": Outcome.MALFORMED_BODY,
    "quota": Outcome.BAD_REQUEST, "quotas": Outcome.RATE_LIMITED, "page": Outcome.PROXY_FAILED,
    "letters": Outcome.OK, "wide": Outcome.OK, "quotes": Outcome.OK, "values": Outcome.MALFORMED_BODY,
    "numbers": Outcome.MALFORMED_BODY, "broken": Outcome.MALFORMED_BODY, "endless": Outcome.MALFORMED_BODY,
    "brotli": Outcome.UNREADABLE_BODY, "brotli-page": Outcome.UNKNOWN, "empty-members": Outcome.MALFORMED_BODY,
    "empty-blocks": Outcome.MALFORMED_BODY, "blanks": Outcome.MALFORMED_BODY, "comments": Outcome.MALFORMED_BODY,
}  # fmt: skip
LONGEST_STALL_S = 0.1
MORE_MEMORY_MIB = 200


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with hostile() as base_url:
        yield base_url


@pytest.fixture
def bench(tmp_path: Path, server: str) -> Workbench:
    bench = Workbench(tmp_path, None)
    bench.environment |= {"WORKBENCH_BASE_URL": server, "WORKBENCH_API_KEY": KEY}
    return bench


def prompts(bench: Workbench, *words: str, limit: int = 8, most_bytes: int | None = 2**24, patience_s: int = 1) -> None:
    bench.write("d.jsonl", "".join(json.dumps({"input": word, "target": 4}) + "\n" for word in words))
    most = "" if most_bytes is None else f"max_reply_bytes = {most_bytes}\n"
    keys = f"[run]\npatience_s = {patience_s}\nghost_s = 0\n{most}"
    bench.write("job.toml", job("m", dataset="d.jsonl", limit=limit).replace("[run]\n", keys))


def peak_mib(bench: Workbench) -> float:
    """The largest memory of a run on a new ledger, in MiB."""
    ledger = f"{len(list(bench.folder.glob('*.duckdb')))}.duckdb"
    said = bench.folder / "said.txt"  # a file takes all of it, while a pipe that nobody reads stops the run
    with said.open("w") as file:
        process = bench.start("run", "job.toml", "--no-report", "--fixed", "--ledger", ledger, stdout=file, stderr=file)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 3), said.read_text()
    return used.ru_maxrss / 1024


PACKED_OR_NESTED = ("bomb", "values", "endless")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [PACKED_OR_NESTED, pytest.param((*REPLIES, *(set(ENDLESS) - {"crumbs"})), marks=pytest.mark.long)]
)
def test_memory_does_not_depend_on_what_replies_claim(bench: Workbench, words: tuple[str, ...]) -> None:
    prompts(bench, *(f"plain {n}" for n in range(8)))
    usual = peak_mib(bench)
    for word in words:
        prompts(bench, *(f"{word} {n}" for n in range(8)), most_bytes=None)  # the limit that fits max_tokens
        assert peak_mib(bench) - usual < MORE_MEMORY_MIB, f"eight of {word}"


@pytest.mark.slow
def test_every_reply_is_recorded_as_what_it_is(bench: Workbench) -> None:
    prompts(bench, *EXPECTED)
    bench("run", "job.toml", "--no-report", code=3)
    run_id = bench.json("runs")[0]["run_id"]
    calls = {call["sample_id"]: call["outcome"] for call in bench.lines("show", run_id, "--calls")}
    assert {word: calls[str(number)] for number, word in enumerate(EXPECTED, 1)} == EXPECTED
    assert bench.json("ledger", "check")["sound"]


@pytest.mark.slow
@pytest.mark.parametrize("word", [*REPLIES, *ENDLESS, INTERIM])
def test_the_event_loop_goes_on(server: str, word: str, tmp_path: Path) -> None:
    """For no longer than 0.1 s, or than decoding takes on this machine, which is one call and cannot be divided."""
    most_s = (
        1.0 if word == INTERIM else max(LONGEST_STALL_S, 1.5 * decoding_s(word))
    )  # aiohttp reads 256 KiB of these at once
    tries = (longest_stall_s(server, word, tmp_path / str(n)) for n in range(3))  # the machine has other work, too
    assert any(stall_s < most_s for stall_s in tries)


def decoding_s(word: str) -> float:
    body = REPLIES[word]()[2] if word in REPLIES else b"null"
    before = time.process_time()
    with contextlib.suppress(ValueError):
        decode(body)
    return time.process_time() - before


def longest_stall_s(server: str, word: str, folder: Path) -> float:
    """How long nothing else happened while a reply was read, judged and recorded, by the clock of this process's own work:
    what others do on the machine does not count.
    """

    async def measure() -> float:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": word}]}).encode()
        timeout_s = 2.0 if word in ("crumbs", INTERIM) else 60.0  # these end by it alone
        request = ChatRequest("k", body, "m", "s", "sk", 1, 0, timeout_s, 2**24)
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "Accept-Encoding": "gzip"}
        worst, journal = 0.0, JournalWriter(folder)

        async def beat() -> None:
            nonlocal worst
            while True:
                before, worked = time.perf_counter(), time.process_time()
                await asyncio.sleep(0.001)
                worst = max(worst, min(time.perf_counter() - before, time.process_time() - worked))

        async with Http(headers) as http:
            client = ChatClient(http, Endpoint(server, KEY, server))
            heart = asyncio.create_task(beat())
            with Sending() as progress:
                record = await client.complete(request, progress)
                entry = answer_entry("r", 1, "base", record)
                journal.append_frame(await asyncio.to_thread(packed, entry))
                journal.flush()
            await asyncio.sleep(0.01)
            heart.cancel()
        journal.close()
        return worst

    return asyncio.run(measure())


@pytest.mark.slow
def test_ctrl_c_is_heeded_whatever_comes_back(bench: Workbench) -> None:
    prompts(
        bench,
        *(f"quotas {n}" for n in range(20)),
        *(f"bomb {n}" for n in range(20)),
        *ENDLESS,
        INTERIM,
        "slow 1",
        limit=4,
        patience_s=600,  # it goes on, however long the signal takes to come
    )
    process = bench.start("run", "job.toml", "--no-report")
    until(lambda: any(run["failed"] for run in json.loads(bench("runs", "--json", code=None).stdout or "[]")))
    interrupt_twice(process)
    process.communicate(timeout=60)
    assert process.returncode in (130, 3)
