"""A run in words: which model leads and how sure that is, what went wrong, how its requests ended, and how to resume it."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import workbench.display.commands as commands
from workbench.display.text import count, plural, visible, words
from workbench.evaluation.attention import constancy, fallbacks, suspected, unconfirmed
from workbench.evaluation.failures import planned_by_model
from workbench.evaluation.ranking import Ranking
from workbench.evaluation.run_figures import RunFigures, RunFindings
from workbench.evaluation.sides import Difference, ModelResult
from workbench.job.narrowing import part_of
from workbench.ledger.rows import BrokenScorer, Provenance
from workbench.ledger.run_rows import RunItems, RunOutcome, UnknownEnd
from workbench.records.endings import (
    BASE_GENERATION,
    FILLED,
    FILLED_SHEET,
    FILLED_TO,
    JUDGED_RUN,
    RunStatus,
    RunSummary,
)
from workbench.records.outcomes import EFFECTS, Outcome
from workbench.routes.facts import TAG as PROBE
from workbench.scoring.judge import CUT_OFF, IN_VAIN, asks_again
from workbench.scoring.scorer import FAILED
from workbench.settings.endpoint import LOCAL
from workbench.wording.comparisons import not_ranked_words, shown_text
from workbench.wording.references import floor_text
from workbench.wording.routes import unconfirmed_text
from workbench.wording.scores import interval_text, mean_text, score_text, signed, size

_NAMED = 3  # models that a sentence names; the tables have them all
_MOST_NAMES = 5  # served names that are asked to be confirmed
_NOTED = 0.05  # of a model's requests; less is in the table


def run_verdict(figures: RunFigures) -> str:
    """Return the run in a few sentences, with their numbers."""
    found = figures.standing
    said = floor_text(found.floor), leader(found), _not_asked(figures), coverage(figures) or worst_failure(figures)
    return " ".join(filter(None, said))


def _not_asked(figures: RunFigures) -> str:
    """Return the models that a run was to ask, and asked nothing while it asked others."""
    asked = {row.model for row in figures.items}
    left = [model for model in planned_by_model(figures) if model not in asked]
    if not asked or not left:
        return ""
    more = [f"{len(left) - _NAMED} more"] if len(left) > _NAMED else []
    return f"Not asked: {words([*left[:_NAMED], *more])}."


def leader(found: Ranking) -> str:
    """Return which model scores best, what a paired test shows of that, and which are not ranked."""
    known = [side for side in found.sides if side.interval is not None]
    if found.scorer is None or not known:
        return ""
    by = f"by “{found.scorer}”"
    if len(known) == 1 and found.means:
        return f"{known[0].model} scores {score_text(known[0])} {by} on {plural(known[0].samples, 'sample')}."
    return " ".join(filter(None, (_best(found, by), _unranked(found))))


def same_samples_text(found: Ranking, *, are_all_sent: bool, repeats: bool) -> str:
    """Return what the number of samples beside each mean says where it is the same for every model; empty where it is not.

    Args:
        are_all_sent: Whether no planned request is left: only then are as many samples the same ones.
        repeats: Whether each sample was asked several times.
    """
    numbers = {side.samples for side in found.sides}
    if len(found.sides) < 2 or len(numbers) > 1 or not are_all_sent or numbers == {0}:
        return ""
    of_each = "; the repeats of a sample count as one" if repeats else ""
    return f"Every mean is over the same {plural(numbers.pop(), 'sample')}{of_each}."


def _best(found: Ranking, by: str) -> str:
    ranked = [side for side in found.sides if side.model in found.means]
    if not ranked:
        return f"No model is ranked {by}."
    if len(ranked) == 1:
        return f"{ranked[0].model} scores {score_text(ranked[0])} {by} on {plural(ranked[0].samples, 'sample')}."
    if len(found.leading) > 1:
        tied = f"{mean_text(found.means[found.leading[0]])}{_on(found)}"
        return f"{_named(found.leading)} tie for best {by}: {tied}.{_others_behind(found)}"
    behind = _ranked_behind(found)
    if len(behind) == 1:
        return _two(found, behind[0], by)
    return _several(found, behind, by)


def _ranked_behind(found: Ranking) -> list[Difference]:
    return [one for one in found.differences.values() if one.side.model in found.means]


def _unranked(found: Ranking) -> str:
    """Return the models that are not ranked, and why."""
    sides = [side for side in found.unranked if side.coverage.wanted]
    if not sides:
        return ""
    by_reason: dict[str, list[str]] = {}
    for side in sides[:_NAMED]:
        by_reason.setdefault(not_ranked_words(side.coverage, found.min_answered), []).append(side.model)
    named = [f"{words(models)} ({'each: ' if len(models) > 1 else ''}{why})" for why, models in by_reason.items()]
    more = [f"{len(sides) - _NAMED} more"] if len(sides) > _NAMED else []
    return f"Not ranked: {'; '.join([*named, *more])}."


def _two(found: Ranking, one: Difference, by: str) -> str:
    if one.verdict == "worse":
        return f"{one.baseline.model} is better than {one.side.model} {by}, by {_lead(one, found)}."
    means = f"{_mean(one.baseline)} and {_mean(one.side)}"
    return f"{one.baseline.model} scores higher than {one.side.model} {by}, {means}, but {_not_shown(one, found)}."


def _several(found: Ranking, behind: list[Difference], by: str) -> str:
    best, others = behind[0].baseline, len(behind)
    unclear = [one for one in behind if one.verdict != "worse"]
    if not unclear:
        nearest = behind[0]
        every = "both" if others == 2 else f"all {others}"
        ahead = f"than the nearest, {nearest.side.model}, by {_lead(nearest, found)}"
        return f"{best.model} is better than {every} others {by}; {ahead}."
    text = f"{best.model} scores best {by}, {_mean(best)}{_on(found)}"
    if len(unclear) == others:
        return f"{text}, but is not shown to be better than any of the {others} others."
    shown = [one.side.model for one in behind if one not in unclear]
    rest = shown[0] if len(shown) == 1 else f"the {len(shown)} others"
    not_shown = _named([one.side.model for one in unclear])
    return f"{text}; it is better than {rest}, but is not shown to be better than {not_shown}."


def _others_behind(found: Ranking) -> str:
    behind = [one for one in _ranked_behind(found) if one.side.model not in found.leading]
    shown = sum(one.verdict == "worse" for one in behind)
    if not behind:
        return ""
    if len(behind) == 1 and behind[0].found is None:
        return f" {behind[0].side.model} shares no sample with them."
    if len(behind) == 1:
        return f" {behind[0].side.model} is {'worse' if shown else 'not shown to be worse'}."
    if not shown:
        return f" None of the {len(behind)} others is shown to be worse."
    return f" {shown} of the {len(behind)} others {'is' if shown == 1 else 'are'} shown to be worse."


def _lead(one: Difference, found: Ranking) -> str:
    """Return how far the best is ahead: `24.5 points [11.5, 38.1], 12–0 on 49 samples`."""
    assert one.found is not None
    bounds = ""
    if one.low is not None and one.high is not None:
        ends = (signed(-end, are_shares=found.are_shares).removeprefix("+") for end in (one.high, one.low))
        bounds = f" [{', '.join(ends)}]"
    ahead = size(-one.found.difference, are_shares=found.are_shares)
    rests = (
        ""
        if one.among_scored is None
        else ", in right answers delivered: on those that both were scored on it is not shown"
    )
    return f"{ahead}{bounds}, {one.found.worse}–{one.found.better} on {plural(one.shared, 'sample')}{rests}"


def _not_shown(one: Difference, found: Ranking) -> str:
    if one.found is None:
        return "they share no sample of which both scores are known"
    if one.verdict == "open":
        counts = f"({one.found.worse}–{one.found.better})"
        return (
            f"that is shown on the {one.shared} known of both only {counts}: {one.unknown} of {one.asked} are unknown"
        )
    counts = f"{one.found.worse}–{one.found.better} on {plural(one.shared, 'sample')}"
    if one.verdict == "better":  # on the samples of these two alone
        return f"on the samples that both share it is behind ({counts})"
    if one.verdict == "too few":
        return f"too few samples differ to tell ({counts})"
    reach = "" if one.detectable is None else f"; could have shown ±{size(one.detectable, are_shares=found.are_shares)}"
    return f"no difference is shown ({counts}{reach})"


def _mean(side: ModelResult) -> str:
    """Return a side's mean over all asked."""
    return "unscored" if side.interval is None else mean_text(side.interval)


