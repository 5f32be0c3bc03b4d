"""When a scheduled job's occasions are: systemd's calendar events and crontab's five fields, on this machine's clock."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from dateutil.tz import tzlocal
from oncalendar import BaseIterator, OnCalendar, OnCalendarError, TzIterator, parse_tz

from workbench.errors import Fault, InputError
from workbench.job_file import ScheduleTable

_TEN_YEARS = timedelta(days=3650)
_CLOCKS_JUMP = timedelta(hours=3)
_LONG_AGO = datetime(1971, 1, 1, tzinfo=UTC)
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ALL_YEARS = 2200 - 1970
_YEARS = (1970, 9000)  # calendar arithmetic overflows near the limits of `datetime`


def _here() -> tzinfo:
    """This machine's zone; dateutil's is wrong where winter time is the one that is put forward or back (Dublin, Casablanca)."""
    named = os.environ.get("TZ", "").lstrip(":")
    try:
        if named:
            return ZoneInfo(named)
        with Path("/etc/localtime").open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        return tzlocal()  # type: ignore[no-any-return]  # of an untyped package


def occasion_name(moment: datetime) -> str:
    """An occasion as the ledger names it: its moment in UTC, with seconds where there are any."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%SZ}" if utc.second else f"{utc:%Y-%m-%dT%H:%MZ}"


def named_occasion(given: str) -> str:
    """An occasion that a user names, as the ledger does: a day as given, a time in UTC.

    Args:
        given: Such as 2026-11-21, 2026-11-21T02:00 on this machine's clock, or today.

    Raises:
        InputError: It is none of these.
    """
    if given == "today":
        return f"{datetime.now().astimezone():%Y-%m-%d}"
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
    """What is wrong with a schedule, as (key, text)."""
    if (schedule.on_calendar is None) == (schedule.cron is None):
        yield "on_calendar", "give either on_calendar or cron"
        return
    if schedule.cron is not None:
        fault = _cron_fault(schedule.cron)
        if fault:
            expected = "expected five fields (minute hour day month weekday), such as 0 2 * * 1-5"
            yield "cron", f"{schedule.cron!r} is not a valid crontab schedule: {fault}; {expected}"
        return
    if not _lines(schedule):
        yield "on_calendar", "must name at least one time"
    for line in _lines(schedule):
        fault = _calendar_fault(line)
        if fault:
            expected = 'expected systemd\'s syntax, such as "Mon..Fri 02:00" (`man systemd.time`)'
            yield "on_calendar", f"{line!r} is not a valid calendar event: {fault}; {expected}"


def following(schedule: ScheduleTable, after: datetime) -> Iterator[datetime]:
    """The occasions after a moment, in UTC and in order."""
    local = (after - _CLOCKS_JUMP if _clock_jumps(schedule, after) else after).astimezone(_here())
    found: Iterator[datetime] = (
        OnCalendar("\n".join(_lines(schedule)), local) if schedule.cron is None else CronSim(schedule.cron, local)
    )
    last = after
    for moment in found:
        utc = moment.astimezone(UTC)
        if utc > last:  # in the hour that comes twice, a moment may come twice too
            last = utc
            yield utc


def _clock_jumps(schedule: ScheduleTable, near: datetime) -> bool:
    """Whether a clock that the schedule goes by is put forward or back around a moment."""
    named = (parse_tz(line.split()[-1]) for line in _lines(schedule) if line.split())
    clocks = [_here(), *(zone for zone in named if zone is not None)]
    before, behind = near - _CLOCKS_JUMP, near + _CLOCKS_JUMP
    return any(before.astimezone(zone).utcoffset() != behind.astimezone(zone).utcoffset() for zone in clocks)


def newest(schedule: ScheduleTable, now: datetime) -> datetime | None:
    """The last occasion that has come by `now`, in UTC; None where there was none in the last ten years."""
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


def as_calendar_events(schedule: ScheduleTable) -> list[str]:
    """The schedule as `OnCalendar=` lines of a systemd timer."""
    if schedule.cron is None:
        return _lines(schedule)
    cron = CronSim(schedule.cron, datetime.now(UTC))
    time = f"{_listed(cron.hours, 24, _event)}:{_listed(cron.minutes, 60, _event)}:00"
    months, days = _listed(cron.months, 12, _event), _listed(cron.days, 31, _event)
    weekdays = {(int(str(day)) - 1) % 7 for day in cron.weekdays}  # crontab's 0 and 7 are Sunday
    named = "" if len(weekdays) == 7 else _listed(weekdays, 7, _weekday) + " "
    if cron.day_and:
        return [f"{named}*-{months}-{days} {time}"]
    if not named or days == "*":  # either of them, and one is every day
        return [f"*-{months}-* {time}"]
    return [f"{named}*-{months}-* {time}", f"*-{months}-{days} {time}"]


def as_crontab_times(schedule: ScheduleTable) -> list[str]:
    """The schedule as the time fields of crontab lines.

    Raises:
        ValueError: A crontab cannot express it.
    """
    return (
        [" ".join(schedule.cron.split())]
        if schedule.cron is not None
        else [_crontab_time(line) for line in _lines(schedule)]
    )


def _crontab_time(line: str) -> str:
    try:
        event = BaseIterator(line, datetime(2000, 1, 1))  # noqa: DTZ001 - only taken apart
    except OnCalendarError as error:  # it was understood with a zone
        raise ValueError(f"{line!r} names a time zone, but a crontab uses this machine's") from error
    if event.seconds != {0} or len(event.years) != _ALL_YEARS or event.any_reverse_day:
        raise ValueError(f"a crontab supports no seconds, years or last days of a month, but {line!r} uses one")
    days, weekdays = _listed(event.days, 31, _field), _listed({day + 1 for day in event.weekdays}, 7, _field)
    if days != "*" and weekdays != "*":
        raise ValueError(f"with the days and weekdays of {line!r}, a crontab matches either, systemd only both")
    months, hours = _listed(event.months, 12, _field), _listed(event.hours, 24, _field)
    return f"{_listed(event.minutes, 60, _field)} {hours} {days} {months} {weekdays}"


def _event(first: int, last: int) -> str:
    return f"{first:02}" if first == last else f"{first:02}..{last:02}"


def _weekday(first: int, last: int) -> str:
    return _WEEKDAYS[first] if first == last else f"{_WEEKDAYS[first]}..{_WEEKDAYS[last]}"


def _field(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-{last}"


def _listed(values: Iterable[int], size: int, written: Callable[[int, int], str]) -> str:
    """Numbers as a list of ranges; `*` for all of them."""
    ordered = sorted(values)
    if len(ordered) == size:
        return "*"
    gaps = [0, *(place for place, (low, high) in enumerate(pairwise(ordered), 1) if high != low + 1), len(ordered)]
    runs = [ordered[begin:end] for begin, end in pairwise(gaps)]
    return ",".join(written(run[0], run[-1]) for run in runs)


def _lines(schedule: ScheduleTable) -> list[str]:
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
        next(CronSim(cron, datetime.now(UTC)))
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
