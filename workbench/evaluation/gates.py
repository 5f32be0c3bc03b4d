"""What a job's gates say of a run: met, not met, or that its answers cannot tell."""

import contextlib
from collections.abc import Iterator, Sequence

from workbench.display import exact_percent, percent, plural
from workbench.endings import EXIT_CODES, GateResult, GateVerdict, RunStatus
from workbench.errors import Fault, InputError
from workbench.evaluation.alarms import Watch, watches
from workbench.evaluation.comparison_words import mean_text
from workbench.evaluation.difference_words import interval_text, signed, size, unit
from workbench.evaluation.run_figures import RunFindings, find_run, run_findings
from workbench.evaluation.sides import differences, least_answered, sides_of
from workbench.job.file import PREVIOUS, GatesTable
from workbench.job.job import Job
from workbench.ledger.entries import GateDecided, RunEnded, newer_than
from workbench.ledger.ingest import Ingested, ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import Reader, reading
from workbench.ledger.rows import Provenance
from workbench.ledger.run_rows import RunItems
from workbench.ledger.score_rows import EarlierRun
from workbench.ledger.store import Ledger
from workbench.stats.intervals import Interval


def gate_results(reader: Reader, found: RunFindings, items: Sequence[RunItems], gates: GatesTable) -> list[GateResult]:
    """Ask every gate of a job about a run that has ended.

    Args:
        items: Its requests, by model.
        gates: Of its job.

    Raises:
        InputError: The baseline is not a run of the ledger.
    """
    return [
        *_means(found, gates.min_mean),
        *_shares(found, items, gates),
        *_drops(reader, found, gates),
        *_steady(reader, found, gates),
        *_fallbacks(found, items),
    ]


def is_met(results: list[GateResult], gates: GatesTable) -> bool:
    """Whether a run passes, given what its job says of gates that cannot tell."""
    worst = ("not met",) if gates.on_uncertain == "pass" else ("not met", "cannot tell")
    return all(result.result not in worst for result in results)


def reason_of(results: list[GateResult]) -> str:
    """The gates that were not met, for the reason of the run's end."""
    failed, ended = [result.says for result in results if result.result == "not met"], "failed"
    if not failed:
        failed, ended = [result.says for result in results if result.result == "cannot tell"], "cannot tell"
    if len(failed) < 2:
        return "".join(failed)
    return f"{failed[0]} (and {plural(len(failed) - 1, 'more gate')} {ended})"


def _means(found: RunFindings, least: dict[str, float]) -> Iterator[GateResult]:
    """The mean of every model against the least that is wanted, by its 95 % interval."""
    for row, interval in found.scores:
        wanted = least.get(row.scorer)
        if wanted is not None:
            result, says = _beside(interval, wanted)
            told = f"{row.model} scores {says} by “{row.scorer}”; at least {wanted:g} is wanted"
            yield GateResult("min_mean", result, told, row.scorer, row.model)
    scored = {row.scorer for row, _ in found.scores}
    for scorer in least.keys() - scored:
        yield GateResult("min_mean", "cannot tell", f"nothing is scored by “{scorer}”", scorer)


def _beside(interval: Interval | None, wanted: float) -> tuple[GateVerdict, str]:
    if interval is None:
        return "cannot tell", "nothing"
    if interval.at_worst is None:
        return "cannot tell", f"{interval.mean:.3f} on what is scored, with no scale for the rest,"
    if interval.low is None or interval.high is None:
        return "cannot tell", f"{interval.mean:.3f} on {plural(interval.n, 'sample')}, too few for an interval,"
    says = f"{mean_text(interval)} [{interval.low:.3f}, {interval.high:.3f}] on {plural(interval.n, 'sample')}"
    return ("met" if interval.low >= wanted else "not met" if interval.high < wanted else "cannot tell"), says


