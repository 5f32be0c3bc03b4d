"""`workbench doctor`: what would prevent a run, and how to fix it."""

import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import click
import msgspec

import workbench.display.commands as commands
from workbench.api.session import Target, check_folder, connected, ledger_to_write, settings_files, slots_root
from workbench.cli import options
from workbench.cli.ledger import waiting_journals
from workbench.cli.output import print_json
from workbench.display.text import plural, visible
from workbench.errors import ExitCode, InputError, KeyRejectedError, UnreachableError, WorkbenchError
from workbench.ledger.check import check_ledger
from workbench.ledger.kinds import store_of
from workbench.running.machines import machines_of
from workbench.running.provenance import package_versions
from workbench.running.slots import make_folder, named_by
from workbench.settings.environment import DOTENV, found_upward
from workbench.settings.file import FILE_NAME

_LEAST_FREE_BYTES = 200 * 2**20
_MOST_CLOCK_ERROR_S = 30.0


class CheckResult(msgspec.Struct, frozen=True):
    """The result of one check."""

    check: str
    ok: bool
    text: str
    fix: str = ""
    """What to do about a problem."""
    exit_code: int = 0
    """What a run with this problem exits with."""


@click.command()
@options.endpoint
@options.as_json
def doctor(as_json: bool, **given: Any) -> None:
    """Check endpoint, key, clock, ledger and disk, and say how to fix problems.

    Exits with the code that a run would exit with.
    """
    where = options.where(given)
    findings = [
        _versions(),
        *_settings(where),
        *anyio.run(_endpoint, where),
        *_key_file(where),
        _ledger(where),
        *_team(where),
        *_slots(where),
        *_disk(where),
    ]
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            click.echo(visible(f"{'ok   ' if finding.ok else 'WRONG'} {finding.check}: {finding.text}"))
            if finding.fix:
                click.echo(visible(f"      fix: {finding.fix}"))
    sys.exit(next((finding.exit_code for finding in findings if finding.exit_code), 0))


def _versions() -> CheckResult:
    return CheckResult("versions", True, ", ".join(f"{name} {version}" for name, version in package_versions().items()))


def _settings(where: Target) -> list[CheckResult]:
    used = settings_files(where)
    return [CheckResult("settings", True, " and ".join(used))] if used else []


async def _endpoint(where: Target) -> list[CheckResult]:
    try:
        async with connected(where) as session:
            kind = "simulated models" if session.simulated else "models"
            text = f"{session.endpoint.base_url} lists {len(session.models)} {kind} for key {session.endpoint.key_fingerprint}"
            return [CheckResult("endpoint", True, text), *_clock(session.client.clock_ahead_s)]
    except KeyRejectedError as error:
        fix = "set WORKBENCH_API_KEY, in the environment or .env, to the key from the platform's account settings"
        return [CheckResult("key", False, str(error), fix, error.exit_code)]
    except UnreachableError as error:
        fix = "check the URL, the network and any proxy; meanwhile --local works without a platform"
        return [CheckResult("endpoint", False, str(error), fix, error.exit_code)]
    except WorkbenchError as error:
        fix = f"copy .env.example to .env and fill it in; `{commands.INIT}` creates one"
        if isinstance(error, InputError) and FILE_NAME in error.faults[0].where:
            fix = f"fix what the message names; `{commands.INIT}` in an empty folder creates a working example"
        return [CheckResult("endpoint", False, str(error), fix, error.exit_code)]


def _clock(ahead_s: float | None) -> list[CheckResult]:
    if ahead_s is None:
        return []
    if abs(ahead_s) <= _MOST_CLOCK_ERROR_S:
        return [CheckResult("clock", True, "agrees with the platform's")]
    way = "ahead of" if ahead_s > 0 else "behind"
    fix = "set this machine's clock (NTP): all times in the ledger come from it"
    return [CheckResult("clock", False, f"{abs(ahead_s):.0f} s {way} the platform's", fix, 0)]


def _key_file(where: Target) -> list[CheckResult]:
    path = found_upward(where.folder, DOTENV)
    if path is None:
        return []
    if path.stat().st_mode & 0o077:
        return [CheckResult("key file", False, f"other users on this machine can read {path}", f"chmod 600 {path}", 0)]
    return [CheckResult("key file", True, f"only you can read {path}")]


