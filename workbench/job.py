"""`jobs/*.toml` as one frozen value: unknown keys are refused, and all faults are reported at once."""

import hashlib
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from workbench import strict
from workbench.errors import Fault, InputError, nearest
from workbench.strict import Problem

MAX_IN_FLIGHT = 63
GATEWAY_LIMIT_S = 300.0
_SWALLOWED = frozenset(
    "user metadata params files variables features chat_id id parent_id folder_id filter_ids background_tasks "
    "session_id model_item extra_body".split()
)
_OURS = frozenset({"model", "messages", "stream", "stream_options", "n"})

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
    reuse: Literal["always"] = "always"
    on_fallback: Literal["accept", "exclude", "fail"] | None = None
    gateway_limit_s: Seconds | None = None


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


class Numeric(Table, frozen=True, tag_field="name", tag="numeric"):
    """The last number of the answer is near enough to the target's."""

    label: str | None = None
    tolerance: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    relative_tolerance: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class Choice(Table, frozen=True, tag_field="name", tag="choice"):
    """The letter chosen is the target's."""

    label: str | None = None


ScorerTable = Exact | Includes | Pattern | Numeric | Choice


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
    scorers: list[ScorerTable] = []


class ModelSpec(msgspec.Struct, frozen=True):
    """One model, or a glob over ids, that a job asks."""

    id: str
    is_glob: bool = False
    max_in_flight: int | None = None
    gateway_limit_s: float | None = None
    fields: dict[str, Any] = {}
    """Body fields that override the job's for this model."""


class Job(msgspec.Struct, frozen=True):
    """A job, checked, with its paths resolved."""

    name: str
    path: str
    text: str
    """The file verbatim."""
    tags: dict[str, str]
    description: str
    dataset: DatasetTable
    dataset_paths: tuple[str, ...]
    """Absolute, globs not yet expanded."""
    prompt: PromptTable
    request_fields: dict[str, Any]
    models: tuple[ModelSpec, ...] | None
    """None asks every visible model."""
    run: RunTable
    scorers: tuple[ScorerTable, ...]

    @property
    def hash(self) -> str:
        """SHA-256 of the file, as 64 hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def scorer_label(scorer: ScorerTable) -> str:
    """The name under which a scorer's scores are kept: its label, or else its kind."""
    kind: str = type(scorer).__struct_config__.tag  # type: ignore[assignment]  # given as text above
    return scorer.label or kind


