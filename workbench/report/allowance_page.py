"""The page of what we used, for what, and what is unknown."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

import workbench.settings.clock as clock
from workbench.allowance.account import AccountState, account_state
from workbench.allowance.draws import Drawn
from workbench.allowance.scheduled import demands
from workbench.allowance.weights import weights_of
from workbench.display.columns import column, columns
from workbench.ledger.usage_rows import (
    CostliestRun,
    CostliestSample,
    DailyUsage,
    Spend,
    UnknownDraw,
    UsageBy,
    UsageByTag,
    UsageTotals,
)  # fmt: skip
from workbench.report import charts
from workbench.report.allowance_charts import OTHERS, daily_chart, window_chart
from workbench.report.build import PageContext, result
from workbench.report.drawing import Chart, drawn
from workbench.report.tables import Result, Table, value_of
from workbench.report.time_charts import MOST_TOGETHER
from workbench.wording.allowance import (
    cap_row,
    demand_text,
    drawn_text,
    headline,
    missing,
    price_text,
    runs_out,
    span,
    spend_text,
    units,
)

MOST_EXPENSIVE = 20
_HATCHED = "Hatched: calls that reported no usage, each drawn as its model's others are on average."
_COSTS = columns(
    "calls", "prompt_tokens", "completion_tokens", "total_tokens", "calls_without_usage", "maybe_drawn", "open_intents"
)


_UNKNOWN = ("calls_without_usage", "maybe_drawn", "open_intents")


def allowance_page(asked: PageContext) -> Callable[[], dict[str, Any]]:
    """Ask what the page shows; returns what computes its content."""
    reader = asked.reader
    spend, unknown = result(reader, Spend), result(reader, UnknownDraw)
    always = {"since": None, "until": None}
    by: dict[str, Result[Any]] = {name: result(reader, UsageBy, by=name, **always) for name in ("model", "job", "day")}
    by["tag"] = result(reader, UsageByTag, **always)
    daily = result(reader, DailyUsage, most=MOST_TOGETHER, others=OTHERS)
    costliest_runs = result(reader, CostliestRun, most=MOST_EXPENSIVE)
    costliest_samples = result(reader, CostliestSample, most=MOST_EXPENSIVE)
    found = account_state(reader, asked.allowance, asked.zone, clock.now())
    caps = asked.caps()
    needs = demands(reader, weights_of(asked.allowance, asked.zone), found)

    def content() -> dict[str, Any]:
        there = asked.there()
        return {
            "spend": spend,
            "total": spend.rows[0],
            "verdict": spend_text(spend.rows[0], unknown.rows),
            "standing": found,
            "headline": headline(found, asked.zone),
            "runs_out": runs_out(found, asked.zone),
            "needs": [(one, demand_text(one, found.unit) if found.resets_at is not None else "–") for one in needs],
            "caps": [(one, cap_row(one, asked.zone)) for one in caps],
            "window_ends": found.resets_at is not None,
            "span": span,
            "units": units,
            "price": price_text(found, asked.allowance),
            "missing": missing(found),
            "drawn_by": _drawn_by(found),
            "by": {
                name: _by_table(name, found, asked.zone, there) for name, found in by.items() if len(found.rows) > 1
            },
            "charts": [*_window_chart(found, asked.zone), *_charts(daily, by["job"], asked, there)],
            "unknown": _unknown_table(unknown),
            "low": sum(row.low_tokens or 0 for row in unknown.rows),
            "high": sum(row.high_tokens or 0 for row in unknown.rows),
            "unpriced": [row.model for row in unknown.rows if row.high_tokens is None],
            "costliest_runs": _costliest_runs(costliest_runs, there),
            "costliest_samples": _costliest_samples(costliest_samples, there),
            "simulated": asked.period.simulated,
        }

    return content


def _window_chart(found: AccountState, zone: str) -> list[Chart]:
    drawing = window_chart(found, zone)
    if drawing is None:
        return []
    note = (
        "Blue: our own calls. Grey: what others used at least; hatched: what they may have used besides. Points: readings. "
        "Pale, to the right: what is to come, whether the pace stays or goes on changing."
    )
    return [drawn("window", "What was used in this window, and what lies ahead?", drawing, None, note)]


def _charts(
    daily: Result[DailyUsage], jobs: Result[UsageTotals], asked: PageContext, there: frozenset[str]
) -> list[Chart]:
    found = []
    if len({row.day for row in daily.rows}) > 1:
        shown = Table(
            "usage_by_day_and_model", daily, ("day", "model"),
            columns(column("day", f"day ({asked.zone})"), "model", "calls", "total_tokens", "calls_without_usage"),
        )  # fmt: skip
        found.append(
            drawn(
                "daily",
                "When did we spend, and on which model?",
                daily_chart(daily.rows, asked.colours),
                shown,
                _HATCHED if any(row.calls_without_usage for row in daily.rows) else "",
            )
        )
    if len(jobs.rows) > 1:
        whole = (msgspec.structs.replace(row, reasoning_tokens=None) for row in jobs.rows)
        rows = sorted(whole, key=lambda row: -(row.total_tokens or 0))
        parts = {"prompt": "var(--m8)", "completion, reasoning included": "var(--m0)"}
        drawing = charts.token_chart(rows, parts, "name")
        found.append(drawn("jobs", "Which job spent most?", drawing, _by_table("job", jobs, asked.zone, there)))
    return found


class _DrawnBy(NamedTuple):
    """What each job drew of each model in the window."""

    models: list[str]
    """The heads of the columns after those of the job and of all models."""
    rows: list[tuple[str, list[str]]]
    """Of each job its name, and units."""


def _drawn_by(found: AccountState) -> _DrawnBy | None:
    """Return what each job drew of each model; None where there is only one of either."""
    if len(found.jobs) < 2 or len(found.models) < 2:
        return None
    drawn = {(part.job, part.model): part.drawn for part in found.parts}
    models = [part.name for part in found.models]
    named, rest = models[:MOST_TOGETHER], models[MOST_TOGETHER:]
    rows = []
    for job in found.jobs:
        own = [drawn.get((job.name, model), Drawn()) for model in named]
        others = [sum((drawn.get((job.name, model), Drawn()) for model in rest), Drawn())] if rest else []
        rows.append((job.name, [drawn_text(part) for part in (job.drawn, *own, *others)]))
    return _DrawnBy([*named, *(["other models"] if rest else [])], rows)


def _by_table(name: str, found: Result[UsageTotals], zone: str, there: frozenset[str]) -> Table:
    rows = found.rows if name == "day" else sorted(found.rows, key=lambda row: -(row.total_tokens or 0))
    found = Result(found.query, found.parameters, rows)
    heading = {"day": f"day ({zone})", "tag": "tag (a run with several counts under each)"}.get(name, name)
    costs = [one for one in _COSTS if one.name not in _UNKNOWN or any(value_of(row, one.name) for row in rows)]
    named = column("name", heading, "job" if name == "job" else "text")
    return Table(f"by_{name}", found, ("name",), (named, *costs), there)


def _unknown_table(unknown: Result[UnknownDraw]) -> Table:
    return Table(
        "unknown_draw", unknown, ("model",),
        columns(
            "model", "calls_without_usage", "maybe_drawn", "open_intents", "low_tokens", "high_tokens", "known_calls",
            "p10_tokens", "p90_tokens",
        ),
    )  # fmt: skip


def _costliest_runs(found: Result[CostliestRun], there: frozenset[str]) -> Table:
    return Table(
        "costliest_runs", found, ("run_id",),
        columns("run_id", "job", "started_at", "calls", "total_tokens", "calls_without_usage"),
        there,
    )  # fmt: skip


def _costliest_samples(found: Result[CostliestSample], there: frozenset[str]) -> Table:
    return Table(
        "costliest_samples", found, ("sample_key",),
        columns(
            "sample_id", column("job", "job of the most expensive call"), "calls", "total_tokens", "most_tokens",
            "costliest_model",
        ),
        there,
    )  # fmt: skip
