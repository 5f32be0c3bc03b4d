"""`workbench accept`: a change of a job's models, taken for their level."""

from pathlib import Path
from typing import Any

import click

import workbench.display.commands as commands
from workbench.api.session import ledger_to_change
from workbench.cli import options
from workbench.cli.output import echo, note_ingest, print_json, say
from workbench.evaluation.accepting import accept as accept_change
from workbench.job.job import load_job
from workbench.ledger.job_rows import JobRuns
from workbench.ledger.queries import reading
from workbench.wording.changes import alarm_objects, alarm_what


@click.command()
@click.argument("job", metavar="JOB")
@options.ledger
@click.option("--model", metavar="ID", help="Only this model [default: all of which something is open].")
@click.option("--reason", metavar="TEXT", help="Why; it is recorded.")
@click.option("--reopen", is_flag=True, help="Take back what was accepted last.")
@options.as_json
def accept(job: str, model: str | None, reason: str | None, reopen: bool, as_json: bool, **given: Any) -> None:
    """Accept what is open of JOB, by its name or its file: what its models show now becomes their level."""
    if not reopen and not (reason or "").strip():
        raise click.UsageError("say why with --reason TEXT")
    where = options.where(given)
    ledger = ledger_to_change(where)
    with reading(ledger) as reader:
        is_named = any(one.job == job for one in reader.all(JobRuns))
    name = job if is_named or not job.endswith(".toml") else load_job(Path(job)).name
    found, done = accept_change(ledger, name, reason or "reopened", model, accepted=not reopen)
    note_ingest(done)
    if as_json:
        print_json(alarm_objects(found))
        return
    for alarm in found:
        state = "open again" if alarm.state == "open" else "still accepted" if reopen else "accepted"
        echo(f"{state}: {alarm_what(alarm)}")
    if not reopen:
        back = commands.take_back_acceptance(job, model, options.words(where))
        say(f"what its models show since then is their level now; `{back}` takes that back")
