"""Refusals, filtered texts and texts that broke off: a model's last word is paid for once, what broke off is sent again."""

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.end_to_end.odd_server import BROTLI, OddServer, prompts, run
from tests.pages import Page
from tests.unit.ledger.ledger_rows import answer, intent, started
from workbench.api.frames import Frames
from workbench.ledger.answer_rows import RunReply
from workbench.ledger.entries import SampleSeen
from workbench.ledger.ingest import ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.rows import LedgerState
from workbench.ledger.run_rows import RunItems
from workbench.ledger.store import Ledger
from workbench.local_platform.server import ThreadedServer

GATES = "\n[gates]\nmin_mean = { numeric = 0.2 }\n"
REFUSAL = '{"choices": [{"finish_reason": "stop", "message": {"content": null, "refusal": "No."}}], "model": "m"}'
CUT = '{"choices": [{"finish_reason": "max_tokens", "message": {"content": "The answ"}}], "model": "m"}'
WHOLE = '{"choices": [{"finish_reason": "eos", "message": {"content": "4"}}], "model": "m"}'


@pytest.mark.slow
def test_a_refusal_is_asked_once_and_its_run_is_complete(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, "refused", "filtered", "plain", more=GATES)
    results = [oddly.json("run", "job.toml", *options) for options in ((), ("--no-report",), ("--no-report",))]
    assert results[0]["outcomes"] == {"refused": 1, "filtered": 1, "ok": 1}
    assert [(result["status"], result["completed"], result["reused"]) for result in results] == [
        ("complete", 3, 0), ("complete", 0, 3), ("complete", 0, 3),
    ]  # fmt: skip
    assert len(odd.requests) == 3
    calls = {call["outcome"]: call for call in oddly.lines("show", results[0]["run_id"], "--calls")}
    assert (calls["refused"]["answer"], calls["filtered"]["answer"]) == ("I can't help with that.", "The answ")
    assert calls["refused"]["scores"] == {"numeric": None}
    page = Path(results[0]["report"]).read_text("utf-8")
    assert "2 of them refused or filtered" in page
    assert ">refused</th>" in page


@pytest.mark.slow
def test_what_stands_is_asked_once_more_where_that_is_wanted(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, "refused", "filtered", "empty", "plain", more=GATES)
    first = oddly.json("run", "job.toml")
    assert (first["status"], first["failed"], len(odd.requests)) == ("complete", 1, 4)
    again = oddly.json("run", "job.toml")
    assert (again["reused"], again["failed"], len(odd.requests)) == (3, 1, 4), (
        "an empty answer was paid for, and stands"
    )
    planned = oddly.json("plan", "job.toml")
    assert (planned["reused"], planned["failed"], planned["to_send"]) == (3, 1, 0), "a plan counts as its run does"
    assert "0 to send (3 reused, 1 failed before, which no rerun changes)" in oddly("plan", "job.toml").stdout
    assert {run["answered"] for run in oddly.json("runs")} == {3}, "that it stands makes no answer of it"
    assert "3 of 4 answered (3 reused); 1 failed" in oddly("show", "last").stdout
    for kind, more in (("refused", 2), ("empty", 1), ("fallback", 0)):
        before = len(odd.requests)
        oddly.json("run", "job.toml", "--again", kind)
        assert len(odd.requests) == before + more
    assert sorted(odd.requests[4:]) == sorted([one for one in odd.requests[:4] if not one.startswith("plain")])


@pytest.mark.slow
def test_an_answer_that_nothing_here_unpacks_is_kept_and_not_bought_twice(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, "brotli", "plain", more=GATES)
    first = oddly.json("run", "job.toml", "--no-report")
    assert (first["status"], first["completed"], first["failed"]) == ("complete", 1, 1)
    assert first["outcomes"] == {"ok": 1, "unreadable_body": 1}
    calls = {call["outcome"]: call for call in oddly.lines("show", "last", "--calls")}
    packed = calls["unreadable_body"]
    assert "bytes are kept" in packed["evidence"]
    with reading(oddly.ledger) as reader:
        found = {row.outcome: row for row in reader.all(RunReply, run_id=first["run_id"])}["unreadable_body"]
    coding, kept = str(found.raw).split(",base64,")
    assert (coding, base64.b64decode(kept)) == ("br", BROTLI)
    again = oddly.json("run", "job.toml", "--no-report")
    assert (again["reused"], again["failed"], again["outcomes"]) == (1, 1, {})
    assert len(odd.requests) == 2
    oddly.json("run", "job.toml", "--no-report", "--again", "unreadable")
    assert len(odd.requests) == 3


