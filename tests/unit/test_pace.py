from datetime import UTC, datetime

from workbench.client.outcome import CONSEQUENCES
from workbench.records import Attempt, CallRecord, ChatRequest, Outcome
from workbench.run.pace import Pace


def ended(outcome: Outcome = Outcome.OK, latency_ms: float = 100.0, model: str = "m") -> CallRecord:
    now = datetime.now(UTC)
    request = ChatRequest("k", b"{}", model, "s", "sk", 1, 0, 1.0, 2**20)
    consequence = CONSEQUENCES[outcome]
    attempt = Attempt(
        outcome, consequence.accepted, consequence.rerun, False, "no", "", "answered", now, now, latency_ms
    )
    return CallRecord(request, attempt, None)


def grown(limit: int = 48, calls: int = 200) -> Pace:
    pace = Pace(limit, fixed=False)
    for _ in range(calls):
        pace.ended(ended(), pace.allowed)
    return pace


def test_it_starts_low_and_grows_to_the_limit_and_never_above() -> None:
    pace = Pace(48, fixed=False)
    assert pace.allowed == 4
    seen = []
    for _ in range(200):
        pace.ended(ended(), pace.allowed)
        seen.append(pace.allowed)
    assert seen == sorted(seen)
    assert seen[43:] == [48] * 157


def test_a_low_limit_is_the_start() -> None:
    assert Pace(2, fixed=False).allowed == 2


def test_room_that_is_not_used_proves_nothing() -> None:
    pace = Pace(48, fixed=False)
    for _ in range(100):
        pace.ended(ended(), 2)
    assert pace.allowed == 4


def test_a_refusal_halves_it_once_for_all_that_was_in_flight() -> None:
    pace = grown()
    reasons = [pace.ended(ended(Outcome.RATE_LIMITED), 48) for _ in range(40)]
    assert pace.allowed == 24
    assert [reason for reason in reasons if reason] == ["rate_limited"]
    for _ in range(20):
        pace.ended(ended(Outcome.RATE_LIMITED), 24)
    assert pace.allowed == 12


def test_after_a_cut_it_grows_slowly() -> None:
    pace = grown()
    pace.ended(ended(Outcome.RATE_LIMITED), 48)
    for _ in range(24):
        pace.ended(ended(), pace.allowed)
    assert pace.allowed == 24
    for _ in range(30):
        pace.ended(ended(), pace.allowed)
    assert pace.allowed in (25, 26)


def test_inflated_latency_cuts_it_and_one_slow_answer_does_not() -> None:
    pace = grown()
    assert pace.ended(ended(latency_ms=5000), 48) is None
    assert pace.allowed == 48
    for _ in range(100):
        pace.ended(ended(latency_ms=400), pace.allowed)
    assert 20 < pace.allowed <= 40, "and what lasts becomes the usual"
    for _ in range(1000):
        pace.ended(ended(latency_ms=400), pace.allowed)
    assert pace.allowed == 48


def test_a_route_that_was_always_slow_is_not_crowded() -> None:
    pace = Pace(48, fixed=False)
    for _ in range(200):
        pace.ended(ended(model="fast"), pace.allowed)
        pace.ended(ended(model="slow", latency_ms=9000), pace.allowed)
    assert pace.allowed == 48


def test_failures_of_a_route_say_nothing_of_the_room_there_is() -> None:
    pace = grown()
    for _ in range(100):
        pace.ended(ended(Outcome.ROUTE_DOWN), 48)
    assert pace.allowed == 48


def test_it_never_falls_below_one() -> None:
    pace = Pace(8, fixed=False)
    for _ in range(1000):
        pace.ended(ended(Outcome.RATE_LIMITED), 1)
    assert pace.allowed == 1


def test_fixed_keeps_to_the_limit() -> None:
    pace = Pace(48, fixed=True)
    assert pace.allowed == 48
    assert pace.ended(ended(Outcome.RATE_LIMITED), 48) is None
    assert pace.allowed == 48
