"""What killed processes leave beside a ledger."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.asked_rows import rows_of
from tests.cases import first_of
from tests.unit.ledger.ledger_rows import answer, intent, key, started, write_run
from workbench.errors import InputError, WorkbenchError
from workbench.ledger.check import check_ledger
from workbench.ledger.entries import Answer, Entry
from workbench.ledger.ingest import ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.schema import sql, table_names
from workbench.ledger.store import Ledger
from workbench.ledger.upkeep import compact_ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "l.duckdb")


def test_a_journal_is_never_there_without_its_lock(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ingest between the making of the file and its locking would take it for a dead process's, and remove it."""
    real = os.rename

    def ingest_then_rename(source: Path, target: Path) -> None:
        assert ingest(ledger).journals == 0
        real(source, target)

    monkeypatch.setattr(os, "rename", ingest_then_rename)
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r", 1))
    writer.append(intent("r", 1))
    writer.append(answer("r", 1))
    writer.flush()
    assert ingest(ledger).journals == 0
    writer.close()
    assert ingest(ledger).records == 3


def test_a_ledger_whose_making_was_cut_off_is_made_anew(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 3)
    script = (
        "import resource, sys\n"
        "from workbench.ledger.ingest import ingest\n"
        "from workbench.ledger.store import Ledger\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "print(ingest(Ledger(sys.argv[1])).deferred)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(ledger.path)], check=True, capture_output=True, text=True)
    assert done.stdout.strip()
    assert ingest(ledger).journals == 1
    ledger.path.write_bytes(b"")
    write_run(ledger.journal_folder, "r2", 3)
    assert ingest(ledger).journals == 1
    assert check_ledger(ledger)["attempts"] == 3
    assert sorted(path.name for path in ledger.path.parent.iterdir()) == [
        "l.duckdb",
        "l.duckdb.journal",
        "l.duckdb.lock",
    ]


