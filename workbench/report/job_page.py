"""The page of one job: how it has gone over its runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

import workbench.display.commands as commands
from workbench.display.columns import column, columns
from workbench.evaluation.job_changes import changed_since_before
from workbench.evaluation.ongoing import as_now
from workbench.ledger.job_rows import JobCourse, JobRun, RunLine
from workbench.report import time_charts
from workbench.report.build import Draft, Page, PageContext, PageHead, write_html
from workbench.report.drawing import Chart, Colours, drawn
from workbench.report.job_rows import page_name
from workbench.report.tables import Result, Table
from workbench.stats.intervals import AskedValues, Interval, mean_intervals
from workbench.wording.changes import findable_text, job_verdict
from workbench.wording.scores import mean_text

MOST_RUNS = 30
_LEAST_RUNS = 3  # two points are no course, and every run ends with this page
_TROUBLES = ("failed_share", "fallback_share")  # without a chart where they never happened
_MEASURES = (
    ("mean", "mean score", "Does it score as before?"),
    ("completion_tokens", "completion tokens an answer", "Do answers take as many tokens?"),
    ("seconds", "median seconds to the answer", "Are answers as fast?"),
    ("failed_share", "share of requests unanswered", "Does it fail as rarely?"),
    ("fallback_share", "share of answers by a fallback", "Do others answer for it?"),
)


def job_page(asked: PageContext, job: str, pages: Sequence[Page]) -> Draft:
    """Ask what a job's page shows.

    Args:
        pages: Those that its head links.
    """
    reader, as_of = asked.reader, asked.as_of
    runs = as_now(reader.all(JobRun, job=job, most=MOST_RUNS), as_of.ongoing)
    ends = {run.run_id: run for run in reader.all(RunLine, most=MOST_RUNS, run_ids=[run.run_id for run in runs])}
    course = reader.all(JobCourse, job=job, most=MOST_RUNS)
    changes = asked.changes.get(job, [])
    watches = asked.watched(job)
    alarms = [alarm for watch in watches for alarm in watch.alarms]
    period, newest, oldest = asked.period, runs[0], runs[-1]
    frame = PageHead(
        "job", job, period.endpoint or "no endpoint yet", period.key_fingerprint or "not available",
        period.simulated, oldest.started_at, newest.started_at, as_of,
    )  # fmt: skip

    def write() -> Path:
        there = frozenset(path.stem for path in asked.folder.glob("*.html"))
        content = {
            "job": job,
            "verdict": job_verdict(runs, changes, alarms),
            "changes": changes,
            "alarms": [alarm for alarm in alarms if alarm.state == "open"],
            "earlier_alarms": [alarm for alarm in alarms if alarm.state != "open"],
            "accepting": commands.accept_changes(job, asked.ledger),
            "findable": [findable_text(watch) for watch in watches if watch.scorer is not None],
            "charts": _charts(job, course, _marks(runs, course), asked.colours),
            "runs": _runs_table(job, runs, course, ends, there),
            "most": MOST_RUNS,
            "command": asked.command,
        }
        return write_html(asked, f"{page_name(job)}.html", frame, pages, content)

    return write


def _marks(runs: Sequence[JobRun], course: Sequence[JobCourse]) -> list[dict[str, str]]:
    """Return where something changed between two runs."""
    changed = changed_since_before(runs, course)
    return [
        {
            "at": f"{row.started_at:%Y-%m-%dT%H:%M:%SZ}", "when": f"{row.started_at:%Y-%m-%d %H:%M}",
            "changed": changed[row.run_id],
        }
        for row in runs
        if changed[row.run_id]
    ]  # fmt: skip


def _charts(job: str, course: Sequence[JobCourse], marks: Sequence[dict[str, str]], colours: Colours) -> list[Chart]:
    """Return a line per model for each measure, where there are runs enough to show a course."""
    if len({row.run_id for row in course}) < _LEAST_RUNS:
        return []
    models, intervals = list(dict.fromkeys(row.model for row in course)), _intervals(course)
    table = _course_table(job, course, intervals)
    found: list[Chart] = []
    for name, title, question in _MEASURES:
        points = [
            {
                "series": row.model, "at": f"{row.started_at:%Y-%m-%dT%H:%M:%SZ}",
                "when": f"{row.started_at:%Y-%m-%d %H:%M}", name: value,
            } | (_bounds(interval) if name == "mean" else {})
            for row, interval in zip(course, intervals, strict=True)
            if (value := _value(row, name, interval)) is not None
        ]  # fmt: skip
        if not points or (name in _TROUBLES and not any(point[name] for point in points)):
            continue
        drawing = time_charts.lines_over_time(points, name, title, colours.scale(models), height=140, marks=marks)
        note = _note(intervals=any("low" in point for point in points), marks=bool(marks) and not found)
        if len(models) > time_charts.MOST_TOGETHER:  # without intervals and marks
            note = f"Each chart: {title}."
        found.append(drawn(f"{name}", question, drawing, table if name == "mean" else None, note))
    return found


def _note(*, intervals: bool, marks: bool) -> str:
    """Return what the upright lines of a chart are."""
    thin = "Thin vertical lines: 95 % intervals." if intervals else ""
    dotted = "Dotted lines: something changed, as the table of runs says." if marks else ""
    return " ".join(filter(None, (thin, dotted)))


def _value(row: JobCourse, name: str, interval: Interval | None) -> Any:
    if name == "seconds":
        return None if row.p50_ms is None else row.p50_ms / 1000
    if name == "mean":
        return None if interval is None else interval.centre
    return getattr(row, name)


def _bounds(found: Interval | None) -> dict[str, float]:
    """Return the ends of a mean's interval, where it has some."""
    return {} if found is None or found.low is None or found.high is None else {"low": found.low, "high": found.high}


def _intervals(course: Sequence[JobCourse]) -> list[Interval | None]:
    return mean_intervals(
        [
            AskedValues.counted(row.value_counts, row.lows, row.highs, (row.least, row.most), row.asked or 0)
            for row in course
        ]
    )


def _course_table(job: str, course: Sequence[JobCourse], intervals: Sequence[Interval | None]) -> Table:
    rows = [
        msgspec.structs.asdict(row) | {"of_asked": None if interval is None else mean_text(interval)}
        for row, interval in zip(course, intervals, strict=True)
    ]
    return Table(
        "job_course", Result("job_course", {"job": job, "most": MOST_RUNS}, rows), ("run_id", "model"),
        columns(
            "started_at", "model", "requests", "of_asked", column("mean", "of what is known"), column("scored", "known"),
            column("completion_tokens", "tokens an answer", "number"), "p50_ms", "failed_share", "fallback_share",
        ),
    )  # fmt: skip


def _runs_table(
    job: str, runs: Sequence[JobRun], course: Sequence[JobCourse], ends: dict[str, RunLine], there: frozenset[str]
) -> Table:
    """Return the runs, each with how its requests ended and what had changed since the one before."""
    changed = changed_since_before(runs, course)
    rows = [
        msgspec.structs.asdict(ends[row.run_id]) | msgspec.structs.asdict(row) | {"changed": changed[row.run_id]}
        for row in runs
    ]
    return Table(
        "job_runs", Result("job_runs", {"job": job, "most": MOST_RUNS}, rows), ("run_id",),
        columns(
            "started_at", "run_id", "occasion", "status", "planned", column("total_tokens", kind="amount"), "changed"
        ),
        there,
    )  # fmt: skip
