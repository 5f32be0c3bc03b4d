"""The tables of a job file as they are written: each key's name, type, bounds and default."""

import tomllib
from collections.abc import Collection
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from workbench.scoring.scorer import MOST_SCORE
from workbench.scoring.scorers import AnyScorer

MAX_IN_FLIGHT = 63
MOST_TOKENS = 10_000_000
"""Of one answer: far beyond any model, so that a slip of the finger is noticed."""

InFlight = Annotated[
    int,
    msgspec.Meta(ge=1, le=MAX_IN_FLIGHT, description="64 requests in flight are the whole platform's limit"),
]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
Unset = msgspec.UnsetType
UNSET = msgspec.UNSET
MEAN = "mean"
ON_OWN_SCALE = (MEAN, "mode")
"""Reducers whose score is on the scale of the epochs' own; the others count how many of these are right."""
MIN_ANSWERED = 0.8
PREVIOUS = "previous"
"""The baseline that is the run before."""


class TomlTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A TOML table whose unknown keys are errors."""


class FieldNames(TomlTable, frozen=True):
    """`[dataset.fields]`: workbench's name = the dataset's column."""

    input: str | None = None
    """The prompt, or what the template uses; a column `input` or `messages` needs no mapping."""
    target: str | list[str] | None = None
    """The expected answer; a list of columns gives a list of accepted targets."""
    choices: str | list[str] | None = None
    """The options: one column that holds a list, or a list of columns that hold an option each."""
    id: str | None = None
    """The sample's name; by default the row number."""
    tools: str | None = None
    """OpenAI-style tools of the sample's own, in place of the job's."""


class DatasetTable(TomlTable, frozen=True):
    """`[dataset]`: where the samples come from, and which of them are taken."""

    path: str | list[str]
    """A file, a glob, or a list of them, relative to the job file."""
    format: Literal["jsonl", "json", "csv", "tsv", "parquet", "xlsx"] | None = None
    """Detected from the content by default."""
    delimiter: Annotated[str, msgspec.Meta(min_length=1, max_length=1)] | None = None
    """What separates the cells of a CSV or TSV file, such as ";"; detected from its first rows by default."""
    sheet: str | None = None
    """The sheet of an Excel workbook; by default the only one that has rows."""
    layout: str | None = None
    """What the rows are, such as "gsm8k", "bfcl" or "plain"; detected from the first row where `fields` is not given."""
    fields: FieldNames = FieldNames()
    """Which columns hold input, target, choices, id and tools."""
    second_target: str | None = None
    """The column of a second annotator: what it scores as an answer is what people reach."""
    cluster: str | None = None
    """The column whose equal values say which samples belong together, such as that of the ids; by default a column `cluster`."""
    reference: dict[str, str] = {}
    """Name -> a column with answers, such as those of the system in use: scored beside the models, without a call."""
    limit: int | str | None = None
    """The first so many rows, or a range such as "10-20"."""
    sample_ids: list[str] = []
    """Only samples whose id matches one of these globs."""
    shuffle_seed: int | None = None
    """Draws the rows of `limit` at random, the same ones for the same seed."""


class PromptMessage(TomlTable, frozen=True):
    """One templated message."""

    role: Literal["system", "user", "assistant", "developer"]
    """Who says it."""
    content: str
    """A Jinja template over the sample's fields."""


class PromptTable(TomlTable, frozen=True):
    """`[prompt]`: Jinja templates over a sample's fields."""

    system: str | None = None
    """A template of the system prompt."""
    template: str = "{{ input }}"
    """A template of the user's message; a sample that is a list of messages is sent as it is."""
    messages: list[PromptMessage] = []
    """Several templated messages, in place of `system` and `template`."""


