"""Main effects of grids that are simulated: their level, their power, and a mixed model on the same data."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from workbench.stats.factors import apart, over_levels
from workbench.stats.paired import LEVEL, holm, paired

MODELS, VARIANTS = 4, 3
TIMES = 3000


def drawn(
    rng: np.random.Generator,
    samples: int,
    helps: float = 0.0,
    *,
    sample: float = 1.0,
    with_variant: float = 0.0,
    with_model: float = 0.0,
) -> "np.ndarray[Any, Any]":
    """Right or wrong by model, variant and sample: on the scale of logits what a sample is by itself, with each variant and with
    each model, and what the second variant adds."""
    logits = np.linspace(0.6, -0.2, MODELS)[:, None, None] + np.array([0.0, helps, 0.0])[None, :, None]
    logits = logits + sample * rng.normal(size=samples)[None, None, :]
    logits = (
        logits
        + with_variant * rng.normal(size=(1, VARIANTS, samples))
        + with_model * rng.normal(size=(MODELS, 1, samples))
    )
    found: np.ndarray[Any, Any] = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    return found


def main_effect(scores: "np.ndarray[Any, Any]", one: int, other: int) -> float:
    return paired(*(known(over_levels(scores[:, variant].tolist())) for variant in (one, other))).p_value


def known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


@pytest.mark.long
@pytest.mark.parametrize("samples", [25, 100])
@pytest.mark.parametrize(
    "noise",
    [{"sample": 1.0}, {"sample": 3.0}, {"with_variant": 2.0}, {"sample": 2.0, "with_variant": 1.0, "with_model": 2.0}],
    ids=["samples", "hard samples", "sample and variant", "all"],
)
def test_without_an_effect_none_is_shown_more_often_than_the_level(samples: int, noise: dict[str, float]) -> None:
    rng = np.random.default_rng(samples)
    single = family = interaction = 0
    for _ in range(TIMES):
        scores = drawn(rng, samples, **noise)
        found = [main_effect(scores, one, other) for one, other in ((1, 0), (2, 0), (2, 1))]
        single += found[0] < LEVEL
        family += min(holm(found)) < LEVEL
        each = [apart(model[1], model[0]) for model in scores.tolist()]
        interaction += paired(known(each[0]), known(over_levels(each[1:]))).p_value < LEVEL
    most = LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / TIMES)
    assert max(single, family) / TIMES <= most, (single, family)
    if (
        "with_model" not in noise
    ):  # as the models differ, so do the shares that a sample's noise leaves between variants
        assert interaction / TIMES <= most


@pytest.mark.long
@pytest.mark.parametrize("noise", [{"sample": 1.0}, {"sample": 1.0, "with_variant": 0.5}])
def test_an_effect_on_every_model_is_shown_more_often_than_by_the_models_one_by_one(noise: dict[str, float]) -> None:
    rng = np.random.default_rng(1)
    together = one_by_one = 0
    for _ in range(TIMES // 3):
        scores = drawn(rng, 100, 0.45, **noise)
        variants = [main_effect(scores, one, other) for one, other in ((1, 0), (2, 0), (2, 1))]
        by_model = scores.transpose(1, 0, 2)
        models = [main_effect(by_model, one, other) for one in range(MODELS) for other in range(one)]
        together += holm([*variants, *models])[0] < LEVEL
        one_by_one += min(holm([paired(model[1], model[0]).p_value for model in scores.tolist()])) < LEVEL
    assert together > one_by_one, (together, one_by_one)
    assert together > 0.4 * TIMES / 3


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_a_mixed_model_finds_the_same_effect_with_the_same_error(seed: int) -> None:
    """Of a balanced grid with two variants, REML with a variance of sample and variant has the same error term."""
    import pandas
    from statsmodels.formula import api as formula  # takes a second to import

    rng, samples = np.random.default_rng(seed), 80
    scores = (
        np.linspace(0.6, 0.2, MODELS)[:, None, None] + np.array([0.0, 0.1])[None, :, None]
        + rng.normal(size=samples) + 0.7 * rng.normal(size=(1, 2, samples)) + rng.normal(size=(MODELS, 2, samples))
    )  # fmt: skip
    rows = [
        {"score": scores[model, variant, sample], "model": str(model), "variant": variant, "sample": sample}
        for model in range(MODELS) for variant in range(2) for sample in range(samples)
    ]  # fmt: skip
    fitted = formula.mixedlm(
        "score ~ variant + C(model)",
        pandas.DataFrame(rows),
        groups="sample",
        re_formula="1",
        vc_formula={"variant": "0 + C(variant)"},
    ).fit(reml=True, method="lbfgs")
    ours = paired(known(over_levels(scores[:, 1].tolist())), known(over_levels(scores[:, 0].tolist())))
    assert ours.difference == pytest.approx(fitted.params["variant"], abs=1e-6)
    assert ours.error == pytest.approx(fitted.bse["variant"], rel=1e-3)
