from datetime import UTC, datetime
from typing import Any

import msgspec

from workbench.evaluation.attention import NEWEST_CALLS, fallbacks, routes_that_need_attention, unconfirmed
from workbench.ledger.route_rows import RouteRecent, RouteServed, RouteTotals

AT = datetime(2026, 11, 26, tzinfo=UTC)
RECENT = RouteRecent("m", 50, 0, None, 50, 100, 100.0, 100.0, AT, AT, AT)
ROUTE = RouteTotals("m", 100, 100, 100, 0, 0, 1.0, 1.0, 0, 0.0, 1.0, 1.0, 1.0, 0.0, 0, 0, 0, 0, 0, 1, None, AT, AT, AT)


def served(requested: str, name: str | None, answers: int = 10, identity: str = "as_requested") -> RouteServed:
    return RouteServed(requested, name, answers, identity, None, False, AT, AT)


def kinds(
    route: dict[str, Any] | None = None,
    recent: dict[str, Any] | None = None,
    matrix: list[RouteServed] | None = None,
) -> list[str]:
    totals, newest = msgspec.structs.replace(ROUTE, **(route or {})), msgspec.structs.replace(RECENT, **(recent or {}))
    found = routes_that_need_attention([totals], [newest], matrix or [served("m", "m")])
    return [item.kind for item in found]


def test_a_quiet_route_needs_none() -> None:
    assert kinds() == []


def test_thresholds() -> None:
    assert kinds(recent={"newest_failed": 2, "newest_failure": "route_down"}) == []
    assert kinds(recent={"newest_failed": 3, "newest_failure": "route_down"}) == ["failing"]
    assert kinds(recent={"now_p50_ms": 150.0}) == []
    assert kinds(recent={"now_p50_ms": 151.0}) == ["slower"]
    assert kinds(recent={"now_p50_ms": 900.0, "earlier_answers": 9}) == []
    assert kinds(recent={"now_p50_ms": None}) == []
    assert kinds({"tools_forced": 20, "forced_and_called": 19}) == []
    assert kinds({"tools_forced": 20, "forced_and_called": 18}) == ["no tool call"]
    assert kinds({"calls_without_usage": 5}) == []
    assert kinds({"calls_without_usage": 6}) == ["no usage"]


def test_the_worst_comes_first() -> None:
    found = kinds(
        {"calls_without_usage": 50},
        {"newest_failed": NEWEST_CALLS, "newest_failure": "x"},
        [served("m", "n", identity="unknown")],
    )
    assert found == ["failing", "no usage"]  # a name that the list does not have may be the model's own
    assert kinds(matrix=[served("m", "m"), served("m", "n", 1, "fallback")]) == ["fallback"]


def test_only_identities_tell_a_fallback_however_frequent_a_name_is() -> None:
    other, alias = served("b", "lab/a", 90, "fallback"), served("tutor", "a", 5, "known_alias")
    odd, silent = served("a", "lab/a", 70, "unknown"), served("a", None, 3, "unknown")
    rows = [served("a", "a"), odd, silent, alias, other]
    assert fallbacks(rows) == [other]
    assert unconfirmed(rows) == [odd]
