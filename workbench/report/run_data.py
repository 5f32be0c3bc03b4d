"""The table of a run's models: its rows on the page, and as files that the page holds itself, with exact values and
saved without a script or a server.
"""

import base64
import csv
import io
from collections.abc import Sequence
from typing import Any

import msgspec

import workbench.display.text as people
from workbench.evaluation.exports import json_line, safe_for_a_spreadsheet
from workbench.evaluation.failures import CUT_OFF, PENDING, REFUSED, failures_by_model, planned_by_model
from workbench.evaluation.ranking import Ranking
from workbench.evaluation.run_figures import RunFigures
from workbench.evaluation.sides import ModelResult
from workbench.stats.intervals import Interval
from workbench.wording.runs import behind_texts, rank_text


class ModelRow(msgspec.Struct, frozen=True):
    """A row of the table: a model, or a model with its variant."""

    model: str
    side: ModelResult | None
    """What it scored; None: it was never asked."""
    is_ranked: bool
    behind: tuple[str, str] | None
    """The best: by how much, and the interval of that."""
    shown: str
    """What a test shows beside the best."""
    planned: int
    unanswered: int
    mark: str
    """How these are drawn: `unknown` where they may still come, else `failed`."""
    why: str
    answered: int
    cut_off: int
    refused: int
    fallbacks: int
    others: dict[str, Interval | None]
    """Scorer -> mean by it."""


class TableFile(msgspec.Struct, frozen=True):
    """A file that a page holds."""

    kind: str
    """`CSV` or `JSONL`."""
    name: str
    href: str
    """Its content, as a `data:` address."""


def model_rows(figures: RunFigures) -> list[ModelRow]:
    """Return a row per model, the best first; those that were never asked last."""
    found, asked = failures_by_model(figures), {row.model: row for row in figures.items}
    sides = {side.model: side for side in figures.standing.sides}
    means = {(row.model, row.scorer): interval for row, interval in figures.scores}
    planned = planned_by_model(figures)
    ranked = sides.keys() - {side.model for side in figures.standing.unranked}
    rows = []
    for model in [*sides, *(model for model in planned if model not in sides)]:
        failed = {
            group: number
            for group, number in found.get(model, {}).items()
            if number and group not in (CUT_OFF, REFUSED)
        }
        row = asked.get(model)
        rows.append(
            ModelRow(
                model=model,
                side=sides.get(model),
                is_ranked=model in ranked,
                behind=behind_texts(figures.standing, model),
                shown=rank_text(figures.standing, model),
                planned=planned[model],
                unanswered=sum(failed.values()),
                mark="unknown" if set(failed) <= {PENDING} else "failed",
                why=", ".join(f"{people.count(number)} {group}" for group, number in failed.items()),
                answered=row.answered if row else 0,
                cut_off=row.cut_off if row else 0,
                refused=row.refused if row else 0,
                fallbacks=row.fallbacks if row else 0,
                others={scorer: means[model, scorer] for of, scorer in means if of == model},
            )
        )
    return rows


def model_files(run_id: str, rows: Sequence[dict[str, Any]]) -> list[TableFile]:
    """Return rows as CSV and as JSON Lines.

    Args:
        run_id: In the names of the files.
        rows: Flat, and all with the same columns.
    """
    if not rows:
        return []
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    for row in [{name: name for name in rows[0]}, *rows]:
        writer.writerow({name: safe_for_a_spreadsheet(value) for name, value in row.items()})
    lines = b"".join(map(json_line, rows))
    return [
        TableFile("CSV", f"{run_id}.models.csv", _address("text/csv", text.getvalue().encode())),
        TableFile("JSONL", f"{run_id}.models.jsonl", _address("application/jsonl", lines)),
    ]


def _address(media: str, content: bytes) -> str:
    return f"data:{media};charset=utf-8;base64,{base64.b64encode(content).decode('ascii')}"


def model_data(run_id: str, standing: Ranking, rows: Sequence[ModelRow], others: Sequence[str]) -> list[dict[str, Any]]:
    """Return the table of a run's models as flat rows: what the page rounds or says in words is here as it is.

    Args:
        others: The scorers after the first.
    """
    return [_flat(run_id, standing, row, others) for row in rows]


def _flat(run_id: str, standing: Ranking, row: ModelRow, others: Sequence[str]) -> dict[str, Any]:
    side, beside = row.side, standing.differences.get(row.model)
    mean = None if side is None else side.interval
    found = None if beside is None else beside.found
    return {
        "run_id": run_id,
        "model": row.model,
        "scorer": standing.scorer,
        "samples": None if side is None else side.samples,
        "scored": None if side is None else side.scored,
        "mean_at_worst": None if mean is None else mean.at_worst,
        "mean_at_best": None if mean is None else mean.at_best,
        "low": None if mean is None else mean.low,
        "high": None if mean is None else mean.high,
        "mean_of_scored": None if side is None else side.mean_of_scored,
        "beside": None if beside is None else beside.baseline.model,
        "difference": None if found is None else found.difference,
        "difference_low": None if beside is None else beside.low,
        "difference_high": None if beside is None else beside.high,
        "adjusted_p": None if beside is None else beside.adjusted_p,
        "verdict": "best" if row.model in standing.leading else None if beside is None else beside.verdict,
        "planned": row.planned,
        "answered": row.answered,
        "unanswered": row.unanswered,
        "why_unanswered": row.why or None,
        "cut_off": row.cut_off,
        "refused": row.refused,
        "fallbacks": row.fallbacks,
        "completion_tokens": None if side is None else side.completion_tokens,
        "p50_ms": None if side is None else side.p50_ms,
        "p90_ms": None if side is None else side.p90_ms,
        "unread": None if side is None else side.unread,
        **{f"mean.{scorer}": _middle(row.others.get(scorer)) for scorer in others},
    }


def _middle(mean: Interval | None) -> float | None:
    return None if mean is None else mean.centre
