from datetime import UTC, date, datetime

import msgspec

from workbench.ledger.route_rows import RouteDay, RouteSubstitute
from workbench.ledger.usage_rows import LedgerPeriod
from workbench.routes.days import MOST_DAYS, outages, recent_days, strips

LAST_AT = datetime(2026, 11, 15, 23, 30, tzinfo=UTC)
PERIOD = LedgerPeriod(1, datetime(2026, 11, 6, 12, tzinfo=UTC), LAST_AT, None, 1, None, 1, False)


def day(number: int, calls: int, not_accepted: int, again: int | None = None, model: str = "m") -> RouteDay:
    accepted_again = None if again is None else date(2026, 11, again)
    return RouteDay(model, date(2026, 11, number), calls, not_accepted, calls - not_accepted, accepted_again)


def test_seven_days_begin_at_midnight_of_the_account() -> None:
    utc, berlin = recent_days(PERIOD, "UTC"), recent_days(PERIOD, "Europe/Berlin")
    assert utc is not None
    assert berlin is not None
    assert (utc.first_day, utc.last_day, utc.since) == (
        date(2026, 11, 9), date(2026, 11, 15), datetime(2026, 11, 9, tzinfo=UTC),
    )  # fmt: skip
    assert (berlin.last_day, berlin.since) == (date(2026, 11, 16), datetime(2026, 11, 9, 23, tzinfo=UTC))
    assert recent_days(msgspec.structs.replace(PERIOD, first_at=None, last_at=None), "UTC") is None


def test_strips_begin_with_the_period_and_are_no_longer_than_what_is_shown() -> None:
    assert (recent := recent_days(PERIOD, "UTC"))
    assert recent.shown_from == date(2026, 11, 6)
    long = recent_days(msgspec.structs.replace(PERIOD, first_at=datetime(2020, 1, 1, tzinfo=UTC)), "UTC")
    assert long is not None
    assert [len(strip.days) for strip in strips(["m", "n"], [], [], long)] == [MOST_DAYS] * 2


def test_a_day_is_the_worst_that_it_shows() -> None:
    recent = recent_days(PERIOD, "UTC")
    assert recent is not None
    rows = [day(6, 20, 1), day(7, 20, 2), day(8, 3, 3), day(9, 20, 0), day(10, 20, 2)]
    others = [
        RouteSubstitute("m", name, "fallback", "why", date(2026, 11, number), 1, LAST_AT, LAST_AT, [])
        for name, number in (("a", 9), ("b", 9), ("a", 10))
    ]
    (strip,) = strips(["m"], rows, others, recent)
    assert [one.state for one in strip.days] == ["ok", "failed", "failed", "fallback", "failed", *["no call"] * 5]
    assert strip.days[3].substituted == 2


def test_an_outage_lasts_until_a_call_is_accepted() -> None:
    rows = [day(1, 4, 4, 5), day(3, 4, 4, 5), day(5, 9, 1), day(6, 4, 4, 7), day(7, 9, 0), day(9, 2, 2)]
    found = [(one.first_day.day, one.last_day.day, one.calls, one.accepted_again) for one in outages(rows)]
    assert found == [(9, 9, 2, None), (1, 3, 8, date(2026, 11, 5))], "four failed calls between others are none"
