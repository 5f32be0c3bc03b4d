"""What has changed of an account's jobs since a moment: alarms that opened or are over, and the runs that began."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from workbench.evaluation.alarms import Alarm, Watch
from workbench.ledger.job_rows import RunLine
from workbench.records.endings import SETTLED


class Latest(msgspec.Struct, frozen=True):
    """What has changed since a moment."""

    opened: list[Alarm]
    over: list[Alarm]
    """Recovered, or accepted."""
    scheduled: list[RunLine]
    """Runs of an occasion that began since; neither these nor the others have one that a later run completed, or a probe."""
    others: list[RunLine]
    is_whole: bool
    """Whether these are all runs that began since; otherwise there may be more."""
    has_schedule: bool
    """Whether any job has run by occasions."""


def latest(
    watches: Sequence[Watch], runs: Sequence[RunLine], since_at: datetime, *, is_every: bool, has_schedule: bool
) -> Latest:
    """Return what has changed since a moment.

    Args:
        runs: The newest of the ledger, and none left out between them.
        is_every: Whether these are all runs of the ledger.
        has_schedule: Whether any job has run by occasions.
    """
    alarms = [alarm for watch in watches for alarm in watch.alarms]
    began = [run for run in runs if run.started_at >= since_at]
    counted = [run for run in not_completed_later(began) if not run.is_probe]
    return Latest(
        [alarm for alarm in alarms if _is_since(alarm.seen, since_at)],
        [alarm for alarm in alarms if _is_since(alarm.ended, since_at) or _accepted_since(alarm, since_at)],
        [run for run in counted if run.occasion is not None],
        [run for run in counted if run.occasion is None],
        is_every or len(began) < len(runs),
        has_schedule,
    )


def not_completed_later(runs: Iterable[RunLine]) -> Iterator[RunLine]:
    """Return the runs without those that a later one completed, its gate met or not.

    Args:
        runs: The newest first. A later run of the same generation completes one, if it is of the whole job or the same part.
    """
    complete: set[tuple[str, str, str | None]] = set()
    for run in runs:
        is_settled = run.status in SETTLED
        if is_settled or complete.isdisjoint((run.job, run.generation, part) for part in (None, run.narrowed)):
            yield run
        if is_settled:
            complete.add((run.job, run.generation, run.narrowed))


def _accepted_since(alarm: Alarm, since_at: datetime) -> bool:
    return alarm.accepted_at is not None and alarm.accepted_at >= since_at


def _is_since(occasion: str | None, since_at: datetime) -> bool:
    """Return whether an occasion came since then; one that is not a time does not say when it was."""
    try:
        at = datetime.fromisoformat(occasion or "")
    except ValueError:
        return False
    return (at if at.tzinfo else at.replace(tzinfo=UTC)) >= since_at
