"""Ways to fool a comparison: what is missing of a model's answers never speaks for it, wherever a difference is told."""

import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

import workbench as wb
from tests.compared_runs import AskedEpoch, one_journal, record, record_epochs
from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.pages import Page
from workbench.evaluation.gates import gate_findings
from workbench.evaluation.run_figures import run_figures, run_findings
from workbench.job.file import GatesTable
from workbench.ledger.ingest import ingest
from workbench.ledger.queries import reading
from workbench.ledger.run_rows import RunItems
from workbench.local_platform.server import ThreadedServer
from workbench.records.outcomes import Outcome
from workbench.scoring.exact import Exact
from workbench.scoring.judge import Judge, last_line
from workbench.scoring.scorer import NO_TEXT
from workbench.wording.gates import gate_text

N = 120
_CHANCE = random.Random(7)
GOOD = [1.0 if _CHANCE.random() < 0.72 else 0.0 for _ in range(N)]
CHEAT = [1.0 if _CHANCE.random() < 0.64 else 0.0 for _ in range(N)]
WRONG = [sample for sample, value in enumerate(CHEAT) if not value]
HIDDEN: list[float | None] = [value or None for value in CHEAT]


def hidden(bench: Workbench, outcome: Outcome = Outcome.OK, **more: Any) -> None:
    """A run in which nothing that cheat does wrong has a score."""
    outcomes = {("cheat", sample): outcome for sample in WRONG}
    record(bench, "r1", {"good": GOOD, "cheat": HIDDEN}, scorers=["exact"], outcomes=outcomes, **more)


def verdict(bench: Workbench, *runs: str) -> dict[str, Any]:
    """What compare says of cheat beside good, and the same in every other place."""
    found = bench.json("compare", *runs, "--baseline", "good") if len(runs) < 2 else bench.json("compare", *runs)
    (beside,) = found["differences"]
    said = [beside["says"], bench("compare", *runs, "--no-report").stdout, *found["notes"]]
    said.append(Page(found["report"]).text)
    if len(runs) < 2:
        said.append(Page(bench.json("report", "last")["report"]).text)
    flattering = r"cheat(?: in r\d)? (?:is better than|scores best|scores higher)|is better than good|good and cheat tie|cheat and good tie"
    assert beside["verdict"] == "better" or not [text for text in said if re.search(flattering, text)]
    return {"notes": " ".join(found["notes"]), "sides": {side["model"]: side for side in found["sides"]}, **beside}


def gate(bench: Workbench, least: float) -> dict[str, str]:
    with reading(bench.ledger) as reader:
        found = run_findings(reader, "r1")
        results = gate_findings(
            reader,
            found,
            reader.all(RunItems, run_id="r1"),
            GatesTable(min_mean={"exact": least}, max_unusable_share=0.1),
        )
    return {f"{one.gate} {one.model or ''}".strip(): one.result for one in results}


OWN = [
    Outcome.EMPTY,
    Outcome.TRUNCATED,
    Outcome.REASONING_EXHAUSTED,
    Outcome.REFUSED,
    Outcome.FILTERED,
    Outcome.CONTEXT_TOO_LONG,
]
LOST = [
    Outcome.ROUTE_DOWN,
    Outcome.RATE_LIMITED,
    Outcome.CLIENT_TIMEOUT,
    Outcome.BROKEN_OFF,
    Outcome.NULL_BODY,
    Outcome.UNREADABLE_BODY,
    Outcome.CANCELLED,
]


def first_of(outcomes: list[Outcome]) -> list[Any]:
    """All of them, of which the default suite takes the first."""
    return [outcomes[0], *(pytest.param(outcome, marks=pytest.mark.slow) for outcome in outcomes[1:])]


@pytest.mark.parametrize("outcome", first_of(OWN))
def test_an_answer_without_a_score_by_the_model_s_own_doing_is_not_right(bench: Workbench, outcome: Outcome) -> None:
    hidden(bench, outcome)
    found = verdict(bench)
    assert (found["verdict"], found["shared"], found["unknown"]) == ("worse", N, 0)
    assert found["found"]["difference"] == pytest.approx((sum(CHEAT) - sum(GOOD)) / N)
    assert f"cheat: {len(WRONG)} of {N} answers" in found["notes"]
    assert gate(bench, 0.75)["min_mean cheat"] == "not met", "the mean of what is scored is 1.000"
    if outcome is not Outcome.CONTEXT_TOO_LONG:
        assert gate(bench, 0.75)["max_unusable_share"] == "not met"
    cases = bench("export", "r1", "--format", "junit").stdout
    assert f'name="cheat" tests="{N}" failures="{len(WRONG)}" errors="0" skipped="0"' in cases


