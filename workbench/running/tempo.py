"""How long a run waits for a platform: between passes, for a paused route, and for calls that were given up."""

from typing import NamedTuple


class Tempo(NamedTuple):
    """The waits of a run, in s."""

    wait_share: float = 1.0
    """Of the waits between passes that `workbench.outcomes` gives."""
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
