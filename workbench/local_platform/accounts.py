"""Who calls, and what they have left: keys and the shared allowance, as the running platform sees them."""

import asyncio
import time
from contextlib import suppress

from workbench.local_platform.config import PlatformConfig, Route
from workbench.local_platform.state import State, StateError, hashed


class Accounts:
    """The accounts of one platform; changes that another process makes to the state take effect at once.

    Args:
        config: Accounts and allowance.
        state: Keys and draws.
        keys: Key -> account of keys that live as long as this process only.
    """

    def __init__(self, config: PlatformConfig, state: State, keys: dict[str, str]) -> None:
        self._state = state
        self._names = {account.name for account in config.accounts}
        self._window_s = config.allowance.window_s
        self._units = {
            account.name: config.allowance.units if account.allowance_units is None else account.allowance_units
            for account in config.accounts
        }
        self._own_keys = {hashed(key): account for key, account in keys.items()}
        self._version = (-1, -1)
        self._keys: dict[bytes, str] = {}
        self._window = -1
        self._group, self._failed_group = 0, -1
        self._drawn: dict[str, float] = {}

    def owner_of(self, key: str) -> str | None:
        """The account that a key belongs to; None when it is not accepted."""
        self._refresh()
        account = self._keys.get(hashed(key))  # the time of a look-up by hash tells nothing of the key
        return account if account in self._names else None

    def is_exhausted(self, account: str) -> bool:
        """Whether an account drew all that a window holds, as far as is known since a key was last looked at."""
        units = self._units[account]
        return units is not None and self.drawn_units(account) >= units

    def units(self, account: str) -> float | None:
        """What a window holds for an account; None is without end."""
        return self._units[account]

    def drawn_units(self, account: str) -> float:
        """What an account drew in the window that goes on."""
        window = int(time.time() // self._window_s)
        if window != self._window:
            self._window, self._drawn = window, {}
        if account not in self._drawn:
            self._drawn[account] = self._state.drawn_units(account, window * self._window_s)
        return self._drawn[account]

    async def open_draw(self, account: str, requested: str, route: Route, estimated_tokens: int) -> "OpenDraw":
        """Begin a draw; it is durable on return, so that the request may be sent.

        Raises:
            StateError: It cannot be written down.
        """
        self.drawn_units(account)
        group = self.begin_change()
        number = self._state.open_draw(account, requested, route.id, route.weight, estimated_tokens)
        self._drawn[account] += route.weight * estimated_tokens
        draw = OpenDraw(self, number, account, route.weight, estimated_tokens)
        try:
            await asyncio.sleep(0)  # the commit runs first
        except asyncio.CancelledError:
            draw.release()
            raise
        if group == self._failed_group:
            raise StateError("a draw could not be written down")
        return draw

    def begin_change(self) -> int:
        """Let what is written now be committed with all else that the event loop does in this turn; the group's number."""
        if not self._state.has_begun:
            self._group += 1
            self._state.begin()
            asyncio.get_running_loop().call_soon(self._commit, self._group)
        return self._group

    def _commit(self, group: int) -> None:
        try:
            self._state.commit()
        except StateError:
            self._failed_group = group

    def change(self, account: str, units: float) -> None:
        """Count what a draw turned out to be, against its estimate."""
        if account in self._drawn:
            self._drawn[account] += units

    @property
    def state(self) -> State:
        """Where keys and draws are kept."""
        return self._state

    def _refresh(self) -> None:
        version = self._state.version()
        if version != self._version:
            self._version, self._drawn = version, {}
            self._keys = self._state.living_keys() | self._own_keys


class OpenDraw:
    """A draw whose size is not known yet; left alone it stays unsettled, with its estimate."""

    def __init__(self, accounts: Accounts, number: int, account: str, weight: float, estimated_tokens: int) -> None:
        self._accounts, self._number, self._account = accounts, number, account
        self._weight, self._estimated = weight, estimated_tokens

    def settle(self, prompt_tokens: int, completion_tokens: int, total_tokens: int) -> None:
        """The route said what it drew."""
        with suppress(StateError):  # the answer is worth more than its receipt: the draw stays unsettled
            self._accounts.begin_change()
            self._accounts.state.settle_draw(self._number, prompt_tokens, completion_tokens, total_tokens)
        self._accounts.change(self._account, self._weight * (total_tokens - self._estimated))

    def release(self) -> None:
        """The request certainly drew nothing."""
        with suppress(StateError):
            self._accounts.begin_change()
            self._accounts.state.release_draw(self._number)
        self._accounts.change(self._account, -self._weight * self._estimated)

    def estimate(self, tokens: int) -> None:
        """More is known than before, but not all."""
        with suppress(StateError):
            self._accounts.begin_change()
            self._accounts.state.estimate_draw(self._number, tokens)
        self._accounts.change(self._account, self._weight * (tokens - self._estimated))
        self._estimated = tokens
