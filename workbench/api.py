"""Workbench from Python: the same functions that the command line calls, for scripts and notebooks.

    import workbench as wb

    job = wb.load_job("jobs/quickstart.toml")
    run = wb.run(job, local=True, limit=20)
    run.status, run.scores()

Every function takes the endpoint, the key and the ledger from the same places as the command line, and raises
`WorkbenchError` with the message that the command line prints. Where an event loop runs already, as in a notebook, the plain
functions work on a thread of their own; the ones that end in `_async` run on the loop that awaits them.
"""

import sys
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

import workbench.argument_values as values
from workbench.arguments import How, Place, What, in_part, require_known, where_of
from workbench.dataset.python_rows import checked_rows
from workbench.endings import MADE_IN_PYTHON, FailedRoute, GateResult, RunEnd, RunStatus, RunSummary
from workbench.errors import Fault, InputError
from workbench.frames import Frames
from workbench.job import Job, parse_job
from workbench.job import load_job as _load_job
from workbench.loops import on_a_loop
from workbench.occasions import named_occasion
from workbench.pipeline import plan_job, run_job
from workbench.planning.run_plan import RunPlan
from workbench.running.options import RunOptions
from workbench.running.signals import Interrupts, handlers, restore
from workbench.session import ledger_to_write, pages_folder

if TYPE_CHECKING:
    import pandas

Rows = Sequence[Mapping[str, Any]]
_ROWS = "rows given in Python"
_MODELS = 'a list of ids and [[models]] tables, or "visible"'
_SCORERS = "a list of names and [[scorers]] tables"
_SAMPLES = "a file, a [dataset] table, or samples as dictionaries"


class Run:
    """A run that ended, and its records.

    Args:
        end: Its result.
        folder: The working folder, whose settings say how its ledger is read.
    """

    def __init__(self, end: RunEnd, folder: Path) -> None:
        self._folder = folder
        self.summary: RunSummary = end.summary
        self.notes: tuple[str, ...] = end.notes
        """Messages for people: a deferred ingest, scores or a page that could not be created."""
        self.exit_code: int = end.exit_code
        """The exit code that the command would have."""
        self.gates: tuple[GateResult, ...] = end.gates
        """What the gates of its job say, where it is complete."""
        self.failed_routes: tuple[FailedRoute, ...] = end.failed_routes
        """The models that were given up or paused, and why."""

    @property
    def id(self) -> str:
        """Its name in the ledger."""
        return self.summary.run_id

    @property
    def status(self) -> RunStatus:
        """How it ended; running the job again sends only what is missing."""
        return self.summary.status or RunStatus.INCOMPLETE

    @property
    def report(self) -> Path | None:
        """Its page, where one was written."""
        return None if self.summary.report is None else Path(self.summary.report)

    def scores(self) -> "pandas.DataFrame":
        """One row per request and scorer; `value` is missing where an answer is unscored.

        Means are over the rows whose `counts` is true: without answers of fallbacks, unless the job accepts them.
        """
        return self._frames().scores(self.id)

    def answers(self) -> "pandas.DataFrame":
        """One row per request, with `input`, `target` and the `answer` that the run uses, whoever paid for it."""
        return self._frames().answers(self.id)

    def calls(self) -> "pandas.DataFrame":
        """One row per call that ended: `requested_model`, `served_model`, `outcome`, `latency_ms`, tokens."""
        return self._frames().calls(self.id)

    def _frames(self) -> Frames:
        return Frames(self.summary.ledger, folder=self._folder)

    def __repr__(self) -> str:
        said = self.summary
        simulated = ", simulated" if said.simulated else ""
        return (
            f"<Run {self.id} of {said.job!r}: {self.status}{simulated}; {said.planned} planned = {said.reused} reused + "
            f"{said.completed} completed + {said.failed} failed + {said.pending} pending>"
        )


