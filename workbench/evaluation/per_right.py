"""What a right answer costs: the tokens of all answers, the wrong ones too, for each that is right."""

import math
from collections.abc import Sequence

import msgspec

from workbench.evaluation.sides import Samples, Sides
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.score_rows import SideSample, SideTokens
from workbench.stats.ratios import fieller

_MEANS = (None, "mean")
"""How a job may reduce the scores of epochs, so that their sum is a number of right answers."""


class TokensPerRight(msgspec.Struct, frozen=True):
    """Tokens, prompt and completion, for each right answer of a side; a score between 0 and 1 counts as that share of one."""

    tokens: float
    """Over the answers whose score is known."""
    low: float
    """Of the 95 % interval, were the unknown scores the highest that they can be."""
    high: float | None
    """The same with the lowest; None: it has no upper end."""


def tokens_per_right(
    reader: Reader, runs: Sequence[Provenance], there: Sides, on_fallback: str | None
) -> dict[tuple[str, str], TokensPerRight]:
    """(run id, model) -> its tokens for each right answer.

    A side is left out where scores are no shares, an answer reports no usage, no answer is right, or two samples are too few.

    Args:
        runs: Of the sides.
        there: The sides by one scorer.
        on_fallback: `exclude` or `accept`; None as each run's job says.
    """
    if not there.are_shares:
        return {}
    run_ids = [run.run_id for run in runs if run.reduce in _MEANS]
    rows: dict[tuple[str, str], dict[str, SideTokens]] = {}
    for row in reader.all(SideTokens, run_ids=run_ids, on_fallback=on_fallback):
        rows.setdefault((row.run_id, row.model), {})[row.sample_key] = row
    found = {side: _of_side(own, there.samples, side) for side, own in rows.items()}
    return {side: one for side, one in found.items() if one is not None}


def _of_side(rows: dict[str, SideTokens], samples: Samples, side: tuple[str, str]) -> TokensPerRight | None:
    scored = [row for row in samples.get(side, []) if row.excluded is None and row.sample_key in rows]
    used = {key: row.total_tokens for key, row in rows.items() if row.total_tokens is not None}
    if any(rows[row.sample_key].without_usage for row in scored) or any(row.sample_key not in used for row in scored):
        return None
    known = [(used[row.sample_key], row.value) for row in scored if row.value is not None]
    right = math.fsum(value for _, value in known)
    at_best, at_worst = (fieller(_by_cluster(scored, used, ends)) for ends in (_highs(scored), _lows(scored)))
    if not right or at_best is None:
        return None
    tokens = math.fsum(tokens for tokens, _ in known) / right
    return TokensPerRight(tokens, at_best.low, None if at_worst is None else at_worst.high)


def _lows(rows: Sequence[SideSample]) -> list[float]:
    return [0.0 if row.low is None else row.low for row in rows]


def _highs(rows: Sequence[SideSample]) -> list[float]:
    return [1.0 if row.high is None else row.high for row in rows]


def _by_cluster(
    rows: Sequence[SideSample], used: dict[str, float], scores: Sequence[float]
) -> list[tuple[float, float]]:
    """Return the sums of tokens and scores of each cluster, or of each sample where one belongs to none."""
    are_clustered = all(row.cluster is not None for row in rows)
    sums: dict[str | None, tuple[float, float]] = {}
    for row, score in zip(rows, scores, strict=True):
        own = row.cluster if are_clustered else row.sample_key
        tokens, right = sums.get(own, (0.0, 0.0))
        sums[own] = tokens + used[row.sample_key], right + score
    return list(sums.values())
