"""The lines of a journal: one struct per kind, flat, with the ledger's column names.

A column that two kinds share has one type; the ingest reads all kinds with one set of columns made from these structs.
"""

import types
import typing
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import msgspec

import workbench.settings.clock as clock
from workbench.records.calls import Attempt, CallRecord, ChatRequest, Completion, Score


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """One line of a journal; most are a row of one table, too."""

    table: ClassVar[str] = ""
    """Which table; empty where its file alone says where it goes."""
    has_file: ClassVar[bool] = False
    """Whether `sql/ingest/KIND.sql` does what is not plain."""
    apart: ClassVar[frozenset[str]] = frozenset()
    """Fields that are no columns of that table: its file puts them elsewhere."""
    computed: ClassVar[Mapping[str, str]] = {}
    """Columns that are not as the field of that name, or of no field, as SQL over the fields."""


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is recorded of how a run begins, in its line and in the query of its provenance."""

    run_id: str
    job: str
    job_path: str
    job_toml: str
    job_hash: str
    tags: dict[str, str]
    generation: str
    occasion: str | None = None
    planned: int
    dataset_paths: str
    dataset_hash: str
    dataset_rows: int
    endpoint: str
    identity: str
    simulated: bool
    key_fingerprint: str
    host: str
    pid: int
    max_in_flight: int
    versions: dict[str, str]
    limits: dict[str, str]
    git_commit: str | None = None
    git_dirty: bool | None = None
    fresh: bool | None = None
    resumed_run: str | None = None
    narrowed: str | None = None
    part: str | None = None
    """JSON, of a run of a part; None also where only the words were recorded."""
    on_fallback: str | None = None
    scorers: list[str] | None = None
    variants: list[str] | None = None
    reduce: str | None = None
    epochs: int | None = None
    min_answered: float | None = None
    counted_unknown: list[str] | None = None


class RunStarted(Entry, RunFacts, frozen=True, kw_only=True, tag="run_started"):
    """A run begins; its provenance."""

    table = "runs"
    computed = MappingProxyType(
        {
            "event": "'started'",
            "fresh": "coalesce(fresh, false)",
            # a journal of an earlier version has it in the generation's name only
            "occasion": "coalesce(occasion, CASE WHEN starts_with(generation, job || '@') "
            "THEN substr(generation, length(job) + 2) END)",
        }
    )

    recorded_at: datetime


class RunEnded(Entry, frozen=True, tag="run_ended"):
    """A run ends by itself; a killed one has no such line."""

    table = "runs"
    computed = MappingProxyType({"event": "'ended'"})

    run_id: str
    recorded_at: datetime
    status: str
    exit_code: int
    duration_s: float
    reason: str | None = None


class ModelSeen(Entry, frozen=True, tag="model"):
    """One entry of the model list at a run's start."""

    table = "models_seen"
    computed = MappingProxyType(
        {"base": "CASE WHEN json_valid(raw) THEN json_extract_string(raw, '$.info.base_model_id') END"}
    )

    run_id: str
    recorded_at: datetime
    model: str
    preset: bool
    raw: str
    owned_by: str | None = None


class SampleSeen(Entry, frozen=True, tag="sample"):
    """A sample's content, for scoring without its file."""

    has_file = True

    sample_key: str
    sample: str
    """The sample as JSON, without its id."""


class Intent(Entry, frozen=True, tag="intent"):
    """A request is about to be sent; one without an answer may have drawn."""

    table = "requests"
    has_file = True
    apart = frozenset({"body", "sample_id", "attempt", "variant", "own_id", "cluster", "sample_no", "content_key"})

    run_id: str
    call_no: int
    request_key: str
    generation: str
    body_key: str
    body: str
    model: str
    sample_id: str
    sample_key: str
    epoch: int
    occurrence: int
    sent_at: datetime
    tools: str | None = None
    attempt: int = 1
    """More than 1 where the run sends the request again."""
    variant: str | None = None
    own_id: str | None = None
    cluster: str | None = None
    sample_no: int | None = None
    content_key: str | None = None


class Reuse(Entry, frozen=True, tag="reuse"):
    """A run takes an earlier answer instead of asking again."""

    has_file = True

    run_id: str
    request_key: str
    generation: str
    model: str
    sample_id: str
    sample_key: str
    epoch: int
    answer_run_id: str
    answer_call_no: int
    variant: str | None = None
    own_id: str | None = None
    cluster: str | None = None
    sample_no: int | None = None
    content_key: str | None = None


