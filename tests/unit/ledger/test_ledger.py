import errno
import fcntl
import hashlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

from tests.asked_rows import rows_of
from tests.cases import first_of
from tests.unit.ledger.ledger_rows import answer, intent, started, write_run
from workbench.errors import InputError, LockHeldError, WorkbenchError
from workbench.evaluation.run_samples import run_samples
from workbench.ledger.check import DamagedLedgerError, check_ledger
from workbench.ledger.combined import CombinedTables, RunTables
from workbench.ledger.database import attached
from workbench.ledger.engine import FRUGAL_MEMORY_MIB
from workbench.ledger.entries import RunEnded
from workbench.ledger.ingest import ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import LedgerMemoryError, reading
from workbench.ledger.recovery import unpack
from workbench.ledger.schema import VIEW_NAMES, migrations
from workbench.ledger.store import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "it's.duckdb")


def summary(ledger: Ledger, run_id: str) -> dict[str, object]:
    with reading(ledger) as reader:
        return rows_of(reader, "run_summary", run_id=run_id)[0]


def summary_fails(ledger: Ledger) -> bool:
    with pytest.raises(WorkbenchError):
        summary(ledger, "r1")
    return True


def test_what_is_only_in_a_journal_reads_as_what_is_ingested(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 5)
    before = summary(ledger, "r1")
    assert before["completed"] == 5
    with reading(ledger) as reader:
        calls_before = list(run_samples(reader, "r1", 9))
    assert ingest(ledger).journals == 1
    assert not ledger.journals()
    assert summary(ledger, "r1") == before
    with reading(ledger) as reader:
        assert list(run_samples(reader, "r1", 9)) == calls_before
    assert [call["name"] for call in calls_before[0].tool_calls or []] == ["f", "g"]


def test_an_ingest_that_is_repeated_adds_nothing(ledger: Ledger) -> None:
    journal = write_run(ledger.journal_folder, "r1", 5)
    copy = shutil.copy(journal, ledger.path.parent / "copy")
    ingest(ledger)
    shutil.copy(copy, journal)  # as if the process had been killed between the commit and the removal
    assert summary(ledger, "r1")["completed"] == 5
    assert ingest(ledger).records == 0
    assert not ledger.journals()
    assert check_ledger(ledger)["sound"]
    assert summary(ledger, "r1")["completed"] == 5


def test_content_is_kept_once(ledger: Ledger) -> None:
    for run_id in ("r1", "r2"):
        write_run(ledger.journal_folder, run_id, 3)
    ingest(ledger)
    write_run(ledger.journal_folder, "r3", 3)
    state = check_ledger(ledger)  # r3 is still in its journal
    assert (state["repeated_samples"], state["repeated_bodies"]) == (0, 0)
    ingest(ledger)
    state = check_ledger(ledger)
    assert (state["repeated_samples"], state["repeated_bodies"], state["attempts"]) == (0, 0, 9)
    with reading(ledger) as reader:
        assert len(rows_of(reader, "run_samples", run_id="r3", most=99)) == 3


def test_a_killed_run_has_open_intents_and_no_end(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 3))
    for number in (1, 2):
        writer.append(intent("r1", number))
    writer.append(answer("r1", 1))
    writer.close()
    found = summary(ledger, "r1")
    assert (found["planned"], found["completed"], found["pending"], found["open_intents"]) == (3, 1, 2, 1)
    with reading(ledger) as reader:
        (run,) = rows_of(reader, "runs", most=5, run_ids=None)
    assert run["status"] is None
    assert run["pending"] == 2


def test_a_living_writers_journal_is_left_alone_and_read(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 1))
    writer.append(intent("r1", 1))
    writer.flush()
    assert ingest(ledger).journals == 0
    assert summary(ledger, "r1")["open_intents"] == 1
    writer.append(answer("r1", 1))
    writer.flush()
    assert summary(ledger, "r1")["completed"] == 1
    writer.close()
    assert ingest(ledger).journals == 1


