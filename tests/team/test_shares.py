"""Shares of slots among the runs of a team: never more than there are, and fair."""

import string

from hypothesis import given
from hypothesis import strategies as st

from workbench.team.leases import SlotDemand, fair_shares

demand = st.builds(SlotDemand, most=st.integers(1, 63), wants=st.integers(0, 80))
demands = st.dictionaries(st.sampled_from(string.ascii_lowercase), demand, min_size=1, max_size=12)
taken = st.sets(st.integers(0, 62), max_size=20)


def fits(shares: dict[str, int], wanted: dict[str, SlotDemand], gone: set[int]) -> bool:
    """Whether runs with a limit or a lower one have together no more slots than there are below it."""
    return all(
        sum(share for run, share in shares.items() if wanted[run].most <= limit)
        <= max(0, limit - sum(number < limit for number in gone))
        for limit in {demand.most for demand in wanted.values()}
    )


@given(demands, taken)
def test_shares_fit_and_nobody_has_more_than_it_wants(wanted: dict[str, SlotDemand], gone: set[int]) -> None:
    shares = fair_shares(wanted, gone)
    assert fits(shares, wanted, gone)
    assert all(share <= min(wanted[run]) for run, share in shares.items())


@given(demands, taken)
def test_who_has_less_than_it_wants_could_only_gain_from_one_that_has_no_more(
    wanted: dict[str, SlotDemand], gone: set[int]
) -> None:
    shares = fair_shares(wanted, gone)
    for run, share in shares.items():
        if share >= min(wanted[run]):
            continue
        assert not fits(shares | {run: share + 1}, wanted, gone), "nothing is left over"
        for other in shares:
            gains = shares | {run: share + 1, other: shares[other] - 1}
            if other != run and shares[other] > share + 1:
                assert not fits(gains, wanted, gone), f"{run} could have one of {other}"


@given(st.lists(st.integers(0, 80), min_size=1, max_size=10), st.integers(1, 63))
def test_runs_with_one_limit_differ_by_one_at_most(wants: list[int], most: int) -> None:
    wanted = {str(number): SlotDemand(most, want) for number, want in enumerate(wants)}
    shares = fair_shares(wanted)
    waiting = [share for run, share in shares.items() if share < min(wanted[run])]
    assert not waiting or max(shares.values()) - min(waiting) <= 1
