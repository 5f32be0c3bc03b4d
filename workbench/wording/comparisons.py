"""What a comparison shows, in words that follow from its tests."""

import math
from collections.abc import Iterator, Sequence

from workbench.display.text import percent, plural, significant, visible, words
from workbench.evaluation.agreement_differences import OF_NUMBERS_ALONE, AgreementDifference
from workbench.evaluation.comparison import Comparison, few_clusters
from workbench.evaluation.differing import Differing, OtherDataset, OtherValues
from workbench.evaluation.sides import Coverage, Difference, Lost, ModelResult
from workbench.wording.changes import alarm_text
from workbench.wording.differences import differing_text, name_of
from workbench.wording.scores import bounds_text, interval_text, margin_size, p_text, signed, signed_size, size

_PROMPTS = ("prompt", "variants", "request")
"""The tables of a job that say what is asked."""
_BESIDE_MARGIN = {"within": "within the margin", "beyond": "beyond the margin", "unclear": "margin not shown"}


def side_name(side: ModelResult | Lost, comparison: Comparison) -> str:
    """Return a side of a comparison as people tell it from the others."""
    return name_of(side, of_runs=len(comparison.runs) > 1)


def shown_text(difference: Difference, *, are_shares: bool) -> str:
    """Return what the test shows."""
    found = difference.found
    counts = "" if found is None else f"{found.better}:{found.worse}"
    match difference.verdict:
        case "better" | "worse":
            return _shown(difference)
        case "open" if found is not None:
            direction = "better" if found.difference > 0 else "worse"
            all_asked = f"over all {difference.asked}: {difference.unknown} unknown"
            why = ", which no scale of the scorer bounds" if difference.is_finished_only else ""
            return f"{direction} on the {difference.shared} known of both; open {all_asked}{why}"
        case "too few" if found is not None and not found.better + found.worse:
            return f"the same on every sample{_beside_unknown(difference)}"
        case "too few":
            return f"too few samples differ to tell ({counts}){_beside_unknown(difference)}"
        case "none shown":
            if difference.detectable is None:
                return f"no difference shown ({counts}){_beside_unknown(difference)}"
            reach = size(difference.detectable, are_shares=are_shares)
            return f"no difference shown ({counts}, could have shown ±{reach}){_beside_unknown(difference)}"
        case _ if not difference.asked:
            return "not comparable: no sample in common"
        case _ if not difference.shared:
            return f"not comparable: of {plural(difference.asked, 'sample')} in common none has a result of both"
        case _:
            return f"not comparable: no test can be made of {plural(difference.shared, 'sample')}"


def _shown(difference: Difference) -> str:
    """Return a difference that is shown, and on what it rests."""
    direction, among = difference.verdict, difference.among_scored
    if among is None:
        return direction
    other = "worse" if direction == "better" else "better"
    is_reverse = among.better + among.worse > 0 and (among.difference > 0) != (direction == "better")
    beside = (
        f"{other}, {among.better}:{among.worse}" if is_reverse else f"no difference shown, {among.better}:{among.worse}"
    )
    return f"{direction} in right answers delivered; among the {among.n} scored on both: {beside}"


def _beside_unknown(difference: Difference) -> str:
    return f"; {difference.unknown} of {difference.asked} unknown" if difference.unknown else ""


def unchanged_text(comparison: Comparison) -> str:
    """Return of how many models, or combinations of model and variant, two runs are the same; empty where of none."""
    same = len(comparison.unchanged)
    noun = "combination" if any(run.variants for run in comparison.runs) else "model"
    return f"{plural(same, f'unchanged {noun}')}: the same on every sample." if same else ""


def prompts_text(comparison: Comparison) -> list[str]:
    """Return what the job files of two runs say differently of what is asked: it stands with what changed."""
    return [differing_text(one) for one in _of_prompts(comparison)]


def _of_prompts(comparison: Comparison) -> list[Differing]:
    if len(comparison.runs) != 2:
        return []
    return [
        one
        for one in comparison.differing
        if isinstance(one, OtherValues) and one.of == "job" and one.key.startswith(_PROMPTS)
    ]


def largest_first(found: Sequence[Difference]) -> list[Difference]:
    """Return differences as they are told: what a test shows before what it does not, and each by how large it is."""

    def size_of(one: Difference) -> tuple[bool, float]:
        return one.verdict not in ("better", "worse"), -abs(one.found.difference) if one.found else math.inf

    return sorted(found, key=size_of)


def headline(difference: Difference, comparison: Comparison) -> str:
    """Return one difference in a line: how large, how sure, on how many samples, and what it costs."""
    name, base = side_name(difference.side, comparison), side_name(difference.baseline, comparison)
    found = difference.found
    if found is None:
        return f"{name} and {base} share no sample of which both scores are known."
    shares = comparison.are_shares
    bounds = f" {interval_text(difference, are_shares=shares)}" if difference.low is not None else ""
    value = signed_size(found.difference, are_shares=shares) + bounds
    parts = [
        f"{name} − {base} = {value}: {shown_text(difference, are_shares=shares)}",
        f"{found.better} better, {found.worse} worse, {found.same} same",
    ]
    if difference.among_scored is not None:
        parts += [
            f"of {side_name(side, comparison)} {reason}"
            for side in (difference.side, difference.baseline)
            if (reason := not_right_words(side))
        ]
    parts += filter(None, (margin_text(difference, comparison), _tokens(difference)))
    return "; ".join(parts) + "."


