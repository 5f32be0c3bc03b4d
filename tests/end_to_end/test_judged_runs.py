"""A judge that belongs to its run: asked in the same command, within its limits, before its gates are decided."""

import json
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Workbench, job, quick, sums
from tests.contract.asking import platform_of
from tests.waiting import until
from workbench.local_platform.config import load_config
from workbench.local_platform.server import ThreadedServer

SAMPLES = 6
JUDGE = '[[scorers]]\nname = "judge"\nmodel = "{model}"\n{more}'


def with_judge(
    bench: Workbench, *tables: str, model: str = "Abacus Large [careful]", more: str = "", wrong: int = 2
) -> None:
    """A job of six sums, some with a wrong target, that a judge looks at."""
    rows = sums(SAMPLES).splitlines()
    wronged = (row.replace('"target": ', '"target": 77') if n < wrong else row for n, row in enumerate(rows))
    bench.write("sums.jsonl", "\n".join(wronged))
    text = job("sim/instant").replace('[[scorers]]\nname = "numeric"\n', "") + JUDGE.format(model=model, more=more)
    bench.write("job.toml", "\n".join((text, *tables)))


def calls(server: ThreadedServer) -> int:
    return server.platform.statistics.requests.total()


def test_its_verdicts_are_in_the_runs_own_last_lines_gates_and_usage(
    bench: Workbench, platform: ThreadedServer
) -> None:
    with_judge(bench, '[gates]\nmin_mean = { judge = 0.99 }\non_uncertain = "fail"\n[tags]\nteam = "optics"\n')
    before = calls(platform)
    done = bench("run", "job.toml", "--no-report", code=100)
    assert "judge: judged in run " in done.stderr
    assert f"{SAMPLES} calls" in done.stderr
    assert "scores 0.667" in done.stdout
    assert calls(platform) - before == 2 * SAMPLES
    shown = bench.json("show")  # the last run is the one that was judged
    assert (shown["job"], shown["status"]) == ("sums", "gate_failed")
    (used,) = [row for row in bench.json("usage", "--by", "tag") if row["tag"] == "team = optics"]
    assert used["calls"] == 2 * SAMPLES
    again = bench.json("run", "job.toml", "--no-report", code=100)
    assert (again["reused"], calls(platform) - before) == (SAMPLES, 2 * SAMPLES), "nothing is paid for twice"


@pytest.mark.slow
def test_what_the_budget_leaves_is_asked_and_the_rest_named_with_its_command(
    bench: Workbench, platform: ThreadedServer
) -> None:
    with_judge(bench, f"[budget]\nrequests = {SAMPLES + 4}\n[gates]\nmin_mean = {{ judge = 0.01 }}\n")
    before = calls(platform)
    done = bench("run", "job.toml", "--no-report", code=7)
    assert calls(platform) - before == SAMPLES + 4
    assert "its gates are not decided" in done.stderr
    assert "2 judgements still to be asked for: `" in done.stderr
    asks = done.stderr.split("still to be asked for: `")[1].split("`")[0]
    run_id = asks.split()[2]
    assert f"2 answers without a judgement: `workbench score {run_id} --yes`" in bench("show", run_id).stderr
    page = Path(bench.json("report", run_id)["report"]).read_text("utf-8")
    assert '<span class="unknown">2 answers without a judgement</span>' in page
    assert "gate" not in done.stdout
    finished = bench(*shlex.split(asks)[1:])
    assert "gate min_mean met" in finished.stdout
    assert calls(platform) - before == 2 * SAMPLES
    assert [gate["result"] for gate in bench.json("show")["gates"]] == ["met"]


@pytest.mark.slow
def test_a_budget_in_units_leaves_the_judge_to_a_command_that_asks_it(bench: Workbench) -> None:
    """The run again would weigh it as little as before: that command is not the one to continue with."""
    bench.write("workbench.toml", '[[allowance.weights]]\nmodel = "*"\nprompt = 1.0\ncompletion = 1.0\n')
    with_judge(bench, "[budget]\nunits = 100000\n")
    done = bench("run", "job.toml", "--no-report", code=7)
    assert "is not asked: what the run leaves of its budget in units is not known" in done.stderr
    (says,) = re.findall("continue with: (.*)", done.stdout)
    finished = bench(*shlex.split(says)[1:])
    assert "0.667" in finished.stdout + finished.stderr


