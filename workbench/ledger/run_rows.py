"""The results of queries about one run: one struct per query, with its columns in order."""

from datetime import datetime

from workbench.ledger.rows import QueryRow
from workbench.records.endings import GateVerdict


class OnRecord(QueryRow, frozen=True):
    """What there is of a run beside its answers."""

    query = "run_on_record"

    scored: bool
    """If only to say that nothing could be."""
    gated: bool
    invalidated: bool
    corrected: bool
    unsent: bool
    clustered: bool


class RunScore(QueryRow, frozen=True):
    """A model's scores by one scorer; the mean is over the samples that are scored."""

    query = "run_scores"

    model: str
    scorer: str
    scored: int
    unscored: int
    mean: float | None
    is_binary: bool | None
    samples: int
    asked: int
    not_right: int
    unknown: int
    left_out: int
    invalid_samples: int
    samples_left_out: int
    value_counts: dict[float, int] | None
    lows: dict[float, int] | None
    highs: dict[float, int] | None
    least: float | None
    most: float | None
    pending: int
    pending_reason: str | None
    """Why they are, of one: of those that no judge was asked about first."""


class RunClusterSum(QueryRow, frozen=True):
    """A cluster of samples, as a model scored on it."""

    query = "run_cluster_sums"

    model: str
    scorer: str
    samples: int
    low: float
    high: float


class RunOutcome(QueryRow, frozen=True):
    """How often a model's own calls ended in one way."""

    query = "run_outcomes"

    model: str
    outcome: str
    accepted: bool
    calls: int


class RunServed(QueryRow, frozen=True):
    """How many answers of a requested model one served model gave; `served_model` None: the answers named none."""

    query = "run_served"

    requested_model: str
    served_model: str | None
    answers: int
    identity: str
    evidence: str | None
    preset: bool


class UnknownEnd(QueryRow, frozen=True):
    """A reason for which answers ended that no rule knows."""

    query = "run_unknown_ends"

    finish_reason: str
    answers: int


class RunItems(QueryRow, frozen=True):
    """How many requests to a model are answered, by this run or an earlier one."""

    query = "run_items_by_model"

    model: str
    items: int
    answered: int
    reused: int
    unanswered: int
    unusable: int
    usable: int
    cut_off: int
    refused: int
    fallbacks: int
    unknown: int
    suspected: int


class RunItemOutcome(QueryRow, frozen=True):
    """How many requests to a model stand at one outcome; None: it was sent, and no end is recorded."""

    query = "run_item_outcomes"

    model: str
    outcome: str | None
    accepted: bool | None
    scorable: bool | None
    concluded: bool | None
    items: int


class RunTokens(QueryRow, frozen=True):
    """Tokens of a model's own calls as reported; None: not known."""

    query = "run_tokens"

    model: str
    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    calls_without_usage: int
    maybe_drawn: int


class RunLatency(QueryRow, frozen=True):
    """Latency in ms of a model's own complete answers."""

    query = "run_latency"

    model: str
    answers: int
    p10_ms: float
    p25_ms: float
    p50_ms: float
    p75_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float


class RunGate(QueryRow, frozen=True):
    """What a gate of a run decided last."""

    query = "run_gates"

    gate: str
    scorer: str | None
    model: str | None
    result: GateVerdict
    reason: str
    """In words, of a run of an earlier version; else empty."""
    evidence: str | None
    """As values: JSON, see `gates`."""
    recorded_at: datetime


class SuspectSample(QueryRow, frozen=True):
    """A sample on which most models give one and the same answer that is not right: perhaps its target is wrong."""

    query = "run_suspects"

    sample_id: str
    target: str | None
    answer: str
    agree: int
    models: int


class TakenOut(QueryRow, frozen=True):
    """A sample that is taken out of a run's scores."""

    query = "run_invalid"

    sample_id: str
    reason: str
    recorded_at: datetime


class InFlight(QueryRow, frozen=True):
    """The most calls of a run in flight at once in a span of its time."""

    query = "run_in_flight"

    seconds: float
    """To the middle of the span."""
    most_in_flight: int


class LatencySpan(QueryRow, frozen=True):
    """The latency of a model's complete answers in a span of a run's time."""

    query = "run_latency_course"

    model: str
    seconds: float
    """To the middle of the span."""
    answers: int
    p50_ms: float
    p90_ms: float


class PaceStep(QueryRow, frozen=True):
    """How many calls a run allowed in flight from a moment on."""

    query = "run_pace"

    seconds: float
    """After its first call was sent."""
    allowed: int
    reason: str
    model: str | None
    limit_allowed: int | None
