"""What a comparison says, in words that follow from its tests."""

from typing import Any

from workbench.display import percent, plural, significant, words
from workbench.evaluation.comparison import Comparison, few_clusters
from workbench.evaluation.difference_words import interval_text, outcome, signed, unit
from workbench.evaluation.sides import Coverage, Difference, Lost, ModelResult
from workbench.evaluation.slices import SliceScore
from workbench.stats.intervals import Interval


def side_name(side: ModelResult, comparison: Comparison) -> str:
    """A side as people tell it from the others."""
    return side.model if len(comparison.runs) == 1 else f"{side.model} in {side.run_id}"


def mean_text(found: Interval) -> str:
    """A mean over all asked: `0.844`, or between which it is where some are unknown: `0.810 to 0.860`."""
    return range_text(found.mean, found.at_worst, found.at_best)


def range_text(mean: float, at_worst: float | None, at_best: float | None) -> str:
    """The same of a mean of what is known, and the means at both ends of what is not; without a scale, what it is of."""
    if at_worst is None or at_best is None:
        return f"{mean:.3f} of what is scored"
    return f"{mean:.3f}" if at_worst == at_best else f"{at_worst:.3f} to {at_best:.3f}"


def headline(difference: Difference, comparison: Comparison) -> str:
    """One difference in a line: how large, how sure, on how many samples, and what it costs."""
    name, base = side_name(difference.side, comparison), side_name(difference.baseline, comparison)
    found = difference.found
    if found is None:
        return f"{name} and {base} share no sample of which both scores are known."
    shares = comparison.are_shares
    bounds = f" {interval_text(difference, are_shares=shares)}" if difference.low is not None else ""
    value = f"{signed(found.difference, are_shares=shares)}{unit(are_shares=shares)}{bounds}"
    parts = [
        f"{name} − {base} = {value}: {outcome(difference, are_shares=shares)}",
        f"{found.better} better, {found.worse} worse, {found.same} same",
    ]
    if difference.among_scored is not None:
        parts += [
            f"of {side_name(side, comparison)} {told}"
            for side in (difference.side, difference.baseline)
            if (told := not_right_words(side))
        ]
    if (tokens := _tokens(difference)) is not None:
        parts.append(tokens)
    return "; ".join(parts) + "."


def difference_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """The differences as flat rows."""
    return [_flat(one, comparison) | {"says": headline(one, comparison)} for one in comparison.differences]


def slice_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """The differences within each slice as flat rows, with the mean scores of both sides in it."""
    rows = []
    for part in comparison.slices:
        scores = {(score.run_id, score.model): score for score in part.scores}
        for one in part.differences:
            mean, base = (scores[side.run_id, side.model] for side in (one.side, one.baseline))
            rows.append(
                {"column": part.column, "value": part.value, "samples": len(part.samples)}
                | _flat(one, comparison)
                | _means("mean", mean)
                | _means("baseline_mean", base)
            )
    return rows


def _means(name: str, score: SliceScore) -> dict[str, float | None]:
    """A mean of what is known, between which it is of all asked, and that of what is scored."""
    found = score.interval
    ends = (None, None, None) if found is None else (found.mean, found.at_worst, found.at_best)
    return dict(zip((name, f"{name}_at_worst", f"{name}_at_best"), ends, strict=True)) | {
        f"{name}_of_scored": score.mean_of_scored
    }


def _flat(difference: Difference, comparison: Comparison) -> dict[str, Any]:
    side, base, found = difference.side, difference.baseline, difference.found
    return {
        "run_id": side.run_id, "model": side.model, "baseline_run_id": base.run_id, "baseline_model": base.model,
        "scorer": comparison.scorer, "asked_samples": difference.asked, "shared_samples": difference.shared,
        "unknown_samples": difference.unknown,
        "difference": None if found is None else found.difference, "low": difference.low, "high": difference.high,
        "better": len(difference.better), "worse": len(difference.worse), "same": None if found is None else found.same,
        "p_value": None if found is None else found.p_value, "adjusted_p_value": difference.adjusted_p,
        "method": None if found is None else found.method, "detectable": difference.detectable, "verdict": difference.verdict,
    }  # fmt: skip


