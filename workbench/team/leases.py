"""The slots that a run has leased: for a while, by the server's clock, and renewed long before that is over.

A lease ends, for its holder, `LEASE_S` after its renewal was sent, on the holder's own steady clock and less a margin; from
then on it sends nothing new. For the server it ends later by as long as a call may take, so that no call outlives it.
"""

import contextlib
import os
import secrets
import threading
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from workbench.errors import WorkbenchError
from workbench.running.slot_files import steady
from workbench.team.server import Server, rows, who


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


LEASE_S = 30.0
_MARGIN_S = 3.0
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%(endpoint)s, 0))"
_SAY = """
    INSERT INTO workbench_live.holders AS own
        (holder, endpoint, machine, host, username, pid, job, most, wants, expires_at)
    VALUES (%(holder)s, %(endpoint)s, %(machine)s, %(host)s, %(username)s, %(pid)s, %(job)s, %(most)s, %(wants)s,
        clock_timestamp() + make_interval(secs => %(lease_s)s))
    ON CONFLICT (holder) DO UPDATE SET wants = excluded.wants, expires_at = excluded.expires_at
"""
_HOLDERS = """
    SELECT holder, most, wants FROM workbench_live.holders
    WHERE endpoint = %(endpoint)s AND expires_at > clock_timestamp()
"""
_LEASED = """
    SELECT number, holder FROM workbench_live.slots WHERE endpoint = %(endpoint)s AND expires_at > clock_timestamp()
"""
_RENEW = """
    INSERT INTO workbench_live.slots AS lease (endpoint, number, holder, expires_at)
    SELECT %(endpoint)s, number, %(holder)s, clock_timestamp() + make_interval(secs => %(for_s)s)
    FROM unnest(%(numbers)s::int[]) AS number
    ON CONFLICT (endpoint, number) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
"""
_GIVE_BACK = """
    UPDATE workbench_live.slots SET expires_at = clock_timestamp()
    WHERE endpoint = %(endpoint)s AND holder = %(holder)s AND expires_at > clock_timestamp() AND NOT number = ANY(%(kept)s::int[])
"""
_FORGET = (
    "DELETE FROM workbench_live.holders WHERE holder = %(holder)s OR expires_at < clock_timestamp() - INTERVAL '1 hour'"
)


class _State(NamedTuple):
    """What a renewal says of the run."""

    wants: int
    bound: int
    """More than these cannot be in flight before the renewal's result is known here: calls begin while it is under way."""


class Leases:
    """The leases of one run at one endpoint, for its event loop and the thread that renews them.

    Args:
        endpoint: Of the platform, in short.
        most: How many slots the run may have.
        job: Named to others.
        hold_s: For how long any call may go on at most from when it is sent; asked at each renewal.
    """

    def __init__(
        self, server: Server, endpoint: str, most: int, job: str, hold_s: Callable[[], float], machine: str
    ) -> None:
        self._server, self._most = server, most
        self.hold_s = hold_s
        host, username = who()
        self._named = {"endpoint": endpoint, "holder": secrets.token_hex(8)}
        self._fields = self._named | {
            "machine": machine,
            "host": host,
            "username": username,
            "pid": os.getpid(),
            "job": job,
            "most": most,
        }
        self._lock = threading.Lock()
        self._numbers: tuple[int, ...] = ()
        self._share = 0
        self._until = 0.0
        self._in_flight = self._peak = 0
        self._ghosts: list[float] = []
        self._denied = True
        self.forfeited: str | None = None
        """Why the run may send nothing more."""

    @property
    def wants_now(self) -> bool:
        """Whether a renewal might change something: calls wait for a slot, or others for one that is used here."""
        with self._lock:
            return (self._denied and len(self._numbers) < self._most) or self._share < len(self._numbers)

    def begin(self) -> bool:
        """Count a call that is about to be sent; False where no lease allows one now."""
        with self._lock:
            now = steady()
            self._ghosts = [until for until in self._ghosts if until > now]
            allowed = min(len(self._numbers), self._share) if now < self._until else 0
            if self._in_flight + len(self._ghosts) >= allowed:
                self._denied = True
                return False
            self._in_flight += 1
            self._peak = max(self._peak, self._in_flight)
            return True

    def end(self, ghost_s: float | None = None) -> None:
        """Count a call as over; one that may go on for so long at the platform keeps its place."""
        with self._lock:
            self._in_flight -= 1
            if ghost_s is not None:
                self._ghosts.append(steady() + ghost_s)

    def forfeit(self, reason: str) -> None:
        """Allow no call from now on."""
        with self._lock:
            self.forfeited, self._until = reason, 0.0

    def have_lapsed(self) -> bool:
        """Return whether the leases are over, as the server did not answer in time."""
        with self._lock:
            return steady() >= self._until

    def renew(self) -> bool:
        """Lease what is wanted and is this run's share, and give the rest back; returns whether that changed anything.

        Raises:
            UnreachableError: The server does not answer; what is leased stays so for its time.
            WorkbenchError: The server refuses.
        """
        began = steady()  # before the server is asked: its lease began no earlier, so that ours is never the longer one
        state = self._state()
        with self._server.transaction() as cursor:
            cursor.execute(_LOCK, self._named)
            cursor.execute(_SAY, self._fields | {"wants": state.wants, "lease_s": LEASE_S})
            demands = {
                row["holder"]: SlotDemand(row["most"], row["wants"]) for row in rows(cursor, _HOLDERS, **self._named)
            }
            leased = {row["number"]: row["holder"] for row in rows(cursor, _LEASED, **self._named)}
            holder = self._named["holder"]
            left = [number for number, of in leased.items() if of not in demands]  # of runs that are over, or died
            share = fair_shares(demands, left)[holder]
            # what is above a lower share is given back by the next renewal, once no call can begin there any more; low
            # numbers go first, as a run with a lower limit can take those alone
            needed = max(share, state.bound)
            kept = sorted((number for number, of in leased.items() if of == holder), reverse=True)[:needed]
            free = [number for number in range(self._most - 1, -1, -1) if number not in leased]
            kept += free[: max(0, share - len(kept))]
            cursor.execute(_GIVE_BACK, self._named | {"kept": kept})
            cursor.execute(_RENEW, self._named | {"numbers": kept, "for_s": LEASE_S + self.hold_s()})
        with self._lock:
            before = self._numbers
            self._numbers, self._share, self._until = tuple(kept), share, began + LEASE_S - _MARGIN_S
            return before != self._numbers

    def _state(self) -> _State:
        with self._lock:
            now = steady()
            self._ghosts = [until for until in self._ghosts if until > now]
            in_flight = self._in_flight + len(self._ghosts)
            wants = self._most if self._denied else min(self._most, self._peak + len(self._ghosts) + 1)
            self._denied, self._peak = False, self._in_flight
            return _State(wants, max(in_flight, min(len(self._numbers), self._share)))

    def close(self) -> None:
        """Give back what is leased; what calls may still use at the platform stays taken for as long."""
        now = steady()
        with self._lock:
            busy = [until - now for until in self._ghosts if until > now] + [self.hold_s()] * self._in_flight
            kept = dict(zip(self._numbers, busy, strict=False))
        with contextlib.suppress(WorkbenchError), self._server.transaction() as cursor:  # else they end by themselves
            cursor.execute(_LOCK, self._named)
            cursor.execute(_GIVE_BACK, self._named | {"kept": list(kept)})
            for number, for_s in kept.items():
                cursor.execute(_RENEW, self._named | {"numbers": [number], "for_s": for_s})
            cursor.execute(_FORGET, self._named)


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
