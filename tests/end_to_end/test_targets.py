"""Corrected targets: runs that were scored by wrong ones are scored again, and nothing is sent."""

import json
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.compared_runs import record
from tests.conftest import Workbench, job, sums
from tests.end_to_end.conftest import MadeOnce
from workbench.dataset.samples import selected_samples
from workbench.evaluation.targets import correct_targets, target_changes
from workbench.job.job import load_job
from workbench.ledger.queries import reading
from workbench.ledger.score_rows import OccasionScore
from workbench.local_platform.config import PlatformConfig
from workbench.local_platform.server import ThreadedServer

SAMPLES, WRONG = 6, 2
NIGHTS = ("2026-11-01T02:00Z", "2026-11-02T02:00Z")


def dataset(bench: Workbench, *, wrong: int, more: str = "") -> None:
    """Sums, of which the first targets are wrong."""
    rows = [json.loads(line) for line in sums(SAMPLES).splitlines()]
    for row in rows[:wrong]:
        row["target"] = f"9{row['target']}"
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows) + more)


def calls(server: ThreadedServer) -> int:
    return server.platform.statistics.requests.total()


def means(bench: Workbench) -> list[float]:
    """The mean of every run, the newest first."""
    scores = (bench.json("show", run["run_id"])["scores"] for run in bench.json("runs"))
    return [found[0]["mean"] for found in scores if found]


@pytest.fixture(scope="module")
def platform(catalogue: PlatformConfig) -> Iterator[ThreadedServer]:
    """One for all tests: what each sends is counted from its own beginning."""
    with ThreadedServer(catalogue) as server:
        yield server


@pytest.fixture
def nights(bench: Workbench, made_once: MadeOnce) -> Workbench:
    """Two nights that were scored by wrong targets, and the dataset as it was corrected since."""
    made_once(bench, two_nights)
    return bench


def two_nights(bench: Workbench) -> None:
    bench.write("job.toml", job("sim/instant").replace("passes = 1", 'passes = 1\nreuse = "occasion"'))
    dataset(bench, wrong=WRONG)
    for night in NIGHTS:
        bench("run", "job.toml", "--no-report", "--occasion", night)
    dataset(bench, wrong=0)


@pytest.mark.slow
def test_every_run_is_scored_by_the_corrected_targets_and_put_back(nights: Workbench, platform: ThreadedServer) -> None:
    right_before = means(nights)
    assert right_before == [pytest.approx(1 - WRONG / SAMPLES)] * 2
    sent = calls(platform)
    listed = nights.json("targets", "diff", "job.toml")
    assert [(one["sample_id"], one["before"], one["target"]) for one in listed["changes"][:WRONG]] == [
        (f"s{n}", f"9{target}", target)
        for n, target in enumerate(json.loads(line)["target"] for line in sums(WRONG).splitlines())
    ]
    assert means(nights) == right_before, "a list changes nothing"
    done = nights("targets", "apply", "job.toml", "--reason", "a slip in the key")
    assert f"2 runs scored by the corrected targets: {2 * WRONG} scores changed, nothing sent" in done.stdout
    assert means(nights) == [1.0, 1.0]
    assert nights.json("targets", "apply", "job.toml", "--reason", "again")["scores_changed"] == 0
    assert [one["reason"] for one in nights.json("show")["corrected_targets"]] == ["a slip in the key"] * WRONG
    assert "2 targets were corrected after the run: a slip in the key" in nights("show").stdout
    page = nights.folder / nights.json("report", "last")["report"]
    assert "Targets corrected after the run: 2 samples" in page.read_text("utf-8")
    nights("targets", "apply", "job.toml", "--restore")
    assert means(nights) == right_before
    assert nights.json("show")["corrected_targets"] == []
    assert calls(platform) == sent


@pytest.mark.slow
def test_corrected_rows_may_come_in_a_file_of_their_own(nights: Workbench, platform: ThreadedServer) -> None:
    """A colleague's file with one corrected row, as CSV: the other samples stay as they are."""
    dataset(nights, wrong=WRONG)
    row = json.loads(sums(1))
    nights.write("key.csv", f"id,input,target\n{row['id']},{row['input']},{row['target']}\n")
    sent = calls(platform)
    listed = nights("targets", "diff", "job.toml", "--dataset", "key.csv")
    assert "`workbench targets apply job.toml --dataset key.csv --reason TEXT`" in listed.stderr
    done = nights.json("targets", "apply", "job.toml", "--dataset", "key.csv", "--reason", "the second reader's key")
    assert {one["sample_id"] for one in done["changes"]} == {"s0"}
    assert means(nights) == [pytest.approx(1 - (WRONG - 1) / SAMPLES)] * 2
    assert calls(platform) == sent
    refused = nights("targets", "apply", "job.toml", "--dataset", "key.csv", "--restore", code=2).stderr
    assert "leave --dataset out" in refused
    nights.write("key.csv", "id,input,target\nx,What is this?,1\n")
    for command in (("diff",), ("apply", "--reason", "x")):
        said = nights("targets", command[0], "job.toml", "--dataset", "key.csv", *command[1:], code=2).stderr
        assert "key.csv: no run of 'sums' asked any of its rows" in said
    nights.write("key.jsonl", '{"id": "s0", "input": \n')
    assert "key.jsonl:1: " in nights("targets", "diff", "job.toml", "--dataset", "key.jsonl", code=2).stderr


