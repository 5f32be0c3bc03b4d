"""What fails on this machine stops the sending, and nothing that was paid for is dropped."""

import contextlib
import errno
import json
import os
import pty
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import first_of
from tests.conftest import Workbench, job, quick, sums
from tests.unit.ledger.ledger_rows import write_run
from tests.waiting import until
from workbench.cli.main import _terminal_is_gone
from workbench.ledger.ingest import ingest
from workbench.ledger.store import Ledger
from workbench.local_platform.config import load_config
from workbench.local_platform.server import ThreadedServer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "files", "allowed"), [(63, 110, 20), (16, 90, 9), (8, 40, None), (8, 24, None), (63, 400, 63)]
)
def test_few_open_files_lower_the_limit_or_refuse_a_run(
    tmp_path: Path, limit: int, files: int, allowed: int | None
) -> None:
    with ThreadedServer(quick(load_config(), 20)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(150))
        bench.write("job.toml", job(limit=limit))
        few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, 32), files))}
        done = bench.process("run", "job.toml", "--fixed", "--json", code=None, **few)
        if allowed is None:
            assert (done.returncode, server.platform.statistics.requests.total()) == (2, 0)
            assert f"this process may open {files} files, and a run needs at least" in done.stderr
            return
        result = json.loads(done.stdout)
        assert (done.returncode, result["completed"]) == (0, 150), done.stderr
        assert ("requests in flight: this process may open" in done.stderr) is (allowed < limit)
        assert (bench.folder / "reports").exists()


@pytest.mark.slow
def test_too_many_open_files_end_a_run_with_what_it_has(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 400)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(60))
        bench.write("job.toml", job(limit=8))
        process = bench.start("run", "job.toml", "--no-report", "--json", "--fixed")
        until(lambda: bench.ledger.address.is_made and server.platform.statistics.requests.total() >= 17)
        with bench.ledger.locked(exclusive=True, patience_s=60):  # DuckDB, which cannot bear it, has made its file
            pass
        most = max(int(name) for name in os.listdir(f"/proc/{process.pid}/fd")) + 1
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (most - 2, most - 2))
        out, err = process.communicate(timeout=60)
        assert process.returncode == 3, err
        assert "nothing was sent" not in err
        assert "Too many open files" in err + out
        result = json.loads(out)
        sent = sum(server.platform.statistics.requests.values())
        assert 8 <= result["completed"] == sent < 60
        assert bench.json("run", "job.toml", "--no-report")["reused"] == sent


def test_a_fault_of_ours_waits_for_what_is_in_flight_and_loses_nothing(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 50)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(60))
        bench.write("job.toml", job("sim/instant", limit=8))
        broken = "from workbench.running.guard import Guard\nreal, count = Guard.settle, [0]\n"
        broken += "def settle(*given):\n    count[0] += 1\n    if count[0] == 20: raise ValueError('odd')\n    return real(*given)\n"
        done = with_a_fault(bench, f"{broken}Guard.settle = settle\n", "run", "job.toml", "--no-report")
        assert done.returncode == 1, done.stderr
        assert "ValueError: odd" in traceback_of(done, "internal error: ValueError: odd (<string>, line 5)")
        assert "continue with: workbench run job.toml" in done.stdout
        assert bench.json("runs")[0]["status"] == "incomplete"
        sent = server.platform.statistics.requests.total()
        assert 20 <= sent < 60
        assert bench.json("run", "job.toml", "--no-report")["reused"] == sent


def with_a_fault(bench: Workbench, broken: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a program that has a fault."""
    code = f"{broken}from workbench.cli.main import console\nconsole()\n"
    return subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=bench.folder, env=bench.environment | {"TMPDIR": str(bench.folder)}, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip


def traceback_of(done: subprocess.CompletedProcess[str], said: str) -> str:
    """What the file holds that an error's message names."""
    line = next(line for line in done.stderr.splitlines() if f"{said}; its traceback is in " in line)
    return Path(line.split("its traceback is in ")[1]).read_text()


OF_SCORING = (
    "import workbench.evaluation.rescore as ours\ndef fault(*_, **__):\n    return {}['value']\nours._judged = fault\n"
)
OF_PAGES = "import workbench.report.ledger_pages as ours\ndef fault(*_, **__):\n    return {}['value']\nours._together = fault\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [pytest.param(OF_SCORING, id="scoring"), pytest.param(OF_PAGES, id="pages", marks=pytest.mark.slow)],
)
def test_a_fault_of_ours_in_scores_or_pages_is_no_success(bench: Workbench, fault: str) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("sim/instant") + "\n[gates]\nmin_mean = { numeric = 0.1 }\n")
    done = with_a_fault(bench, fault, "run", "job.toml")
    assert done.returncode == 1, done.stderr
    assert "in _scored" in traceback_of(done, "error: internal error: KeyError: 'value' (<string>, line 3)")
    assert "note: scores or page are missing; `workbench score" in done.stderr
    again = bench.json("run", "job.toml")
    assert (again["reused"], again["status"]) == (3, "complete")
    assert again["gates"][0]["result"] == "met"
    done = with_a_fault(bench, fault, "score" if fault == OF_SCORING else "report", "last")
    assert done.returncode == 1
    assert "KeyError" in traceback_of(done, "internal error: KeyError: 'value' (<string>, line 3)")


