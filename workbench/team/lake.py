"""A team's ledger: DuckLake, whose catalog is in PostgreSQL and whose rows are Parquet files that all machines see.

Several machines take in journals at once. What keeps their rows exact is the catalog: every transaction that writes takes a
turn first, by changing the one row of `turns`, so that of two which overlap the later one fails, is undone and tried again.

Source: https://ducklake.select/docs/stable/duckdb/introduction
"""

import contextlib
import os
import random
import secrets
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeVar

import duckdb

import workbench.display.commands as commands
from workbench.errors import Fault, InputError, UnreachableError, WorkbenchError
from workbench.ledger.address import INSTALL, SCHEME
from workbench.ledger.engine import Engine, Transactions, first_line, literal, require_open_files
from workbench.ledger.kinds import Merged
from workbench.scratch import sync
from workbench.team.address import NO_CONNECTION, TeamAddress

T = TypeVar("T")
_CATALOG = "workbench"  # PostgreSQL schema of the catalog's tables
_TABLES = f"__ducklake_metadata_ledger.{_CATALOG}"
_INLINED_ROWS = 50  # fewer than these are kept in the catalog itself: a file for each handful would soon be too many
_LONG_BYTES = 2**16  # but no long texts: PostgreSQL is given them as SQL, at about a second a megabyte
_MARK = "workbench-ledger.id"  # a file in the data folder: an empty folder where it was to be mounted has none
_PATIENCE_S = 60.0
_LONGEST_PAUSE_S = 0.2
_LOST = (
    "server closed the connection", "terminating connection", "no connection to the server", "could not receive data",
    "could not send data", "connection to server", "SSL connection has been closed", "the database system is",
    "Current transaction is aborted", 'Failed to execute query "ROLLBACK"', "Attempted to access index 0 within vector of size 0",
)  # fmt: skip
"""What PostgreSQL's client says of a connection that ended, or that a server which is starting or stopping did not take;
DuckDB of a query after that; and DuckLake of rows of the catalog that ended before their first column."""
KEPT_DAYS = 1
"""How long a state that is not the newest can still be read: a page that is being made, or a notebook."""
_EXTENSIONS = {"ducklake": "duckdb_extension_ducklake", "postgres_scanner": "duckdb_extension_postgres_scanner"}


def attach(engine: Engine, team: TeamAddress, mode: Literal["read", "write", "create"] = "read") -> None:
    """Attach a team's ledger as `ledger`.

    Args:
        mode: `read` sees its newest state, and no other while it is attached; `create` makes it where there is none.

    Raises:
        UnreachableError: Its server does not answer.
        InputError: There is none, or it cannot be opened.
    """
    packaged = _packaged_extensions()
    require_open_files()
    # a file that pip installed is trusted as DuckDB's own are: to check its signature again takes 75 ms each time
    db = engine.started(trusts_extensions=len(packaged) == len(_EXTENSIONS))
    _load_extensions(db, packaged)
    options = [f"METADATA_SCHEMA {literal(_CATALOG)}", f"CREATE_IF_NOT_EXISTS {mode == 'create'}"]
    if team.data is not None:
        options += [f"DATA_PATH {literal(str(team.data))}", f"OVERRIDE_DATA_PATH {mode != 'create'}"]
    if mode == "read":
        options.append("READ_ONLY")
    statement = f"ATTACH {literal(SCHEME + team.patient)} AS ledger ({', '.join(options)}"
    try:
        db.execute(f"{statement})")
        if mode == "read":
            newest = _newest_snapshot(db)
            db.execute("DETACH ledger")
            db.execute(f"{statement}, SNAPSHOT_VERSION {newest})")
        if mode != "create":
            _require_same_folder(db, team)
        if mode != "read":
            keep_short_rows_in_catalog(db)
    except duckdb.Error as error:
        raise _explained(team, error) from error


def _require_same_folder(db: duckdb.DuckDBPyConnection, team: TeamAddress) -> None:
    """Make sure that the data folder is the one that all machines see: rows written elsewhere are lost for the others.

    Raises:
        InputError: It is not.
    """
    folder = data_folder(db, team)
    found = db.execute("SELECT ledger_id FROM ledger.turns").fetchone()
    try:
        seen = folder.joinpath(_MARK).read_text("ascii").strip()
    except OSError:
        seen = ""
    if found is None or seen != found[0]:
        problem = f"{folder} on this machine is not the folder with the rows of {team}"
        raise InputError(
            Fault("--ledger", problem, "mount it there, or say where it is: [ledger] data in workbench.toml")
        )


def _packaged_extensions() -> dict[str, Path]:
    """Return the files of the extensions that packages brought for this version of DuckDB."""
    found = {}
    for name, package in _EXTENSIONS.items():
        spec = find_spec(package)
        for folder in [] if spec is None else spec.submodule_search_locations or ():
            for path in Path(folder).glob(f"extensions/v{duckdb.__version__}/*"):
                found[name] = path
    return found


