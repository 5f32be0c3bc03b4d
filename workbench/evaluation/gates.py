"""What a job's gates find of a run: met, not met, or that its answers cannot tell."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from workbench.errors import Fault, InputError
from workbench.evaluation.agreement_answers import PartKind, compared_parts
from workbench.evaluation.agreements import RunAgreement, SideAgreement, run_agreement
from workbench.evaluation.alarms import Watch, watches
from workbench.evaluation.references import references_of
from workbench.evaluation.run_figures import RunFindings, find_run, run_findings
from workbench.evaluation.sides import differences, least_answered, sides_of
from workbench.job.file import PREVIOUS, GatesTable, scorer_and_field
from workbench.job.job import Job
from workbench.ledger.entries import Entry, GateDecided, RunEnded, newer_than
from workbench.ledger.gates import (
    AgreementFigure,
    AgreementFound,
    DifferenceFound,
    GateFinding,
    MeanFound,
    NoDrop,
    OtherNames,
    OverConstant,
    OwnNames,
    ShareFound,
    Undecided,
    encoded,
)
from workbench.ledger.ingest import Ingested, record
from workbench.ledger.queries import Reader, reading
from workbench.ledger.rows import Provenance
from workbench.ledger.run_rows import RunItems
from workbench.ledger.score_rows import EarlierRun, RunScorer
from workbench.ledger.store import Ledger
from workbench.planning.expand import Plan
from workbench.planning.lint import Finding
from workbench.planning.references import spread_samples
from workbench.records.endings import EXIT_CODES, GateVerdict, RunStatus
from workbench.stats.agreement import Agreement
from workbench.stats.intervals import Interval
from workbench.stats.jackknife import Estimate


def gate_findings(
    reader: Reader, found: RunFindings, items: Sequence[RunItems], gates: GatesTable
) -> list[GateFinding]:
    """Ask every gate of a job about a run that has ended.

    Raises:
        InputError: The baseline is not a run of the ledger.
    """
    return [
        *_means(found, gates.min_mean),
        *_over_constants(reader, found, gates.min_over_constant),
        *_agreements(reader, found, gates),
        *_shares(found, items, gates),
        *_drops(reader, found, gates),
        *_steady(reader, found, gates),
        *_fallbacks(found, items),
    ]


def is_met(findings: Sequence[GateFinding], gates: GatesTable) -> bool:
    """Return whether a run passes, given what its job says of gates that cannot tell.

    A first run passes: a run that failed is not a baseline, so that none after it would have one either.
    """
    worst = ("not met",) if gates.on_uncertain == "pass" else ("not met", "cannot tell")
    return all(one.result not in worst or one.is_first for one in findings)


def _means(found: RunFindings, least: dict[str, float]) -> Iterator[GateFinding]:
    """Return the mean of every model against the least that is wanted, by its 95 % interval."""
    for row, interval in found.scores:
        wanted = least.get(row.scorer)
        if wanted is not None:
            yield GateFinding("min_mean", *_beside(interval, wanted), row.scorer, row.model)
    scored = {row.scorer for row, _ in found.scores}
    for scorer in least.keys() - scored:
        yield GateFinding("min_mean", "cannot tell", Undecided("nothing scored"), scorer)


def _over_constants(reader: Reader, found: RunFindings, least: dict[str, float]) -> Iterator[GateFinding]:
    """Return how far every model is above the best constant answer, on the samples that both have."""
    for scorer, wanted in least.items():
        there = sides_of(reader, [found.provenance.run_id], scorer)
        points = references_of(reader, found.provenance, there, scorer, "constant")
        constants = [one for one in points if one.scorer == scorer]
        beside = [(one, constant.constant or "") for constant in constants for one in constant.beside]
        if not beside:
            because: Literal["no constant", "nothing scored"] = "nothing scored" if constants else "no constant"
            yield GateFinding("min_over_constant", "cannot tell", Undecided(because), scorer)
        for one, constant in beside:
            value = None if one.found is None else one.found.difference
            over = OverConstant(constant, wanted, there.are_shares, one.asked, one.unknown, value, one.low, one.high)
            result = "cannot tell" if one.is_finished_only else _at_least(wanted, one.low, one.high)
            yield GateFinding("min_over_constant", result, over, scorer, one.side.model)


def _agreements(reader: Reader, found: RunFindings, gates: GatesTable) -> Iterator[GateFinding]:
    """Return how far every model agrees with the targets, or with one field of them, beside what is wanted."""
    settings = reader.all(RunScorer, run_ids=[found.provenance.run_id])
    scorers = {row.scorer for row in settings}
    agreements: dict[str, RunAgreement | None] = {}  # several gates may be about the same one
    for gate in _WANTED:
        for name, wanted in getattr(gates, gate).items():
            scorer, field = scorer_and_field(name, scorers)
            if scorer not in agreements:
                by = [row for row in settings if row.scorer == scorer]
                agreements[scorer] = run_agreement(reader, found.provenance, by)
            agreement = agreements[scorer]
            parts = [] if agreement is None else agreement.parts
            part = next((one for one in parts if one.field == field), None)
            if part is None:
                fields = ", ".join(one.field for one in parts if one.field is not None)
                because = Undecided("no field", fields) if fields else Undecided("no agreement")
                yield GateFinding(gate, "cannot tell", because, name)
                continue
            for side in part.sides:
                if not side.is_people:
                    yield GateFinding(gate, *_agreement(gate, side, wanted), name, side.name)


_WANTED: dict[str, tuple[PartKind, ...]] = {
    "min_kappa": ("numbers", "labels"),
    "min_macro_f1": ("labels",),
    "max_mean_error": ("numbers", "measurements"),
    "max_bias": ("numbers", "measurements"),
    "min_pearson": ("numbers", "measurements"),
    "min_spearman": ("numbers", "measurements"),
}
"""Gate on agreement -> of what targets it can be decided."""
_FIGURES: dict[str, tuple[AgreementFigure, str]] = {
    "min_macro_f1": ("macro F1", "macro_f1"),
    "max_mean_error": ("mean error", "absolute_error"),
    "max_bias": ("bias", "bias"),
    "min_pearson": ("pearson", "pearson"),
    "min_spearman": ("spearman", "spearman"),
}
"""The others than kappa -> the figure, and its field in the agreement of the answers that have one."""


def undecidable_gates(plan: Plan) -> Iterator[Finding]:
    """Return the gates on agreement that no run of a job can meet or miss, as its targets define no such figure."""
    gates, scorers = plan.job.gates or GatesTable(), {one.named: one for one in plan.job.scorers}
    named = [(gate, name) for gate in _WANTED for name in getattr(gates, gate)]
    samples = spread_samples(plan) if named else {}
    for gate, name in named:
        label, field = scorer_and_field(name, scorers)
        scorer = scorers[label]
        parts = compared_parts(scorer, samples)[0]
        part = next((one for one in parts if one.field == field), None)
        if part is not None and part.kind in _WANTED[gate]:
            continue
        option = "target_scales" if scorer.reads == "fields" else "target_scale"
        declares = f'; {option} declares one, or "unbounded"' if scorer.reads in ("number", "fields") else ""
        text = f"no run can meet it or miss it: the targets of {name!r} are no scale and no few classes that it is defined for"
        yield Finding(plan.job.where("gates", gate, name), f"{text}{declares}")


def _agreement(gate: str, side: SideAgreement, wanted: float) -> tuple[GateVerdict, AgreementFound]:
    """Return one model's figure by its 95 % interval."""
    figure, value = _figure(gate, side)
    found = AgreementFound(figure, wanted, side.asked, side.unknown)
    if value is None:
        return "cannot tell", found
    low, high = value.low, value.high
    left_out = side.not_right if figure in ("pearson", "spearman") else 0
    # over the others it may be what it would be without the hard ones
    if value.at_lowest is None and (side.unknown or left_out):
        low = high = None
    found = msgspec.structs.replace(
        found,
        value=value.value,
        at_lowest=value.at_lowest,
        at_highest=value.at_highest,
        low=low,
        high=high,
        left_out=left_out,
    )
    if low is None or high is None:
        return "cannot tell", found
    if gate == "max_bias":
        is_met, is_missed = -wanted <= low and high <= wanted, low > wanted or high < -wanted
    elif gate == "max_mean_error":
        is_met, is_missed = high <= wanted, low > wanted
    else:
        return _at_least(wanted, low, high), found
    return "met" if is_met else "not met" if is_missed else "cannot tell", found


