"""Models and runs compared on the samples that both sides were asked, and what of it is shown."""

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

import workbench.display.commands as commands
from workbench.display.text import words
from workbench.errors import Fault, InputError, nearest
from workbench.evaluation.agreement_answers import TargetAnswers, target_answers
from workbench.evaluation.agreement_differences import AgreementDifference, agreement_differences
from workbench.evaluation.alarms import Alarm, open_alarms
from workbench.evaluation.differing import Differing, SomeUnclustered, differing
from workbench.evaluation.factors import Factors, GridInput, factors_of
from workbench.evaluation.failures import planned_by_side, sides_asked
from workbench.evaluation.per_right import AmountsPerRight, Weighing, per_right
from workbench.evaluation.references import ReferencePoint, references_of
from workbench.evaluation.rubrics import JudgedTwice, judged_twice
from workbench.evaluation.run_figures import LAST, find_run
from workbench.evaluation.sides import (
    Difference,
    ModelResult,
    Pairs,
    Samples,
    Sides,
    differences,
    least_answered,
    lost_samples,
    sides_of,
)
from workbench.evaluation.slices import Parted, Slice, SliceScore, sliced_by, slices_of
from workbench.job.file import CompareTable, recorded_table
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.score_rows import NewestScoredRun, RunScorer, SampleMetadata
from workbench.records.calls import CLUSTER
from workbench.stats.paired import FEW_CLUSTERS

ON_FALLBACK = ("exclude", "accept")
BesideMargin = Literal["within", "beyond", "unclear"]
"""Whether a side is shown to be worse by less than a margin, by more, or neither."""
NO_CLUSTER = "none"
"""In place of a column: the samples are compared as independent ones."""


class ComparedSides(msgspec.Struct, frozen=True):
    """What is compared, whichever of it is the baseline."""

    scorer: str
    runs: list[Provenance]
    sides: list[ModelResult]
    differing: list[Differing]
    """What is not alike in what is compared."""
    are_shares: bool
    """Whether all scores are from 0 to 1, so that differences are points."""
    on_fallback: str
    """Whether the answers of fallbacks count: `exclude` or `accept`."""
    planned: dict[tuple[str, str], int]
    """(run id, model) -> the requests that the run planned for it."""
    min_answered: float
    """The share of its answers that must be known of a model that is ranked: the largest of the jobs'."""
    open_alarms: list[Alarm]
    """Of the jobs of the runs."""
    references: list[ReferencePoint]
    """What scores without a model on the samples of the newest run."""
    per_right: AmountsPerRight
    """Tokens."""
    units_per_right: AmountsPerRight
    unit: str
    """What units are called; empty where there are none but tokens."""
    judged_twice: list[JudgedTwice]
    """What two judges, or two rubrics of one, say of the same answers."""
    margin: float | None
    """How much worse than the baseline a side may be; None: that was not said."""


