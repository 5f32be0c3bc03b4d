"""The values that travel from a dataset row to a score, in the order in which they are created."""

from datetime import datetime
from typing import Any, Literal

import msgspec

from workbench.records.outcomes import EFFECTS, Outcome

CLUSTER = "cluster"
"""The metadata column that says which samples belong together, where the job names none."""


class Sample(msgspec.Struct, frozen=True):
    """One row of a dataset, in the workbench's own field names."""

    id: str
    """Meant to be unique; the row number, counted from 1, where the data has none."""
    input: Any
    """Text, a list of chat messages, or an object of the row's own columns."""
    target: Any = None
    """What is right: text, a number or a list of accepted ones; None means nothing to score against."""
    choices: tuple[str, ...] = ()
    """The options of a multiple-choice question, in the order of their letters."""
    tools: tuple[dict[str, Any], ...] = ()
    """OpenAI-style tools that this sample brings along; empty means the job's."""
    metadata: dict[str, Any] = {}
    """Every other column, under its own name."""

    @property
    def is_chat(self) -> bool:
        """Whether the input is a list of chat messages, which is sent as it is."""
        return are_messages(self.input)


def are_messages(value: Any) -> bool:
    """Return whether a value is a list of messages, each with a role."""
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(entry, dict) and isinstance(entry.get("role"), str) for entry in value)
    )


class SampleContent(msgspec.Struct, frozen=True):
    """A sample as the ledger keeps it: without its id."""

    input: Any = None
    target: Any = None
    choices: tuple[str, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    metadata: dict[str, Any] = {}

    @classmethod
    def of(cls, sample: Sample) -> "SampleContent":
        """Return the content of a sample."""
        return cls(sample.input, sample.target, sample.choices, sample.tools, sample.metadata)

    def sample(self, sample_id: str) -> Sample:
        """Return the sample with an id."""
        return Sample(sample_id, self.input, self.target, self.choices, self.tools, self.metadata)


class ChatRequest(msgspec.Struct, frozen=True):
    """One request as it will be sent, with the names under which its answer is kept."""

    request_key: str
    """Identity of the answer (64 hexadecimal digits), see `workbench.records.keys`."""
    body: bytes
    """The JSON body, byte for byte."""
    model: str
    """The requested model's id, verbatim."""
    sample_id: str
    sample_key: str
    epoch: int
    """Counted from 1."""
    occurrence: int
    """0 for the first of equal requests in a dataset, 1 for its intended duplicate, and so on."""
    timeout_s: float
    """How long to wait for the answer; longer than the gateway's own worst case."""
    max_reply_bytes: int
    """A longer reply is not kept."""
    variant: str | None = None
    """Of the job, where it has some."""
    own_id: str | None = None
    """The sample's id in its dataset, where several rows have it; None: it is `sample_id`."""
    cluster: str | None = None
    """What the sample belongs to, by the column that the job names."""
    sample_no: int | None = None
    """Which of the samples that the run takes, from 1 in the order of the dataset."""
    content_key: str | None = None
    """Under which key the ledger holds the sample as this run read it; None: under `sample_key`."""


Sent = Literal["never", "maybe", "answered"]
"""Whether a request reached the platform: surely not, perhaps, or it began to answer."""


class Attempt(msgspec.Struct, frozen=True):
    """One HTTP try and how it ended."""

    outcome: Outcome
    evidence: str
    """The observation that decided the outcome, in words."""
    sent: Sent
    sent_at: datetime
    ended_at: datetime
    latency_ms: float
    """From handing the request to the transport to the last byte of the answer, in ms."""
    http_status: int | None = None
    retry_after_s: float | None = None
    error_text: str | None = None
    """What platform, gateway or transport said of a failure; never shown unescaped."""
    raw: str | None = None
    """The response body verbatim; bytes that are not valid UTF-8 appear as `\\xNN`, one in a content coding that was not
    asked for as `CODING,base64,…`.
    """
    goes_on: bool = False
    """Whether the platform may still be processing it, although it ended for us."""

    @property
    def accepted(self) -> bool:
        """Whether the answer stands: a plain rerun does not ask again."""
        return EFFECTS[self.outcome].accepted

    @property
    def rerun(self) -> bool:
        """Whether a rerun sends the request again."""
        return EFFECTS[self.outcome].rerun

    @property
    def scorable(self) -> bool:
        """Whether there is an answer that scorers may judge; a cut or empty one is a state, not a zero."""
        return EFFECTS[self.outcome].scorable

    @property
    def drew(self) -> Literal["yes", "maybe", "no"]:
        """Whether the call may have used allowance."""
        return "no" if self.sent == "never" else EFFECTS[self.outcome].drew


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the platform reported them; None is unknown, which is not zero."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """Includes reasoning tokens, as the platform counts them."""
    reasoning_tokens: int | None = None
    total_tokens: int | None = None


class ToolCall(msgspec.Struct, frozen=True):
    """One call that a model asked for; nothing here executes it."""

    id: str | None
    name: str
    arguments: str
    """The arguments verbatim: usually JSON, not necessarily valid."""


class Completion(msgspec.Struct, frozen=True):
    """What a model answered."""

    answer: str | None
    reasoning: str | None
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str | None
    served_model: str | None
    """The `model` field of the response: which route answered, in the platform's spelling."""
    usage: Usage
    response_id: str | None = None


class CallRecord(msgspec.Struct, frozen=True):
    """A request's identity, its attempt, and the completion if there is one."""

    request: ChatRequest
    attempt: Attempt
    completion: Completion | None = None


def without_texts(record: CallRecord) -> CallRecord:
    """Return the same record without what the platform wrote, which may take megabytes."""
    completion = record.completion
    if completion is not None:
        completion = msgspec.structs.replace(completion, answer=None, reasoning=None, tool_calls=())
    attempt = msgspec.structs.replace(record.attempt, raw=None)
    return msgspec.structs.replace(record, attempt=attempt, completion=completion)


class Score(msgspec.Struct, frozen=True):
    """One scorer's verdict on one answer."""

    value: float | None
    """1 for right, 0 for wrong, between for partly; None means unscored, which is not zero."""
    reason: str
    """Why it is unscored, or what was compared with what."""
    extracted: str | None = None
    """The part of the answer that was compared."""


class Model(msgspec.Struct, frozen=True):
    """One entry of the platform's model list."""

    id: str
    owned_by: str | None
    preset: bool
    raw: str
    """The entry verbatim, as JSON."""

    @property
    def simulated(self) -> bool:
        """Whether the embedded platform's catalogue lists it (`owned_by: "simulated"`)."""
        return self.owned_by == "simulated"


class UsageStatement(msgspec.Struct, frozen=True):
    """What a platform says that an account used; only this project's own says it."""

    as_of: datetime
    unit: str
    """`tokens`, or `weighted tokens` where its routes have weights."""
    since: datetime
    """From when on `units_since` counts."""
    units_since: float
    estimated_units_since: float
    """That part of it which is estimated: of calls in flight, and of such as reported no usage."""
    allowance_units: float | None
    """What a window of the platform holds; None: it sets no limit."""
    window_ends_at: datetime
