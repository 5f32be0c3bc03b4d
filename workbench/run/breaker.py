"""A route that fails the same way again and again is paused while others go on, and tried with one call at a time.

One that says when to come again (`Retry-After`) is left alone until then, and then tried with one call at a time as well.
"""

from typing import Literal

from workbench.records import Outcome

IN_A_ROW = 5
"""Equal failures after which a route is paused."""
MOST_TRIALS = 3
"""Failed trials after which it is given up for the run."""
MOST_HOLDS, LONGEST_HELD_S = 3, 900.0
"""A route that asks to be left alone so often, for so long, without an answer in between is given up."""
_PAUSE_S = 30.0
_LOCAL_PAUSE_S = 0.2
_LOCAL_HELD_S = 9.0
_BREAKING = frozenset(
    {
        Outcome.ROUTE_UNAUTHORISED, Outcome.ROUTE_DOWN, Outcome.ROUTE_COOLING, Outcome.GATEWAY_UNREACHABLE,
        Outcome.GATEWAY_TIMEOUT, Outcome.NULL_BODY, Outcome.HTML_BODY, Outcome.MALFORMED_BODY, Outcome.KEY_NOT_ALLOWED,
        Outcome.MODEL_NOT_VISIBLE, Outcome.CONNECT_FAILED, Outcome.CONNECTION_LOST, Outcome.CLIENT_TIMEOUT, Outcome.UNKNOWN,
    }
)  # fmt: skip
_SAYS_NOTHING = frozenset({Outcome.RATE_LIMITED, Outcome.CANCELLED, Outcome.ALLOWANCE_SUSPECTED, Outcome.KEY_REJECTED})


class Breaker:
    """Watches one route.

    Args:
        local: Whether it is the embedded platform's, which needs no long rest.
    """

    def __init__(self, *, local: bool) -> None:
        self.state: Literal["closed", "open", "given up"] = "closed"
        self.outcome: Outcome | None = None
        """The failure that it opened for."""
        self.again_at = 0.0
        """On the clock of the caller: when the next trial may be sent."""
        self.held_until = 0.0
        """On the same clock: before it nothing is sent, as the route asked."""
        self.failing_since: float | None = None
        """On the same clock: when the failures in a row began."""
        self.held_since: float | None = None
        """On the same clock: when it first asked so, of the times without an answer in between."""
        self._pause_s = _LOCAL_PAUSE_S if local else _PAUSE_S
        self._longest_held_s = _LOCAL_HELD_S if local else LONGEST_HELD_S
        self._holds = 0
        self._in_a_row = 0
        self._trials = 0
        self._on_trial = False

    def lets_through(self, flying: int, now: float) -> bool:
        """Whether a request may be sent: one at a time, after a rest, while the route is paused.

        Args:
            flying: The route's requests in flight.
            now: On any steady clock, in s.
        """
        if now < self.held_until or (self.held_since is not None and flying):
            return False
        return self.state == "closed" or (self.state == "open" and not flying and now >= self.again_at)

    def hold(self, wait_s: float, now: float) -> bool:
        """Leave the route alone for some s, or for good; whether there is something new to be said of that."""
        if self.state == "given up":
            return False
        is_first = self.held_since is None
        self._holds += self.held_until <= now  # what was in flight says the same again
        self.held_until = max(self.held_until, now + wait_s)
        if self.held_since is None:
            self.held_since = now
        elif self._holds > MOST_HOLDS and now - self.held_since > self._longest_held_s:
            return self.give_up()
        return is_first

    def give_up(self) -> bool:
        """Send the route nothing more in this run; whether it was not given up before."""
        before, self.state = self.state, "given up"
        return before != self.state

    def sent(self) -> None:
        """A request was sent; while the route is paused that is a trial, and the only one in flight."""
        self._on_trial = self.state == "open"

    def ended(self, outcome: Outcome, now: float) -> bool:
        """Take in how a call ended; whether the state changed by it."""
        on_trial, self._on_trial = self._on_trial, False
        if outcome in _SAYS_NOTHING:
            return False
        before = self.state
        if self.state == "given up":
            return False
        self.held_since, self._holds = None, 0
        if outcome not in _BREAKING:
            self.state, self._in_a_row, self._trials, self.failing_since = "closed", 0, 0, None
            return before != self.state
        if self.state == "closed":
            if outcome is not self.outcome or not self._in_a_row:
                self.outcome, self._in_a_row, self.failing_since = outcome, 0, now
            self._in_a_row += 1
            if self._in_a_row >= IN_A_ROW:
                self.state, self.again_at = "open", now + self._pause_s
        elif self.state == "open" and on_trial:  # not one that was in flight when it opened
            self._trials += 1
            self.again_at = now + self._pause_s * 2.0**self._trials
            if self._trials >= MOST_TRIALS:
                self.state = "given up"
        return before != self.state