class CallEntry(msgspec.Struct, frozen=True):
    """A tool call within an answer."""

    name: str
    arguments: str
    id: str | None = None


class Answer(Entry, frozen=True, tag="answer"):
    """An attempt ended, with or without an answer."""

    table = "attempts"
    has_file = True
    apart = frozenset({"answer", "reasoning", "tool_calls", "raw"})

    run_id: str
    call_no: int
    request_key: str
    generation: str
    model: str
    sample_key: str
    epoch: int
    outcome: str
    accepted: bool
    rerun: bool
    scorable: bool
    drew: str
    evidence: str
    sent: str
    sent_at: datetime
    ended_at: datetime
    latency_ms: float
    http_status: int | None = None
    retry_after_s: float | None = None
    error_text: str | None = None
    served_model: str | None = None
    finish_reason: str | None = None
    response_id: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    answer: str | None = None
    reasoning: str | None = None
    tool_calls: list[CallEntry] | None = None
    raw: str | None = None


class PaceChanged(Entry, frozen=True, tag="pace"):
    """From now on a run may have so many requests in flight."""

    table = "paces"

    run_id: str
    recorded_at: datetime
    allowed: int
    reason: str
    model: str | None = None
    """The route whose limit changed; None: all of them."""
    limit_allowed: int | None = None
    """What that limit is now."""


class Scored(Entry, frozen=True, tag="score"):
    """One scorer's verdict on the answer a run uses for one request."""

    table = "scores"

    run_id: str
    request_key: str
    scorer: str
    scorer_config: str
    recorded_at: datetime
    reason: str
    value: float | None = None
    extracted: str | None = None


class GateDecided(Entry, frozen=True, tag="gate"):
    """What a gate of the job finds of a run."""

    table = "gates"

    run_id: str
    recorded_at: datetime
    gate: str
    result: str
    reason: str
    """The evidence in words, as earlier versions wrote it; else empty."""
    scorer: str | None = None
    model: str | None = None
    evidence: str | None = None
    """JSON; see `gates`."""


class ReferenceScored(Entry, frozen=True, tag="reference"):
    """What one reference point scores on the samples of a run."""

    table = "reference_scores"

    run_id: str
    recorded_at: datetime
    scorer: str
    reference: str
    column_name: str
    sample_keys: list[str]
    sample_values: list[float]
    constant: str | None = None
    sample_texts: list[str] | None = None


class SampleInvalidated(Entry, frozen=True, tag="invalid"):
    """A sample of a run is taken out of its scores, or put back."""

    table = "invalidations"

    run_id: str
    recorded_at: datetime
    sample_key: str
    invalid: bool
    reason: str


class TargetCorrected(Entry, frozen=True, tag="target"):
    """A sample of a run is scored by the target of another one, or by its own again."""

    table = "target_corrections"

    run_id: str
    recorded_at: datetime
    sample_key: str
    reason: str
    corrected_key: str | None = None


class ChangeAccepted(Entry, frozen=True, tag="accepted_change"):
    """Somebody takes what a job's models show since a change for their level, or takes that back."""

    table = "acceptances"

    job: str
    recorded_at: datetime
    accepted: bool
    reason: str
    model: str


class SampleUnsent(Entry, frozen=True, tag="unsent"):
    """A run ended before it sent any model anything of a sample."""

    table = "unsent_samples"

    run_id: str
    sample_id: str
    sample_key: str
    epoch: int
    own_id: str | None = None
    cluster: str | None = None
    sample_no: int | None = None
    content_key: str | None = None


class ReadingTaken(Entry, frozen=True, tag="reading"):
    """Somebody read elsewhere how much of the allowance was used, or left; or withdraws what they read."""

    table = "readings"

    reading_id: str
    recorded_at: datetime
    read_at: datetime
    of_what: Literal["used", "left"]
    said: str
    withdrawn: bool
    share_low: float | None = None
    share_high: float | None = None
    units_low: float | None = None
    units_high: float | None = None
    total_units: float | None = None


