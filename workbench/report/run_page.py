"""The page of one run: how it went, whether it can be trusted, what it cost."""

import os
import shlex
import tempfile
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from workbench.evaluation.run_figures import RunFigures, run_figures
from workbench.ledger.queries import Row, reading
from workbench.ledger.store import Ledger
from workbench.report import figures as people

FIRST_SAMPLES = 30
_SHOWN_CHARS = 2_000
_NAMED = 3  # models that the verdict names; the tables have them all
_TEMPLATES = resources.files(__package__).joinpath("templates")


def write_run_page(ledger: Ledger, run_id: str, folder: Path) -> Path:
    """Render a run's page and put it into a folder, whole or not at all.

    Args:
        ledger: Where the run is.
        run_id: Which.
        folder: For pages; made if it is not there.

    Returns:
        The page's absolute path.

    Raises:
        InputError: There is no such run.
    """
    with reading(ledger) as reader:
        figures = run_figures(reader, run_id)
        calls = reader.rows("run_calls", run_id=run_id, most=FIRST_SAMPLES)
    page = render(figures, calls, str(ledger.path))
    folder.mkdir(parents=True, exist_ok=True)
    path = (folder / f"{run_id}.html").absolute()
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, suffix=".part", delete=False) as part:
        part.write(page)
    os.chmod(part.name, 0o644)
    os.replace(part.name, path)
    return path


def render(figures: RunFigures, calls: list[Row], ledger: str) -> str:
    """The page as HTML.

    Args:
        figures: The run's.
        calls: `run_calls` rows, the first ones.
        ledger: Its path, shown.
    """
    environment = Environment(loader=FunctionLoader(_source), undefined=StrictUndefined, autoescape=True)
    environment.globals.update(fig=_figure, people=people)
    environment.filters.update(visible=people.visible, clip=lambda text: people.clipped(text, _SHOWN_CHARS))
    return environment.get_template("run.html").render(
        css=Markup(_TEMPLATES.joinpath("report.css").read_text("utf-8")),
        run=figures.provenance,
        summary=figures.summary,
        tables=figures.tables,
        scores=figures.scores,
        verdict=verdict(figures),
        continuation=continuation(figures.provenance, ledger),
        unknown=not_known(figures),
        samples=[_sample(row) for row in calls],
        first_samples=FIRST_SAMPLES,
        ledger=ledger,
        rendered_at=datetime.now(UTC),
    )


def verdict(figures: RunFigures) -> str:
    """The run in one or two sentences with its numbers."""
    summary, items = figures.summary, figures.tables["run_items_by_model"]
    answered = sum(row["unanswered"] == 0 for row in items)
    parts = [f"{answered} of {len(items)} models answered everything they were asked"]
    short = sorted((row for row in items if row["unanswered"]), key=lambda row: -row["unanswered"])
    parts += [
        f"{row['model']} left {people.count(row['unanswered'])} of {people.count(row['items'])} open"
        for row in short[:_NAMED]
    ]
    if len(short) > _NAMED:
        parts.append(f"{len(short) - _NAMED} more left some open")
    if summary["pending"]:
        parts.append(f"{people.count(summary['pending'])} of {people.count(summary['planned'])} requests are pending")
    others = [row for row in figures.tables["run_served"] if row["served_model"] not in (None, row["requested_model"])]
    parts += [
        f"{row['requested_model']} was answered as {row['served_model']} {people.count(row['answers'])} times"
        for row in others[:_NAMED]
    ]
    if len(others) > _NAMED:
        more = sum(row["answers"] for row in others[_NAMED:])
        parts.append(f"{people.count(more)} more answers name another model than the one asked")
    return f"{'; '.join(parts)}. {_cost(summary)}"


def _cost(summary: Row) -> str:
    if summary["calls"] == 0:
        return "Nothing was sent: every answer was there already." if summary["reused"] else "Nothing was sent."
    calls = f"{people.count(summary['calls'])} calls"
    if summary["total_tokens"] is None:
        return f"{calls}, whose tokens nobody reported."
    return f"{people.count(summary['total_tokens'])} tokens in {calls}."


def continuation(run: Row, ledger: str) -> str:
    """The command that goes on with a run, or runs it again, but for the options that name the platform."""
    words = ["workbench", "run", run["job_path"], "--ledger", ledger]
    if run["generation"] != "base":
        words += ["--resume", run["run_id"]]
    return shlex.join(words)


def not_known(figures: RunFigures) -> list[str]:
    """What the figures cannot say, in words."""
    summary = figures.summary
    found = []
    if summary["calls_without_usage"]:
        found.append(f"What {people.count(summary['calls_without_usage'])} answers drew: they came without usage.")
    if summary["maybe_drawn"] or summary["open_intents"]:
        uncertain = (summary["maybe_drawn"] or 0) + summary["open_intents"]
        found.append(f"Whether {people.count(uncertain)} calls that failed or were cut off drew on the allowance.")
    if any(row["served_model"] not in (None, row["requested_model"]) for row in figures.tables["run_served"]):
        found.append(
            "Whether another served name means a fallback: a platform may name one route in several ways. "
            "Such answers count here."
        )
    if not figures.scores:
        found.append("Whether the answers are right: the job names no scorer, or nothing was scored.")
    if figures.provenance["simulated"]:
        found.append("Anything of a real model: every answer here was computed by the embedded platform.")
    else:
        found.append("How much of the allowance is left: the platform does not publish its size.")
    return found


def _sample(row: Row) -> dict[str, Any]:
    content = msgspec.json.decode(row["sample"]) if row["sample"] else {}
    shown = content.get("input")
    return row | {
        "input": shown if isinstance(shown, str) else msgspec.json.encode(shown).decode(),
        "target": "" if content.get("target") is None else str(content["target"]),
        "scores": row["scores"] or {},
        "tool_calls": row["tool_calls"] or [],
    }


def _figure(query: str, row: Row, column: str, text: str, *keys: str) -> Markup:
    """A figure on the page, with the query, row and column that it comes from.

    Args:
        query: Name of the query.
        row: The query's row.
        column: The figure's column.
        text: The figure for people.
        *keys: Columns that tell the row from others of the query.
    """
    where = msgspec.json.encode({key: row[key] for key in keys}).decode()
    value = row[column]
    exact = "" if value is None else str(value)
    return Markup('<data value="{}" data-query="{}" data-column="{}" data-row="{}" title="{}">{}</data>').format(
        exact, query, column, where, exact or people.NOT_KNOWN, text
    )


def _source(name: str) -> str:
    return _TEMPLATES.joinpath(name).read_text("utf-8")