class Comparison(ComparedSides, frozen=True):
    """Everything that a comparison says."""

    differences: list[Difference]
    baseline: str
    """The model, or of several runs the run, that the others are compared with."""
    slices: list[Slice]
    """The same within the values of the dataset's further columns."""
    agreement: list[AgreementDifference]
    """How far each side agrees with the targets beyond chance, beside the baseline; empty where the scorer reads no number
    or label, or the targets are neither a scale nor few classes."""
    factors: Factors | None
    """The grid of a single run that asked several models with several variants."""

    def beside_margin(self, one: Difference) -> BesideMargin | None:
        """Return where a side lies; None where there is no margin."""
        if self.margin is None:
            return None
        if one.low_of_all is None or one.high_of_all is None:
            return "unclear"
        if one.low_of_all > -self.margin or one.verdict == "better":
            return "within"
        return "beyond" if one.high_of_all < -self.margin else "unclear"

    @property
    def unchanged(self) -> list[Difference]:
        """Of two runs what scores the same on every sample, where that is more than one; nothing of it is unknown."""
        same = [one for one in self.differences if _is_unchanged(one)] if len(self.runs) == 2 else []
        return same if len(same) > 1 else []

    @property
    def changed(self) -> list[Difference]:
        """The differences that are not of `unchanged`."""
        same = {_places((one.side, one.baseline)) for one in self.unchanged}
        return [one for one in self.differences if _places((one.side, one.baseline)) not in same]

    @property
    def listed(self) -> list[int]:
        """The places of the sides that a table lists: the best first, so that differences fall, and those that are not ranked
        last; of two runs beside each other, and none of what is unchanged.
        """
        if len(self.runs) != 2:
            return sorted(range(len(self.sides)), key=lambda place: self._by_mean(self.sides[place]))
        places = {side.key: place for place, side in enumerate(self.sides)}
        ordered = [side for one in self.changed for side in reversed(_places((one.side, one.baseline)))]
        same = {side for one in self.unchanged for side in _places((one.side, one.baseline))}
        return [places[side] for side in dict.fromkeys([*ordered, *(side for side in places if side not in same)])]

    def _by_mean(self, side: ModelResult) -> tuple[bool, float]:
        return not self.is_ranked(side), math.inf if side.interval is None else -side.interval.centre

    def is_ranked(self, side: ModelResult) -> bool:
        """Return whether enough is known of a side to rank it."""
        return side.coverage.is_enough(self.min_answered)

    def unanswered(self, side: ModelResult) -> int:
        """Return how many requests of a side have no answer: they failed, were interrupted, or never sent."""
        return self.planned[side.key] - side.answered


class ComparisonInput(ComparedSides, frozen=True):
    """All that is compared, before one of it is chosen as the baseline."""

    every: list[ModelResult]
    """The sides of all models of the runs, also of those that were not chosen."""
    samples: Samples
    metadata: dict[str, dict[str, Any]]
    """Sample key -> its further columns."""
    answers: TargetAnswers | None
    """As the scorer read them; None where nothing can be set beside the targets."""

    @property
    def baselines(self) -> list[str]:
        """What can be the baseline: the models of a single run, or the runs of several."""
        return [side.model for side in self.sides] if len(self.runs) == 1 else [run.run_id for run in self.runs]


class ComparisonRequest(msgspec.Struct, frozen=True):
    """What is to be compared."""

    runs: Sequence[str] = ()
    """The first of them is the baseline; none is the newest run with scores, whose models are compared."""
    models: Sequence[str] = ()
    """Only these, each with all of its variants, or one of them (`MODEL · VARIANT`); by default all."""
    baseline: str | None = None
    """The model, of a single run, or of several runs the run, that others are compared with; by default the first run, or the
    first model with a score."""
    scorer: str | None = None
    """By default the first of the first run's job."""
    cluster: str = CLUSTER
    """The metadata column that says which samples belong together, where the dataset has it."""
    on_fallback: str | None = None
    """`exclude` leaves out the answers that another model gave, `accept` counts them; by default as the first run's job says."""
    by: str | None = None
    """The further column of the dataset within whose values is compared as well; by default every one with few values."""
    margin: float | None = None
    """How much worse than the baseline a side may be; by default as the jobs say, of several the least."""


