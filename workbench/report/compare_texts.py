"""What a comparison's page says differently of each baseline, as texts by their places in the page."""

import workbench.display.text as people
from workbench.evaluation.choices import choice_of
from workbench.evaluation.comparison import Comparison, is_baseline
from workbench.evaluation.sides import Difference, ModelResult
from workbench.wording.choices import choice_text
from workbench.wording.comparisons import agreement_lines, headline, largest_first, shown_text, side_name, verdict_text
from workbench.wording.factors import effect_row, factors_text
from workbench.wording.scores import interval_text, signed

MOST_LINES = 3


def texts_by_place(found: Comparison) -> dict[str, str]:
    """Return every text that depends on the baseline.

    Returns:
        Place -> text, safe to show: `line0` and on, the first differences in words; `more`, how many there are beyond;
        `choice`, what there is to choose from; and of side 0 and on `value0`, `interval0`, `shown0`, `counts0`, `shared0`,
        and of slice 0 and on `slice0.value0` and `slice0.shown0`; `agreement0` and on, how far sides agree with the targets
        beyond chance; `factors`, the main effects in words, and of each `effect0.main_effect`, `effect0.over`,
        `effect0.difference` and `effect0.verdict`.
    """
    texts = {f"line{place}": "" for place in range(MOST_LINES)}
    shown = largest_first(found.changed)
    texts |= {f"line{place}": headline(one, found) for place, one in enumerate(shown[:MOST_LINES])}
    beyond = len(shown) - MOST_LINES
    choice = choice_of(found)
    texts["choice"] = "" if choice is None else choice_text(choice, found)
    texts["factors"] = factors_text(found.factors)
    texts |= _of_effects(found)
    texts["more"] = f"{people.plural(beyond, 'more difference')} in the table below." if beyond > 0 else ""
    beside = {(one.side.run_id, one.side.model): one for one in found.differences}
    for place, side in enumerate(found.sides):
        texts |= _of_side(place, side, beside.get((side.run_id, side.model)), found)
    lines = agreement_lines(found)
    texts |= {f"agreement{place}": (lines[place : place + 1] or [""])[0] for place in range(len(found.sides))}
    for number, part in enumerate(found.slices):
        within = {(one.side.run_id, one.side.model): one for one in part.differences}
        for place, side in enumerate(found.sides):
            one = within.get((side.run_id, side.model))
            texts[f"slice{number}.value{place}"], texts[f"slice{number}.shown{place}"] = _of_slice(one, found)
    return {place: people.visible(text) for place, text in texts.items()}


def _of_effects(found: Comparison) -> dict[str, str]:
    """Return the lines of the main effects; where a baseline has fewer, the last ones are empty."""
    if found.factors is None:
        return {}
    rows = [effect_row(one, found.factors) for one in found.factors.effects]
    empty = dict.fromkeys(("main_effect", "over", "difference", "verdict"), "")
    rows += [empty] * (found.factors.most_effects - len(rows))
    return {f"effect{place}.{name}": text for place, row in enumerate(rows) for name, text in row.items()}


def _of_side(place: int, side: ModelResult, one: Difference | None, found: Comparison) -> dict[str, str]:
    if one is None:
        shown = "baseline" if is_baseline(side, found) else "not compared"
        return {
            f"value{place}": "–",
            f"interval{place}": "",
            f"shown{place}": shown,
            f"counts{place}": "",
            f"shared{place}": "",
        }
    pair = one.found
    shared = people.count(one.shared)
    if len(found.runs) == 1 or one.only_side or one.only_baseline:
        shared += f" with {side_name(one.baseline, found)}"
    return {
        f"value{place}": "–" if pair is None else signed(pair.difference, are_shares=found.are_shares),
        f"interval{place}": "" if pair is None else interval_text(one, are_shares=found.are_shares),
        f"shown{place}": verdict_text(one, found),
        f"counts{place}": "" if pair is None else f"{pair.better} better, {pair.worse} worse, {pair.same} same",
        f"shared{place}": shared,
    }


def _of_slice(one: Difference | None, found: Comparison) -> tuple[str, str]:
    if one is None or one.found is None:
        return "", ""
    value = signed(one.found.difference, are_shares=found.are_shares)
    return f"{value} {interval_text(one, are_shares=found.are_shares)}", shown_text(one, are_shares=found.are_shares)
