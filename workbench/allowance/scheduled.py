"""What scheduled jobs still need in a window, from what their runs drew before."""

import contextlib
import math
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import takewhile

import msgspec

from workbench.allowance.unseen import CONFIDENCE
from workbench.allowance.weights import ReportedTokens, Weights
from workbench.job_file import ScheduleTable
from workbench.ledger.queries import Reader
from workbench.occasions import following

RUNS_LOOKED_AT = 10
"""Of each job, the newest complete ones."""


class Demand(msgspec.Struct, frozen=True):
    """What one scheduled job still needs."""

    job: str
    next_at: datetime | None
    """None: not before the window ends."""
    occasions: int
    """That are still to come in the window."""
    runs: int
    """That the estimate rests on."""
    each: float | None
    """Units of a run, on average; None where a model of it has no weight."""
    low: float | None
    high: float | None
    """Of all its occasions together; None: unknown, or of one run that says nothing of the spread."""
    affordable: str = "?"
    """✓ where it fits into what is left, ✗ where it does not, ? where that cannot be told."""


def demands(
    reader: Reader, weights: Weights, now: datetime, end: datetime, left: tuple[float, float] | None
) -> list[Demand]:
    """The scheduled jobs, those that come first before the others.

    Args:
        reader: Of the ledger.
        weights: What tokens draw.
        now: From when on.
        end: Of the window.
        left: Units, at least and at most, out of which they are paid in their order; None: not known.
    """
    found = [_demand(*one, weights, now, end) for one in _runs_by_job(reader)]
    ordered = sorted(
        (one for one in found if one is not None), key=lambda one: (one.next_at is None, one.next_at, one.job)
    )
    return list(_afforded(ordered, left))


def _runs_by_job(reader: Reader) -> list[tuple[str, str, dict[str, list[tuple[datetime, str, ReportedTokens]]]]]:
    """Job, its file, and by run what each model of it drew."""
    jobs: dict[str, tuple[str, str, dict[str, list[tuple[datetime, str, ReportedTokens]]]]] = {}
    for row in reader.rows("run_draws", most=RUNS_LOOKED_AT):
        of_job = jobs.setdefault(row["job"], (row["job"], row["job_toml"], {}))
        tokens = ReportedTokens(
            row["prompt_tokens"], row["completion_tokens"], row["reasoning_tokens"], row["total_tokens"]
        )
        of_job[2].setdefault(row["run_id"], []).append((row["started_at"].replace(tzinfo=UTC), row["model"], tokens))
    return list(jobs.values())


def _demand(
    job: str,
    job_toml: str,
    runs: dict[str, list[tuple[datetime, str, ReportedTokens]]],
    weights: Weights,
    now: datetime,
    end: datetime,
) -> Demand | None:
    with contextlib.suppress(ValueError, KeyError, msgspec.ValidationError):
        schedule = msgspec.convert(tomllib.loads(job_toml)["schedule"], ScheduleTable)
        coming = list(takewhile(lambda at: at < end, following(schedule, now)))
        drawn = [[weights.units(model, at, tokens) for at, model, tokens in models] for models in runs.values()]
        totals = [math.fsum(units for units in one if units is not None) for one in drawn if None not in one]
        if len(totals) < len(drawn):
            return Demand(job, coming[0] if coming else None, len(coming), len(drawn), None, None, None)
        return Demand(job, coming[0] if coming else None, len(coming), len(totals), *_range(totals, len(coming)))
    return None


def _range(totals: Sequence[float], occasions: int) -> tuple[float, float | None, float | None]:
    """The mean of a run, and what so many coming ones draw together, at least and at most."""
    n, mean = len(totals), math.fsum(totals) / len(totals)
    if not occasions:
        return mean, 0.0, 0.0
    if n < 2:
        return mean, None, None
    from scipy.special import stdtrit

    variance = math.fsum((total - mean) ** 2 for total in totals) / (n - 1)
    error = math.sqrt(variance * (occasions + occasions**2 / n))
    reach = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * error
    return mean, max(occasions * mean - reach, 0.0), occasions * mean + reach


def _afforded(ordered: Sequence[Demand], left: tuple[float, float] | None) -> list[Demand]:
    """Whether each fits into what the ones before it leave."""
    found, low, high = [], 0.0, 0.0
    for one in ordered:
        mark = "✓" if not one.occasions else "?"
        if one.occasions and one.low is not None and one.high is not None:
            low, high = low + one.low, high + one.high
            if left is not None:
                mark = "✓" if high <= left[0] else "✗" if low > left[1] else "?"
        elif one.occasions:
            high = math.inf
        found.append(msgspec.structs.replace(one, affordable=mark))
    return found