def test_half_of_a_pair_of_surrogates_is_exported_as_it_came(oddly: Workbench) -> None:
    prompts(oddly, "half", "plain")
    oddly("run", "job.toml", "--no-report", code=None)
    for form in ("batch", "jsonl", "csv", "junit"):
        done = oddly("export", "last", "--format", form)
        assert "of a pair" in done.stdout or form == "junit"
    lines = [json.loads(line) for line in oddly("export", "last", "--format", "batch").stdout.splitlines()]
    contents = [line["response"]["body"]["choices"][0]["message"]["content"] for line in lines]
    assert any(content.startswith("Half \ud83d of a pair.") for content in contents)


def test_a_redirected_call_drew_nothing_and_is_not_sent_again(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, "moved", "plain", more=GATES)
    oddly.write("job.toml", (oddly.folder / "job.toml").read_text().replace("passes = 1", "passes = 2"))
    result = oddly.json("run", "job.toml", "--no-report", code=3)
    assert (result["outcomes"], len(odd.requests)) == ({"ok": 1, "redirected": 1}, 2)
    (call,) = (call for call in oddly.lines("show", "last", "--calls") if call["outcome"] == "redirected")
    assert call["evidence"] == "HTTP 307, which leads to https://new.example.org/api/chat/completions"
    assert oddly.json("usage")[0]["maybe_drawn"] == 0


@pytest.mark.slow
def test_an_empty_answer_does_not_stand_where_a_later_pass_failed(oddly: Workbench) -> None:
    """It was asked again, and what came then is worth a rerun."""
    prompts(oddly, "flip", "plain", more=GATES)
    oddly.write("job.toml", (oddly.folder / "job.toml").read_text().replace("passes = 1", "passes = 2"))
    assert oddly.json("run", "job.toml", "--no-report", code=None)["completed"] == 1
    again = oddly.json("run", "job.toml", "--no-report", code=None)
    assert (again["completed"], again["reused"]) == (1, 1)


@pytest.mark.slow
def test_a_judge_that_refused_is_asked_once_more_where_that_is_wanted(oddly: Workbench, odd: OddServer) -> None:
    judge = '[[scorers]]\nname = "judge"\nmodel = "m"\ntemplate = "refused {{ answer }} {{ verdicts }}"\n'
    prompts(oddly, "plain 1", "plain 2", more=f'\n{judge}[judge]\nwhen = "later"\n')
    run_id = oddly.json("run", "job.toml", "--no-report")["run_id"]
    for options, sent in (((), 2), ((), 0), (("--again", "refused"), 2)):
        before = len(odd.requests)
        oddly("score", run_id, "--yes", *options, code=3)
        assert len(odd.requests) == before + sent, "its words are no vote"


@pytest.mark.slow
def test_a_judge_that_thinks_until_its_cap_is_no_judgement_to_be_asked_for(oddly: Workbench, odd: OddServer) -> None:
    """Its command would have sent nothing, for ever: it is told of the cap."""
    judge = '[[scorers]]\nname = "judge"\nmodel = "m"\ntemplate = "spent {{ answer }} {{ verdicts }}"\n'
    prompts(oddly, "plain 1", "plain 2", more=f"\n{judge}")
    for sent in (4, 0):
        before = len(odd.requests)
        done = oddly("run", "job.toml", "--no-report", code=3)
        assert len(odd.requests) == before + sent
        assert "gave no verdict on 2 answers: the judge's answer ended before its first word" in done.stderr
        assert "still to be asked for" not in done.stderr


