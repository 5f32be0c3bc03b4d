"""When a scheduled job's occasions are: systemd's calendar events and crontab's five fields, on this machine's clock."""

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from oncalendar import OnCalendar, OnCalendarError, TzIterator, parse_tz

import workbench.settings.clock as clock
from workbench.errors import Fault, InputError
from workbench.job.file import ScheduleTable

_TEN_YEARS = timedelta(days=3650)
_CLOCKS_JUMP = timedelta(hours=3)
_LONG_AGO = datetime(1971, 1, 1, tzinfo=UTC)
_YEARS = (1970, 9000)  # calendar arithmetic overflows near the limits of `datetime`


def _here() -> tzinfo:
    """Return this machine's zone."""
    named = os.environ.get("TZ", "").lstrip(":")
    try:
        if named:
            return ZoneInfo(named)
        with Path("/etc/localtime").open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        return clock.now().astimezone().tzinfo or UTC  # a rule in place of a name, or no zone at all: as it is now


def occasion_name(moment: datetime) -> str:
    """Return an occasion as the ledger names it: its moment in UTC, with seconds where there are any."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%SZ}" if utc.second else f"{utc:%Y-%m-%dT%H:%MZ}"


def named_occasion(given: str) -> str:
    """Return an occasion that a user names, as the ledger does: a day as given, a time in UTC.

    Args:
        given: Such as 2026-11-21, 2026-11-21T02:00 on this machine's clock, or today.

    Raises:
        InputError: It is none of these.
    """
    if given == "today":
        return f"{clock.now().astimezone():%Y-%m-%d}"
    try:
        moment = datetime.fromisoformat(given)
        if not _YEARS[0] <= moment.year < _YEARS[1]:
            raise ValueError(given)
        with contextlib.suppress(ValueError):  # then it is a time, not a day
            return date.fromisoformat(given).isoformat()
        return occasion_name(moment)
    except (TypeError, ValueError, OverflowError) as error:
        expected = "2026-11-21, 2026-11-21T02:00, or today"
        raise InputError(Fault("--occasion", f"{given!r} is not a valid time", expected)) from error


def problems(schedule: ScheduleTable) -> Iterator[tuple[str, str]]:
    """Return what is wrong with a schedule, as (key, text)."""
    if (schedule.on_calendar is None) == (schedule.cron is None):
        yield "on_calendar", "give either on_calendar or cron"
        return
    if schedule.cron is not None:
        fault = _cron_fault(schedule.cron)
        if fault:
            expected = "expected five fields (minute hour day month weekday), such as 0 2 * * 1-5"
            yield "cron", f"{schedule.cron!r} is not a valid crontab schedule: {fault}; {expected}"
        return
    if not calendar_events(schedule):
        yield "on_calendar", "must name at least one time"
    for line in calendar_events(schedule):
        fault = _calendar_fault(line)
        if fault:
            expected = 'expected systemd\'s syntax, such as "Mon..Fri 02:00" (`man systemd.time`)'
            yield "on_calendar", f"{line!r} is not a valid calendar event: {fault}; {expected}"


def following(schedule: ScheduleTable, after: datetime) -> Iterator[datetime]:
    """Return the occasions after a moment, in UTC and in order."""
    local = (after - _CLOCKS_JUMP if _clock_jumps(schedule, after) else after).astimezone(_here())
    found: Iterator[datetime] = (
        OnCalendar("\n".join(calendar_events(schedule)), local)
        if schedule.cron is None
        else CronSim(schedule.cron, local)
    )
    last = after
    for moment in found:
        utc = moment.astimezone(UTC)
        if utc > last:  # in the hour that comes twice, a moment may come twice too
            last = utc
            yield utc


def _clock_jumps(schedule: ScheduleTable, near: datetime) -> bool:
    """Return whether a clock that the schedule goes by is put forward or back around a moment."""
    named = (parse_tz(line.split()[-1]) for line in calendar_events(schedule) if line.split())
    clocks = [_here(), *(zone for zone in named if zone is not None)]
    before, behind = near - _CLOCKS_JUMP, near + _CLOCKS_JUMP
    return any(before.astimezone(zone).utcoffset() != behind.astimezone(zone).utcoffset() for zone in clocks)


def newest(schedule: ScheduleTable, now: datetime) -> datetime | None:
    """Return the last occasion that has come by `now`, in UTC; None where there was none in the last ten years."""
    whole = now.astimezone(UTC).replace(microsecond=0)
    found, none_after = None, whole
    since = whole - _TEN_YEARS
    while since < none_after:  # bisected: whether one has come after a moment is cheap to say, to list them all is not
        middle = since + (none_after - since) // 2
        moment = next(following(schedule, middle.replace(microsecond=0)), None)
        if moment is None or moment > now:
            none_after = middle.replace(microsecond=0)
        else:
            found, since = moment, moment
    return found


def calendar_events(schedule: ScheduleTable) -> list[str]:
    """Its events in systemd's syntax; none where it is a crontab's."""
    given = schedule.on_calendar or []
    return [given] if isinstance(given, str) else given


def _cron_fault(cron: str) -> str:
    if len(cron.split()) != 5 or not cron.isprintable():
        return f"{len(cron.split())} fields"
    if "#" in cron or "L" in cron.upper().replace("JUL", ""):
        return "a crontab supports neither L nor #"
    for field in cron.split():
        for part in field.split(","):
            values, _, step = part.partition("/")
            first, _, last = values.partition("-")
            if step and values != "*" and first in (last, values):  # cronsim reads 5-5/1 as 5 to the end
                return f"{part!r} has a step but no range"
    try:
        next(CronSim(cron, clock.now()))
    except (CronSimError, StopIteration, OverflowError) as error:
        return str(error) or "it never occurs"
    return ""


def _calendar_fault(line: str) -> str:
    if not line.isprintable():
        return "it has an unprintable character"
    try:
        next(TzIterator(line, _LONG_AGO))  # a date in the past is not a fault in the file
    except StopIteration:
        return "there is no such day"
    except (OnCalendarError, OSError, ValueError) as error:
        return str(error) if isinstance(error, OnCalendarError) else "its time zone is unknown"
    return ""