@pytest.mark.slow
def test_a_gate_that_is_decided_later_fails_the_run_too(bench: Workbench) -> None:
    with_judge(bench, '[judge]\nwhen = "later"\n[gates]\nmin_mean = { judge = 0.99 }\n', wrong=SAMPLES)
    run_id = bench.json("run", "job.toml", "--no-report")["run_id"]
    assert bench.json("show")["status"] == "complete"
    assert "gate min_mean not met" in bench("score", run_id, "--yes", code=100).stdout
    assert bench.json("show")["status"] == "gate_failed"


@pytest.mark.slow
def test_every_command_that_asks_a_judge_names_the_embedded_platform(bench: Workbench) -> None:
    """Pasted where no endpoint is configured it works, and where one is, a simulated run is not judged on an account."""
    bench.environment.pop("WORKBENCH_BASE_URL", None)
    with_judge(bench, f"[budget]\nrequests = {SAMPLES + 1}\n")
    done = bench("run", "job.toml", "--local", "--no-report", code=7)
    asks = [done.stderr.split("still to be asked for: `")[1].split("`")[0]]
    with_judge(bench, '[judge]\nwhen = "later"\n')
    run = bench.json("run", "job.toml", "--local")
    asks.append(bench("show", "last", "--ledger", "local.duckdb").stderr.split("judgement: `")[1].split("`")[0])
    for page in (Path(run["report"]), Path(run["report"]).with_name("index.html")):
        asks += re.findall("<code>(workbench score .*?)</code>", page.read_text("utf-8"))
    assert [shlex.split(one).count("--local") for one in asks] == [1, 1, 1, 1]
    bench(*shlex.split(asks[-1])[1:])
    assert "without a judgement" not in bench("show", run["run_id"], "--ledger", "local.duckdb").stderr


@pytest.mark.slow
def test_a_judge_that_is_down_leaves_its_part_to_the_same_command(bench: Workbench) -> None:
    with_judge(bench, model="sim/locked")
    done = bench("run", "job.toml", "--no-report", code=3)
    assert f"{SAMPLES} judgements still to be asked for" in done.stderr
    with_judge(bench, model="Lab Tutor")
    again = bench.json("run", "job.toml", "--no-report")
    assert (again["reused"], again["exit_code"] if "exit_code" in again else 0) == (SAMPLES, 0)


@pytest.mark.slow
def test_a_scheduled_run_is_not_over_before_it_is_judged(bench: Workbench) -> None:
    with_judge(bench, "[gates]\nmin_mean = { judge = 0.01 }\n", model="sim/locked")
    text = (bench.folder / "job.toml").read_text().replace("passes = 1", 'passes = 1\nreuse = "occasion"')
    bench.write("job.toml", text)
    bench("run", "job.toml", "--no-report", "--occasion", "2026-11-20", code=3)
    shown = bench.json("show")
    assert (shown["status"], shown["gates"]) == ("incomplete", [])
    assert shown["reason"] == f"{SAMPLES} judgements still to be asked for"
    bench.write("job.toml", text.replace("sim/locked", "Lab Tutor"))
    again = bench.json("run", "job.toml", "--no-report", "--occasion", "2026-11-20")
    assert (again["status"], again["reused"], again["to_judge"]) == ("complete", SAMPLES, 0)
    assert [gate["result"] for gate in again["gates"]] == ["met"]


@pytest.mark.slow
def test_a_rest_of_a_budget_that_is_less_than_a_judgement_is_its_end(
    bench: Workbench, platform: ThreadedServer
) -> None:
    with_judge(bench, '[judge]\nwhen = "later"\n')
    used = bench.json("run", "job.toml", "--no-report", "--fresh")["usage"]["total_tokens"]
    with_judge(bench, f"[budget]\ntotal_tokens = {used + 700}\n")
    before = calls(platform)
    done = bench("run", "job.toml", "--no-report", "--fresh", code=7)
    assert re.search(
        r"judge is not asked: the \d+ tokens that the run leaves of its budget are fewer than a judgement", done.stderr
    )
    assert f"{SAMPLES} judgements still to be asked for: `" in done.stderr
    assert calls(platform) - before == SAMPLES


