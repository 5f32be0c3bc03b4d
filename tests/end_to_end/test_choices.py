"""What a comparison says there is to choose from: on its page, on the terminal and as JSON."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.compared_runs import Values, record
from tests.conftest import Workbench

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
    assert (found[1] in printed) == found[1].startswith(("large is better", "Of "))
    return found[1]


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
        "costs_are": "tokens an answer",
    }  # fmt: skip
    assert said(bench, "--baseline", "large") == "Every other model is shown to be worse than large."
    assert said(bench, "--baseline", "other").endswith(
        "Of other and the 2 models not shown to be worse, mini takes the fewest tokens an answer: 0.333 times as many."
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
