"""A route that fails the same way again and again is paused while others continue, and tried with one call at a time.

One that says when to come again (`Retry-After`) gets no requests until then, and is then tried with one call at a time as well.
"""

from typing import Literal, NamedTuple

from workbench.records.outcomes import EFFECTS, Outcome
from workbench.running.rules import ACCOUNT, Tempo

IN_A_ROW = 5
"""Equal failures after which a route is paused; also how many it may have in flight before its first answer, once one
failed.
"""
MOST_TRIALS = 3
"""Failed trials after which it is given up for the run."""
MOST_HOLDS = 3
"""A route that asks to be left alone more often, for too long, without an answer in between is given up."""


class CallEnd(NamedTuple):
    """How a call of a route ended."""

    outcome: Outcome
    now: float
    """On any steady clock, in s."""
    sent_at: float
    """On the same clock."""
    flying: int = 1
    """The route's calls in flight when it ended, itself among them."""
    asks_for_time: bool = False
    """Whether the route said when to come again."""


class Breaker:
    """Watches one route."""

    def __init__(self, tempo: Tempo = ACCOUNT) -> None:
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
        self._pause_s, self._longest_held_s, self._is_brief = tempo.pause_s, tempo.longest_held_s, tempo.is_brief
        self._holds = 0
        self._in_a_row = 0
        self._enough_in_a_row = IN_A_ROW
        self._failed_at = float("-inf")
        self._has_answered = False
        self._trials = 0
        self._on_trial = False

    @property
    def failures(self) -> int:
        """How many equal failures in a row it opened for, or has seen so far."""
        return self._in_a_row

    @property
    def failed_trials(self) -> int:
        """How many trials failed since it opened."""
        return self._trials

    @property
    def is_sick(self) -> bool:
        """Whether the route is paused, or asked to be left alone and has not answered since."""
        return self.state != "closed" or self.held_since is not None

    @property
    def next_trial_at(self) -> float:
        """When a paused route may be asked again, on the clock of the caller."""
        return max(self.again_at if self.state == "open" else 0.0, self.held_until)

    def lets_through(self, flying: int, now: float) -> bool:
        """Return whether a request may be sent: one at a time, after a rest, while the route is paused.

        Args:
            flying: The route's requests in flight.
            now: On any steady clock, in s.
        """
        if now < self.held_until or (self.held_since is not None and flying):
            return False
        if self.state == "closed":
            return self._has_answered or not self._in_a_row or flying < IN_A_ROW
        return self.state == "open" and not flying and now >= self.again_at

    def hold(self, wait_s: float, now: float) -> bool:
        """Leave the route alone for `wait_s`, or for good; return whether that is news."""
        if self.state == "given up":
            return False
        is_first = self.held_since is None
        self._holds += self.held_until <= now  # what was in flight says the same again
        self.held_until = max(self.held_until, now + wait_s)
        if self.state == "open":
            self.again_at = self.held_until  # it knows better than we do
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
        """Note that a request was sent; while the route is paused that is a trial, and the only one in flight."""
        self._on_trial = self.state == "open"

    def ended(self, end: CallEnd) -> bool:
        """Record how a call ended; return whether there is news: another state, or a trial that failed."""
        on_trial, self._on_trial = self._on_trial, False
        says = EFFECTS[end.outcome].route
        if not says or self.state == "given up":
            return False
        if says == "well":
            return self._answered(end, on_trial=on_trial)
        if not end.asks_for_time:
            self.held_since, self._holds = None, 0
        self._failed_at = end.now
        if self.state == "closed":
            return self._failed(end)
        if not on_trial:  # in flight when it opened
            return False
        self._trials += 1
        if not end.asks_for_time:  # one that says when to come again is tried then, and as often
            self.again_at = end.now + self._pause_s * 2.0**self._trials
        if self._trials >= MOST_TRIALS:
            self.state = "given up"
        return True

    def _answered(self, end: CallEnd, *, on_trial: bool) -> bool:
        """Record an answer, and return whether there is news: a paused route is well again by a trial, or by a call
        that was sent after its last failure.
        """
        before = self.state
        # else an answer that was long under way would send the whole queue to a route that has failed since
        if before == "open" and not on_trial and end.sent_at <= self._failed_at:
            return False
        self.held_since, self._holds, self._has_answered = None, 0, True
        self.state, self._in_a_row, self._trials, self.failing_since = "closed", 0, 0, None
        return before != self.state

    def _failed(self, end: CallEnd) -> bool:
        if end.outcome is not self.outcome or not self._in_a_row:
            self.outcome, self._in_a_row, self.failing_since = end.outcome, 0, end.now
            # refusals come at once, and the answers that were let through later: these are waited for
            limited = EFFECTS[end.outcome].crowded == "limit"
            self._enough_in_a_row = max(IN_A_ROW, end.flying + 1) if limited else IN_A_ROW
        self._in_a_row += 1
        follows = EFFECTS[end.outcome]
        if self._is_brief and (follows.waited_out or follows.crowded == "load"):
            return self.give_up()
        if self._in_a_row < self._enough_in_a_row:
            return False
        self.state, self.again_at = "open", max(end.now + self._pause_s, self.held_until)
        return True
