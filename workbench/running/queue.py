"""Which request goes next: the models take turns, so that a slow route never starves a fast one."""

import heapq
import math
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import NamedTuple

import anyio

import workbench.settings.clock as time_of_day
from workbench.planning.expand import Plan
from workbench.records.outcomes import Outcome
from workbench.running.breaker import Breaker, CallEnd
from workbench.running.pace import Pace
from workbench.running.rules import ACCOUNT, Tempo

_LEAST_SHARE = 1 / 3


class Turn(NamedTuple):
    """One request whose turn it is."""

    model: int
    item: int
    attempt: int
    """1, or more in a later pass."""
    first_at: float
    """When it was sent for the first time, in s of the steady clock."""
    sent_at: float
    """When it is sent now, on the same clock."""


class WorkLeft:
    """What is left to do of each model, by how long its answers took before; nothing where that is not known."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.is_known = plan.order != "file"
        self._slots = plan.job.run.max_in_flight
        self._limits = [min(model.max_in_flight, self._slots) for model in plan.models]
        numbers = range(len(plan.models)) if self.is_known else ()
        self._left_ms = [math.fsum(plan.expected_ms(item) or 0.0 for item in plan.to_send(model)) for model in numbers]

    def handed_out(self, model: int, item: int) -> None:
        """Note that an item was sent."""
        if self.is_known:
            self._left_ms[model] -= self._plan.expected_ms(item) or 0.0

    def given_up(self, model: int) -> None:
        """Note that nothing more of a model is sent."""
        if self.is_known:
            self._left_ms[model] = 0.0

    def urgency(self, model: int, item: int | None) -> tuple[bool, float]:
        """Return how much a model's next item should go before others'.

        First comes a model that needs longer at its own limit than all of them with all slots; then the longest item, one of
        which nothing is known before all others.
        """
        is_last = self._left_ms[model] / self._limits[model] > math.fsum(self._left_ms) / self._slots
        if item is None:  # something that is sent again
            return is_last, 0.0
        expected = self._plan.expected_ms(item)
        return is_last, math.inf if expected is None else expected


class Queue:
    """Hands out the items of a plan, one at a time.

    The next item is of the model with the fewest requests in flight among those that have items left and are below
    their own limit; among equals, of the one that waited longest. Where earlier answers say how long items take, that
    holds for models below a third of an equal share only, as another one may hang; beyond it the longest item goes first.
    What is to be sent again follows what was never sent.

    Args:
        patience_s: How long to wait when nothing but paused routes is left.
        clock: Steady, in s.
    """

    def __init__(
        self,
        plan: Plan,
        pace: Pace,
        patience_s: float,
        tempo: Tempo = ACCOUNT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        models = range(len(plan.models))
        self._pace, self._patience_s, self._now = pace, patience_s, clock
        self._waiting_since: float | None = None
        self._items = [plan.to_send(number) for number in models]
        self._work = WorkLeft(plan)
        self._flying = [0 for _ in models]
        self._last_turn = [0 for _ in models]
        self._turn = 0
        self._ahead: list[int | None] = [next(items, None) for items in self._items]
        self._again: list[list[tuple[float, Turn]]] = [[] for _ in models]  # heaps of (ready at, what)
        self._front: list[list[Turn]] = [[] for _ in models]  # postponed, and next in turn
        self._looked_at = self._now()
        self._breakers = [Breaker(tempo) for _ in models]
        self._changed = anyio.Event()
        deadline_s = plan.job.run.request_deadline_s
        self._deadline_s = float("inf") if deadline_s is None else deadline_s
        self.late = 0
        """Requests that were to be sent again, and were not, because their deadline passed while they waited."""
        self._next_late_at = float("inf")

    @property
    def exhausted(self) -> bool:
        """Whether every item was handed out, but for those of routes that were given up, and none can come back."""
        return not any(self._flying) and not any(map(self._has_more, range(len(self._ahead))))

    def is_ready(self) -> bool:
        """Return whether a request may be sent now."""
        self._looked_at = self._now()
        self._drop_late()
        return any(map(self._may_go, range(len(self._ahead))))

    def take(self) -> Turn | None:
        """Return the next item; None when none may go now."""
        self._looked_at = self._now()
        self._drop_late()
        ready = [model for model in range(len(self._ahead)) if self._may_go(model)]
        if not ready:
            return None
        model = self._chosen(ready)
        turn = self._next(model)
        self._turn += 1
        self._last_turn[model] = self._turn
        self._flying[model] += 1
        self._breakers[model].sent()
        return turn

    def _chosen(self, ready: list[int]) -> int:
        """Return the model whose turn it is."""
        fewest = min(ready, key=lambda model: (self._flying[model], self._last_turn[model]))
        if not self._work.is_known or self._flying[fewest] < sum(self._flying) / len(ready) * _LEAST_SHARE:
            return fewest
        return max(ready, key=lambda model: (*self._work.urgency(model, self._ahead[model]), -self._last_turn[model]))

    def _next(self, model: int) -> Turn:
        if self._front[model]:
            turn, now = self._front[model].pop(), self._looked_at
            return turn._replace(first_at=now if turn.attempt == 1 else turn.first_at, sent_at=now)
        item = self._ahead[model]
        if item is None:
            return heapq.heappop(self._again[model])[1]._replace(sent_at=self._looked_at)
        self._ahead[model] = next(self._items[model], None)
        self._work.handed_out(model, item)
        return Turn(model, item, 1, self._looked_at, self._looked_at)

    def again(self, turn: Turn, wait_s: float) -> None:
        """Let a request be sent once more, after a wait that holds no slot."""
        again = turn._replace(attempt=turn.attempt + 1)
        heapq.heappush(self._again[turn.model], (self._now() + wait_s, again))
        self._next_late_at = min(self._next_late_at, turn.first_at + self._deadline_s)

    def postpone(self, turn: Turn) -> None:
        """Keep a request that could not be sent now as the next one, without waking workers: nothing changed."""
        self._flying[turn.model] -= 1  # woken, each worker would take it and postpone it, without end
        self._front[turn.model].append(turn)

    def give_back(self, model: int) -> None:
        """Say that a request of a model ended."""
        self._flying[model] -= 1
        self.wake()

    def flying(self, model: int) -> int:
        """Return how many requests of a model are in flight."""
        return self._flying[model]

    def ended(self, turn: Turn, outcome: Outcome, *, asks_for_time: bool) -> Breaker | None:
        """Record how a call ended; return its model's breaker, if that has news."""
        breaker = self._breakers[turn.model]
        end = CallEnd(outcome, self._now(), turn.sent_at, self._flying[turn.model], asks_for_time)
        return breaker if breaker.ended(end) else None

    def given_up_waiting(self) -> list[int]:
        """Return the models that are given up now, as nothing but paused ones is left and none can be tried in time."""
        left = [model for model in range(len(self._ahead)) if self._has_more(model)]
        well = any(number and not self._breakers[model].is_sick for model, number in enumerate(self._flying))
        if not left or well or not all(self._breakers[model].is_sick for model in left):
            self._waiting_since = None
            return []
        if self._waiting_since is None:
            self._waiting_since = self._looked_at
        until = self._waiting_since + self._patience_s
        if any(self._flying) or any(self._breakers[model].next_trial_at <= until for model in left):
            return []  # a trial that is in flight is waited for; the patience goes on meanwhile
        return [model for model in left if self.give_up(model)]

    def breaker(self, model: int) -> Breaker:
        """Return a model's breaker."""
        return self._breakers[model]

    def hold(self, model: int, wait_s: float) -> Breaker | None:
        """Send a model nothing for `wait_s`, as it asked; return its breaker, if that has news."""
        breaker = self._breakers[model]
        return breaker if breaker.hold(wait_s, self._now()) else None

    def give_up(self, model: int) -> bool:
        """Send a model nothing more in this run; whether it was not given up before."""
        self._work.given_up(model)
        return self._breakers[model].give_up()

    def paused(self) -> Iterator[tuple[int, Breaker]]:
        """Return the models whose breaker is open, and has not been given up."""
        return ((model, breaker) for model, breaker in enumerate(self._breakers) if breaker.state == "open")

    def wake(self) -> None:
        """Wake all waiting workers."""
        self._changed.set()

    async def changed(self) -> None:
        """Wait until some request ends, or may be sent again; not at all where none is left."""
        if self.exhausted:
            return
        # only one that was set: others may be waiting on the event that is there, and nothing would wake them
        if self._changed.is_set():
            self._changed = anyio.Event()
        due = [heap[0][0] for model, heap in enumerate(self._again) if heap and self._ahead[model] is None]
        due += [breaker.again_at for breaker in self._breakers if breaker.state == "open"]
        due += [breaker.held_until for breaker in self._breakers]
        due.append(self._next_late_at)
        next_s = min((moment for moment in due if moment > self._looked_at), default=float("inf"))
        with anyio.move_on_after(max(0.0, next_s - self._now())):
            await self._changed.wait()
        self._looked_at = self._now()
        self._drop_late()

    def why_waiting(self) -> Iterator[tuple[int, str]]:
        """Return the models that have something left, and why none of it may go now."""
        for model, breaker in enumerate(self._breakers):
            if not self._has_more(model):
                continue
            flying, again = self._flying[model], self._again[model]
            if breaker.held_until > self._looked_at:
                yield model, f"gets no requests until {self._utc(breaker.held_until)}, as it asked"
            elif breaker.state == "open":
                yield model, f"is paused until {self._utc(breaker.next_trial_at)}"
            elif not self._pace.allows(model, flying):
                yield model, f"is at its limit of {flying}"
            elif not breaker.lets_through(flying, self._looked_at):
                yield model, "is tried with a few calls at a time"
            elif again and self._ahead[model] is None and again[0][0] > self._looked_at:
                yield model, f"starts its next pass at {self._utc(again[0][0])}"

    def _utc(self, moment: float) -> str:
        """Return a moment of the steady clock as the time of day."""
        return f"{time_of_day.now() + timedelta(seconds=moment - self._now()):%H:%M:%S} UTC"

    def _drop_late(self) -> None:
        """Drop requests whose deadline passed while they waited for another pass."""
        if self._looked_at < self._next_late_at:
            return
        self._next_late_at = float("inf")
        for waiting in self._again:
            in_time = [(ready_at, turn) for ready_at, turn in waiting if not self._is_late(turn)]
            self.late += len(waiting) - len(in_time)
            waiting[:] = in_time
            heapq.heapify(waiting)
        for postponed in self._front:
            in_time_too = [turn for turn in postponed if turn.attempt == 1 or not self._is_late(turn)]
            self.late += len(postponed) - len(in_time_too)
            postponed[:] = in_time_too

    def _is_late(self, turn: Turn) -> bool:
        late_at = turn.first_at + self._deadline_s
        if late_at > self._looked_at:
            self._next_late_at = min(self._next_late_at, late_at)
        return late_at <= self._looked_at

    def _has_more(self, model: int) -> bool:
        left = self._ahead[model] is not None or bool(self._again[model]) or bool(self._front[model])
        return left and self._breakers[model].state != "given up"

    def _may_go(self, model: int) -> bool:
        now = self._looked_at
        flying = self._flying[model]
        if not self._pace.allows(model, flying) or not self._breakers[model].lets_through(flying, now):
            return False
        if self._ahead[model] is not None or self._front[model]:
            return True
        return bool(self._again[model]) and self._again[model][0][0] <= now
