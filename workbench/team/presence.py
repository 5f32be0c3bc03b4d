"""A run among those of its team: its claim and its leases, kept up by a thread of its own."""

import contextlib
import errno
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from workbench.errors import WorkbenchError
from workbench.ledger.store import Ledger, is_being_written
from workbench.running.options import RunOptions
from workbench.running.slots import Slot, Slots
from workbench.team.address import address_of_team
from workbench.team.claims import Claim, claim, hand_in, leave_behind, machine_of, renewed, say_over
from workbench.team.leases import Leases
from workbench.team.server import Server

_EVERY_S = 1.0
_AT_ONCE_S = 0.05
"""Between two renewals where something waits for one."""
_AGAIN_S = 0.25
"""The same where the last one changed nothing."""


class Presence:
    """A run of a team's ledger; used as a context, in which the server must answer at the start."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._server = Server(address_of_team(ledger))
        self._machine = machine_of(ledger.journal_folder)
        self._job = ""
        self._run_id: str | None = None
        self._to_send: int | None = None
        self.was_left_behind = False
        """Whether its job was given to another while the server could not be reached."""

    def __enter__(self) -> Self:
        self._server.make_tables()
        return self

    def __exit__(self, *_: object) -> None:
        with self._server, contextlib.suppress(WorkbenchError):  # else the job stays claimed until they are handed in
            if _all_ingested(self._ledger):
                hand_in(self._server, self._machine, self._goes_on, self._run_id)
            elif self._run_id is not None:
                say_over(self._server, self._run_id)

    def claim(self, job: str, run_id: str, options: RunOptions) -> None:
        """Claim a job for a run."""
        if options.leave_behind is not None:
            leave_behind(self._server, options.leave_behind)
        resumes = options.resume is not None
        claim(self._server, job, run_id, self._machine, is_fresh=options.fresh, resumes=resumes)
        self._job, self._run_id = job, run_id

    def will_send(self, requests: int) -> None:
        """Say, before the first one, how many requests the run is to send."""
        self._to_send = requests
        self._renew_claim()

    @contextlib.contextmanager
    def slots(
        self, folder: Path, limit: int, job: str, *, shared: bool, older: Sequence[Path], hold_s: float
    ) -> Iterator[Slots]:
        """Return the slots of this run, see `RunPresence`."""
        leases = Leases(self._server, folder.name, limit, job, lambda: hold_s, self._machine)
        leases.renew()
        over = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(leases, over), name="leases", daemon=True)
        with TeamSlots(folder, limit, job, leases, shared=shared, older=older) as slots:
            keeper.start()
            try:
                yield slots
            finally:
                over.set()
                keeper.join()
                leases.close()

    def _keep(self, leases: Leases, over: threading.Event) -> None:
        """Renew what the run has, each second, and at once where that would change something."""
        due_at, early_at = time.monotonic() + _EVERY_S, 0.0
        while not over.wait(_AT_ONCE_S):
            now = time.monotonic()
            is_due = now >= due_at
            if not is_due and not (leases.wants_now and now >= early_at):
                continue
            try:
                if not leases.renew():
                    early_at = now + _AGAIN_S
                if is_due:
                    self._renew_claim()
            except WorkbenchError:  # what is leased stays so for its time
                over.wait(_EVERY_S)
            if is_due:
                due_at = time.monotonic() + _EVERY_S
            if self.was_left_behind:
                leases.forfeit(f"run {self._run_id} was left behind by another of its job")
                return

    def _goes_on(self, other: Claim) -> bool:
        """Return whether a run of this machine does: the server may not have heard of it for long. Of a job there is one here."""
        return other.job != self._job and self._ledger.is_running(other.job)

    def _renew_claim(self) -> None:
        if self._run_id is not None and not renewed(self._server, self._run_id, self._to_send):
            self.was_left_behind = True


def _all_ingested(ledger: Ledger) -> bool:
    """Return whether no journal is left of a run that is over; those of runs that go on are theirs to hand in."""
    for journal in ledger.journals():
        with contextlib.suppress(FileNotFoundError):  # another process ingests it just now
            if not is_being_written(journal):
                return False
    return True


def handed_in(ledger: Ledger) -> None:
    """Release the jobs of the machine whose journals a team's ledger was given, now that it has all that they held."""
    if not _all_ingested(ledger):
        return
    is_own = ledger.journal_folder == Ledger(ledger.name).journal_folder
    with Server(address_of_team(ledger)) as server:
        server.make_tables()
        # of another machine only the server knows what goes on; of this one a lost connection says nothing
        goes_on = (lambda one: ledger.is_running(one.job)) if is_own else (lambda one: one.is_live)
        hand_in(server, machine_of(ledger.journal_folder), goes_on)


class TeamSlots(Slots):
    """As `Slots`, within what the run has leased: other runs of this machine may use a ledger of their own."""

    def __init__(
        self, folder: Path, limit: int, job: str, leases: Leases, *, shared: bool, older: Sequence[Path]
    ) -> None:
        super().__init__(folder, limit, job, shared=shared, older=older)
        self._leases = leases

    def set_longest_call(self, longest_s: Callable[[], float]) -> None:
        """Set what tells how long a call may take at most."""
        self._leases.hold_s = longest_s

    @property
    def obstacle(self) -> str | None:
        """What keeps all calls from being sent."""
        if not self._leases.have_lapsed():
            return None
        return "the ledger's server does not answer, and what it leased is over: nothing is sent until it does"

    def take(self) -> Slot | None:
        """Return a slot, if there is one here and a lease for it, and this run may have both now.

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