def load_input(reader: Reader, wanted: ComparisonRequest, weighing: Weighing | None = None) -> ComparisonInput:
    """Read what is compared; of several runs the baseline comes first.

    Args:
        weighing: How units follow from tokens, where they do.

    Raises:
        InputError: There is no such run, model or scorer, or nothing to compare.
    """
    named = wanted.runs or [run.run_id for run in reader.all(NewestScoredRun)] or (LAST,)
    run_ids = list(dict.fromkeys(find_run(reader, name) for name in named))
    if wanted.baseline is not None and len(run_ids) > 1:
        first = find_run(reader, wanted.baseline)
        run_ids = [first, *(run_id for run_id in run_ids if run_id != first)]
    runs = [reader.only(Provenance, run_id=run_id) for run_id in run_ids]
    _require_one_reducer(runs)
    own_rule = "accept" if runs[0].on_fallback == "accept" else "exclude"
    on_fallback = _on_fallback(wanted) or own_rule
    # of a single run what all queries read is worked out once, by the rule of its own job (None)
    rule = None if len(runs) == 1 and on_fallback == own_rule else on_fallback
    about = reader if len(runs) == 1 and rule is not None else reader.about(*run_ids)
    settings = sorted(about.all(RunScorer, run_ids=run_ids), key=lambda row: run_ids.index(row.run_id))
    chosen = _scorer(wanted.scorer, settings, len(run_ids))
    there = sides_of(about, run_ids, chosen, cluster=wanted.cluster, on_fallback=rule)
    _check(wanted, there.sides, run_ids)
    there.sides.sort(key=_place(runs))
    kept = {*wanted.models, *([wanted.baseline] if wanted.baseline and len(run_ids) == 1 else [])}
    sides = [side for side in there.sides if not wanted.models or kept & {side.model, side.requested_model}]
    standing = [alarm for job in dict.fromkeys(run.job for run in runs) for alarm in open_alarms(reader, job)]
    compared = Sides(sides, there.samples, there.are_shares, there.figures)
    unlike: list[Differing] = [
        *differing(about, runs, settings, chosen, compared, on_fallback=on_fallback),
        *_of_clusters(wanted.cluster, sides, there.samples),
    ]
    planned = {
        (run.run_id, model): number
        for run in runs
        for model, number in planned_by_side(
            run, {side.model: side.asked for side in there.sides if side.run_id == run.run_id}
        ).items()
    }
    references = _references(about, max(runs, key=lambda run: run.started_at), there, chosen, sides)
    by_it = [row for row in settings if row.scorer == chosen]
    answers = target_answers(about, run_ids, by_it, cluster=wanted.cluster, on_fallback=rule)
    return ComparisonInput(
        chosen, runs, sides, unlike, there.are_shares, on_fallback, planned, least_answered(runs), standing, references,
        *per_right(about, runs, compared, rule, weighing), "" if weighing is None else weighing.unit,
        judged_twice(about, sorted(settings, key=lambda row: row.scorer != chosen), {side.model for side in sides},
                     cluster=wanted.cluster, on_fallback=on_fallback),
        _margin(wanted.margin, runs, chosen, are_shares=there.are_shares),
        there.sides, there.samples, _metadata(about, run_ids), answers,
    )  # fmt: skip


def _place(runs: Sequence[Provenance]) -> Callable[[ModelResult], tuple[int, bool, int]]:
    """Return what orders sides: by run, those that answered enough first, as their job names them."""
    run_ids, least = [run.run_id for run in runs], least_answered(runs)
    order = {(run.run_id, model): place for run in runs for place, model in enumerate(sides_asked(run))}
    return lambda side: (
        run_ids.index(side.run_id),
        not side.coverage.is_enough(least),
        order.get(side.key, len(order)),
    )


def _require_one_reducer(runs: Sequence[Provenance]) -> None:
    """Refuse runs whose jobs make other scores of the same answers.

    Raises:
        InputError: They reduce the epochs of a sample differently.
    """
    reducers = {run.run_id: run.reduce or "mean" for run in runs}
    if len(set(reducers.values())) > 1:
        each = words([f"{run_id} by {reducer}" for run_id, reducer in reducers.items()])
        hint = "a run with the same run.reduce reuses their answers"
        raise InputError(Fault("", f"the runs reduce the epochs of a sample differently: {each}", hint))


def _references(
    reader: Reader, run: Provenance, there: Sides, scorer: str, sides: Sequence[ModelResult]
) -> list[ReferencePoint]:
    """Return the reference points of a run beside the sides that were chosen, adjusted for the others, too."""
    return [
        msgspec.structs.replace(one, beside=[beside for beside in one.beside if beside.side in sides])
        for one in references_of(reader, run, there, scorer)
        if one.scorer == scorer
    ]


def compare_sides(material: ComparisonInput, wanted: ComparisonRequest) -> Comparison:
    """Compare the models of one run, or runs with each other, as was asked.

    Raises:
        InputError: There is no such column, or nothing to compare.
    """
    if len(material.runs) > 1:
        return against(material, material.baselines[0], by=wanted.by)
    scored = [side.model for side in material.sides if side.scored and side.coverage.is_enough(material.min_answered)]
    return against(material, wanted.baseline or [*scored, *material.baselines][0], by=wanted.by)


