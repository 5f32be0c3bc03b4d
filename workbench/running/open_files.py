"""How many requests a process may have in flight with the files that it may open: beyond that DuckDB ends it at once."""

import contextlib
import os
import resource

import msgspec

from workbench.errors import Fault, InputError
from workbench.job.job import Job

_A_CALL = 3
"""Its connection, and its slot, which an older version may know by a file of its own."""
_ALL_ELSE = 64
"""Journals, locks, the ledger, what DuckDB spills to, pages, and some to spare."""
_MOST = 2**16  # some systems know no limit, and take no larger one


def within_open_files(job: Job) -> tuple[Job, str]:
    """Return the job with as many requests in flight as there is room for, and what to say where that is fewer.

    The limit of this process is raised first, as far as it may be.

    Raises:
        InputError: There is not even room for one.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):  # some systems allow fewer than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    free = (_MOST if soft == resource.RLIM_INFINITY else soft) - len(os.listdir("/dev/fd"))
    room = (free - _ALL_ELSE) // _A_CALL
    if room < 1:
        least = soft - free + _ALL_ELSE + _A_CALL
        raise InputError(
            Fault("", f"this process may open {soft} files, and a run needs at least {least}", "ulimit -n 256")
        )
    if room >= job.run.max_in_flight:
        return job, ""
    note = f"at most {room} requests in flight: this process may open {soft} files (ulimit -n)"
    return msgspec.structs.replace(job, run=msgspec.structs.replace(job.run, max_in_flight=room)), note
