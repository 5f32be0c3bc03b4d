"""What the gates of a job say of a run."""

from collections.abc import Sequence

from workbench.display.text import clipped, exact_percent, percent, plural
from workbench.ledger.gates import (
    AgreementFound,
    DifferenceFound,
    DropFound,
    GateFinding,
    MeanFound,
    NoDrop,
    OtherNames,
    OverConstant,
    OwnNames,
    ShareFound,
    Undecided,
    decoded,
)
from workbench.ledger.run_rows import RunGate, TakenOut
from workbench.ledger.score_rows import Acceptance, CorrectedTarget
from workbench.records.endings import GateResult
from workbench.wording.agreements import NO_CLASSES
from workbench.wording.changes import assumes_text, drop_text, drop_what
from workbench.wording.scores import bounds_text, range_text, signed_size, size

_SHOWN_CHARS = 40


def gate_text(found: GateFinding) -> str:
    """Return what a gate says."""
    match found.evidence:
        case MeanFound():
            return _mean(found, found.evidence)
        case ShareFound():
            return _share(found.gate, found.evidence)
        case OwnNames():
            return "every answer is of the model that was asked, as far as names tell"
        case OtherNames():
            return _other_names(found, found.evidence)
        case DifferenceFound():
            return _difference(found, found.evidence)
        case OverConstant():
            return _over_constant(found, found.evidence)
        case AgreementFound():
            return _agreement(found, found.evidence)
        case NoDrop() | DropFound():
            return _drop(found, found.evidence)
        case Undecided():
            return _undecided(found, found.evidence)


def gate_results(findings: Sequence[GateFinding]) -> tuple[GateResult, ...]:
    """Return the findings as `run --json` has them."""
    return tuple(GateResult(one.gate, one.result, gate_text(one), one.scorer, one.model) for one in findings)


def recorded_text(row: RunGate) -> str:
    """Return what a recorded gate says; a run of an earlier version has it in words."""
    if row.evidence is None:
        return row.reason
    return gate_text(GateFinding(row.gate, row.result, decoded(row.evidence), row.scorer, row.model))


def outdated_text(
    gates: Sequence[RunGate],
    taken_out: Sequence[TakenOut],
    corrected: Sequence[CorrectedTarget],
    said: Sequence[Acceptance],
) -> str:
    """Return what has changed since the gates of a run were decided; empty where nothing has.

    Args:
        said: What was accepted of its job.
    """
    decided_at = max((row.recorded_at for row in gates), default=None)
    if decided_at is None:
        return ""
    out = sum(row.recorded_at > decided_at for row in taken_out)
    targets = sum(row.recorded_at > decided_at for row in corrected)
    changed = [
        f"{plural(out, 'sample')} taken out" if out else "",
        f"{plural(targets, 'target')} corrected" if targets else "",
        *(
            f"accepted: {one.reason}" if one.accepted else f"no longer accepted: {one.reason}"
            for one in said
            if one.recorded_at > decided_at and any(row.result == "open" for row in gates)
        ),
    ]
    since = ", ".join(filter(None, changed))
    return f"the gates stand as they were decided; since then: {since}" if since else ""


def failed_text(findings: Sequence[GateFinding]) -> str:
    """Return the gates for which a run does not pass, for the reason of its end."""
    failed, ended = [one for one in findings if one.result == "not met"], "failed"
    if not failed:
        failed, ended = [one for one in findings if one.result == "cannot tell" and not one.is_first], "cannot tell"
    first = gate_text(failed[0])
    return first if len(failed) == 1 else f"{first} (and {plural(len(failed) - 1, 'more gate')} {ended})"


def _drop(found: GateFinding, of: NoDrop | DropFound) -> str:
    if isinstance(of, NoDrop):
        over, rate = plural(of.occasions, "scheduled run"), exact_percent(of.false_alarm_rate)
        return f"no model has become worse by “{found.scorer}” over {over} (false alarms: {rate})"
    if found.result == "open":
        return drop_text(str(found.model), found.scorer, of)
    what = f"{drop_what(str(found.model), found.scorer, of)} ({plural(of.samples, 'sample')})"
    return "; ".join(filter(None, (what, assumes_text(of))))


def _mean(found: GateFinding, of: MeanFound) -> str:
    return f"{found.model} scores {_scored(of)} by “{found.scorer}”; at least {of.wanted:g} is wanted"


def _other_names(found: GateFinding, of: OtherNames) -> str:
    which = "another model" if of.identity == "fallback" else "a name that is not the route's"
    from_ = "of" if of.identity == "fallback" else "under"
    return f"{of.part} of {plural(of.whole, 'answer')} of {found.model} are {from_} {which}"


def _scored(of: MeanFound) -> str:
    if of.mean is None:
        return "nothing"
    if of.at_worst is None:
        return f"{of.mean:.3f} on what is scored, with no scale for the rest,"
    if of.low is None or of.high is None:
        return f"{of.mean:.3f} on {plural(of.samples, 'sample')}, too few for an interval,"
    mean = range_text(of.mean, of.at_worst, of.at_best)
    return f"{mean} {_bounds(of.low, of.high)} on {plural(of.samples, 'sample')}"


