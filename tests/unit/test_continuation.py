"""The command that continues a recorded run."""

import shlex
from typing import Any

import pytest

from workbench.endings import MADE_IN_PYTHON
from workbench.evaluation.continuation import ledger_command, recorded_continuation
from workbench.ledger.rows import Provenance


def began(**other: Any) -> Provenance:
    known = {
        "run_id": "r1", "job": "sums", "job_path": "/my jobs/sums.toml", "generation": "base", "identity": "local",
        "endpoint": "local", "tags": {}, **other,
    }  # fmt: skip
    return Provenance(**(dict.fromkeys(Provenance.__struct_fields__) | known))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("provenance", "options"),
    [
        (began(), ["--local", "--ledger", "/l.duckdb"]),
        (began(endpoint="http://127.0.0.1:8080"), ["--base-url", "http://127.0.0.1:8080", "--ledger", "/l.duckdb"]),
        (began(generation="r0"), ["--local", "--ledger", "/l.duckdb", "--resume", "r1"]),
        (
            began(generation="sums@2026-11-22", occasion="2026-11-22"),
            ["--local", "--ledger", "/l.duckdb", "--occasion", "2026-11-22"],
        ),
    ],
)
def test_what_the_ledger_knows_is_enough_to_resume_a_run(provenance: Provenance, options: list[str]) -> None:
    command = recorded_continuation(provenance, "/l.duckdb")
    assert shlex.split(command) == ["workbench", "run", "/my jobs/sums.toml", *options]


def test_a_job_without_a_file_is_resumed_from_python() -> None:
    command = recorded_continuation(began(job_path=f"/work/sums {MADE_IN_PYTHON}"), "/l.duckdb")
    assert command == "the same call in Python: its job 'sums' has no file"


def test_the_run_of_a_judge_is_continued_by_scoring_again() -> None:
    judged = began(job_path=f"/work/sums judged by judge {MADE_IN_PYTHON}", tags={"judge": "judge", "judged_run": "r0"})
    command = recorded_continuation(judged, "/l.duckdb")
    assert shlex.split(command) == ["workbench", "score", "r0", "--yes", "--local", "--ledger", "/l.duckdb"]


def test_a_run_of_a_part_says_that_the_command_is_of_the_whole() -> None:
    command = recorded_continuation(began(narrowed="the first 2 samples"), "/l.duckdb")
    assert command.endswith("  # the whole job; this run was narrowed to the first 2 samples")
    whole = shlex.split(command, comments=True)
    assert whole == shlex.split(recorded_continuation(began(), "/l.duckdb"))


def test_a_command_about_a_ledger_names_it() -> None:
    command = ledger_command("/my data/l.duckdb", "compare", "r1", "r2")
    assert shlex.split(command) == ["workbench", "compare", "r1", "r2", "--ledger", "/my data/l.duckdb"]
