"""Windows of an allowance follow each other without a gap or an overlap, in every zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.allowance.windows import WindowRule, window_rule
from workbench.settings.file import AllowanceSettings

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "America/Sao_Paulo",
)
MOMENTS = st.datetimes(datetime(2011, 1, 1), datetime(2033, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
RULES = st.builds(
    WindowRule, st.sampled_from(["month", "week"]), st.integers(1, 31), st.integers(0, 6), st.sampled_from(ZONES)
)


@given(RULES, MOMENTS)
def test_each_moment_is_in_one_window_and_the_next_begins_where_it_ends(rule: WindowRule, at: datetime) -> None:
    window = rule.at(at)
    assert window.start_at <= at < window.end_at
    assert rule.at(window.start_at) == window
    assert rule.at(window.end_at - timedelta(microseconds=1)) == window
    after, before = rule.at(window.end_at), rule.at(window.start_at - timedelta(microseconds=1))
    assert after.start_at == window.end_at
    assert before.end_at == window.start_at


@given(RULES, MOMENTS)
def test_a_window_begins_with_its_day(rule: WindowRule, at: datetime) -> None:
    zone = ZoneInfo(rule.zone)
    start = rule.at(at).start_at.astimezone(zone)
    assert (start - timedelta(seconds=1)).astimezone(UTC).astimezone(zone).date() != start.date()
    if rule.kind == "week":
        assert start.weekday() in (rule.anchor_weekday, (rule.anchor_weekday + 1) % 7), "a zone may leave a day out"
        days = (rule.at(at).end_at.astimezone(zone).date() - start.date()).days
        assert days in (6, 7, 8)
    else:
        last = (start.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        assert start.day in (min(rule.anchor_day, last.day), min(rule.anchor_day, last.day) + 1)


@pytest.mark.parametrize(
    ("anchor_day", "zone", "at", "start", "end"),
    [
        (31, "UTC", "2028-02-29T12:00+00:00", "2028-02-29T00:00", "2028-03-31T00:00"),
        (31, "UTC", "2028-02-28T12:00+00:00", "2028-01-31T00:00", "2028-02-29T00:00"),
        (31, "UTC", "2027-04-30T12:00+00:00", "2027-04-30T00:00", "2027-05-31T00:00"),
        (1, "Europe/Berlin", "2026-03-31T21:59+00:00", "2026-02-28T23:00", "2026-03-31T22:00"),
        (1, "Europe/Berlin", "2026-10-31T22:59+00:00", "2026-09-30T22:00", "2026-10-31T23:00"),
        (15, "America/New_York", "2026-01-15T04:59+00:00", "2025-12-15T05:00", "2026-01-15T05:00"),
    ],
)
def test_months_with_leap_days_and_changed_clocks(anchor_day: int, zone: str, at: str, start: str, end: str) -> None:
    window = WindowRule("month", anchor_day, 0, zone).at(datetime.fromisoformat(at))
    assert (window.start_at, window.end_at) == tuple(datetime.fromisoformat(f"{text}+00:00") for text in (start, end))


def test_rolling_hours_end_now() -> None:
    rule = window_rule(AllowanceSettings(window="5h"), "UTC")
    now = datetime(2026, 10, 17, 13, 20, tzinfo=UTC)
    assert rule is not None
    assert rule.at(now).rolls
    assert rule.at(now).start_at == now - timedelta(hours=5)
    assert rule.at(now).end_at == now
