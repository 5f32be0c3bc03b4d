"""Runs that go on while their ledger is read: those of this machine, and of a team's others."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from workbench.ledger.job_rows import JobRun, JobRuns, RunLine
from workbench.ledger.queries import Reader, reading
from workbench.ledger.store import Ledger
from workbench.running.machines import OtherRun, machines_of

RUNNING = "running"
"""The status, where it is shown, of a run that goes on."""
NOT_ENDED = "not ended"
"""The same of one without a recorded end that does not go on: it was killed, or its machine cannot be seen."""


class Ongoing(msgspec.Struct, frozen=True):
    """A run that goes on."""

    run_id: str
    job: str
    where: str
    """Its machine, its user and since when; empty for this machine."""


R = TypeVar("R", RunLine, JobRun)


@contextmanager
def reading_with_ongoing(ledger: Ledger, *, frugal: bool = False) -> Iterator[tuple[Reader, list[Ongoing]]]:
    """Read a ledger (see `reading`), and yield with it the runs that go on, the oldest first."""
    claims = machines_of(ledger).claims()  # asked before: a run that ends in between is then recorded as ended
    with reading(ledger, frugal=frugal) as reader:
        yield reader, _ongoing(reader, ledger, claims)


def _ongoing(reader: Reader, ledger: Ledger, claims: Sequence[OtherRun]) -> list[Ongoing]:
    jobs = reader.all(JobRuns)
    ended = {one.last_run_id for one in jobs if one.last_status is not None}
    found = {
        one.run_id: Ongoing(one.run_id, one.job, one.where)
        for one in claims
        if one.is_live and one.run_id not in ended and not one.was_killed_here(ledger)
    }
    for job in reversed(jobs):  # a team's server may not have heard of this machine's for a while
        if job.last_status is None and ledger.is_running(job.job):
            found.setdefault(job.last_run_id, Ongoing(job.last_run_id, job.job, ""))
    return list(found.values())


def status_now(run_id: str, recorded: str | None, going_on: Sequence[Ongoing]) -> str | None:
    """Return a run's recorded status, or `running` where it goes on."""
    return recorded or (RUNNING if any(one.run_id == run_id for one in going_on) else None)


def as_now(runs: Sequence[R], going_on: Sequence[Ongoing]) -> list[R]:
    """Return runs with their status of now."""
    return [msgspec.structs.replace(run, status=status_now(run.run_id, run.status, going_on)) for run in runs]
