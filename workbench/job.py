"""`jobs/*.toml` as one frozen value: unknown keys are refused, and all faults are reported at once."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from workbench.endings import MADE_IN_PYTHON
from workbench.errors import Fault, InputError, nearest, why_unreadable
from workbench.job_file import (
    UNSET,
    BudgetTable,
    DatasetTable,
    GatesTable,
    JobFile,
    ModelTable,
    PromptTable,
    RequestFields,
    RunTable,
    ScheduleTable,
)
from workbench.request_fields import request_problems, tools_from
from workbench.scoring.scorer import Scorer
from workbench.strict import Problem, convert, faults, located, read_toml, shown

GATEWAY_LIMIT_S = 300.0
_MOST_NAME_CHARS = 100
_ONE_ANSWER = "each request asks for one answer; repeat it with run.epochs"


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
    """Absolute."""
    source: str
    """The same as it was given, for messages."""
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
    scorers: tuple[Scorer, ...]
    schedule: ScheduleTable | None
    gates: GatesTable | None = None
    rows: tuple[dict[str, Any], ...] | None = None
    """The samples of a job made in Python, in place of files."""
    narrowed: str = ""
    """How it was narrowed for this run, in words; see `workbench.narrowing`."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The models that it names one by one."""
        return tuple(spec.id for spec in self.models or () if not spec.is_glob)

    def where(self, *place: str | int) -> str:
        """A key of the file as messages name it, with its line."""
        if self.rows is not None or self.path.endswith(MADE_IN_PYTHON):  # what it was written from is not a file
            return located(place, "", "").removeprefix(": ")
        return located(place, self.text, self.source)

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
            raise InputError(Fault(self.where("schedule"), "the job has no [schedule] table", example))
        return self.schedule


