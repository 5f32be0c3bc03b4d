"""How many slots each run may have, where several want more than there are."""

from collections.abc import Collection, Mapping
from typing import NamedTuple


class SlotDemand(NamedTuple):
    """What a run can use."""

    most: int
    """It takes from slots 0 to most - 1."""
    wants: int


def fair_shares(demands: Mapping[str, SlotDemand], taken: Collection[int] = ()) -> dict[str, int]:
    """Max-min fair shares: none can have more unless another that has as few loses for it.

    A run with a lower limit takes from fewer slots, so what those of some limit or a lower one have together fits into that
    many slots; thus all of them together never exceed the largest limit.

    Args:
        demands: By run.
        taken: Numbers of slots that none can have now.
    """
    shares = dict.fromkeys(demands, 0)
    limits = sorted({demand.most for demand in demands.values()})
    room = {limit: limit - sum(number < limit for number in taken) for limit in limits}
    growing = sorted(demands)
    while growing:
        for run in list(growing):
            most, wants = demands[run]
            if shares[run] >= min(most, wants) or any(room[limit] <= 0 for limit in limits if limit >= most):
                growing.remove(run)
                continue
            shares[run] += 1
            for limit in limits:
                room[limit] -= limit >= most
    return shares
