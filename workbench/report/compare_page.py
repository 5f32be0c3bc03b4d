"""The page of a comparison: what is shown, how sure, and the samples behind it."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import workbench.display.text as people
from workbench.allowance.weights import weighing_of
from workbench.errors import InputError
from workbench.evaluation.comparison import (
    Comparison,
    ComparisonInput,
    ComparisonRequest,
    against,
    compare_sides,
    load_input,
)
from workbench.evaluation.references import floor_of
from workbench.evaluation.sides import why_unscored
from workbench.evaluation.slices import Slice
from workbench.ledger.score_rows import SideSample
from workbench.ledger.store import Ledger
from workbench.report import charts
from workbench.report.build import (
    Draft,
    Page,
    PageContext,
    PageHead,
    SingleFile,
    asked_of,
    packed_json,
    take_rights_of,
    write_html,
)
from workbench.report.compare_samples import compared_samples
from workbench.report.compare_texts import texts_by_place
from workbench.report.drawing import Chart, Colours, drawn
from workbench.wording.comparisons import differs_text, prompts_text, side_name, unchanged_text, warnings
from workbench.wording.factors import cell_mark
from workbench.wording.references import exceeded_text, floor_text, reference_name
from workbench.wording.rubrics import judged_twice_text, verdict_row
from workbench.wording.scores import mean_text, per_right_text

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
_NAME_CHARS = 24
"""A longer value of a column is a text, and not the name of a part of the dataset."""
_NAMED = 3  # runs in the name of the page's file
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
    with asked_of(ledger, folder, single=single) as asked:
        material = load_input(asked.reader, wanted, weighing_of(asked.allowance, asked.zone))
        found = compare_sides(material, wanted)
        every = _every_baseline(material, found, wanted.by)
        samples = compared_samples(asked.reader, material, every, has_texts=asked.has_texts)
    runs = found.runs
    keys = dict.fromkeys(run.key_fingerprint for run in runs)
    frame = PageHead(
        "compare", " against ".join(dict.fromkeys(run.job for run in reversed(runs))) + ": comparison", runs[0].endpoint,
        ", ".join(keys), any(run.simulated for run in runs), min(run.started_at for run in runs),
        max(run.ended_at or run.started_at for run in runs), asked.as_of,
    )  # fmt: skip
    texts = [texts_by_place(one) for one in every]
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
        "unscored": [_unscored(material.samples[side.run_id, side.model]) for side in found.sides],
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
    return found, partial(_written, asked, name, frame, pages, content)


def _written(asked: PageContext, name: str, frame: PageHead, pages: Sequence[Page], content: dict[str, Any]) -> Path:
    path = write_html(asked, name, frame, pages, content)
    take_rights_of(asked.folder)
    return path


def _every_baseline(material: ComparisonInput, found: Comparison, by: str | None) -> list[Comparison]:
    """Return the comparison with each baseline that there can be, the one that was asked for among them."""
    if len(material.baselines) > MOST_BASELINES:
        return [found]
    every = []
    for baseline in material.baselines:
        try:
            every.append(found if baseline == found.baseline else against(material, baseline, by=by))
        except InputError:  # a run that shares no model with the others
            continue
    return every


def _unscored(rows: Sequence[SideSample]) -> str:
    """Return why samples of a side have no score, with how many."""
    reasons = Counter(why_unscored(row) for row in rows if row.of_scored is None)
    return ", ".join(f"{reason}: {people.count(number)}" for reason, number in reasons.most_common())


def _by_column(slices: Sequence[Slice], *, has_texts: bool) -> list[tuple[str, list[tuple[int, Slice]]]]:
    """Return each column with its slices and their places among all; without texts none whose values are texts."""
    columns: dict[str, list[tuple[int, Slice]]] = {}
    for place, part in enumerate(slices):
        columns.setdefault(part.column, []).append((place, part))
    are_texts = {column for column, parts in columns.items() if any(len(part.value) > _NAME_CHARS for _, part in parts)}
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
        names = [side_name(side, found) for side in found.sides]
        drawing = charts.difference_chart(
            forest, [name for name in names if _is_in(name, forest)], chosen, unit, colours, margin
        )
        charts_found.append(drawn("differences", "How far is each from its baseline?", drawing, None, note))
    charts_found += _cost_chart(found, colours)
    return charts_found


def _cost_chart(found: Comparison, colours: Colours) -> list[Chart]:
    """Return quality over what an answer costs: in units where they are known of every side, or else in tokens."""
    sides = [side for side in found.sides if side.interval is not None and side.completion_tokens]
    if len(sides) < 2:
        return []
    weighed = [found.units_per_right.get((side.run_id, side.model)) for side in sides]
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
    return [drawn("cost", "What does a better answer cost?", drawing, None, note)]


def _measured(name: str, value: float | None, bounds: tuple[float, float] | None, a: float = 1) -> dict[str, float]:
    """Return a figure with its interval, in other units."""
    low, high = bounds or (value or 0, value or 0)
    return {name: (value or 0) / a, f"{name}_low": low / a, f"{name}_high": high / a}


def _is_in(name: str, rows: Sequence[dict[str, Any]]) -> bool:
    return any(row["model"] == name for row in rows)