@pytest.mark.slow
def test_a_tool_call_where_a_text_was_asked_is_not_right(bench: Workbench) -> None:
    hidden(bench, reasons={("cheat", sample): NO_TEXT for sample in WRONG})
    found = verdict(bench)
    assert (found["verdict"], found["unknown"]) == ("worse", 0)


@pytest.mark.parametrize("outcome", first_of(LOST))
def test_answers_that_were_lost_are_bounded_and_the_model_is_not_ranked(bench: Workbench, outcome: Outcome) -> None:
    hidden(bench, outcome)
    found = verdict(bench)
    assert (found["verdict"], found["unknown"], found["shared"]) == ("open", len(WRONG), N - len(WRONG))
    assert found["low"] < 0 < found["high"]
    assert "cheat is not ranked" in found["notes"]
    assert gate(bench, 0.75)["min_mean cheat"] == "cannot tell", "it is met at the best, and not at the worst"
    (listed,) = bench.json("runs")
    assert (listed["best"]["model"], listed["worst"]["model"]) == ("good", "good"), "who is not ranked is not the best"
    shown = bench("show", "r1").stdout.partition("  mean  ")[2]
    assert shown.index("\ngood") < shown.index("\ncheat"), "who answered little does not stand first"
    assert (
        f"Not ranked: cheat ({N - len(WRONG)} of {N} answers have a result, and 80 % must)."
        in bench("show", "r1").stdout
    )
    assert "good scores 0." in Page(bench.json("report", "last")["report"]).text


@pytest.mark.slow
def test_what_no_scorer_could_read_is_unknown(bench: Workbench) -> None:
    hidden(bench, reasons={("cheat", sample): "the scorer failed: ValueError: no number" for sample in WRONG})
    assert verdict(bench)["verdict"] == "open"


@pytest.mark.slow
def test_a_fallback_s_answers_are_unknown(bench: Workbench) -> None:
    names = {("cheat", sample): "good" for sample in WRONG}
    record(bench, "r1", {"good": GOOD, "cheat": CHEAT}, scorers=["exact"], served_by=names)
    found = verdict(bench)
    assert (found["verdict"], found["unknown"]) == ("open", len(WRONG))
    assert "are of another model (good) and are left out" in found["notes"]


@pytest.mark.slow
def test_a_foreign_name_of_a_model_that_names_itself_is_unknown(bench: Workbench) -> None:
    names = {("cheat", sample): "somebody-70b" for sample in WRONG}
    record(bench, "r1", {"good": GOOD, "cheat": CHEAT}, scorers=["exact"], served_by=names)
    found = verdict(bench)
    assert (found["verdict"], found["unknown"]) == ("open", len(WRONG))
    assert f"{len(WRONG)} of {N} answers are under a name that is in no model list" in found["notes"]


@pytest.mark.slow
def test_samples_that_were_taken_out_are_said_with_why(bench: Workbench) -> None:
    record(bench, "r1", {"good": GOOD, "cheat": CHEAT}, scorers=["exact"])
    ids = [option for sample in WRONG for option in ("--sample", str(sample))]
    bench("invalidate", "r1", *ids, "--reason", "too hard")
    found = verdict(bench)
    assert found["asked"] == N - len(WRONG)
    assert f"{len(WRONG)} of {N} samples are taken out by `workbench invalidate`: too hard" in found["notes"]


@pytest.mark.slow
def test_answers_that_are_reused_are_said_with_their_dates(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(8))
    bench.write("job.toml", job("sim/instant"))
    bench.json("run", "job.toml", "--no-report")
    bench.write("job.toml", job("sim/instant", "Abacus Large [careful]"))
    bench.json("run", "job.toml", "--no-report")
    notes = " ".join(bench.json("compare", "--no-report")["notes"])
    assert "Answers are reused from earlier runs: 8 of 8 of sim/instant, of 20" in notes


JOB = """models = ["m"]
[dataset]
path = "d.jsonl"
[prompt]
system = "{system}"
[request]
temperature = {temperature}
[[scorers]]
name = "exact"
"""