@pytest.mark.slow
def test_an_end_that_no_rule_knows_is_named_and_counted(oddly: Workbench) -> None:
    prompts(oddly, "novel 1", "novel 2", "plain")
    result = oddly.json("run", "job.toml")
    assert result["outcomes"] == {"ok": 3}
    said = "2 answers ended for a reason that is not known, “flow_stop”: taken for whole"
    assert said in oddly("show", "last").stdout
    assert f"Whether {said}." in Page(result["report"]).text


@pytest.fixture
def rescued(tmp_path: Path) -> Iterator[Workbench]:
    """A platform whose route `rescued` is always answered for by `good`."""
    routes = (
        {"id": "good", "simulated": "answers"},
        {"id": "rescued", "unavailable": True, "fallback": "good", "simulated": "answers"},
    )
    with ThreadedServer(platform_of(*routes, limits={"retries": 0})) as server:
        yield Workbench(tmp_path, server)


@pytest.mark.slow
def test_a_fallback_s_answers_are_asked_once_more(rescued: Workbench) -> None:
    rescued.write("sums.jsonl", sums(3))
    rescued.write("job.toml", job("good", "rescued"))
    rescued.json("run", "job.toml", "--no-report")
    assert rescued.json("plan", "job.toml")["to_send"] == 0
    again = rescued.json("run", "job.toml", "--again", "fallback", "--no-report")
    assert (again["reused"], again["completed"]) == (3, 3)


@pytest.mark.slow
def test_a_judge_that_a_fallback_answered_for_adds_no_runs_and_can_be_asked_again(rescued: Workbench) -> None:
    rescued.write("sums.jsonl", sums(3))
    rescued.write("job.toml", job("good") + '[[scorers]]\nname = "judge"\nmodel = "rescued"\n[judge]\nwhen = "later"\n')
    run_id = rescued.json("run", "job.toml", "--no-report")["run_id"]
    said = rescued("score", run_id, "--yes", code=3).stderr
    assert "judge gave no verdict on 3 answers: another model answered for the judge; `workbench score" in said
    assert len(rescued.json("runs")) == 2
    for _ in range(2):
        assert "nothing was sent" in rescued("score", run_id, "--yes", code=3).stderr
    assert len(rescued.json("runs")) == 2, "a run that asks nothing says nothing"
    rescued("score", run_id, "--yes", "--again", "fallback", code=3)
    assert rescued.json("runs")[0]["calls"] == 3


@pytest.fixture
def unlike(tmp_path: Path) -> Iterator[Workbench]:
    """A platform whose route `rescued` is always answered for by `other`, whose answers are not those of `good`."""
    routes = (
        {"id": "good", "simulated": "answers"},
        {"id": "other", "simulated": "echo"},
        {"id": "rescued", "unavailable": True, "fallback": "other"},
    )
    with ThreadedServer(platform_of(*routes, limits={"retries": 0})) as server:
        yield Workbench(tmp_path, server)


@pytest.mark.slow
def test_no_judge_is_paid_for_an_answer_that_counts_in_no_mean(unlike: Workbench) -> None:
    unlike.write("sums.jsonl", sums(3))
    text = job("good", "rescued").replace('name = "numeric"', 'name = "judge"\nmodel = "good"')
    unlike.write("job.toml", text)
    unlike("run", "job.toml", "--no-report")
    judged, run = unlike.json("runs")
    assert (run["calls"], run["status"], judged["calls"]) == (6, "complete", 3)
    (row,) = [row for row in unlike.json("show", run["run_id"])["scores"] if row["model"] == "rescued"]
    assert (row["pending"], row["left_out"], row["unknown"]) == (0, 3, 3)
    assert "no judge is asked about an answer" in unlike("export", run["run_id"], "--format", "csv").stdout
    assert "answered by another model" in str(unlike.json("compare", run["run_id"], "--no-report"))
    accepting = text.replace("[run]", '[run]\non_fallback = "accept"')
    for job_text, calls in ((text, 0), (accepting, 3)):
        unlike.write("job.toml", job_text)
        assert [judge["most_calls"] for judge in unlike.json("plan", "job.toml")["judges"]] == [calls]
    unlike("run", "job.toml", "--no-report")
    judged, run = unlike.json("runs")[:2]
    assert (run["calls"], judged["calls"]) == (0, 3), "they are judged once they count"
    assert {row["scored"] for row in unlike.json("show", run["run_id"])["scores"]} == {3}


