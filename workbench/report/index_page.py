"""The page over all runs: what ran, and what needs attention."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

import workbench.display as people
from workbench.evaluation.continuation import recorded_continuation
from workbench.evaluation.job_changes import job_changes
from workbench.evaluation.ongoing import with_status_now
from workbench.evaluation.run_figures import broken_scorers
from workbench.ledger.queries import Row
from workbench.ledger.rows import Provenance
from workbench.report import time_charts
from workbench.report.build import Asked, result
from workbench.report.drawing import Chart, Colours, drawn
from workbench.report.job_rows import NEWEST_RUNS, is_worse, job_rows, needs_action, summary
from workbench.report.tables import Column, Result, Table

MOST_RUNS = 200


def index_page(asked: Asked) -> Callable[[], dict[str, Any]]:
    """Ask what the page shows; returns what computes its content."""
    reader, period = asked.reader, asked.period
    runs = _as_now(result(reader, "runs", most=MOST_RUNS, run_ids=None), asked)
    jobs = result(reader, "jobs")
    newest = reader.rows("job_newest_runs", most=NEWEST_RUNS)
    run_ids = [row["run_id"] for row in newest]
    found = with_status_now(reader.rows("runs", most=len(run_ids), run_ids=run_ids), asked.as_of.ongoing)
    ends = {row["run_id"]: row for row in found}
    needs = [row for job in jobs.rows if needs_action(row := ends[job["last_run_id"]])]
    began = {row["run_id"]: reader.only(Provenance, run_id=row["run_id"]) for row in needs}
    scores = result(reader, "newest_run_scores", most=MOST_RUNS)
    means = result(reader, "newest_run_means", most=MOST_RUNS)
    changes = job_changes(reader)
    broken = broken_scorers(reader, [job["last_run_id"] for job in jobs.rows])

    def content() -> dict[str, Any]:
        there = frozenset(path.stem for path in asked.folder.glob("*.html"))
        rows = job_rows([row | ends[row["run_id"]] for row in newest], scores.rows, changes, broken, asked.colours)
        return {
            "period": period,
            "command": asked.command,
            "verdict": summary(rows),
            "rows": rows,
            "broken": [row for row in rows if row.broken],
            "regressed": [row for row in rows if not row.needs_action and is_worse(row)],
            "there": {f"{stem}.html" for stem in there},
            "needs": [(row, recorded_continuation(began[row["run_id"]], asked.ledger)) for row in needs],
            "runs": _runs_table(runs, _sparks(scores.rows, asked.colours), there),
            "jobs": _jobs_table(jobs, ends),
            "charts": _charts(means),
            "most": MOST_RUNS,
        }

    return content


def _as_now(runs: Result, asked: Asked) -> Result:
    return msgspec.structs.replace(runs, rows=with_status_now(runs.rows, asked.as_of.ongoing))


def _runs_table(runs: Result, sparks: dict[str, list[dict[str, Any]]], there: frozenset[str]) -> Table:
    shown = Result(runs.query, runs.parameters, [row | {"scores": sparks.get(row["run_id"])} for row in runs.rows])
    return Table(
        "runs", shown, ("run_id",),
        (Column("started_at", "started", "moment"), Column("job", "job", "run"), Column("status", "status", "status"),
         Column("scores", "scores", "bars", help="Mean of each model and scorer, 0 to 1"),
         Column("planned", "planned"), Column("reused", "reused"), Column("answered", "answered"),
         Column("failed", "failed"), Column("pending", "pending"), Column("total_tokens", "tokens", "amount"),
         Column("duration_s", "time", "seconds")),
        there,
    )  # fmt: skip


def _jobs_table(jobs: Result, ends: dict[str, Row]) -> Table:
    rows = [row | ends[row["last_run_id"]] | {"reason": None} for row in jobs.rows]
    return Table(
        "jobs", Result(jobs.query, jobs.parameters, rows), ("job",),
        (Column("job", "job", "text"), Column("runs", "runs"), Column("complete", "of which complete"),
         Column("first_at", "first", "moment"), Column("last_at", "newest", "moment"),
         Column("status", "ended", "status")),
    )  # fmt: skip


def _sparks(scores: Sequence[Row], colours: Colours) -> dict[str, list[dict[str, Any]]]:
    """Bars of mean scores from 0 to 1 by run: one a scorer and model."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in scores:
        if row["mean"] is not None and 0 <= row["mean"] <= 1:
            told = f"{row['model']}, {row['scorer']}: {people.significant(row['mean'])} over {people.count(row['scored'])} scored"
            found.setdefault(row["run_id"], []).append(
                {"mean": row["mean"], "colour": colours.of(row["model"]), "told": told}
            )
    return found


def _charts(means: Result) -> list[Chart]:
    """Mean score by job over time."""
    points = [
        {
            "series": row["job"],
            "at": f"{row['started_at']:%Y-%m-%dT%H:%M:%SZ}",
            "when": f"{row['started_at']:%Y-%m-%d %H:%M}",
            "mean": row["mean"],
        }
        for row in means.rows
    ]
    jobs = sorted({point["series"] for point in points})
    if len(points) <= len(jobs):
        return []
    shown = Table(
        "newest_run_means", means, ("run_id",),
        (Column("started_at", "started", "moment"), Column("job", "job", "text"), Column("mean", "mean", "number"),
         Column("scored", "scored")),
    )  # fmt: skip
    drawing = time_charts.lines_over_time(points, "mean", "mean score", Colours(jobs).scale(jobs))
    note = "Each point is a run: the mean over all its models, by the job’s first scorer."
    return [drawn("jobs", "Do the jobs score as before?", drawing, shown, note)]
