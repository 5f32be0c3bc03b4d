"""A job rehearsed on simulated routes like the account's own: their ids, latencies, lengths, failures and fallbacks."""

import contextlib
import json
import math
import signal
import stat
import statistics
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.compared_runs import record
from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of, serve
from tests.unit.ledger.ledger_rows import answer, intent, started
from workbench.api.frames import Frames
from workbench.ledger.journal import JournalWriter
from workbench.local_platform.config import load_config
from workbench.local_platform.server import ThreadedServer
from workbench.records.outcomes import Outcome

ACCOUNT: list[dict[str, Any]] = [
    {"id": "quick", "simulated": "answers", "latency_ms": {"median": 50, "sigma": 0.3}, "answer_tokens": {"median": 60, "sigma": 0.4}},
    {"id": "slow", "simulated": "answers", "latency_ms": {"median": 200, "sigma": 0.5}, "answer_tokens": {"median": 150, "sigma": 0.2}},
    {"id": "sick", "simulated": "answers", "faults": [{"share": 0.25, "status": 502}]},
    {"id": "gone", "simulated": "answers", "unavailable": True, "fallback": "quick"},
    {"id": "dead", "simulated": "answers", "unavailable": True},
]  # fmt: skip


@pytest.mark.slow
def test_a_rehearsal_is_like_the_account(tmp_path: Path) -> None:
    bench = recorded(tmp_path)
    bench("platform", "init", "--from-history")
    config = load_config(tmp_path / "platform.toml")
    routes = {route.id: route for route in config.routes}
    assert set(routes) == {"quick", "slow", "sick", "gone", "in place of gone", "dead"}
    calls = bench.lines("show", "last", "--calls")
    for model in ("quick", "slow"):  # as it was measured, however busy the machine was
        measured_ms = statistics.median(row["latency_ms"] for row in calls if row["requested_model"] == model)
        assert 0.6 < routes[model].latency_ms.median / measured_ms < 1.4
    lengths = routes["slow"].answer_tokens
    assert lengths is not None
    assert 130 < lengths.median < 170
    assert 0.15 < sum(fault.share for fault in routes["sick"].faults) < 0.35
    assert (routes["gone"].faults[0].share, routes["gone"].fallback) == (1.0, "in place of gone")
    assert routes["in place of gone"].visible_to == ()
    assert sum(fault.share for fault in routes["dead"].faults) == 1.0
    bench.environment = {name: value for name, value in bench.environment.items() if not name.startswith("WORKBENCH")}
    done = bench("run", "job.toml", "--local", "--json", "--no-report", code=3)
    end = json.loads(done.stdout)
    assert "note: rehearsing on the simulated routes of platform.toml" in done.stderr
    assert "stand-in" not in done.stderr
    assert "note: rehearsed: " in done.stderr
    assert "; planned for the account: " in done.stderr
    assert end["served_models"]["quick"] == 80, "its own answers, and those in place of another"
    assert end["outcomes"]["route_down"] > 0
    calls = [row for row in bench.lines("show", "last", "--calls", "--local") if row["requested_model"] == "slow"]
    assert 120 < statistics.median(row["completion_tokens"] for row in calls) < 180


def recorded(folder: Path) -> Workbench:
    """A folder whose ledger holds a run on the account."""
    with ThreadedServer(platform_of(*ACCOUNT)) as server:
        bench = Workbench(folder, server)
        bench.write("sums.jsonl", sums(40))
        bench.write(
            "job.toml",
            job(*(str(route["id"]) for route in ACCOUNT), limit=16).replace("max_tokens = 64", "max_tokens = 900"),
        )
        bench.json("run", "job.toml", "--no-report", code=3)
    return bench


