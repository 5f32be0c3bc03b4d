"""Leases of slots: never one slot for two, whatever their holders' clocks say, and given back in time."""

from collections.abc import Iterator
from unittest import mock

import psycopg
import pytest

from workbench.ledger.address import SCHEME
from workbench.team import leases as module
from workbench.team.address import TeamAddress, team_address
from workbench.team.leases import LEASE_S, Leases, leased_slots
from workbench.team.server import Server

MOST = 6


@pytest.fixture
def team(url: str) -> TeamAddress:
    return team_address(url, None)


@pytest.fixture
def pair(team: TeamAddress) -> Iterator[tuple[Leases, Leases]]:
    """Two runs, whose connections are their own."""
    with Server(team) as one, Server(team) as other:
        yield (
            Leases(one, "chat", MOST, "a", lambda: 5.0, "first"),
            Leases(other, "chat", MOST, "b", lambda: 5.0, "second"),
        )


def begun(leases: Leases) -> int:
    """How many calls a run may begin now; they go on."""
    count = 0
    while leases.begin():
        count += 1
    return count


def ended(leases: Leases, slots: range, *, ghost: bool = False) -> None:
    for _ in slots:
        leases.end(60.0 if ghost else None)


@pytest.mark.slow
def test_two_runs_have_half_each_as_their_calls_end(pair: tuple[Leases, Leases]) -> None:
    first, second = pair
    first.renew()
    assert begun(first) == MOST
    second.renew()
    assert begun(second) == 0, "all are in use"
    first.renew()
    ended(first, range(2))
    assert begun(first) == 0, "it has more than its share"
    first.renew()
    second.renew()
    assert begun(second) == 2
    ended(first, range(2, 3))
    first.renew()
    second.renew()
    assert (begun(first), begun(second)) == (0, 1)
    assert begun(first) == 0


@pytest.mark.slow
def test_no_lease_is_given_back_while_a_call_may_begin_under_it(pair: tuple[Leases, Leases]) -> None:
    first, second = pair
    first.renew()
    assert first.begin()
    assert first.begin()
    second.renew()
    first.renew()  # calls may begin while it is under way: what it learns of its share holds from now on
    second.renew()
    assert begun(second) == 0
    first.renew()
    second.renew()
    assert begun(second) == MOST // 2
    assert begun(first) == MOST // 2 - 2


@pytest.mark.slow
def test_who_wants_little_leaves_the_rest(pair: tuple[Leases, Leases]) -> None:
    first, second = pair
    first.renew()
    assert first.begin()
    first.renew()
    first.renew()  # it was not denied anything since: what it uses and one more
    second.renew()
    assert begun(second) == MOST - 2


def test_ghosts_keep_their_places_after_the_run(pair: tuple[Leases, Leases], team: TeamAddress) -> None:
    first, second = pair
    first.renew()
    assert begun(first) == MOST
    ended(first, range(2), ghost=True)
    ended(first, range(2, MOST))
    first.close()
    second.renew()
    assert begun(second) == MOST - 2
    with Server(team) as server:
        assert [held.state for held in leased_slots(server)].count("kept") == 2


def test_a_client_sends_nothing_more_before_its_lease_ends(pair: tuple[Leases, Leases]) -> None:
    first, _ = pair
    now = 1000.0
    with mock.patch.object(module, "steady", side_effect=lambda: now):
        first.renew()
        assert first.begin()
        now += LEASE_S - 4.0
        assert first.begin()
        assert not first.have_lapsed()
        now += 2.0
        assert not first.begin()
        assert first.have_lapsed()
        first.renew()
        assert first.begin()


def test_what_a_dead_run_leased_is_free_when_its_calls_must_be_over(pair: tuple[Leases, Leases], url: str) -> None:
    first, second = pair
    first.renew()
    assert begun(first) == MOST
    with psycopg.connect(url.removeprefix(SCHEME)) as db:
        (left_s,) = db.execute(
            "SELECT extract(epoch FROM min(expires_at) - clock_timestamp()) FROM workbench_live.slots"
        ).fetchone() or (0,)
    assert LEASE_S + 4.0 < left_s <= LEASE_S + 5.0, "a call sent at its end may go on for as long as calls do"
    second.renew()
    assert begun(second) == 0
    with psycopg.connect(url.removeprefix(SCHEME)) as db:
        for table in ("holders", "slots"):
            db.execute(
                psycopg.sql.SQL(
                    "UPDATE workbench_live.{} SET expires_at = clock_timestamp() WHERE holder <> ''"
                ).format(psycopg.sql.Identifier(table))
            )
    second.renew()
    assert begun(second) == MOST


def test_a_run_with_a_lower_limit_finds_low_numbers_free(team: TeamAddress) -> None:
    with Server(team) as one, Server(team) as other:
        wide, narrow = Leases(one, "chat", MOST, "a", lambda: 5.0, "m"), Leases(other, "chat", 2, "b", lambda: 5.0, "m")
        wide.renew()
        assert begun(wide) == MOST
        narrow.renew()
        assert begun(narrow) == 0
        wide.renew()
        ended(wide, range(2))
        wide.renew()
        narrow.renew()
        assert begun(narrow) == 2
