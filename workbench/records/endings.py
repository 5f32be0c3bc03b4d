"""How a run ends: its status and its numbers."""

from enum import StrEnum
from typing import Any, Literal

import msgspec

from workbench.errors import ExitCode, WorkbenchError

BASE_GENERATION = "base"
"""The generation of the answers that every run of a job reuses."""


class RunStatus(StrEnum):
    """How a run ended."""

    COMPLETE = "complete"
    """Every request is answered, or failed in a way that no rerun changes."""
    INCOMPLETE = "incomplete"
    """Something is pending, or failed and worth retrying."""
    STOPPED = "stopped"
    """A budget, a deadline or a guard ended it before everything was sent."""
    INTERRUPTED = "interrupted"
    """A signal ended it."""
    GATE_FAILED = "gate_failed"
    """As complete, and a quality gate was not met."""


SETTLED = (RunStatus.COMPLETE, RunStatus.GATE_FAILED)
"""With what status a run leaves nothing to be sent."""
EXIT_CODES = {
    RunStatus.COMPLETE: ExitCode.DONE,
    RunStatus.INCOMPLETE: ExitCode.INCOMPLETE,
    RunStatus.STOPPED: ExitCode.STOPPED,
    RunStatus.INTERRUPTED: ExitCode.INTERRUPTED,
    RunStatus.GATE_FAILED: ExitCode.GATE_NOT_MET,
}
"""Of a run with this status, unless what ended it has its own code."""
MOST_NAMED = 3
"""Of more failed routes the run's last line says only how many."""


class TokenSums(msgspec.Struct, frozen=True):
    """Tokens as reported; None where nothing was."""

    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    calls_without_usage: int | None
    """Answers without reported usage."""


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A run in numbers: `planned = reused + completed + failed + pending`. What `run --json` and `show --json` begin with."""

    run_id: str
    job: str
    status: RunStatus | None
    """None while it is in progress, or if it was killed."""
    reason: str | None
    """Why it ended before everything was answered."""
    planned: int
    reused: int
    """Requests that had an accepted answer before the run began."""
    completed: int
    failed: int
    pending: int
    outcomes: dict[str, int]
    """Calls by outcome."""
    usage: TokenSums
    served_models: dict[str, int]
    """Answers by the model that the platform named."""
    simulated: bool
    """Whether the models were simulated."""
    duration_s: float | None
    ledger: str
    report: str | None = None
    """The run's page, where one was written."""

    def as_object(self) -> dict[str, Any]:
        """Return the same as plain values."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


class FailedRoute(msgspec.Struct, frozen=True):
    """A route whose requests a run could not finish."""

    model: str
    state: str
    """given up, paused, or left alone: it asked for that."""
    outcome: str | None
    """The failure that it repeats."""
    in_a_row: int
    failed_trials: int
    failing_since: str
    """UTC."""


GateVerdict = Literal["met", "not met", "cannot tell", "open"]
"""`open`: an earlier run did not meet it, and what it showed is neither over nor accepted; it does not fail this run."""


class GateResult(msgspec.Struct, frozen=True):
    """What one gate says of one model, or of the whole run."""

    gate: str
    """Its key in `[gates]`, or `on_fallback`."""
    result: GateVerdict
    says: str
    scorer: str | None = None
    model: str | None = None


class RunEnd(msgspec.Struct, frozen=True):
    """The result of a run."""

    summary: RunSummary
    exit_code: int
    error: WorkbenchError | None
    """The error that stopped it."""
    notes: tuple[str, ...]
    """Messages for people about ingests, scores and pages."""
    told_to_stop: bool
    """Whether a signal came, whatever had ended the sending before; nothing further should be started."""
    failed_routes: tuple[FailedRoute, ...] = ()
    gates: tuple[GateResult, ...] = ()
    """What the gates of its job say, where it is complete."""
    findings: int | None = None
    """How many `workbench lint` has about the job, its dataset and its models, once the run has ended; None: the dataset
    or the ledger could not be read then."""
    to_judge: int = 0
    """Judgements of its answers that are still to be asked for, where its job wants them with the run."""
    counted_tokens: int = 0
    """What its calls count for in a budget of tokens: as reported, and of those that reported nothing what they may have used."""
    is_unscored: bool = False
    """Whether its exit code says only that a scorer of the job's own failed on every answer: all is answered."""

    def as_object(self) -> dict[str, Any]:
        """Return the object of `run --json`, but for its scores."""
        return self.summary.as_object() | {
            "failed_routes": msgspec.to_builtins(self.failed_routes),
            "gates": msgspec.to_builtins(self.gates),
            "to_judge": self.to_judge,
        }


TO_JUDGE = "still to be asked for"
"""With what the reason of a run ends that has all its answers and not all judgements of them."""
JUDGED_RUN = "judged_run"
"""The tag that says whose answers the run of a judge is about."""
JUDGED_JOB = "judged_job"
"""The tag that says for which job the run of a judge was made: what holds for that job's calls holds for the judge's too."""
FILLED, FILLED_SHEET, FILLED_TO = "filled", "filled_sheet", "filled_to"
"""The tags that say which file a run filled, which sheet where one was named, and what it wrote in place of the file."""


def occasion_generation(job: str, occasion: str) -> str:
    """Return the generation of the answers of one occasion of a job."""
    return f"{job}@{occasion}"