def test_targets_that_differ_by_their_type_alone_read_differently(bench: Workbench) -> None:
    bench.write("sums.jsonl", '{"id": "a", "input": "What is 1 + 0?", "target": 1}\n')
    bench.write("job.toml", job())
    bench("run", "job.toml", "--no-report")
    bench.write("sums.jsonl", '{"id": "a", "input": "What is 1 + 0?", "target": "1"}\n')
    assert re.search(r'^a +1 +"1" ', bench("targets", "diff", "job.toml").stdout, re.MULTILINE)


@pytest.mark.slow
def test_a_corrected_sample_keeps_the_columns_that_its_run_recorded(bench: Workbench) -> None:
    rows = [{"id": f"s{n}", "input": f"{n}+1?", "target": 9, "text": f"t{n // 2}"} for n in range(4)]
    named = 'path = "sums.jsonl"\ncluster = "text"\nreference = { old = "target2" }\n'
    bench.write("sums.jsonl", "".join(json.dumps(row | {"target2": "1"}) + "\n" for row in rows))
    bench.write("job.toml", job("sim/instant").replace('path = "sums.jsonl"\n', named))
    bench("run", "job.toml", "--no-report")
    bench.write("key.csv", "input,target\n0+1?,1\nanother,2\n")
    done = bench("targets", "apply", "job.toml", "--dataset", "key.csv", "--reason", "x")
    assert "note: no run asked 1 row of key.csv" in done.stderr
    sample = bench.rows("SELECT sample FROM samples WHERE sample->>'target' = '1'")
    assert [json.loads(one)["metadata"]["text"] for (one,) in sample] == ["t0"]


@pytest.mark.slow
def test_corrected_runs_are_compared_with_newer_ones_on_every_sample(nights: Workbench) -> None:
    nights("run", "job.toml", "--no-report", "--occasion", "2026-11-03T02:00Z")
    compared = nights.json("compare", "--job", "sums", "--no-report")
    assert compared["differences"][0]["asked"] == SAMPLES - WRONG
    (note,) = [note for note in compared["notes"] if "dataset" in note]
    assert f"2 targets changed, and `workbench targets diff {nights.folder / 'job.toml'}` shows" in note
    assert "have another target in each" in " ".join(compared["notes"])
    assert "are only in" not in " ".join(compared["notes"])
    nights("targets", "apply", "job.toml", "--reason", "a slip")
    compared = nights.json("compare", "--job", "sums", "--no-report")
    assert compared["differences"][0]["asked"] == SAMPLES
    assert [note for note in compared["notes"] if "targets changed" in note] == []
    assert any("2 targets were corrected after the run" in note for note in compared["notes"])
    text = next((nights.folder / nights.json("report", "last")["report"]).parent.glob("job-*.html")).read_text("utf-8")
    assert "2 targets corrected before it" in text


@pytest.mark.slow
def test_what_a_killed_command_recorded_is_scored_by_the_next_one(nights: Workbench) -> None:
    loaded = load_job(nights.folder / "job.toml")
    with reading(nights.ledger) as reader:
        found = target_changes(reader, loaded, selected_samples(loaded))
    correct_targets(nights.ledger, found, "a slip")  # and killed here
    assert means(nights)[0] < 1
    again = nights.json("targets", "apply", "job.toml", "--reason", "a slip")
    assert (again["changes"], again["scores_changed"]) == ([], 2 * WRONG)
    assert means(nights) == [1.0, 1.0]


@pytest.mark.slow
def test_a_judge_is_asked_again_about_corrected_samples_alone(bench: Workbench, platform: ThreadedServer) -> None:
    judge = '[[scorers]]\nname = "judge"\nmodel = "Abacus Large [careful]"\n'
    bench.write("job.toml", job("sim/instant").replace('[[scorers]]\nname = "numeric"\n', judge))
    dataset(bench, wrong=WRONG)
    bench("run", "job.toml", "--no-report")
    dataset(bench, wrong=0)
    done = bench("targets", "apply", "job.toml", "--reason", "a slip", code=3)
    assert f"{WRONG} judgements of run " in done.stderr
    assert bench.json("show")["scores"][0]["scored"] == SAMPLES - WRONG, (
        "what was said by the wrong target does not count"
    )
    sent = calls(platform)
    bench("score", "last", "--yes")
    assert calls(platform) - sent == WRONG
    assert means(bench)[-1] == 1.0
    assert bench.json("targets", "apply", "job.toml", "--reason", "again")["pending"] == {}


@pytest.mark.slow
def test_what_cannot_be_told_is_left_alone_and_said(nights: Workbench) -> None:
    first = json.loads(sums(1))
    dataset(nights, wrong=0, more=json.dumps(first | {"id": "again", "target": "12345"}) + "\n")
    found = nights.json("targets", "diff", "job.toml")
    assert {one["sample_id"] for one in found["changes"]} == {"s1"}
    assert {(one["sample_id"], one["why"]) for one in found["left"]} == {
        ("s0", "the dataset asks it 2 times with different targets")
    }
    assert "sample 's0' of run" in nights("targets", "diff", "job.toml").stderr