def _load_extensions(db: duckdb.DuckDBPyConnection, packaged: dict[str, Path]) -> None:
    for name in _EXTENSIONS:
        try:
            db.execute(f"LOAD {literal(str(packaged[name]))}" if name in packaged else f"INSTALL {name}; LOAD {name}")
        except duckdb.Error as error:
            problem = f"DuckDB {duckdb.__version__} cannot load its extension {name}: {first_line(error)}"
            raise InputError(Fault("--ledger", problem, INSTALL)) from error


def _explained(team: TeamAddress, error: duckdb.Error) -> WorkbenchError:
    text = str(error)
    if "explicitly disabled" in text:
        hint = commands.create_ledger(str(team))
        return InputError(Fault("--ledger", f"there is no ledger at {team}", hint))
    if (lost := _lost_connection(error)) is not None and "Unable to connect" not in text:
        return lost
    if "Unable to connect" in text:
        why = first_line(text.partition("failed: ")[2] or text)
        return UnreachableError(f"the ledger's server did not accept the connection: {why} ({NO_CONNECTION})")
    return InputError(Fault("--ledger", f"{team} cannot be opened as a ledger: {first_line(error)}"))


@contextlib.contextmanager
def losses_explained() -> Iterator[None]:
    """Errors of DuckDB that come from a lost connection as ours; all others as they are.

    Raises:
        UnreachableError: The connection was lost.
    """
    try:
        yield
    except duckdb.Error as error:
        if lost := _lost_connection(error):
            raise lost from error
        raise


def _lost_connection(error: duckdb.Error) -> UnreachableError | None:
    text = str(error)
    if not any(words in text for words in _LOST):
        return None
    return UnreachableError("the connection to the ledger's server was lost; the same command tries again")


def _newest_snapshot(db: duckdb.DuckDBPyConnection) -> int:
    """Return the number of the newest state of what is attached as `ledger`."""
    found = db.execute(f"SELECT max(snapshot_id) FROM {_TABLES}.ducklake_snapshot").fetchone()  # noqa: S608 - ours
    assert found is not None
    return int(found[0])


def data_folder(db: duckdb.DuckDBPyConnection, team: TeamAddress) -> Path:
    """Return the folder of Parquet files of what is attached as `ledger`."""
    if team.data is not None:
        return team.data
    query = f"SELECT value FROM {_TABLES}.ducklake_metadata WHERE key = 'data_path'"  # noqa: S608 - ours
    found = db.execute(query).fetchone()
    assert found is not None
    return Path(found[0])


def share_folders(db: duckdb.DuckDBPyConnection, team: TeamAddress) -> None:
    """Make the folders of rows as open to others as the data folder is: DuckDB makes them for their owner alone, whatever the
    umask. Those of other users stay as they are.
    """
    data = data_folder(db, team)
    mode = stat.S_IMODE(data.stat().st_mode)
    for folder in _row_folders(db, data):
        with contextlib.suppress(PermissionError):  # `require_rights` says so, where it matters
            folder.mkdir(exist_ok=True)
            found = folder.stat()
            if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) != mode:
                folder.chmod(mode)


def require_rights(db: duckdb.DuckDBPyConnection, team: TeamAddress) -> None:
    """Make sure that this user may write rows wherever others did.

    Args:
        db: Has the ledger attached.

    Raises:
        InputError: A right is missing.
    """
    data = data_folder(db, team)
    for folder in (data, *_row_folders(db, data)):
        if folder.exists():
            require_writable(folder)


def require_writable(folder: Path) -> None:
    """Make sure that this user may write in a team's folder, by trying.

    Raises:
        InputError: The right is missing.
    """
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        hint = f"whoever made it: `chmod -R u+rwX,g+rwXs {folder}`; `{commands.HELP_LEDGER}` says which rights it needs"
        raise InputError(Fault("--ledger", f"{folder} cannot be written: {error.strerror}", hint)) from error


def _row_folders(db: duckdb.DuckDBPyConnection, data: Path) -> list[Path]:
    """Return the folders in which the rows of each table are, those that hold others first."""
    query = f"""
        SELECT of_schema.path, of_table.path
        FROM {_TABLES}.ducklake_table AS of_table JOIN {_TABLES}.ducklake_schema AS of_schema USING (schema_id)
        WHERE of_table.end_snapshot IS NULL
    """  # noqa: S608 - ours
    found = [(data / schema, data / schema / table) for schema, table in db.execute(query).fetchall()]
    return [*dict.fromkeys(schema for schema, _ in found), *(table for _, table in found)]


