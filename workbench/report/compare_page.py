"""The page of a comparison: what is shown, how sure, and the samples behind it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.evaluation.comparison import Comparison, Wanted, compared, is_baseline
from workbench.evaluation.comparison_words import headline, side_name, warnings
from workbench.evaluation.difference_words import interval_text, outcome, signed
from workbench.evaluation.side_by_side import side_by_side
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.report import charts
from workbench.report.build import Page, PageHead, colours_of, render, write_page
from workbench.report.drawing import Chart, Colours, drawn

MOST_APART = 50
"""Samples of each kind that are shown for a difference."""
_MOST_LINES = 3
_NAMED = 3  # runs in the name of the page's file


def write_compare_page(ledger: Ledger, wanted: Wanted, folder: Path, pages: Sequence[Page]) -> tuple[Comparison, Path]:
    """Render a comparison and put its page into a folder, whole or not at all.

    Args:
        ledger: Where the runs are.
        wanted: What is compared.
        folder: For pages; made if it is not there.
        pages: Those that its head links.

    Returns:
        The comparison, and the page's absolute path.

    Raises:
        InputError: There is no such run, model or scorer, or nothing to compare.
    """
    with reading(ledger) as reader:
        found = compared(reader, wanted)
        apart = side_by_side(reader, found, MOST_APART)
        colours = colours_of(reader)
    runs = found.runs
    keys = dict.fromkeys(run.key_fingerprint for run in runs)
    frame = PageHead(
        "compare", " against ".join(dict.fromkeys(run.job for run in reversed(runs))) + ": comparison", runs[0].endpoint,
        ", ".join(keys), any(run.simulated for run in runs), min(run.started_at for run in runs),
        max(run.ended_at or run.started_at for run in runs),
    )  # fmt: skip
    content = {
        "comparison": found,
        "lines": _lines(found),
        "rows": _rows(found),
        "runs": runs,
        "linked": {run.run_id for run in runs if (folder / f"{run.run_id}.html").is_file()},
        "charts": _charts(found, colours),
        "apart": [
            (one, side_name(one.difference.side, found), side_name(one.difference.baseline, found)) for one in apart
        ],
        "most": MOST_APART,
        "warnings": warnings(found),
    }
    name = f"{_name([run.run_id for run in runs])}.compare.html"
    return found, write_page(folder, name, render(frame, pages, content))


def _name(run_ids: Sequence[str]) -> str:
    """Of the page's file, which must not grow with the runs."""
    if len(run_ids) <= _NAMED:
        return ".".join(run_ids)
    told = hashlib.sha256(".".join(run_ids).encode()).hexdigest()[:8]
    return f"{run_ids[0]}.{run_ids[-1]}.{len(run_ids)}-runs-{told}"


def _lines(found: Comparison) -> list[str]:
    """The first differences in words, those that are shown before the others."""
    shown = sorted(found.differences, key=lambda one: one.verdict not in ("better", "worse"))
    return [headline(one, found) for one in shown[:_MOST_LINES]]


def _rows(found: Comparison) -> list[dict[str, Any]]:
    """The sides, each beside its difference; the baselines have none."""
    beside = {(one.side.run_id, one.side.model): one for one in found.differences}
    rows = []
    for side in found.sides:
        one = beside.get((side.run_id, side.model))
        rows.append(
            {
                "side": side, "name": side_name(side, found), "difference": one,
                "is_baseline": is_baseline(side, found),
                "value": None if one is None or one.found is None else signed(one.found.difference, are_shares=found.are_shares),
                "interval": "" if one is None else interval_text(one, are_shares=found.are_shares),
                "shown": "" if one is None else outcome(one, are_shares=found.are_shares),
            }
        )  # fmt: skip
    return rows


def _charts(found: Comparison, colours: Colours) -> list[Chart]:
    factor = 100 if found.are_shares else 1
    forest = [
        {
            "model": side_name(one.side, found), "of": one.side.model, "difference": factor * one.found.difference,
            "low": factor * one.low, "high": factor * one.high, "told": outcome(one, are_shares=found.are_shares),
        }
        for one in found.differences
        if one.found is not None and one.low is not None and one.high is not None
    ]  # fmt: skip
    charts_found = []
    if forest:
        unit = "points" if found.are_shares else "score"
        note = "Each line holds the differences that the samples do not rule out, adjusted for all that are compared."
        drawing = charts.difference_chart(forest, unit, colours)
        charts_found.append(drawn("differences", "How far is each from its baseline?", drawing, None, note))
    cost = [
        {
            "model": side_name(side, found), "of": side.model, "mean": side.interval.mean, "low": side.interval.low,
            "high": side.interval.high, "tokens": side.completion_tokens,
        }
        for side in found.sides
        if side.interval is not None and side.completion_tokens
    ]  # fmt: skip
    if len(cost) > 1:
        drawing = charts.cost_chart(cost, colours)
        note = (
            "Score with its 95 % interval over the mean completion tokens: higher is better, further left is cheaper."
        )
        charts_found.append(drawn("cost", "What does a better answer cost?", drawing, None, note))
    return charts_found