class RequestFields(TomlTable, frozen=True):
    """`[request]`: body fields of a request; what is not given is not sent."""

    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=MOST_TOKENS)] | Unset = UNSET
    """The most tokens that an answer may have, reasoning included."""
    max_completion_tokens: Annotated[int, msgspec.Meta(ge=1, le=MOST_TOKENS)] | Unset = UNSET
    """The same under its newer name."""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | Unset = UNSET
    """0 = most deterministic, 2 = most random."""
    top_p: Annotated[float, msgspec.Meta(ge=0, le=1)] | Unset = UNSET
    """Nucleus sampling: the smallest set of tokens with this total probability."""
    stop: str | list[str] | Unset = UNSET
    """Texts at which an answer ends."""
    seed: int | Unset = UNSET
    """For routes that can repeat an answer."""
    presence_penalty: Annotated[float, msgspec.Meta(ge=-2, le=2)] | Unset = UNSET
    """Above 0: avoid words that occurred."""
    frequency_penalty: Annotated[float, msgspec.Meta(ge=-2, le=2)] | Unset = UNSET
    """Above 0: avoid words, the more so the more often they occurred."""
    response_format: dict[str, Any] | Unset = UNSET
    """{type = "json_object"}, or a JSON schema."""
    tools: list[dict[str, Any]] | Unset = UNSET
    """OpenAI-style tools; nothing executes what a model calls."""
    tools_path: str | Unset = UNSET
    """A JSON file with such tools."""
    tool_choice: str | dict[str, Any] | Unset = UNSET
    """auto, none, required, or {type = "function", function = {name = "…"}}."""
    tool_ids: list[str] | Unset = UNSET
    """Ids of tools that the platform has; they run only for streamed answers, which the workbench does not ask for."""
    parallel_tool_calls: bool | Unset = UNSET
    """Whether an answer may call several tools."""
    extra: dict[str, Any] | Unset = UNSET
    """Any further body fields."""


class ModelTable(RequestFields, frozen=True):
    """`[[models]]`: an id or a glob, its limits, and body fields that override those of `[request]`."""

    id: str | None = None
    """A model's id, verbatim."""
    id_glob: str | None = None
    """Every visible model whose id matches, such as "lab/*"."""
    max_in_flight: InFlight | None = None
    """Requests in flight to this model, within the run's limit."""
    gateway_limit_s: Seconds | None = None
    """How long the platform's gateway waits for this model, in s."""


class VariantTable(RequestFields, frozen=True):
    """`[[variants]]`: a prompt and body fields that are asked and compared beside others, of every model."""

    name: str = ""
    """Unique among the variants."""
    prompt: PromptTable | None = None
    """In place of the job's `[prompt]`."""


Worthless = Literal[
    "constant_prompt",
    "single_braces",
    "options_not_shown",
    "passage_not_shown",
    "no_targets",
    "gate_out_of_range",
    "scorer_fails",
    "judge_not_visible",
]
"""What makes a whole run worth nothing, by name; see `workbench.planning.lint`."""


class RunTable(TomlTable, frozen=True):
    """`[run]`: how the requests are sent."""

    epochs: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    """How often every sample is asked."""
    reduce: Annotated[
        str,
        msgspec.Meta(
            pattern=r"^(mean|mode|at_least_[1-9][0-9]*|pass[@^][1-9][0-9]*)$",
            examples=["mean", "mode", "at_least_2", "pass@3", "pass^3"],
        ),
    ] = MEAN
    """How the scores of a sample's epochs become one: mean, mode (of a tie the lowest), at_least_K, pass@K or pass^K."""
    max_in_flight: InFlight = 8
    """Requests in flight, over all models; a run adapts within it."""
    reuse: Literal["always", "occasion"] = "always"
    """Which earlier answers count: any, or only those of the same occasion (`workbench run --occasion`)."""
    on_fallback: Literal["accept", "exclude", "fail"] = "exclude"
    """What to do with an answer of another model: "accept" counts it, "exclude" leaves it out, "fail" fails the run."""
    ghost_s: Annotated[float, msgspec.Meta(ge=0, le=86400)] | None = None
    """How long a call without an answer keeps its slot; by default twice as long as the longest of the route's last 1,000
    answers, and at least 30 s; where fewer than 50 are known, the gateway's worst case."""
    allow: list[Worthless] = []
    """Findings of `workbench lint` that would stop a run before its first request, and are meant here."""
    order: Literal["auto", "file"] = "auto"
    """Requests that took longest before go first ("auto"), so that a run does not wait for them at its end; "file" keeps the
    dataset's order, as "auto" does without earlier answers, or with a `[budget]`."""
    passes: Annotated[int, msgspec.Meta(ge=1, le=10)] = 2
    """How many attempts a request may have in a run; 1 never sends again."""
    gateway_limit_s: Seconds | None = None
    """How long the platform's gateway waits for a model, in s; by default 300."""
    deadline_s: Seconds | None = None
    """After this time a run sends nothing more, and waits for what is in flight."""
    request_deadline_s: Seconds | None = None
    """A request is not sent again later than this after it was first sent."""
    patience_s: Seconds | None = None
    """How long a run waits when nothing but paused routes is left; by default 90 s, 900 s for an occasion."""
    max_reply_bytes: Annotated[int, msgspec.Meta(ge=2**16)] | None = None
    """A longer reply is not kept; by default 1 MiB and 4 KiB for each of `max_tokens`, or 16 MiB without that cap."""
    max_failed_share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """A run whose calls fail more often than this sends nothing more."""


