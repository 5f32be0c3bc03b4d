"""The page of all runs by job, and the page of a job over its runs."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.compared_runs import Values, one_journal, record
from tests.conftest import Workbench, job, sums
from tests.pages import Page, as_shown
from tests.unit.ledger.ledger_rows import STARTED_AT, intent, started
from workbench.evaluation.job_changes import job_changes
from workbench.ledger.job_rows import JobCourse, JobRun
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.records.outcomes import Outcome
from workbench.report.tables import job_page_name
from workbench.scoring.exact import Exact
from workbench.wording.changes import change_text

RIGHT, HALF = [1.0] * 40, [1.0, 0.0] * 20
SCHEDULE = 'models = ["m"]\n[schedule]\non_calendar = "Mon..Sun 02:00"\n'


def pages(bench: Workbench, name: str = "j") -> tuple[Page, Page]:
    """The page of all runs, and that of a job."""
    report = Path(bench.json("report", "last")["report"])
    job_page = Page(report.with_name(f"{job_page_name(name)}.html"))
    job_page.check(bench.ledger)
    return Page(report.with_name("index.html")), job_page


def test_a_model_that_became_worse_is_named_with_its_counts(bench: Workbench) -> None:
    for run_id, mini in (("r1", RIGHT), ("r2", HALF)):
        record(bench, run_id, {"mini": mini, "large": RIGHT}, scorers=["exact"], job_toml=SCHEDULE)
    index, job_page = pages(bench)
    assert "1 job: 1 regressed." in index.text
    assert "mini scores 50.0 points less by “exact”, 20–0 on 40 samples" in index.text
    assert f"<code>workbench compare r1 r2 --ledger {as_shown(bench.ledger)}</code>" in index.text
    assert index.text.count("<td>–</td>") == 0, "it has a next occasion"
    assert "2 runs; the newest is complete. mini scores 50.0 points less by “exact”" in job_page.text
    assert "Beside the run before: no difference shown for 1 model" in job_page.text


@pytest.mark.slow
def test_the_bars_of_a_model_have_the_same_place_in_each_run(bench: Workbench) -> None:
    record(bench, "r1", {"b": RIGHT, "a": RIGHT}, scorers=["exact"])
    record(bench, "r2", {"a": HALF, "b": RIGHT}, scorers=["exact"])
    _, job_page = pages(bench)
    rows = [re.findall(r'title="(\w): ', row) for row in job_page.text.split("<tr")]
    assert [row for row in rows if row] == [["b", "a"]] * 2


@pytest.mark.slow
def test_a_job_of_many_runs_shows_its_newest_and_names_the_command_for_more(bench: Workbench) -> None:
    with one_journal(bench) as journal:
        for number in range(10, 31):
            record(bench, f"r{number}", {"m": [1.0, 0.0]}, job="j", journal=journal)
    _, job_page = pages(bench)
    assert "The newest 20 runs" in job_page.text
    assert "workbench runs --limit 200" in job_page.text
    listed = bench.json("runs")
    assert [run["run_id"] in job_page.text for run in listed] == [*([True] * 20), False]


@pytest.mark.slow
def test_nothing_is_said_where_nothing_was_asked_again(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(4))
    bench.write("job.toml", job("sim/instant"))
    for _ in range(2):
        bench.json("run", "job.toml")
    index, job_page = pages(bench, "sums")
    assert "1 job: 1 fine." in index.text
    assert "It asked nothing again that the run before has a result for." in job_page.text


def test_a_first_run_and_one_that_failed_have_pages(bench: Workbench) -> None:
    record(bench, "r1", {"m": RIGHT}, scorers=["exact"], status="interrupted")
    index, job_page = pages(bench)
    assert "1 job: 1 needs action." in index.text
    assert "One run so far, which is interrupted: there is nothing to compare it with." in job_page.text


@pytest.mark.slow
def test_what_an_outage_leaves_unsaid_is_not_said_of_it(bench: Workbench) -> None:
    """A run that is not complete is compared with nothing: the differences are of the two complete ones."""
    lost = {("mini", sample): Outcome.ROUTE_DOWN for sample in range(40)}
    record(bench, "r1", {"mini": [None] * 40}, outcomes=lost, scorers=["exact"], status="incomplete")
    _, job_page = pages(bench)
    assert "One run so far, which is incomplete (mini: 40 of 40 requests unanswered): there is nothing" in job_page.text
    for run_id, mini in (("r2", RIGHT), ("r3", HALF)):
        record(bench, run_id, {"mini": mini, "large": RIGHT}, scorers=["exact"])
    record(bench, "r4", {"mini": [None] * 40, "large": RIGHT}, outcomes=lost, scorers=["exact"], status="incomplete")
    _, job_page = pages(bench)
    assert (
        "4 runs; the newest is incomplete (mini: 40 of 40 requests unanswered). In the complete run before it mini scores 50.0 "
        "points less by “exact”, 20–0 on 40 samples, compared with the one before that." in job_page.text
    )
    assert "The two newest complete runs: no difference shown for 1 model" in job_page.text
    record(bench, "r5", {"mini": HALF, "large": RIGHT}, scorers=["exact"])
    _, job_page = pages(bench)
    assert "5 runs; the newest is complete. No difference from the complete run before is shown." in job_page.text
    assert "Beside the complete run before: no difference shown for 2 models" in job_page.text


def test_an_occasion_that_was_resumed_is_one_line_and_one_point(bench: Workbench) -> None:
    night: dict[str, Any] = {"occasion": "2026-10-01T02:00Z", "generation": "j@1", "scorers": ["exact"]}
    lost = {("m", sample): Outcome.ROUTE_DOWN for sample in range(20)}
    half: list[float | None] = [*([None] * 20), *RIGHT[20:]]
    record(bench, "r1", {"m": half}, outcomes=lost, status="incomplete", **night)
    record(bench, "r2", {"m": RIGHT}, **night)
    record(bench, "r3", {"m": RIGHT}, scorers=["exact"], occasion="2026-10-02T02:00Z", generation="j@2")
    bench.environment["WORKBENCH_NOW"] = (STARTED_AT + timedelta(hours=9)).isoformat()
    index, job_page = pages(bench)
    assert index.text.count('title="complete, ') == 2, "a mark for each occasion"
    since = re.search(r'id="latest">.*?</ul>', index.text, re.DOTALL)
    assert since is not None
    assert re.search(r"2 scheduled runs of <a [^>]+><bdi>j</bdi></a>: complete\.", since[0]), since[0]
    assert "2 runs; the newest is complete." in job_page.text
    assert "in 2 runs" in job_page.text
    with reading(bench.ledger) as reader:
        runs = reader.all(JobRun, job="j", most=9)
        course = reader.all(JobCourse, job="j", most=9)
    assert [(run.run_id, run.runs, run.total_tokens) for run in runs] == [("r3", 1, 400), ("r2", 2, 600)]
    assert [row.run_id for row in course] == ["r2", "r3"]
    assert course[0].started_at == STARTED_AT + timedelta(hours=1), "where its first run began"


def test_a_probe_needs_nothing(bench: Workbench) -> None:
    record(bench, "r1", {"m": RIGHT}, scorers=["exact"])
    lost = {("m", 0): Outcome.ROUTE_DOWN}
    record(bench, "r2", {"m": [None]}, outcomes=lost, status="incomplete", job="probe", tags={"probe": "yes"})
    bench.environment["WORKBENCH_NOW"] = (STARTED_AT + timedelta(hours=9)).isoformat()
    index = Page(Path(bench.json("report", "r2")["report"]).with_name("index.html"))
    assert "1 job: 1 fine." in index.text
    assert "Needs attention" not in index.text
    assert re.search(r"1 run of .*: complete\.", index.text), "other only beside scheduled ones"


@pytest.mark.slow
def test_names_of_jobs_lead_to_their_pages_and_times_to_their_runs(bench: Workbench) -> None:
    record(bench, "r1", {"m": RIGHT}, scorers=["exact"])
    record(bench, "r2", {"m": RIGHT}, scorers=["exact"], job="k", status="incomplete")
    bench("report", "r1")
    report = Path(bench.json("report", "r2")["report"])
    index = report.with_name("index.html").read_text("utf-8")
    log = index.split('<table id="runs"')[1]
    for name, run_id in (("j", "r1"), ("k", "r2")):
        to_job = f'<a href="{job_page_name(name)}.html"><bdi>{name}</bdi></a>'
        assert to_job in log
        assert re.search(f'<a href="{run_id}.html"><time', log), "a run's time leads to it"
    assert f'<li><b><a href="{job_page_name("k")}.html"><bdi>k</bdi></a></b>, <a href="r2.html"><time' in index
    allowance = report.with_name("allowance.html").read_text("utf-8")
    assert allowance.count(f'<a href="{job_page_name("j")}.html">') > 1
    compared = Path(bench.json("compare", "r1", "r2")["report"]).read_text("utf-8")
    assert f'<a href="{job_page_name("k")}.html">' in compared


def test_each_model_has_a_line_of_its_own_and_its_newest_score(bench: Workbench) -> None:
    record(bench, "r1", {"mini": HALF, "large": RIGHT}, scorers=["exact"], status="interrupted")
    record(bench, "r2", {"mini": HALF, "large": RIGHT}, scorers=["exact"])
    index, job_page = pages(bench)
    lines = re.findall(r'<b>([\d.]+)</b> <bdi class="soft">(\w+)</bdi>', index.text)
    assert sorted(lines) == [("0.500", "mini"), ("1.000", "large")]
    assert index.text.count('fill="var(--ground)"') == 2, "what is not complete is hollow"
    assert job_page.text.count('class="bars"') == 2


@pytest.mark.slow
def test_a_newest_score_that_is_not_known_is_no_number(bench: Workbench) -> None:
    """What is unknown was taken in the middle of where it can be, and printed as if it were known."""
    record(bench, "r1", {"mini": RIGHT, "gone": HALF}, scorers=["exact"])
    lost = {("mini", sample): Outcome.ROUTE_DOWN for sample in range(30)}
    lost |= {("gone", sample): Outcome.ROUTE_DOWN for sample in range(40)}
    values: dict[str, list[float | None]] = {"mini": [None] * 30 + [1.0] * 10, "gone": [None] * 40}
    record(bench, "r2", values, outcomes=lost, scorers=["exact"], status="incomplete")
    index, _ = pages(bench)
    lines = re.findall(r'<b>([^<]+)</b> <bdi class="soft">(\w+)</bdi>', index.text)
    assert sorted(lines) == [("0.250 to 1.000", "mini"), ("0.500 before", "gone")]


@pytest.mark.slow
def test_a_model_without_any_score_has_a_line_as_well(bench: Workbench) -> None:
    """It was missing from its job, as if it had not been asked; in the list of runs it is neither best nor worst."""
    asked: dict[str, list[float | None]] = {"gone": [None] * 40, "large": [1.0] * 40}
    lost = {("gone", sample): Outcome.ROUTE_DOWN for sample in range(40)}
    record(bench, "r1", asked, outcomes=lost, scorers=["exact"], status="incomplete")
    index, _ = pages(bench)
    lines = re.findall(r'<b>([^<]+)</b> <bdi class="soft">(\w+)</bdi>', index.text)
    assert lines == [("1.000", "large"), ("no answer", "gone")]
    (run,) = bench.json("runs")
    assert (run["best"]["model"], run["worst"]["model"]) == ("large", "large")


@pytest.mark.slow
def test_without_a_score_to_stand_beside_a_model_without_any_has_no_line(bench: Workbench) -> None:
    lost = {("gone", sample): Outcome.ROUTE_DOWN for sample in range(40)}
    record(bench, "r1", {"gone": [None] * 40}, outcomes=lost, scorers=["exact"], status="incomplete")
    index, _ = pages(bench)
    assert 'class="score-line"' not in index.text
    assert "unscored" in index.text
    record(bench, "r2", {"gone": [None] * 40, "too": [None] * 40}, outcomes=lost | {("too", n): Outcome.ROUTE_DOWN for n in range(40)},
           scorers=["exact"], status="incomplete")  # fmt: skip
    assert "Every mean is over" not in Path(bench.json("report", "last")["report"]).read_text() + bench("show").stdout


@pytest.mark.slow
def test_scores_beyond_0_to_1_are_said_though_they_are_not_drawn(bench: Workbench) -> None:
    lost = {("gone", sample): Outcome.ROUTE_DOWN for sample in range(40)}
    asked: dict[str, Values] = {"gone": [None] * 40, "points": [float(sample % 8) for sample in range(40)]}
    record(bench, "r1", asked, outcomes=lost, scorers=["exact"], status="incomplete", config='{"name": "custom"}')
    index, _ = pages(bench)
    lines = re.findall(r'<b>([^<]+)</b> <bdi class="soft">(\w+)</bdi>', index.text)
    assert lines == [("3.500", "points"), ("no answer", "gone")]
    assert "<circle" not in index.text.partition('class="score-line"')[2].partition("</svg>")[0]


@pytest.mark.slow
def test_what_the_verdict_says_of_a_job_is_not_listed_below_it(bench: Workbench) -> None:
    models = {"a": RIGHT, "b": RIGHT, "c": RIGHT, "d": RIGHT, "e": RIGHT}
    for hour, worse in ((1, ""), (2, "ab"), (3, "bcde")):
        now = {model: [0.0] * 40 if model in worse else values for model, values in models.items()}
        record(bench, f"r{hour}", now, scorers=["exact"])
        _, job_page = pages(bench)
        if hour == 2:
            assert "a scores 100.0 points less by “exact”, 40–0 on 40 samples; b scores 100.0 points" in job_page.text
            assert '<ul class="needs">' not in job_page.text
    assert "3 models score less and 1 model scores more by “exact”, compared with the run before." in job_page.text
    assert job_page.text.partition('<ul class="needs">')[2].partition("</ul>")[0].count("<li>") == 4


@pytest.mark.slow
def test_a_run_that_was_killed_has_what_it_did_not_come_to_unanswered(bench: Workbench) -> None:
    writer = JournalWriter(bench.ledger.journal_folder)
    writer.append(started("r1", 8))
    writer.append(intent("r1", 1))
    writer.close()
    index, job_page = pages(bench)
    assert "not ended</span>, 8 of 8 requests unanswered" in index.text
    assert "One run so far, which is not ended (8 of 8 requests unanswered)" in job_page.text


@pytest.mark.slow
def test_runs_beyond_the_log_are_at_least_so_many(bench: Workbench) -> None:
    with one_journal(bench) as journal:
        for number in range(1, 23):
            night = f"2026-10-{number:02}T02:00Z"
            record(bench, f"r{number}", {"m": [1.0]}, journal=journal, scorers=["exact"], occasion=night)
    bench.environment["WORKBENCH_NOW"] = STARTED_AT.isoformat()  # before all of them
    index, _ = pages(bench)
    assert re.search(r"At least 20 scheduled runs of <a [^>]+><bdi>j</bdi></a>: complete\.", index.text)


def test_a_job_without_a_schedule_is_not_missed(bench: Workbench) -> None:
    record(bench, "r1", {"m": RIGHT}, scorers=["exact"])
    index, _ = pages(bench)
    assert "No scheduled run" not in index.text
    assert "Since yesterday" not in index.text, "nothing was asked, and nothing is due"


def test_a_missed_schedule_is_looked_up_in_the_ledger_of_the_page(bench: Workbench) -> None:
    record(bench, "r1", {"m": RIGHT}, scorers=["exact"], job_toml=SCHEDULE, occasion="2026-11-17")
    bench.environment["WORKBENCH_NOW"] = (STARTED_AT + timedelta(days=3)).isoformat()
    index, _ = pages(bench)
    assert f"No scheduled run. <code>workbench schedule --ledger {as_shown(bench.ledger)}</code>" in index.text


@pytest.mark.slow
def test_a_judge_is_part_of_the_job_that_it_judges(bench: Workbench) -> None:
    record(bench, "r1", {"m": RIGHT}, scorers=["exact"])
    record(bench, "r2", {"judge": RIGHT}, job="j judged by judge", tags={"judged_run": "r1"})
    index, _ = pages(bench)
    assert "1 job: 1 fine." in index.text
    assert "judged by judge" not in index.text.split("<main")[1]


@pytest.mark.slow
def test_what_changed_between_runs_is_marked(bench: Workbench) -> None:
    record(bench, "r1", {"m": RIGHT}, scorers=["exact"])
    record(bench, "r2", {"m": RIGHT}, scorers=["exact"], dataset_hash="other", job_hash="other")
    assert "dataset, job file" in pages(bench)[1].text


@pytest.mark.slow
def test_what_of_the_job_and_of_its_models_changed_is_named_beside_the_intervals(bench: Workbench) -> None:
    for number in range(1, 5):
        text = f"models = ['m']\n[prompt]\ntemplate = '{'a' if number < 3 else 'b'}'\n[gates]\nmin_mean = 0.{number}\n"
        served = {"m": "m" if number < 4 else "m-2026"}
        record(
            bench, f"r{number}", {"m": RIGHT, "n": HALF}, scorers=["exact"], job_toml=text, job_hash=text, served=served
        )
    found = pages(bench)[1]
    assert found.cells("job_runs", -2) == ["m is served as m-2026", "prompt", "", ""]
    chart = found.charts[0]
    points = {row["series"]: row for row in chart["layer"][0]["data"]["values"]}
    assert (points["m"]["mean"], points["n"]["mean"]) == (1.0, 0.5)
    assert points["n"]["low"] == pytest.approx(0.338, abs=1e-3), "Clopper and Pearson's for 20 of 40"
    assert [row["changed"] for row in chart["layer"][-1]["data"]["values"]] == ["m is served as m-2026", "prompt"]
    assert found.text.count("Thin vertical lines: 95 % intervals. Dotted lines: something changed") == 1


@pytest.mark.slow
def test_who_answers_is_marked_from_run_to_run(bench: Workbench) -> None:
    names = ["m", "a", "a", None, "a", "m", "m-2026"]
    listed = {"a": "a", "m": "m"}
    for number, name in enumerate(names, 1):
        given = (
            {"outcomes": {("m", n): Outcome.ROUTE_DOWN for n in range(40)}} if name is None else {"served": {"m": name}}
        )
        record(bench, f"r{number}", {"m": HALF}, scorers=["exact"], listed=listed, **given)
    found = pages(bench)[1]
    said = found.cells("job_runs", -2)[::-1]
    assert said == ["", "a answers for m", "", "", "", "m itself answers again", "m is served as m-2026"]
    marks = [row["changed"] for chart in found.charts[:1] for row in chart["layer"][-1]["data"]["values"]]
    assert marks == [text for text in said[::-1] if text]
    shares = next(chart for chart in found.charts if "fallback_share" in chart["layer"][0]["data"]["values"][0])
    tips = [tip["title"] for tip in shares["layer"][0]["encoding"]["tooltip"]]
    assert tips == ["series", "UTC", "share of answers by a fallback"], "what it is, not the name of a column"
    drawn = [row["fallback_share"] for row in shares["layer"][0]["data"]["values"]]
    assert drawn == [0.0, 1.0, 1.0, 1.0, 0.0, 1.0], "a night without answers has no share of them"
    assert found.cells("job_course", -1).count("not available") == 1


@pytest.mark.slow
def test_a_job_that_always_scores_nothing_has_its_score_chart(bench: Workbench) -> None:
    for number in range(1, 4):
        record(bench, f"r{number}", {"m": [0.0] * 40}, scorers=["exact"])
    found = pages(bench)[1]
    assert [row["mean"] for row in found.charts[0]["layer"][0]["data"]["values"]] == [0.0] * 3
    assert found.cells("job_course", 3) == ["0.000"] * 3, "of all that were asked"
    assert "Does it fail as rarely?" not in found.text, "nothing ever failed"


@pytest.mark.slow
def test_a_run_that_failed_its_gates_is_said_to_have(bench: Workbench) -> None:
    for number in range(1, 3):
        record(bench, f"r{number}", {"m": HALF}, scorers=["exact"], status="gate_failed")
    index, job_page = pages(bench)
    assert "2 runs; the newest failed its gates. No difference" in job_page.text
    assert f"See its samples: <code>workbench report r2 --open --ledger {as_shown(bench.ledger)}</code>" in index.text


@pytest.mark.slow
def test_many_models_have_a_chart_each(bench: Workbench) -> None:
    for number in range(1, 4):
        record(bench, f"r{number}", {f"m{n}": HALF for n in range(12)}, scorers=["exact"])
    charts = pages(bench)[1].charts
    assert charts
    assert all(chart["facet"]["sort"] == [f"m{n}" for n in range(12)] for chart in charts)


def test_changes_of_scores_that_are_no_shares_are_tested_too(bench: Workbench) -> None:
    values = [float(n % 7) for n in range(40)]
    record(bench, "r1", {"m": values, "n": values}, scorers=["exact"])
    record(bench, "r2", {"m": [value + 1 + n % 2 for n, value in enumerate(values)], "n": values}, scorers=["exact"])
    with reading(bench.ledger) as reader:
        found = {change.model: change for change in job_changes(reader)["j"]}
    assert (found["m"].verdict, found["n"].verdict) == ("better", "none shown")
    assert found["m"].known.difference == pytest.approx(1.5)
    assert found["m"].known.method == "paired t test"


def test_samples_of_one_cluster_are_not_taken_for_independent_ones(bench: Workbench) -> None:
    clusters = [f"text {n // 15}" for n in range(60)]
    record(bench, "r1", {"m": [1.0] * 60}, scorers=["exact"], clusters=clusters)
    record(bench, "r2", {"m": [0.0] * 15 + [1.0] * 45}, scorers=["exact"], clusters=clusters)
    with reading(bench.ledger) as reader:
        (change,) = job_changes(reader)["j"]
    (compared,) = bench.json("compare", "r1", "r2")["differences"]
    assert (change.verdict, compared["verdict"]) == ("none shown", "none shown")
    assert change.adjusted_p == pytest.approx(compared["adjusted_p"])
    assert "25.0 points less" in change_text(change)


def test_a_difference_that_is_the_same_everywhere_is_tested_as_a_comparison_does(bench: Workbench) -> None:
    """Ten times a third of a mark: the sign test shows it (p .002), what the scale allows of samples not met does not (p .145)."""
    record(bench, "r1", {"m": [1.0] * 10}, scorers=["exact"], config=Exact().settings)
    record(bench, "r2", {"m": [0.7] * 10}, scorers=["exact"], config=Exact().settings)
    with reading(bench.ledger) as reader:
        (change,) = job_changes(reader)["j"]
    (compared,) = bench.json("compare", "r1", "r2")["differences"]
    assert (change.verdict, compared["verdict"]) == ("none shown", "none shown")
    assert change.adjusted_p == pytest.approx(compared["adjusted_p"])
    assert change.known.method == compared["found"]["method"] == "exact bound"


@pytest.mark.slow
def test_a_sample_of_which_some_epochs_are_new_is_compared(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(6))
    for epochs in (1, 3):
        bench.write("job.toml", job().replace("passes = 1", f"passes = 1\nepochs = {epochs}"))
        assert bench.json("run", "job.toml", "--no-report")["completed"] == 6 * (epochs - 1 or 1)
    with reading(bench.ledger) as reader:
        assert job_changes(reader)["sums"][0].known.n == 6


def test_names_of_pages_are_apart_and_plain() -> None:
    names = {job_page_name(name) for name in ("a b", "a-b", "A B", "../x", "é" * 80, "")}
    assert len(names) == 6
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") and len(name) < 60 for name in names)
