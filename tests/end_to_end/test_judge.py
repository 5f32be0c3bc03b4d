"""A model as the judge: asked apart from what it judges, paid for once, and never in the way of other scores."""

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.conftest import Workbench, job, sums
from tests.end_to_end.conftest import MadeOnce
from workbench.ledger.entries import score_entry
from workbench.ledger.journal import JournalWriter
from workbench.local_platform.config import PlatformConfig
from workbench.local_platform.server import ThreadedServer
from workbench.planning.again import OF_A_JUDGE
from workbench.records.calls import Score
from workbench.scoring.judge import PENDING, Judge, asks_again, in_vain, is_pending

JUDGE = '[[scorers]]\nname = "judge"\nmodel = "{model}"\n{more}'


LATER = '[judge]\nwhen = "later"\n'


def judged(bench: Workbench, model: str = "Abacus Large [careful]", more: str = "", wrong: int = 2) -> str:
    """A run of six sums, some with a wrong target, whose job has a judge; returns its id."""
    rows = sums(6).splitlines()
    bench.write(
        "sums.jsonl",
        "\n".join(row.replace('"target": ', '"target": 77') if n < wrong else row for n, row in enumerate(rows)),
    )
    bench.write("job.toml", job("sim/instant") + JUDGE.format(model=model, more=more) + LATER)
    return str(bench.json("run", "job.toml", "--no-report", code=None)["run_id"])


@pytest.fixture(scope="module")
def platform(catalogue: PlatformConfig) -> Iterator[ThreadedServer]:
    """One for all tests, as most begin with the same run on it."""
    with ThreadedServer(catalogue) as server:
        yield server


def means(bench: Workbench, run_id: str) -> dict[str, float | None]:
    return {row["scorer"]: row["mean"] for row in bench.json("show", run_id)["scores"]}


@pytest.mark.slow
def test_calls_are_stated_first_and_made_with_yes_alone(bench: Workbench, made_once: MadeOnce) -> None:
    run_id = made_once(bench, judged)
    assert means(bench, run_id) == {"numeric": pytest.approx(4 / 6), "judge": None}
    stated = bench("score", run_id, code=3)
    assert "judge: Abacus Large [careful] is still to judge 6 answers: 6 calls, about" in stated.stderr
    assert len(bench.json("runs")) == 1
    scored = bench.json("score", run_id, "--yes")
    assert (scored["written"], scored["pending"]) == (6, 0)
    assert means(bench, run_id) == {"numeric": pytest.approx(4 / 6), "judge": pytest.approx(4 / 6)}
    own, other = bench.json("runs")
    assert (own["job"], own["calls"], other["run_id"]) == ("sums judged by judge", 6, run_id)
    assert own["tags"] == {"judge": "judge", "judged_run": run_id, "judged_job": "sums"}
    call = bench.lines("show", run_id, "--calls")[0]
    assert set(call["scores"]) == {"judge", "numeric"}


@pytest.mark.slow
def test_a_run_that_leaves_its_judge_for_later_names_the_command(bench: Workbench) -> None:
    judged(bench)
    told = bench("run", "job.toml", "--no-report", "--fresh").stderr
    (line,) = [line for line in told.splitlines() if "without a judgement" in line]
    command = shlex.split(line.partition("`")[2].rstrip("`"))
    assert (line.startswith("6 answers without a judgement: "), command[:2]) == (True, ["workbench", "score"])
    assert bench.json(*command[1:])["pending"] == 0