class BudgetTable(TomlTable, frozen=True):
    """`[budget]`: what a run may send and use; tokens are reserved before a request is sent and settled to its usage."""

    requests: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The most requests that a run sends."""
    total_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The most tokens that a run uses; needs `max_tokens`."""
    units: Annotated[float, msgspec.Meta(gt=0, le=1e15)] | None = None
    """The most units of the allowance that a run uses, by the weights in workbench.toml; needs `max_tokens`."""
    share_of_left: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """The same as a share of what is left of the allowance when the run begins; where that is not known, it does not begin."""

    @property
    def is_in_units(self) -> bool:
        """Whether it bounds units of the allowance, which are known once calls are weighed."""
        return self.units is not None or self.share_of_left is not None


AGREEMENT_GATES = MappingProxyType(
    {
        "min_kappa": ("label", "number"),
        "min_macro_f1": ("label",),
        "max_mean_error": ("number",),
        "max_bias": ("number",),
        "min_pearson": ("number",),
        "min_spearman": ("number",),
    }
)
"""Keys of `[gates]` on how far answers agree with the targets -> what a scorer has to read for it."""


def scorer_and_field(name: str, scorers: Collection[str]) -> tuple[str, str | None]:
    """Return the scorer that a gate on agreement names, and the field of its objects: `json.topic`.

    Args:
        scorers: The names of those that there are.
    """
    ends = [place for place, letter in enumerate(name) if letter == "." and name[:place] in scorers]
    return (name, None) if name in scorers or not ends else (name[: ends[-1]], name[ends[-1] + 1 :])


class GatesTable(TomlTable, frozen=True):
    """`[gates]`: what a complete run must reach; one that does not ends with exit code 100.

    Where a scorer reads the fields of an object, `"SCORER.FIELD"` names one in `min_kappa`, `min_macro_f1`, `max_mean_error`,
    `max_bias`, `min_pearson` and `min_spearman`.
    """

    min_mean: dict[str, Annotated[float, msgspec.Meta(ge=-MOST_SCORE, le=MOST_SCORE)]] = {}
    """Scorer -> the mean over all asked that each model must reach, by its 95 % interval; one in forty fails by chance."""
    min_over_constant: dict[str, Annotated[float, msgspec.Meta(ge=0, le=MOST_SCORE)]] = {}
    """Scorer -> how far each model must score above the best constant answer, by a paired test at 5 % for all models."""
    min_kappa: dict[str, Annotated[float, msgspec.Meta(ge=-1, le=1)]] = {}
    """Scorer -> Cohen's kappa with the targets that each model must reach, by its 95 % interval; of numbers the weighted one."""
    min_macro_f1: dict[str, Annotated[float, msgspec.Meta(ge=0, le=1)]] = {}
    """Scorer of labels -> the mean F1 of the classes that each model must reach, by its 95 % interval."""
    max_mean_error: dict[str, Annotated[float, msgspec.Meta(ge=0, le=MOST_SCORE)]] = {}
    """Scorer of numbers -> how far each model may be from the targets on average, by its 95 % interval."""
    max_bias: dict[str, Annotated[float, msgspec.Meta(ge=0, le=MOST_SCORE)]] = {}
    """Scorer of numbers -> how far the mean of each model may be above or below that of the targets, by its 95 % interval."""
    min_pearson: dict[str, Annotated[float, msgspec.Meta(ge=-1, le=1)]] = {}
    """Scorer of numbers -> the correlation with the targets that each model must reach, by its 95 % interval."""
    min_spearman: dict[str, Annotated[float, msgspec.Meta(ge=-1, le=1)]] = {}
    """The same of ranks."""
    max_drop: dict[str, Annotated[float, msgspec.Meta(ge=0, le=MOST_SCORE)]] = {}
    """Scorer -> how far a model may score below the baseline on the samples of both, by a paired test at 5 % for all models."""
    baseline: str = PREVIOUS
    """The run that `max_drop` compares with: an id, or "previous", the newest earlier run of the job that met its gates."""
    steady: list[str] = []
    """Scorers by which no model may become worse from one scheduled run to the next; a drop fails the run that shows it, and
    stays an open alarm until it is over or accepted. A route that takes half as long again is one too."""
    false_alarm_rate: Annotated[float, msgspec.Meta(gt=0, le=0.5)] = 0.01
    """How probably `steady` opens any alarm, over all models and scheduled runs together, though nothing changed."""
    max_failed_share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """The largest share of requests without an answer."""
    max_unusable_share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """The largest share of requests with an answer of no use: empty, cut off, refused or filtered."""
    max_fallback_share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """The largest share of answers that another model gave."""
    on_uncertain: Literal["pass", "fail"] = "pass"
    """What to do where the answers cannot tell: "pass" notes it, with "fail", inconclusive counts as failed."""


