"""`workbench schedule`: a job's timer, and its past and upcoming runs."""

import os
import re
import shutil
import sys
import sysconfig
from datetime import datetime
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import click

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.api.session import Target, ledger_to_write
from workbench.cli import options
from workbench.cli.output import print_json, print_table, say
from workbench.display.columns import columns
from workbench.errors import ExitCode, Fault, InputError, WorkbenchError
from workbench.evaluation.alarms import Alarm, open_alarms
from workbench.job.job import Job, load_job
from workbench.job.occasions import calendar_events, following
from workbench.ledger.queries import reading
from workbench.planning.models import longest_timeout_s
from workbench.schedule import crontab, systemd
from workbench.schedule.command import EVERY, Command, checked, timer_name
from workbench.schedule.due import Occasion, occasions_of
from workbench.settings.endpoint import find_endpoint
from workbench.settings.environment import (
    moved_folders,
    read_environment,
    state_folder,
    systemd_folder,
    unseen_by_timers,
)
from workbench.settings.file import load_settings
from workbench.wording.changes import alarm_objects, open_lines

_LIST = "list"
_NEXT, _LAST = 3, 10
_TO_RECORD_S = 60


@click.command()
@click.argument("job", required=False, metavar="[JOB|list]")
@click.option("--systemd", is_flag=True, help="Use a systemd service and timer.")
@click.option("--cron", is_flag=True, help="Use crontab lines.")
@click.option("--install", "--user", "install", is_flag=True, help="Install and start them for this user.")
@click.option("--remove", is_flag=True, help="Stop and remove what was installed.")
@options.endpoint
@options.reports
@options.no_report
@options.fixed
@options.as_json
def schedule(job: str | None, **given: Any) -> None:
    """Print, install or remove the timer of JOB; without --systemd or --cron list its past and upcoming runs.

    `workbench schedule list` does so for every job with a [schedule] in this folder and in jobs/. The timer runs
    `workbench run JOB --occasion due` with the options given here, from this folder.
    """
    kind, act = _one_of(given, "systemd", "cron"), _one_of(given, "install", "remove")
    where = options.where(given)
    if job is None or job == _LIST:
        if kind or act:
            raise click.UsageError("JOB is missing: name the job of the timer")
        _print_list(where, as_json=given["as_json"])
        return
    if act and kind is None:
        raise click.UsageError(f"--{act} needs --systemd or --cron")
    if act == "remove":  # also of a job that cannot be read any more
        removed = systemd.remove(job, systemd_folder()) if kind == "systemd" else crontab.remove(job)
        click.echo(f"{job}: {'removed' if removed else 'nothing was installed'}")
        return
    loaded = load_job(Path(job))
    if kind is None:
        _print_occasions(where, loaded, as_json=given["as_json"])
        return
    files = _files(loaded, _command(where, loaded, given), kind)
    if act == "install":
        _install(loaded, files, kind)
    elif given["as_json"]:
        print_json(files)
    else:
        for name, text in files.items():
            click.echo(f"# {name}\n{text}" if kind == "systemd" else text, nl=kind == "systemd")


def _one_of(given: dict[str, Any], one: str, other: str) -> str | None:
    """Return which of two flags is given."""
    if given[one] and given[other]:
        raise click.UsageError(f"give either --{one} or --{other}, not both")
    return one if given[one] else other if given[other] else None


def _files(job: Job, command: Command, kind: str) -> dict[str, str]:
    """Return what a timer consists of, by file name."""
    checked(job, command)
    if kind == "cron" or not calendar_events(job.timetable):
        coming = list(islice(following(job.timetable, clock.now()), _NEXT))
        if any(after - before < EVERY for before, after in pairwise(coming)):
            say(f"note: {kind} asks every five minutes whether something is due; the times of {job.name} lie closer")
    if kind == "cron":
        return {"crontab": crontab.lines(job, command, _log(job))}
    files = systemd.units(job, command)
    if wrong := systemd.complaints(files):
        raise InputError(Fault(job.where("schedule"), f"systemd rejects it: {wrong}"))
    return files


def _install(job: Job, files: dict[str, str], kind: str) -> None:
    if kind == "cron":
        crontab.install(job, files["crontab"])
        click.echo(f"{job.name}: installed in your crontab; its output goes to {_log(job)}")
    else:
        systemd.install(job, files, systemd_folder())
        click.echo(f"{job.name}: installed in {systemd_folder()} and started")
        say("note: your timers run only while you are logged in; `loginctl enable-linger` keeps them running")


def _log(job: Job) -> Path:
    return state_folder() / "schedule" / f"{timer_name(job)}.log"


