"""`jobs/*.toml` as one frozen value: unknown keys are refused, and all faults are reported at once."""

import hashlib
import math
import re
from pathlib import Path
from typing import Any

import msgspec

from workbench.errors import Fault, InputError, nearest
from workbench.job_file import (
    UNSET,
    BudgetTable,
    DatasetTable,
    JobFile,
    ModelTable,
    Numeric,
    Pattern,
    PromptTable,
    RequestFields,
    RunTable,
    ScheduleTable,
    ScorerTable,
    scorer_label,
)
from workbench.strict import PathTo, Problem, convert, faults, read_toml

GATEWAY_LIMIT_S = 300.0
_SWALLOWED = frozenset(
    "user metadata params files variables features chat_id id parent_id folder_id filter_ids background_tasks "
    "session_id model_item extra_body".split()
)
_OURS = frozenset({"model", "messages", "stream", "stream_options", "n"})


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
    budget: BudgetTable
    scorers: tuple[ScorerTable, ...]
    schedule: ScheduleTable | None
    rows: tuple[dict[str, Any], ...] | None = None
    """The samples of a job made in Python, in place of files."""
    narrowed: str = ""
    """How it was narrowed for this run, in words; see `workbench.narrowing`."""

    @property
    def hash(self) -> str:
        """SHA-256 of the file, as 64 hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def timetable(self) -> ScheduleTable:
        """The schedule of a job that must have one.

        Raises:
            InputError: It has none.
        """
        if self.schedule is None:
            example = '[schedule] with on_calendar = "Mon..Fri 02:00", or cron = "0 2 * * 1-5"'
            raise InputError(Fault(f"{self.path}: schedule", "the job has no such table", example))
        return self.schedule


def load_job(path: Path) -> Job:
    """Read and check a job file.

    Raises:
        InputError: With every fault found.
    """
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"it is not valid UTF-8: byte {error.object[error.start]:#04x} at position {error.start}"
        raise InputError(Fault(str(path), f"the job cannot be read: {reason}")) from error
    except OSError as error:
        reason = "it is a folder" if isinstance(error, IsADirectoryError) else error.strerror or str(error)
        near = _near_jobs(path) if isinstance(error, FileNotFoundError) else ""  # what is there was meant
        raise InputError(Fault(str(path), f"the job cannot be read: {reason}", near)) from error
    return parse_job(text, path)


def parse_job(text: str, path: Path) -> Job:
    """Check the text of a job file; relative paths in it are relative to the file.

    Raises:
        InputError: With every fault found.
    """
    source = str(path)
    data = read_toml(text, source)
    problems = _not_built_yet(data)
    written, more = convert(data, JobFile)
    problems += more
    if written is not None:
        problems += _contradictions(written, path.parent)
    if written is None or problems:
        raise InputError(*faults(problems, text, source))
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
        budget=written.budget,
        scorers=tuple(written.scorers),
        schedule=written.schedule,
    )


def job_schema() -> dict[str, Any]:
    """The JSON Schema of a job file, for completion in editors."""
    return msgspec.json.schema(JobFile)


def _not_built_yet(data: dict[str, Any]) -> list[Problem]:
    """Name, and take out, what a later version will understand."""
    found: list[Problem] = []
    if data.pop("gates", None) is not None:
        found.append(Problem(("gates",), "not built yet: this version refuses the table rather than ignore it"))
    budget = data.get("budget")
    if isinstance(budget, dict):
        for name in ("allowance_units", "window_share"):
            if budget.pop(name, None) is not None:
                found.append(
                    Problem(("budget", name), "not built yet: this version refuses the key rather than ignore it")
                )
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
    found += _scorer_faults(job.scorers)
    if job.schedule is not None:
        from workbench.occasions import problems  # with two parsers that few commands need

        found += [Problem(("schedule", key), text) for key, text in problems(job.schedule)]
        if job.run.reuse != "occasion":
            text = 'needs run.reuse = "occasion": otherwise each occasion would take the answers of the one before'
            found.append(Problem(("schedule",), text))
    if job.budget.total_tokens is not None and not _all_capped(job):
        text = "needs request.max_tokens, or one for each model: without a cap nothing can be reserved"
        found.append(Problem(("budget", "total_tokens"), text))
    return found


def _all_capped(job: JobFile) -> bool:
    if isinstance(job.request.max_tokens, int) or isinstance(job.request.max_completion_tokens, int):
        return True
    return isinstance(job.models, list) and all(
        isinstance(model, ModelTable)
        and (isinstance(model.max_tokens, int) or isinstance(model.max_completion_tokens, int))
        for model in job.models
    )


def _scorer_faults(scorers: list[ScorerTable]) -> list[Problem]:
    found: list[Problem] = []
    labels = [scorer_label(scorer) for scorer in scorers]
    for number, (scorer, label) in enumerate(zip(scorers, labels, strict=True)):
        if label in labels[:number]:
            found.append(Problem(("scorers", number), f"a second scorer {label!r}: give it a label of its own"))
        if isinstance(scorer, Numeric):
            for name in ("tolerance", "relative_tolerance"):
                if not math.isfinite(getattr(scorer, name)):
                    found.append(Problem(("scorers", number, name), "expected a finite number"))
        if isinstance(scorer, Pattern):
            try:
                scorer.groups()
            except ValueError as error:
                found.append(Problem(("scorers", number, "pattern"), f"not a valid regular expression: {error}"))
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


def _request_faults(fields: RequestFields, place: PathTo, folder: Path) -> list[Problem]:
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
    for name in RequestFields.__struct_fields__:
        if _has_no_json(getattr(fields, name)):
            found.append(Problem((*place, name), "holds inf or nan, which JSON cannot carry"))
    return found + _extra_faults(fields, place)


def _extra_faults(fields: RequestFields, place: PathTo) -> list[Problem]:
    found: list[Problem] = []
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


def _has_no_json(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case list():
            return any(map(_has_no_json, value))
        case dict():
            return any(map(_has_no_json, value.values()))
        case _:
            return False


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
        raise ValueError(f"{path} is not a JSON list of tools: {error}") from error


def _near_jobs(path: Path) -> str:
    folder = path.parent
    return nearest(path.name, [entry.name for entry in folder.glob("*.toml")]) if folder.is_dir() else ""
