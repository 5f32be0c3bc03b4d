"""What `workbench lint` says of a job, and how much of it a run counts."""

from collections.abc import Callable
from statistics import fmean

from workbench.allowance.planned import cap_findings
from workbench.api.session import Session, Target
from workbench.errors import WorkbenchError
from workbench.evaluation.gates import undecidable_gates
from workbench.job.job import Job
from workbench.ledger.queries import Reader
from workbench.ledger.score_rows import ReferenceRow
from workbench.ledger.store import Ledger
from workbench.planning.expand import Plan
from workbench.planning.lint import Finding, RouteExperience, invisible_judges, lint_plan
from workbench.planning.references import is_easy
from workbench.records.calls import Model
from workbench.routes.probes import experience_of


def findings_of(
    ledger: Ledger, plan: Plan, models: list[Model], judges: list[Finding], experience: dict[str, RouteExperience]
) -> list[Finding]:
    """Return what is questionable about a plan, but for its reference points and what is left now.

    Args:
        models: That the account sees.
        judges: See `judge_findings`.
        experience: What the ledger knows of the routes.
    """
    caps = cap_findings(ledger, plan.job, plan.models)
    return [*lint_plan(plan, models, experience), *judges, *caps, *undecidable_gates(plan)]


def findings_of_run(
    findings: Callable[[dict[str, RouteExperience]], list[Finding]], plan: Plan, run_id: str, reader: Reader
) -> int | None:
    """Return how many findings there are about the job of a run that has ended; None: what they rest on cannot be read any more.

    Args:
        findings: Returns them by what the ledger knows of the routes.
        reader: Of a ledger that holds its reference points: to look for them once more takes .3 s a scorer for 2,000 samples.
    """
    try:
        constants = (row for row in reader.all(ReferenceRow, run_ids=[run_id]) if row.reference == "constant")
        easy = sum(is_easy(plan, row.scorer, fmean(row.sample_values)) for row in constants)
        return easy + len(findings(experience_of(reader, tools=plan.sends_tools)))
    except (WorkbenchError, OSError):
        return None  # such as a dataset that was moved meanwhile: what the run found stands all the same


def judge_findings(where: Target, session: Session, job: Job) -> list[Finding]:
    """Return the judges that the account does not see; simulated ones have stand-ins when they are asked."""
    return [] if where.local else list(invisible_judges(job, session.models))