def _shares(found: RunFindings, items: Sequence[RunItems], gates: GatesTable) -> Iterator[GateResult]:
    """Shares that are counted and need no test: of requests without an answer or with an unusable one, and of fallbacks."""
    planned, answered = found.provenance.planned, sum(row.answered for row in items)
    unusable = sum(row.unusable for row in items)
    for gate, most, part, what in (
        ("max_failed_share", gates.max_failed_share, planned - answered, "requests are unanswered"),
        ("max_unusable_share", gates.max_unusable_share, unusable, "answers are empty, cut off, refused or filtered"),
    ):
        if most is not None and planned:
            says = f"{part} of {planned} {what} ({percent(part / planned)}); at most {exact_percent(most)} may be"
            yield GateResult(gate, "met" if part / planned <= most else "not met", says)
    most = gates.max_fallback_share
    if most is not None and answered:
        sure, suspected = sum(row.fallbacks for row in items), sum(row.suspected for row in items)
        result: GateVerdict = "not met" if sure > most * answered else "met"
        if result == "met" and sure + suspected > most * answered:
            result = "cannot tell"
        says = f"{sure} of {answered} answers are of another model ({percent(sure / answered)})"
        says += f", and {suspected} under a name that is not the route's" if suspected else ""
        yield GateResult("max_fallback_share", result, f"{says}; at most {exact_percent(most)} may be")


def _fallbacks(found: RunFindings, items: Sequence[RunItems]) -> Iterator[GateResult]:
    if found.provenance.on_fallback != "fail":
        return
    if not any(row.fallbacks or row.suspected for row in items):
        yield GateResult("on_fallback", "met", "every answer is of the model that was asked, as far as names tell")
    for row in items:
        whole = f"of {plural(row.answered, 'answer')} of {row.model} are"
        if row.fallbacks:
            yield GateResult("on_fallback", "not met", f"{row.fallbacks} {whole} of another model", None, row.model)
        elif row.suspected:
            says = f"{row.suspected} {whole} under a name that is not the route's"
            yield GateResult("on_fallback", "cannot tell", says, None, row.model)


def _drops(reader: Reader, found: RunFindings, gates: GatesTable) -> Iterator[GateResult]:
    """Every model beside the same one of the baseline, on the samples of both."""
    run_id = found.provenance.run_id
    base = _baseline(reader, run_id, gates) if gates.max_drop else None
    for scorer, most in gates.max_drop.items():
        if base is None:
            says = f"no earlier run of {found.provenance.job!r} is complete, so there is nothing to compare with"
            yield GateResult("max_drop", "cannot tell", says, scorer)
            continue
        there = sides_of(reader, [base, run_id], scorer)
        before = {side.model: side for side in there.sides if side.run_id == base}
        own = [side for side in there.sides if side.run_id == run_id]
        for side in own:
            if side.model not in before:
                says = f"run {base} did not ask {side.model}, so there is nothing to compare with"
                yield GateResult("max_drop", "cannot tell", says, scorer, side.model)
        pairs = [(side, before[side.model]) for side in own if side.model in before]
        for one in differences(pairs, there.samples, are_shares=there.are_shares):
            says = f"{one.side.model} shares no sample with run {base} of which both scores are known"
            result: GateVerdict = "cannot tell"
            if one.found is not None:
                value = (
                    f"{signed(one.found.difference, are_shares=there.are_shares)}{unit(are_shares=there.are_shares)}"
                )
                bounds = interval_text(one, are_shares=there.are_shares)
                most_told = size(most, are_shares=there.are_shares)
                says = f"{one.side.model} differs by {value} {bounds} by “{scorer}” from run {base}; {most_told} less is allowed"
                says += f"; {one.unknown} of {one.asked} samples are unknown" if one.unknown else ""
            if one.low is not None and one.high is not None and not one.is_finished_only:
                result = "met" if one.low >= -most else "not met" if one.high < -most else "cannot tell"
            yield GateResult("max_drop", result, says, scorer, one.side.model)


def _baseline(reader: Reader, run_id: str, gates: GatesTable) -> str | None:
    if gates.baseline != PREVIOUS:
        named = find_run(reader, gates.baseline)
        if named == run_id:
            raise InputError(Fault("gates.baseline", f"run {run_id} is compared with itself"))
        return named
    return next((run.run_id for run in reader.all(EarlierRun, run_id=run_id)), None)


