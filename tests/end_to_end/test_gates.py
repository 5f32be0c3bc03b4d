"""Gates of a job: met, not met, or not to be told; and what a run ends with."""

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cases import first_of
from tests.compared_runs import record
from tests.conftest import Workbench, job, sums
from workbench.api.pipeline import evaluate_gates
from workbench.job.job import parse_job
from workbench.ledger.queries import reading
from workbench.ledger.run_rows import RunGate
from workbench.local_platform.config import PlatformConfig, RouteFault
from workbench.local_platform.server import ThreadedServer
from workbench.records.outcomes import Outcome
from workbench.wording.gates import recorded_text


def gated(bench: Workbench, gates: str, *models: str, wrong: int = 0, count: int = 60) -> None:
    """A job over sums, some with a wrong target, with gates."""
    rows = sums(count).splitlines()
    wronged = [row.replace('"target": ', '"target": 9') if n < wrong else row for n, row in enumerate(rows)]
    bench.write("sums.jsonl", "\n".join(wronged) + "\n")
    bench.write("job.toml", f"{job(*models)}[gates]\n{gates}\n")


def told(result: dict[str, Any]) -> dict[str, str]:
    return {gate["gate"]: gate["result"] for gate in result["gates"]}


def test_gates_that_are_met_are_told_and_change_nothing(bench: Workbench) -> None:
    gated(bench, "min_mean = { numeric = 0.9 }\nmax_failed_share = 0.0\nmax_fallback_share = 0.0")
    result = bench.json("run", "job.toml")
    assert result["status"] == "complete"
    assert told(result) == {"min_mean": "met", "max_failed_share": "met", "max_fallback_share": "met"}
    assert "Gates" in Path(result["report"]).read_text("utf-8")


def test_a_gate_that_is_not_met_ends_the_run_with_100_and_its_reason(bench: Workbench) -> None:
    gated(bench, "min_mean = { numeric = 0.9 }", wrong=30)
    result = bench.json("run", "job.toml", code=100)
    assert (result["status"], told(result)) == ("gate_failed", {"min_mean": "not met"})
    assert result["reason"].startswith("sim/instant scores 0.500 [")
    assert result["reason"].endswith("by “numeric”; at least 0.9 is wanted")
    shown = bench.json("show", "last")
    assert (shown["status"], shown["reason"]) == ("gate_failed", result["reason"])
    assert shown["gates"][0]["result"] == "not met"
    assert shown["gates"][0]["reason"] == result["gates"][0]["says"]
    assert (shown["gates"][0]["evidence"]["wanted"], shown["gates"][0]["evidence"]["mean"]) == (0.9, 0.5)
    assert bench.json("runs")[0]["status"] == "gate_failed"
    for said in (bench("show", "last").stdout, bench("run", "job.toml", "--no-report", code=100).stdout):
        assert "gate min_mean not met" in said
        assert said.count("at least 0.9 is wanted") == 1
    assert "not met" in Path(result["report"]).read_text("utf-8")
    again = bench("run", "job.toml", "--no-report", code=100).stdout
    assert "gate min_mean not met" in again
    assert "continue with" not in again + bench("show").stderr, "every request is answered"
    assert "rerun its job" not in bench("runs").stderr
    bench("ledger", "check")


def test_samples_without_spread_decide_no_gate(bench: Workbench) -> None:
    checks = [{"scorer": "includes", "target": text} for text in ("answer", "nothing like it")]
    rows = [{"input": f"What is {n} + 1?", "target": checks} for n in range(2)]
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    text = (
        job().replace('"numeric"', '"by_sample"') + '[gates]\nmin_mean = { by_sample = 0.5 }\non_uncertain = "fail"\n'
    )
    bench.write("job.toml", text)
    result = bench.json("run", "job.toml", "--no-report", code=100)
    assert told(result) == {"min_mean": "cannot tell"}
    assert "scores 0.500 [0.079, 0.921] on 2 samples" in result["reason"]


@pytest.mark.slow
def test_the_reason_counts_the_other_gates_that_failed(bench: Workbench) -> None:
    gates = "min_mean = { numeric = 0.9 }\nmax_failed_share = 0.005"
    gated(bench, gates, "sim/instant", "sim/prose", "Abacus Large [careful]", wrong=30)
    result = bench.json("run", "job.toml", "--no-report", code=100)
    assert result["reason"].endswith("at least 0.9 is wanted (and 2 more gates failed)")
    assert "(0 %); at most 0.5 % may be" in bench("show", "last").stdout


