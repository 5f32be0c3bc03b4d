"""What a job's gates say of a run: met, not met, or that its answers cannot tell."""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from workbench.display import exact_percent, percent, plural
from workbench.endings import EXIT_CODES, GateResult, GateVerdict, RunStatus
from workbench.errors import Fault, InputError
from workbench.evaluation.comparison_words import mean_text
from workbench.evaluation.difference_words import interval_text, signed, size, unit
from workbench.evaluation.run_figures import RunFindings, find_run, run_findings
from workbench.evaluation.sides import differences, sides_of
from workbench.job import Job
from workbench.job_file import PREVIOUS, GatesTable
from workbench.ledger.entries import GateDecided, RunEnded, newer_than
from workbench.ledger.ingest import Ingested, ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import Reader, reading
from workbench.ledger.rows import Provenance
from workbench.ledger.run_rows import RunItems
from workbench.ledger.score_rows import EarlierRun, OccasionScore
from workbench.ledger.store import Ledger
from workbench.stats.intervals import Interval
from workbench.stats.series import ScoreChange, changes


def gate_results(reader: Reader, found: RunFindings, items: Sequence[RunItems], gates: GatesTable) -> list[GateResult]:
    """Ask every gate of a job about a run that has ended.

    Args:
        reader: The ledger.
        found: The run.
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
    """Whether this occasion shows that a model has become worse; each change is told once, when it is seen."""
    run = found.provenance
    for scorer in gates.steady:
        series = occasion_scores(reader, run.job, scorer, run.started_at)
        if run.occasion is None or not series or run.run_id not in series[-1].run_ids:
            yield GateResult("steady", "cannot tell", "the run is not the newest occasion of its job", scorer)
            continue
        if unbounded := sum(one.unbounded for one in series):
            of = plural(len(series), "occasion")
            says = f"“{scorer}” has no scale for {plural(unbounded, 'score')} that are missing over {of}"
            yield GateResult("steady", "cannot tell", says, scorer)
            continue
        at_worst = worse_now(
            [one.completed("high") for one in series[:-1]] + [series[-1].completed("low")], gates.false_alarm_rate
        )
        at_best = worse_now(
            [one.completed("low") for one in series[:-1]] + [series[-1].completed("high")], gates.false_alarm_rate
        )
        for model, change in (at_worst | at_best).items():
            since = series[change.began_at].occasion
            less = size(-change.difference, are_shares=_are_shares(series))
            says = f"{model} scores {less} less by “{scorer}” since {since} ({plural(change.samples, 'sample')})"
            if model in at_best:
                yield GateResult("steady", "not met", says, scorer, model)
            else:
                told = f"{says} if the answers that are not known were not right"
                yield GateResult("steady", "cannot tell", told, scorer, model)
        if not at_worst and not at_best:
            rate = exact_percent(gates.false_alarm_rate)
            says = (
                f"no model has become worse by “{scorer}” over {plural(len(series), 'occasion')} (false alarms: {rate})"
            )
            yield GateResult("steady", "met", says, scorer)


class OccasionScores(msgspec.Struct, frozen=True):
    """The scores of one occasion of a job."""

    occasion: str
    run_ids: tuple[str, ...]
    at: datetime
    values: dict[str, dict[str, float]]
    """Model -> sample key -> score, to which the job reduces those of its epochs; those that are known."""
    lows: dict[str, dict[str, float]]
    highs: dict[str, dict[str, float]]
    """The same of all that was asked, were what is not known the lowest or the highest that it can be."""

    unbounded: int = 0
    """Scores that are missing, of which no scale says what they could be."""

    def completed(self, end: Literal["low", "high"]) -> "OccasionScores":
        """The same with the scores at one end in place of those that are known."""
        return msgspec.structs.replace(self, values=self.lows if end == "low" else self.highs)


def occasion_scores(reader: Reader, job: str, scorer: str, until_at: datetime | None = None) -> list[OccasionScores]:
    """The scores of a job's occasions, the oldest first.

    Args:
        reader: The ledger.
        job: Its name.
        scorer: By which scorer.
        until_at: Only occasions of runs that began until then; None takes all.
    """
    found: dict[str, OccasionScores] = {}
    for row in reader.all(OccasionScore, job=job, scorer=scorer, until_at=until_at):
        one = found.get(row.occasion)
        if one is None:
            one = found[row.occasion] = OccasionScores(row.occasion, (row.run_id,), row.started_at, {}, {}, {})
        if row.value is not None:
            one.values.setdefault(row.model, {})[row.sample_key] = row.value
        if row.low is None or row.high is None:
            found[row.occasion] = msgspec.structs.replace(one, unbounded=one.unbounded + 1)
            continue
        one.lows.setdefault(row.model, {})[row.sample_key] = row.low
        one.highs.setdefault(row.model, {})[row.sample_key] = row.high
    return list(found.values())


def series_changes(series: list[OccasionScores], rate: float) -> dict[str, list[ScoreChange]]:
    """Model -> its changes over the occasions; all models share the rate of false alarms."""
    models = list(dict.fromkeys(model for one in series for model in one.values))
    return {model: changes([one.values.get(model, {}) for one in series], rate / len(models)) for model in models}


def worse_now(series: list[OccasionScores], rate: float) -> dict[str, ScoreChange]:
    """The models that the newest occasion shows to have become worse."""
    newest = len(series) - 1
    return {
        model: found[-1]
        for model, found in series_changes(series, rate).items()
        if found and found[-1].seen_at == newest and found[-1].difference < 0
    }


def _are_shares(series: list[OccasionScores]) -> bool:
    return all(0 <= value <= 1 for one in series for scores in one.values.values() for value in scores.values())


def decide(ledger: Ledger, run_id: str, job: Job) -> tuple[list[GateResult], str | None, Ingested]:
    """Ask the gates of a job about a complete run of it, and record what they say.

    Args:
        ledger: With the run, scored.
        run_id: Which.
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
