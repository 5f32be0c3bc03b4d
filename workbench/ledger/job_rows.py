"""The results of queries about jobs and their runs: one struct per query, with its columns in order."""

from collections.abc import Sequence
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


class RunLine(QueryRow, frozen=True):
    """A run with how its requests ended and what it used; `status` None: it is running, or was killed."""

    query = "runs"

    run_id: str
    job: str
    status: str | None
    reason: str | None
    exit_code: int | None
    started_at: datetime
    ended_at: datetime | None
    duration_s: float | None
    planned: int
    reused: int
    completed: int
    answered: int
    failed: int
    pending: int
    calls: int
    total_tokens: int | None
    calls_without_usage: int
    models: int
    generation: str
    occasion: str | None
    narrowed: str | None
    tags: dict[str, str]
    endpoint: str
    job_path: str
    simulated: bool

    @property
    def is_probe(self) -> bool:
        """Whether it asked routes what they can do (`workbench probe`), as the view `probe_runs` has it."""
        return self.job == "probe" and "probe" in self.tags


class NewestRun(QueryRow, frozen=True):
    """One of the newest runs of a job."""

    query = "job_newest_runs"

    job: str
    run_id: str
    started_at: datetime
    status: str | None
    reason: str | None
    occasion: str | None
    scorer: str | None
    """The first of its job."""
    job_toml: str | None
    """Of the newest run only."""


class ModelMean(QueryRow, frozen=True):
    """The mean score of a run by one scorer, of a model or over all of them."""

    query = "newest_run_scores"

    run_id: str
    job: str
    started_at: datetime
    place: int | None
    """Of the scorer in its job."""
    scorer: str
    model: str | None
    """None: over all models."""
    answered: int
    """Requests with an answer."""
    scored: int
    mean: float | None
    """None: of a model without any score that is known."""
    at_worst: float | None
    at_best: float | None
    asked: int
    known: int
    """Answers that are scored or not right."""
    min_answered: float | None
    """The share of its answers that must be known of a model that is ranked; None: of an earlier version."""

    @property
    def centre(self) -> float | None:
        """Where a drawing has the mean: in the middle of where it can be; nowhere without any score that is known."""
        if self.mean is None or self.at_worst is None or self.at_best is None:
            return self.mean
        return (self.at_worst + self.at_best) / 2


def run_means(means: Sequence[ModelMean]) -> list[ModelMean]:
    """Of each run the mean over all its models by the first scorer of its job that scored anything.

    Args:
        means: In the order of the query.
    """
    first: dict[str, ModelMean] = {}
    for row in means:
        if row.model is None:
            first.setdefault(row.run_id, row)
    return list(first.values())


def silent_models(means: Sequence[ModelMean]) -> dict[str, list[ModelMean]]:
    """Run id -> its models without any score that is known by the scorer of `run_means`, where others have some.

    A model that has none in any of its job's runs is not among them: it changes nothing from one to the next.

    Args:
        means: In the order of the query.
    """
    scorers = {row.run_id: row.scorer for row in run_means(means)}
    own = [row for row in means if row.model is not None and row.scorer == scorers.get(row.run_id)]
    scored = {(row.job, row.model) for row in own if row.mean is not None}
    found: dict[str, list[ModelMean]] = {}
    for row in own:
        if row.mean is None and (row.job, row.model) in scored:
            found.setdefault(row.run_id, []).append(row)
    return found


class JobRun(QueryRow, frozen=True):
    """A run of a job, with what its requests, its dataset and its scorers were."""

    query = "job_runs"

    run_id: str
    started_at: datetime
    occasion: str | None
    status: str | None
    reason: str | None
    planned: int
    dataset_hash: str
    job_hash: str
    job_toml: str
    scorers: list[str] | None
    total_tokens: int | None
    runs: int
    """Of its occasion; it is the one that counts."""
    corrected: int


class JobCourse(QueryRow, frozen=True):
    """What a model of a run of a job came to."""

    query = "job_course"

    run_id: str
    started_at: datetime
    model: str
    requests: int
    mean: float | None
    scored: int | None
    value_counts: dict[float, int] | None
    lows: dict[float, int] | None
    highs: dict[float, int] | None
    least: float | None
    most: float | None
    asked: int | None
    completion_tokens: float | None
    p50_ms: float | None
    failed_share: float
    fallback_share: float | None
    """Of its answers; None where there are none."""
    served_model: str | None
    stand_in: str | None
    """The other model that gave more than half of its answers."""
