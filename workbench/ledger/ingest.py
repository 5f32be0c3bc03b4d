"""Journals into the DuckDB file: short, idempotent, and never something a run has to wait for."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import msgspec

from workbench.errors import WorkbenchError
from workbench.ledger import duckdb
from workbench.ledger.database import INGEST_MEMORY_MIB, Engine, insert_row, literal, opened_for_writing, sql
from workbench.ledger.entries import journal_columns
from workbench.ledger.recovery import Unpacked, set_aside, unpack
from workbench.ledger.store import Ledger, LedgerBusyError

INGEST_PATIENCE_S = 2.0
"""How long an ingest waits for readers before it leaves the journals to the next one."""
_LEAST_OBJECT_BYTES = 2**20
_WORTH_A_CHECKPOINT = "1MB"  # a commit of so much goes to the file at once, and not to the write-ahead log first
_MEMORY_FOR_LINE, _MEMORY_FOR_FILE = 12, 3  # measured: times the longest line, times the file
_STAGE_COLUMNS = "{" + ", ".join(f"{name}: '{kind}'" for name, kind in journal_columns().items()) + "}"


class Ingested(msgspec.Struct, frozen=True):
    """What an ingest did."""

    journals: int = 0
    records: int = 0
    torn: tuple[str, ...] = ()
    """Files that hold what followed the last whole frame of a journal whose process died while writing."""
    damaged: tuple[str, ...] = ()
    """Files that hold what lay between whole frames of a journal and cannot be read."""
    deferred: str = ""
    """Why journals were left for the next ingest; empty when none were."""
    busy: bool = False
    """Whether they were left because another process has the ledger."""

    def asides(self) -> list[str]:
        """What is to be said of the files that were set aside."""
        torn = [f"a torn journal tail was set aside: {path}" for path in self.torn]
        return torn + [
            f"a journal was damaged on the disk: what cannot be read of it is in {path}, the answers in there are lost"
            for path in self.damaged
        ]


def ingest(
    ledger: Ledger,
    *,
    patience_s: float = INGEST_PATIENCE_S,
    whole: Mapping[str, Unpacked] = MappingProxyType({}),
    engine: Engine | None = None,
) -> Ingested:
    """Take every journal whose writer is done or dead into the DuckDB file, and remove it.

    Never raises for a ledger that others use: the journals stay, are read from there, and the next ingest takes them.

    Args:
        ledger: Which.
        patience_s: How long to wait for readers.
        whole: What journals hold that their writer closed, by name; others are walked through to find a torn tail.
        engine: One that `make_file` left running, perhaps; it is stopped when the file is closed.
    """
    if not ledger.journals():
        return Ingested()
    try:
        with (
            ledger.locked(exclusive=True, patience_s=patience_s),
            opened_for_writing(ledger, patience_s, engine) as db,
        ):
            return _ingest_all(ledger, db, whole)
    except WorkbenchError as error:
        return Ingested(deferred=str(error), busy=isinstance(error, LedgerBusyError))
    except (duckdb.Error, OSError) as error:  # a full disk, for one: what the journals hold is safe there
        return Ingested(deferred=f"the ledger cannot be written: {error}")


def make_file(ledger: Ledger, engine: Engine) -> None:
    """Make the DuckDB file where there is none, so that the first ingest need not; what hinders that the ingest says.

    Args:
        ledger: Which.
        engine: Goes on, for that ingest.
    """
    if ledger.path.exists():
        return
    with (
        contextlib.suppress(WorkbenchError, duckdb.Error, OSError),
        ledger.locked(exclusive=True, patience_s=0),
        opened_for_writing(ledger, 0, engine, goes_on=True),
    ):
        pass


def _ingest_all(ledger: Ledger, db: duckdb.DuckDBPyConnection, whole: Mapping[str, Unpacked]) -> Ingested:
    done = records = 0
    torn: list[str] = []
    damaged: list[str] = []
    deferred = ""
    journals = ledger.journals()
    if len(journals) == 1:  # of many the log takes the commits more quickly
        db.execute(f"SET wal_autocheckpoint = '{_WORTH_A_CHECKPOINT}'")
    for journal in journals:
        try:
            with _dead_journal(journal) as dead:
                if not dead:
                    continue
                content = _ingest_one(journal, db, whole.get(journal.name))
                if content.torn:
                    torn.append(str(set_aside(journal, [content.torn], ".torn")))
                if content.damaged:
                    damaged.append(str(set_aside(journal, content.damaged, ".damaged")))
                journal.unlink()  # committed: DuckDB has synced it
        except (duckdb.Error, OSError) as error:  # the others go on
            with contextlib.suppress(duckdb.TransactionException):  # it may have failed before it began one
                db.execute("ROLLBACK")
            deferred = deferred or f"{journal.name} cannot be ingested: {error}"
        else:
            done, records = done + 1, records + content.records
    return Ingested(done, records, tuple(torn), tuple(damaged), deferred)


def _ingest_one(journal: Path, db: duckdb.DuckDBPyConnection, known: Unpacked | None) -> Unpacked:
    """Take one journal in, unless it is in already, and say what it held."""
    content = _staged(journal, db, known)
    db.execute("BEGIN")
    if _is_ingested(db, journal):
        content = msgspec.structs.replace(content, records=0)
    else:
        db.execute(sql("ingest"))
        insert_row(db, "ingested_journals", journal.name, content.records, datetime.now(UTC))
    db.execute("DROP TABLE staged")
    db.execute("COMMIT")
    return content


def _staged(journal: Path, db: duckdb.DuckDBPyConnection, known: Unpacked | None) -> Unpacked:
    """Load a journal's lines into `staged`; one that is known to be whole DuckDB unpacks itself, and faster."""
    if known is not None:
        with contextlib.suppress(duckdb.Error):  # then it is read as others are
            stage(db, journal, known, INGEST_MEMORY_MIB)
            if db.execute("SELECT count(*) FROM staged").fetchone() == (known.records,):
                return known
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as lines:
        content = unpack(journal, lines.file)
        stage(db, Path(lines.name), content, INGEST_MEMORY_MIB)
    return content


def stage(db: duckdb.DuckDBPyConnection, lines: Path, content: Unpacked, memory_mib: int) -> None:
    """Load the lines of a journal into the temporary table `staged`.

    Args:
        db: Where.
        lines: The file, packed or not.
        content: What it holds: DuckDB's reader wants to know the longest line, and memory for it.
        memory_mib: What DuckDB may take beside that.
    """
    limit = max(content.longest_line_bytes + 1, _LEAST_OBJECT_BYTES)
    more_mib = (_MEMORY_FOR_LINE * content.longest_line_bytes + _MEMORY_FOR_FILE * content.size_bytes) // 2**20
    db.execute(f"SET memory_limit = '{memory_mib + more_mib}MiB'")
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE staged AS SELECT * FROM read_json({literal(str(lines))}, "  # noqa: S608 - quoted
        f"format = 'newline_delimited', columns = {_STAGE_COLUMNS}, maximum_object_size = {limit})"
    )


def _is_ingested(db: duckdb.DuckDBPyConnection, journal: Path) -> bool:
    name = literal(journal.name)
    found = db.execute(f"SELECT count(*) FROM ingested_journals WHERE name = {name}").fetchone()  # noqa: S608 - quoted
    return bool(found and found[0])


@contextmanager
def _dead_journal(journal: Path) -> Iterator[bool]:
    """Hold a journal's lock, if its writer no longer does."""
    fd = os.open(journal, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        dead = True
    except BlockingIOError:
        dead = False
    try:
        yield dead
    finally:
        os.close(fd)
