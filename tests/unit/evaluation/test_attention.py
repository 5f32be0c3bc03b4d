from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec

from workbench.evaluation.attention import NEWEST_CALLS, fallbacks, routes_that_need_attention, unconfirmed
from workbench.ledger.route_rows import RouteRecent, RouteServed, RouteSubstitute

AT = datetime(2026, 11, 26, 23, 30, tzinfo=UTC)
EARLIER = AT - timedelta(days=2)
RECENT = RouteRecent(
    "m",
    AT,
    50,
    0,
    None,
    EARLIER,
    AT,
    100,
    100.0,
    EARLIER,
    AT,
    100,
    100.0,
    EARLIER,
    AT,
    0,
    EARLIER,
    AT,
    0,
    0,
    EARLIER,
    AT,
)


def served(requested: str, name: str | None, answers: int = 10, identity: str = "as_requested") -> RouteServed:
    return RouteServed(requested, name, answers, identity, None, False, AT, AT)


def by_another(identity: str, day: int = 26, answers: int = 1) -> RouteSubstitute:
    return RouteSubstitute("m", "n", identity, "why", date(2026, 11, day), answers, AT, AT, ["r1"])


def kinds(recent: dict[str, Any] | None = None, others: list[RouteSubstitute] | None = None) -> list[str]:
    newest = msgspec.structs.replace(RECENT, **(recent or {}))
    return [item.kind for item in routes_that_need_attention([newest], others or [], "UTC")]


def test_a_quiet_route_needs_none() -> None:
    assert kinds() == []


def test_thresholds() -> None:
    assert kinds({"newest_failed": 2, "newest_failure": "route_down"}) == []
    assert kinds({"newest_failed": 3, "newest_failure": "route_down"}) == ["failing"]
    assert kinds({"now_p50_ms": 150.0}) == []
    assert kinds({"now_p50_ms": 151.0}) == ["slower"]
    assert kinds({"now_p50_ms": 900.0, "earlier_answers": 9}) == []
    assert kinds({"now_p50_ms": None}) == []
    assert kinds({"tools_forced": 20, "forced_and_called": 19}) == []
    assert kinds({"tools_forced": 20, "forced_and_called": 18}) == ["no tool call"]
    assert kinds({"calls_without_usage": 5}) == []
    assert kinds({"calls_without_usage": 6}) == ["no usage"]


def test_the_worst_comes_first() -> None:
    found = kinds(
        {"calls_without_usage": 50, "newest_failed": NEWEST_CALLS, "newest_failure": "x"}, [by_another("suspected")]
    )
    assert found == ["failing", "suspected", "no usage"]


def test_every_reason_has_its_days_in_the_zone_of_the_account() -> None:
    row = msgspec.structs.replace(
        RECENT, newest_failed=9, newest_failure="x", now_p50_ms=900.0, calls_without_usage=9, tools_forced=9
    )
    others = [by_another("suspected", 24, 3), by_another("fallback", 25, 4)]
    found = routes_that_need_attention([row], others, "Europe/Berlin")
    assert {item.kind: (item.first_day.day, item.last_day.day) for item in found} == {
        "failing": (25, 27), "fallback": (24, 25), "slower": (25, 27), "no tool call": (25, 27), "no usage": (25, 27),
    }  # fmt: skip
    assert [(item.part, item.whole) for item in found if item.kind == "fallback"] == [(7, 100)]


def test_only_identities_tell_a_fallback_however_frequent_a_name_is() -> None:
    other, alias = served("b", "lab/a", 90, "fallback"), served("tutor", "a", 5, "known_alias")
    odd, silent = served("a", "lab/a", 70, "unknown"), served("a", None, 3, "unknown")
    rows = [served("a", "a"), odd, silent, alias, other]
    assert fallbacks(rows) == [other]
    assert unconfirmed(rows) == [odd]
