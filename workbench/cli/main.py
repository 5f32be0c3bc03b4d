"""`workbench`: finds the command, and turns every error into one message and its exit code."""

import errno
import importlib
import io
import logging
import os
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.display.text import visible
from workbench.errors import ExitCode, WorkbenchError, internal_error, is_full_disk, nearest

_COMMANDS = {
    "demo": ("jobs", "Run the demonstration job on the embedded platform."),
    "init": ("init", "Create a job, a dataset and settings to start with."),
    "lint": ("jobs", "List what is wrong or questionable in a job."),
    "plan": ("jobs", "Show what a run would send and what it would reuse."),
    "run": ("jobs", "Run a job: send requests without an answer, record, score, report."),
    "fill": ("fill", "Fill a spreadsheet: ask a job's model about each row, and write the answers beside it."),
    "ask": ("ask", "Send one prompt to a model, and record the call."),
    "runs": ("runs", "List the runs of a ledger."),
    "show": ("runs", "Show one run, or its calls."),
    "compare": ("compare", "Compare models of a run, or runs, by paired tests."),
    "score": ("score", "Score a run again, from the ledger; only judges are asked, with --yes."),
    "invalidate": ("invalidate", "Take wrong samples out of a run's scores, or put them back."),
    "targets": ("targets", "Score earlier runs by the corrected targets of a dataset; nothing is sent."),
    "accept": ("accept", "Accept that a job's models changed: what they show now is their level."),
    "export": ("export", "Write a run's answers for other programs."),
    "report": ("runs", "Render the page of a run, and those over all runs."),
    "models": ("models", "List the models visible to the account."),
    "probe": ("probe", "Ask routes what they can do, and who answers."),
    "routes": ("routes", "Say who answers for each route, how well and how fast."),
    "usage": ("usage", "Sum up the tokens used by day, model, job or tag."),
    "allowance": ("allowance", "Say what is used of the allowance, what is left, and how long it lasts."),
    "ledger": ("ledger", "Find, check and maintain the ledger."),
    "schedule": ("schedule", "Make a timer from a job's schedule, and list its past and upcoming runs."),
    "datasets": ("datasets", "Show what a dataset file is taken for, and convert it."),
    "slots": ("slots", "Show which processes on this machine have requests in flight."),
    "platform": ("platform", "Serve the embedded platform."),
    "doctor": ("doctor", "Check endpoint, key, ledger and disk, and say how to fix problems."),
    "help": (
        "help",
        "Explain a topic: tutorial, commands, jobs, datasets, scorers, runs, comparisons, allowance, schedules, routes, ledger, "
        "platform, settings, python, faq, glossary, exit-codes.",
    ),
    "completion": ("completion", "Print the shell completion script."),
}


_IN_FLIGHT = ("--concurrency", "--max-concurrency", "--parallel", "--workers", "-j")
_OTHER_NAMES = {
    _IN_FLIGHT: "--max-in-flight",
    ("-n", "--samples", "--num-samples"): "--limit",
    ("--url", "--endpoint", "--host"): "--base-url",
    ("--force", "--no-cache", "--overwrite"): "--fresh",
    ("-m",): "--model",
    ("-o", "--out"): "--output",
    ("-o", "--output"): "--out",
}
"""Options as other programs have them -> ours."""
_ELSEWHERE = {
    ("--dry-run",): f"`{commands.PLAN_JOB}` shows what a run would send",
    ("--api-key", "--key", "--token"): "the key is read from WORKBENCH_API_KEY, in the environment or .env",
    ("-o", "--out", "--output"): f"--reports FOLDER is for pages, and `{commands.EXPORT_TO_FILE}` for answers",
    (*_IN_FLIGHT, "--max-in-flight"): f"set max_in_flight in [run] of a job, or use `{commands.RUN_IN_FLIGHT}`",
    ("-v", "--verbose", "--debug", "--log"): "it stands before the command, right after `workbench`",
    ("--config", "-c"): "settings are in workbench.toml, and a job is named as it is",
}
"""Options that no command has -> what there is in their place."""


def _other_name(option: str, ctx: click.Context | None) -> str:
    """Return what an option that other programs have is here, in a command that has it; nothing if it is not known."""
    known = [name for each in (ctx.command.params if ctx else ()) for name in each.opts]
    for names, ours in _OTHER_NAMES.items():
        if option in names and ours in known:
            return f"{ours} is meant"
    if text := next((text for names, text in _ELSEWHERE.items() if option in names), ""):
        return text
    is_first = ctx is not None and isinstance(ctx.command, _Commands)
    return f"an option of a command stands after it: `{commands.RUN_JOB} {option}`" if is_first else ""


