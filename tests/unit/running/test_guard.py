from datetime import UTC, datetime

from workbench.job.file import BudgetTable, RunTable
from workbench.planning.models import reserve_of
from workbench.records.calls import Attempt, CallRecord, ChatRequest, Completion, Usage
from workbench.records.outcomes import Outcome
from workbench.running.caps import Caps
from workbench.running.guard import Guard

BODY, CAP = b"x" * 90, 10


def request(number: int) -> ChatRequest:
    return ChatRequest(f"k{number}", BODY, "m", "s", "sk", 1, 0, 1.0, 2**20)


def answered(number: int, total_tokens: int) -> CallRecord:
    now = datetime.now(UTC)
    attempt = Attempt(Outcome.OK, "", "answered", now, now, 1.0)
    usage = Usage(total_tokens=total_tokens)
    return CallRecord(request(number), attempt, Completion("a", None, (), "stop", "m", usage))


def test_a_route_that_uses_more_than_its_cap_is_learnt_from() -> None:
    budget, used, sent = 5_000, 0, 0
    guard = Guard(BudgetTable(total_tokens=budget), RunTable(), Caps())
    assert reserve_of(len(BODY), CAP) == 100
    while guard.reserve(request(sent), CAP) is None:
        guard.settle(answered(sent, 900), CAP)
        sent, used = sent + 1, used + 900
    assert sent == 5
    assert used <= budget, "nine times the reserve is known after one answer"


def test_what_was_reserved_is_what_is_freed() -> None:
    guard = Guard(BudgetTable(total_tokens=10_000), RunTable(), Caps())
    for number in range(4):
        assert guard.reserve(request(number), CAP) is None
    for number in range(4):
        guard.settle(answered(number, 300), CAP)
    assert not guard.has_reserves
    assert guard.overrun() is None


def test_a_call_that_reports_nothing_counts_as_often_as_the_gateway_may_have_tried() -> None:
    guard = Guard(BudgetTable(total_tokens=1_000), RunTable(), Caps())
    now = datetime.now(UTC)
    lost = Attempt(Outcome.GATEWAY_TIMEOUT, "", "answered", now, now, 1.0)
    assert guard.reserve(request(0), CAP) is None
    guard.settle(CallRecord(request(0), lost, None), CAP)
    assert guard.nearest_limit_text() == "30% of 1\u202f000 tokens of this run"