def test_a_torn_journal_is_ingested_up_to_its_tear(ledger: Ledger) -> None:
    journal = write_run(ledger.journal_folder, "r1", 5)
    journal.write_bytes(journal.read_bytes()[:-5])  # the last frame is the run's end
    done = ingest(ledger)
    assert len(done.torn) == 1
    assert Path(done.torn[0]).exists()
    found = summary(ledger, "r1")
    assert found["completed"] == 5


def test_an_ingest_does_not_wait_for_a_reader(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 1)
    with ledger.locked(exclusive=False):
        done = ingest(ledger, patience_s=0.1)
    assert "another process has held" in done.deferred
    assert summary(ledger, "r1")["completed"] == 1
    assert ingest(ledger).journals == 1


def test_an_ingest_does_not_wait_for_a_notebook(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 1)
    ingest(ledger)
    write_run(ledger.journal_folder, "r2", 1)
    script = (
        "import duckdb, sys\n"
        "db = duckdb.connect(sys.argv[1], read_only=True)\n"
        "print(db.execute('SELECT count(*) FROM attempts').fetchone()[0], flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(ledger.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as notebook:
        assert notebook.stdout is not None
        assert notebook.stdin is not None
        assert notebook.stdout.readline() == "1\n"
        assert "another program has the ledger open" in ingest(ledger, patience_s=0.1).deferred
        assert summary(ledger, "r2")["completed"] == 1  # reading beside it works
        notebook.stdin.close()
    assert ingest(ledger).journals == 1


def test_one_run_of_a_job_at_a_time(ledger: Ledger) -> None:
    with ledger.running("a job"):
        with pytest.raises(LockHeldError, match="'a job' is running already"), ledger.running("a job"):
            pass
        with ledger.running("another"):
            pass
    with ledger.running("a job"):
        pass
    assert list(ledger.journal_folder.iterdir()) == [], "nothing says that it still runs"


def test_what_killed_runs_left_behind_is_removed_by_the_next(ledger: Ledger) -> None:
    with ledger.running("goes on"):
        (mine,) = ledger.journal_folder.iterdir()
        killed = mine.with_name("0123456789abcdef.running")
        killed.write_text("4711")
        with ledger.running("another"):
            assert not killed.exists()
            assert mine.exists()
            assert ledger.is_running("goes on")


def test_no_two_of_many_run_a_job_at_once(ledger: Ledger) -> None:
    """Each removes the file that others wait for."""
    running, most, done = 0, 0, 0
    guard = threading.Lock()

    def attempt(_: int) -> None:
        nonlocal running, most, done
        try:
            with ledger.running("a job"):
                with guard:
                    running += 1
                    most, done = max(most, running), done + 1
                os.sched_yield()
                with guard:
                    running -= 1
        except LockHeldError:
            pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(attempt, range(200)))
    assert most == 1
    assert done > 8


def test_addresses_of_other_kinds_are_refused(tmp_path: Path) -> None:
    for address in ("postgres://h/db", "ducklake:x", "s3://b/k", str(tmp_path), str(tmp_path / "no" / "l.duckdb")):
        with pytest.raises(InputError):
            Ledger(address)


def test_migrations_are_recorded_and_never_edited(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 1)
    ingest(ledger)
    with duckdb.connect(str(ledger.path), read_only=True) as db:
        applied = db.execute(
            "SELECT version, sha256 FROM schema_versions WHERE version > 0 ORDER BY version"
        ).fetchall()
        made = db.execute(
            "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name LIKE 'it%'"
        ).fetchone()
    assert applied == [(version, hashlib.sha256(text.encode()).hexdigest()) for version, _, text in migrations()]
    assert [version for version, _, _ in migrations()] == list(range(1, len(migrations()) + 1))
    assert made is not None
    assert str(made[0]).startswith("v1.5")
    with duckdb.connect(str(ledger.path)) as db:
        db.execute("UPDATE schema_versions SET sha256 = 'x'")
    write_run(ledger.journal_folder, "r2", 1)
    assert "not the one this ledger was made with" in ingest(ledger).deferred


