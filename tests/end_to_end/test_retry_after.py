"""A route that says when to come again is left alone until then, and no run waits for ever."""

import json
import time

import pytest

from tests.conftest import Workbench, job
from tests.end_to_end.odd_server import OddServer, prompts, run


@pytest.mark.slow
def test_a_route_that_says_when_to_come_again_is_left_alone_until_then(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, *(f"later {number}" for number in range(6)))
    oddly.write("job.toml", job("m", dataset="d.jsonl", limit=2))
    done = oddly("run", "job.toml", "--no-report", "--fixed", "--json", code=3)
    result = json.loads(done.stdout)
    since_first = [moment - odd.arrived_at[0] for moment in odd.arrived_at]
    assert len([moment for moment in since_first if moment < 1.5]) == 2, since_first
    assert (result["completed"], result["failed"], result["pending"]) == (4, 2, 0)
    assert "m: paused for 1.5 s, as it asked (Retry-After)" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patience", "most", "told"),
    [("", 8, "in 3 trials"), ("patience_s = 3", 5, "was given up after 3 s with nothing else to send")],
)
def test_a_route_that_always_asks_for_a_little_more_time_is_given_up(
    oddly: Workbench, odd: OddServer, patience: str, most: int, told: str
) -> None:
    prompts(oddly, *(f"always {number}" for number in range(20)))
    oddly.write("job.toml", job("m", dataset="d.jsonl", limit=1).replace("passes = 1", f"passes = 3\n{patience}"))
    done = oddly("run", "job.toml", "--no-report", "--fixed", code=3)
    assert len(odd.requests) <= most
    assert told in done.stdout + done.stderr


def test_a_route_that_asks_for_more_than_a_run_waits_is_left_to_a_rerun(oddly: Workbench, odd: OddServer) -> None:
    prompts(oddly, *(f"tomorrow {number}" for number in range(6)))
    oddly.write("job.toml", job("m", dataset="d.jsonl", limit=2).replace("passes = 1", "passes = 3"))
    done = oddly("run", "job.toml", "--no-report", "--fixed", code=3)
    assert len(odd.requests) == 2
    assert "m asks for a pause until" in done.stdout
    assert "2 failed, 4 pending" in done.stdout


@pytest.mark.parametrize("word", ["epoch", "forever"])
def test_a_retry_after_beyond_every_calendar_is_left_to_a_rerun(oddly: Workbench, odd: OddServer, word: str) -> None:
    prompts(oddly, *(f"{word} {number}" for number in range(3)))
    result = run(oddly, code=3)
    assert "m asks for a pause until" in result["reason"]


@pytest.mark.slow
def test_a_request_that_waits_beyond_its_deadline_ends_then(oddly: Workbench, odd: OddServer) -> None:
    """The route asks for a minute after another request was to be sent again at once."""
    prompts(oddly, "empty", "minute")
    text = job("m", dataset="d.jsonl", limit=1).replace("passes = 1", "passes = 2\nrequest_deadline_s = 3")
    oddly.write("job.toml", text)
    begin = time.monotonic()
    result = run(oddly, code=3)
    assert time.monotonic() - begin < 60, "the minute was not waited for"
    assert odd.requests == ["empty", "minute"]
    assert (result["failed"], result["pending"]) == (2, 0)
    assert result["reason"] == "1 request not retried within run.request_deadline_s"


def test_a_retry_after_that_is_no_date_stops_nothing(oddly: Workbench) -> None:
    prompts(oddly, "retry 1", "retry 2", "plain")
    assert run(oddly, code=3)["outcomes"] == {"rate_limited": 2, "ok": 1}