def _command(where: Target, job: Job, given: dict[str, Any]) -> Command:
    """Return what the timer starts: this very workbench, here, with the same options."""
    program = Path(sysconfig.get_path("scripts"), "workbench")
    started = [str(program)] if program.exists() else [sys.executable, "-m", "workbench"]
    path = os.path.relpath(job.path, where.folder)
    words = [
        *started,
        "run",
        f"./{path}" if path.startswith("-") else path,
        "--occasion",
        options.DUE,
        *options.words(where),
    ]
    words += ["--no-progress", *(["--fixed"] if given["fixed"] else ())]
    words += ["--no-report"] if given["no_report"] else ["--reports", str(given["reports"])] if given["reports"] else []
    if left := unseen_by_timers():
        say(f"note: {', '.join(left)} of this shell will not be set when the timer runs")
    stop_s = longest_timeout_s(job, _gateway_limit_s(where)) + _TO_RECORD_S
    return Command(tuple(words), where.folder, moved_folders(), stop_s)


def _gateway_limit_s(where: Target) -> float | None:
    """Return the endpoint's own setting; also warns if a timer would not find the endpoint."""
    if where.local:
        return None
    settings = load_settings(where.folder)
    asked = partial(find_endpoint, settings, base_url=where.base_url, profile=where.profile, folder=where.folder)
    found = asked(read_environment(where.folder))
    try:
        asked(read_environment(where.folder, of_shell=False))
    except WorkbenchError as error:
        say(f"note: a timer does not see this shell's environment; put what it needs into {where.folder / '.env'}")
        say(f"note: as it is, the timer would fail with: {error}")
    return found.gateway_limit_s


_SCHEDULED = re.compile(r"(?m)^\s*(\[\s*schedule\s*\]|schedule\s*=)")


def _print_list(where: Target, *, as_json: bool) -> None:
    now, rows, every, are_broken = clock.now(), [], [], False
    for path in sorted((*where.folder.glob("[!.]*.toml"), *where.folder.glob("jobs/[!.]*.toml"))):
        try:
            job = load_job(path)
        except WorkbenchError as error:
            if path.is_file() and _SCHEDULED.search(path.read_text("utf-8", "replace")):
                say(f"error: {error}")
                are_broken = True
            continue
        if job.schedule is not None:
            came = occasions_of(ledger_to_write(where), job, now)
            every += (standing := _open(where, job))
            state = _state(where, job, came, now, standing)
            rows.append({"job": job.name, "path": os.path.relpath(path, where.folder), **state})
    if as_json:
        print_json(rows)
    elif rows:
        shown = columns("job", "schedule", "next_at", "last", "result", "run_id", "timer")
        print_table(rows, shown, whole=("run_id",))
        for line in open_lines(every, ledger_to_write(where).name):
            say(line)
    elif not are_broken:
        say(f"no job in {where.folder} has a [schedule]")
    if are_broken:
        sys.exit(ExitCode.USAGE)


def _open(where: Target, job: Job) -> list[Alarm]:
    ledger = ledger_to_write(where)
    if not ledger.exists:
        return []
    with reading(ledger) as reader:
        return open_alarms(reader, job.name)


def _state(where: Target, job: Job, came: list[Occasion], now: datetime, standing: list[Alarm]) -> dict[str, Any]:
    last = came[-1] if came else None
    return {
        "schedule": job.timetable.cron or "; ".join(calendar_events(job.timetable)),
        "next_at": next(following(job.timetable, now), None),
        "last": last and last.occasion,
        "result": last and last.status,
        "run_id": last and last.run_id,
        "missed": sum(occasion.status == "missed" for occasion in came),
        "timer": _timer(job),
        "ledger": ledger_to_write(where).name,
        "open_alarms": alarm_objects(standing),
    }


def _timer(job: Job) -> str:
    found = ["systemd"] if systemd.installed(job.path, systemd_folder()) else []
    if shutil.which("crontab"):
        try:
            found += ["cron"] if crontab.is_installed(job.path) else []
        except InputError as error:
            say(f"note: {error}")
            found.append("cron unknown")
    return ", ".join(found) or "not installed"


def _print_occasions(where: Target, job: Job, *, as_json: bool) -> None:
    now = clock.now()
    came = occasions_of(ledger_to_write(where), job, now)
    standing = _open(where, job)
    state = _state(where, job, came, now, standing)
    rows: list[dict[str, Any]] = [
        {"occasion": one.occasion, "result": one.status, "runs": one.runs, "run_id": one.run_id}
        for one in came[-_LAST:]
    ]
    coming = list(islice(following(job.timetable, now), _NEXT))
    if as_json:
        print_json({"job": job.name, **state, "occasions": rows, "coming": coming})
        return
    if rows:
        print_table(rows, columns("occasion", "result", "runs", "run_id"), whole=("run_id",))
    else:
        say("no scheduled run yet")
    click.echo("next: " + (", ".join(f"{moment:%Y-%m-%d %H:%M:%S} UTC" for moment in coming) or "none left"))
    for line in open_lines(standing, ledger_to_write(where).name, named=False):
        say(line)
    if state["timer"] == "not installed":
        path = os.path.relpath(job.path, where.folder)
        install = commands.command("schedule", path, *options.words(where), "--systemd", "--install")
        say(f"no timer is installed: `{install}`, or --cron")
