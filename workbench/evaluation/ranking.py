"""Which model leads a run by a scorer, on samples that compare, and what of that is clear."""

import itertools

import msgspec

from workbench.evaluation.run_figures import RunFigures
from workbench.ledger.queries import Row
from workbench.stats.intervals import Interval
from workbench.stats.paired import LEVEL, Paired, holm, paired


class Ranking(msgspec.Struct, frozen=True):
    """How the models of a run stand by one scorer."""

    scorer: str
    samples: dict[str, int]
    """By model that was scored: how many samples."""
    leading: tuple[str, ...]
    """The models with the best mean on the samples that all of them share; empty where they share none."""
    best: Interval | None
    """Of the leading models' mean on those samples."""
    behind: int
    """How many models have a lower mean there."""
    unclear: int
    """How many of those a paired test does not show to be worse, adjusted for all pairs of the run."""
    is_partial: bool
    """Whether some model was scored on more samples than they share."""
    nearest: Paired | None = None
    """The leading model beside the one that comes after it."""


def ranking(figures: RunFigures) -> Ranking | None:
    """How the models stand by the run's first scorer; None where nothing is scored."""
    scored = [row for row, _ in figures.scores if row["scored"]]
    if not scored:
        return None
    scorer = scored[0]["scorer"]
    samples = {row["model"]: row["samples"] for row in scored if row["scorer"] == scorer}
    shared = [(row, interval) for row, interval in figures.shared_scores if row["scorer"] == scorer]
    if not shared:
        return Ranking(scorer, samples, (), None, 0, 0, is_partial=True)
    best = max((interval for _, interval in shared), key=lambda interval: interval.mean)
    leading = [row for row, interval in shared if interval.mean == best.mean]
    others = [row for row, interval in shared if interval.mean < best.mean]
    compared = _compared([*leading, *others])
    beside = [compared[0, number] for number in range(len(leading), len(shared))]
    return Ranking(
        scorer,
        samples,
        tuple(row["model"] for row in leading),
        best,
        len(others),
        sum(p_value >= LEVEL for _, p_value in beside),
        is_on_different_samples(figures, scorer),
        beside[0][0] if beside else None,
    )


def _compared(rows: list[Row]) -> dict[tuple[int, int], tuple[Paired, float]]:
    """Every pair of models, by their places, with the p-value that is adjusted for all of them."""
    pairs = list(itertools.combinations(range(len(rows)), 2))
    found = [paired(rows[one]["values"], rows[other]["values"]) for one, other in pairs]
    adjusted = holm([pair.p_value for pair in found])
    return dict(zip(pairs, zip(found, adjusted, strict=True), strict=True))


def is_on_different_samples(figures: RunFigures, scorer: str) -> bool:
    """Whether a scorer judged the models on different samples: then their means over all of these do not compare."""
    shared = {row["scorer"]: row["samples"] for row, _ in figures.shared_scores}
    return any(row["samples"] > shared.get(scorer, 0) for row, _ in figures.scores if row["scorer"] == scorer)
