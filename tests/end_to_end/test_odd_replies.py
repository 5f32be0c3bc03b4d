"""Replies, signals and neighbours that nobody planned: what was paid for is kept, and the numbers balance."""

import fcntl
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Workbench, job, sums
from tests.end_to_end.odd_server import KEY, OddServer, prompts, run
from tests.waiting import interrupt_twice, until
from workbench.local_platform.server import ThreadedServer


@pytest.mark.slow
def test_a_count_beyond_all_reason_is_unknown(oddly: Workbench) -> None:
    prompts(oddly, "bigtokens", "plain")
    result = run(oddly)
    assert result["completed"] == 2
    assert result["usage"]["total_tokens"] == 2
    assert result["usage"]["calls_without_usage"] == 1
    assert oddly.json("ledger", "check")["sound"]


def test_the_usage_of_an_answer_that_cannot_be_read_counts(oddly: Workbench) -> None:
    prompts(oddly, "numbered", "plain")
    result = run(oddly, code=3)
    assert result["outcomes"] == {"malformed_body": 1, "ok": 1}
    assert (result["usage"]["total_tokens"], result["usage"]["calls_without_usage"]) == (44, 0)
    assert [(row["total_tokens"], row["maybe_drawn"]) for row in oddly.json("usage")] == [(44, 0)], "it is not unknown"
    assert "used allowance" not in oddly("show", "last").stdout, "the run says the same"
    oddly.write("workbench.toml", '[allowance]\nwindow = "month"\n')
    seen = oddly.json("allowance")["seen"]
    assert (seen["tokens"], seen["unknown_calls"]) == (44, 0), "the allowance says the same"
    assert oddly.json("ledger", "check")["sound"]


@pytest.mark.slow
def test_a_budget_that_a_route_overruns_is_reported(oddly: Workbench) -> None:
    prompts(oddly, "greedy", more="\n[budget]\ntotal_tokens = 1000\n")
    done = oddly("run", "job.toml")
    assert "complete: the budget of 1000 tokens was exceeded by 4000" in done.stdout
    page = Path(done.stdout.split()[-1]).read_text("utf-8")
    assert "the budget of 1000 tokens was exceeded by 4000" in page
    shown = oddly.json("show", oddly.json("runs")[0]["run_id"])
    assert (shown["status"], shown["reason"]) == ("complete", "the budget of 1000 tokens was exceeded by 4000")


def test_strange_types_and_control_characters_are_kept(oddly: Workbench) -> None:
    prompts(oddly, "strange", "nul")
    result = run(oddly)
    assert result["outcomes"] == {"empty": 1, "ok": 1} or result["outcomes"] == {"ok": 1, "reasoning_exhausted": 1}
    calls = oddly.lines("show", result["run_id"], "--calls")
    assert any(call["answer"] == "4 \x00 and \x1b[31m" for call in calls)


@pytest.mark.slow
def test_an_answer_of_sixty_megabytes_is_recorded_and_ingested(oddly: Workbench) -> None:
    prompts(oddly, "long", "plain")
    job = (oddly.folder / "job.toml").read_text()
    oddly.write("job.toml", job.replace("passes = 1", "passes = 1\nmax_reply_bytes = 100_000_000"))
    result = run(oddly)
    assert result["completed"] == 2
    assert oddly.json("ledger", "path")["journals"] == []


@pytest.mark.slow
def test_failures_that_no_rerun_can_fix_are_reported_and_done(oddly: Workbench) -> None:
    prompts(oddly, "bad", "plain")
    result = run(oddly)
    assert result["status"] == "complete"
    assert (result["failed"], result["outcomes"]) == (1, {"bad_request": 1, "ok": 1})


def test_empty_answers_are_not_right(oddly: Workbench) -> None:
    prompts(oddly, "plain", "empty 1", "empty 2")
    result = run(oddly)
    (score,) = oddly.json("show", result["run_id"])["scores"]
    assert (score["scored"], score["unscored"], score["mean"]) == (1, 2, 1.0)
    assert (score["not_right"], score["interval"]["mean"]) == (2, pytest.approx(1 / 3))


