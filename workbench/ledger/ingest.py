"""Journals into the ledger's tables: short, idempotent, and never something a run has to wait for."""

import contextlib
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple

import duckdb
import msgspec

import workbench.settings.clock as clock
from workbench.errors import WorkbenchError
from workbench.ledger.correcting import correct_staged
from workbench.ledger.database import opened_for_writing
from workbench.ledger.engine import INGEST_MEMORY_MIB, Engine, Transactions, first_line, literal, pattern_of
from workbench.ledger.entries import KIND_NAMES, KINDS, Answer, Entry, journal_columns, kind_name, plain_insert
from workbench.ledger.journal import JournalWriter
from workbench.ledger.kinds import Store, Writer, store_of
from workbench.ledger.recovery import Counts, Unpacked, read_frames, set_aside
from workbench.ledger.schema import insert_rows, sql
from workbench.ledger.store import LOG, Ledger, LedgerBusyError, is_being_written
from workbench.scratch import ScratchFolder

INGEST_PATIENCE_S = 2.0
"""How long an ingest waits for readers before it leaves the journals to the next one."""
_LEAST_OBJECT_BYTES = 2**20
_CHECKPOINT_EVERY_BYTES = 2**25  # of journal lines: what is committed and not in the file yet takes memory
_MEMORY_FOR_LINE, _MEMORY_FOR_FILE = 12, 3  # measured: times the longest line, times the file
_LONG_LINE_BYTES = 2**20
_PART_BYTES, _LONG_LINES_MIB = 2**25, 48
_MEMORY_FACTORS = (1, 4, 16)  # of what was measured to be enough, should it not be
_AS_WRITTEN = (  # every default of the reader that would look at the path or guess from the content
    "format = 'newline_delimited', records = true, auto_detect = false, hive_partitioning = false, "
    "union_by_name = false, filename = false, ignore_errors = false"
)


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
    forbidden: bool = False
    """Whether they were left because this user lacks a right, which does not pass by itself."""

    def set_aside_messages(self) -> list[str]:
        """Messages about the files that were set aside."""
        torn = [f"a torn journal tail was set aside: {path}" for path in self.torn]
        return torn + [
            f"a journal was damaged on the disk: its unreadable parts are in {path}, and their answers are lost"
            for path in self.damaged
        ]


class _Tables(NamedTuple):
    """Where rows go."""

    db: duckdb.DuckDBPyConnection
    store: Store
    writer: Writer
    transactions: Transactions

    def take(self, content: Unpacked) -> None:
        """Distribute what is staged."""
        self.writer.before_rows(self.db, content.longest_line_bytes)
        distribute(self.db, content.kinds)
        self.writer.before_rows(self.db)


def ingest(
    ledger: Ledger,
    *,
    patience_s: float = INGEST_PATIENCE_S,
    whole: Mapping[str, Unpacked] = MappingProxyType({}),
    engine: Engine | None = None,
) -> Ingested:
    """Ingest every journal whose writer is done or dead into the DuckDB file, and remove it.

    Never raises for a ledger that others use: the journals stay, are read from there, and the next ingest takes them.

    Args:
        patience_s: How long to wait for readers.
        whole: What journals hold that their writer closed, by name; others are walked through to find a torn tail.
        engine: One that `make_file` left running, perhaps; it is stopped when the file is closed.
    """
    if not ledger.journals():
        return Ingested()
    began_at = time.monotonic()
    done = _ingested(ledger, patience_s, whole, engine)
    left = f"; left: {done.deferred}" if done.deferred else ""
    took_s = time.monotonic() - began_at
    LOG.info("ingest: %d journals, %d records in %.2f s%s", done.journals, done.records, took_s, left)
    return done


def record(ledger: Ledger, entries: Iterable[Entry]) -> Ingested:
    """Write entries to a journal of their own, and ingest it.

    Raises:
        JournalFullError: The disk takes no more.
    """
    with contextlib.closing(JournalWriter(ledger.journal_folder)) as journal:
        for entry in entries:
            journal.append(entry)
    return ingest(ledger, whole=journal.whole)


def _ingested(ledger: Ledger, patience_s: float, whole: Mapping[str, Unpacked], engine: Engine | None) -> Ingested:
    store = store_of(ledger)
    for factor in _MEMORY_FACTORS:
        try:
            with (
                ledger.locked(exclusive=True, patience_s=patience_s),
                store.writing() as writer,
                opened_for_writing(ledger, patience_s, engine, writer=writer) as db,
            ):
                return _ingest_all(ledger, _Tables(db, store, writer, writer.transactions(db)), whole, factor)
        except WorkbenchError as error:
            return Ingested(deferred=str(error), busy=isinstance(error, LedgerBusyError))
        except (duckdb.Error, OSError) as error:  # a full disk, for one: what the journals hold is safe there
            if not lacks_memory(error) or factor == _MEMORY_FACTORS[-1]:
                return Ingested(
                    deferred=f"the ledger cannot be written: {first_line(error)}", forbidden=_is_forbidden(error)
                )
    return Ingested()


