"""What scores without a model, beside the models of a run: in the verdict, tables, pages, gates and before the spend."""

import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.cases import first_of
from tests.compared_runs import record
from tests.conftest import Workbench, job
from tests.unit.ledger.ledger_rows import STARTED_AT
from workbench.api.frames import Frames
from workbench.ledger.entries import ReferenceScored
from workbench.ledger.journal import JournalWriter
from workbench.stats.intervals import mean_interval

GRADES = (0, 1, 3, 4, 4.5, 4.5, 4.5, 5, 5)
MODELS = ("Abacus Large [careful]", "Abacus Mini [fast]")
NEAR = r"""
import re

def near(answer, sample):
    numbers = re.findall(r"\d+(?:\.\d+)?", answer.text)
    return 10 - abs(float(numbers[-1]) - float(sample.target)) if numbers else None
"""


def grading(bench: Workbench, *lines: str, columns: str = 'second_target = "second"') -> None:
    """Forty essays with two teachers' grades, judged with half a grade's tolerance."""
    chance = random.Random(3)
    rows = []
    for number in range(40):
        grade = chance.choice(GRADES)
        second = min(5, max(0, grade + chance.choice([0, 0, 0, 1, -1])))
        rows.append(
            {"id": f"e{number}", "input": f"Grade essay {number}.", "target": grade, "second": second, "old": 3}
        )
    bench.write("essays.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    text = job(*MODELS, dataset="essays.jsonl").replace('path = "essays.jsonl"', f'path = "essays.jsonl"\n{columns}')
    bench.write(
        "job.toml", text.replace('name = "numeric"', "\n".join(('name = "numeric"', "tolerance = 0.5", *lines)))
    )


def by_kind(shown: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["column"] if one["reference"] == "column" else one["reference"]: one for one in shown["references"]}


@pytest.fixture
def graded(bench: Workbench) -> Workbench:
    bench.environment.pop("WORKBENCH_BASE_URL", None)
    grading(bench, columns='second_target = "second"\nreference = { "last year" = "old" }')
    bench("run", "job.toml", "--local")
    return bench


@pytest.mark.slow
def test_the_constant_stands_beside_the_models(graded: Workbench) -> None:
    said = graded("show", "--ledger", "local.duckdb").stdout
    assert "constant “4.5”" in said
    assert "second annotator (second)" in said
    found = by_kind(graded.json("show", "--ledger", "local.duckdb"))
    assert set(found) == {"constant", "random", "last year", "people"}
    targets = [json.loads(line)["target"] for line in (graded.folder / "essays.jsonl").read_text().splitlines()]
    assert found["last year"]["interval"]["mean"] == sum(abs(target - 3) <= 0.5 for target in targets) / 40
    assert {one["model"] for one in found["constant"]["beside"]} == set(MODELS)
    frame = Frames(ledger=graded.folder / "local.duckdb").references()
    assert frame[frame["reference"] == "people"]["value"].mean() == found["people"]["interval"]["mean"]
    (page,) = (graded.folder / "reports" / "local").glob("2*.html")
    assert "constant “4.5”" in page.read_text("utf-8")
    (page,) = (graded.folder / "reports" / "local").glob("job-*.html")
    assert "By “numeric”, without a model: constant “4.5” 0." in page.read_text("utf-8")


def test_the_constant_is_named_before_anything_is_spent(bench: Workbench) -> None:
    grading(bench)
    said = bench("plan", "job.toml", "--local").stdout
    assert "without a model, by “numeric”: constant “4.5” 0." in said
    assert "second annotator (second) 0." in said
    (finding,) = [one for one in bench.json("lint", "job.toml", "--local") if "a constant 4.5 scores" in one["text"]]
    assert finding["where"].endswith("scorers[0]")
    assert bench.json("plan", "job.toml", "--local")["references"][0]["constant"] == "4.5"


@pytest.mark.slow
def test_a_plan_and_its_run_say_the_same_of_rows_that_repeat(bench: Workbench) -> None:
    """More targets than are all tried, so that some are drawn, and rows that are one sample."""
    rows = [
        {"id": f"r{n}", "input": f"What is 1 + {n % 150}?", "target": 1 + n % 150, "old": n % 7} for n in range(160)
    ]
    rows += [{"id": f"same{n}", "input": "What is 1 + 1?", "target": 2, "old": 2} for n in range(90)]
    bench.write("again.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    text = job(MODELS[0], dataset="again.jsonl", limit=40)
    bench.write("job.toml", text.replace("[request]", 'reference = { "old" = "old" }\n[request]'))
    planned = bench.json("plan", "job.toml", "--local")["references"]
    bench("run", "job.toml", "--local", "--no-report")
    ended = bench.json("show", "last", "--local")["references"]
    of_plan = {one["reference"]: (one["constant"], one["samples"], one["mean"]) for one in planned}
    of_run = {one["reference"]: (one["constant"], one["samples"], one["interval"]["mean"]) for one in ended}
    assert of_plan == of_run
    assert set(of_plan) >= {"constant", "random", "column"}
    assert not [one for one in bench.json("lint", "job.toml", "--local") if "a constant" in one["text"]]


def test_what_a_part_of_a_dataset_says_is_said_to_be_of_a_part_and_of_all_of_it(bench: Workbench) -> None:
    """Five thousand rows, sorted by their targets: the first two thousand say nothing of the others."""
    rows = ({"input": f"q{n}", "target": "a" if n < 2000 else "b"} for n in range(5000))
    bench.write("sorted.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    text = job(MODELS[0], dataset="sorted.jsonl").replace('name = "numeric"', 'name = "exact"')
    bench.write("job.toml", text)
    said = bench("plan", "job.toml", "--local").stdout.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "without a model, by “exact” (on 2 000 of 5 000 samples): constant “b” 0.600" in said
    (finding,) = [one for one in bench.json("lint", "job.toml", "--local") if "a constant" in one["text"]]
    assert finding["text"].startswith("a constant b scores 0.600 by this scorer on 2000 of 5000 samples: ")


@pytest.mark.slow
def test_no_model_better_than_a_constant_is_said_first(bench: Workbench) -> None:
    chance = random.Random(5)
    record(bench, "r1", {name: [float(chance.random() < 0.6) for _ in range(60)] for name in ("m", "n")})
    writer = JournalWriter(bench.ledger.journal_folder)
    values = [float(number % 5 > 0) for number in range(60)]
    keys = [f"sample{number}" for number in range(60)]
    writer.append(ReferenceScored("r1", STARTED_AT, "exact", "constant", "", keys, values, "yes"))
    writer.close()
    before = "No model is shown to be better than the constant “yes”, which scores 0.800 by “exact”."
    for command in (("show", "r1"), ("compare", "r1", "--no-report")):
        said = " ".join(bench(*command).stdout.split())
        assert before in said
    assert said.startswith(before)
    bench("report", "r1")
    (page,) = (bench.folder / "reports").rglob("job-*.html")
    assert before in page.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "code", "result"),
    [(0.9, 100, "not met"), (0.0, 0, "met")],
    ids=["far above", "as good as the answer key"],
)
def test_a_gate_asks_for_more_than_a_constant(bench: Workbench, wanted: float, code: int, result: str) -> None:
    grading(bench, columns='second_target = "second"')
    text = (bench.folder / "job.toml").read_text().replace(f', "{MODELS[1]}"', "")
    bench.write("job.toml", f"{text}\n[gates]\nmin_over_constant = {{ numeric = {wanted} }}\n")
    ended = bench.json("run", "job.toml", "--local", "--no-report", code=code)
    (gate,) = ended["gates"]
    assert (gate["gate"], gate["result"]) == ("min_over_constant", result)
    assert "differs from the constant “4.5” by +" in gate["says"]
    assert f"at least {100 * wanted:.1f} points above is wanted" in gate["says"]


@pytest.mark.slow
def test_scores_of_an_earlier_version_get_their_reference_points_when_scored_again(graded: Workbench) -> None:
    with duckdb.connect(str(graded.folder / "local.duckdb")) as db:
        db.execute("DELETE FROM reference_scores")
    assert graded.json("show", "--ledger", "local.duckdb")["references"] == []
    graded("score", "last", "--ledger", "local.duckdb")
    assert set(by_kind(graded.json("show", "--ledger", "local.duckdb"))) >= {"constant", "random"}
    again = graded.json("score", "last", "--ledger", "local.duckdb")
    assert again["written"] == 0, "what is there already is not written again"


@pytest.mark.slow
def test_a_sample_that_is_taken_out_is_in_no_reference_point(graded: Workbench) -> None:
    graded("invalidate", "last", "--sample", "e1", "--reason", "wrong", "--ledger", "local.duckdb")
    found = by_kind(graded.json("show", "--ledger", "local.duckdb"))
    assert {one["samples"] for one in found.values()} == {39}


def test_the_constant_is_the_best_one_on_the_samples_that_are_left(bench: Workbench) -> None:
    rows = [
        {"id": f"s{n}", "input": f"What is {1 + n // 35} + 0, the {n}. time?", "target": 1 + n // 35} for n in range(60)
    ]
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    bench.write("job.toml", job())
    bench("run", "job.toml", "--no-report")
    names = [word for n in range(30) for word in ("--sample", f"s{n}")]
    for restore, constant, mean in (((), "2", 25 / 30), (("--restore",), "1", 35 / 60)):
        bench("invalidate", "last", *names, "--reason", "wrong", *restore)
        found = by_kind(bench.json("show"))["constant"]
        assert (found["constant"], found["interval"]["mean"]) == (constant, pytest.approx(mean))


@pytest.mark.slow
def test_a_column_has_the_scores_of_a_sample_that_is_put_back(bench: Workbench) -> None:
    """Scored again meanwhile, it had none of the sample that was taken out, and nothing brought it back."""
    grading(bench, columns='reference = { "last year" = "old" }')
    bench("run", "job.toml", "--local", "--no-report", "--ledger", "local.duckdb")
    before = by_kind(bench.json("show", "--ledger", "local.duckdb"))
    for restore, scored in (((), ("--job", "job.toml")), (("--restore",), ())):
        bench("invalidate", "last", "--sample", "e1", "--reason", "wrong", *restore, "--ledger", "local.duckdb")
        if scored:
            bench("score", "last", *scored, "--ledger", "local.duckdb")
            found = by_kind(bench.json("show", "--ledger", "local.duckdb"))
            assert {one["samples"] for one in found.values()} == {39}
    assert by_kind(bench.json("show", "--ledger", "local.duckdb")) == before


@pytest.mark.slow
def test_what_is_said_between_models_does_not_change(graded: Workbench, tmp_path: Path) -> None:
    def between() -> list[Any]:
        return [
            {name: value for name, value in one.items() if name not in ("lost",)}
            for one in graded.json("compare", "--no-report", "--ledger", "local.duckdb")["differences"]
        ]

    beside = between()
    with duckdb.connect(str(graded.folder / "local.duckdb")) as db:
        db.execute("DELETE FROM reference_scores")
    assert between() == beside


@pytest.mark.parametrize("first", first_of("numeric", "near"))
def test_the_interval_of_a_reference_point_is_on_the_scale_of_its_own_scorer(bench: Workbench, first: str) -> None:
    """A share beside marks out of ten: whichever scorer is the first, each has its own ends."""
    grading(bench, columns='reference = { "last year" = "old" }')
    bench.write("near.py", NEAR)
    head, own = (bench.folder / "job.toml").read_text().split("[[scorers]]")
    marks = 'name = "custom"\nlabel = "near"\nfunction = "near.py:near"\nscale = [0, 10]\n'
    tables = [own, marks] if first == "numeric" else [marks, own]
    bench.write("job.toml", "".join((head, *(f"\n[[scorers]]\n{table}" for table in tables))))
    bench("run", "job.toml", "--local", "--no-report")
    targets = [json.loads(line)["target"] for line in (bench.folder / "essays.jsonl").read_text().splitlines()]
    right = [float(abs(target - 3) <= 0.5) for target in targets]
    wanted = {
        "numeric": mean_interval(right, (0.0, 1.0)),
        "near": mean_interval([10 - abs(3.0 - target) for target in targets], (0.0, 10.0)),
    }
    shown = bench.json("show", "--ledger", "local.duckdb")["references"]
    found = {one["scorer"]: one["interval"] for one in shown if one["reference"] == "column"}
    assert {name: (one["low"], one["high"]) for name, one in found.items()} == {
        name: (pytest.approx(one.low), pytest.approx(one.high)) for name, one in wanted.items()
    }
