"""DuckDB started: how much memory it may take, where it spills, and how files are attached to it.

DuckDB interprets paths: folders named `column=value` become columns (Hive partitions), and `*`, `?` and `[` match
other files. Everything here and in `ingest.stage` says explicitly what is meant, so that a folder's name never changes a
record.
"""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

import duckdb

from workbench.errors import Fault, InputError, WorkbenchError, is_full_disk
from workbench.ledger.store import POLL_S, LedgerBusyError, log_of
from workbench.scratch import ScratchFolder

T = TypeVar("T")
INGEST_MEMORY_MIB = 256
"""What DuckDB may take in an ingest, beside the process's own memory; it spills to disk beyond."""
READING_MEMORY_MIB = 1024
MOST_READING_MEMORY_MIB = 4096
"""Where a query does not work with less: texts of hundreds of kilobytes are unpacked thousands at a time."""
FRUGAL_MEMORY_MIB = 40
"""What DuckDB begins with where a run reads its own answers; below it not even small joins work."""
_FILES_NEEDED = 16
DAMAGE = re.compile("Corrupt|checksum|enough bytes")
"""What DuckDB says of a file that was damaged on the disk, or cut off."""
_NO_ROOM = re.compile("No space left|Disk quota exceeded|File too large")
_PARAMETER = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | \$(?P<name>[a-z]\w*)""", re.VERBOSE | re.DOTALL
)
_STORAGE_VERSION = "v1.5.0"  # a file that a newer DuckDB makes by default cannot be opened by an older one
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "python_enable_replacements": False,  # a table's name is never a variable of ours
    "autoinstall_known_extensions": False,  # nothing that a file says loads code
    "autoload_known_extensions": False,
    # of files that are made: one of twenty answers takes 2 MB, and not 7, and a run's rows are written to it in half the time
    "default_block_size": 2**16,
}


class Engine:
    """DuckDB without a file, started (in 10 to 20 ms) when it is first needed; one thread at a time uses it.

    Each one spills to a private folder of its own: DuckDB names these files alike in every database, so that two which
    share a folder overwrite each other's.

    Args:
        memory_mib: What it may take; it spills to disk beyond.
        threads: How many; None takes one for each core.
    """

    def __init__(self, memory_mib: int = INGEST_MEMORY_MIB, threads: int | None = 1) -> None:
        self.memory_mib = memory_mib
        self._settings = _SETTINGS | ({} if threads is None else {"threads": threads})
        self._db: duckdb.DuckDBPyConnection | None = None
        self._scratch: ScratchFolder | None = None

    def started(self, *, trusts_extensions: bool = False) -> duckdb.DuckDBPyConnection:
        """Return the connection to an empty database in memory, to which files are attached.

        Args:
            trusts_extensions: When it is started by this call: load extensions without checking their signatures.
        """
        if self._db is None:
            self._scratch = ScratchFolder()
            spill = {"temp_directory": str(self._scratch.path / "spill"), "memory_limit": f"{self.memory_mib}MiB"}
            trust = {"allow_unsigned_extensions": trusts_extensions}
            self._db = duckdb.connect(":memory:", config=self._settings | spill | trust)
        return self._db

    def stop(self) -> None:
        """Close whatever is open; the next use starts afresh."""
        if self._db is not None:
            if _is_usable(self._db):
                self._db.close()
            else:
                _keep_for_good(self._db)
            self._db = None
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    def attach(self, path: Path, name: str, *, read_only: bool = False) -> None:
        """Attach a DuckDB file, creating it if missing.

        What is committed reaches the file with the next `CHECKPOINT`, or not at all: the journals are the log, and are
        removed after it. A log of DuckDB's own would only have to be read back, whole and in memory, after a kill.

        Args:
            name: What it is called in SQL.

        Raises:
            duckdb.Error: It cannot be opened.
        """
        require_open_files()
        options = "READ_ONLY" if read_only else f"STORAGE_VERSION '{_STORAGE_VERSION}', RECOVERY_MODE no_wal_writes"
        self.started().execute(f"ATTACH {literal(str(path))} AS {name} (TYPE duckdb, {options})")

    def confine(self, *folders: Path) -> None:
        """From now on let SQL read files in these folders only, whatever views an attached file brings."""
        db = self.started()
        allowed = [f"{way}/" for folder in folders for way in (folder, pattern_of(folder))]
        db.execute(f"SET allowed_directories = {literal(allowed)}")
        db.execute("SET enable_external_access = false")

    def grow(self, most_mib: int) -> bool:
        """Take twice the memory, at most `most_mib`; whether that is more than before."""
        if self.memory_mib >= most_mib:
            return False
        self.memory_mib = min(2 * self.memory_mib, most_mib)
        if self._db is not None:
            self._db.execute(f"SET memory_limit = '{self.memory_mib}MiB'")
        return True


class Transactions:
    """How a writer begins and ends its transactions; of a file, which has no other writer meanwhile."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self.db = db

    def begin(self) -> None:
        """Begin one."""
        self.db.execute("BEGIN")

    def commit(self) -> None:
        """End it."""
        self.db.execute("COMMIT")

    def alone(self, work: Callable[[], T]) -> T:
        """Do something in a transaction, as if no other writer were there.

        Args:
            work: Begins the transaction and commits it.
        """
        return work()


