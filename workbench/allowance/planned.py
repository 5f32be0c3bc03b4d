"""What a planned run would draw of the window, and what it would leave."""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import workbench.settings.clock as clock
from workbench.allowance.account import account_state
from workbench.allowance.caps import caps_now, caps_of, check_caps, unweighted
from workbench.allowance.scheduled import RUNS_LOOKED_AT
from workbench.allowance.weights import ReportedTokens, Weights, weights_of
from workbench.display.text import duration, significant
from workbench.errors import InputError
from workbench.job.job import Job
from workbench.ledger.queries import Reader
from workbench.ledger.store import Ledger
from workbench.ledger.usage_rows import RunDraws
from workbench.planning.estimate import RunEstimate
from workbench.planning.lint import Finding
from workbench.planning.models import PlannedModel
from workbench.planning.run_plan import CapState, WindowPlan

_SCALE_TOKENS = 1_000_000


def window_plan(reader: Reader | None, ledger: Ledger, job: Job, estimate: RunEstimate) -> WindowPlan:
    """Put an estimate beside the window of the allowance.

    Args:
        reader: Of the ledger; None where there is none yet.
        ledger: With what its settings say of the allowance.
        job: That is planned.
        estimate: Of its run.

    Raises:
        InputError: A cap is in units or shares of what is not known.
    """
    weights, now = weights_of(ledger.allowance, ledger.zone), clock.now()
    left, ends_at = None, None
    parts = {}
    if reader is not None:
        state = account_state(reader, ledger.allowance, ledger.zone, now)
        parts = _drawn_before(reader, job.name, weights)
        left = state.left
        ends_at = state.resets_at
    low, high = 0.0, 0.0
    for model in estimate.models:
        least, most = _per_token(weights, model.model, now, parts.get(model.model))
        low += least * model.low_tokens
        high += math.inf if most is None or model.high_tokens is None else most * model.high_tokens
    held = tuple(
        CapState(cap.words, cap.used, cap.amount_text(cap.used), cap.most, cap.unbounded_calls)
        for cap in caps_now(ledger, job)
    )
    return WindowPlan(weights.unit, low, None if math.isinf(high) else high, left, ends_at, held)


def cap_findings(ledger: Ledger, job: Job, models: Sequence[PlannedModel]) -> Iterator[Finding]:
    """Return why a run would refuse to begin: a cap that it cannot keep."""
    lacking = unweighted(ledger, [model.id for model in models], clock.now())
    try:
        check_caps(job, caps_of(ledger, job), lacking, models)
    except InputError as error:
        for fault in error.faults:
            yield Finding(fault.where, f"{fault.problem}{f' ({fault.hint})' if fault.hint else ''}")


def window_findings(plan: WindowPlan, job: Job, estimate: RunEstimate) -> Iterator[Finding]:
    """Return what is likely to go wrong for want of time or allowance."""
    now = clock.now()
    if job.run.deadline_s is not None and estimate.low_s is not None and estimate.low_s > job.run.deadline_s:
        text = f"takes at least {duration(estimate.low_s)} by earlier answers: the run stops after {duration(job.run.deadline_s)}"
        yield Finding(job.where("run", "deadline_s"), text, is_about_now=True)
    if (
        plan.ends_at is not None
        and estimate.high_s is not None
        and now + timedelta(seconds=estimate.high_s) > plan.ends_at
    ):
        text = f"the window ends at {plan.ends_at:%Y-%m-%d %H:%M} UTC, perhaps before the run does"
        yield Finding("allowance", text, is_about_now=True)
    if plan.left is not None and plan.low_units > plan.left[1]:
        text = f"needs at least {significant(plan.low_units)} {plan.unit}, and at most {significant(plan.left[1])} are left"
        yield Finding("allowance", text, is_about_now=True)
    elif plan.left is not None and plan.high_units is not None and plan.high_units > plan.left[0]:
        text = f"may need {significant(plan.high_units)} {plan.unit}, and perhaps only {significant(plan.left[0])} are left"
        yield Finding("allowance", text, is_about_now=True)
    for cap in plan.caps:
        if cap.used >= cap.most:
            yield Finding("caps", f"the cap of {cap.words} is used up: nothing would be sent", is_about_now=True)


def _drawn_before(reader: Reader, job: str, weights: Weights) -> dict[str, ReportedTokens]:
    """By model, the tokens of the job's newest runs, in their parts."""
    found: dict[str, ReportedTokens] = {}
    for row in reader.all(RunDraws, most=RUNS_LOOKED_AT, in_part=True, in_parts=bool(weights.entries)):
        if row.job == job:
            before = found.get(row.model, ReportedTokens(0, 0, 0, 0))
            found[row.model] = ReportedTokens(
                before.prompt + row.prompt_tokens, before.completion + row.completion_tokens,
                before.reasoning + row.reasoning_tokens, before.total + row.total_tokens,
            )  # fmt: skip
    return found


def _per_token(
    weights: Weights, model: str, now: datetime, before: ReportedTokens | None
) -> tuple[float, float | None]:
    """Return the units of a token, at least and at most: as the earlier runs had them,
    else of its cheapest and costliest kind.
    """
    if before is not None and before.total and (units := weights.units(model, now, before)) is not None:
        return units / before.total, units / before.total
    scale = _SCALE_TOKENS
    kinds = ((scale, 0, 0, scale), (0, scale, 0, scale), (0, 0, scale, scale))
    costs = [weights.units(model, now, ReportedTokens(*kind)) for kind in kinds]
    known = [cost / scale for cost in costs if cost is not None]
    return (min(known), max(known)) if known else (0.0, None)