@pytest.mark.slow
def test_a_judge_is_asked_about_answers_that_count_once_a_name_is_confirmed(unlike: Workbench) -> None:
    unlike.write("sums.jsonl", sums(3))
    unlike.write("job.toml", job("rescued").replace('name = "numeric"', 'name = "judge"\nmodel = "good"'))
    unlike("run", "job.toml", "--no-report")
    (run,) = unlike.json("runs")
    assert "without a judgement" not in unlike("show", run["run_id"]).stderr
    unlike.write("workbench.toml", '[routes.rescued]\nserved_as = "other"\n')
    assert "3 answers without a judgement: `workbench score" in unlike("show", run["run_id"]).stderr
    assert unlike.json("score", run["run_id"], "--yes")["pending"] == 0
    (row,) = unlike.json("show", run["run_id"])["scores"]
    assert (row["scored"], row["pending"], row["left_out"]) == (3, 0, 0)


@pytest.mark.slow
def test_a_night_whose_judge_was_asked_in_vain_is_no_success_and_names_what_asks_again(rescued: Workbench) -> None:
    rescued.write("sums.jsonl", sums(3))
    judge = '[[scorers]]\nname = "judge"\nmodel = "rescued"\n[gates]\nmin_mean = { judge = 0.5 }\n'
    rescued.write("job.toml", job("good") + judge)
    done = rescued("run", "job.toml", code=3)
    run_id = rescued.json("show")["run_id"]
    again = f"score {run_id} --yes --again fallback"
    told = f"judge gave no verdict on 3 answers: another model answered for the judge; `workbench {again} --ledger"
    assert told in done.stderr
    assert f"continue with: workbench {again}" in done.stdout, "the run again would ask nothing"
    assert f"3 answers without a judgement: `workbench {again}" in rescued("show", run_id).stderr
    (row,) = [row for row in rescued.json("show", run_id)["scores"] if row["scorer"] == "judge"]
    assert (row["pending"], row["mean"]) == (3, None)
    assert row["pending_reason"].endswith("`workbench score RUN --yes --again fallback` asks once more")
    for page in ("index.html", f"{run_id}.html"):
        assert again in Page(next(rescued.folder.glob(f"reports/**/{page}"))).text
    assert "another model answered for the judge" in rescued("export", run_id, "--format", "csv").stdout
    rescued("score", run_id, "--yes", "--again", "fallback", code=3)
    assert rescued.json("runs")[0]["calls"] == 3, "the command that is named asks"


@pytest.mark.slow
def test_a_refusal_is_right_where_the_sample_or_the_scorer_says_so(oddly: Workbench) -> None:
    rows = [
        {"input": "refused 1", "refusal": "right"}, {"input": "plain 2", "refusal": "right"}, {"input": "refused 3", "target": "help"},
        {"input": "plain 4", "target": "4"},
    ]  # fmt: skip
    oddly.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    scorers = '[[scorers]]\nname = "includes"\n[[scorers]]\nname = "includes"\nlabel = "read"\nrefusals = true\n'
    oddly.write("job.toml", job("m", dataset="d.jsonl").partition("[[scorers]]")[0] + scorers)
    result = oddly.json("run", "job.toml", "--no-report")
    assert result["outcomes"] == {"refused": 2, "ok": 2}
    scores = {call["sample_id"]: call["scores"] for call in oddly.lines("show", "last", "--calls")}
    assert [scores[sample]["includes"] for sample in ("1", "2", "3", "4")] == [1.0, 0.0, None, 1.0]
    assert [scores[sample]["read"] for sample in ("1", "2", "3", "4")] == [1.0, 0.0, 1.0, 1.0]
    (plain, read) = oddly.json("show", "last")["scores"]
    assert (plain["interval"]["mean"], read["interval"]["mean"]) == (0.5, 0.75)


