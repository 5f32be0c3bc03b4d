"""A probe: a run of a job made here, whose answers show what routes can do."""

from collections.abc import Sequence

from workbench.api import make_job
from workbench.job import Job
from workbench.routes.facts import JOB, QUESTIONS, TAG, VERSION


def probe_job(models: Sequence[str], repeat: int = 1) -> Job:
    """The job that asks routes what they can do; every answer is kept in the ledger like any other.

    Args:
        models: Ids or globs; none asks every visible one.
        repeat: How often each question is asked.

    Raises:
        InputError: A model is named twice.
    """
    return make_job(
        JOB,
        list(models) or "visible",
        [{"id": "route", "input": "probe"}],
        variants=[{"name": name} | question for name, question in QUESTIONS.items()],
        run={"epochs": repeat, "passes": 1},
        tags={TAG: VERSION},
        description="Shows of each route whether it answers, as whom, and what it can do",
    )
