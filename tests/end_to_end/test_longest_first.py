"""A run on what an earlier one measured: the samples that took longest then are sent first."""

from pathlib import Path

import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from workbench.local_platform.server import ThreadedServer


@pytest.mark.slow
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
    of_run = "SELECT sample_id FROM {} JOIN run_items USING (run_id, request_key) WHERE run_id = '{}' ORDER BY {}"

    def ids(table: str, run_id: str, order: str) -> list[str]:
        return [row[0] for row in bench.rows(of_run.format(table, run_id, order))]

    assert ids("requests", again, "call_no") == ids("attempts", first, "latency_ms DESC")
    in_order = [f"s{number}" for number in range(30)]
    assert ids("requests", first, "call_no") == ids("requests", in_file_order, "call_no") == in_order
