"""Columns that no prompt shows, in which the rows of a later run differ: each run is judged and shown by what it read itself."""

import csv
import io
import json
from typing import Any

import pytest

from tests.conftest import Workbench, job
from workbench.local_platform.server import ThreadedServer

ROWS = 6
SCORER = """
def level(answer, sample):
    return sample.metadata["level"] / 10
"""
JOB = job().replace(
    '[[scorers]]\nname = "numeric"', '[[scorers]]\nname = "custom"\nfunction = "level.py:level"\nscale = [0, 1]'
)
COMPARED = JOB.replace('"sim/instant"', '"sim/instant", "Abacus Mini [fast]"')


def write(bench: Workbench, file: str = "sums.jsonl", **columns: Any) -> None:
    rows = ({"id": f"s{n}", "input": f"What is {n} + 1?", "target": n + 1} | columns for n in range(ROWS))
    bench.write(file, "".join(json.dumps(row) + "\n" for row in rows))


def mean(bench: Workbench, run_id: str) -> float:
    (score,) = bench.json("show", run_id)["scores"]
    found: float = score["mean"]
    return round(found, 6)


def exported(bench: Workbench, run_id: str, column: str) -> set[str]:
    return {row[column] for row in csv.DictReader(io.StringIO(bench("export", run_id, "--format", "csv").stdout))}


@pytest.mark.slow
def test_each_run_has_the_columns_that_it_read(bench: Workbench, platform: ThreadedServer) -> None:
    bench.write("level.py", SCORER)
    bench.write("job.toml", JOB)
    runs = []
    for columns in ({"level": 2}, {"level": 9, "topic": "sum"}, {"level": 9, "topic": "sum"}, {"level": 2}):
        write(bench, **columns)
        runs.append(bench.json("run", "job.toml", "--no-report")["run_id"])
    assert platform.platform.statistics.requests.total() == ROWS, "what is asked is the same"
    assert [mean(bench, run_id) for run_id in runs] == [0.2, 0.9, 0.9, 0.2]
    bench("score", runs[1])
    bench("score", runs[0])
    assert [mean(bench, run_id) for run_id in runs] == [0.2, 0.9, 0.9, 0.2], "scored again by what they read"
    assert [exported(bench, run_id, "level") for run_id in runs] == [{"2"}, {"9"}, {"9"}, {"2"}]
    assert exported(bench, runs[2], "topic") == {"sum"}
    bench("ledger", "check")


def test_another_job_s_file_is_read_for_that_job(bench: Workbench) -> None:
    bench.write("level.py", SCORER)
    write(bench, level=2)
    write(bench, "others.jsonl", level=9)
    for name, file in (("first", "sums.jsonl"), ("second", "others.jsonl")):
        bench.write(f"{name}.toml", JOB.replace('"sums"', f'"{name}"').replace("sums.jsonl", file))
        bench("run", f"{name}.toml", "--no-report")
    assert mean(bench, "last") == 0.9
    assert exported(bench, "last", "level") == {"9"}


@pytest.mark.slow
def test_topics_and_clusters_that_were_added_count_in_the_next_run(bench: Workbench) -> None:
    bench.write("level.py", SCORER)
    bench.write("job.toml", COMPARED)
    write(bench, level=2)
    bench("run", "job.toml", "--no-report")
    rows = [
        {
            "id": f"s{n}",
            "input": f"What is {n} + 1?",
            "target": n + 1,
            "level": n,
            "topic": "ab"[n % 2],
            "cluster": n % 2,
        }
        for n in range(ROWS)
    ]
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    bench("run", "job.toml", "--no-report")
    assert {row["value"] for row in bench.json("compare", "--no-report", "--by", "topic")["slices"]} == {"a", "b"}
    assert {row["interval"]["clusters"] for row in bench.json("show", "last")["scores"]} == {2}
