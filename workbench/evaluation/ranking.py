"""Which model leads a run by a scorer, on samples that compare, and what of that is clear."""

import msgspec

from workbench.evaluation.run_figures import RunFigures
from workbench.stats.intervals import Interval


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
    """How many of those the samples do not show to be worse."""
    is_partial: bool
    """Whether some model was scored on more samples than they share."""


def ranking(figures: RunFigures) -> Ranking | None:
    """How the models stand by the run's first scorer; None where nothing is scored."""
    scored = [row for row, _ in figures.scores if row["scored"]]
    if not scored:
        return None
    scorer = scored[0]["scorer"]
    samples = {row["model"]: row["samples"] for row in scored if row["scorer"] == scorer}
    shared = [(row["model"], interval) for row, interval in figures.shared_scores if row["scorer"] == scorer]
    if not shared:
        return Ranking(scorer, samples, (), None, 0, 0, is_partial=True)
    best = max((interval for _, interval in shared), key=lambda interval: interval.mean)
    others = [interval for _, interval in shared if interval.mean < best.mean]
    return Ranking(
        scorer,
        samples,
        tuple(model for model, interval in shared if interval.mean == best.mean),
        best,
        len(others),
        sum(not _is_clearly_below(interval, best) for interval in others),
        is_on_different_samples(figures, scorer),
    )


def is_on_different_samples(figures: RunFigures, scorer: str) -> bool:
    """Whether a scorer judged the models on different samples: then their means over all of these do not compare."""
    shared = {row["scorer"]: row["samples"] for row, _ in figures.shared_scores}
    return any(row["samples"] > shared.get(scorer, 0) for row, _ in figures.scores if row["scorer"] == scorer)


def _is_clearly_below(one: Interval, other: Interval) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low
