"""Files that are not as an ingest leaves them: a log of another program, another program's file, a stranger's ledger."""

import io
import random
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import msgspec
import pytest

from tests.asked_rows import rows_of
from tests.unit.ledger.ledger_rows import answer, intent, started, write_run
from workbench.errors import InputError, WorkbenchError
from workbench.ledger.check import check_ledger
from workbench.ledger.engine import Engine, literal
from workbench.ledger.entries import KIND_NAMES
from workbench.ledger.ingest import ingest, stage
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.recovery import unpack
from workbench.ledger.rows import JournalCount
from workbench.ledger.store import Ledger, log_of
from workbench.ledger.upkeep import compact_ledger

TEXT_BYTES = 150_000


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "l.duckdb")


def leave_a_log(ledger: Ledger, texts: int) -> int:
    """Commit long texts and end before the checkpoint, as an older version did when it was killed; the log's size."""
    with duckdb.connect(":memory:") as db:
        db.execute("PRAGMA disable_checkpoint_on_shutdown")
        db.execute("SET checkpoint_threshold = '100GB'")
        db.execute(f"ATTACH {literal(str(ledger.file))} AS ledger")
        text = f"repeat(chr((97 + range % 26)::INT), {TEXT_BYTES})"
        db.execute(f"INSERT INTO ledger.responses SELECT 'r9', range, {text}, NULL, NULL FROM range({texts})")  # noqa: S608
    return log_of(ledger.file).stat().st_size