def _on(found: Ranking) -> str:
    asked = {side.samples for side in found.sides if side.model in found.means}
    return f" on {plural(asked.pop(), 'sample')}" if len(asked) == 1 else " on the samples that each was asked"


def _named(models: list[str] | tuple[str, ...]) -> str:
    more = [f"{len(models) - _NAMED} more"] if len(models) > _NAMED else []
    return words([*models[:_NAMED], *more])


def coverage(figures: RunFigures) -> str:
    """Return how many of several models gave no answer of use, and why; empty where at most one did."""
    scored = {side.model for side in figures.standing.sides if side.scored}  # a refusal may be right
    without: Counter[str] = Counter()
    for row in figures.items:
        if not row.usable and row.model not in scored and (why := _mostly(figures, row)):
            without[why] += 1
    if without.total() < 2:  # one is told with its numbers
        return ""
    kinds = ", ".join(f"{number} {why}" for why, number in without.most_common())
    what = "combination" if figures.provenance.variants else "model"
    return f"{without.total()} of {plural(len(figures.items), what)} gave no answer of use: {kinds}."


def _mostly(figures: RunFigures, row: RunItems) -> str:
    """Return what most of a model's answers are that are of no use; empty where its samples are taken out of the scores."""
    kinds = {"answered by another model": row.fallbacks + row.suspected}
    kinds |= {"cut off": row.cut_off, "refused or filtered": row.refused}
    kinds |= {name.replace("_", " "): number for name, number in _failed_as(figures, row.model).items()}
    if any(kinds.values()):
        return max(kinds, key=lambda kind: kinds[kind])
    return "" if row.answered else "not asked"


