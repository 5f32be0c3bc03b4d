"""`jobs/*.toml` as one frozen value: unknown keys are refused, and all faults are reported at once."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from workbench.display.commands import MADE_IN_PYTHON
from workbench.display.text import plural
from workbench.errors import Fault, InputError, files_there, nearest, read_error_text
from workbench.job.faults import contradictions
from workbench.job.file import (
    UNSET,
    BudgetTable,
    CompareTable,
    DatasetTable,
    GatesTable,
    JobFile,
    JudgeTable,
    ModelTable,
    PromptTable,
    RequestFields,
    RunTable,
    ScheduleTable,
    UnscoredTable,
)
from workbench.job.request_fields import tools_from
from workbench.scoring.scorer import Scorer
from workbench.strict import convert, faults, located, read_toml

GATEWAY_LIMIT_S = 300.0
_ONE_ANSWER = "each request asks for one answer; repeat it with run.epochs"


class ModelSpec(msgspec.Struct, frozen=True):
    """One model, or a glob over ids, that a job asks."""

    id: str
    is_glob: bool = False
    max_in_flight: int | None = None
    gateway_limit_s: float | None = None
    fields: dict[str, Any] = {}
    """Body fields that override the job's for this model."""


class Variant(msgspec.Struct, frozen=True):
    """A prompt with body fields, asked beside others."""

    name: str
    """Empty where the job has no variants."""
    prompt: PromptTable
    fields: dict[str, Any] = {}
    """Body fields that override the job's and the model's."""
    place: tuple[str | int, ...] = ("prompt",)
    """Where the prompt is written, for messages."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a job that a run asks, and what it asks once more; the default is all of it, and nothing."""

    limit: int | None = None
    """The first so many of the samples that the job takes."""
    models: tuple[str, ...] = ()
    """Only these of its models; empty asks all."""
    max_in_flight: int | None = None
    """At most so many requests in flight, below the job's own limit."""
    pilot: int | None = None
    """So many samples drawn at random, before the others are sent."""
    again: str | None = None
    """Answers of this kind are asked once more; see `planning.again`."""
    max_tokens: int | None = None
    """The higher cap for those that were cut off."""

    @property
    def again_words(self) -> list[str]:
        """What it asks once more, as options of a command line."""
        found = ["--again", self.again] if self.again else []
        return found + (["--max-tokens", str(self.max_tokens)] if self.max_tokens else [])

    def __str__(self) -> str:
        """Return it in words; empty where it is the whole job."""
        parts = [
            f"a pilot of {plural(self.pilot, 'sample')}" if self.pilot else "",
            "the first sample" if self.limit == 1 else f"the first {self.limit} samples" if self.limit else "",
            f"only {', '.join(self.models)}" if self.models else "",
            f"at most {self.max_in_flight} in flight" if self.max_in_flight else "",
        ]
        return ", ".join(filter(None, parts))


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
    compare: CompareTable = CompareTable()
    unscored: UnscoredTable = UnscoredTable()
    judge: JudgeTable = JudgeTable()
    gates: GatesTable | None = None
    variants: tuple[Variant, ...] = ()
    """At least one: without `[[variants]]` the prompt of the job itself."""
    rows: tuple[dict[str, Any], ...] | None = None
    """The samples of a job made in Python, in place of files."""
    part: Part = Part()
    """How much of it is asked; see `workbench.job.narrowing`."""
    filled_columns: frozenset[str] | None = None
    """The columns of a sheet that `fill` wrote, which are no part of its samples; None where it is not filled."""

    @property
    def narrowed(self) -> str:
        """How it was narrowed for this run, in words."""
        return str(self.part)

    @property
    def ids(self) -> tuple[str, ...]:
        """The models that it names one by one."""
        return tuple(spec.id for spec in self.models or () if not spec.is_glob)

    def where(self, *place: str | int) -> str:
        """Return a key of the file as messages name it, with its line."""
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
        raise InputError(Fault(str(path), f"the job cannot be read: {read_error_text(error)}", near)) from error
    return parse_job(text, path)


def parse_job(text: str, path: Path) -> Job:
    """Check the text of a job file; relative paths in it are relative to the file."""
    return checked_job(read_toml(text, str(path)), text, path)


def checked_job(data: dict[str, Any], text: str, path: Path) -> Job:
    """Return the job that a job file's tables and keys make.

    Args:
        data: Them, as TOML has them.
        text: The same as the text of a job file.
        path: The file; relative paths are relative to it.

    Raises:
        InputError: With every fault found.
    """
    source = str(path)
    written, more = convert(data, JobFile)
    problems = [
        problem._replace(hint=_ONE_ANSWER) if problem.path[-1:] == ("n",) and "unknown" in problem.text else problem
        for problem in more
    ]
    if written is not None:
        problems += contradictions(written, path.parent)
    if written is None or problems:
        lines = "" if source.endswith(MADE_IN_PYTHON) else text  # there is no file to look them up in
        raise InputError(*faults(problems, lines, source))
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
        compare=written.compare,
        unscored=written.unscored,
        judge=written.judge,
        gates=written.gates,
        variants=_variants(written, path.parent),
    )


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


def _variants(job: JobFile, folder: Path) -> tuple[Variant, ...]:
    if not job.variants:
        return (Variant("", job.prompt),)
    return tuple(
        Variant(
            each.name, each.prompt or job.prompt, _fields(each, folder),
            ("prompt",) if each.prompt is None else ("variants", number, "prompt"),
        )
        for number, each in enumerate(job.variants)
    )  # fmt: skip


def _near_jobs(path: Path) -> str:
    for meant in (path.with_name(f"{path.name}.toml"), path.parent / "jobs" / path.name):
        if meant.is_file():
            return f"did you mean '{meant}'?"
    there = [entry.name for entry in path.parent.glob("*.toml")]
    return nearest(path.name, there) or files_there(path.parent, ".toml")
