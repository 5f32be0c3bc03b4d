"""How often a model that is worse by a margin is called within it."""

import itertools
import random
from collections.abc import Callable, Mapping, Sequence

import pytest

from tests.cases import first_of
from workbench.evaluation.sides import ModelResult, differences, side_without_calls
from workbench.ledger.score_rows import SideSample

Scored = Callable[[random.Random, float, int], list[float]]
RUNS = 400
MARGIN = 0.1


def sample(model: str, number: int, value: float) -> SideSample:
    return SideSample(
        "r", model, str(number), str(number), asked=1, answered=1, scored=1, not_right=0, not_right_ends=[], unknown=0,
        unread=0, left_out=0, excluded=None, of_scored=value, value=value, low=value, high=value, least=0.0, most=1.0,
        cluster=None,
    )  # fmt: skip


def lowest(scores: Mapping[str, Sequence[float]]) -> dict[tuple[str, str], float | None]:
    """Return how much better each model is at least than each other one."""
    sides: dict[str, ModelResult] = {
        name: side_without_calls("r", name, len(own), None) for name, own in scores.items()
    }
    samples = {("r", name): [sample(name, n, value) for n, value in enumerate(own)] for name, own in scores.items()}
    found: dict[tuple[str, str], float | None] = {}
    for base in sides.values():
        pairs = [(side, base) for side in sides.values() if side is not base]
        family = [pair for pair in itertools.combinations(sides.values(), 2) if base not in pair]
        for one in differences(pairs, samples, are_shares=True, family=family, reaches=False):
            found[one.side.model, base.model] = one.low_of_all
    return found


def right(chance: random.Random, share: float, n: int) -> list[float]:
    return [float(chance.random() < share) for _ in range(n)]


def graded(chance: random.Random, share: float, n: int) -> list[float]:
    return [min(max(chance.gauss(share, 0.1), 0.0), 1.0) for _ in range(n)]


@pytest.mark.parametrize("scored", first_of(graded, right))
@pytest.mark.parametrize("n", first_of(40, 200))
def test_no_model_that_is_worse_by_the_margin_is_within_it_whichever_the_baseline(scored: Scored, n: int) -> None:
    """Two models are worse by exactly the margin than two others: in at most 2.5 % of the runs any is called within it."""
    chance, wrong = random.Random(n), 0
    for _ in range(RUNS):
        scores = {f"good{k}": scored(chance, 0.6, n) for k in (1, 2)}
        scores |= {f"worse{k}": scored(chance, 0.6 - MARGIN, n) for k in (1, 2)}
        found = lowest(scores)
        beside = [found[worse, good] for worse in ("worse1", "worse2") for good in ("good1", "good2")]
        wrong += any(low is not None and low > -MARGIN for low in beside)
    assert wrong / RUNS <= 0.025 + 3 * (0.025 * 0.975 / RUNS) ** 0.5
    assert wrong, "a test that never calls any within the margin would show nothing"