def make_file(ledger: Ledger, engine: Engine) -> None:
    """Make the DuckDB file where there is none, so that the first ingest need not; the ingest reports any problem.

    Args:
        engine: Left running, for that ingest.
    """
    if ledger.address.is_made:
        return
    with (
        contextlib.suppress(WorkbenchError, duckdb.Error, OSError),
        ledger.locked(exclusive=True, patience_s=0),
        opened_for_writing(ledger, 0, engine, goes_on=True),
    ):
        pass


def _ingest_all(ledger: Ledger, tables: _Tables, whole: Mapping[str, Unpacked], factor: int) -> Ingested:
    done = Ingested()
    taken: dict[Path, Unpacked] = {}
    for journal in ledger.journals():
        try:
            if is_being_written(journal):
                continue
            with tables.store.explained():
                taken[journal] = _ingest_one(journal, tables, whole.get(journal.name), factor)
        except (duckdb.Error, OSError, WorkbenchError) as error:  # the other journals are ingested all the same
            if lacks_memory(error):
                raise
            with contextlib.suppress(duckdb.TransactionException):  # it may have failed before it began one
                tables.db.execute("ROLLBACK")
            if not done.deferred:
                problem = f"{journal.name} cannot be ingested: {first_line(error)}"
                done = msgspec.structs.replace(done, deferred=problem, forbidden=_is_forbidden(error))
        if sum(content.size_bytes for content in taken.values()) > _CHECKPOINT_EVERY_BYTES:
            done = _removed(tables, taken, done, factor)
    return _removed(tables, taken, done, factor)


def _removed(tables: _Tables, taken: dict[Path, Unpacked], done: Ingested, factor: int) -> Ingested:
    """Remove journals whose rows are committed, once they are on the disk for good; `taken` is empty then."""
    if not taken:
        return done
    longest = max(content.longest_line_bytes for content in taken.values())
    waiting = Unpacked({}, longest, sum(content.size_bytes for content in taken.values()))
    tables.db.execute(f"SET memory_limit = '{memory_mib(waiting, INGEST_MEMORY_MIB) * factor}MiB'")
    tables.writer.keep(tables.db)
    torn, damaged = list(done.torn), list(done.damaged)
    for journal, content in taken.items():
        if content.torn:
            torn.append(str(set_aside(journal, [content.torn], ".torn")))
        if content.damaged:
            damaged.append(str(set_aside(journal, content.damaged, ".damaged")))
        journal.unlink()  # last: until `keep` has returned, its rows may be on the disk here alone
    records = done.records + sum(content.records for content in taken.values())
    done = Ingested(done.journals + len(taken), records, tuple(torn), tuple(damaged), done.deferred)
    taken.clear()
    return done


def _ingest_one(journal: Path, tables: _Tables, known: Unpacked | None, factor: int) -> Unpacked:
    """Ingest one journal, unless that was done before, and return what it held."""
    if known is not None:
        try:
            return tables.transactions.alone(lambda: _ingest_lines(journal, tables, known, factor))
        except (
            duckdb.Error,
            WorkbenchError,
        ) as error:  # it is not as its writer left it: then it is read as others are
            if lacks_memory(error):
                raise
            with contextlib.suppress(duckdb.TransactionException):
                tables.db.execute("ROLLBACK")
    return tables.transactions.alone(lambda: _ingest_lines(journal, tables, None, factor))


def _ingest_lines(journal: Path, tables: _Tables, known: Unpacked | None, factor: int) -> Unpacked:
    db = tables.db
    with ScratchFolder() as scratch:
        content, parts = _parts(journal, scratch.path, known)
        if unknown := sorted(set(content.kinds) - KIND_NAMES):  # no table takes them, and the journal would be removed
            raise WorkbenchError(f"a newer version of workbench wrote it ({', '.join(unknown)}); upgrade this one")
        tables.transactions.begin()
        # within the transaction: an ingest that was killed before it removed the journal would be done twice
        if _is_ingested(db, journal):
            db.execute("ROLLBACK")
            return msgspec.structs.replace(content, kinds={})
        begun_bytes = 0  # what was taken in before stays in memory until the transaction ends
        for lines, held in parts:
            begun_bytes += held.size_bytes
            in_all = msgspec.structs.replace(held, size_bytes=begun_bytes)
            stage(db, lines, held, memory_mib(in_all, INGEST_MEMORY_MIB) * factor)
            tables.take(held)
        insert_rows(db, "ingested_journals", [(journal.name, content.records, clock.now(), content.kinds)])
        db.execute("DROP TABLE IF EXISTS staged")
        tables.transactions.commit()
    return content


