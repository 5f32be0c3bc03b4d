"""A team's ledger as the ledger's rooms know one, and how it is made."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import duckdb

import workbench.display.commands as commands
from workbench.errors import Fault, InputError
from workbench.ledger.database import attached
from workbench.ledger.engine import Engine
from workbench.ledger.kinds import Merged, Store, Writer
from workbench.ledger.schema import migrate
from workbench.ledger.store import Ledger
from workbench.team.address import TeamAddress, address_of_team
from workbench.team.lake import (
    TeamTransactions,
    attach,
    data_folder,
    filled_tables,
    keep_short_rows_in_catalog,
    losses_explained,
    make_turns,
    merged,
    require_rights,
    require_writable,
    share_folders,
)
from workbench.team.server import Server


class TeamStore(Store):
    """A team's ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._team = ledger, address_of_team(ledger)

    def attach(self, engine: Engine) -> None:
        """Attach its newest state, and no other while it is attached."""
        attach(engine, self._team)

    @contextmanager
    def writing(self) -> Iterator["TeamWriter"]:
        """Write it, as others do at the same time."""
        yield TeamWriter(self._team)

    def explained(self) -> AbstractContextManager[None]:
        """Return a lost connection as our error."""
        return losses_explained()

    def folders(self, db: duckdb.DuckDBPyConnection) -> list[Path]:
        """Return that of its rows."""
        return [data_folder(db, self._team)]

    def filled_tables(self, db: duckdb.DuckDBPyConnection) -> dict[str, int] | None:
        """Return the tables that ever had a row."""
        return filled_tables(db)

    def merged(self, db: duckdb.DuckDBPyConnection) -> Merged:
        """Merge its small files, and remove those that only old states name, or none."""
        return merged(db, self._team)

    def require_rights(self) -> None:
        """Make sure that the server's role may write its tables, and this user its rows."""
        with Server(self._team) as server:
            if not server.may_write():
                problem = "its server's role lacks a right that writing needs: it may only read"
                raise InputError(Fault("--ledger", problem, f"`{commands.HELP_LEDGER}` lists them"))
        with attached(self._ledger, frugal=True) as engine, losses_explained():
            require_rights(engine.started(), self._team)


class TeamWriter(Writer):
    """A team's ledger while it is written."""

    def __init__(self, team: TeamAddress) -> None:
        self._team = team

    def attach(self, engine: Engine) -> None:
        """Attach it."""
        attach(engine, self._team, "write")

    def transactions(self, db: duckdb.DuckDBPyConnection) -> TeamTransactions:
        """Return those that take turns, with files on the disk before the catalog names them."""
        return TeamTransactions(db, self._team)

    def opened(self, db: duckdb.DuckDBPyConnection) -> None:
        """Open new folders of rows to others."""
        share_folders(db, self._team)

    def before_rows(self, db: duckdb.DuckDBPyConnection, longest_bytes: int = 0) -> None:
        """Let few and short rows go into the catalog."""
        keep_short_rows_in_catalog(db, longest_bytes)


def create_ledger(ledger: Ledger) -> None:
    """Make a team's ledger where there is none, with the tables of who runs what; one that is there stays as it is.

    Raises:
        InputError: It cannot be made there.
    """
    team = address_of_team(ledger)
    assert team.data is not None
    try:  # first, so that nothing is left half made where it cannot be written
        team.data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            Fault(
                "--data",
                f"{team.data} cannot be made: {error.strerror}",
                "name a folder that all machines can write to",
            )
        ) from error
    require_writable(team.data)
    engine = Engine()
    try:
        attach(engine, team, "create")
        with losses_explained():
            db = engine.started()
            db.execute("USE ledger")
            make_turns(db, team)
            migrate(TeamTransactions(db, team))
            share_folders(db, team)
    finally:
        engine.stop()
    with Server(team) as server:
        server.make_tables()
