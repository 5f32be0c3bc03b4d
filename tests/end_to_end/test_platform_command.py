"""`workbench platform`: what an operator types."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, date, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.conftest import COMMAND, Workbench, job, sums
from tests.contract.asking import ASKED, serve
from tests.waiting import until
from workbench.local_platform.state import State

SLOW = """
statistics_for = ["lab"]
[[routes]]
id = "slow [one]"
upstream = "slow"
simulated = "prose"
latency_ms = { median = 700 }
"""


@pytest.fixture
def desk(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path, None)


def key_for(desk: Workbench, account: str = "lab") -> str:
    return desk("platform", "keys", "create", account).stdout.strip()


def stopped(server: subprocess.Popen[str], number: int = signal.SIGTERM) -> str:
    server.send_signal(number)
    _, told = server.communicate(timeout=60)
    assert server.returncode == 0, told
    assert "Traceback" not in told
    return told


def test_from_nothing_to_an_answer(desk: Workbench) -> None:
    desk("platform", "init")
    assert "already exists" in desk("platform", "init", code=2).stderr
    assert "keys create" in desk("platform", "serve", code=2).stderr
    key = key_for(desk, "ada")
    assert re.fullmatch("sk-[0-9a-f]{32}", key)
    server, said = serve(desk.folder)
    assert said.keys() == {"base_url"}, "a key that is kept is never shown again"
    with httpx.Client(base_url=said["base_url"], headers={"Authorization": f"Bearer {key}"}) as http:
        ids = [entry["id"] for entry in http.get("/api/models").json()["data"]]
        assert ids == ["Llama 3.2 [local]", "Rehearsal", "Tutor"]
        asked = {"model": "Rehearsal", "messages": [{"role": "user", "content": "What is 40 + 2?"}]}
        used = http.post("/api/chat/completions", json=asked).json()["usage"]["total_tokens"]
    stopped(server)
    desk("platform", "usage", "add", "ada", "500", "--note", "in the chat UI")
    rows = desk.json("platform", "usage")
    assert [(row["source"], row["total_tokens"], row["note"]) for row in rows] == [
        ("added", 500, "in the chat UI"),
        ("api", used, None),
    ]
    desk("platform", "usage", "add", "ada", "7", "--at", "2001-02-03T04:05+01:00")
    assert desk.json("platform", "usage", "--most", "1")[0]["at"] == "2001-02-03T03:05:00Z"
    (ada, ben) = desk.json("platform", "accounts")
    assert (ada["keys"], ada["drawn_units"], ada["allowance_units"]) == (1, 500 + used, 1_000_000)
    assert (ben["keys"], ben["drawn_units"], ben["allowance_units"]) == (0, 0, 200_000)
    assert key not in (desk.folder / "platform.sqlite").read_bytes().decode("latin-1")
    assert oct((desk.folder / "platform.sqlite").stat().st_mode & 0o777) == "0o600"


def test_keys_change_while_it_serves(desk: Workbench) -> None:
    first = key_for(desk)
    server, said = serve(desk.folder)

    def status(key: str) -> int:
        return httpx.get(f"{said['base_url']}/api/models", headers={"Authorization": f"Bearer {key}"}).status_code

    assert status(first) == 200
    (row,) = desk.json("platform", "keys")
    second = desk("platform", "keys", "regenerate", row["id"]).stdout.strip()
    assert (status(first), status(second)) == (401, 200)
    third = key_for(desk)
    assert status(third) == 200
    desk(
        "platform",
        "keys",
        "revoke",
        next(row["id"] for row in desk.json("platform", "keys", "list") if not row["revoked_at"]),
    )
    assert sorted([status(second), status(third)]) == [200, 401]
    assert "no active key has the id 'zzz'" in desk("platform", "keys", "revoke", "zzz", code=2).stderr
    assert len(desk("platform", "keys").stdout.splitlines()) == 4
    stopped(server)


def test_a_draw_made_elsewhere_counts_at_once(desk: Workbench) -> None:
    desk.write("platform.toml", SLOW.replace("700", "0") + "[allowance]\nunits = 100\n")
    key = key_for(desk)
    server, said = serve(desk.folder)
    with httpx.Client(base_url=said["base_url"], headers={"Authorization": f"Bearer {key}"}) as http:
        body = {"model": "slow [one]", "messages": ASKED, "max_tokens": 5}
        assert http.post("/api/chat/completions", json=body).status_code == 200
        desk("platform", "usage", "add", "lab", "100")
        assert http.post("/api/chat/completions", json=body).json()["detail"] == "Your allowance is used up."
    stopped(server)


def slow_answer(url: str, key: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.post(f"{url}/api/chat/completions", headers=headers, json={"model": "slow [one]", "messages": ASKED})


def test_a_stop_lets_requests_in_flight_end(desk: Workbench) -> None:
    desk.write("platform.toml", SLOW)
    key = key_for(desk)
    server, said = serve(desk.folder)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(slow_answer, said["base_url"], key)
        until(lambda: State(desk.folder / "platform.sqlite").draws())
        stopped(server)
        assert asking.result().json()["choices"]
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{said['base_url']}/health")


def test_one_platform_serves_with_a_state(desk: Workbench) -> None:
    """64 requests in flight are the whole platform's limit, however many processes there are."""
    desk.write("platform.toml", SLOW)
    key_for(desk)
    server, _ = serve(desk.folder)
    told = desk("platform", "serve", "--port", "0", code=5).stderr
    assert f"process {server.pid} serves a platform with the state" in told
    assert "whose limits are those of one; --state FILE names another" in told
    (desk.folder / "link.sqlite").symlink_to("platform.sqlite")
    desk("platform", "serve", "--port", "0", "--state", "link.sqlite", code=5)  # which is the same one
    key_for(desk)  # keys are made meanwhile all the same
    server.kill()
    server.communicate()
    again, _ = serve(desk.folder)
    stopped(again)


