"""A job whose dataset is a spreadsheet that somebody wants filled."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from workbench.dataset.filled import Sheet
from workbench.dataset.samples import id_column
from workbench.display.text import words
from workbench.errors import Fault, InputError, nearest
from workbench.job.file import DatasetTable, FieldNames
from workbench.job.job import Job, Variant
from workbench.job.narrowing import allowing
from workbench.planning.models import PlannedModel
from workbench.records.endings import FILLED, FILLED_SHEET, FILLED_TO

_MOST_NAMED = 10


def sheet_job(job: Job, sheet: Sheet, variant: str | None = None) -> Job:
    """Return a job that asks the rows of a sheet, each once, by one of its variants.

    What chooses among the samples of its own dataset, or judges a run of it, does not apply: `left_out` says what that is.

    Args:
        sheet: In place of its dataset.
        variant: Its name, where the job has several.

    Raises:
        InputError: The job has no such variant, or several and none is named.
    """
    run = msgspec.structs.replace(job.run, epochs=1, reduce="mean", reuse="always")
    if run.on_fallback == "fail":  # the row says it
        run = msgspec.structs.replace(run, on_fallback="exclude")
    made = msgspec.structs.replace(
        job,
        dataset=_dataset(job.dataset, sheet),
        dataset_paths=(str(sheet.path),),
        filled_columns=sheet.own,
        variants=(_variant(job, variant),),
        run=run,
        gates=None,
        schedule=None,
    )
    return allowing(made, ("no_targets",))  # then a row has an answer and no score


def tagged(job: Job, path: Path, sheet: str | None, out: Path | None) -> Job:
    """Return a job whose run says which file it fills, and where to.

    Args:
        job: Whose dataset is the file.
        sheet: Of a workbook, where it is named.
        out: The file to write in its place.
    """
    tags = {FILLED: path.name, FILLED_SHEET: sheet, FILLED_TO: None if out is None else str(out)}
    return msgspec.structs.replace(
        job, tags=job.tags | {name: value for name, value in tags.items() if value is not None}
    )


def left_out(job: Job, sheet: Sheet) -> list[str]:
    """Return in words what a job says that does not apply to a sheet, and which of its columns the sheet lacks."""
    given = job.dataset
    chosen = [name for name in ("limit", "sample_ids", "shuffle_seed") if getattr(given, name) not in (None, [])]
    unused = [f"dataset.{name}" for name in chosen]
    unused += ["run.epochs"] if job.run.epochs > 1 else []
    unused += ["[gates]"] if job.gates is not None else []
    notes = [f"{words(unused)} of the job: not applied, each row of the sheet is asked once"] if unused else []
    columns = sheet.columns
    for key, name in _optional(given):
        if name not in columns:
            near = nearest(name, columns)
            notes.append(f"{sheet.path.name} has no column {name!r} ({key} of the job){f'; {near}' if near else ''}")
    return notes


def only_model(models: Sequence[PlannedModel]) -> tuple[PlannedModel, ...]:
    """Return the model that is asked.

    Raises:
        InputError: The job asks several.
    """
    if len(models) == 1:
        return tuple(models)
    named = ", ".join(model.id for model in models[:_MOST_NAMED])
    more = f" and {len(models) - _MOST_NAMED} more" if len(models) > _MOST_NAMED else ""
    problem = "a row has one answer, and the job asks several models"
    raise InputError(Fault("--model", problem, f"name one: {named}{more}"))


def _optional(given: DatasetTable) -> list[tuple[str, str]]:
    """Return the keys of a job that name columns which a sheet may lack, each with a column."""
    targets = [given.fields.target] if isinstance(given.fields.target, str) else given.fields.target or []
    found = [("dataset.fields.target", name) for name in targets]
    found += [] if given.second_target is None else [("dataset.second_target", given.second_target)]
    found += [] if given.cluster in (None, id_column(given.fields)) else [("dataset.cluster", given.cluster)]
    return found + [(f"dataset.reference.{key}", name) for key, name in given.reference.items()]


def _dataset(given: DatasetTable, sheet: Sheet) -> DatasetTable:
    columns = sheet.columns
    target = given.fields.target
    if isinstance(target, list):
        target = [name for name in target if name in columns] or None
    elif target not in columns:
        target = None
    is_told = given.fields != FieldNames()  # also where the sheet has none of the columns that it names
    return msgspec.structs.replace(
        given,
        path=str(sheet.path),
        format=sheet.format,
        delimiter=sheet.delimiter or None,
        sheet=sheet.name,
        layout=given.layout or ("plain" if is_told else None),
        fields=msgspec.structs.replace(given.fields, target=target),
        second_target=given.second_target if given.second_target in columns else None,
        cluster=given.cluster if given.cluster in columns else None,
        reference={key: name for key, name in given.reference.items() if name in columns},
        limit=None,
        sample_ids=[],
        shuffle_seed=None,
    )


def _variant(job: Job, wanted: str | None) -> Variant:
    names = [one.name for one in job.variants]
    if wanted is None and len(names) == 1:
        return job.variants[0]
    if wanted is None:
        problem = "a row has one answer, and the job asks several variants"
        raise InputError(Fault("--variant", problem, f"name one: {', '.join(names)}"))
    if wanted not in names or not wanted:
        near = nearest(wanted, names) or (f"its variants: {', '.join(names)}" if any(names) else "it has no variants")
        raise InputError(Fault("--variant", f"{wanted!r} is not one of the job's variants", near))
    return job.variants[names.index(wanted)]
