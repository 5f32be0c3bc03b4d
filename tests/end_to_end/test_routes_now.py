"""How routes are now, apart from how they were earlier: the same on the terminal, as JSON and on the page."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.compared_runs import one_journal, record
from tests.conftest import Workbench
from tests.pages import Page
from workbench.records.outcomes import Outcome


def asked(
    bench: Workbench, hour: int, *models: str, dead: str = "", ended: Outcome = Outcome.ROUTE_DOWN, **more: Any
) -> None:
    """A run of six samples for each model; one of them may be down, or end otherwise."""
    values: dict[str, list[float | None]] = {model: [None if model == dead else 1.0] * 6 for model in models}
    down = {(dead, sample): ended for sample in range(6)} if dead else {}
    record(bench, f"r{hour}", values, outcomes=down, **more)


def three_weeks(bench: Workbench) -> None:
    """From 20 Nov: `gone` is answered by `base` on two days, `frail` is down on one, and `old` is asked on two."""
    bench.write("workbench.toml", "")
    with one_journal(bench) as journal:
        for day in range(20):
            old = ["old"] if day < 2 else []
            served, dead = {"gone": "base"} if day in (3, 4) else {}, "frail" if day == 6 else ""
            asked(bench, 24 * day, "base", "gone", "frail", *old, dead=dead, served=served, journal=journal)


def states(found: dict[str, Any]) -> dict[str, str]:
    return {route["model"]: route["state"] for route in found["routes"]}


def routes_page(bench: Workbench) -> Page:
    return Page(Path(bench.json("report")["report"]).with_name("routes.html"))


@pytest.mark.slow
def test_what_is_over_stands_apart_with_its_dates_and_runs(bench: Workbench, monkeypatch: Any) -> None:
    monkeypatch.setenv("WORKBENCH_NOW", "2026-12-10T00:00Z")
    three_weeks(bench)
    found = bench.json("routes", "status")
    assert found["verdict"] == (
        "3 routes asked in the 7 days to 9 Dec: 3 fine. Not asked in these days: old (last on 21 Nov)."
    )
    assert (found["attention"], states(found)["old"]) == ([], "not asked")
    assert [(one["model"], one["says"]) for one in found["earlier"]] == [
        ("frail", "dead on 26 Nov, 6 failed calls; answers again since 27 Nov"),
        ("gone", "answered by base on 23–24 Nov, 12 answers"),
    ]
    shown = bench("routes")
    assert shown.stdout.splitlines()[0] == found["verdict"]
    assert "earlier: gone: answered by base on 23–24 Nov, 12 answers, runs r96, r72" in shown.stderr
    page = routes_page(bench)
    assert found["verdict"] in page.text
    assert "Needs attention" not in page.text
    assert "answered by base on 23–24 Nov, 12 answers, runs <code>r96</code>, <code>r72</code>" in page.text
    page.check(bench.ledger)


@pytest.mark.slow
def test_what_needs_attention_has_its_days(bench: Workbench, monkeypatch: Any) -> None:
    monkeypatch.setenv("WORKBENCH_NOW", "2026-12-10T00:00Z")
    three_weeks(bench)
    asked(bench, 24 * 20, "base", "gone", "frail", dead="frail", served={"gone": "base"})
    for hour in (24 * 20 + 1, 24 * 21):
        asked(bench, hour, "frail", dead="frail")
    found = bench.json("routes", "status")
    assert states(found) == {"frail": "to look at", "gone": "substituted", "base": "fine", "old": "not asked"}
    said = bench("routes").stderr
    assert "failing: frail: 18 of its newest 48 calls failed, most often route down (10–11 Dec)" in said
    assert "fallback: gone: 6 of its 36 answers are of base (10 Dec)" in said
    assert "fallback: gone: 6 of its 36 answers are of base (10 Dec)".split(": ", 2)[2] in routes_page(bench).text


def test_an_outage_that_lasts_is_dead_now_and_earlier_once_nobody_asks(bench: Workbench) -> None:
    asked(bench, 0, "base", "frail")
    asked(bench, 24, "base", "frail", dead="frail")
    asked(bench, 72, "frail", dead="frail")
    found = bench.json("routes", "status")
    assert states(found) == {"frail": "to look at", "base": "fine"}
    assert not found["earlier"], "it has not answered since"
    asked(bench, 24 * 30, "base")
    found = bench.json("routes", "status")
    assert states(found) == {"frail": "not asked", "base": "fine"}
    assert [(one["calls"], one["accepted_again"]) for one in found["earlier"]] == [(12, None)]


def test_an_allowance_that_is_used_up_is_no_fault_of_a_route(bench: Workbench, monkeypatch: Any) -> None:
    monkeypatch.setenv("WORKBENCH_NOW", "2026-11-22T00:00Z")
    bench.write("workbench.toml", "")
    for hour in range(4):
        asked(bench, hour, "base", "other", dead="other" if hour else "", ended=Outcome.ALLOWANCE_RESERVED)
    assert states(bench.json("routes", "status")) == {"base": "fine", "other": "fine"}


def test_days_are_those_of_the_account(bench: Workbench) -> None:
    """In Kathmandu, 5 h 45 min ahead, the runs of 18:00 and 19:00 UTC are on two days."""
    bench.write("workbench.toml", '[account]\ntime_zone = "Asia/Kathmandu"\n')
    asked(bench, 16, "m", "n")
    asked(bench, 17, "m", "n", served={"n": "m"}, dead="m")
    found = bench.json("routes", "status")
    assert {model: [(one["day"], one["state"]) for one in days] for model, days in found["strips"].items()} == {
        "m": [("2026-11-20", "ok"), ("2026-11-21", "failed")],
        "n": [("2026-11-20", "ok"), ("2026-11-21", "fallback")],
    }
    assert [one["first_day"] for one in found["attention"]] == ["2026-11-21"] * 2
    asked(bench, 18, "m", "n", served={"n": "m"}, dead="m")
    asked(bench, 24 * 6, "m", "n")
    worst = routes_page(bench).text.partition('<table id="worst"')[2].partition("</table>")[0]
    assert "day (Asia/Kathmandu)" in worst
    assert re.findall(r"<td>(failures|fallbacks)</td><td>([^<]*)</td><td>([^<]*)</td>", worst) == [
        ("failures", "2026-11-21", "100 % of 12 calls (50 % over all)"),
        ("fallbacks", "2026-11-21", "100 % of 12 answers (50 % over all)"),
    ]


def test_without_a_call_in_seven_days_the_verdict_says_so(bench: Workbench, monkeypatch: Any) -> None:
    monkeypatch.setenv("WORKBENCH_NOW", "2026-12-20T00:00Z")
    asked(bench, 0, "a", "b", served={"b": "a"})
    record(bench, "r480", {})
    found = bench.json("routes", "status")
    assert found["verdict"] == "No route was asked in the 7 days to 10 Dec. Last asked: a (20 Nov) and b (20 Nov)."
    assert not found["attention"]
    assert [one["says"] for one in found["earlier"]] == ["answered by a on 20 Nov, 6 answers"]


@pytest.mark.slow
def test_the_matrix_has_what_others_answered_and_a_sentence_where_nothing_is(bench: Workbench) -> None:
    record(bench, "r1", {"base": [1.0] * 6, "tutor": [1.0] * 6}, served={"tutor": "base"}, listed={"tutor": "base"})
    text = routes_page(bench).text
    assert 'id="answered"' not in text, "an alias is the route itself"
    assert "No answer is known to be another model’s" in text
    asked(bench, 24, "base", "gone", served={"gone": "base"})
    page = routes_page(bench)
    row = page.text.split('id="answered"')[1].split("<tbody>")[1].split("</table>")[0]
    assert '<b class="wasted">6</b> (100 %)' in row
    assert '<a href="r24.html">r24</a>' in row
    assert "tutor" not in row
    assert "gone</bdi></b>: all 6 answers (21 Nov" in page.text
    assert "tutor</bdi></b>: all 6 answers (20 Nov" in page.text
    page.check(bench.ledger)