def test_a_draw_that_a_kill_left_open_says_so(desk: Workbench) -> None:
    desk.write("platform.toml", SLOW.replace("700", "600000"))
    key = key_for(desk)
    server, said = serve(desk.folder)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(slow_answer, said["base_url"], key)
        until(lambda: State(desk.folder / "platform.sqlite").draws())
        server.kill()
        server.communicate()
        with pytest.raises(httpx.HTTPError):
            asking.result()
    again, _ = serve(desk.folder)
    assert "the platform was killed before its answer was in" in desk("platform", "usage", "--unsettled").stdout
    stopped(again)


def test_the_clock_of_a_platform_that_is_served_is_that_of_its_command(
    desk: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("platform.toml", SLOW)
    key = key_for(desk)
    monkeypatch.setenv("WORKBENCH_NOW", "2026-01-20T02:00Z")
    desk.environment["WORKBENCH_NOW"] = "2026-01-20T02:00Z"
    server, said = serve(desk.folder)
    usage = httpx.get(f"{said['base_url']}/api/usage", headers={"Authorization": f"Bearer {key}"}).json()
    assert usage["as_of"].startswith("2026-01-20T02:0")
    desk("platform", "usage", "add", "lab", "7")
    (added,) = State(desk.folder / "platform.sqlite").draws()
    assert datetime.fromtimestamp(added.at, UTC).date() == date(2026, 1, 20)
    stopped(server)


@pytest.mark.slow
def test_a_second_stop_does_not_wait(desk: Workbench) -> None:
    desk.write("platform.toml", SLOW.replace("700", "600000"))
    key = key_for(desk)
    server, said = serve(desk.folder)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(slow_answer, said["base_url"], key)
        until(lambda: State(desk.folder / "platform.sqlite").draws())
        server.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert server.poll() is None, "the first one waits"
        stopped(server)
        with pytest.raises(httpx.HTTPError):
            asking.result()
    (draw,) = State(desk.folder / "platform.sqlite").draws()
    assert not draw.settled


def test_the_access_log_tells_of_requests_and_of_no_key_or_prompt(desk: Workbench) -> None:
    desk.write("platform.toml", SLOW.replace("700", "0"))
    key = key_for(desk)
    server, said = serve(desk.folder, "--access-log")
    with httpx.Client(base_url=said["base_url"], headers={"Authorization": f"Bearer {key}"}) as http:
        asked = {"model": "slow [one]", "messages": [{"role": "user", "content": "a secret prompt"}]}
        reply = http.post("/api/chat/completions?token=in-the-address", json=asked)
        http.post("/api/chat/completions", json=asked | {"model": "a secret model"})
        http.get("/api/models", headers={"Authorization": "Bearer sk-wrong-one"})
        http.get(f"/api/models/{key}")
        for wrong in ("a secret text", [{"role": key}], ["a secret entry"]):
            http.post("/api/chat/completions", json=asked | {"messages": wrong})
    told = stopped(server)
    lines: list[dict[str, Any]] = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    assert [(line["status"], line["account"], line["model"]) for line in lines] == [
        (200, "lab", "slow [one]"), (404, "lab", None), (401, None, None), (404, "lab", None),
        *[(400, "lab", None)] * 3,
    ]  # fmt: skip
    assert (lines[3]["path"], lines[4]["error"]) == ("/api/models/sk-…", "the body is not valid")
    assert lines[0]["request_id"] == reply.headers["x-request-id"]
    for hidden in (key, "secret", "sk-wrong-one", "in-the-address"):
        assert hidden not in told


@pytest.mark.slow
def test_statistics_are_for_those_who_may_read_them(desk: Workbench) -> None:
    desk.write("platform.toml", SLOW.replace("700", "0") + '[[accounts]]\nname = "lab"\n[[accounts]]\nname = "ben"\n')
    keys = {name: key_for(desk, name) for name in ("lab", "ben")}
    server, said = serve(desk.folder)

    def get(name: str) -> httpx.Response:
        return httpx.get(f"{said['base_url']}/statistics", headers={"Authorization": f"Bearer {keys[name]}"})

    headers = {"Authorization": f"Bearer {keys['ben']}"}
    httpx.post(
        f"{said['base_url']}/api/chat/completions", headers=headers, json={"model": "slow [one]", "messages": ASKED}
    )
    found = get("lab").json()
    assert found["accounts"] == {"ben": {"requests": 1, "in_flight": 0, "most_in_flight": 1}}
    assert found["routes"]["slow [one]"]["attempts"] == found["most_in_flight"] == 1
    assert found["routes"]["slow [one]"]["most_in_flight"] == 1
    assert get("ben").status_code == 403
    assert httpx.get(f"{said['base_url']}/statistics").status_code == 401
    stopped(server)
    desk.write("platform.toml", SLOW.replace('statistics_for = ["lab"]', ""))
    server, said = serve(desk.folder)
    assert get("lab").status_code == 404, "off by default"
    stopped(server)


def test_it_does_not_expose_itself_without_keys(desk: Workbench) -> None:
    assert "keys create" in desk("platform", "serve", "--host", "0.0.0.0", code=2).stderr
    key_for(desk)
    server, said = serve(desk.folder, "--host", "0.0.0.0")
    port = said["base_url"].rpartition(":")[2]
    assert httpx.get(f"http://127.0.0.1:{port}/api/models").status_code == 401
    stopped(server)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("retries = 2", "retires = 2", "platform.toml:46: limits.retires: unknown key (did you mean 'retries'?)"),
        (
            'fallback = "Rehearsal"',
            'fallback = "Rehearsel"',
            "platform.toml:20: routes[0].fallback: 'Rehearsel' is not a known other route (did you mean 'Rehearsal'?)",
        ),
        ('simulated = "answers"', 'simulated = "answerz"', "did you mean 'answers'?"),
        ('name = "ben"', 'name = "ada"', "platform.toml:11: accounts[1].name: 'ada' is given twice"),
        ('base = "Llama 3.2 [local]"', 'base = "Llama"', "presets[0].base: 'Llama' is not a known route"),
        ("in_flight = 64", "in_flight = 0", "expected at least 1, found 0"),
        ('errors = "error"', 'errors = "eror"', "silent.errors: expected one of"),
        ('base_url = "http://127.0.0.1:11434/v1"', "", "routes[0].simulated: give either simulated"),
        ("[limits]", "[limits", "not valid TOML"),
        ("units = 1_000_000", "units = nan", "platform.toml:49: allowance.units: expected a number, found nan"),
        (
            'statistics_for = ["ada"]',
            'statistics_for = ["adda"]',
            "'adda' is not a known account (did you mean 'ada'?)",
        ),
        (
            'base_url = "http://127',
            'unavailable = true\nlatency_ms = { median = 5 }\nbase_url = "http://127',
            "latency_ms: only for simulated models",
        ),
        ("http://127.0.0.1:11434/v1", "http://u:p@h/v1?k=1", "expected a URL without a query"),
        ("http://127.0.0.1:11434/v1", "http://h:99999/v1", "expected an http or https URL"),
        ("http://127.0.0.1:11434/v1", "http://h h/v1", "expected an http or https URL"),
        ("[silent]", "[silent]\ncooldown_s = inf", "silent.cooldown_s: expected at most"),
        ('simulated = "answers"', 'simulated = "answers"\ntoken_ms = inf', "token_ms: expected at most"),
        ("http://127.0.0.1:11434/v1", "http://h/v1/chat/completions", "/chat/completions is added"),
        ('simulated = "answers"', 'simulated = "answers"\nsecret_env = "X"', "a simulated model has no secret"),
        ('simulated = "answers"', 'simulated = "answers"\nanswers = [{ refussed = 1 }]', "did you mean 'refused'?"),
        (
            'simulated = "answers"',
            'simulated = "answers"\nfaults = [{ kind = "slow" }]',
            "delay_s: must be more than 0 for kind 'slow'",
        ),
        ('simulated = "answers"', 'simulated = "answers"\nfaults = [{ every_s = 5 }]', "bursts need every_s and for_s"),
        ('simulated = "answers"', 'simulated = "answers"\nfaults = [{ from_s = 5, until_s = 2 }]', "later than from_s"),
        (
            'simulated = "answers"',
            'simulated = "answers"\nfaults = [{ kind = "hang", status = 500 }]',
            "only for kind 'status'",
        ),
        (
            'simulated = "answers"',
            'simulated = "prose"\nanswers = [{ right = 1 }]',
            "routes[1].answers: only for simulated = 'answers', not 'prose'",
        ),
        (
            'simulated = "answers"',
            'simulated = "answers"\nanswers = [{ empty = 0.6, prose = 0.6 }]',
            "routes[1].answers[0]: the shares of the wrong ones add up to more than 1",
        ),
        (
            'simulated = "answers"',
            'simulated = "answers"\nfaults = [{ share = 0.6 }, { share = 0.6 }]',
            "add up to more than 1",
        ),
        (
            "temperature = 0.2",
            'max_tokens = "many"',
            "parameters: max_tokens: expected a whole number from 1, found the text",
        ),
        ("temperature = 0.2", 'model = "x"', "parameters.model: a caller or the platform sets this field"),
        (
            'base_url = "http://127',
            'secret_env = "sk-0123"\nbase_url = "http://127',
            "secret_env: expected the name of an environment variable, not the key itself",
        ),
        ("window_s = 2_592_000", "window_s = inf", "allowance.window_s: expected at most"),
        ("[silent]", "[silent]\ncooldown_after = [999]", "999 is not a status of a failure"),
    ],
)
def test_faults_of_a_configuration_are_named_by_line(desk: Workbench, old: str, new: str, expected: str) -> None:
    example = resources.files("workbench.local_platform").joinpath("example.toml").read_text("utf-8")
    assert old in example
    desk.write("platform.toml", example.replace(old, new))
    said = desk("platform", "serve", "--ephemeral", code=2).stderr
    assert expected in said