def test_a_ledger_of_a_newer_version_is_refused(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 1)
    ingest(ledger)
    with duckdb.connect(str(ledger.path)) as db:
        db.execute("INSERT INTO schema_versions VALUES (999, 'later', 'x', now()::TIMESTAMP)")
    write_run(ledger.journal_folder, "r2", 1)
    assert "newer version of workbench" in ingest(ledger).deferred
    assert summary_fails(ledger)


def test_views_work_in_the_file_itself(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 2)
    ingest(ledger)
    with duckdb.connect(str(ledger.path), read_only=True) as db:
        for view in (
            "run_overview",
            "item_outcomes",
            "latest_scores",
            "pass_rates",
            "usage_by_day",
            "route_behaviour",
            "errors_by_kind",
        ):
            db.execute(f"FROM {view}").fetchall()
        assert db.execute("SELECT sum(total_tokens) FROM usage_by_day").fetchone() == (20,)


MACROS = {
    "same_name", "reduced", "completions", "scale_of", "state_of", "cap_of", "cluster_of", "sample_scores", "attempt_quarters",
}  # fmt: skip


def test_a_ledger_has_the_views_that_its_help_names_and_what_they_build_on(ledger: Ledger) -> None:
    """Whoever opens the file with DuckDB may ask them; all others are defined by those who read it with this program."""
    write_run(ledger.journal_folder, "r1", 2)
    ingest(ledger)
    text = resources.files("workbench.starter").joinpath("topics", "ledger.md").read_text("utf-8")
    told = text.split("Beside its tables it has the views", 1)[1].split(".", 1)[0]
    named = re.findall(r"`(\w+)`", told)
    assert len(named) == 7
    with duckdb.connect(str(ledger.path), read_only=True) as db:
        there = {name for (name,) in db.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()}
        for name in named:
            db.execute(f"FROM {name}").fetchall()
    assert there >= set(named)
    assert there.isdisjoint({"counted_scores", "identified_answers", "call_draws"})


def test_what_several_queries_name_is_worked_out_once_of_all_runs_too(ledger: Ledger, tmp_path: Path) -> None:
    write_run(ledger.journal_folder, "r1", 2)
    ingest(ledger)
    with ledger.locked(exclusive=False), attached(ledger) as engine:
        db = engine.started()
        tables = RunTables(CombinedTables(ledger, db, tmp_path, frugal=False), db, "all_runs", None)
        tables.define("FROM usage_by_day, identified_answers, item_identities")
        found = db.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'all_runs'").fetchall()
    assert {name for (name,) in found} >= {"judged_quarters", "usage_by_day", "identified_answers", "item_identities"}


@pytest.mark.slow
def test_a_query_defines_what_it_names_and_nothing_else(ledger: Ledger, tmp_path: Path) -> None:
    write_run(ledger.journal_folder, "r1", 2)
    ingest(ledger)
    write_run(ledger.journal_folder, "r2", 2)
    for name in VIEW_NAMES:
        with ledger.locked(exclusive=False), attached(ledger) as engine:
            db, united = engine.started(), CombinedTables(ledger, engine.started(), tmp_path, frugal=False)
            assert _defined(db) == set()
            united.define(f"FROM {name}")
            defined = _defined(db)
            assert name in defined or name in MACROS, "macros"
            assert name != "latest_scores" or defined == {"latest_scores", "scores"}
            united.define(f"FROM {name}")
            assert _defined(db) == defined


def _defined(db: duckdb.DuckDBPyConnection) -> set[str]:
    there = "database_name = 'memory' AND schema_name = 'main' AND NOT internal"
    query = (
        f"SELECT view_name FROM duckdb_views() WHERE {there} UNION SELECT table_name FROM duckdb_tables() WHERE {there}"  # noqa: S608
    )
    return {name for (name,) in db.execute(query).fetchall()}


