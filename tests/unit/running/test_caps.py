"""What several runs may use together: reserved under one lock, counted whoever ends first, and overruns reported."""

import fcntl
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from workbench.errors import LockHeldError
from workbench.records.calls import Usage
from workbench.running import spending
from workbench.running.caps import Cap, Caps, Kind, Price
from workbench.running.spending import SharedSpending, Spender, Spending, live_spenders

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
        self.caps.settle("m", self.reserved, reported, tries=how != "failed")
        if how == "failed":
            return Spending(1), Spending(1)
        return (used, used) if how == "reported" else (used, self.reserved)


@pytest.mark.parametrize("seed", [*range(40), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(40, 500))])
def test_no_more_is_used_than_the_cap_and_what_routes_used_beyond_their_bounds(seed: int, tmp_path: Path) -> None:
    """Random jobs of up to four processes: sizes, caps, failures, unknown usage, and routes that ignore `max_tokens`."""
    luck = random.Random(seed)
    kind = luck.choice(KINDS)
    most = {"requests": 40, "tokens": 20_000, "units": 60.0}[kind] * luck.uniform(0.5, 2)
    ignores = luck.random() < 0.4
    all_caps = [a_run(tmp_path, f"r{number}", Cap("all", kind, most))[0] for number in range(luck.randint(1, 4))]
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


def a_run(folder: Path, run_id: str, cap: Cap, own: Spender | None = None) -> tuple[Caps, SharedSpending]:
    """A run that keeps one cap together with the others of its folder."""
    own = own or Spender("a", {})
    shared = SharedSpending(folder, run_id, own)
    return Caps([cap], PRICE, own, shared), shared


def reserved(caps: Caps, times: int) -> int:
    """How many of so many requests the cap has room for."""
    return sum(caps.reserve(Spending(1)) is None for _ in range(times))


def test_a_run_that_is_over_counts_for_those_that_go_on(tmp_path: Path) -> None:
    cap = Cap("ten", "requests", 10)
    one, first = a_run(tmp_path, "r1", cap)
    with first:
        two, second = a_run(tmp_path, "r2", cap)
        with second:
            assert reserved(two, 4) == 4
            refused = [one.reserve(Spending(1)) for _ in range(7)][-1]
            assert refused is not None
            assert refused.reason == "the cap of ten has no room for 1 more (0 used, 10 reserved)"
            assert refused.passes, "the other run may turn out not to have used what it reserved"
            for _ in range(4):
                two.settle("m", Spending(1), Usage(), tries=1)
        refused = one.reserve(Spending(1))
        assert refused is not None
        assert not refused.passes
        third = SharedSpending(tmp_path, "r3", Spender("a", {}))
        with third:
            assert third.over == {"r2"}, "the ledger tells what it used"
            assert third.counted() == {"r1", "r3"}
    with SharedSpending(tmp_path, "r4", Spender("a", {})) as fourth:
        assert fourth.counted() == {"r4"}
    assert not list(tmp_path.glob("r1*")), "it counts for none any more"