def test_all_faults_of_a_configuration_come_at_once(desk: Workbench) -> None:
    text = resources.files("workbench.local_platform").joinpath("example.toml").read_text("utf-8")
    for old, new in (
        ("retries = 2", "retires = 2"),
        ('name = "ben"', 'name = "ada"'),
        ('simulated = "answers"', 'simulate = "answers"'),
        ('fallback = "Rehearsal"', 'fallback = "Rehearsel"'),
    ):
        text = text.replace(old, new)
    desk.write("platform.toml", text)
    said = desk("platform", "serve", "--ephemeral", code=2).stderr.splitlines()
    places = ["accounts[1].name", "routes[0].fallback", "routes[1].simulate", "limits.retires"]
    assert [line.split(": ")[2] for line in said] == places, "a misspelt key is not also said to be missing"


def test_a_missing_secret_is_told_at_the_start(desk: Workbench) -> None:
    desk("platform", "init")
    path = desk.folder / "platform.toml"
    path.write_text(path.read_text().replace("# secret_env", "secret_env"))
    key_for(desk, "ada")
    server, _ = serve(desk.folder)
    assert "LAB_SERVER_KEY is not set" in stopped(server)


def test_keys_of_accounts_that_are_gone_are_no_keys(desk: Workbench) -> None:
    desk("platform", "init")
    key_for(desk, "ada")
    path = desk.folder / "platform.toml"
    path.write_text(path.read_text().replace('"ada"', '"zoe"'))
    assert "no configured account has a key" in desk("platform", "serve", code=2).stderr
    assert "keys of 'ada' are refused" in desk("platform", "accounts").stderr