_EFFECTS = ("accepted", "rerun", "scorable", "drew")
"""What follows from an outcome, as this version sees it; only older versions read it."""
_OF_ATTEMPT = (*_EFFECTS, *(name for name in Attempt.__struct_fields__ if name in Answer.__struct_fields__))
_OF_COMPLETION = tuple(
    name for name in Completion.__struct_fields__ if name in Answer.__struct_fields__ and name != "tool_calls"
)
_attempt_values, _completion_values = attrgetter(*_OF_ATTEMPT), attrgetter(*_OF_COMPLETION)
_OF_REQUEST: dict[type[Entry], tuple[str, ...]] = {
    kind: tuple(name for name in ChatRequest.__struct_fields__ if name in kind.__struct_fields__ and name != "body")
    for kind in (Intent, Reuse, Answer, SampleUnsent)
}
"""What is in their lines as the request has it; its body is bytes."""
KINDS = (
    RunStarted, RunEnded, ModelSeen, SampleSeen, Intent, Reuse, Answer, PaceChanged, Scored, ReferenceScored, GateDecided,
    SampleInvalidated, TargetCorrected, ChangeAccepted, SampleUnsent, ReadingTaken,
)  # fmt: skip


def kind_name(kind: type[Entry]) -> str:
    """Return how the lines of a kind name it."""
    return str(kind.__struct_config__.tag)


KIND_NAMES = frozenset(kind_name(kind) for kind in KINDS)


def of_request(kind: type[Entry], request: ChatRequest) -> dict[str, Any]:
    """Return what a line of a kind says of a request as the request says it, by name."""
    return {name: getattr(request, name) for name in _OF_REQUEST[kind]}


def answer_entry(run_id: str, call_no: int, generation: str, record: CallRecord) -> Answer:
    """Return a call record as its journal line."""
    attempt, completion = record.attempt, record.completion
    known = of_request(Answer, record.request) | dict(zip(_OF_ATTEMPT, _attempt_values(attempt), strict=True))
    if completion is not None:
        known |= zip(_OF_COMPLETION, _completion_values(completion), strict=True)
        known |= msgspec.structs.asdict(completion.usage)
        known["tool_calls"] = [CallEntry(c.name, c.arguments, c.id) for c in completion.tool_calls] or None
    return Answer(run_id=run_id, call_no=call_no, generation=generation, **known)


def score_entry(run_id: str, request_key: str, scorer: tuple[str, str], at: datetime, score: Score) -> Scored:
    """Return a score as its journal line.

    Args:
        scorer: The scorer's label, and its configuration as JSON.
    """
    label, config = scorer
    return Scored(run_id, request_key, label, config, at, score.reason, score.value, score.extracted)


def newer_than(moments: Iterable[datetime]) -> datetime:
    """Now, or just after the latest of these moments of the ledger if the clock was set back: the newest entry counts."""
    # with the clock's word alone, what is said after it was set back would be older than what it corrects, and never count
    return max([clock.now(), *(moment + timedelta(microseconds=1) for moment in moments)])


def plain_insert(kind: type[Entry]) -> str:
    """Return the SQL that puts the staged lines of a kind into its table."""
    names = dict.fromkeys([*kind.__struct_fields__, *kind.computed])
    columns = [
        f"{kind.computed[name]} AS {name}" if name in kind.computed else name
        for name in names
        if name not in kind.apart
    ]
    staged = f"FROM staged WHERE kind = '{kind_name(kind)}'"
    return f"INSERT INTO {kind.table} BY NAME SELECT {', '.join(columns)} {staged};"


def journal_columns(kinds: Iterable[type[Entry]] = KINDS) -> dict[str, str]:
    """Column name -> DuckDB type, over some kinds of entries."""
    columns = {"kind": "VARCHAR"}
    for kind in kinds:
        hints = typing.get_type_hints(kind)
        columns |= {name: _duckdb_type(hints[name]) for name in kind.__struct_fields__}
    return columns


def _duckdb_type(hint: Any) -> str:
    if isinstance(hint, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    origin = typing.get_origin(hint)
    if origin is dict:
        return "MAP(VARCHAR, VARCHAR)"
    if origin is list:
        of = {str: "VARCHAR[]", float: "DOUBLE[]"}
        return of.get(typing.get_args(hint)[0], "STRUCT(name VARCHAR, arguments VARCHAR, id VARCHAR)[]")
    if origin is Literal:
        return "VARCHAR"
    return {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", datetime: "TIMESTAMP"}[hint]
