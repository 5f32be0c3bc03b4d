"""Models and runs compared on the samples that both sides were scored on, and what of it is shown."""

from collections.abc import Sequence

import msgspec

from workbench.errors import Fault, InputError, nearest
from workbench.evaluation.run_figures import LAST, find_run
from workbench.evaluation.sides import Difference, Side, differences, sides_of
from workbench.ledger.queries import Reader, Row
from workbench.ledger.rows import Provenance
from workbench.stats.paired import FEW_CLUSTERS


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
    """By default the first of the first run's job."""
    cluster: str = "cluster"
    """The metadata column that says which samples belong together, where the dataset has it."""
    on_fallback: str | None = None
    """`exclude` leaves out the answers that another model gave, `accept` counts them; by default as the first run's job says."""


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
    settings = sorted(reader.rows("run_scorers", run_ids=run_ids), key=lambda row: run_ids.index(row["run_id"]))
    chosen = _scorer(wanted.scorer, settings)
    on_fallback = wanted.on_fallback or ("accept" if runs[0].on_fallback == "accept" else "exclude")
    there = sides_of(reader, run_ids, chosen, cluster=wanted.cluster, on_fallback=on_fallback)
    sides = [side for side in there.sides if not wanted.models or side.model in wanted.models]
    _check_models(wanted.models, sides)
    sides.sort(key=lambda side: run_ids.index(side.run_id))
    found = differences(_pairs(sides, run_ids, wanted.baseline), there.samples)
    return Comparison(chosen, runs, sides, found, _notes(runs, settings, chosen), there.are_shares, on_fallback)


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
