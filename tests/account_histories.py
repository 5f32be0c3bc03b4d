"""Made-up histories of an account: what we drew, what others drew, and what was read of it."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.contract.asking import Caller, platform_of
from tests.unit.ledger.ledger_rows import answer, intent, started
from workbench.ledger.entries import RunEnded
from workbench.ledger.ingest import ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.store import Ledger
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.state import State
from workbench.settings.file import AllowanceSettings

BEGIN = datetime(2026, 8, 24, tzinfo=UTC)
NOW = datetime(2026, 10, 17, 13, 20, tzinfo=UTC)
WINDOW_START = datetime(2026, 10, 1, tzinfo=UTC)
_BY_WEEKDAY = (1.0, 1.1, 1.2, 1.1, 0.9, 0.4, 0.3)
_BY_HOUR = (*[0.1] * 7, *[1.0] * 5, 0.6, *[1.0] * 6, *[0.3] * 5)
Draw = tuple[datetime, int]


class History(msgspec.Struct, frozen=True):
    """One account, on one allowance."""

    own: list[Draw]
    others: list[Draw]
    """Beyond `NOW` too: what will be drawn."""
    total: int
    read_at: list[datetime]

    def others_between(self, start: datetime, end: datetime) -> int:
        return sum(tokens for at, tokens in self.others if start <= at < end)

    def used(self, at: datetime) -> int:
        """Since the window began."""
        return sum(tokens for when, tokens in (*self.own, *self.others) if WINDOW_START <= when < at)

    def said(self, at: datetime) -> str:
        """What the chat UI shows, rounded to a percent."""
        return f"{100 * self.used(at) / self.total:.0f}%"


def history(seed: int, growth: float = 0.0) -> History:
    """Days vary by a gamma distribution (a quarter of their weekday's mean), hours by the time of day; one day in thirty is a burst
    of half as much again, and one in forty a gap. At the pace of these weeks the allowance lasts for
    8 to 16 days more.

    Args:
        growth: Of every draw, a day, as a share.
    """
    chosen = random.Random(seed)
    own = list(_draws(chosen, chosen.uniform(40_000, 80_000), 12, growth))
    others = list(_draws(chosen, chosen.uniform(10_000, 60_000), 20, growth))
    made = History(own, others, 1, [])
    a_day = sum(tokens for at, tokens in (*own, *others) if abs(at - NOW) < timedelta(days=14)) / 28
    total = int(made.used(NOW) + a_day * chosen.uniform(8, 16))
    read_at, at = [], WINDOW_START
    while (at := at + timedelta(days=chosen.uniform(1.5, 4.5))) < NOW:
        read_at.append(at)
    return History(own, others, total, read_at)


class Charged(NamedTuple):
    """What a platform made of a history."""

    said: list[str]
    """The share that was used, at each reading, rounded to a percent."""
    used_up_at: datetime
    """The draw after which it refuses the account."""


def charged(made: History) -> Charged:
    """A history on the local platform, draw by draw (`platform draws add --at`), until the platform refuses the account."""
    state, said, unread = State(), [], [*made.read_at]
    all_time = {"units": made.total, "window_s": 1e9}  # the server counts by the clock of today, not of the history
    config = platform_of({"id": "m"}, allowance=all_time)
    name = config.accounts[0].name
    draws = sorted(draw for draw in (*made.own, *made.others) if draw[0] >= WINDOW_START)
    with ThreadedServer(config, state) as server, Caller(server) as caller:
        for at, tokens in draws:
            used = state.drawn_units(name, WINDOW_START.timestamp())
            while unread and unread[0] <= at:
                said.append(f"{100 * used / made.total:.0f}%")
                del unread[0]
            if used + tokens >= made.total:
                assert caller.ask("m", max_tokens=1).status_code == 200
            state.add_draw(name, tokens, "", at.timestamp())
            if used + tokens >= made.total:
                assert _refused(caller)
                return Charged(said, at)
    raise AssertionError("it is never used up")


def _refused(caller: Caller) -> bool:
    """Whether the platform refuses the account; it adds up a long history again only after a few milliseconds."""
    replies = (caller.ask("m", max_tokens=1).json() for _ in range(1000))
    return any(reply.get("detail") == "Your allowance is used up." for reply in replies)


def _draws(chosen: random.Random, a_day: float, most: int, growth: float) -> Iterator[Draw]:
    for number in range(100):
        day = BEGIN + timedelta(days=number)
        luck = chosen.random()
        factor = 1.5 if luck < 1 / 30 else 0.0 if luck > 39 / 40 else 1.0
        trend = (1 + growth) ** (day - WINDOW_START).days
        units = a_day * trend * _BY_WEEKDAY[day.weekday()] * factor * chosen.gammavariate(16, 1 / 16)
        parts = [chosen.random() for _ in range(chosen.randint(most // 2, most))]
        for part in parts:
            hour = chosen.choices(range(24), _BY_HOUR)[0]
            yield day + timedelta(hours=hour, minutes=59 * chosen.random()), round(units * part / sum(parts))


def recorded(folder: Path, made: History, *, known_total: bool = True) -> Ledger:
    """A ledger with our own calls until now, and nothing of the others'."""
    ledger = Ledger(
        folder / "ledger.duckdb",
        "UTC",
        {},
        AllowanceSettings(window="month", total_units=made.total if known_total else None),
    )
    journal = JournalWriter(ledger.journal_folder)
    before = sorted(draw for draw in made.own if draw[0] < NOW)
    journal.append(started("r1", len(before), recorded_at=BEGIN))
    for number, (at, tokens) in enumerate(before, 1):
        ended_at = at + timedelta(seconds=2)
        journal.append(msgspec.structs.replace(intent("r1", number), sent_at=at))
        journal.append(answer("r1", number, sent_at=at, ended_at=ended_at, total_tokens=tokens, prompt_tokens=tokens // 2,
                              completion_tokens=tokens - tokens // 2))  # fmt: skip
    journal.append(RunEnded("r1", NOW, "complete", 0, 60.0))
    journal.close()
    ingest(ledger)
    return ledger
