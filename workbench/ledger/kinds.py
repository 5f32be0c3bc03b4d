"""What differs between a DuckDB file and a team's ledger: how each is attached, written, kept and read."""

import contextlib
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import duckdb

from workbench.errors import Fault, InputError
from workbench.ledger.address import FileAddress, team_room
from workbench.ledger.engine import Engine, Transactions
from workbench.ledger.schema import migrate
from workbench.ledger.store import Ledger, LedgerBusyError, log_of
from workbench.ledger.undoing import Undoing, undo_of, undo_torn_write


class Merged(NamedTuple):
    """What compacting did to a ledger's folder, in bytes."""

    before_bytes: int
    after_bytes: int
    older_bytes: int
    """Of the bytes after, those that the newest state does not name; they are kept for `kept_days`."""
    kept_days: int
    set_aside: tuple[str, ...] = ()
    """Messages about journals that were damaged."""


class Writer(Protocol):
    """A ledger while it is written; of a file the exclusive lock must be held. Each kind overrides what differs."""

    def attach(self, engine: Engine) -> None:
        """Attach it as `ledger`, and make the file where there is none."""

    def transactions(self, db: duckdb.DuckDBPyConnection) -> Transactions:
        """Return how this writer begins and ends its transactions."""

    def opened(self, db: duckdb.DuckDBPyConnection) -> None:
        """Do what is to be done once its schema is the newest: nothing."""
        return

    def before_rows(self, db: duckdb.DuckDBPyConnection, longest_bytes: int = 0) -> None:
        """Prepare for rows of which the longest has so many bytes as text: nothing."""
        return

    def keep(self, db: duckdb.DuckDBPyConnection) -> None:
        """Put what is committed on the disk for good: nothing where a commit does that."""
        return


class Store(Protocol):
    """A ledger of one kind. Each kind overrides what differs; what a query reads is open already then."""

    def attach(self, engine: Engine) -> None:
        """Attach it read-only as `ledger`, if there is one."""

    def writing(self) -> AbstractContextManager[Writer]:
        """Write it, from before it is attached until after it is closed."""

    def explained(self) -> AbstractContextManager[None]:
        """DuckDB's errors that come from a lost connection as ours, where there is one; all others as they are."""
        return contextlib.nullcontext()

    def restore(self, patience_s: float) -> None:
        """Undo a write that was interrupted, unless others read just now; nothing where none is ever half done."""
        return

    def folders(self, db: duckdb.DuckDBPyConnection) -> list[Path]:
        """Return the folders that a query reads, beside those of this machine."""
        return []

    def filled_tables(self, db: duckdb.DuckDBPyConnection) -> dict[str, int] | None:
        """Return the tables that ever had a row, with their bytes; None where a table costs nothing to ask."""
        return None

    def merged(self, db: duckdb.DuckDBPyConnection) -> Merged | None:
        """Merge small files and remove those that nothing names; None of a kind that is rewritten as a whole."""
        return None

    def require_rights(self) -> None:
        """Make sure that this user may write it, before anything is spent; nothing where opening it says what is missing.

        Raises:
            InputError: A right is missing.
            UnreachableError: Its server does not answer.
        """
        return


def store_of(ledger: Ledger) -> Store:
    """Return the ledger as one of its kind."""
    if isinstance(ledger.address, FileAddress):
        return FileStore(ledger)
    found: Store = team_room().TeamStore(ledger)
    return found


class FileStore(Store):
    """A ledger in a DuckDB file."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def attach(self, engine: Engine) -> None:
        """Attach it read-only, if there is one."""
        if self._ledger.path.exists():
            engine.attach(self._ledger.file, "ledger", read_only=True)
            refuse_other_files(engine.started(), self._ledger.path)

    @contextmanager
    def writing(self) -> Iterator["FileWriter"]:
        """Write it; what is overwritten is kept until it is closed."""
        with Undoing(self._ledger.file) as undoing:
            yield FileWriter(self._ledger, undoing)

    def restore(self, patience_s: float) -> None:
        """Undo a torn write: while no process writes, `.undo` is there only if one was interrupted."""
        with self._ledger.locked(exclusive=False, patience_s=patience_s):
            was_interrupted = undo_of(self._ledger.file).exists()
        if was_interrupted:
            with contextlib.suppress(LedgerBusyError, OSError), self._ledger.locked(exclusive=True, patience_s=0):
                undo_torn_write(self._ledger.file)  # where others read just now, one of them has, or the next one does


class FileWriter(Writer):
    """A DuckDB file while it is written.

    Args:
        undoing: Keeps what is overwritten in place.
    """

    def __init__(self, ledger: Ledger, undoing: Undoing) -> None:
        self._ledger, self._undoing = ledger, undoing

    def attach(self, engine: Engine) -> None:
        """Attach it, and make it where there is none."""
        file, db = self._ledger.file, engine.started()
        if not file.exists() or not file.stat().st_size:
            _make(engine, file)
        db.execute("PRAGMA disable_checkpoint_on_shutdown")  # a file that is not a ledger stays as it is
        engine.attach(file, "ledger")
        refuse_other_files(db, self._ledger.path)
        self._undoing.keep(db)  # before anything may be written, at closing too
        db.execute("PRAGMA enable_checkpoint_on_shutdown")
        if log_of(file).exists():  # left by a killed process; DuckDB does not report a failure at closing
            db.execute("CHECKPOINT ledger")
            self._undoing.keep(db)

    def transactions(self, db: duckdb.DuckDBPyConnection) -> Transactions:
        """Plain ones."""
        return Transactions(db)

    def keep(self, db: duckdb.DuckDBPyConnection) -> None:
        """Put what is committed into the file, and keep what its next change overwrites."""
        db.execute("CHECKPOINT")
        self._undoing.keep(db)


def refuse_other_files(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Make sure that what is attached as `ledger` is one.

    Raises:
        InputError: It is another program's DuckDB file.
    """
    try:
        is_ledger = bool(db.execute("SELECT version, sha256 FROM ledger.main.schema_versions LIMIT 1").fetchall())
    except (duckdb.CatalogException, duckdb.BinderException):
        is_ledger = False
    if not is_ledger:
        problem = f"{path} is a DuckDB file, but not a ledger; nothing was changed"
        raise InputError(Fault("--ledger", problem, "give another file"))


def _make(engine: Engine, path: Path) -> None:
    """Create the file under another name and rename it: DuckDB cannot open a file whose beginning is cut off."""
    fresh, db = path.with_name(path.name + ".new"), engine.started()
    for left in (fresh, log_of(fresh)):  # by a process that was killed here
        left.unlink(missing_ok=True)
    engine.attach(fresh, "fresh")
    db.execute("USE fresh")
    migrate(Transactions(db))
    db.execute("USE memory")
    db.execute("CHECKPOINT fresh")
    db.execute("DETACH fresh")
    if path.exists():
        shutil.copymode(path, fresh)
    else:
        fresh.chmod(0o600)  # it holds prompts and answers
    log_of(path).unlink(missing_ok=True)  # of a file that is no more; it fits no other
    fresh.replace(path)
