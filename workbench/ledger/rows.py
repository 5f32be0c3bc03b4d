"""The results of queries: one struct per query, with its columns in order; those of one subject are in `*_rows.py`.

What `Frames` gives as tables is read in columns (`Reader.arrow`). A test compares every struct with its query.
"""

from datetime import datetime
from typing import ClassVar

import msgspec

from workbench.ledger.entries import RunFacts


class QueryRow(msgspec.Struct, frozen=True):
    """One row of the query in `sql/queries/` that the class names."""

    query: ClassVar[str]


class AcceptedAnswer(QueryRow, frozen=True):
    """Where the newest answer to a request is that stands."""

    query = "accepted_answers"

    request_key: str
    run_id: str
    call_no: int
    generation: str
    accepted: bool
    outcome: str
    ends: str
    """Why there is nothing to score in it, as `[unscored]` names it; empty: there is."""


class HigherCap(QueryRow, frozen=True):
    """A cap with which answers of a job were asked again that were cut off."""

    query = "higher_caps"

    max_tokens: int


class AnsweredByAnother(QueryRow, frozen=True):
    """A request that another model answered last."""

    query = "answered_by_another"

    request_key: str


class KnownSample(QueryRow, frozen=True):
    """A sample whose content the ledger holds."""

    query = "known_samples"

    sample_key: str
    digest: str


class InvalidSample(QueryRow, frozen=True):
    """A sample that is taken out of the newest run of a job, and not asked again since."""

    query = "invalid_of_job"

    sample_key: str


class RunId(QueryRow, frozen=True):
    """A run, of the list from the newest to the oldest."""

    query = "run_ids"

    run_id: str
    judges: bool
    """Whether it is the run of a judge, about the answers of another one."""


class Provenance(QueryRow, RunFacts, frozen=True, kw_only=True):
    """Everything recorded about how a run began and ended; `status` None: it is running, or was killed."""

    query = "run_provenance"

    started_at: datetime
    ended_at: datetime | None
    status: str | None
    exit_code: int | None
    duration_s: float | None
    reason: str | None


class ScorerFaults(QueryRow, frozen=True):
    """A scorer that failed on some of the answers that it was given, or judged some not yet; why, of one score each."""

    query = "scorer_faults"

    run_id: str
    scorer: str
    answers: int
    failed: int
    failed_reason: str | None
    pending: int
    pending_reason: str | None


class BrokenScorer(msgspec.Struct, frozen=True):
    """A scorer that failed on some of the answers that it was given."""

    run_id: str
    scorer: str
    failed: int
    answers: int
    reason: str
    """Of one of these scores."""


class RunNumbers(QueryRow, frozen=True):
    """How a run's requests ended: `planned = reused + completed + failed + pending`; tokens None: not reported."""

    query = "run_summary"

    planned: int
    reused: int
    completed: int
    failed: int
    retryable: int
    retried: int
    answered: int
    pending: int
    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    calls_without_usage: int
    maybe_drawn: int
    open_intents: int


class RunShape(QueryRow, frozen=True):
    """How many models and epochs a run asked."""

    query = "run_shape"

    models: int
    epochs: int


class CurrentScore(QueryRow, frozen=True):
    """The newest score of a request by a scorer."""

    query = "scores_of_run"

    request_key: str
    scorer: str
    scorer_config: str
    recorded_at: datetime
    value: float | None
    reason: str
    extracted: str | None


class UncountedAnswer(QueryRow, frozen=True):
    """A request of a run whose answer counts in no mean."""

    query = "uncounted_answers"

    request_key: str


class AnsweringRun(QueryRow, frozen=True):
    """A run that paid for answers which another one uses; its range of calls, and its longest answer."""

    query = "answering_runs"

    answer_run_id: str
    first_call_no: int
    last_call_no: int
    longest_bytes: int


class ScorableAnswer(QueryRow, frozen=True):
    """An answer with its sample, for the scorers."""

    query = "scorable_answers"

    request_key: str
    sample_id: str
    sample_key: str
    outcome: str
    scorable: bool
    answer: str | None
    tool_calls: list[dict[str, str]] | None
    latency_ms: float
    completion_tokens: int | None
    total_tokens: int | None
    requested_model: str
    served_model: str | None
    sample: str | None
    """JSON: input, target, choices, tools and metadata."""


class OccasionRun(QueryRow, frozen=True):
    """A run of one occasion of a job."""

    query = "occasion_runs"

    run_id: str
    occasion: str
    status: str | None
    job_path: str


class ForcedTools(QueryRow, frozen=True):
    """How often a model was forced to call a tool, and how often it did."""

    query = "tools_forced"

    model: str
    forced: int
    called: int


class NewestLatencies(QueryRow, frozen=True):
    """How long a model's newest answers took, in ms, oldest first."""

    query = "newest_latencies"

    model: str
    latencies_ms: list[float]


class LedgerKind(QueryRow, frozen=True):
    """Whether the ledger's runs asked simulated models."""

    query = "ledger_kind"

    simulated: bool


class JournalCount(QueryRow, frozen=True):
    """How many rows of a kind the ledger has, and how many its journals held; None: not counted."""

    query = "journal_counts"

    kind: str
    rows: int
    recorded: int | None


class RequestIdentity(QueryRow, frozen=True):
    """A request with all parts of its key."""

    query = "request_identities"

    run_id: str
    call_no: int
    request_key: str
    body_key: str
    model: str
    epoch: int
    occurrence: int
    identity: str | None
    body: str | None


class JobOfRun(QueryRow, frozen=True):
    """The job file of a run, verbatim."""

    query = "job_files"

    run_id: str
    job_toml: str


class AllowanceRefusal(QueryRow, frozen=True):
    """When a run was first told that the allowance is used up."""

    query = "refusals"

    run_id: str
    refused_at: datetime


class ReadingRow(QueryRow, frozen=True):
    """What somebody read of the allowance; see the table `readings`."""

    query = "readings"

    reading_id: str
    recorded_at: datetime
    read_at: datetime
    of_what: str
    """`used` or `left`."""
    share_low: float | None
    share_high: float | None
    units_low: float | None
    units_high: float | None
    total_units: float | None
    said: str
    withdrawn: bool


class ProbeAnswer(QueryRow, frozen=True):
    """One request of a probe, and what its answer shows of the route."""

    query = "probe_answers"

    run_id: str
    started_at: datetime
    model: str
    question: str | None
    outcome: str | None
    accepted: bool
    concluded: bool
    """False where the call was cancelled."""
    served_model: str | None
    identity: str | None
    latency_ms: float | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    finish_reason: str | None
    answer: str | None
    reasoned: bool
    tool_calls: int


class LedgerState(QueryRow, frozen=True):
    """How much a ledger holds of each kind, and how much of it contradicts the rest; only `runs` to `simulated` may be more
    than 0 where all is well, and the last two.
    """

    query = "ledger_state"

    runs: int
    attempts: int
    requests: int
    scores: int
    kinds: int
    simulated: bool | None
    repeated_attempts: int
    repeated_requests: int
    repeated_items: int
    repeated_samples: int
    repeated_bodies: int
    attempts_without_request: int
    contradicting_attempts: int
    contradicting_sums: int
    reinterpreted_attempts: int
    """Other things follow from their outcomes today than when they were recorded."""
    corrected_attempts: int
    """Their bodies are judged to be other outcomes today."""


class TableDigest(QueryRow, frozen=True):
    """A digest over every value of a table, which are all read for it."""

    query = "every_value"

    name: str
    digest: int | None
