"""The DuckDB file, or a team's DuckLake, opened, made and brought to the newest schema."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import duckdb

import workbench.clock as clock
from workbench.errors import Fault, InputError, WorkbenchError
from workbench.ledger.correcting import CORRECTING_SCHEMAS, correct_stored
from workbench.ledger.engine import (
    FRUGAL_MEMORY_MIB,
    READING_MEMORY_MIB,
    Engine,
    Transactions,
    connected,
    first_line,
    literal,
    machine_memory_mib,
)
from workbench.ledger.store import LOCK_PATIENCE_S, Ledger, log_of
from workbench.ledger.team import (
    TeamTransactions,
    losses_explained,
    make_turns,
    require_rights,
    require_writable,
    share_folders,
)
from workbench.ledger.team import attach as attach_team
from workbench.ledger.undoing import Undoing
from workbench.outcomes import outcomes_view

_VIEWS = 0  # the "version" under which the digest of a file's views is kept, beside those of the migrations
VIEW_NAMES = (
    "same_name",
    "reduced",
    "reduced_within",
    "scale_of",
    "state_of",
    "cap_of",
    "outcomes",
    "judged_attempts",
    "run_overview",
    "item_outcomes",
    "served_identities",
    "call_identities",
    "item_identities",
    "latest_scores",
    "counted_scores",
    "pass_rates",
    "sample_scores",
    "usage_by_day",
    "route_behaviour",
    "errors_by_kind",
    "probe_runs",
    "call_draws",
)
"""Each builds on tables and on views before it."""
_SQL = resources.files(__package__).joinpath("sql")


@contextmanager
def opened_for_writing(
    ledger: Ledger,
    patience_s: float = LOCK_PATIENCE_S,
    engine: Engine | None = None,
    *,
    goes_on: bool = False,
    undoing: Undoing | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the file read-write at the newest schema, and create it if missing; the exclusive lock must be held.

    Args:
        ledger: Which.
        patience_s: How long to wait for a program that has the file open.
        engine: What opens it, if not one of its own.
        goes_on: Leave the engine running, without the file, for its next use; else it is stopped with all its memory.
        undoing: Keeps what is overwritten in place, for who writes a file in several steps; None: one of its own.

    Raises:
        LedgerBusyError: A process that ignores the lock (a notebook) has the file open.
        UnreachableError: The connection to a team's server was lost.
    """
    if undoing is None and ledger.team is None:
        with (
            Undoing(ledger.file) as own,
            opened_for_writing(ledger, patience_s, engine, goes_on=goes_on, undoing=own) as db,
        ):
            yield db
        return

    def attach(engine: Engine) -> None:
        if ledger.team is not None:
            attach_team(engine, ledger.team, "write")
            return
        db = engine.started()
        if not ledger.file.exists() or not ledger.file.stat().st_size:
            _make(engine, ledger.file)
        db.execute("PRAGMA disable_checkpoint_on_shutdown")  # a file that is not a ledger stays as it is
        engine.attach(ledger.file, "ledger")
        refuse_other_files(db, ledger.path)
        assert undoing is not None
        undoing.keep(db)  # before anything may be written, at closing too
        db.execute("PRAGMA enable_checkpoint_on_shutdown")
        if log_of(ledger.file).exists():  # left by a killed process; DuckDB does not report a failure at closing
            db.execute("CHECKPOINT ledger")
            undoing.keep(db)

    with (
        connected(engine or Engine(), patience_s, ledger.file, attach, goes_on=goes_on) as db,
        losses_explained(ledger.team),
    ):
        db.execute("USE ledger")
        if ledger.team is None:
            migrate(Transactions(db))
        else:
            migrate(TeamTransactions(db, ledger.team))
            share_folders(db, ledger.team)
        yield db