def test_another_prompt_or_temperature_is_said_with_both(bench: Workbench) -> None:
    texts = [JOB.format(system="Think first.", temperature=0), JOB.format(system="Answer.", temperature=1)]
    for number, text in enumerate(texts, 1):
        record(bench, f"r{number}", {"m": [1.0] * 30 if number > 1 else [0.0] * 30}, scorers=["exact"], job_toml=text)
    found = bench.json("compare", "r1", "r2", "--no-report")
    assert found["differences"][0]["verdict"] == "better"
    notes = " ".join(found["notes"])
    assert "prompt.system differs: “Think first.” (r1); “Answer.” (r2)." in notes
    assert "request.temperature differs: 0" in notes


@pytest.mark.slow
def test_one_sample_under_six_ids_is_one(bench: Workbench) -> None:
    rows = [{"id": f"twin{n}", "input": "What is 1 + 1?", "target": 2} for n in range(6)]
    rows += [{"id": f"other{n}", "input": f"What is {n} + {n + 9}?", "target": 2 * n + 9} for n in range(4)]
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    bench.write("job.toml", job("sim/instant", "sim/prose"))
    bench.json("run", "job.toml", "--no-report")
    found = bench.json("compare", "--no-report")
    assert (found["differences"][0]["asked"], [side["samples"] for side in found["sides"]]) == (5, [5, 5])
    assert [row["asked"] for row in bench.json("show", "last")["scores"]] == [5, 5]


@pytest.mark.slow
def test_samples_with_another_target_are_not_the_same(bench: Workbench) -> None:
    bench.write("job.toml", job("sim/instant"))
    for other in (0, 4):  # in the second run four samples ask for less
        rows = [{"id": str(n), "input": f"What is {n} + {n}?", "target": 2 * n if n >= other else 0} for n in range(12)]
        bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        bench.json("run", "job.toml", "--no-report")
    runs = [run["run_id"] for run in bench.json("runs")]
    found = bench.json("compare", *reversed(runs), "--no-report")
    (beside,) = found["differences"]
    assert beside["asked"] == 9, "of sample 0 the target is the same"
    assert (beside["only_side"], beside["only_baseline"]) == (3, 3)
    assert any("dataset is not the same" in note for note in found["notes"])


@pytest.mark.slow
def test_a_higher_cap_of_one_side_is_said(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(12))
    text = job("Abacus Large [careful]", "sim/instant").replace("max_tokens = 64", "max_tokens = 16")
    bench.write("job.toml", text)
    assert bench.json("run", "job.toml", "--no-report")["outcomes"] == {"truncated": 12, "ok": 12}
    bench("run", "job.toml", "--no-report", "--again", "truncated", "--max-tokens", "200")
    notes = " ".join(bench.json("compare", "--no-report")["notes"])
    assert "Answers were capped at different numbers of tokens: Abacus Large [careful] 200" in notes


def test_long_values_are_told_from_where_they_differ(bench: Workbench) -> None:
    for number, end in enumerate(("in words", "as a number"), 1):
        text = JOB.format(system=f"{'Be careful. ' * 40}Answer {end}.", temperature=0)
        record(bench, f"r{number}", {"m": [1.0] * 9}, scorers=["exact"], job_toml=text)
    notes = " ".join(bench.json("compare", "r1", "r2", "--no-report")["notes"])
    assert "Be careful. Answer in words.” (r1); …" in notes
    assert "Answer as a number.” (r2)." in notes


def test_only_samples_that_are_equal_are_compared(bench: Workbench) -> None:
    record(bench, "r1", {"m": [1.0] * 40}, scorers=["exact"])
    record(bench, "r2", {"m": [1.0] * 60}, scorers=["exact"])
    found = bench.json("compare", "r1", "r2", "--no-report")
    (beside,) = found["differences"]
    assert (beside["asked"], beside["only_side"], beside["only_baseline"], beside["unknown"]) == (40, 20, 0, 0)
    assert "compared on the 40 samples that both have; 20 are only in m in r2." in " ".join(found["notes"])


@pytest.mark.slow
def test_a_better_that_rests_on_cut_off_answers_says_so(bench: Workbench) -> None:
    """Both are right in what they finish; one is cut off in a third."""
    cut = {("short", sample): Outcome.TRUNCATED for sample in range(0, N, 3)}
    values: Mapping[str, list[float | None]] = {
        "whole": [1.0 if n % 5 else 0.0 for n in range(N)],
        "short": [None if n % 3 == 0 else 1.0 if n % 5 else 0.0 for n in range(N)],
    }
    record(bench, "r1", values, scorers=["exact"], outcomes=cut)
    found = bench.json("compare", "--no-report", "--baseline", "short")
    (beside,) = found["differences"]
    assert beside["verdict"] == "better"
    assert "better in right answers delivered; among the 80 scored on both: no difference shown" in beside["says"]
    assert "of short 40 of 120 answers are cut off" in beside["says"]
    page = Page(bench.json("report", "last")["report"]).text
    assert "in right answers delivered" in page


