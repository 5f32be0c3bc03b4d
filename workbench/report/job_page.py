"""The page of one job: how it has gone over its runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

import workbench.display.commands as commands
from workbench.display.columns import column, columns
from workbench.evaluation.alarms import Alarm, Watch, open_of
from workbench.evaluation.job_changes import changed_since_before
from workbench.evaluation.ongoing import as_now
from workbench.ledger.job_rows import JobCourse, JobRun, RunLine
from workbench.report import time_charts
from workbench.report.build import Draft, Page, PageContext, PageHead, write_html
from workbench.report.chart_parts import on_clock, said_by_clock
from workbench.report.drawing import Chart, Colours, drawn
from workbench.report.tables import Result, Table, job_page_name
from workbench.stats.intervals import AskedValues, Interval, mean_intervals
from workbench.wording.changes import (
    accepted_lately,
    alarm_what,
    compared_text,
    course_title,
    findable_text,
    found_soon_text,
    job_verdict,
    listed_changes,
)
from workbench.wording.references import floor_text, without_model_text
from workbench.wording.scores import mean_text

MOST_RUNS = 20
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
    """Ask what a job's page shows."""
    reader, as_of = asked.reader, asked.as_of
    runs = as_now(reader.all(JobRun, job=job, most=MOST_RUNS), as_of.ongoing)
    ends = asked.run_lines([run.run_id for run in runs])
    course = reader.about(*(run.run_id for run in runs)).all(JobCourse, job=job, most=MOST_RUNS)
    changes = asked.changes.get(job, [])
    watches = asked.watched(job)
    shown = watches or asked.unwatched(job)
    alarms = [alarm for watch in watches for alarm in watch.alarms]
    period, newest, oldest = asked.period, runs[0], runs[-1]
    ranking = asked.ranking(newest.run_id)
    head = PageHead(
        "job", job, period.endpoint or "no endpoint yet", period.key_fingerprint or "not available",
        period.simulated, oldest.started_at, newest.started_at, as_of,
    )  # fmt: skip

    def write() -> Path:
        there = asked.there()
        content = {
            "job": job,
            "verdict": job_verdict(
                runs, changes, shown, course, is_cut=len(runs) == MOST_RUNS, is_watched=bool(watches)
            ),
            "floor": floor_text(ranking.floor),
            "without_model": without_model_text(ranking.references, ranking.scorer),
            "changes": changes,
            "listed": listed_changes(changes, open_of(shown)),
            "compared": compared_text(runs),
            "alarms": open_of(shown),
            "earlier_alarms": [alarm for alarm in alarms if alarm.state != "open"],
            "accepting": commands.accept_changes(job, asked.ledger),
            "findable": [findable_text(watch) for watch in watches if watch.scorer is not None],
            "found_soon": found_soon_text([watch for watch in watches if watch.scorer is not None]),
            "charts": _charts(
                job,
                course,
                _Shown(
                    runs,
                    _marks(runs, course, watches, asked.zone),
                    [alarm for watch in shown for alarm in watch.alarms],
                    asked.colours,
                    asked.zone,
                ),
            ),
            "runs": _runs_table(job, runs, course, ends, there, asked.colours),
            "most": MOST_RUNS,
            "command": asked.command,
        }
        return write_html(asked, f"{job_page_name(job)}.html", head, pages, content)

    return write


def _marks(
    runs: Sequence[JobRun], course: Sequence[JobCourse], watches: Sequence[Watch], zone: str
) -> list[dict[str, str]]:
    """Return where something changed between two runs, and where a change was accepted."""
    changed = changed_since_before(runs, course)
    found = [(row.started_at, changed[row.run_id]) for row in runs if changed[row.run_id]]
    found += [
        (one.accepted_at, f"accepted: {alarm_what(one)}{f': {one.reason}' if one.reason else ''}")
        for one in accepted_lately(runs, watches)
        if one.accepted_at is not None
    ]
    newest_at = runs[0].started_at  # what is accepted later would leave the runs a corner of the chart
    return [
        {"at": on_clock(min(at, newest_at), zone), "when": said_by_clock(at, zone), "changed": what}
        for at, what in found
    ]


class _Shown(NamedTuple):
    """What is drawn beside the course of a job."""

    runs: Sequence[JobRun]
    marks: Sequence[dict[str, str]]
    alarms: Sequence[Alarm]
    colours: Colours
    zone: str

    def open_of(self, measure: str) -> list[Alarm]:
        """Return what is open of a measure."""
        kinds = {"mean": ("worse", "unusable"), "seconds": ("slower",)}.get(measure, ())
        drawn_by = next(iter(self.runs[0].scorers or ()), None)  # of several scorers the first is drawn
        found = [one for one in self.alarms if one.state == "open" and one.found.kind in kinds]
        return [one for one in found if one.scorer in (None, drawn_by)]

    def levels(self, measure: str) -> list[dict[str, Any]]:
        """Return the level that each model had before what is open of it, from the oldest run shown until then."""
        began = {run.occasion: run.started_at for run in self.runs}
        oldest = on_clock(self.runs[-1].started_at, self.zone)
        found = [(alarm, at) for alarm in self.open_of(measure) if (at := began.get(alarm.found.began)) is not None]
        return [
            {
                "series": alarm.model, "level": alarm.level, "from": oldest, "until": on_clock(at, self.zone),
                "since": f"{(there := at.astimezone(ZoneInfo(self.zone))).day} {there:%b}",
            }
            for alarm, at in found
        ]  # fmt: skip


