"""The example jobs run as they stand."""

from pathlib import Path

import pytest

from tests.conftest import Workbench

JOBS = Path(__file__).parents[2] / "jobs"


@pytest.mark.parametrize("name", sorted(path.name for path in JOBS.glob("*.toml")))
def test_an_example_job_runs_on_the_embedded_platform(tmp_path: Path, name: str) -> None:
    bench = Workbench(tmp_path, None)
    assert bench.json("lint", str(JOBS / name), "--local") == []
    result = bench.json("run", str(JOBS / name), "--local")
    assert result["status"] == "complete"
    assert result["completed"] == result["planned"] > 0