@pytest.mark.slow
def test_a_job_may_take_cut_off_answers_for_unknown_which_only_widens(bench: Workbench) -> None:
    hidden(bench, Outcome.TRUNCATED, counted_unknown=["cut_off"])
    found = verdict(bench)
    assert (found["verdict"], found["unknown"]) == ("open", len(WRONG))
    hidden_right = gate(bench, 0.5)["min_mean cheat"]
    assert hidden_right == "met", "at the worst it is as without the table"


def test_the_best_of_equal_models_is_not_better_for_having_been_chosen(bench: Workbench) -> None:
    values = {f"m{n}": [1.0 if _CHANCE.random() < 0.5 else 0.0 for _ in range(N)] for n in range(5)}
    record(bench, "r1", values, scorers=["exact"])
    best = max(values, key=lambda model: sum(values[model]))
    chosen = {
        row["side"]["model"]: row for row in bench.json("compare", "--no-report", "--baseline", best)["differences"]
    }
    with reading(bench.ledger) as reader:
        standing = run_figures(reader, "r1").standing
    assert standing.leading[0] == best
    for model, row in chosen.items():
        assert row["adjusted_p"] == pytest.approx(standing.differences[model].adjusted_p), "one verdict for one pair"


def test_the_best_and_the_worst_of_equal_models_are_not_apart_for_having_been_chosen(bench: Workbench) -> None:
    """By themselves two of six were told apart in 15 of 40 runs: whoever chooses has looked at all."""
    chance = random.Random(16)
    values = {f"m{n}": [float(chance.random() < 0.5) for _ in range(N)] for n in range(6)}
    record(bench, "r1", values, scorers=["exact"])
    worst, *_, best = sorted(values, key=lambda model: sum(values[model]))
    every = bench.json("compare", "--no-report", "--baseline", best)["differences"]
    (among,) = [row for row in every if row["side"]["model"] == worst]
    (alone,) = bench.json("compare", "--no-report", "--baseline", best, "--model", worst)["differences"]
    assert among["found"]["p_value"] < 0.05, "of this pair alone it is shown"
    assert among["verdict"] == "none shown"
    assert alone == among, "one verdict for one pair"


@pytest.mark.slow
def test_models_that_are_chosen_are_adjusted_beside_targets_and_constants_as_all_are(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(30))
    models = ["sim/instant", "Abacus Mini [fast]", "Abacus Large [careful]"]
    bench.write("job.toml", job(*models) + "target_scale = [0, 40]\n")
    bench("run", "job.toml", "--no-report")
    every = bench.json("compare", "--no-report", "--baseline", models[0])
    alone = bench.json("compare", "--no-report", "--baseline", models[0], "--model", models[1])
    chosen = [row for row in every["agreement"] if row["model"] == models[1]]
    assert chosen
    assert alone["agreement"] == chosen
    assert every["references"]
    for point, narrowed in zip(every["references"], alone["references"], strict=True):
        assert narrowed["beside"] == [row for row in point["beside"] if row["model"] in models[:2]]


@pytest.mark.file_ledger
def test_the_view_that_the_documents_name_tells_both_ends(bench: Workbench) -> None:
    lost = {("cheat", sample): Outcome.ROUTE_DOWN for sample in WRONG[:10]}
    lost |= {("cheat", sample): Outcome.TRUNCATED for sample in WRONG[10:]}
    record(bench, "r1", {"good": GOOD, "cheat": HIDDEN}, scorers=["exact"], outcomes=lost)
    ingest(bench.ledger)
    (found,) = bench.rows(
        "SELECT mean, not_right, unknown, mean_at_worst, mean_at_best FROM pass_rates WHERE model = 'cheat'"
    )
    right = N - len(WRONG)
    assert found == (1.0, len(WRONG) - 10, 10, pytest.approx(right / N), pytest.approx((right + 10) / N))


def test_a_frame_tells_what_is_missing(bench: Workbench) -> None:
    hidden(bench, Outcome.TRUNCATED)
    scores = wb.open(folder=bench.folder).scores()
    means = scores[scores["requested_model"] == "cheat"][["value", "low", "high"]].mean()
    assert means["value"] == 1.0
    assert means["low"] == means["high"] == pytest.approx(sum(CHEAT) / N)
    assert scores[scores["requested_model"] == "cheat"]["state"].value_counts().to_dict() == {
        "scored": N - len(WRONG), "not right": len(WRONG),
    }  # fmt: skip


