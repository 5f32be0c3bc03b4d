"""Models and runs compared on the samples that both sides were scored on, and what of it is shown."""

from collections.abc import Sequence

import msgspec

from workbench.errors import Fault, InputError, nearest
from workbench.evaluation.run_figures import LAST, find_run
from workbench.ledger.queries import Reader, Row
from workbench.ledger.rows import Provenance
from workbench.stats.intervals import Interval, mean_interval
from workbench.stats.paired import FEW_CLUSTERS, LEVEL, Paired, holm, level_shown, paired

FEW_DIFFER = 10
"""Where fewer samples differ and no difference is shown, there were too few to say anything."""


class Side(msgspec.Struct, frozen=True):
    """One model of one run, with what it took."""

    run_id: str
    model: str
    asked: int
    """Requests: samples times epochs."""
    answered: int
    samples: int
    scored: int
    """Samples with a score."""
    interval: Interval | None
    """Of the mean over what is scored; None where nothing is."""
    mean_of_asked: float | None
    """The same with every sample that is not scored taken for wrong; None where scores are not shares."""
    completion_tokens: float | None
    p50_ms: float | None
    p90_ms: float | None
    fallbacks: int
    """Answers of another model of the platform's list, which is not the base of the one that was asked."""
    fallback_name: str | None
    """Who gave most of them."""
    unknown: int
    """Answers whose model is not in the list."""


class Difference(msgspec.Struct, frozen=True):
    """A side beside its baseline."""

    side: Side
    baseline: Side
    shared: int
    """Samples scored on both sides."""
    only_side: int
    only_baseline: int
    """Samples scored on one side alone."""
    found: Paired | None
    """None where no sample is shared."""
    adjusted_p: float | None
    """For all differences of the comparison."""
    low: float | None
    high: float | None
    """At the confidence that makes the interval say the same as the adjusted decision."""
    detectable: float | None
    verdict: str
    """One of better, worse, none shown, too few, not comparable."""
    better: list[str] = []
    worse: list[str] = []
    """Sample keys."""


class Comparison(msgspec.Struct, frozen=True):
    """Everything that a comparison says."""

    scorer: str
    runs: list[Provenance]
    sides: list[Side]
    differences: list[Difference]
    notes: list[str]
    """Why what is compared may not be alike."""
    are_shares: bool
    """Whether all scores are from 0 to 1, so that differences are points."""
    on_fallback: str
    """Whether the answers of fallbacks count: `exclude` or `accept`."""


class Wanted(msgspec.Struct, frozen=True):
    """What is to be compared."""

    runs: Sequence[str] = ()
    """The first of them is the baseline; none is the newest run, whose models are compared."""
    models: Sequence[str] = ()
    """Only these; by default all."""
    baseline: str | None = None
    """The model, of a single run, or of several runs the run, that others are compared with; by default the first."""
    scorer: str | None = None
    """By default the first in the order of their names."""
    cluster: str = "cluster"
    """The metadata column that says which samples belong together, where the dataset has it."""
    on_fallback: str = "exclude"
    """`exclude` leaves out the answers that another model gave, `accept` counts them."""


def compared(reader: Reader, wanted: Wanted) -> Comparison:
    """Compare the models of one run, or runs with each other.

    Raises:
        InputError: There is no such run, model or scorer, or nothing to compare.
    """
    run_ids = list(dict.fromkeys(find_run(reader, name) for name in wanted.runs or (LAST,)))
    if wanted.baseline is not None and len(run_ids) > 1:
        first = find_run(reader, wanted.baseline)
        run_ids = [first, *(run_id for run_id in run_ids if run_id != first)]
    runs = [reader.only(Provenance, run_id=run_id) for run_id in run_ids]
    settings = reader.rows("run_scorers", run_ids=run_ids)
    chosen = _scorer(wanted.scorer, settings)
    rows: dict[tuple[str, str], list[Row]] = {}
    asked = {
        "run_ids": run_ids,
        "scorer": chosen,
        "cluster": wanted.cluster,
        "without_fallbacks": wanted.on_fallback == "exclude",
    }
    for row in reader.rows("side_samples", **asked):
        rows.setdefault((row["run_id"], row["model"]), []).append(row)
    values = [row["value"] for samples in rows.values() for row in samples if row["value"] is not None]
    are_shares = all(0 <= value <= 1 for value in values)
    sides = [
        _side(figures, rows[figures["run_id"], figures["model"]], are_shares)
        for figures in reader.rows("side_figures", run_ids=run_ids)
        if not wanted.models or figures["model"] in wanted.models
    ]
    _check_models(wanted.models, sides)
    sides.sort(key=lambda side: run_ids.index(side.run_id))
    pairs = _pairs(sides, run_ids, wanted.baseline)
    differences = _differences([(one, other, _joined(one, other, rows)) for one, other in pairs])
    return Comparison(chosen, runs, sides, differences, _notes(runs, settings, chosen), are_shares, wanted.on_fallback)


def _scorer(wanted: str | None, settings: Sequence[Row]) -> str:
    known = list(dict.fromkeys(row["scorer"] for row in settings if row["scored"]))
    if not known:
        hint = "`workbench score RUN --job JOB` scores its answers by a job's scorers"
        raise InputError(Fault("", "nothing is scored in what is to be compared", hint))
    if wanted is not None and wanted not in known:
        hint = nearest(wanted, known) or f"there are: {', '.join(known)}"
        raise InputError(Fault("--scorer", f"no score is by {wanted!r}", hint))
    return wanted or known[0]