def test_a_run_of_empty_answers_alone_does_not_meet_a_mean(oddly: Workbench) -> None:
    prompts(oddly, *(f"empty {n}" for n in range(8)), more="\n[gates]\nmin_mean = { numeric = 0.9 }\n")
    result = oddly.json("run", "job.toml", "--no-report", code=100)
    assert "m scores 0.000 [0.000, 0.369] on 8 samples" in result["reason"]
    assert 'tests="8" failures="8"' in oddly("export", "last", "--format", "junit").stdout


def test_a_key_that_a_server_echoes_is_kept_nowhere(oddly: Workbench) -> None:
    prompts(oddly, "plain")
    oddly("run", "job.toml")
    for path in oddly.folder.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.slow
def test_a_key_that_is_echoed_in_escapes_is_kept_nowhere(oddly: Workbench) -> None:
    prompts(oddly, "escaped")
    result = run(oddly)
    (call,) = oddly.lines("show", result["run_id"], "--calls")
    assert call["answer"] == "The answer is 4. sk-[redacted]"
    for path in oddly.folder.rglob("*"):
        if path.is_file():
            assert KEY[3:].encode() not in path.read_bytes(), path


@pytest.mark.slow
def test_a_short_key_does_not_redact_answers(oddly: Workbench) -> None:
    oddly.environment["WORKBENCH_API_KEY"] = "e"
    prompts(oddly, "plain")
    result = run(oddly)
    (call,) = oddly.lines("show", result["run_id"], "--calls")
    assert call["answer"].startswith("The answer is 4.")


@pytest.mark.slow
def test_a_second_signal_cancels_whatever_stopped_the_sending(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, "expired", "hang 1", "hang 2")
    process = oddly.start("run", "job.toml", "--no-report", "--json")
    until(lambda: len(odd.requests) >= 3)
    until(lambda: any(row["failed"] for row in oddly.json("runs")))
    interrupt_twice(process)
    out, _ = process.communicate(timeout=60)
    assert json.loads(out)["outcomes"] == {"key_rejected": 1, "cancelled": 2}


@pytest.mark.slow
def test_a_doubtful_401_is_looked_into_once(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, *(f"doubtful {n}" for n in range(8)))
    result = run(oddly, code=3)
    assert result["outcomes"] == {"route_unauthorised": 8}
    assert odd.lists == 2, "one before the run, and one for the doubt that eight calls made"
    call = oddly.lines("show", result["run_id"], "--calls")[0]
    assert call["http_status"] == 401
    odd.key_is_good = False
    assert "does not accept the API key" in oddly("run", "job.toml", code=4).stderr


@pytest.mark.slow
def test_an_empty_list_takes_the_key_all_the_same(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, "away 1")
    assert run(oddly, code=3)["outcomes"] == {"route_unauthorised": 1}
    assert odd.lists == 2


@pytest.mark.slow
def test_a_rejected_key_is_asked_about_once(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, *(f"expired {n}" for n in range(4)))
    result = run(oddly, code=4)
    assert result["outcomes"] == {"key_rejected": 4}
    assert odd.lists == 2, "one before the run, and one for the doubt that four calls made"


@pytest.mark.slow
def test_a_reply_that_is_looked_into_is_kept_whatever_is_cancelled(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, "doubtful 1")  # a second one's reply might not have been read yet: nothing outside shows that it was
    odd.held_list = 2
    process = oddly.start("run", "job.toml", "--no-report", "--json")
    until(lambda: odd.lists >= 2)
    interrupt_twice(process)
    out, _ = process.communicate(timeout=60)
    result = json.loads(out)
    assert result["outcomes"] == {"key_rejected": 1}
    assert {call["http_status"] for call in oddly.lines("show", result["run_id"], "--calls")} == {401}
    assert oddly.json("slots") == [], "an answered call leaves no ghost"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_in_quick_succession_leave_a_record_of_every_call(
    oddly: Workbench, odd: OddServer, number: signal.Signals
) -> None:
    prompts(oddly, *(f"hang {n}" for n in range(8)))
    process = oddly.start("run", "job.toml", "--no-report", "--json", "--fixed")
    until(lambda: len(odd.requests) >= 8)
    while process.poll() is None:
        process.send_signal(number)
        time.sleep(0.001)
    out, error = process.communicate()
    assert process.returncode == 128 + number, error
    assert (process.returncode, json.loads(out)["outcomes"]) == (128 + number, {"cancelled": 8}), error


