"""A job's schedule as crontab lines: written, installed, removed."""

import shlex
import subprocess
from pathlib import Path

from workbench.errors import Fault, InputError
from workbench.job import Job
from workbench.occasions import as_crontab_times
from workbench.schedule.command import Command, header

_RETRY_TIMES = "*/15 * * * *"
_END = "# end of that workbench schedule"


def lines(job: Job, command: Command, log: Path) -> str:
    """The lines of a job, between two comments by which they are found again.

    Args:
        job: With a schedule.
        command: What they start.
        log: The file that takes what it prints.

    Raises:
        InputError: The schedule is one that a crontab has no words for.
    """
    try:
        times = as_crontab_times(job.timetable)
    except ValueError as error:
        raise InputError(Fault(f"{job.path}: schedule", str(error), "--systemd, or schedule.cron")) from error
    environment = "".join(f"{name}={shlex.quote(value)} " for name, value in command.environment.items())
    started = f"cd {shlex.quote(str(command.folder))} && {environment}{shlex.join(command.words)}"
    logged = f"{started} >> {shlex.quote(str(log))} 2>&1".replace("%", "\\%")
    written = [header(job), *(f"{time} {logged}" for time in times)]
    if job.timetable.catch_up or job.timetable.retries:
        written += ["# what was missed, cut off or incomplete; does nothing otherwise", f"{_RETRY_TIMES} {logged}"]
    return "\n".join([*written, _END, ""])


def install(job: Job, text: str, log: Path) -> None:
    """Put a job's lines into the user's crontab, in place of any that it has there.

    Raises:
        InputError: The crontab cannot be read or written.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    kept = _without(_read(), job)
    _write(kept + ("" if not kept or kept.endswith("\n") else "\n") + text)


def remove(job: Job) -> bool:
    """Take a job's lines out of the user's crontab; whether there were any.

    Raises:
        InputError: The crontab cannot be read or written.
    """
    before = _read()
    after = _without(before, job)
    if after == before:
        return False
    _write(after)
    return True


def is_installed(job: Job) -> bool:
    """Whether the user's crontab has this job's lines."""
    try:
        return header(job) in _read().splitlines()
    except InputError:
        return False


def _without(crontab: str, job: Job) -> str:
    kept, inside = [], False
    for line in crontab.splitlines(keepends=True):
        inside = inside or line.rstrip("\n") == header(job)
        if not inside:
            kept.append(line)
        inside = inside and line.rstrip("\n") != _END
    return "".join(kept)


def _read() -> str:
    done = _crontab("-l")
    if done.returncode and "no crontab" not in done.stderr:
        raise InputError(Fault("crontab -l", done.stderr.strip() or f"exit code {done.returncode}"))
    return "" if done.returncode else done.stdout


def _write(text: str) -> None:
    done = _crontab("-", given=text)
    if done.returncode:
        raise InputError(Fault("crontab -", done.stderr.strip() or f"exit code {done.returncode}"))


def _crontab(word: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["crontab", word], input=given, capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        raise InputError(Fault("crontab", f"{error.strerror}", "--systemd makes a timer")) from error