def _figure(gate: str, side: SideAgreement) -> tuple[AgreementFigure, Estimate | None]:
    """Return what a gate looks at; None where it is not defined, or of another kind of answers."""
    if gate == "min_kappa":
        return "weighted kappa" if isinstance(side.found, Agreement) else "kappa", side.kappa
    figure, name = _FIGURES[gate]
    return figure, getattr(side.found, name, None)


def _beside(interval: Interval | None, wanted: float) -> tuple[GateVerdict, MeanFound]:
    if interval is None:
        return "cannot tell", MeanFound(wanted)
    low, high = interval.low, interval.high
    found = MeanFound(wanted, interval.n, interval.mean, interval.at_worst, interval.at_best, low, high)
    return "cannot tell" if interval.at_worst is None else _at_least(wanted, low, high), found


def _at_least(wanted: float, low: float | None, high: float | None) -> GateVerdict:
    """Return whether an interval shows that a figure is at least as high as is wanted."""
    if low is None or high is None:
        return "cannot tell"
    return "met" if low >= wanted else "not met" if high < wanted else "cannot tell"


def _shares(found: RunFindings, items: Sequence[RunItems], gates: GatesTable) -> Iterator[GateFinding]:
    """Shares that are counted and need no test: of requests without an answer or with an unusable one, and of fallbacks."""
    planned, answered = found.provenance.planned, sum(row.answered for row in items)
    unusable = sum(row.unusable for row in items)
    for gate, most, part in (
        ("max_failed_share", gates.max_failed_share, planned - answered),
        ("max_unusable_share", gates.max_unusable_share, unusable),
    ):
        if most is not None and planned:
            yield GateFinding(gate, "met" if part / planned <= most else "not met", ShareFound(part, planned, most))
    most = gates.max_fallback_share
    if most is not None and not answered:
        yield GateFinding("max_fallback_share", "cannot tell", Undecided("nothing answered"))
    elif most is not None:
        sure, suspected = sum(row.fallbacks for row in items), sum(row.suspected for row in items)
        result: GateVerdict = "not met" if sure > most * answered else "met"
        if result == "met" and sure + suspected > most * answered:
            result = "cannot tell"
        yield GateFinding("max_fallback_share", result, ShareFound(sure, answered, most, suspected))


