"""Gates decided and recorded: what was found, and how the run ends by it."""

import contextlib

from workbench.endings import EXIT_CODES, GateResult, RunStatus
from workbench.evaluation.gates import gate_results, is_met, reason_of
from workbench.evaluation.run_figures import run_findings
from workbench.job import Job
from workbench.job_file import GatesTable
from workbench.ledger.entries import GateDecided, RunEnded, newer_than
from workbench.ledger.ingest import Ingested, ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.rows import Provenance
from workbench.ledger.run_rows import RunItems
from workbench.ledger.store import Ledger


def decide(ledger: Ledger, run_id: str, job: Job) -> tuple[list[GateResult], str | None, Ingested]:
    """Ask the gates of a job about a complete run of it, and record what they say.

    Args:
        ledger: With the run, scored.
        run_id: Which.
        job: With its gates, if it has any.

    Returns:
        What each gate says; why the run does not pass, or None where it does; and how the ingest went.

    Raises:
        InputError: The baseline is not a run of the ledger.
        JournalFullError: The disk takes no more.
    """
    gates = job.gates or GatesTable()
    if job.gates is None and job.run.on_fallback != "fail":
        return [], None, Ingested()
    with reading(ledger) as reader:
        results = gate_results(reader, run_findings(reader, run_id), reader.all(RunItems, run_id=run_id), gates)
        run = reader.only(Provenance, run_id=run_id)
    reason = None if is_met(results, gates) else reason_of(results)
    now = newer_than([] if run.ended_at is None else [run.ended_at])
    with contextlib.closing(JournalWriter(ledger.journal_folder)) as journal:
        for one in results:
            journal.append(GateDecided(run_id, now, one.gate, one.result, one.says, one.scorer, one.model))
        if reason is not None:
            status = RunStatus.GATE_FAILED
            journal.append(RunEnded(run_id, now, status, EXIT_CODES[status], run.duration_s or 0.0, reason))
    return results, reason, ingest(ledger, whole=journal.whole)
