"""What an account used and has left, as it is told to the account itself: `GET /api/usage` and its page."""

import asyncio
from datetime import UTC, datetime

import msgspec

from workbench.local_platform.accounts import Accounts
from workbench.local_platform.config import PlatformConfig
from workbench.local_platform.state import DailyDraws, Key, State
from workbench.local_platform.turns import Turns


class Window(msgspec.Struct, frozen=True):
    """The time after which counting restarts."""

    starts_at: datetime
    ends_at: datetime
    used_units: float
    """Estimates for calls without reported usage included."""
    left_units: float | None
    """None: no limit is set."""


class OwnKey(msgspec.Struct, frozen=True):
    """An active key of the account."""

    id: str
    """The first digits of its SHA-256."""
    name: str
    created_at: datetime
    last_used_at: datetime | None
    """To the minute."""


class OwnUsage(msgspec.Struct, frozen=True):
    """Everything that an account can know of its usage."""

    account: str
    as_of: datetime
    simulated: bool
    """Whether every route is simulated."""
    unit: str
    """`tokens`, or `weighted tokens` where a token counts as its route's weight."""
    allowance_units: float | None
    """What a window holds; None: no limit is set."""
    reserved_for_people_units: float | None
    """What batch work may not use of it."""
    window: Window
    in_flight: int
    waiting: int
    since: datetime
    """From when on the rest counts: the window's begin, or the moment that was asked for."""
    units_since: float
    estimated_units_since: float
    """That part of it which is estimated."""
    days: list[DailyDraws]
    """By day (UTC) and requested model, the newest first."""
    keys: list[OwnKey]


async def own_usage(
    account: str,
    config: PlatformConfig,
    state: State,
    accounts: Accounts,
    turns: Turns,
    since: datetime | None = None,
) -> OwnUsage:
    """Return what an account used, and what it has left.

    Args:
        since: From when on its days are counted; by default in the current window.

    Raises:
        StateError: The platform cannot read what it recorded.
    """
    window_s = config.allowance.window_s
    starts_s = accounts.window() * window_s
    since_s = starts_s if since is None else since.timestamp()
    if state.path is None:
        days = state.daily_draws(account, since_s)
    else:  # a month of calls takes long enough to keep everybody else waiting
        days = await asyncio.to_thread(state.daily_draws, account, since_s)
    used, units = accounts.drawn_units(account), accounts.units(account)
    reserve = config.allowance.reserve_for_chat
    return OwnUsage(
        account=account,
        as_of=_moment(state.now_s()),
        simulated=all(route.simulated is not None for route in config.routes),
        unit="tokens" if all(route.weight == 1 for route in config.routes) else "weighted tokens",
        allowance_units=units,
        reserved_for_people_units=None if units is None else units * reserve,
        window=Window(
            _moment(starts_s), _moment(starts_s + window_s), used, None if units is None else max(0.0, units - used)
        ),
        in_flight=turns.in_flight(account),
        waiting=turns.waiting().get(account, 0),
        since=_moment(since_s),
        units_since=sum(day.units for day in days),
        estimated_units_since=sum(day.estimated_units for day in days),
        days=days,
        keys=[_own(key) for key in state.keys() if key.account == account and key.revoked_at is None],
    )


def _own(key: Key) -> OwnKey:
    used_at = None if key.last_used_at is None else _moment(key.last_used_at)
    return OwnKey(key.id, key.name, _moment(key.created_at), used_at)


def _moment(unix_s: float) -> datetime:
    return datetime.fromtimestamp(unix_s, UTC)
