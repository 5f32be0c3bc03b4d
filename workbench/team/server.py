"""The PostgreSQL through which the machines of a team know of each other.

Everything is said in short transactions and no session keeps a state, so that a pooler may stand between, and the server may
restart. Times are the server's: the clocks of machines need not agree.
"""

import contextlib
import getpass
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row

import workbench.display.commands as commands
from workbench.errors import Fault, InputError, UnreachableError, WorkbenchError
from workbench.team.address import NO_CONNECTION, TeamAddress

Cursor = psycopg.Cursor[DictRow]
_TABLES = """
CREATE SCHEMA IF NOT EXISTS workbench_live;
CREATE TABLE IF NOT EXISTS workbench_live.runs (
    run_id text PRIMARY KEY, job text NOT NULL, apart text NOT NULL, machine text NOT NULL, host text NOT NULL,
    username text NOT NULL, pid integer NOT NULL, to_send bigint, since timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL, UNIQUE (job, apart)
);
CREATE TABLE IF NOT EXISTS workbench_live.holders (
    holder text PRIMARY KEY, endpoint text NOT NULL, machine text NOT NULL, host text NOT NULL,
    username text NOT NULL, pid integer NOT NULL, job text NOT NULL, most integer NOT NULL, wants integer NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS workbench_live.slots (
    endpoint text NOT NULL, number integer NOT NULL, holder text NOT NULL, expires_at timestamptz NOT NULL,
    PRIMARY KEY (endpoint, number)
);
CREATE TABLE IF NOT EXISTS workbench_live.spending (
    run_id text PRIMARY KEY, spender text NOT NULL, handed_in boolean NOT NULL DEFAULT false,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
"""
_NAMES = ["runs", "holders", "slots", "spending"]
_MADE = "SELECT count(to_regclass('workbench_live.' || name)) AS made FROM unnest(%s::text[]) AS name"
_MAY_WRITE = """
    SELECT bool_and(has_table_privilege(schemaname || '.' || tablename, needed)) AS may_write
    FROM pg_tables, unnest(ARRAY['INSERT', 'UPDATE', 'DELETE']) AS needed
    WHERE schemaname IN ('workbench', 'workbench_live')
"""
_LEAST_PATIENCE_S = 2  # the least that libpq waits for a connection
_GRACE_S = 1.0
_MOST_WAITING = "SELECT set_config('lock_timeout', %(most)s, true), set_config('statement_timeout', %(most)s, true)"


class Server:
    """A connection that is made when it is needed, and again after it was lost; one thread at a time uses it.

    Args:
        patience_s: How long a connection, each statement and a transaction may take; None is `connect_timeout` of the address.
    """

    def __init__(self, team: TeamAddress, patience_s: int | None = None) -> None:
        given = int(conninfo_to_dict(team.patient)["connect_timeout"] or 0) if patience_s is None else patience_s
        self._patience_s = max(given, _LEAST_PATIENCE_S)
        self._conninfo = make_conninfo(team.patient, connect_timeout=self._patience_s)
        self._db: psycopg.Connection[DictRow] | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._drop()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """Do something whole or not at all.

        Raises:
            UnreachableError: The server does not answer, or the connection was lost, perhaps after it was done.
            InputError: The server's role may not do it.
            WorkbenchError: The server refuses it for another reason.
        """
        with self._lock:
            try:
                with contextlib.ExitStack() as stack:
                    yield self._begun(stack)
            except psycopg.OperationalError as error:
                self._drop()
                raise UnreachableError(f"the ledger's server: {_first_line(error)}") from error
            except psycopg.errors.InsufficientPrivilege as error:
                problem = f"its server's role lacks a right that runs need: {_first_line(error)}"
                raise InputError(Fault("--ledger", problem, f"`{commands.HELP_LEDGER}` lists them")) from error
            except psycopg.Error as error:
                raise WorkbenchError(f"the ledger's server refuses: {_first_line(error)}") from error

    def _begun(self, stack: contextlib.ExitStack) -> Cursor:
        """Begin a transaction; where the connection of earlier ones was lost since, on a new one."""
        was_there = self._db is not None
        try:
            return self._begun_once(stack)
        except psycopg.OperationalError:
            if not was_there:
                raise
            self._drop()
            return self._begun_once(stack)

    def _begun_once(self, stack: contextlib.ExitStack) -> Cursor:
        if self._db is None or self._db.closed:
            self._db = self._connected()
        with contextlib.ExitStack() as beginning:
            beginning.callback(self._watch(self._db).cancel)
            beginning.enter_context(self._db.transaction())
            cursor = beginning.enter_context(self._db.cursor())
            cursor.execute(_MOST_WAITING, {"most": f"{self._patience_s}s"})
            stack.push(beginning.pop_all())
            return cursor

    def _watch(self, connection: psycopg.Connection[DictRow]) -> threading.Timer:
        """End a connection that is silent for longer than any statement may take: its client would wait without end."""
        watch = threading.Timer(self._patience_s + _GRACE_S, _end, [connection])
        watch.daemon = True
        watch.start()
        return watch

    def _connected(self) -> psycopg.Connection[DictRow]:
        try:
            # prepared statements belong to a session, which a pooler gives to others
            return psycopg.connect(self._conninfo, autocommit=True, prepare_threshold=None, row_factory=dict_row)
        except psycopg.OperationalError as error:
            why = str(error).partition("failed: ")[2] or error
            raise UnreachableError(
                f"the ledger's server did not accept the connection: {_first_line(why)} ({NO_CONNECTION})"
            ) from error

    def make_tables(self) -> None:
        """Make the tables of leases where they are not there yet.

        Raises:
            InputError: The server's role may not make tables.
        """
        with self.transaction() as cursor:
            made = cursor.execute(_MADE, [_NAMES]).fetchone()
            if made is None or made["made"] < len(_NAMES):
                cursor.execute(
                    "SELECT pg_advisory_xact_lock(hashtext('workbench_live'))"
                )  # two that make them at once collide
                cursor.execute(_TABLES)

    def may_write(self) -> bool:
        """Return whether the server's role may write what runs do."""
        self.make_tables()
        with self.transaction() as cursor:
            found = cursor.execute(_MAY_WRITE).fetchone()
            return bool(found and found["may_write"])

    def _drop(self) -> None:
        if self._db is not None:
            with contextlib.suppress(psycopg.Error):
                self._db.close()
        self._db = None


def _end(connection: psycopg.Connection[DictRow]) -> None:
    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)


def rows(cursor: Cursor, statement: str, **parameters: Any) -> list[DictRow]:
    """Return what a query finds."""
    return cursor.execute(statement, parameters).fetchall()


def who() -> tuple[str, str]:
    """Return this machine's name and its user's, as others see them."""
    try:
        return socket.gethostname(), getpass.getuser()
    except (OSError, KeyError):  # a container's user need not have a name
        return socket.gethostname(), "unknown"


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0]
