"""A grid of models and variants in words: main effects, and where the effect of a variant differs between models."""

from typing import Any

from workbench.display.text import plural, words
from workbench.evaluation.factors import Effect, Factor, Factors, Interaction, effect_rows, grid_rows
from workbench.evaluation.sides import ModelResult
from workbench.wording.comparisons import shown_text
from workbench.wording.scores import bounds_text, p_text, signed, signed_size, size, with_bounds

_SHOWN = ("better", "worse")
_FACTORS: tuple[Factor, ...] = ("variant", "model")


def factors_text(found: Factors | None) -> str:
    """Return what a variant does over all models and a model over all variants, the strongest first; empty without a grid.

    Of each factor it is the effect that is shown most clearly; where none is, what could have been shown.
    """
    if found is None:
        return ""
    strongest = sorted((min(found.of(factor), key=_strength) for factor in _FACTORS if found.of(factor)), key=_strength)
    says, stated = [], set[str]()
    for best in strongest:
        one = _stated(best, found)
        says.append(_none_shown(best, found) if one is None else effect_text(one, found))
        if one is not None and one.of == "variant":
            stated.add(one.name)
            says += [_by_model(one.name, found)] if found.shown_interactions(one.name) else []
    for variant in found.variants:
        if variant not in stated and (differs := _differs(variant, found)):
            says.append(f"The effect of “{variant}” differs between models: {differs}. {_by_model(variant, found)}")
    return " ".join(says)


def effect_text(effect: Effect, found: Factors) -> str:
    """Return a main effect: `Over all 4 models, “rubric” is better than “plain”: +6.8 points [+4.1, +9.5]; p < .001.`"""
    one, are_shares = effect.difference, found.are_shares
    name, base = _quoted(effect.name, effect.of), _quoted(effect.baseline, effect.of)
    if one.found is None:
        return f"Over {_over(effect, found)}, {name} and {base} share no sample of which all scores are known."
    value = signed_size(one.found.difference, are_shares=are_shares)
    bounds = "" if one.low is None else f" {bounds_text(one.low, one.high, are_shares=are_shares)}"
    shown = shown_text(one, are_shares=are_shares)
    test = "" if one.adjusted_p is None else f"; {p_text(one.adjusted_p)}"
    differs = _differs(effect.name, found) if effect.of == "variant" else ""
    end = f"; its effect differs between models: {differs}." if differs else "."
    if shown == one.verdict:
        return f"Over {_over(effect, found)}, {name} is {shown} than {base}: {value}{bounds}{test}{end}"
    return f"Over {_over(effect, found)}, {name} − {base} = {value}{bounds}: {shown}{test}{end}"


def effect_lines(found: Factors) -> list[str]:
    """Return every main effect and interaction in a line, in the order of `effect_rows`."""
    main = [effect_text(one, found) for one in found.effects]
    return main + [interaction_text(one, are_shares=found.are_shares) for one in found.interactions]


def effect_row(effect: Effect, found: Factors) -> dict[str, str]:
    """Return a main effect as texts for a line of a table."""
    one, are_shares = effect.difference, found.are_shares
    value = "–" if one.found is None else signed(one.found.difference, are_shares=are_shares)
    bounds = "" if one.low is None else f" {bounds_text(one.low, one.high, are_shares=are_shares)}"
    return {
        "main_effect": f"{effect.name} − {effect.baseline}",
        "over": _over(effect, found),
        "difference": value + bounds,
        "verdict": shown_text(one, are_shares=are_shares)
        + ("" if one.adjusted_p is None else f"; {p_text(one.adjusted_p)}"),
    }


def factors_object(found: Factors | None) -> dict[str, Any] | None:
    """Return a grid as plain values, with its sentences."""
    if found is None:
        return None
    return {
        "says": factors_text(found),
        "models": found.models,
        "variants": found.variants,
        "grid": grid_rows(found),
        "effects": [row | {"says": text} for row, text in zip(effect_rows(found), effect_lines(found), strict=True)],
    }


def interaction_text(one: Interaction, *, are_shares: bool) -> str:
    """Return how far the effect of a variant on one model is from that on the others, in a line."""
    place = f"“{one.variant}” − “{one.baseline}” on {one.model} beside {_others(one)}"
    if one.difference.found is None:
        return f"{place}: not comparable."
    value = signed_size(one.difference.found.difference, are_shares=are_shares)
    bounds = bounds_text(one.difference.low, one.difference.high, are_shares=are_shares)
    p_value = "" if one.difference.adjusted_p is None else f"; {p_text(one.difference.adjusted_p)}"
    says = {"better": "more", "worse": "less"}.get(one.difference.verdict, "no difference shown")
    if one.difference.verdict == "open":
        says = "open: it depends on unknown answers"
    return f"{place}: {value} {bounds}: {says}{p_value}."


