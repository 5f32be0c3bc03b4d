"""What a comparison says there is to choose from: on its page, on the terminal and as JSON."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.compared_runs import Values, record
from tests.conftest import Workbench
from tests.pages import Page
from workbench.api.frames import Frames
from workbench.records.outcomes import Outcome

RIGHT, HALF = [1.0] * 40, [1.0, 0.0] * 20


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path, None)


def said(bench: Workbench, *options: str) -> str:
    compared = bench.json("compare", "r1", *options)
    page = Path(compared["report"]).read_text("utf-8")
    found = re.search(r'<p data-text="choice"[^>]*>(.*?)</p>', page)
    assert found
    assert compared["choice"]["says"] == found[1]
    printed = " ".join(bench("compare", "r1", "--no-report", *options).stdout.split())
    assert (found[1] in printed) == found[1].startswith(("large is better", "Of ", "No other"))
    return found[1]


@pytest.mark.slow
def test_better_is_said_by_the_test_alone_and_with_its_price(bench: Workbench) -> None:
    asked: dict[str, Values] = {
        "mini": HALF,
        "large": RIGHT,
        "other": [*HALF[:-2], 1.0, 1.0],
    }  # of 10, 20 and 30 tokens
    record(bench, "r1", asked)
    assert said(bench, "--baseline", "mini") == (
        "large is better than mini by 50.0 points and takes 2.00 times as many tokens an answer. "
        "Of mini and the 2 models not shown to be worse, mini takes the fewest tokens an answer."
    ), "other has a higher mean, which no test shows"
    choice = bench.json("compare", "r1", "--baseline", "mini", "--no-report")["choice"]
    assert choice | {"says": ""} == {
        "says": "", "better": "large", "cheapest": "mini", "costs": {"mini": 10.0, "large": 20.0, "other": 30.0},
        "costs_are": "tokens an answer", "loses_at_most": 0.0,
    }  # fmt: skip
    assert said(bench, "--baseline", "large") == "Every other model is shown to be worse than large."
    assert said(bench, "--baseline", "other").endswith(
        "Of other and the 2 models not shown to be worse, mini takes the fewest tokens an answer: 0.333 times as many; "
        "it may be up to 12.9 points worse."
    )


def test_of_models_that_are_not_ranked_or_have_no_answer_nothing_is_chosen(bench: Workbench) -> None:
    record(bench, "r1", {"mini": [None] * 30 + [1.0] * 10, "large": RIGHT})
    assert said(bench, "--baseline", "large") == "Too little is known to choose between large and the other model."


def test_what_is_not_comparable_says_why(bench: Workbench) -> None:
    record(bench, "r1", {"large": [*RIGHT, *([None] * 40)], "mini": [*([None] * 40), *RIGHT]})
    found: Any = bench.json("compare", "r1")
    page = Path(found["report"]).read_text("utf-8")
    assert [one["verdict"] for one in found["differences"]] == ["not comparable"]
    assert "not comparable: of 80 samples in common none has a result of both" in page


ALIKE: dict[str, Values] = {"mini": [1.0] * 380 + [0.0] * 20, "large": [0.0] * 4 + [1.0] * 380 + [0.0] * 16}
"""Four samples each way; with no other difference mini is shown to lose less than 2 points, and not less than 1."""


def beside(bench: Workbench, *options: str) -> tuple[str, str]:
    found = bench.json("compare", "r1", "--baseline", "large", "--no-report", *options)
    return found["differences"][0]["beside_margin"], found["choice"]["says"]


@pytest.mark.slow
def test_with_a_margin_only_what_is_shown_to_be_within_it_is_chosen(bench: Workbench) -> None:
    record(bench, "r1", ALIKE)
    assert beside(bench, "--margin", "0.02") == (
        "within",
        "Of large and the one model shown to be less than 2 points worse, mini takes the fewest tokens an answer: "
        "0.500 times as many; it may be up to 1.7 points worse.",
    )
    assert beside(bench, "--margin", "0.01") == ("unclear", "No other model is shown to be within 1 point of large.")
    page = Path(bench.json("compare", "r1", "--baseline", "large", "--margin", "0.02")["report"]).read_text("utf-8")
    assert "no difference shown" not in page
    assert "too few samples differ to tell (4:4); within the margin" in page
    assert "at most 1.7 points worse, adjusted for all differences: within the margin of 2 points" in page
    printed = bench("compare", "r1", "--baseline", "large", "--margin", "0.01", "--no-report").stdout
    assert (
        "up to 1.7 points worse, adjusted for all differences: not shown to be within the margin of 1 point"
        in " ".join(printed.split())
    )
    assert "margin not shown" in printed
    assert "No other model is shown to be within" in printed
    rows = Frames(folder=bench.folder).compare("r1", baseline="large", margin=0.02)
    assert list(rows["beside_margin"]) == ["within"]


def test_the_chart_has_the_margin_and_the_interval_that_is_held_against_it(bench: Workbench) -> None:
    """With three models the interval of a difference that is shown may end before the one of all together."""
    record(bench, "r1", ALIKE | {"other": [0.0] * 200 + [1.0] * 200})
    found = bench.json("compare", "r1", "--baseline", "large", "--margin", "0.02")
    lines, intervals = (layer["data"]["values"] for layer in Page(found["report"]).charts[0]["layer"][:2])
    assert lines == [{"at": 0}, {"at": -2.0}]
    chosen = [side["model"] for side in found["sides"]].index("large")
    drawn = {row["model"]: row["low"] / 100 for row in intervals if row["baseline"] == chosen}
    for one in found["differences"]:
        assert drawn[one["side"]["model"]] == pytest.approx(one["low_of_all"])
        assert (one["low_of_all"] > -0.02) == (one["beside_margin"] == "within")


def test_a_model_that_is_worse_may_be_within_the_margin_or_beyond(bench: Workbench) -> None:
    record(bench, "r1", {"mini": [1.0] * 380 + [0.0] * 20, "large": [1.0] * 400})
    assert beside(bench, "--margin", "0.1")[0] == "within"
    assert beside(bench, "--margin", "0.01")[0] == "beyond"
    assert beside(bench, "--margin", "0.01")[1].endswith("; 1 of 1 is shown to be below that.")


def test_a_model_that_is_shown_to_be_better_is_within_any_margin(bench: Workbench) -> None:
    """Of many models the interval of all together may reach below 0 where the adjusted test shows one to be better."""
    middle = [1.0] * 60 + [0.0] * 40
    values: dict[str, Values] = {"large": middle, "mini": [1.0] * 68 + [0.0] * 32}
    values |= {f"worse{n}": [0.0] * 90 + [1.0] * 10 for n in range(3)}
    record(bench, "r1", values)
    found = bench.json("compare", "r1", "--baseline", "large", "--margin", "0.0001", "--no-report")
    better = found["differences"][0]
    assert (better["side"]["model"], better["verdict"], better["beside_margin"]) == ("mini", "better", "within")
    assert better["low_of_all"] < -0.0001, "else this shows nothing"
    assert "may be up to" not in found["choice"]["says"]


def test_missing_answers_keep_no_model_within_a_margin(bench: Workbench) -> None:
    values: dict[str, Values] = {"mini": [1.0] * 380 + [None] * 20, "large": [1.0] * 400}
    record(bench, "r1", values, outcomes={("mini", sample): Outcome.ROUTE_DOWN for sample in range(380, 400)})
    assert beside(bench, "--margin", "0.03")[0] == "unclear", "all twenty could be wrong"
    assert beside(bench, "--margin", "0.1")[0] == "within"


def test_a_job_says_its_margin_before_it_is_run(bench: Workbench) -> None:
    record(bench, "r1", ALIKE, job_toml="[compare]\nmargin = { exact = 0.02 }\n")
    record(bench, "r2", ALIKE, job_toml="[compare]\nmargin = { exact = 0.01 }\n")
    assert beside(bench)[0] == "within"
    assert beside(bench, "--margin", "0.01")[0] == "unclear"
    assert bench.json("compare", "r1", "r2", "--no-report")["margin"] == 0.01, "of several the least"


@pytest.mark.parametrize(
    ("margin", "says"),
    [
        ("0", "expected a number between 0 and 1, as all scores are, found 0 (0.02 for 2 points)"),
        ("2", "expected a number between 0 and 1, as all scores are, found 2 (0.02 for 2 points)"),
        ("nan", "expected a number between 0 and 1, as all scores are, found nan (0.02 for 2 points)"),
    ],
)
def test_a_margin_that_says_nothing_is_refused(bench: Workbench, margin: str, says: str) -> None:
    record(bench, "r1", ALIKE)
    ended = bench("compare", "r1", "--margin", margin, code=2)
    assert f"error: --margin: {says}" in ended.stderr


def test_empty_answers_are_paid_for_too(bench: Workbench) -> None:
    empty = {("cheap", sample): Outcome.EMPTY for sample in range(12)}
    tokens = {("cheap", sample): 4_000 if sample < 12 else 5 for sample in range(40)}
    values: dict[str, Values] = {"large": [1.0] * 36 + [0.0] * 4, "cheap": [None] * 12 + [1.0] * 28}
    record(bench, "r1", values, outcomes=empty, tokens=tokens, scorers=["exact"])
    costs = {side["model"]: side["completion_tokens"] for side in bench.json("compare", "r1", "--no-report")["sides"]}
    assert costs == {"large": 10, "cheap": (12 * 4_000 + 28 * 5) / 40}


def test_of_two_that_take_as_many_none_takes_the_fewest(bench: Workbench) -> None:
    tokens = {(model, sample): 7 for model in ("large", "same") for sample in range(40)}
    record(bench, "r1", {"large": HALF, "same": HALF}, tokens=tokens, scorers=["exact"])
    assert said(bench) == (
        "Of large and the one model not shown to be worse, none takes fewer tokens an answer than large."
    )


@pytest.mark.slow
def test_a_baseline_that_is_not_ranked_is_no_choice(bench: Workbench) -> None:
    lost = {("large", sample): Outcome.ROUTE_DOWN for sample in range(20)}
    record(bench, "r1", {"large": [None] * 20 + [1.0] * 20, "same": HALF}, outcomes=lost, scorers=["exact"])
    assert bench.json("compare", "r1", "--baseline", "large", "--no-report")["choice"] is None