def create_team_ledger(ledger: Ledger) -> None:
    """Make a team's ledger where there is none; one that is there stays as it is.

    Raises:
        InputError: It cannot be made there.
        UnreachableError: Its server does not answer.
    """
    assert ledger.team is not None
    assert ledger.team.data is not None
    try:  # first, so that nothing is left half made where it cannot be written
        ledger.team.data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(Fault("--data", f"{ledger.team.data} cannot be made: {error.strerror}")) from error
    require_writable(ledger.team.data)
    engine = Engine()
    try:
        attach_team(engine, ledger.team, "create")
        with losses_explained(ledger.team):
            db = engine.started()
            db.execute("USE ledger")
            make_turns(db, ledger.team)
            migrate(TeamTransactions(db, ledger.team))
            share_folders(db, ledger.team)
    finally:
        engine.stop()


def require_team_rights(ledger: Ledger) -> None:
    """Make sure that this user may write a team's rows, before anything is spent.

    Raises:
        InputError: A right is missing.
        UnreachableError: Its server does not answer.
    """
    if ledger.team is not None:
        with attached(ledger, frugal=True) as engine, losses_explained(ledger.team):
            require_rights(engine.started(), ledger.team)


@contextmanager
def attached(ledger: Ledger, patience_s: float = LOCK_PATIENCE_S, *, frugal: bool = False) -> Iterator[Engine]:
    """An engine with the file attached read-only as `ledger`, if there is one; of a team's ledger its newest state, which
    stays as it is whatever others write.

    Args:
        ledger: Which.
        patience_s: How long to wait for a writer.
        frugal: Stay small rather than be fast.

    Raises:
        LedgerBusyError: A process that ignores the lock is writing it.
        InputError: The file is not a ledger.
        UnreachableError: The connection to a team's server was lost.
    """

    def attach(engine: Engine) -> None:
        if ledger.team is not None:
            attach_team(engine, ledger.team)
        elif ledger.path.exists():
            engine.attach(ledger.file, "ledger", read_only=True)
            refuse_other_files(engine.started(), ledger.path)

    engine = Engine(FRUGAL_MEMORY_MIB) if frugal else Engine(READING_MEMORY_MIB, threads=None)
    with connected(engine, patience_s, ledger.file, attach), losses_explained(ledger.team):
        yield engine


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
        raise InputError(Fault("--ledger", problem, "name another file"))


@contextmanager
def copied(ledger: Ledger, path: Path) -> Iterator[None]:
    """Write all that the DuckDB file holds, a user's own tables and views among it, to a new file without gaps.

    The ledger stays open meanwhile, so that no other program can write to it.

    Raises:
        WorkbenchError: It cannot be written, or does not hold everything.
    """
    with attached(ledger) as engine:
        try:
            while True:
                try:
                    _copy(engine, path)
                    break
                except duckdb.OutOfMemoryException:
                    engine.started().execute("ROLLBACK")  # the copy opens a transaction
                    engine.started().execute("DETACH fresh")
                    path.unlink(missing_ok=True)
                    if not engine.grow(machine_memory_mib()):
                        raise
        except duckdb.Error as error:
            raise WorkbenchError(f"{ledger.path} cannot be copied to {path}: {first_line(error)}") from error
        if _row_counts(engine.started(), "fresh") != _row_counts(engine.started(), "ledger"):
            raise WorkbenchError(f"the copy of {ledger.path} at {path} does not hold everything")
        yield


def _copy(engine: Engine, path: Path) -> None:
    db = engine.started()
    engine.attach(path, "fresh")
    db.execute("COPY FROM DATABASE ledger TO fresh")
    db.execute("CHECKPOINT fresh")  # a failure at closing is not reported
    db.execute("DETACH fresh")
    engine.attach(path, "fresh", read_only=True)


