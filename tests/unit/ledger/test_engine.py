"""DuckDB, started once for several openings of a file."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.unit.ledger.ledger_rows import write_run
from workbench.ledger.engine import Engine
from workbench.ledger.ingest import ingest, make_file
from workbench.ledger.schema import migrate
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


def test_one_start_makes_the_file_and_fills_it(ledger: Ledger, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []
    really_connect = duckdb.connect

    def connect(*args: Any, **kwargs: Any) -> duckdb.DuckDBPyConnection:
        starts.append(args)
        return really_connect(*args, **kwargs)

    monkeypatch.setattr(duckdb, "connect", connect)
    make_file(ledger, engine)
    assert count_elsewhere(ledger) == 0  # so the file is closed
    running = engine.started()
    write_run(ledger.journal_folder, "r1", 5)
    assert ingest(ledger, engine=engine).journals == 1
    assert len(starts) == 1
    assert count_elsewhere(ledger) == 5
    assert_stopped(running)


def test_what_failed_is_not_used_again(ledger: Ledger, engine: Engine) -> None:
    make_file(ledger, engine)
    running = engine.started()
    content = ledger.path.read_bytes()
    ledger.path.write_bytes(content[:4096])
    write_run(ledger.journal_folder, "r1", 3)
    assert "cannot be opened" in ingest(ledger, engine=engine).deferred
    assert_stopped(running)
    ledger.path.write_bytes(content)
    assert ingest(ledger, engine=engine).journals == 1
    assert count_elsewhere(ledger) == 3


@pytest.mark.parametrize("place", ["attach", "use"])
def test_a_making_that_fails_leaves_nothing_open(
    ledger: Ledger, engine: Engine, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    running = engine.started()
    with monkeypatch.context() as broken:
        if place == "attach":
            broken.setattr(Path, "replace", refuse)
        else:
            broken.setattr(
                "workbench.ledger.database.migrate", lambda one: refuse() if is_attached(one.db) else migrate(one)
            )
        make_file(ledger, engine)
    assert_stopped(running)
    write_run(ledger.journal_folder, "r1", 3)
    assert ingest(ledger, engine=engine).journals == 1
    assert count_elsewhere(ledger) == 3


def refuse(*_: object) -> None:
    raise OSError


def is_attached(db: duckdb.DuckDBPyConnection) -> bool:
    return db.execute("SELECT current_database()").fetchone() == ("ledger",)


def assert_stopped(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.ConnectionException):
        connection.execute("SELECT 1")


def test_a_small_ledger_is_a_small_file(ledger: Ledger) -> None:
    write_run(ledger.journal_folder, "r1", 20)
    ingest(ledger)
    assert ledger.path.stat().st_size < 2**21
