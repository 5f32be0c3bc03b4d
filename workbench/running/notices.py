"""What a run prints about its routes and limits while it runs, and what of that goes into its last line."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.display.text import plural
from workbench.planning.expand import Plan
from workbench.records.endings import FailedRoute
from workbench.running.breaker import Breaker
from workbench.running.pace import Change
from workbench.running.slots import Slots

_CUTS_SAID_EVERY_S = 60.0


class Notices:
    """Writes lines for people, each once.

    Args:
        note: Writes a line.
        patience_s: How long the run waits when nothing but paused routes is left.
    """

    def __init__(self, plan: Plan, note: Callable[[str], None], patience_s: float) -> None:
        self._plan, self._note, self._patience_s = plan, note, patience_s
        self.given_up: list[str] = []
        """Messages for the end of the run."""
        self.failed_routes: list[FailedRoute] = []
        self._cut_said_at: dict[str | None, float] = {}
        self._ghosts_said = False
        self._obstacle: str | None = None

    def route(self, model: int, breaker: Breaker) -> None:
        """Say that a route was paused, failed a trial, answers again or is given up."""
        if breaker.state == "closed":
            self._note(f"{self._name(model)}: answers again")
        elif breaker.state == "open":
            failed = f"paused after {breaker.failures} × {_words(breaker)} in a row"
            if breaker.failed_trials:
                failed = f"still {_words(breaker)}"
            again = _utc(breaker.next_trial_at)
            self._note(f"{self._name(model)}: {failed}, next trial at {again}; other models continue")
        else:
            self._give_up(model, breaker, "given up", self._failing(model, breaker, "was given up"))

    def out_of_patience(self, model: int, breaker: Breaker) -> None:
        """Say that a paused route is given up, as nothing else is left."""
        waited = f"was given up after {self._patience_s:g} s with nothing else to send (run.patience_s)"
        self._give_up(model, breaker, "given up", self._failing(model, breaker, waited))

    def paused(self, model: int, breaker: Breaker) -> None:
        """Say that a route is paused at the end of the run."""
        self._give_up(model, breaker, "paused", self._failing(model, breaker, "is paused"))

    def held(self, model: int, breaker: Breaker, asked_s: float) -> None:
        """Say that a route asked for a pause."""
        if breaker.state == "given up":
            since = _utc(breaker.held_since)
            text = f"{self._name(model)} has repeatedly asked for a pause since {since} (Retry-After)"
            self._give_up(model, breaker, "left alone", text)
        else:
            self._note(f"{self._name(model)}: paused for {asked_s:.3g} s, as it asked (Retry-After)")

    def held_too_long(self, model: int, breaker: Breaker, asked_s: float) -> None:
        """Say that a route asked for a longer pause than a run waits."""
        when = clock.now() + timedelta(seconds=asked_s)
        text = f"{self._name(model)} asks for a pause until {when:%Y-%m-%d %H:%M:%S} UTC (Retry-After)"
        self._give_up(model, breaker, "left alone", text)

    def late(self, requests: int) -> None:
        """Say that requests had no time left for another pass."""
        if requests:
            self.given_up.append(f"{plural(requests, 'request')} not retried within run.request_deadline_s")

    def cut(self, model: str | None, change: Change) -> None:
        """Say that a limit was cut, at most once a minute for each route."""
        said_at = self._cut_said_at.get(model, float("-inf"))
        if change.is_cut and time.monotonic() - said_at >= _CUTS_SAID_EVERY_S:
            self._cut_said_at[model] = time.monotonic()
            limits = f"at most {change.allowed} in flight instead of {change.before}"
            self._note(f"{model or 'all models'}: {limits} ({change.reason})")

    def no_slot(self, slots: Slots) -> None:
        """Nothing can be sent now: say once why, where others than calls in flight keep it from that."""
        if slots.obstacle != self._obstacle:
            self._obstacle = slots.obstacle
            if self._obstacle is not None:
                self._note(self._obstacle)
        busy_until = [] if self._ghosts_said else slots.ghosts()
        if not busy_until:
            return
        self._ghosts_said = True
        times = (f"{datetime.fromtimestamp(moment, UTC):%H:%M:%S}" for moment in (min(busy_until), max(busy_until)))
        until = " to ".join(dict.fromkeys(times))
        self._note(
            f"{len(busy_until)} of {self._plan.job.run.max_in_flight} slots are kept until {until} UTC by calls that were "
            f"killed or given up, and that the platform may still be working on; free them: {commands.RELEASE_SLOTS}"
        )

    def slot_taken(self) -> None:
        """Say that a request can be sent, where something kept it from that before."""
        if self._obstacle is not None:
            self._obstacle = None
            self._note("requests are sent again")

    def _give_up(self, model: int, breaker: Breaker, state: str, text: str) -> None:
        since = _utc(breaker.failing_since or breaker.held_since)
        name, outcome = self._name(model), breaker.outcome
        self.failed_routes.append(FailedRoute(name, state, outcome, breaker.failures, breaker.failed_trials, since))
        self.given_up.append(text)
        self._note(text)

    def _failing(self, model: int, breaker: Breaker, became: str) -> str:
        trials = f" and in {breaker.failed_trials} trials" if breaker.failed_trials else ""
        return (
            f"{self._name(model)} has failed since {_utc(breaker.failing_since)} and {became}: "
            f"{_words(breaker)} {breaker.failures} times in a row{trials}"
        )

    def _name(self, model: int) -> str:
        return self._plan.models[model].id


def _words(breaker: Breaker) -> str:
    return str(breaker.outcome).replace("_", " ")


def _utc(moment: float | None) -> str:
    """Return a time of the steady clock as people read it; None is now."""
    ago_s = 0.0 if moment is None else time.monotonic() - moment
    return f"{clock.now() - timedelta(seconds=ago_s):%Y-%m-%d %H:%M:%S} UTC"
