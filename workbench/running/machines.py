"""Who else works on a ledger: other processes of this machine, and of a team's ledger other machines too."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from workbench.errors import Fault, InputError
from workbench.ledger.address import FileAddress, team_room
from workbench.ledger.store import Ledger
from workbench.running.caps import SharesSpending
from workbench.running.options import RunOptions
from workbench.running.slots import Slots
from workbench.running.spending import SharedSpending, Spender, live_spenders

_CAPS_FOLDER = "caps"


class OtherRun(Protocol):
    """A run that another machine carries out, or ended without handing in its answers."""

    @property
    def run_id(self) -> str:
        """The run."""

    @property
    def job(self) -> str:
        """Its job."""

    @property
    def where(self) -> str:
        """Its machine and user, for people."""

    @property
    def is_live(self) -> bool:
        """Whether it said lately that it goes on."""

    @property
    def unfinished(self) -> str:
        """What is to be done where it does not."""

    def was_killed_here(self, ledger: Ledger) -> bool:
        """Return whether it is a run of this machine that is over."""


class Leased(Protocol):
    """A slot that a machine has leased."""

    def _asdict(self) -> dict[str, object]: ...


class RunPresence(Protocol):
    """A run among the others of its ledger. A team's overrides what differs."""

    def claim(self, job: str, run_id: str, options: RunOptions) -> None:
        """Claim a job for a run; nothing where the job's lock is the claim.

        Raises:
            LockHeldError: It is another's.
            InputError: The run that is to be left behind is not there, or goes on.
        """
        return

    def will_send(self, requests: int) -> None:
        """Say, before the first one, how many requests the run is to send, where others are to know it."""
        return

    def slots(
        self, folder: Path, limit: int, job: str, *, shared: bool, older: Sequence[Path], hold_s: float
    ) -> AbstractContextManager[Slots]:
        """Return the slots of this run.

        Args:
            folder: Of the endpoint's slots on this machine.
            limit: How many it may take.
            job: Named to others.
            shared: Whether other users of this machine may use the folder too.
            older: The folders that older versions have for the endpoint.
            hold_s: For how long a call may go on at most from when it is sent, until the slots are told otherwise.
        """


class Machines(Protocol):
    """Those that work on a ledger. A team's say what is not as here."""

    ingest_every_s: float | None = None
    """How often a run ingests so that others see its answers; None: they read its journal."""

    def refuse(self, options: RunOptions) -> None:
        """Refuse options of a run that mean nothing here.

        Raises:
            InputError: One does.
        """
        return

    def presence(self) -> AbstractContextManager[RunPresence]:
        """Yield this process among them."""

    def spending(self, run_id: str, own: Spender) -> AbstractContextManager[SharesSpending]:
        """Return a run among those that share its caps."""

    def live_spenders(self) -> dict[str, Spender]:
        """Return what runs have used and reserved whose answers are not all in the ledger, by run."""

    def claims(self) -> Sequence[OtherRun]:
        """Return the runs of other machines; none where the ledger's lock is held for each job."""
        return []

    def hand_in(self) -> None:
        """Release the jobs of this machine whose journals the ledger was given; nothing where each is released at its end."""
        return

    def leased_slots(self) -> Sequence[Leased] | None:
        """Return the slots that machines have leased; None where slots are files of this machine."""
        return None

    def release_leases(self) -> int | None:
        """End the leases of runs that are over, and return how many there were; None where slots are files of this machine."""
        return None


def machines_of(ledger: Ledger) -> Machines:
    """Return the machines of a ledger."""
    if isinstance(ledger.address, FileAddress):
        return ThisMachine(ledger)
    found: Machines = team_room().TeamMachines(ledger)
    return found


class Alone(RunPresence):
    """A run of a machine's own ledger, whose lock the job has."""

    def slots(
        self, folder: Path, limit: int, job: str, *, shared: bool, older: Sequence[Path], hold_s: float
    ) -> AbstractContextManager[Slots]:
        """Return the slots of this machine."""
        return Slots(folder, limit, job, shared=shared, older=older)


class ThisMachine(Machines):
    """The one machine of a ledger that is a file."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def refuse(self, options: RunOptions) -> None:
        """Refuse to leave behind a run of another machine."""
        if options.leave_behind is not None:
            problem = f"{self._ledger.name} is a file: no other machine keeps answers back"
            raise InputError(Fault("--leave-behind", problem, "leave it out"))

    @contextmanager
    def presence(self) -> Iterator[RunPresence]:
        """Yield this process alone."""
        yield Alone()

    def spending(self, run_id: str, own: Spender) -> AbstractContextManager[SharesSpending]:
        """Return a run among those of this machine."""
        return SharedSpending(self._ledger.journal_folder / _CAPS_FOLDER, run_id, own)

    def live_spenders(self) -> dict[str, Spender]:
        """Return what the runs of this machine have used and reserved, by run."""
        return live_spenders(self._ledger.journal_folder / _CAPS_FOLDER)
