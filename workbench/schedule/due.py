"""Which occasion of a job is to be asked now, from its schedule, the clock and what the ledger knows of earlier ones."""

from collections import defaultdict, deque
from datetime import UTC, date, datetime, timedelta
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

import msgspec

import workbench.settings.clock as clock
from workbench.errors import ExitCode, Fault, InputError, WorkbenchError
from workbench.evaluation.ongoing import RUNNING, reading_with_ongoing
from workbench.job.file import ScheduleTable
from workbench.job.job import Job
from workbench.job.occasions import following, newest, occasion_name
from workbench.ledger.queries import reading
from workbench.ledger.rows import OccasionRun
from workbench.ledger.store import Ledger
from workbench.records.endings import SETTLED, RunStatus

ON_TIME = timedelta(minutes=40)
"""How late an occasion may be asked without being a missed one: a first try may fail before anything is on record."""
_MOST_SHOWN = 1000
_UNFINISHED = "unfinished"


class NotDueError(WorkbenchError):
    """What was due no longer is: another process has done it, or a newer occasion is due."""

    exit_code = ExitCode.DONE


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
    """As its newest run ended; `running` where that goes on, `unfinished` where it was killed; without a run `due` where the
    next command runs it, else `missed`."""
    runs: int
    run_id: str | None = None


def due(ledger: Ledger, job: Job, now: datetime) -> Due:
    """Return what a timer that fires at `now` should run.

    An occasion that ended complete, or was stopped by a guard, is not run again; one that ended otherwise is
    resumed, `schedule.retries` times. Only the newest occasion counts, and a missed one runs late only if the
    schedule says so and an earlier one of its occasions was asked.
    """
    schedule = job.timetable
    moment = newest(schedule, now)
    if moment is None:
        return Due(None, "no run is due yet")
    runs = _runs(ledger, job)
    own = _own(schedule, runs, moment)
    name = _name(moment, own)
    if not own:
        if now - moment <= ON_TIME:
            return Due(name, "it has come")
        if _begun(schedule, runs) is None:
            return Due(None, f"the run scheduled for {name} was missed, and the first one never runs late")
        if not schedule.catch_up:
            return Due(None, f"the run scheduled for {name} was missed, and schedule.catch_up is off")
        return Due(name, "it was missed")
    last = own[-1]
    if last.job_path != job.path and Path(last.job_path).exists():
        text = f"another job named {job.name!r} shares its scheduled runs: {last.job_path}"
        raise InputError(Fault(job.where("name"), text, "give each job its own name"))
    if last.status in (*SETTLED, RunStatus.STOPPED):
        return Due(None, f"the run scheduled for {name} is {last.status} (run {last.run_id})")
    tried = sum(run.status != RunStatus.INTERRUPTED for run in own)
    if tried > schedule.retries:
        return Due(None, f"the run scheduled for {name} was given up after {tried} runs (the last is {last.run_id})")
    return Due(name, f"run {last.run_id} left it {last.status or _UNFINISHED}")


def meant_occasion(ledger: Ledger, job: Job, named: str) -> str:
    """Return the occasion that a user means: a day to which the job's schedule gives one time is that time.

    As a day it would be another occasion than the timer's, and be paid for again; one that was asked as a day stays that.

    Raises:
        InputError: It is still to come: its answers would be taken for those of then.
    """
    if _moment(named) > clock.now():
        raise InputError(Fault("--occasion", f"{named} is still to come", "today, or a time that has come"))
    if job.schedule is None or "T" in named:
        return named
    moments, runs = _times_of(job.schedule, named), _runs(ledger, job)
    if len(moments) != 1 or any(run.occasion == named for run in runs.get(_moment(named), [])):
        return named
    return _name(moments[0], _own(job.schedule, runs, moments[0]))


def _times_of(schedule: ScheduleTable, day: str) -> list[datetime]:
    """Return when a day of this machine's clock has an occasion of a schedule; two are as many as are looked for."""
    begins, ends = _moment(day), _moment((date.fromisoformat(day) + timedelta(days=1)).isoformat())
    came = takewhile(lambda moment: moment < ends, following(schedule, begins - timedelta(seconds=1)))
    return list(islice(came, 2))


