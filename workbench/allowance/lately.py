"""What our own calls drew of late, and of the window: from one query, for a page that is written after every run."""

from datetime import datetime

import msgspec

from workbench.allowance.draws import Drawn, draws
from workbench.allowance.weights import weights_of
from workbench.allowance.windows import Window, window_rule
from workbench.ledger.queries import Reader
from workbench.settings.file import AllowanceSettings


class Lately(msgspec.Struct, frozen=True):
    """What our calls drew since a moment, and in the window so far."""

    unit: str
    since: Drawn
    window: Window | None
    """None: `workbench.toml` names none."""
    in_window: Drawn | None
    total_units: float | None
    """That a window has, where it is known."""


def drawn_lately(reader: Reader, allowance: AllowanceSettings, zone: str, since_at: datetime, now: datetime) -> Lately:
    """Return what our calls drew since a moment, and in the window so far.

    Args:
        allowance: What `workbench.toml` says of it.
        zone: Of the account.
        now: With its zone.
    """
    weights, rule = weights_of(allowance, zone), window_rule(allowance, zone)
    window = None if rule is None else rule.at(now)
    found = draws(reader, [since_at, now, *([window.start_at] if window else [])], weights)
    in_window = None if window is None else found.begun_between(window.start_at, now)
    return Lately(weights.unit, found.begun_between(since_at, now), window, in_window, allowance.total_units)