def _row_counts(db: duckdb.DuckDBPyConnection, database: str) -> list[tuple[str, str, int]]:
    tables = db.execute(
        f"SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = {literal(database)} ORDER BY ALL"  # noqa: S608
    ).fetchall()
    found = []
    for schema, table in tables:
        name = ".".join('"' + part.replace('"', '""') + '"' for part in (database, schema, table))
        counted = db.execute(f"SELECT count(*) FROM {name}").fetchone()  # noqa: S608 - quoted
        found.append((schema, table, counted[0] if counted else 0))
    return found


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


def migrate(transactions: Transactions) -> None:
    """Bring the current database to the newest schema, and its views to those of this version.

    Raises:
        InputError: A newer version of this program made it.
        WorkbenchError: An applied migration was edited.
    """
    transactions.alone(lambda: _migrate(transactions))


def _migrate(transactions: Transactions) -> None:
    db = transactions.db
    applied = dict(_applied(db))
    for version, name, text in migrations():
        digest = hashlib.sha256(text.encode()).hexdigest()
        if version in applied:
            if applied[version] != digest:
                raise WorkbenchError(f"migration {name} is not the one this ledger was made with")
            continue
        transactions.begin()
        db.execute(text)
        if version in CORRECTING_SCHEMAS:
            correct_stored(db)
        insert_row(db, "schema_versions", version, name, digest, clock.now())
        transactions.commit()
    if unknown := set(applied) - {_VIEWS} - {version for version, _, _ in migrations()}:
        raise made_by_newer(max(unknown))
    digest = hashlib.sha256("\n".join(view_texts()).encode()).hexdigest()
    if applied.get(_VIEWS) != digest:
        transactions.begin()
        create_views(db)
        db.execute(f"DELETE FROM schema_versions WHERE version = {_VIEWS}")  # noqa: S608 - a number of ours
        insert_row(db, "schema_versions", _VIEWS, "views", digest, clock.now())
        transactions.commit()


def insert_row(db: duckdb.DuckDBPyConnection, table: str, *values: object) -> None:
    """Append one row to a table of ours."""
    db.execute(f"INSERT INTO {table} VALUES ({', '.join(map(literal, values))})")  # noqa: S608 - quoted


def create_views(db: duckdb.DuckDBPyConnection) -> None:
    """Define the views over the current schema's tables."""
    for text in view_texts():
        db.execute(text)


def view_texts() -> list[str]:
    """The views' definitions, in an order in which each finds what it builds on."""
    return [view_text(name) for name in VIEW_NAMES]


def view_text(name: str) -> str:
    """The definition of a view: from its file, or from the table of outcomes."""
    return outcomes_view() if name == "outcomes" else sql("views", name)


def schema_version(db: duckdb.DuckDBPyConnection) -> int:
    """The newest migration applied to the current database; 0 for none."""
    return max(dict(_applied(db)), default=0)


def made_by_newer(version: int) -> InputError:
    """The error for a ledger with a schema that this version does not know."""
    problem = f"the ledger has schema {version}, made by a newer version of workbench"
    return InputError(Fault("--ledger", problem, "upgrade this one"))


def migrations() -> list[tuple[int, str, str]]:
    """The numbered migrations as (version, name, text), in order."""
    files: list[Traversable] = sorted(_SQL.joinpath("schema").iterdir(), key=lambda file: file.name)
    return [(int(file.name[:4]), file.name, file.read_text("utf-8")) for file in files if file.name.endswith(".sql")]


def table_names() -> set[str]:
    """The tables of the newest schema."""
    return {name for _, _, text in migrations() for name in re.findall(r"CREATE TABLE (\w+)", text)}


def sql(*parts: str) -> str:
    """The text of one `.sql` file, by folder and name."""
    return _SQL.joinpath(*parts[:-1], f"{parts[-1]}.sql").read_text("utf-8")


def _applied(db: duckdb.DuckDBPyConnection) -> list[tuple[int, str]]:
    try:
        return db.execute("SELECT version, sha256 FROM schema_versions").fetchall()
    except duckdb.CatalogException:  # a file that was just made
        return []