def test_it_is_not_exposed_with_a_key_for_once(desk: Workbench) -> None:
    said = desk("platform", "serve", "--host", "0.0.0.0", "--ephemeral", "--port", "0", code=2).stderr
    assert "use stored keys, not --ephemeral" in said


def test_a_drain_ends(desk: Workbench) -> None:
    desk.write("platform.toml", SLOW.replace("700", "600000"))
    key = key_for(desk)
    server, said = serve(desk.folder, "--drain", "1", "--access-log")
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(slow_answer, said["base_url"], key)
        until(lambda: State(desk.folder / "platform.sqlite").draws())
        told = stopped(server)
        with pytest.raises(httpx.HTTPError):
            asking.result()
    assert [json.loads(line)["status"] for line in told.splitlines() if line.startswith("{")] == [503]


def test_a_log_that_nobody_reads_costs_no_answer(desk: Workbench) -> None:
    desk.write("platform.toml", SLOW.replace("700", "0"))
    key = key_for(desk)
    server, said = serve(desk.folder, "--access-log")
    assert server.stderr is not None
    server.stderr.close()
    assert [slow_answer(said["base_url"], key).status_code for _ in range(3)] == [200] * 3
    server.terminate()
    server.wait(20)
    assert server.stdout is not None
    server.stdout.close()


