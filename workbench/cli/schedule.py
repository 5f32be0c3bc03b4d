"""`workbench schedule`: a job's timer, and what came of its occasions."""

import os
import shlex
import sys
import sysconfig
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import click

from workbench.cli import options
from workbench.cli.jobs import DUE
from workbench.cli.output import print_json, print_table, say
from workbench.errors import Fault, InputError, WorkbenchError
from workbench.job import Job, load_job
from workbench.occasions import as_calendar_events, following
from workbench.plan.models import longest_timeout_s
from workbench.schedule import crontab, systemd
from workbench.schedule.command import Command
from workbench.schedule.due import occasions_of
from workbench.session import Where, ledger_to_write
from workbench.settings import (
    find_endpoint,
    load_settings,
    moved_folders,
    read_environment,
    state_folder,
    systemd_folder,
)

_LIST = "list"
_NEXT, _LAST = 3, 10
_TO_RECORD_S = 60


@click.command()
@click.argument("job", required=False, metavar="[JOB|list]")
@click.option("--systemd", "kind", flag_value="systemd", help="A service and a timer of systemd.")
@click.option("--cron", "kind", flag_value="cron", help="Lines of a crontab.")
@click.option("--install", "--user", "act", flag_value="install", help="Install them for this user, and start.")
@click.option("--remove", "act", flag_value="remove", help="Stop and remove what was installed.")
@options.endpoint
@options.reports
@options.no_report
@options.fixed
@options.as_json
def schedule(job: str | None, kind: str | None, act: str | None, **given: Any) -> None:
    """Print, install or remove the timer of JOB; without --systemd or --cron say what came of its occasions and what comes.

    `workbench schedule list` does so for every job with a [schedule] in this folder and in jobs/. The timer runs
    `workbench run JOB --occasion due` with the options given here, from this folder.
    """
    where = options.where(given)
    if job is None or job == _LIST:
        if kind or act:
            raise click.UsageError("name the job whose timer is meant")
        _print_list(where, as_json=given["as_json"])
        return
    loaded = load_job(Path(job))
    if act and kind is None:
        raise click.UsageError(f"--{act} needs --systemd or --cron")
    if kind is None:
        _print_occasions(where, loaded, as_json=given["as_json"])
    elif act == "remove":
        removed = systemd.remove(loaded, systemd_folder()) if kind == "systemd" else crontab.remove(loaded)
        click.echo(f"{loaded.name}: {'removed' if removed else 'nothing of it was installed'}")
    else:
        _write(loaded, _command(where, loaded, given), kind, install=act == "install")


def _write(job: Job, command: Command, kind: str, *, install: bool) -> None:
    if kind == "cron":
        log = state_folder() / "schedule" / f"{job.name}.log".replace("/", "-")
        text = crontab.lines(job, command, log)
        if not install:
            click.echo(text, nl=False)
            return
        crontab.install(job, text, log)
        click.echo(f"{job.name}: installed in your crontab; what it prints goes to {log}")
    else:
        files = systemd.units(job, command)
        if wrong := systemd.checked(files):
            raise InputError(Fault(f"{job.path}: schedule", f"systemd does not take it: {wrong}"))
        if not install:
            for name, text in files.items():
                click.echo(f"# {name}\n{text}")
            return
        systemd.install(job, files, systemd_folder())
        click.echo(f"{job.name}: installed in {systemd_folder()} and started")
        say("note: your timers run while you are logged in; `loginctl enable-linger` lets them run always")


def _command(where: Where, job: Job, given: dict[str, Any]) -> Command:
    """What the timer starts: this very workbench, here, with the same options."""
    program = Path(sysconfig.get_path("scripts"), "workbench")
    started = [str(program)] if program.exists() else [sys.executable, "-m", "workbench.cli.main"]
    words = [*started, "run", os.path.relpath(job.path, where.folder), "--occasion", DUE, *options.words(where)]
    words += ["--no-progress", *(["--fixed"] if given["fixed"] else ())]
    words += ["--no-report"] if given["no_report"] else ["--reports", str(given["reports"])] if given["reports"] else []
    stop_s = longest_timeout_s(job, _gateway_limit_s(where)) + _TO_RECORD_S
    return Command(tuple(words), where.folder, moved_folders(), stop_s)


def _gateway_limit_s(where: Where) -> float | None:
    """The endpoint's own setting; and a word if a timer would not find the endpoint."""
    if where.local:
        return None
    settings = load_settings(where.folder)
    asked = {"base_url": where.base_url, "profile": where.profile}
    try:
        return find_endpoint(settings, read_environment(where.folder, of_shell=False), **asked).gateway_limit_s
    except WorkbenchError as error:
        say(f"note: a timer sees nothing of this shell's environment; put what it needs into {where.folder / '.env'}")
        say(f"note: as it is, it would end with: {error}")
        return find_endpoint(settings, read_environment(where.folder), **asked).gateway_limit_s


def _print_list(where: Where, *, as_json: bool) -> None:
    now, rows = datetime.now(UTC), []
    for path in sorted((*where.folder.glob("*.toml"), *where.folder.glob("jobs/*.toml"))):
        try:
            job = load_job(path)
        except WorkbenchError as error:
            if "[schedule]" in path.read_text("utf-8", "replace"):
                say(f"note: {error}")
            continue
        if job.schedule is not None:
            rows.append({"job": job.name, "path": os.path.relpath(path, where.folder), **_state(where, job, now)})
    if as_json:
        print_json(rows)
    elif rows:
        names = ("job", "schedule", "next_at", "last", "result", "run_id", "timer")
        print_table(rows, {name: name.replace("_", " ") for name in names}, whole="run_id")
    else:
        say(f"no job in {where.folder} has a [schedule]")


def _state(where: Where, job: Job, now: datetime) -> dict[str, Any]:
    came = occasions_of(ledger_to_write(where), job, now)
    last = came[-1] if came else None
    installed = [
        name
        for name, found in (
            ("systemd", systemd.is_installed(job, systemd_folder())),
            ("cron", crontab.is_installed(job)),
        )
        if found
    ]
    return {
        "schedule": job.timetable.cron or "; ".join(as_calendar_events(job.timetable)),
        "next_at": next(following(job.timetable, now), None),
        "last": last and last.occasion,
        "result": last and last.status,
        "run_id": last and last.run_id,
        "missed": sum(occasion.status == "missed" for occasion in came),
        "timer": ", ".join(installed) or "not installed",
    }


def _print_occasions(where: Where, job: Job, *, as_json: bool) -> None:
    now = datetime.now(UTC)
    came = occasions_of(ledger_to_write(where), job, now)[-_LAST:]
    rows: list[dict[str, Any]] = [
        {"occasion": one.occasion, "result": one.status, "runs": one.runs, "run_id": one.run_id} for one in came
    ]
    coming = list(islice(following(job.timetable, now), _NEXT))
    if as_json:
        print_json({"job": job.name, **_state(where, job, now), "occasions": rows, "coming": coming})
        return
    if rows:
        print_table(rows, {"occasion": "occasion", "result": "result", "runs": "runs", "run_id": "run"}, whole="run_id")
    else:
        say("no occasion has been asked yet")
    click.echo("next: " + ", ".join(f"{moment:%Y-%m-%d %H:%M:%S} UTC" for moment in coming))
    state = _state(where, job, now)
    if state["timer"] == "not installed":
        typed = shlex.join(["workbench", "schedule", os.path.relpath(job.path, where.folder)])
        say(f"no timer is installed: `{typed} --systemd --install`, or --cron")
