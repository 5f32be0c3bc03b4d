"""What is not alike in what is compared, in words."""

from collections.abc import Iterable
from datetime import datetime

import workbench.display.commands as commands
from workbench.display.text import count, plural
from workbench.evaluation.differing import (
    CorrectedTargets,
    Differing,
    IncompleteRun,
    NothingToJudge,
    OtherCaps,
    OtherDataset,
    OtherModelTexts,
    OtherSettings,
    OtherValues,
    ReusedAnswers,
    SimulatedModels,
    SomeUnclustered,
    TakenOutSamples,
    UnnamedAnswers,
)  # fmt: skip
from workbench.evaluation.sides import Lost, ModelResult
from workbench.ledger.score_rows import SharedAnswers, SideCaps
from workbench.records.endings import RunStatus

_MOST_CHARS, _BEFORE = 120, 30  # of a value, and of what is alike before its first difference
_NAMED = 3
_ORDERS = {"longest first": "the longest first", "random": "drawn at random", "dataset": "in the dataset's order"}


def differing_text(one: Differing) -> str:
    """Return one thing that is not alike, as a sentence."""
    match one:
        case SimulatedModels():
            return "The models are simulated: this says nothing about real ones."
        case IncompleteRun():
            how = one.status or "no end is recorded"
            return f"Run {one.run_id} is not complete ({how}): {_asked_text(one)}."
        case OtherDataset():
            same = "only samples with the same input, choices and target are compared"
            return f"The dataset is not the same: {same}{_other_targets_text(one)}."
        case OtherValues():
            return _values_text(one)
        case OtherModelTexts():
            return f"The model list says otherwise of {one.model}: {_each(one.values)}."
        case OtherSettings():
            scores = commands.scored_by_job(one.run_id, one.job_path)
            return f"The settings of “{one.scorer}” are not the same: `{scores}` scores both alike."
        case SomeUnclustered():
            return (
                f"{one.without} of {plural(one.samples, 'sample')} {'has' if one.without == 1 else 'have'} no {one.column!r}: "
                "each is taken for a cluster of its own."
            )
        case _:
            return _answers_text(one)


def _asked_text(run: IncompleteRun) -> str:
    """Return how many samples a run asked, and which."""
    if run.is_answered:
        missing = ", and judgements are still to be asked for" if run.status == RunStatus.INCOMPLETE else ""
        return f"every request is answered{missing}"
    if run.is_sent:
        return "it sent every request, and some have no answer"
    if run.asked is None:
        return "what it did not ask is missing here"
    return f"{run.asked} of {plural(run.known, 'sample')} were asked, {_ORDERS[run.order]}"


def _values_text(one: OtherValues) -> str:
    match one.of:
        case "platform":
            return f"The platforms differ: {_each(one.values)}."
        case "narrowed":
            return f"What was asked differs: {_each(one.values)}."
        case "job":
            return f"{one.key} differs: {_each(one.values)}."
        case "models" | "variants":
            of_run = "" if one.run_id is None else f" of run {one.run_id}"
            return f"{one.key} differs between the {one.of}{of_run}: {_each(one.values)}."


def _answers_text(
    one: OtherCaps
    | TakenOutSamples
    | CorrectedTargets
    | NothingToJudge
    | SharedAnswers
    | ReusedAnswers
    | UnnamedAnswers,
) -> str:
    """Return what is not alike in the answers and samples that were compared."""
    match one:
        case OtherCaps():
            return f"Answers were capped at different numbers of tokens: {_caps_text(one)}."
        case TakenOutSamples():
            part = f"{one.taken} of {plural(one.samples, 'sample')}{_of_run(one.run_id)}"
            return f"{part} are taken out by `{commands.INVALIDATE}`: {_reasons_text(one.reasons)}."
        case CorrectedTargets():
            return f"{corrected_text(one.corrected, one.reasons, one.run_id)}."
        case NothingToJudge():
            return f"{plural(one.samples, 'sample')} have nothing to judge by and are left out."
        case SharedAnswers():
            part = f"{one.shared} of {one.answers} answers of run {one.run_id}"
            return f"{part} are reused, the same as of run {one.of_run_id}: they cannot differ."
        case ReusedAnswers():
            parts = [
                f"{count(side.reused)} of {count(side.answered)} of {name_of(side, of_runs=one.of_runs)}, of {_days(side)}"
                for side in one.sides
            ]
            return f"Answers are reused from earlier runs: {'; '.join(parts)}."
        case UnnamedAnswers():
            side = one.side
            part = f"{count(side.unnamed)} of {plural(side.answered, 'answer')}"
            left = f"; {count(side.suspected)} of them are left out, as the name is not the model's"
            says = f"{part} are under a name that is in no model list, or under none{left if one.are_left_out else ''}"
            return f"{name_of(side, of_runs=one.of_runs)}: {says}."


def corrected_text(corrected: int, reasons: Iterable[tuple[str, datetime]], run_id: str | None = None) -> str:
    """Return how many targets of a run were corrected after it, and why."""
    were = "target was" if corrected == 1 else "targets were"
    return f"{count(corrected)} {were} corrected after the run{'' if run_id is None else f' {run_id}'}: {_reasons_text(reasons)}"


def _other_targets_text(one: OtherDataset) -> str:
    """Return how many targets were changed from one run to the other, and what scores both alike."""
    if not one.other_targets:
        return ""
    command = commands.corrected_targets(one.job_path)
    return f"; {plural(one.other_targets, 'target')} changed, and `{command}` shows how both are scored alike"


def _reasons_text(reasons: Iterable[tuple[str, datetime]]) -> str:
    why = list(dict.fromkeys(f"{reason} ({at:%Y-%m-%d})" for reason, at in reasons))
    return "; ".join(why[:_NAMED]) + ("; …" if len(why) > _NAMED else "")


def _of_run(run_id: str | None) -> str:
    return "" if run_id is None else f" of run {run_id}"


def _caps_text(one: OtherCaps) -> str:
    parts = []
    for row in one.caps:
        least, most = row.least, row.most
        span = "no cap" if least is None else f"{least}" if least == most else f"{least} to {most or 'no cap'}"
        parts.append(f"{name_of(row, of_runs=one.of_runs)} {span}")
    return ", ".join(parts)


def _days(side: ModelResult) -> str:
    if side.oldest_at is None or side.newest_at is None:
        return "unknown date"
    first, last = f"{side.oldest_at:%Y-%m-%d}", f"{side.newest_at:%Y-%m-%d}"
    return first if first == last else f"{first} to {last}"


def _each(values: Iterable[tuple[str, str]]) -> str:
    """Return values with whose they are: `0.7 (r1); 0.2 (r2)`; long ones from where they differ."""
    parts = list(values)
    letters = zip(*(text for _, text in parts), strict=False)
    alike = next((place for place, found in enumerate(letters) if len(set(found)) > 1), 0)
    begin = alike - _BEFORE if alike > _MOST_CHARS - _BEFORE else 0
    return "; ".join(f"{_short(text, begin)} ({name})" for name, text in parts)


def _short(text: str, begin: int) -> str:
    part = text[begin : begin + _MOST_CHARS].replace("\n", " ⏎ ")
    return f"{'…' if begin else ''}{part}{'…' if len(text) > begin + _MOST_CHARS else ''}"


def name_of(side: ModelResult | Lost | SideCaps, *, of_runs: bool) -> str:
    """Return a side as people tell it from the others: with its run, where several are compared."""
    return f"{side.model} in {side.run_id}" if of_runs else side.model
