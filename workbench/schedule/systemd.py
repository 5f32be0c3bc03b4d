"""A job's schedule as a systemd service and timer of the user: written, installed, removed."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from workbench.errors import ExitCode, Fault, InputError
from workbench.job.job import Job
from workbench.job.occasions import calendar_events
from workbench.schedule.command import RETRY_MINUTES, Command, header, timer_name

_NOT_AGAIN = (ExitCode.INTERNAL_ERROR, ExitCode.USAGE, ExitCode.KEY_REJECTED, ExitCode.STOPPED, ExitCode.GATE_NOT_MET)
"""After these the same command would end the same way, or was stopped on purpose."""
_EVERY_FIVE_MINUTES = "*:0/5"
"""For a schedule in a crontab's syntax, which systemd cannot read: the command asks whether something is due."""
_ENDED_WELL = (ExitCode.TERMINAL_CLOSED, ExitCode.INTERRUPTED, ExitCode.TERMINATED)


def units(job: Job, command: Command) -> dict[str, str]:
    """Return the files of a job's timer, by name.

    Args:
        job: With a schedule.
    """
    name, title = timer_name(job), _plain(f"Workbench job {job.name}")
    environment = "".join(
        f"Environment={_quoted(f'{key}={value}', '')}\n" for key, value in command.environment.items()
    )
    events = "".join(
        f"OnCalendar={_plain(event)}\n" for event in calendar_events(job.timetable) or [_EVERY_FIVE_MINUTES]
    )
    again = bool(job.timetable.catch_up or job.timetable.retries)
    service = f"""{header(job.path)}
[Unit]
Description={title}
# The command itself limits how often an occasion is tried.
StartLimitIntervalSec=0

[Service]
Type=exec
WorkingDirectory={_plain(str(command.folder))}
{environment}ExecStart={" ".join(_quoted(word, "$") for word in command.words)}
# A stopped run waits for requests in flight: they are paid for.
KillMode=mixed
TimeoutStopSec={command.stop_s:.0f}
SuccessExitStatus={" ".join(map(str, _ENDED_WELL))}
# What ended incomplete is resumed; what a guard or a gate stopped is not.
Restart=on-failure
RestartSec={RETRY_MINUTES}min
RestartPreventExitStatus={" ".join(map(str, _NOT_AGAIN))}
"""
    after_boot = "# resume what a shutdown interrupted; does nothing otherwise\nOnStartupSec=2min\n" if again else ""
    timer = f"""{header(job.path)}
[Unit]
Description={title} (timer)

[Timer]
{events}{after_boot}AccuracySec=1s
Persistent={"true" if job.timetable.catch_up else "false"}

[Install]
WantedBy=timers.target
"""
    return {f"{name}.service": service, f"{name}.timer": timer}


def complaints(files: dict[str, str]) -> str:
    """Return what `systemd-analyze verify` reports about the units; empty without complaints or without the program."""
    if shutil.which("systemd-analyze") is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in files]
        for path, text in zip(paths, files.values(), strict=True):
            path.write_text(text, "utf-8")
        # it wants a folder for what runs, and has none where no user is logged in
        environment = {"XDG_RUNTIME_DIR": folder} | dict(os.environ)
        done = _ran("systemd-analyze", "--user", "verify", *map(str, paths), environment=environment)
    return "\n".join(line for line in done.stderr.splitlines() if any(name in line for name in files))


def install(job: Job, files: dict[str, str], folder: Path) -> None:
    """Write the units into the user's folder and start the timer; what the job had there is replaced.

    Raises:
        InputError: Another job's timer has the name, or systemd refuses.
    """
    for name in files:
        if (folder / name).exists() and not _is_of(folder / name, job.path):
            raise InputError(Fault(str(folder / name), "it is another job's timer", "give this job another name"))
    remove(job.path, folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
        _systemctl("daemon-reload")
        _systemctl("enable", "--now", f"{timer_name(job)}.timer")
    except InputError:
        for name in files:
            (folder / name).unlink(missing_ok=True)
        raise


def remove(path: str | Path, folder: Path) -> bool:
    """Stop a job file's timer and delete its units; whether there were any.

    Raises:
        InputError: systemd refuses; the units are gone all the same.
    """
    found = installed(path, folder)
    try:
        for timer in found:
            _systemctl("disable", "--now", timer.name)
    finally:
        for timer in found:
            timer.unlink(missing_ok=True)
            timer.with_suffix(".service").unlink(missing_ok=True)
    if found:
        _systemctl("daemon-reload")
    return bool(found)


def installed(path: str | Path, folder: Path) -> list[Path]:
    """Return the timers of a job file in the user's folder."""
    return [timer for timer in sorted(folder.glob("workbench-*.timer")) if _is_of(timer, path)]


def _is_of(unit: Path, path: str | Path) -> bool:
    try:
        return unit.read_text("utf-8").startswith(header(path) + "\n")
    except (OSError, UnicodeDecodeError):
        return False


def _systemctl(*words: str) -> None:
    command = ("systemctl", "--user", *words)
    done = _ran(*command)
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split()) or f"exit code {done.returncode}"
        raise InputError(Fault(" ".join(command), said, "without a systemd user session, use --cron"))


def _ran(*words: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words, capture_output=True, text=True, errors="replace", check=False, timeout=60, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 127, "", str(error))


def _plain(text: str) -> str:
    """Return a value in which systemd is to find no specifier."""
    return text.replace("%", "%%")


def _quoted(word: str, doubled: str) -> str:
    """Return one word in which systemd is to find no specifier, nor what else begins with a sign to be doubled."""
    if word and all(char.isalnum() or char in "/._-=:+@," for char in word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    for sign in ("%", *doubled):
        escaped = escaped.replace(sign, 2 * sign)
    return f'"{escaped}"'
