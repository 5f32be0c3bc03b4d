"""What is not alike between the sides of a comparison beside the models themselves: each of it could make the difference."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from workbench.evaluation.sides import ModelResult, Samples, Sides
from workbench.evaluation.targets import same_but_for_target
from workbench.job.file import JobFile
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.run_rows import TakenOut
from workbench.ledger.score_rows import CorrectedTarget, ModelText, RunScorer, SharedAnswers, SideCaps
from workbench.records.endings import SETTLED

NO_MATTER = frozenset({"name", "description", "tags", "schedule", "gates", "judge"})
"""Tables and keys of a job that change no answer and no score."""
_AS_JOB = "as the job"
_NO_BODY = frozenset({"id", "id_glob", "name"})


class SimulatedModels(msgspec.Struct, frozen=True):
    """Some of the answers were computed by the embedded platform."""


class IncompleteRun(msgspec.Struct, frozen=True):
    """A run that has not ended as it should."""

    run_id: str
    status: str | None
    """As recorded; None: no end is."""
    asked: int | None
    """Samples that it asked; None: all that are known of."""
    known: int
    order: Literal["longest first", "random", "dataset"]
    """In which order it asked them."""
    is_sent: bool
    """Whether it sent every request."""
    is_answered: bool
    """Whether every request is answered, so that only judgements can be missing."""


class OtherDataset(msgspec.Struct, frozen=True):
    """The runs have samples of different datasets."""

    other_targets: int
    """Samples that ask the same and have another target."""
    job_path: str
    """Of the newest run, as it recorded it."""


class OtherValues(msgspec.Struct, frozen=True):
    """Something that was set differently."""

    of: Literal["platform", "narrowed", "job", "models", "variants"]
    """Of what: `job`, `models` and `variants` name a key."""
    key: str
    values: list[tuple[str, str]]
    """Which run or model, and its value."""
    run_id: str | None = None
    """The run of the models, where there are several."""


class OtherModelTexts(msgspec.Struct, frozen=True):
    """The model lists of the runs say different things of a model."""

    model: str
    values: list[tuple[str, str]]


class OtherSettings(msgspec.Struct, frozen=True):
    """The runs were scored by one scorer with different settings."""

    scorer: str
    run_id: str
    """A run that has others than the newest."""
    job_path: str
    """Of the newest run, as it recorded it."""


class OtherCaps(msgspec.Struct, frozen=True):
    """The answers were capped at different numbers of tokens."""

    caps: list[SideCaps]
    of_runs: bool
    """Whether there are several runs."""


class TakenOutSamples(msgspec.Struct, frozen=True):
    """Samples that somebody has taken out of a run."""

    taken: int
    samples: int
    reasons: list[tuple[str, datetime]]
    run_id: str | None
    """Where there are several."""


class CorrectedTargets(msgspec.Struct, frozen=True):
    """Samples of a run that are scored by other targets than it recorded."""

    corrected: int
    reasons: list[tuple[str, datetime]]
    run_id: str | None
    """Where there are several."""


class NothingToJudge(msgspec.Struct, frozen=True):
    """Samples that no answer could be scored by."""

    samples: int


class ReusedAnswers(msgspec.Struct, frozen=True):
    """Sides that have answers of earlier runs."""

    sides: list[ModelResult]
    of_runs: bool
    """Whether there are several runs."""


class UnnamedAnswers(msgspec.Struct, frozen=True):
    """Answers whose model cannot be told, or is taken for another one."""

    side: ModelResult
    of_runs: bool
    """Whether there are several runs."""
    are_left_out: bool
    """Whether those that are taken for another model's do not count."""


class SomeUnclustered(msgspec.Struct, frozen=True):
    """Samples of which the column that says what belongs together has no value."""

    column: str
    without: int
    samples: int


Differing = (
    SimulatedModels
    | IncompleteRun
    | OtherDataset
    | OtherValues
    | OtherModelTexts
    | OtherSettings
    | OtherCaps
    | TakenOutSamples
    | CorrectedTargets
    | NothingToJudge
    | SharedAnswers
    | ReusedAnswers
    | UnnamedAnswers
    | SomeUnclustered
)


def differing(
    reader: Reader,
    runs: Sequence[Provenance],
    settings: Sequence[RunScorer],
    scorer: str,
    there: Sides,
    *,
    on_fallback: str,
) -> list[Differing]:
    """Return everything that differs.

    Args:
        on_fallback: Whether the answers of fallbacks count: `exclude` or `accept`.
    """
    sides, samples = there.sides, there.samples
    run_ids = [run.run_id for run in runs]
    return [
        *_of_runs(reader, runs, there),
        *_of_jobs(runs),
        *_of_model_lists(reader, run_ids, sides),
        *_of_settings(runs, settings, scorer),
        *_of_models(runs, sides),
        *_of_caps(reader, run_ids, sides),
        *_taken_out(reader, runs, sides, samples),
        *_corrected(reader, runs),
        *_reused(reader, runs, sides),
        *(
            UnnamedAnswers(side, len(runs) > 1, on_fallback != "accept" and bool(side.suspected))
            for side in sides
            if side.unnamed
        ),
    ]