def _charts(job: str, course: Sequence[JobCourse], shown: _Shown) -> list[Chart]:
    """Return a line per model for each measure, where there are runs enough to show a course."""
    if len({row.run_id for row in course}) < _LEAST_RUNS:
        return []
    models, intervals = list(dict.fromkeys(row.model for row in course)), _intervals(course)
    table = _course_table(job, course, intervals)
    found: list[Chart] = []
    for name, title, question in _MEASURES:
        points = [
            {
                "series": row.model, "at": on_clock(row.started_at, shown.zone),
                "when": said_by_clock(row.started_at, shown.zone), name: value,
            } | (_bounds(interval) if name == "mean" else {})
            for row, interval in zip(course, intervals, strict=True)
            if (value := _value(row, name, interval)) is not None
        ]  # fmt: skip
        if not points or (name in _TROUBLES and not any(point[name] for point in points)):
            continue
        levels, scale = shown.levels(name), shown.colours.scale(models)
        drawing = time_charts.lines_over_time(points, name, title, scale, height=140, zone=shown.zone)
        drawing = time_charts.with_marks(drawing, shown.marks, shown.zone)
        drawing = time_charts.with_levels(drawing, levels, scale)
        apart = len(models) > time_charts.MOST_TOGETHER  # without intervals and levels
        note = _note(
            each=title if apart else "",
            intervals=not apart and any("low" in point for point in points),
            marks=bool(shown.marks) and not found,
            levels=not apart and bool(levels),
        )
        finding = course_title(question, shown.open_of(name))
        found.append(drawn(f"{name}", finding, drawing, table if name == "mean" else None, note))
    return found


def _note(*, each: str, intervals: bool, marks: bool, levels: bool) -> str:
    """Return what the further lines of a chart are, and what each shows where there are several."""
    measure = f"Each chart: {each}." if each else ""
    thin = "Thin vertical lines: 95 % intervals." if intervals else ""
    dashed = "Dashed lines: the level before, and when it was left." if levels else ""
    dotted = "Dotted lines: something changed, as the table of runs says, or a change was accepted." if marks else ""
    return " ".join(filter(None, (measure, thin, dashed, dotted)))


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
    job: str,
    runs: Sequence[JobRun],
    course: Sequence[JobCourse],
    ends: dict[str, RunLine],
    there: frozenset[str],
    colours: Colours,
) -> Table:
    """Return the runs, each with how its requests ended and what had changed since the one before."""
    changed, scores = changed_since_before(runs, course), _scores(course, colours)
    rows = [
        msgspec.structs.asdict(ends[row.run_id])
        | msgspec.structs.asdict(row)
        | {"changed": changed[row.run_id], "scores": scores.get(row.run_id)}
        | ({"reason": f"in {row.runs} runs"} if row.runs > 1 and not row.reason else {})
        for row in runs
    ]
    is_late = any(run.occasion is not None and not _began_at(run) for run in runs)
    return Table(
        "job_runs", Result("job_runs", {"job": job, "most": MOST_RUNS}, rows), ("run_id",),
        columns(
            column("started_at", kind="began"), *(["occasion"] if is_late else []), "status", "scores", "planned",
            column("total_tokens", kind="amount"), "changed", "run_id",
        ),
        there,
        "status",
    )  # fmt: skip


def _began_at(run: JobRun) -> bool:
    """Return whether a run began at the time of its occasion, so that one says both."""
    return run.occasion == f"{run.started_at:%Y-%m-%dT%H:%MZ}"


def _scores(course: Sequence[JobCourse], colours: Colours) -> dict[str, list[dict[str, Any]]]:
    """Return the mean scores from 0 to 1 by run, as small bars by model."""
    found: dict[str, list[dict[str, Any]]] = {}
    order = list(dict.fromkeys(row.model for row in course))  # in each row the same place is the same model
    for row, interval in sorted(
        zip(course, _intervals(course), strict=True), key=lambda one: order.index(one[0].model)
    ):
        if interval is not None and 0 <= interval.centre <= 1:
            label = f"{row.model}: {mean_text(interval)}"
            bar = {"mean": interval.centre, "colour": colours.of(row.model), "label": label}
            found.setdefault(row.run_id, []).append(bar)
    return found
