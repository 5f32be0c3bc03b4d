"""A newcomer's path: init, edit, lint, plan, run, report; what doctor says; completion; tables on a narrow terminal."""

import os
import pty
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.conftest import COMMAND, Workbench, job, sums
from tests.pages import Page
from tests.waiting import all_shown
from workbench.ledger.store import Ledger
from workbench.local_platform.server import ThreadedServer


@pytest.mark.file_ledger
def test_from_an_empty_folder_to_a_report(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    made = bench.process("init")
    assert sorted(made.stdout.split()) == [
        ".env.example", ".gitignore", "datasets/first.jsonl", "jobs/first.toml", "jobs/job.schema.json", "workbench.toml",
    ]  # fmt: skip
    assert "workbench run jobs/first.toml --local" in made.stderr
    first = tmp_path / "jobs" / "first.toml"
    first.write_text(first.read_text().replace("# limit = 5 ", "limit = 4   "))
    assert bench.json("lint", "jobs/first.toml", "--local") == []
    assert bench.json("plan", "jobs/first.toml", "--local")["to_send"] == 8
    result = bench.json("run", "jobs/first.toml", "--local")
    assert result["completed"] == 8
    assert bench.process("report").stdout.strip() == result["report"]
    Page(result["report"]).check(Ledger(result["ledger"]))
    schema = (tmp_path / "jobs" / "job.schema.json").read_text()
    assert schema == (Path(__file__).parents[2] / "jobs" / "job.schema.json").read_text()
    tomllib.loads((tmp_path / "workbench.toml").read_text())


def test_the_settings_of_init_work_once_filled_in(bench: Workbench, platform: ThreadedServer) -> None:
    bench("init", "mine")
    folder = bench.folder / "mine"
    env = (folder / ".env.example").read_text()
    (folder / ".env").write_text(
        env.replace("https://chat.example.org", platform.base_url).replace("=sk-\n", f"={platform.key}\n")
    )
    settings = (folder / "workbench.toml").read_text()
    profile = "\n".join(line.removeprefix("# ") for line in settings.splitlines() if " = " in line or "[" in line)
    (folder / "workbench.toml").write_text(profile.replace("https://chat.example.org", platform.base_url))
    mine = Workbench(folder, None)
    assert len(mine.json("models")) > 5
    assert len(mine.json("models", "--profile", "mine")) > 5


def test_init_names_the_platform_that_is_configured_and_two_of_its_models(bench: Workbench) -> None:
    done = bench("init", "mine")
    assert done.stderr.endswith("cd mine && workbench lint jobs/first.toml && workbench run jobs/first.toml\n")
    folder = bench.folder / "mine"
    assert f"WORKBENCH_BASE_URL={bench.environment['WORKBENCH_BASE_URL']}\n" in (folder / ".env.example").read_text()
    assert (folder / ".env.example").stat().st_mode & 0o777 == 0o600
    ids = [model["id"] for model in bench.json("models")]
    assert tomllib.loads((folder / "jobs" / "first.toml").read_text())["models"] == ids[:2]
    bench.environment["WORKBENCH_BASE_URL"] = "http://127.0.0.1:9"
    assert "--local" in bench("init", "yours").stderr, "nothing answers there"


@pytest.mark.file_ledger
def test_init_replaces_nothing(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("workbench.toml", "# mine\n")
    done = bench("init", code=2)
    assert "workbench.toml: already exists" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["workbench.toml"]
    assert (tmp_path / "workbench.toml").read_text() == "# mine\n"


@pytest.mark.file_ledger
def test_doctor_says_how_to_fix(bench: Workbench, platform: ThreadedServer) -> None:
    well = {finding["check"]: finding for finding in bench.json("doctor")}
    assert all(finding["ok"] and not finding["fix"] for finding in well.values())
    assert {"versions", "endpoint", "clock", "ledger", "slots", "disk", "temporary files"} == set(well)
    env = bench.write(".env", "X=1\n")
    env.chmod(0o644)
    told = bench("doctor")
    assert f"fix: chmod 600 {env}" in told.stdout
    env.chmod(0o600)
    nowhere = Workbench(bench.folder, None)
    assert "fix: copy .env.example to .env" in nowhere("doctor", code=2).stdout
    wrong = Workbench(bench.folder, None)
    wrong.environment |= {"WORKBENCH_BASE_URL": platform.base_url, "WORKBENCH_API_KEY": "sk-wrong-wrong-wrong"}
    assert "fix: set WORKBENCH_API_KEY" in wrong("doctor", code=4).stdout
    wrong.environment["WORKBENCH_BASE_URL"] = "http://127.0.0.1:9"
    assert "--local works without a platform" in wrong("doctor", code=6).stdout


@pytest.mark.parametrize(("ahead_s", "ok"), [(0.0, True), (-29.0, True), (31.0, False), (-3600.0, False)])
def test_a_wrong_clock_is_found(ahead_s: float, ok: bool) -> None:
    from workbench.cli.doctor import _clock

    (finding,) = _clock(ahead_s)
    assert finding.ok is ok
    assert finding.exit_code == 0
    assert _clock(None) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_for_each_shell(tmp_path: Path, shell: str) -> None:
    assert "_WORKBENCH_COMPLETE" in Workbench(tmp_path, None)("completion", shell).stdout


@pytest.mark.slow
def test_commands_and_runs_complete(bench: Workbench) -> None:
    def completed(words: str) -> list[str]:
        count = str(len(words.split(" ")) - 1)
        asked = {"_WORKBENCH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count}
        out = subprocess.run(
            [COMMAND], cwd=bench.folder, env=bench.environment | asked, capture_output=True, text=True, check=False
        )
        return [line.split(",")[1] for line in out.stdout.splitlines() if line]

    assert completed("workbench rep") == ["report"]
    assert completed("workbench show ") == []
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", job())
    run = bench.json("run", "job.toml", "--no-report")["run_id"]
    assert completed("workbench show ") == [run]
    assert completed(f"workbench report {run[:6]}") == [run]


@pytest.mark.slow
def test_tables_fit_a_terminal_of_80_columns(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(5))
    name = "a job with a name that goes on and on, as names of jobs do when nobody stops them"
    bench.write("job.toml", job("Abacus Large [careful]", "sim/locked", name=name))
    run = bench.json("run", "job.toml", "--no-report", code=3)["run_id"]
    for command in (["runs"], ["show", run], ["usage", "--by", "model"]):
        leader, follower = pty.openpty()
        subprocess.run(["stty", "cols", "80"], stdin=follower, check=True)
        with subprocess.Popen(
            [COMMAND, *command], cwd=bench.folder, env=bench.environment, stdout=follower, stderr=subprocess.DEVNULL
        ):
            os.close(follower)
            shown = all_shown(leader)
        lines = shown.splitlines()
        assert len(lines) >= 2
        assert command != ["runs"] or run in shown
        tables = [line for line in lines if "  " in line and name not in line]
        assert max(map(len, tables)) <= 80, tables
    assert "page: `workbench report" in bench("show", run).stderr
    assert "continue with: workbench run" in bench("show", run).stderr


@pytest.mark.file_ledger
@pytest.mark.parametrize(
    ("held", "text", "fix"),
    [
        (b"", "exists, but it is not a valid DuckDB database file!", "the file is empty: restore it from a copy"),
        (b"no ledger at all" * 99, "is not a DuckDB file", "give another file"),
    ],
)
def test_doctor_says_once_what_is_wrong_with_a_ledger_and_what_helps(
    bench: Workbench, held: bytes, text: str, fix: str
) -> None:
    (bench.folder / "ledger.duckdb").write_bytes(held)
    wrong = [check for check in bench.json("doctor", code=2) if not check["ok"]]
    assert [check["check"] for check in wrong] == ["ledger"]
    assert wrong[0]["text"].endswith(text)
    assert wrong[0]["fix"].startswith(fix)


def test_doctor_looks_for_the_slots_and_leaves_them_open_to_other_users(bench: Workbench) -> None:
    shared = bench.folder / "shared" / "slots"
    bench.write("workbench.toml", f'slots_folder = "{shared}"\n')
    (checked,) = (check for check in bench.json("doctor", code=None) if check["check"] == "slots")
    assert checked["ok"]
    assert shared.stat().st_mode & 0o7777 == 0o1777, "whoever runs it first"
    bench.write("workbench.toml", 'slots_folder = "/dev/null/slots"\n')
    (checked,) = (check for check in bench.json("doctor", code=None) if check["check"] == "slots")
    assert (checked["ok"], checked["exit_code"]) == (False, 2)
    assert "Not a directory" in checked["text"]
    assert "slots_folder in workbench.toml names it" in checked["fix"]