@pytest.mark.slow
def test_a_scorer_without_a_scale_ranks_no_model_with_missing_scores(bench: Workbench) -> None:
    config = '{"name": "custom", "function": "f.py:f"}'
    hidden(bench, config=config)
    found = verdict(bench)
    assert (found["at_lowest"], found["verdict"]) == (None, "open"), (
        "shown on what is known of both, and bounded by nothing"
    )
    assert "which no scale of the scorer bounds" in found["says"]
    assert "cheat is not ranked" in found["notes"]
    assert gate(bench, 0.5)["min_mean cheat"] == "cannot tell"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("every", "said"),
    [
        (2, "60 of 120 samples have a result by “exact”: too few to tell"),
        (5, "if the answers that are not known were not right"),
    ],
)
def test_a_night_whose_wrong_answers_are_lost_cannot_be_told_to_be_steady(
    bench: Workbench, every: int, said: str
) -> None:
    """Ten nights as before, and then four in which what is wrong, and more than before, comes back as an error."""
    before = [1.0 if n % 10 < 9 else 0.0 for n in range(N)]
    lost = {("m", sample): Outcome.ROUTE_DOWN for sample in range(0, N, every)}
    values = [None if n % every == 0 else value for n, value in enumerate(before)]
    with one_journal(bench) as journal:
        for night in range(1, 15):
            fields: dict[str, Any] = {"occasion": f"2026-11-{night:02}", "generation": f"j@{night}", "journal": journal}
            if night > 10:
                record(bench, f"r{night}", {"m": values}, scorers=["exact"], outcomes=lost, **fields)
            else:
                record(bench, f"r{night}", {"m": before}, scorers=["exact"], **fields)
    with reading(bench.ledger) as reader:
        (result,) = gate_findings(
            reader, run_findings(reader, "r14"), reader.all(RunItems, run_id="r14"), GatesTable(steady=["exact"])
        )
    assert (result.gate, result.result) == ("steady", "cannot tell")
    assert said in gate_text(result)


def test_the_strictest_of_several_jobs_says_what_is_ranked(bench: Workbench) -> None:
    lost = {("m", sample): Outcome.ROUTE_DOWN for sample in range(20)}
    values: list[float | None] = [None] * 20 + [1.0] * 100
    record(bench, "r1", {"m": [1.0] * N}, scorers=["exact"], min_answered=0.9)
    record(bench, "r2", {"m": values}, scorers=["exact"], outcomes=lost, min_answered=0.5)
    notes = bench.json("compare", "r1", "r2", "--no-report")["notes"]
    assert "m in r2 is not ranked: 100 of 120 answers have a result, and 90 % must." in notes
    assert "not ranked" not in bench("show", "r2").stdout, "its own job is content with half"


NO_SCALE = '{"name": "custom", "function": "f.py:f"}'


@pytest.mark.slow
def test_a_scorer_without_a_scale_ranks_nobody_however_little_is_missing(bench: Workbench) -> None:
    cut = {("cheat", sample): Outcome.TRUNCATED for sample in range(12)}
    values: Mapping[str, list[float | None]] = {
        "good": [4.4 + 0.1 * (n % 3) for n in range(N)],
        "cheat": [None] * 12 + [4.9 + 0.1 * (n % 3) for n in range(N - 12)],
    }
    record(bench, "r1", values, scorers=["exact"], outcomes=cut, config=NO_SCALE)
    found = verdict(bench)
    assert "cheat is not ranked: no scale says" in found["notes"]
    assert "no scale says what that is to a mean" in found["notes"]
    assert gate(bench, 4.8)["min_mean cheat"] == "cannot tell"
    assert "of what is scored" in bench("show", "r1").stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "reduce", ["mode", *(pytest.param(one, marks=pytest.mark.slow) for one in ("at_least_1", None))]
)
def test_what_is_cut_off_speaks_for_nobody_whatever_reduces_it_without_a_scale(
    bench: Workbench, reduce: str | None
) -> None:
    """Cheat is right in its first epoch and cut off in the two others, always."""
    asked = [AskedEpoch("good", n, epoch, float(n % 4 != 0)) for n in range(60) for epoch in (1, 2, 3)]
    for n in range(60):
        asked += [
            AskedEpoch("cheat", n, 1, 1.0),
            *(AskedEpoch("cheat", n, epoch, None, Outcome.TRUNCATED) for epoch in (2, 3)),
        ]
    record_epochs(bench, "r1", asked, config=NO_SCALE, reduce=reduce)
    found = verdict(bench)
    if reduce == "at_least_1":  # it is right once in every sample, whatever the others were
        assert (found["verdict"], found["unknown"]) == ("better", 0)
    else:
        assert found["at_lowest"] is None
        assert "cheat is not ranked" in found["notes"]
        assert gate(bench, 0.9)["min_mean cheat"] == "cannot tell"