@pytest.mark.slow
def test_a_sample_that_a_run_has_twice_is_not_made_one(bench: Workbench) -> None:
    first = json.loads(sums(1))
    bench.write("job.toml", job("sim/instant"))
    dataset(bench, wrong=1, more=json.dumps(first | {"id": "again"}) + "\n")
    bench("run", "job.toml", "--no-report")
    dataset(bench, wrong=0)
    left = bench.json("targets", "diff", "job.toml")
    assert left["changes"] == []
    assert [one["why"] for one in left["left"]] == ["the run has another sample that asks the same"]


@pytest.mark.slow
def test_only_runs_of_the_job_unless_all_are_meant(nights: Workbench) -> None:
    nights.write("other.toml", (nights.folder / "job.toml").read_text().replace('name = "sums"', 'name = "others"'))
    dataset(nights, wrong=WRONG)
    nights("run", "other.toml", "--no-report", "--occasion", NIGHTS[0])
    dataset(nights, wrong=0)
    assert len(nights.json("targets", "diff", "job.toml")["runs"]) == 2
    before = means(nights)
    said = nights("targets", "apply", "job.toml", "--reason", "a slip", "--all-runs").stderr
    assert means(nights) == [1.0, 1.0, 1.0]
    nights(*shlex.split(said.split("`")[1])[1:])
    assert means(nights) == before, "the command that it says takes all of it back"


def test_a_job_without_runs_and_a_missing_reason(bench: Workbench) -> None:
    bench.write("job.toml", job("sim/instant"))
    dataset(bench, wrong=0)
    assert "--reason" in bench("targets", "apply", "job.toml", code=2).stderr
    bench("targets", "diff", "job.toml", code=2)
    bench("run", "job.toml", "--no-report")
    bench.write("other.toml", (bench.folder / "job.toml").read_text().replace('name = "sums"', 'name = "sum"'))
    assert "did you mean 'sums'?" in bench("targets", "diff", "other.toml", code=2).stderr
    assert "no target of sums is otherwise in its 1 run" in bench("targets", "diff", "job.toml").stdout


@pytest.mark.slow
def test_a_series_goes_on_over_corrected_nights_on_every_sample(nights: Workbench) -> None:
    nights("run", "job.toml", "--no-report", "--occasion", "2026-11-03T02:00Z")

    def samples() -> list[int]:
        """How many samples each two nights that follow each other have in common."""
        with reading(nights.ledger) as reader:
            rows = reader.all(OccasionScore, job="sums", scorers=["numeric"], until_at=None, most=None)
        keys = [
            {row.sample_key for row in rows if row.occasion == night and row.scorer is not None}
            for night in dict.fromkeys(row.occasion for row in rows)
        ]
        return [len(one & other) for one, other in pairwise(keys)]

    assert samples() == [SAMPLES, SAMPLES - WRONG]
    nights("targets", "apply", "job.toml", "--reason", "a slip")
    assert samples() == [SAMPLES, SAMPLES]


@pytest.mark.slow
def test_a_second_annotator_is_set_beside_the_corrected_targets(nights: Workbench) -> None:
    """She was right where the key was wrong: with it corrected she has every sample right, and is put back with it."""
    rows = [json.loads(line) | {"second": json.loads(line)["target"]} for line in sums(SAMPLES).splitlines()]

    def write(wrong: int) -> None:
        keyed = (row | {"target": f"9{row['target']}"} if n < wrong else row for n, row in enumerate(rows))
        nights.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in keyed))

    def people() -> tuple[float, int]:
        (found,) = [one for one in nights.json("show")["references"] if one["reference"] == "people"]
        return found["interval"]["mean"], found["samples"]

    text = (nights.folder / "job.toml").read_text()
    nights.write("job.toml", text.replace("[dataset]", '[dataset]\nsecond_target = "second"'))
    write(WRONG)
    nights("run", "job.toml", "--no-report", "--occasion", "2026-11-03T02:00Z")
    before = people()
    assert list(before) == pytest.approx([1 - WRONG / SAMPLES, SAMPLES])
    write(0)
    nights("targets", "apply", "job.toml", "--reason", "a slip")
    assert people() == (1.0, SAMPLES)
    nights("targets", "apply", "job.toml", "--restore")
    assert people() == before


def test_of_a_judge_the_answers_are_looked_at_and_not_its_verdicts(bench: Workbench) -> None:
    config = '{"name": "judge", "verdicts": {"CORRECT": 1, "INCORRECT": 0}}'
    wrong = {model: [0.0, 0.0] for model in ("a", "b", "c")}
    record(
        bench, "r1", wrong, config=config, extracted=lambda _model, _sample: "INCORRECT",
        said={(model, 0): " The  Answer is 7" for model in wrong},
    )  # fmt: skip
    assert [(row["sample_id"], row["answer"]) for row in bench.json("show", "r1", "--suspects")] == [
        ("0", "the answer is 7")
    ]