def test_a_log_without_its_ledger_is_in_nobodys_way(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    script = (
        "import duckdb, os, sys\n"
        "db = duckdb.connect(sys.argv[1], config={'checkpoint_threshold': '1GB'})\n"
        "db.execute(\"INSERT INTO samples SELECT 'k' || i, 's' FROM range(1000) t(i)\")\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(ledger.path)], check=True)
    ledger.path.unlink()
    for number in range(2, 4):
        write_run(ledger.journal_folder, f"r{number}", 3)
        assert ingest(ledger).journals == 1
    assert check_ledger(ledger)["attempts"] == 6


def test_one_journal_that_cannot_be_ingested_does_not_hold_up_the_others(ledger: Ledger) -> None:
    class Wrong(Answer, frozen=True, tag="answer"):
        """An answer whose status no column takes."""

    writer = JournalWriter(ledger.journal_folder)
    writer.append(
        Wrong(**{name: getattr(answer("r", 1), name) for name in Answer.__struct_fields__} | {"http_status": 2**70})
    )
    writer.close()
    write_run(ledger.journal_folder, "r2", 2)
    done = ingest(ledger)
    assert done.journals == 1
    assert "cannot be ingested" in done.deferred
    (left,) = ledger.journals()
    with (
        pytest.raises(WorkbenchError, match=f"{left.name} cannot be read: .*; move it to another folder"),
        reading(ledger),
    ):
        pass
    with duckdb.connect(str(ledger.path), read_only=True) as db:
        assert db.execute("SELECT count(*) FROM attempts").fetchone() == (2,)


@pytest.mark.slow
def test_a_journal_of_long_texts_is_ingested(ledger: Ledger) -> None:
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r", 60))
    for number in range(1, 61):
        writer.append(intent("r", number))
        writer.append(answer("r", number, answer=os.urandom(500_000).hex()))
        writer.flush()
    writer.close()
    assert ingest(ledger).journals == 1
    with reading(ledger) as reader:
        assert rows_of(reader, "run_summary", run_id="r")[0]["completed"] == 60


@pytest.mark.parametrize("where", first_of("middle", "length", "first", "magic", default=2))
def test_what_lies_behind_a_damaged_stretch_is_kept(ledger: Ledger, where: str) -> None:
    journal = write_run(ledger.journal_folder, "r1", 9)
    data = bytearray(journal.read_bytes())
    beginnings = [found.start() for found in re.finditer(rb"\x28\xb5\x2f\xfd", data)]
    place = {"first": 12, "middle": beginnings[4] + 30, "magic": beginnings[4], "length": beginnings[4] + 5}[where]
    data[place : place + 3] = b"???"
    journal.write_bytes(data)
    state = check_ledger(ledger)
    assert not state["sound"]
    assert state["damaged_journals"] == [str(journal)]
    assert state["torn_journals"] == []
    done = ingest(ledger)
    with reading(ledger) as reader:
        assert (
            len(list(rows_of(reader, "accepted_answers", request_keys=[key(n) for n in range(1, 10)], generation=None)))
            == 8
        )
    assert [Path(path).suffix for path in done.damaged] == [".damaged"]
    assert "and their answers are lost" in done.set_aside_messages()[0]
    assert check_ledger(ledger)["damaged_journals"] == []


def test_a_journal_that_may_not_be_read_keeps_no_other_from_the_ledger(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign, own = (write_run(ledger.journal_folder, run_id, 2) for run_id in ("r1", "r2"))
    real = os.open

    def not_ours(path: Path, flags: int, *rest: Any, **more: Any) -> int:
        if path == foreign:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", not_ours)
    done = ingest(ledger)
    assert (done.journals, done.busy) == (1, False)
    assert foreign.name in done.deferred
    assert (foreign.exists(), own.exists()) == (True, False)


def test_a_folder_with_the_name_of_a_journal_is_none(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 2)
    (ledger.journal_folder / "x.jsonl.zst").mkdir()
    assert ingest(ledger).journals == 1


def test_what_is_in_the_way_of_a_ledger_is_named(ledger: Ledger) -> None:
    ledger.lock_path.mkdir()
    with pytest.raises(InputError, match=r"l\.duckdb\.lock is in the way"):
        Ledger(ledger.path)
    with pytest.raises(InputError, match="must not be empty"):
        Ledger("")


class Invoice(Entry, frozen=True, tag="invoice"):
    """What a later version may record."""

    run_id: str


def test_what_a_newer_version_recorded_stays_in_its_journal(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 2)
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r2", 1))
    writer.append(Invoice("r2"))
    journal = writer.rotate()
    writer.close()
    assert journal is not None
    done = ingest(ledger)
    assert (done.journals, journal.exists()) == (1, True)
    assert done.deferred.endswith("a newer version of workbench wrote it (invoice); upgrade this one")
    found = check_ledger(ledger)
    assert found["problems"] == [f"{journal} is of a newer version of workbench, which can ingest it"]


def test_a_check_reads_every_part_of_the_file(ledger: Ledger) -> None:
    tables = {name for name in table_names() if name not in ("schema_versions", "ingested_journals")}
    assert set(re.findall(r"FROM (\w+)", sql("queries", "every_value"))) == tables
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 3))
    for number in range(1, 4):
        writer.append(intent("r1", number))
        writer.append(answer("r1", number, raw=os.urandom(400_000).hex()))
    writer.close()
    ingest(ledger)
    compact_ledger(ledger)
    whole = bytearray(ledger.path.read_bytes())
    first, block = 3 * 4096, 2**16  # headers, and then blocks of that size
    unsound = 0
    for start in range(first, len(whole), block):
        odd = bytes(255 - byte for byte in whole[start + 1000 : start + 1064])
        ledger.path.write_bytes(whole[: start + 1000] + odd + whole[start + 1064 :])
        try:
            sound = check_ledger(ledger)["sound"]
        except WorkbenchError:
            sound = False
        unsound += not sound
        if sound:  # a block that is free
            with duckdb.connect(ledger.path, read_only=True) as db:
                for table in tables:
                    db.execute(f"FROM {table}").fetchall()
    assert unsound > 3
