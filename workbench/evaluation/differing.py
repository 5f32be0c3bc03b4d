"""What is not alike between the sides of a comparison beside the models themselves: each of it could make the difference."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

import workbench.display.commands as commands
from workbench.display.text import count, plural
from workbench.endings import RunStatus
from workbench.evaluation.sides import ModelResult, Samples, Sides
from workbench.job.file import JobFile
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.run_rows import TakenOut
from workbench.ledger.score_rows import ModelText, RunScorer, SharedAnswers, SideCaps

NO_MATTER = frozenset({"name", "description", "tags", "schedule", "gates"})
"""Tables and keys of a job that change no answer and no score."""
_NO_BODY = frozenset({"id", "id_glob", "name"})
_MOST_CHARS, _BEFORE = 120, 30  # of a value, and of what is alike before its first difference
_NAMED = 3


def differing(
    reader: Reader,
    runs: Sequence[Provenance],
    settings: Sequence[RunScorer],
    scorer: str,
    there: Sides,
    *,
    on_fallback: str,
) -> list[str]:
    """Everything that differs, a sentence each.

    Args:
        runs: What is compared.
        settings: Of their scorers.
        scorer: By which of them.
        there: The sides of the runs.
        on_fallback: Whether the answers of fallbacks count: `exclude` or `accept`.
    """
    sides, samples = there.sides, there.samples
    run_ids = [run.run_id for run in runs]
    return [
        *_of_runs(runs, there),
        *_of_jobs(runs),
        *_of_model_lists(reader, run_ids, sides),
        *_of_scorers(settings, scorer),
        *_of_models(runs, sides),
        *_of_caps(reader, run_ids, sides),
        *_taken_out(reader, runs, sides, samples),
        *_reused(reader, runs, sides),
        *_named(runs, sides, on_fallback),
    ]


def _of_runs(runs: Sequence[Provenance], there: Sides) -> Iterator[str]:
    if any(run.simulated for run in runs):
        yield "The models are simulated: this says nothing about real ones."
    for run in runs:
        if run.status not in (RunStatus.COMPLETE, RunStatus.GATE_FAILED):
            how = run.status or "no end is recorded"
            yield f"Run {run.run_id} is not complete ({how}): {_asked_of(run, there)}."
    if len({run.dataset_hash for run in runs}) > 1:
        yield "The dataset is not the same: only samples with the same input, choices and target are compared."
    if len({run.endpoint for run in runs}) > 1:
        yield f"The platforms differ: {_each((run.run_id, run.endpoint) for run in runs)}."
    if len({run.narrowed for run in runs}) > 1:
        yield f"What was asked differs: {_each((run.run_id, run.narrowed or 'the whole job') for run in runs)}."


def _asked_of(run: Provenance, there: Sides) -> str:
    """Return how many samples a run asked that has not ended as it should, and which."""
    if sum(side.asked for side in there.sides if side.run_id == run.run_id) == run.planned:
        return "it sent every request, and some have no answer"
    rows = [row for (run_id, _), own in there.samples.items() if run_id == run.run_id for row in own]
    known, asked = ({row.sample_key for row in rows if row.asked or every} for every in (True, False))
    if len(asked) == len(known):  # all that is known of: a killed run has not said what it did not ask
        return "what it did not ask is missing here"
    values = job_values(run.job_toml)
    by_length = values.get("run.order") == "“auto”" and not any(key.startswith("budget.") for key in values)
    order = "drawn at random" if "dataset.shuffle_seed" in values else "in the dataset's order"
    return f"{len(asked)} of {plural(len(known), 'sample')} were asked, {'the longest first' if by_length else order}"


def _of_jobs(runs: Sequence[Provenance]) -> Iterator[str]:
    """Return every key of the jobs that is not the same, with both values."""
    written = {run.run_id: job_values(run.job_toml) for run in runs}
    for key in dict.fromkeys(key for values in written.values() for key in values):
        if len({values.get(key, "not given") for values in written.values()}) > 1:
            yield f"{key} differs: {_each((run_id, values.get(key, 'not given')) for run_id, values in written.items())}."


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


def _of_models(runs: Sequence[Provenance], sides: Sequence[ModelResult]) -> Iterator[str]:
    """Body fields that only some of the models or variants of a run have of their own."""
    for run in runs:
        own = [side for side in sides if side.run_id == run.run_id]
        fields = {side.model: _fields_of(run, side.model) for side in own}
        for key in dict.fromkeys(key for found in fields.values() for key in found):
            values = {found.get(key, "as the job") for found in fields.values()}
            if len(values) > 1:
                parts = _each((model, found.get(key, "as the job")) for model, found in fields.items())
                yield f"{key} differs between the models{_in(run, runs)}: {parts}."


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


def _of_model_lists(reader: Reader, run_ids: Sequence[str], sides: Sequence[ModelResult]) -> Iterator[str]:
    """Models that the lists of the runs describe differently."""
    asked = {side.model.partition(" · ")[0] for side in sides} | {side.model for side in sides}
    texts: dict[str, dict[str, ModelText]] = {}
    for row in reader.all(ModelText, run_ids=list(run_ids)) if len(run_ids) > 1 else ():
        if row.model in asked:
            texts.setdefault(row.model, {})[row.run_id] = row
    for model, rows in texts.items():
        if len({(row.base, row.settings) for row in rows.values()}) > 1:
            parts = _each(
                (run_id, " ".join(filter(None, (row.base, row.settings))) or "nothing") for run_id, row in rows.items()
            )
            yield f"The model list says otherwise of {model}: {parts}."


def _of_scorers(settings: Sequence[RunScorer], scorer: str) -> Iterator[str]:
    if len({row.scorer_config for row in settings if row.scorer == scorer}) > 1:
        yield f"The settings of “{scorer}” are not the same: `{commands.SCORE_BY_JOB}` scores both alike."


def _of_caps(reader: Reader, run_ids: Sequence[str], sides: Sequence[ModelResult]) -> Iterator[str]:
    """Return where the answers that are compared were capped at different numbers of tokens."""
    rows = {(row.run_id, row.model): row for row in reader.all(SideCaps, run_ids=list(run_ids))}
    caps = [rows[side.run_id, side.model] for side in sides if (side.run_id, side.model) in rows]
    if len({(row.least, row.most) for row in caps}) <= 1 and all(row.least == row.most for row in caps):
        return
    parts = []
    for row in caps:
        least, most = row.least, row.most
        span = "no cap" if least is None else f"{least}" if least == most else f"{least} to {most or 'no cap'}"
        of_run = f" in {row.run_id}" if len(run_ids) > 1 else ""
        parts.append(f"{row.model}{of_run} {span}")
    yield f"Answers were capped at different numbers of tokens: {', '.join(parts)}."


def _taken_out(
    reader: Reader, runs: Sequence[Provenance], sides: Sequence[ModelResult], samples: Samples
) -> Iterator[str]:
    for run in runs:
        taken = reader.all(TakenOut, run_id=run.run_id)
        if taken:
            why = dict.fromkeys(f"{one.reason} ({one.recorded_at:%Y-%m-%d})" for one in taken)
            reasons = "; ".join(list(why)[:_NAMED]) + ("; …" if len(why) > _NAMED else "")
            own = [side for side in sides if side.run_id == run.run_id]
            whole = max((len(samples[side.run_id, side.model]) for side in own), default=0)
            part = f"{len(taken)} of {plural(whole, 'sample')}{_in(run, runs)}"
            yield f"{part} are taken out by `{commands.INVALIDATE}`: {reasons}."
    unjudged = {
        row.sample_key
        for side in sides
        for row in samples[side.run_id, side.model]
        if row.excluded is not None and row.excluded != "taken out"
    }
    if unjudged:
        yield f"{plural(len(unjudged), 'sample')} have nothing to judge by and are left out."


def _reused(reader: Reader, runs: Sequence[Provenance], sides: Sequence[ModelResult]) -> Iterator[str]:
    """Answers that are on both sides, and such as were asked for earlier."""
    if len(runs) > 1:
        for row in reader.all(SharedAnswers, run_ids=[run.run_id for run in runs]):
            part = f"{row.shared} of {row.answers} answers of run {row.run_id}"
            yield f"{part} are reused, the same as of run {row.of_run_id}: they cannot differ."
    parts = [
        f"{count(side.reused)} of {count(side.answered)} of {_name(side, runs)}, of {_days(side)}"
        for side in sides
        if side.reused
    ]
    if parts and len({(side.reused, _days(side)) for side in sides}) > 1:
        yield f"Answers are reused from earlier runs: {'; '.join(parts)}."


def _days(side: ModelResult) -> str:
    if side.oldest_at is None or side.newest_at is None:
        return "unknown date"
    first, last = f"{side.oldest_at:%Y-%m-%d}", f"{side.newest_at:%Y-%m-%d}"
    return first if first == last else f"{first} to {last}"


def _named(runs: Sequence[Provenance], sides: Sequence[ModelResult], on_fallback: str) -> Iterator[str]:
    """Answers whose model cannot be told, or is taken for another one."""
    for side in sides:
        if side.unnamed:
            part = f"{count(side.unnamed)} of {plural(side.answered, 'answer')}"
            left = (
                f"; {count(side.suspected)} of them are left out, as the name is not the model's"
                if side.suspected
                else ""
            )
            left = "" if on_fallback == "accept" else left
            yield f"{_name(side, runs)}: {part} are under a name that is in no model list, or under none{left}."


def _each(values: Iterable[tuple[str, str]]) -> str:
    """Values with whose they are: `0.7 (r1); 0.2 (r2)`; long ones from where they differ."""
    parts = list(values)
    letters = zip(*(text for _, text in parts), strict=False)
    alike = next((place for place, found in enumerate(letters) if len(set(found)) > 1), 0)
    begin = alike - _BEFORE if alike > _MOST_CHARS - _BEFORE else 0
    return "; ".join(f"{_short(text, begin)} ({name})" for name, text in parts)


def _short(text: str, begin: int) -> str:
    part = text[begin : begin + _MOST_CHARS]
    return f"{'…' if begin else ''}{part}{'…' if len(text) > begin + _MOST_CHARS else ''}"


def _name(side: ModelResult, runs: Sequence[Provenance]) -> str:
    return side.model if len(runs) == 1 else f"{side.model} in {side.run_id}"


def _in(run: Provenance, runs: Sequence[Provenance]) -> str:
    return "" if len(runs) == 1 else f" of run {run.run_id}"
