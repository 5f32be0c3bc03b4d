"""Answers that two judges, or two rubrics of one, judge otherwise: how many, which way, and which they are."""

import html
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from tests.compared_runs import record
from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.unit.ledger.ledger_rows import STARTED_AT, intent
from workbench.ledger.entries import score_entry
from workbench.ledger.journal import JournalWriter
from workbench.local_platform.server import ThreadedServer
from workbench.records.calls import Score

SAMPLES = 40
JUDGE = '[[scorers]]\nname = "judge"\nlabel = "{label}"\nmodel = "{model}"\n{more}'
JUDGES = {name: f'{{"name":"judge","model":"{name}","label":"{name}"}}' for name in ("strict", "lenient")}


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Workbench]:
    """A platform with a model, and two judges of which one errs."""
    routes = ({"id": "m", "simulated": "answers"}, {"id": "sure", "simulated": "answers"})
    erring = {"id": "erring", "simulated": "answers", "wrong_verdicts": 0.3}
    with ThreadedServer(platform_of(*routes, erring)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(SAMPLES))
        yield bench


def write(bench: Workbench, *judges: str) -> None:
    bench.write("job.toml", job("m").replace('[[scorers]]\nname = "numeric"\n', "") + "".join(judges))


def verdicts(bench: Workbench, run_id: str, scorer: str) -> dict[str, float]:
    rows = bench.rows(
        f"SELECT sample_id, arg_max(value, recorded_at) FROM scores JOIN run_items USING (run_id, request_key) "  # noqa: S608
        f"WHERE run_id = '{run_id}' AND scorer = '{scorer}' GROUP BY sample_id"
    )
    return dict(rows)


@pytest.mark.slow
def test_two_judges_of_one_model_are_set_beside_each_other(judged: Workbench) -> None:
    write(
        judged, JUDGE.format(label="sure", model="sure", more=""), JUDGE.format(label="erring", model="erring", more="")
    )
    run_id = judged.json("run", "job.toml", "--no-report")["run_id"]
    expected = {name for name, value in verdicts(judged, run_id, "erring").items() if value == 0.0}
    assert 3 < len(expected) < 30, "all answers are right, and the other one errs"
    said = judged("compare", run_id, "--no-report").stdout
    assert f"By “sure” {len(expected)} of {SAMPLES} answers are judged otherwise than by “erring”" in said
    assert f"0 right there and wrong here, {len(expected)} the other way; “erring” is stricter (McNemar" in said
    asks = re.search(r"samples .*: (workbench compare .*--verdicts)", said)
    assert asks is not None, said
    listed = judged(*shlex.split(asks[1])[1:]).stdout
    assert set(re.findall(r"^(s\d+) ", listed, re.MULTILINE)) == expected
    assert "CORRECT (1)" in listed
    (found,) = judged.json("compare", run_id)["judged_twice"]
    assert {one["sample_id"] for one in found["otherwise"]} == expected
    assert (found["answers"], found["only"], found["only_other"]) == (SAMPLES, 0, 0)
    page = Path(judged.json("compare", run_id, "--scorer", "erring")["report"]).read_text("utf-8")
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.split('id="judged-twice"')[1])).split())
    assert f"By “erring” {len(expected)} of {SAMPLES} answers are judged otherwise than by “sure”" in text
    assert all(f" {name} m " in text for name in expected)


@pytest.mark.slow
def test_a_rubric_that_was_changed_is_set_beside_the_one_before(judged: Workbench) -> None:
    write(judged, JUDGE.format(label="judge", model="erring", more=""))
    run_id = judged.json("run", "job.toml", "--no-report")["run_id"]
    before = verdicts(judged, run_id, "judge")
    write(judged, JUDGE.format(label="judge", model="erring", more='rubric = "Is the number right?"\n'))
    again = judged.json("run", "job.toml", "--no-report")["run_id"]
    after = verdicts(judged, again, "judge")
    expected = {name for name in before if before[name] != after[name]}
    of_two_runs = judged.json("compare", run_id, again, "--no-report")["judged_twice"]
    judged("score", run_id, "--job", "job.toml", "--yes")
    of_one = judged.json("compare", run_id, "--no-report")["judged_twice"]
    for (found,) in (of_two_runs, of_one):
        assert {one["sample_id"] for one in found["otherwise"]} == expected != set()
        assert (found["rubric"]["is_current"], found["other"]["is_current"]) == (True, False)
        assert "than by “judge” as it was on 20" in found["says"]