@pytest.mark.slow
def test_whoever_reads_what_is_printed_may_leave_and_the_code_is_the_same(bench: Workbench) -> None:
    gated(bench, "min_mean = { numeric = 0.9 }", wrong=30)
    for options in (["--no-report"], ["--json"]):
        nobody, theirs = os.pipe()
        os.close(nobody)
        process = bench.start("run", "job.toml", *options, stdout=theirs)
        os.close(theirs)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 100, err
        assert "cannot" not in err


@pytest.mark.slow
@pytest.mark.parametrize(("more", "code"), [("", 0), ('\non_uncertain = "fail"', 100)])
def test_what_the_answers_cannot_tell_passes_unless_told_otherwise(bench: Workbench, more: str, code: int) -> None:
    gated(bench, "min_mean = { numeric = 0.5 }" + more, wrong=28)
    assert told(bench.json("run", "job.toml", "--no-report", code=code)) == {"min_mean": "cannot tell"}


@pytest.mark.slow
def test_gates_that_could_not_be_decided_do_not_pass(bench: Workbench) -> None:
    gated(bench, "max_failed_share = 0.5", count=4)
    bench.json("run", "job.toml", "--no-report")
    gated(bench, 'max_drop = { numeric = 0.5 }\nbaseline = "20"', count=4)  # the beginning of one run, and then of two
    done = bench("run", "job.toml", "--no-report", code=3)
    assert "2 runs begin with '20'" in done.stderr
    assert "its gates are not decided" in done.stderr


@pytest.mark.slow
def test_gates_that_were_decided_by_other_scores_than_those_beside_them_say_so(bench: Workbench) -> None:
    gated(bench, "min_mean = { numeric = 0.3 }", wrong=15)
    run_id = bench.json("run", "job.toml", "--no-report")["run_id"]
    assert "the gates stand as" not in bench("show", run_id).stdout
    bench("invalidate", run_id, "--sample", "s1", "--sample", "s2", "--reason", "odd")
    gated(bench, "min_mean = { numeric = 0.3 }", wrong=14)
    bench("targets", "apply", "job.toml", "--reason", "a slip")
    said = "the gates stand as they were decided; since then: 2 samples taken out, 1 target corrected"
    assert said in bench("show", run_id).stdout
    assert f"{said.capitalize()}." in Path(bench.json("report", run_id)["report"]).read_text("utf-8")
    bench("run", "job.toml", "--no-report")
    assert "the gates stand as" not in bench("show", "last").stdout


def test_a_run_that_is_not_complete_is_not_judged(bench: Workbench) -> None:
    gated(bench, "max_failed_share = 0.1", "sim/instant", "sim/locked", count=4)
    assert bench.json("run", "job.toml", "--no-report", code=3)["gates"] == []


def test_requests_that_failed_for_good_fail_a_gate(tmp_path: Path, catalogue: PlatformConfig) -> None:
    refusing = {"secret_missing": False, "faults": (RouteFault(status=400),)}
    routes = tuple(
        msgspec.structs.replace(route, **refusing) if route.id == "sim/locked" else route for route in catalogue.routes
    )
    with ThreadedServer(msgspec.structs.replace(catalogue, routes=routes)) as server:
        bench = Workbench(tmp_path, server)
        gated(bench, "max_failed_share = 0.1", "sim/instant", "sim/locked", count=4)
        result = bench.json("run", "job.toml", "--no-report", code=100)
    assert result["reason"] == "4 of 8 requests are unanswered (50 %); at most 10 % may be"


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        ("min_mean = { nummeric = 0.5 }", "the job has no scorer 'nummeric' (did you mean 'numeric'?)"),
        ('steady = ["numeric"]', 'needs run.reuse = "occasion": only scheduled runs are a series'),
        ('baseline = "r9"\nmax_drop = { numeric = 0.1 }', "gates.baseline"),
        ("max_failed_share = 2", "gates.max_failed_share"),
        ('on_uncertain = "maybe"', "gates.on_uncertain"),
    ],
)
def test_gates_that_cannot_be_are_refused_before_anything_is_sent(bench: Workbench, gates: str, said: str) -> None:
    gated(bench, gates)
    for command in ("lint", "plan", "run"):
        assert said in bench(command, "job.toml", code=2).stderr
    assert not list(bench.folder.glob("*.duckdb"))


def test_lint_says_which_gates_so_few_samples_cannot_show(bench: Workbench) -> None:
    gated(bench, "min_mean = { numeric = 0.95 }\nmax_drop = { numeric = 0.02 }", count=20)
    found = bench("lint", "job.toml").stdout
    assert "even if every answer is right, the interval reaches down to 0.832" in found
    assert "even if none differs, the interval reaches 16.1 points down" in found


