"""The figures of one run: rows of named queries, and the means and intervals that are computed from those."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

import workbench.display.commands as commands
from workbench.errors import Fault, InputError, nearest_id
from workbench.evaluation.agreements import RunAgreement, run_agreement
from workbench.evaluation.ranking import Ranking, standing
from workbench.ledger.queries import Reader
from workbench.ledger.rows import BrokenScorer, Provenance, RunId, RunNumbers, ScorerFaults
from workbench.ledger.run_rows import (
    OnRecord,
    RunClusterSum,
    RunItemOutcome,
    RunItems,
    RunLatency,
    RunOutcome,
    RunScore,
    RunServed,
    RunTokens,
    TakenOut,
    UnknownEnd,
)
from workbench.ledger.score_rows import CorrectedTarget, RunScorer
from workbench.records.endings import RunStatus, RunSummary, TokenSums
from workbench.records.outcomes import UNKNOWN_REASON
from workbench.scoring.judge import PENDING_BEGINS, asks_again
from workbench.scoring.scorer import FAILED
from workbench.stats.intervals import AskedValues, ClusterSum, Interval, mean_intervals

LAST = "last"
"""The newest run that is not a judge's, where the id of one is asked for."""


class RunFindings(msgspec.Struct, frozen=True):
    """What a run prints when it ends."""

    provenance: Provenance
    on_record: OnRecord
    outcomes: list[RunOutcome]
    served: list[RunServed]
    scores: list[tuple[RunScore, Interval | None]]
    """With the interval of the mean over all that was asked; None where nothing is known."""
    broken: list[BrokenScorer]
    unknown_ends: list[UnknownEnd]


class RunFigures(RunFindings, frozen=True):
    """Everything that a page or a command shows about a run, query by query."""

    items: list[RunItems]
    item_outcomes: list[RunItemOutcome]
    tokens: list[RunTokens]
    latency: list[RunLatency]
    numbers: RunNumbers
    standing: Ranking
    """How its models stand beside each other by its first scorer."""
    agreement: RunAgreement | None
    """How far the numbers and labels in its answers agree with the targets, where these are a scale or few classes."""
    taken_out: list[TakenOut]
    """Its samples that are in no mean."""
    corrected: list[CorrectedTarget]
    """Its samples that are scored by other targets than it recorded."""


def find_run(reader: Reader, named: object) -> str:
    """Return the id of the run that a user names.

    Args:
        named: An id, the beginning of a single one, or `last`, or what has an `id` as a run in Python has; None is the last as
            well.

    Raises:
        InputError: There is no such run, or several match.
    """
    named = getattr(named, "id", named)
    if not isinstance(named, str | None):
        raise InputError(Fault("run", f"expected the id of a run, found {named!r:.60}", LAST))
    runs = reader.all(RunId)
    known = [run.run_id for run in runs]
    if not known:
        which = f" {named!r}" if named not in (None, LAST) else ""
        raise InputError(
            Fault("RUN", f"there is no run{which}: the ledger is empty", f"`{commands.RUN_JOB}` starts one")
        )
    if named is None or named == LAST:
        return next((run.run_id for run in runs if not run.judges), known[0])
    if not named:
        raise InputError(Fault("RUN", "it is empty", f"`{commands.LIST_RUNS}` lists them"))
    begins = [run_id for run_id in known if run_id.startswith(named)]
    if named in known or len(begins) == 1:
        return named if named in known else begins[0]
    if begins:
        raise InputError(Fault("", f"{len(begins)} runs begin with {named!r}", ", ".join(begins[:5])))
    hint = nearest_id(named, known) or f"`{commands.LIST_RUNS}` lists them"
    raise InputError(Fault("", f"there is no run {named!r} in this ledger", hint))


def run_findings(reader: Reader, run_id: str) -> RunFindings:
    """Ask what a run of the ledger prints when it ends, and no more: it is part of every run's time."""
    provenance, on_record = reader.only(Provenance, run_id=run_id), reader.only(OnRecord, run_id=run_id)
    return RunFindings(
        provenance,
        on_record,
        reader.all(RunOutcome, run_id=run_id),
        reader.all(RunServed, run_id=run_id),
        _scores(reader, run_id, on_record) if on_record.scored else [],  # to find that out by itself takes 30 ms
        broken_scorers(scorer_faults(reader, [run_id])) if on_record.scored else [],
        reader.all(UnknownEnd, run_id=run_id, unknown_reason=UNKNOWN_REASON),
    )


