"""Ids that several rows of a dataset have: said, each row named, taken for clusters where the job says so, and nothing paid twice."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from tests.conftest import Workbench, job
from workbench.dataset.repeated_ids import RepeatedIds
from workbench.local_platform.server import ThreadedServer

IDS = ["ann", "ann", "ben", "ben", "ben", "cleo", "dan"]
NAMES = ["ann#1", "ann#2", "ben#1", "ben#2", "ben#3", "cleo", "dan"]
JOB = """
name = "pupils"
models = ["sim/instant", "Abacus Mini [fast]"]
[dataset]
path = "pupils.{kind}"
fields = {{ input = "question", target = "sum", id = "pupil" }}
{more}
[prompt]
template = "{{{{ id }}}} asks: {{{{ input }}}}"
[request]
max_tokens = 64
[[scorers]]
name = "numeric"
"""
SAID = "2 ids repeat, 5 rows: named 'ann#1', 'ann#2', …"
OFFERED = '`cluster = "pupil"` in [dataset] says so'


def rows_of(ids: Sequence[str]) -> list[dict[str, Any]]:
    return [{"pupil": name, "question": f"What is {n} + 4?", "sum": n + 4} for n, name in enumerate(ids)]


def write(folder: Path, kind: str, ids: Sequence[str] = IDS) -> None:
    rows, path = rows_of(ids), folder / f"pupils.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "csv":
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        book = openpyxl.Workbook()
        for row in (list(rows[0]), *(list(row.values()) for row in rows)):
            book.worksheets[0].append(row)
        book.save(path)


def names(bench: Workbench) -> list[str]:
    """The samples of the last run, in the order of the dataset."""
    calls = bench.lines("show", "last", "--calls")
    return sorted({call["sample_id"] for call in calls})


@pytest.mark.parametrize("kind", ["csv", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("jsonl", "xlsx"))])
def test_each_row_has_a_name_and_is_paid_once(bench: Workbench, platform: ThreadedServer, kind: str) -> None:
    write(bench.folder, kind)
    bench.write("job.toml", JOB.format(kind=kind, more=""))
    ran = bench("run", "job.toml", "--no-report", code=None)
    for said in (bench("lint", "job.toml").stdout, bench("plan", "job.toml").stdout, ran.stderr):
        assert said.count(SAID) == 1, said
        assert said.count(OFFERED) == 1, said
    assert names(bench) == NAMES
    paid = platform.platform.statistics.requests.total()
    assert paid == 2 * len(IDS)
    # appended rows leave the others their names, and an id that was the only one has a number now
    write(bench.folder, kind, [*IDS, "ann", "cleo"])
    bench("run", "job.toml", "--no-report", code=None)
    assert names(bench) == ["ann#1", "ann#2", "ann#3", "ben#1", "ben#2", "ben#3", "cleo#1", "cleo#2", "dan"]
    assert platform.platform.statistics.requests.total() == paid + 4
    bench.write("job.toml", JOB.format(kind=kind, more='cluster = "pupil"'))
    plan = bench("plan", "job.toml").stdout
    assert "3 ids repeat, 8 rows" in plan
    assert "cluster" not in plan
    bench("run", "job.toml", "--no-report", code=None)
    assert platform.platform.statistics.requests.total() == paid + 4, "a cluster is no part of a request"


def test_datasets_show_says_it_too(bench: Workbench) -> None:
    write(bench.folder, "csv")
    rows = "".join(json.dumps({"id": name, "input": f"q{n}"}) + "\n" for n, name in enumerate(IDS))
    bench.write("plain.jsonl", rows)
    bench.write("clustered.jsonl", rows.replace('"input"', '"cluster": "x", "input"'))
    shown = bench("datasets", "show", "plain.jsonl").stdout
    assert f"note: {SAID}" in shown
    first = bench.json("datasets", "show", "plain.jsonl", "--samples", str(len(IDS)))["first"]
    assert sorted(row["id"] for row in first) == ["ann#1", "ann#2", "ben#1", "ben#2", "ben#3", "cleo", "dan"]
    assert '`cluster = "id"` in [dataset] says so' in shown
    assert bench.json("datasets", "show", "plain.jsonl")["repeated_ids"] == 3
    clustered = bench("datasets", "show", "clustered.jsonl").stdout
    assert f"note: {SAID}" in clustered
    assert "[dataset]" not in clustered


@pytest.mark.slow
def test_the_old_id_is_the_cluster(bench: Workbench) -> None:
    """By the job, whose answers are all reused, or by `--cluster id` also of a run before it."""
    write(bench.folder, "csv", [f"p{n // 4}" for n in range(24)])
    bench.write("job.toml", JOB.format(kind="csv", more=""))
    first = bench.json("run", "job.toml", "--no-report")["run_id"]
    apart, together = (bench.json("compare", first, "--no-report", *more) for more in ((), ("--cluster", "id")))
    assert "over 6 clusters" not in json.dumps(apart["differences"])
    assert "over 6 clusters" in json.dumps(together["differences"])
    bench.write("job.toml", JOB.format(kind="csv", more='cluster = "pupil"'))
    second = bench.json("run", "job.toml", "--no-report")
    assert second["reused"] == second["planned"]
    found = bench.json("compare", second["run_id"], "--no-report")
    assert "over 6 clusters" in json.dumps(found["differences"])
    before, after = (found["sides"][0]["interval"] for found in (apart, found))
    assert after["low"] < before["low"], "six clusters say less than 24 samples"
    beside = bench.json("compare", first, second["run_id"], "--no-report")
    assert "as if independent" not in json.dumps(beside["notes"]), "what one of two runs says is known of both"


@pytest.mark.slow
def test_what_people_have_keeps_its_own_ids(bench: Workbench) -> None:
    write(bench.folder, "csv")
    bench.write("job.toml", JOB.format(kind="csv", more=""))
    bench("run", "job.toml", "--no-report", "--model", "sim/instant", code=None)
    table = list(csv.DictReader(io.StringIO(bench("export", "last", "--format", "csv").stdout)))
    assert [(row["sample_id"], row["id"]) for row in table] == list(zip(NAMES, IDS, strict=True))
    bench("fill", "pupils.csv", "--job", "job.toml", "--model", "sim/instant", code=None)
    with (bench.folder / "pupils.csv").open(newline="") as stream:
        filled = list(csv.DictReader(stream))
    assert [row["pupil"] for row in filled] == IDS
    assert all(row["answer"] for row in filled)


def test_samples_are_chosen_by_their_id_or_by_the_name_of_one(bench: Workbench) -> None:
    write(bench.folder, "csv")
    for chosen, expected in (('["ben"]', 3), ('["ben#2"]', 1), ('["ann#*", "dan"]', 3)):
        bench.write("job.toml", JOB.format(kind="csv", more=f"sample_ids = {chosen}"))
        assert bench.json("plan", "job.toml")["samples"] == expected
        assert "no sample has an id like" not in bench("lint", "job.toml").stdout


def test_a_column_that_is_not_there_is_named(bench: Workbench) -> None:
    write(bench.folder, "csv")
    bench.write("job.toml", JOB.format(kind="csv", more='cluster = "pupl"'))
    said = bench("run", "job.toml", code=2).stderr
    assert "job.toml:7: dataset.cluster: no column 'pupl'" in said
    assert "did you mean 'pupil'?" in said


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["a", "b", "a"], ["a#1", "b", "a#2"]),
        (["a", "a", "a#1"], ["a##1", "a##2", "a#1"]),  # a name that is another row's id
        (["a", "a", "a#1", "a#", "a#"], ["a##1", "a##2", "a#1", "a###1", "a###2"]),  # or another row's name
        (["1", "1", ""], ["1#1", "1#2", ""]),
    ],
)
def test_no_two_rows_have_the_same_name(ids: list[str], expected: list[str]) -> None:
    known = RepeatedIds()
    taken = [(sample_id, known.take(sample_id)) for sample_id in ids]
    assert [known.name(*row) for row in taken] == expected


def test_rows_of_one_sample_that_were_never_sent_are_unknown(bench: Workbench) -> None:
    """As repeats of an epoch are: what a stopped run did not ask speaks for no model."""
    rows = ({"id": f"r{n}", "input": f"What is {n % 4} + 1?", "target": n % 4 + 1} for n in range(12))
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    bench.write("job.toml", job("sim/instant", "Abacus Mini [fast]") + "[budget]\nrequests = 8\n")
    done = bench.json("run", "job.toml", "--no-report", code=None)
    assert (done["planned"], done["pending"]) == (24, 16)
    for row in done["scores"]:
        assert row["scored"] + row["not_right"] + row["unknown"] == 12, row
    assert sum(row["unknown"] for row in done["scores"]) == 16
    assert "No model is ranked" in bench("show", "last").stdout