def recorded(bench: Workbench, verdicts: Mapping[str, Sequence[float | None]], *, models: int = 1) -> None:
    """A run whose answers the judges `strict` and `lenient` judged so: the same of each model."""
    names = [f"m{n}" for n in range(models)]
    samples = len(next(iter(verdicts.values())))
    record(bench, "r1", {name: [1.0] * samples for name in names}, scorers=["exact", *verdicts])
    writer = JournalWriter(bench.ledger.journal_folder)
    for label, values in verdicts.items():
        for place in range(models):
            for sample, value in enumerate(values):
                key = intent("r1", 1 + place * 10_000 + sample).request_key
                score = Score(value, "because" if value is not None else "the judge gave no verdict")
                writer.append(score_entry("r1", key, (label, JUDGES[label]), STARTED_AT + timedelta(hours=1), score))
    writer.close()


def twice(bench: Workbench, *arguments: str) -> list[str]:
    return [one["says"] for one in bench.json("compare", "r1", "--no-report", *arguments)["judged_twice"]]


def test_what_only_one_of_them_judged_is_no_difference(bench: Workbench) -> None:
    recorded(bench, {"strict": [0.0, 0.0, 1.0, None], "lenient": [1.0, None, 1.0, None]})
    assert twice(bench) == [
        "By “strict” 1 of 2 answers is judged otherwise than by “lenient”: 1 right there and wrong here, 0 the other way; "
        "neither is shown to be stricter (McNemar's exact test, p = 1.00). Not judged by both, and no difference: 1 only by “strict”."
    ]


def test_answers_of_several_models_to_one_sample_are_no_independent_ones(bench: Workbench) -> None:
    recorded(bench, {"strict": [0.0] * 3 + [1.0] * 9, "lenient": [1.0] * 12}, models=4)
    (said,) = twice(bench)
    assert "By “strict” 12 of 48 answers are judged otherwise" in said
    assert "t test over 12 samples" in said
    (one,) = twice(bench, "--model", "m0", "--model", "m1")
    assert "By “strict” 6 of 24 answers" in one


def test_a_judge_that_changed_its_mind_is_told(bench: Workbench) -> None:
    recorded(bench, {"strict": [1.0, 1.0, 0.0]})
    writer = JournalWriter(bench.ledger.journal_folder)
    later = STARTED_AT + timedelta(hours=5)
    writer.append(score_entry("r1", intent("r1", 1).request_key, ("strict", JUDGES["strict"]), later, Score(0.0, "no")))
    writer.close()
    assert twice(bench) == [
        "By “strict” 1 of 3 answers is judged otherwise than when it was asked first: 1 right there and wrong here, 0 the other way."
    ]


@pytest.mark.slow
def test_what_was_judged_by_another_target_is_no_difference(judged: Workbench) -> None:
    """A judge that follows the target says something else once that is corrected, and has not changed its mind."""
    write(judged, JUDGE.format(label="sure", model="sure", more=""))
    run_id = judged.json("run", "job.toml", "--no-report")["run_id"]
    rows = [json.loads(line) for line in (judged.folder / "sums.jsonl").read_text().splitlines()]
    for row in rows[:5]:
        row["target"] = "1000001"
    judged.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    again = judged.json("run", "job.toml", "--no-report")["run_id"]
    assert verdicts(judged, run_id, "sure") != verdicts(judged, again, "sure")
    assert judged.json("compare", run_id, again, "--no-report")["judged_twice"] == []
    judged("targets", "apply", "job.toml", "--reason", "wrong", code=3)
    judged("score", run_id, "--yes")
    assert verdicts(judged, run_id, "sure") == verdicts(judged, again, "sure")
    assert judged.json("compare", run_id, again, "--no-report")["judged_twice"] == []


def test_nothing_is_said_where_nothing_was_judged_twice(bench: Workbench) -> None:
    recorded(bench, {"strict": [1.0, 0.0]}, models=2)
    assert twice(bench) == []
    assert "judged" not in bench("compare", "r1", "--no-report").stdout
