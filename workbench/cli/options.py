"""Options that several commands share, and the values they become."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args
from zoneinfo import ZoneInfo

import click

import workbench.display.commands as commands
from workbench.api.session import Target
from workbench.errors import Fault, InputError
from workbench.job.file import MAX_IN_FLIGHT, Worthless
from workbench.job.job import Job, Part
from workbench.job.narrowing import allowing, narrowed
from workbench.job.occasions import named_occasion
from workbench.running.options import Described, RunOptions, described_options

if TYPE_CHECKING:
    from workbench.report.build import SingleFile

F = TypeVar("F", bound=Callable[..., Any])
as_json = click.option("--json", "as_json", is_flag=True, help="Print data as JSON on standard output.")
reports = click.option(
    "--reports",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for pages [default: reports, or a subfolder for any but the default ledger].",
)


def to_send(command: F) -> F:
    """`--single-file`, `--note` and `--without-texts`: a page as one file to send."""
    command = click.option("--without-texts", is_flag=True, help="Of that file: leave prompts and answers out.")(
        command
    )
    command = click.option("--note", metavar="TEXT", help="Of that file: a sentence of your own, at its top.")(command)
    return click.option(
        "--single-file",
        is_flag=True,
        help="One file to send: the charts' program and all texts inside, links to no other page.",
    )(command)


def single_file(given: dict[str, Any]) -> "SingleFile | None":
    """Return what the options of `to_send` say; None: the page is one of several in a folder."""
    if given["single_file"]:
        from workbench.report.build import SingleFile  # with Jinja, which a command without pages does not need

        return SingleFile(given["note"] or "", has_texts=not given["without_texts"])
    if given["note"] or given["without_texts"]:
        raise click.UsageError("--note and --without-texts are of a file to send: add --single-file")
    return None


no_report = click.option("--no-report", is_flag=True, help="Write no page.")
no_progress = click.option("--no-progress", is_flag=True, help="Show no progress bar, as without a terminal.")
DUE = "due"
"""The occasion that the schedule says."""
_MOST_OFFERED = 50  # to a shell that completes


def complete_runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the newest runs of the ledger, for shell completion; empty without a ledger."""
    from workbench.api.session import ledger_to_read
    from workbench.errors import WorkbenchError
    from workbench.ledger.queries import reading
    from workbench.ledger.rows import RunId

    try:
        named = {name: value for name, value in ctx.params.items() if name in ("local", "ledger_path")}
        with reading(ledger_to_read(where(named)), patience_s=0.5) as reader:
            return [run.run_id for run in reader.all(RunId) if run.run_id.startswith(incomplete)][:_MOST_OFFERED]
    except (WorkbenchError, OSError):
        return []


run_id = click.argument("run", shell_complete=complete_runs)
optional_run_id = click.argument("run", required=False, shell_complete=complete_runs)
job_file = click.argument("job", type=click.Path(dir_okay=False, path_type=Path))


