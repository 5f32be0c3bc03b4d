"""`workbench ledger path | check | recover | compact`: find, check and maintain the ledger."""

import sys
from typing import Any

import click

from workbench.cli import options
from workbench.cli.output import echo, print_json, say
from workbench.display import count, plural
from workbench.ledger.check import check_ledger
from workbench.ledger.ingest import ingest
from workbench.ledger.upkeep import compact_ledger
from workbench.session import ledger_to_read


@click.group()
def ledger() -> None:
    """Find, check and maintain the ledger."""


@ledger.command()
@options.ledger
@options.as_json
def path(as_json: bool, **given: Any) -> None:
    """Print the paths of the ledger and its journals."""
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
    """Check for duplicates, damaged journals, and attempts without a request."""
    found = check_ledger(ledger_to_read(options.where(given)))
    if as_json:
        print_json(found)
    else:
        _print_checked(found)
    sys.exit(0 if found["sound"] else 1)


def waiting_journals(state: dict[str, Any]) -> str:
    """How many journals of a checked ledger wait to be ingested, and how many are being written."""
    live = f", {count(state['live_journals'])} being written" if state["live_journals"] else ""
    return f"{plural(state['journals'], 'journal')} not ingested yet{live}"


def _print_checked(found: dict[str, Any]) -> None:
    """What a check found, in sentences."""
    kind = "simulated" if found["simulated"] else "an account's"
    held = ", ".join(plural(found[name], name.removesuffix("s")) for name in ("runs", "requests", "attempts", "scores"))
    echo(f"{found['ledger']}: {'sound' if found['sound'] else 'NOT sound'}")
    echo(f"it holds {held}{f', {kind}' if found['runs'] else ''}; {waiting_journals(found)}")
    for problem in found["problems"]:
        echo(f"problem: {problem}")
    for journal in found["torn_journals"]:
        echo(f"torn at its end, as its writer was killed or is still writing: {journal}")


@ledger.command()
@options.ledger
@options.as_json
def recover(as_json: bool, **given: Any) -> None:
    """Ingest the journals of runs that ended or were killed."""
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
    """Rewrite the ledger without gaps; the old file is replaced once the new one is complete."""
    before, after = compact_ledger(ledger_to_read(options.where(given)))
    if as_json:
        print_json({"before_bytes": before, "after_bytes": after})
    else:
        echo(f"{before:,} bytes before, {after:,} after")
