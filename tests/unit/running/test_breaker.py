import pytest

from workbench.records.outcomes import Outcome
from workbench.running.breaker import IN_A_ROW, MOST_TRIALS, Breaker, CallEnd


def opened() -> Breaker:
    breaker = Breaker()
    for number in range(IN_A_ROW):
        assert breaker.lets_through(IN_A_ROW - 1, 0)
        assert breaker.ended(CallEnd(Outcome.ROUTE_DOWN, 0, 0)) is (number == IN_A_ROW - 1)
    return breaker


def test_equal_failures_in_a_row_open_it() -> None:
    breaker = opened()
    assert breaker.state == "open"
    assert not breaker.lets_through(0, 29.9)
    assert breaker.lets_through(0, 30)
    assert not breaker.lets_through(1, 30), "one trial at a time"


@pytest.mark.parametrize("other", [Outcome.OK, Outcome.BAD_REQUEST, Outcome.GATEWAY_TIMEOUT, Outcome.EMPTY])
def test_another_end_in_between_begins_the_count_anew(other: Outcome) -> None:
    breaker = Breaker()
    for _ in range(3):
        for _ in range(IN_A_ROW - 1):
            breaker.ended(CallEnd(Outcome.ROUTE_DOWN, 0, 0))
        breaker.ended(CallEnd(other, 0, 0))
    assert breaker.state == "closed"


def test_refusals_of_the_account_say_nothing_of_the_route() -> None:
    breaker = Breaker()
    for _ in range(20):
        breaker.ended(CallEnd(Outcome.ALLOWANCE_SUSPECTED, 0, 0))
    assert breaker.state == "closed"


def test_a_route_that_only_refuses_is_paused_once_all_that_was_in_flight_is_back() -> None:
    breaker = Breaker()
    told = [breaker.ended(CallEnd(Outcome.RATE_LIMITED, 1, 0, flying)) for flying in range(16, 0, -1)]
    assert not any(told), "one of them may be an answer yet"
    assert breaker.ended(CallEnd(Outcome.RATE_LIMITED, 2, 1)) is True
    assert breaker.state == "open"
    crowded = Breaker()
    for now in range(100):
        for flying in range(16, 8, -1):
            crowded.ended(CallEnd(Outcome.RATE_LIMITED, now, now - 1, flying))
        crowded.ended(CallEnd(Outcome.OK, now, now - 1, 8))
    assert crowded.state == "closed"


def test_a_route_that_says_when_to_come_again_is_tried_then_and_given_up_like_any_other() -> None:
    breaker, now = Breaker(), 0.0
    for _ in range(IN_A_ROW):
        breaker.ended(CallEnd(Outcome.RATE_LIMITED, now, now, asks_for_time=True))
        breaker.hold(20, now)
    for _ in range(MOST_TRIALS):
        assert breaker.state == "open"
        assert (breaker.next_trial_at, breaker.lets_through(0, now + 19.9)) == (now + 20, False)
        now += 20
        assert breaker.lets_through(0, now)
        breaker.sent()
        breaker.ended(CallEnd(Outcome.RATE_LIMITED, now, now, asks_for_time=True))
        breaker.hold(20, now)
    assert breaker.state == "given up"


def test_an_answer_to_a_call_sent_before_the_failures_does_not_close_it() -> None:
    breaker = Breaker()
    for now in range(10, 10 + IN_A_ROW):
        breaker.ended(CallEnd(Outcome.CONNECTION_LOST, now, 1, 24))
    for _ in range(10):
        assert breaker.ended(CallEnd(Outcome.OK, 20, 2, 5)) is False
    assert (breaker.state, breaker.lets_through(0, 21)) == ("open", False)
    assert breaker.ended(CallEnd(Outcome.OK, 22, 15, 5)) is True, "it was sent after the last failure"


def test_a_route_that_has_shown_nothing_but_failures_gets_few_calls() -> None:
    breaker = Breaker()
    assert breaker.lets_through(40, 0), "nothing is known yet"
    breaker.ended(CallEnd(Outcome.ROUTE_DOWN, 0, 0))
    assert not breaker.lets_through(IN_A_ROW, 0)
    assert breaker.lets_through(IN_A_ROW - 1, 0)
    breaker.ended(CallEnd(Outcome.OK, 1, 0))
    breaker.ended(CallEnd(Outcome.ROUTE_DOWN, 2, 0))
    assert breaker.lets_through(40, 2)