def test_epochs_that_were_never_sent_are_unknown(bench: Workbench) -> None:
    """A fast model had five tries at each sample, an equal one had one when the run was stopped."""
    chance = random.Random(5)
    asked = [AskedEpoch("fast", n, epoch, float(chance.random() < 0.4)) for n in range(80) for epoch in range(1, 6)]
    asked += [AskedEpoch("slow", n, 1, float(chance.random() < 0.4)) for n in range(80)]
    record_epochs(bench, "r1", asked, reduce="at_least_1", status="incomplete")
    (beside,) = bench.json("compare", "--no-report", "--baseline", "slow")["differences"]
    assert (beside["side"]["model"], beside["verdict"]) == ("fast", "open")
    assert beside["unknown"] > 30


def test_what_the_lost_answers_cannot_change_is_known(bench: Workbench) -> None:
    """Of pass@2 one right answer of two decides, whatever the lost one was."""
    asked = [AskedEpoch("sure", n, 1, 1.0) for n in range(20)] + [
        AskedEpoch("sure", n, 2, None, Outcome.ROUTE_DOWN) for n in range(20)
    ]
    asked += [AskedEpoch("wrong", n, epoch, 0.0) for n in range(20) for epoch in (1, 2)]
    record_epochs(bench, "r1", asked, reduce="pass@2")
    (beside,) = bench.json("compare", "--no-report", "--baseline", "wrong")["differences"]
    assert (beside["verdict"], beside["unknown"], beside["shared"]) == ("better", 0, 20)


def test_wrong_answers_that_are_lost_lift_no_model_to_the_first_place(bench: Workbench) -> None:
    """All of good is known: 75 %. Cheat is right on 65 %, and a fifth of its answers are lost, all of them wrong."""
    wrong = list(range(65, 84))
    lost = {("cheat", sample): Outcome.ROUTE_DOWN for sample in wrong}
    values: Mapping[str, list[float | None]] = {
        "good": [1.0 if n % 4 else 0.0 for n in range(100)],
        "cheat": [None if n in wrong else float(n < 65) for n in range(100)],
    }
    record(bench, "r1", values, scorers=["exact"], outcomes=lost)
    page = Page(bench.json("report", "last")["report"]).text
    assert "good scores higher than cheat by “exact”, 0.750 and 0.650 to 0.840" in page
    (run,) = bench.json("runs")
    assert (run["mean_score_at_worst"], run["mean_score_at_best"]) == (pytest.approx(0.7), pytest.approx(0.795))


@pytest.mark.slow
def test_a_pair_of_runs_is_adjusted_for_all_that_another_baseline_shows(bench: Workbench) -> None:
    for number in (1, 2, 3):
        values = [float((n * 7 + number) % 10 < 4 + 2 * number) for n in range(60)]
        record(bench, f"r{number}", {f"m{number}": values}, scorers=["exact"])
    found: dict[frozenset[str], float] = {}
    for baseline in ("r1", "r2", "r3"):
        others = [run for run in ("r1", "r2", "r3") if run != baseline]
        for row in bench.json("compare", baseline, *others, "--no-report")["differences"]:
            pair = frozenset((row["side"]["run_id"], row["baseline"]["run_id"]))
            assert found.setdefault(pair, row["adjusted_p"]) == row["adjusted_p"], "one verdict for one pair"
    assert len(found) == 3


def test_junit_passes_nothing_that_is_open_or_below_the_scale(bench: Workbench) -> None:
    config = '{"name": "custom", "function": "f.py:f", "scale": [0, 100]}'
    record(bench, "r1", {"m": [1.0, 99.0, 100.0, None]}, scorers=["exact"], config=config)
    assert 'tests="4" failures="2" errors="0" skipped="1"' in bench("export", "r1", "--format", "junit").stdout


def test_a_judge_whose_verdicts_are_all_alike_is_refused() -> None:
    assert [option for option, _ in Judge(model="m", verdicts={"GOOD": 0.5, "BAD": 0.5}).faults()] == ["verdicts"]