def against(material: ComparisonInput, baseline: str, *, by: str | None = None) -> Comparison:
    """Compare everything with one baseline.

    Args:
        baseline: One of its `baselines`.
        by: The only column to slice by; by default every one with few values.
    """
    run_ids = [run.run_id for run in material.runs]
    order = [baseline, *(run_id for run_id in run_ids if run_id != baseline)] if len(run_ids) > 1 else run_ids
    samples = material.samples
    # the one model of a run may have been judged by two rubrics: that is something to compare
    is_alone = len(run_ids) == 1 and len(material.sides) == 1 and material.judged_twice
    pairs = [] if is_alone else _pairs(material.sides, order, baseline)
    family = _others(material, pairs)
    found = [
        msgspec.structs.replace(one, lost=lost_samples(one.side, one.baseline, samples))
        for one in differences(pairs, samples, are_shares=material.are_shares, family=family)
    ]
    if len(material.runs) == 2:
        found.sort(key=_news)
    parted = Parted(material.metadata, material.sides, pairs, family, samples, material.are_shares)
    slices = slices_of(parted) if by is None else sliced_by(by, parted)
    return Comparison(
        **{name: getattr(material, name) for name in ComparedSides.__struct_fields__},
        differences=found,
        baseline=baseline,
        slices=slices,
        agreement=_agreement(material, pairs, order, baseline),
        factors=_factors(material, baseline),
    )


def with_each_baseline(material: ComparisonInput, found: Comparison, by: str | None) -> list[Comparison]:
    """Return the comparison with each baseline that there can be, the one that was asked for among them."""
    every = []
    for baseline in material.baselines:
        with contextlib.suppress(InputError):  # a run that shares no model with the others
            every.append(found if baseline == found.baseline else against(material, baseline, by=by))
    return every


def _is_unchanged(one: Difference) -> bool:
    """Return whether a model of two runs scores the same on every sample, and nothing is unknown."""
    is_same = one.found is not None and one.found.same == one.found.n and not one.unknown
    return is_same and one.side.model == one.baseline.model and not one.only_side and not one.only_baseline


def _news(one: Difference) -> tuple[bool, bool, bool]:
    """Return an order in which what changed comes first."""
    return one.verdict not in ("better", "worse"), one.verdict != "open", _is_unchanged(one)


def _agreement(
    material: ComparisonInput, pairs: Pairs, order: Sequence[str], baseline: str
) -> list[AgreementDifference]:
    """Return how far sides agree with the targets beside their baselines, adjusted for the models that were not chosen, too."""
    chosen, more = set(map(_places, pairs)), list[tuple[ModelResult, ModelResult]]()
    with contextlib.suppress(InputError):  # only those that were chosen can be compared
        more = [pair for pair in _pairs(material.every, order, baseline) if _places(pair) not in chosen]
    others = _others(material, [*pairs, *more])
    return [
        one
        for one in agreement_differences(material.answers, [*pairs, *more] if pairs else [], len(others))
        if ((one.run_id, one.model), (one.baseline_run_id, one.baseline_model)) in chosen
    ]


def _factors(material: ComparisonInput, baseline: str) -> Factors | None:
    """Return the grid of a single run beside one of its combinations."""
    if len(material.runs) > 1:
        return None
    given = GridInput(
        material.runs[0], material.scorer, material.sides, material.samples, material.are_shares, material.min_answered
    )
    return factors_of(given, next(side for side in material.sides if side.model == baseline))


def _others(material: ComparisonInput, pairs: Pairs) -> list[tuple[ModelResult, ModelResult]]:
    """Return the further pairs that another baseline, or other models, would show: who looks first and chooses then has looked at
    them all.
    """
    run_ids = [run.run_id for run in material.runs]
    if len(run_ids) == 1:
        every = list(itertools.combinations(material.every, 2))
    else:
        every = []
        for sides, baseline in itertools.product((material.sides, material.every), run_ids):
            with contextlib.suppress(InputError):  # it shares no model with the others
                every += _pairs(sides, [baseline, *(one for one in run_ids if one != baseline)], baseline)
        if any(side.model != base.model for side, base in pairs):  # whoever chose these could have chosen any two
            every += [
                (side, base) for side, base in itertools.combinations(material.every, 2) if side.run_id != base.run_id
            ]
    seen = {frozenset(_places(pair)) for pair in pairs}
    further = []
    for pair in every:
        if frozenset(_places(pair)) not in seen:
            seen.add(frozenset(_places(pair)))
            further.append(pair)
    return further


