"""How the fan-out of a run behaves beside what its job says, how long it waits, and why it ended early."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from workbench.errors import ExitCode, WorkbenchError
from workbench.records.calls import CallRecord
from workbench.records.endings import RunStatus
from workbench.running.caps import Caps
from workbench.running.slots import Slots

PATIENCE_S, OCCASION_PATIENCE_S = 90.0, 900.0
"""`run.patience_s` where it is not set: for an interactive run, and for a scheduled one."""


class Tempo(NamedTuple):
    """The waits of a run, in s."""

    wait_share: float = 1.0
    """Of the waits between passes that `workbench.records.outcomes` gives."""
    pause_s: float = 30.0
    """Before a paused route is tried for the first time; doubled before each further trial."""
    longest_held_s: float = 900.0
    """A route that only ever asks to be left alone (`Retry-After`) is given up after this time."""
    ghost_s: float | None = None
    """For how long the platform may work on a call after it was given up; None: as long as its route's calls take."""
    is_brief: bool = False
    """Whether the first time-out of a route says enough of it, and nothing is waited for beyond `run.deadline_s`."""


ACCOUNT = Tempo()
"""A platform that others use too."""
EMBEDDED = Tempo(wait_share=0.01, pause_s=0.2, longest_held_s=9.0, ghost_s=0.0)
"""The embedded platform: it needs no rest, and ends with the run."""


class Stop(msgspec.Struct, frozen=True):
    """Why sending ended before everything was sent."""

    status: RunStatus | None = None
    """What the run is because of that, if it leaves anything; None while it goes on."""
    reason: str = ""
    exit_code: int = ExitCode.DONE
    error: WorkbenchError | None = None

    def __bool__(self) -> bool:
        return self.status is not None


class FanOutSettings(NamedTuple):
    """How the fan-out behaves beside what the job says."""

    slots: Slots
    fixed: bool
    """Send as many at a time as are allowed, from the start."""
    patience_s: float
    """How long to wait when nothing but paused routes is left."""
    latencies_ms: Mapping[str, Sequence[float]]
    """How long the newest answers of each model took, oldest first."""
    tempo: Tempo
    """How long to wait for the platform."""
    caps: Caps
    """What the run may use together with others."""
    line_of: Callable[[CallRecord], str | None] | None
    """Called with every call that ended, its texts perhaps left out; what it gives back is printed as a line."""
