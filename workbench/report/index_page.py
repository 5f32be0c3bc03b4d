"""The page over all runs: what ran, and what needs attention."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import msgspec

import workbench.display.commands as commands
import workbench.display.text as people
import workbench.settings.clock as clock
from workbench.allowance.lately import drawn_lately
from workbench.display.columns import column, columns
from workbench.evaluation.alarms import open_of
from workbench.evaluation.job_changes import JobChange
from workbench.evaluation.latest import latest
from workbench.evaluation.run_figures import broken_scorers, scorer_faults, unjudged_answers
from workbench.ledger.job_rows import JobRuns, ModelMean, NewestRun, RunLine, run_means, silent_models
from workbench.ledger.rows import Provenance, RunId
from workbench.records.endings import SETTLED
from workbench.report import time_charts
from workbench.report.build import PageContext, result
from workbench.report.chart_parts import on_clock, said_by_clock
from workbench.report.drawing import Chart, Colours, drawn
from workbench.report.job_rows import (
    NEWEST_RUNS,
    JobRow,
    is_worse,
    job_rows,
    needs_action,
    summary,
    worse_changes,
)
from workbench.report.tables import Result, Table
from workbench.settings.endpoint import LOCAL
from workbench.wording.changes import unwatched_text
from workbench.wording.latest import latest_lines
from workbench.wording.runs import resume_text
from workbench.wording.scores import range_text

_LATELY = timedelta(days=1)
MOST_RUNS = 20
"""Of the log; of each job the scores of more are drawn."""
_MOST_NAMED = 3
"""Runs that a note names."""


def index_page(asked: PageContext) -> Callable[[], dict[str, Any]]:
    """Ask what the page shows; returns what computes its content."""
    reader, period = asked.reader, asked.period
    known = reader.all(RunId)
    judging = {run.run_id for run in known if run.judges}  # they belong to the runs that they judge
    jobs = [job for job in reader.all(JobRuns) if job.last_run_id not in judging]
    newest = [run for run in reader.all(NewestRun, most=NEWEST_RUNS) if run.run_id not in judging]
    of_jobs = [run.run_id for run in known if not run.judges]
    logged = of_jobs[:MOST_RUNS]
    run_ids = list(dict.fromkeys([*logged, *(run.run_id for run in newest)]))
    ends = asked.run_lines(run_ids)
    runs = [ends[run_id] for run_id in logged]
    needs = [run for job in jobs if needs_action(run := ends[job.last_run_id])]
    began = {run.run_id: reader.only(Provenance, run_id=run.run_id) for run in needs}
    means = result(reader.about(*run_ids), ModelMean, most=len(run_ids), run_ids=run_ids)
    scores = [row for row in means.rows if row.model is not None]
    changes, alarms, drops = asked.changes, open_of(asked.watched()), open_of(asked.unwatched())
    now = clock.now()
    since_at = now - _LATELY
    has_schedule = any(run.occasion is not None for run in newest)
    is_every = len(logged) == len(of_jobs)
    changed = latest(asked.watched(), runs, since_at, is_every=is_every, has_schedule=has_schedule)
    drawn_since = drawn_lately(reader, asked.allowance, asked.zone, since_at, now)
    faults = scorer_faults(reader, [job.last_run_id for job in jobs])
    broken = broken_scorers(faults)
    # what is incomplete is resumed, its judge included, and what is running may still ask it
    unjudged = unjudged_answers(row for row in faults if ends[row.run_id].status in SETTLED)

    def content() -> dict[str, Any]:
        there = asked.there()
        asked_by_jobs = [(run, ends[run.run_id]) for run in newest if not ends[run.run_id].is_probe]
        rows = job_rows(asked_by_jobs, scores, changes, alarms, broken, asked.colours)
        rows = [
            msgspec.structs.replace(
                row, unjudged=unjudged.get(row.newest_run), drops=[drop for drop in drops if drop.job == row.job]
            )
            for row in rows
        ]
        return {
            "period": period,
            "command": asked.command,
            "verdict": summary(rows),
            "since_at": since_at,
            "latest": latest_lines(changed, drawn_since, asked.zone, asked.ledger),
            "rows": rows,
            "broken": [row for row in rows if row.broken],
            "unjudged": [row for row in rows if row.unjudged],
            "platform": ["--local"] if asked.period.endpoint == LOCAL else [],
            "alarmed": [(row, commands.accept_changes(row.job, asked.ledger)) for row in rows if row.alarms],
            "regressed": _regressed(rows, asked.ledger),
            "needs": [(run, resume_text(began[run.run_id], asked.ledger)) for run in needs],
            "runs": _runs_table(runs, _sparks(scores, asked.colours), there),
            "jobs": _jobs_table(jobs, ends, there),
            "charts": _charts(means, asked.zone),
            "most": MOST_RUNS,
        }

    return content


def _regressed(rows: Sequence[JobRow], ledger: str) -> list[tuple[JobRow, list[JobChange], str, str]]:
    """Return the jobs that have become worse, each with what is worse than in the run before, how to watch for it, and the
    command that accepts it.
    """
    worse = [row for row in rows if not row.needs_somebody and is_worse(row)]
    return [
        (row, worse_changes(row), unwatched_text(row.drops), commands.accept_changes(row.job, ledger)) for row in worse
    ]


def _runs_table(runs: Sequence[RunLine], sparks: dict[str, list[dict[str, Any]]], there: frozenset[str]) -> Table:
    rows = [msgspec.structs.asdict(run) | {"scores": sparks.get(run.run_id)} for run in runs]
    return Table(
        "runs", Result("runs", {"most": MOST_RUNS, "run_ids": None}, rows), ("run_id",),
        columns(
            column("started_at", kind="began"), "job", "status", "scores", "planned", "reused", "answered", "failed", "pending",
            column("total_tokens", kind="amount"), "duration_s",
        ),
        there,
        "status",
    )  # fmt: skip


def _jobs_table(jobs: Sequence[JobRuns], ends: dict[str, RunLine], there: frozenset[str]) -> Table:
    rows = [
        msgspec.structs.asdict(job) | msgspec.structs.asdict(ends[job.last_run_id]) | {"reason": None} for job in jobs
    ]
    return Table(
        "jobs", Result("jobs", {}, rows), ("job",),
        columns("job", "runs", "complete", "first_at", "last_at", column("status", "ended")),
        there,
    )  # fmt: skip


def _sparks(scores: Sequence[ModelMean], colours: Colours) -> dict[str, list[dict[str, Any]]]:
    """Bars of mean scores from 0 to 1 by run: one a scorer and model."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in scores:
        if row.centre is not None and 0 <= row.centre <= 1:
            label = f"{row.model}, {row.scorer}: {range_text(row.mean, row.at_worst, row.at_best)}"
            found.setdefault(row.run_id, []).append(
                {"mean": row.centre, "colour": colours.of(str(row.model)), "label": label}
            )
    return found