def test_a_mistyped_draw_is_taken_back_and_a_real_one_is_not(desk: Workbench) -> None:
    assert "usage remove 1" in desk("platform", "usage", "add", "lab", "500").stderr
    desk("platform", "usage", "remove", "1")
    assert desk.json("platform", "usage") == []
    assert "there is no entry 1 that was added by hand" in desk("platform", "usage", "remove", "1", code=2).stderr
    assert "not in the range" in desk("platform", "usage", "add", "lab", "9" * 20, code=2).stderr


def test_a_file_of_another_program_is_left_alone(desk: Workbench) -> None:
    with closing(sqlite3.connect(desk.folder / "theirs.db")) as db:
        db.execute("CREATE TABLE customers (name TEXT)")
        db.commit()
    before = (desk.folder / "theirs.db").read_bytes()
    assert "another program's SQLite file" in desk("platform", "usage", "--state", "theirs.db", code=2).stderr
    assert (desk.folder / "theirs.db").read_bytes() == before


@pytest.mark.parametrize("kind", ["folder", "dangling link"])
def test_a_configuration_that_is_no_file_is_not_ignored(desk: Workbench, kind: str) -> None:
    path = desk.folder / "platform.toml"
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere.toml")
    assert "cannot be read" in desk("platform", "serve", "--ephemeral", code=2).stderr


def test_a_secret_may_stand_in_the_env_file(desk: Workbench) -> None:
    desk("platform", "init")
    path = desk.folder / "platform.toml"
    path.write_text(path.read_text().replace("# secret_env", "secret_env"))
    desk.write(".env", "LAB_SERVER_KEY=sk-something\n")
    key_for(desk, "ada")
    server, _ = serve(desk.folder)
    assert "is not set" not in stopped(server)


