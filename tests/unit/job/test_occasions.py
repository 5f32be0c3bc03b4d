"""When occasions are: two languages for the same moments, on a clock that jumps."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.job.file import ScheduleTable
from workbench.job.occasions import (
    following,
    newest,
    occasion_name,
    problems,
)

NOW = datetime(2026, 11, 21, 15, 17, 15, 400_000, tzinfo=UTC)


@pytest.fixture(autouse=True)
def in_oslo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Oslo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def moments(schedule: ScheduleTable, after: datetime = NOW, count: int = 30) -> list[datetime]:
    return list(islice(following(schedule, after), count))


def part(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    ranged = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    listed = st.lists(number | ranged, min_size=1, max_size=3).map(lambda parts: ",".join(map(str, parts)))
    return st.just("*") | listed | st.sampled_from(["*/2", "*/5"])


CRONS = st.tuples(part(0, 59), part(0, 23), part(1, 28), part(1, 12), part(0, 7)).map(" ".join)


@settings(max_examples=60)
@given(CRONS)
def test_the_newest_of_a_crontab_schedule_is_the_last_that_came(cron: str) -> None:
    schedule = ScheduleTable(cron=cron)
    assert list(problems(schedule)) == []
    known = moments(schedule, count=3)
    for moment in known:
        assert newest(schedule, moment) == moment
        assert next(following(schedule, moment - timedelta(seconds=1))) == moment


EVENTS = ["Mon..Fri 02:00", "daily", "weekly", "monthly", "quarterly", "*:0/20", "Sat,Sun 10..12:30", "*-*-01,15 04:05"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.parametrize("event", [*EVENTS, "*:*:0/3", "*-*~1 03:00", "02:00 Asia/Tokyo", "Mon *-*-01..07 02:00"])
def test_systemd_means_the_same(event: str) -> None:
    command = ["systemd-analyze", "calendar", "--iterations=5", "--base-time=2026-11-21 15:17:15 UTC", event]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
    utc = [line.split(": ", 1)[1].split(maxsplit=1)[1] for line in said.splitlines() if "(in UTC)" in line]
    found = moments(ScheduleTable(on_calendar=event), NOW.replace(microsecond=0), 5)
    assert utc == [f"{moment:%Y-%m-%d %H:%M:%S} UTC" for moment in found]


def test_the_newest_is_the_last_of_those_that_came() -> None:
    for schedule in (ScheduleTable(cron="*/15 * * * *"), ScheduleTable(on_calendar="*:0/15")):
        assert newest(schedule, NOW) == datetime(2026, 11, 21, 15, 15, tzinfo=UTC)
        on_the_dot = datetime(2026, 11, 21, 15, 15, tzinfo=UTC)
        assert newest(schedule, on_the_dot) == on_the_dot
        assert newest(schedule, on_the_dot - timedelta(microseconds=1)) == on_the_dot - timedelta(minutes=15)
    assert newest(ScheduleTable(on_calendar="2030-01-01"), NOW) is None
    assert newest(ScheduleTable(on_calendar=["02:00", "14:00 UTC"]), NOW) == datetime(2026, 11, 21, 14, tzinfo=UTC)


def test_the_clock_of_this_machine_counts() -> None:
    night = ScheduleTable(on_calendar="02:00")
    assert newest(night, NOW) == datetime(2026, 11, 21, 1, tzinfo=UTC)
    assert newest(night, datetime(2026, 7, 1, 12, tzinfo=UTC)) == datetime(2026, 7, 1, 0, tzinfo=UTC)


def test_the_nights_in_which_the_clock_jumps() -> None:
    skipped = datetime(2026, 3, 28, 12, tzinfo=UTC)
    assert moments(ScheduleTable(on_calendar="02:30"), skipped, 1) == [datetime(2026, 3, 30, 0, 30, tzinfo=UTC)]
    assert moments(ScheduleTable(cron="30 2 * * *"), skipped, 1) == [datetime(2026, 3, 29, 1, 0, tzinfo=UTC)]
    repeated = datetime(2026, 10, 24, 12, tzinfo=UTC)
    for schedule in (ScheduleTable(on_calendar="02:30"), ScheduleTable(cron="30 2 * * *")):
        assert [moment.day for moment in moments(schedule, repeated, 2)] == [25, 26], "once, not twice"


@pytest.mark.parametrize(
    "schedule",
    [
        ScheduleTable(cron="*/15 * * * *"),
        ScheduleTable(cron="30 2,5 * * *"),
        ScheduleTable(on_calendar="*:0/20 Europe/Oslo"),
    ],
)
def test_the_hour_that_comes_twice(schedule: ScheduleTable) -> None:
    begin = datetime(2026, 10, 24, 21, tzinfo=UTC)
    known = moments(schedule, begin, 60)
    assert known == sorted(set(known))
    for minutes in range(0, 8 * 60, 7):
        now = begin + timedelta(minutes=minutes, seconds=59.5)
        came = [moment for moment in known if moment <= now]
        assert newest(schedule, now) == came[-1] if came else True
        assert moments(schedule, now, 1) == [known[len(came)]]


@pytest.mark.parametrize("zone", ["Europe/Dublin", "Africa/Casablanca", "UTC", ":Europe/London", "nowhere"])
def test_winter_and_summer_in_zones_of_all_kinds(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    for moment in (datetime(2026, 1, 15, 12, tzinfo=UTC), datetime(2026, 7, 15, 12, tzinfo=UTC)):
        here = time.localtime(moment.timestamp()).tm_gmtoff
        for schedule in (ScheduleTable(on_calendar="02:00"), ScheduleTable(cron="0 2 * * *")):
            found = newest(schedule, moment)
            assert found is not None
            assert (found + timedelta(seconds=here)).hour == 2


@pytest.mark.parametrize("cron", ["0 2 1-31 * 1", "0 2 1 * 0-7", "0 2 1 * 1-7"])
def test_either_of_two_days_of_which_one_is_every_day(cron: str) -> None:
    assert moments(ScheduleTable(cron=cron)) == moments(ScheduleTable(cron="0 2 * * *"))


def test_a_schedule_whose_time_is_over_is_no_fault() -> None:
    over = ScheduleTable(on_calendar=["2020-01-01 02:00", "2020-06-01 02:00"])
    assert list(problems(over)) == []
    assert moments(over) == []
    assert newest(over, NOW) == datetime(2020, 6, 1, 0, 0, tzinfo=UTC)


def test_the_newest_of_a_dense_and_seasonal_schedule() -> None:
    schedule = ScheduleTable(on_calendar="*-01..06-* *:*:* UTC")
    assert newest(schedule, NOW) == datetime(2026, 6, 30, 23, 59, 59, tzinfo=UTC)


def test_names() -> None:
    assert occasion_name(datetime.fromisoformat("2026-11-21T02:00+01:00")) == "2026-11-21T01:00Z"
    assert occasion_name(NOW) == "2026-11-21T15:17:15Z"


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ({}, "either on_calendar or cron"),
        ({"cron": "0 2 * * *", "on_calendar": "daily"}, "either on_calendar or cron"),
        ({"cron": "0 2 * *"}, "4 fields"),
        ({"cron": "@daily"}, "not a valid crontab schedule"),
        ({"cron": "61 * * * *"}, "Bad minute"),
        ({"cron": "0 2 * * 1#2"}, "neither L nor #"),
        ({"cron": "0 2 30 2 *"}, "Bad day-of-month"),
        ({"on_calendar": []}, "must name at least one time"),
        ({"on_calendar": "Mon 25:00"}, "Bad hour"),
        ({"on_calendar": ["daily", "*-02-30"]}, "no such day"),
        ({"on_calendar": "02:00 Europe"}, "not a valid calendar event"),
        ({"cron": "5/15 * * * *"}, "a step but no range"),
        ({"cron": "0 5-5/1 * * *"}, "a step but no range"),
        ({"cron": "0 2\n* * *"}, "not a valid crontab schedule"),
        ({"on_calendar": "02:00\n03:00"}, "an unprintable character"),
        ({"on_calendar": "02:00 Europe/Olso"}, "not a valid calendar event"),
    ],
)
def test_what_is_no_schedule(schedule: dict[str, str], said: str) -> None:
    ((_, text),) = problems(ScheduleTable(**schedule))  # type: ignore[arg-type]
    assert said in text
