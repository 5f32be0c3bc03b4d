"""Slots of the platform go round by account: simulated on a clock of the test's own, so that nothing depends on the machine."""

import asyncio
import contextlib
import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.cases import first_of
from workbench.local_platform.clock import Clock
from workbench.local_platform.turns import FullError, Turns


class SetClock(Clock):
    """Tells the time that it is set to."""

    now = 0.0

    def now_s(self) -> float:
        return self.now


@dataclass
class Request:
    """One request: who sends it and when, how long it takes, and what comes of it."""

    account: str
    at_s: float
    takes_s: float
    is_batch: bool = False
    begun_s: float | None = None
    ended_s: float | None = None
    was_refused: bool = False
    first_end_s: float = 0.0
    """When the first of the calls that were in flight as it came will have ended."""


@dataclass
class World:
    """Slots, and what asks for them."""

    slots: int
    waits: bool = True
    own_limits: dict[str, int] = field(default_factory=dict)
    patience_s: float = 120.0

    def run(self, requests: list[Request], then: Callable[[Request], Request | None] = lambda _: None) -> float:
        """Play all requests, and whatever follows on one that has ended; returns when the last one ended."""
        return asyncio.run(self._run(requests, then))

    async def _run(self, requests: list[Request], then: Callable[[Request], Request | None]) -> float:
        self.clock = SetClock()
        self.turns = Turns(self.clock, self.slots, self.own_limits, waits=self.waits)
        numbers = itertools.count()
        events: list[tuple[float, int, Callable[[], object]]] = []
        flying: dict[int, float] = {}
        tasks = []

        def at(time_s: float, what: Callable[[], object]) -> None:
            heapq.heappush(events, (time_s, next(numbers), what))

        async def play(one: Request) -> None:
            number, ended = next(numbers), asyncio.Event()
            one.first_end_s = min(flying.values(), default=self.clock.now)
            with contextlib.suppress(FullError):
                one.was_refused = True
                async with self.turns.slot(one.account, is_batch=one.is_batch, patience_s=self.patience_s):
                    one.was_refused, one.begun_s = False, self.clock.now
                    flying[number] = self.clock.now + one.takes_s
                    assert len(flying) <= self.slots
                    at(flying[number], ended.set)
                    await ended.wait()
                    del flying[number]
                    one.ended_s = self.clock.now
            if (following := then(one)) is not None:
                at(max(following.at_s, self.clock.now), start(following))

        def start(one: Request) -> Callable[[], object]:
            return lambda: tasks.append(asyncio.create_task(play(one)))

        for one in requests:
            at(one.at_s, start(one))
        while events:
            self.clock.now, _, what = heapq.heappop(events)
            what()
            await settled()
        await asyncio.gather(*tasks)
        return self.clock.now


async def settled() -> None:
    """Let everything run that can."""
    for _ in range(6):
        await asyncio.sleep(0)


def waited(one: Request) -> float:
    assert one.begun_s is not None
    return one.begun_s - one.at_s


@pytest.mark.parametrize("is_batch", [False, True], ids=["a batch that does not say so", "a batch that says so"])
def test_one_request_beside_a_colleague_s_batch_waits_for_the_first_call_to_end(is_batch: bool) -> None:
    batch = [Request("colleague", 0.0, 1.0, is_batch) for _ in range(160)]
    person = Request("person", 0.5, 1.0)
    assert World(16).run([*batch, person]) == 11.0
    assert waited(person) == 0.5


def jain(values: list[float]) -> float:
    """How evenly something is spread: 1 where everybody has the same, 1/n where one has all (Jain, Chiu, Hawe 1984)."""
    return sum(values) ** 2 / (len(values) * sum(value**2 for value in values))


@pytest.mark.parametrize("says", first_of("half of them batch", "nothing", "batch"))
@pytest.mark.parametrize(
    ("slots", "seed"),
    [
        (16, 1),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((16, 2), (64, 1))),
        *(pytest.param(*one, marks=pytest.mark.long) for one in ((16, 3), (64, 2), (64, 3))),
    ],
)
def test_twenty_accounts_with_heavy_tailed_batches_have_even_shares_and_people_do_not_wait(
    slots: int, says: str, seed: int
) -> None:
    """Twenty accounts with more work than there are slots, and four people with a request every twenty seconds."""
    draw, until_s = random.Random(seed), 600.0

    def takes() -> float:
        return min(draw.paretovariate(1.5) * 0.5, 60.0)

    busy = {f"busy {n}": says == "batch" or (says != "nothing" and n % 2 == 0) for n in range(20)}
    requests = [Request(name, draw.random(), takes(), is_batch) for name, is_batch in busy.items() for _ in range(40)]
    people = [
        Request(f"person {n}", draw.uniform(at_s, at_s + 15), 1.0) for n in range(4) for at_s in range(5, 585, 20)
    ]
    had: dict[str, float] = dict.fromkeys(busy, 0.0)

    def follow(one: Request) -> Request | None:
        if one.account not in had or one.ended_s is None or one.ended_s > until_s:
            return None
        had[one.account] += one.takes_s
        return Request(one.account, one.ended_s, takes(), one.is_batch)

    World(slots).run([*requests, *people], follow)
    for kind in set(busy.values()):  # people's work and batch work: each among its own
        assert jain([had[name] for name, is_batch in busy.items() if is_batch == kind]) >= 0.95
    added = sorted(waited(one) - max(0.0, one.first_end_s - one.at_s) for one in people)
    assert added[int(0.95 * len(added))] <= 0.05