def load_job(path: str | Path) -> Job:
    """Read and check a job file.

    Raises:
        InputError: With every fault found.
    """
    return _load_job(Path(values.path("path", path)))


def make_job(
    name: str,
    models: str | Sequence[str | Mapping[str, Any]],
    dataset: "str | Path | Mapping[str, Any] | Rows | pandas.DataFrame",
    *,
    prompt: str | Mapping[str, Any] | None = None,
    scorers: Sequence[str | Mapping[str, Any]] = (),
    folder: str | Path | None = None,
    **tables: Any,
) -> Job:
    """Make a job from Python, with the keys of a job file.

    Args:
        name: Of the job.
        models: Ids, or `"visible"` for every one.
        dataset: A file, the `[dataset]` table, or the samples themselves: dictionaries or a pandas table.
        prompt: The template, or the `[prompt]` table.
        scorers: Names, or `[[scorers]]` tables.
        folder: What relative paths are relative to; by default the working folder.
        tables: The other tables and keys of a job file: `request`, `run`, `budget`, `tags`, `description`; `fields`,
            which maps the parts of a sample to columns; and `layout`, which says what the rows are.

    Raises:
        InputError: With every fault found.
    """
    import tomli_w  # a job is recorded as the text of a job file

    rows = _rows(dataset)
    named = [_table("scorers", scorer, "name") for scorer in values.entries("scorers", scorers or (), _SCORERS)]
    table: dict[str, Any] = {"path": _ROWS} if rows is not None else _table("dataset", dataset, "path")
    table |= {name: tables.pop(name) for name in ("fields", "layout") if name in tables}
    written = {
        "name": name,
        "models": models if isinstance(models, str) else values.entries("models", models, _MODELS),
        "dataset": table,
        **({} if prompt is None else {"prompt": _table("prompt", prompt, "template")}),
        **({"scorers": named} if named else {}),
        **tables,
    }
    where = Path.cwd() if folder is None else Path(values.path("folder", folder))
    try:
        text = tomli_w.dumps(written)
    except (TypeError, ValueError) as error:
        raise InputError(Fault(f"the job {name!r}", f"a value cannot be written to a job file: {error}")) from error
    job = parse_job(text, where / f"{name} {MADE_IN_PYTHON}")
    return job if rows is None else msgspec.structs.replace(job, rows=rows, dataset_paths=())


def plan(job: Job, **what: Unpack[What]) -> RunPlan:
    """Show what a run would send and what it would reuse; nothing is sent.

    Args:
        job: What to plan.
        what: As for `run`.

    Raises:
        WorkbenchError: The job has a fault, or the platform cannot be asked for its models.
    """
    return on_a_loop(partial(plan_async, job, **what))


async def plan_async(job: Job, **what: Unpack[What]) -> RunPlan:
    """The same on the running event loop."""
    require_known(what, What.__optional_keys__)
    _require_job(job)
    return await plan_job(where_of(what), in_part(job, what), RunOptions(fresh=what.get("fresh", False)))


def run(job: Job, **how: Unpack[How]) -> Run:
    """Run a job: send requests without an answer, record, score, report.

    Ctrl-C, or an interrupted cell, sends nothing more and waits for what is in flight; a second one cancels that. The run
    then ends as `interrupted`, and the same call resumes it.

    Raises:
        WorkbenchError: Before anything is sent, if the job has an error; a failed run is returned.
    """
    interrupts = Interrupts()
    return on_a_loop(partial(_run, job, how, interrupts), interrupts)


async def run_async(job: Job, **how: Unpack[How]) -> Run:
    """The same on the running event loop; Ctrl-C reaches all runs that overlap there."""
    return await _run(job, how, None)


