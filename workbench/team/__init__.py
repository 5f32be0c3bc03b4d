"""Several machines on one account: a ledger that all of them write, who runs which job, and how many requests each may have
in flight.

The rows are Parquet files in a folder that all machines see; their catalog, and the leases, claims and spending of runs, are
in PostgreSQL. `workbench.ledger.address` imports this package, where an address names a team's ledger, and nothing else does.
"""

from workbench.team.address import TeamAddress as TeamAddress
from workbench.team.address import team_address as team_address
from workbench.team.copying import copy_ledger as copy_ledger
from workbench.team.machines import TeamMachines as TeamMachines
from workbench.team.store import TeamStore as TeamStore
from workbench.team.store import create_ledger as create_ledger