def test_files_may_be_named_with_either_command(desk: Workbench) -> None:
    first = desk("platform", "keys", "--state", "x.sqlite", "create", "lab", "--json")
    assert json.loads(first.stdout)["key"].startswith("sk-")
    desk("platform", "keys", "create", "lab", "--state", "x.sqlite")
    assert len(desk.json("platform", "keys", "list", "--state", "x.sqlite")) == 2
    assert len(json.loads(desk("platform", "keys", "--json", "--state", "x.sqlite", "list").stdout)) == 2


def test_wrong_names_and_files(desk: Workbench) -> None:
    assert "did you mean 'lab'?" in desk("platform", "keys", "create", "lap", code=2).stderr
    assert "is not an account" in desk("platform", "usage", "add", "nobody", "5", code=2).stderr
    assert "no platform state yet" in desk("platform", "usage", code=2).stderr
    assert "cannot be read" in desk("platform", "serve", "--ephemeral", "--config", "no.toml", code=2).stderr
    desk.write("bad.sqlite", "no database " * 500)
    assert "cannot be used" in desk("platform", "usage", "--state", "bad.sqlite", code=2).stderr
    assert not (desk.folder / "platform.sqlite").exists()


def test_a_port_that_is_taken(desk: Workbench) -> None:
    server, said = serve(desk.folder, "--ephemeral")
    port = said["base_url"].rpartition(":")[2]
    assert "cannot listen on" in desk("platform", "serve", "--ephemeral", "--port", port, code=2).stderr
    stopped(server, signal.SIGINT)


@pytest.mark.slow
def test_the_workbench_runs_against_it(desk: Workbench) -> None:
    """What the platform is for: a job of this very program, with a key that was made here."""
    desk.environment["WORKBENCH_API_KEY"] = key_for(desk)
    server, said = serve(desk.folder)
    desk.environment["WORKBENCH_BASE_URL"] = said["base_url"]
    desk.write("sums.jsonl", sums(20))
    desk.write("job.toml", job())
    result = desk.json("run", "job.toml")
    stopped(server)
    state = State(desk.folder / "platform.sqlite")
    assert sum(draw.total_tokens or 0 for draw in state.draws()) == result["usage"]["total_tokens"]
    assert os.path.exists(result["report"])


def test_a_renamed_command_answers_to_its_earlier_name(desk: Workbench) -> None:
    desk("platform", "usage", "add", "lab", "500")
    assert desk.json("platform", "draws") == desk.json("platform", "usage")
    assert "draws" not in desk("platform", "--help").stdout


ROUTES = """
[[routes]]
id = "slow"
upstream = "slow"
simulated = "prose"
latency_ms = { median = 1500 }
[[routes]]
id = "m"
upstream = "m"
simulated = "echo"
"""
LAB = '[[accounts]]\nname = "lab"\n'