@pytest.mark.slow
def test_what_it_said_stands_until_it_is_asked_by_another_rubric(bench: Workbench, made_once: MadeOnce) -> None:
    run_id = made_once(bench, judged)
    bench.json("score", run_id, "--yes")
    before = means(bench, run_id)
    text = (bench.folder / "job.toml").read_text()
    bench.write("other.toml", text.replace('name = "judge"', 'name = "judge"\nrubric = "Is it short?"'))
    stated = bench("score", run_id, "--job", "other.toml", code=3)
    assert "note: judge judges by other settings than before" in stated.stderr
    assert "another `label` in the job keeps both" in stated.stderr
    assert means(bench, run_id) == before, "nothing was asked"
    bench.write(
        "beside.toml", text.replace('name = "judge"', 'name = "judge"\nlabel = "short"\nrubric = "Is it short?"')
    )
    assert "other settings" not in bench("score", run_id, "--job", "beside.toml", "--yes").stderr
    assert {"numeric", "judge", "short"} == set(means(bench, run_id))
    assert means(bench, run_id)["judge"] == before["judge"], "both are kept"


@pytest.mark.slow
def test_what_it_said_is_paid_for_once_and_kept(bench: Workbench, made_once: MadeOnce) -> None:
    run_id = made_once(bench, judged)
    bench.json("score", run_id, "--yes")
    again = bench.json("score", run_id)
    assert (again["written"], again["pending"]) == (0, 0)
    assert len(bench.json("runs")) == 2, "nothing is asked where everything is judged"
    fresh = bench.json("run", "job.toml", "--no-report")["run_id"]
    assert bench.json("score", fresh, "--yes")["pending"] == 0
    assert bench.json("runs")[0]["calls"] == 0, "the same answers are judged by what was said of them"
    assert means(bench, fresh)["judge"] == pytest.approx(4 / 6)


@pytest.mark.slow
def test_it_is_heard_also_after_the_clock_was_put_back(bench: Workbench, made_once: MadeOnce) -> None:
    run_id = made_once(bench, judged)
    pending = bench.rows("SELECT request_key, scorer_config FROM scores WHERE scorer = 'judge'")
    writer = JournalWriter(bench.ledger.journal_folder)
    for key, config in pending:
        later = datetime.now(UTC) + timedelta(hours=1)
        writer.append(score_entry(run_id, key, ("judge", config), later, Score(None, PENDING)))
    writer.close()
    assert bench.json("score", run_id, "--yes")["pending"] == 0
    assert means(bench, run_id)["judge"] == pytest.approx(4 / 6)


@pytest.mark.slow
def test_a_simulated_judge_is_none_of_the_visible_models(bench: Workbench) -> None:
    judged(bench, "My Own Judge")
    bench.write("job.toml", (bench.folder / "job.toml").read_text("utf-8").replace('["sim/instant"]', '"visible"'))
    planned = bench("plan", "job.toml", "--local", "--json").stdout
    assert "My Own Judge" not in planned
    assert "is not visible" not in bench("lint", "job.toml", "--local").stdout


@pytest.mark.slow
def test_an_outage_of_the_judge_loses_nothing(bench: Workbench) -> None:
    run_id = judged(bench, "sim/locked")
    done = bench("score", run_id, "--yes", code=3)
    assert "6 answers could not be judged yet" in done.stderr
    assert means(bench, run_id) == {"numeric": pytest.approx(4 / 6), "judge": None}
    assert len(bench.lines("show", run_id, "--calls")) == 6
    bench.write("job.toml", (bench.folder / "job.toml").read_text("utf-8").replace("sim/locked", "Lab Tutor"))
    assert bench.json("score", run_id, "--job", "job.toml", "--yes")["pending"] == 0
    assert means(bench, run_id)["judge"] == pytest.approx(4 / 6)


@pytest.mark.slow
def test_a_budget_holds_and_the_rest_is_asked_later(bench: Workbench) -> None:
    run_id = judged(bench, more="most_calls = 4\n")
    done = bench("score", run_id, "--yes", code=7)
    assert "2 answers could not be judged yet" in done.stderr
    assert "(stopped: the budget of 4 requests" in done.stderr
    own = bench.json("runs")[0]["run_id"]
    command = bench("show", own).stderr.split("continue with: ")[1].splitlines()[0]
    assert shlex.split(command)[:4] == ["workbench", "score", run_id, "--yes"]
    assert bench.json("score", run_id, "--yes")["pending"] == 0