@pytest.mark.slow
def test_what_a_scheduled_job_needs_is_with_its_judge(bench: Workbench) -> None:
    with_judge(bench, '[schedule]\ncron = "0 2 * * *"\n')
    text = (bench.folder / "job.toml").read_text()
    bench.write("job.toml", text.replace("passes = 1", 'passes = 1\nreuse = "occasion"'))
    bench("run", "job.toml", "--no-report", "--occasion", "2026-11-20T02:00Z")
    used = {row["job"]: row["total_tokens"] for row in bench.json("usage", "--by", "job")}
    assert used["sums judged by judge"] > used["sums"], "the judge is the dearer part"
    (need,) = bench.json("allowance", "forecast")["scheduled"]
    assert (need["job"], need["runs"], need["each"]) == ("sums", 1, sum(used.values()))


@pytest.mark.parametrize(
    ("silent", "budget"), [({"reports_usage": False}, 1_200), ({"faults": [{"status": 502, "share": 0.5}]}, 2_000)]
)
def test_a_call_that_reported_nothing_leaves_a_judge_less(tmp_path: Path, silent: dict[str, Any], budget: int) -> None:
    """Its reserve counts, as often as the gateway may have tried, as it does for the run's own requests."""
    config = platform_of({"id": "m", "simulated": "answers"} | silent, {"id": "grader", "simulated": "answers"})
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        with_judge(bench, f"[budget]\ntotal_tokens = {budget}\n", model="grader")
        bench.write("job.toml", (tmp_path / "job.toml").read_text().replace("sim/instant", "m"))
        done = bench("run", "job.toml", "--no-report", code=None)
        assert done.returncode in (3, 7)
        assert "tokens that the run leaves of its budget are fewer than a judgement may use" in done.stderr
        assert [row["model"] for row in bench.json("usage", "--by", "model")] == ["m"], "the judge was not asked"


@pytest.mark.slow
def test_the_thresholds_of_the_settings_count_the_judge(bench: Workbench, platform: ThreadedServer) -> None:
    with_judge(bench, more="votes = 3\n")
    bench.write("workbench.toml", "[confirm]\nrequests = 10\n")
    before = calls(platform)
    said = bench("run", "job.toml", "--no-report", code=3).stderr
    assert "it would send 6 requests, and up to 18 calls of judges, more than [confirm] requests = 10" in said
    assert calls(platform) == before
    assert bench("run", "job.toml", "--no-report", "--yes").returncode == 0
    assert "then judge: nothing to ask, as what is reused is judged" in bench("plan", "job.toml").stdout
    assert bench("run", "job.toml", "--no-report").returncode == 0, "there is nothing to ask about"
    bench.write(
        "job.toml", (bench.folder / "job.toml").read_text().replace("votes = 3", 'rubric = "Is it short?"\nvotes = 2')
    )
    before, said = calls(platform), bench("run", "job.toml", "--no-report", code=3).stderr
    assert "it would send 0 requests, and up to 12 calls of judges, more than [confirm] requests = 10" in said
    assert "0 requests, and up to 12 calls of judges not sent: --yes sends them" in said
    assert calls(platform) == before, "judgements alone are asked about too"


@pytest.mark.slow
def test_units_are_of_the_answers_where_judges_are_still_to_be_asked(
    bench: Workbench, platform: ThreadedServer
) -> None:
    with_judge(bench)
    weight = '[[allowance.weights]]\nmodel = "*"\nsince = 2026-01-01\nprompt = 1\ncompletion = 1\n'
    allowance = (
        f'[allowance]\nwindow = "month"\ntotal_units = 1000\n{weight}[confirm]\nunits = 500\ntotal_tokens = 1000000\n'
    )
    bench.write("workbench.toml", allowance)
    bench("allowance", "reading", "--used", "5%")
    assert "left of the allowance after it, before its judges are asked: " in bench("plan", "job.toml").stdout
    before = calls(platform)
    said = bench("run", "job.toml", "--no-report", code=3).stderr
    for what, limit in (("units", "units = 500"), ("tokens", "total_tokens = 1000000")):
        assert f"no bound on its {what} (what its judges read is not known yet), more than [confirm] {limit}" in said
    assert calls(platform) == before
    bench("run", "job.toml", "--no-report", "--yes")
    bench("run", "job.toml", "--no-report")