def test_it_knows_since_when_a_route_fails() -> None:
    breaker = Breaker()
    for now, outcome in enumerate((Outcome.ROUTE_DOWN, Outcome.OK, Outcome.ROUTE_DOWN, Outcome.NULL_BODY)):
        breaker.ended(CallEnd(outcome, now, now))
    assert breaker.failing_since == 3
    for now in range(4, 4 + IN_A_ROW):
        breaker.ended(CallEnd(Outcome.NULL_BODY, now, now))
    assert (breaker.state, breaker.failing_since) == ("open", 3)
    breaker.ended(CallEnd(Outcome.OK, 99, 99))
    assert breaker.failing_since is None


def test_a_route_is_left_alone_for_as_long_as_it_asks() -> None:
    breaker = Breaker()
    assert breaker.hold(20, now=100) is True
    assert breaker.hold(5, now=101) is False
    assert not breaker.lets_through(0, 119.9)
    assert breaker.lets_through(0, 120)
    assert not breaker.lets_through(1, 120), "one trial at a time"
    breaker.ended(CallEnd(Outcome.RATE_LIMITED, 121, 121, asks_for_time=True))
    assert not breaker.lets_through(1, 121)
    breaker.ended(CallEnd(Outcome.OK, 122, 122))
    assert breaker.lets_through(7, 122)


def test_a_route_that_asks_to_be_left_alone_for_ever_is_given_up() -> None:
    breaker, now = Breaker(), 0.0
    told = []
    while breaker.state != "given up":
        told.append(breaker.hold(60, now))
        breaker.hold(60, now + 1)  # another that was in flight
        now = breaker.held_until
    assert told[0] is told[-1] is True
    assert sum(told) == 2, "of the first and of the last there is something to say"
    assert 900 < now < 1100
    patient = Breaker()
    for day in range(100):
        patient.hold(60, day * 86_400)
        patient.ended(CallEnd(Outcome.OK, day * 86_400 + 60, day * 86_400 + 60))
    assert patient.state == "closed"


def test_one_that_is_given_up_stays_so() -> None:
    breaker = Breaker()
    assert [breaker.give_up(), breaker.give_up()] == [True, False]
    assert breaker.ended(CallEnd(Outcome.OK, 1, 1)) is False
    assert not breaker.lets_through(0, 1e9)


def test_a_trial_that_succeeds_closes_it_and_the_next_rest_is_short_again() -> None:
    breaker = opened()
    breaker.sent()
    assert breaker.ended(CallEnd(Outcome.ROUTE_DOWN, 31, 31)) is True, "there is a next trial to be named"
    assert not breaker.lets_through(0, 31 + 59)
    assert breaker.lets_through(0, 31 + 60)
    assert breaker.ended(CallEnd(Outcome.OK, 100, 100)) is True
    assert breaker.state == "closed"
    for _ in range(IN_A_ROW):
        breaker.ended(CallEnd(Outcome.ROUTE_DOWN, 200, 200))
    assert breaker.again_at == 230


def test_what_was_in_flight_when_it_opened_is_no_trial() -> None:
    breaker = opened()
    for moment in (1, 31, 95, 220):
        assert breaker.ended(CallEnd(Outcome.ROUTE_DOWN, moment, moment)) is False
    assert (breaker.state, breaker.again_at) == ("open", 30)


def test_after_some_failed_trials_it_is_given_up() -> None:
    breaker = opened()
    now = 0.0
    for number in range(MOST_TRIALS):
        now = breaker.again_at
        assert breaker.lets_through(0, now)
        breaker.sent()
        assert breaker.ended(CallEnd(Outcome.ROUTE_DOWN, now, now)) is True
        assert (breaker.state == "given up") is (number == MOST_TRIALS - 1)
    assert breaker.state == "given up"
    assert not breaker.lets_through(0, now + 1e9)
