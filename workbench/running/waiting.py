"""Why a run has fewer requests in flight than it may have, for the log."""

import logging
import time

LOG = logging.getLogger("workbench.running")


class Waiting:
    """Logs each reason once, and for how long it held; says nothing where no log is asked for.

    Args:
        limit: How many requests the run may have in flight.
    """

    def __init__(self, limit: int) -> None:
        self.is_watched = LOG.isEnabledFor(logging.DEBUG)
        self._limit = limit
        self._why, self._since = "", 0.0

    def because(self, why: str, in_flight: int) -> None:
        """Note that nothing more is sent now.

        Args:
            why: The same words for as long as the reason is the same.
        """
        if in_flight >= self._limit or why == self._why:
            return
        self.over()
        self._why, self._since = why, time.monotonic()
        LOG.debug("%d of %d in flight, waiting: %s", in_flight, self._limit, why)

    def over(self) -> None:
        """Note that all that may be in flight is, or that the run ends."""
        if self._why:
            LOG.debug("waited %.2f s: %s", time.monotonic() - self._since, self._why)
        self._why = ""
