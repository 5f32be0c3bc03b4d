"""The results of queries about jobs and their runs: one struct per query, with its columns in order."""

from datetime import datetime

from workbench.ledger.rows import QueryRow


class JobRuns(QueryRow, frozen=True):
    """A job by its newest run, with how often it ran."""

    query = "jobs"

    job: str
    runs: int
    complete: int
    first_at: datetime
    last_at: datetime
    last_run_id: str
    last_status: str | None


class RunOfJob(QueryRow, frozen=True):
    """A run of one job that has ended."""

    query = "newest_of_job"

    run_id: str


class ModelOrder(QueryRow, frozen=True):
    """A model, or a variant of one, in the order of first use: each keeps its colour on every page."""

    query = "model_order"

    model: str
    first_at: datetime
    rank: int
