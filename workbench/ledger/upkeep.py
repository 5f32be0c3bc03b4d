"""Checks of a ledger, and its rewriting without gaps."""

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

from workbench.ledger.database import copied, opened_for_writing
from workbench.ledger.ingest import ingest
from workbench.ledger.queries import reading
from workbench.ledger.recovery import unpack
from workbench.ledger.store import Ledger, LedgerBusyError

_MUST_BE_ZERO = (
    "repeated_attempts",
    "repeated_requests",
    "repeated_items",
    "repeated_samples",
    "repeated_bodies",
    "attempts_without_request",
)


def check_ledger(ledger: Ledger) -> dict[str, Any]:
    """What a ledger holds and whether it is sound: figures of the query `ledger_state`, and the state of its journals.

    A journal with a torn tail is no fault of soundness: its writer was killed or still writes, and what was acknowledged
    lies before the tear. One that is damaged before its end is.
    """
    with reading(ledger) as reader:
        state = reader.row("ledger_state")
    torn, damaged = [], []
    for journal in ledger.journals():
        with open(os.devnull, "wb") as nowhere, contextlib.suppress(FileNotFoundError):  # ingested meanwhile
            content = unpack(journal, nowhere)
            if content.torn:
                torn.append(str(journal))
            if content.damaged:
                damaged.append(str(journal))
    sound = all(state[name] == 0 for name in _MUST_BE_ZERO) and state["kinds"] <= 1 and not damaged
    return {
        "ledger": str(ledger.path),
        **state,
        "journals": len(ledger.journals()),
        "torn_journals": torn,
        "damaged_journals": damaged,
        "sound": sound,
    }


def compact_ledger(ledger: Ledger) -> tuple[int, int]:
    """Ingest what is pending, then copy all it holds into a new file that takes the old one's place.

    Returns:
        The file's size in bytes before and after.

    Raises:
        LedgerBusyError: Another process has the ledger open.
        WorkbenchError: The copy cannot be written; the ledger is as it was.
    """
    done = ingest(ledger)
    if done.deferred:
        raise LedgerBusyError(done.deferred)
    path = ledger.path.resolve()
    copy = path.with_name(path.name + ".compact")
    with ledger.locked(exclusive=True):
        with opened_for_writing(ledger):
            pass  # closing it takes a write-ahead log in that a killed process left
        if path.with_name(path.name + ".wal").exists():
            raise LedgerBusyError(f"{path}.wal is still in use")
        before = path.stat().st_size
        log = copy.with_name(copy.name + ".wal")
        for left in (copy, log):  # by a process that was killed here
            left.unlink(missing_ok=True)
        try:
            with copied(ledger, copy):
                _take_over(path, copy)
                os.replace(copy, path)
        finally:
            for left in (copy, log):
                left.unlink(missing_ok=True)
        return before, path.stat().st_size


def _take_over(path: Path, copy: Path) -> None:
    """Give the copy the file's mode and owner, and put it on the disk for good."""
    shutil.copymode(path, copy)
    before = path.stat()
    with contextlib.suppress(PermissionError):  # then it is whose who compacts
        os.chown(copy, before.st_uid, before.st_gid)
    fd = os.open(copy, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
