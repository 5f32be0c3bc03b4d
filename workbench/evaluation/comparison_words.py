"""What a comparison says, in words that follow from its tests."""

from typing import Any

from workbench.display import percent, plural, significant
from workbench.evaluation.comparison import Comparison, Difference, Side, few_clusters


def side_name(side: Side, comparison: Comparison) -> str:
    """A side as people tell it from the others."""
    return side.model if len(comparison.runs) == 1 else f"{side.model} in {side.run_id}"


def headline(difference: Difference, comparison: Comparison) -> str:
    """One difference in a line: how large, how sure, on how many samples, and what it costs."""
    name, base = side_name(difference.side, comparison), side_name(difference.baseline, comparison)
    found = difference.found
    if found is None:
        return f"{name} and {base} share no scored sample."
    unit = " points" if comparison.are_shares else ""
    bounds = f" {interval_text(difference, comparison)}" if difference.low is not None else ""
    size = _number(found.difference, comparison)
    parts = [
        f"{name} − {base} = {size}{unit}{bounds}: {outcome(difference, comparison)}",
        f"{found.better} better, {found.worse} worse, {found.same} same",
    ]
    if (tokens := _tokens(difference)) is not None:
        parts.append(tokens)
    return "; ".join(parts) + "."


def outcome(difference: Difference, comparison: Comparison) -> str:
    """What the test shows."""
    found = difference.found
    counts = "" if found is None else f"{found.better}:{found.worse}"
    match difference.verdict:
        case "better" | "worse":
            return difference.verdict
        case "too few" if found is not None and not found.better + found.worse:
            return "the same on every sample"
        case "too few":
            return f"too few samples differ to tell ({counts})"
        case "none shown":
            if difference.detectable is None:
                return f"no difference shown ({counts})"
            reach = _size(difference.detectable, comparison)
            unit = " points" if comparison.are_shares else ""
            return f"no difference shown ({counts}, could have shown ±{reach}{unit})"
        case _:
            return "not comparable"


def interval_text(difference: Difference, comparison: Comparison) -> str:
    """The interval of a difference."""
    if difference.low is None or difference.high is None:
        return "not available"
    return f"[{_number(difference.low, comparison)}, {_number(difference.high, comparison)}]"


def difference_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """The differences as flat rows."""
    rows = []
    for difference in comparison.differences:
        side, base, found = difference.side, difference.baseline, difference.found
        rows.append(
            {
                "run_id": side.run_id, "model": side.model, "baseline_run_id": base.run_id, "baseline_model": base.model,
                "scorer": comparison.scorer, "shared_samples": difference.shared,
                "difference": None if found is None else found.difference, "low": difference.low, "high": difference.high,
                "better": len(difference.better), "worse": len(difference.worse), "same": None if found is None else found.same,
                "p_value": None if found is None else found.p_value, "adjusted_p_value": difference.adjusted_p,
                "method": None if found is None else found.method, "detectable": difference.detectable,
                "verdict": difference.verdict, "says": headline(difference, comparison),
            }
        )  # fmt: skip
    return rows


def warnings(comparison: Comparison) -> list[str]:
    """What a reader must know before believing a difference."""
    found = list(comparison.notes)
    for side in comparison.sides:
        if side.fallbacks:
            says = "are left out" if comparison.on_fallback == "exclude" else "count all the same"
            given = f"{side.fallbacks} of {plural(side.answered, 'answer')} are of another model ({side.fallback_name})"
            found.append(f"{side_name(side, comparison)}: {given} and {says}.")
    for difference in comparison.differences:
        name = side_name(difference.side, comparison)
        if few_clusters(difference) and difference.found is not None:
            found.append(
                f"{name}: {plural(difference.found.freedom + 1, 'cluster')} are few; the test may claim too much."
            )
        if difference.only_side or difference.only_baseline:
            lost = f"{difference.only_side} scored here alone, {difference.only_baseline} only in the baseline"
            found.append(f"{name}: compared on {plural(difference.shared, 'sample')}; {lost}.")
    return found


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


def _number(value: float, comparison: Comparison) -> str:
    return ("+" if value > 0 else "−" if value < 0 else "") + _size(abs(value), comparison)


def _size(value: float, comparison: Comparison) -> str:
    return f"{100 * value:.1f}" if comparison.are_shares else significant(value)
