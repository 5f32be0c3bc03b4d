"""The command that a timer or a crontab line starts, and how both are found again."""

import hashlib
import os
from datetime import timedelta
from pathlib import Path

import msgspec

from workbench.errors import Fault, InputError
from workbench.job.job import Job

_LONGEST_NAME = 100
EVERY = timedelta(minutes=5)
"""How often cron, and systemd for a schedule in cron's syntax, asks whether something is due."""
RETRY_MINUTES = 15
"""How soon an interrupted or incomplete run is resumed."""


class Command(msgspec.Struct, frozen=True):
    """What is started at every occasion."""

    words: tuple[str, ...]
    folder: Path
    """Where: `workbench.toml`, `.env` and the ledger are looked for there."""
    environment: dict[str, str]
    """What must be as in the shell that made it; never a key."""
    stop_s: float
    """How long a run may take to end well once it is told to: its longest call, and recording it."""


def checked(job: Job, command: Command) -> None:
    """Check that there is a schedule, and that everything can be written into a timer.

    Raises:
        InputError: There is none, or a name or path has a character that a line of a file cannot hold.
    """
    _ = job.timetable
    written = [
        (job.where("name"), job.name),
        ("the working folder", str(command.folder)),
        ("the job file", header(job.path)),
    ]
    written += [("schedule", word) for word in (*command.words, *command.environment.values())]
    for where, text in written:
        if not text.isprintable() or text.endswith("\\"):
            raise InputError(Fault(where, f"{text!r} cannot be written into a timer", "use plain text"))


def timer_name(job: Job) -> str:
    """Return the name of a job's timer, of characters that systemd and file systems take."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "._") else "-" for char in job.name)
    if len(plain) > _LONGEST_NAME:
        plain = f"{plain[:_LONGEST_NAME]}-{hashlib.sha256(job.name.encode()).hexdigest()[:8]}"
    return f"workbench-{plain}"


def header(path: str | Path) -> str:
    """Return the line by which what belongs to a job file is found again, whatever the job is called by now."""
    return f"# workbench schedule of {os.path.realpath(path)}"