def _steady(reader: Reader, found: RunFindings, gates: GatesTable) -> Iterator[GateResult]:
    """Whether this occasion shows that a model has become worse, or a route slower; what earlier ones showed stays open."""
    run = found.provenance
    by_scorer: dict[str | None, list[Watch]] = {name: [] for name in gates.steady}
    for one in watches(reader, run.job, gates, least_answered([run]), run.started_at):
        by_scorer.setdefault(one.scorer, []).append(one)
    for scorer, each in by_scorer.items():
        if not each:
            yield GateResult("steady", "cannot tell", f"nothing is scored by “{scorer}”", scorer)
            continue
        if each[0].newest_run_id != run.run_id:
            if scorer is not None:
                yield GateResult("steady", "cannot tell", "the run is not the newest occasion of its job", scorer)
            continue
        told = [result for one in each for result in _watch_results(one, run.run_id)]
        yield from told
        if not told and scorer is not None:
            of, rate = plural(len(each[0].run_ids), "occasion"), exact_percent(gates.false_alarm_rate)
            says = f"no model has become worse by “{scorer}” over {of} (false alarms: {rate})"
            yield GateResult("steady", "met", says, scorer)


def _watch_results(watch: Watch, run_id: str) -> Iterator[GateResult]:
    """What the gate says of one model; nothing where it is as it was."""
    for alarm in watch.alarms:
        if alarm.fails_run_id == run_id:
            says = "; ".join(filter(None, (f"{alarm.what} ({plural(alarm.samples, 'sample')})", alarm.assumes)))
            yield GateResult("steady", "not met", says, watch.scorer, watch.model)
        elif alarm.state == "open":
            yield GateResult("steady", "open", alarm.says, watch.scorer, watch.model)
    is_open = any(alarm.state == "open" for alarm in watch.alarms)
    if watch.scorer is None or is_open or watch.run_ids[-1] != run_id:
        return
    if run_id not in watch.counting:
        known, of = watch.coverage.known, plural(watch.coverage.wanted, "sample")
        says = f"of {watch.model} {known} of {of} have a result by “{watch.scorer}”: too few to tell"
        yield GateResult("steady", "cannot tell", says, watch.scorer, watch.model)
    elif not watch.is_compared:
        says = f"{watch.model} has too few samples in common with the runs before, by “{watch.scorer}”, to compare them"
        yield GateResult("steady", "cannot tell", says, watch.scorer, watch.model)
    elif watch.is_possible:
        says = f"{watch.model} scores less by “{watch.scorer}” if the answers that are not known were not right"
        yield GateResult("steady", "cannot tell", says, watch.scorer, watch.model)


def evaluate_gates(ledger: Ledger, run_id: str, job: Job) -> tuple[list[GateResult], str | None, Ingested]:
    """Ask the gates of a job about a complete run of it, and record what they say.

    Args:
        ledger: With the run, scored.
        job: With its gates, if it has any.

    Returns:
        What each gate says; why the run does not pass, or None where it does; and how the ingest went.

    Raises:
        InputError: The baseline is not a run of the ledger.
        JournalFullError: The disk takes no more.
    """
    gates = job.gates or GatesTable()
    if job.gates is None and job.run.on_fallback != "fail":
        return [], None, Ingested()
    with reading(ledger) as reader:
        results = gate_results(reader, run_findings(reader, run_id), reader.all(RunItems, run_id=run_id), gates)
        run = reader.only(Provenance, run_id=run_id)
    reason = None if is_met(results, gates) else reason_of(results)
    now = newer_than([] if run.ended_at is None else [run.ended_at])
    with contextlib.closing(JournalWriter(ledger.journal_folder)) as journal:
        for one in results:
            journal.append(GateDecided(run_id, now, one.gate, one.result, one.says, one.scorer, one.model))
        if reason is not None:
            status = RunStatus.GATE_FAILED
            journal.append(RunEnded(run_id, now, status, EXIT_CODES[status], run.duration_s or 0.0, reason))
    return results, reason, ingest(ledger, whole=journal.whole)