def test_views_of_an_earlier_version_are_renewed(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 2)
    ingest(ledger)
    with duckdb.connect(str(ledger.path)) as db:
        db.execute("CREATE OR REPLACE VIEW usage_by_day AS SELECT 1 AS outdated")
        db.execute("UPDATE schema_versions SET sha256 = 'of before' WHERE name = 'views'")
    write_run(ledger.journal_folder, "r2", 2)
    ingest(ledger)
    with duckdb.connect(str(ledger.path), read_only=True) as db:
        assert db.execute("SELECT sum(total_tokens) FROM usage_by_day").fetchone() == (40,)
        assert db.execute("SELECT count(*) FROM schema_versions WHERE name = 'views'").fetchone() == (1,)


def test_a_file_that_is_no_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    path.write_text("not a database, " * 1000)
    with pytest.raises(InputError, match="is not a DuckDB file"):
        Ledger(path)


def test_a_damaged_ledger_is_named(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 1)
    ingest(ledger)
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole[:5000])
    with pytest.raises(
        WorkbenchError,
        match=r"cannot be opened.*restore it from a copy; what it had not taken in yet is in .*\.journal",
    ):
        summary(ledger, "r1")
    with pytest.raises(DamagedLedgerError, match="cannot be opened") as damaged:
        check_ledger(ledger)
    assert damaged.value.exit_code == 1, "no wrong command"
    ledger.path.write_bytes(whole[:4096] + bytes(400) + whole[4496:])
    with pytest.raises(DamagedLedgerError):
        check_ledger(ledger)
    ledger.path.write_bytes(b"")
    with pytest.raises(InputError, match="the file is empty: restore it from a copy, or remove it to begin a new one"):
        summary(ledger, "r1")


