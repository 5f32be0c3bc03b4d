"""What several runs may use together: reserved under one lock, counted whoever ends first, and overruns reported."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from workbench.records import Usage
from workbench.running.caps import Cap, Caps, Kind, Price, SharedSpending, Spending

UNITS_A_TOKEN = 0.004


KINDS: tuple[Kind, ...] = ("requests", "tokens", "units")


def most_units(_: str, size: int, cap: int) -> float:
    return UNITS_A_TOKEN * (size + cap)


def units(_: str, usage: Usage) -> float | None:
    return None if usage.total_tokens is None else UNITS_A_TOKEN * usage.total_tokens


PRICE = Price(most_units, units)


class InFlight(NamedTuple):
    """A request that was let through."""

    caps: Caps
    reserved: Spending

    def end(self, luck: random.Random, *, ignores_caps: bool) -> tuple[Spending, Spending]:
        """End it as calls end; returns what it used and what is known to have been used."""
        over = ignores_caps and luck.random() < 0.2
        tokens = round(self.reserved.tokens * (luck.uniform(1, 3) if over else luck.uniform(0.1, 1)))
        used, how = (
            Spending(1, tokens, UNITS_A_TOKEN * tokens),
            luck.choice(("reported", "reported", "unknown", "failed")),
        )
        reported = Usage(total_tokens=tokens if how == "reported" else None)
        self.caps.settle("m", self.reserved, reported, drew=how != "failed")
        if how == "failed":
            return Spending(1), Spending(1)
        return (used, used) if how == "reported" else (used, self.reserved)


@pytest.mark.parametrize("seed", range(500))
def test_no_more_is_used_than_the_cap_and_what_routes_used_beyond_their_bounds(seed: int, tmp_path: Path) -> None:
    """Random jobs of up to four processes: sizes, caps, failures, unknown usage, and routes that ignore `max_tokens`."""
    luck = random.Random(seed)
    kind = luck.choice(KINDS)
    most = {"requests": 40, "tokens": 20_000, "units": 60.0}[kind] * luck.uniform(0.5, 2)
    ignores = luck.random() < 0.4
    runs = [SharedSpending(tmp_path, f"r{number}", "a", {}) for number in range(luck.randint(1, 4))]
    all_caps = [Caps([Cap("all", kind, most)], PRICE, shared) for shared in runs]
    flying: list[InFlight] = []
    used = known = beyond = 0.0
    for turn in range(400):
        if flying and (turn >= 300 or len(flying) > 12 or luck.random() < 0.5):
            one = flying.pop(luck.randrange(len(flying)))
            drawn, counted = (getattr(amount, kind) for amount in one.end(luck, ignores_caps=ignores))
            used, known = used + drawn, known + counted
            beyond += max(0.0, drawn - getattr(one.reserved, kind))
        elif turn < 300:
            caps = luck.choice(all_caps)
            size, cap = luck.randint(50, 800), luck.randint(10, 400)
            amount = caps.amount("m", size, cap, size + cap, 1.0)
            if caps.reserve(amount) is None:
                flying.append(InFlight(caps, amount))
    assert not flying
    assert used <= most + beyond + 1e-6
    for caps in all_caps:
        assert caps.reserve(Spending(1e9, 1e9, 1e9)) is not None  # and reads what the others used last
        assert (caps.overrun() is not None) == (known > most + 1e-6), "every overrun is reported, and nothing else"


def test_a_run_that_is_over_counts_for_those_that_go_on(tmp_path: Path) -> None:
    cap = Cap("ten", "requests", 10)
    with SharedSpending(tmp_path, "r1", "a", {}) as first:
        one = Caps([cap], None, first)
        with SharedSpending(tmp_path, "r2", "a", {}) as second:
            two = Caps([cap], None, second)
            assert [two.reserve(Spending(1)) for _ in range(4)] == [None] * 4
        assert [one.reserve(Spending(1)) for _ in range(6)] == [None] * 6
        assert one.reserve(Spending(1)) == "the cap of ten has no room for 1.00 more (10.0 used or reserved)"
        with SharedSpending(tmp_path, "r3", "a", {}) as third:
            assert third.over == {"r2"}, "the ledger tells what it used"
            assert third.going_on() == {"r1"}
    with SharedSpending(tmp_path, "r4", "a", {}) as fourth:
        assert not fourth.going_on()
    assert not list(tmp_path.glob("r1*")), "nobody counts it any more"


def test_only_the_runs_that_a_cap_names_count(tmp_path: Path) -> None:
    team = {"team": "optics"}
    with SharedSpending(tmp_path, "r1", "a", team) as first, SharedSpending(tmp_path, "r2", "b", team) as second:
        other = Caps([Cap("b", "requests", 100, job="b")], None, second)
        assert [other.reserve(Spending(1)) for _ in range(5)] == [None] * 5
        for cap, room in (
            (Cap("a", "requests", 6, job="a"), 6),
            (Cap("team", "requests", 6, tags=team), 1),
            (Cap("own", "requests", 6, alone=True), 6),
        ):
            caps = Caps([cap], None, first)
            taken = [caps.reserve(Spending(1)) is None for _ in range(8)]
            assert taken == [True] * room + [False] * (8 - room), cap
            first.write(Spending())


def test_a_new_window_begins_at_nothing(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    with SharedSpending(tmp_path, "r1", "a", {}) as first, SharedSpending(tmp_path, "r2", "a", {}) as second:
        other = Caps([Cap("all", "requests", 100)], None, second)
        assert [other.reserve(Spending(1)) for _ in range(5)] == [None] * 5
        cap = Cap(
            "five", "requests", 5, 5, ends_at=now - timedelta(seconds=1), next_end=lambda at: at + timedelta(days=1)
        )
        caps = Caps([cap], None, first)
        assert [caps.reserve(Spending(1)) is None for _ in range(6)] == [True] * 5 + [False]