def _fallbacks(found: RunFindings, items: Sequence[RunItems]) -> Iterator[GateFinding]:
    if found.provenance.on_fallback != "fail":
        return
    if not any(row.answered for row in items):
        yield GateFinding("on_fallback", "cannot tell", Undecided("nothing answered"))
    elif not any(row.fallbacks or row.suspected for row in items):
        yield GateFinding("on_fallback", "met", OwnNames())
    for row in items:
        if row.fallbacks:
            of_another = OtherNames(row.fallbacks, row.answered, "fallback")
            yield GateFinding("on_fallback", "not met", of_another, None, row.model)
        elif row.suspected:
            suspected = OtherNames(row.suspected, row.answered, "suspected")
            yield GateFinding("on_fallback", "cannot tell", suspected, None, row.model)


def _drops(reader: Reader, found: RunFindings, gates: GatesTable) -> Iterator[GateFinding]:
    """Return every model beside the same one of the baseline, on the samples of both."""
    run_id = found.provenance.run_id
    base = _baseline(reader, run_id, gates) if gates.max_drop else None
    for scorer, most in gates.max_drop.items():
        if base is None:
            none = Undecided("no earlier run", found.provenance.job)
            yield GateFinding("max_drop", "cannot tell", none, scorer)
            continue
        if not _scored_alike(reader, found.provenance, base, scorer):
            yield GateFinding("max_drop", "cannot tell", Undecided("other settings", base), scorer)
            continue
        there = sides_of(reader, [base, run_id], scorer)
        before = {side.model: side for side in there.sides if side.run_id == base}
        own = [side for side in there.sides if side.run_id == run_id]
        for side in own:
            if side.model not in before:
                yield GateFinding("max_drop", "cannot tell", Undecided("not in the baseline", base), scorer, side.model)
        pairs = [(side, before[side.model]) for side in own if side.model in before]
        for one in differences(pairs, there.samples, are_shares=there.are_shares):
            value = None if one.found is None else one.found.difference
            beside = DifferenceFound(base, most, there.are_shares, one.asked, one.unknown, value, one.low, one.high)
            result = "cannot tell" if one.is_finished_only else _at_least(-most, one.low, one.high)
            yield GateFinding("max_drop", result, beside, scorer, one.side.model)


def _scored_alike(reader: Reader, run: Provenance, base: str, scorer: str) -> bool:
    """Return whether a scorer had the same settings in two runs, and their epochs are reduced alike."""
    rows = reader.all(RunScorer, run_ids=[base, run.run_id])
    reducers = {run.reduce or "mean", reader.only(Provenance, run_id=base).reduce or "mean"}
    return len({row.scorer_config for row in rows if row.scorer == scorer}) < 2 and len(reducers) == 1


