from datetime import UTC, datetime

import pytest

from workbench.records.calls import Attempt, CallRecord, ChatRequest
from workbench.records.outcomes import Outcome
from workbench.running.pace import SHARED_WINDOW_S, START, Change, Pace


def ended(outcome: Outcome = Outcome.OK, latency_ms: float = 100.0) -> CallRecord:
    now = datetime.now(UTC)
    request = ChatRequest("k", b"{}", "m", "s", "sk", 1, 0, 1.0, 2**20)
    attempt = Attempt(outcome, "", "answered", now, now, latency_ms)
    return CallRecord(request, attempt, None)


class Run:
    """A pace whose routes have as many in flight as they may."""

    def __init__(self, limit: int = 48, routes: int = 1, *, fixed: bool = False) -> None:
        self.pace = Pace([limit] * routes, limit, fixed=fixed)
        self.routes, self.now = routes, 0.0

    def allowed(self, route: int = 0) -> int:
        return next(flying for flying in range(10_000) if not self.pace.allows(route, flying))

    def end(self, outcome: Outcome = Outcome.OK, route: int = 0, latency_ms: float = 100.0, flying: int | None = None) -> Change | None:  # fmt: skip
        flying = self.allowed(route) if flying is None else flying
        in_flight = sum(map(self.allowed, range(self.routes)))
        return self.pace.ended(route, ended(outcome, latency_ms), flying, in_flight, self.now)

    def grown(self, calls: int = 200) -> "Run":
        for _ in range(calls):
            for route in range(self.routes):
                self.end(route=route)
        return self


def test_it_starts_low_and_grows_to_the_limit_and_never_above() -> None:
    run = Run(48)
    assert run.pace.allowed == run.allowed() == START
    seen = []
    for _ in range(200):
        run.end()
        seen.append(run.pace.allowed)
    assert seen == sorted(seen)
    assert seen[43:] == [48] * 157


@pytest.mark.parametrize(("routes", "share"), [(1, 4), (2, 2), (3, 2), (9, 1)])
def test_the_routes_share_the_start(routes: int, share: int) -> None:
    run = Run(48, routes)
    assert run.pace.allowed == START
    assert [run.allowed(route) for route in range(routes)] == [share] * routes


def test_a_low_limit_is_the_start() -> None:
    assert Run(2).pace.allowed == 2


def test_room_that_is_not_used_proves_nothing() -> None:
    run = Run(48)
    for _ in range(100):
        run.pace.ended(0, ended(), 2, 2, 0)
    assert run.pace.allowed == START


def test_a_refusal_halves_it_once_for_all_that_was_in_flight() -> None:
    run = Run().grown()
    changes = [run.end(Outcome.RATE_LIMITED, flying=48) for _ in range(40)]
    assert [change for change in changes if change] == [Change("rate_limited", 0, 48, 24)]
    for _ in range(20):
        run.end(Outcome.RATE_LIMITED, flying=24)
    assert run.pace.allowed == 12


def test_after_a_cut_it_grows_slowly() -> None:
    run = Run().grown()
    run.end(Outcome.RATE_LIMITED)
    for _ in range(24):
        run.end()
    assert run.pace.allowed == 24
    for _ in range(30):
        run.end()
    assert run.pace.allowed in (25, 26)


def test_inflated_latency_cuts_it_and_one_slow_answer_does_not() -> None:
    run = Run().grown()
    assert run.end(latency_ms=5000) is None
    for _ in range(100):
        run.end(latency_ms=400)
    assert 20 < run.allowed() <= 40, "and what lasts becomes the usual"
    for _ in range(1000):
        run.end(latency_ms=400)
    assert run.allowed() == 48


def test_a_route_that_was_always_slow_is_not_crowded() -> None:
    run = Run(48, 2)
    for _ in range(200):
        run.end()
        run.end(route=1, latency_ms=9000)
    assert [run.allowed(0), run.allowed(1), run.pace.allowed] == [48, 48, 48]


@pytest.mark.parametrize("outcome", [Outcome.RATE_LIMITED, Outcome.GATEWAY_TIMEOUT])
def test_a_route_that_refuses_is_cut_alone(outcome: Outcome) -> None:
    run = Run(48, 2).grown()
    for _ in range(1000):
        run.end(outcome, route=0)
        run.end(route=1)
        run.now += 0.05
    assert (run.allowed(0), run.allowed(1)) == (1, 48)


def test_a_run_may_grow_beside_a_route_that_only_refuses() -> None:
    run = Run(48, 2)
    for _ in range(60):
        run.end(Outcome.RATE_LIMITED, route=0)
        run.end(route=1)
        run.now += 1
    assert (run.allowed(1), run.pace.allowed) == (48, 48)


def test_half_of_the_routes_in_use_refusing_at_once_cut_all() -> None:
    run = Run(48, 4).grown()
    assert run.end(Outcome.RATE_LIMITED, route=0) == Change("rate_limited", 0, 48, 24)
    run.now += 1
    assert run.end(Outcome.RATE_LIMITED, route=1) == Change("rate_limited", None, 48, 24)
    assert [run.allowed(route) for route in range(4)] == [24] * 4


@pytest.mark.parametrize(("later_s", "routes"), [(SHARED_WINDOW_S + 1, 4), (1, 5)])
def test_too_few_or_too_late_refusals_cut_nobody_else(later_s: float, routes: int) -> None:
    run = Run(48, routes).grown()
    run.end(Outcome.RATE_LIMITED, route=0)
    run.now += later_s
    for route in range(2, routes):
        run.end(route=route)
    run.end(Outcome.RATE_LIMITED, route=1)
    assert [run.allowed(route) for route in range(2, routes)] == [48] * (routes - 2)


def test_failures_of_a_route_say_nothing_of_the_room_there_is() -> None:
    run = Run().grown()
    for _ in range(100):
        run.end(Outcome.ROUTE_DOWN)
    assert run.pace.allowed == 48


def test_it_never_falls_below_one() -> None:
    run = Run(8)
    for _ in range(1000):
        run.end(Outcome.RATE_LIMITED, flying=1)
    assert run.pace.allowed == 1


def test_fixed_keeps_to_the_limit() -> None:
    run = Run(48, 2, fixed=True)
    assert run.end(Outcome.RATE_LIMITED) is None
    assert [run.allowed(0), run.allowed(1), run.pace.allowed] == [48, 48, 48]
