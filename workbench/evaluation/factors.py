"""A run whose models were asked with several variants, as a grid: what a variant does over all models, and a model over all
variants.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from workbench.evaluation.sides import (
    Difference,
    ModelResult,
    Pairs,
    Samples,
    differences,
    of_samples,
    side_without_calls,
)
from workbench.ledger.rows import Provenance
from workbench.ledger.score_rows import SideSample
from workbench.stats.factors import apart, over_levels
from workbench.stats.intervals import Interval, mean_intervals

Factor = Literal["variant", "model"]
_Cell = tuple[str, str]
"""A model and a variant."""
_Rows = Mapping[str, SideSample]
"""Sample key -> its row."""


class Effect(msgspec.Struct, frozen=True):
    """One level of a factor beside another, over the levels of the other factor."""

    of: Factor
    name: str
    baseline: str
    over: list[str]
    """The models of a variant's effect, the variants of a model's: those that both were asked with."""
    difference: Difference
    """Of the means over them, sample by sample; its sides are these means, and no model's."""


class Interaction(msgspec.Struct, frozen=True):
    """What a variant does to one model, beside what it does to the others."""

    variant: str
    baseline: str
    model: str
    others: list[str]
    difference: Difference
    """The variant's effect on the model less the mean of its effects on the others."""


class ModelEffect(msgspec.Struct, frozen=True):
    """A variant beside another one of the same model."""

    variant: str
    baseline: str
    model: str
    difference: Difference
    """As between single combinations: adjusted with all of them."""


class Factors(msgspec.Struct, frozen=True):
    """A grid of models and variants."""

    scorer: str
    are_shares: bool
    """Whether all scores are from 0 to 1."""
    min_answered: float
    """The share of its answers that must be known of a combination that is ranked."""
    models: list[str]
    variants: list[str]
    cells: dict[_Cell, ModelResult]
    """Of each combination that is compared."""
    best: list[_Cell]
    """The ranked combinations with the highest mean; what is not known lifts none."""
    means: dict[Factor, list[Interval | None]]
    """Of each model and of each variant over all of the other; None where a combination is missing."""
    effects: list[Effect]
    """Beside the variant and the model of the baseline; adjusted for all that another baseline would show as well."""
    interactions: list[Interaction]
    """Adjusted likewise, in a family of their own."""
    model_effects: list[ModelEffect]
    """Of the variants with a shown interaction."""

    def is_ranked(self, side: ModelResult) -> bool:
        """Return whether enough is known of a combination to rank it."""
        return side.coverage.is_enough(self.min_answered)

    @property
    def most_effects(self) -> int:
        """How many main effects there are beside one baseline, where every combination is there."""
        return len(self.models) + len(self.variants) - 2

    def of(self, factor: Factor) -> list[Effect]:
        """Return the main effects of one factor."""
        return [one for one in self.effects if one.of == factor]

    def levels(self, factor: Factor) -> list[str]:
        """Return the levels of one factor."""
        return self.variants if factor == "variant" else self.models

    def shown_interactions(self, variant: str) -> list[Interaction]:
        """Return the models on which a test shows that a variant does something else than on the others."""
        return [
            one for one in self.interactions if one.variant == variant and one.difference.verdict in ("better", "worse")
        ]


class GridInput(NamedTuple):
    """What a grid is made of."""

    run: Provenance
    scorer: str
    sides: Sequence[ModelResult]
    samples: Samples
    are_shares: bool
    """Whether all scores are from 0 to 1."""
    min_answered: float
    """The share of its answers that must be known of a combination that is ranked."""