def test_what_a_judge_quotes_before_it_is_cut_off_is_no_verdict() -> None:
    judge = Judge(model="m")
    cut = "If it named Paris I would say\nVERDICT: CORRECT\nbut it names Rome, so the right verd"
    assert (judge.verdict_in(cut), judge.verdict_in(last_line(cut))) == ("CORRECT", None)
    assert judge.verdict_in(last_line("It names Rome.\nVERDICT: INCORRECT\n")) == "INCORRECT"


def test_a_model_that_was_stopped_early_has_one_mean_in_every_place(tmp_path: Path) -> None:
    with ThreadedServer(
        platform_of({"id": "one", "simulated": "answers"}, {"id": "two", "simulated": "answers"})
    ) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(12))
        bench.write("sums.toml", job("one", "two", limit=2) + "[budget]\nrequests = 13\n")
        shown = bench("run", "sums.toml", code=7).stdout
        rows = {row["model"]: row for row in bench.json("show", "last")["scores"]}
        sides = {side["model"]: side for side in bench.json("compare", "last", "--no-report")["sides"]}
        models = Page(bench.json("report", "last")["report"]).text.partition('<table id="models"')[2]
    (asked,) = {row["asked"] for row in rows.values()}
    assert sorted(row["unknown"] for row in rows.values()) == sorted(asked - row["scored"] for row in rows.values())
    assert sum(row["unknown"] for row in rows.values()) == 2 * asked - 13 > 0
    for model, row in rows.items():
        assert (row["interval"], row["unknown"]) == (sides[model]["interval"], sides[model]["unknown"])
        (mean,) = re.findall(rf"^{model} +numeric +(\d\S+(?: to \S+)?) ", shown, re.M)
        assert mean in models


def test_what_a_sample_without_a_target_was_answered_counts_for_nothing(bench: Workbench) -> None:
    """Cut off, such an answer was not right, and halved the mean of its model."""
    rows = [{"id": f"s{n}", "input": f"What is {n} + {n}?", "target": 2 * n} for n in range(1, 7)]
    rows += [{"id": f"p{n}", "input": f"Tell me about the number {n}, at length."} for n in range(6)]
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    bench.write("job.toml", re.sub("max_tokens = [0-9]+", "max_tokens = 12", job("Abacus Mini [fast]")))
    bench("run", "job.toml", "--no-report")
    calls = bench.lines("show", "last", "--calls")
    cut = [row for row in calls if row["sample_id"].startswith("p") and row["outcome"] == "truncated"]
    assert cut, "else nothing is tried here"
    (score,) = bench.json("show", "last")["scores"]
    assert score["asked"] == 6
    cases = fromstring(bench("export", "--format", "junit").stdout).iter("testcase")
    skipped = {str(case.get("name")).partition(" ")[0] for case in cases if case.find("skipped") is not None}
    assert skipped >= {row["sample_id"] for row in cut}


def test_one_sample_without_a_cluster_is_one_of_its_own(bench: Workbench) -> None:
    """Taken for all of them as if they were independent, one text of 59 questions told two models apart."""
    values = {"good": [1.0] * 60, "cheat": [1.0] * 29 + [0.0] * 31}
    record(bench, "r1", values, metadata=[{"cluster": "text"}] * 59 + [{}], scorers=["exact"])
    found = verdict(bench)
    assert (found["verdict"], found["found"]["clusters"]) == ("none shown", 2)
    assert "1 of 60 samples has no 'cluster': each is taken for a cluster of its own." in found["notes"]
    assert found["sides"]["good"]["interval"]["method"] == "Gaffke's bound over 2 clusters"


@pytest.mark.slow
def test_two_models_that_were_picked_across_runs_are_adjusted_for_all_that_could_have_been(bench: Workbench) -> None:
    """Of ten equal models in each of two runs, the best of one beside the worst of the other."""
    chance, runs = random.Random(0), dict[int, dict[str, list[float]]]()
    for number in (1, 2):
        names = [f"r{number}m{place}" for place in range(10)]
        runs[number] = {name: [float(chance.random() < 0.6) for _ in range(60)] for name in names}
        record(bench, f"r{number}", runs[number], scorers=["exact"])
    best = max(runs[1], key=lambda name: sum(runs[1][name]))
    worst = min(runs[2], key=lambda name: sum(runs[2][name]))
    (found,) = bench.json("compare", "r1", "r2", "--model", best, "--model", worst, "--no-report")["differences"]
    assert found["found"]["p_value"] < 0.05 < found["adjusted_p"]
    assert found["verdict"] == "none shown"


