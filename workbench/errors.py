"""Everything that can stop a command, and the exit code it stops with.

WorkbenchError            1  a fault of ours
├─ InputError             2  something the caller wrote cannot be used; carries every fault found
├─ IncompleteError        3  work is left over and a rerun continues it (a full disk, for one)
├─ KeyRejectedError       4  the platform refused the key, or there is none
├─ LockHeldError          5  another process holds what this one needs
└─ UnreachableError       6  the platform does not answer

A failed call is none of these: it is a record with an outcome.
"""

import errno
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

_MOST_NAMED = 5
BACKSLASH = "a sign that stands for itself has a backslash before it"
"""What helps with a regular expression that is not valid."""


class ExitCode(IntEnum):
    """The exit code of a command; 128 and above are for signals."""

    DONE = 0
    INTERNAL_ERROR = 1
    USAGE = 2
    """A fault in a flag, a file or a setting: nothing was sent."""
    INCOMPLETE = 3
    """The same command continues."""
    KEY_REJECTED = 4
    LOCKED = 5
    UNREACHABLE = 6
    STOPPED = 7
    """By a budget, a deadline or a guard."""
    GATE_NOT_MET = 100
    TERMINAL_CLOSED = 129
    INTERRUPTED = 130
    TERMINATED = 143


@dataclass(frozen=True)
class Fault:
    """One thing wrong with what the caller wrote.

    Args:
        where: File, line and field, as far as known (`jobs/a.toml:12: run.max_in_flight`).
        problem: What is wrong and what was expected.
        hint: The closest valid value, or the next command to run; may be empty.
    """

    where: str
    problem: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.where}: {self.problem}" if self.where else self.problem
        whole = f"{text} ({self.hint})" if self.hint else text
        return whole.replace("\n", "⏎")  # of a column's name, for one: each line of an error is a fault of its own


class WorkbenchError(Exception):
    """A command cannot continue; `exit_code` is that of the process."""

    exit_code: int = ExitCode.INTERNAL_ERROR


class InputError(WorkbenchError):
    """One or more faults in a file, a flag or the environment, found before anything is spent."""

    exit_code = ExitCode.USAGE

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__("\n".join(str(fault) for fault in faults))


class IncompleteError(WorkbenchError):
    """The work stopped early; what arrived is kept and a rerun sends only what is missing."""

    exit_code = ExitCode.INCOMPLETE


class KeyRejectedError(WorkbenchError):
    """No key was given, or the platform does not accept it."""

    exit_code = ExitCode.KEY_REJECTED


class LockHeldError(WorkbenchError):
    """Another process holds a lock for longer than is worth waiting."""

    exit_code = ExitCode.LOCKED


class UnreachableError(WorkbenchError):
    """The platform could not be reached, or what answers is not the platform's API."""

    exit_code = ExitCode.UNREACHABLE


def internal_error(error: BaseException) -> WorkbenchError:
    """Return a fault of ours as the error of a command; its traceback is in a file that the message names."""
    import traceback  # for an error

    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    made = WorkbenchError(f"internal error: {type(error).__name__}: {error}{place}{_traceback_kept(error)}")
    made.__cause__ = error
    return made


def _traceback_kept(error: BaseException) -> str:
    import tempfile  # for an error
    import traceback

    try:
        file, name = tempfile.mkstemp(prefix="workbench-fault-", suffix=".txt")
        with open(file, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.writelines(traceback.format_exception(error))
    except OSError:  # a full disk, for one
        return ""
    return f"; its traceback is in {name}"


def is_full_disk(error: BaseException) -> bool:
    """Return whether an operation failed for want of room on the disk."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def read_error_text(error: OSError | ValueError) -> str:
    """In words, why the text of a file could not be read."""
    match error:
        case UnicodeDecodeError():
            return f"it is not valid UTF-8: byte {error.object[error.start]:#04x} at position {error.start} (save it as UTF-8)"
        case IsADirectoryError():
            return "it is a folder"
        case OSError(strerror=str(words)):
            return words
    return str(error)


def nearest(word: str, known: Iterable[str], similarity: float = 0.6) -> str:
    """Return the known name closest to `word`, as a hint; empty if none has at least this similarity, from 0 to 1."""
    import difflib  # for a word that is wrong

    folded = {name.casefold(): name for name in known if name != word}
    matches = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=similarity)
    return f"did you mean {folded[matches[0]]!r}?" if matches else ""


def nearest_id(given: str, known: Iterable[str]) -> str:
    """Return the known id closest to a given one, as a hint.

    Ids of two hours share their date and length, so only one that differs in a few characters was meant.
    """
    return nearest(given, known, similarity=0.8)


def nearest_file(path: Path) -> str:
    """Return the name closest to a missing file's in its folder, as a hint; empty if none is close."""
    return nearest(path.name, [entry.name for entry in _entries(path.parent) or ()])


def missing_file(path: Path) -> str:
    """Return which file was perhaps meant by one that is not there, or which there are, as a hint."""
    return nearest_file(path) or files_there(path.parent)


def files_there(folder: Path, suffix: str = "") -> str:
    """Return which files a folder has, as a hint for one that it has not.

    Args:
        suffix: Of those to name, where there are some; empty: any.
    """
    if not folder.is_dir():
        return f"there is no folder {folder}"
    entries = _entries(folder)
    if entries is None:
        return ""
    names = sorted(entry.name for entry in entries if entry.is_file() and not entry.name.startswith("."))
    names = [name for name in names if name.endswith(suffix)] or names
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{folder} has: {', '.join(names[:_MOST_NAMED])}{more}" if names else f"{folder} has no files"


def _entries(folder: Path) -> list[Path] | None:
    """Return what is in a folder; None where it is none, or may be entered and not listed."""
    try:
        return list(folder.iterdir())
    except OSError:
        return None


def no_folder(place: str, folder: Path) -> Fault:
    """Return the fault of a file to be written in a folder that is not there."""
    return Fault(place, f"there is no folder {folder}", f"mkdir -p {shlex.quote(str(folder))}")
