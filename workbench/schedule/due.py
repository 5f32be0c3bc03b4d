"""Which occasion of a job is to be asked now, from its schedule, the clock and what the ledger knows of earlier ones."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from workbench.job import Job
from workbench.ledger.queries import Row, reading
from workbench.ledger.store import Ledger
from workbench.occasions import following, newest, occasion_name

ON_TIME = timedelta(minutes=10)
"""How late a timer may be for its occasion not to be a missed one."""
_SETTLED = ("complete", "stopped", "gate_failed")
_MOST_SHOWN = 1000


class Due(NamedTuple):
    """Whether something is to be asked now."""

    occasion: str | None
    """Its name; None when nothing is due."""
    reason: str
    """Why not, or why again."""


class Occasion(msgspec.Struct, frozen=True):
    """One occasion that has come."""

    occasion: str
    status: str
    """As its newest run ended; `missed` where there is none, `unfinished` where that goes on or was killed."""
    runs: int
    run_id: str | None = None


def due(ledger: Ledger, job: Job, now: datetime) -> Due:
    """What a timer that fires at `now` is to run.

    An occasion that ended complete, or was stopped by a guard, is not asked again; one that ended otherwise is gone on
    with, `schedule.retries` times. Only the newest occasion counts, and one that was missed is made up for only if the
    schedule says so and the job has run by occasion before.
    """
    schedule = job.timetable
    moment = newest(schedule, now)
    if moment is None:
        return Due(None, "no occasion has come yet")
    name, runs = occasion_name(moment), _runs(ledger, job)
    own = runs.get(name, [])
    if not own:
        if now - moment > ON_TIME and not (schedule.catch_up and runs):
            why = "schedule.catch_up is off" if runs else "the first one is not made up for"
            return Due(None, f"occasion {name} was missed, and {why}")
        return Due(name, "it has come")
    last = own[-1]
    if last["status"] in _SETTLED:
        return Due(None, f"occasion {name} is {last['status']} (run {last['run_id']})")
    tried = sum(run["status"] != "interrupted" for run in own)
    if tried > schedule.retries:
        return Due(None, f"occasion {name} was left after {tried} runs (the last is {last['run_id']})")
    return Due(name, f"run {last['run_id']} left it {last['status'] or 'unfinished'}")


def occasions_of(ledger: Ledger, job: Job, now: datetime) -> list[Occasion]:
    """The occasions of a job since its first, oldest first; those that nothing asked are `missed`."""
    runs = _runs(ledger, job)
    names = set(runs)
    if runs:
        begun = min(run["started_at"] for own in runs.values() for run in own).replace(tzinfo=UTC)
        for count, moment in enumerate(following(job.timetable, begun)):
            if moment > now or count >= _MOST_SHOWN:
                break
            names.add(occasion_name(moment))
    return [_occasion(name, runs.get(name, [])) for name in sorted(names)]


def _occasion(name: str, runs: list[Row]) -> Occasion:
    if not runs:
        return Occasion(name, "missed", 0)
    return Occasion(name, runs[-1]["status"] or "unfinished", len(runs), runs[-1]["run_id"])


def _runs(ledger: Ledger, job: Job) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    if ledger.exists:
        with reading(ledger, frugal=True) as reader:
            for row in reader.rows("occasion_runs", job=job.name):
                found[row["occasion"]].append(row)
    return dict(found)
