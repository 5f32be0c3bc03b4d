"""The arguments of the Python API: which platform and ledger, which part of a job, and how it is run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from workbench.argument_values import flag, optional_path, optional_text, texts
from workbench.errors import Fault, InputError, nearest
from workbench.job import Job
from workbench.narrowing import narrowed
from workbench.session import Where


class Place(TypedDict, total=False):
    """Which platform and ledger to use; by default the same as on the command line."""

    local: bool
    """The embedded platform, and its ledger `local.duckdb`."""
    base_url: str | None
    profile: str | None
    """A profile of `workbench.toml`."""
    ledger: str | Path | None
    folder: str | Path | None
    """The working folder: `workbench.toml`, `.env`, ledger and reports are looked for there."""


class Part(TypedDict, total=False):
    """Part of a job; its run records that."""

    limit: int | None
    """Only the first N samples."""
    models: str | Sequence[str]
    """Only these of the job's models, or this one."""
    max_in_flight: int | None


class What(Place, Part, total=False):
    """Which requests of a job, on which platform."""

    fresh: bool
    """Send everything again, in a new generation."""


class How(What, total=False):
    """All arguments of a run."""

    resume: str | None
    """Continue within the generation of this run."""
    again: Literal["truncated", "invalidated"] | None
    """Ask once more: answers that were cut off, with a higher `max_tokens`, or samples taken out of the newest run."""
    max_tokens: int | None
    """The higher cap for `again="truncated"`."""
    leave_behind: str | None
    """Go on without the answers that this run of another machine of the team has not handed in."""
    occasion: str | None
    """The scheduled time to run, such as 2026-11-21 or 2026-11-21T02:00, for a job with `run.reuse = "occasion"`."""
    fixed: bool
    """Use the full limit from the start, instead of adapting to the platform."""
    report: bool
    """Write the run's page; by default yes."""
    progress: bool | None
    """Show a progress bar; by default at a terminal and in a notebook."""


_TEXTS = ("base_url", "profile", "resume", "again", "leave_behind")
_PATHS = ("ledger", "folder")
_FLAGS = ("local", "fresh", "fixed", "report")


def require_known(given: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse a misspelt argument, and a value of another type: nothing but a type checker would notice them.

    Raises:
        TypeError: It names what may be meant.
        InputError: It names the argument, and what was expected.
    """
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"there is no argument {name!r}; {nearest(name, known) or ', '.join(sorted(known))}")
        if name in _TEXTS:
            optional_text(name, value)
        elif name in _PATHS:
            optional_path(name, value)
        elif (name in _FLAGS or name == "progress") and value is not None:
            flag(name, value)


def where_of(place: Place) -> Where:
    """Where a platform and a ledger are looked for.

    Raises:
        InputError: Several platforms are named.
    """
    local, base_url, profile = place.get("local", False), place.get("base_url"), place.get("profile")
    if sum(map(bool, (local, base_url, profile))) > 1:
        raise InputError(Fault("local, base_url, profile", "give only one of them"))
    folder, ledger = place.get("folder"), place.get("ledger")
    working = Path.cwd() if folder is None else Path(folder).absolute()
    return Where(working, local, base_url, profile, None if ledger is None else str(ledger))


def in_part(job: Job, part: Part) -> Job:
    """The part of a job that is asked for.

    Raises:
        InputError: A model is not the job's, a number is out of bounds, or a value is of another type.
    """
    models: Any = part.get("models")
    chosen = [] if models is None else texts("models", models, "ids of models")
    return narrowed(job, limit=part.get("limit"), models=chosen, max_in_flight=part.get("max_in_flight"))
