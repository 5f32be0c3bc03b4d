"""The command that a timer or a crontab line starts."""

from pathlib import Path

import msgspec

from workbench.errors import Fault, InputError
from workbench.job import Job


class Command(msgspec.Struct, frozen=True):
    """What is started at every occasion."""

    words: tuple[str, ...]
    folder: Path
    """Where: `workbench.toml`, `.env` and the ledger are looked for there."""
    environment: dict[str, str]
    """What must be as in the shell that made it; never a key."""
    stop_s: float
    """How long a run may take to end well once it is told to: its longest call, and recording it."""

    def __post_init__(self) -> None:
        for text in (*self.words, str(self.folder), *self.environment.values()):
            if not text.isprintable():
                raise InputError(Fault("schedule", f"{text!r} cannot be written into a timer: it is no plain text"))


def unit_name(job: Job) -> str:
    """The name of a job's timer, of characters that systemd and file systems take."""
    return "workbench-" + "".join(
        char if char.isascii() and (char.isalnum() or char in "._") else "-" for char in job.name
    )


def header(job: Job) -> str:
    """The line by which what belongs to a job is found again."""
    return f"# workbench schedule of {job.path}"
