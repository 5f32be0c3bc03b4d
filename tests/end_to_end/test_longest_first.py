"""A run on what an earlier one measured: the samples that took longest then are sent first."""

from pathlib import Path

import duckdb

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from workbench.local_platform.server import ThreadedServer


def test_what_took_longest_before_is_sent_first(tmp_path: Path) -> None:
    with ThreadedServer(platform_of({"id": "m", "latency_ms": {"median": 20, "sigma": 1.0}})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(30))
        bench.write("job.toml", job("m"))
        assert bench.json("plan", "job.toml")["order"] == "file"
        first = bench.json("run", "job.toml", "--no-report")["run_id"]
        assert "those that took longest before go first" in bench("plan", "job.toml", "--fresh").stdout
        again = bench.json("run", "job.toml", "--no-report", "--fresh")["run_id"]
        bench.write("file.toml", job("m", name="file").replace("[run]", '[run]\norder = "file"'))
        assert bench.json("plan", "file.toml", "--fresh")["order"] == "file"
        in_file_order = bench.json("run", "file.toml", "--no-report", "--fresh")["run_id"]
    with duckdb.connect(tmp_path / "ledger.duckdb", read_only=True) as db:
        asked = "SELECT sample_id FROM requests JOIN run_items USING (run_id, request_key) WHERE run_id = ? ORDER BY call_no"
        took = "SELECT sample_id FROM attempts JOIN run_items USING (run_id, request_key) WHERE run_id = ? ORDER BY latency_ms DESC"

        def ids(statement: str, run_id: str) -> list[str]:
            return [row[0] for row in db.execute(statement, [run_id]).fetchall()]

        assert ids(asked, again) == ids(took, first)
        assert ids(asked, first) == ids(asked, in_file_order) == [f"s{number}" for number in range(30)]
