"""Journals into the DuckDB file: short, idempotent, and never something a run has to wait for."""

import contextlib
import fcntl
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import msgspec

from workbench.errors import WorkbenchError
from workbench.ledger import duckdb
from workbench.ledger.database import insert_row, opened_for_writing, sql
from workbench.ledger.engine import INGEST_MEMORY_MIB, Engine, literal, pattern_of
from workbench.ledger.entries import journal_columns
from workbench.ledger.recovery import Unpacked, set_aside, unpack
from workbench.ledger.store import Ledger, LedgerBusyError
from workbench.scratch import ScratchFolder

INGEST_PATIENCE_S = 2.0
"""How long an ingest waits for readers before it leaves the journals to the next one."""
_LEAST_OBJECT_BYTES = 2**20
_CHECKPOINT_EVERY_BYTES = 64 * 2**20  # of journal lines: what is committed and not in the file yet takes memory
_MEMORY_FOR_LINE, _MEMORY_FOR_FILE = 12, 3  # measured: times the longest line, times the file
_AS_WRITTEN = (  # every default of the reader that would look at the path or guess from the content
    "format = 'newline_delimited', records = true, auto_detect = false, hive_partitioning = false, "
    "union_by_name = false, filename = false, ignore_errors = false"
)
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
    done = Ingested()
    taken: dict[Path, Unpacked] = {}
    for journal in ledger.journals():
        try:
            if not _is_dead(journal):
                continue
            taken[journal] = _ingest_one(journal, db, whole.get(journal.name))
        except (duckdb.Error, OSError, WorkbenchError) as error:  # the other journals are ingested all the same
            with contextlib.suppress(duckdb.TransactionException):  # it may have failed before it began one
                db.execute("ROLLBACK")
            if not done.deferred:
                done = msgspec.structs.replace(done, deferred=f"{journal.name} cannot be ingested: {error}")
        if sum(content.size_bytes for content in taken.values()) > _CHECKPOINT_EVERY_BYTES:
            done = _removed(db, taken, done)
    return _removed(db, taken, done)


def _removed(db: duckdb.DuckDBPyConnection, taken: dict[Path, Unpacked], done: Ingested) -> Ingested:
    """Remove journals whose rows are committed, once the file holds them for good; `taken` is empty then."""
    if not taken:
        return done
    db.execute("CHECKPOINT")
    torn, damaged = list(done.torn), list(done.damaged)
    for journal, content in taken.items():
        if content.torn:
            torn.append(str(set_aside(journal, [content.torn], ".torn")))
        if content.damaged:
            damaged.append(str(set_aside(journal, content.damaged, ".damaged")))
        journal.unlink()
    records = done.records + sum(content.records for content in taken.values())
    done = Ingested(done.journals + len(taken), records, tuple(torn), tuple(damaged), done.deferred)
    taken.clear()
    return done


def _ingest_one(journal: Path, db: duckdb.DuckDBPyConnection, known: Unpacked | None) -> Unpacked:
    """Take one journal in, unless it is in already, and say what it held."""
    content = _staged(journal, db, known)
    db.execute("BEGIN")
    if _is_ingested(db, journal):
        content = msgspec.structs.replace(content, kinds={})
    else:
        db.execute(sql("ingest"))
        insert_row(db, "ingested_journals", journal.name, content.records, datetime.now(UTC), content.kinds)
    db.execute("DROP TABLE staged")
    db.execute("COMMIT")
    return content


def _staged(journal: Path, db: duckdb.DuckDBPyConnection, known: Unpacked | None) -> Unpacked:
    """Load a journal's lines into `staged`; one that is known to be whole DuckDB unpacks itself, and faster."""
    if known is not None:
        with contextlib.suppress(duckdb.Error, WorkbenchError):  # then it is read as others are
            stage(db, journal, known, INGEST_MEMORY_MIB)
            return known
    with ScratchFolder() as scratch:
        lines = scratch.path / "lines.jsonl"
        with lines.open("wb") as stream:
            content = unpack(journal, stream)
        stage(db, lines, content, INGEST_MEMORY_MIB)
    return content


def stage(db: duckdb.DuckDBPyConnection, lines: Path, content: Unpacked, memory_mib: int) -> None:
    """Load the lines of a journal into the temporary table `staged`.

    Args:
        db: Where.
        lines: The file, packed or not.
        content: What it holds: DuckDB's reader wants to know the longest line, and memory for it.
        memory_mib: What DuckDB may take beside that.

    Raises:
        WorkbenchError: DuckDB read other records than the journal holds.
    """
    limit = max(content.longest_line_bytes + 1, _LEAST_OBJECT_BYTES)
    more_mib = (_MEMORY_FOR_LINE * content.longest_line_bytes + _MEMORY_FOR_FILE * content.size_bytes) // 2**20
    db.execute(f"SET memory_limit = '{memory_mib + more_mib}MiB'")
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE staged AS SELECT * FROM read_json({literal(pattern_of(lines))}, "  # noqa: S608 - quoted
        f"columns = {_STAGE_COLUMNS}, maximum_object_size = {limit}, {_AS_WRITTEN})"
    )
    staged = dict(db.execute("SELECT kind, count(*) FROM staged GROUP BY kind").fetchall())
    if staged != content.kinds:
        raise WorkbenchError(f"DuckDB reads {_counts(staged)} where the journal holds {_counts(content.kinds)}")


def _counts(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "nothing"


def _is_ingested(db: duckdb.DuckDBPyConnection, journal: Path) -> bool:
    name = literal(journal.name)
    found = db.execute(f"SELECT count(*) FROM ingested_journals WHERE name = {name}").fetchone()  # noqa: S608 - quoted
    return bool(found and found[0])


def _is_dead(journal: Path) -> bool:
    """Whether the writer of a journal no longer holds its lock; nobody opens one again."""
    fd = os.open(journal, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True
