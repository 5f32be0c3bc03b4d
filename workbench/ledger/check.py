"""Whether a ledger is sound: what must be unique is, keys are those of their content, and nothing a journal held is missing."""

import contextlib
import os
from collections import Counter
from typing import Any

import msgspec

from workbench.errors import ExitCode, InputError, WorkbenchError
from workbench.ledger.engine import DAMAGE
from workbench.ledger.entries import KIND_NAMES
from workbench.ledger.queries import Reader, reading
from workbench.ledger.recovery import unpack
from workbench.ledger.rows import JournalCount, LedgerState, RequestIdentity, TableDigest
from workbench.ledger.store import Ledger, is_being_written
from workbench.records.keys import body_key, canonical, request_key

_MUST_BE_ZERO = {
    "repeated_attempts": "attempts that are stored more than once",
    "repeated_requests": "requests that are stored more than once",
    "repeated_items": "results of a run's requests that are stored more than once",
    "repeated_samples": "samples that are stored more than once",
    "repeated_bodies": "request bodies that are stored more than once",
    "attempts_without_request": "attempts whose request is missing",
    "contradicting_attempts": "attempts that differ from their request in key, generation, model, sample or epoch",
    "contradicting_sums": "sums by quarter of an hour, which pages show, that differ from the attempts",
}
"""Figures of the query `ledger_state`, in words."""
_NAMED = 5
"""How many requests are named for each fault; the others are counted."""


class DamagedLedgerError(InputError):
    """A file that was a ledger can no longer be read."""

    exit_code = ExitCode.INTERNAL_ERROR


def check_ledger(ledger: Ledger) -> dict[str, Any]:
    """Return what a ledger holds and whether it is sound: figures of the query `ledger_state`, the state of its journals, and
    every problem in words.

    `live_journals` are those of runs that are running; `journals` wait to be ingested.
    A torn tail does not make a ledger unsound: its writer was killed or is still writing, and what was acknowledged
    precedes the tear. Damage before a journal's end does.

    Raises:
        DamagedLedgerError: It cannot even be opened.
    """
    try:
        with reading(ledger) as reader:
            counts, problems = _read(reader)
    except InputError as error:
        if DAMAGE.search(str(error)):
            raise DamagedLedgerError(*error.faults) from error
        raise
    torn, damaged, newer, live = [], [], [], 0
    journals = ledger.journals()
    for journal in journals:
        with open(os.devnull, "wb") as nowhere, contextlib.suppress(FileNotFoundError):  # ingested meanwhile
            live += is_being_written(journal)
            content = unpack(journal, nowhere)
            if content.torn:
                torn.append(str(journal))
            if content.damaged:
                damaged.append(str(journal))
            if set(content.kinds) - KIND_NAMES:
                newer.append(str(journal))
    problems += [f"{journal} is damaged" for journal in damaged]
    problems += [f"{journal} is of a newer version of workbench, which can ingest it" for journal in newer]
    return {
        "ledger": ledger.name,
        **counts,
        "journals": len(journals) - live,
        "live_journals": live,
        "torn_journals": torn,
        "damaged_journals": damaged,
        "problems": problems,
        "sound": not problems,
    }


def _read(reader: Reader) -> tuple[dict[str, Any], list[str]]:
    """Return what the tables hold, and what is wrong with it."""
    state = reader.only(LedgerState)
    counts = msgspec.structs.asdict(state)
    problems = [f"{words}: {counts[name]}" for name, words in _MUST_BE_ZERO.items() if counts[name]]
    if state.kinds > 1:
        problems.append("it mixes simulated data and an account's")
    return counts, problems + _missing_entries(reader) + _wrong_requests(reader) + _unreadable(reader)


def _unreadable(reader: Reader) -> list[str]:
    """Return what of the tables cannot be read: the other questions leave most columns on the disk."""
    try:
        reader.all(TableDigest)
    except WorkbenchError as error:
        return [f"a part of the file is damaged: {error}"]
    return []


def _missing_entries(reader: Reader) -> list[str]:
    """Return where the ledger's row counts differ from its journals'."""
    return [
        f"{count.rows} rows of {count.recorded} journal entries of the kind {count.kind!r}"
        for count in reader.all(JournalCount)
        if count.recorded is not None and count.recorded != count.rows
    ]


def _wrong_requests(reader: Reader) -> list[str]:
    """Return where a request's key does not match its body and identity."""
    named: dict[str, list[str]] = {}
    counted: Counter[str] = Counter()
    for request in reader.each(RequestIdentity):
        if fault := _fault_of(request):
            counted[fault] += 1
            if counted[fault] <= _NAMED:
                named.setdefault(fault, []).append(f"{request.run_id} call {request.call_no}")
    return [
        f"{counted[fault]} requests {fault}: {', '.join(calls)}{', …' if counted[fault] > _NAMED else ''}"
        for fault, calls in named.items()
    ]


def _fault_of(request: RequestIdentity) -> str | None:
    if request.body is None:
        return "have no body"
    if request.identity is None:
        return "belong to a run whose beginning is not recorded"
    sent = request.body.encode()
    if body_key(sent) != request.body_key:
        return "have a body other than the one sent"
    try:
        body = msgspec.json.decode(sent)
    except msgspec.DecodeError:
        return "have a body that is not valid JSON"
    if not isinstance(body, dict) or body.get("model") != request.model:
        return "ask a model other than the one recorded"
    if request_key(request.identity, canonical(body), request.epoch, request.occurrence) != request.request_key:
        return "have a key that does not match their body, endpoint, epoch and occurrence"
    return None
