"""What a run on a team's ledger costs beside one on a file, in one run on one server; prints figures, asserts only counts.

python -m pytest -m benchmark -s tests/team/test_team_cost.py
"""

from pathlib import Path
from statistics import median

import pytest

from tests.benchmarks.test_client_cost import (
    IN_FLIGHT,
    ROUNDS,
    Measured,
    marginal_ms,
    scoring_workbench,
    sent_by_workbench,
    server,
)
from tests.conftest import Workbench, job
from tests.team import postgres
from workbench.ledger.address import SCHEME

pytestmark = pytest.mark.benchmark


def test_a_run_on_a_team_s_ledger_beside_one_on_a_file(tmp_path: Path) -> None:
    print(f"\n6,000 calls of 0.5 ms, {IN_FLIGHT} in flight, medians of {ROUNDS}:")

    def on_a_team_s(url: str, calls: int, folder: Path) -> Measured:
        """On a new ledger each time: what another run asked would not be sent again."""
        with postgres.database(conninfo_of_server) as conninfo:
            address, data = SCHEME + conninfo, folder / f"data-{conninfo[-12:]}"
            Workbench(folder, None)("ledger", "create", address, "--data", str(data))
            return sent_by_workbench(
                url, calls, folder, job("m", limit=IN_FLIGHT), f'[ledger]\nurl = """{address}"""\n'
            )

    with postgres.server() as conninfo_of_server, server(0.5) as url:
        costs = {}
        for name, send in {"a file": scoring_workbench, "a team's ledger": on_a_team_s}.items():
            rounds = [(send(url, 6000, tmp_path), send(url, 500, tmp_path)) for _ in range(ROUNDS)]
            assert {many.requests for many, _ in rounds} == {6000}
            costs[name] = median(marginal_ms(*pair) for pair in rounds)
            wall_s, first_s = (median(getattr(many, field) for many, _ in rounds) for field in ("wall_s", "first_s"))
            print(f"  {name}: marginal CPU a call {costs[name]:.3f} ms, {costs[name] / costs['a file']:.2f} x a file's, "
                  f"wall {wall_s:.2f} s, first request after {first_s:.2f} s")  # fmt: skip
