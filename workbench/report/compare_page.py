"""The page of a comparison: what is shown, how sure, and the samples behind it."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import msgspec

import workbench.display.text as people
from workbench.allowance.weights import weighing_of
from workbench.evaluation.choices import choice_of
from workbench.evaluation.comparison import (
    Comparison,
    ComparisonInput,
    ComparisonRequest,
    compare_sides,
    is_baseline,
    load_input,
    with_each_baseline,
)
from workbench.evaluation.ongoing import reading_with_ongoing
from workbench.evaluation.references import LABEL_CHARS, floor_of
from workbench.evaluation.side_by_side import SampleAnswer, SampleGroup, Texts, samples_by_kind, texts_of
from workbench.evaluation.sides import Difference, ModelResult, why_unscored
from workbench.evaluation.slices import Slice
from workbench.ledger.queries import Reader
from workbench.ledger.score_rows import SideSample
from workbench.ledger.store import Ledger
from workbench.report import charts
from workbench.report.build import (
    Draft,
    Page,
    PageContext,
    PageHead,
    SingleFile,
    packed_json,
    page_context,
    take_rights_of,
    write_html,
)
from workbench.report.drawing import Chart, Colours, drawn
from workbench.wording.choices import choice_text
from workbench.wording.comparisons import (
    agreement_lines,
    differs_text,
    headline,
    largest_first,
    prompts_text,
    shown_text,
    side_name,
    unchanged_text,
    verdict_text,
    warnings,
)
from workbench.wording.factors import cell_mark, effect_row, factors_text
from workbench.wording.references import exceeded_text, floor_text, reference_name
from workbench.wording.rubrics import judged_twice_text, verdict_row
from workbench.wording.scores import interval_text, mean_text, per_right_text, signed

MOST_BASELINES = 6
"""With more sides than this the page has one baseline, the one that was asked for."""
_MOST_ACROSS = 6
"""With more sides than this, parts of the dataset have a row per side, as no paper is wide enough for a column each."""
_RARE = ("cut_off", "refused", "fallbacks", "unread")
"""Counts of answers that are a column where any side has some."""
_MOST_DIFFERING = 3
"""What differs between runs that stands open above the table."""
_MOST_VERDICTS = 500
"""Answers with two verdicts that the page lists of each two rubrics."""
_NAMED = 3  # runs in the name of the page's file
_MOST_LINES = 3
"""Of the differences in words above the table."""
_MARKS = {"right": "ok", "wrong": "failed", "partly": "wasted", "unknown": "unknown"}
"""How the page marks a score."""
MOST_APART = 50
"""Samples of each kind and difference that the page holds."""
FIRST_SAMPLES = 10
"""Of those, what a reader without scripts sees of the first kinds."""
_FIRST: tuple[SampleGroup, ...] = ("worse", "better")
_Keys = dict[SampleGroup, list[str]]
_TEXTS: dict[str, Any] = {
    "cell_mark": cell_mark,
    "exceeded_text": exceeded_text,
    "mean_text": mean_text,
    "per_right_text": per_right_text,
    "reference_name": reference_name,
    "judged_twice_text": judged_twice_text,
    "verdict_row": verdict_row,
}
"""What the template says of values itself."""


def compare_page(
    ledger: Ledger, wanted: ComparisonRequest, folder: Path, pages: Sequence[Page], single: SingleFile | None = None
) -> tuple[Comparison, Draft]:
    """Compare, and draft the page that shows it.

    Args:
        folder: For pages; made if it is not there.
        single: How the page is written as one file to send; None: beside the others.

    Returns:
        The comparison, and its page, still to be written: whoever waits for the figures need not wait for a disk.
    """
    with reading_with_ongoing(ledger) as read:
        reader, asked = read[0], page_context(ledger, folder, read, single=single)
        material = load_input(reader, wanted, weighing_of(asked.allowance, asked.zone))
        found = compare_sides(material, wanted)
        every = [found] if len(material.baselines) > MOST_BASELINES else with_each_baseline(material, found, wanted.by)
        samples = compared_samples(reader, material, every, has_texts=asked.has_texts)
    if not asked.has_texts:
        found, *every = (
            msgspec.structs.replace(one, references=[point.without_text() for point in one.references])
            for one in (found, *every)
        )
    runs = found.runs
    keys = dict.fromkeys(run.key_fingerprint for run in runs)
    head = PageHead(
        "compare", " against ".join(dict.fromkeys(run.job for run in reversed(runs))) + ": comparison", runs[0].endpoint,
        ", ".join(keys), any(run.simulated for run in runs), min(run.started_at for run in runs),
        max(run.ended_at or run.started_at for run in runs), asked.as_of,
    )  # fmt: skip
    texts = [_texts_by_place(one) for one in every]
    chosen = every.index(found)
    content = _TEXTS | {name: any(getattr(side, name) for side in found.sides) for name in _RARE}
    content |= {
        "comparison": found,
        "baselines": [one.baseline for one in every],
        "chosen": chosen,
        "texts": texts[chosen],
        "names": [side_name(side, found) for side in found.sides],
        "runs": runs,
        "linked": {run.run_id for run in runs if single is None and (folder / f"{run.run_id}.html").is_file()},
        "charts": _charts(every, chosen, asked.colours),
        "unscored": [_unscored(material.samples[side.key]) for side in found.sides],
        "slices": _by_column(found.slices, has_texts=asked.has_texts),
        "most_across": _MOST_ACROSS,
        "most_differing": _MOST_DIFFERING,
        "most_verdicts": _MOST_VERDICTS,
        "first": samples.first(chosen) if asked.has_texts else (),
        "has_texts": asked.has_texts,
        "index": packed_json({"texts": texts} | samples.index),
        "prompts": prompts_text(found),
        "differs": differs_text(found),
        "unchanged": unchanged_text(found),
        "warnings": warnings(found, said=True),
        "floor": floor_text(floor_of(found.references)),
    }
    kind = "compare" if single is None else "compare.single"
    name = f"{_name([run.run_id for run in runs])}.{kind}.html"
    return found, partial(_written, asked, name, head, pages, content)


def _written(asked: PageContext, name: str, head: PageHead, pages: Sequence[Page], content: dict[str, Any]) -> Path:
    path = write_html(asked, name, head, pages, content)
    take_rights_of(asked.folder)
    return path


def _unscored(rows: Sequence[SideSample]) -> str:
    """Return why samples of a side have no score, with how many."""
    reasons = Counter(why_unscored(row) for row in rows if row.of_scored is None)
    return ", ".join(f"{reason}: {people.count(number)}" for reason, number in reasons.most_common())


def _by_column(slices: Sequence[Slice], *, has_texts: bool) -> list[tuple[str, list[tuple[int, Slice]]]]:
    """Return each column with its slices and their places among all; without texts none whose values are texts."""
    columns: dict[str, list[tuple[int, Slice]]] = {}
    for place, part in enumerate(slices):
        columns.setdefault(part.column, []).append((place, part))
    are_texts = {column for column, parts in columns.items() if any(len(part.value) > LABEL_CHARS for _, part in parts)}
    return [found for found in columns.items() if has_texts or found[0] not in are_texts]


def _name(run_ids: Sequence[str]) -> str:
    """Of the page's file, which must not grow with the runs."""
    if len(run_ids) <= _NAMED:
        return ".".join(run_ids)
    digest = hashlib.sha256(".".join(run_ids).encode()).hexdigest()[:8]
    return f"{run_ids[0]}.{run_ids[-1]}.{len(run_ids)}-runs-{digest}"