@pytest.mark.parametrize(
    ("count", "models", "is_said"), [(20, 2, True), (200, 2, False), (200, 3, True), (200, 1, False)]
)
def test_lint_says_which_margins_so_few_samples_cannot_show(
    bench: Workbench, count: int, models: int, *, is_said: bool
) -> None:
    """For three models each difference must be shown at a third of the level."""
    gated(
        bench,
        "[compare]\nmargin = { numeric = 0.02 }",
        *["sim/instant", "sim/flaky", "sim/extract"][:models],
        count=count,
    )
    said = bench("lint", "job.toml").stdout
    assert (f"compare.margin.numeric: {count} samples cannot show it by right and wrong" in said) == is_said


GATED = """
models = ["m", "n"]
dataset.path = "d.jsonl"
run.reuse = "occasion"
[[scorers]]
name = "exact"
[gates]
"""


def decided(bench: Workbench, run_id: str, gates: str) -> list[tuple[str, str | None, str]]:
    parsed = parse_job(GATED + gates, bench.folder / "j.toml")
    results, _ = evaluate_gates(bench.ledger, run_id, parsed)
    return [(one.gate, one.model, one.result) for one in results]


@pytest.mark.slow
def test_a_drop_is_measured_against_the_run_before_or_one_that_is_named(bench: Workbench) -> None:
    worse = [1.0] * 20 + [0.0] * 20
    record(bench, "r1", {"m": [1.0] * 40, "n": worse})
    record(bench, "r2", {"m": worse, "n": worse})
    gate = "max_drop = { exact = 0.1 }"
    assert decided(bench, "r1", gate) == [("max_drop", None, "cannot tell")]
    assert decided(bench, "r2", gate) == [("max_drop", "m", "not met"), ("max_drop", "n", "met")]
    record(bench, "r3", {"m": worse, "n": worse})
    assert [result for _, _, result in decided(bench, "r3", gate)] == ["not met", "met"], "r2 did not meet its gate"
    record(bench, "r4", {"m": worse, "new": worse})
    assert decided(bench, "r4", gate) == [("max_drop", "new", "cannot tell"), ("max_drop", "m", "not met")]
    named = gate + '\nbaseline = "r2"'
    assert [result for _, _, result in decided(bench, "r3", named)] == ["met", "met"]


@pytest.mark.slow
def test_a_night_that_is_run_again_is_not_compared_with_itself(bench: Workbench) -> None:
    worse = [1.0] * 20 + [0.0] * 20
    record(bench, "r1", {"m": [1.0] * 40}, occasion="2026-11-10T02:00Z")
    record(bench, "r2", {"m": worse}, occasion="2026-11-11T02:00Z")
    record(bench, "r3", {"m": worse}, occasion="2026-11-11T02:00Z")
    record(bench, "r4", {"m": worse}, occasion="2026-11-12T02:00Z")
    gate = "max_drop = { exact = 0.4 }"
    assert decided(bench, "r4", gate) == [("max_drop", "m", "met")], "the same as the night before"
    assert decided(bench, "r3", gate) == [("max_drop", "m", "cannot tell")]
    assert "by “exact” from run r1; 40.0 points less is allowed" in bench("show", "r3").stdout


@pytest.mark.slow
def test_a_first_run_with_nothing_to_compare_with_passes_and_is_the_baseline(bench: Workbench) -> None:
    """If it failed, no run would ever have one."""
    values = [1.0] * 60
    for run_id, sides in (
        ("r1", {"m": values}),
        ("r2", {"m": values, "n": values}),
        ("r3", {"m": values, "n": values}),
    ):
        record(bench, run_id, sides)
        decided(bench, run_id, 'max_drop = { exact = 0.1 }\non_uncertain = "fail"')
    runs = {run["run_id"]: run["status"] for run in bench.json("runs")}
    assert set(runs.values()) == {"complete"}
    assert "gate max_drop met: n differs by 0.0 points" in bench("show", "r3").stdout
    record(bench, "r4", {"m": values[:3], "n": values})
    decided(bench, "r4", 'max_drop = { exact = 0.1 }\non_uncertain = "fail"')
    assert bench.json("show", "r4")["reason"].startswith("m differs by 0.0 points"), "what samples cannot show fails it"