def _of_settings(runs: Sequence[Provenance], settings: Sequence[RunScorer], scorer: str) -> Iterator[OtherSettings]:
    configs = {row.run_id: row.scorer_config for row in settings if row.scorer == scorer}
    newest = max(runs, key=lambda run: run.started_at)
    other = next((run_id for run_id, config in configs.items() if config != configs.get(newest.run_id)), None)
    if other is not None and newest.run_id in configs:
        yield OtherSettings(scorer, other, newest.job_path)


def _of_runs(reader: Reader, runs: Sequence[Provenance], there: Sides) -> Iterator[Differing]:
    if any(run.simulated for run in runs):
        yield SimulatedModels()
    for run in runs:
        if run.status not in SETTLED:
            yield _incomplete(run, there)
    if len({run.dataset_hash for run in runs}) > 1:
        newest = max(runs, key=lambda run: run.started_at)
        yield OtherDataset(_other_targets(reader, there.samples), newest.job_path)
    if len({run.endpoint for run in runs}) > 1:
        yield OtherValues("platform", "", [(run.run_id, run.endpoint) for run in runs])
    if len({run.narrowed for run in runs}) > 1:
        yield OtherValues("narrowed", "", [(run.run_id, run.narrowed or "the whole job") for run in runs])


def _other_targets(reader: Reader, samples: Samples) -> int:
    """Return how many samples ask the same in two runs and have another target in each."""
    keys: dict[str, set[str]] = {}
    for (run_id, _), rows in samples.items():
        keys.setdefault(run_id, set()).update(row.sample_key for row in rows)
    every = set[str]().union(*keys.values())
    return len(same_but_for_target(reader, every - every.intersection(*keys.values())))


def _incomplete(run: Provenance, there: Sides) -> IncompleteRun:
    sides = [side for side in there.sides if side.run_id == run.run_id]
    is_sent = sum(side.asked for side in sides) == run.planned
    is_answered = sum(side.answered for side in sides) == run.planned
    rows = [row for (run_id, _), own in there.samples.items() if run_id == run.run_id for row in own]
    known, asked = ({row.sample_key for row in rows if row.asked or every} for every in (True, False))
    values = job_values(run.job_toml)
    by_length = values.get("run.order") == "“auto”" and not any(key.startswith("budget.") for key in values)
    order: Literal["longest first", "random", "dataset"] = (
        "longest first" if by_length else "random" if "dataset.shuffle_seed" in values else "dataset"
    )
    # Where all that is known of was asked, a killed run has not said what it did not ask.
    part = None if len(asked) == len(known) else len(asked)
    return IncompleteRun(run.run_id, run.status, part, len(known), order, is_sent, is_answered)


def _of_jobs(runs: Sequence[Provenance]) -> Iterator[OtherValues]:
    """Return every key of the jobs that is not the same, with both values."""
    written = {run.run_id: job_values(run.job_toml) for run in runs}
    for key in dict.fromkeys(key for values in written.values() for key in values):
        if len({values.get(key, "not given") for values in written.values()}) > 1:
            yield OtherValues(
                "job", key, [(run_id, values.get(key, "not given")) for run_id, values in written.items()]
            )


def job_values(job_toml: str) -> dict[str, str]:
    """Return the values of a job file by their dotted keys, with defaults, without those that change no answer and no score.

    Args:
        job_toml: Its text; one that this version does not read is taken as it is written.
    """
    data: dict[str, Any] = tomllib.loads(job_toml)
    try:
        data = msgspec.to_builtins(msgspec.convert(data, JobFile))
    except msgspec.ValidationError:
        pass
    return dict(_flat({name: value for name, value in data.items() if name not in NO_MATTER}, ""))


