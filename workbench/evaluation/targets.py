"""Targets of a job's dataset that were corrected: its earlier runs are scored by them, and nothing is asked again."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import workbench.display.commands as commands
from workbench.errors import Fault, InputError, nearest
from workbench.evaluation.rescore import DatasetColumns, rescore
from workbench.job.job import Job, parse_job
from workbench.job.prompt import prompts_of
from workbench.ledger.entries import Entry, SampleSeen, TargetCorrected, newer_than
from workbench.ledger.ingest import Ingested, record
from workbench.ledger.job_rows import JobRuns
from workbench.ledger.queries import Reader, reading
from workbench.ledger.rows import JobOfRun, Provenance
from workbench.ledger.score_rows import JobSample, SampleText
from workbench.ledger.store import Ledger
from workbench.records.calls import Sample, SampleContent
from workbench.records.keys import sample_key


class TargetChange(msgspec.Struct, frozen=True):
    """A sample of a run whose target the dataset has otherwise now."""

    run_id: str
    sample_id: str
    recorded_key: str
    """Of the sample that the run asked."""
    corrected_key: str
    """Of the sample as the dataset has it."""
    before: Any
    """The target that the run is scored by."""
    target: Any
    """The one of the dataset."""
    content: str
    """The sample with it, as the ledger keeps samples."""


class LeftAlone(msgspec.Struct, frozen=True):
    """A sample or a run that is not corrected."""

    run_id: str
    sample_id: str | None
    """None: the whole run."""
    why: str


class TargetChanges(msgspec.Struct, frozen=True):
    """What the dataset of a job says otherwise than its runs are scored by."""

    job: str
    runs: list[str]
    """That were looked at, the newest first."""
    changes: list[TargetChange]
    left: list[LeftAlone]
    not_asked: int
    """Samples of the dataset that no run asked."""
    said_at: dict[str, datetime]
    """By run when a target was last corrected or put back, where one was."""


def target_changes(reader: Reader, job: Job, samples: Iterable[Sample], *, all_runs: bool = False) -> TargetChanges:
    """Return the targets that a job's dataset has otherwise than its runs are scored by.

    Args:
        job: As its file is now.
        all_runs: Look at the runs of other jobs too, which may have asked the same.

    Raises:
        InputError: The ledger has no run of the job.
    """
    rows = _recorded(reader, job.name, all_runs=all_runs)
    runs = list(dict.fromkeys(row.run_id for row in rows))
    known = _contents(reader, {row.sample_key for row in rows})
    now = [sample for sample in samples if sample.target is not None]
    by_columns: dict[frozenset[str], _Asked] = {}
    changes, left = list[TargetChange](), list[LeftAlone]()
    asked_by_run: dict[str, list[JobSample]] = {}
    for row in rows:
        asked_by_run.setdefault(row.run_id, []).append(row)
    for run_id, named in _columns_of_prompts(reader, runs, job, left):
        if named not in by_columns:
            by_columns[named] = _Asked(now, named)
        _compare(run_id, asked_by_run[run_id], by_columns[named], known, changes, left)
    not_asked = min((asked.not_met() for asked in by_columns.values()), default=len(now))
    return TargetChanges(job.name, runs, changes, left, not_asked, _said(rows))


def restored(reader: Reader, job: str, *, all_runs: bool = False) -> TargetChanges:
    """Return the corrected targets of a job's runs, as changes back to what they recorded.

    Raises:
        InputError: The ledger has no run of the job.
    """
    rows = _recorded(reader, job, all_runs=all_runs)
    runs = list(dict.fromkeys(row.run_id for row in rows))
    back = [row for row in rows if row.sample_key != row.recorded_key]
    known = _contents(reader, {key for row in back for key in (row.sample_key, row.recorded_key)})
    changes = [
        TargetChange(
            row.run_id, row.sample_id, row.recorded_key, row.recorded_key, known[row.sample_key].target,
            known[row.recorded_key].target, "",
        )
        for row in back
        if row.sample_key in known and row.recorded_key in known
    ]  # fmt: skip
    return TargetChanges(job, runs, changes, [], 0, _said(rows))


def correct_targets(ledger: Ledger, found: TargetChanges, reason: str) -> Ingested:
    """Record by which targets runs are scored from now on; `score_corrected` scores them."""
    now = newer_than(found.said_at.values())
    contents = {change.corrected_key: change.content for change in found.changes if change.content}
    # samples first: a correction without its sample would have no target
    entries: list[Entry] = [SampleSeen(key, content) for key, content in contents.items()]
    for change in found.changes:
        is_back = change.corrected_key == change.recorded_key
        corrected_key = None if is_back else change.corrected_key
        entries.append(TargetCorrected(change.run_id, now, change.recorded_key, reason, corrected_key))
    return record(ledger, entries)


def score_corrected(ledger: Ledger, run_id: str, job: Job, samples: Sequence[Sample]) -> tuple[int, Ingested]:
    """Score a run by its targets as they are now, with its own scorers; return how many scores changed, and how the ingest went.

    Args:
        samples: That dataset's. What a second annotator or another column says of the job's own runs is taken from them.

    Raises:
        InputError: The run's job cannot be read any more.
    """
    with reading(ledger) as reader:
        run = reader.only(Provenance, run_id=run_id)
        own = parse_job(run.job_toml, Path(run.job_path))
        there = _as_now(reader, run, own, samples) if run.job == job.name else None
    columns = DatasetColumns(there, own.dataset.reference, own.dataset.second_target)
    return rescore(ledger, run_id, own.scorers, columns)


def _as_now(reader: Reader, run: Provenance, job: Job, samples: Sequence[Sample]) -> dict[str, Sample]:
    """Return the samples of a run by their keys, with the columns that the dataset has now, whatever is right."""
    asked = _Asked(samples, _named(job))
    rows = reader.all(JobSample, job=run.job, run_id=run.run_id)
    known = _contents(reader, {row.sample_key for row in rows})
    recorded = {row.sample_key: known[row.sample_key].sample(row.sample_id) for row in rows if row.sample_key in known}
    return {
        key: msgspec.structs.replace(one, metadata=like[0].metadata)
        for key, one in recorded.items()
        if (like := asked.like(one))
    }


def same_but_for_target(reader: Reader, keys: Collection[str]) -> list[str]:
    """Return what is asked by two of some samples, of which each has another target; as keys of samples without one.

    What three of them ask is left out: which of the targets is to be which cannot be told.
    """
    asked: dict[str, set[str]] = {}
    for key, content in _contents(reader, keys).items():
        asked.setdefault(_Asked.key_without_target(content.sample(""), frozenset()), set()).add(key)
    return [key for key, own in asked.items() if len(own) == 2]


class _Asked:
    """The samples of a dataset by what they ask, whatever is right.

    Args:
        named: The columns that the prompts of a run name.
    """

    def __init__(self, samples: Sequence[Sample], named: frozenset[str]) -> None:
        self._named = named
        self._samples: dict[str, list[Sample]] = {}
        self.met = set[str]()
        """What of it was looked for."""
        for sample in samples:
            self._samples.setdefault(self.key_without_target(sample, named), []).append(sample)

    def like(self, recorded: Sample) -> list[Sample]:
        """Return the samples that ask the same as a recorded one, one of each target."""
        key = self.key_without_target(recorded, self._named)
        self.met.add(key)
        return list({sample_key(one, self._named): one for one in self._samples.get(key, ())}.values())

    def not_met(self) -> int:
        """Return how many samples were not looked for."""
        return sum(len(samples) for key, samples in self._samples.items() if key not in self.met)

    def key_of(self, sample: Sample) -> str:
        """Return the key of a sample, as a run with these prompts records it."""
        return sample_key(sample, self._named)

    @staticmethod
    def key_without_target(sample: Sample, named: frozenset[str]) -> str:
        """Return the key of what a sample asks, whatever is right."""
        return sample_key(msgspec.structs.replace(sample, target=None), named)


def _compare(
    run_id: str,
    rows: Sequence[JobSample],
    asked: _Asked,
    known: Mapping[str, SampleContent],
    changes: list[TargetChange],
    left: list[LeftAlone],
) -> None:
    """Add what is to be changed of a run, and what is left alone."""
    taken = {row.sample_key for row in rows}
    for row in rows:
        if row.sample_key not in known:
            continue
        before = known[row.sample_key].sample(row.sample_id)
        like = asked.like(before)
        plain = msgspec.to_builtins(before.target)
        if not like or any(msgspec.to_builtins(one.target) == plain for one in like):
            continue
        if len(like) > 1:
            left.append(
                LeftAlone(run_id, row.sample_id, f"the dataset asks it {len(like)} times with different targets")
            )
            continue
        # with the columns that the run recorded: those of a file that corrects some rows may be others
        corrected = msgspec.structs.replace(before, target=like[0].target)
        key = asked.key_of(corrected)
        if key in taken:
            left.append(LeftAlone(run_id, row.sample_id, "the run has another sample that asks the same"))
            continue
        taken.add(key)
        content = msgspec.json.encode(SampleContent.of(corrected)).decode()
        changes.append(
            TargetChange(run_id, row.sample_id, row.recorded_key, key, before.target, like[0].target, content)
        )


def _contents(reader: Reader, keys: Collection[str]) -> dict[str, SampleContent]:
    decoder = msgspec.json.Decoder(SampleContent)
    return {row.sample_key: decoder.decode(row.sample) for row in reader.all(SampleText, keys=list(keys))}


def _recorded(reader: Reader, job: str, *, all_runs: bool) -> list[JobSample]:
    rows = reader.all(JobSample, job=None if all_runs else job, run_id=None)
    if not rows:
        jobs = [one.job for one in reader.all(JobRuns)]
        hint = nearest(job, jobs) or (f"it has: {', '.join(jobs)}" if jobs else f"`{commands.RUN_JOB}` starts one")
        raise InputError(Fault("JOB", f"the ledger has no run of {job!r}", hint))
    return rows


def _said(rows: Iterable[JobSample]) -> dict[str, datetime]:
    said: dict[str, datetime] = {}
    for row in rows:
        if row.said_at is not None:
            said[row.run_id] = max(row.said_at, said.get(row.run_id, row.said_at))
    return said


class _Prompts(NamedTuple):
    """The columns that the prompts of a job file name, or why that cannot be told."""

    named: frozenset[str] = frozenset()
    problem: str = ""


def _columns_of_prompts(
    reader: Reader, runs: Sequence[str], job: Job, left: list[LeftAlone]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Return each run with the columns that its prompts name: these are part of what it asked."""
    known = {job.text: _prompts(job.text, Path(job.path))}
    texts = {row.run_id: row.job_toml for row in reader.all(JobOfRun)}
    for run_id in runs:
        text = texts[run_id]
        if text not in known:
            known[text] = _prompts(text, Path(reader.only(Provenance, run_id=run_id).job_path))
        found = known[text]
        if found.problem:
            left.append(LeftAlone(run_id, None, f"its job file cannot be read any more: {found.problem}"))
        else:
            yield run_id, found.named


def _prompts(job_toml: str, path: Path) -> _Prompts:
    try:
        return _Prompts(_named(parse_job(job_toml, path)))
    except InputError as error:
        return _Prompts(problem=error.faults[0].problem)


def _named(job: Job) -> frozenset[str]:
    """Return the columns that the prompts of a job name."""
    return frozenset[str]().union(*(prompt.named for _, prompt in prompts_of(job)))
