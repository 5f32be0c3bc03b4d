"""Who gets the key, what a page may run, and what acts on a terminal."""

import base64
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.waiting import interrupt_twice, until
from workbench.local_platform.server import ThreadedServer

KEY = "sk-0123456789abcdef0123456789abcdef"


def test_the_embedded_platform_does_not_get_the_accounts_key(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.environment |= {"WORKBENCH_API_KEY": KEY, "OPENAI_API_KEY": KEY, "LAB_KEY": KEY}
    bench.write("workbench.toml", '[profiles.lab]\nbase_url = "http://localhost:1"\nkey_env = "LAB_KEY"\n')
    bench.write("sums.jsonl", sums(2000))
    bench.write("job.toml", job())
    process = bench.start("run", "job.toml", "--local", "--no-report")
    children = until(lambda: psutil.Process(process.pid).children())
    for _ in range(200):  # between fork and exec the environment is the parent's
        environment = Path(f"/proc/{children[0].pid}/environ").read_bytes()
        if b"-m\0workbench.local_platform" in Path(f"/proc/{children[0].pid}/cmdline").read_bytes():
            break
        time.sleep(0.01)
    environment = Path(f"/proc/{children[0].pid}/environ").read_bytes()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert environment
    assert KEY.encode() not in environment


@pytest.mark.long
def test_an_embedded_platform_that_is_frozen_holds_nothing_up(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("sums.jsonl", sums(20_000))
    bench.write("job.toml", job(limit=2))
    process = bench.start("run", "job.toml", "--local", "--no-report")
    until(lambda: list(tmp_path.rglob("*.journal/*.zst")))
    (child,) = psutil.Process(process.pid).children()
    child.suspend()
    began = time.monotonic()
    interrupt_twice(process)
    process.communicate(timeout=40)
    assert process.returncode == 130
    assert time.monotonic() - began < 30
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_key_over_plain_http_is_warned_about(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.environment |= {"WORKBENCH_BASE_URL": "http://no-such-host.invalid", "WORKBENCH_API_KEY": KEY}
    bench.write("sums.jsonl", sums(1))
    bench.write("job.toml", job())
    assert (
        "the API key goes to http://no-such-host.invalid unencrypted"
        in bench("run", "job.toml", "--no-report", code=6).stderr
    )
    bench.environment["WORKBENCH_BASE_URL"] = "http://127.0.0.1:1"
    assert "unencrypted" not in bench("run", "job.toml", "--no-report", code=6).stderr


@pytest.mark.parametrize("command", ["plan", "run", "lint"])
def test_what_a_model_is_called_does_not_act_on_the_terminal(tmp_path: Path, command: str) -> None:
    name = "evil\x1b]0;title\x07\x1b[2J\u202e"
    config = platform_of({"id": name, "faults": [{"status": 502}]}, limits={"retries": 0})
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(9))
        bench.write("job.toml", job(name).replace(name, json.dumps(name)[1:-1]))
        done = bench(command, "job.toml", code=None)
    for shown in (done.stdout, done.stderr):
        assert not set(shown) & {"\x1b", "\x07", "\u202e"}
    assert "evil␛" in done.stdout + done.stderr or command == "lint"


@pytest.mark.file_ledger
def test_journals_and_ledgers_are_their_owners_own(tmp_path: Path) -> None:
    with ThreadedServer(platform_of({"id": "m", "simulated": "answers"})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(3))
        bench.write("job.toml", job("m"))
        subprocess.run(["chmod", "755", str(tmp_path)], check=True)
        before = os.umask(0o022)
        try:
            bench.process("run", "job.toml", "--no-report")
        finally:
            os.umask(before)
    assert (tmp_path / "ledger.duckdb").stat().st_mode & 0o077 == 0


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


@pytest.mark.file_ledger
def test_what_holds_prompts_and_answers_is_its_owner_s_alone(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    run = Path(bench.json("run", "job.toml")["report"])
    beside = bench.ledger.journal_folder
    private = {path for folder in (run.parent, beside) for path in folder.rglob("*") if path.is_file()}
    assert {run, run.with_name("index.html")} < private
    assert {mode(path) for path in private} == {"0o600"}
    assert {mode(run.parent), mode(beside)} == {"0o700"}
    for form in ("csv", "parquet"):
        bench("export", "--format", form, "--output", f"answers.{form}")
        assert mode(bench.folder / f"answers.{form}") == "0o600"


@pytest.mark.slow
@pytest.mark.file_ledger
def test_whoever_opens_a_folder_of_pages_shows_all_that_they_need(bench: Workbench) -> None:
    noise = random.Random(7)
    texts = [base64.b64encode(noise.randbytes(120_000)).decode() for _ in range(30)]
    bench.write("sums.jsonl", "".join(json.dumps({"input": text, "target": 1}) + "\n" for text in texts))
    bench.write("job.toml", job())
    run = Path(bench.json("run", "job.toml")["report"])
    folder = run.parent
    bench("report")  # the pages that a run leaves as they are
    own = folder / "notes.html"
    own.write_text("a user's own")
    own.chmod(0o600)
    for opened in (0o755, 0o700):
        folder.chmod(opened)
        bench("run", "job.toml")
        parts, written = folder / f"{run.stem}.samples", set(folder.iterdir()) - {own}
        assert len(list(parts.iterdir())) > 5
        assert {path.suffix for path in written} == {".html", ".js", ".samples"}
        assert {mode(path) for path in written if path.is_dir()} == {oct(opened)}
        assert {mode(path) for path in written if path.is_file()} == {oct(opened & 0o644)}
        assert {mode(path) for path in parts.iterdir()} == {oct(opened & 0o644)}
        assert mode(own) == "0o600"
    folder.chmod(0o755)
    compared = Path(bench.json("compare", "last", run.stem)["report"])
    assert {mode(path) for path in (compared, run, *folder.glob("*.js"))} == {"0o644"}


@pytest.mark.file_ledger
@pytest.mark.slow
def test_settings_say_that_new_folders_of_pages_are_for_all(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    bench.write("workbench.toml", 'reports_mode = "shared"\n')
    before = os.umask(0o077)
    try:
        for folder, words in {"reports": (), "open/er": ("--reports", "open/er")}.items():
            run = Path(bench.json("run", "job.toml", *words)["report"])
            assert run.parent == bench.folder / folder
            assert {mode(path) for path in run.parent.iterdir()} == {"0o644"}
    finally:
        os.umask(before)
    assert {mode(bench.folder / name) for name in ("reports", "open", "open/er")} == {"0o755"}
    assert mode(bench.folder / "ledger.duckdb") == "0o600"
