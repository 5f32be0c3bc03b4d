"""`workbench ledger path | check | recover | compact | create | copy`: find, check and maintain the ledger."""

import re
import sys
from pathlib import Path
from typing import Any

import click
import tomli_w

import workbench.display.commands as commands
from workbench.api.session import ledger_to_change, ledger_to_read, no_ledger
from workbench.cli import options
from workbench.cli.output import echo, print_json, say, say_notes
from workbench.display.text import count, plural
from workbench.errors import ExitCode, Fault, InputError
from workbench.ledger.address import team_room
from workbench.ledger.check import check_ledger
from workbench.ledger.ingest import ingest
from workbench.ledger.kinds import store_of
from workbench.ledger.store import Ledger
from workbench.ledger.upkeep import compact_ledger
from workbench.running.machines import machines_of


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
        print_json({"ledger": found.name, "exists": found.address.is_made, "journals": journals})
    else:
        echo("\n".join([found.name, *journals]))


@ledger.command()
@options.ledger
@options.as_json
def check(as_json: bool, **given: Any) -> None:
    """Recompute every request key, look for duplicates and damage, and report mismatches.

    Exits with 1 where the ledger is not sound.
    """
    found = check_ledger(ledger_to_read(options.where(given)))
    if as_json:
        print_json(found)
    else:
        _print_checked(found)
    sys.exit(ExitCode.DONE if found["sound"] else ExitCode.INTERNAL_ERROR)


def waiting_journals(state: dict[str, Any]) -> str:
    """Return how many journals of a checked ledger wait to be ingested, and how many are being written."""
    live = f", {count(state['live_journals'])} being written" if state["live_journals"] else ""
    return f"{plural(state['journals'], 'journal')} not ingested yet{live}"


def _print_checked(found: dict[str, Any]) -> None:
    """Say what a check found, in sentences."""
    kind = "simulated" if found["simulated"] else "an account's"
    held = ", ".join(plural(found[name], name.removesuffix("s")) for name in ("runs", "requests", "attempts", "scores"))
    echo(f"{found['ledger']}: {'sound' if found['sound'] else 'NOT sound'}")
    echo(f"it holds {held}{f', {kind}' if found['runs'] else ''}; {waiting_journals(found)}")
    if changed := found["reinterpreted_attempts"]:
        echo(
            f"today's rules read {plural(changed, 'attempt')} differently from when recorded; all figures follow today's"
        )
    for problem in found["problems"]:
        echo(f"problem: {problem}")
    for journal in found["torn_journals"]:
        echo(f"torn at its end, as its writer was killed or is still writing: {journal}")


@ledger.command()
@options.ledger
@click.option(
    "--journals",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help=f"Those in FOLDER instead: a copy of another machine's, which `{commands.LEDGER_PATH}` names there.",
)
@options.as_json
def recover(journals: Path | None, as_json: bool, **given: Any) -> None:
    """Ingest the journals of runs that ended or were killed."""
    found = ledger_to_read(options.where(given))
    if journals is not None:
        found = found.with_journals(journals)
    done = ingest(found)
    if not done.deferred:
        machines_of(found).hand_in()
    if as_json:
        print_json(done)
    else:
        echo(f"{plural(done.records, 'record')} from {plural(done.journals, 'journal')}")
        say_notes(done.set_aside_messages())
    if done.deferred:
        say(f"error: {done.deferred}")
        sys.exit(ExitCode.LOCKED if done.busy else ExitCode.INCOMPLETE)


@ledger.command()
@options.ledger
@options.as_json
def compact(as_json: bool, **given: Any) -> None:
    """Rewrite the ledger without gaps; of a team's, merge small files and remove those that nothing names any more."""
    found = ledger_to_change(options.where(given))
    done = compact_ledger(found)
    say_notes(done.set_aside)
    sizes, kept = {"before_bytes": done.before_bytes, "after_bytes": done.after_bytes}, ""
    if done.kept_days:
        sizes["older_bytes"] = done.older_bytes
        kept = f"; {count(done.older_bytes)} of them in files of older states, kept for {plural(done.kept_days, 'day')}"
    if as_json:
        print_json(sizes)
    else:
        echo(f"{count(done.before_bytes)} bytes before, {count(done.after_bytes)} after{kept}")


@ledger.command()
@click.argument("url")
@click.option(
    "--data",
    metavar="FOLDER",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where its rows go: a folder that all machines see.",
)
def create(url: str, data: Path) -> None:
    """Make a ledger for several machines at URL, such as ducklake:postgres:"host=db.lab.example dbname=workbench"."""
    if re.match(r"\w+:/", str(data)):  # as a path it would name a folder of that name here
        hint = "a folder that all machines see, such as a network share"
        raise InputError(Fault("--data", "object stores are not supported", hint))
    if not data.is_absolute():  # every machine would read it as another folder
        raise InputError(Fault("--data", f"{data} is relative to this folder", f"the whole path: {data.absolute()}"))
    made = Ledger(url, data=data)
    if not made.address.is_shared:
        raise InputError(
            Fault("URL", f"{url!r} is not the address of a team's ledger", "it begins with ducklake:postgres:")
        )
    team_room().create_ledger(made)
    say(f"made {made.name}; every machine's workbench.toml names it:")
    echo(tomli_w.dumps({"ledger": {"url": made.name}}).strip())


@ledger.command()
@click.argument("source", metavar="FILE")
@click.argument("team", metavar="TEAM")
@options.as_json
def copy(source: str, team: str, as_json: bool) -> None:
    """Copy what the ledger FILE holds into a TEAM's; again, and only what came since is copied."""
    here, there = Ledger(source), Ledger(team)
    if here.address.is_shared or not here.exists:
        raise InputError(no_ledger("FILE", f"there is no ledger file at {source}", Path(source)))
    if not there.address.is_shared:
        raise InputError(
            Fault("TEAM", f"{team!r} is not the address of a team's ledger", "it begins with ducklake:postgres:")
        )
    store_of(there).require_rights()
    copied = team_room().copy_ledger(here, there)
    if as_json:
        print_json(copied)
    else:
        rows = {table: number for table, number in copied.items() if number}
        echo(", ".join(f"{count(number)} {table.replace('_', ' ')}" for table, number in rows.items()) or "nothing new")