class StatusGroup(click.Group):
    """Commands beside `status`, which is meant where none is named: its options may follow the group's name at once."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `status` before options that belong to no other command."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["status", *args]
        return super().parse_args(ctx, args)


def _of_a_run(option: Described) -> Callable[[F], F]:
    settings: dict[str, Any] = {"help": option.text, "metavar": option.metavar}
    if option.kind is bool:
        settings["is_flag"] = True
    elif option.kind is int:
        settings["type"] = click.IntRange(1)
    elif option.kind is not str:
        settings["type"] = click.Choice(get_args(option.kind))
    if option.metavar == "RUN":
        settings["shell_complete"] = complete_runs
    elif option.metavar == "TIME":
        settings["callback"] = lambda _, __, given: given if given in (None, DUE) else named_occasion(given)
    return click.option(f"--{option.name.replace('_', '-')}", **settings)


def of_run(command: F) -> F:
    """Return the options of a run, as `RunOptions` declares them."""
    for option in reversed(list(described_options())):
        command = _of_a_run(option)(command)
    return command


def of_fill(command: F) -> F:
    """Return the options of a run that fills a sheet: all but its occasion."""
    for option in reversed([option for option in described_options() if option.name != "occasion"]):
        command = _of_a_run(option)(command)
    return command


def fixed(command: F) -> F:
    """Add `--fixed` alone."""
    return next(_of_a_run(option) for option in described_options() if option.name == "fixed")(command)


def run_options(given: dict[str, Any]) -> RunOptions:
    """Return what the options of `of_run` or `of_fill` say."""
    return RunOptions(**{option.name: given[option.name] for option in described_options() if option.name in given})


def repeated_words(chosen: RunOptions) -> list[str]:
    """Return the options that the command which continues a run repeats, as typed on a command line."""
    values = [(option.name, getattr(chosen, option.name)) for option in described_options() if option.repeated]
    return [word for name, value in values if value is not None for word in (f"--{name.replace('_', '-')}", str(value))]


def narrowing(command: F) -> F:
    """`--limit`, `--model` and `--max-in-flight`: a job asked for in part."""
    command = click.option(
        "--max-in-flight",
        metavar="N",
        type=click.IntRange(1, MAX_IN_FLIGHT),
        help="At most N requests in flight.",
    )(command)
    command = click.option("--model", metavar="ID", multiple=True, help="Only this model of the job; may be repeated.")(
        command
    )
    return click.option("--limit", metavar="N", type=click.IntRange(1), help="Only the first N samples.")(command)


allow = click.option(
    "--allow",
    metavar="FINDING",
    type=click.Choice(get_args(Worthless)),
    multiple=True,
    help="Send what a finding of lint would stop, such as constant_prompt; may be repeated.",
)


def narrowed_by(given: dict[str, Any], job: Job, begun: Part = Part()) -> Job:  # noqa: B008 - frozen
    """Return the job as far as the options of `narrowing` ask for it.

    Args:
        begun: The part that the run which is resumed asked.
    """
    job = allowing(job, given.get("allow", ()))
    limit, models, max_in_flight = given["limit"], given["model"], given["max_in_flight"]
    try:
        return narrowed(job, limit=limit, models=models, max_in_flight=max_in_flight, begun=begun)
    except InputError as error:  # which names Python's arguments
        named = (replace(fault, where=f"--{fault.where.replace('_', '-')}") for fault in error.faults)
        raise InputError(*named) from error


def narrowing_words(given: dict[str, Any]) -> list[str]:
    """Return the options of `narrowing`, and of `allow`, as typed on a command line."""
    return [*part_words(given), *(word for value in given.get("allow") or () for word in ("--allow", value))]


def part_words(given: dict[str, Any]) -> list[str]:
    """Return the options of `narrowing` as typed on a command line."""
    return commands.part(given.get("limit"), given.get("model") or (), given.get("max_in_flight"))


def ledger(command: F) -> F:
    """`--ledger` and `--local`, for commands that read what was recorded."""
    command = click.option(
        "--ledger",
        "ledger_path",
        metavar="PATH",
        help="The ledger [default: that of workbench.toml, or the one in this folder].",
    )(command)
    return click.option("--local", is_flag=True, help="Use the embedded platform and its ledger local.duckdb.")(command)


def endpoint(command: F) -> F:
    """Return the options of `ledger`, and those that say which platform is meant."""
    command = click.option("--base-url", metavar="URL", help="Base URL of the platform, with or without /api.")(command)
    command = click.option("--profile", metavar="NAME", help="Use a profile of workbench.toml.")(command)
    return ledger(command)


def where(given: dict[str, Any]) -> Target:
    """Take the shared options out of a command's parameters.

    Raises:
        click.UsageError: More than one platform is named.
    """
    local, base_url, profile = (
        given.pop("local", False),
        given.pop("base_url", None),
        given.pop("profile", None),
    )
    if sum(map(bool, (local, base_url, profile))) > 1:
        raise click.UsageError("give only one of --local, --base-url and --profile")
    return Target(Path.cwd(), local, base_url, profile, given.pop("ledger_path", None))


def words(where: Target) -> list[str]:
    """Return the shared options as typed on a command line."""
    return [*where.platform_words, *(["--ledger", where.ledger] if where.ledger else [])]


def moment(option: str, text: str, zone: str) -> datetime:
    """Return the time that an option names, in UTC.

    Args:
        option: Its name, for the error.
        text: In ISO 8601, to the day or finer.
        zone: That of a time without an offset.

    Raises:
        InputError: It is not a time.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(Fault(option, f"{text!r} is not a time such as 2026-11-18T09:30")) from error
    try:
        return (found if found.tzinfo else found.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)
    except OverflowError as error:
        raise InputError(
            Fault(option, f"{text!r} is not a time that a calendar has", "expected one from year 1 to 9999 in UTC")
        ) from error
