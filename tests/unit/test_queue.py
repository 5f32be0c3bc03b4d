import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from workbench.dataset.spool import Spool
from workbench.job import parse_job
from workbench.plan.expand import Plan
from workbench.plan.models import PlannedModel
from workbench.run.queue import Queue

MakePlan = Callable[..., Plan]


@pytest.fixture
def plan_of(tmp_path: Path) -> Iterator[MakePlan]:
    with Spool() as spool:

        def make(samples: int, *limits: int) -> Plan:
            rows = "".join(json.dumps({"input": f"q{number}"}) + "\n" for number in range(samples))
            (tmp_path / "d.jsonl").write_text(rows)
            models = tuple(PlannedModel(f"m{number}", {}, limit, 1.0, 2**20) for number, limit in enumerate(limits))
            job = parse_job('models = ["m"]\n[dataset]\npath = "d.jsonl"\n', tmp_path / "j.toml")
            plan = Plan(job, models, "local", spool)
            plan.expand()
            return plan

        yield make


def taken(queue: Queue) -> tuple[int, int, int] | None:
    """Model, item and attempt of the next turn."""
    turn = queue.take()
    return None if turn is None else (turn.model, turn.item, turn.attempt)


def test_models_take_turns(plan_of: MakePlan) -> None:
    queue = Queue(plan_of(3, 8, 8, 8))
    turns = [taken(queue) for _ in range(6)]
    assert turns == [(0, 0, 1), (1, 1, 1), (2, 2, 1), (0, 3, 1), (1, 4, 1), (2, 5, 1)]


def test_a_slow_model_never_starves_a_fast_one(plan_of: MakePlan) -> None:
    queue = Queue(plan_of(100, 8, 8))
    flying = [queue.take() for _ in range(8)]
    assert sum(1 for item in flying if item and item[0] == 0) == 4
    for _ in range(50):  # only model 1 answers
        queue.give_back(1)
        taken = queue.take()
        assert taken is not None
        assert taken[0] == 1


def test_a_models_own_limit_holds_and_the_rest_goes_on(plan_of: MakePlan) -> None:
    queue = Queue(plan_of(5, 1, 8))
    assert [item[0] for item in (queue.take() for _ in range(6)) if item] == [0, 1, 1, 1, 1, 1]
    assert queue.take() is None
    assert not queue.exhausted
    queue.give_back(0)
    assert taken(queue) == (0, 2, 1)


def test_everything_is_handed_out_once(plan_of: MakePlan) -> None:
    queue = Queue(plan_of(7, 3, 2, 9))
    seen = []
    while not queue.exhausted:
        taken = queue.take()
        assert taken is not None
        seen.append(taken[1])
        queue.give_back(taken[0])
    assert sorted(seen) == list(range(21))


def test_what_is_sent_again_follows_what_was_never_sent_and_waits(plan_of: MakePlan) -> None:
    queue = Queue(plan_of(2, 8))
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
    queue = Queue(plan_of(1, 8))
    turn = queue.take()
    assert turn is not None
    assert not queue.exhausted
    queue.again(turn, 0)
    queue.give_back(0)
    assert taken(queue) == (0, 0, 2)


def test_a_moment_that_passes_between_two_looks_is_not_missed(plan_of: MakePlan) -> None:
    queue = Queue(plan_of(1, 8))
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
    queue = Queue(plan_of(3, 8))
    turn = queue.take()
    assert turn is not None
    queue.postpone(turn)
    assert queue.take() == turn
    assert taken(queue) == (0, 1, 1)


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