def margin_text(difference: Difference, comparison: Comparison) -> str:
    """Return whether a side is shown to be within the margin; empty where there is none, or a side is shown to be better."""
    beside = comparison.beside_margin(difference)
    if beside is None or comparison.margin is None or difference.verdict == "better":
        return ""
    shares, worst = comparison.are_shares, difference.low_of_all
    margin = f"the margin of {margin_size(comparison.margin, are_shares=shares)}"
    if beside == "beyond":
        return f"worse by more than {margin}"
    if worst is None:
        return f"whether it is within {margin} is not known"
    by = size(max(-worst, 0.0), are_shares=shares)
    if beside == "within":
        return f"at most {by} worse, adjusted for all differences: within {margin}"
    return f"up to {by} worse, adjusted for all differences: not shown to be within {margin}"


def verdict_text(difference: Difference, comparison: Comparison) -> str:
    """Return what the test shows, and beside a margin, in a few words for a table."""
    shown = shown_text(difference, are_shares=comparison.are_shares)
    beside = comparison.beside_margin(difference)
    return shown if beside is None or difference.verdict == "better" else f"{shown}; {_BESIDE_MARGIN[beside]}"


def agreement_lines(comparison: Comparison) -> list[str]:
    """Return how far each side agrees with the targets beside its baseline: a line for each pair.

    Accuracy is left out, which the mean of the scores is; of fields those where nothing is shown are counted. Of two runs
    pairs whose answers say the same everywhere have no line.
    """
    names = {side.key: side_name(side, comparison) for side in comparison.sides}
    pairs: dict[str, list[AgreementDifference]] = {}
    changed = {(one.run_id, one.model) for one in comparison.agreement if one.differs}
    for one in comparison.agreement:
        if len(comparison.runs) == 2 and (one.run_id, one.model) not in changed:
            continue
        name, base = names[one.run_id, one.model], names[one.baseline_run_id, one.baseline_model]
        if one.figure != "accuracy" or one.field is not None:
            pairs.setdefault(f"{name} − {base}", []).append(one)
    return [f"{pair}: {'; '.join(_agreement_parts(found))}." for pair, found in pairs.items()]


def _agreement_parts(found: Sequence[AgreementDifference]) -> Iterator[str]:
    """Yield what is said of one pair's agreement."""
    of_fields: dict[str, AgreementDifference] = {}  # by the first figure that shows something, of several in the JSON
    for one in found:
        if one.field is not None and one.verdict in ("better", "worse", "open"):
            of_fields.setdefault(one.field, one)
    told = [*(one for one in found if one.field is None), *of_fields.values()]
    fields = {one.field for one in found} - of_fields.keys() - {None}
    compared = {one.field for one in found if one.verdict != "not comparable"}
    not_shown, undefined = len(fields & compared), len(fields - compared)
    unknown = {
        (one.unknown, one.asked)
        for one in found
        if one.verdict != "not comparable" and one.figure not in OF_NUMBERS_ALONE
    }
    for one in told:
        where = "" if one.field is None else f"“{visible(one.field)}”: "
        if one.found is None:
            yield f"{where}{_FIGURES.get(one.figure, one.figure)} is not defined on the answers that are known of both"
            continue
        value = signed(one.found.difference, are_shares=False)
        both = " beside ".join("–" if known is None else f"{known:.2f}" for known in (one.value, one.baseline_value))
        figure = f"{where}{_FIGURES.get(one.figure, one.figure)} {both}".replace("-", "−")
        yield f"{figure}, {value}{_agreement_bounds(one)}: {_agreement_shown(one)}"
    if not_shown:
        other = "other field" if told else "field"
        yield f"{'none in' if told else 'no difference shown in'} {plural(not_shown, other)}"
    if undefined:
        yield f"not defined of {plural(undefined, 'field')}"
    if len(unknown) == 1 and max(unknown)[0]:
        yield f"{max(unknown)[0]} of {plural(max(unknown)[1], 'answer')} unknown"


def _agreement_bounds(one: AgreementDifference) -> str:
    """Return the interval of a difference, or the p-value where that decides otherwise: it is adjusted for all that is tested."""
    if one.low is None or one.high is None:
        return ""
    if (one.low <= 0 <= one.high) is (one.verdict not in ("better", "worse")):
        return f" {bounds_text(one.low, one.high, are_shares=False)}"
    return "" if one.adjusted_p is None else f" (adjusted {p_text(one.adjusted_p)})"


_FIGURES = {"bias": "size of the bias", "pearson": "Pearson", "spearman": "Spearman"}


