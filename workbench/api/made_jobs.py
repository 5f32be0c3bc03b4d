"""Jobs made in Python, with the tables of a job file."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from workbench.dataset.python_rows import checked_rows
from workbench.display.commands import MADE_IN_PYTHON
from workbench.errors import Fault, InputError
from workbench.job.job import Job, checked_job

if TYPE_CHECKING:
    import pandas

Rows = Sequence[Mapping[str, Any]]
_ROWS = "rows given in Python"
_SAMPLES = "a file, a [dataset] table, or samples as dictionaries"


def make_job(
    name: str,
    models: str | Sequence[str | Mapping[str, Any]],
    dataset: "str | Path | Mapping[str, Any] | Rows | pandas.DataFrame",
    *,
    prompt: str | Mapping[str, Any] | None = None,
    scorers: Sequence[str | Mapping[str, Any]] = (),
    request: Mapping[str, Any] | None = None,
    variants: Sequence[Mapping[str, Any]] = (),
    run: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
    budget: Mapping[str, Any] | None = None,
    compare: Mapping[str, Any] | None = None,
    unscored: Mapping[str, str] | None = None,
    judge: Mapping[str, str] | None = None,
    gates: Mapping[str, Any] | None = None,
    schedule: Mapping[str, Any] | None = None,
    description: str = "",
    fields: Mapping[str, str | Sequence[str]] | None = None,
    layout: str | None = None,
    folder: str | Path | None = None,
) -> Job:
    """Make a job from Python, with the tables of a job file; `jobs/job.schema.json` lists their keys.

    Args:
        models: Ids or `[[models]]` tables, or `"visible"` for every model that the account sees.
        dataset: A file, the `[dataset]` table, or the samples themselves: dictionaries or a pandas table.
        prompt: The template, or the `[prompt]` table.
        scorers: Names, or `[[scorers]]` tables.
        request: Body fields, such as `max_tokens`.
        variants: `[[variants]]` tables: prompts and body fields beside each other.
        run: How requests are sent.
        tags: Names and values under which its usage is summed up.
        budget: What a run may use.
        compare: Which models are ranked.
        unscored: Which answers without a score are taken for unknown, where by default they are not right.
        judge: When judges among the scorers are asked.
        gates: What a run must reach.
        schedule: When it is asked again.
        fields: The parts of a sample, such as `target`, and the columns that hold them.
        layout: What the rows are, such as "gsm8k"; detected from the first one by default.
        folder: What relative paths are relative to; by default the working folder.

    Raises:
        InputError: With every fault found.
    """
    table, rows = _dataset(dataset)
    tables = {"request": request, "variants": variants, "run": run, "tags": tags, "budget": budget}
    tables |= {"compare": compare, "unscored": unscored, "judge": judge, "gates": gates}
    written = {
        "name": name,
        "models": list(models) if isinstance(models, Iterable) and not isinstance(models, str | Mapping) else models,
        "dataset": table | _given(fields=fields, layout=layout),
        **_given(prompt=prompt if prompt is None else _prompt(prompt)),
        **_given(scorers=_scorers(scorers) or None),
        **_given(**tables | {"variants": variants or None}, schedule=schedule, description=description or None),
    }
    job = _job(written, Path(folder or Path.cwd()) / f"{name} {MADE_IN_PYTHON}")
    return job if rows is None else msgspec.structs.replace(job, rows=rows, dataset_paths=())


def _job(written: dict[str, Any], path: Path) -> Job:
    """Return the job that the tables of a job file make, recorded as that file's text."""
    import tomli_w

    data = {name: _plain(value, name) for name, value in written.items()}
    return checked_job(data, tomli_w.dumps(data), path)


def _plain(value: Any, place: str) -> Any:
    """Return a value as a job file has it, of a table, an array of NumPy or a list of whatever these hold.

    Args:
        place: Where it is, as faults of a job name it.

    Raises:
        InputError: A job file cannot hold it.
    """
    if isinstance(value, Mapping):
        return {str(name): _plain(inner, f"{place}.{name}") for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner, f"{place}[{number}]") for number, inner in enumerate(value)]
    if isinstance(value, msgspec.Struct):
        return _plain(msgspec.to_builtins(value), place)
    if hasattr(value, "tolist"):  # of NumPy and pandas
        return _plain(value.tolist(), place)
    if value is None:
        raise InputError(Fault(place, "expected a value, found None", "leave it out"))
    return _plain_value(value, place)


def _plain_value(value: Any, place: str) -> Any:
    match value:
        case str() | Path():
            text = str(value)  # NumPy has a kind of its own
            _require_text(text, place)
            return text
        case bool() | datetime() | date() | time():
            return value
        case int():
            return int(value)
        case float():
            return float(value)
    kinds = "a text, a number, true or false, a time, a list or a table"
    raise InputError(Fault(place, f"expected {kinds}, found {value!r:.60}"))


def _require_text(text: str, place: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            Fault(place, f"half a pair of surrogates, {text[error.start]!r}, which cannot be sent")
        ) from error


def _prompt(given: Any) -> dict[str, Any]:
    if not isinstance(given, str | Mapping):
        raise InputError(Fault("prompt", f"expected a template or the [prompt] table, found {given!r:.60}"))
    return _table(given, "template")


def _given(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _table(given: str | Path | Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a table of a job file, given whole or as its only key."""
    return {key: str(given)} if isinstance(given, str | Path) else dict(given)


def _scorers(given: Any) -> Any:
    """Return the `[[scorers]]` tables; whatever is not a list of them is left to the checks of a job.

    Raises:
        InputError: One is neither a name nor a table, such as a function.
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        return given
    tables = []
    for number, scorer in enumerate(given):
        if not isinstance(scorer, str | Path | Mapping):
            own = 'a function of your own is {"name": "custom", "function": "file.py:name"}'
            raise InputError(Fault(f"scorers[{number}]", f"expected a name or a table, found {scorer!r:.60}", own))
        tables.append(_table(scorer, "name"))
    return tables


def _dataset(dataset: Any) -> tuple[dict[str, Any], tuple[dict[str, Any], ...] | None]:
    """Return the `[dataset]` table, and the samples where they are given as rows."""
    if isinstance(dataset, str | Path | Mapping):
        return _table(dataset, "path"), None
    if hasattr(dataset, "to_dict") and hasattr(dataset, "columns"):
        dataset = _records(dataset)
    rows = tuple(dataset) if isinstance(dataset, Iterable) else (None,)
    if not all(isinstance(row, Mapping) for row in rows):
        raise InputError(Fault("dataset", f"expected {_SAMPLES}", 'for several files: {"path": [...]}'))
    return {"path": _ROWS}, checked_rows(rows)


def _records(frame: "pandas.DataFrame") -> list[dict[Hashable, Any]]:
    """Return the rows of a pandas table; missing values become null."""
    twice = list(dict.fromkeys(frame.columns[frame.columns.duplicated()]))
    if twice:  # a row can hold one value of a name
        raise InputError(Fault("dataset", f"two columns are named {twice[0]!r}", "give each column its own name"))
    rows: list[dict[Hashable, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return rows
