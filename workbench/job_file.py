"""The tables of a job file as they are written: each key's name, type, bounds and default."""

from typing import Annotated, Any, Literal

import msgspec

MAX_IN_FLIGHT = 63

InFlight = Annotated[
    int,
    msgspec.Meta(ge=1, le=MAX_IN_FLIGHT, description="64 requests in flight are the whole platform's limit"),
]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Unset = msgspec.UnsetType
UNSET = msgspec.UNSET


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A TOML table whose unknown keys are errors."""


class FieldNames(Table, frozen=True):
    """`dataset.fields`: our name = the dataset's column."""

    input: str | None = None
    target: str | list[str] | None = None
    """A list of columns gives a list of accepted targets."""
    choices: str | list[str] | None = None
    """One column that holds a list, or a list of columns that hold an option each."""
    id: str | None = None
    tools: str | None = None


class DatasetTable(Table, frozen=True):
    """`[dataset]`: where the samples come from, and which of them are taken."""

    path: str | list[str]
    format: Literal["jsonl", "json", "csv", "tsv", "parquet"] | None = None
    fields: FieldNames = FieldNames()
    limit: int | str | None = None
    sample_ids: list[str] = []
    shuffle_seed: int | None = None


class PromptMessage(Table, frozen=True):
    """One templated message."""

    role: Literal["system", "user", "assistant", "developer"]
    content: str


class PromptTable(Table, frozen=True):
    """`[prompt]`: Jinja templates over a sample's fields."""

    system: str | None = None
    template: str = "{{ input }}"
    messages: list[PromptMessage] = []


class RequestFields(Table, frozen=True):
    """Body fields of a request; what is not given is not sent."""

    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | Unset = UNSET
    max_completion_tokens: Annotated[int, msgspec.Meta(ge=1)] | Unset = UNSET
    temperature: Annotated[float, msgspec.Meta(ge=0)] | Unset = UNSET
    top_p: Annotated[float, msgspec.Meta(ge=0, le=1)] | Unset = UNSET
    stop: str | list[str] | Unset = UNSET
    seed: int | Unset = UNSET
    presence_penalty: float | Unset = UNSET
    frequency_penalty: float | Unset = UNSET
    response_format: dict[str, Any] | Unset = UNSET
    tools: list[dict[str, Any]] | Unset = UNSET
    tools_path: str | Unset = UNSET
    tool_choice: str | dict[str, Any] | Unset = UNSET
    tool_ids: list[str] | Unset = UNSET
    parallel_tool_calls: bool | Unset = UNSET
    extra: dict[str, Any] | Unset = UNSET


class ModelTable(RequestFields, frozen=True):
    """One `[[models]]` entry: an id or a glob, its limits, and body fields of its own."""

    id: str | None = None
    id_glob: str | None = None
    max_in_flight: InFlight | None = None
    gateway_limit_s: Seconds | None = None


class RunTable(Table, frozen=True):
    """`[run]`: how the fan-out goes."""

    epochs: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    max_in_flight: InFlight = 8
    reuse: Literal["always", "occasion"] = "always"
    """Which earlier answers count: any, or only those of the same occasion (`workbench run --occasion`)."""
    on_fallback: Literal["accept", "exclude", "fail"] | None = None
    ghost_s: Annotated[float, msgspec.Meta(ge=0, le=86400)] | None = None
    """How long a call without an answer keeps its slot; by default until the gateway must be done with it."""
    passes: Annotated[int, msgspec.Meta(ge=1, le=10)] = 2
    """How many attempts a request may have in a run; 1 never sends again."""
    gateway_limit_s: Seconds | None = None
    deadline_s: Seconds | None = None
    """After so long a run sends nothing more, and waits for what is in flight."""
    request_deadline_s: Seconds | None = None
    """A request is not sent again later than so long after it was first sent."""
    patience_s: Seconds | None = None
    """How long a run waits when nothing but paused routes is left; by default 90 s, 900 s for an occasion."""
    max_reply_bytes: Annotated[int, msgspec.Meta(ge=2**16)] | None = None
    """A longer reply is not kept; by default 1 MiB and 4 KiB for each of `max_tokens`, or 16 MiB without that cap."""
    max_failed_share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """A run whose calls fail more often than this sends nothing more."""


class BudgetTable(Table, frozen=True):
    """`[budget]`: what a run may send and draw; tokens are reserved before a request is sent and settled to its usage."""

    requests: Annotated[int, msgspec.Meta(ge=1)] | None = None
    total_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None


class ScheduleTable(Table, frozen=True):
    """`[schedule]`: when a job is to be asked anew; `workbench schedule` makes a timer or crontab lines of it."""

    on_calendar: str | list[str] | None = None
    """Calendar events as systemd writes them; of a list, whichever comes."""
    cron: str | None = None
    """The five time fields of a crontab."""
    catch_up: bool = True
    """Whether the newest occasion is made up for when the machine was off, or busy with the one before."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=100)] = 3
    """How often an occasion that ended incomplete is gone on with before it is left."""


class Exact(Table, frozen=True, tag_field="name", tag="exact"):
    """The answer equals a target."""

    label: str | None = None
    ignore_case: bool = False
    ignore_punctuation: bool = False


class Includes(Table, frozen=True, tag_field="name", tag="includes"):
    """The answer contains a target."""

    label: str | None = None
    ignore_case: bool = True


class Pattern(Table, frozen=True, tag_field="name", tag="pattern"):
    """A regular expression finds the answer; its first group is compared with the target when there is one."""

    pattern: str
    label: str | None = None
    ignore_case: bool = True

    def groups(self) -> int:
        """How many groups the expression has.

        Raises:
            ValueError: It is no regular expression.
        """
        import regex  # takes 10 ms, and few jobs have such a scorer

        try:
            return int(regex.compile(self.pattern).groups)
        except (regex.error, OverflowError, RecursionError) as error:
            raise ValueError(str(error)) from error


class Numeric(Table, frozen=True, tag_field="name", tag="numeric"):
    """The last number of the answer is near enough to the target's."""

    label: str | None = None
    tolerance: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    relative_tolerance: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class Choice(Table, frozen=True, tag_field="name", tag="choice"):
    """The letter chosen is the target's."""

    label: str | None = None


class JsonFields(Table, frozen=True, tag_field="name", tag="json"):
    """The share of the target object's fields that the answer's JSON object has right."""

    label: str | None = None
    whole: bool = False
    """1 only when every field is right, else 0."""


class CalledTool(Table, frozen=True, tag_field="name", tag="tool_call"):
    """A tool call has the target's name and arguments: target `{"name": …, "arguments": {…}}`."""

    label: str | None = None
    name_only: bool = False
    """Whatever the arguments are."""


ScorerTable = Exact | Includes | Pattern | Numeric | Choice | JsonFields | CalledTool


class JobFile(Table, frozen=True):
    """A job file as it is written."""

    dataset: DatasetTable
    models: Literal["visible"] | list[str | ModelTable]
    name: str | None = None
    description: str = ""
    tags: dict[str, str] = {}
    prompt: PromptTable = PromptTable()
    request: RequestFields = RequestFields()
    run: RunTable = RunTable()
    budget: BudgetTable = BudgetTable()
    scorers: list[ScorerTable] = []
    schedule: ScheduleTable | None = None


def scorer_label(scorer: ScorerTable) -> str:
    """The name under which a scorer's scores are kept: its label, or else its kind."""
    kind: str = type(scorer).__struct_config__.tag  # type: ignore[assignment]  # given as text above
    return scorer.label or kind