@pytest.mark.parametrize("with_lock", [True, False])
def test_a_ledger_that_may_only_be_read_is_read(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, with_lock: bool
) -> None:
    write_run(ledger.journal_folder, "r1", 2)
    ingest(ledger)
    expected = summary(ledger, "r1")
    if not with_lock:
        ledger.lock_path.unlink()
    really_open = os.open

    def open_to_read_only(path: Path, flags: int, *rest: Any, **more: Any) -> int:  # as for anyone but root
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return really_open(path, flags, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr("workbench.ledger.store.os.open", open_to_read_only)
        assert summary(ledger, "r1") == expected


def test_of_a_request_that_was_sent_again_the_last_attempt_counts_in_whatever_order_journals_come(
    ledger: Ledger,
) -> None:
    def journal(number: int) -> Path:
        writer = JournalWriter(ledger.journal_folder)
        if number == 1:
            writer.append(started("r1", 1))
        writer.append(msgspec.structs.replace(intent("r1", number), request_key="k", attempt=number))
        writer.append(msgspec.structs.replace(answer("r1", number), request_key="k"))
        writer.close()
        return max(ledger.journals(), key=lambda path: path.stat().st_mtime_ns)

    def items() -> list[int]:
        with reading(ledger) as reader:
            return [row.answer_call_no for row in run_samples(reader, "r1", 9)]

    first = journal(1)
    hidden = first.rename(ledger.path.with_name("hidden"))
    journal(2)
    assert items() == [2]
    ingest(ledger)
    hidden.rename(first)
    assert items() == [2]
    ingest(ledger)
    assert items() == [2]


def test_the_journal_folder_lock_is_the_writers(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(RunEnded("r", datetime.now(UTC), "complete", 0, 1.0))
    writer.flush()
    (journal,) = ledger.journals()
    with journal.open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    writer.close()


def test_rows_are_plain_values(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 1)
    with reading(ledger) as reader:
        json.dumps(next(run_samples(reader, "r1", 1)).tool_calls)


@pytest.mark.slow
def test_a_frugal_reader_takes_more_memory_only_where_a_query_needs_it(ledger: Ledger) -> None:
    calls = 300
    write_run(ledger.journal_folder, "r1", calls)
    ingest(ledger)
    with duckdb.connect(str(ledger.path)) as db:  # 75 MiB of texts, more than such a reader begins with
        db.execute("UPDATE responses SET answer = repeat(md5(call_no::VARCHAR), 8192)")
    with reading(ledger, frugal=True, memory_mib=FRUGAL_MEMORY_MIB) as reader, pytest.raises(LedgerMemoryError):
        rows_of(reader, "answers", run_id="r1")
    with reading(ledger, frugal=True) as reader:
        rows = rows_of(reader, "answers", run_id="r1")
    assert [len(row["answer"]) for row in rows] == [8192 * 32] * calls


@pytest.mark.slow
def test_texts_too_long_to_be_read_at_once_are_read_by_halves(ledger: Ledger) -> None:
    calls = 300
    write_run(ledger.journal_folder, "r1", calls)
    ingest(ledger)
    with duckdb.connect(str(ledger.path)) as db:
        db.execute(
            "UPDATE responses SET answer = repeat(md5(call_no::VARCHAR), 8192), raw = repeat('x', 262144), reasoning = repeat('y', 262144)"
        )
    with reading(ledger, frugal=True, memory_mib=224) as reader:
        whole = list(run_samples(reader, "r1", calls))
    assert [len(row.answer or "") for row in whole] == [8192 * 32] * calls
    assert len({row.answer for row in whole}) == calls


def test_tables_of_ones_own_disturb_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.duckdb")
    write_run(ledger.journal_folder, "r", 2)
    ingest(ledger)
    with duckdb.connect(ledger.path) as db:
        db.execute('CREATE TABLE "my ""notes"" of order"(a INT)')
    for _ in range(2):  # without journals, and with one
        with reading(ledger) as reader:
            assert rows_of(reader, "run_summary", run_id="r")[0]["completed"] == 2
        write_run(ledger.journal_folder, "r2", 1)


@pytest.mark.parametrize("claimed", first_of("right", "torn", None, "wrong", default=2))
def test_a_journal_known_to_be_whole_is_taken_in_like_any_other(tmp_path: Path, claimed: str | None) -> None:
    ledger = Ledger(tmp_path / "l.duckdb")
    writer = JournalWriter(ledger.journal_folder)
    for number in range(1, 400):
        writer.append(intent("r", number))
        writer.append(answer("r", number, answer="é" * number))
        writer.flush()
    path = writer.rotate()
    writer.close()
    assert path is not None
    (whole,) = writer.whole.values()
    assert whole == unpack(path, io.BytesIO()), "what the writer counted is what a walk through it finds"
    if claimed == "wrong":
        whole = msgspec.structs.replace(whole, kinds=whole.kinds | {"intent": 400})
    if claimed == "torn":
        path.write_bytes(path.read_bytes()[:-7])
    done = ingest(ledger, whole={} if claimed is None else {path.name: whole})
    expected = 399 - (claimed == "torn")
    assert (done.journals, done.records, bool(done.torn)) == (1, 2 * expected, claimed == "torn")
    with duckdb.connect(ledger.path, read_only=True) as db:
        assert db.execute("SELECT count(*), sum(length(answer)) FROM responses").fetchall() == [
            (expected, sum(range(1, expected + 1)))
        ]


@pytest.mark.parametrize(
    "journals",
    [[[2**20]], [[2**20] * 3], pytest.param([[2**20] * 5] * 3, marks=pytest.mark.slow), [[1_000] * 200, [2**20], [1_000] * 10], pytest.param([[15 * 2**20] * 3], marks=pytest.mark.slow)],
    ids=["one", "three", "several journals", "among short ones", "15 MiB"],
)  # fmt: skip
def test_journals_with_long_answers_are_read_as_they_are(tmp_path: Path, journals: list[list[int]]) -> None:
    ledger = Ledger(tmp_path / "ledger.duckdb")
    for number, sizes in enumerate(journals):
        writer = JournalWriter(ledger.journal_folder)
        writer.append(started(f"r{number}", len(sizes)))
        for call, size in enumerate(sizes, 1):
            text = random.Random(call).randbytes(size // 2).hex()
            writer.append(intent(f"r{number}", call))
            writer.append(answer(f"r{number}", call, answer=text, raw=f'{{"text": "{text}"}}'))
        writer.close()
    for frugal in (False, True):
        with reading(ledger, frugal=frugal) as reader:
            found = [len(reader.arrow("calls", run_id=f"r{number}")) for number in range(len(journals))]
        assert found == list(map(len, journals))
    assert ingest(ledger).deferred == ""
