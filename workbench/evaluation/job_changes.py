"""What the newest run of a job shows against the one before it, and what had changed between its runs."""

import tomllib
from collections.abc import Sequence

import msgspec

from workbench.display.text import plural
from workbench.evaluation.differing import NO_MATTER
from workbench.ledger.job_rows import JobCourse, JobRun
from workbench.ledger.queries import Reader
from workbench.ledger.score_rows import BesideBefore, CountedDifferences, JobPair
from workbench.stats.paired import LEVEL, Bounded, Paired, holm, of_counts, paired, with_bound


class JobChange(msgspec.Struct, frozen=True):
    """One model in the newest run of a job, beside the run before."""

    job: str
    run_id: str
    before_run_id: str
    scorer: str
    model: str
    found: Bounded
    are_shares: bool
    """Whether every answer is right or wrong, so that differences are points."""
    adjusted_p: float
    """For all models of the job."""

    @property
    def verdict(self) -> str:
        """better, worse, or none shown; nothing is, where no scale says what the missing scores could be."""
        if self.adjusted_p >= LEVEL or self.found.at_lowest is None:
            return "none shown"
        return "better" if self.found.is_ahead else "worse"

    @property
    def known(self) -> Paired:
        """On the samples of which something is known in both runs."""
        assert self.found.finished is not None
        return self.found.finished


def job_changes(reader: Reader) -> dict[str, list[JobChange]]:
    """By job what its two newest runs show of each model, where they asked anything again."""
    found: dict[str, list[JobChange]] = {}
    rows: dict[str, list[tuple[BesideBefore, Bounded]]] = {}
    runs = [run for pair in reader.all(JobPair) for run in (pair.run_id, pair.before_run_id)]
    for row in reader.about(*runs).all(BesideBefore) if runs else ():
        rows.setdefault(row.job, []).append((row, _bounded(row)))
    for name, pairs in rows.items():
        adjusted = holm([1.0 if pair.p_value is None else pair.p_value for _, pair in pairs])
        found[name] = [
            JobChange(name, row.run_id, row.before_run_id, row.scorer, row.model, pair, row.known["is_binary"], p_value)
            for (row, pair), p_value in zip(pairs, adjusted, strict=True)
        ]
    return found


def _bounded(row: BesideBefore) -> Bounded:
    known = _pair(row.known)
    if row.lowest is None or row.highest is None:
        return Bounded(known)
    if row.lowest == row.highest:
        return Bounded(known, known, known)
    return Bounded(known, _pair(row.lowest), _pair(row.highest))


def _pair(counted: CountedDifferences) -> Paired:
    if counted["clustered"] is not None:
        newest, before, clusters = zip(
            *((one["newest"], one["before"], one["cluster"]) for one in counted["clustered"]), strict=True
        )
        return paired(newest, before, clusters, span=counted["span"])
    found = of_counts(
        counted["samples"],
        counted["better"],
        counted["worse"],
        counted["difference"],
        counted["deviation"],
        is_binary=counted["is_binary"],
    )
    return with_bound(found, counted["span"])


_TOLD_APART = {"dataset", "scorers"}
"""What is found in more than the job file: a dataset of the same name may have other rows."""
_ASKS_NOTHING_ELSE = NO_MATTER | {"budget"}  # how a budget ended a run is said of that run


def changed_since_before(runs: Sequence[JobRun], course: Sequence[JobCourse]) -> dict[str, str]:
    """Return what had changed since the run before, by run; an empty text where nothing had.

    Args:
        runs: Of a job, the newest first.
    """
    models: dict[str, list[JobCourse]] = {}
    for row in course:
        models.setdefault(row.run_id, []).append(row)
    found, served = {}, _Served()
    for run, before in zip(reversed(runs), [None, *reversed(runs[1:])], strict=True):
        names = served.changed(models.get(run.run_id, []))
        found[run.run_id] = "" if before is None else ", ".join(_changed(run, before) + names)
    return found


class _Served:
    """Who answered for each model in its runs so far; a run without an answer of it says nothing."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._stand_ins: dict[str, str | None] = {}

    def changed(self, models: Sequence[JobCourse]) -> list[str]:
        """Return what is new in the next run: another name of a model, another model in its place, or itself again."""
        return [text for row in models for text in (self._stand_in(row), self._name(row)) if text]

    def _name(self, row: JobCourse) -> str:
        if row.served_model is None:
            return ""
        before = self._names.get(row.model)
        self._names[row.model] = row.served_model
        return f"{row.model} is served as {row.served_model}" if before not in (None, row.served_model) else ""

    def _stand_in(self, row: JobCourse) -> str:
        if row.failed_share == 1:
            return ""
        before = self._stand_ins.get(row.model, row.stand_in)
        self._stand_ins[row.model] = row.stand_in
        if row.stand_in == before:
            return ""
        return (
            f"{row.model} itself answers again" if row.stand_in is None else f"{row.stand_in} answers for {row.model}"
        )


def _changed(row: JobRun, before: JobRun) -> list[str]:
    changed = ["dataset"] if row.dataset_hash != before.dataset_hash else []
    if row.corrected != before.corrected:
        corrected, where = (before.corrected, "before it") if before.corrected else (row.corrected, "from here on")
        changed.append(f"{plural(corrected, 'target')} corrected {where}")
    changed += ["scorers"] if row.scorers != before.scorers else []
    if row.job_hash != before.job_hash:
        new, old = (tomllib.loads(one.job_toml) for one in (row, before))
        parts = [name for name in {**new, **old} if new.get(name) != old.get(name)]
        named = [name for name in parts if name not in _TOLD_APART and name not in _ASKS_NOTHING_ELSE]
        changed += named or ([] if parts else ["job file"])
    return changed