def _ledger(where: Target) -> CheckResult:
    is_file = True
    try:
        ledger = ledger_to_write(where)
        is_file = not ledger.address.is_shared
        if is_file and not os.access(ledger.path.parent, os.W_OK):
            text = f"{ledger.path.parent} is not writable"
            return CheckResult(
                "ledger", False, text, "make the folder writable, or use another file with --ledger", ExitCode.USAGE
            )
        if not ledger.exists:
            return CheckResult("ledger", True, f"{ledger.path} will be created by the first run")
        state = check_ledger(ledger)
    except OSError as error:
        return CheckResult(
            "ledger", False, f"{where.folder}: {error.strerror}", "make the folder writable", ExitCode.USAGE
        )
    except WorkbenchError as error:
        fix, text = "wait for the other process, or use another file with --ledger", str(error)
        if isinstance(error, InputError):
            text = "; ".join(str(replace(fault, hint="")) for fault in error.faults)
            hints = [fault.hint for fault in error.faults if fault.hint]
            backup = "restore the file from a backup, or use another with --ledger; journals next to it are still read"
            backup = backup if is_file else f"`{commands.HELP_LEDGER}` says which rights and which folder it needs"
            fix = "; ".join(hints) or backup
        return CheckResult("ledger", False, text, fix, error.exit_code)
    held = ", ".join(plural(state[name], name.removesuffix("s")) for name in ("runs", "attempts"))
    text = f"{ledger.name}: {held}; {waiting_journals(state)}"
    if not state["sound"]:
        return CheckResult(
            "ledger", False, text, f"`{commands.CHECK_LEDGER}` lists the problems", ExitCode.INTERNAL_ERROR
        )
    fix = f"`{commands.RECOVER}` ingests them; they are read either way" if state["journals"] else ""
    return CheckResult("ledger", True, text, fix)


def _team(where: Target) -> list[CheckResult]:
    """Return whether this machine may run jobs on a team's ledger, and what its other machines do."""
    try:
        ledger = ledger_to_write(where)
    except (WorkbenchError, OSError):
        return []  # `_ledger` says why
    if not ledger.address.is_shared:
        return []
    try:
        store_of(ledger).require_rights()
        known = machines_of(ledger).claims()
    except InputError as error:
        faults = [(f"{fault.where}: {fault.problem}", fault.hint) for fault in error.faults]
        return [CheckResult("team", False, text, hint, ExitCode.USAGE) for text, hint in faults]
    except WorkbenchError as error:
        return [
            CheckResult(
                "team", False, str(error), "check the server, its network and the role's rights", error.exit_code
            )
        ]
    live = [f"job {one.job!r} runs {one.where}" for one in known if one.is_live]
    over = [f"job {one.job!r}: {one.unfinished}" for one in known if not one.is_live]
    fix = f"`{commands.RECOVER}` on that machine hands its answers in" if over else ""
    return [CheckResult("team", True, "; ".join(live + over) or "no job runs on any machine", fix)]


def _slots(where: Target) -> list[CheckResult]:
    """Return whether the slots of this machine can be written; without them nothing is sent."""
    folder, shared = slots_root(where)
    try:
        make_folder(folder, shared=shared)
        check_folder(folder, "slots")
    except InputError as error:
        return [CheckResult("slots", False, error.faults[0].problem, named_by(shared=shared), error.exit_code)]
    return [CheckResult("slots", True, f"{folder} can be written")]


def _disk(where: Target) -> list[CheckResult]:
    findings = []
    for name, folder in (("disk", where.folder), ("temporary files", Path(tempfile.gettempdir()))):
        free = shutil.disk_usage(folder).free
        enough = free >= _LEAST_FREE_BYTES
        fix = (
            ""
            if enough
            else f"free disk space: a run stops when it cannot record; have at least {_LEAST_FREE_BYTES // 2**20} MiB"
        )
        findings.append(
            CheckResult(
                name,
                enough,
                f"{free // 2**20} MiB free in {folder}",
                fix,
                ExitCode.DONE if enough else ExitCode.INCOMPLETE,
            )
        )
    return findings