def _parts(journal: Path, folder: Path, known: Unpacked | None) -> tuple[Unpacked, list[tuple[Path, Unpacked]]]:
    """Return what a journal holds, and the files to read it from, each small enough for the memory that an ingest may take.

    One that is known to be whole, and has no long lines, DuckDB unpacks itself, and faster.
    """
    if known is not None and known.longest_line_bytes <= _LONG_LINE_BYTES and journal.stat().st_size:
        return known, [(journal, known)]
    parts = _Parts(folder)
    torn, damaged = read_frames(journal, parts.take)
    parts.close()
    held = [counts.unpacked() for _, counts in parts.files]
    kinds: Counter[str] = Counter()
    for part in held:
        kinds.update(part.kinds)
    longest = max((part.longest_line_bytes for part in held), default=0)
    whole = Unpacked(dict(kinds), longest, sum(part.size_bytes for part in held), torn, damaged)
    return whole, [(Path(stream.name), part) for (stream, _), part in zip(parts.files, held, strict=True)]


class _Parts:
    """Spreads the lines of a journal over files; those of one frame stay together."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: list[tuple[IO[bytes], Counts]] = []

    def take(self, content: bytes) -> None:
        """Add the lines of one frame."""
        if not self.files or self.files[-1][1].size_bytes + len(content) > _PART_BYTES:
            self.close()
            self.files.append(((self._folder / f"{len(self.files)}.jsonl").open("wb"), Counts()))
        stream, counts = self.files[-1]
        stream.write(content)
        counts.add(content)

    def close(self) -> None:
        """Write what is left to the last file."""
        if self.files:
            self.files[-1][0].close()


def distribute(db: duckdb.DuckDBPyConnection, names: Collection[str]) -> None:
    """Put what is staged into the tables of the current schema, and judge once more what an earlier version may have judged.

    Args:
        names: Of the kinds that are staged.
    """
    kinds = _kinds(names)
    db.execute(ingest_text(kinds))
    if Answer in kinds:
        correct_staged(db)


def ingest_text(kinds: Iterable[type[Entry]] = KINDS) -> str:
    """Return the SQL that distributes the table `staged` over the ledger's tables.

    Args:
        kinds: Those that may be staged: what a short journal lacks would take most of its time (9 of 12 ms).
    """
    plain = [plain_insert(kind) for kind in kinds if kind.table]
    return "\n".join(plain + [sql("ingest", kind_name(kind)) for kind in kinds if kind.has_file])


def _kinds(names: Collection[str]) -> list[type[Entry]]:
    return [kind for kind in KINDS if kind_name(kind) in names]


def memory_mib(content: Unpacked, usual_mib: int) -> int:
    """Return what DuckDB needs to read lines, in MiB: little more than three times a file of long ones."""
    if content.longest_line_bytes > _LONG_LINE_BYTES:
        return _LONG_LINES_MIB + _MEMORY_FOR_FILE * content.size_bytes // 2**20
    return usual_mib + (_MEMORY_FOR_LINE * content.longest_line_bytes + _MEMORY_FOR_FILE * content.size_bytes) // 2**20


def stage(db: duckdb.DuckDBPyConnection, lines: Path, content: Unpacked, most_mib: int) -> None:
    """Load the lines of a journal into the temporary table `staged`.

    Args:
        lines: The file, packed or not.
        content: What it holds: DuckDB's reader wants to know the longest line.
        most_mib: What DuckDB may take, in MiB.

    Raises:
        WorkbenchError: DuckDB read other records than the journal holds.
    """
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in journal_columns(_kinds(content.kinds)).items())
    limit = max(content.longest_line_bytes + 1, _LEAST_OBJECT_BYTES)
    db.execute(f"SET memory_limit = '{most_mib}MiB'")
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE staged AS SELECT * FROM read_json({literal(pattern_of(lines))}, "  # noqa: S608 - quoted
        f"columns = {{{columns}}}, maximum_object_size = {limit}, {_AS_WRITTEN})"
    )
    # a reader that skips a line, as its defaults may, says nothing; and the journal is removed afterwards
    staged = dict(db.execute("SELECT kind, count(*) FROM staged GROUP BY kind").fetchall())
    if staged != content.kinds:
        raise WorkbenchError(f"DuckDB reads {_counts(staged)} where the journal holds {_counts(content.kinds)}")


def _counts(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "nothing"


def lacks_memory(error: Exception) -> bool:
    """Return whether DuckDB may take more and would then succeed; a commit that lacks memory has an error class of its own."""
    return isinstance(error, duckdb.Error) and "memory_limit" in str(error)  # as all such errors advise


def _is_forbidden(error: Exception) -> bool:
    return isinstance(error, PermissionError) or "Permission denied" in str(error) or "permission denied" in str(error)


def _is_ingested(db: duckdb.DuckDBPyConnection, journal: Path) -> bool:
    name = literal(journal.name)
    found = db.execute(f"SELECT count(*) FROM ingested_journals WHERE name = {name}").fetchone()  # noqa: S608 - quoted
    return bool(found and found[0])
