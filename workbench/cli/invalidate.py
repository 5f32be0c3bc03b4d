"""`workbench invalidate`: samples taken out of a run's scores."""

from typing import Any

import click

import workbench.display.commands as commands
from workbench.api.session import ledger_to_change
from workbench.cli import options
from workbench.cli.output import note_ingest, say
from workbench.display.text import plural
from workbench.evaluation.invalidating import invalidate as take_out


@click.command()
@options.run_id
@options.ledger
@click.option("--sample", "samples", metavar="ID", multiple=True, required=True, help="Which; may be repeated.")
@click.option("--reason", metavar="TEXT", help="Why; it is recorded.")
@click.option("--restore", is_flag=True, help="Put the samples back.")
def invalidate(run: str, samples: tuple[str, ...], reason: str | None, restore: bool, **given: Any) -> None:
    """Take samples out of the scores of RUN and its comparisons, for all models; nothing is deleted."""
    if not restore and not (reason or "").strip():
        raise click.UsageError("say why with --reason TEXT")
    where = options.where(given)
    ledger = ledger_to_change(where)
    run_id, changed, done = take_out(ledger, run, samples, reason or "put back", invalid=not restore)
    note_ingest(done)
    what = "put back into" if restore else "taken out of"
    if same := len(set(samples)) - len(changed):
        say(
            f"{plural(same, 'sample')} {'already counted in' if restore else 'already taken out of'} the scores of run {run_id}"
        )
    if changed:
        command = commands.command("report", run_id, *options.words(where))
        rendered = f"`{command}` renders its page"
        say(f"{plural(len(changed), 'sample')} {what} the scores of run {run_id}; {rendered}")