def behind_texts(found: Ranking, model: str) -> tuple[str, str] | None:
    """Return by how much a model is behind the best of its run, and the interval of that; None where it is not known."""
    one = found.differences.get(model)
    if one is None or one.found is None:
        return None
    are_shares = found.are_shares
    return signed(one.found.difference, are_shares=are_shares), interval_text(one, are_shares=are_shares)


def rank_text(found: Ranking, model: str) -> str:
    """Return what is shown of a model beside the others of its run."""
    if model in found.leading and (found.differences or len(found.leading) > 1):
        return "best" if len(found.leading) == 1 else "tie for best"
    one = found.differences.get(model)
    side = next((side for side in found.unranked if side.model == model and side.coverage.wanted), None)
    shown = "" if one is None else shown_text(one, are_shares=found.are_shares)
    if side is None:
        return shown
    reason = (
        "only a fallback answered"
        if side.left_out and not side.scored
        else not_ranked_words(side.coverage, found.min_answered)
    )
    return "; ".join(filter(None, (shown, f"not ranked: {reason}")))


class FailureCount(NamedTuple):
    """Something that went wrong, and how many requests it touched."""

    requests: int
    says: str


def worst_failure(figures: RunFigures) -> str:
    """Return the worst that happened to the run's requests; that all are answered, where nothing did."""
    planned = figures.numbers.planned
    if not planned:
        return "The run has no requests."
    found = sorted(_failures(figures), key=lambda one: -one.requests)
    if found:
        return found[0].says.replace("all ", "All ", 1) if found[0].says.startswith("all ") else found[0].says
    answered = figures.numbers.reused + figures.numbers.completed
    if answered == planned:
        return "The request is answered." if planned == 1 else f"All {count(planned)} requests are answered."
    return f"{count(answered)} of {plural(planned, 'request')} are answered."