@pytest.mark.slow
def test_a_closed_terminal_stops_no_run_that_was_told_to_outlive_it(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(40))
    bench.write("job.toml", job())
    process = bench.start(
        "run", "job.toml", "--no-report", "--json", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    while process.poll() is None:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.02)
    out, error = process.communicate()
    assert (process.returncode, json.loads(out)["completed"]) == (0, 40), error


def test_nobody_waits_for_a_pass_that_the_budget_does_not_pay(oddly: Workbench) -> None:
    prompts(oddly, "retry")
    text = (oddly.folder / "job.toml").read_text().replace("passes = 1", "passes = 2\n[budget]\nrequests = 1")
    oddly.write("job.toml", text)
    stopped = run(oddly, code=7)
    assert stopped["duration_s"] < 10, "when the next pass would come"
    assert (stopped["status"], stopped["outcomes"]) == ("stopped", {"rate_limited": 1})


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_scores_are_made_ends_with_the_last_line(
    bench: Workbench, platform: ThreadedServer, number: signal.Signals
) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    bench("run", "job.toml", "--no-report")
    with bench.ledger.lock_path.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = bench.start("run", "job.toml", "--no-report", "--fresh", "--json")
        while platform.platform.statistics.requests.total() < 6:
            time.sleep(0.01)
            if process.poll() is None and not lock.closed:
                fcntl.flock(lock, fcntl.LOCK_UN)
        fcntl.flock(lock, fcntl.LOCK_EX)
        time.sleep(1)
        process.send_signal(number)
        time.sleep(0.5)
        fcntl.flock(lock, fcntl.LOCK_UN)
        out, error = process.communicate(timeout=60)
    result = json.loads(out)
    assert (process.returncode, result["completed"], result["pending"]) == (0, 3, 0)
    assert "Traceback" not in error
    bench("score", result["run_id"])


def test_a_servers_words_do_not_act_on_the_terminal(oddly: Workbench) -> None:
    oddly.environment["WORKBENCH_BASE_URL"] += "/\x1b[31m"
    assert "\x1b" not in oddly("models", code=6).stderr


