"""`workbench ledger path | check | recover | compact`: the ledger's whereabouts and upkeep."""

import sys
from typing import Any

import click

from workbench.cli import options
from workbench.cli.output import echo, print_json, say
from workbench.ledger.check import check_ledger
from workbench.ledger.ingest import ingest
from workbench.ledger.upkeep import compact_ledger
from workbench.session import ledger_to_read


@click.group()
def ledger() -> None:
    """Where the ledger is, whether it is sound, and its upkeep."""


@ledger.command()
@options.ledger
@options.as_json
def path(as_json: bool, **given: Any) -> None:
    """Print where the ledger is, and its journals."""
    found = ledger_to_read(options.where(given))
    journals = [str(journal) for journal in found.journals()]
    if as_json:
        print_json({"ledger": str(found.path), "exists": found.path.exists(), "journals": journals})
    else:
        echo("\n".join([str(found.path), *journals]))


@ledger.command()
@options.ledger
@options.as_json
def check(as_json: bool, **given: Any) -> None:
    """Check that what must be unique is, that journals are whole, and that every attempt has its request."""
    found = check_ledger(ledger_to_read(options.where(given)))
    if as_json:
        print_json(found)
    else:
        for name, value in found.items():
            echo(f"{name.replace('_', ' ')}: {value}")
    sys.exit(0 if found["sound"] else 1)


@ledger.command()
@options.ledger
@options.as_json
def recover(as_json: bool, **given: Any) -> None:
    """Take the journals of runs that ended or were killed into the ledger."""
    done = ingest(ledger_to_read(options.where(given)))
    if as_json:
        print_json(done)
    else:
        echo(f"{done.records} records from {done.journals} journals")
        for aside in done.asides():
            say(aside)
    if done.deferred:
        say(f"error: {done.deferred}")
        sys.exit(5 if done.busy else 3)


@ledger.command()
@options.ledger
@options.as_json
def compact(as_json: bool, **given: Any) -> None:
    """Write the ledger anew without its gaps; the old file is replaced when the new one is whole."""
    before, after = compact_ledger(ledger_to_read(options.where(given)))
    if as_json:
        print_json({"before_bytes": before, "after_bytes": after})
    else:
        echo(f"{before:,} bytes before, {after:,} after")
