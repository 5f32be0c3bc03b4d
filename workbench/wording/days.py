"""Days in words, as a sentence has them: `3 Nov`, `3–4 Nov`, `28 Oct – 2 Nov`; the year where it is not this one."""

from datetime import date

import workbench.settings.clock as clock


def days_text(first: date, last: date) -> str:
    """Return a day, or the first and the last of several."""
    if first == last:
        return _day(last)
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{_day(last)}"
    return f"{_day(first)} – {_day(last)}"


def _day(day: date) -> str:
    return f"{day.day} {day:%b}" + ("" if day.year == clock.now().year else f" {day.year}")
