"""What a platform keeps while its configuration changes: accounts, slots, counters, and what it has learned of its routes."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from workbench.local_platform.accounts import Accounts
from workbench.local_platform.answer_key import AnswerKey
from workbench.local_platform.chance import Repeats
from workbench.local_platform.clock import Clock
from workbench.local_platform.config import PlatformConfig
from workbench.local_platform.habits import Habits
from workbench.local_platform.state import State
from workbench.local_platform.statistics import Statistics
from workbench.local_platform.turns import Turns
from workbench.local_platform.upstream import Connections


class Surroundings(NamedTuple):
    """What a platform finds around it."""

    environment: Mapping[str, str] = os.environ
    """Where the model servers' secrets are."""
    clock: Clock | None = None
    """What time it is for the platform; by default the world's, as fast as the configuration says."""
    answers: Path | None = None
    """The file of an answer key for the simulated routes."""
    scheduled: str = ""
    """The time for which the requests are scheduled, such as 2026-11-21T02:00Z; empty where they are not."""


class Shared:
    """What endpoints have in common.

    Args:
        config: The first configuration.
        state: Keys and draws; None keeps them in memory.
        keys: Key -> account of keys that live as long as this process only; just their hashes are kept.
    """

    def __init__(self, config: PlatformConfig, state: State | None, keys: dict[str, str], around: Surroundings) -> None:
        self.around = around
        self.clock = around.clock or Clock(config.clock_speed)
        self.state = state or State(busy_s=0.0, clock=self.clock)
        self.accounts = Accounts(config, self.state, keys)
        self.turns = Turns(
            self.clock, config.limits.in_flight, _own_limits(config), waits=config.silent.past_limit == "queue"
        )
        self.statistics = Statistics()
        self.repeats = Repeats()
        self.answer_key = None if around.answers is None else AnswerKey(around.answers)
        self.connections = Connections()
        self.habits: dict[str, Habits] = {}
        """By route."""
        self.cold_until: dict[str, float] = {}
        """Route -> until when it is not asked, on the platform's clock."""

    def change(self, config: PlatformConfig, environment: Mapping[str, str]) -> None:
        """Keep to another configuration from now on."""
        self.around = self.around._replace(environment=environment)
        self.accounts.change(config)
        self.turns.change(config.limits.in_flight, _own_limits(config), waits=config.silent.past_limit == "queue")

    async def close(self) -> None:
        """Write what is pending, and close connections and files."""
        await self.connections.close()
        self.accounts.close()
        if self.answer_key is not None:
            self.answer_key.close()


def _own_limits(config: PlatformConfig) -> dict[str, int]:
    """Return the accounts that may have only so many slots at a time."""
    return {account.name: account.max_in_flight for account in config.accounts if account.max_in_flight is not None}
