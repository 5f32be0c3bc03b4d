"""Longest first: a run does not wait at its end for what it could have sent early."""

import heapq
import json
import math
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from tests.cases import first_of
from tests.unit.ledger.ledger_rows import STARTED_AT, answer, intent, key, started
from workbench.dataset.spool import Spool
from workbench.job.job import parse_job
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.planning.expand import Plan
from workbench.planning.models import PlannedModel
from workbench.planning.order import Expected, longest_first
from workbench.running.pace import Pace
from workbench.running.queue import Queue

SLOTS, SAMPLES, ROUTES = 48, 334, 3
MakePlan = Callable[..., Plan]


@pytest.fixture
def plan_of(tmp_path: Path) -> Iterator[MakePlan]:
    spools = []

    def make(order: str = "auto", more: str = "") -> Plan:
        (tmp_path / "d.jsonl").write_text("".join(json.dumps({"input": f"q{n}"}) + "\n" for n in range(SAMPLES)))
        job = parse_job(
            f'models = ["m"]\n[dataset]\npath = "d.jsonl"\n[run]\norder = "{order}"\nmax_in_flight = {SLOTS}\n{more}',
            tmp_path / "j.toml",
        )
        models = tuple(PlannedModel(f"m{number}", {"max_tokens": 9}, SLOTS, 1.0, 2**20, 9) for number in range(ROUTES))
        spools.append(spool := Spool())
        plan = Plan(job, models, "local", spool.__enter__())
        plan.expand()
        return plan

    yield make
    for spool in spools:
        spool.__exit__(None, None, None)


def remembered(folder: Path, plan: Plan, latency_ms: Callable[[int, int], float | None]) -> Plan:
    """The plan after a night in which each model took so long for each sample; None: it was not asked."""
    ledger = Ledger(folder / "ledger.duckdb")
    journal = JournalWriter(ledger.journal_folder)
    journal.append(started("r1", len(plan)))
    number = 0
    for item in range(len(plan)):
        request = plan.item(item).request
        took = latency_ms(int(request.model[1:]), plan.sample_of(item))
        if took is None:
            continue
        number += 1
        journal.append(
            msgspec.structs.replace(intent("r1", number), model=request.model, sample_key=request.sample_key)
        )
        at = STARTED_AT + timedelta(seconds=number)
        journal.append(answer("r1", number, model=request.model, sample_key=request.sample_key, latency_ms=took, ended_at=at,
                              request_key=key(number)))  # fmt: skip
    journal.close()
    with reading(ledger) as reader:
        plan.take_answers(reader)
    assert plan.reused == 0, "another prompt's answers"
    return plan


def span(plan: Plan, took_s: Callable[[int, int], float]) -> float:
    """How long a run of the plan takes with all slots, by the queue itself on a clock of its own."""
    now = 0.0
    limits = [model.max_in_flight for model in plan.models]
    queue = Queue(plan, Pace(limits, SLOTS, fixed=True), 90.0, clock=lambda: now)
    flying: list[tuple[float, int]] = []
    while not queue.exhausted:
        while len(flying) < SLOTS and (turn := queue.take()) is not None:
            heapq.heappush(flying, (now + took_s(turn.model, plan.sample_of(turn.item)), turn.model))
        now, model = heapq.heappop(flying)
        queue.give_back(model)
    return now


@pytest.mark.parametrize("sigma", [1.0, 1.5])
@pytest.mark.parametrize("seed", first_of(*range(5)))
def test_a_run_with_history_takes_hardly_longer_than_it_must(
    tmp_path: Path, plan_of: MakePlan, sigma: float, seed: int
) -> None:
    chosen = random.Random(seed)
    true = {(model, sample): chosen.gauss(0, 1) for model in range(ROUTES) for sample in range(SAMPLES)}
    base = [1.0, 2.0, 4.0]
    took = {(model, sample): base[model] * math.exp(sigma * z) for (model, sample), z in true.items()}
    earlier = {
        (model, sample): 1000 * base[model] * math.exp(sigma * (0.8 * z + 0.6 * chosen.gauss(0, 1)))
        for (model, sample), z in true.items()
    }
    bound = max(math.fsum(took.values()) / SLOTS, max(took.values()))
    plan = remembered(tmp_path, plan_of(), lambda model, sample: earlier[model, sample])
    known = span(plan, lambda model, sample: took[model, sample])
    in_file_order = span(plan_of("file"), lambda model, sample: took[model, sample])
    unknown = span(plan_of(), lambda model, sample: took[model, sample])
    print(f"sigma {sigma}: {known / bound:.3f} x the bound with history, {in_file_order / bound:.3f} in file order")
    assert known <= 1.06 * bound
    assert unknown == in_file_order


def test_the_longest_go_first_and_unknown_ones_before_all(tmp_path: Path, plan_of: MakePlan) -> None:
    def latency_ms(model: int, sample: int) -> float | None:
        return None if model == 2 or sample == 7 or (model, sample) == (1, 9) else 100.0 * (model + 1) * (1 + sample)

    plan = remembered(tmp_path, plan_of(), latency_ms)
    assert plan.order == "longest first"
    orders = [[plan.sample_of(item) for item in plan.to_send(model)] for model in range(ROUTES)]
    falling = [sample for sample in range(SAMPLES - 1, -1, -1) if sample != 7]
    assert orders == [[7, *falling]] * ROUTES, "as other routes took, where a route has not been asked"
    assert sorted(orders[0]) == list(range(SAMPLES))


@pytest.mark.parametrize(("order", "more"), [("file", ""), ("auto", "[budget]\nrequests = 10\n"), ("auto", "")])
def test_the_files_order_is_kept_where_it_is_wanted_or_counts(
    tmp_path: Path, plan_of: MakePlan, order: str, more: str
) -> None:
    history = more or order == "file"
    plan = remembered(tmp_path, plan_of(order, more), lambda _model, sample: 100.0 + sample if history else None)
    assert plan.order == "file"
    assert [plan.sample_of(item) for item in plan.to_send(0)] == list(range(SAMPLES))


def test_equal_ones_stay_in_file_order() -> None:
    expected = Expected(["m"], 4)
    expected.take("m", [0, 2, 3], 5.0)
    (values,) = expected.by_model() or []
    assert list(longest_first([10, 11, 12, 13], [0, 1, 2, 3], values)) == [11, 10, 12, 13]
    assert Expected(["m"], 4).by_model() is None


def test_a_route_with_a_low_limit_and_much_work_is_never_left_for_the_end(tmp_path: Path, plan_of: MakePlan) -> None:
    base, limits = [1.0, 3.0, 3.0], [8, SLOTS, SLOTS]
    plan = remembered(tmp_path, plan_of(), lambda model, _sample: 1000 * base[model])
    plan.models = tuple(
        msgspec.structs.replace(model, max_in_flight=limit) for model, limit in zip(plan.models, limits, strict=True)
    )
    bound = max(SAMPLES * base[0] / limits[0], SAMPLES * sum(base) / SLOTS)
    assert span(plan, lambda model, _sample: base[model]) <= 1.06 * bound


def test_a_route_that_never_answered_is_expected_to_take_as_long_as_others() -> None:
    expected = Expected(["old", "new"], 3)
    for sample, seconds in enumerate((5, 20, 60)):
        expected.take("old", [sample], math.log(1000 * seconds))
    old, new = expected.by_model() or []
    assert list(new) == pytest.approx(list(old))
