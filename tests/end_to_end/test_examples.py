"""The example jobs run as they stand."""

from pathlib import Path

import pytest

from tests.conftest import Workbench
from workbench.job.job import load_job

JOBS = Path(__file__).parents[2] / "jobs"


QUICK = ("tools.toml",)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.name, marks=() if path.name in QUICK else pytest.mark.slow)
        for path in sorted(JOBS.glob("*.toml"))
    ],
)
def test_an_example_job_runs_on_the_embedded_platform(tmp_path: Path, name: str) -> None:
    bench = Workbench(tmp_path, None)
    findings = [finding["where"] for finding in bench.json("lint", str(JOBS / name), "--local")]
    found_out = {
        "tools.toml": ["models 'Ponder [thinking only]'"],
        "grade-answers.toml": [f"{JOBS / name}:26: scorers[0]"],
    }
    assert findings == found_out.get(name, [])  # they are there to be found out
    by_occasion = ["--occasion", "today"] if load_job(JOBS / name).run.reuse == "occasion" else []
    result = bench.json("run", str(JOBS / name), "--local", *by_occasion)
    assert result["status"] == "complete"
    assert result["completed"] == result["planned"] > 0
    scores = bench.json("show", result["run_id"], "--local")["scores"]
    judged = [row for row in scores if row["scorer"] == scores[0]["scorer"]]
    means = [row["mean"] for row in judged if row["mean"] is not None]  # only a fallback may have answered
    assert max(means) > 0.3
    assert max(means) > min(means) + 0.1  # the routes are told apart


@pytest.mark.slow
def test_the_first_sentence_about_grades_names_the_constant(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench("run", str(JOBS / "grade-answers.toml"), "--local", "--no-report")
    first = "No model is shown to be better than the constant “4”, which scores 0.859 by “within a grade”."
    for command in (("show",), ("compare", "--no-report")):
        assert first in " ".join(bench(*command, "--ledger", "local.duckdb").stdout.split())