def _is_usable(db: duckdb.DuckDBPyConnection) -> bool:
    """Return whether a database has not met an internal error of DuckDB."""
    try:
        db.execute("SELECT 1")
    except duckdb.FatalException:
        return False
    except duckdb.Error:  # a transaction that was lost, for one
        pass
    return True


def _keep_for_good(db: duckdb.DuckDBPyConnection) -> None:
    """Let a connection never be closed: closing one that met an internal error within a transaction ends the process."""
    import ctypes  # 2 ms, and hardly ever needed

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


def lacks_room(error: BaseException) -> bool:
    """Return whether an operation failed for want of room on the disk."""
    cause = error.__cause__ if isinstance(error, WorkbenchError) else None  # of an error of a query, as we tell it
    return (
        is_full_disk(error)
        or (isinstance(error, duckdb.IOException) and bool(_NO_ROOM.search(str(error))))
        or (cause is not None and lacks_room(cause))
    )


@contextmanager
def connected(
    engine: Engine,
    patience_s: float,
    path: Path,
    attach: Callable[[Engine], None],
    *,
    goes_on: bool = False,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield an engine with a file attached as `ledger`; one in which anything failed is never used again.

    A log that an older version or another program left is read into memory before anything else, and takes more than an
    ingest may: the file is opened with as much as it needs, up to what the machine has.

    Args:
        patience_s: How long to wait for a program that has the file open.
        goes_on: Leave the engine running, without the file; else it is stopped.

    Raises:
        LedgerBusyError: Another program has the file open.
        InputError: It cannot be opened.
    """
    _open(engine, patience_s, path, attach)
    try:
        yield engine.started()
        if goes_on:
            engine.started().execute("USE memory")
            engine.started().execute("DETACH ledger")
    except BaseException:
        engine.stop()
        raise
    if not goes_on:
        engine.stop()


def _open(engine: Engine, patience_s: float, path: Path, attach: Callable[[Engine], None]) -> None:
    deadline = time.monotonic() + patience_s
    log = log_of(path)
    with contextlib.suppress(OSError):
        engine.memory_mib += log.stat().st_size // 2**20  # measured: enough to take it in, unless texts pack badly
    while True:
        try:
            attach(engine)
        except duckdb.Error as error:
            engine.stop()
            if isinstance(error, duckdb.IOException) and "set lock" in str(error):
                if time.monotonic() > deadline:
                    raise LedgerBusyError(
                        "another program has the ledger open in DuckDB and does not close it"
                    ) from error
                time.sleep(POLL_S)
            elif not (log.exists() and engine.grow(machine_memory_mib())):
                problem = f"{path} cannot be opened as a ledger: {first_line(error)}"
                raise InputError(Fault("--ledger", problem, _remedy(path, error))) from error
        except BaseException:
            engine.stop()
            raise
        else:
            return


def _remedy(path: Path, error: duckdb.Error) -> str:
    """Return what helps where a ledger's file was damaged; empty where it never was one."""
    with contextlib.suppress(OSError):
        if not path.stat().st_size:
            return "the file is empty: restore it from a copy, or remove it to begin a new one"
    if not DAMAGE.search(str(error)):
        return ""
    return f"it was damaged: restore it from a copy; what it had not taken in yet is in {path}.journal"


def require_open_files() -> None:
    """Make sure that files can be opened: in some places DuckDB aborts the process if they cannot.

    Raises:
        OSError: Too many are open.
    """
    with contextlib.ExitStack() as files:
        for _ in range(_FILES_NEEDED):
            files.enter_context(open(os.devnull, "rb"))


def machine_memory_mib() -> int:
    """Return all the memory there is, in MiB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20


def first_line(error: object) -> str:
    """Return what an error of DuckDB says first: the rest is a place in our query, or a stack of its own."""
    return str(error).strip().partition("\n")[0]


def pattern_of(path: Path) -> str:
    """Return a path for DuckDB's readers, to which `*`, `?` and `[` match other files, that names this one alone."""
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path))


def literal(value: object) -> str:
    """Text, True or False, a number, a day, an aware time, a list or dictionary of these, or None, as SQL.

    Parameters are not bound, because the first one makes DuckDB's Python client import pandas (0.5 s, 50 MB), and a query
    that has any is planned twice (duckdb-python issue 300).

    Raises:
        TypeError: It is anything else, or a time without a zone.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(int(value))
        case float():
            return f"'{float(value)!r}'::DOUBLE"  # quoted: without a name for it, 0.5 is a DECIMAL, and nan a column
        case str():
            return "'" + value.replace("'", "''").replace("\0", "' || chr(0) || '") + "'"  # the parser ends at NUL
        case list():
            return f"[{', '.join(map(literal, value))}]"
        case dict():
            return f"MAP {{{', '.join(f'{literal(key)}: {literal(inner)}' for key, inner in value.items())}}}"
        case date() if not isinstance(value, datetime):
            return f"DATE '{value.isoformat()}'"
        case datetime() if value.utcoffset() is not None:
            return f"TIMESTAMP '{value.astimezone(UTC).replace(tzinfo=None).isoformat(' ', 'microseconds')}'"
        case _:
            raise TypeError(f"no SQL is known for {value!r}")


def with_values(query: str, values: Mapping[str, object]) -> str:
    """Return a query with each `$name` replaced by its value as SQL; texts, quoted names and comments stay as they are.

    Raises:
        TypeError: No SQL is known for a value.
        KeyError: The query names a parameter that has no value.
    """
    return _PARAMETER.sub(lambda found: literal(values[found["name"]]) if found["name"] else found[0], query)
