"""Who gave an answer: from the answer's own words, the model list and what the account confirms, and what counts of it."""

import re
from typing import Any

import pytest

import workbench as wb
from tests.compared_runs import record
from tests.conftest import Workbench
from tests.pages import Page, as_shown
from workbench.evaluation.gates import gate_findings
from workbench.evaluation.run_figures import run_findings
from workbench.job.file import GatesTable
from workbench.ledger.queries import reading
from workbench.ledger.run_rows import RunItems

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
    assert '0.667<br><small class="soft keep">of 3</small>' in text


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
    assert "<i>never by itself</i>" in routes.text
    assert "never by itself" in bench("routes").stdout


def asked(bench: Workbench, run_id: str, served: dict[str, dict[int, str]], **more: Any) -> None:
    """A run of 36 samples for each model, whose answers carry its own name but where another is given by sample."""
    values = {model: [1.0] * 36 for model in served}
    names = {(model, sample): name for model, found in served.items() for sample, name in found.items()}
    record(bench, run_id, values, served_by=names, scorers=["exact"], **more)


def verdicts(bench: Workbench, run_id: str, **gates: Any) -> dict[str, str]:
    with reading(bench.ledger) as reader:
        found, items = run_findings(reader, run_id), reader.all(RunItems, run_id=run_id)
        return {
            f"{one.gate} {one.model or ''}".strip(): one.result
            for one in gate_findings(reader, found, items, GatesTable(**gates))
        }


ALWAYS = dict.fromkeys(range(36), "lab/tools")
REPLAYED: dict[str, dict[int, str]] = {
    # as a real gateway answers: under the id that was asked, and a fallback under the name that its model server has for it
    "echo": {}, "prose": {}, "reasoner": {}, "tools": {}, "Qwen3 Coder [fast]": {}, "vendor/model-x:free": {},
    "sometimes": {sample: "lab/reason" for sample in range(12)},
}  # fmt: skip


@pytest.mark.slow
def test_a_real_gateway_s_fallbacks_are_found_and_nothing_else(bench: Workbench) -> None:
    asked(bench, "r1", REPLAYED, on_fallback="fail")
    with reading(bench.ledger) as reader:
        suspects = {row.model: row.suspected for row in reader.all(RunItems, run_id="r1")}
    assert suspects == dict.fromkeys(REPLAYED, 0) | {"sometimes": 12}
    assert verdicts(bench, "r1", max_fallback_share=0.03) == {
        "max_fallback_share": "cannot tell", "on_fallback sometimes": "cannot tell",
    }  # fmt: skip
    said = bench("show", "r1").stdout
    assert (
        "12 answers of sometimes came as lab/reason, not its name, which it has given: probably another model's" in said
    )
    page = Page(bench.json("report", "r1")["report"]).text
    assert "12 of 36 answers of sometimes came under a name that is not its own and do not count." in page


def test_a_route_that_a_fallback_always_answered_for_is_suspected_where_five_others_name_themselves(
    bench: Workbench,
) -> None:
    asked(bench, "r1", {"echo": {}, "prose": {}, "down": ALWAYS})
    assert identities(bench)["down"] == ("unknown", "not in the model list"), "of three routes too little is known"
    asked(bench, "r2", {**REPLAYED, "down": ALWAYS})
    assert identities(bench)["down"] == ("suspected", "not its name, where all others give theirs")
    asked(bench, "r3", {"fresh": ALWAYS})
    assert identities(bench)["fresh"] == ("unknown", "not in the model list"), "not all of the others have given theirs"


def test_a_name_learns_from_every_run_and_constancy_establishes_nothing(bench: Workbench) -> None:
    asked(bench, "r1", {"m": dict.fromkeys(range(36), "other-70b")})
    assert identities(bench)["m"] == ("unknown", "not in the model list")
    asked(bench, "r2", {"m": {}})
    with reading(bench.ledger) as reader:
        (row,) = reader.all(RunItems, run_id="r1")
    assert row.suspected == 36, "it has given its own name since"


@pytest.mark.parametrize(
    ("asked_for", "answered_as"),
    [("openai/gpt-4o", "gpt-4o"), ("gpt-4o", "openai/gpt-4o"), ("Lab.GPT-4o", "gpt-4o"), ("gpt-4o", "GPT-4O")],
)
def test_an_id_without_its_prefix_is_the_model_itself(bench: Workbench, asked_for: str, answered_as: str) -> None:
    record(
        bench,
        "r1",
        {asked_for: [1.0] * 4, answered_as + "-mini": [1.0] * 4},
        served={asked_for: answered_as},
        scorers=["exact"],
    )
    assert identities(bench)[asked_for] == ("known_alias", "its id without a prefix")


def test_a_route_s_own_id_can_be_confirmed_before_it_was_ever_given(bench: Workbench) -> None:
    asked(bench, "r1", {"m": dict.fromkeys(range(36), "other-70b"), "n": {}})
    told = bench("routes", "status").stderr
    assert (
        "not confirmed: m answers as other-70b (the only name in 36 answers): `workbench routes confirm m m` where that is another model"
        in told
    )
    bench("routes", "confirm", "m", "m")
    assert identities(bench)["m"] == ("fallback", "not the confirmed name")


def test_a_probe_confirms_the_ids_of_routes_that_name_themselves(bench: Workbench) -> None:
    told = bench("probe", "sim/instant", "--confirm", "--no-report", "--yes", code=None).stderr
    assert "sim/instant answers as itself: confirmed in workbench.toml" in told
    kept = (bench.folder / "workbench.toml").read_text()
    assert re.search(r'served_as = \[\n    "sim/instant", # confirmed \d{4}-\d\d-\d\d, run \S+\n\]', kept)