def factors_of(given: GridInput, baseline: ModelResult) -> Factors | None:
    """Return the grid of a run's models and variants; None where it has not two of each.

    Main effects are tested like the difference of two models, on means by sample: a sample counts where every combination has a
    known score, and all of them count at both ends of what is unknown.
    """
    cells = {(side.requested_model, side.variant): side for side in given.sides if side.variant is not None}
    models = _in_order(given.run.limits, [model for model, _ in cells])
    variants = _in_order(given.run.variants or (), [variant for _, variant in cells])
    if len(models) < 2 or len(variants) < 2 or baseline.variant is None:
        return None
    grid = _Grid(given, models, variants, cells)
    effects = grid.effects(baseline.requested_model, baseline.variant)
    interactions = grid.interactions(baseline.requested_model, baseline.variant)
    found = Factors(
        given.scorer, given.are_shares, given.min_answered, models, variants, cells, grid.best(), grid.means(),
        effects, interactions, [],
    )  # fmt: skip
    differ = [variant for variant in variants if found.shown_interactions(variant)]
    if not differ:  # to adjust for every pair of combinations takes as long as the whole comparison
        return found
    return msgspec.structs.replace(found, model_effects=grid.model_effects(differ, baseline.variant))


def _in_order(named: Sequence[str] | Mapping[str, Any], there: Sequence[str]) -> list[str]:
    """Return names without repetition, in the order of the job."""
    order = {name: place for place, name in enumerate(named)}
    return sorted(dict.fromkeys(there), key=lambda name: order.get(name, len(order)))


