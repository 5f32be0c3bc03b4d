"""Turns at the platform's slots: round by account, people before batch work, within an account by arrival.

A free slot goes to the waiting account with the fewest calls in flight (max-min fairness); of several, to the one that has
been served least, counted in slot seconds as a virtual token counter counts tokens (Sheng et al., Fairness in Serving Large
Language Models, OSDI 2024): an account that did not wait begins with what the least served of those who do has, so that no
account saves turns up, or pays for what it used while it was alone. Of equals, whoever has fewer requests waiting comes
first: a person before a batch. Whoever holds nothing and had no turn for as long as its request may take has the next one.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from workbench.local_platform.clock import Clock


class FullError(Exception):
    """Every slot is taken: of the platform, or those that the account may have.

    Args:
        own_limit: The account's, where that is what is used up.
    """

    def __init__(self, own_limit: int | None = None) -> None:
        super().__init__()
        self.own_limit = own_limit


class _Held(NamedTuple):
    """A slot that a request holds."""

    is_person: bool
    """Whether it counts as a person's: also batch work that was overdue."""
    began_s: float


class _Waiter:
    """A request that waits.

    Args:
        overdue_s: On the platform's clock: from when on batch work waits like a person.
        patience_s: How long its account may wait without a turn.
    """

    def __init__(self, overdue_s: float, patience_s: float) -> None:
        self.overdue_s, self.patience_s = overdue_s, patience_s
        self.turn: asyncio.Future[_Held] = asyncio.get_running_loop().create_future()


class _Account:
    """What one account holds and waits for."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.people: dict[_Waiter, None] = {}
        self.batch: dict[_Waiter, None] = {}
        self.people_in_flight = 0
        self.batch_in_flight = 0
        self.served_s = 0.0
        """By calls that have ended; what is in flight counts since `began_s`."""
        self.began_s = 0.0
        """The sum over the calls in flight."""
        self.since_s = 0.0
        """Since when it waits without a turn."""
        self.owes_batch = False
        """Whether its last turn was a person's, so that batch work which is overdue comes next."""

    @property
    def in_flight(self) -> int:
        return self.people_in_flight + self.batch_in_flight

    @property
    def waiting(self) -> int:
        return len(self.people) + len(self.batch)

    @property
    def has_room(self) -> bool:
        return self.most is None or self.in_flight < self.most

    def served_until(self, now_s: float) -> float:
        """Return the slot seconds that it has had."""
        return self.served_s + self.in_flight * now_s - self.began_s

    def next_waiter(self, now_s: float) -> tuple[bool, _Waiter] | None:
        """Return whose turn is next here, and whether it counts as a person's."""
        batch = next(iter(self.batch), None)
        is_overdue = batch is not None and now_s >= batch.overdue_s
        person = next(iter(self.people), None)
        if batch is not None and (person is None or (is_overdue and self.owes_batch)):
            return is_overdue, batch
        return None if person is None else (True, person)


