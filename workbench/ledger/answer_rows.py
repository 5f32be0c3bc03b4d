"""The results of queries about answers and their texts: one struct per query, with its columns in order."""

from datetime import datetime
from typing import TypedDict

from workbench.ledger.rows import QueryRow


class RecordedAnswer(QueryRow, frozen=True):
    """A request of a run with the answer that the run uses, whoever paid for it; None where nothing ended."""

    query = "answers"

    run_id: str
    job: str
    request_key: str
    sample_id: str
    own_id: str
    """The sample's id in its dataset, which several may have."""
    sample_key: str
    epoch: int
    requested_model: str
    variant: str | None
    served_model: str | None
    identity: str | None
    identity_evidence: str | None
    counts: bool | None
    outcome: str | None
    accepted: bool | None
    reused: bool
    sent_at: datetime | None
    """When the call was made that gave it: a reused answer's in an earlier run."""
    latency_ms: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    finish_reason: str | None
    input: str | None
    target: str | None
    metadata: str | None
    answer: str | None
    reasoning: str | None
    tool_calls: list[dict[str, str | None]] | None

    @property
    def side(self) -> str:
        """Its model, with its variant where the job has some."""
        return " · ".join(filter(None, (self.requested_model, self.variant)))


class RunReply(QueryRow, frozen=True):
    """A request of a run with the reply that it uses, verbatim."""

    query = "run_replies"

    request_key: str
    sample_id: str
    epoch: int
    side: str
    outcome: str | None
    accepted: bool | None
    http_status: int | None
    evidence: str | None
    error_text: str | None
    raw: str | None


class UnsentSample(QueryRow, frozen=True):
    """A sample of a run of which no model was sent anything, with its content as JSON."""

    query = "run_unsent"

    sample_id: str
    sample_key: str
    epoch: int
    sample: str | None


class SaidScore(TypedDict):
    """A score within a row of an answer."""

    scorer: str
    value: float | None
    reason: str
    extracted: str | None
    scale: list[float] | None
    """The least and the most that it may be; None: nothing says so."""


class SampleLine(QueryRow, frozen=True):
    """A request of a run with the answer that the run uses, but for its texts; None where nothing ended."""

    run_id: str
    request_key: str
    sample_id: str
    sample_key: str
    content_key: str
    epoch: int
    requested_model: str
    variant: str | None
    side: str
    served_model: str | None
    identity: str | None
    identity_evidence: str | None
    counts: bool | None
    reused: bool
    answer_run_id: str
    answer_call_no: int
    outcome: str | None
    accepted: bool | None
    http_status: int | None
    attempts: int
    """The run's own calls for it."""
    latency_ms: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    finish_reason: str | None
    evidence: str | None
    scores: list[SaidScore] | None
    disagree: bool
    """Whether models differ on its sample and epoch."""


class RunSample(SampleLine, frozen=True):
    """Such a request, as a query has it."""

    query = "run_samples"


class RunAttempt(QueryRow, frozen=True):
    """One attempt of a request that was sent more than once."""

    query = "run_attempts"

    request_key: str
    call_no: int
    outcome: str
    scorable: bool
    http_status: int | None
    latency_ms: float
    sent_at: datetime
    evidence: str
    error_text: str | None


class WholeSample(SampleLine, frozen=True, kw_only=True):
    """Such a request with its texts."""

    answer: str | None
    reasoning: str | None
    raw: str | None
    error_text: str | None
    tool_calls: list[dict[str, str | None]] | None
    body: str | None
    sample: str | None
    attempted: list[RunAttempt]
    """Of one that was sent more than once."""


class CallTexts(QueryRow, frozen=True):
    """The texts of a call, and the body that was sent."""

    query = "call_texts"

    call_no: int
    answer: str | None
    reasoning: str | None
    raw: str | None
    error_text: str | None
    body: str | None
    tool_calls: list[dict[str, str | None]] | None