def cell_text(side: ModelResult | None, cell: tuple[str, str], found: Factors) -> str:
    """Return a combination as a grid has it: `0.844 [0.720, 0.930] best`."""
    if side is None:
        return "not compared"
    mean = "" if side.interval is None else with_bounds(side.interval)
    return " ".join(filter(None, (mean, cell_mark(side, cell, found))))


def cell_mark(side: ModelResult, cell: tuple[str, str], found: Factors) -> str:
    """Return what is said beside a mean, or in place of one: that it is the best, is not ranked, or is not scored."""
    if side.interval is None:
        return "not scored"
    if not found.is_ranked(side):
        return "not ranked"
    return "best" if cell in found.best else ""


def _strength(effect: Effect) -> tuple[bool, float, float]:
    one = effect.difference
    size_ = 0.0 if one.found is None else abs(one.found.difference)
    return one.verdict not in _SHOWN, 1.0 if one.adjusted_p is None else one.adjusted_p, -size_


def _stated(strongest: Effect, found: Factors) -> Effect | None:
    """Return the effect of a factor that a sentence states: one that is shown, the only one, or an open one; None: none is."""
    every = found.of(strongest.of)
    if strongest.difference.verdict in _SHOWN or len(every) == 1:
        return strongest
    return next((one for one in every if one.difference.verdict == "open"), None)


def _none_shown(strongest: Effect, found: Factors) -> str:
    """Return that none of several effects of a factor is shown, and what could have been."""
    every = found.of(strongest.of)
    reaches = [one.difference.detectable for one in every if one.difference.detectable is not None]
    could = (
        f" (could have shown ±{size(max(reaches), are_shares=found.are_shares)})" if len(reaches) == len(every) else ""
    )
    base = _quoted(strongest.baseline, strongest.of)
    return f"Over {_over(strongest, found)}, no {strongest.of} is shown to differ from {base}{could}."


def _over(effect: Effect, found: Factors) -> str:
    """Return over what an effect is the mean: `all 4 models`."""
    factor: Factor = "model" if effect.of == "variant" else "variant"
    every = found.levels(factor)
    if len(effect.over) < len(every):
        return f"{len(effect.over)} of {plural(len(every), factor)}"
    return f"both {factor}s" if len(every) == 2 else f"all {plural(len(every), factor)}"


def _quoted(name: str, factor: Factor) -> str:
    return f"“{name}”" if factor == "variant" else name


def _differs(variant: str, found: Factors) -> str:
    """Return on which models a test shows that a variant does something else than on the others; empty where on none."""
    return words([_apart(one, are_shares=found.are_shares) for one in found.shown_interactions(variant)])


def _apart(one: Interaction, *, are_shares: bool) -> str:
    """Return a shown interaction: `on Mini it is 12.3 points less than on the others (p = .003)`."""
    found = one.difference.found
    assert found is not None
    assert one.difference.adjusted_p is not None
    more = "more" if found.difference > 0 else "less"
    reach = size(abs(found.difference), are_shares=are_shares)
    return f"on {one.model} it is {reach} {more} than on {_others(one)} ({p_text(one.difference.adjusted_p)})"


def _others(one: Interaction) -> str:
    return one.others[0] if len(one.others) == 1 else "the others"


def _by_model(variant: str, found: Factors) -> str:
    """Return what a variant does to each model, as the test of the two combinations shows it."""
    verdicts = {one.model: one.difference.verdict for one in found.model_effects if one.variant == variant}
    by_verdict = {
        verdict: [model for model, own in verdicts.items() if own == verdict] for verdict in verdicts.values()
    }
    does = [
        f"{verb} {words(by_verdict[verdict])}"
        for verdict, verb in (("better", "helps"), ("worse", "harms"))
        if verdict in by_verdict
    ]
    undecided = [model for verdict in ("none shown", "too few") for model in by_verdict.get(verdict, [])]
    unknown = [model for verdict in ("open", "not comparable") for model in by_verdict.get(verdict, [])]
    if not does and not unknown:
        return "No model alone shows a difference."
    parts = [f"it {words(does)}"] if does else []
    parts += [f"for {words(undecided)} alone no difference is shown"] if undecided else []
    parts += [f"for {words(unknown)} alone it depends on unknown answers"] if unknown else []
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."