class _Grid:
    """The combinations of a run with the samples of each, and the sides that their means are tested as."""

    def __init__(
        self, given: GridInput, models: Sequence[str], variants: Sequence[str], cells: Mapping[_Cell, ModelResult]
    ) -> None:
        self._given, self._models, self._variants, self._cells = given, models, variants, cells
        self._rows: dict[_Cell, _Rows] = {
            cell: {row.sample_key: row for row in given.samples[side.key]} for cell, side in cells.items()
        }

    def best(self) -> list[_Cell]:
        """Return the ranked combinations with the highest mean."""
        ends = {
            cell: round(side.interval.at_worst, 9)
            for cell, side in self._cells.items()
            if side.coverage.is_enough(self._given.min_answered)
            and side.interval is not None
            and side.interval.at_worst is not None
        }
        return [cell for cell, end in ends.items() if end == max(ends.values())]

    def means(self) -> dict[Factor, list[Interval | None]]:
        """Return the mean of each model and of each variant over all of the other, where every combination is there."""
        lines: dict[Factor, list[list[_Cell]]] = {
            "model": [[(model, variant) for variant in self._variants] for model in self._models],
            "variant": [[(model, variant) for model in self._models] for variant in self._variants],
        }
        whole = [line for every in lines.values() for line in every if all(cell in self._cells for cell in line)]
        found = dict(
            zip(map(tuple, whole), mean_intervals([of_samples(self._mean(line)) for line in whole]), strict=True)
        )
        return {factor: [found.get(tuple(line)) for line in every] for factor, every in lines.items()}

    def effects(self, model: str, variant: str) -> list[Effect]:
        """Return the main effects beside one model and one variant."""
        wanted: list[tuple[Factor, str, str, list[str]]] = []
        bases: dict[Factor, str] = {"variant": variant, "model": model}
        for factor, base in bases.items():
            for name, beside in _pairs(self._variants if factor == "variant" else self._models, base):
                over = self._over(factor, name, beside)
                if len(over) > 1:
                    wanted.append((factor, name, beside, over))
        sides = _Sides(self._given.run.run_id)
        lines = [
            tuple(tuple(self._cell(factor, level, other) for other in over) for level in (name, beside))
            for factor, name, beside, over in wanted
        ]
        means = {line: sides.add(self._mean(line)) for line in dict.fromkeys(itertools.chain(*lines))}
        pairs = [(means[one], means[other]) for one, other in lines]
        own = [place for place, (factor, _, beside, _) in enumerate(wanted) if beside == bases[factor]]
        found = _tested(pairs, own, sides.samples, are_shares=self._given.are_shares, reaches=True)
        return [Effect(*wanted[place], one) for place, one in zip(own, found, strict=True)]

    def interactions(self, model: str, variant: str) -> list[Interaction]:
        """Return what each variant does to each model, beside what it does to the others.

        Of two models one is enough: the other's is the same with the other sign.
        """
        sides, wanted, pairs = _Sides(self._given.run.run_id), list[tuple[str, str, str, list[str]]](), []
        for name, beside in _pairs(self._variants, variant):
            over = self._over("variant", name, beside)
            each = {one: self._apart((one, name), (one, beside)) for one in over}
            for one in over if len(over) > 2 else [one for one in over if one != model][:1]:
                others = [other for other in over if other != one]
                if others:
                    wanted.append((name, beside, one, others))
                    pairs.append((sides.add(each[one]), sides.add(_averaged([each[other] for other in others]))))
        own = [place for place, (_, beside, _, _) in enumerate(wanted) if beside == variant]
        # a difference of differences of shares may be as large as 2
        found = _tested(pairs, own, sides.samples, are_shares=False, reaches=False)
        return [Interaction(*wanted[place], one) for place, one in zip(own, found, strict=True)]

    def model_effects(self, variants: Sequence[str], baseline: str) -> list[ModelEffect]:
        """Return what some variants do to each model, as it is said between single combinations."""
        wanted = [(name, baseline, model) for name in variants for model in self._over("variant", name, baseline)]
        pairs = [(self._cells[model, name], self._cells[model, beside]) for name, beside, model in wanted]
        taken = {frozenset((one.model, other.model)) for one, other in pairs}
        family = [
            pair
            for pair in itertools.combinations(self._given.sides, 2)
            if frozenset(side.model for side in pair) not in taken
        ]
        are_shares = self._given.are_shares
        found = differences(pairs, self._given.samples, are_shares=are_shares, family=family, reaches=False)
        return [ModelEffect(*names, one) for names, one in zip(wanted, found, strict=True)]

    def _cell(self, factor: Factor, name: str, other: str) -> _Cell:
        return (other, name) if factor == "variant" else (name, other)

    def _over(self, factor: Factor, name: str, beside: str) -> list[str]:
        """Return the levels of the other factor that both of two levels were asked with, and of which anything is known."""
        others = self._models if factor == "variant" else self._variants
        return [
            other
            for other in others
            if all(self._is_known(self._cell(factor, level, other)) for level in (name, beside))
        ]

    def _is_known(self, cell: _Cell) -> bool:
        """Return whether a combination says anything: one that says nothing would leave every effect over it open."""
        return cell in self._cells and self._cells[cell].interval is not None

    def _mean(self, cells: Sequence[_Cell]) -> list[SideSample]:
        return _averaged([list(self._rows[cell].values()) for cell in cells])

    def _apart(self, cell: _Cell, beside: _Cell) -> list[SideSample]:
        """Return by sample how far one combination is from another."""
        both = _shared([list(self._rows[one].values()) for one in (cell, beside)])
        (ones, others) = zip(*both, strict=True) if both else ((), ())
        ends = zip(
            apart([row.value for row in ones], [row.value for row in others]),
            apart([row.low for row in ones], [row.high for row in others]),
            apart([row.high for row in ones], [row.low for row in others]),
            strict=True,
        )
        return [_combined(rows, *values) for rows, values in zip(both, ends, strict=True)]


