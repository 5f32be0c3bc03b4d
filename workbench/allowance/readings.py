"""What somebody read of the allowance elsewhere: how much of it was used, or left."""

import re
import secrets
from datetime import datetime, timedelta
from typing import Literal

import msgspec

import workbench.settings.clock as clock
from workbench.allowance.windows import window_rule
from workbench.errors import Fault, InputError
from workbench.ledger.entries import ReadingTaken, newer_than
from workbench.ledger.ingest import Ingested, record
from workbench.ledger.queries import Reader
from workbench.ledger.rows import AllowanceRefusal, ReadingRow
from workbench.ledger.store import Ledger
from workbench.records.calls import UsageStatement

_AMOUNT = re.compile(r"([0-9]+(?:[ _\u202f][0-9]{3})*)(?:\.([0-9]+))?\s*(%|k|M|G)?")
MOST_UNITS = 1e15
_SAME_END = timedelta(minutes=1)
_A_TOKEN = 1000  # weights are for so many
_FACTORS = {"k": 1e3, "M": 1e6, "G": 1e9}


class Amount(msgspec.Struct, frozen=True):
    """A number as it was read, with all that rounds to it."""

    low: float
    high: float
    is_share: bool
    """From 0 to 1 of the total; otherwise units."""


class Reading(ReadingRow, frozen=True):
    """One of a ledger."""

    def used(self, total: tuple[float, float] | None) -> tuple[float, float] | None:
        """Return how many units were used then, at least and at most; None where it takes a total that is not known.

        Args:
            total: The units of a window, at least and at most.
        """
        if self.total_units is not None:
            total = self.total_units, self.total_units
        if self.units_low is not None and self.units_high is not None:
            if self.of_what == "used":
                return self.units_low, self.units_high
            return (
                None if total is None else (max(total[0] - self.units_high, 0.0), max(total[1] - self.units_low, 0.0))
            )
        shares = self.used_share
        return None if total is None or shares is None else (shares[0] * total[0], shares[1] * total[1])

    @property
    def used_share(self) -> tuple[float, float] | None:
        """The share of the total that was used, at least and at most; None of a reading in units."""
        if self.share_low is None or self.share_high is None:
            return None
        return (
            (self.share_low, self.share_high) if self.of_what == "used" else (1 - self.share_high, 1 - self.share_low)
        )


