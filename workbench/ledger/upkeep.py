"""A ledger rewritten without gaps."""

import contextlib
import os
import shutil
from pathlib import Path

import duckdb

from workbench.errors import Fault, IncompleteError, InputError, WorkbenchError
from workbench.ledger.database import copied, opened_for_writing
from workbench.ledger.engine import first_line
from workbench.ledger.ingest import ingest
from workbench.ledger.kinds import Merged, store_of
from workbench.ledger.store import Ledger, LedgerBusyError, log_of
from workbench.scratch import sync


def compact_ledger(ledger: Ledger) -> Merged:
    """Ingest what is pending, then merge the ledger's small files,
    or copy all that its one file holds into a new one that takes its place.

    Raises:
        InputError: Its file is empty, and would become a ledger without anything.
        LedgerBusyError: Another process has the ledger open.
        IncompleteError: A journal cannot be ingested.
        WorkbenchError: The copy cannot be written; the ledger is as it was.
    """
    if ledger.file.exists() and not ledger.file.stat().st_size:  # as a copy that failed leaves it
        problem = f"{ledger.path} is empty: whatever it held is gone; nothing was changed"
        raise InputError(Fault("--ledger", problem, "put a copy in its place, or remove it"))
    done = ingest(ledger)
    if done.deferred:
        raise LedgerBusyError(done.deferred) if done.busy else IncompleteError(done.deferred)
    path, aside = ledger.file, tuple(done.set_aside_messages())
    copy = path.with_name(path.name + ".compact")
    with ledger.locked(exclusive=True):
        try:
            # closing a file applies a write-ahead log that a killed process left
            with opened_for_writing(ledger) as db:
                merged = store_of(ledger).merged(db)
        except duckdb.Error as error:
            raise WorkbenchError(f"{ledger.name} cannot be compacted: {first_line(error)}") from error
        if merged is not None:
            return merged._replace(set_aside=aside)
        if log_of(path).exists():
            raise LedgerBusyError(f"{log_of(path)} is still in use")
        before = path.stat().st_size
        log = log_of(copy)
        for left in (copy, log):  # by a process that was killed here
            left.unlink(missing_ok=True)
        try:
            with copied(ledger, copy):
                _take_over(path, copy)
                os.replace(copy, path)
        finally:
            for left in (copy, log):
                left.unlink(missing_ok=True)
        return Merged(before, path.stat().st_size, 0, 0, aside)


def _take_over(path: Path, copy: Path) -> None:
    """Give the copy the file's mode and owner, and put it on the disk for good."""
    shutil.copymode(path, copy)
    before = path.stat()
    with contextlib.suppress(PermissionError):  # then it belongs to the user who compacts
        os.chown(copy, before.st_uid, before.st_gid)
    sync(copy)