def _baseline(reader: Reader, run_id: str, gates: GatesTable) -> str | None:
    if gates.baseline != PREVIOUS:
        named = find_run(reader, gates.baseline)
        if named == run_id:
            raise InputError(Fault("gates.baseline", f"run {run_id} is compared with itself"))
        return named
    return next((run.run_id for run in reader.all(EarlierRun, run_id=run_id)), None)


def _steady(reader: Reader, found: RunFindings, gates: GatesTable) -> Iterator[GateFinding]:
    """Return whether this occasion shows that a model has become worse, or a route slower;
    what earlier ones showed stays open.
    """
    run = found.provenance
    by_scorer: dict[str | None, list[Watch]] = {name: [] for name in gates.steady}
    for one in watches(reader, run.job, gates, least_answered([run]), run.started_at):
        by_scorer.setdefault(one.scorer, []).append(one)
    for scorer, each in by_scorer.items():
        if not each:
            yield GateFinding("steady", "cannot tell", Undecided("nothing scored"), scorer)
            continue
        if each[0].newest_run_id != run.run_id:
            if scorer is not None:
                yield GateFinding("steady", "cannot tell", Undecided("not the newest"), scorer)
            continue
        findings = [finding for one in each for finding in _watch_findings(one, run.run_id)]
        yield from findings
        if not findings and scorer is not None:
            yield GateFinding(
                "steady", "met", NoDrop(max(len(one.counting) for one in each), gates.false_alarm_rate), scorer
            )


def _watch_findings(watch: Watch, run_id: str) -> Iterator[GateFinding]:
    """Return what the gate finds of one model; nothing where it is as it was."""
    for alarm in watch.alarms:
        if alarm.fails_run_id == run_id:
            yield GateFinding("steady", "not met", alarm.found, watch.scorer, watch.model)
        elif alarm.state == "open":
            yield GateFinding("steady", "open", alarm.found, watch.scorer, watch.model)
    is_open = any(alarm.state == "open" for alarm in watch.alarms)
    if watch.scorer is None or is_open or watch.run_ids[-1] != run_id:
        return
    undecided: Undecided | None = None
    if run_id not in watch.counting:
        undecided = Undecided("too few known", known=watch.coverage.known, wanted=watch.coverage.wanted)
    elif not watch.is_compared:
        undecided = Undecided("too few shared")
    elif watch.is_possible:
        undecided = Undecided("less at the worst")
    if undecided is not None:
        yield GateFinding("steady", "cannot tell", undecided, watch.scorer, watch.model)


def ask_gates(ledger: Ledger, run_id: str, job: Job) -> tuple[Provenance, list[GateFinding]] | None:
    """Ask the gates of a job about a complete run of it; None where it has none.

    Returns:
        How the run began and ended, and what each gate finds.
    """
    if job.gates is None and job.run.on_fallback != "fail":
        return None
    with reading(ledger) as reader:
        found, items = run_findings(reader, run_id), reader.all(RunItems, run_id=run_id)
        return found.provenance, gate_findings(reader, found, items, job.gates or GatesTable())


def record_gates(ledger: Ledger, run: Provenance, findings: Sequence[GateFinding], reason: str | None) -> Ingested:
    """Record what the gates of a complete run found.

    Args:
        reason: Why it does not pass; None: it does.
    """
    now = newer_than([] if run.ended_at is None else [run.ended_at])
    entries: list[Entry] = [
        GateDecided(run.run_id, now, one.gate, one.result, "", one.scorer, one.model, encoded(one.evidence))
        for one in findings
    ]
    status = RunStatus.COMPLETE if reason is None else RunStatus.GATE_FAILED
    if status != run.status:
        entries.append(RunEnded(run.run_id, now, status, EXIT_CODES[status], run.duration_s or 0.0, reason))
    return record(ledger, entries)


def record_status(ledger: Ledger, run_id: str, status: RunStatus, exit_code: int, reason: str | None) -> Ingested:
    """Record that a run has ended otherwise than its calls did: its judgements are still to be asked for, or are there now."""
    with reading(ledger, frugal=True) as reader:
        run = reader.only(Provenance, run_id=run_id)
    now = newer_than([] if run.ended_at is None else [run.ended_at])
    return record(ledger, [RunEnded(run_id, now, status, exit_code, run.duration_s or 0.0, reason)])
