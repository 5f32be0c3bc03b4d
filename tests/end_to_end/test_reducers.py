"""Several epochs of a sample become one score, as the job says."""

import math
import re
from datetime import timedelta
from itertools import combinations
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.asked_rows import rows_of
from tests.cases import first_of
from tests.conftest import Workbench, job, sums
from tests.end_to_end.test_pages import unpacked
from tests.unit.ledger.ledger_rows import STARTED_AT, answer, intent, key, started
from workbench.evaluation.run_figures import run_figures
from workbench.ledger.entries import RunEnded, RunStarted, score_entry
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.score_rows import OccasionScore
from workbench.ledger.store import Ledger
from workbench.records.calls import Score

EPOCHS = (1.0, 0.0, 1.0, 0.0, 0.0)


def reduced(ledger: Ledger, reducer: str | None) -> float | None:
    with reading(ledger) as reader:
        figures = run_figures(reader, f"r{reducer}")
    (row,) = [row for row, _ in figures.scores]
    (side,) = figures.standing.sides
    assert (None if side.interval is None else side.interval.mean) == row.mean, "page and comparison agree"
    return row.mean


def write(ledger: Ledger, run: RunStarted, samples: dict[str, tuple[float, ...]]) -> None:
    """A run whose samples have these scores by epoch, a minute long."""
    writer = JournalWriter(ledger.journal_folder)
    writer.append(run)
    epochs = [(name, epoch, value) for name, values in samples.items() for epoch, value in enumerate(values, 1)]
    for number, (name, epoch, value) in enumerate(epochs, 1):
        writer.append(replace(intent(run.run_id, number), sample_key=name, epoch=epoch))
        writer.append(answer(run.run_id, number, sample_key=name, epoch=epoch))
        writer.append(score_entry(run.run_id, key(number), ("exact", "{}"), STARTED_AT, Score(value, "")))
    writer.append(RunEnded(run.run_id, run.recorded_at + timedelta(minutes=1), "complete", 0, 1.0))
    writer.close()


@pytest.mark.parametrize(
    ("reducer", "expected"),
    first_of((None, 0.4), ("mode", 0.0), ("at_least_2", 1.0), ("pass@2", 0.7), ("pass^2", 0.1), ("at_least_3", 0.0), ("pass@1", 0.4),
             ("pass@4", 1.0), ("pass^1", 0.4), ("pass^3", 0.0), default=5),
)  # fmt: skip
def test_what_each_reducer_makes_of_a_sample(bench: Workbench, reducer: str | None, expected: float | None) -> None:
    ledger = bench.ledger
    write(ledger, started(f"r{reducer}", 5, reduce=reducer, scorers=["exact"]), {"s": EPOCHS})
    found = reduced(ledger, reducer)
    assert found == (None if expected is None else pytest.approx(expected))
    assert bench.json("runs")[0]["mean_score"] == found, "the list of runs says the same"
    if reducer and reducer.startswith("pass"):
        k = int(reducer[5:])
        draws = list(combinations(EPOCHS, k))
        right = [any(draw) if "@" in reducer else all(draw) for draw in draws]
        assert found == (pytest.approx(math.fsum(right) / len(draws)) if draws else None), "every draw of K, counted"


@pytest.mark.slow
def test_epochs_of_which_none_was_sent_are_not_known(bench: Workbench) -> None:
    """As those that only some samples were sent."""
    bench.write("sums.jsonl", sums(3))
    several = job().replace("passes = 1", "passes = 1\nepochs = 3")
    bench.write("job.toml", several + "[budget]\nrequests = 3\n")
    bench("run", "job.toml", "--no-report", code=None)
    (row,) = bench.json("show", "last")["scores"]
    assert (row["samples"], row["scored"], row["unknown"], row["mean"]) == (3, 3, 6, 1.0)
    assert (row["interval"]["at_worst"], row["interval"]["at_best"]) == (pytest.approx(1 / 3), 1.0)
    assert "3 of 9 answers have a result" in bench("show", "last").stdout
    bench.write("job.toml", several)
    bench("run", "job.toml", "--no-report")
    (row,) = bench.json("show", "last")["scores"]
    assert (row["interval"]["at_worst"], row["interval"]["at_best"]) == (1.0, 1.0)


def test_a_table_of_epochs_counts_answers_and_hides_none_that_is_not_right(bench: Workbench) -> None:
    """Each sample has an answer with a score, and some have one that was cut off beside it."""
    bench.write("sums.jsonl", sums(8))
    text = job("Abacus Mini [fast]").replace("passes = 1", "epochs = 4").replace("max_tokens = 64", "max_tokens = 18")
    bench.write("job.toml", text)
    heading, first = bench("run", "job.toml", "--local", "--no-report").stdout.splitlines()[-4:-2]
    (row,) = bench.json("show", "last", "--local")["scores"]
    assert row["scored"] + row["not_right"] + row["unknown"] == 32
    assert row["not_right"]
    assert row["samples"] == row["asked"] == 8
    names = ("scored", "not-right", "unknown")
    shown = dict(zip(heading.split(), re.split(r"\s{2,}", first), strict=True))
    assert [shown[name] for name in names] == [str(row[name.replace("-", "_")]) for name in names]


