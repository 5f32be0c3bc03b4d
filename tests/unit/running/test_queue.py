import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from workbench.dataset.spool import Spool
from workbench.job.job import parse_job
from workbench.planning.expand import Plan
from workbench.planning.models import PlannedModel
from workbench.records.outcomes import Outcome
from workbench.running.breaker import IN_A_ROW
from workbench.running.pace import Pace
from workbench.running.queue import Queue
from workbench.running.rules import ACCOUNT

MakePlan = Callable[..., Plan]


@pytest.fixture
def plan_of(tmp_path: Path) -> Iterator[MakePlan]:
    with Spool() as spool:

        def make(samples: int, *limits: int) -> Plan:
            rows = "".join(json.dumps({"input": f"q{number}"}) + "\n" for number in range(samples))
            (tmp_path / "d.jsonl").write_text(rows)
            models = tuple(
                PlannedModel(f"m{number}", {}, limit, 1.0, 2**20, None) for number, limit in enumerate(limits)
            )
            job = parse_job('models = ["m"]\n[dataset]\npath = "d.jsonl"\n', tmp_path / "j.toml")
            plan = Plan(job, models, "local", spool)
            plan.expand()
            return plan

        yield make


def queue_of(plan: Plan, patience_s: float = 90.0) -> Queue:
    return Queue(plan, Pace([model.max_in_flight for model in plan.models], 63, fixed=True), patience_s)


def taken(queue: Queue) -> tuple[int, int, int] | None:
    """Model, item and attempt of the next turn."""
    turn = queue.take()
    return None if turn is None else (turn.model, turn.item, turn.attempt)


def test_models_take_turns(plan_of: MakePlan) -> None:
    queue = queue_of(plan_of(3, 8, 8, 8))
    turns = [taken(queue) for _ in range(6)]
    assert turns == [(0, 0, 1), (1, 1, 1), (2, 2, 1), (0, 3, 1), (1, 4, 1), (2, 5, 1)]


def test_a_slow_model_never_starves_a_fast_one(plan_of: MakePlan) -> None:
    queue = queue_of(plan_of(100, 8, 8))
    flying = [queue.take() for _ in range(8)]
    assert sum(1 for item in flying if item and item[0] == 0) == 4
    for _ in range(50):  # only model 1 answers
        queue.give_back(1)
        taken = queue.take()
        assert taken is not None
        assert taken[0] == 1


def test_a_models_own_limit_holds_and_the_rest_goes_on(plan_of: MakePlan) -> None:
    queue = queue_of(plan_of(5, 1, 8))
    assert [item[0] for item in (queue.take() for _ in range(6)) if item] == [0, 1, 1, 1, 1, 1]
    assert queue.take() is None
    assert not queue.exhausted
    queue.give_back(0)
    assert taken(queue) == (0, 2, 1)


def test_everything_is_handed_out_once(plan_of: MakePlan) -> None:
    queue = queue_of(plan_of(7, 3, 2, 9))
    seen = []
    while not queue.exhausted:
        taken = queue.take()
        assert taken is not None
        seen.append(taken[1])
        queue.give_back(taken[0])
    assert sorted(seen) == list(range(21))


def test_what_is_sent_again_follows_what_was_never_sent_and_waits(plan_of: MakePlan) -> None:
    queue = queue_of(plan_of(2, 8))
    first = queue.take()
    assert first is not None
    queue.again(first, 0.05)
    queue.give_back(0)
    assert taken(queue) == (0, 1, 1)
    assert queue.take() is None, "not yet"
    assert not queue.exhausted
    queue.give_back(0)
    assert not queue.exhausted
    anyio.run(queue.changed)
    assert taken(queue) == (0, 0, 2)
    queue.give_back(0)
    assert queue.exhausted


def test_a_queue_is_not_exhausted_while_a_call_may_come_back(plan_of: MakePlan) -> None:
    queue = queue_of(plan_of(1, 8))
    turn = queue.take()
    assert turn is not None
    assert not queue.exhausted
    queue.again(turn, 0)
    queue.give_back(0)
    assert taken(queue) == (0, 0, 2)


