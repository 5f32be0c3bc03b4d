"""DuckDB, started once for several openings of a file."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.unit.ledger_rows import write_run
from workbench.ledger.database import Engine
from workbench.ledger.ingest import ingest, make_file
from workbench.ledger.store import Ledger

COUNT = """
import duckdb, sys
with duckdb.connect(sys.argv[1]) as db:
    print(db.execute("SELECT count(*) FROM attempts").fetchone()[0])
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "l.duckdb")


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.stop()


def count_elsewhere(ledger: Ledger) -> int:
    """As another process does, which can only where this one has the file closed."""
    done = subprocess.run([sys.executable, "-c", COUNT, str(ledger.path)], check=True, capture_output=True, text=True)
    return int(done.stdout)


def test_the_file_is_open_only_while_it_is_written(ledger: Ledger, engine: Engine) -> None:
    make_file(ledger, engine)
    assert count_elsewhere(ledger) == 0
    made_with = engine.started()
    for number in (1, 2):
        write_run(ledger.journal_folder, f"r{number}", 5)
        assert ingest(ledger, engine=engine).journals == 1
        assert count_elsewhere(ledger) == 5 * number
        with pytest.raises(duckdb.ConnectionException):  # it was used, and nothing of it stays in memory
            made_with.execute("SELECT 1")


def test_what_failed_is_not_used_again(ledger: Ledger, engine: Engine) -> None:
    make_file(ledger, engine)
    connection = engine.started()
    content = ledger.path.read_bytes()
    ledger.path.write_bytes(content[:4096])
    write_run(ledger.journal_folder, "r1", 3)
    assert "cannot be opened" in ingest(ledger, engine=engine).deferred
    ledger.path.write_bytes(content)
    assert ingest(ledger, engine=engine).journals == 1
    assert engine.started() is not connection
    assert count_elsewhere(ledger) == 3
