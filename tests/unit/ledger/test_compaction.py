"""A ledger written anew: everything is kept, or it is as it was."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.cases import first_of
from tests.unit.ledger.ledger_rows import answer, write_run
from workbench.errors import IncompleteError, InputError, LockHeldError
from workbench.ledger.check import check_ledger
from workbench.ledger.ingest import ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.store import Ledger
from workbench.ledger.upkeep import compact_ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "l.duckdb")


def test_compacting_keeps_every_row(ledger: Ledger) -> None:
    for number in range(3):
        write_run(ledger.journal_folder, f"r{number}", 50)
        ingest(ledger)
    before = check_ledger(ledger)
    compact_ledger(ledger)
    assert check_ledger(ledger) == before
    write_run(ledger.journal_folder, "later", 1)
    assert ingest(ledger).journals == 1


def test_compacting_keeps_what_users_made_beside_it(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 2)
    ingest(ledger)
    with duckdb.connect(str(ledger.path)) as db:
        db.execute("CREATE TABLE prices AS SELECT 'm' AS model, 2 AS price")
        db.execute("CREATE VIEW spent AS SELECT sum(price) AS price FROM prices JOIN attempts USING (model)")
        db.execute("CREATE SCHEMA own")
        db.execute("CREATE TABLE own.notes AS SELECT 'kept' AS note")
    before = check_ledger(ledger)
    compact_ledger(ledger)
    assert check_ledger(ledger) == before
    with duckdb.connect(str(ledger.path), read_only=True) as db:
        assert db.execute("FROM prices").fetchall() == [("m", 2)]
        assert db.execute("FROM spent").fetchall() == [(4,)]
        assert db.execute("FROM own.notes").fetchall() == [("kept",)]
    assert not ledger.path.with_name("l.duckdb.compact").exists()


def test_compacting_keeps_a_private_ledger_private(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    ledger.path.chmod(0o600)
    compact_ledger(ledger)
    assert ledger.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("room_bytes", first_of(40_000, 300_000, 10_000, 100_000, 500_000, default=2))
def test_compacting_without_room_leaves_the_ledger_as_it_was(ledger: Ledger, room_bytes: int) -> None:
    write_run(ledger.journal_folder, "r1", 40)
    ingest(ledger)
    before = ledger.path.read_bytes()
    assert len(before) > 500_000
    script = (
        "import resource, sys\n"
        "from workbench.errors import WorkbenchError\n"
        "from workbench.ledger.store import Ledger\n"
        "from workbench.ledger.upkeep import compact_ledger\n"
        "room = int(sys.argv[2])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))\n"
        "try:\n"
        "    compact_ledger(Ledger(sys.argv[1]))\n"
        "except WorkbenchError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(ledger.path), str(room_bytes)], check=True, capture_output=True, text=True
    )
    assert "cannot be copied" in done.stdout or "cannot be written: File too large" in done.stdout
    assert ledger.path.read_bytes() == before
    assert sorted(path.name for path in ledger.path.parent.iterdir()) == [
        "l.duckdb",
        "l.duckdb.journal",
        "l.duckdb.lock",
    ]


def test_a_ledger_that_is_a_link_stays_one(tmp_path: Path) -> None:
    elsewhere = tmp_path / "large" / "ledger.duckdb"
    elsewhere.parent.mkdir()
    link = tmp_path / "l.duckdb"
    link.symlink_to(elsewhere)
    ledger = Ledger(link)
    write_run(ledger.journal_folder, "r1", 3)
    assert ingest(ledger).journals == 1
    compact_ledger(ledger)
    assert link.is_symlink()
    assert elsewhere.is_file()
    assert check_ledger(ledger)["attempts"] == 3


def test_compacting_takes_in_a_log_that_a_killed_process_left(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    script = (
        "import duckdb, os, sys\n"
        "db = duckdb.connect(sys.argv[1], config={'checkpoint_threshold': '1GB'})\n"
        "db.execute(\"INSERT INTO samples SELECT 'k' || i, 's' FROM range(1000) t(i)\")\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(ledger.path)], check=True)
    assert ledger.path.with_name("l.duckdb.wal").exists()
    compact_ledger(ledger)
    with duckdb.connect(str(ledger.path), read_only=True) as db:
        assert db.execute("SELECT count(*) FROM samples").fetchone() == (1003,)
    assert check_ledger(ledger)["sound"]


def test_a_link_and_what_it_names_are_one_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.duckdb")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(ledger.path)
    link = Ledger(tmp_path / "here" / "link")
    with ledger.running("j"), pytest.raises(LockHeldError, match="running already"), link.running("j"):
        pass
    write_run(link.journal_folder, "r1", 2)
    assert len(ledger.journals()) == 1
    assert list((tmp_path / "here").iterdir()) == [link.path]


def test_nobody_writes_to_a_ledger_between_its_copy_and_its_replacement(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a program that knows nothing of the lock wrote then would be in the old file alone."""
    write_run(ledger.journal_folder, "r1", 2)
    ingest(ledger)
    script = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('CREATE TABLE late AS SELECT 1')"
    real, told = os.replace, []

    def written_to_before(source: Path, target: Path) -> None:
        done = subprocess.run(
            [sys.executable, "-c", script, str(ledger.path)], capture_output=True, text=True, check=False
        )
        told.append(done.stderr)
        real(source, target)

    monkeypatch.setattr(os, "replace", written_to_before)
    compact_ledger(ledger)
    assert "Could not set lock" in told[0]
    subprocess.run([sys.executable, "-c", script, str(ledger.path)], check=True)


def test_a_journal_that_cannot_be_taken_in_is_no_lock(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 2)
    ingest(ledger)
    writer = JournalWriter(ledger.journal_folder)
    writer.append(answer("r2", 1))
    writer.append(answer("r2", 1, request_key=None))
    writer.close()
    with pytest.raises(IncompleteError, match="cannot be ingested"):
        compact_ledger(ledger)


def test_an_emptied_file_is_not_made_a_ledger_without_anything(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    ledger.file.write_bytes(b"")
    with pytest.raises(InputError, match="is empty: whatever it held is gone; nothing was changed"):
        compact_ledger(ledger)
    assert ledger.file.read_bytes() == b""
