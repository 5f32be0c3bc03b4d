"""The slots of a run whose machine is one of several: one of this machine's and a lease beside it."""

import errno
from collections.abc import Callable
from pathlib import Path

from workbench.running.slots import Slot, Slots
from workbench.team.leases import Leases


class TeamSlots(Slots):
    """As `Slots`, within what the run has leased: other runs of this machine may use a ledger of their own.

    Args:
        folder: Of the endpoint, on this machine.
        limit: How many this run may take.
        job: Named to others.
        leases: Of the run.
        shared: Whether other users of this machine may use the folder too.

    Raises:
        InputError: The folder cannot be used.
    """

    def __init__(self, folder: Path, limit: int, job: str, leases: Leases, *, shared: bool = False) -> None:
        super().__init__(folder, limit, job, shared=shared)
        self._leases = leases

    def calls_may_last(self, longest_s: Callable[[], float]) -> None:
        """Learn how to ask for how long any call may go on at most."""
        self._leases.hold_s = longest_s

    @property
    def obstacle(self) -> str | None:
        """What keeps all calls from being sent."""
        if not self._leases.have_lapsed():
            return None
        return "the ledger's server does not answer, and what it leased is over: nothing is sent until it does"

    def take(self) -> Slot | None:
        """A slot, if there is one here and a lease for it, and this run may have both now.

        Raises:
            OSError: The run may send nothing more.
        """
        if self._leases.forfeited is not None:
            raise OSError(errno.EPERM, self._leases.forfeited)
        if not self._leases.begin():
            return None
        slot = super().take()
        if slot is None:
            self._leases.end()
        return slot

    def give_back(self, slot: Slot) -> None:
        """End the use of a slot."""
        self._leases.end(slot.kept_s if slot.is_ghost else None)
        super().give_back(slot)
