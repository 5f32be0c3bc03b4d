"""The figures of one run, each the result of a named query; intervals are computed from those."""

from typing import Any

import msgspec

from workbench.errors import Fault, InputError, nearest
from workbench.ledger.queries import Reader, Row
from workbench.stats.intervals import Interval, mean_interval

ROUTE_FIGURES = ("run_outcomes", "run_items_by_model", "run_tokens", "run_served", "run_latency")


class RunFigures(msgspec.Struct, frozen=True):
    """Everything a page or a command says of a run, query by query."""

    summary: Row
    provenance: Row
    tables: dict[str, list[Row]]
    """By query name; see `ROUTE_FIGURES`."""
    scores: list[tuple[Row, Interval | None]]
    """`run_scores` rows with the interval of the mean; None where nothing is scored."""
    shared_scores: list[tuple[Row, Interval]]
    """`run_shared_scores` rows with the interval of the mean: only these means compare."""


def run_figures(reader: Reader, run_id: str) -> RunFigures:
    """Ask every query of a run's figures.

    Raises:
        InputError: There is no such run.
    """
    provenance = reader.rows("run_provenance", run_id=run_id)
    if not provenance:
        known = [row["run_id"] for row in reader.rows("runs", most=1000, run_ids=None)]
        hint = nearest(run_id, known) or ("`workbench runs` lists them" if known else "no run is recorded here yet")
        raise InputError(Fault("", f"there is no run {run_id!r} in this ledger", hint))
    values: dict[tuple[str, str], list[float]] = {}
    for row in reader.stream("run_score_values", run_id=run_id):
        values.setdefault((row["model"], row["scorer"]), []).append(row["value"])
    scores = [
        (row, mean_interval(values[row["model"], row["scorer"]]) if row["scored"] else None)
        for row in reader.rows("run_scores", run_id=run_id)
    ]
    shared = [(row, mean_interval(row["values"])) for row in reader.rows("run_shared_scores", run_id=run_id)]
    tables = {name: reader.rows(name, run_id=run_id) for name in ROUTE_FIGURES}
    return RunFigures(reader.row("run_summary", run_id=run_id), provenance[0], tables, scores, shared)


def run_object(figures: RunFigures, ledger: str, report: str | None) -> dict[str, Any]:
    """The object that `run --json` printed, from the ledger: `planned = reused + completed + failed + pending`.

    Args:
        figures: The run's.
        ledger: Its path.
        report: The page's absolute path, or None without one.
    """
    summary, provenance = figures.summary, figures.provenance
    outcomes: dict[str, int] = {}
    for row in figures.tables["run_outcomes"]:
        outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + row["calls"]
    served: dict[str, int] = {}
    for row in figures.tables["run_served"]:
        name = row["served_model"] or "unknown"
        served[name] = served.get(name, 0) + row["answers"]
    counts = ("planned", "reused", "completed", "failed", "pending")
    tokens = ("prompt_tokens", "completion_tokens", "total_tokens", "calls_without_usage")
    return {
        "run_id": provenance["run_id"],
        "job": provenance["job"],
        "status": provenance["status"] or "incomplete",
        "reason": provenance["reason"],
        **{name: summary[name] for name in counts},
        "outcomes": outcomes,
        "usage": {name: summary[name] for name in tokens},
        "served_models": served,
        "duration_s": provenance["duration_s"],
        "ledger": ledger,
        "report": report,
    }
