"""Who calls, and what they have left: keys and the shared allowance, as the running platform sees them."""

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from workbench.local_platform.config import PlatformConfig, Route
from workbench.local_platform.state import State, StateBusyError, StateError, hashed

Change = Callable[[State], None]
_PATIENCE_S, _RETRY_S = 5.0, 0.02
_USED_EVERY_S = 60.0
_REREAD_SHARE = 20
"""Sums over a window are recomputed at most for a twentieth of the time."""


class Accounts:
    """The accounts of one platform; changes that another process makes to the state take effect at once.

    Args:
        keys: Key -> account of keys that live as long as this process only.
    """

    def __init__(self, config: PlatformConfig, state: State, keys: dict[str, str]) -> None:
        self._state = state
        self.change(config)
        self._own_keys = {hashed(key): account for key, account in keys.items()}
        self._used_at: dict[bytes, float] = {}
        self._version = (-1, -1)
        self._keys: dict[bytes, str] = {}
        self._window = -1
        self._in_flight: defaultdict[tuple[int, str], float] = defaultdict(float)
        """What draws that are still open are estimated at, by window and account."""
        self._group: _Group | None = None
        self._is_failing = False
        self._unwritten: list[Change] = []
        self._retry: asyncio.TimerHandle | None = None
        self._reread_at, self._reread_cost_s = 0.0, 0.0

    def change(self, config: PlatformConfig) -> None:
        """Keep to the accounts and the allowance of a configuration from now on."""
        self._names = {account.name for account in config.accounts}
        self._window_s = config.allowance.window_s
        self._for_batch = 1 - config.allowance.reserve_for_chat
        self._units = {
            account.name: config.allowance.units if account.allowance_units is None else account.allowance_units
            for account in config.accounts
        }
        self._drawn: dict[str, float] = {}

    def owner_of(self, key: str) -> str | None:
        """Return the account that a key belongs to; None when it is not accepted."""
        self._refresh()
        digest = hashed(key)
        account = self._keys.get(digest)  # the time of a look-up by hash tells nothing of the key
        if account not in self._names:
            return None
        self._note_use(digest)
        return account

    def _note_use(self, key: bytes) -> None:
        """Write down that a stored key was used, at most once a minute: not every request is to cost a write."""
        now = self._state.now_s()
        if key not in self._own_keys and now - self._used_at.get(key, 0.0) >= _USED_EVERY_S:
            self._used_at[key] = now
            self.write(lambda state: state.note_use(key, now))

    def is_exhausted(self, account: str) -> bool:
        """Return whether an account drew all that a window holds, as far as is known since a key was last looked at.

        What is in flight does not count: by its estimates a few long answers would be all that there is, before they are known.
        """
        units = self.units(account)
        return units is not None and self._ended_units(account) >= units

    def is_reserved(self, account: str) -> bool:
        """Return whether what an account has left is for people alone; what is in flight does not count."""
        units = self.units(account)
        return units is not None and self._for_batch < 1 and self._ended_units(account) >= self._for_batch * units

    def _ended_units(self, account: str) -> float:
        return self.drawn_units(account) - self._in_flight[self.window(), account]

    def units(self, account: str) -> float | None:
        """Return what a window holds for an account; None is unlimited."""
        return self._units.get(account)  # of one that was removed while it waits: nothing more is known

    def drawn_units(self, account: str) -> float:
        """Return what an account used in the current window."""
        window = self.window()
        if account not in self._drawn:
            begin_s = time.thread_time()  # a thread that is not scheduled meanwhile did not make the sum dear
            self._drawn[account] = self._state.drawn_units(account, window * self._window_s)
            self._reread_at, self._reread_cost_s = time.monotonic(), time.thread_time() - begin_s
        return self._drawn[account]

    async def open_draw(
        self, account: str, requested: str, route: Route, estimated_tokens: int, first: int | None = None
    ) -> "OpenDraw":
        """Begin a draw; it is durable on return, so that the request may be sent.

        Args:
            first: The number of the draw of the call's first attempt; None: this is it.

        Raises:
            StateError: It cannot be written down.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                group = self._begin()
                break
            except StateBusyError:  # another process writes: nothing else is to wait for that
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(_RETRY_S)
        with self._failing(group):
            number = self._state.open_draw(account, requested, route.id, route.weight, estimated_tokens, first)
        group.wrote = True
        draw = OpenDraw(self, number, account, route.weight, estimated_tokens)
        self.count(draw, route.weight * estimated_tokens)
        self._in_flight[draw.window, account] += route.weight * estimated_tokens
        try:
            await asyncio.sleep(0)  # the commit runs first
        except asyncio.CancelledError:
            if not group.failed:
                draw.release()
            raise
        if group.failed:
            raise StateError("a draw could not be recorded")
        return draw

    def write(self, change: "Change") -> None:
        """Write something that must not be lost, without waiting for it; what fails is written again later."""
        if self._unwritten:  # each after those before it: a draw is estimated, and then settled
            self._keep(change)
            return
        try:
            group = self._begin()
            with self._failing(group):
                change(self._state)
        except StateError:
            self._keep(change)
        else:
            group.wrote = True
            group.changes.append(change)

    def _keep(self, *changes: "Change") -> None:
        """Keep changes that could not be written, and try them again soon, all of them with one timer."""
        self._unwritten += changes
        if self._unwritten and self._retry is None:
            with contextlib.suppress(RuntimeError):  # no loop any more: `close` writes
                self._retry = asyncio.get_running_loop().call_later(_RETRY_S, self._write_again)

    def count(self, draw: "OpenDraw", units: float) -> None:
        """Count what a draw is, or turned out to be, in the window in which it was begun."""
        if draw.window != self.window():  # also where windows have another length now: its sum is read again
            self._drawn.pop(draw.account, None)
        elif draw.account in self._drawn:
            self._drawn[draw.account] += units

    def no_longer_in_flight(self, draw: "OpenDraw", units: float) -> None:
        """Count what a draw was estimated at when it was begun as ended."""
        self._in_flight[draw.window, draw.account] -= units
        if self._in_flight[draw.window, draw.account] <= 0:
            del self._in_flight[draw.window, draw.account]

    def window(self) -> int:
        """Return the number of the current window; counting restarts with each."""
        window = int(self._state.now_s() // self._window_s)
        if window != self._window:
            self._window, self._drawn = window, {}
        return window

    def records(self) -> bool:
        """Return whether the state takes what is written to it; where it did not, it is tried again."""
        if self._is_failing:
            with contextlib.suppress(StateError):
                group = self._begin()
                with self._failing(group):
                    self._state.try_to_write()
                group.wrote = True
        return not self._is_failing

    def close(self) -> None:
        """Write pending changes, and close the state."""
        if self._group is not None:
            self._commit(self._group)
        self._write_again()
        if self._group is not None:
            self._commit(self._group)
        if self._retry is not None:
            self._retry.cancel()
        self._state.close()

    def _begin(self) -> "_Group":
        """Return the group of changes that is committed with all else that the event loop does in this turn."""
        if self._group is None:
            try:
                self._state.begin()
            except StateError as error:
                self._is_failing = not isinstance(error, StateBusyError)
                raise
            self._group = _Group()
            with contextlib.suppress(RuntimeError):  # no loop any more: `close` commits
                asyncio.get_running_loop().call_soon(self._commit, self._group)
        return self._group

    @contextmanager
    def _failing(self, group: "_Group") -> Iterator[None]:
        """Undo a group of which a statement fails: that may take the whole transaction with it."""
        try:
            yield
        except StateError:
            self._abandon(group)
            raise

    def _abandon(self, group: "_Group") -> None:
        self._state.undo()
        group.failed = self._is_failing = True
        self._group = None
        self._keep(*group.changes)
        self._drawn = {}

    def _commit(self, group: "_Group") -> None:
        if group is not self._group:
            return
        try:
            self._state.commit()
        except StateError:
            self._abandon(group)
        else:
            self._group, self._is_failing = None, self._is_failing and not group.wrote

    def _write_again(self) -> None:
        self._retry = None
        todo, self._unwritten = self._unwritten, []
        for change in todo:
            self.write(change)
        if todo:
            self._drawn = {}

    def _refresh(self) -> None:
        """Pick up what was changed: keys at once, and so sums by what this process changed; by what others did, which may be with
        every request, as often as they are cheap to compute.
        """
        version = self._state.version()
        if version == self._version:
            return
        self._keys = self._state.living_keys() | self._own_keys
        is_own = version[1] != self._version[1]
        if is_own or time.monotonic() - self._reread_at > _REREAD_SHARE * self._reread_cost_s:
            self._version, self._drawn = version, {}


class _Group:
    """Changes that are committed together."""

    def __init__(self) -> None:
        self.failed = self.wrote = False
        self.changes: list[Change] = []
        """Those to be written again should the group fail."""


class OpenDraw:
    """A draw whose size is not known yet; left alone it stays unsettled, with its estimate."""

    def __init__(self, accounts: Accounts, number: int, account: str, weight: float, estimated_tokens: int) -> None:
        self.account, self.window = account, accounts.window()
        self._accounts, self.number = accounts, number
        self._weight, self._estimated = weight, estimated_tokens
        self._in_flight_units = weight * estimated_tokens

    def settle(self, prompt_tokens: int, completion_tokens: int, total_tokens: int) -> None:
        """Count what a route said that it drew."""
        self._accounts.write(
            lambda state: state.settle_draw(self.number, prompt_tokens, completion_tokens, total_tokens)
        )
        self._accounts.count(self, self._weight * (total_tokens - self._estimated))
        self._end()

    def release(self) -> None:
        """Count a request that certainly drew nothing."""
        self._accounts.write(lambda state: state.release_draw(self.number))
        self._accounts.count(self, -self._weight * self._estimated)
        self._end()

    def estimate(self, tokens: int, reason: str) -> None:
        """Count a request that ended without saying what it drew, and why."""
        self._accounts.write(lambda state: state.estimate_draw(self.number, tokens, reason))
        self._accounts.count(self, self._weight * (tokens - self._estimated))
        self._estimated = tokens
        self._end()

    def _end(self) -> None:
        self._accounts.no_longer_in_flight(self, self._in_flight_units)
        self._in_flight_units = 0.0
