"""`workbench slots`: who on this machine has requests in flight."""

from datetime import UTC, datetime

import click

from workbench.cli import options
from workbench.cli.output import print_json, print_table, say
from workbench.run.slots import slots_in
from workbench.settings import state_folder


@click.command()
@click.option("--all", "every", is_flag=True, help="Free slots as well.")
@options.as_json
def slots(every: bool, as_json: bool) -> None:
    """Say who on this machine has requests in flight, and which slots calls without an answer still keep."""
    folder = state_folder() / "slots"
    rows = [
        {"endpoint": entry.name} | row
        for entry in sorted(folder.iterdir() if folder.is_dir() else ())
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
        say("no request of this machine is in flight")