@pytest.mark.slow
def test_a_configuration_is_changed_while_it_serves(desk: Workbench) -> None:
    desk.write("platform.toml", LAB + ROUTES)
    key = key_for(desk)
    server, said = serve(desk.folder)

    def asked(key: str, method: str = "GET", path: str = "models", **body: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.request(method, f"{said['base_url']}/api/{path}", headers=headers, json=body or None, timeout=30)

    def ids(key: str) -> list[str]:
        return [entry["id"] for entry in asked(key).json()["data"]]

    assert ids(key) == ["slow", "m"]
    with ThreadPoolExecutor(1) as pool:
        in_flight = pool.submit(asked, key, "POST", "chat/completions", model="slow", messages=ASKED)
        until(lambda: asked(key, path="usage").json()["in_flight"] == 1)
        hidden = ROUTES.replace('upstream = "m"', 'upstream = "m"\nvisible_to = ["ben"]').replace(
            'id = "slow"', 'id = "new"'
        )
        accounts = LAB + '[[accounts]]\nname = "ben"\nmax_in_flight = 3\n'
        desk.write("platform.toml", accounts + hidden + "[limits]\nbody_bytes = 2000\nhead_s = 3\n")
        done = desk("platform", "reload")
        assert done.stderr == f"process {server.pid} serves platform.toml as it is now\n"
        assert ids(key) == ["new"], "routes and who sees them"
        assert asked(key, path="usage").json()["in_flight"] == 1
        large = asked(key, "POST", "chat/completions", model="new", messages=[{"role": "user", "content": "x" * 3000}])
        assert large.status_code == 413, "limits"
        whole = in_flight.result().json()
        assert whole["model"] == "slow", "a request in flight keeps what it began with"
    assert ids(key_for(desk, "ben")) == ["new", "m"], "a new account"
    desk.write("platform.toml", accounts + LAB.replace("lab", "eva") + hidden)
    assert ids(key_for(desk, "eva")) == ["new"], "the platform knows an account whose key is made"
    desk.write("platform.toml", accounts + hidden.replace('simulated = "echo"', 'simulated = "echoes"'))
    refused = desk("platform", "reload", code=2).stderr
    assert refused.startswith("error: platform.toml:")
    assert "routes[1].simulated" in refused
    server.send_signal(signal.SIGHUP)  # who sends it by hand is told by the platform itself
    assert server.stderr is not None
    told = [server.stderr.readline() for _ in range(2)]
    while "the configuration stays as it was" not in told[-1]:
        told.append(server.stderr.readline())
    assert any("note: limits.head_s changes with the next start" in line for line in told)
    assert told[-2].startswith("error: platform.toml:")
    assert ids(key) == ["new"]
    stopped(server)


def test_nothing_is_read_again_where_nothing_serves(desk: Workbench) -> None:
    desk.write("platform.toml", LAB + ROUTES)
    key_for(desk)
    refused = desk("platform", "reload", code=2).stderr
    assert (
        refused
        == "error: platform.sqlite: no platform serves with this state (`workbench platform serve` starts one)\n"
    )


@pytest.mark.parametrize(
    ("allowance", "expected"),
    [
        ("", "allowance: no limit, but 3\u202f000 units in 30 days for ben"),
        (
            "[allowance]\nunits = 50000\nreserve_for_chat = 0.2\n",
            "allowance: 50.0\u202fk units in 30 days for each account, but 3\u202f000 units in 30 days for ben, "
            "20 % of it for people",
        ),
    ],
)
def test_an_account_with_an_allowance_of_its_own_is_named(desk: Workbench, allowance: str, expected: str) -> None:
    ben = '[[accounts]]\nname = "ben"\nallowance_units = 3000\n'
    desk.write("platform.toml", LAB + ben + ROUTES + allowance)
    key_for(desk)
    with subprocess.Popen(
        [str(COMMAND), "platform", "serve", "--port", "0"], cwd=desk.folder, env=desk.environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        server.stdout.readline()
        told = stopped(server).splitlines()
    assert [line for line in told if line.startswith("allowance:")] == [expected]


def test_what_a_platform_is_stands_in_a_few_lines(desk: Workbench) -> None:
    allowance = "[allowance]\nunits = 50000\nreserve_for_chat = 0.2\n"
    desk.write("platform.toml", LAB + ROUTES + allowance)
    key = key_for(desk)
    with subprocess.Popen(
        [str(COMMAND), "platform", "serve", "--port", "0"], cwd=desk.folder, env=desk.environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        address = server.stdout.readline()
        told = stopped(server).splitlines()
    assert re.fullmatch(r"export WORKBENCH_BASE_URL=http://127\.0\.0\.1:\d+\n", address)
    assert told == [
        "configuration: platform.toml",
        f"serving 2 routes (simulated), process {server.pid}",
        "accounts: lab",
        "limits: 64 requests in flight, further ones get 429; 2 m 00 s each",
        "allowance: 50.0\u202fk units in 30 days for each account, 20 % of it for people",
        "page: off; `workbench platform accounts invite NAME` prints a link to it",
        "state: platform.sqlite; `workbench platform reload` reads the configuration again",
        "Ctrl-C stops it",
    ]
    assert key not in "".join(told)


@pytest.mark.slow
def test_a_platform_that_does_not_take_a_configuration_is_named(desk: Workbench) -> None:
    desk.write("platform.toml", LAB + ROUTES)
    key_for(desk)
    server, _ = serve(desk.folder)
    server.send_signal(signal.SIGSTOP)
    refused = desk("platform", "reload", code=2).stderr
    assert f"process {server.pid} did not take the configuration within 10 s (its own messages say why)" in refused
    server.send_signal(signal.SIGCONT)
    stopped(server)


@pytest.mark.slow
def test_an_invitation_is_printed_for_where_it_serves(desk: Workbench) -> None:
    desk.write("platform.toml", LAB + ROUTES)
    key_for(desk)
    server, said = serve(desk.folder)
    for address, given in (
        (said["base_url"], []),
        ("https://chat.lab.example", ["--base-url", "https://chat.lab.example/"]),
    ):
        done = desk("platform", "accounts", "invite", "lab", *given)
        link = re.fullmatch(rf"{re.escape(address)}/sign-in\?link=([\w-]{{43}})\n", done.stdout)
        assert link, done.stdout
        assert done.stderr == "for lab alone: it signs in once, within 7 days\n"
        assert httpx.get(f"{said['base_url']}/sign-in", params={"link": link[1]}).status_code == 200
    assert "did you mean 'lab'?" in desk("platform", "accounts", "invite", "labb", code=2).stderr
    stopped(server)


def told_until(server: subprocess.Popen[str], words: str) -> list[str]:
    assert server.stderr is not None
    told: list[str] = []
    while not told or words not in told[-1]:
        told.append(server.stderr.readline())
        assert told[-1], told
    return told


def test_what_is_missing_or_broken_at_a_reload_changes_nothing(desk: Workbench) -> None:
    desk.write("platform.toml", LAB + ROUTES)
    key = key_for(desk)
    server, said = serve(desk.folder)

    def status() -> int:
        return httpx.get(f"{said['base_url']}/api/models", headers={"Authorization": f"Bearer {key}"}).status_code

    (desk.folder / "platform.toml").rename(desk.folder / "away.toml")
    server.send_signal(signal.SIGHUP)
    assert any("platform.toml" in line for line in told_until(server, "the configuration stays as it was"))
    assert status() == 200, "it is not the built-in catalogue's now"
    (desk.folder / "away.toml").rename(desk.folder / "platform.toml")
    (desk.folder / ".env").write_bytes(b"\xff\xfe=1\n")
    server.send_signal(signal.SIGHUP)
    told = told_until(server, "the configuration stays as it was")
    assert not any("Traceback" in line for line in told)
    assert status() == 200
    (desk.folder / ".env").unlink()
    desk.write("other.toml", LAB + ROUTES)
    refused = desk("platform", "reload", "--config", "other.toml", "--state", "platform.sqlite", code=2).stderr
    assert f"--config: process {server.pid} serves {desk.folder}/platform.toml" in refused
    made = desk("platform", "keys", "create", "lab", "--config", "other.toml", "--state", "platform.sqlite")
    assert made.stdout.startswith("sk-"), "the key is made all the same"
    assert "note: the running platform does not know of it yet" in made.stderr
    stopped(server)


def test_a_terminal_that_is_closed_ends_what_it_began(desk: Workbench) -> None:
    desk.write("platform.toml", LAB + ROUTES)
    key_for(desk)
    within = "import pty, sys; pty.spawn(sys.argv[1:])"
    command = [sys.executable, "-c", within, str(COMMAND), "platform", "serve", "--port", "0", "--drain", "0"]
    with subprocess.Popen(
        command, cwd=desk.folder, env=desk.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as terminal:
        assert terminal.stdout is not None
        lines: list[str] = []
        while not (lines and "Ctrl-C" in lines[-1]):
            lines.append(terminal.stdout.readline())
        server = psutil.Process(int(re.findall(r"process (\d+)", "".join(lines))[0]))
        os.kill(server.pid, signal.SIGHUP)  # by hand: its terminal is there
        while "was read again" not in lines[-1]:
            lines.append(terminal.stdout.readline())
        terminal.kill()
    until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE)