class _Sides:
    """Sides that stand for means over combinations, so that they are tested as models are."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self.samples: Samples = {}

    def add(self, rows: list[SideSample]) -> ModelResult:
        """Return a new side that has these samples."""
        side = side_without_calls(self._run_id, f"mean {len(self.samples)}", len(rows), None)
        self.samples[side.key] = rows
        return side


def _pairs(levels: Sequence[str], baseline: str) -> Iterator[tuple[str, str]]:
    """Yield every two levels, the baseline as the second where it is one of them."""
    for one, other in itertools.combinations(levels, 2):
        yield (other, one) if other != baseline else (one, other)


def _tested(pairs: Pairs, own: Sequence[int], samples: Samples, *, are_shares: bool, reaches: bool) -> list[Difference]:
    """Return the differences of some of the pairs, adjusted for all."""
    family = [pair for place, pair in enumerate(pairs) if place not in own]
    return differences([pairs[place] for place in own], samples, are_shares=are_shares, family=family, reaches=reaches)


def _shared(cells: Sequence[Sequence[SideSample]]) -> list[tuple[SideSample, ...]]:
    """Return the rows of each sample in several cells."""
    others = [{row.sample_key: row for row in rows} for rows in cells[1:]]
    return [
        (row, *(rows[row.sample_key] for rows in others))
        for row in cells[0]
        if all(row.sample_key in rows for rows in others)
    ]


def _averaged(cells: Sequence[Sequence[SideSample]]) -> list[SideSample]:
    """Return the means of each sample over several cells."""
    shared = _shared(cells)
    columns = list(zip(*shared, strict=True))
    ends = zip(
        over_levels([[row.value for row in rows] for rows in columns]),
        over_levels([[row.low for row in rows] for rows in columns]),
        over_levels([[row.high for row in rows] for rows in columns]),
        strict=True,
    )
    return [_combined(rows, *values) for rows, values in zip(shared, ends, strict=True)]


def _combined(rows: Sequence[SideSample], value: float | None, low: float | None, high: float | None) -> SideSample:
    """Return a sample of several cells as one, with what a test needs of all of them together."""
    first = rows[0]
    return SideSample(
        first.run_id, first.model, first.sample_key, first.sample_id, asked=sum([row.asked for row in rows]), answered=0,
        scored=0, not_right=sum([row.not_right for row in rows]), not_right_ends=[], unknown=sum([row.unknown for row in rows]),
        unread=0, left_out=0, excluded=next((row.excluded for row in rows if row.excluded is not None), None), of_scored=None,
        value=value, low=low, high=high, least=first.least, most=first.most,
        cluster=next((row.cluster for row in rows if row.cluster is not None), None),
    )  # fmt: skip


def effect_rows(found: Factors) -> list[dict[str, Any]]:
    """Return main effects and interactions as flat rows."""
    main = [
        {"effect": one.of, "level": one.name, "baseline": one.baseline, "model": None, "over": one.over}
        | _test_row(one.difference, found.scorer)
        for one in found.effects
    ]
    return main + [
        {
            "effect": "interaction",
            "level": one.variant,
            "baseline": one.baseline,
            "model": one.model,
            "over": one.others,
        }
        | _test_row(one.difference, found.scorer)
        for one in found.interactions
    ]


def grid_rows(found: Factors) -> list[dict[str, Any]]:
    """Return every combination as a flat row, and the means over all models or variants, which have no variant or no model."""
    rows = [
        {"model": model, "variant": variant, **_interval_row(side.interval), "is_ranked": found.is_ranked(side),
         "is_best": (model, variant) in found.best}
        for (model, variant), side in found.cells.items()
    ]  # fmt: skip
    over = {"is_ranked": None, "is_best": None}
    rows += [
        {"model": model, "variant": None, **_interval_row(interval), **over}
        for model, interval in zip(found.models, found.means["model"], strict=True)
    ]
    return rows + [
        {"model": None, "variant": variant, **_interval_row(interval), **over}
        for variant, interval in zip(found.variants, found.means["variant"], strict=True)
    ]


def _interval_row(found: Interval | None) -> dict[str, float | int | None]:
    names = ("mean", "at_worst", "at_best", "low", "high", "n")
    return {("samples" if name == "n" else name): None if found is None else getattr(found, name) for name in names}


def _test_row(one: Difference, scorer: str) -> dict[str, Any]:
    found = one.found
    return {
        "scorer": scorer, "asked_samples": one.asked, "shared_samples": one.shared, "unknown_samples": one.unknown,
        "difference": None if found is None else found.difference, "low": one.low, "high": one.high,
        "p_value": None if found is None else found.p_value, "adjusted_p_value": one.adjusted_p,
        "method": None if found is None else found.method, "detectable": one.detectable, "verdict": one.verdict,
    }  # fmt: skip
