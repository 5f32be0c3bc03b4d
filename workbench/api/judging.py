"""Judges asked about the answers of a run: a run of their own, recorded, budgeted and tagged apart from what they judge."""

import json
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from signal import Signals
from typing import Any, NamedTuple

import msgspec

import workbench.display.commands as commands
from workbench.api.made_jobs import make_job
from workbench.api.pipeline import Shown, plan_job, run_job
from workbench.api.session import Target
from workbench.display.text import count, plural
from workbench.errors import ExitCode, WorkbenchError
from workbench.evaluation.rescore import scorable_answers
from workbench.job.job import Job
from workbench.ledger.answer_rows import RecordedAnswer
from workbench.ledger.entries import Scored, newer_than, score_entry
from workbench.ledger.ingest import Ingested, record
from workbench.ledger.job_rows import RunOfJob
from workbench.ledger.queries import Reader, reading
from workbench.ledger.rows import CurrentScore, Provenance, ScorableAnswer
from workbench.ledger.store import Ledger
from workbench.planning.again import Kind, kind_of
from workbench.planning.expand import SmallBudgetError
from workbench.planning.run_plan import RunPlan
from workbench.records.calls import SampleContent, Score
from workbench.records.endings import JUDGED_JOB, JUDGED_RUN, TO_JUDGE, RunEnd, RunStatus
from workbench.records.outcomes import EFFECTS, Outcome
from workbench.running.options import RunOptions
from workbench.running.signals import handlers, ignore, note_signals
from workbench.scoring.judge import PENDING, VARIABLES, Judge, in_vain, is_pending, last_line
from workbench.wording.runs import in_vain_text

_MOST_NAME_CHARS = 100
_OF_THE_PLATFORM = ("gateway_limit_s", "ghost_s")
"""What a job says in `[run]` of the platform, whichever model is asked."""


class Left(NamedTuple):
    """What a run leaves of its own limits for its judges; None: it has no such limit."""

    requests: int | None = None
    total_tokens: int | None = None
    deadline_s: float | None = None


class JudgeCalls(msgspec.Struct, frozen=True):
    """What a judge is to be asked about a run."""

    run_id: str
    scorer: Judge
    job: Job
    keys: dict[str, tuple[str, ...]]
    """Of the answers that it has not judged, by the first of those that make the same question: it is asked once."""
    to_send: int
    about_tokens: int
    """What is to be sent takes: as many as the prompts have bytes, which is more than they are, and `max_tokens` each."""
    judges_itself: bool
    """Whether the judge is one of the models that it judges."""
    again: Kind | None = None
    """Which of the judge's earlier answers are asked once more."""
    asked_in: str | None = None
    """The run that has asked it all of this already; then another one would add nothing."""

    @property
    def answers(self) -> int:
        """How many answers it has not judged."""
        return sum(map(len, self.keys.values()))


class Judged(msgspec.Struct, frozen=True):
    """What a judge has said."""

    run_id: str
    """Of the judge's answers."""
    end: RunEnd | None
    """How that run ended; None where it was an earlier one."""
    written: int
    """Scores that are new or changed."""
    left: int
    """Answers that it is still to be asked about."""
    in_vain: dict[Kind | None, int]
    """Answers that it was asked about and gave no verdict on, by what `--again` calls its own answer."""
    ingested: Ingested


async def run_judged(where: Target, job: Job, options: RunOptions, show: Shown | None = None) -> RunEnd:
    """Carry out a job, its judges included: they are asked once its answers are in, within what it leaves of its limits.

    Args:
        show: Called once scores and gates are known; see `run_job`.
    """
    step = _JudgesOfRun(where, job, options, handlers())
    return await run_job(where, job, options, show, step.asked if job.judge.when == "run" else None)


