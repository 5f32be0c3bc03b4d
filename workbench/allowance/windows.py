"""The periods that an allowance is counted over."""

import calendar
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec

from workbench.settings.file import AllowanceSettings

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Window(msgspec.Struct, frozen=True):
    """A period: it begins at `start_at` and ends before `end_at`, both UTC."""

    start_at: datetime
    end_at: datetime
    rolls: bool = False
    """It is always the last hours; nothing is reset at its end."""


class WindowRule(msgspec.Struct, frozen=True):
    """How an account's windows follow each other."""

    kind: str
    """`month`, `week`, `day`, or hours such as `5h`."""
    anchor_day: int
    anchor_weekday: int
    """0 is Monday."""
    zone: str
    """IANA time zone, at whose midnight a window begins."""

    def at(self, moment: datetime) -> Window:
        """Return the window that a moment is in; of rolling hours, the one that ends then.

        Args:
            moment: With its zone.
        """
        if self.kind not in ("month", "week", "day"):
            return Window(
                moment.astimezone(UTC) - timedelta(hours=int(self.kind[:-1])), moment.astimezone(UTC), rolls=True
            )
        local = moment.astimezone(ZoneInfo(self.zone))
        if self.kind == "day":
            return self._days(local.date(), 1)
        if self.kind == "week":
            day = local.date() - timedelta(days=(local.weekday() - self.anchor_weekday) % 7)
            return self._days(day, 7)
        year, month = local.year, local.month
        if local.day < self._anchor(year, month):
            year, month = _month_after(year, month, -1)
        return Window(self._month(year, month), self._month(*_month_after(year, month, 1)))

    def _days(self, day: date, days: int) -> Window:
        after_it = day + timedelta(days=days)
        return Window(
            self._midnight(day.year, day.month, day.day), self._midnight(after_it.year, after_it.month, after_it.day)
        )

    def _month(self, year: int, month: int) -> datetime:
        return self._midnight(year, month, self._anchor(year, month))

    def _anchor(self, year: int, month: int) -> int:
        return min(self.anchor_day, calendar.monthrange(year, month)[1])

    def _midnight(self, year: int, month: int, day: int) -> datetime:
        # from the day, and never by adding hours to another midnight: a day has 23 or 25 of them twice a year
        return datetime(year, month, day, tzinfo=ZoneInfo(self.zone)).astimezone(UTC)


def window_rule(given: AllowanceSettings, zone: str, kind: str | None = None) -> WindowRule | None:
    """Return the rule that `workbench.toml` gives, or another kind with the same days; None where it names no window."""
    kind = kind or given.window
    if kind is None:
        return None
    return WindowRule(kind, given.anchor_day, _WEEKDAYS.index(given.anchor_weekday), zone)


def _month_after(year: int, month: int, by: int) -> tuple[int, int]:
    number = 12 * year + month - 1 + by
    return number // 12, number % 12 + 1
