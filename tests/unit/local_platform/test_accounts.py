"""The running platform's sums and its state file agree, whatever fails in between."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.contract.asking import platform_of
from tests.waiting import until_on_loop
from workbench.local_platform.accounts import Accounts
from workbench.local_platform.config import PlatformConfig
from workbench.local_platform.state import State, StateBusyError, StateError, hashed

CONFIG = platform_of(
    {"id": "m", "weight": 2.0},
    accounts=[{"name": "lab"}, {"name": "ben", "allowance_units": 10}],
    allowance={"units": 1e6},
)
ROUTE = CONFIG.routes[0]
Test = Callable[[Accounts, State], Awaitable[None]]


def run(path: Path | None, test: Test, config: PlatformConfig = CONFIG) -> None:
    async def main() -> None:
        state = State(path, busy_s=0.0)
        await test(Accounts(config, state, {}), state)

    asyncio.run(main())


def agree(accounts: Accounts, state: State) -> bool:
    return accounts.drawn_units("lab") == state.drawn_units("lab", 0)


def test_sums_follow_a_draw(tmp_path: Path) -> None:
    async def test(accounts: Accounts, state: State) -> None:
        first = await accounts.open_draw("lab", "m", ROUTE, 100)
        second = await accounts.open_draw("lab", "m", ROUTE, 100)
        third = await accounts.open_draw("lab", "m", ROUTE, 100)
        assert accounts.drawn_units("lab") == 600
        first.settle(3, 4, 7)
        second.release()
        third.estimate(20, "its usage was not reported")
        assert accounts.drawn_units("lab") == 2 * (7 + 20)
        await until_on_loop(lambda: agree(accounts, state))

    run(tmp_path / "s.sqlite", test)


def test_a_group_that_the_disk_refuses_is_refused_whole_and_settlements_are_written_later(tmp_path: Path) -> None:
    async def test(accounts: Accounts, state: State) -> None:
        before = await accounts.open_draw("lab", "m", ROUTE, 5)
        pages = state._db.execute("PRAGMA page_count").fetchone()[0]
        state._db.execute(f"PRAGMA max_page_count = {pages}")
        before.settle(1, 2, 3)
        opened = await asyncio.gather(
            *(accounts.open_draw("lab", "m" * 3000, ROUTE, 5) for _ in range(20)), return_exceptions=True
        )
        durable = [draw for draw in opened if not isinstance(draw, BaseException)]
        assert all(isinstance(draw, StateError) for draw in opened if isinstance(draw, BaseException))
        state._db.execute("PRAGMA max_page_count = 100000")
        await until_on_loop(lambda: any(row.settled for row in state.draws()))
        rows = state.draws()
        assert len(rows) == 1 + len(durable) < 21
        assert [row.total_tokens for row in rows if row.settled] == [3], "the settlement was not lost"
        assert agree(accounts, state)

    run(tmp_path / "s.sqlite", test)


def test_another_process_that_writes_blocks_nothing(tmp_path: Path) -> None:
    async def test(accounts: Accounts, state: State) -> None:
        draw = await accounts.open_draw("lab", "m", ROUTE, 50)
        with closing(sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            draw.settle(1, 2, 3)
            opening = asyncio.create_task(accounts.open_draw("lab", "m", ROUTE, 50))
            await asyncio.sleep(0.05)  # which ends only if the event loop goes on: the other writes until then
            assert not opening.done()
            other.execute("COMMIT")
        await opening
        await until_on_loop(lambda: [row.settled for row in state.draws()] == [False, True])
        assert agree(accounts, state)

    run(tmp_path / "s.sqlite", test)


def test_patience_with_another_process_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.local_platform.accounts._PATIENCE_S", 0.1)

    async def test(accounts: Accounts, state: State) -> None:
        with closing(sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StateBusyError):
                await accounts.open_draw("lab", "m", ROUTE, 50)

    run(tmp_path / "s.sqlite", test)


def test_a_draw_counts_in_the_window_in_which_it_began() -> None:
    config = platform_of({"id": "m"}, allowance={"units": 100, "window_s": 1})

    async def test(accounts: Accounts, state: State) -> None:
        await until_on_loop(lambda: time.time() % 1 < 0.5)
        draw = await accounts.open_draw("lab", "m", config.routes[0], 10_000)
        assert accounts.drawn_units("lab") > 0
        await until_on_loop(lambda: accounts.drawn_units("lab") == 0)
        draw.settle(1, 2, 3)
        assert accounts.drawn_units("lab") == 0

    run(None, test, config)


def test_an_account_may_have_an_allowance_of_its_own() -> None:
    async def test(accounts: Accounts, state: State) -> None:
        for account in ("ben", "lab"):
            draw = await accounts.open_draw(account, "m", ROUTE, 5)
            assert not accounts.is_exhausted(account), "what is in flight may turn out to use nothing"
            draw.settle(2, 3, 5)
            draw.settle(2, 3, 5)
        assert accounts.is_exhausted("ben")
        assert not accounts.is_exhausted("lab")

    run(None, test)


def test_a_cancelled_opening_leaves_no_draw(tmp_path: Path) -> None:
    async def test(accounts: Accounts, state: State) -> None:
        opening = asyncio.create_task(accounts.open_draw("lab", "m", ROUTE, 50))
        await asyncio.sleep(0)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        await accounts.open_draw("lab", "m", ROUTE, 50)
        assert len(state.draws()) == 1, "that of the second, which was written after the first would have been"
        assert agree(accounts, state)

    run(tmp_path / "s.sqlite", test)


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    async def test(accounts: Accounts, state: State) -> None:
        draw = await accounts.open_draw("lab", "m", ROUTE, 50)
        draw.settle(1, 2, 3)
        accounts.close()

    run(tmp_path / "s.sqlite", test)
    assert State(tmp_path / "s.sqlite").draws()[0].settled


def test_keys_are_hashed_and_regenerated_once() -> None:
    state = State()
    key = state.create_key("lab")
    (known,) = state.keys()
    assert state.living_keys() == {hashed(key): "lab"}
    state.regenerate_key(known.id)
    with pytest.raises(StateError, match="no active key"):
        state.regenerate_key(known.id)
    with pytest.raises(StateError, match="no active key"):
        state.revoke_key(state.keys()[-1].id[:4])
    assert len(state.living_keys()) == 1
