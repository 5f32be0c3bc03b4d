"""A platform of one's own with simulated routes beside real ones: what is simulated is said of the runs that are."""

from pathlib import Path

import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from workbench.local_platform.server import ThreadedServer


@pytest.mark.slow
def test_only_runs_of_simulated_models_are_simulated(tmp_path: Path) -> None:
    with ThreadedServer(platform_of({"id": "m", "simulated": "answers"})) as behind:
        real = {"id": "real", "upstream": "m", "base_url": f"{behind.base_url}/api", "secret_env": "BEHIND"}
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("BEHIND", behind.key)
            config = platform_of({"id": "rehearsal", "simulated": "answers"}, real)
            with ThreadedServer(config) as server, ThreadedServer(config) as other:
                bench = Workbench(tmp_path, server)
                bench.write("sums.jsonl", sums(3))
                bench.write("real.toml", job("real", name="real"))
                bench.write("rehearsal.toml", job("rehearsal", name="rehearsal"))
                bench.write("both.toml", job("real", "rehearsal", name="both"))
                assert bench.json("run", "real.toml")["completed"] == 3
                page = next((tmp_path / "reports").glob("2*.html")).read_text()
                assert "Simulated: these answers" not in page
                started = bench.rows("SELECT simulated, identity FROM runs WHERE event = 'started'")
                assert started == [(False, server.base_url)]
                for refused in (("run",), ("plan",), ("run", "--fresh"), ("plan", "--fresh")):
                    assert "an account's data" in bench(refused[0], "rehearsal.toml", *refused[1:], code=2).stderr
                assert bench.json("run", "rehearsal.toml", "--ledger", "r.duckdb", "--no-report")["completed"] == 3
                told = bench("run", "both.toml", "--ledger", "b.duckdb", code=2).stderr
                assert "'rehearsal' is simulated and 'real' is not" in told
                assert not (tmp_path / "b.duckdb").exists()
                every = bench("probe", "--yes", "--no-report", "--ledger", "b.duckdb", code=2).stderr
                assert "(workbench probe real)" in every
                (probed,) = bench.json("probe", "real", "--yes", "--no-report")["routes"]
                assert probed == "real"
                bench.environment |= {"WORKBENCH_BASE_URL": other.base_url, "WORKBENCH_API_KEY": other.key}
                assert bench.json("run", "real.toml", "--no-report")["reused"] == 0, "another platform's answers"