def _places(pair: tuple[ModelResult, ModelResult]) -> tuple[tuple[str, str], tuple[str, str]]:
    one, other = pair
    return one.key, other.key


def _on_fallback(wanted: ComparisonRequest) -> str | None:
    """Return whether the answers of fallbacks are wanted.

    Raises:
        InputError: There is no such rule.
    """
    if wanted.on_fallback not in (None, *ON_FALLBACK):
        problem = f"{wanted.on_fallback!r} is not one of {', '.join(ON_FALLBACK)}"
        raise InputError(Fault("--on-fallback", problem, nearest(str(wanted.on_fallback), ON_FALLBACK)))
    return wanted.on_fallback


def _margin(wanted: float | None, runs: Sequence[Provenance], scorer: str, *, are_shares: bool) -> float | None:
    """Return how much worse a side may be.

    Raises:
        InputError: It is not above 0, or larger than any difference.
    """
    if wanted is not None:
        if not 0 < wanted < (1 if are_shares else math.inf):
            expected = "a number between 0 and 1, as all scores are" if are_shares else "a number above 0"
            hint = (
                f"{wanted / 100:g} for {wanted:g} points" if are_shares and 1 <= wanted < 100 else "0.02 for 2 points"
            )
            raise InputError(Fault("--margin", f"expected {expected}, found {wanted:g}", hint))
        return wanted
    tables = [recorded_table(run.job_toml, "compare", CompareTable) for run in runs]
    return min((one.margin[scorer] for one in tables if scorer in one.margin), default=None)


