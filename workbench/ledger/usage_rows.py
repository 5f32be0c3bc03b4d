"""The results of queries about what calls used and took: one struct per query, with its columns in order."""

from datetime import date, datetime

from workbench.ledger.rows import QueryRow


class EarlierUsage(QueryRow, frozen=True):
    """What answers to a request used before, with what a variance needs; only those that reported it."""

    query = "earlier_usage"

    answers: int
    tokens: float
    squares: float


class EarlierLatency(QueryRow, frozen=True):
    """How long answers of a model to a sample took before."""

    query = "earlier_latencies"

    model: str
    sample_key: str
    log_ms: float
    """The mean logarithm of their ms."""


class UsageOfModel(QueryRow, frozen=True):
    """What a model's answers used and took before; only those that reported their tokens."""

    query = "usage_of_models"

    model: str
    of_job: bool
    """Whether they are of one job's runs; else of all."""
    answers: int
    mean: float
    deviation: float | None
    log_deviation: float | None
    cut_off: int
    """That ran to their cap."""
    completion: float
    """Generated tokens of an average answer; 0 where none reported them."""
    latency_ms: float
    longest_ms: float


class DrawsBySegment(QueryRow, frozen=True):
    """What calls drew between some moments, by model and job; `unknown_calls` may have drawn without a report."""

    query = "draws_by_segment"

    sent_segment: int
    ended_segment: int | None
    """None: no end is recorded."""
    model: str
    job: str | None
    calls: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    total_tokens: int
    unknown_calls: int
    uncapped_calls: int
    prompt_bound: int
    completion_bound: int


class RunDraws(QueryRow, frozen=True):
    """What an occasion, or another whole run of a job, drew by model."""

    query = "run_draws"

    run_id: str
    job: str
    job_toml: str
    model: str
    unknown_calls: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    total_tokens: int


class RunSpent(QueryRow, frozen=True):
    """What a run's calls drew on one day, by model; what they may have drawn without a report is bounded."""

    query = "run_spent"

    run_id: str
    job: str
    tags: dict[str, str]
    day: date
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    total_tokens: int
    uncapped_calls: int
    prompt_bound: int
    completion_bound: int


class LedgerPeriod(QueryRow, frozen=True):
    """What a ledger covers: its runs and calls from first to last, and whose they are."""

    query = "ledger_period"

    runs: int
    first_at: datetime | None
    last_at: datetime | None
    endpoint: str | None
    endpoints: int
    key_fingerprint: str | None
    keys: int
    simulated: bool


class UsageTotals(QueryRow, frozen=True):
    """What calls used, as reported; `calls_without_usage`, `maybe_drawn` and perhaps `open_intents` used an unknown amount."""

    name: str | None
    """What they have in common."""
    calls: int
    accepted: int
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    calls_without_usage: int
    maybe_drawn: int
    open_intents: int


class UsageBy(UsageTotals, frozen=True):
    """What calls of a day, week, month, model or job used."""

    query = "usage_by"


class UsageByTag(UsageTotals, frozen=True):
    """What calls of runs with a tag used."""

    query = "usage_by_tag"


class DailyUsage(QueryRow, frozen=True):
    """What a model's calls of one day used; of many models, those that used least are one."""

    query = "usage_by_day_and_model"

    day: date
    model: str
    calls: int
    total_tokens: int | None
    calls_without_usage: int


class Spend(QueryRow, frozen=True):
    """What all calls used in total, as reported."""

    query = "spend"

    calls: int
    accepted: int
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    calls_without_usage: int
    maybe_drawn: int
    open_intents: int
    days: int

    @property
    def uncertain_calls(self) -> int:
        """Those that used an unknown amount."""
        return self.calls_without_usage + self.maybe_drawn + self.open_intents


class UnknownDraw(QueryRow, frozen=True):
    """A model's calls whose usage is unknown, and what they may have used; None: none of its calls ever reported any."""

    query = "unknown_draw"

    model: str
    calls_without_usage: int
    maybe_drawn: int
    open_intents: int
    known_calls: int
    p10_tokens: float | None
    p90_tokens: float | None
    low_tokens: int | None
    high_tokens: int | None

    @property
    def uncertain_calls(self) -> int:
        """Those that used an unknown amount."""
        return self.calls_without_usage + self.maybe_drawn + self.open_intents


class CostliestRun(QueryRow, frozen=True):
    """One of the runs that used most."""

    query = "costliest_runs"

    run_id: str
    job: str | None
    started_at: datetime | None
    calls: int
    total_tokens: int | None
    calls_without_usage: int


class CostliestSample(QueryRow, frozen=True):
    """One of the samples that used most, over all runs, models and epochs."""

    query = "costliest_samples"

    sample_key: str
    calls: int
    total_tokens: int
    most_tokens: int
    costliest_model: str
    run_id: str
    sample_id: str
    job: str | None