def test_a_batch_has_what_nobody_else_wants() -> None:
    """With one person's request a second in flight at most, the batch keeps all the other slots busy."""
    people = [Request("person", second + 0.3, 0.5) for second in range(30)]
    batch = [Request("colleague", 0.0, 0.7, True) for _ in range(600)]
    World(16).run([*people, *batch])
    whole = 16 * 24.0 - sum(one.takes_s for one in people if one.at_s < 24)
    had = sum(
        min(one.ended_s, 24.0) - min(one.begun_s, 24.0)
        for one in batch
        if one.begun_s is not None and one.ended_s is not None
    )
    assert had >= 0.95 * whole


def test_a_batch_is_not_starved_beyond_its_patience() -> None:
    def follow(one: Request) -> Request | None:
        return (
            Request(one.account, one.ended_s or 0.0, 1.0)
            if one.account != "batch" and (one.ended_s or 99) < 30
            else None
        )

    people = [Request(f"person {n % 3}", 0.0, 1.0) for n in range(12)]
    batch = Request("batch", 0.5, 1.0, True)
    own = Request("person 0", 0.5, 1.0, True)
    World(2, patience_s=10.0).run([*people, batch, own], follow)
    assert 10.0 <= waited(batch) <= 11.5
    assert 10.0 <= waited(own) <= 13.0, "also behind its own account's people"


def test_within_an_account_turns_go_by_arrival_and_people_come_before_its_batch() -> None:
    requests = [Request("one", n / 100, 1.0, n in (2, 3)) for n in range(8)]
    World(1).run(requests)
    begun = sorted(requests, key=lambda one: one.begun_s or 0.0)
    assert [requests.index(one) for one in begun] == [0, 1, 4, 5, 6, 7, 2, 3]


def test_no_account_saves_turns_up_or_pays_for_what_it_used_alone() -> None:
    """One account was alone for long, another comes: from then on both have the same."""
    alone = [Request("early", float(n), 1.0) for n in range(50)]
    both = [Request(name, 50.0, 1.0) for name in ("early", "late") for _ in range(20)]
    World(1).run([*alone, *both])
    first = sorted(both, key=lambda one: one.begun_s or 0.0)[:20]
    assert sorted(one.account for one in first) == ["early"] * 10 + ["late"] * 10


@pytest.mark.parametrize("limit", [1, None])
def test_no_account_builds_up_credit_by_asking_for_little(limit: int | None) -> None:
    """Beside a long batch one account asks for little; whoever comes later is not put before the batch's owner for that."""
    until_s = 1800.0

    def follow(one: Request) -> Request | None:
        if one.ended_s is None or (one.account == "A" and one.ended_s > until_s) or one.ended_s > 3 * until_s:
            return None
        return Request(one.account, one.ended_s, 60.0, one.is_batch)

    early = [Request("A", 0.0, 60.0, True) for _ in range(8)] + [
        Request("B", 0.0, 60.0) for _ in range(1 if limit else 2)
    ]
    late = [Request(name, until_s + 60, 60.0) for name in "CDEF" for _ in range(8)]
    question = Request("A", until_s + 150, 1.0)
    World(4, own_limits={"B": limit} if limit else {}).run([*early, *late, question], follow)
    assert waited(question) <= 120.0 + 60.0, "its time limit, and the call that ends next"


@pytest.mark.parametrize("is_batch", [False, True])
def test_where_nothing_waits_a_batch_is_refused_first(is_batch: bool) -> None:
    batch = [Request("colleague", 0.0, 1.0, is_batch) for _ in range(8)]
    people = [Request("person", 0.5, 1.0) for _ in range(6)]
    World(4, waits=False).run([*batch, *people])
    assert [one.was_refused for one in batch] == [False] * 4 + [True] * 4
    # a person is owed what batch work holds, and the share that an account has beside one other
    assert [one.was_refused for one in people] == ([False] * 4 + [True] * 2 if is_batch else [False] * 2 + [True] * 4)
    assert {waited(one) for one in people if not one.was_refused} == {0.5}


def test_one_account_alone_is_refused_beyond_the_last_slot() -> None:
    requests = [Request("one", 0.0, 1.0) for _ in range(5)]
    World(4, waits=False).run(requests)
    assert [one.was_refused for one in requests] == [False] * 4 + [True]


def test_whatever_happens_no_slot_is_lost() -> None:
    """Callers that leave at any moment, limits that change: in the end every slot is free."""

    async def trial(seed: int) -> None:
        draw, clock = random.Random(seed), SetClock()
        turns = Turns(clock, 3, {"a": 2}, waits=True)
        tasks: list[asyncio.Task[None]] = []
        leave = asyncio.Event()

        async def hold(account: str, is_batch: bool) -> None:
            async with turns.slot(account, is_batch=is_batch, patience_s=2.0):
                await leave.wait()

        for _ in range(60):
            clock.now += draw.random()
            step = draw.random()
            if step < 0.6:
                tasks.append(asyncio.create_task(hold(draw.choice("abc"), draw.random() < 0.5)))
            elif step < 0.9 and tasks:
                for task in draw.sample(tasks, min(len(tasks), draw.randint(1, 3))):
                    task.cancel()
            else:
                turns.change(draw.randint(1, 4), {"a": draw.randint(1, 3)}, waits=True)
            for _ in range(draw.randint(0, 3)):
                await asyncio.sleep(0)
        turns.change(3, {"a": 2}, waits=True)
        leave.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not turns.waiting()
        assert not any(turns.in_flight(account) for account in "abc")
        leave.clear()
        last = [asyncio.create_task(hold(account, False)) for account in "abc"]
        await settled()
        assert [turns.in_flight(account) for account in "abc"] == [1, 1, 1], "all three slots are there"
        for task in last:
            task.cancel()
        await asyncio.gather(*last, return_exceptions=True)

    for seed in range(80):
        asyncio.run(trial(seed))