def _metadata(reader: Reader, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the further columns of what was asked, by sample key."""
    rows = reader.all(SampleMetadata, run_ids=list(run_ids))
    return {row.sample_key: msgspec.json.decode(row.metadata or "{}") for row in rows}


def _scorer(wanted: str | None, settings: Sequence[RunScorer], runs: int) -> str:
    """Return the scorer that is named, or the first one that scored something in all runs; if none did, the first."""
    known = list(dict.fromkeys(row.scorer for row in settings if row.scored))
    everywhere = [name for name in known if sum(row.scorer == name and row.scored > 0 for row in settings) == runs]
    if not known:
        hint = f"`{commands.SCORE_BY_JOB}` scores its answers by a job's scorers"
        raise InputError(Fault("", "nothing is scored in what is to be compared", hint))
    if wanted is not None and wanted not in known:
        hint = nearest(wanted, known) or f"there are: {', '.join(known)}"
        raise InputError(Fault("--scorer", f"no score is by {wanted!r}", hint))
    return wanted or (everywhere or known)[0]


def _check(wanted: ComparisonRequest, sides: Sequence[ModelResult], run_ids: Sequence[str]) -> None:
    """Refuse models that were not asked."""
    each = list(dict.fromkeys(side.model for side in sides))
    every = list(dict.fromkeys([*each, *(side.requested_model for side in sides)]))
    named = [("--model", model, every) for model in wanted.models]
    if wanted.baseline is not None and len(run_ids) == 1:
        named.append(("--baseline", wanted.baseline, each))
    for option, model, there in named:
        if model not in there:
            hint = nearest(model, there) or f"there are: {', '.join(there)}"
            raise InputError(Fault(option, f"no answer is of {model!r}", hint))


def _pairs(
    sides: Sequence[ModelResult], run_ids: Sequence[str], baseline: str
) -> list[tuple[ModelResult, ModelResult]]:
    """Return each side with what it is compared with: a model of a single run, or else the first run."""
    if len(run_ids) == 1:
        base = next(side for side in sides if side.model == baseline)
        pairs = [(side, base) for side in sides if side is not base]
        if not pairs:
            hint = "name a second run to compare it with, or a second model"
            raise InputError(Fault("", f"there is one model to compare, {base.model!r}", hint))
        return pairs
    first = {side.model: side for side in sides if side.run_id == run_ids[0]}
    only = next(iter(first.values())) if len(first) == 1 else None
    others = [side for side in sides if side.run_id != run_ids[0]]
    pairs = [(side, there) for side in others if (there := first.get(side.model, only)) is not None]
    if not pairs:
        hint = "name one model of each with --model"
        raise InputError(Fault("", "the runs share no model, and the first has several", hint))
    return pairs


def _of_clusters(cluster: str, sides: Sequence[ModelResult], samples: Samples) -> list[SomeUnclustered]:
    """Return of how many samples the column that was named, or is there, does not say what they belong to."""
    rows = [row for side in sides for row in samples[side.key] if row.asked]
    every = {row.sample_key for row in rows}
    # a run of before its job named a column has none on record, and the other run says what its samples belong to
    there = {row.sample_key for row in rows if row.cluster is not None}
    if there == every or (not there and cluster in (CLUSTER, NO_CLUSTER)):
        return []
    if not there:
        raise InputError(Fault("--cluster", f"no sample has a column {cluster!r}", "`id` stands for the column of ids"))
    return [SomeUnclustered(cluster, len(every - there), len(every))]


def is_baseline(side: ModelResult, comparison: Comparison) -> bool:
    """Return whether another side is compared with it."""
    return any(one.baseline.key == side.key for one in comparison.differences)


def few_clusters(difference: Difference) -> bool:
    """Return whether the test rests on so few clusters that its level is doubtful."""
    found = difference.found
    return found is not None and found.clusters is not None and found.clusters < FEW_CLUSTERS


def slice_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the differences within each slice as flat rows, with the mean scores of both sides in it."""
    rows = []
    for part in comparison.slices:
        scores = {(score.run_id, score.model): score for score in part.scores}
        for one in part.differences:
            mean, base = (scores[side.key] for side in (one.side, one.baseline))
            rows.append(
                {"column": part.column, "value": part.value, "samples": len(part.samples)}
                | difference_row(one, comparison)
                | _means("mean", mean)
                | _means("baseline_mean", base)
            )
    return rows


def _means(name: str, score: SliceScore) -> dict[str, float | None]:
    """Return a mean of what is known, between which it is of all asked, and that of what is scored."""
    found = score.interval
    ends = (None, None, None) if found is None else (found.mean, found.at_worst, found.at_best)
    return dict(zip((name, f"{name}_at_worst", f"{name}_at_best"), ends, strict=True)) | {
        f"{name}_of_scored": score.mean_of_scored
    }


def per_right_row(side: ModelResult, comparison: Comparison) -> dict[str, float | None]:
    """Return the tokens and units of a side for each right answer, with their intervals, as columns."""
    row: dict[str, float | None] = {}
    for name, found in (("tokens", comparison.per_right), ("units", comparison.units_per_right)):
        one = found.get(side.key)
        row |= {
            f"{name}_per_right": None if one is None or one.high is None else one.amount,
            f"{name}_per_right_low": None if one is None else one.low,
            f"{name}_per_right_high": None if one is None else one.high,
        }
    return row


def difference_row(difference: Difference, comparison: Comparison) -> dict[str, Any]:
    """Return a difference as a flat row."""
    side, base, found = difference.side, difference.baseline, difference.found
    return {
        "run_id": side.run_id, "model": side.model, "baseline_run_id": base.run_id, "baseline_model": base.model,
        "scorer": comparison.scorer, "asked_samples": difference.asked, "shared_samples": difference.shared,
        "unknown_samples": difference.unknown,
        "difference": None if found is None else found.difference, "low": difference.low, "high": difference.high,
        "better": len(difference.better), "worse": len(difference.worse), "same": None if found is None else found.same,
        "p_value": None if found is None else found.p_value, "adjusted_p_value": difference.adjusted_p,
        "method": None if found is None else found.method, "detectable": difference.detectable, "verdict": difference.verdict,
        "low_of_all": difference.low_of_all, "high_of_all": difference.high_of_all, "margin": comparison.margin,
        "beside_margin": comparison.beside_margin(difference),
    }  # fmt: skip