def load_job(path: Path) -> Job:
    """Read and check a job file.

    Raises:
        InputError: With every fault found.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Fault(str(path), f"the job cannot be read: {reason}", _near_jobs(path))) from error
    return parse_job(text, path)


def parse_job(text: str, path: Path) -> Job:
    """Check the text of a job file; relative paths in it are relative to the file.

    Raises:
        InputError: With every fault found.
    """
    source = str(path)
    data = strict.read_toml(text, source)
    problems = _not_built_yet(data)
    written, more = strict.convert(data, JobFile)
    problems += more
    if written is not None:
        problems += _contradictions(written, path.parent)
    if written is None or problems:
        raise InputError(*strict.faults(problems, text, source))
    paths = [written.dataset.path] if isinstance(written.dataset.path, str) else written.dataset.path
    return Job(
        name=written.name or path.stem,
        path=str(path.absolute()),
        text=text,
        tags=written.tags,
        description=written.description,
        dataset=written.dataset,
        dataset_paths=tuple(str(path.parent.absolute() / entry) for entry in paths),
        prompt=written.prompt,
        request_fields=_fields(written.request, path.parent),
        models=None if written.models == "visible" else tuple(_spec(entry, path.parent) for entry in written.models),
        run=written.run,
        scorers=tuple(written.scorers),
    )


def job_schema() -> dict[str, Any]:
    """The JSON Schema of a job file, for completion in editors."""
    return msgspec.json.schema(JobFile)


def _not_built_yet(data: dict[str, Any]) -> list[Problem]:
    """Name, and take out, what a later version will understand."""
    found: list[Problem] = []
    for name in ("budget", "gates", "schedule"):
        if data.pop(name, None) is not None:
            found.append(Problem((name,), "not built yet: this version refuses the table rather than ignore it"))
    run = data.get("run")
    if isinstance(run, dict):
        for name in ("passes", "ghost_s", "deadline_s"):
            if run.pop(name, None) is not None:
                found.append(
                    Problem(("run", name), "not built yet: this version refuses the key rather than ignore it")
                )
        if run.get("reuse") == "occasion":
            del run["reuse"]
            found.append(Problem(("run", "reuse"), '"occasion" is not built yet: this version knows "always" only'))
    return found


def _contradictions(job: JobFile, folder: Path) -> list[Problem]:
    """What each key allows by itself and the keys together do not."""
    found: list[Problem] = []
    if not job.dataset.path:
        found.append(Problem(("dataset", "path"), "names no file"))
    try:
        limit_range(job.dataset.limit)
    except ValueError as error:
        found.append(Problem(("dataset", "limit"), str(error)))
    if job.prompt.messages and job.prompt.template != PromptTable().template:
        found.append(Problem(("prompt", "template"), "give either template or messages, not both"))
    if job.prompt.messages and job.prompt.system is not None:
        found.append(Problem(("prompt", "system"), "with prompt.messages, make the system prompt one of them"))
    found += _request_faults(job.request, ("request",), folder)
    found += _model_faults(job.models, folder)
    labels = [scorer_label(scorer) for scorer in job.scorers]
    for number, (scorer, label) in enumerate(zip(job.scorers, labels, strict=True)):
        if label in labels[:number]:
            found.append(Problem(("scorers", number), f"a second scorer {label!r}: give it a label of its own"))
        if isinstance(scorer, Pattern):
            try:
                re.compile(scorer.pattern)
            except re.error as error:
                found.append(Problem(("scorers", number, "pattern"), f"no regular expression: {error}"))
    return found


def _model_faults(models: Any, folder: Path) -> list[Problem]:
    if models == "visible":
        return []
    found: list[Problem] = [] if models else [Problem(("models",), "names no model")]
    seen: set[str] = set()
    for number, entry in enumerate(models):
        name = entry if isinstance(entry, str) else entry.id or entry.id_glob
        if not isinstance(entry, str):
            if (entry.id is None) == (entry.id_glob is None):
                found.append(Problem(("models", number), "give either id or id_glob"))
            found += _request_faults(entry, ("models", number), folder)
        if name in seen:
            found.append(Problem(("models", number), f"{name!r} is given twice"))
        seen.add(name or "")
    return found


def _request_faults(fields: RequestFields, place: strict.PathTo, folder: Path) -> list[Problem]:
    found: list[Problem] = []
    if fields.tools is not UNSET and fields.tools_path is not UNSET:
        found.append(Problem((*place, "tools_path"), "give either tools or tools_path, not both"))
    if isinstance(fields.tools_path, str):
        try:
            _tools_from(folder / fields.tools_path)
        except ValueError as error:
            found.append(Problem((*place, "tools_path"), str(error)))
    if isinstance(fields.tool_choice, str) and fields.tool_choice not in ("auto", "none", "required"):
        found.append(
            Problem(
                (*place, "tool_choice"),
                f"expected auto, none, required or a table, found {fields.tool_choice!r}",
            )
        )
    for name in fields.extra if isinstance(fields.extra, dict) else ():
        if name in _OURS:
            found.append(Problem((*place, "extra", name), "the workbench sets this field itself"))
        elif name in _SWALLOWED:
            found.append(
                Problem(
                    (*place, "extra", name),
                    "the platform takes this name for itself; the model would never see it",
                )
            )
        elif name in RequestFields.__struct_fields__:
            found.append(Problem((*place, "extra", name), f"write it as {place[0]}.{name}"))
    return found


def limit_range(limit: int | str | None) -> tuple[int, int | None]:
    """The rows a limit takes, as (first, last) counted from 1 and inclusive; last None means to the end.

    Raises:
        ValueError: It is neither a positive number nor a range such as `10-20`.
    """
    if limit is None:
        return 1, None
    if isinstance(limit, int) and limit >= 1:
        return 1, limit
    match = re.fullmatch(r"(\d+)-(\d+)", limit.replace(" ", "")) if isinstance(limit, str) else None
    if match and 1 <= int(match[1]) <= int(match[2]):
        return int(match[1]), int(match[2])
    raise ValueError(f'expected a number of rows from 1, or a range such as "10-20", found {limit!r}')


def _fields(fields: RequestFields, folder: Path) -> dict[str, Any]:
    given = {
        name: value
        for name in RequestFields.__struct_fields__
        if name not in ("extra", "tools_path") and (value := getattr(fields, name)) is not UNSET
    }
    if isinstance(fields.tools_path, str):
        given["tools"] = _tools_from(folder / fields.tools_path)
    return given | (fields.extra if isinstance(fields.extra, dict) else {})


def _spec(entry: str | ModelTable, folder: Path) -> ModelSpec:
    if isinstance(entry, str):
        return ModelSpec(entry)
    return ModelSpec(
        entry.id or entry.id_glob or "",
        entry.id is None,
        entry.max_in_flight,
        entry.gateway_limit_s,
        _fields(entry, folder),
    )


def _tools_from(path: Path) -> list[dict[str, Any]]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]])
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no JSON list of tools: {error}") from error


def _near_jobs(path: Path) -> str:
    folder = path.parent
    return nearest(path.name, [entry.name for entry in folder.glob("*.toml")]) if folder.is_dir() else ""