def _bounds(low: float, high: float) -> str:
    return f"[{low:.3f}, {high:.3f}]".replace("-", "−")


_COUNTED = {
    "max_failed_share": "requests are unanswered",
    "max_unusable_share": "answers are empty, cut off, refused or filtered",
    "max_fallback_share": "answers are of another model",
}


def _share(gate: str, of: ShareFound) -> str:
    says = f"{of.part} of {of.whole} {_COUNTED[gate]} ({percent(of.part / of.whole)})"
    says += f", and {of.suspected} under a name that is not the route's" if of.suspected else ""
    return f"{says}; at most {exact_percent(of.most)} may be"


def _difference(found: GateFinding, of: DifferenceFound) -> str:
    if of.difference is None:
        return f"{found.model} shares no sample with run {of.baseline} of which both scores are known"
    value = signed_size(of.difference, are_shares=of.are_shares)
    says = f"{found.model} differs by {value}{_interval(of)} by “{found.scorer}” from run {of.baseline}"
    says += f"; {size(of.most, are_shares=of.are_shares)} less is allowed"
    return says + (f"; {of.unknown} of {of.asked} samples are unknown" if of.unknown else "")


def _over_constant(found: GateFinding, of: OverConstant) -> str:
    constant = f"the constant “{clipped(of.constant, _SHOWN_CHARS)}”"
    if of.difference is None:
        return f"nothing is known of {found.model} beside {constant} by “{found.scorer}”"
    above = signed_size(of.difference, are_shares=of.are_shares)
    says = f"{found.model} differs from {constant} by {above}{_interval(of)} by “{found.scorer}”"
    says += f"; at least {size(of.wanted, are_shares=of.are_shares)} above is wanted"
    return says + (f"; {of.unknown} of {of.asked} samples are unknown" if of.unknown else "")


def _interval(of: DifferenceFound | OverConstant) -> str:
    if of.low is None or of.high is None:
        return ", without an interval,"
    return f" {bounds_text(of.low, of.high, are_shares=of.are_shares)}"


_CORRELATIONS = {"pearson": "Pearson correlation", "spearman": "Spearman correlation"}


def _agreement(found: GateFinding, of: AgreementFound) -> str:
    end = {"mean error": "at most", "bias": "no more above or below than"}.get(of.figure, "at least")
    wanted, by = f"{end} {of.wanted:g} is wanted", f"by “{found.scorer}”"
    figure = _CORRELATIONS.get(of.figure, of.figure)
    if of.value is None:
        why = "nothing is known of its answers" if of.unknown == of.asked else "it is not defined"
        return f"{found.model} has no {figure} {by}: {why}; {wanted}"
    value = f"{of.value:.3f}"
    if of.at_lowest is not None and of.at_highest is not None:
        value = f"{of.at_lowest:.3f} to {of.at_highest:.3f}"
    bounds = ", without an interval," if of.low is None or of.high is None else f" {_bounds(of.low, of.high)}"
    says = f"{found.model} has a {figure} of {value.replace('-', '−')}{bounds} {by}; {wanted}"
    if of.left_out:
        says += f"; {of.left_out} of {of.asked} answers without a number are left out of it"
    return says + (f"; {of.unknown} of {of.asked} answers are unknown" if of.unknown else "")


def _no_agreement(of: Undecided, by: str) -> str:
    if of.because == "no field":
        return f"no field that ten targets or more have is named {by} (fields: {of.named})"
    return f"how far answers agree with the targets is not known {by}: these are {NO_CLASSES}, or no answer is known"


def _nothing(of: Undecided, by: str) -> str:
    if of.because == "nothing answered":
        return "no request is answered, so nothing says who answers"
    if of.because == "nothing scored":
        return f"nothing is scored {by}"
    return f"no constant answer is scored {by}: it compares with no target, or there are too few"


def _undecided(found: GateFinding, of: Undecided) -> str:
    model, by = found.model, f"by “{found.scorer}”"
    match of.because:
        case "nothing answered" | "nothing scored" | "no constant":
            return _nothing(of, by)
        case "no agreement" | "no field":
            return _no_agreement(of, by)
        case "no earlier run":
            return f"no earlier run of {of.named!r} has met its gates, so there is nothing to compare with"
        case "not in the baseline":
            return f"run {of.named} did not ask {model}, so there is nothing to compare with"
        case "other settings":
            return f"run {of.named} was scored {by} with other settings, or reduced its epochs otherwise: they cannot be compared"
        case "not the newest":
            return "the run is not the newest scheduled run of its job"
        case "too few known":
            return f"of {model} {of.known} of {plural(of.wanted, 'sample')} have a result {by}: too few to tell"
        case "too few shared":
            return f"{model} has too few samples in common with the runs before, {by}, to compare them"
        case "less at the worst":
            return f"{model} scores less {by} if the answers that are not known were not right"