@pytest.mark.slow
def test_a_model_that_judges_itself_is_said(bench: Workbench) -> None:
    run_id = judged(bench, "sim/instant")
    assert "note: sim/instant judges its own answers among others" in bench("score", run_id, code=3).stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('template = "{{ answr }}"', "scorers[1].template: 'answr' is undefined (did you mean 'answer'?)"),
        (
            'template = "Is it right? VERDICT: {{ verdicts }}"',
            "scorers[1].template: it shows the judge no answer: name it",
        ),
        (
            'template = "Is {{ answer }} right?"',
            "scorers[1].template: it asks for no verdict: say that the last line is",
        ),
        ('template = "{{ answer "', "scorers[1].template: line 1 is not valid Jinja"),
        (
            'template = "{{ answer | shorten }}"',
            "scorers[1].template: line 1 is not valid Jinja: No filter named 'shorten'",
        ),
        (
            'template = "{{ answer }} {{ metadata.source }} VERDICT: one of {{ verdicts }}"',
            "scorers[1].template: sample 's0': 'dict object' has no attribute 'source'",
        ),
        ('verdicts = { YES = 1, "yes " = 0 }', "expected two words or more that differ by more than case"),
        ("votes = 99", "votes"),
    ],
)
def test_a_judge_that_cannot_be_asked_is_named_before_anything_is_sent(bench: Workbench, more: str, said: str) -> None:
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", job("sim/instant") + JUDGE.format(model="Abacus Large [careful]", more=more))
    for command in ("lint", "run"):
        assert said in bench(command, "job.toml", code=2).stderr


@pytest.mark.slow
def test_a_template_may_name_columns_that_not_every_sample_has(bench: Workbench) -> None:
    template = "{{ answer }} {{ hint | default('') }}{% if note is defined %}{{ note }}{% endif %}{{ range(2) | list }}"
    run_id = judged(bench, more=f'template = "{template} VERDICT: and one of {{{{ verdicts }}}}"\n')
    assert bench.json("score", run_id, "--yes")["pending"] == 0


@pytest.mark.slow
def test_votes_that_cannot_differ_are_named_before_they_are_paid_for(bench: Workbench) -> None:
    said = "votes: 3 votes at temperature 0 are one, and each is paid for"
    bench.write("sums.jsonl", sums(3))
    for temperature, is_said in (("0", True), ("0.7", False)):
        own = f'[[scorers]]\nname = "judge"\nmodel = "Abacus Large [careful]"\nvotes = 3\ntemperature = {temperature}\n'
        bench.write("job.toml", job() + own)
        assert (said in bench("lint", "job.toml").stdout) is is_said


def test_a_judge_that_is_not_visible_is_said_before_a_run_spends_anything(bench: Workbench) -> None:
    """A typing error in its name would pay for all answers and judge none of them."""
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job() + JUDGE.format(model="Abacus Larg [careful]", more=""))
    said = "job.toml:15: scorers[1].model: 'Abacus Larg [careful]' is not visible to this account, and its scores would stay pending"
    near = "(did you mean 'Abacus Large [careful]'?)"
    assert f"{said} {near}" in bench("lint", "job.toml", code=None).stdout
    refused = bench("run", "job.toml", "--no-report", code=2).stderr
    assert f"{said} {near}; nothing was sent (--allow judge_not_visible, in Python" in refused
    assert (
        f"warning: {said}" in bench("run", "job.toml", "--no-report", "--allow", "judge_not_visible", code=None).stderr
    )
    bench.write("job.toml", (bench.folder / "job.toml").read_text() + '[judge]\nwhen = "later"\n')
    assert f"warning: {said}" in bench("run", "job.toml", "--fresh", "--no-report").stderr


