"""The machines of a team."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from workbench.ledger.store import Ledger
from workbench.running.machines import Machines
from workbench.running.spending import Spender
from workbench.team.address import address_of_team
from workbench.team.claims import Claim, claims, machine_of
from workbench.team.leases import Held, leased_slots, release_leases
from workbench.team.presence import Presence, handed_in
from workbench.team.server import Server
from workbench.team.spending import TeamSpending, live_team_spenders


class TeamMachines(Machines):
    """The machines that share a ledger."""

    ingest_every_s: float | None = 60.0

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._team = ledger, address_of_team(ledger)

    @contextmanager
    def presence(self) -> Iterator[Presence]:
        """Yield this process among those of the machines."""
        with Presence(self._ledger) as presence:
            yield presence

    def spending(self, run_id: str, own: Spender) -> AbstractContextManager[TeamSpending]:
        """Return a run among those of the machines."""
        return TeamSpending(self._ledger, run_id, own)

    def live_spenders(self) -> dict[str, Spender]:
        """Return what the runs of the team have used and reserved whose answers are not all in the ledger, by run."""
        return live_team_spenders(self._team)

    def claims(self) -> Sequence[Claim]:
        """Return the runs that the machines carry out, or ended without handing in their answers."""
        with Server(self._team) as server:
            server.make_tables()
            return claims(server)

    def hand_in(self) -> None:
        """Release the jobs of the machine whose journals the ledger was given, now that it has all that they held."""
        handed_in(self._ledger)

    def leased_slots(self) -> Sequence[Held]:
        """Return the slots that the machines have leased."""
        with Server(self._team) as server:
            server.make_tables()
            return leased_slots(server)

    def release_leases(self) -> int:
        """End the leases of runs that are over, and return how many there were."""
        with Server(self._team) as server:
            server.make_tables()
            return release_leases(server, machine_of(self._ledger.journal_folder))
