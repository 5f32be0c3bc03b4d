"""Who gave an answer: from the answer's own words, the model list and what the account confirms, and what counts of it."""

from typing import Any

import pytest

import workbench as wb
from tests.compared_runs import record
from tests.conftest import Workbench
from tests.pages import Page, as_shown

LISTED = {"tutor": "base"}
SERVED = {"tutor": "base", "gone": "base", "odd": "odd-70b"}
VALUES = {"base": [1.0] * 12, "tutor": [1.0] * 12, "gone": [1.0] * 9 + [0.0] * 3, "odd": [0.0] * 12}


@pytest.fixture
def recorded(bench: Workbench) -> Workbench:
    record(bench, "r1", VALUES, served=SERVED, listed=LISTED, limits=dict.fromkeys(VALUES, "8 in flight"))
    return bench


def identities(bench: Workbench) -> dict[str, tuple[str, str]]:
    frame = wb.open(folder=bench.folder).answers()
    found = frame.drop_duplicates("requested_model")
    return {
        row["requested_model"]: (row["identity"], row["identity_evidence"]) for row in found.to_dict(orient="records")
    }


def scores(bench: Workbench) -> dict[str, dict[str, Any]]:
    return {row["model"]: row for row in bench.json("show", "last")["scores"]}


def test_identity_is_a_column_with_its_evidence(recorded: Workbench) -> None:
    assert identities(recorded) == {
        "base": ("as_requested", "names itself"),
        "tutor": ("known_alias", "base in the model list"),
        "gone": ("fallback", "another model of the list"),
        "odd": ("unknown", "not in the model list"),
    }
    calls = recorded("show", "last", "--calls", "--json").stdout
    assert '"identity": "fallback"' in calls or '"identity":"fallback"' in calls
    frames = wb.open(folder=recorded.folder)
    assert set(frames.calls()["identity"]) == {"as_requested", "known_alias", "fallback", "unknown"}
    assert frames.scores().groupby("requested_model")["counts"].all().to_dict() == {
        "base": True, "tutor": True, "gone": False, "odd": True,
    }  # fmt: skip


def test_only_a_fallback_is_left_out_and_the_page_says_within_which_bounds(recorded: Workbench) -> None:
    found = scores(recorded)
    assert {model: row["scored"] for model, row in found.items()} == {"base": 12, "tutor": 12, "gone": 0, "odd": 12}
    assert (found["gone"]["left_out"], found["gone"]["samples_left_out"]) == (12, 12)
    page = Page(recorded.json("report", "last")["report"])
    assert "All 12 answers of gone came from base and do not count." in page.text
    assert "only a fallback answered" in page.text
    assert "base and tutor tie for best" in page.text
    assert f"confirm it: workbench routes confirm --ledger {as_shown(recorded.ledger)} odd odd-70b" in page.text
    page.check(recorded.ledger)


def test_bounds_hold_what_all_left_out_could_change(bench: Workbench) -> None:
    record(bench, "r1", {"m": [1.0, 1.0, 0.0, 1.0], "n": [1.0] * 4}, served_by={("m", 3): "n"})
    assert scores(bench)["m"]["mean"] == pytest.approx(2 / 3)
    text = Page(bench.json("report", "last")["report"]).text
    assert "0.500 to 0.750" in text
    assert "4 samples; 0.667 of the 3 scored" in text


@pytest.mark.slow
def test_a_job_may_accept_fallbacks(bench: Workbench) -> None:
    record(bench, "r1", VALUES, served=SERVED, listed=LISTED, on_fallback="accept")
    assert scores(bench)["gone"]["mean"] == 0.75
    assert "count all the same" in Page(bench.json("report", "last")["report"]).text
    assert bench.json("compare", "--no-report")["on_fallback"] == "accept"
    assert bench.json("compare", "--no-report", "--on-fallback", "exclude")["on_fallback"] == "exclude"


def test_a_confirmed_name_is_the_model_itself_and_any_other_is_not(recorded: Workbench) -> None:
    recorded.write(
        "workbench.toml", '[routes."odd"]\nserved_as = ["odd-70b", "odd-70b-2"]\n[routes.gone]\nserved_as = "gone-8b"\n'
    )
    found = identities(recorded)
    assert found["odd"] == ("known_alias", "confirmed in the settings")
    assert found["gone"] == ("fallback", "another model of the list")
    recorded.write("workbench.toml", '[routes.odd]\nserved_as = "odd-8b"\n[routes.other]\nserved_as = "base"\n')
    assert identities(recorded)["odd"] == ("fallback", "not the confirmed name")
    assert scores(recorded)["odd"]["scored"] == 0
    recorded.write("workbench.toml", '[routes.base]\nserved_as = "odd-70b"\n')
    assert identities(recorded)["odd"] == ("fallback", "confirmed name of another model")


@pytest.mark.slow
def test_a_long_outage_does_not_become_the_norm(bench: Workbench) -> None:
    for number in range(1, 4):
        record(bench, f"r{number}", {"base": [1.0] * 5, "gone": [1.0] * 5}, served={"gone": "base"})
    assert identities(bench)["gone"][0] == "fallback"
    routes = Page(bench.folder / "reports" / "routes.html") if bench.json("report") else None
    assert routes is not None
    assert "15 of its 15 answers are of base" in routes.text
