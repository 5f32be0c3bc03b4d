"""The results of queries about answers and their texts: one struct per query, with its columns in order."""

from workbench.ledger.rows import QueryRow


class RecordedAnswer(QueryRow, frozen=True):
    """A request of a run with the answer that the run uses, whoever paid for it; None where nothing ended."""

    query = "answers"

    run_id: str
    job: str
    request_key: str
    sample_id: str
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