def test_runs_that_reduce_their_epochs_differently_are_not_compared(bench: Workbench) -> None:
    for run, reduce in (("r1", None), ("r2", "pass@3")):
        record(bench, run, {"m": [1.0, 0.0] * 10}, scorers=["exact"], reduce=reduce)
    refused = bench("compare", "r1", "r2", "--no-report", code=2).stderr
    assert "the runs reduce the epochs of a sample differently: r1 by mean and r2 by pass@3" in refused


@pytest.mark.parametrize("more", [{"config": '{"name": "exact", "ignore_case": true}'}, {"reduce": "pass@1"}])
def test_other_settings_are_no_drop(bench: Workbench, more: dict[str, Any]) -> None:
    record(bench, "r1", {"m": [1.0] * 40}, scorers=["exact"])
    record(bench, "r2", {"m": [0.0] * 40}, scorers=["exact"], **more)
    with reading(bench.ledger) as reader:
        (found,) = gate_findings(reader, run_findings(reader, "r2"), [], GatesTable(max_drop={"exact": 0.1}))
    assert (found.result, found.is_first) == ("cannot tell", False)
    assert "run r1 was scored by “exact” with other settings" in gate_text(found)


def test_a_difference_that_is_the_same_everywhere_is_a_drop(bench: Workbench) -> None:
    record(bench, "r1", {"m": [1.0] * 40}, scorers=["exact"])
    record(bench, "r2", {"m": [0.5] * 40}, scorers=["exact"])
    with reading(bench.ledger) as reader:
        (found,) = gate_findings(reader, run_findings(reader, "r2"), [], GatesTable(max_drop={"exact": 0.1}))
    assert found.result == "not met"


@pytest.mark.slow
def test_a_model_without_a_bound_stands_below_those_that_have_one(bench: Workbench) -> None:
    config = '{"name": "custom", "function": "f.py:f"}'
    lost = {("cheat", sample): Outcome.EMPTY for sample in range(20)}
    values: dict[str, list[float | None]] = {"cheat": [None] * 20 + [90.0] * 20, "good": [50.0] * 40}
    record(bench, "r1", values, outcomes=lost, scorers=["exact"], config=config)
    assert [row["model"] for row in bench.json("show", "r1")["scores"]] == ["good", "cheat"]
    bench("report", "r1")
    assert "50.000" in Page(bench.folder / "reports" / "index.html").text


@pytest.mark.slow
def test_what_was_sent_to_neither_side_is_no_lost_sample(tmp_path: Path) -> None:
    with ThreadedServer(
        platform_of({"id": "one", "simulated": "answers"}, {"id": "two", "simulated": "answers"})
    ) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(30))
        bench.write("sums.toml", job("one", "two", limit=2) + "[budget]\nrequests = 21\n")
        bench("run", "sums.toml", "--no-report", code=7)
        (found,) = bench.json("compare", "last", "--no-report")["differences"]
    assert found["asked"] < 30
    assert sum(one["samples"] for one in found["lost"] if one["reason"] == "not sent") == found["unknown"]


@pytest.mark.slow
def test_an_agreement_is_said_with_what_decides_it(bench: Workbench) -> None:
    """Beside an interval of this difference alone a verdict that is adjusted for all may seem to deny it."""
    chance = random.Random(5)
    targets = [str(chance.randrange(2)) for _ in range(60)]
    said = {
        (f"m{m}", n): target if chance.random() < 0.9 - 0.05 * m else "2"
        for m in range(8)
        for n, target in enumerate(targets)
    }
    values = {f"m{m}": [float(said[f"m{m}", n] == target) for n, target in enumerate(targets)] for m in range(8)}
    config = Exact().settings
    record(
        bench,
        "r1",
        values,
        targets=targets,
        said=said,
        extracted=lambda m, n: said[m, n],
        scorers=["exact"],
        config=config,
    )
    lines = re.findall(
        r"[+−]\d\S*( \[\S+ \S+\]| \(adjusted p [^)]+\)|): (better|worse|no difference shown)",
        bench("compare", "r1", "--no-report").stdout,
    )
    assert any(bounds.startswith(" (adjusted p") for bounds, _ in lines), "else nothing is tried here"
    for bounds, verdict_ in lines:
        ends = re.findall(r"[+−]?\d[\d.]*", bounds) if "[" in bounds else []
        holds_0 = len(ends) == 2 and ends[0].startswith("−") and not ends[1].startswith("−")
        assert not ends or holds_0 == (verdict_ == "no difference shown"), (bounds, verdict_)
