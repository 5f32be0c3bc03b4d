"""`workbench slots`: requests in flight on this machine; of a team, what each machine has leased."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from workbench.api.session import Target, account_ledger, slots_root
from workbench.cli import options
from workbench.cli.output import echo, print_json, print_table, say
from workbench.display.columns import column, columns
from workbench.running.machines import Leased, machines_of
from workbench.running.slot_files import release_ghosts, slots_in


@click.group(invoke_without_command=True)
@click.option("--all", "every", is_flag=True, help="List free slots too.")
@options.as_json
@click.pass_context
def slots(ctx: click.Context, every: bool, as_json: bool) -> None:
    """List requests in flight on this machine, and slots still held by killed or abandoned calls.

    With a team's ledger: the slots that its machines have leased.
    """
    if ctx.invoked_subcommand is not None:
        return
    ledger = account_ledger(Target(Path.cwd()))
    if (leased := machines_of(ledger).leased_slots()) is not None:
        _print_leased(leased, as_json=as_json)
        return
    rows = [row for row in slots_in(_endpoints()) if every or row["state"] != "free"]
    for row in rows:
        for name in ("busy_until", "since"):
            row[name] = datetime.fromtimestamp(float(str(row[name])), UTC) if row[name] else None
    if as_json:
        print_json(rows)
    elif rows:
        for row in rows:
            row |= {
                "pid": str(row["pid"]),
                "busy_until": f"{row['busy_until']:%H:%M:%S} UTC" if row["busy_until"] else None,
            }
        print_table(rows, columns("endpoint", "slot", "state", "pid", "job", "model", column("busy_until", "until")))
    else:
        say("no requests in flight from this machine (runs with --local are not listed)")


@slots.command()
@options.as_json
def release(as_json: bool) -> None:
    """Free the slots kept by calls that were killed or given up; the platform may still be working on these."""
    released = {entry.name: release_ghosts(entry) for entry in _endpoints()}
    ledger = account_ledger(Target(Path.cwd()))
    if (freed := machines_of(ledger).release_leases()) is not None:
        released[ledger.name] = freed
    if as_json:
        print_json(released)
    else:
        echo(f"{sum(released.values())} slots freed")


def _print_leased(leased: Sequence[Leased], *, as_json: bool) -> None:
    rows = [held._asdict() for held in leased]
    if as_json:
        print_json(rows)
    elif rows:
        for row in rows:
            row |= {
                "pid": None if row["pid"] is None else str(row["pid"]),
                "busy_until": f"{row['busy_until']:%H:%M:%S} UTC",
            }
        print_table(
            rows, columns("endpoint", "slot", "state", "host", "user", "pid", "job", column("busy_until", "until"))
        )
    else:
        say("no slot is leased by any machine")


def _endpoints() -> list[Path]:
    folder, _ = slots_root(Target(Path.cwd()))
    return sorted(folder.iterdir()) if folder.is_dir() else []
