"""DuckDB, started once for several openings of a file."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.unit.ledger_rows import write_run
from workbench.ledger.database import Engine, writing_engine
from workbench.ledger.ingest import ingest, make_file
from workbench.ledger.store import Ledger
from workbench.zstd import ZstdCompressor

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
    engine = writing_engine()
    yield engine
    engine.stop()


def count_elsewhere(ledger: Ledger) -> int:
    """As another process does, which can only where this one has the file closed."""
    done = subprocess.run([sys.executable, "-c", COUNT, str(ledger.path)], check=True, capture_output=True, text=True)
    return int(done.stdout)


def test_the_file_is_open_only_while_it_is_written(ledger: Ledger, engine: Engine) -> None:
    make_file(ledger, engine)
    assert count_elsewhere(ledger) == 0
    connection = engine.started()
    for number in (1, 2):
        write_run(ledger.journal_folder, f"r{number}", 5)
        assert ingest(ledger, engine=engine).journals == 1
        assert count_elsewhere(ledger) == 5 * number
    assert engine.started() is connection


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


def test_a_file_that_is_refused_is_closed(ledger: Ledger, engine: Engine) -> None:
    make_file(ledger, engine)
    with duckdb.connect(str(ledger.path)) as db:
        db.execute("INSERT INTO schema_versions SELECT 99, name, sha256, applied_at FROM schema_versions LIMIT 1")
    write_run(ledger.journal_folder, "r1", 3)
    assert "newer workbench" in ingest(ledger, engine=engine).deferred
    assert count_elsewhere(ledger) == 0


def test_an_ingest_leaves_nothing_to_the_next(ledger: Ledger, engine: Engine) -> None:
    """Neither the lines of a journal that cannot be taken in, nor the settings that suited another."""
    make_file(ledger, engine)
    before = settings(engine)
    write_run(ledger.journal_folder, "r1", 3)
    assert ingest(ledger, engine=engine).journals == 1
    assert settings(engine) != before
    write_run(ledger.journal_folder, "r2", 3)
    (ledger.journal_folder / "zzz.jsonl.zst").write_bytes(
        ZstdCompressor().compress(b'{"kind": "intent"}\n', mode=ZstdCompressor.FLUSH_FRAME)
    )
    done = ingest(ledger, engine=engine)
    assert "zzz.jsonl.zst cannot be ingested" in done.deferred
    assert done.journals == 1
    assert settings(engine) == before
    assert engine.started().execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (0,)


def settings(engine: Engine) -> list[tuple[str]]:
    return engine.started().execute("SELECT value FROM duckdb_settings() WHERE name = 'wal_autocheckpoint'").fetchall()