class _JudgesOfRun:
    """Asks the judges of a run in the same command.

    Args:
        before: How signals are handled before the run, which leaves them ignored: a judge's run is to hear them too.
    """

    def __init__(self, where: Target, job: Job, options: RunOptions, before: list[tuple[Signals, Any]]) -> None:
        self._where, self._job, self._options, self._before = where, job, options, before
        self._requests, self._tokens, self._began = 0, 0, time.monotonic()

    async def asked(self, ledger: Ledger, end: RunEnd) -> RunEnd:
        """Return the end of a run with what its judges add: notes, what is still to be judged, and the exit code for that."""
        judges = [scorer for scorer in self._job.scorers if isinstance(scorer, Judge)]
        if not judges:
            return end
        self._spend(end)
        for scorer in judges:
            if end.told_to_stop or end.summary.status not in (RunStatus.COMPLETE, RunStatus.INCOMPLETE):
                break
            end = await self._one(ledger, end, scorer)
        with reading(ledger, frugal=True) as reader:
            names = {scorer.named for scorer in judges}
            scores = reader.all(CurrentScore, run_id=end.summary.run_id)
        pending = sum(score.reason == PENDING and score.scorer in names for score in scores)
        if not pending:
            return end
        asks = commands.on_ledger(ledger.name, "score", end.summary.run_id, "--yes", *self._where.platform_words)
        note = f"{plural(pending, 'judgement')} {TO_JUDGE}: `{asks}`"
        code = ExitCode.INCOMPLETE if end.exit_code == ExitCode.DONE else end.exit_code
        return msgspec.structs.replace(end, notes=(*end.notes, note), to_judge=pending, exit_code=code)

    async def _one(self, ledger: Ledger, end: RunEnd, scorer: Judge) -> RunEnd:
        left, why = self._left()
        heard = note_signals(self._before)
        try:
            found = await judging(self._where, ledger, end.summary.run_id, scorer, left=left)
            if found is None or heard.came:
                return msgspec.structs.replace(end, told_to_stop=end.told_to_stop or heard.came)
            if found.to_send and why:
                return _noted(end, f"{scorer.named} is not asked: {why}", ExitCode.STOPPED)
            done = await judge(self._where, ledger, found, self._options)
        except SmallBudgetError as error:
            why = (
                f"the {count(error.tokens)} tokens that the run leaves of its budget are fewer than a judgement may use"
            )
            return _noted(end, f"{scorer.named} is not asked: {why} ({count(error.least)})", ExitCode.STOPPED)
        except WorkbenchError as error:
            return _noted(end, f"{scorer.named} has not judged everything: {error}", ExitCode.INCOMPLETE)
        finally:
            ignore()
        for kind, answers in done.in_vain.items():
            where = [*self._where.platform_words, "--ledger", ledger.name]
            text = in_vain_text(scorer.named, kind, answers, end.summary.run_id, where)
            end = _noted(end, text, ExitCode.INCOMPLETE)
        if found.judges_itself:
            end = _noted(end, f"{scorer.model} judges its own answers among others")
        if done.ingested.deferred:
            why = f"what {scorer.named} says is not ingested yet, but safe in {ledger.journal_folder}"
            end = _noted(end, f"{why}: {done.ingested.deferred}")
        if done.end is None:
            return _noted(end, f"{scorer.named}: judged in run {done.run_id}; nothing was sent")
        self._spend(done.end)
        ended = done.end.summary
        because = f" ({ended.status}: {ended.reason})" if ended.reason else ""
        calls = plural(sum(ended.outcomes.values()), "call")
        text = f"{scorer.named}: judged in run {ended.run_id}{because}, {calls}, {count(ended.usage.total_tokens or 0)} tokens"
        end = _noted(end, text, done.end.exit_code)
        return msgspec.structs.replace(end, told_to_stop=end.told_to_stop or done.end.told_to_stop or heard.came)

    def _spend(self, end: RunEnd) -> None:
        self._requests += sum(end.summary.outcomes.values())
        self._tokens += end.counted_tokens

    def _left(self) -> tuple[Left, str]:
        """Return what is left of the limits of the run, and why nothing may be sent where nothing may."""
        budget, deadline_s = self._job.budget, self._job.run.deadline_s
        if budget.is_in_units:
            return Left(), "what the run leaves of its budget in units is not known before its calls are weighed"
        requests = None if budget.requests is None else budget.requests - self._requests
        tokens = None if budget.total_tokens is None else budget.total_tokens - self._tokens
        left_s = None if deadline_s is None else deadline_s - (time.monotonic() - self._began)
        for what, left in (("budget of requests", requests), ("budget of tokens", tokens), ("deadline", left_s)):
            if left is not None and left <= 0:
                return Left(), f"the run's {what} is used up"
        return Left(requests, tokens, left_s), ""


