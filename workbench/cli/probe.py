"""`workbench probe`: what every route can do, found out by asking it."""

import sys
from pathlib import Path
from typing import Any

import anyio
import click
import msgspec

import workbench.display.commands as commands
from workbench.api.pipeline import plan_job, run_job
from workbench.api.probing import DEADLINE_S, finished_routes, probe_job
from workbench.api.session import ledger_to_write, pages_folder
from workbench.cli import options
from workbench.cli.output import agreed, echo, print_json, print_table, say, say_notes
from workbench.display.columns import column, columns
from workbench.display.text import count, plural
from workbench.errors import ExitCode
from workbench.ledger.queries import reading
from workbench.planning.run_plan import RunPlan
from workbench.routes.confirming import confirm_name
from workbench.routes.facts import RouteFacts, fact_text
from workbench.routes.probes import Probe, probed
from workbench.running.options import RunOptions
from workbench.settings.file import FILE_NAME

_FACTS = ("answers", "names", "tools", "thinks", "reports_usage", "keeps_cap")
_COLUMNS = columns(
    column("model", "route"), column("answers", kind="text"), *_FACTS[1:], column("latency_ms", "median")
)
_SPARE = ("keeps_cap", "reports_usage", "names", "thinks", "latency_ms", "tools")
"""What leaves the table first where it is narrow."""


@click.command()
@click.argument("models", nargs=-1)
@click.option("--repeat", metavar="N", type=click.IntRange(1, 100), default=1, help="Ask each question N times.")
@click.option(
    "--deadline",
    metavar="S",
    type=click.FloatRange(1, 3600),
    default=DEADLINE_S,
    show_default=True,
    help="After S seconds ask nothing more, and wait for no answer.",
)
@click.option(
    "--confirm",
    is_flag=True,
    help="Record in workbench.toml of every route that answers itself that its id is its name: any other is a fallback's then.",
)
@click.option("--yes", is_flag=True, help="Send without asking; simulated routes are asked without it too.")
@options.reports
@options.no_report
@options.endpoint
@options.as_json
def probe(
    models: tuple[str, ...],
    repeat: int,
    deadline: float,
    confirm: bool,
    yes: bool,
    **given: Any,
) -> None:
    """Ask MODELS, or every visible one, three short questions: what they can do, and who answers.

    States calls and tokens first. Routes are asked side by side, and each is told as it is done; the first time-out settles one.
    Exits with 100 where a route is no longer as the probes before found it.
    """
    where, as_json = options.where(given), given["as_json"]
    job = probe_job(models, repeat, deadline)
    plan = anyio.run(plan_job, where, job, RunOptions(fresh=True))
    say(_stated(plan))
    if not (plan.simulated or yes or agreed("Send them?")):
        say("nothing was sent; --yes sends them")
        sys.exit(ExitCode.INCOMPLETE)
    ledger = ledger_to_write(where)
    folder = None if given["no_report"] else pages_folder(where, ledger, given["reports"])
    shown, line_of = sys.stderr.isatty(), finished_routes(repeat)
    asked = RunOptions(fresh=True, fixed=True, reports=folder, show_progress=shown, is_brief=True, line_of=line_of)
    end = anyio.run(run_job, where, job, asked)
    say_notes(end.notes)
    if end.error is not None:
        say(f"error: {end.error}")
    with reading(ledger) as reader:
        found = next((one for one in probed(reader).probes if one.run_id == end.summary.run_id), None)
    if end.exit_code not in (ExitCode.DONE, ExitCode.INCOMPLETE):
        say(f"probe {end.summary.status}: {end.summary.reason}")
    if found is None:
        sys.exit(end.exit_code or ExitCode.INCOMPLETE)
    if as_json:
        print_json(
            {
                "run_id": found.run_id,
                "simulated": plan.simulated,
                "routes": found.routes,
                "changes": [msgspec.structs.asdict(change) for change in found.changes],
            }
        )
    else:
        _print(found, suggests=not confirm)
    if confirm:
        _confirm(found, where.folder)
    if folder is not None:
        from workbench.report.ledger_pages import INDEX, ROUTES, write_pages  # takes as long to load as a probe takes

        write_pages(ledger, [], folder, over_all=(INDEX, ROUTES))
    answered = end.exit_code in (ExitCode.DONE, ExitCode.INCOMPLETE)  # a route that does not answer is a finding too
    sys.exit(ExitCode.GATE_NOT_MET if answered and found.changes else ExitCode.DONE if answered else end.exit_code)


def _confirm(found: Probe, folder: Path) -> None:
    """Record of every route that answers itself that its id is its name; a foreign name may be a fallback's."""
    for model, facts in found.routes.items():
        if facts.answers == "itself" and confirm_name(folder, model, model, found.run_id) is not None:
            say(f"{model} answers as itself: confirmed in {FILE_NAME}")
        for name in facts.unconfirmed:
            confirms = commands.confirm_name(model, name)
            say(f"not confirmed: {model} answers as {name}, which may be another model: once you know, `{confirms}`")


def _stated(plan: RunPlan) -> str:
    calls = f"{plural(plan.to_send, 'call')} to {plural(len(plan.models), 'route')}"
    most = plan.estimate.most_tokens
    assert most is not None  # every question has a cap
    return f"{calls}, at most {count(most)} tokens with the gateway's retries" + (
        ", simulated" if plan.simulated else ""
    )


def _print(found: Probe, *, suggests: bool) -> None:
    print_table(
        [_row(model, facts) for model, facts in found.routes.items()], _COLUMNS, whole=("model", *_FACTS), spare=_SPARE
    )
    for change in found.changes:
        echo(f"changed since {change.before_at:%Y-%m-%d %H:%M} UTC: {change.model}: {change}")
    for model, facts in found.routes.items():
        for name in facts.unconfirmed if suggests else ():
            say(f"note: {model} answers as {name}, which is not confirmed: `{commands.confirm_name(model, name)}`")


def _row(model: str, facts: RouteFacts) -> dict[str, Any]:
    return {"model": model, "latency_ms": facts.latency_ms} | {name: fact_text(name, facts) for name in _FACTS}
