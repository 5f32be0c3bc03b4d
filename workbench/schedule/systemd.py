"""A job's schedule as a systemd service and timer of the user: written, installed, removed."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from workbench.errors import Fault, InputError
from workbench.job import Job
from workbench.occasions import as_calendar_events
from workbench.schedule.command import Command, header, unit_name

RETRY_S = 900
_NOT_AGAIN = "1 2 4 7 100"
"""Exit codes after which the same command would end the same way, or was stopped on purpose."""
_ENDED_WELL = "129 130 143"


def units(job: Job, command: Command) -> dict[str, str]:
    """The files of a job's timer, by name.

    Args:
        job: With a schedule.
        command: What its service starts.
    """
    name, title = unit_name(job), _plain(f"Workbench job {job.name}")
    environment = "".join(f"Environment={_quoted(f'{key}={value}')}\n" for key, value in command.environment.items())
    events = "".join(f"OnCalendar={_plain(event)}\n" for event in as_calendar_events(job.timetable))
    service = f"""{header(job)}
[Unit]
Description={title}
StartLimitIntervalSec=1d
StartLimitBurst=50

[Service]
Type=exec
WorkingDirectory={_plain(str(command.folder))}
{environment}ExecStart={" ".join(map(_quoted, command.words))}
# A run that is told to stop waits for what is in flight: it is paid for.
KillMode=mixed
TimeoutStopSec={command.stop_s:.0f}
SuccessExitStatus={_ENDED_WELL}
# What ended incomplete is gone on with; what a guard or a gate stopped is not.
Restart=on-failure
RestartSec={RETRY_S}
RestartPreventExitStatus={_NOT_AGAIN}
"""
    timer = f"""{header(job)}
[Unit]
Description={title}, by the clock

[Timer]
{events}AccuracySec=1s
Persistent={"true" if job.timetable.catch_up else "false"}

[Install]
WantedBy=timers.target
"""
    return {f"{name}.service": service, f"{name}.timer": timer}


def checked(files: dict[str, str]) -> str | None:
    """What the system's own check says against the units; None where it is content or not there."""
    if shutil.which("systemd-analyze") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in files]
        for path, text in zip(paths, files.values(), strict=True):
            path.write_text(text, "utf-8")
        done = _ran("systemd-analyze", "--user", "verify", *map(str, paths))
    said = [line for line in done.stderr.splitlines() if any(name in line for name in files)]
    return "\n".join(said) if done.returncode or said else None


def install(job: Job, files: dict[str, str], folder: Path) -> None:
    """Write the units into the user's folder and start the timer.

    Raises:
        InputError: Another job's timer has the name, or systemd refuses.
    """
    for name in files:
        if (folder / name).exists() and not _is_of(folder / name, job):
            raise InputError(Fault(str(folder / name), "it is another job's timer", "give this job another name"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    _systemctl("daemon-reload")
    _systemctl("enable", "--now", f"{unit_name(job)}.timer")


def remove(job: Job, folder: Path) -> bool:
    """Stop a job's timer and delete its units; whether there were any.

    Raises:
        InputError: systemd refuses.
    """
    if not is_installed(job, folder):
        return False
    _systemctl("disable", "--now", f"{unit_name(job)}.timer")
    for suffix in ("service", "timer"):
        (folder / f"{unit_name(job)}.{suffix}").unlink(missing_ok=True)
    _systemctl("daemon-reload")
    return True


def is_installed(job: Job, folder: Path) -> bool:
    """Whether the user's folder has this job's timer."""
    return _is_of(folder / f"{unit_name(job)}.timer", job)


def _is_of(path: Path, job: Job) -> bool:
    try:
        return path.read_text("utf-8").startswith(header(job) + "\n")
    except (OSError, UnicodeDecodeError):
        return False


def _systemctl(*words: str) -> None:
    command = ("systemctl", "--user", *words)
    done = _ran(*command)
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split()) or f"exit code {done.returncode}"
        raise InputError(Fault(" ".join(command), said, "without a systemd of your own, --cron makes crontab lines"))


def _ran(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        return subprocess.CompletedProcess(words, 127, "", f"{words[0]}: {error.strerror}")


def _plain(text: str) -> str:
    """A value in which systemd is to find no specifier."""
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    """One word of a command line, in which systemd is to find neither a specifier nor a variable."""
    if word and all(char.isalnum() or char in "/._-=:+@," for char in word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$").replace("%", "%%")
    return f'"{escaped}"'
