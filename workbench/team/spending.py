"""What the runs of a team have used and reserved, in the ledger's PostgreSQL: each writes its own row, under one lock for all."""

import contextlib
import time
from collections.abc import Iterator
from typing import Self

import msgspec

from workbench.errors import UnreachableError, WorkbenchError
from workbench.ledger.store import Ledger
from workbench.running.spending import Spender, Spending
from workbench.team.address import TeamAddress, address_of_team
from workbench.team.claims import machine_of
from workbench.team.server import Cursor, Server, rows

_LOCK = "SELECT pg_advisory_xact_lock(hashtext('workbench_live.spending'))"
_ROWS = """
    SELECT spent.run_id, spent.spender, spent.handed_in, extract(epoch FROM spent.written_at)::float8 AS written_at,
        coalesce(run.expires_at > clock_timestamp(), false) AS is_live, run.machine
    FROM workbench_live.spending AS spent LEFT JOIN workbench_live.runs AS run USING (run_id)
"""
_WRITE = """
    INSERT INTO workbench_live.spending AS own (run_id, spender) VALUES (%(run_id)s, %(spender)s)
    ON CONFLICT (run_id) DO UPDATE SET spender = excluded.spender, written_at = clock_timestamp()
"""
_PATIENCE_S = 2
"""The run's own loop waits for these transactions."""
_AGAIN_S = 1.0


class TeamSpending:
    """This run among the others of its team, as `SharedSpending` among those of a machine.

    Args:
        run_id: Of this run, which has claimed its job.
        own: What it has used, which starts with nothing.
    """

    def __init__(self, ledger: Ledger, run_id: str, own: Spender) -> None:
        self._server, self._run_id, self._own = Server(address_of_team(ledger), _PATIENCE_S), run_id, own
        self._ledger, self._machine = ledger, machine_of(ledger.journal_folder)
        self._cursor: Cursor | None = None
        self._wait_until = 0.0
        with self._server.transaction() as cursor:
            cursor.execute(_LOCK)
            there = rows(cursor, _ROWS)
            self.over = {row["run_id"] for row in there if row["handed_in"]}
            if not any(row["is_live"] for row in there):  # none that still counts them
                cursor.execute("DELETE FROM workbench_live.spending WHERE handed_in")
            self._write(cursor)

    def counted(self) -> set[str]:
        """Return the ids of the runs whose rows count, this one's included: the ledger need not be asked of them."""
        with self._server.transaction() as cursor:
            return {row["run_id"] for row in rows(cursor, _ROWS)} - self.over

    @contextlib.contextmanager
    def others(self) -> Iterator[dict[str, Spender] | None]:
        """Yield what other runs have spent, by run id; none of them spends more before the block ends.

        None where the server does not answer.

        Raises:
            UnreachableError: It did not at the end: nothing of the block holds.
        """
        with contextlib.ExitStack() as stack:
            try:
                cursor = (
                    None if time.monotonic() < self._wait_until else stack.enter_context(self._server.transaction())
                )
                found = None if cursor is None else self._read(cursor)
            except WorkbenchError:
                self._wait_until, cursor, found = time.monotonic() + _AGAIN_S, None, None
            self._cursor = cursor
            try:
                yield found
            finally:
                self._cursor = None

    def _read(self, cursor: Cursor) -> dict[str, Spender]:
        cursor.execute(_LOCK)
        found = {}
        for row in rows(cursor, _ROWS):
            if row["run_id"] == self._run_id or row["run_id"] in self.over:
                continue
            spender = found[row["run_id"]] = msgspec.json.decode(row["spender"], type=Spender)
            goes_on = row["is_live"] and not self._was_killed_here(row["machine"], spender.job)
            if not goes_on:  # what it had reserved may have been used, and is never given back
                spender.draw(spender.reserved, row["written_at"])
                spender.reserved = Spending()
        return found

    def _was_killed_here(self, machine: str, job: str) -> bool:
        """Return whether a run of this machine is over, which the server has not noticed yet."""
        return machine == self._machine and not self._ledger.is_running(job)

    def write(self) -> None:
        """Say what this run has used and reserved; what cannot be said now is said with the next request."""
        if self._cursor is not None:
            self._write(self._cursor)
        elif time.monotonic() >= self._wait_until:
            try:
                with self._server.transaction() as cursor:
                    self._write(cursor)
            except UnreachableError:
                self._wait_until = time.monotonic() + _AGAIN_S

    def _write(self, cursor: Cursor) -> None:
        cursor.execute(_WRITE, {"run_id": self._run_id, "spender": msgspec.json.encode(self._own).decode()})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()


def live_team_spenders(team: TeamAddress) -> dict[str, Spender]:
    """Return what the runs of a team have used and reserved whose answers are not all in the ledger, by run id."""
    with Server(team) as server:
        server.make_tables()
        with server.transaction() as cursor:
            return {
                row["run_id"]: msgspec.json.decode(row["spender"], type=Spender)
                for row in rows(cursor, _ROWS)
                if not row["handed_in"]
            }