def _left_out_text(runs: Sequence[ModelMean], silent: dict[str, list[ModelMean]], zone: str) -> str:
    """Return which runs have no point, as the mean of the others would look like a change; the newest first."""
    named = [
        f"{run.job}, {said_by_clock(run.started_at, zone)}: "
        + "; ".join(f"{row.model} {'has no score' if row.answered else 'did not answer'}" for row in silent[run.run_id])
        for run in reversed(runs[-_MOST_NAMED:])
    ]
    more = f" and {people.count(len(runs) - len(named))} more" if len(runs) > len(named) else ""
    return people.visible(f"Without a point, as not all models have a score: {' · '.join(named)}{more}.")


def _charts(found: Result[ModelMean], zone: str) -> list[Chart]:
    """Mean score by job over time, in the times of a zone."""
    means, silent = run_means(found.rows), silent_models(found.rows)
    points = [
        {
            "series": row.job,
            "at": on_clock(row.started_at, zone),
            "when": said_by_clock(row.started_at, zone),
            "mean": row.centre,
        }
        | ({} if row.at_worst == row.at_best else {"low": row.at_worst, "high": row.at_best})
        for row in means
        if row.run_id not in silent
    ]
    jobs = sorted({run.job for run in means})
    if len(points) <= len(jobs):
        return []
    shown = Table(
        "newest_run_scores", Result("newest_run_scores", found.parameters, means), ("run_id", "scorer", "model"),
        columns("started_at", "job", "mean", "scored"),
    )  # fmt: skip
    drawing = time_charts.lines_over_time(points, "mean", "mean score", Colours(jobs).scale(jobs), zone=zone)
    note = "Each point is a run: the mean over all its models, by the job’s first scorer."
    if left_out := [row for row in means if row.run_id in silent]:
        note += f" {_left_out_text(left_out, silent, zone)}"
    return [drawn("jobs", "Do the jobs score as before?", drawing, shown, note)]