@pytest.mark.slow
def test_a_text_that_broke_off_is_sent_again(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, "broken", "plain")
    first = run(oddly, code=3)
    assert first["outcomes"] == {"broken_off": 1, "ok": 1}
    again = run(oddly)
    assert (again["completed"], again["reused"], again["outcomes"]) == (1, 1, {"ok": 1})
    assert len(odd.requests) == 3


def journalled(folder: Path) -> Ledger:
    """A run as an earlier version judged it: a refusal that was empty, a cut text and a whole one that were ok."""
    ledger = Ledger(folder / "ledger.duckdb")
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 3))
    ended = [
        ("empty", False, REFUSAL, "stop", None),
        ("ok", True, CUT, "max_tokens", "The answ"),
        ("ok", True, WHOLE, "eos", "4"),
    ]
    for number, (outcome, accepted, raw, finish, text) in enumerate(ended, 1):
        writer.append(SampleSeen(f"sample{number}", '{"input": "q"}'))
        writer.append(intent("r1", number))
        given = {"outcome": outcome, "accepted": accepted, "rerun": not accepted, "scorable": accepted}
        writer.append(answer("r1", number, **given, raw=raw, finish_reason=finish, answer=text, tool_calls=None))
    writer.close()
    return ledger


def stands(ledger: Ledger) -> tuple[list[str], RunItems, LedgerState]:
    """How the run's answers ended, how many are what, and what the ledger's check counts."""
    with reading(ledger) as reader:
        calls = reader.arrow("calls", run_id="r1").to_pylist()
        (items,) = reader.all(RunItems, run_id="r1")
        return [call["outcome"] for call in calls], items, reader.only(LedgerState)


@pytest.mark.parametrize("ingested", [False, True], ids=["in a journal", "ingested"])
def test_what_an_earlier_version_judged_is_judged_once_more(tmp_path: Path, ingested: bool) -> None:
    ledger = journalled(tmp_path)
    if ingested:
        assert not ingest(ledger).deferred
    outcomes, items, state = stands(ledger)
    assert outcomes == ["refused", "truncated", "ok"]
    assert (items.answered, items.unanswered, items.refused, items.cut_off) == (3, 0, 1, 1)
    assert state.corrected_attempts == 2
    ingest(ledger)
    assert stands(ledger)[2].corrected_attempts == 2, "counted once"


def test_a_ledger_of_an_earlier_schema_is_judged_once_more_when_it_is_opened(tmp_path: Path) -> None:
    ledger = journalled(tmp_path)
    ingest(ledger)
    with duckdb.connect(str(ledger.path)) as db:  # back to the schema before
        db.execute("DROP TABLE corrected_outcomes CASCADE")
        db.execute("DROP TABLE call_quarters CASCADE")
        db.execute("ALTER TABLE runs DROP COLUMN min_answered")
        db.execute("ALTER TABLE runs DROP COLUMN counted_unknown")
        db.execute("ALTER TABLE runs DROP COLUMN epochs")
        db.execute("DROP TABLE acceptances")
        db.execute("ALTER TABLE gates DROP COLUMN evidence")
        db.execute("ALTER TABLE runs DROP COLUMN part")
        db.execute("DROP TABLE reference_scores CASCADE")
        db.execute("DROP TABLE target_corrections CASCADE")
        for table in ("run_items", "unsent_samples"):
            db.execute(f"ALTER TABLE {table} DROP COLUMN own_id")
            db.execute(f"ALTER TABLE {table} DROP COLUMN cluster")
            db.execute(f"ALTER TABLE {table} DROP COLUMN sample_no")
            db.execute(f"ALTER TABLE {table} DROP COLUMN content_key")
        db.execute("DELETE FROM schema_versions WHERE version = 0 OR version >= 15")
    shutil.rmtree(ledger.journal_folder, ignore_errors=True)
    outcomes, _, state = stands(ledger)
    assert outcomes == ["refused", "truncated", "ok"]
    assert state.corrected_attempts == 2


def test_frames_say_what_is_judged_today(tmp_path: Path) -> None:
    journalled(tmp_path)
    assert list(Frames(folder=tmp_path).calls()["outcome"]) == ["refused", "truncated", "ok"]