_NOT_RIGHT = {
    "cut_off": "cut off", "refused": "refused", "filtered": "filtered", "empty": "empty", "context_too_long": "too long a prompt",
    "tool_call": "a tool call without text",
}  # fmt: skip


def not_right_words(side: ModelResult) -> str:
    """The answers of a side that have no score by its own doing: `46 of 120 answers are cut off`; empty where none is."""
    if not side.not_right:
        return ""
    kinds = [
        f"{number} {_NOT_RIGHT[name]}" for name, number in sorted(side.not_right_as.items(), key=lambda kind: -kind[1])
    ]
    whole = f"{side.not_right} of {plural(side.asked, 'answer')}"
    is_one = side.not_right == 1
    if len(kinds) == 1:
        return f"{whole} {'is' if is_one else 'are'} {kinds[0].split(' ', 1)[1]}"
    return f"{whole} {'has' if is_one else 'have'} no score ({words(kinds)})"


def not_ranked_words(coverage: Coverage, min_answered: float) -> str:
    """Why a model is not ranked: `12 of 24 answers have a result, and 80 % must`."""
    if coverage.known >= min_answered * coverage.wanted:
        return "no scale says what the answers without a score could have scored"
    return f"{coverage.known} of {plural(coverage.wanted, 'answer')} have a result, and {percent(min_answered)} must"


def warnings(comparison: Comparison) -> list[str]:
    """What a reader must know before believing a difference."""
    found = list(comparison.notes)
    for side in comparison.sides:
        name = side_name(side, comparison)
        if not comparison.is_ranked(side):
            found.append(f"{name} is not ranked: {not_ranked_words(side.coverage, comparison.min_answered)}.")
        if told := not_right_words(side):
            counted = "not right" if side.coverage.is_bounded else "no scale says what that is to a mean"
            found.append(f"{name}: {told}: {counted}.")
        if side.fallbacks:
            says = "are left out" if comparison.on_fallback == "exclude" else "count all the same"
            given = f"{side.fallbacks} of {plural(side.answered, 'answer')} are of another model ({side.fallback_name})"
            found.append(f"{name}: {given} and {says}.")
    for difference in comparison.differences:
        name = side_name(difference.side, comparison)
        if few_clusters(difference) and difference.found is not None:
            found.append(
                f"{name}: {plural(difference.found.freedom + 1, 'cluster')}, which is few: the test may claim too much."
            )
        if difference.only_side or difference.only_baseline:
            only = [f"{number} are only in {side_name(side, comparison)}" for number, side in (
                (difference.only_side, difference.side), (difference.only_baseline, difference.baseline)) if number]  # fmt: skip
            found.append(f"{name}: compared on the {plural(difference.asked, 'sample')} that both have; {words(only)}.")
        if difference.unknown:
            lost = ", ".join(f"{one.samples} {one.reason} in {_in(one, comparison)}" for one in difference.lost)
            found.append(
                f"{name}: of {plural(difference.asked, 'sample')} {difference.unknown} are unknown, of which a rerun asks what "
                f"failed; without a score: {lost}."
            )
    return found


def _in(lost: Lost, comparison: Comparison) -> str:
    return lost.model if len(comparison.runs) == 1 else f"{lost.model} in {lost.run_id}"


def _tokens(difference: Difference) -> str | None:
    here, there = difference.side.completion_tokens, difference.baseline.completion_tokens
    if not here or not there:
        return None
    change = here / there - 1
    if change > 1:
        return f"{significant(here / there)} times as many tokens an answer"
    if abs(change) < 0.005:
        return "as many tokens an answer"
    return f"{percent(abs(change))} {'more' if change > 0 else 'fewer'} tokens an answer"