class _Commands(click.Group):
    """Loads a command's module only when it is used, so that `--help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"workbench.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, "help_" if cmd_name == "help" else cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            hint = nearest(name, _COMMANDS)
            raise click.UsageError(f"there is no command {name!r}{f'; {hint}' if hint else ''}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="chat-account-workbench", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error at once.")
@click.option("-v", "--verbose", is_flag=True, help="Show what is sent, and what is waited for: --log debug.")
@click.option(
    "--log",
    type=click.Choice(["info", "debug"]),
    envvar="WORKBENCH_LOG",
    show_envvar=True,
    help="Show limits, pauses and ingests (info), and every request (debug); never a text, never a key.",
)
@click.pass_context
def workbench(ctx: click.Context, debug: bool, verbose: bool, log: str | None) -> None:
    """Batch evaluation and usage tracking for accounts on a multi-model chat platform.

    `workbench demo` shows all of it without an account.
    """
    ctx.with_resource(_watched("debug" if verbose else log))


def console() -> NoReturn:
    """Run the console script and end the process."""
    # everything is closed and written: a normal interpreter exit would spend 60 ms freeing memory
    os._exit(main())


def main() -> int:
    """Run the command that `sys.argv` holds and return a documented exit code, whatever happens."""
    _harden_streams()
    try:
        if clock.is_set():
            print(f"note: {clock.SET_BY} sets the clock: it is {clock.now():%Y-%m-%d %H:%M} UTC", file=sys.stderr)
        code = workbench.main(prog_name="workbench", standalone_mode=False)
    except BaseException as error:
        code = _explain(error)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:
        code = code or _explain(error)
    return code if isinstance(code, int) else 0


def _harden_streams() -> None:
    """Discard output to a stream that the caller closed, and escape characters that a stream cannot encode."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _only(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _terminal_is_gone(error: BaseException) -> bool:
    """Return whether writing failed because the terminal was closed; nothing is written from then on."""
    if not isinstance(error, OSError) or error.errno != errno.EIO or not any(map(_is_hung_up, (1, 2))):
        return False  # a disk failure has the same errno
    sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")
    return True


def _is_hung_up(fd: int) -> bool:
    try:
        termios.tcgetattr(fd)
    except termios.error as error:
        return bool(error.args[0] == errno.EIO)
    return False


def _explain(error: BaseException) -> int:
    """Print the error, unless standard error is closed, and return the exit code."""
    try:
        return _explained(error)
    except OSError:  # standard error cannot be written either
        if isinstance(error, WorkbenchError):
            return error.exit_code
        return ExitCode.INCOMPLETE if isinstance(error, OSError) else ExitCode.INTERNAL_ERROR


def _explained(error: BaseException) -> int:
    error = _only(error)
    if _terminal_is_gone(error):
        return ExitCode.TERMINAL_CLOSED
    if isinstance(error, SystemExit):
        enough = "PacifyFlush" in type(sys.stdout).__name__  # how click marks a pipe whose reader is gone
        return error.code if isinstance(error.code, int) and not enough else ExitCode.DONE
    if isinstance(error, click.ClickException):
        if isinstance(error, click.NoSuchOption) and (hint := _other_name(error.option_name, error.ctx)):
            error = click.UsageError(f"there is no option {error.option_name}: {hint}", error.ctx)
        error.show()
        return ExitCode.USAGE
    if isinstance(error, WorkbenchError):
        for line in str(error).splitlines() or [type(error).__name__]:
            click.echo(f"error: {visible(line)}", err=True)  # text from a server must not control the terminal
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    if isinstance(error, OSError) or (isinstance(error, UnicodeEncodeError) and not all(map(_is_utf8, sys.argv))):
        return _explain_system(error)
    if "--debug" in sys.argv:
        raise error
    click.echo(str(internal_error(error)), err=True)
    return ExitCode.INTERNAL_ERROR


def _is_utf8(argument: str) -> bool:
    """Return whether an argument has no bytes that are not UTF-8; Python hands those on as halves of surrogate pairs."""
    return not any("\ud800" <= sign <= "\udfff" for sign in argument)


def _explain_system(error: OSError | UnicodeEncodeError) -> int:
    if isinstance(error, BrokenPipeError):
        return ExitCode.DONE
    if isinstance(error, UnicodeEncodeError):
        click.echo("error: an argument is not valid UTF-8", err=True)
        return ExitCode.USAGE
    if is_full_disk(error):
        click.echo(
            f"error: {error.strerror}: {error.filename or 'standard output, or a temporary file'}; free disk space and run again",
            err=True,
        )
        return ExitCode.INCOMPLETE
    click.echo(f"error: {error.filename or 'system'}: {error.strerror or error}", err=True)
    return ExitCode.USAGE


class _Line(logging.Formatter):
    """A line in UTC, with what would control the terminal made visible."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


@contextmanager
def _watched(level: str | None) -> Iterator[None]:
    """Write what is logged from this level on to standard error while a command runs; None: nothing."""
    if level is None:
        yield
        return
    handler, logger = logging.StreamHandler(sys.stderr), logging.getLogger("workbench")
    line = _Line("%(asctime)s.%(msecs)03d %(name)s: %(message)s", "%H:%M:%S")
    line.converter = time.gmtime
    handler.setFormatter(line)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