class Turns:
    """Gives slots to accounts in turn.

    Args:
        slots: How many there are, platform-wide.
        own_limits: The accounts that may have only so many at a time.
        waits: Whether a request that finds no slot always waits. Otherwise batch work is refused, and a person waits only as
            long as the account has less than its share, for a call of those who have more to end.
    """

    def __init__(self, clock: Clock, slots: int, own_limits: Mapping[str, int], *, waits: bool) -> None:
        self._clock = clock
        self._accounts: dict[str, _Account] = {}
        self._in_flight = 0
        self._least_s = 0.0
        """What an account that waits while no other does is taken to have been served."""
        self._slots, self._own_limits, self._waits = slots, own_limits, waits

    def change(self, slots: int, own_limits: Mapping[str, int], *, waits: bool) -> None:
        """Keep to other limits from now on; calls in flight keep their slots."""
        self._slots, self._own_limits, self._waits = slots, own_limits, waits
        for name, account in self._accounts.items():
            account.most = own_limits.get(name)
        self._give()

    def waiting(self) -> dict[str, int]:
        """Return how many requests of an account wait, of those that have any."""
        return {name: account.waiting for name, account in self._accounts.items() if account.waiting}

    def in_flight(self, account: str) -> int:
        """Return how many slots an account holds."""
        found = self._accounts.get(account)
        return found.in_flight if found is not None else 0

    @asynccontextmanager
    async def slot(self, name: str, *, is_batch: bool, patience_s: float) -> AsyncIterator[None]:
        """Hold a slot for an account.

        Args:
            is_batch: Whether the request takes only what people leave.
            patience_s: After which time batch work waits like a person.

        Raises:
            FullError: There is none, and the request may not wait.
        """
        account = self._accounts.setdefault(name, _Account(self._own_limits.get(name)))
        if self._in_flight < self._slots and account.has_room:  # whoever waits now has no room of its own
            held = self._begin(account, is_person=not is_batch)
        else:
            self._refuse(account, is_batch)
            held = await self._turn(account, is_batch, patience_s)
        try:
            yield
        finally:
            self._end(account, held)

    def _admit(self, account: _Account) -> None:
        """Let an account wait that did not."""
        now_s = self._clock.now_s()
        others = (one.served_until(now_s) for one in self._accounts.values() if one.waiting and one.has_room)
        least_s = min(others, default=self._least_s)
        if (
            account.served_until(now_s) < least_s
        ):  # to the same number: who has the least comes first by what it asks for
            account.served_s = least_s + account.began_s - account.in_flight * now_s
        account.since_s = now_s

    def _refuse(self, account: _Account, is_batch: bool) -> None:
        """Refuse a request that may not wait."""
        if self._waits:
            return
        if not account.has_room:
            raise FullError(account.most)
        others = sum(
            1 for one in self._accounts.values() if one is not account and (one.people_in_flight or one.people)
        )
        if is_batch or account.people_in_flight + len(account.people) >= self._slots / (others + 1):
            raise FullError

    def _begin(self, account: _Account, *, is_person: bool) -> _Held:
        now_s = self._clock.now_s()
        self._in_flight += 1
        account.began_s += now_s
        if is_person:
            account.people_in_flight += 1
        else:
            account.batch_in_flight += 1
        return _Held(is_person, now_s)

    async def _turn(self, account: _Account, is_batch: bool, patience_s: float) -> _Held:
        """Wait for a turn."""
        if not account.waiting:
            self._admit(account)
        waiter = _Waiter(self._clock.now_s() + patience_s, patience_s)
        queue = account.batch if is_batch else account.people
        queue[waiter] = None
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            if waiter in queue:
                del queue[waiter]
            elif not waiter.turn.cancelled():  # it was given the slot in the same turn of the event loop
                self._end(account, waiter.turn.result())
            raise

    def _end(self, account: _Account, held: _Held) -> None:
        now_s = self._clock.now_s()
        self._in_flight -= 1
        account.began_s = account.began_s - held.began_s if account.in_flight > 1 else 0.0
        account.served_s += now_s - held.began_s
        if held.is_person:
            account.people_in_flight -= 1
        else:
            account.batch_in_flight -= 1
        self._give()

    def _give(self) -> None:
        """Give what is free to those whose turn it is."""
        now_s = self._clock.now_s()
        while self._in_flight < self._slots:
            best: tuple[tuple[int, float, float, int], _Account, _Waiter, bool] | None = None
            for account in self._accounts.values():
                found = account.next_waiter(now_s) if account.has_room else None
                if found is not None:
                    is_person, waiter = found
                    held = account.people_in_flight if is_person else account.batch_in_flight
                    rank = (1 if is_person else 2, float(held), account.served_until(now_s), account.waiting)
                    if is_person and not held and now_s - account.since_s >= waiter.patience_s:
                        rank = (0, account.since_s, 0.0, 0)
                    if best is None or rank < best[0]:
                        best = rank, account, waiter, is_person
            if best is None:
                return
            _, account, waiter, is_person = best
            queue = account.batch if waiter in account.batch else account.people
            del queue[waiter]
            if waiter.turn.cancelled():  # its caller has left in this turn of the event loop
                continue
            account.owes_batch, account.since_s = queue is account.people, now_s
            self._least_s = max(self._least_s, account.served_until(now_s))
            waiter.turn.set_result(self._begin(account, is_person=is_person))
