"""Jobs as the page of all runs has them: their newest runs as marks, scores as lines, and when they run next."""

import contextlib
import tomllib
from collections.abc import Sequence
from datetime import datetime

import msgspec
from markupsafe import Markup

import workbench.display.text as people
import workbench.settings.clock as clock
from workbench.evaluation.alarms import Alarm
from workbench.evaluation.job_changes import JobChange
from workbench.evaluation.ongoing import NOT_ENDED, RUNNING
from workbench.evaluation.run_figures import Unjudged
from workbench.job.file import ScheduleTable
from workbench.job.occasions import following
from workbench.ledger.job_rows import ModelMean, NewestRun, RunLine
from workbench.ledger.rows import BrokenScorer
from workbench.records.endings import SETTLED
from workbench.report.drawing import Colours
from workbench.report.tables import status_kind
from workbench.wording.runs import broken_text, jobs_text
from workbench.wording.scores import range_text

NEWEST_RUNS = 14
_WIDTH, _HEIGHT, _MARGIN = 120, 20, 3  # px, of a line of scores
_MOST_LINES = 4
_FAILING = 0.05
"""Of a run's requests; single ones that a platform refuses are in its figures."""


class ScoreLine(msgspec.Struct, frozen=True):
    """The scores of one model over a job's newest runs."""

    model: str
    drawing: Markup
    """From 0 at the bottom to 1 at the top, and hollow where a run is not complete; it needs no script."""
    last: str
    """The newest, as a number, or between which two it is."""


class JobRow(msgspec.Struct, frozen=True):
    """One job."""

    job: str
    dots: list[tuple[str, str, str]]
    """Its newest runs, the oldest first: run id, kind of mark, words."""
    lines: list[ScoreLine]
    """Its scores over those runs, by model."""
    more_models: int
    """Without a line here."""
    status: str | None
    reason: str | None
    newest_at: datetime
    next_at: datetime | None
    changes: list[JobChange]
    """What its newest run shows against the one before, as far as a test shows anything."""
    failed: int
    answered: int
    """Of its newest run's requests."""
    broken: list[str]
    """The scorers that failed on answers of its newest run, in words."""
    needs_action: bool
    alarms: list[Alarm] = []
    """What is open of it."""
    drops: list[Alarm] = []
    """What would be, if it watched for changes."""
    unjudged: Unjudged | None = None
    """Answers of its newest run without a judgement, which a command of their own asks for."""

    @property
    def needs_somebody(self) -> bool:
        """Whether somebody must look after its newest run."""
        return self.needs_action or self.unjudged is not None

    @property
    def newest_run(self) -> str:
        """The id of its newest run."""
        return self.dots[-1][0]


def job_rows(
    runs: Sequence[tuple[NewestRun, RunLine]],
    scores: Sequence[ModelMean],
    changes: dict[str, list[JobChange]],
    alarms: Sequence[Alarm],
    broken: Sequence[BrokenScorer],
    colours: Colours,
) -> list[JobRow]:
    """Return the jobs, those with the newest run first.

    Args:
        runs: The newest of each, the oldest first, with how they ended.
        scores: Of the newest runs.
        changes: By job; see `job_changes`.
        alarms: What is open, of all jobs.
        broken: Scorers that failed on answers of these runs.
    """
    by_job: dict[str, list[tuple[NewestRun, RunLine]]] = {}
    for run in runs:
        by_job.setdefault(run[0].job, []).append(run)
    found = [
        msgspec.structs.replace(
            _row(job, own, scores, changes.get(job, []), broken, colours),
            alarms=[alarm for alarm in alarms if alarm.job == job],
        )
        for job, own in by_job.items()
    ]
    return sorted(found, key=lambda row: row.newest_at, reverse=True)


def _row(
    job: str,
    runs: list[tuple[NewestRun, RunLine]],
    scores: Sequence[ModelMean],
    changes: list[JobChange],
    broken: Sequence[BrokenScorer],
    colours: Colours,
) -> JobRow:
    began, newest = runs[-1]
    broken_now = [broken_text(one) for one in broken if one.run_id == newest.run_id]
    shown = [row for row in scores if row.job == job and row.scorer == began.scorer]
    lines = _lines([run for _, run in runs], shown, colours)
    return JobRow(
        job=job,
        dots=[_dot(run) for _, run in runs],
        lines=lines[:_MOST_LINES],
        more_models=len(lines[_MOST_LINES:]),
        status=newest.status,
        reason=newest.reason,
        newest_at=newest.started_at,
        next_at=_next(began.job_toml),
        changes=[change for change in changes if change.verdict != "none shown"],
        failed=newest.failed,
        answered=newest.answered,
        broken=broken_now,
        needs_action=needs_action(newest) or bool(broken_now),
    )