class CompareTable(TomlTable, frozen=True):
    """`[compare]`: which models are ranked, and how much worse than the baseline one may be."""

    min_answered: Annotated[float, msgspec.Meta(ge=0, le=1)] = MIN_ANSWERED
    """A model is ranked where at least this share of what it was asked is scored, or not right by its own doing."""
    margin: dict[str, Annotated[float, msgspec.Meta(gt=0, le=MOST_SCORE)]] = {}
    """How much worse than the baseline a model may be by each scorer: a comparison says of which this is shown."""


NotRight = Literal["not right", "unknown"]


class UnscoredTable(TomlTable, frozen=True):
    """`[unscored]`: whether an answer without a score is "not right", or "unknown": then a verdict must hold whatever it was."""

    empty: NotRight = "not right"
    """Neither text nor a tool call."""
    cut_off: NotRight = "not right"
    """Cut off by a limit on tokens, or all of them went into reasoning."""
    refused: NotRight = "not right"
    """A refusal, by the API's field or reason."""
    filtered: NotRight = "not right"
    """Text that a filter took."""
    tool_call: NotRight = "not right"
    """A tool call without text, where a scorer needs text."""
    context_too_long: NotRight = "not right"
    """The prompt is longer than the model can read."""

    @property
    def unknown(self) -> list[str]:
        """Those that are taken for unknown."""
        return [name for name in self.__struct_fields__ if getattr(self, name) == "unknown"]


class JudgeTable(TomlTable, frozen=True):
    """`[judge]`: when the judges among the scorers are asked."""

    when: Literal["run", "later"] = "run"
    """"run" asks them in the same command, once the answers are in; "later" leaves that to `workbench score RUN --yes`."""


class ScheduleTable(TomlTable, frozen=True):
    """`[schedule]`: when a job is asked again; `workbench schedule` makes a timer or crontab lines of it."""

    on_calendar: str | list[str] | None = None
    """Calendar events in systemd's syntax; of a list, whichever comes first."""
    cron: str | None = None
    """The five time fields of a crontab line."""
    catch_up: bool = True
    """Whether a missed occasion runs late, when the machine was off or busy with the previous one."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=100)] = 3
    """Retries of an incomplete occasion before giving up."""


class JobFile(TomlTable, frozen=True):
    """A job file as it is written."""

    dataset: DatasetTable
    """Where the samples come from."""
    models: Literal["visible"] | list[str | ModelTable]
    """Ids, `[[models]]` tables, or "visible" for every model that the account sees."""
    name: str | None = None
    """By default the file's name without its ending."""
    description: str = ""
    """For people."""
    tags: dict[str, str] = {}
    """Names and values under which its usage is summed up."""
    prompt: PromptTable = PromptTable()
    """What is asked."""
    request: RequestFields = RequestFields()
    """Body fields of every request."""
    variants: list[VariantTable] = []
    """Prompts and parameters beside each other: models times variants times epochs."""
    run: RunTable = RunTable()
    """How the requests are sent."""
    budget: BudgetTable = BudgetTable()
    """What a run may use."""
    scorers: list[AnyScorer] = []
    """How answers are scored."""
    compare: CompareTable = CompareTable()
    """Which models are ranked, and how much worse than the baseline one may be."""
    unscored: UnscoredTable = UnscoredTable()
    """What an answer without a score is to a comparison."""
    judge: JudgeTable = JudgeTable()
    """When judges among the scorers are asked."""
    gates: GatesTable | None = None
    """What a run must reach."""
    schedule: ScheduleTable | None = None
    """When it is asked again."""


Table = TypeVar("Table", bound=TomlTable)


def cluster_column(job_toml: str) -> str | None:
    """Return the column that a recorded job file names as that of the clusters; None where it names none, or cannot be read."""
    try:
        return str(tomllib.loads(job_toml)["dataset"]["cluster"])
    except (ValueError, LookupError, TypeError):
        return None


def recorded_table(job_toml: str, name: str, kind: type[Table]) -> Table:
    """Return a table of a recorded job file; of one that this version cannot read as it is by default."""
    try:
        return msgspec.convert(tomllib.loads(job_toml).get(name, {}), kind)
    except (ValueError, msgspec.ValidationError):
        return kind()
