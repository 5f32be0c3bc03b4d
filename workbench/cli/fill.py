"""`workbench fill`: a spreadsheet in, the same spreadsheet with answers out."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click
import msgspec

import workbench.display.commands as commands
from workbench.api.filling import Filled, Filling, ToFill, checked, write_filled
from workbench.api.pipeline import recorded_part
from workbench.api.session import Target, ledger_to_write
from workbench.cli import options
from workbench.cli.expected import is_confirmed
from workbench.cli.jobs import carry_out, end_object, print_run
from workbench.cli.output import echo, print_json, say, say_notes
from workbench.dataset.filled import read_sheet
from workbench.dataset.placing import check_target
from workbench.dataset.samples import notes_on
from workbench.errors import ExitCode, WorkbenchError
from workbench.job.job import Job, Part, load_job
from workbench.planning.sheet_job import left_out, sheet_job, tagged
from workbench.running.options import RunOptions
from workbench.wording.filling import beside_text, filled_text


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--job", "job_path", metavar="JOB", required=True, type=click.Path(dir_okay=False, path_type=Path),
    help="How the model is asked, and how its answers are scored; FILE takes the place of its dataset.",
)  # fmt: skip
@click.option("--sheet", metavar="NAME", help="Of a workbook, this sheet [default: the only one with rows].")
@click.option("--variant", metavar="NAME", help="The variant of the job, where it has several.")
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write this file [default: FILE itself, in place]."
)
@options.narrowing
@options.allow
@options.endpoint
@options.of_fill
@click.option("--yes", is_flag=True, help="Do not ask above a threshold of workbench.toml.")
@options.reports
@options.no_report
@options.no_progress
@options.as_json
def fill(file: Path, job_path: Path, sheet: str | None, variant: str | None, out: Path | None, **given: Any) -> None:
    """Ask a model about each row of FILE (.xlsx, CSV or TSV), and write its answers beside the rows.

    It is a run of JOB on the rows of FILE: the same command again asks only what has no answer yet. The columns `answer`,
    `score.…` and `flag` come after those of FILE, which stay as they are; the next `fill` writes them again in place.
    """
    where = options.where(given)
    chosen = options.run_options(given)
    _, part = recorded_part(where, chosen) or (None, Part())
    job = load_job(job_path)
    found = msgspec.structs.replace(read_sheet(file, sheet), path=file.resolve())
    # who names the file itself gets what keeps it from being changed and overwritten, too
    is_own = out is not None and out.exists() and out.samefile(file)
    wanted = ToFill(found, variant, None if out is None or is_own else out.resolve())
    check_target(found, wanted.out)
    asked = tagged(options.narrowed_by(given, sheet_job(job, found, variant), part), found.path, sheet, wanted.out)
    filling = anyio.run(checked, where, job, asked, wanted, chosen)
    say_notes([*notes_on(found.path, sheet=found.name), *left_out(job, found)])
    if not is_confirmed(where, asked, chosen, say if given["as_json"] else echo, asks=False, yes=given["yes"]):
        if given["as_json"]:
            reason = "above a threshold of [confirm]; --yes runs it"
            print_json({"job": asked.name, "status": "not_agreed", "reason": reason})
        sys.exit(ExitCode.INCOMPLETE)
    words = [
        word
        for option, value in (("--sheet", sheet), ("--variant", variant), ("--out", out))
        if value is not None
        for word in (option, str(value))
    ]
    words += [*options.narrowing_words(given), *options.repeated_words(chosen), *options.words(where)]
    sys.exit(_filled(where, asked, filling, chosen, given | {"file": file, "words": words}))


def _filled(where: Target, asked: Job, filling: Filling, chosen: RunOptions, given: dict[str, Any]) -> int:
    """Run the job, write the sheet whatever the run has, and return the exit code."""
    end = carry_out(where, asked, chosen, given, partial(print_run, where))
    code = end.exit_code
    done: Filled | None = None
    try:
        done = write_filled(filling, ledger_to_write(where), end.summary.run_id, chosen)
    except (WorkbenchError, OSError) as error:  # its own exit code would say that nothing was sent
        say(f"error: {given['file']} cannot be written, its answers are in the ledger: {error}")
    if done is None or done.is_left:
        code = code or ExitCode.INCOMPLETE
    if given["as_json"]:
        print_json(end_object(where, end) | {"filled": msgspec.to_builtins(done)})
    elif done is not None:
        _print_filled(where, filling, done)
    if code and not given["as_json"]:
        own = ["--resume", end.summary.run_id] if chosen.fresh or chosen.resume else []
        path = os.path.relpath(asked.path, where.folder)
        echo(f"continue with: {commands.fill(str(given['file']), path, [*given['words'], *own])}")
    return code


def _print_filled(where: Target, filling: Filling, done: Filled) -> None:
    file = os.path.relpath(done.file, where.folder)
    if done.not_in_place:
        say(f"note: {beside_text(filling.wanted.sheet.path.name, file, done.not_in_place)}")
    echo(filled_text(file, done.rows, done.filled, done.flagged, done.beyond_limit))