def _dot(run: RunLine) -> tuple[str, str, str]:
    kind = status_kind(run.status, failed=run.failed, answered=run.answered)
    failed = f", {people.count(run.failed)} failed" if run.failed else ""
    return run.run_id, kind, f"{run.status or NOT_ENDED}{failed}, {people.moment(run.started_at)}"


def needs_action(run: RunLine) -> bool:
    """Return whether somebody must look after a run: it did not end as it should, or much of it failed for good."""
    if run.is_probe:  # it says what it found on the page of routes, and is asked once more by its own command
        return False
    return run.status not in ("complete", RUNNING) or run.failed > _FAILING * run.planned


def _lines(runs: Sequence[RunLine], scores: Sequence[ModelMean], colours: Colours) -> list[ScoreLine]:
    """Return the scores of each model over a job's newest runs, those that were asked first before the others.

    A model without any score that is known comes after those that have some, and its drawing is empty; alone it has none.
    """
    places = {run.run_id: number for number, run in enumerate(runs)}
    is_whole = {run.run_id: run.status in SETTLED for run in runs}
    by_model: dict[str, list[ModelMean]] = {}
    for row in scores:
        if row.run_id in places:
            by_model.setdefault(str(row.model), []).append(row)
    found: list[ScoreLine] = []
    without: list[ScoreLine] = []
    for model, own in by_model.items():
        own.sort(key=lambda row: places[row.run_id])
        known = [(row, row.centre) for row in own if row.centre is not None and row.answered]
        are_shares = all(0 <= at <= 1 for _, at in known)  # what else they are has no place in the drawing
        points = [
            (_across(places[row.run_id], len(runs)), _down(at), is_whole[row.run_id])
            for row, at in (known if are_shares else ())
        ]
        newest = known[-1][0] if known else own[-1]
        last = range_text(newest.mean, newest.at_worst, newest.at_best) if newest.answered else "no answer"
        if places[newest.run_id] < len(runs) - 1:
            last += " before"
        drawing = _drawing(points, colours.of(model), f"scores of {model}")
        (found if known else without).append(ScoreLine(model, drawing, last))
    return found + without if found else []


def _across(place: int, runs: int) -> float:
    return _MARGIN + (_WIDTH - 2 * _MARGIN) * (place / max(1, runs - 1))


def _down(score: float) -> float:
    return _MARGIN + (_HEIGHT - 2 * _MARGIN) * (1 - score)


def _drawing(points: Sequence[tuple[float, float, bool]], colour: str, label: str) -> Markup:
    dots = Markup("").join(
        Markup('<circle cx="{:.1f}" cy="{:.1f}" r="2" fill="{}" stroke="{}"/>').format(
            x, y, colour if is_whole else "var(--ground)", colour
        )
        for number, (x, y, is_whole) in enumerate(points)
        if not is_whole or number == len(points) - 1
    )
    line = Markup('<polyline points="{}" stroke="{}"/>').format(
        " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points), colour
    )
    frame = Markup('<line x1="0" x2="{0}" y1="{1}" y2="{1}"/><line x1="0" x2="{0}" y1="{2}" y2="{2}"/>').format(
        _WIDTH, _down(0), _down(1)
    )
    return Markup('<svg class="spark" width="{}" height="{}" role="img" aria-label="{}">{}{}{}</svg>').format(
        _WIDTH, _HEIGHT, people.visible(label), frame, line, dots
    )


def _next(job_toml: str | None) -> datetime | None:
    """Return when a job runs next by its schedule; None where it has none."""
    with contextlib.suppress(ValueError, KeyError, msgspec.ValidationError, StopIteration):
        schedule = msgspec.convert(tomllib.loads(job_toml or "")["schedule"], ScheduleTable)
        return next(following(schedule, clock.now()))
    return None


def is_worse(row: JobRow) -> bool:
    """Return whether its newest runs show that a model has become worse, of a job without an open alarm."""
    return not row.alarms and bool(row.drops or worse_changes(row))


def worse_changes(row: JobRow) -> list[JobChange]:
    """Return what is worse in its newest run than in the one before."""
    return [change for change in row.changes if change.verdict == "worse"]


def summary(rows: Sequence[JobRow]) -> str:
    """Return the jobs in a line; each is counted once, under the first that holds."""
    rest = [row for row in rows if not row.needs_somebody]
    return jobs_text(
        len(rows),
        need_action=len(rows) - len(rest),
        alarmed=sum(bool(row.alarms) for row in rest),
        regressed=sum(is_worse(row) for row in rest),
        running=sum(row.status == RUNNING and not row.alarms and not is_worse(row) for row in rest),
    )