@pytest.mark.slow
def test_a_log_that_needs_more_memory_than_an_ingest_may_take_is_taken_in(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    size = leave_a_log(ledger, 600)
    assert size > 600 * TEXT_BYTES
    with reading(ledger, frugal=True) as reader:
        assert len(rows_of(reader, "accepted_per_request")) == 3
    write_run(ledger.journal_folder, "r2", 3)
    done = ingest(ledger, engine=Engine(memory_mib=24))
    assert (done.journals, done.deferred) == (1, "")
    assert not log_of(ledger.file).exists()
    assert check_ledger(ledger)["attempts"] == 6
    compact_ledger(ledger)
    with duckdb.connect(ledger.path, read_only=True) as db:
        assert db.execute("SELECT count(*), min(length(answer)) FROM responses WHERE run_id = 'r9'").fetchone() == (
            600, TEXT_BYTES,
        )  # fmt: skip


def test_a_link_to_a_ledger_has_the_same_log(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    leave_a_log(ledger, 5)
    link = ledger.path.with_name("link.duckdb")
    link.symlink_to(ledger.path)
    write_run(ledger.journal_folder, "r2", 3)
    assert ingest(Ledger(link)).deferred == ""
    with duckdb.connect(ledger.path, read_only=True) as db:
        assert db.execute("SELECT count(*) FROM responses WHERE run_id = 'r9'").fetchone() == (5,)


@pytest.mark.slow
def test_long_answers_are_taken_in_at_once(ledger: Ledger) -> None:
    text = "x" * 15 * 2**20
    for run_id, answers in (("r1", 2), ("r2", 6), ("r3", 6)):
        writer = JournalWriter(ledger.journal_folder)
        writer.append(started(run_id, answers))
        for number in range(1, answers + 1):
            writer.append(intent(run_id, number))
            writer.append(answer(run_id, number, answer=text, raw=text))
            writer.flush()
        writer.close()
        done = ingest(ledger, whole=writer.whole)
        assert (done.journals, done.deferred) == (1, "")


@pytest.mark.parametrize("seeds", [pytest.param(3, marks=pytest.mark.slow), pytest.param(60, marks=pytest.mark.long)])
def test_an_ingest_killed_at_any_moment_loses_nothing(ledger: Ledger, seeds: int) -> None:
    chance = random.Random(seeds)
    total = 0
    for seed in range(seeds):
        writer = JournalWriter(ledger.journal_folder)
        run_id = f"r{seed}"
        writer.append(started(run_id, 60))
        for number in range(1, 61):
            writer.append(intent(run_id, number))
            writer.append(
                answer(run_id, number, answer=chance.choice("abc") * TEXT_BYTES, raw=chance.randbytes(50_000).hex())
            )
            writer.flush()
        writer.close()
        total += 60
        command = [sys.executable, "-m", "workbench", "ledger", "recover", "--ledger", str(ledger.path)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            time.sleep(chance.uniform(0.1, 0.5))
            process.kill()
        assert check_ledger(ledger)["problems"] == []
        assert check_ledger(ledger)["attempts"] == total
    assert ingest(ledger).deferred == ""
    assert not ledger.journals()
    assert check_ledger(ledger)["problems"] == []
    assert check_ledger(ledger)["attempts"] == total


@pytest.mark.parametrize("with_log", [False, True])
def test_another_programs_file_is_refused_untouched(ledger: Ledger, with_log: bool) -> None:
    with duckdb.connect(ledger.path) as db:
        db.execute("PRAGMA disable_checkpoint_on_shutdown" if with_log else "SELECT 1")
        db.execute("CREATE TABLE schema_versions (app VARCHAR); INSERT INTO schema_versions VALUES ('theirs')")
    before = {path.name: path.read_bytes() for path in ledger.path.parent.iterdir()}
    assert len(before) == 1 + with_log
    with pytest.raises(InputError, match="not a ledger; nothing was changed"), reading(ledger):
        pass
    write_run(ledger.journal_folder, "r1", 1)
    assert "not a ledger" in ingest(ledger).deferred
    assert ledger.journals()
    with pytest.raises(WorkbenchError):
        compact_ledger(ledger)
    assert {name: (ledger.path.parent / name).read_bytes() for name in before} == before


@pytest.mark.parametrize("table", ["attempts", "runs", "ingested_journals", "samples"])
def test_a_strangers_ledger_reads_no_file_of_ours(ledger: Ledger, table: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the password")
    write_run(ledger.journal_folder, "r1", 2)
    ingest(ledger)
    with duckdb.connect(ledger.path) as db:
        columns = [name for (name,) in db.execute(f"SELECT column_name FROM (DESCRIBE {table})").fetchall()]  # noqa: S608
        db.execute(f"DROP TABLE {table} CASCADE")
        taken = ", ".join(f"content AS {name}" for name in columns)
        db.execute(f"CREATE VIEW {table} AS SELECT {taken} FROM read_text({literal(str(secret))})")  # noqa: S608
    for live in (False, True):
        if live:
            write_run(ledger.journal_folder, "r2", 2)
        with pytest.raises(WorkbenchError) as refused:
            read_everything(ledger)
        assert "the password" not in str(refused.value)


def read_everything(ledger: Ledger) -> None:
    with reading(ledger) as reader:
        rows_of(reader, "runs", most=5, run_ids=None)
        rows_of(reader, "calls", run_id=None)
        rows_of(reader, "sample_texts", keys=["sample1"])


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE requests SET epoch = 7 WHERE call_no = 2", "r1 call 2"),
        ("UPDATE requests SET model = 'other'", "3 requests ask a model other than the one recorded"),
        (
            "UPDATE requests SET occurrence = 1",
            "have a key that does not match their body, endpoint, epoch and occurrence",
        ),
        ("UPDATE runs SET identity = 'http://elsewhere'", "have a key that does not match their body"),
        ("UPDATE request_bodies SET body = replace(body, 'user', 'system')", "have a body other than the one sent"),
        ("DELETE FROM request_bodies", "3 requests have no body"),
        ("DELETE FROM runs", "belong to a run whose beginning is not recorded"),
        (
            "UPDATE attempts SET generation = 'x' WHERE call_no = 1",
            "attempts that differ from their request in key, generation, model, sample or epoch: 1",
        ),
        ("DELETE FROM attempts WHERE call_no = 1", "2 rows of 3 journal entries of the kind 'answer'"),
    ],
)
def test_a_check_names_what_does_not_fit(ledger: Ledger, damage: str, problem: str) -> None:
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    assert check_ledger(ledger)["problems"] == []
    with duckdb.connect(ledger.path) as db:
        db.execute(damage)
    found = check_ledger(ledger)
    assert not found["sound"]
    assert any(problem in text for text in found["problems"]), found["problems"]


def test_entries_of_every_kind_are_counted(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    with reading(ledger) as reader:
        assert {row.kind for row in reader.all(JournalCount)} == KIND_NAMES - {"sample"}


def test_what_duckdb_reads_otherwise_is_not_taken_in(ledger: Ledger) -> None:
    journal = write_run(ledger.journal_folder, "r1", 3)
    whole = unpack(journal, io.BytesIO())
    with pytest.raises(WorkbenchError, match=r"DuckDB reads .* where the journal holds"), duckdb.connect() as db:
        stage(db, journal, msgspec.structs.replace(whole, kinds=whole.kinds | {"intent": 4}), 256)