def load_job(path: Path) -> Job:
    """Read and check a job file.

    Raises:
        InputError: With every fault found.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        near = _near_jobs(path) if isinstance(error, FileNotFoundError) else ""  # what is there was meant
        raise InputError(Fault(str(path), f"the job cannot be read: {why_unreadable(error)}", near)) from error
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
    problems += [
        problem._replace(hint=_ONE_ANSWER) if problem.path[-1:] == ("n",) and "unknown" in problem.text else problem
        for problem in more
    ]
    if written is not None:
        problems += _contradictions(written, path.parent)
    if written is None or problems:
        raise InputError(*faults(problems, text, source))
    paths = [written.dataset.path] if isinstance(written.dataset.path, str) else written.dataset.path
    return Job(
        name=written.name or path.stem,
        path=str(path.absolute()),
        source=source,
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
        scorers=tuple(scorer.in_folder(path.parent) for scorer in written.scorers),
        schedule=written.schedule,
        gates=written.gates,
    )


def _not_built_yet(data: dict[str, Any]) -> list[Problem]:
    """Name, and take out, what a later version will understand."""
    found: list[Problem] = []
    budget = data.get("budget")
    if isinstance(budget, dict):
        for name in ("allowance_units", "window_share"):
            if budget.pop(name, None) is not None:
                found.append(
                    Problem(("budget", name), "not supported yet: this version rejects the key rather than ignoring it")
                )
    return found


def _contradictions(job: JobFile, folder: Path) -> list[Problem]:
    """What each key allows by itself and the keys together do not."""
    found: list[Problem] = []
    found += _name_faults(job.name)
    found += _prompt_faults(job)
    if not job.dataset.path:
        found.append(Problem(("dataset", "path"), "must name at least one file"))
    try:
        limit_range(job.dataset.limit)
    except ValueError as error:
        found.append(Problem(("dataset", "limit"), str(error)))
    found += request_problems(job.request, ("request",), folder)
    found += _model_faults(job.models, folder)
    found += _scorer_faults(job.scorers, folder)
    found += _gate_faults(job)
    if job.schedule is not None:
        from workbench.occasions import problems  # with two parsers that few commands need

        found += [Problem(("schedule", key), text) for key, text in problems(job.schedule)]
        if job.run.reuse != "occasion":
            text = 'needs run.reuse = "occasion": otherwise each occasion would reuse the answers of the previous one'
            found.append(Problem(("schedule",), text))
    if job.budget.total_tokens is not None and not _all_capped(job):
        text = "needs request.max_tokens, or one for each model: without a cap nothing can be reserved"
        found.append(Problem(("budget", "total_tokens"), text))
    return found


def _name_faults(name: str | None) -> list[Problem]:
    if name is None or (name.strip() and name.isprintable() and len(name) <= _MOST_NAME_CHARS):
        return []
    return [Problem(("name",), f"expected 1 to {_MOST_NAME_CHARS} printable characters, found {shown(name)}")]


def _prompt_faults(job: JobFile) -> list[Problem]:
    found: list[Problem] = []
    prompt = job.prompt
    if prompt.messages and prompt.template != PromptTable().template:
        found.append(Problem(("prompt", "template"), "give either template or messages, not both"))
    if prompt.messages and prompt.system is not None:
        found.append(Problem(("prompt", "system"), "with prompt.messages, make the system prompt one of them"))
    if not prompt.template.strip():
        found.append(Problem(("prompt", "template"), "is empty", 'the default is "{{ input }}"'))
    return found


def _all_capped(job: JobFile) -> bool:
    if isinstance(job.request.max_tokens, int) or isinstance(job.request.max_completion_tokens, int):
        return True
    return isinstance(job.models, list) and all(
        isinstance(model, ModelTable)
        and (isinstance(model.max_tokens, int) or isinstance(model.max_completion_tokens, int))
        for model in job.models
    )


def _scorer_faults(scorers: Sequence[Scorer], folder: Path) -> list[Problem]:
    found: list[Problem] = []
    labels = [scorer.named for scorer in scorers]
    for number, (scorer, label) in enumerate(zip(scorers, labels, strict=True)):
        if label in labels[:number]:
            found.append(Problem(("scorers", number), f"a second scorer {label!r}: give it its own label"))
        try:
            scorer = scorer.in_folder(folder)
        except ValueError as error:
            found.append(Problem(("scorers", number), str(error)))
        else:
            found += [Problem(("scorers", number, option), problem) for option, problem in scorer.faults()]
    return found


def _gate_faults(job: JobFile) -> list[Problem]:
    """Gates on scorers that the job does not have, or on occasions that it never runs for."""
    gates = job.gates
    if gates is None:
        return []
    known = [scorer.named for scorer in job.scorers]
    named: list[tuple[tuple[str, ...], str]] = [
        (("gates", table, name), name) for table in ("min_mean", "max_drop") for name in getattr(gates, table)
    ]
    named += [(("gates", "steady"), name) for name in gates.steady]
    found = [
        Problem(
            place, f"the job has no scorer {name!r}", nearest(name, known) or f"it has: {', '.join(known) or 'none'}"
        )
        for place, name in named
        if name not in known
    ]
    if gates.steady and job.run.reuse != "occasion":
        text = 'needs run.reuse = "occasion": only occasions are a series'
        found.append(Problem(("gates", "steady"), text))
    return found


def _model_faults(models: Any, folder: Path) -> list[Problem]:
    if models == "visible":
        return []
    found: list[Problem] = [] if models else [Problem(("models",), "must name at least one model")]
    seen: set[str] = set()
    for number, entry in enumerate(models):
        name = entry if isinstance(entry, str) else entry.id or entry.id_glob
        if not isinstance(entry, str):
            if (entry.id is None) == (entry.id_glob is None):
                found.append(Problem(("models", number), "give either id or id_glob"))
            found += request_problems(entry, ("models", number), folder)
        if name in seen:
            found.append(Problem(("models", number), f"{name!r} is given twice"))
        seen.add(name or "")
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
        given["tools"] = tools_from(folder / fields.tools_path)
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


def _near_jobs(path: Path) -> str:
    folder = path.parent
    if path.with_name(f"{path.name}.toml").is_file():
        return f"did you mean '{path.name}.toml'?"
    return nearest(path.name, [entry.name for entry in folder.glob("*.toml")]) if folder.is_dir() else ""
