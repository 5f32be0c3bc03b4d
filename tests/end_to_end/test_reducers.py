"""Several epochs of a sample become one score, as the job says."""

import math
from itertools import combinations

import pytest

from tests.conftest import Workbench, job, sums
from tests.unit.ledger_rows import STARTED_AT, answer, intent, key, started
from workbench.evaluation.run_figures import run_figures
from workbench.ledger.entries import RunEnded, score_entry
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.records import Score

EPOCHS = (1.0, 0.0, 1.0, 0.0, 0.0)


def reduced(ledger: Ledger, reducer: str | None) -> float | None:
    with reading(ledger) as reader:
        figures = run_figures(reader, f"r{reducer}")
    (row,) = [row for row, _ in figures.scores]
    (side,) = figures.standing.sides
    assert (None if side.interval is None else side.interval.mean) == row["mean"], "page and comparison agree"
    mean: float | None = row["mean"]
    return mean


@pytest.mark.parametrize(
    ("reducer", "expected"),
    [(None, 0.4), ("mode", 0.0), ("at_least_2", 1.0), ("at_least_3", 0.0), ("pass@1", 0.4), ("pass@2", 0.7), ("pass@4", 1.0),
     ("pass^1", 0.4), ("pass^2", 0.1), ("pass^3", 0.0), ("pass@9", None)],
)  # fmt: skip
def test_what_each_reducer_makes_of_a_sample(bench: Workbench, reducer: str | None, expected: float | None) -> None:
    ledger = bench.ledger
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started(f"r{reducer}", 5, reduce=reducer, scorers=["exact"]))
    for number, value in enumerate(EPOCHS, 1):
        given = intent(f"r{reducer}", number)
        writer.append(
            type(given)(
                **{name: getattr(given, name) for name in given.__struct_fields__}
                | {"sample_key": "s", "epoch": number}
            )
        )
        writer.append(answer(f"r{reducer}", number, sample_key="s", epoch=number))
        writer.append(score_entry(f"r{reducer}", key(number), ("exact", "{}"), STARTED_AT, Score(value, "")))
    writer.append(RunEnded(f"r{reducer}", STARTED_AT, "complete", 0, 1.0))
    writer.close()
    found = reduced(ledger, reducer)
    assert found == (None if expected is None else pytest.approx(expected))
    assert bench.json("runs")[0]["mean_score"] == found, "the list of runs says the same"
    if reducer and reducer.startswith("pass"):
        k = int(reducer[5:])
        draws = list(combinations(EPOCHS, k))
        right = [any(draw) if "@" in reducer else all(draw) for draw in draws]
        assert found == (pytest.approx(math.fsum(right) / len(draws)) if draws else None), "every draw of K, counted"


def test_a_job_says_how(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job().replace("passes = 1", 'passes = 1\nepochs = 3\nreduce = "pass^3"'))
    result = bench.json("run", "job.toml", "--no-report")
    (row,) = bench.json("show", result["run_id"])["scores"]
    assert (row["samples"], row["scored"], row["mean"]) == (3, 9, 1.0)
    assert "pass^3" in bench.here("show", result["run_id"]).stdout


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
    assert said in bench.here("lint", "job.toml", code=2).stderr