def test_a_run_begins_once_nobody_looks_at_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks for live runs holds a lock of each file for a moment: a run that went on without its own would be dead."""
    monkeypatch.setattr(spending, "_PATIENCE_S", 0.0)
    with SharedSpending(tmp_path, "r0", Spender("a", {})):
        with (tmp_path / "r1.spent").open("w") as looking:
            fcntl.flock(looking, fcntl.LOCK_SH)
            with pytest.raises(LockHeldError, match=r"r1\.spent"):
                SharedSpending(tmp_path, "r1", Spender("a", {}))
            assert set(live_spenders(tmp_path)) == {"r0"}, "who looks is no run"
        with SharedSpending(tmp_path, "r1", Spender("a", {})):
            assert set(live_spenders(tmp_path)) == {"r0", "r1"}


def test_a_run_that_was_killed_before_it_wrote_anything_stops_no_other(tmp_path: Path) -> None:
    caps, shared = a_run(tmp_path, "r1", Cap("ten", "requests", 10))
    with shared:
        for content in (b"", b"[", b'["a",{}]'.ljust(2**16)):
            (tmp_path / "r2.spent").write_bytes(content)
            with shared.others() as others:
                assert others == {}
        assert reserved(caps, 11) == 10


def test_what_a_dead_run_had_reserved_is_not_waited_for(tmp_path: Path) -> None:
    one, first = a_run(tmp_path, "r1", Cap("ten", "requests", 10))
    two, second = a_run(tmp_path, "r2", Cap("ten", "requests", 10))
    with first:
        assert reserved(two, 4) == 4
        with second:  # closed without settling, as a kill does
            pass
        assert reserved(one, 7) == 6
        refused = one.reserve(Spending(1))
        assert refused is not None
        assert refused.reason == "the cap of ten has no room for 1 more (4 used, 6 reserved)"
        assert not refused.passes


@pytest.mark.parametrize(
    ("cap", "room"),
    [
        (Cap("a", "requests", 6, job="a"), 6),
        (Cap("team", "requests", 6, tags={"team": "optics"}), 1),
        (Cap("own", "requests", 6, alone=True), 6),
    ],
)
def test_only_the_runs_that_a_cap_names_count(tmp_path: Path, cap: Cap, room: int) -> None:
    team = {"team": "optics"}
    other, second = a_run(tmp_path, "r2", Cap("b", "requests", 100, job="b"), Spender("b", team))
    one, first = a_run(tmp_path, "r1", cap, Spender("a", team))
    with first, second:
        assert reserved(other, 5) == 5
        assert reserved(one, 8) == room


def test_what_was_used_before_a_window_does_not_count_in_it(tmp_path: Path) -> None:
    """Whichever run comes first to the new window, and however much they used in the old one."""
    start = datetime.now(UTC)
    day = Cap("ten", "requests", 10, starts_at=start, ends_at=start + timedelta(days=1))
    yesterday = (start - timedelta(hours=12)).timestamp()
    night, first = a_run(tmp_path, "r1", day)
    with first:
        night._own.draw(Spending(9, 9_000, 9), yesterday)
        first.write()
        morning, second = a_run(tmp_path, "r2", day)
        with second:
            assert reserved(night, 4) == 4
            assert reserved(morning, 8) == 6
            night.settle("m", Spending(1), Usage(total_tokens=1), tries=1)
            assert reserved(night, 1) == 0


def test_a_new_window_begins_at_nothing(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    cap = Cap(
        "five", "requests", 5, 5, starts_at=now - timedelta(days=1), ends_at=now - timedelta(seconds=1),
        next_end=lambda at: at + timedelta(days=1),
    )  # fmt: skip
    caps, shared = a_run(tmp_path, "r1", cap)
    with shared:
        assert reserved(caps, 6) == 5


def test_a_lock_that_is_kept_holds_nothing_up(tmp_path: Path) -> None:
    caps, shared = a_run(tmp_path, "r1", Cap("five", "requests", 5))
    with shared, (tmp_path / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = caps.reserve(Spending(1))  # returns while the lock is still kept
        assert refused is not None
        assert refused.passes
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert caps.reserve(Spending(1)) is None


def test_unknown_usage_counts_as_often_as_the_gateway_may_have_tried() -> None:
    caps = Caps([Cap("all", "tokens", 1_000, alone=True)])
    assert caps.reserve(Spending(1, 300)) is None
    caps.settle("m", Spending(1, 300), Usage(), tries=3)
    assert caps.nearest() == (0.9, "all")


def test_what_rounding_leaves_is_no_reserve_and_an_overrun_is_of_whoever_used_something(tmp_path: Path) -> None:
    cap = Cap("three", "units", 3, 25)
    idle, busy = Caps([cap]), Caps([Cap("three", "units", 3)])
    assert idle.overrun() is None, "it sent nothing"
    for amount in (0.1, 0.2, 0.3):
        assert busy.reserve(Spending(1, 0, amount)) is None
    for amount in (0.3, 0.1, 0.2):
        busy.settle("m", Spending(1, 0, amount), Usage(total_tokens=0), tries=1)
    assert busy._own.reserved == Spending()
    refused = busy.reserve(Spending(1, 0, 30.0))
    assert refused is not None
    assert "reserved" not in refused.reason.replace(" 0 reserved", "")