def _failures(figures: RunFigures) -> Iterator[FailureCount]:
    numbers, planned = figures.numbers, figures.numbers.planned
    if numbers.pending:
        whole = numbers.pending + numbers.failed
        part = f"{count(whole)} of {plural(planned, 'request')}"
        if numbers.failed:
            why = _causes(sum((Counter(_failed_as(figures, row.model)) for row in figures.items), Counter[str]()))
            rest = f"{count(numbers.pending)} not sent, in flight or interrupted"
            yield FailureCount(whole, f"{part} have no answer: {count(numbers.failed)} failed{why}, {rest}.")
        else:
            yield FailureCount(whole, f"{part} have no answer yet: not sent, in flight or interrupted.")
    for row in figures.items:
        yield from _of_model(figures, row)
    for one in figures.broken:
        yield FailureCount(one.failed, f"{broken_text(one)}.")
    for side in figures.standing.sides:
        if side.unread > _NOTED * side.asked:
            judged = f"“{figures.standing.scorer}” could not judge {_part(side.unread, side.answered)} answers of {side.model}."
            yield FailureCount(side.unread, judged)


def _of_model(figures: RunFigures, row: RunItems) -> Iterator[FailureCount]:
    """Return what went wrong with one model's requests."""
    model, items = row.model, row.items
    failed = _failed_as(figures, model)
    if failed and sum(failed.values()):
        whole = sum(failed.values())
        planned = planned_by_model(figures).get(model, items)
        left = (
            f"left {_part(whole, items) if items > 1 else 'its only request'} unanswered"
            if planned == items
            else f"failed on {count(whole)} of {count(planned)}"
        )
        yield FailureCount(whole, f"{model} {left}{_causes(failed)}.")
    if row.fallbacks:
        name = next((side.fallback_name for side in figures.standing.sides if side.model == model), None)
        counted = "count all the same" if figures.provenance.on_fallback == "accept" else "do not count"
        says = f"{_part(row.fallbacks, row.answered)} answers of {model} came from {name} and {counted}."
        yield FailureCount(row.fallbacks, says)
    if row.suspected:
        counted = "count all the same" if figures.provenance.on_fallback == "accept" else "do not count"
        says = f"{_part(row.suspected, row.answered)} answers of {model} came under a name that is not its own and {counted}."
        yield FailureCount(row.suspected, says)
    if row.cut_off > _NOTED * items:
        yield FailureCount(
            row.cut_off, f"{_part(row.cut_off, items)} answers of {model} were cut off by their token limit."
        )
    if row.refused > _NOTED * items:
        yield FailureCount(row.refused, f"{_part(row.refused, items)} answers of {model} were refused or filtered.")


def _causes(failed: Mapping[str, int]) -> str:
    """Return how requests failed, and whose doing that is: ` (most often route down: the route)`."""
    if not failed:
        return ""
    most = max(failed, key=lambda name: failed[name])
    why = f"most often {most.replace('_', ' ')}" if len(failed) > 1 else most.replace("_", " ")
    return f" ({why}: {EFFECTS[Outcome(most)].fault})"


def _failed_as(figures: RunFigures, model: str) -> dict[str, int]:
    """Return a model's requests that ended without an answer, by outcome."""
    return {
        row.outcome: row.items
        for row in figures.item_outcomes
        if row.model == model and row.outcome is not None and row.concluded and not row.accepted
    }


def _part(part: int, whole: int) -> str:
    return f"{count(part)} of {count(whole)}" if part < whole else f"all {count(whole)}"


def requests_text(run: RunSummary) -> str:
    """Return how the requests of a run ended, in plain digits: `95 of 98 answered (40 reused); 2 failed, 1 pending`."""
    left = [f"{number} {what}" for number, what in ((run.failed, "failed"), (run.pending, "pending")) if number]
    answered = f"{run.reused + run.completed} of {run.planned} answered ({run.reused} reused)"
    return "; ".join(filter(None, (answered, ", ".join(left))))