@pytest.mark.parametrize(
    ("value", "clusters"),
    [(0.5, ()), pytest.param(1.0, [f"c{n // 2}" for n in range(160)], marks=pytest.mark.slow)],
)
@pytest.mark.slow
def test_scores_that_are_the_same_everywhere_meet_a_gate_where_there_are_enough(
    bench: Workbench, value: float, clusters: list[str]
) -> None:
    """Partly right ones, as of several epochs, and samples in clusters have no spread then."""
    gate = "max_drop = { exact = 0.05 }"
    for number, count in enumerate([160, 160, 20], 1):
        record(
            bench,
            f"r{number}",
            {"m": [value] * count},
            scorers=["exact"],
            config='{"name": "exact"}',
            clusters=clusters[:count],
        )
        found = decided(bench, f"r{number}", gate)
    assert found == [("max_drop", "m", "cannot tell")], "of twenty one in six could differ"
    assert decided(bench, "r2", gate) == [("max_drop", "m", "met")]
    reach = "2.3" if not clusters else "4.5"
    shown = bench("show", "r2").stdout
    assert re.search(rf"gate max_drop met: m differs by 0.0 points \[.{reach}, .?{reach}\]", shown), shown


@pytest.mark.parametrize("part", first_of("the first 3 samples", "a pilot of 3 samples"))
def test_a_run_of_a_part_of_a_job_is_no_baseline_for_the_whole_one(bench: Workbench, part: str) -> None:
    """Three samples cannot show the drop, and the run that has it would be the next one's baseline."""
    gate = "max_drop = { exact = 0.1 }"
    record(bench, "r1", {"m": [1.0] * 40})
    record(bench, "r2", {"m": [1.0] * 3}, narrowed=part)
    record(bench, "r3", {"m": [1.0] * 3 + [0.0] * 37})
    assert decided(bench, "r3", gate) == [("max_drop", "m", "not met")]
    record(bench, "r4", {"m": [1.0] * 3}, narrowed=part)
    assert decided(bench, "r4", gate) == [("max_drop", "m", "cannot tell")]
    assert "from run r2; 10.0 points less is allowed" in bench("show", "r4").stdout


@pytest.mark.slow
def test_a_model_that_becomes_worse_fails_one_occasion_and_not_each_after_it(bench: Workbench) -> None:
    chance = random.Random(3)
    gate = 'steady = ["exact"]'
    said = []
    for night in range(1, 13):
        values = {
            model: [float(chance.random() < (0.85 if model == "n" or night < 8 else 0.45)) for _ in range(120)]
            for model in ("m", "n")
        }
        record(bench, f"r{night}", values, occasion=f"2026-11-{night:02}")
        said.append(decided(bench, f"r{night}", gate))
    failed = [night for night, found in enumerate(said, 1) if ("steady", "m", "not met") in found]
    assert failed in ([8], [9])
    assert {result for found in said[1:] for _, model, result in found if model == "n"} == set(), (
        "only the first has none before it"
    )
    after = [result for found in said[failed[0] :] for _, model, result in found if model == "m"]
    assert set(after) == {"open"}
    with reading(bench.ledger) as reader:
        (gone,) = reader.all(RunGate, run_id=f"r{failed[0]}")
    assert gone.reason == "", "the sentence is made when it is shown"
    assert "below its level before 8 Nov by “exact”" in recorded_text(gone)


def test_a_run_without_an_answer_does_not_say_who_answers(bench: Workbench) -> None:
    values = {"m": [None] * 12}
    outcomes = {("m", sample): Outcome.BAD_REQUEST for sample in range(12)}
    record(bench, "r1", values, outcomes=outcomes, on_fallback="fail")
    strict = 'max_fallback_share = 0.0\non_uncertain = "fail"'
    gates = [("max_fallback_share", None, "cannot tell"), ("on_fallback", None, "cannot tell")]
    assert sorted(decided(bench, "r1", strict)) == gates
    reason = bench.json("show", "r1")["reason"]
    assert reason.startswith("no request is answered, so nothing says who answers")


@pytest.mark.slow
def test_a_fallback_fails_a_run_whose_job_says_so(bench: Workbench) -> None:
    values = {"m": [1.0] * 12, "n": [1.0] * 12}
    record(bench, "r1", values, served_by={("n", 3): "m"}, on_fallback="fail")
    record(bench, "r2", values, on_fallback="fail")
    failing = "false_alarm_rate = 0.01"
    assert decided(bench, "r1", failing) == [("on_fallback", "n", "not met")]
    assert bench.json("show", "r1")["reason"] == "1 of 12 answers of n are of another model"
    assert decided(bench, "r2", failing) == [("on_fallback", None, "met")]