OF_OURS = "__import__('workbench.errors').errors."
FAULTS = [
    (
        "OSError(28, 'No space left on device')",
        0,
        "note: scores or page are missing ([Errno 28] No space left on device); ",
    ),
    (f"{OF_OURS}InputError({OF_OURS}Fault('ledger', 'is newer'))", 3, "error: ledger: is newer"),
    ("__import__('duckdb').IOException('cannot open')", 1, "error: internal error: IOException: cannot open"),
]
MORE_FAULTS = [
    ("__import__('duckdb').IOException('Could not write: No space left on device')", 0, "note: scores or page are missing (Could not"),
    (f"{OF_OURS}LockHeldError('the ledger is busy')", 0, "missing (the ledger is busy); "),
    (f"{OF_OURS}UnreachableError('the server is away')", 0, "missing (the server is away); "),
    (f"{OF_OURS}WorkbenchError('the query x failed') from __import__('duckdb').IOException('No space left')",
     0, "missing (the query x failed); "),
    ("PermissionError(13, 'Permission denied', 'pages')", 3, "error: pages: Permission denied"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "code", "told"), first_of(*FAULTS, *MORE_FAULTS))
def test_only_what_passes_by_itself_is_a_note(bench: Workbench, error: str, code: int, told: str) -> None:
    bench.write("sums.jsonl", sums(1))
    bench.write("job.toml", job("sim/instant"))
    fault = f"import workbench.report.ledger_pages as ours\ndef fault(*_, **__):\n    raise {error}\nours._together = fault\n"
    done = with_a_fault(bench, fault, "run", "job.toml")
    assert done.returncode == code, done.stderr
    assert told in done.stderr


def test_an_error_of_the_disk_is_not_a_closed_terminal() -> None:
    assert not _terminal_is_gone(OSError(errno.EIO, "Input/output error"))


@pytest.mark.parametrize("stream", [1, 2])
def test_a_closed_terminal_is_one(stream: int) -> None:
    ours, theirs = pty.openpty()
    child = os.fork()
    if child == 0:
        os.dup2(theirs, stream)
        os.close(ours)
        with contextlib.suppress(OSError):
            os.read(theirs, 1)  # until nobody holds the other end
        os.close(theirs)
        os._exit(0 if _terminal_is_gone(OSError(errno.EIO, "Input/output error")) else 1)
    os.close(theirs)
    os.close(ours)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("command", first_of("allowance reading --used 3%", "ledger compact"))
def test_a_damaged_journal_is_named_by_whatever_command_takes_it_in(bench: Workbench, command: str) -> None:
    ledger = Ledger(bench.folder / "ledger.duckdb")
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    journal = write_run(ledger.journal_folder, "r2", 3)
    data = bytearray(journal.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3] = b"???"
    journal.write_bytes(data)
    done = bench(*command.split())
    assert f"note: a journal was damaged on the disk: its unreadable parts are in {journal}" in done.stderr
    assert "a journal was damaged" not in bench(*command.split()).stderr, "it is said once"


@pytest.mark.parametrize("to", first_of(None, "elsewhere"))
@pytest.mark.slow
def test_a_journal_that_is_taken_away_stops_the_run_and_loses_no_answer(tmp_path: Path, to: str | None) -> None:
    with ThreadedServer(quick(load_config(), 150)) as server:
        bench, sent = Workbench(tmp_path, server), server.platform.statistics.requests
        bench.write("sums.jsonl", sums(60))
        bench.write("job.toml", job("sim/instant", limit=4))
        process = bench.start("run", "job.toml", "--json", "--no-report")
        until(lambda: sum(sent.values()) >= 8)
        folder = bench.folder / "ledger.duckdb.journal"
        shutil.rmtree(folder) if to is None else folder.rename(bench.folder / to)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 3, err
        result = json.loads(out)
        assert result["pending"] > 0
        taken = "removed" if to is None else "moved"
        assert f"the journal was {taken} while it was written" in result["reason"]
        assert "internal error" not in err
        if to is None:
            again = bench.json("run", "job.toml", "--no-report")
            assert again["reused"] == result["completed"]
            assert sum(sent.values()) == 60, "nothing was paid for twice"