def _charts(every: Sequence[Comparison], chosen: int, colours: Colours) -> list[Chart]:
    found = every[chosen]
    factor = 100 if found.are_shares else 1
    margin = None if found.margin is None else factor * found.margin
    forest = [
        {
            "model": side_name(one.side, found), "of": one.side.model, "difference": factor * one.found.difference,
            "low": factor * low, "high": factor * high, "baseline": place,
        }
        for place, comparison in enumerate(every)
        for one in comparison.differences
        # with a margin the interval that it is held against: the other one may end before it where nothing is shown
        for low, high in [(one.low, one.high) if margin is None else (one.low_of_all, one.high_of_all)]
        if one.found is not None and low is not None and high is not None
    ]  # fmt: skip
    charts_found: list[Chart] = []
    if any(row["baseline"] == chosen for row in forest):
        unit = "points" if found.are_shares else "score"
        note = "Each line holds the differences that the samples do not rule out, adjusted for all that are compared."
        if margin is not None:
            note += " A model whose line lies to the right of the left upright line is within the margin."
        drawn_names = {row["model"] for row in forest}
        names = [name for side in found.sides if (name := side_name(side, found)) in drawn_names]
        drawing = charts.difference_chart(forest, names, chosen, unit, colours, margin)
        charts_found.append(drawn("differences", "How far is each from its baseline?", drawing, None, note))
    charts_found += _cost_chart(found, colours)
    return charts_found