@pytest.mark.slow
def test_equal_answers_to_a_sample_are_one_question_however_many_are_left(tmp_path: Path) -> None:
    """Numbered among those that are left, the second of them was asked again once some were judged."""
    with ThreadedServer(quick(load_config())) as server:
        bench = Workbench(tmp_path, server)
        with_judge(bench, more="most_calls = 5\n")
        text = (bench.folder / "job.toml").read_text()
        bench.write("job.toml", text.replace("passes = 1", "passes = 1\nepochs = 3"))
        bench("run", "job.toml", "--no-report", code=None)
        assert calls(server) == 3 * SAMPLES + 5
        for _ in range(SAMPLES):  # five more each time
            if not bench("score", "last", "--yes", code=None).returncode:
                break
        assert {row["pending"] for row in bench.json("show")["scores"]} == {0}
        answers = [(row["sample_id"], row["answer"]) for row in bench.lines("show", "last", "--calls")]
        asked = calls(server)
        assert asked - 3 * SAMPLES == len(set(answers)) < len(answers)
        bench.write("job.toml", (bench.folder / "job.toml").read_text().replace("most_calls = 5", "most_calls = 99"))
        done = bench("run", "job.toml", "--no-report")
        assert calls(server) == asked, "what it has judged is not asked again"
        assert "other settings" not in done.stderr + bench("score", "last").stderr, "a limit changes no verdict"


def test_a_run_that_used_its_deadline_up_asks_no_judge(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 200)) as server:
        bench = Workbench(tmp_path, server)
        with_judge(bench)
        text = (tmp_path / "job.toml").read_text().replace("passes = 1", "passes = 1\ndeadline_s = 0.15")
        bench.write("job.toml", text)
        done = bench("run", "job.toml", "--no-report", code=None)
        assert done.returncode in (3, 7)
        assert calls(server) <= SAMPLES


@pytest.mark.slow
def test_ctrl_c_is_heard_while_the_judge_is_asked(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 100)) as server:
        bench = Workbench(tmp_path, server)
        with_judge(bench)
        bench.write("sums.jsonl", sums(40))
        bench.write("job.toml", (tmp_path / "job.toml").read_text().replace("max_in_flight = 8", "max_in_flight = 2"))
        process = bench.start("run", "job.toml", "--json", "--no-report")
        until(lambda: calls(server) >= 44)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        assert process.returncode in (3, 130), errors
        assert json.loads(out)["completed"] == 40
        assert "judgements still to be asked for" in errors
        done = calls(server)
        assert done < 80
        bench("run", "job.toml", "--no-report")
        assert calls(server) == 80, "only what was not judged is asked"


def test_the_plan_counts_what_a_judge_may_be_asked(bench: Workbench) -> None:
    with_judge(bench, more="votes = 3\n")
    planned = bench.json("plan", "job.toml")["judges"]
    assert planned == [{"scorer": "judge", "model": "Abacus Large [careful]", "most_calls": 18, "max_tokens": 512}]
    assert (
        "then judge: at most 18 calls of Abacus Large [careful], each with up to 512 tokens"
        in bench("plan", "job.toml").stdout
    )


@pytest.mark.slow
@pytest.mark.file_ledger
def test_verdicts_that_are_not_ingested_yet_are_said_to_be(bench: Workbench) -> None:
    with_judge(bench, '[judge]\nwhen = "later"\n')
    run_id = bench.json("run", "job.toml", "--no-report")["run_id"]
    with bench.ledger.locked(exclusive=False):
        done = bench("score", run_id, "--yes")
    assert done.stderr.count("the scores are in the journal, not ingested yet: another process has held") == 1
    assert f"{SAMPLES} scores are new" in done.stderr
    with_judge(bench)
    with bench.ledger.locked(exclusive=False):
        assert "what judge says is not ingested yet, but safe in" in bench("run", "job.toml", "--fresh").stderr