def _scores(reader: Reader, run_id: str, on_record: OnRecord) -> list[tuple[RunScore, Interval | None]]:
    rows = reader.all(RunScore, run_id=run_id)
    clusters: dict[tuple[str, str], list[ClusterSum]] = {}
    if on_record.clustered:
        for row in reader.each(RunClusterSum, run_id=run_id):
            clusters.setdefault((row.model, row.scorer), []).append(ClusterSum(row.samples, row.low, row.high))
    asked = [
        AskedValues.counted(
            row.value_counts,
            row.lows,
            row.highs,
            (row.least, row.most),
            row.asked,
            clusters.get((row.model, row.scorer), ()),
        )
        for row in rows
    ]
    return list(zip(rows, mean_intervals(asked), strict=True))


def run_figures(reader: Reader, run_id: str) -> RunFigures:
    """Ask every query of the figures of a run that is there; see `find_run`."""
    reader = reader.about(run_id)
    found, scorers = run_findings(reader, run_id), reader.all(RunScorer, run_ids=[run_id])
    return RunFigures(
        found.provenance,
        found.on_record,
        found.outcomes,
        found.served,
        found.scores,
        found.broken,
        found.unknown_ends,
        reader.all(RunItems, run_id=run_id),
        reader.all(RunItemOutcome, run_id=run_id),
        reader.all(RunTokens, run_id=run_id),
        reader.all(RunLatency, run_id=run_id),
        reader.only(RunNumbers, run_id=run_id),
        standing(reader, found.provenance, scorers),
        run_agreement(reader, found.provenance, scorers),
        reader.all(TakenOut, run_id=run_id) if found.on_record.invalidated else [],
        [row for row in reader.all(CorrectedTarget, run_id=run_id) if row.is_corrected]
        if found.on_record.corrected
        else [],
    )


def run_summary(figures: RunFigures, ledger: str) -> RunSummary:
    """Return the numbers that the run's own process counted, from the ledger."""
    numbers, provenance = figures.numbers, figures.provenance
    outcomes: dict[str, int] = {}
    for one in figures.outcomes:
        outcomes[one.outcome] = outcomes.get(one.outcome, 0) + one.calls
    served: dict[str, int] = {}
    for row in figures.served:
        name = row.served_model or "unknown"
        served[name] = served.get(name, 0) + row.answers
    return RunSummary(
        run_id=provenance.run_id,
        job=provenance.job,
        status=RunStatus(provenance.status) if provenance.status else None,
        reason=provenance.reason,
        planned=numbers.planned,
        reused=numbers.reused,
        completed=numbers.completed,
        failed=numbers.failed,
        pending=numbers.pending,
        outcomes=outcomes,
        usage=TokenSums(*(getattr(numbers, name) for name in TokenSums.__struct_fields__)),
        served_models=served,
        simulated=provenance.simulated,
        duration_s=provenance.duration_s,
        ledger=ledger,
    )


def judges_nothing(broken: Sequence[BrokenScorer]) -> bool:
    """Return whether one of some scorers failed on every answer."""
    return any(one.failed == one.answers for one in broken)


def scorer_faults(reader: Reader, run_ids: Sequence[str]) -> list[ScorerFaults]:
    """Return the scorers of some runs that failed on answers, or judged some not yet."""
    return reader.all(ScorerFaults, run_ids=list(run_ids), failed=FAILED, pending=PENDING_BEGINS)


def broken_scorers(found: Iterable[ScorerFaults]) -> list[BrokenScorer]:
    """Return those that failed on answers."""
    return [
        BrokenScorer(row.run_id, row.scorer, row.failed, row.answers, row.failed_reason)
        for row in found
        if row.failed_reason is not None
    ]


class Unjudged(NamedTuple):
    """Answers of a run without a judgement."""

    answers: int
    again: str | None
    """What `--again` has to say for them; None where a judge was never asked about some."""


def unjudged_answers(found: Iterable[ScorerFaults]) -> dict[str, Unjudged]:
    """Run id -> its answers without a judgement; runs without any are left out."""
    by_run: dict[str, list[tuple[int, str]]] = {}
    for row in found:
        if row.pending_reason is not None:
            by_run.setdefault(row.run_id, []).append((row.pending, row.pending_reason))
    return {
        run_id: Unjudged(sum(number for number, _ in rows), asks_again(min(why for _, why in rows)))
        for run_id, rows in by_run.items()
    }


_COUNTS = {"value_counts", "lows", "highs"}
"""What the interval is computed from."""


def score_objects(figures: RunFindings) -> list[dict[str, Any]]:
    """Return the scores of a run with their intervals, as plain values."""
    return [
        {name: value for name, value in msgspec.structs.asdict(row).items() if name not in _COUNTS}
        | {"interval": None if interval is None else msgspec.to_builtins(interval)}
        for row, interval in figures.scores
    ]