def _cost_chart(found: Comparison, colours: Colours) -> list[Chart]:
    """Return quality over what an answer costs: in units where they are known of every side, or else in tokens."""
    sides = [side for side in found.sides if side.interval is not None and side.completion_tokens]
    if len(sides) < 2:
        return []
    weighed = [found.units_per_right.get(side.key) for side in sides]
    known = [one for one in weighed if one is not None and one.high is not None]
    if len(known) == len(sides):
        cost = f"{found.unit} a right answer", f"{found.unit}, logarithmic"
        costs = [_measured("cost", one.amount, (one.low, one.high or one.amount)) for one in known]
    else:
        cost = "completion tokens an answer", "completion tokens, logarithmic"
        costs = [_measured("cost", side.completion_tokens, side.tokens_bounds) for side in sides]
    rows = [
        {
            "model": side_name(side, found), "of": side.model, "mean": side.interval.centre, "low": side.interval.low,
            "high": side.interval.high, **own, **_measured("p50", side.p50_ms, side.p50_bounds_ms, 1000),
        }
        for side, own in zip(sides, costs, strict=True)
        if side.interval is not None
    ]  # fmt: skip
    drawing = charts.cost_chart(rows, cost, colours)
    note = "Both with their 95 % intervals: higher is better, further left is cheaper, or faster."
    silent = [side_name(side, found) for side in found.sides if side.interval is not None and side not in sides]
    if silent:
        note += f" Without a place, as their answers report no usage: {people.visible(people.words(silent))}."
    return [drawn("cost", "What does a better answer cost?", drawing, None, note)]


def _measured(name: str, value: float | None, bounds: tuple[float, float] | None, a: float = 1) -> dict[str, float]:
    """Return a figure with its interval, in other units."""
    low, high = bounds or (value or 0, value or 0)
    return {name: (value or 0) / a, f"{name}_low": low / a, f"{name}_high": high / a}


def _texts_by_place(found: Comparison) -> dict[str, str]:
    """Return every text that depends on the baseline.

    Returns:
        Place -> text, safe to show: `line0` and on, the first differences in words; `more`, how many there are beyond;
        `choice`, what there is to choose from; and of side 0 and on `value0`, `interval0`, `shown0`, `counts0`, `shared0`,
        and of slice 0 and on `slice0.value0` and `slice0.shown0`; `agreement0` and on, how far sides agree with the targets
        beyond chance; `factors`, the main effects in words, and of each `effect0.main_effect`, `effect0.over`,
        `effect0.difference` and `effect0.verdict`.
    """
    texts = {f"line{place}": "" for place in range(_MOST_LINES)}
    shown = largest_first(found.changed)
    texts |= {f"line{place}": headline(one, found) for place, one in enumerate(shown[:_MOST_LINES])}
    beyond = len(shown) - _MOST_LINES
    choice = choice_of(found)
    texts["choice"] = "" if choice is None else choice_text(choice, found)
    texts["factors"] = factors_text(found.factors)
    texts |= _of_effects(found)
    texts["more"] = f"{people.plural(beyond, 'more difference')} in the table below." if beyond > 0 else ""
    beside = {one.side.key: one for one in found.differences}
    for place, side in enumerate(found.sides):
        texts |= _of_side(place, side, beside.get(side.key), found)
    lines = agreement_lines(found)
    texts |= {f"agreement{place}": (lines[place : place + 1] or [""])[0] for place in range(len(found.sides))}
    for number, part in enumerate(found.slices):
        within = {one.side.key: one for one in part.differences}
        for place, side in enumerate(found.sides):
            one = within.get(side.key)
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


