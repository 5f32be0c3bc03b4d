"""Samples taken out of a run's scores, and put back: nothing is deleted, and the newest word counts."""

from collections.abc import Sequence

import msgspec

from workbench.errors import Fault, InputError, nearest
from workbench.evaluation.rescore import score_references
from workbench.evaluation.run_figures import find_run
from workbench.ledger.entries import SampleInvalidated, newer_than
from workbench.ledger.ingest import Ingested, record
from workbench.ledger.queries import reading
from workbench.ledger.score_rows import RunSampleKey
from workbench.ledger.store import Ledger


def invalidate(
    ledger: Ledger, run: str, samples: Sequence[str], reason: str, *, invalid: bool = True
) -> tuple[str, list[str], Ingested]:
    """Take samples out of the scores of a run, for all its models, or put them back.

    Args:
        run: As a user names it.
        samples: Ids; one that several samples have means all of them.
        invalid: False puts them back.

    Returns:
        The run's id, the samples that were not so before, and how the ingest went.

    Raises:
        InputError: There is no such run or sample.
    """
    with reading(ledger) as reader:
        run_id = find_run(reader, run)
        keys: dict[str, list[RunSampleKey]] = {}
        for row in reader.all(RunSampleKey, run_id=run_id):
            keys.setdefault(row.sample_id, []).append(row)
    faults = [
        Fault(
            "--sample",
            f"run {run_id} has no sample {sample!r}",
            nearest(sample, keys) or f"such as {', '.join(list(keys)[:3])}",
        )
        for sample in samples
        if sample not in keys
    ]
    if faults:
        raise InputError(*faults)
    now = newer_than(row.said_at for rows in keys.values() for row in rows if row.said_at is not None)
    others = [row for sample in dict.fromkeys(samples) for row in keys[sample] if row.invalid != invalid]
    entries = [SampleInvalidated(run_id, now, row.sample_key, invalid, reason) for row in others]
    done = record(ledger, entries)
    if entries:  # on the samples that are left another constant may be the best
        again = score_references(ledger, run_id)
        done = msgspec.structs.replace(
            again,
            torn=done.torn + again.torn,
            damaged=done.damaged + again.damaged,
            deferred=done.deferred or again.deferred,
        )
    return run_id, list(dict.fromkeys(row.sample_id for row in others)), done