@pytest.mark.slow
def test_samples_whose_requests_become_equal_are_told_apart(oddly: Workbench, odd: OddServer) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    oddly.write("tools.json", json.dumps([tool]))
    rows = [{"input": "plain", "target": 4}, {"input": "plain", "target": 4, "tools": [tool]}]
    oddly.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    oddly.write("job.toml", job("m", dataset="d.jsonl").replace("max_tokens = 64", 'tools_path = "tools.json"'))
    assert run(oddly)["completed"] == 2
    assert run(oddly)["reused"] == 2
    assert len(odd.requests) == 2
    assert oddly.json("ledger", "check")["sound"]


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_notebook_that_writes_changes_neither_result_nor_exit_code(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, "plain")
    run(oddly)
    prompts(oddly, "plain", "held")
    script = "import duckdb, sys; db = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    process = oddly.start("run", "job.toml", "--no-report", "--json")
    until(lambda: "held" in odd.requests)
    command = [sys.executable, "-c", script, str(oddly.folder / "ledger.duckdb")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as notebook:
        assert notebook.stdout is not None
        assert notebook.stdin is not None
        assert notebook.stdout.readline() == "open\n"
        odd.let_go()
        out, err = process.communicate(timeout=60)
        notebook.stdin.close()
    assert process.returncode == 0, err
    result = json.loads(out)
    assert (result["reused"], result["completed"]) == (1, 1)
    assert "note:" in err
    again = run(oddly)
    assert again["reused"] == 2


@pytest.mark.slow
def test_resuming_a_plain_run_reuses_what_it_reused(bench: Workbench, platform: ThreadedServer) -> None:
    bench.write("sums.jsonl", sums(4))
    bench.write("job.toml", job("sim/instant"))
    bench("run", "job.toml", "--fresh", "--no-report")
    bench.write("job.toml", job("sim/instant", "sim/prose"))
    plain = bench.json("run", "job.toml", "--no-report")
    assert (plain["reused"], plain["completed"]) == (4, 4)
    assert bench.json("run", "--resume", plain["run_id"], "--no-report")["reused"] == 8


def test_the_embedded_platform_is_the_same_whatever_its_port(tmp_path: Path, catalogue: Any) -> None:
    results = []
    for _ in range(2):
        with ThreadedServer(catalogue) as server:
            bench = Workbench(tmp_path, server)
            bench.write("sums.jsonl", sums(3))
            bench.write("job.toml", job())
            results.append(bench.json("run", "job.toml", "--no-report"))
    assert [result["reused"] for result in results] == [0, 3]


@pytest.mark.slow
def test_a_file_in_the_working_folder_does_not_shadow_a_module(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("numbers.py", "raise SystemExit('shadowed')")
    assert bench.json("demo", "--no-report")["status"] == "complete"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"input": None}, "the input is empty"),
        ({"input": ""}, "the input is empty"),
        ({"messages": []}, "the input is empty"),
        ({"messages": [{"content": "hi"}]}, "expected a list of messages, each with a role"),
        ({"input": {"a": 1}}, "the input is an object"),
        ({"input": "x", "tools": "f"}, "expected a JSON list"),
    ],
)
def test_samples_that_cannot_be_sent_are_refused(
    oddly: Workbench, odd: OddServer, row: dict[str, Any], expected: str
) -> None:
    prompts(oddly, "plain")
    oddly.write("d.jsonl", json.dumps(row) + "\n")
    assert expected in oddly("run", "job.toml", code=2).stderr
    assert not odd.requests


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            'path = "d.jsonl"',
            'path = "d.jsonl"\nlimit = 1\nfields = { input = "input", target = "anwser" }',
            "no column 'anwser'",
        ),
        ('path = "d.jsonl"', 'path = "d.jsonl"\nfields = { tools = "tolls" }', "no column 'tolls'"),
        ("max_tokens = 64", "extra = { x = inf }", "holds inf or nan"),
        ("[request]", '[prompt]\ntemplate = "{{ dict(a=1, a=2) }}"\n[request]', "not a usable Jinja template"),
        (
            "[request]",
            '[prompt]\ntemplate = "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"\n[request]',
            "calls itself without an end",
        ),
        (
            'name = "numeric"',
            'name = "pattern"\npattern = "a{999999999999999999999}"',
            "not a valid regular expression",
        ),
        ("max_tokens = 64", "extra = { a = " + "[" * 2000 + "]" * 2000 + " }", "nested too deeply"),
    ],
)
def test_jobs_that_cannot_be_run_are_refused(
    oddly: Workbench, odd: OddServer, old: str, new: str, expected: str
) -> None:
    prompts(oddly, "plain", "plain 2")
    text = (oddly.folder / "job.toml").read_text()
    assert old in text
    oddly.write("job.toml", text.replace(old, new))
    assert expected in oddly("run", "job.toml", code=2).stderr
    assert not odd.requests


@pytest.mark.slow
def test_odd_surroundings_are_named(oddly: Workbench) -> None:
    prompts(oddly, "plain")
    oddly.write("reports", "a file, not a folder")
    oddly.write("x.duckdb", "no database " * 1000)
    assert "reports cannot be written" in oddly("run", "job.toml", code=2).stderr
    oddly("run", "job.toml", "--no-report")
    oddly("report", code=2)
    assert "is not a DuckDB file" in oddly("runs", "--ledger", "x.duckdb", code=2).stderr
    for url in ("http://[::1", "http://a..b", "http://h:abc"):
        assert "is not a URL" in oddly("models", "--base-url", url, code=2).stderr
    (oddly.folder / ".env").write_bytes(b"A=\xff\xfe\n")
    assert ".env" in oddly("models", code=2).stderr
    (oddly.folder / ".env").unlink()
    (oddly.folder / "job.toml").write_bytes(b"\xef\xbb\xbf" + (oddly.folder / "job.toml").read_bytes())
    oddly("lint", "job.toml")
    choice = "tools = [{ type = 'function', function = { name = 'x' } }]"
    oddly.write("job.toml", (oddly.folder / "job.toml").read_text("utf-8-sig").replace("max_tokens = 64", choice))
    oddly("lint", "job.toml")
