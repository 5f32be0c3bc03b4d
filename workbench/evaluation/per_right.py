"""What a right answer costs: the tokens, or the units, of all answers, the wrong and empty ones too, for each that is right."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from workbench.evaluation.sides import Samples, Sides
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.score_rows import SideSample, SideTokens
from workbench.stats.ratios import fieller

_MEANS = (None, "mean")
"""How a job may reduce the scores of epochs, so that their sum is a number of right answers."""


class PerRight(msgspec.Struct, frozen=True):
    """How much a side took for each right answer; a score between 0 and 1 counts as that share of one."""

    amount: float
    """Over the answers whose score is known."""
    low: float
    """Of the 95 % interval, were the unknown scores the highest that they can be."""
    high: float | None
    """The same with the lowest; None: it has no upper end."""


class Weighing(NamedTuple):
    """How the account's units follow from tokens."""

    unit: str
    """What units are called."""
    of: Callable[[SideTokens], float | None]
    """What the answers to a sample drew; None where that is not known."""


AmountsPerRight = dict[tuple[str, str], PerRight]
"""(run id, model) -> how much it took for each right answer, where that is known."""


def per_right(
    reader: Reader,
    runs: Sequence[Provenance],
    there: Sides,
    on_fallback: str | None,
    weighing: Weighing | None,
) -> tuple[AmountsPerRight, AmountsPerRight]:
    """Return the tokens, prompt and completion, and the units of each side for a right answer.

    A side is left out where scores are no shares, an answer reports no usage, no answer is right, or two samples are too few; of
    units also where its model has no weight.

    Args:
        on_fallback: `exclude` or `accept`; None as each run's job says.
        weighing: None: there are no units but tokens.
    """
    if not there.are_shares:
        return {}, {}
    run_ids = [run.run_id for run in runs if run.reduce in _MEANS]
    rows = reader.all(SideTokens, run_ids=run_ids, on_fallback=on_fallback)
    tokens = _by_side(rows, lambda row: None if row.without_usage else row.total_tokens, there.samples)
    return tokens, {} if weighing is None else _by_side(rows, weighing.of, there.samples)


def _by_side(
    rows: Sequence[SideTokens], took: Callable[[SideTokens], float | None], samples: Samples
) -> AmountsPerRight:
    amounts: dict[tuple[str, str], dict[str, float | None]] = {}
    for row in rows:
        taken = took(row)
        amounts.setdefault((row.run_id, row.model), {})[row.sample_key] = None if taken is None else taken / row.answers
    found = {side: _of_side(own, samples.get(side, [])) for side, own in amounts.items()}
    return {side: one for side, one in found.items() if one is not None}


def _of_side(amounts: dict[str, float | None], samples: Sequence[SideSample]) -> PerRight | None:
    scored = [row for row in samples if row.excluded is None and row.sample_key in amounts]
    used = {key: amount for key, amount in amounts.items() if amount is not None}
    if any(row.sample_key not in used for row in scored):
        return None
    known = [(used[row.sample_key], row.value) for row in scored if row.value is not None]
    right = math.fsum(value for _, value in known)
    highest = [1.0 if row.high is None else row.high for row in scored]
    lowest = [0.0 if row.low is None else row.low for row in scored]
    at_best, at_worst = (fieller(_by_cluster(scored, used, ends)) for ends in (highest, lowest))
    if not right or at_best is None:
        return None
    amount = math.fsum(amount for amount, _ in known) / right
    return PerRight(amount, at_best.low, None if at_worst is None else at_worst.high)


def _by_cluster(
    rows: Sequence[SideSample], used: dict[str, float], scores: Sequence[float]
) -> list[tuple[float, float]]:
    """Return the sums of what was used and of scores of each cluster; a sample without one is one of its own."""
    sums: dict[str, tuple[float, float]] = {}
    for row, score in zip(rows, scores, strict=True):
        own = row.cluster or row.sample_key
        taken, right = sums.get(own, (0.0, 0.0))
        sums[own] = taken + used[row.sample_key], right + score
    return list(sums.values())
