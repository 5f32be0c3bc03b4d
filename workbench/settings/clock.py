"""What time it is: asked here alone, so that tests, rehearsed nights and sample reports can say which day it is."""

import os
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from workbench.errors import Fault, InputError

SET_BY = "WORKBENCH_NOW"
"""The environment variable that sets the clock, such as 2026-11-20T02:00Z; from there it goes on."""


def now() -> datetime:
    """Return the current time, in UTC, by the machine's clock or as it is set.

    Raises:
        InputError: It is set, and not to a time.
    """
    given = os.environ.get(SET_BY)
    return _ahead(given) + machine_now() if given else machine_now()


def is_set() -> bool:
    """Return whether the time is not the machine's."""
    return bool(os.environ.get(SET_BY))


def machine_now() -> datetime:
    """Return the machine's time, in UTC, for what is compared with another machine's and never told."""
    return datetime.now(UTC)


def machine_s() -> float:
    """Return the same in Unix seconds: what the processes of a machine tell each other."""
    return time.time()


@lru_cache  # a clock that is set goes on from the moment at which it is first asked
def _ahead(given: str) -> timedelta:
    try:
        moment = datetime.fromisoformat(given).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InputError(
            Fault(SET_BY, f"{given!r} is not a valid time", "expected such as 2026-11-20T02:00Z")
        ) from error
    return moment - machine_now()
