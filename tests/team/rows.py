"""The rows of a team's ledger as they are."""

from typing import Any

from workbench.ledger.engine import Engine
from workbench.ledger.store import Ledger
from workbench.team.address import address_of_team
from workbench.team.lake import attach


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    """What a query finds."""
    ledger = Ledger(url)
    engine = Engine(256, threads=1)
    try:
        attach(engine, address_of_team(ledger))
        engine.started().execute("USE ledger")
        return engine.started().execute(query).fetchall()
    finally:
        engine.stop()
