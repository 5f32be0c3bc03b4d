"""Jobs as the page of all runs has them: their newest runs as marks, scores as lines, and when they run next."""

import contextlib
import hashlib
import re
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
from workbench.job.file import ScheduleTable
from workbench.job.occasions import following
from workbench.ledger.job_rows import ModelMean, NewestRun, RunLine
from workbench.ledger.rows import BrokenScorer
from workbench.report.drawing import Colours
from workbench.report.tables import status_kind
from workbench.wording.runs import broken_text, jobs_text

NEWEST_RUNS = 14
_WIDTH, _HEIGHT, _MARGIN = 120, 28, 3  # px, of a line of scores
_MOST_LINES = 4
_FAILING = 0.05
"""Of a run's requests; single ones that a platform refuses are in its figures."""


class JobRow(msgspec.Struct, frozen=True):
    """One job."""

    job: str
    page: str
    """The name of its page's file."""
    dots: list[tuple[str, str, str]]
    """Its newest runs, the oldest first: run id, kind of mark, words."""
    line: Markup
    """Its scores over those runs, a line per model."""
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


def page_name(job: str) -> str:
    """Return the name of a job's page, without its ending; two jobs never share one."""
    readable = re.sub(r"[^a-z0-9]+", "-", job.lower()).strip("-")[:40]
    return f"job-{readable}-{hashlib.sha256(job.encode()).hexdigest()[:8]}"


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
        colours: Of the ledger.
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
    return JobRow(
        job=job,
        page=f"{page_name(job)}.html",
        dots=[_dot(run) for _, run in runs],
        line=_line([run.run_id for run, _ in runs], shown, colours),
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
    return bool(run.status not in ("complete", RUNNING) or run.failed > _FAILING * run.planned)


def _line(run_ids: list[str], scores: list[ModelMean], colours: Colours) -> Markup:
    """Scores from 0 to 1 over a job's newest runs, as a drawing that needs no script."""
    places = {run_id: number for number, run_id in enumerate(run_ids)}
    models: dict[str, list[tuple[float, float]]] = {}
    for row in scores:
        if row.run_id in places and 0 <= row.centre <= 1:
            across = _MARGIN + (_WIDTH - 2 * _MARGIN) * (places[row.run_id] / max(1, len(run_ids) - 1))
            down = _MARGIN + (_HEIGHT - 2 * _MARGIN) * (1 - row.centre)
            models.setdefault(str(row.model), []).append((across, down))
    drawn = Markup("").join(
        Markup('<polyline points="{}" stroke="{}"/><circle cx="{:.1f}" cy="{:.1f}" r="2" fill="{}"/>').format(
            " ".join(f"{x:.1f},{y:.1f}" for x, y in points), colours.of(model), *points[-1], colours.of(model)
        )
        for model, points in list(models.items())[:_MOST_LINES]
    )
    label = ", ".join(list(models)[:_MOST_LINES])
    if not models:
        return Markup("")
    return Markup('<svg class="spark" width="{}" height="{}" role="img" aria-label="scores of {}">{}</svg>').format(
        _WIDTH, _HEIGHT, people.visible(label), drawn
    )


def _next(job_toml: str | None) -> datetime | None:
    """Return when a job runs next by its schedule; None where it has none."""
    with contextlib.suppress(ValueError, KeyError, msgspec.ValidationError, StopIteration):
        schedule = msgspec.convert(tomllib.loads(job_toml or "")["schedule"], ScheduleTable)
        return next(following(schedule, clock.now()))
    return None


def is_worse(row: JobRow) -> bool:
    """Return whether the newest run shows that a model has become worse, of a job without an open alarm."""
    return not row.alarms and any(change.verdict == "worse" for change in row.changes)


def summary(rows: Sequence[JobRow]) -> str:
    """Return the jobs in a line; each is counted once, under the first that holds."""
    rest = [row for row in rows if not row.needs_action]
    return jobs_text(
        len(rows),
        need_action=len(rows) - len(rest),
        alarmed=sum(bool(row.alarms) for row in rest),
        regressed=sum(is_worse(row) for row in rest),
        running=sum(row.status == RUNNING and not row.alarms and not is_worse(row) for row in rest),
    )
