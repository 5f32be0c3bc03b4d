"""Which slots are leased, by whom; and the leases of the dead ended before their time."""

import os
from datetime import datetime
from typing import NamedTuple

from workbench.team.server import Server, rows


class Held(NamedTuple):
    """A leased slot, as `workbench slots` shows it."""

    endpoint: str
    slot: int
    state: str
    """`leased`, or `kept`: its run is over, and a call of it may go on at the platform."""
    host: str
    user: str
    pid: int | None
    job: str
    busy_until: datetime
    """When the lease ends unless it is renewed."""


_LIST = """
    SELECT lease.endpoint, lease.number AS slot,
        CASE WHEN run.expires_at > clock_timestamp() THEN 'leased' ELSE 'kept' END AS state,
        coalesce(run.host, '') AS host, coalesce(run.username, '') AS user, run.pid, coalesce(run.job, '') AS job,
        lease.expires_at AS busy_until
    FROM workbench_live.slots AS lease LEFT JOIN workbench_live.holders AS run USING (holder)
    WHERE lease.expires_at > clock_timestamp() ORDER BY lease.endpoint, lease.number
"""
_OF_MACHINE = """
    SELECT holder, pid FROM workbench_live.holders WHERE machine = %(machine)s AND expires_at > clock_timestamp()
"""
_RELEASE = """
    UPDATE workbench_live.slots AS lease SET expires_at = clock_timestamp()
    WHERE expires_at > clock_timestamp() AND (holder = ANY(%(dead)s) OR NOT EXISTS (
        SELECT 1 FROM workbench_live.holders AS run WHERE run.holder = lease.holder AND run.expires_at > clock_timestamp()
    ))
"""


def leased_slots(server: Server) -> list[Held]:
    """Return what is leased at all endpoints."""
    with server.transaction() as cursor:
        return [Held(**row) for row in rows(cursor, _LIST)]


def release_leases(server: Server, machine: str) -> int:
    """End the leases of runs that are over: of any machine where theirs have ended, of this one where the process is dead.

    Returns:
        How many slots that freed.
    """
    with server.transaction() as cursor:
        dead = [row["holder"] for row in rows(cursor, _OF_MACHINE, machine=machine) if _is_dead(row["pid"])]
        freed = cursor.execute(_RELEASE, {"dead": dead}).rowcount
        cursor.execute("DELETE FROM workbench_live.holders WHERE holder = ANY(%s)", [dead])
        return freed


def _is_dead(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's
        pass
    return False