def because_text(run: RunSummary) -> str:
    """Return why a run ended as it did, after a colon; empty where the lines of its gates say so."""
    return f": {visible(run.reason)}" if run.reason and run.status is not RunStatus.GATE_FAILED else ""


def resume_text(run: Provenance, ledger: str) -> str:
    """Return the command that sends what a recorded run left."""
    platform = ["--local"] if run.endpoint == LOCAL else ["--base-url", run.endpoint]
    part = part_of(run.part)
    if JUDGED_RUN in run.tags:
        return commands.on_ledger(ledger, "score", run.tags[JUDGED_RUN], "--yes", *part.again_words, *platform)
    if PROBE in run.tags:
        return commands.on_ledger(ledger, "probe", *platform)
    if run.job_path.endswith(commands.MADE_IN_PYTHON):
        return f"the same call, in Python or by `{commands.ASK}`: its job {run.job!r} has no file"
    own = None if run.generation == BASE_GENERATION else run.run_id
    narrowed = commands.part(part.limit, part.models, part.max_in_flight) if own is None else []  # --resume has them
    narrowed += part.again_words
    if FILLED in run.tags:
        options = [
            ("--sheet", run.tags.get(FILLED_SHEET)),
            ("--out", run.tags.get(FILLED_TO)),
            ("--variant", next(iter(run.variants or ()), None)),
            ("--resume", own),
        ]
        words = [word for option, value in options if value for word in (option, value)]
        return commands.fill(run.dataset_paths, run.job_path, [*words, *narrowed, *platform, "--ledger", ledger])
    whole = commands.resume(run.job_path, [*narrowed, *platform, "--ledger", ledger], run.occasion, own)
    is_whole = run.part is None or (part.pilot and own is None)  # run as it is, it would send more than that run
    if run.narrowed and is_whole:
        return f"{whole}  # the whole job; this run was narrowed to {run.narrowed}"
    return whole


def resends_text(run: Provenance, *, is_complete: bool) -> str:
    """Return what the command of `resume_text` sends, in a sentence; empty where it is not a command."""
    if PROBE in run.tags:
        return "it asks every visible route again."
    if JUDGED_RUN not in run.tags and run.job_path.endswith(commands.MADE_IN_PYTHON):
        return ""
    return "it sends nothing twice." if is_complete else "it sends only what is missing."


def failures_text(outcomes: Sequence[RunOutcome]) -> list[str]:
    """Return the calls that failed by whose fault it most likely is, a line each, the most first."""
    faults: dict[str, Counter[str]] = {}
    for row in outcomes:
        if not row.accepted:
            faults.setdefault(EFFECTS[Outcome(row.outcome)].fault, Counter())[row.outcome] += row.calls
    return [
        f"failed calls ({fault}): {', '.join(f'{calls} {outcome}' for outcome, calls in failed.most_common())}"
        for fault, failed in sorted(faults.items(), key=lambda item: -item[1].total())
    ]


def question_used_text(outcomes: Collection[str], total_tokens: int | None) -> str:
    """Return what a question used: nothing where it was not sent, or refused before any model read it."""
    if not outcomes:
        return "nothing was sent"
    if total_tokens is not None:
        return f"{total_tokens} tokens"
    drew = {EFFECTS[Outcome(outcome)].drew for outcome in outcomes}
    return "no tokens" if drew == {"no"} else "tokens unknown"


def broken_text(one: BrokenScorer) -> str:
    """Return a scorer that failed, in words: `custom failed on 4 of 4 answers: ValueError: no number`."""
    return f"{one.scorer} failed on {one.failed} of {plural(one.answers, 'answer')}: {one.reason.removeprefix(FAILED)}"


def unknown_end_text(one: UnknownEnd) -> str:
    """Return an end that no rule knows, in words."""
    return (
        f"{plural(one.answers, 'answer')} ended for a reason that is not known, “{one.finish_reason}”: taken for whole"
    )


