"""How the account stands, in words."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import workbench.display.commands as commands
from workbench.allowance.account import AccountState
from workbench.allowance.caps import CapUse
from workbench.allowance.draws import Drawn
from workbench.allowance.forecast import Between, Forecast
from workbench.allowance.scheduled import Demand
from workbench.allowance.unseen import CONFIDENCE
from workbench.display.columns import column, columns
from workbench.display.text import amount, count, percent, plural, significant
from workbench.ledger.usage_rows import Spend, UnknownDraw
from workbench.settings.file import AllowanceSettings

UNKNOWN_TOTAL = "the total is unknown: `total_units` in workbench.toml, or `allowance reading --of N`, says it"
NO_READING = f"what others used is unknown: `{commands.TAKE_READING}` records what the chat UI shows"
ROLLING = "of rolling hours a reading says nothing later on, as what was used then rolls off"
NO_WINDOW = 'the window is unknown: `window = "month"` in [allowance] of workbench.toml says it'


def units(value: float | None) -> str:
    """Units for people."""
    if value is None or math.isinf(value):
        return "unknown"
    return amount(round(value))


def drawn_text(drawn: Drawn, price: float = 1.0) -> str:
    """Return what some calls drew in units, or what that costs: unknown is not nothing, and without a weight nothing is free.

    Args:
        price: Of a unit.
    """
    if drawn.unknown_calls == drawn.calls:
        return "–"
    if drawn.unweighted_tokens and not drawn.units:
        return "no weight"
    return f"{at_least(drawn)}{significant(price * drawn.units)}"


def at_least(drawn: Drawn) -> str:
    """Return what stands before an amount that may be more."""
    return "at least " if drawn.unweighted_tokens or drawn.unknown_calls else ""


def span(low: float, high: float) -> str:
    """Return a range of units."""
    if math.isinf(high):
        return f"at least {units(low)}"
    return units(low) if units(low) == units(high) else f"{units(low)} to {units(high)}"


def window_text(found: AccountState, zone: str) -> str:
    """Return the window by its days, and how far it is."""
    if found.window is None:
        return "All recorded calls of the last 90 days"
    start, end = (at.astimezone(ZoneInfo(zone)) for at in (found.window.start_at, found.window.end_at))
    if found.window.rolls:
        return f"The last {round((end - start) / timedelta(hours=1))} hours"
    last = end - timedelta(seconds=1)
    day = (found.at.astimezone(ZoneInfo(zone)).date() - start.date()).days + 1
    days = (last.date() - start.date()).days + 1
    return f"Window {start.day} {start:%b} to {last.day} {last:%b}, day {day} of {days}"


def headline(found: AccountState, zone: str) -> str:
    """Return where the account stands, in a line."""
    parts = [f"we used {units(found.seen.units)} {found.unit}{_unpriced(found)}"]
    parts.append("others: unknown" if found.unseen is None else f"others: {span(*found.unseen)}")
    parts.append(_left(found, zone))
    return f"{window_text(found, zone)}: {'; '.join(parts)}."


def _unpriced(found: AccountState) -> str:
    more = []
    if found.seen.unweighted_tokens:
        more.append(f"{amount(found.seen.unweighted_tokens)} tokens without a weight")
    if found.seen.unknown_calls:
        more.append(_unknown(found))
    return f" (plus {', '.join(more)})" if more else ""


def _unknown(found: AccountState) -> str:
    """Return the calls that may have used something and reported nothing, with the most that they used, where there is one."""
    seen = found.seen
    bounded = seen.unknown_calls - seen.unbounded_calls
    parts = (
        [f"at most {units(seen.unknown_most)} in {plural(bounded, 'call')} whose usage is not known"] if bounded else []
    )
    if seen.unbounded_calls:
        parts.append(
            f"any amount in {plural(seen.unbounded_calls, 'call')} whose usage is not known, without max_tokens or a weight"
        )
    return " and ".join(parts)


def _left(found: AccountState, zone: str) -> str:
    newest = f" (last reading {_moment(found.readings[-1].read_at, zone)})" if found.readings else ""
    if found.left is not None:
        if found.used is not None and math.isinf(found.used[1]):
            return f"left: at most {units(found.left[1])}{newest}"
        return f"left: {span(*found.left)}{newest}"
    if found.share_read is not None:
        return f"left: at most {percent(1 - _down(found.share_read))} of a total that is not known{newest}"
    return f"left: unknown{newest}"


def used_text(found: AccountState, share: tuple[float, float]) -> str:
    """Return what is used of the total.

    Args:
        share: At least and at most.
    """
    total = "a total that is not known" if found.total is None else f"{units(found.total)} {found.unit}"
    least, most = _down(share[0]), 1 - _down(1 - share[1])
    if found.used is None or math.isinf(found.used[1]):
        return f"Used: at least {percent(least)} of {total}; how much more others used is unknown."
    if share[0] >= 1:
        return f"Used: all of {total}."
    return f"Used: {percent(least)} to {percent(most)} of {total}."


def _down(share: float) -> float:
    """Return a share in whole per cent that it is not below, so that a bound stays one; what is below one stays as it is."""
    return share if share < 0.01 else math.floor(100 * share + 1e-9) / 100


def runs_out(found: AccountState, zone: str) -> str:
    """Return when the allowance is used up, and what that rests on."""
    if found.left is not None and found.left[1] <= 0:
        return "It is used up."
    if found.left is None or found.used is None or math.isinf(found.used[1]):
        return "When it runs out is unknown: " + _why_unknown(found) + "."
    if found.pace is None or found.forecast is None:
        return "When it runs out is unknown: three whole days of history are needed."
    pace = f"at {span(*found.pace.a_day_range)} {found.unit} a day"
    end = found.resets_at
    earliest, latest = found.forecast.earliest_at, found.forecast.latest_at
    until = f"until the window resets ({_moment(end, zone)})" if end else "for a year"
    if _is_after(earliest, end):
        return f"It lasts {until}, {pace}."
    if _is_after(latest, end):
        text = f"It may run out from {_moment(earliest, zone)} on, or last {until}, {pace}."
    else:
        text = f"It runs out between {_moment(earliest, zone)} and {_moment(latest, zone)} ({percent(CONFIDENCE)}), {pace}."
    return text if found.forecast.changing is None else f"{text} {_both_ends(found.forecast, end, zone)}"


def _both_ends(forecast: Forecast, end: datetime | None, zone: str) -> str:
    """Return what the range was joined from."""
    unchanged, changing = _between(forecast.unchanged, end, zone), _between(forecast.changing, end, zone)
    return f"At an unchanged pace that is {unchanged}; if the pace goes on changing as it did, {changing}."


def _between(one: Between | None, end: datetime | None, zone: str) -> str:
    if one is None or _is_after(one.earliest_at, end):
        return "not before the window ends" if end else "not within a year"
    if _is_after(one.latest_at, end):
        return f"not before {_moment(one.earliest_at, zone)}"
    return f"between {_moment(one.earliest_at, zone)} and {_moment(one.latest_at, zone)}"


def _is_after(at: datetime | None, end: datetime | None) -> bool:
    """Return whether a moment is not before a window ends, or not within a year."""
    return at is None or (end is not None and at >= end)


def _why_unknown(found: AccountState) -> str:
    if found.window is None:
        return NO_WINDOW
    if found.total is None:
        return UNKNOWN_TOTAL
    if found.window.rolls:
        return ROLLING
    return NO_READING if not found.readings else "calls of ours since the last reading have no bound"


def missing(found: AccountState) -> list[str]:
    """Return what is not known, each with what would say it."""
    notes = []
    if found.window is None:
        notes.append(NO_WINDOW)
    if found.total is None:
        least = "" if found.least_total is None else f"; it is at least {units(found.least_total)} {found.unit}"
        notes.append(UNKNOWN_TOTAL + least)
    if found.window is not None and found.window.rolls:
        notes.append(ROLLING)
    elif found.window is not None and not found.readings:
        notes.append(NO_READING)
    return notes


CAPS = columns(
    column("cap", "cap", "text"), column("used", kind="text"), column("bar", "share", "text"),
    column("reserved", kind="text"), column("left", kind="text"), column("until", kind="text"),
)  # fmt: skip
"""The columns of a table of caps."""
_BAR_SIGNS = 10


def cap_row(one: CapUse, zone: str) -> dict[str, str]:
    """Return how much of a cap is used, as people read it."""
    if one.most is None:
        told = {"cap": one.words, "used": f"cannot be told: {one.problem}"}
        return told | dict.fromkeys(("bar", "reserved", "left", "until"), "–")
    amount_text = significant if one.kind == "units" else _whole
    more = f", and whatever {plural(one.unbounded_calls, 'call')} without a bound used" if one.unbounded_calls else ""
    return {
        "cap": one.words,
        "used": f"{amount_text(one.used)} ({percent(one.used / one.most) if one.most else '100 %'}){more}",
        "bar": _bar(one.used, one.reserved, one.most),
        "reserved": amount_text(one.reserved) if one.reserved else "–",
        "left": amount_text(one.left or 0.0),
        "until": "it rolls" if one.ends_at is None else _moment(one.ends_at, zone),
    }


def _bar(used: float, reserved: float, most: float) -> str:
    """Return how full a cap is: what is used, what is reserved, and what is left, as ten signs."""
    full = round(min(_BAR_SIGNS, _BAR_SIGNS * used / most)) if most else _BAR_SIGNS
    taken = round(min(_BAR_SIGNS, _BAR_SIGNS * (used + reserved) / most)) if most else _BAR_SIGNS
    return "█" * full + "▒" * (taken - full) + "░" * (_BAR_SIGNS - taken)


def _whole(value: float) -> str:
    return count(round(value))


def demand_text(one: Demand, unit: str) -> str:
    """Return what a scheduled job still needs, in words."""
    if one.each is None:
        return f"unknown: {one.why}"
    if one.occasions is None:
        return "unknown: no window that ends is set ([allowance] window)"
    if one.low is None or one.high is None:
        return f"about {units(one.occasions * one.each)} {unit}, from one run"
    return f"{span(one.low, one.high)} {unit}, from {plural(one.runs, 'run')}"


def _moment(at: datetime | None, zone: str) -> str:
    if at is None:
        return "–"
    local = at.astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%b %H:%M}"


def spend_text(total: Spend, unknown: Sequence[UnknownDraw]) -> str:
    """Return what was spent, and how much of it is not seen."""
    if not total.calls:
        return "No calls are recorded yet."
    days = plural(total.days, "day")
    tokens = "No tokens were reported" if total.total_tokens is None else f"{amount(total.total_tokens)} tokens"
    text = f"{tokens} in {plural(total.calls, 'call')} on {days}. "
    uncertain = total.uncertain_calls
    if not uncertain:
        return text + "Every call that may have used tokens reported its usage."
    high = sum(row.high_tokens or 0 for row in unknown)
    low = sum(row.low_tokens or 0 for row in unknown)
    text += f"The usage of {count(uncertain)} of them is not known"
    if not high:
        return text + "."
    unpriced = sum(row.uncertain_calls for row in unknown if row.high_tokens is None)
    rest = f", and {count(unpriced)} of them without an estimate" if unpriced else ""
    return text + f": between {amount(low)} and {amount(high)} tokens, estimated from similar calls{rest}."


def price_text(found: AccountState, allowance: AllowanceSettings) -> str:
    """Return what we drew in the window at the price of a unit, at least; empty where no price is given."""
    if allowance.price_per_unit is None or allowance.currency is None:
        return ""
    return f"{at_least(found.seen)}{significant(found.seen.units * allowance.price_per_unit)} {allowance.currency}"
