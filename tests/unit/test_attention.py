from typing import Any

from workbench.evaluation.attention import NEWEST_CALLS, routes_that_need_attention, told_apart

RECENT: dict[str, Any] = {
    "model": "m", "newest_calls": 50, "newest_failed": 0, "newest_failure": None, "newest_answers": 50, "earlier_answers": 100,
    "newest_p50_ms": 100.0, "earlier_p50_ms": 100.0,
}  # fmt: skip
ROUTE: dict[str, Any] = {
    "model": "m",
    "tools_forced": 0,
    "forced_and_called": 0,
    "calls_without_usage": 0,
    "answers": 100,
}


def served(requested: str, name: str | None, answers: int = 10, *, preset: bool = False) -> dict[str, Any]:
    return {"requested_model": requested, "served_model": name, "answers": answers, "preset": preset}


def kinds(
    route: dict[str, Any] | None = None,
    recent: dict[str, Any] | None = None,
    matrix: list[dict[str, Any]] | None = None,
) -> list[str]:
    found = routes_that_need_attention([ROUTE | (route or {})], [RECENT | (recent or {})], matrix or [served("m", "m")])
    return [item.kind for item in found]


def test_a_quiet_route_needs_none() -> None:
    assert kinds() == []


def test_thresholds() -> None:
    assert kinds(recent={"newest_failed": 2, "newest_failure": "route_down"}) == []
    assert kinds(recent={"newest_failed": 3, "newest_failure": "route_down"}) == ["failing"]
    assert kinds(recent={"newest_p50_ms": 150.0}) == []
    assert kinds(recent={"newest_p50_ms": 151.0}) == ["slower"]
    assert kinds(recent={"newest_p50_ms": 900.0, "earlier_answers": 9}) == []
    assert kinds(recent={"newest_p50_ms": None}) == []
    assert kinds({"tools_forced": 20, "forced_and_called": 19}) == []
    assert kinds({"tools_forced": 20, "forced_and_called": 18}) == ["no tool call"]
    assert kinds({"calls_without_usage": 5}) == []
    assert kinds({"calls_without_usage": 6}) == ["no usage"]


def test_the_worst_comes_first() -> None:
    found = kinds(
        {"calls_without_usage": 50}, {"newest_failed": NEWEST_CALLS, "newest_failure": "x"}, [served("m", "n")]
    )
    assert found == ["failing", "no usage"]  # one name for all is this platform's way
    assert kinds(matrix=[served("m", "m"), served("m", "n", 1)]) == ["other name"]


def test_how_a_platform_names_its_routes_is_told_from_a_fallback() -> None:
    assert told_apart([served("a", "lab/a"), served("b", "lab/b")]) == []
    assert told_apart([served("a", "lab/a"), served("b", "lab/b"), served("b", "lab/a", 2)]) == [
        served("b", "lab/a", 2)
    ]
    assert told_apart([served("a", "a"), served("b", "lab/b")]) == [served("b", "lab/b")]
    assert told_apart([served("a", "b"), served("b", "lab/b")]) == [served("a", "b")]
    assert told_apart([served("a", None)]) == []


def test_a_preset_answers_as_the_model_it_is_made_of() -> None:
    rows = [served("a", "a"), served("tutor", "a", preset=True), served("tutor", "b", 1, preset=True)]
    assert told_apart(rows) == rows[2:]
