"""How a team's ledger is named."""

import hashlib
import re
from pathlib import Path
from typing import Any

import msgspec
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from workbench.errors import Fault, InputError
from workbench.ledger.address import SCHEME
from workbench.ledger.store import Ledger
from workbench.settings.environment import state_folder

NO_CONNECTION = "is it the server's address, and does it take connections from here?"
_WAITING = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""How long PostgreSQL's client waits, in s, and for what was sent to be received, in ms: by default minutes, or for ever."""


class TeamAddress(msgspec.Struct, frozen=True):
    """Where a team's ledger is."""

    conninfo: str
    """What PostgreSQL's clients are given: keywords and values, or a URI; never a password."""
    patient: str
    """The same with an end to waiting for a server that is silent."""
    data: Path | None = None
    """The folder of Parquet files as this machine sees it; None: where the catalog says."""
    is_shared = True
    is_made = True
    size_bytes = None
    mode = 0o600

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The address, as it is given."""
        return SCHEME + self.conninfo

    label = name

    @property
    def path(self) -> Path:
        """In this machine's state folder, what its locks and journals lie beside."""
        name = hashlib.sha256(self.conninfo.encode()).hexdigest()[:16]
        return state_folder() / "teams" / name / "ledger"


def team_address(text: str, data: Path | None) -> TeamAddress:
    """Return the address of a team's ledger.

    Args:
        text: `ducklake:postgres:` and what PostgreSQL's clients are given.

    Raises:
        InputError: It is not one, or it holds a password.
    """
    conninfo = text.removeprefix(SCHEME).strip()
    if _holds_password(conninfo):  # before anything reads it: an error of PostgreSQL's client would show parts of it
        hint = "put it into ~/.pgpass or PGPASSWORD, where PostgreSQL's own clients look for it"
        raise InputError(Fault("--ledger", "the address holds a password, which others would see", hint))
    try:
        given: dict[str, Any] = conninfo_to_dict(conninfo)
    except ProgrammingError as error:
        hint = f'"{SCHEME}host=db.lab.example dbname=workbench"'
        raise InputError(Fault("--ledger", f"not an address of PostgreSQL: {str(error).strip()}", hint)) from error
    timeout = str(given.get("connect_timeout") or 0)
    if not timeout.isdecimal():
        raise InputError(
            Fault("--ledger", f"connect_timeout is {timeout!r}, not a number of seconds", "connect_timeout=10")
        )
    return TeamAddress(conninfo, make_conninfo(**(_WAITING | given)), data)


def _holds_password(conninfo: str) -> bool:
    """Return whether keywords and values, or a URI, seem to give a password, however malformed they are."""
    before_host = conninfo.partition("://")[2].rpartition("@")[0]
    return bool(re.search(":.", before_host) or re.search(r"password\s*=", conninfo, re.IGNORECASE))


def address_of_team(ledger: Ledger) -> TeamAddress:
    """Return the address of a ledger that is a team's."""
    assert isinstance(ledger.address, TeamAddress)
    return ledger.address
