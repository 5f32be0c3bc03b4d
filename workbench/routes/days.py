"""Routes day by day: which days count as now, what each day was like, and the times when a route was dead."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec

from workbench.evaluation.attention import NOTICED_SHARE, day_of
from workbench.ledger.route_rows import RouteDay, RouteSubstitute
from workbench.ledger.usage_rows import LedgerPeriod

RECENT_DAYS = 7
MOST_DAYS = 90
_LEAST_FAILURES = 5
"""Fewer failed calls, after which a route answered again, were no outage."""

State = Literal["ok", "fallback", "failed", "no call"]


class RecentDays(msgspec.Struct, frozen=True):
    """The days that count as now: the newest ones that a ledger covers, in the account's zone."""

    first_day: date
    last_day: date
    since: datetime
    """Where the first of them begins."""
    shown_from: date
    """The first day of strips: that of the period, or as many days as are shown."""


def recent_days(period: LedgerPeriod, zone: str) -> RecentDays | None:
    """Return the seven days up to the newest event of a ledger; None of an empty one."""
    if period.first_at is None or period.last_at is None:
        return None
    last = day_of(period.last_at, zone)
    first = last - timedelta(days=RECENT_DAYS - 1)
    since = datetime(first.year, first.month, first.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    return RecentDays(first, last, since, max(day_of(period.first_at, zone), last - timedelta(days=MOST_DAYS - 1)))


class StripDay(msgspec.Struct, frozen=True):
    """A day of a route; calls that were cancelled are left out."""

    day: date
    calls: int = 0
    not_accepted: int = 0
    answers: int = 0
    substituted: int = 0
    """Answers of another model, or taken for another's."""

    @property
    def state(self) -> State:
        """The worst that it shows; of failures a share that attention notices."""
        if not self.calls:
            return "no call"
        if self.not_accepted / self.calls > NOTICED_SHARE:
            return "failed"
        return "fallback" if self.substituted else "ok"


class Strip(msgspec.Struct, frozen=True):
    """A route's newest days, one after the other without a gap."""

    model: str
    days: tuple[StripDay, ...]


class Outage(msgspec.Struct, frozen=True):
    """Days on which no call of a route was accepted, none between them included."""

    model: str
    first_day: date
    last_day: date
    calls: int
    accepted_again: date | None
    """The next day on which one was; None: none since."""


def strips(
    models: Sequence[str], rows: Sequence[RouteDay], substitutes: Sequence[RouteSubstitute], recent: RecentDays
) -> list[Strip]:
    """Return a strip a route, of the same days.

    Args:
        models: In order.
        rows: How calls ended by day.
        substitutes: What others answered by day.
        recent: Where they begin and end.
    """
    substituted: dict[tuple[str, date], int] = {}
    for one in substitutes:
        substituted[one.model, one.day] = substituted.get((one.model, one.day), 0) + one.answers
    found = {
        (row.model, row.day): StripDay(
            row.day, row.calls, row.not_accepted, row.answers, substituted.get((row.model, row.day), 0)
        )
        for row in rows
    }
    shown = (recent.last_day - recent.shown_from).days + 1
    days = [recent.shown_from + timedelta(days=number) for number in range(shown)]
    return [Strip(model, tuple(found.get((model, day)) or StripDay(day) for day in days)) for model in models]


def outages(rows: Sequence[RouteDay]) -> list[Outage]:
    """Return the times when every call of a route failed, on one day or several, the newest first.

    Args:
        rows: How calls ended by day, by model and day; of days without an accepted call all of them.
    """
    found: dict[tuple[str, date | None], Outage] = {}
    for row in rows:
        if row.not_accepted == row.calls:
            before = found.get((row.model, row.accepted_again))
            first, calls = (row.day, 0) if before is None else (before.first_day, before.calls)
            found[row.model, row.accepted_again] = Outage(
                row.model, first, row.day, calls + row.calls, row.accepted_again
            )
    noticed = [one for one in found.values() if one.accepted_again is None or one.calls >= _LEAST_FAILURES]
    return sorted(noticed, key=lambda one: one.last_day, reverse=True)