VOTER = Judge(model="m", votes=3)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["Fine.\nVERDICT: CORRECT"], Score(1.0, "m says CORRECT: Fine.", "CORRECT")),
        (["VERDICT: CORRECT or not?\nNo.\n**Verdict:** *incorrect*."], Score(0.0, "m says INCORRECT", "INCORRECT")),
        (["a\nVERDICT: CORRECT", "b\nVERDICT: INCORRECT", "c\nVERDICT: CORRECT"], Score(1.0, "m says CORRECT by 2 of 3 votes: a", "CORRECT")),
        (["VERDICT: CORRECT", "VERDICT: INCORRECT"], Score(None, "the judge is undecided: 1 CORRECT, 1 INCORRECT")),
        (["VERDICT: CORRECT", "?", "?"], Score(None, "the judge is undecided: 1 CORRECT, 2 without a verdict")),
        (["VERDICT: CORRECT", "VERDICT: CORRECT", "?"], Score(1.0, "m says CORRECT by 2 of 3 votes", "CORRECT")),
        (["VERDICT: INCORRECT\n\nThe answer itself ends with VERDICT: CORRECT"], Score(0.0, "m says INCORRECT", "INCORRECT")),
        (["It is right, so VERDICT: CORRECT"], Score(1.0, "m says CORRECT: It is right, so", "CORRECT")),
        (["I cannot say."], Score(None, "the judge gave no verdict", "I cannot say.")),
        (["VERDICT: PERHAPS"], Score(None, "the judge gave no verdict", "VERDICT: PERHAPS")),
    ],
)  # fmt: skip
def test_verdicts_are_read_from_the_last_line_and_the_majority_counts(said: list[str], expected: Score) -> None:
    assert VOTER.score_of(said) == expected


@pytest.mark.parametrize(
    ("verdicts", "said", "word"),
    [
        ({"A+": 1, "A": 0.5, "B": 0}, "VERDICT: A+", "A+"),
        ({"A+": 1, "A": 0.5, "B": 0}, "VERDICT: [A+]!", "A+"),
        ({"A+": 1, "A": 0.5, "B": 0}, "**VERDICT:** `a+`.", "A+"),
        ({"A+": 1, "A": 0.5, "B": 0}, "VERDICT: **A**", "A"),
        ({"1": 1, "-1": 0}, "VERDICT: -1", "-1"),
        ({"1": 1, "-1": 0}, "VERDICT: 1.", "1"),
        ({"👍": 1, "👎": 0}, "VERDICT: 👎", "👎"),
        ({"👍": 1, "👎": 0}, "**Verdict**: “👍\ufe0f”", "👍"),
        ({"yes": 1, "no": 0}, "**VERDICT:**\n\nYes", "yes"),
        ({"yes": 1, "no": 0}, "VERDICT: yes!", "yes"),
        *(
            ({"CORRECT": 1, "INCORRECT": 0}, f"VERDICT: {said}", "CORRECT")
            for said in ("✅ CORRECT", "<CORRECT>", "- CORRECT", "【CORRECT】。")
        ),
        ({"A+": 1, "A-": 0}, "VERDICT: A", None),
    ],
)
def test_a_verdict_may_be_of_any_characters(verdicts: dict[str, float], said: str, word: str | None) -> None:
    scorer = Judge(model="m", verdicts=verdicts)
    assert not list(scorer.faults())
    assert scorer.verdict_in(said) == word


@pytest.mark.parametrize("words", [["A"], ["A", "a", "B"], ["A", "A.", "B"], ["*", "**"], ["", "x"], ["_x_", "'x'"]])
def test_verdicts_that_cannot_be_told_apart_are_refused(words: list[str]) -> None:
    ((field, _),) = Judge(model="m", verdicts={word: n / 10 for n, word in enumerate(words)}).faults()
    assert field == "verdicts"


def test_every_kind_that_is_asked_again_has_its_reason_and_whoever_was_never_asked_comes_first() -> None:
    reasons = {kind: in_vain(kind) for kind in OF_A_JUDGE}
    assert {kind: asks_again(reason) for kind, reason in reasons.items()} == {kind: kind for kind in OF_A_JUDGE}
    every = [*reasons.values(), in_vain(None), PENDING]
    assert all(map(is_pending, every))
    assert min(every) == PENDING, "the first by its letters, which queries take"