@pytest.mark.slow
def test_models_that_answered_for_each_other_and_for_none_that_was_asked(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    at_times = {("a", n): "b" for n in range(2)} | {("b", n): "a" for n in range(8)}
    record(
        bench,
        "r1",
        {"a": [1.0] * 8, "b": [1.0] * 8, "c": [1.0] * 8},
        served_by=at_times,
        served={"c": "never asked"},
        listed={"never asked": "x"},
    )
    bench("platform", "init", "--from-history")
    routes = {route.id: route for route in load_config(tmp_path / "platform.toml").routes}
    assert [(routes[name].fallback, routes[name].faults[0].share) for name in "abc"] == [
        ("in place of a", 0.25), ("in place of b", 1.0), ("in place of c", 1.0),
    ]  # fmt: skip
    bench.write("sums.jsonl", sums(8))
    bench.write("job.toml", job("a", "b", "c"))
    end = bench.json("run", "job.toml", "--local", "--no-report")
    assert end["outcomes"] == {"ok": 24}
    assert end["served_models"]["never asked"] == 8


@pytest.mark.slow
def test_presets_stay_presets_and_refusals_stay_refusals(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    values = {name: [1.0] * 8 for name in ("tutor", "guide", "qwen", "shy", "unseen", "locked")}
    outcomes = {("shy", n): Outcome.REFUSED for n in range(4)}
    outcomes |= {("unseen", n): Outcome.MODEL_NOT_VISIBLE for n in range(8)}
    outcomes |= {("locked", n): Outcome.KEY_NOT_ALLOWED for n in range(8)}
    names = {"tutor": "qwen", "guide": "lab/llama"}
    record(bench, "r1", values, served=names, listed={"tutor": "qwen", "guide": "lab/llama"}, outcomes=outcomes)
    bench("platform", "init", "--from-history")
    config = load_config(tmp_path / "platform.toml")
    assert {preset.id: preset.base for preset in config.presets} == {"tutor": "qwen", "guide": "lab/llama"}
    routes = {route.id: route for route in config.routes}
    assert set(routes) == {"qwen", "lab/llama", "shy", "unseen", "locked"}
    assert routes["unseen"].visible_to == ()
    assert (routes["shy"].answers[0].right, routes["shy"].answers[0].refused) == (0.5, 1.0)
    bench.write("sums.jsonl", sums(40))
    bench.write("job.toml", job("tutor", "guide", "shy"))
    end = bench.json("run", "job.toml", "--local", "--no-report")
    assert 8 < end["outcomes"]["refused"] < 32
    calls = bench.lines("show", "last", "--calls", "--local")
    assert {(row["requested_model"], row["identity"]) for row in calls if row["requested_model"] != "shy"} == {
        ("tutor", "known_alias"), ("guide", "known_alias"),
    }  # fmt: skip
    bench.write("job.toml", job("unseen"))
    assert "unseen" in bench("run", "job.toml", "--local", "--no-report", code=2).stderr
    bench.write("job.toml", job("locked"))
    end = bench.json("run", "job.toml", "--local", "--no-report", code=3)
    assert set(end["outcomes"]) == {"route_unauthorised"}


def test_every_share_of_failures_is_served(tmp_path: Path) -> None:
    """Shares that add up to all, a limit that one early failure would make too short, and answers of no token."""
    bench = Workbench(tmp_path, None)
    writer = JournalWriter(bench.ledger.journal_folder)
    writer.append(started("r1", 46))
    failures = ["route_down", "rate_limited", *["gateway_timeout"] * 4]
    for number in range(46):
        failed = failures[number] if number < len(failures) else None
        writer.append(msgspec.structs.replace(intent("r1", number + 1), model="m" if failed else "n"))
        fields: dict[str, Any] = {
            "outcome": failed,
            "accepted": False,
            "drew": "maybe",
            "latency_ms": 200.0,
            "answer": None,
            "total_tokens": None,
        }
        if failed is None:
            fields = {"completion_tokens": 0, "latency_ms": 20_000.0}
        writer.append(answer("r1", number + 1, model="m" if failed else "n", **fields))
    writer.close()
    bench("platform", "init", "--from-history")
    bench("platform", "models")
    routes = {route.id: route for route in load_config(tmp_path / "platform.toml").routes}
    assert 0.999 < sum(fault.share for fault in routes["m"].faults) <= 1
    assert (routes["n"].latency_ms.median, routes["n"].limit_s) == (20_000.0, None)


@pytest.mark.slow
def test_a_configuration_that_cannot_be_served_is_said(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", job("m"))
    for text, told in (
        ('[[routes]]\nid = "m"\nupstream = "m"\nsimulated = "echo"\nfallback = "zz"\n', "fallback"),
        ('[[routes]]\nid = "m"\nupstream = "m"\nskil = "echo"\n', "skil"),
    ):
        bench.write("platform.toml", text)
        assert told in bench("run", "job.toml", "--local", code=2).stderr
        assert "--local serves this file" in bench("models", "--local", code=2).stderr
    bench("demo", "--no-report")


def test_a_platform_with_model_servers_is_not_rehearsed_on(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench("platform", "init")
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", job("Abacus Mini [fast]"))
    done = bench("run", "job.toml", "--local", "--no-report")
    assert "rehearsing" not in done.stderr


OWN_ROUTES = "".join(
    f'[[routes]]\nid = "{name}"\nupstream = "{name}"\nsimulated = "answers"\nanswers = [{{ right = {right} }}]\n'
    for name, right in (("able", 0.95), ("weak", 0.4))
)
OWN_JOB = """
name = "own"
models = ["able", "weak"]
[dataset]
path = "own.jsonl"
[request]
temperature = 0
[run]
epochs = 2
[[scorers]]
name = "exact"
"""


@pytest.fixture
def own(tmp_path: Path) -> Workbench:
    """A reader's own questions, which no simulated model could work out."""
    bench = Workbench(tmp_path, None)
    bench.write("own.jsonl", "".join(f'{{"input": "Who has desk {n}?", "target": "N{n}"}}\n' for n in range(20)))
    bench.write("platform.toml", OWN_ROUTES)
    bench.write("job.toml", OWN_JOB)
    return bench


def test_ones_own_questions_score_near_the_set_shares_and_the_same_at_every_rerun(own: Workbench) -> None:
    found = []
    for _ in range(2):
        result = own.json("run", "job.toml", "--local", "--fresh", "--no-report")
        assert result["outcomes"] == {"ok": 80}
        found.append(Frames(folder=own.folder).scores(result["run_id"]))
    means = found[0].groupby("requested_model")["value"].mean()
    assert 0.8 <= means["able"] <= 1.0
    assert 0.2 <= means["weak"] <= 0.6
    of_samples = [frame.groupby(["requested_model", "sample_id"])["value"].mean() for frame in found]
    assert of_samples[0].equals(of_samples[1])
    assert 0 < (of_samples[0] == 0.5).sum() < 20, "an epoch is a draw of its own"


@pytest.mark.slow
def test_a_night_is_the_same_at_a_rerun_and_another_differs(own: Workbench) -> None:
    own.write("job.toml", OWN_JOB.replace("epochs = 2", 'reuse = "occasion"'))
    nights = {}
    for ledger, night in (("a.duckdb", "2026-11-20"), ("b.duckdb", "2026-11-20"), ("c.duckdb", "2026-11-21")):
        arguments = ("--local", "--no-report", "--ledger", ledger, "--occasion", night)
        run_id = own.json("run", "job.toml", *arguments)["run_id"]
        scores = Frames(ledger, folder=own.folder).scores(run_id)
        nights[ledger] = scores.set_index(["requested_model", "sample_id"])["value"].sort_index()
    assert nights["a.duckdb"].equals(nights["b.duckdb"])
    assert not nights["a.duckdb"].equals(nights["c.duckdb"])


@pytest.mark.slow
def test_nothing_of_an_answer_key_is_left(own: Workbench) -> None:
    scratch = own.folder / "scratch"
    scratch.mkdir()
    own.environment["TMPDIR"] = str(scratch)
    process = own.start("run", "job.toml", "--local", "--no-report")
    while not (keys := list(scratch.glob("*/answers.sqlite"))):
        assert process.poll() is None
    assert stat.S_IMODE(keys[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(keys[0].parent.stat().st_mode) == 0o700
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert not list(scratch.iterdir())


@pytest.mark.slow
def test_the_platform_ends_with_its_command_where_signals_are_ignored(
    own: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.api.session._TO_STOP_S", math.inf)  # nothing but its own end ends the command
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        own("run", "job.toml", "--local", "--no-report")
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
def test_a_served_platform_answers_the_jobs_that_are_named(own: Workbench) -> None:
    server, said = serve(own.folder, "--ephemeral", "--answers", "job.toml")
    with contextlib.ExitStack() as stack:
        stack.callback(server.communicate, timeout=30)
        stack.callback(server.terminate)
        own.environment |= {"WORKBENCH_BASE_URL": said["base_url"], "WORKBENCH_API_KEY": said["key"]}
        run_id = own.json("run", "job.toml", "--no-report")["run_id"]
        assert 0.8 <= Frames(folder=own.folder).scores(run_id).query("requested_model == 'able'")["value"].mean()
    own.write("job.toml", OWN_JOB.replace("own.jsonl", "owm.jsonl"))
    assert "owm.jsonl" in own("platform", "serve", "--ephemeral", "--answers", "job.toml", code=2).stderr


def test_the_skills_of_earlier_versions_are_read_for_one_version(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    skills = ("arithmetic", "extraction", "reasoning", "tools", "prose", "echo")
    text = "".join(f'[[routes]]\nid = "{name}"\nupstream = "m"\nskill = "{name}"\n' for name in skills)
    path = bench.write("platform.toml", text + '[[routes]]\nid = "careless"\nupstream = "m"\nskill = "arithmetic"\n'
                                               "options = { careful = false }\n")  # fmt: skip
    routes = {route.id: route for route in load_config(path).routes}
    assert [routes[name].simulated for name in skills] == ["answers", "answers", "answers", "prose", "prose", "echo"]
    assert routes["reasoning"].thinks
    assert routes["careless"].answers[0].right == 0.6
    assert len(bench.json("platform", "models")) == 7
    assert "`skill` is called `simulated` now" in bench("platform", "models").stderr
    bench.write("platform.toml", text.replace('"echo"\n', '"ecko"\n'))
    assert "did you mean 'echo'?" in bench("platform", "models", code=2).stderr