def _check_models(models: Sequence[str], sides: Sequence[Side]) -> None:
    there = {side.model for side in sides}
    for model in models:
        if model not in there:
            hint = nearest(model, there) or f"there are: {', '.join(sorted(there))}"
            raise InputError(Fault("--model", f"no answer is of {model!r}", hint))


def _side(figures: Row, samples: Sequence[Row], are_shares: bool) -> Side:
    values = [row["value"] for row in samples if row["value"] is not None]
    return Side(
        run_id=figures["run_id"],
        model=figures["model"],
        asked=figures["asked"],
        answered=figures["answered"],
        samples=len(samples),
        scored=len(values),
        interval=mean_interval(values) if values else None,
        mean_of_asked=sum(values) / len(samples) if values and are_shares else None,
        completion_tokens=figures["completion_tokens"],
        p50_ms=figures["p50_ms"],
        p90_ms=figures["p90_ms"],
        fallbacks=figures["fallbacks"],
        fallback_name=figures["fallback_name"],
        unknown=figures["unknown"],
    )


def _pairs(sides: Sequence[Side], run_ids: Sequence[str], baseline: str | None) -> list[tuple[Side, Side]]:
    """Each side with what it is compared with."""
    if len(run_ids) == 1:
        known = [side.model for side in sides]
        if baseline is not None and baseline not in known:
            hint = nearest(baseline, known) or f"there are: {', '.join(known)}"
            raise InputError(Fault("--baseline", f"no answer is of {baseline!r}", hint))
        base = next((side for side in sides if side.model == baseline), sides[0])
        pairs = [(side, base) for side in sides if side is not base]
        if not pairs:
            raise InputError(
                Fault("", f"the run has one model, {base.model!r}", "name a second run to compare it with")
            )
        return pairs
    first = {side.model: side for side in sides if side.run_id == run_ids[0]}
    only = next(iter(first.values())) if len(first) == 1 else None
    others = [side for side in sides if side.run_id != run_ids[0]]
    pairs = [(side, there) for side in others if (there := first.get(side.model, only)) is not None]
    if not pairs:
        hint = "name one model of each with --model"
        raise InputError(Fault("", "the runs share no model, and the first has several", hint))
    return pairs


Joined = list[tuple[Row, Row]]


def _joined(one: Side, other: Side, rows: dict[tuple[str, str], list[Row]]) -> Joined:
    """The samples that both sides were scored on."""
    there = {row["sample_key"]: row for row in rows[other.run_id, other.model] if row["value"] is not None}
    own = (row for row in rows[one.run_id, one.model] if row["value"] is not None)
    return [(row, there[row["sample_key"]]) for row in own if row["sample_key"] in there]


def _differences(pairs: Sequence[tuple[Side, Side, Joined]]) -> list[Difference]:
    found = [_paired(joined) if joined else None for _, _, joined in pairs]
    adjusted = iter(holm([pair.p_value for pair in found if pair is not None]))
    return [
        _difference(side, base, joined, pair, next(adjusted) if pair is not None else None)
        for (side, base, joined), pair in zip(pairs, found, strict=True)
    ]


def _paired(joined: Joined) -> Paired:
    clusters = [row["cluster"] for row, _ in joined]
    known = clusters if all(cluster is not None for cluster in clusters) else None
    return paired([row["value"] for row, _ in joined], [row["value"] for _, row in joined], known)


def _difference(side: Side, base: Side, joined: Joined, pair: Paired | None, adjusted: float | None) -> Difference:
    apart = [(row["sample_key"], row["value"] - other["value"]) for row, other in joined]
    bounds = pair.interval(level_shown(pair.p_value, adjusted)) if pair is not None and adjusted is not None else None
    return Difference(
        side=side,
        baseline=base,
        shared=len(joined),
        only_side=side.scored - len(joined),
        only_baseline=base.scored - len(joined),
        found=pair,
        adjusted_p=adjusted,
        low=bounds[0] if bounds else None,
        high=bounds[1] if bounds else None,
        detectable=pair.detectable if pair is not None else None,
        verdict=_verdict(pair, adjusted),
        better=[key for key, difference in apart if difference > 1e-9],
        worse=[key for key, difference in apart if difference < -1e-9],
    )


def _verdict(pair: Paired | None, adjusted: float | None) -> str:
    if pair is None or adjusted is None:
        return "not comparable"
    if adjusted < LEVEL:
        return "better" if pair.difference > 0 else "worse"
    return "too few" if pair.better + pair.worse < FEW_DIFFER else "none shown"


def _notes(runs: Sequence[Provenance], settings: Sequence[Row], scorer: str) -> list[str]:
    """What is not alike in what is compared."""
    notes = []
    if len({run.dataset_hash for run in runs}) > 1:
        notes.append("The dataset is not the same: only samples with the same input, choices and target are compared.")
    if len({row["scorer_config"] for row in settings if row["scorer"] == scorer}) > 1:
        notes.append(f"The settings of “{scorer}” are not the same: `workbench score RUN --job JOB` scores both alike.")
    if any(run.simulated for run in runs):
        notes.append("The models are simulated: this says nothing about real ones.")
    return notes


def few_clusters(difference: Difference) -> bool:
    """Whether the test rests on so few clusters that its level is doubtful."""
    found = difference.found
    return found is not None and "clusters" in found.method and found.freedom + 1 < FEW_CLUSTERS
