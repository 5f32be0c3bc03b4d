"""`workbench slots`: which processes on this machine have requests in flight."""

from datetime import UTC, datetime
from pathlib import Path

import click

from workbench.cli import options
from workbench.cli.output import echo, print_json, print_table, say
from workbench.running.slot_files import release_ghosts, slots_in
from workbench.session import Where, slots_root


@click.group(invoke_without_command=True)
@click.option("--all", "every", is_flag=True, help="List free slots too.")
@options.as_json
@click.pass_context
def slots(ctx: click.Context, every: bool, as_json: bool) -> None:
    """List requests in flight on this machine, and slots still held by killed or abandoned calls."""
    if ctx.invoked_subcommand is not None:
        return
    rows = [
        {"endpoint": entry.name} | row
        for entry in _endpoints()
        for row in slots_in(entry)
        if every or row["state"] != "free"
    ]
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
        names = ("endpoint", "slot", "state", "pid", "job", "model", "busy_until")
        print_table(rows, {name: name.replace("_", " ") for name in names})
    else:
        say("no requests in flight from this machine (runs with --local are not listed)")


@slots.command()
@options.as_json
def release(as_json: bool) -> None:
    """Free the slots kept by calls that were killed or given up; the platform may still be working on these."""
    released = {entry.name: release_ghosts(entry) for entry in _endpoints()}
    if as_json:
        print_json(released)
    else:
        echo(f"{sum(released.values())} slots freed")


def _endpoints() -> list[Path]:
    folder, _ = slots_root(Where(Path.cwd()))
    return sorted(folder.iterdir()) if folder.is_dir() else []
