"""The options of a run, besides its job."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from workbench.errors import Fault, InputError
from workbench.job import Job
from workbench.narrowing import whole_number
from workbench.planning.again import CUT_OFF, KINDS
from workbench.running.signals import Interrupts


class RunOptions(msgspec.Struct, frozen=True):
    """The options of a run, besides its job."""

    fresh: bool = False
    """Send everything again, in a new generation."""
    resume: str | None = None
    """Continue within the generation of this run."""
    again: str | None = None
    """`truncated`: ask answers that were cut off again, with `max_tokens`; `invalidated`: those of samples that the job's
    newest run has taken out."""
    max_tokens: int | None = None
    """The higher cap for `again`."""
    occasion: str | None = None
    """Which occasion this is, for a job that asks again on each."""
    check: Callable[[], None] | None = None
    """Called once no other process can run the job and before anything is sent; what it raises ends the run."""
    reports: Path | None = None
    """The folder for the page; None writes none."""
    show_progress: bool = False
    fixed: bool = False
    """Use the full limit from the start, instead of adapting to the platform."""
    leave_behind: str | None = None
    """Go on without the answers that this run of another machine has not handed in."""
    interrupts: Interrupts | None = None
    """Through which another thread interrupts the run, as Ctrl-C does on the main one."""


def check_folder(folder: Path, named: str) -> None:
    """Make a folder for results before anything is spent on them.

    Raises:
        InputError: Nothing can be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(Fault(named, f"{folder} cannot be written: {error.strerror or error}")) from error


def check_options(options: RunOptions) -> None:
    """Refuse options that do not go together.

    Raises:
        InputError: They do not.
    """
    own = options.fresh or options.resume is not None
    if options.max_tokens is not None and whole_number("--max-tokens", options.max_tokens) < 1:
        raise InputError(Fault("--max-tokens", f"expected a number of tokens from 1, found {options.max_tokens}"))
    if options.fresh and options.resume is not None:
        raise InputError(Fault("--resume", "cannot be combined with --fresh"))
    if options.again is not None and options.again not in KINDS:
        raise InputError(Fault("--again", f"{options.again!r} is not one of {' and '.join(KINDS)}"))
    if options.again is not None and own:
        raise InputError(Fault("--again", "cannot be combined with --fresh or --resume"))
    if options.again == CUT_OFF and options.max_tokens is None:
        raise InputError(Fault("--again", f"{CUT_OFF} needs the higher cap", "--max-tokens N"))
    if options.again != CUT_OFF and options.max_tokens is not None:
        raise InputError(
            Fault("--max-tokens", f"goes with --again {CUT_OFF} only", "a job's cap is request.max_tokens")
        )


def check_occasion(job: Job, options: RunOptions) -> None:
    """Refuse an occasion that the job does not have, or options that do not go with one.

    Raises:
        InputError: They do not.
    """
    by_occasion, own = job.run.reuse == "occasion", options.fresh or options.resume is not None
    if by_occasion and options.occasion is None and not own:
        problem = 'is "occasion": name the occasion with --occasion'
        raise InputError(Fault(job.where("run", "reuse"), problem, "a date, a time, today, or due"))
    if options.occasion is not None and (own or not by_occasion):
        problem = "cannot be combined with --fresh or --resume" if own else 'needs run.reuse = "occasion" in the job'
        raise InputError(Fault("--occasion", problem))
    if options.occasion is not None and job.narrowed:
        raise InputError(Fault("--occasion", f"an occasion runs the whole job, not {job.narrowed}"))