def filled_tables(db: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return the tables of what is attached as `ledger` that ever had a row, with the bytes of their files.

    DuckLake has no statistics of the others, and asks its server for them once for each of their columns in every query.
    """
    query = f"""
        SELECT named.table_name, stats.file_size_bytes
        FROM {_TABLES}.ducklake_table AS named JOIN {_TABLES}.ducklake_table_stats AS stats USING (table_id)
        WHERE named.end_snapshot IS NULL
    """  # noqa: S608 - ours
    return dict(db.execute(query).fetchall())


def make_turns(db: duckdb.DuckDBPyConnection, team: TeamAddress) -> None:
    """Make the row by which writers take turns where there is none, and mark the data folder as this ledger's."""
    db.execute("CREATE TABLE IF NOT EXISTS turns (turn BIGINT NOT NULL, ledger_id VARCHAR NOT NULL)")
    if db.execute("SELECT ledger_id FROM turns").fetchone() is not None:
        return
    ledger_id = secrets.token_hex(16)
    mark = data_folder(db, team) / _MARK
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(ledger_id + "\n", "ascii")
    db.execute(f"INSERT INTO turns VALUES (0, {literal(ledger_id)})")  # noqa: S608 - ours


def keep_short_rows_in_catalog(db: duckdb.DuckDBPyConnection, longest_bytes: int = 0) -> None:
    """Let the rows that are written next go into the catalog where they are few and short, and else into files.

    Args:
        longest_bytes: Of them, as text.
    """
    rows = _INLINED_ROWS if longest_bytes <= _LONG_BYTES else 0
    db.execute(f"SET ducklake_default_data_inlining_row_limit = {rows}")


class TeamTransactions(Transactions):
    """Those of a team's ledger: other machines write at the same time, and the system may keep files in memory for long.

    A Parquet file is put on the disk for good before the catalog names it: DuckLake leaves that to the system, and after a
    power cut the catalog would name a file that is torn, with the journal's mark beside it that its rows were taken.

    Args:
        db: Has the ledger attached.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, team: TeamAddress) -> None:
        super().__init__(db)
        self._folder = data_folder(db, team)
        self._on_disk = self._files()

    def begin(self) -> None:
        """Begin one that fails if another commits before it does."""
        self.db.execute("BEGIN")
        # a row that both change: two transactions that only append are both taken, and so is a journal that both have read
        self.db.execute("UPDATE turns SET turn = turn + 1")

    def commit(self) -> None:
        """End it, with its files on the disk for good."""
        fresh = self._files() - self._on_disk
        folders = {folder for path in fresh for folder in path.parents if folder.is_relative_to(self._folder)}
        for path in sorted(fresh | folders):
            with contextlib.suppress(FileNotFoundError, PermissionError):  # another's, who writes it or gave it up
                sync(path)
        self._on_disk |= fresh
        self.db.execute("COMMIT")

    def alone(self, work: Callable[[], T]) -> T:
        """Do something in a transaction, again and again until no other writer came between.

        Raises:
            duckdb.Error: It failed for another reason, or for too long.
        """
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return work()
            except duckdb.TransactionException as error:
                if "conflict" not in str(error) or time.monotonic() > until:
                    raise
                with contextlib.suppress(duckdb.TransactionException):  # a commit that failed has ended it
                    self.db.execute("ROLLBACK")
                time.sleep(random.uniform(0, _LONGEST_PAUSE_S))

    def _files(self) -> set[Path]:
        return set(self._folder.rglob("*.parquet"))


def newest_bytes(db: duckdb.DuckDBPyConnection) -> int:
    """Return the size of the Parquet files that the newest state of what is attached as `ledger` names."""
    query = f"""
        SELECT coalesce(sum(file_size_bytes), 0)
        FROM (
            SELECT file_size_bytes, end_snapshot FROM {_TABLES}.ducklake_data_file
            UNION ALL SELECT file_size_bytes, end_snapshot FROM {_TABLES}.ducklake_delete_file
        )
        WHERE end_snapshot IS NULL
    """  # noqa: S608 - ours
    found = db.execute(query).fetchone()
    assert found is not None
    return int(found[0])


def merged(db: duckdb.DuckDBPyConnection, team: TeamAddress) -> Merged:
    """Merge the small files of what is attached as `ledger`, and remove those that only old states name, or none."""
    old = f"older_than => (now() - INTERVAL {KEPT_DAYS} DAY)::TIMESTAMPTZ"
    folder = data_folder(db, team)
    before, transactions = _bytes_in(folder), TeamTransactions(db, team)

    def rewrite(call: str) -> None:
        db.execute(f"BEGIN; CALL {call}('ledger')")  # takes no turn: no row changes that another writer goes by
        transactions.commit()

    for call in ("ducklake_flush_inlined_data", "ducklake_merge_adjacent_files"):
        transactions.alone(partial(rewrite, call))
    for call in ("ducklake_expire_snapshots", "ducklake_cleanup_old_files", "ducklake_delete_orphaned_files"):
        db.execute(f"CALL {call}('ledger', {old})")
    after = _bytes_in(folder)
    return Merged(before, after, max(0, after - newest_bytes(db)), KEPT_DAYS)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))