class ComparedSamples(msgspec.Struct, frozen=True):
    """What the page holds of samples."""

    index: dict[str, Any]
    """For the page's script: `sides`, `samples`, the `answers` of each side by sample, and the `pairs` of each baseline."""
    every: list[list[tuple[Difference, _Keys]]]
    """By baseline."""
    names: dict[tuple[str, str], str]
    texts: Texts

    def first(self, baseline: int) -> Iterator[dict[str, Any]]:
        """Return the first samples of each difference from a baseline, as the template shows them without scripts."""
        for one, keys in self.every[baseline]:
            sides = [side.key for side in (one.baseline, one.side)]
            listed = [(kind, key) for kind in _FIRST for key in keys[kind][:FIRST_SAMPLES] if key in self.texts.samples]
            yield {
                "names": [self.names[side] for side in reversed(sides)],
                "counts": {kind: len(found) for kind, found in keys.items()},
                "samples": [
                    (kind, self.texts.samples[key], [(self.names[side], self._answers(side, key)) for side in sides])
                    for kind, key in listed
                ],
            }

    def _answers(self, side: tuple[str, str], key: str) -> list[SampleAnswer]:
        return self.texts.answers.get((*side, key), [])


def compared_samples(
    reader: Reader, material: ComparisonInput, every: Sequence[Comparison], *, has_texts: bool = True
) -> ComparedSamples:
    """Read the samples of every difference.

    Args:
        every: The comparison with each baseline.
        has_texts: Whether their prompts and answers are wanted: without them there is nothing to list.
    """
    pairs = [[(one, samples_by_kind(one, material.samples)) for one in found.differences] for found in every]
    most = MOST_APART if has_texts else 0
    wanted = dict.fromkeys(
        key for found in pairs for _, kinds in found for keys in kinds.values() for key in keys[:most]
    )
    texts = texts_of(reader, material, wanted)
    place = {key: number for number, key in enumerate(texts.samples)}
    sides = {side.key: number for number, side in enumerate(material.sides)}
    index = {
        "kinds": get_args(SampleGroup),
        "sides": [people.visible(side_name(side, every[0])) for side in material.sides],
        "samples": [[people.visible(text) for text in msgspec.structs.astuple(one)] for one in texts.samples.values()],
        "answers": _answers(texts, place, sides),
        "pairs": [
            [
                {
                    "side": sides[one.side.key],
                    "baseline": sides[one.baseline.key],
                    "counts": [len(keys) for keys in kinds.values()],
                    "listed": [[place[key] for key in keys[:most] if key in place] for keys in kinds.values()],
                }
                for one, kinds in found
            ]
            for found in pairs
        ],
    }
    names = {side.key: side_name(side, every[0]) for side in material.sides}
    return ComparedSamples(index, pairs, names, texts)


def _answers(
    texts: Texts, place: dict[str, int], sides: dict[tuple[str, str], int]
) -> list[dict[int, list[tuple[int, str, str, str, str]]]]:
    """Of each side: sample -> epoch, text, kind of score, score and reason of each answer."""
    answers: list[dict[int, list[tuple[int, str, str, str, str]]]] = [{} for _ in sides]
    for (run_id, model, key), found in texts.answers.items():
        if key in place and (run_id, model) in sides:
            answers[sides[run_id, model]][place[key]] = [
                (one.epoch, people.visible(one.text), _MARKS[one.grade], score_text(one), people.visible(one.reason))
                for one in found
            ]
    return answers


def score_text(one: SampleAnswer) -> str:
    """Return a score in words."""
    return "unscored" if one.value is None else people.significant(one.value)
