from datetime import UTC, datetime

import pytest

from workbench.planning.models import PlannedModel
from workbench.records.calls import Attempt, CallRecord, ChatRequest
from workbench.records.outcomes import Outcome
from workbench.running.ghosts import Ghosts

WORST_S = 375.0
MODELS = (PlannedModel("m", {}, 8, WORST_S, 2**20, None), PlannedModel("other", {}, 8, 900.0, 2**20, None))


def ended(outcome: Outcome, after_s: float) -> CallRecord:
    now = datetime.now(UTC)
    attempt = Attempt(outcome, "", "maybe", now, now, after_s * 1000)
    return CallRecord(ChatRequest("k", b"{}", "m", "s", "sk", 1, 0, WORST_S, 2**20), attempt)


def ghosts(*latencies_ms: float, fixed_s: float | None = None) -> Ghosts:
    return Ghosts(MODELS, [latencies_ms, ()], fixed_s)


def test_with_few_answers_the_gateways_worst_case_is_waited_for() -> None:
    known = ghosts(*[100.0] * 49)
    assert known.cut_off_s(0) == WORST_S
    known.answered(0, 100.0)
    assert (known.cut_off_s(0), known.cut_off_s(1)) == (30.0, 900.0)


@pytest.mark.parametrize(("longest_ms", "seconds"), [(1_000, 30), (20_000, 40), (300_000, WORST_S)])
def test_twice_the_longest_of_the_newest_answers(longest_ms: float, seconds: float) -> None:
    known = ghosts(longest_ms, *[100.0] * 99)
    assert known.cut_off_s(0) == seconds
    for _ in range(900):
        known.answered(0, 100.0)
    assert known.cut_off_s(0) == seconds
    known.answered(0, 16_000.0)
    assert known.cut_off_s(0) == 32, "the longest is none of the newest thousand any more"


@pytest.mark.parametrize(
    ("outcome", "after_s", "seconds"),
    [
        (Outcome.CLIENT_TIMEOUT, WORST_S, WORST_S),
        (Outcome.GATEWAY_UNREACHABLE, 60, WORST_S - 60),
        (Outcome.CANCELLED, 10, 20),
        (Outcome.CANCELLED, 90, 0),
    ],
)
def test_what_ended_without_the_gateways_word(outcome: Outcome, after_s: float, seconds: float) -> None:
    known = ghosts(*[1_000.0] * 60)
    assert known.kept_s(0, ended(outcome, after_s)) == pytest.approx(seconds)
    assert ghosts(fixed_s=7).kept_s(0, ended(outcome, after_s)) == 7