def _flat(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{place}[{number}]")
    elif value is not None:
        yield place, f"“{value}”" if isinstance(value, str) else msgspec.json.encode(value).decode()


def _of_models(runs: Sequence[Provenance], sides: Sequence[ModelResult]) -> Iterator[OtherValues]:
    """Return body fields that only some of the models or variants of a run have of their own."""
    for run in runs:
        own = [side for side in sides if side.run_id == run.run_id]
        fields = {side.model: _fields_of(run, side.model) for side in own}
        for key in dict.fromkeys(key for found in fields.values() for key in found):
            values = {side.model: fields[side.model].get(key, _AS_JOB) for side in own}
            if len(set(values.values())) > 1:
                yield _by_factor(key, own, values, run.run_id if len(runs) > 1 else None)


def _by_factor(key: str, sides: Sequence[ModelResult], values: Mapping[str, str], run_id: str | None) -> OtherValues:
    """Return what a field is for each variant where the models make no difference, or the other way round; else for each side."""
    by_variant = {side.variant or "": values[side.model] for side in sides}
    by_model = {side.requested_model: values[side.model] for side in sides}
    if all(values[side.model] == by_variant[side.variant or ""] for side in sides):
        return OtherValues("variants", key, list(by_variant.items()), run_id)
    if all(values[side.model] == by_model[side.requested_model] for side in sides):
        return OtherValues("models", key, list(by_model.items()), run_id)
    return OtherValues("models", key, list(values.items()), run_id)


def _fields_of(run: Provenance, side: str) -> dict[str, str]:
    """Return what a job file says of one model and variant alone."""
    data = tomllib.loads(run.job_toml)
    model, _, variant = side.partition(" · ") if run.variants else (side, "", "")
    tables = [
        table
        for table in data.get("models", ())
        if isinstance(table, Mapping)
        and (table.get("id") == model or fnmatchcase(model, str(table.get("id_glob", ""))))
    ]
    tables += [table for table in data.get("variants", ()) if table.get("name") == variant]
    return {
        key: value
        for table in tables
        for key, value in _flat({k: v for k, v in table.items() if k not in _NO_BODY}, "")
    }


def _of_model_lists(reader: Reader, run_ids: Sequence[str], sides: Sequence[ModelResult]) -> Iterator[Differing]:
    """Return models that the lists of the runs describe differently."""
    asked = {side.model.partition(" · ")[0] for side in sides} | {side.model for side in sides}
    texts: dict[str, dict[str, ModelText]] = {}
    for row in reader.all(ModelText, run_ids=list(run_ids)) if len(run_ids) > 1 else ():
        if row.model in asked:
            texts.setdefault(row.model, {})[row.run_id] = row
    for model, rows in texts.items():
        if len({(row.base, row.settings) for row in rows.values()}) > 1:
            values = {run_id: " ".join(filter(None, (row.base, row.settings))) for run_id, row in rows.items()}
            yield OtherModelTexts(model, [(run_id, text or "nothing") for run_id, text in values.items()])


def _of_caps(reader: Reader, run_ids: Sequence[str], sides: Sequence[ModelResult]) -> Iterator[OtherCaps]:
    """Return where the answers that are compared were capped at different numbers of tokens."""
    rows = {(row.run_id, row.model): row for row in reader.all(SideCaps, run_ids=list(run_ids))}
    caps = [rows[side.key] for side in sides if side.key in rows]
    if len({(row.least, row.most) for row in caps}) > 1 or any(row.least != row.most for row in caps):
        yield OtherCaps(caps, len(run_ids) > 1)


def _taken_out(
    reader: Reader, runs: Sequence[Provenance], sides: Sequence[ModelResult], samples: Samples
) -> Iterator[Differing]:
    for run in runs:
        taken = reader.all(TakenOut, run_id=run.run_id)
        if taken:
            own = [side for side in sides if side.run_id == run.run_id]
            whole = max((len(samples[side.key]) for side in own), default=0)
            reasons = [(one.reason, one.recorded_at) for one in taken]
            yield TakenOutSamples(len(taken), whole, reasons, run.run_id if len(runs) > 1 else None)
    unjudged = {
        row.sample_key
        for side in sides
        for row in samples[side.key]
        if row.excluded is not None and row.excluded != "taken out"
    }
    if unjudged:
        yield NothingToJudge(len(unjudged))


def _corrected(reader: Reader, runs: Sequence[Provenance]) -> Iterator[CorrectedTargets]:
    for run in runs:
        rows = [row for row in reader.all(CorrectedTarget, run_id=run.run_id) if row.is_corrected]
        if rows:
            reasons = [(row.reason, row.recorded_at) for row in rows]
            yield CorrectedTargets(len(rows), reasons, run.run_id if len(runs) > 1 else None)


def _reused(reader: Reader, runs: Sequence[Provenance], sides: Sequence[ModelResult]) -> Iterator[Differing]:
    """Return answers that are on both sides, and such as were asked for earlier."""
    if len(runs) > 1:
        yield from reader.all(SharedAnswers, run_ids=[run.run_id for run in runs])
    if len({(side.reused, *_days(side)) for side in sides}) > 1:
        reused = [side for side in sides if side.reused]
        if reused:
            yield ReusedAnswers(reused, len(runs) > 1)


def _days(side: ModelResult) -> list[str]:
    return [f"{at:%Y-%m-%d}" for at in (side.oldest_at, side.newest_at) if at is not None]