def _noted(end: RunEnd, note: str, code: int = ExitCode.DONE) -> RunEnd:
    """Return the end of a run with one more note, and the exit code of whatever is left over, where nothing was before."""
    exit_code = code if end.exit_code == ExitCode.DONE else end.exit_code
    return msgspec.structs.replace(end, notes=(*end.notes, note), exit_code=exit_code)


async def judging(
    where: Target,
    ledger: Ledger,
    run_id: str,
    scorer: Judge,
    again: Kind | None = None,
    left: Left = Left(),  # noqa: B008 - frozen
) -> JudgeCalls | None:
    """Find what a judge would be asked; nothing is sent.

    Args:
        where: The platform that has the judge, and the ledger.
        again: Which of its earlier answers are asked once more.
        left: What the run leaves of its own limits.

    Returns:
        None where the run has no answer with text that it has not judged.

    Raises:
        InputError: The judge is not visible, or its template has a fault.
    """
    with reading(ledger, frugal=True) as reader:
        run = reader.only(Provenance, run_id=run_id)
        name = (scorer.named, scorer.settings)
        known = {
            old.request_key
            for old in reader.all(CurrentScore, run_id=run_id)
            if (old.scorer, old.scorer_config) == name and not is_pending(old.reason)
        }
        found = [
            answer
            for answer in scorable_answers(reader, run_id)
            if (answer.scorable or (scorer.refusals is True and EFFECTS[Outcome(answer.outcome)].ends == "refused"))
            and (answer.answer or "").strip()
            and answer.request_key not in known
        ]
    if not found:
        return None
    rows, keys = _questions(scorer, found)
    job = _job(run, scorer, rows, left)
    planned = await plan_job(where, job, RunOptions(again=again))
    size = sum(len(json.dumps(row, ensure_ascii=False).encode()) + len(scorer.template.encode()) for row in rows)
    tokens = planned.to_send * (size // len(rows) + scorer.max_tokens)
    itself = any(answer.requested_model == scorer.model for answer in found)
    asked_in = None if planned.to_send else _asked_in(ledger, job, planned)
    return JudgeCalls(run_id, scorer, job, keys, planned.to_send, tokens, itself, again, asked_in)


def _asked_in(ledger: Ledger, job: Job, planned: RunPlan) -> str | None:
    """Return the newest run of a judge, where it had all of its answers to the same questions."""
    with reading(ledger, frugal=True) as reader:
        for run in reader.all(RunOfJob, job=job.name)[:1]:
            found = reader.only(Provenance, run_id=run.run_id)
            is_whole = found.status == RunStatus.COMPLETE and found.planned == planned.planned
            if is_whole and found.dataset_hash == planned.dataset_hash and _asks(found.job_toml) == _asks(job.text):
                return run.run_id
    return None


def _asks(job_toml: str) -> dict[str, Any]:
    """Return what a judge's job asks; its tags and limits are those of the run that it judges."""
    tables = tomllib.loads(job_toml)
    return {name: tables.get(name) for name in ("models", "prompt", "request")}


async def judge(where: Target, ledger: Ledger, asked: JudgeCalls, options: RunOptions = RunOptions()) -> Judged:  # noqa: B008 - frozen
    """Ask a judge what it has not been asked, and write the scores that its answers make.

    Args:
        options: Of the run that it belongs to: its progress, and who interrupts it.

    Raises:
        WorkbenchError: Before anything is sent, if the job of the judge has an error.
    """
    end = None
    judged_in = asked.asked_in
    if judged_in is None:
        own = RunOptions(again=asked.again, show_progress=options.show_progress, interrupts=options.interrupts)
        end = await run_job(where, asked.job, own)
        judged_in = end.summary.run_id
    with reading(ledger, frugal=True) as reader:
        votes = _votes(reader, judged_in)
        scores = reader.all(CurrentScore, run_id=asked.run_id)
    before = {(old.request_key, old.scorer): Score(old.value, old.reason, old.extracted) for old in scores}
    name = (asked.scorer.named, asked.scorer.settings)
    now, left, without = newer_than(old.recorded_at for old in scores), 0, Counter[Kind | None]()
    entries = list[Scored]()
    for first, keys in asked.keys.items():
        said = votes.get(first, _Votes([], []))
        if len(said.verdicts) + len(said.without) < asked.scorer.votes:
            left += len(keys)
            continue
        if len(said.verdicts) < asked.scorer.votes:
            without[said.without[0]] += len(keys)
            verdict = Score(None, in_vain(said.without[0]))
        else:
            verdict = asked.scorer.score_of(said.verdicts)
        entries += [
            score_entry(asked.run_id, key, name, now, verdict) for key in keys if before.get((key, name[0])) != verdict
        ]
    return Judged(judged_in, end, len(entries), left, dict(without), record(ledger, entries))


class _Votes(NamedTuple):
    """What a judge's answers to one question are."""

    verdicts: list[str]
    """Those that may name one."""
    without: list[Kind | None]
    """Those that cannot, by what `--again` calls them."""


def _votes(reader: Reader, run_id: str) -> dict[str, _Votes]:
    """Return the answers of a judge's run by its question; what a rerun sends again is not there."""
    found: dict[str, _Votes] = {}
    for vote in reader.each(RecordedAnswer, run_id=run_id):
        if vote.outcome is None:
            continue
        kind = kind_of(vote.outcome, by_another=vote.counts is False)
        if not vote.accepted and kind is None:
            continue
        own = found.setdefault(vote.sample_id, _Votes([], []))
        if kind is None and vote.answer:
            is_cut = EFFECTS[Outcome(vote.outcome)].ends == "cut_off"
            own.verdicts.append(last_line(vote.answer) if is_cut else vote.answer)
        else:
            own.without.append(kind)
    return found


def _questions(
    scorer: Judge, answers: Sequence[ScorableAnswer]
) -> tuple[list[dict[str, Any]], dict[str, tuple[str, ...]]]:
    """Return what a judge is asked, each question once, and which answers make it.

    Equal answers to one sample, of two models say, are one question: numbered among those that are left, the second would
    be asked again whenever some of them are judged.
    """
    columns = scorer.needed() | VARIABLES if scorer.needed() else VARIABLES - {"id"}
    rows, keys = [], dict[bytes, list[str]]()
    for answer in answers:
        content = msgspec.json.decode(answer.sample or "{}", type=SampleContent)
        row = scorer.asked_about(answer.request_key, content, answer.answer)
        question = msgspec.json.encode({name: value for name, value in row.items() if name in columns}, order="sorted")
        if question not in keys:
            rows.append(row)
        keys.setdefault(question, []).append(answer.request_key)
    return rows, {same[0]: tuple(same) for same in keys.values()}


def _job(run: Provenance, scorer: Judge, rows: list[dict[str, Any]], left: Left) -> Job:
    """Return the job that asks a judge, as a job file would have it: with the caps,
    the tags and the platform's limits of the run.
    """
    request: dict[str, Any] = {"max_tokens": scorer.max_tokens}
    if scorer.temperature is not None:
        request["temperature"] = scorer.temperature
    requests = [number for number in (scorer.most_calls, left.requests) if number is not None]
    budget = {"requests": min(requests)} if requests else {}
    budget |= {} if left.total_tokens is None else {"total_tokens": left.total_tokens}
    settings = tomllib.loads(run.job_toml).get("run", {})
    kept = {name: settings[name] for name in _OF_THE_PLATFORM if name in settings}
    kept |= {} if left.deadline_s is None else {"deadline_s": left.deadline_s}
    return make_job(
        f"{run.job} judged by {scorer.named}"[:_MOST_NAME_CHARS],
        [scorer.model],
        rows,
        layout="plain",
        prompt=scorer.template,
        request=request,
        run=kept | {"epochs": scorer.votes, "max_in_flight": run.max_in_flight},
        tags={"judge": scorer.named} | run.tags | {JUDGED_RUN: run.run_id, JUDGED_JOB: run.job},
        description=f"Judges the answers of run {run.run_id}",
        budget=budget,
    )