def to_judge_text(found: RunFindings) -> str:
    """Return how many answers of a run a judge was not asked about, or gave no verdict on; empty where there is none."""
    pending = sum(row.pending for row, _ in found.scores)
    return f"{plural(pending, 'answer')} without a judgement" if pending else ""


def to_judge_words(found: RunFindings) -> list[str]:
    """Return the words of the command that asks a judge for the judgements that a run lacks: for those never asked first."""
    reasons = [row.pending_reason for row, _ in found.scores if row.pending_reason is not None]
    again = asks_again(min(reasons, default=None))
    local = ["--local"] if found.provenance.endpoint == LOCAL else []
    return ["score", found.provenance.run_id, "--yes", *(["--again", again] if again else []), *local]


def in_vain_text(scorer: str, kind: str | None, answers: int, run_id: str, where: Sequence[str]) -> str:
    """Return on how many answers a judge gave no verdict though it was asked, why, and the command that asks once more.

    Args:
        kind: What `--again` calls its answer; None: there is no such command.
        run_id: That it judged.
        where: Options that name the ledger and the platform.
    """
    text = f"{scorer} gave no verdict on {plural(answers, 'answer')}: "
    if kind is None:
        return text + CUT_OFF
    asks = commands.command("score", run_id, "--yes", "--again", kind, *where)
    return f"{text}{IN_VAIN[kind]}; `{asks}` asks once more"


def not_known(figures: RunFigures, ledger: str) -> list[str]:
    """Return what the figures of a run of this ledger cannot say, in words."""
    summary = figures.numbers
    found = []
    if summary.calls_without_usage:
        found.append(f"The usage of {plural(summary.calls_without_usage, 'answer')}: it was not reported.")
    if summary.maybe_drawn or summary.open_intents:
        uncertain = (summary.maybe_drawn or 0) + summary.open_intents
        found.append(f"Whether {plural(uncertain, 'call')} that failed or were cut off used allowance.")
    names = unconfirmed(figures.served)
    found += [
        unconfirmed_text(row.requested_model, str(row.served_model), constancy(row, figures.served), ledger) + "."
        for row in names[:_MOST_NAMES]
    ]
    found += [f"Whether {unknown_end_text(one)}." for one in figures.unknown_ends]
    for row in suspected(figures.served)[:_MOST_NAMES]:
        answers = plural(row.answers, "answer")
        confirm = commands.confirm_name(row.requested_model, str(row.served_model), ledger)
        found.append(
            f"Which model gave {answers} of {row.requested_model}: they came as {row.served_model}, {row.evidence}. Probably "
            f"it is another one; where it is not, confirm the name: {confirm}."
        )
    if fallbacks(figures.served):
        counted = "count" if figures.provenance.on_fallback == "accept" else "do not count in scores"
        found.append(f"What the models that fallbacks answered for would have said: the fallbacks’ answers {counted}.")
    if figures.standing.scorer is None:
        why = "nothing was scored" if figures.provenance.scorers else "the job names no scorer"
        found.append(f"Whether the answers are right: {why}.")
    if figures.provenance.simulated:
        found.append("Anything about a real model: every answer here was computed by the embedded platform.")
    else:
        found.append("How much of the allowance is left: the platform does not publish its size.")
    return found


def jobs_text(jobs: int, *, need_action: int, alarmed: int, regressed: int, running: int) -> str:
    """Return how the jobs stand in a line: `29 jobs: 2 need action · 1 regressed · 26 fine.`

    Args:
        alarmed: Jobs with something open, of those that need nothing; the other counts are of the rest in turn.
    """
    if not jobs:
        return "No runs yet."
    fine = jobs - need_action - alarmed - regressed - running
    needs = "needs" if need_action == 1 else "need"
    parts = [
        f"{need_action} {needs} action" if need_action else "",
        f"{alarmed} with an open alarm" if alarmed else "",
        f"{regressed} regressed" if regressed else "",
        f"{running} running" if running else "",
        f"{fine} fine" if fine else "",
    ]
    return f"{plural(jobs, 'job')}: {' · '.join(filter(None, parts))}."
