"""The rows of a team's ledger as they are."""

from typing import Any

from workbench.ledger.engine import Engine
from workbench.ledger.store import Ledger
from workbench.ledger.team import attach


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    """What a query finds."""
    ledger = Ledger(url)
    assert ledger.team is not None
    engine = Engine(256, threads=1)
    try:
        attach(engine, ledger.team)
        engine.started().execute("USE ledger")
        return engine.started().execute(query).fetchall()
    finally:
        engine.stop()
