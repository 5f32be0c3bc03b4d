"""`workbench doctor`: what stands in the way of a run, and how to mend it."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
import click

from workbench.cli import options
from workbench.cli.output import print_json
from workbench.errors import WorkbenchError
from workbench.ledger.upkeep import check_ledger
from workbench.run.provenance import package_versions
from workbench.session import Where, connected, ledger_to_write

_LEAST_FREE_BYTES = 200 * 2**20


@click.command()
@options.endpoint
@options.as_json
def doctor(as_json: bool, **given: Any) -> None:
    """Check endpoint, key, ledger and disk, and say how to mend what is wrong.

    Ends with the exit code that a run would end with.
    """
    where = options.where(given)
    findings = [*_versions(), *anyio.run(_endpoint, where), *_ledger(where), *_disk(where)]
    if as_json:
        print_json([{name: finding[name] for name in ("check", "ok", "text")} for finding in findings])
    else:
        for finding in findings:
            click.echo(f"{'ok  ' if finding['ok'] else 'WRONG'} {finding['check']}: {finding['text']}")
    sys.exit(next((finding["exit_code"] for finding in findings if not finding["ok"]), 0))


def _versions() -> list[dict[str, Any]]:
    text = ", ".join(f"{name} {version}" for name, version in package_versions().items())
    return [_finding("versions", True, text)]


async def _endpoint(where: Where) -> list[dict[str, Any]]:
    try:
        async with connected(where) as session:
            kind = "simulated models" if session.simulated else "models"
            text = f"{session.endpoint.base_url} lists {len(session.models)} {kind} for key {session.endpoint.key_fingerprint}"
            return [_finding("endpoint", True, text)]
    except WorkbenchError as error:
        return [_finding("endpoint", False, str(error), error.exit_code)]


def _ledger(where: Where) -> list[dict[str, Any]]:
    try:
        ledger = ledger_to_write(where)
        if not ledger.exists:
            return [_finding("ledger", True, f"{ledger.path} will be made by the first run")]
        state = check_ledger(ledger)
    except WorkbenchError as error:
        return [_finding("ledger", False, str(error), error.exit_code)]
    text = (
        f"{ledger.path}: {state['runs']} runs, {state['attempts']} attempts, {state['journals']} journals not ingested"
    )
    return [
        _finding(
            "ledger",
            state["sound"],
            text if state["sound"] else f"{text}; `workbench ledger check` says what is wrong",
        )
    ]


def _disk(where: Where) -> list[dict[str, Any]]:
    findings = []
    for name, folder in (("disk", where.folder), ("temporary files", Path(tempfile.gettempdir()))):
        free = shutil.disk_usage(folder).free
        text = f"{free // 2**20} MiB free in {folder}"
        findings.append(
            _finding(
                name,
                free >= _LEAST_FREE_BYTES,
                text if free >= _LEAST_FREE_BYTES else f"{text}: make room",
                3,
            )
        )
    return findings


def _finding(check: str, ok: bool, text: str, exit_code: int = 1) -> dict[str, Any]:
    return {"check": check, "ok": ok, "text": text, "exit_code": exit_code}
