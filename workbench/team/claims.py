"""Which run of a job there is: one at a time over all machines, until its answers are in the ledger that all of them read."""

import contextlib
import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import workbench.display.commands as commands
from workbench.display.text import plural
from workbench.errors import Fault, InputError, LockHeldError
from workbench.ledger.store import Ledger
from workbench.team.server import Cursor, Server, rows, who

CLAIM_S = 90.0
_MACHINE = "machine.id"
_FIND = """
    SELECT run_id, job, machine, host, username, to_send, since, expires_at > clock_timestamp() AS is_live
    FROM workbench_live.runs
"""
_CLAIM = """
    INSERT INTO workbench_live.runs (run_id, job, apart, machine, host, username, pid, expires_at)
    VALUES (%(run_id)s, %(job)s, %(apart)s, %(machine)s, %(host)s, %(username)s, %(pid)s,
        clock_timestamp() + make_interval(secs => %(for_s)s))
"""
_RENEW = """
    UPDATE workbench_live.runs
    SET expires_at = clock_timestamp() + make_interval(secs => %(for_s)s), to_send = %(to_send)s
    WHERE run_id = %(run_id)s
"""


class Claim(NamedTuple):
    """A run that other machines know of."""

    run_id: str
    job: str
    machine: str
    host: str
    username: str
    to_send: int | None
    """How many requests it was to send; None: it had not begun."""
    since: datetime
    is_live: bool
    """Whether it said lately that it goes on."""

    @property
    def where(self) -> str:
        """Its machine and user, for people."""
        return f"on {self.host} by {self.username}, since {self.since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"

    def was_killed_here(self, ledger: Ledger) -> bool:
        """Return whether it is a run of this machine that is over, which the server is not told by a process that was killed."""
        with contextlib.suppress(OSError):
            own = ledger.journal_folder.joinpath(_MACHINE).read_text("ascii").strip()
            return self.machine == own and not ledger.is_running(self.job)
        return False

    @property
    def unfinished(self) -> str:
        """That it is over, for people."""
        begun = f"begun on {self.host} by {self.username} at {self.since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return f"run {self.run_id}, {begun}, ended without handing in its answers"


def machine_of(journals: Path) -> str:
    """Return the machine whose journals are in a folder; it goes where the folder goes.

    Raises:
        InputError: The folder cannot be written.
    """
    mark = journals / _MACHINE
    try:
        with contextlib.suppress(FileNotFoundError):
            return mark.read_text("ascii").strip()
        journals.mkdir(parents=True, exist_ok=True)
        fresh = mark.with_suffix(f".{secrets.token_hex(4)}")
        fresh.write_text(secrets.token_hex(16), "ascii")
        with contextlib.suppress(FileExistsError):  # another process was first
            os.link(fresh, mark)
        fresh.unlink()
        return mark.read_text("ascii").strip()
    except OSError as error:
        raise InputError(Fault("--ledger", f"{journals} cannot be written: {error.strerror}")) from error


def claim(
    server: Server, job: str, run_id: str, machine: str, *, is_fresh: bool = False, resumes: bool = False
) -> None:
    """Claim a job for a run, before it looks up what is answered already.

    A run of the same machine that is over without its answers in the ledger gives way: its journals are here. A fresh run is in
    no other's way, and none in its: its answers are a generation of their own.

    Args:
        job: That no other process of this machine runs.
        resumes: Whether it resumes an earlier run, which may have been a fresh one.

    Raises:
        LockHeldError: The job runs on another machine, or ran there and its answers are not in the ledger.
    """
    host, username = who()
    with server.transaction() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", [job])
        if not is_fresh:
            in_way = _found(cursor, "job = %(of)s" if resumes else "job = %(of)s AND apart = ''", job)
            for other in in_way:
                if other.machine != machine:
                    raise LockHeldError(_taken(other))
            cursor.execute("DELETE FROM workbench_live.runs WHERE job = %s AND apart = ''", [job])
        fields = {"host": host, "username": username, "pid": os.getpid(), "machine": machine, "for_s": CLAIM_S}
        cursor.execute(_CLAIM, fields | {"run_id": run_id, "job": job, "apart": run_id if is_fresh else ""})


def _taken(other: Claim) -> str:
    if other.is_live:
        return f"job {other.job!r} is running already on this ledger, {other.where} (run {other.run_id})"
    lost = "answers" if other.to_send is None else f"up to {plural(other.to_send, 'answer')}"
    return (
        f"job {other.job!r}: {other.unfinished}, and {lost} may be on that machine alone. `{commands.RECOVER}` there "
        f"brings them here, and here `{commands.RECOVER_COPY}` those of a copy of its journals. "
        f"`--leave-behind {other.run_id}` sends what they may hold once more"
    )


def renewed(server: Server, run_id: str, to_send: int | None) -> bool:
    """Say that a run goes on; False where its job was given to another."""
    with server.transaction() as cursor:
        return cursor.execute(_RENEW, {"run_id": run_id, "to_send": to_send, "for_s": CLAIM_S}).rowcount > 0


def say_over(server: Server, run_id: str) -> None:
    """Say that a run is over, though its answers are not handed in."""
    with server.transaction() as cursor:
        cursor.execute("UPDATE workbench_live.runs SET expires_at = clock_timestamp() WHERE run_id = %s", [run_id])


def leave_behind(server: Server, run_id: str) -> None:
    """Do without the answers of a run that another machine has not handed in.

    Raises:
        InputError: There is no such run, or it goes on.
    """
    with server.transaction() as cursor:
        there = _found(cursor, "run_id = %(of)s", run_id)
        if not there:
            raise InputError(Fault("--leave-behind", f"no run {run_id!r} waits for its answers to be handed in"))
        if there[0].is_live:
            raise InputError(Fault("--leave-behind", f"run {run_id} goes on, {there[0].where}"))
        cursor.execute("DELETE FROM workbench_live.runs WHERE run_id = %s", [run_id])


def hand_in(server: Server, machine: str, goes_on: Callable[[Claim], bool], run_id: str | None = None) -> None:
    """Release the jobs of a machine whose journals are all in the ledger: of one run, and of those that are over.

    Args:
        machine: Whose journals they were.
        goes_on: Whether a run is not over yet.
        run_id: The run that is just over.
    """
    with server.transaction() as cursor:
        there = _found(cursor, "machine = %(of)s", machine)
        over = [one.run_id for one in there if one.run_id == run_id or not goes_on(one)]
        cursor.execute("UPDATE workbench_live.spending SET handed_in = true WHERE run_id = ANY(%s)", [over])
        cursor.execute("DELETE FROM workbench_live.runs WHERE run_id = ANY(%s)", [over])


def claims(server: Server) -> list[Claim]:
    """Return the runs that go on, and those whose answers are not handed in, the oldest first."""
    with server.transaction() as cursor:
        return _found(cursor, "true", None)


def _found(cursor: Cursor, condition: str, of: str | None) -> list[Claim]:
    return [Claim(**row) for row in rows(cursor, f"{_FIND} WHERE {condition} ORDER BY since, run_id", of=of)]
