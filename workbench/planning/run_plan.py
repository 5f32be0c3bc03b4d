"""What a run would do, for people and for programs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from workbench.ledger.queries import Reader
from workbench.ledger.score_rows import JudgedAnswer
from workbench.planning.estimate import RunEstimate
from workbench.planning.expand import EarlierAnswer, Plan
from workbench.planning.lint import Finding, repeated_ids
from workbench.planning.references import PlannedReference
from workbench.planning.scorers import judges_of
from workbench.scoring.judge import Judge


class ModelPlan(msgspec.Struct, frozen=True):
    """What one model would be asked."""

    model: str
    to_send: int
    max_in_flight: int
    timeout_s: float


class CapState(msgspec.Struct, frozen=True):
    """One cap that holds for the run."""

    words: str
    used: float
    used_text: str
    """The same in words."""
    most: float
    unbounded_calls: int
    """Of those that count, the ones that may have used any amount more: they reported no usage and had no `max_tokens`."""


class WindowPlan(msgspec.Struct, frozen=True):
    """What a run would draw, in the allowance's units."""

    unit: str
    low_units: float
    high_units: float | None
    """None: nothing bounds it, or a model has no weight."""
    left: tuple[float, float] | None
    """Of the window before the run; None: not known."""
    ends_at: datetime | None
    """The window; None: it is not known, or rolls."""
    caps: tuple[CapState, ...]

    @property
    def leaves(self) -> tuple[float, float] | None:
        """Of the window after the run, at least and at most."""
        if self.left is None or self.high_units is None:
            return None
        return max(self.left[0] - self.high_units, 0.0), max(self.left[1] - self.low_units, 0.0)


class PlannedJudge(msgspec.Struct, frozen=True):
    """What a judge may be asked by a run; what it has judged already is not asked again."""

    scorer: str
    model: str
    most_calls: int
    max_tokens: int
    """Of each call."""


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would do, and what is questionable about it. The object of `plan --json`, but for the findings."""

    job: str
    planned: int
    reused: int
    failed: int
    """Without an answer, in a way that no rerun changes."""
    to_send: int
    samples: int
    variants: tuple[str, ...]
    """Of its job; empty where it has none."""
    epochs: int
    max_in_flight: int
    order: str
    """`longest first`, by what the ledger knows of earlier answers, or `file`."""
    most_attempts: int
    """With all passes, if everything fails until the last."""
    models: tuple[ModelPlan, ...]
    dataset_hash: str
    simulated: bool
    ledger: str
    estimate: RunEstimate
    """What it will use and how long it takes, if every request is answered at the first try."""
    findings: tuple[Finding, ...]
    window: WindowPlan | None = None
    """What it draws of the allowance, and leaves of it; None where that was not worked out."""
    findable: tuple[str, ...] = ()
    """How large a drop of a watched score must be to be found within three runs, by model."""
    notes: tuple[str, ...] = ()
    """What a run says of its dataset before it begins."""
    references: tuple[PlannedReference, ...] = ()
    """What scores without a model, by scorer."""
    judges: tuple[PlannedJudge, ...] = ()
    """What the judges among the scorers are asked after the answers, in the same command."""
    settings: tuple[str, ...]
    """The settings files that were read."""
    requests: tuple[dict[str, Any], ...]
    """The first requests as they would be sent."""


def described(plan: Plan, findings: list[Finding], expected: RunEstimate, ledger: str, *, simulated: bool) -> RunPlan:
    """Return a plan with its findings.

    Args:
        plan: Expanded, with the answers that it reuses.
    """
    to_send = len(plan) - plan.reused
    models = tuple(
        ModelPlan(model.id, sum(1 for _ in plan.to_send(number)), model.max_in_flight, model.timeout_s)
        for number, model in enumerate(plan.models)
    )
    return RunPlan(
        job=plan.job.name,
        planned=len(plan),
        reused=plan.reused - plan.failed_before,
        failed=plan.failed_before,
        to_send=to_send,
        samples=plan.samples,
        variants=tuple(variant.name for variant in plan.job.variants if variant.name),
        epochs=plan.job.run.epochs,
        max_in_flight=plan.job.run.max_in_flight,
        order=plan.order,
        most_attempts=to_send * plan.job.run.passes,
        models=models,
        dataset_hash=plan.dataset_hash,
        simulated=simulated,
        ledger=ledger,
        estimate=expected,
        findings=tuple(findings),
        notes=tuple(f"{found.where}: {found.text}" for found in repeated_ids(plan)),
        settings=(),
        requests=(),
    )


def planned_judges(plan: Plan, reader: Reader | None) -> tuple[PlannedJudge, ...]:
    """Return what the judges of a job may be asked in the same command.

    Args:
        plan: With the answers that it reuses.
        reader: Of the ledger that has them; None where there is none yet.
    """
    judges = [judge for _, judge in judges_of(plan.job)] if plan.job.judge.when == "run" else []
    reused: dict[str, tuple[str, EarlierAnswer]] = {}
    if judges and reader is not None:  # to look at each costs a plan without judges nothing
        reused = {plan.request_key_of(item): (plan.sample_key_of(item), answer) for item, answer in plan.reuses()}
    found = []
    for judge in judges:
        known = _judged(reader, judge, reused, plan.job.run.on_fallback) if reader is not None and reused else 0
        most_calls = (len(plan) - known) * judge.votes
        most_calls = most_calls if judge.most_calls is None else min(most_calls, judge.most_calls)
        found.append(PlannedJudge(judge.named, judge.model, most_calls, judge.max_tokens))
    return tuple(found)


def _judged(reader: Reader, judge: Judge, reused: Mapping[str, tuple[str, EarlierAnswer]], on_fallback: str) -> int:
    """Return of how many of the answers that a run reuses a judge has nothing more to say, by its settings of now."""
    asked = {
        "request_keys": list(reused),
        "scorer": judge.named,
        "scorer_config": judge.settings,
        "on_fallback": on_fallback,
    }
    known = set()
    for row in reader.each(JudgedAnswer, **asked):
        sample_key, answer = reused[row.request_key]
        if (row.sample_key, row.run_id, row.call_no) == (sample_key, answer.run_id, answer.call_no):
            known.add(row.request_key)
    return len(known)