def _own(schedule: ScheduleTable, runs: dict[datetime, list[OccasionRun]], moment: datetime) -> list[OccasionRun]:
    """Return the runs of an occasion of a schedule.

    What was asked as a day begins with the occasion at its midnight, and is another one where the day has other times.
    """
    asked = runs.get(moment, [])
    timed = [run for run in asked if "T" in run.occasion]
    days = {run.occasion for run in asked}.difference(run.occasion for run in timed)
    return timed if any(len(_times_of(schedule, day)) > 1 for day in days) else asked


def check_still_due(ledger: Ledger, job: Job, occasion: str) -> None:
    """Look again, now that no other process can run the job.

    Raises:
        NotDueError: The occasion was run meanwhile, or a newer one has come.
    """
    found = due(ledger, job, clock.now())
    if found.occasion != occasion:
        raise NotDueError(found.reason)


def occasions_of(ledger: Ledger, job: Job, now: datetime) -> list[Occasion]:
    """Return the newest occasions of a job, oldest first;
    those of its schedule that nothing asked since its first are `missed`, but for one that is still `due`.
    """
    runs, schedule = _runs(ledger, job), job.timetable
    begun, came = _begun(schedule, runs), set[datetime]()
    if begun is not None:
        came = set(deque(takewhile(lambda moment: moment <= now, following(schedule, begun)), maxlen=_MOST_SHOWN))
    found: list[Occasion] = []
    for moment in sorted(came.union(moment for moment in runs if moment <= now))[-_MOST_SHOWN:]:
        own = _own(schedule, runs, moment)
        other = [run for run in runs.get(moment, []) if run not in own]
        if other:
            found.append(_occasion(moment, other))
        if own or moment in came:
            found.append(_occasion(moment, own))
    if found and not found[-1].runs and due(ledger, job, now).occasion == found[-1].occasion:
        found[-1] = msgspec.structs.replace(found[-1], status="due")
    if not any(one.status == _UNFINISHED for one in found):
        return found
    with reading_with_ongoing(ledger, frugal=True) as (_, going_on):
        run_ids = {one.run_id for one in going_on}
    return [msgspec.structs.replace(one, status=RUNNING) if one.run_id in run_ids else one for one in found]


def _begun(schedule: ScheduleTable, runs: dict[datetime, list[OccasionRun]]) -> datetime | None:
    """Return the first occasion of this schedule that was asked; what was asked by hand, or by another schedule, is none.

    A day is named by hand only: midnight may be one of many times of the schedule.
    """
    asked = [moment for moment, own in runs.items() if any("T" in run.occasion for run in own)]
    return next((moment for moment in sorted(asked) if newest(schedule, moment) == moment), None)


def _name(moment: datetime, runs: list[OccasionRun]) -> str:
    """Return the name of an occasion; what was asked as a day stays under that name, as its answers do."""
    return runs[-1].occasion if runs else occasion_name(moment)


def _moment(name: str) -> datetime:
    """Return when an occasion was; a day begins on this machine's clock."""
    return datetime.fromisoformat(name).astimezone(UTC)


def _occasion(moment: datetime, runs: list[OccasionRun]) -> Occasion:
    name = _name(moment, runs)
    if not runs:
        return Occasion(name, "missed", 0)
    return Occasion(name, runs[-1].status or _UNFINISHED, len(runs), runs[-1].run_id)


def _runs(ledger: Ledger, job: Job) -> dict[datetime, list[OccasionRun]]:
    """Return the runs of a job's occasions by when these were: midnight may be named by its day, or as a time."""
    found: dict[datetime, list[OccasionRun]] = defaultdict(list)
    if ledger.exists:
        with reading(ledger, frugal=True) as reader:
            for run in reader.all(OccasionRun, job=job.name):
                found[_moment(run.occasion)].append(run)
    return dict(found)