def ask(model: str, text: str, *, system: str | None = None, request: Mapping[str, Any] | None = None,
        **place: Unpack[Place]) -> str | None:  # fmt: skip
    """Send one prompt, never reusing an answer, record it as a run of the job `ask`, and return the answer's text.

    Args:
        model: Its id.
        text: The prompt.
        system: The system prompt.
        request: Body fields, such as `max_tokens`.
        place: Which platform and which ledger.

    Returns:
        None where the answer has no text, or the call failed: `workbench runs` says how.

    Raises:
        WorkbenchError: The model is not visible, the platform cannot be reached, or another question is being asked on
            the same ledger.
    """
    require_known(place, Place.__optional_keys__)
    asked = run(question(model, text, system, request), fresh=True, report=False, progress=False, **place)
    answer = asked.answers()["answer"].iloc[0] if asked.summary.completed else None
    return answer if isinstance(answer, str) else None


def question(model: str, text: str, system: str | None = None, request: Mapping[str, Any] | None = None) -> Job:
    """The job that asks a model once; the texts are sent as they are, whatever braces they have.

    Raises:
        InputError: A body field is wrong, or an argument is of another type.
    """
    values.text("model", model, "the id of a model")
    values.text("text", text)
    values.optional_text("system", system)
    fields = {} if request is None else values.table("request", request, "a dictionary of body fields")
    prompt = {"template": "{{ input }}"} | ({"system": "{{ system }}"} if system else {})
    row = {"input": text} | ({"system": system} if system else {})
    return make_job("ask", [model], [row], prompt=prompt, request=dict(fields))


def open(ledger: str | Path | None = None, *, folder: str | Path | None = None) -> Frames:
    """The tables of a ledger, for pandas; see `Frames`."""
    return Frames(ledger, folder=folder)


async def _run(job: Job, how: How, interrupts: Interrupts | None) -> Run:
    require_known(how, How.__optional_keys__)
    _require_job(job)
    occasion = how.get("occasion")
    where = where_of(how)
    asked = in_part(job, how)
    progress = how.get("progress")
    options = RunOptions(
        fresh=how.get("fresh", False),
        resume=how.get("resume"),
        again=how.get("again"),
        max_tokens=how.get("max_tokens"),
        leave_behind=how.get("leave_behind"),
        occasion=None if occasion is None else named_occasion(occasion),
        reports=pages_folder(where, ledger_to_write(where)) if how.get("report", True) else None,
        show_progress=_is_watched() if progress is None else progress,
        fixed=how.get("fixed", False),
        interrupts=interrupts,
    )
    before = handlers()
    try:
        return Run(await run_job(where, asked, options), where.folder)
    finally:
        restore(before)


def _require_job(given: Any) -> None:
    if not isinstance(given, Job):
        raise TypeError(f"expected a job, found {given!r}; `load_job` reads a file, and `make_job` makes one")


def _table(name: str, given: Any, key: str) -> dict[str, Any]:
    """A table of a job file, given whole or as its only key."""
    if isinstance(given, str | Path):
        return {key: str(given)}
    return dict(values.table(name, given, f"text, or a table with the key {key!r}"))


def _rows(dataset: Any) -> tuple[dict[str, Any], ...] | None:
    """Samples given as rows; None for a file or a table."""
    if isinstance(dataset, str | Path | Mapping):
        return None
    if hasattr(dataset, "to_dict") and hasattr(dataset, "columns"):
        dataset = _records(dataset)
    rows = tuple(values.entries("dataset", dataset, _SAMPLES))
    if not all(isinstance(row, Mapping) for row in rows):
        raise InputError(Fault("dataset", f"expected {_SAMPLES}", 'for several files: {"path": [...]}'))
    return checked_rows(rows)


def _records(frame: "pandas.DataFrame") -> list[dict[Hashable, Any]]:
    """The rows of a pandas table; missing values become null."""
    twice = list(dict.fromkeys(frame.columns[frame.columns.duplicated()]))
    if twice:  # a row can hold one value of a name
        raise InputError(Fault("dataset", f"two columns are named {twice[0]!r}", "give each column its own name"))
    rows: list[dict[Hashable, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return rows


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