def amount(text: str) -> Amount:
    """Return a number with its rounding: `37%` is from 36.5 to 37.5 percent, `1.2M` from 1.15 to 1.25 million units.

    Raises:
        ValueError: It is neither a share nor a number of units.
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is neither a share such as 37% nor units such as 1200000 or 1.2M")
    whole, decimals, kind = found.groups()
    value = float(re.sub(r"\D", "", whole) + (f".{decimals}" if decimals else ""))
    half = 0.5 * 10 ** -len(decimals or "")
    if kind == "%":
        if value > 100:
            raise ValueError(f"{text!r} is more than everything: expected 0% to 100%")
        return Amount(max(value - half, 0) / 100, min(value + half, 100) / 100, is_share=True)
    factor = _FACTORS.get(kind, 1.0)
    if value * factor > MOST_UNITS:
        raise ValueError(f"{text[:40]!r} is more than any allowance: {MOST_UNITS:.0e} units at most")
    return Amount(max(value - half, 0) * factor, (value + half) * factor, is_share=False)


def take_reading(
    ledger: Ledger, of_what: Literal["used", "left"], said: str, at: datetime, total: float | None
) -> tuple[str, Ingested]:
    """Record what was read.

    Args:
        ledger: Of the account.
        of_what: Whether so much was used, or left.
        said: As `amount` takes it.
        at: When it was so.
        total: The units of the whole window, if that was read too.

    Returns:
        The reading's id, and how the ingest went.

    Raises:
        InputError: It is not an amount, more than the total, or in the future.
        JournalFullError: The disk takes no more.
    """
    option = f"--{of_what}"
    try:
        read = amount(said)
    except ValueError as error:
        raise InputError(Fault(option, str(error))) from error
    now = clock.now()
    if at > now:
        raise InputError(Fault("--at", f"{at:%Y-%m-%d %H:%M} UTC is in the future", "expected when it was read"))
    if total is not None and not 0 < total <= MOST_UNITS:
        raise InputError(Fault("--of", f"{total} is not a total of units", f"expected a number up to {MOST_UNITS:.0e}"))
    most = total if total is not None else ledger.allowance.total_units
    if most is not None and not read.is_share and read.low > most:
        hint = "expected at most the total" if total is not None else "that of workbench.toml; --of names another"
        raise InputError(Fault(option, f"{said} is more than the total of {most:.0f}", hint))
    shares = (read.low, read.high) if read.is_share else (None, None)
    units = (None, None) if read.is_share else (read.low, read.high)
    entry = ReadingTaken(
        reading_id=secrets.token_hex(3), recorded_at=now, read_at=at, of_what=of_what, said=said, withdrawn=False,
        share_low=shares[0], share_high=shares[1], units_low=units[0], units_high=units[1], total_units=total,
    )  # fmt: skip
    return entry.reading_id, record(ledger, [entry])


def read_from_platform(ledger: Ledger, said: UsageStatement) -> tuple[str, Ingested]:
    """Record what the platform itself says was used: nothing is rounded, and what it estimates is a range from nothing on.

    Args:
        ledger: Of the account.
        said: What was used since the account's window began, or in the platform's own.

    Returns:
        The reading's id, and how the ingest went.

    Raises:
        InputError: It counts in units of its own, and nothing says how tokens are weighted.
        JournalFullError: The disk takes no more.
    """
    weights = ledger.allowance.weights
    if not weights and said.unit != "tokens":
        hint = "[[allowance.weights]] of workbench.toml says how"
        raise InputError(Fault("--from-platform", f"the platform counts {said.unit}", hint))
    if said.unit == "tokens" and any((one.prompt, one.completion) != (_A_TOKEN, _A_TOKEN) for one in weights):
        hint = "without [[allowance.weights]] in workbench.toml a unit is a token here too"
        raise InputError(Fault("--from-platform", "the platform counts tokens, and this ledger other units", hint))
    now = clock.now()  # its own clock may be ahead of this machine's, on which calls are recorded, or behind
    total = said.allowance_units if counts_alike(ledger, said) else None
    entry = ReadingTaken(
        reading_id=secrets.token_hex(3), recorded_at=now, read_at=now, of_what="used",
        said=f"{said.units_since:.0f} (the platform)", withdrawn=False, share_low=None, share_high=None,
        units_low=max(said.units_since - said.estimated_units_since, 0.0), units_high=said.units_since,
        total_units=total,
    )  # fmt: skip
    return entry.reading_id, record(ledger, [entry])


def counts_alike(ledger: Ledger, said: UsageStatement) -> bool:
    """Return whether the platform's window is the account's: its limit is a total of no other one."""
    rule = window_rule(ledger.allowance, ledger.zone)
    return rule is None or abs(rule.at(said.as_of).end_at - said.window_ends_at) < _SAME_END


def begin_of_window(ledger: Ledger, at: datetime) -> datetime | None:
    """Return when the account's window began; None where none is known, or it is always the last hours."""
    rule = window_rule(ledger.allowance, ledger.zone)
    window = None if rule is None else rule.at(at)
    return None if window is None or window.rolls else window.start_at


def withdraw(ledger: Ledger, reading: Reading) -> Ingested:
    """Take a reading back; it stays in the ledger and counts no more."""
    changed = {"recorded_at": newer_than([reading.recorded_at]), "withdrawn": True}
    return record(ledger, [ReadingTaken(**(msgspec.structs.asdict(reading) | changed))])


def readings_of(reader: Reader) -> list[Reading]:
    """Return the readings of a ledger that were not withdrawn, in the order of when they were read."""
    return reader.all(Reading)


def refusals_of(reader: Reader) -> list[Reading]:
    """Return what the platform's refusals say of the allowance, as readings: all of it was used at that moment."""
    return [
        Reading(
            reading_id=row.run_id, recorded_at=row.refused_at, read_at=row.refused_at, of_what="used", share_low=1.0,
            share_high=1.0, units_low=None, units_high=None, total_units=None, said="up: the platform refused", withdrawn=False,
        )
        for row in reader.all(AllowanceRefusal)
    ]  # fmt: skip