def test_a_moment_that_passes_between_two_looks_is_not_missed(plan_of: MakePlan) -> None:
    queue = queue_of(plan_of(1, 8))
    turn = queue.take()
    assert turn is not None
    queue.again(turn, 0.02)
    queue.give_back(0)
    assert queue.take() is None
    time.sleep(0.05)  # a disk that is slow
    with anyio_timeout(2):
        anyio.run(queue.changed)
    assert taken(queue) == (0, 0, 2)


def test_what_is_postponed_is_next_and_wakes_nobody(plan_of: MakePlan) -> None:
    queue = queue_of(plan_of(3, 8))
    turn = queue.take()
    assert turn is not None
    queue.postpone(turn)
    assert taken(queue) == turn[:3]
    assert taken(queue) == (0, 1, 1)


def test_a_request_that_is_postponed_has_not_been_tried_yet(plan_of: MakePlan) -> None:
    queue = queue_of(plan_of(1, 8))
    turn = queue.take()
    assert turn is not None
    queue.postpone(turn)
    sent = queue.take()
    assert sent is not None
    assert turn.sent_at < sent.sent_at == sent.first_at, "what it waited for a budget is no part of its deadline"
    queue.again(sent, 0.0)
    queue.give_back(0)
    again = queue.take()
    assert again is not None
    assert (again.attempt, again.first_at) == (2, sent.first_at)


def fail(queue: Queue, times: int, *, asked_s: float | None = None) -> None:
    for _ in range(times):
        turn = queue.take()
        assert turn is not None
        queue.ended(turn, Outcome.ROUTE_DOWN, asks_for_time=asked_s is not None)
        if asked_s is not None:
            queue.hold(turn.model, asked_s)
        queue.give_back(turn.model)


def test_when_nothing_but_paused_routes_is_left_a_run_waits_for_so_long(plan_of: MakePlan) -> None:
    patient, hasty = (queue_of(plan_of(9, 8), patience_s) for patience_s in (40, 20))
    for queue in (patient, hasty):
        fail(queue, IN_A_ROW)  # the next trial is in 30 s, or sooner on the embedded platform
        queue.hold(0, 30)
        assert not queue.is_ready()
    assert patient.given_up_waiting() == []
    assert hasty.given_up_waiting() == [0]
    assert hasty.exhausted
    assert not patient.exhausted


def test_a_run_waits_as_long_as_a_healthy_route_has_work(plan_of: MakePlan) -> None:
    queue = queue_of(plan_of(9, 8, 8), 1)
    queue.hold(0, 500)
    assert queue.given_up_waiting() == []
    while turn := queue.take():
        assert turn.model == 1
        assert queue.given_up_waiting() == []
        queue.give_back(1)
    assert queue.given_up_waiting() == [0]


def test_a_retry_after_within_the_patience_is_waited_for(plan_of: MakePlan) -> None:
    queue = queue_of(plan_of(9, 8), 60)
    fail(queue, 1, asked_s=50)
    assert queue.given_up_waiting() == []
    queue.hold(0, 90)
    assert queue.given_up_waiting() == [0]


@contextmanager
def anyio_timeout(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Clock:
    """A steady clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_dead_route_is_tried_after_its_real_pauses_and_given_up(plan_of: MakePlan) -> None:
    clock = Clock()
    queue = Queue(plan_of(20, 8), Pace([8], 63, fixed=True), 90.0, ACCOUNT, clock)

    def fail() -> None:
        turn = queue.take()
        assert turn is not None
        queue.ended(turn, Outcome.ROUTE_DOWN, asks_for_time=False)
        queue.give_back(turn.model)

    for _ in range(IN_A_ROW):
        fail()
    for rest_s in (30.0, 60.0, 120.0):
        clock.now_s += rest_s - 0.1
        assert queue.take() is None
        clock.now_s += 0.2
        fail()
    assert queue.breaker(0).state == "given up"
    assert queue.exhausted


def test_a_route_whose_trial_succeeds_goes_on_at_once(plan_of: MakePlan) -> None:
    clock = Clock()
    queue = Queue(plan_of(20, 8), Pace([8], 63, fixed=True), 90.0, ACCOUNT, clock)
    for outcome in (*[Outcome.ROUTE_DOWN] * IN_A_ROW, Outcome.OK):
        clock.now_s += 30.1
        turn = queue.take()
        assert turn is not None
        queue.ended(turn, outcome, asks_for_time=False)
        queue.give_back(turn.model)
    assert [queue.take() is not None for _ in range(9)] == [True] * 8 + [False]