def _agreement_shown(one: AgreementDifference) -> str:
    match one.verdict:
        case "better" | "worse":
            return one.verdict
        case "open":
            lack = "without a number" if one.figure in OF_NUMBERS_ALONE else "unknown"
            return f"shown on the answers that are known of both; open over all {one.asked}: {one.unknown} {lack}"
        case _:
            return "no difference shown"


_NOT_RIGHT = {
    "cut_off": "cut off", "refused": "refused", "filtered": "filtered", "empty": "empty", "context_too_long": "too long a prompt",
    "tool_call": "a tool call without text",
}  # fmt: skip


def not_right_words(side: ModelResult) -> str:
    """Return the answers of a side that have no score by its own doing: `46 of 120 answers are cut off`; empty where none is."""
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
    """Return why a model is not ranked: `12 of 24 answers have a result, and 80 % must`."""
    if not coverage.wanted:
        return "no answer of it counts in a mean"
    if coverage.known >= min_answered * coverage.wanted:
        return "no scale says what the answers without a score could have scored"
    have = "has" if coverage.wanted == 1 else "have"
    return f"{coverage.known} of {plural(coverage.wanted, 'answer')} {have} a result, and {percent(min_answered)} must"


def differs_text(comparison: Comparison) -> list[str]:
    """Return what else than the models differs between what is compared, and what is open of their jobs."""
    of_prompts = _of_prompts(comparison)
    return [
        *(f"{alarm.job}: {alarm_text(alarm)}." for alarm in comparison.open_alarms),
        *(differing_text(one) for one in comparison.differing if one not in of_prompts),
    ]


def warnings(comparison: Comparison, *, said: bool = False) -> list[str]:
    """Return what a reader must know before believing a difference.

    Args:
        said: Whether `prompts_text` and `differs_text` stand elsewhere, and are left out.
    """
    found = [] if said else [*(differing_text(one) for one in _of_prompts(comparison)), *differs_text(comparison)]
    for side in comparison.sides:
        name = side_name(side, comparison)
        if not comparison.is_ranked(side):
            found.append(f"{name} is not ranked: {not_ranked_words(side.coverage, comparison.min_answered)}.")
        if reason := not_right_words(side):
            counted = "not right" if side.coverage.is_bounded else "no scale says what that is to a mean"
            found.append(f"{name}: {reason}: {counted}.")
        if side.fallbacks:
            says = "are left out" if comparison.on_fallback == "exclude" else "count all the same"
            given = f"{side.fallbacks} of {plural(side.answered, 'answer')} are of another model ({side.fallback_name})"
            found.append(f"{name}: {given} and {says}.")
    for difference in comparison.differences:
        name = side_name(difference.side, comparison)
        if few_clusters(difference) and difference.found is not None:
            number = plural(difference.found.clusters or 0, "cluster")
            found.append(f"{name}: {number}, which is few: the test may claim too much.")
        if difference.only_side or difference.only_baseline:
            found.append(
                f"{name}: compared on the {plural(difference.asked, 'sample')} that both have; {_only(difference, comparison)}."
            )
        if difference.unknown:
            lost = ", ".join(f"{one.samples} {one.reason} in {side_name(one, comparison)}" for one in difference.lost)
            found.append(
                f"{name}: of {plural(difference.asked, 'sample')} {difference.unknown} are unknown, of which a rerun asks what "
                f"failed; without a score: {lost}."
            )
    return [*found, *_grid_notes(comparison)]


def _only(difference: Difference, comparison: Comparison) -> str:
    """Return what samples only one of two sides has; one whose target was changed is the same question in both."""
    changed = sum(one.other_targets for one in comparison.differing if isinstance(one, OtherDataset))
    changed = min(changed, difference.only_side, difference.only_baseline)
    only = [
        f"{number - changed} are only in {side_name(side, comparison)}"
        for number, side in ((difference.only_side, difference.side), (difference.only_baseline, difference.baseline))
        if number > changed
    ]
    return words([*([f"{changed} have another target in each"] if changed else []), *only])


def _grid_notes(comparison: Comparison) -> Iterator[str]:
    """Yield what is to be known of main effects: samples that are unknown somewhere, combinations that were not asked."""
    found = comparison.factors
    if found is None:
        return
    unknown = max((one.difference.unknown for one in found.effects), default=0)
    if unknown:
        asked = max(one.difference.asked for one in found.effects)
        yield (
            f"Main effects: of {plural(asked, 'sample')} up to {unknown} have an unknown score in one of the combinations: "
            "an effect is shown only where it is shown at both ends of what they could be."
        )
    cells = [(model, variant) for model in found.models for variant in found.variants]
    missing = [cell for cell in cells if cell not in found.cells]
    silent = [cell for cell, side in found.cells.items() if side.interval is None]
    left_out = ((missing, "not compared"), (silent, "nothing is known of"))
    if missing or silent:
        named = "; ".join(f"{why}: {words([' · '.join(cell) for cell in those])}" for those, why in left_out if those)
        yield f"Main effects are over the models and variants that both sides have; {named}."


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