def test_a_job_says_how(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job().replace("passes = 1", 'passes = 1\nepochs = 3\nreduce = "pass^3"'))
    result = bench.json("run", "job.toml", "--no-report")
    (row,) = bench.json("show", result["run_id"])["scores"]
    assert (row["samples"], row["scored"], row["mean"]) == (3, 9, 1.0)
    assert "pass^3" in bench("show", result["run_id"]).stdout


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('reduce = "pass@3"', "run.reduce: 'pass@3' needs run.epochs of at least 3"),
        ('epochs = 3\nreduce = "median"', "run.reduce"),
    ],
)
def test_reducers_that_cannot_be_are_named(bench: Workbench, more: str, said: str) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job().replace("passes = 1", f"passes = 1\n{more}"))
    assert said in bench("lint", "job.toml", code=2).stderr


@pytest.mark.parametrize("values", [(1.0, 0.0), (0.0, 1.0)])
def test_of_a_tie_the_lowest_is_the_mode(bench: Workbench, values: tuple[float, ...]) -> None:
    write(bench.ledger, started("rmode", 2, reduce="mode", scorers=["exact"]), {"s": values})
    assert reduced(bench.ledger, "mode") == 0.0


def test_a_sample_with_too_few_scored_epochs_has_no_score_in_any_series(bench: Workbench) -> None:
    """Of `pass@2` with one scored epoch nothing is known: it is neither 0 nor among the samples that are compared."""
    for number, values in enumerate([(1.0, 0.0), (1.0, 1.0)], 1):
        first = STARTED_AT + timedelta(days=number)
        fields = {"recorded_at": first, "occasion": f"2026-01-0{number}", "reduce": "pass@2", "scorers": ["exact"]}
        write(bench.ledger, started(f"r{number}", 3, **fields), {"whole": values, "cut": (0.0,)})
    with reading(bench.ledger) as reader:
        rows = reader.all(OccasionScore, job="j", scorers=["exact"], until_at=None, most=None)
        (change,) = rows_of(reader, "job_changes")
        course = rows_of(reader, "job_course", job="j", most=9)
    known = [
        (row.occasion, row.sample_key, row.value) for row in rows if row.scorer is not None and row.value is not None
    ]
    assert known == [("2026-01-01", "whole", 1.0), ("2026-01-02", "whole", 1.0)]
    assert [change["known"][name] for name in ("samples", "better", "worse")] == [1, 0, 0]
    assert [(row["mean"], row["scored"]) for row in course] == [(1.0, 1)] * 2


GRADES = """
def three(answer, sample):
    return 3
"""


@pytest.mark.parametrize(
    ("function", "scale", "reducer", "mean"),
    first_of(("three", "scale = [0, 10]", "pass@2", 0.0), *(("three", *rest) for rest in (
        ("", "at_least_1", None), ("scale = [0, 10]", "at_least_1", 0.0), ("scale = [0, 10]", "pass^1", 0.0),
        ("scale = [0, 3]", "pass^2", 1.0), ("", "pass@2", None),
    ))),
)  # fmt: skip
def test_right_is_the_top_of_the_scale(
    bench: Workbench, function: str, scale: str, reducer: str, mean: float | None
) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("grades.py", GRADES)
    scorer = f'name = "custom"\nfunction = "grades.py:{function}"\n{scale}\n'
    epochs = f'passes = 1\nepochs = 2\nreduce = "{reducer}"'
    bench.write("job.toml", job().replace('name = "numeric"\n', scorer).replace("passes = 1", epochs))
    said = bench("lint", "job.toml").stdout
    assert ("does not say which score is right" in said) == (not scale)
    bench("run", "job.toml")
    (row,) = bench.json("show", "last")["scores"]
    assert row["mean"] == mean
    marks = unpacked(Path(bench.json("report", "last")["report"]))
    assert ('"right"' in marks, '"partly"' in marks) == (scale == "scale = [0, 3]", scale != "scale = [0, 3]")


def test_scores_off_their_scale_are_said_to_be(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("grades.py", GRADES)
    scorer = 'name = "custom"\nfunction = "grades.py:three"\nscale = [0, 1]\n'
    bench.write("job.toml", job().replace('name = "numeric"\n', scorer))
    done = bench("run", "job.toml", "--no-report", code=3)
    assert "custom failed on 3 of 3 answers: 3 is outside its scale from 0 to 1" in done.stdout


@pytest.mark.parametrize("returns", first_of('"good"', "float('nan')", "__import__('sys').exit(3)"))
def test_a_function_that_returns_no_score_of_any_answer_has_failed(bench: Workbench, returns: str) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("grades.py", f"def graded(answer, sample):\n    return {returns}\n")
    scorer = 'name = "custom"\nfunction = "grades.py:graded"\nscale = [0, 1]\n'
    bench.write("job.toml", job().replace('name = "numeric"\n', scorer))
    done = bench("run", "job.toml", "--no-report", code=3)
    assert "custom failed on 3 of 3 answers: the function " in done.stdout
    bench("score", "last", code=3)
