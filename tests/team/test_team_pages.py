"""How long a million calls take to be copied to a team's ledger and to be shown from there; prints figures, asserts equality.

python -m pytest -m benchmark -s tests/team/test_team_pages.py
"""

import time
from pathlib import Path

import pytest

from tests.benchmarks.big_ledger import make_big_ledger
from tests.conftest import Workbench
from tests.team import postgres
from tests.team.rows import rows
from workbench.ledger.address import SCHEME
from workbench.ledger.database import attached
from workbench.ledger.schema import table_names
from workbench.ledger.store import Ledger
from workbench.report.build import Page, asked_of, ledger_page
from workbench.report.ledger_pages import PAGES

pytestmark = pytest.mark.benchmark
CALLS = 1_000_000


def rendered_s(ledger: Ledger, page: Page, folder: Path) -> float:
    began = time.perf_counter()
    with asked_of(ledger, folder) as asked:
        write = ledger_page(asked, page, PAGES)
    write()
    return time.perf_counter() - began


def test_a_million_calls_on_a_team_s_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Workbench(tmp_path, None)
    monkeypatch.setenv("XDG_STATE_HOME", bench.environment["XDG_STATE_HOME"])
    file = make_big_ledger(tmp_path / "ledger.duckdb", CALLS)
    with postgres.server() as server, postgres.database(server) as conninfo:
        url = SCHEME + conninfo
        bench("ledger", "create", url, "--data", str(tmp_path / "data"))
        for what in ("copied", "copied again"):
            began = time.perf_counter()
            copied = bench.json("ledger", "copy", str(file.path), url)
            print(f"\n{what} in {time.perf_counter() - began:.1f} s: {sum(copied.values()):,} rows", end="")
        print()
        for table in sorted(table_names() - {"schema_versions"}):
            query = f"SELECT count(*), sum(hash(t)) FROM ledger.{table} AS t"  # noqa: S608 - a name of ours
            with attached(file) as engine:
                wanted = engine.started().execute(query).fetchall()
            assert rows(url, query) == wanted, table
        for page in PAGES:
            file_s, team_s = (rendered_s(of, page, tmp_path / "reports") for of in (file, Ledger(url)))
            print(f"{page.name}: {team_s:.1f} s, {file_s:.1f} s from the file, {team_s / file_s:.2f} x")
