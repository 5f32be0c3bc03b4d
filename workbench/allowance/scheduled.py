"""What scheduled jobs still need in a window, from what their runs drew before."""

import math
import tomllib
from collections.abc import Sequence
from datetime import datetime
from itertools import islice, takewhile

import msgspec

from workbench.allowance.account import AccountState
from workbench.allowance.unseen import CONFIDENCE
from workbench.allowance.weights import ReportedTokens, Weights
from workbench.job.file import ScheduleTable
from workbench.job.occasions import following
from workbench.ledger.queries import Reader
from workbench.ledger.usage_rows import RunDraws
from workbench.stats.intervals import student_reach

RUNS_LOOKED_AT = 10
"""Of each job, the newest whole ones; an occasion counts as one, however many runs it took."""


class Demand(msgspec.Struct, frozen=True):
    """What one scheduled job still needs."""

    job: str
    next_at: datetime | None
    """None: not before the window ends."""
    occasions: int | None
    """That are still to come in the window; None where none is set."""
    runs: int
    """That the estimate rests on."""
    each: float | None
    """Units of a run, on average, by the weights of now; None where a model has no weight, or a call reported no usage."""
    low: float | None
    high: float | None
    """Of all its occasions together; None: unknown, or of one run that says nothing of the spread."""
    why: str = ""
    """Why it is unknown."""
    affordable: str = "?"
    """✓ where it fits into what is left, ✗ where it does not, ? where that cannot be told."""


def demands(reader: Reader, weights: Weights, standing: AccountState) -> list[Demand]:
    """Return the scheduled jobs, those that come first before the others.

    Args:
        reader: Of the ledger.
        weights: What tokens draw.
        standing: The account, out of which they are paid in their order.
    """
    end = standing.resets_at
    found = [_demand(job, *more, weights, standing.at, end) for job, more in _runs_by_job(reader, weights).items()]
    ordered = sorted(
        (one for one in found if one is not None), key=lambda one: (one.next_at is None, one.next_at, one.job)
    )
    return _afforded(ordered, standing.left if end is not None else None)


_Runs = dict[str, list[tuple[str, int, ReportedTokens]]]


def _runs_by_job(reader: Reader, weights: Weights) -> dict[str, tuple[str, _Runs]]:
    """By job its file, and by run each model with its calls of unknown usage and the tokens of the others."""
    jobs: dict[str, tuple[str, _Runs]] = {}
    for row in reader.all(RunDraws, most=RUNS_LOOKED_AT, in_part=False, in_parts=bool(weights.entries)):
        _, runs = jobs.setdefault(row.job, (row.job_toml, {}))
        tokens = ReportedTokens(row.prompt_tokens, row.completion_tokens, row.reasoning_tokens, row.total_tokens)
        runs.setdefault(row.run_id, []).append((row.model, row.unknown_calls, tokens))
    return jobs


def _demand(
    job: str, job_toml: str, runs: _Runs, weights: Weights, now: datetime, end: datetime | None
) -> Demand | None:
    try:
        schedule = msgspec.convert(tomllib.loads(job_toml)["schedule"], ScheduleTable)
        following_ones = following(schedule, now)
        coming = (
            list(islice(following_ones, 1)) if end is None else list(takewhile(lambda at: at < end, following_ones))
        )
    except (ValueError, KeyError, msgspec.ValidationError):  # it has no schedule, or another version read it
        return None
    next_at, occasions = coming[0] if coming else None, None if end is None else len(coming)
    drawn = [[weights.units(model, now, tokens) for model, _, tokens in models] for models in runs.values()]
    if any(None in one for one in drawn):
        return Demand(job, next_at, occasions, len(drawn), None, None, None, "a model of it has no weight")
    if any(unknown for models in runs.values() for _, unknown, _ in models):
        return Demand(job, next_at, occasions, len(drawn), None, None, None, "calls of it reported no usage")
    totals = [math.fsum(units for units in one if units is not None) for one in drawn]
    return Demand(job, next_at, occasions, len(totals), *_range(totals, occasions))


def _range(totals: Sequence[float], occasions: int | None) -> tuple[float, float | None, float | None]:
    """Return the mean of a run, and what so many coming ones draw together, at least and at most."""
    n, mean = len(totals), math.fsum(totals) / len(totals)
    if occasions is None:
        return mean, None, None
    if not occasions:
        return mean, 0.0, 0.0
    if n < 2:
        return mean, None, None
    variance = math.fsum((total - mean) ** 2 for total in totals) / (n - 1)
    error = math.sqrt(variance * (occasions + occasions**2 / n))
    reach = student_reach(n, CONFIDENCE) * error
    return mean, max(occasions * mean - reach, 0.0), occasions * mean + reach


def _afforded(ordered: Sequence[Demand], left: tuple[float, float] | None) -> list[Demand]:
    """Return whether each fits into what the ones before it leave."""
    found, low, high = [], 0.0, 0.0
    for one in ordered:
        mark = "✓" if one.occasions == 0 and left is not None else "?"
        if one.occasions and one.low is not None and one.high is not None:
            low, high = low + one.low, high + one.high
            if left is not None:
                mark = "✓" if high <= left[0] else "✗" if low > left[1] else "?"
        elif one.occasions:
            high = math.inf
        found.append(msgspec.structs.replace(one, affordable=mark))
    return found
