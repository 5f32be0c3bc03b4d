"""A job's schedule as crontab lines: written, installed, removed."""

import shlex
import subprocess
from pathlib import Path

from workbench.errors import Fault, InputError
from workbench.job.job import Job
from workbench.schedule.command import Command, header

_TIMES = "*/5 * * * *"
"""Whatever the schedule is: the command asks whether something is due, and does nothing otherwise."""
_END = "# end of that workbench schedule"


def lines(job: Job, command: Command, log: Path) -> str:
    """Return the lines of a job, between two comments by which they are found again.

    Args:
        job: With a schedule.
        log: The file that takes what it prints.
    """
    environment = "".join(f"{name}={shlex.quote(value)} " for name, value in command.environment.items())
    place = f"mkdir -p {shlex.quote(str(log.parent))} && cd {shlex.quote(str(command.folder))}"
    started = f"{place} && {environment}{shlex.join(command.words)} >> {shlex.quote(str(log))} 2>&1"
    started = started.replace("%", "\\%")
    return "\n".join([header(job.path), f"{_TIMES} {started}", _END, ""])


def install(job: Job, text: str) -> None:
    """Put a job's lines into the user's crontab, in place of any that it has there.

    Raises:
        InputError: The crontab cannot be read or written.
    """
    kept = _without(_read(), job.path)
    _write(kept + ("" if not kept or kept.endswith("\n") else "\n") + text)


def remove(path: str | Path) -> bool:
    """Take a job file's lines out of the user's crontab; whether there were any."""
    before = _read()
    after = _without(before, path)
    if after == before:
        return False
    _write(after)
    return True


def is_installed(path: str | Path) -> bool:
    """Return whether the user's crontab has a job file's lines."""
    return header(path) in _read().splitlines()


def _without(crontab: str, path: str | Path) -> str:
    kept: list[str] = []
    inside = False
    for line in crontab.splitlines(keepends=True):
        text = line.rstrip("\r\n")
        if inside and text.startswith("# workbench schedule of "):
            break
        if text == header(path):
            inside = True
        elif inside:
            inside = text != _END
        else:
            kept.append(line)
    if inside:
        raise InputError(Fault("crontab", f"{header(path)!r} is present without {_END!r}", "fix it with `crontab -e`"))
    return "".join(kept)


def _read() -> str:
    done = _crontab("-l")
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode and "no crontab" not in said:
        raise InputError(Fault("crontab -l", said or f"exit code {done.returncode}"))
    return "" if done.returncode else done.stdout.decode("utf-8", "surrogateescape")


def _write(text: str) -> None:
    done = _crontab("-", text.encode("utf-8", "surrogateescape"))
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise InputError(Fault("crontab -", said or f"exit code {done.returncode}"))


def _crontab(word: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["crontab", word], input=given, capture_output=True, check=False, timeout=60)
    except FileNotFoundError as error:
        raise InputError(Fault("crontab", "program not found", "--systemd makes a timer")) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(Fault("crontab", str(error))) from error
