"""What a job's models show since a change, taken for their level by somebody, or not any more: the newest word counts."""

from collections.abc import Sequence

import workbench.display.commands as commands
from workbench.errors import Fault, InputError, nearest
from workbench.evaluation.alarms import Alarm, JobWatches, alarms, open_alarms, standing_acceptances
from workbench.ledger.entries import ChangeAccepted, newer_than
from workbench.ledger.ingest import Ingested, record
from workbench.ledger.job_rows import JobRuns
from workbench.ledger.queries import Reader, reading
from workbench.ledger.store import Ledger


def accept(
    ledger: Ledger, job: str, reason: str, model: str | None = None, *, accepted: bool = True
) -> tuple[list[Alarm], Ingested]:
    """Take what a job's models show since a change for their level, or open its alarm again.

    Args:
        model: Only of this one; None takes all of which something is open.
        accepted: False takes back what was accepted last.

    Returns:
        The alarms that this concerns, as they are now; and how the ingest went.

    Raises:
        InputError: There is no such job or model, or nothing to accept or take back.
    """
    with reading(ledger) as reader:
        runs = {one.job: one for one in reader.all(JobRuns)}
        if job not in runs:
            raise InputError(
                Fault("JOB", f"the ledger has no run of {job!r}", nearest(job, runs) or f"it has: {', '.join(runs)}")
            )
        state = "open" if accepted else "accepted"
        found = [one for one in _shown(reader, job) if one.state == state]
        named = [one for one in found if model in (None, one.model)]
        if not named:
            raise InputError(_nothing(reader, job, model, found, state))
        earlier = [one.recorded_at for one in standing_acceptances(reader, job)]
    if not accepted:
        last = max(one.accepted_at for one in named if one.accepted_at is not None)
        named = [one for one in named if one.accepted_at == last]
    now = newer_than([*earlier, runs[job].last_at])
    models = dict.fromkeys(one.model for one in named)
    done = record(ledger, [ChangeAccepted(job, now, accepted, reason, name) for name in models])
    concerned = {(one.model, one.scorer, one.seen) for one in named}
    with reading(ledger) as reader:
        return [one for one in _shown(reader, job) if (one.model, one.scorer, one.seen) in concerned], done


def _shown(reader: Reader, job: str) -> list[Alarm]:
    """Return every alarm of a job, or what its pages show where it watches for none."""
    return alarms(reader, job) or [alarm for watch in JobWatches().unwatched(reader, job) for alarm in watch.alarms]


def _nothing(reader: Reader, job: str, model: str | None, found: Sequence[Alarm], state: str) -> Fault:
    """Return why there is nothing to do, and what there is."""
    models = list(dict.fromkeys(one.model for one in found))
    if model is not None and models:
        return Fault(
            "--model", f"nothing of {model!r} is {state}", nearest(model, models) or f"of: {', '.join(models)}"
        )
    if state != "open":
        return Fault("JOB", f"nothing of {job!r} is {state}", f"`{commands.ACCEPT}` accepts what is open")
    elsewhere = ", ".join(dict.fromkeys(one.job for one in open_alarms(reader)))
    return Fault("JOB", f"nothing of {job!r} is open", f"of: {elsewhere}" if elsewhere else "of no other job either")
