"""The options of a run, besides its job; and what is looked at before it begins: they, and the files it may open."""

import contextlib
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from workbench.errors import Fault, InputError, nearest
from workbench.job.job import Job
from workbench.job.narrowing import flag, whole_number
from workbench.planning.again import CUT_OFF, KINDS, Kind
from workbench.records.calls import CallRecord
from workbench.running.signals import Interrupts

_FILES_A_CALL = 3
"""Its connection, and its slot, which an older version may know by a file of its own."""
_OTHER_FILES = 64
"""Journals, locks, the ledger, what DuckDB spills to, pages, and some to spare."""
_MOST_FILES = 2**16  # some systems know no limit, and take no larger one


def _described(text: str, metavar: str | None = None, *, repeated: bool = False) -> msgspec.Meta:
    return msgspec.Meta(description=text, extra={"metavar": metavar, "repeated": repeated})


class RunOptions(msgspec.Struct, frozen=True):
    """The options of a run, besides its job.

    What has a description is an option of `workbench run` of the same name, made of it, and an argument of `workbench.run`.
    """

    fresh: Annotated[bool, _described("Send everything again; earlier answers are kept.")] = False
    resume: Annotated[
        str | None,
        _described("Continue RUN, a --fresh run or a part of its job; its job is used unless JOB is given.", "RUN"),
    ] = None
    again: Annotated[
        Kind | None,
        _described(
            "Ask once more: answers that were cut off, with --max-tokens; of another model; refused; empty; unreadable; or "
            "samples that were taken out of the newest run.",
            repeated=True,
        ),
    ] = None
    max_tokens: Annotated[int | None, _described("The higher cap for --again truncated.", "N", repeated=True)] = None
    occasion: Annotated[
        str | None,
        _described(
            'The scheduled run (2026-11-21, 2026-11-21T02:00, today), for a job with run.reuse = "occasion"; `due` runs '
            "the newest of its [schedule] unless that is done.",
            "TIME",
        ),
    ] = None
    leave_behind: Annotated[
        str | None,
        _described("Ignore answers that RUN, on another machine, has not uploaded.", "RUN"),
    ] = None
    fixed: Annotated[bool, _described("Keep to max_in_flight from the start, instead of adapting to the platform.")] = (
        False
    )
    reports: Path | None = None
    """The folder for the page; None writes none."""
    show_progress: bool = False
    is_brief: bool = False
    """See `Tempo.is_brief`."""
    line_of: Callable[[CallRecord], str | None] | None = None
    """See `FanOutSettings.line_of`."""
    check: Callable[[], None] | None = None
    """Called once no other process can run the job and before anything is sent; what it raises ends the run."""
    interrupts: Interrupts | None = None
    """Through which another thread interrupts the run, as Ctrl-C does on the main one."""


class Described(NamedTuple):
    """An option of a run, as the command line shows it."""

    name: str
    kind: Any
    """Its type, without None."""
    text: str
    metavar: str | None
    repeated: bool
    """Whether the command that continues a run repeats it."""


def described_options() -> Iterator[Described]:
    """Return the options of a run that people give, in their order."""
    for name, hint in get_type_hints(RunOptions, include_extras=True).items():
        if get_origin(hint) is Annotated:
            inner, meta = get_args(hint)
            kinds = [each for each in get_args(inner) if each is not NoneType] or [inner]
            yield Described(name, kinds[0], meta.description, **meta.extra)


def check_options(options: RunOptions) -> None:
    """Refuse options that do not go together.

    Raises:
        InputError: They do not.
    """
    for name in ("fresh", "fixed"):
        flag(f"--{name}", getattr(options, name))
    own = options.fresh or options.resume is not None
    if options.max_tokens is not None and whole_number("--max-tokens", options.max_tokens) < 1:
        raise InputError(Fault("--max-tokens", f"expected a number of tokens from 1, found {options.max_tokens}"))
    if options.fresh and options.resume is not None:
        raise InputError(Fault("--resume", "cannot be combined with --fresh", "give one of them"))
    if options.again is not None and options.again not in KINDS:
        near = nearest(str(options.again), KINDS)
        raise InputError(Fault("--again", f"{options.again!r} is not one of {', '.join(KINDS)}", near))
    if options.again is not None and own:
        raise InputError(Fault("--again", "cannot be combined with --fresh or --resume", "give one of them"))
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
        problem = 'is "occasion": name the scheduled time with --occasion'
        raise InputError(Fault(job.where("run", "reuse"), problem, "a date, a time, today, or due"))
    if options.occasion is not None and (own or not by_occasion):
        if own:
            raise InputError(Fault("--occasion", "cannot be combined with --fresh or --resume", "give one of them"))
        hint = f'reuse = "occasion" under [run] of {job.source}'
        raise InputError(Fault("--occasion", "the job is not one of scheduled runs", hint))
    if options.occasion is not None and job.narrowed:
        raise InputError(
            Fault("--occasion", f"a scheduled run is of the whole job, not of {job.narrowed}", "give one of both")
        )


def files_left() -> int:
    """Return how many more files this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (_MOST_FILES if soft == resource.RLIM_INFINITY else soft) - len(os.listdir("/dev/fd"))


def within_open_files(job: Job) -> tuple[Job, str]:
    """Return the job with as many requests in flight as there is room for, and what to say where that is fewer.

    The limit of this process is raised first, as far as it may be. Beyond it DuckDB ends the process at once.

    Raises:
        InputError: There is not even room for one.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):  # some systems allow fewer than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    free = files_left()
    room = (free - _OTHER_FILES) // _FILES_A_CALL
    if room < 1:
        least = soft - free + _OTHER_FILES + _FILES_A_CALL
        raise InputError(
            Fault("", f"this process may open {soft} files, and a run needs at least {least}", "ulimit -n 256")
        )
    if room >= job.run.max_in_flight:
        return job, ""
    note = f"at most {room} requests in flight: this process may open {soft} files (ulimit -n)"
    return msgspec.structs.replace(job, run=msgspec.structs.replace(job.run, max_in_flight=room)), note
