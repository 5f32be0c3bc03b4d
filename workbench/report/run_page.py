"""The page of one run: how it went, whether it can be trusted, what it cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

import workbench.display as people
from workbench.evaluation.attention import told_apart
from workbench.evaluation.continuation import recorded_continuation
from workbench.evaluation.ranking import Ranking, is_on_different_samples, ranking
from workbench.evaluation.run_figures import RunFigures, run_figures
from workbench.evaluation.run_samples import run_samples
from workbench.ledger.queries import Row, reading
from workbench.ledger.rows import RunNumbers
from workbench.ledger.store import Ledger
from workbench.report import charts
from workbench.report.build import Page, PageHead, colours_of, render, result, write_page
from workbench.report.drawing import Chart, Colours, drawn
from workbench.report.samples import MOST_SAMPLES, remove_earlier_parts, sample_browser
from workbench.report.tables import Column, Result, Table
from workbench.stats.intervals import Interval

_NAMED = 3  # models that the verdict names; the tables have them all
_MOST_SPANS, _CALLS_A_SPAN = 60, 8
_UNCHANGED_PACE = 2  # its rows: the start and the end
_PARTS = {"prompt": "var(--m8)", "completion": "var(--m0)", "of which reasoning": "var(--m4)"}


def write_run_page(ledger: Ledger, run_id: str, folder: Path, pages: Sequence[Page]) -> Path:
    """Render a run's page and put it into a folder, whole or not at all.

    Args:
        ledger: Where the run is.
        run_id: Which.
        folder: For pages; made if it is not there.
        pages: Those that its head links.

    Returns:
        The page's absolute path.

    Raises:
        InputError: There is no such run.
    """
    with reading(ledger) as reader:
        figures = run_figures(reader, run_id)
        samples = sample_browser(
            run_samples(reader, run_id, MOST_SAMPLES),
            sum(row["items"] for row in figures.tables["run_items_by_model"]),
            folder,
            f"{run_id}.samples",
        )
        fewest = min((row["answers"] for row in figures.tables["run_latency"]), default=0)
        spans = min(_MOST_SPANS, max(1, fewest // _CALLS_A_SPAN))
        course = result(reader, "run_latency_course", run_id=run_id, spans=spans)
        in_flight = result(reader, "run_in_flight", run_id=run_id, spans=2 * _MOST_SPANS)
        pace = result(reader, "run_pace", run_id=run_id)
        colours = colours_of(reader)
    run = figures.provenance
    frame = PageHead(
        "run", f"{run.job} · run {run_id}", run.endpoint, run.key_fingerprint, run.simulated, run.started_at,
        run.ended_at or run.started_at,
    )  # fmt: skip
    content = {
        "run": msgspec.structs.asdict(run),
        "summary": _of(figures, "run_summary", [msgspec.structs.asdict(figures.numbers)]),
        "provenance": _of(figures, "run_provenance", [msgspec.structs.asdict(run)]),
        "tables": _tables(figures),
        "charts": [*_charts(figures, colours), *_course(figures, course, (in_flight, pace), colours)],
        "all_ok": _all_ok(figures),
        "renamed": told_apart(figures.tables["run_served"]),
        "verdict": verdict(figures),
        "continuation": recorded_continuation(run, str(ledger.path)),
        "unknown": not_known(figures),
        "samples": samples,
        "ledger": str(ledger.path),
    }
    path = write_page(folder, f"{run_id}.html", render(frame, pages, content))
    remove_earlier_parts(folder / f"{run_id}.samples", samples)
    return path


def verdict(figures: RunFigures) -> str:
    """The run in a few sentences with their numbers."""
    return " ".join(
        filter(None, (_answered(figures), _renamed(figures), _best(ranking(figures)), _cost(figures.numbers)))
    )


def _answered(figures: RunFigures) -> str:
    summary, items = figures.numbers, figures.tables["run_items_by_model"]
    answered = sum(row["answered"] for row in items)
    if not items:
        return "No requests yet."
    models = people.plural(len(items), "model")
    pending = f"; {people.count(summary.pending)} are pending" if summary.pending else ""
    short = sorted((row for row in items if row["unanswered"]), key=lambda row: -row["unanswered"])
    if not short and not summary.pending:
        every = "The request" if answered == 1 else f"All {people.count(answered)} requests"
        return f"{every} to {models} {'is' if answered == 1 else 'are'} answered."
    said = f"{people.count(answered)} of {people.plural(summary.planned, 'request')} to {models} are answered{pending}"
    if not short:
        return f"{said}."
    silent = [row["model"] for row in short if not row["answered"]]
    if silent:
        more = f" and {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
        return f"{said}; {people.words(silent[:_NAMED])}{more} answered nothing."
    worst = f"{people.count(short[0]['unanswered'])} of {people.count(short[0]['items'])}"
    return f"{said}; {short[0]['model']} has the most unanswered, {worst}."


def _renamed(figures: RunFigures) -> str:
    others = told_apart(figures.tables["run_served"])
    said = [
        f"{row['requested_model']} was answered as {row['served_model']} {people.plural(row['answers'], 'time')}"
        for row in others[:_NAMED]
    ]
    if len(others) > _NAMED:
        more = sum(row["answers"] for row in others[_NAMED:])
        said.append(f"{people.count(more)} more answers name a model other than the requested one")
    return f"{'; '.join(said)}." if said else ""


def _best(found: Ranking | None) -> str:
    """Who scores best, and how clearly."""
    if found is None:
        return ""
    models = len(found.samples)
    if found.best is None:
        each = [f"{model} {people.count(samples)}" for model, samples in found.samples.items()]
        counts = people.words(each) if models <= _NAMED else f"{_samples_each(found)} each"
        return f"“{found.scorer}” scored no sample for all {models} models (n: {counts}), so they are not ranked."
    more = f" and {len(found.leading) - _NAMED} more" if len(found.leading) > _NAMED else ""
    verb = "score" if len(found.leading) > 1 else "scores"
    rank = " best" if found.behind else " the same" if len(found.leading) > 1 else ""
    where, n = "", f" (n {people.count(found.best.n)})"
    if found.is_partial:
        where = f", on the {people.plural(found.best.n, 'sample')} that all {models} scored models share"
        where, n = f"{where} (of {_samples_each(found)} each)", ""
    said = f"{people.words(found.leading[:_NAMED])}{more} {verb}{rank} by “{found.scorer}”{where}: {found.best.mean:.3f}{n}"
    return f"{said}{_how_clearly(found)}."


def _samples_each(found: Ranking) -> str:
    counts = sorted(found.samples.values())
    return " to ".join(people.count(count) for count in dict.fromkeys((counts[0], counts[-1])))


def _how_clearly(found: Ranking) -> str:
    """What the paired tests show, in the words that follow from them."""
    if found.nearest is None:
        return ""
    if found.behind == 1:
        better = people.plural(found.nearest.better, "sample")
        worse = people.count(found.nearest.worse) if found.nearest.worse else "none"
        if found.unclear:
            return f"; no difference from the other is shown (better on {better}, worse on {worse})"
        return f"; clearly better than the other (on {better}, worse on {worse})"
    if found.unclear == found.behind:
        return f"; none of the {found.behind} others is shown to be worse"
    if found.unclear:
        return f"; {found.unclear} of the {found.behind} others {'is' if found.unclear == 1 else 'are'} not shown to be worse"
    return f"; clearly better than the {found.behind} others"


def _cost(summary: RunNumbers) -> str:
    if summary.open_intents and summary.calls == 0:
        return f"{people.plural(summary.open_intents, 'call')} sent, no outcome recorded."
    if summary.calls == 0:
        return "Nothing was sent: every request already had an answer." if summary.reused else "Nothing was sent."
    calls = people.plural(summary.calls, "call")
    if summary.total_tokens is None:
        return f"{calls}; their tokens were not reported."
    return f"{people.count(summary.total_tokens)} tokens in {calls}."


def not_known(figures: RunFigures) -> list[str]:
    """What the figures cannot say, in words."""
    summary = figures.numbers
    found = []
    if summary.calls_without_usage:
        found.append(f"The usage of {people.plural(summary.calls_without_usage, 'answer')}: it was not reported.")
    if summary.maybe_drawn or summary.open_intents:
        uncertain = (summary.maybe_drawn or 0) + summary.open_intents
        found.append(f"Whether {people.plural(uncertain, 'call')} that failed or were cut off used allowance.")
    if told_apart(figures.tables["run_served"]):
        found.append(
            "Whether another served name means a fallback: a platform may name one route in several ways. "
            "Such answers count here."
        )
    if not figures.scores:
        found.append("Whether the answers are right: the job names no scorer, or nothing was scored.")
    if figures.provenance.simulated:
        found.append("Anything about a real model: every answer here was computed by the embedded platform.")
    else:
        found.append("How much of the allowance is left: the platform does not publish its size.")
    return found


def _all_ok(figures: RunFigures) -> bool:
    """Whether calls were sent, and every one of them ended ok."""
    outcomes = figures.tables["run_outcomes"]
    return bool(outcomes) and not figures.numbers.open_intents and all(row["outcome"] == "ok" for row in outcomes)


def _of(figures: RunFigures, query: str, rows: list[Row], **parameters: Any) -> Result:
    return Result(query, {"run_id": figures.provenance.run_id, **parameters}, rows)


def _bounds(interval: Interval | None) -> str:
    if interval is None:
        return people.NOT_KNOWN
    if interval.low is None or interval.high is None:
        return "one value has none"
    return f"{interval.low:.3f} to {interval.high:.3f}"


def _tables(figures: RunFigures) -> dict[str, Table]:
    def table(query: str, keys: tuple[str, ...], *columns: Column) -> Table:
        return Table(query, _of(figures, query, figures.tables[query]), keys, columns)

    model = Column("model", "model", "text")
    apart = told_apart(figures.tables["run_served"])
    served = [row | {"apart": row in apart} for row in figures.tables["run_served"]]
    scores = [row | {"interval": _bounds(interval)} for row, interval in figures.scores]
    shared = [
        row | {"interval": _bounds(interval)}
        for row, interval in figures.shared_scores
        if is_on_different_samples(figures, row["scorer"])
    ]
    return {
        "scores": Table(
            "run_scores", _of(figures, "run_scores", scores), ("model", "scorer"),
            (model, Column("scorer", "scorer", "text"), Column("mean", "mean", "number"),
             Column("interval", "95 % interval", "text"), Column("scored", "scored"),
             Column("samples", "samples", help="Independent ones: epochs of a sample are not"), Column("unscored", "unscored")),
        ),
        "shared": Table(
            "run_shared_scores", _of(figures, "run_shared_scores", shared), ("model", "scorer"),
            (model, Column("scorer", "scorer", "text"), Column("mean", "mean", "number"),
             Column("interval", "95 % interval", "text"), Column("samples", "samples")),
        ),
        "asked": table(
            "run_items_by_model", ("model",), model, Column("items", "asked"), Column("answered", "answered"),
            Column("reused", "of which reused"), Column("unanswered", "unanswered"),
        ),
        "outcomes": table(
            "run_outcomes", ("model", "outcome"), model, Column("outcome", "outcome", "outcome"), Column("calls", "calls"),
        ),
        "served": Table(
            "run_served", _of(figures, "run_served", served), ("requested_model", "served_model"),
            (Column("requested_model", "requested model", "text"),
            Column("served_model", "served model", "served"), Column("answers", "answers")),
        ),
        "tokens": table(
            "run_tokens", ("model",), model, Column("calls", "calls"), Column("prompt_tokens", "prompt"),
            Column("completion_tokens", "completion"), Column("reasoning_tokens", "of which reasoning"),
            Column("total_tokens", "total"), Column("calls_without_usage", "without usage"),
        ),
        "latency": table(
            "run_latency", ("model",), model, Column("answers", "answers"), Column("p10_ms", "10 % within", "ms"),
            Column("p50_ms", "median", "ms"), Column("p90_ms", "90 % within", "ms"), Column("p99_ms", "99 % within", "ms"),
            Column("max_ms", "slowest", "ms"),
        ),
    }  # fmt: skip


def _charts(figures: RunFigures, colours: Colours) -> list[Chart]:
    """The charts that compare models, where there are several."""
    tables = _tables(figures)
    found: list[Chart] = []
    scored = [(row, interval) for row, interval in figures.scores if interval is not None]
    for number, scorer in enumerate(dict.fromkeys(row["scorer"] for row, _ in scored)):
        rows = [(row, interval) for row, interval in scored if row["scorer"] == scorer]
        if len(rows) > 1:
            title = f"Which model scores best by “{scorer}”?"
            note = "Means over n samples, 95 % interval. Truncated, empty and failed answers are unscored, not zero."
            if is_on_different_samples(figures, scorer):
                title = f"What does each model score by “{scorer}”?"
                note += " The models were scored on different samples, so these means do not compare."
            table = tables["scores"] if number == 0 else None
            found.append(drawn(f"scores{number}", title, charts.score_chart(rows, colours), table, note))
    outcomes = figures.tables["run_outcomes"]
    if len({row["model"] for row in outcomes}) > 1 and any(row["outcome"] != "ok" for row in outcomes):
        found.append(drawn("outcomes", "How did the calls end?", charts.outcome_chart(outcomes), tables["outcomes"]))
    tokens = figures.tables["run_tokens"]
    if len(tokens) > 1 and any(row["prompt_tokens"] or row["completion_tokens"] for row in tokens):
        drawing = charts.token_chart(tokens, _PARTS, "model")
        found.append(drawn("tokens", "What did each model cost?", drawing, tables["tokens"]))
    latency = figures.tables["run_latency"]
    if len(latency) > 1:
        note = "The bar holds the middle half of the answers, the line 80 %; the tick is the median, ◆ 99 %."
        drawing = charts.latency_chart(latency, colours)
        found.append(drawn("latency", "How fast were the answers?", drawing, tables["latency"], note))
    return found


def _course(figures: RunFigures, course: Result, flights: tuple[Result, Result], colours: Colours) -> list[Chart]:
    """Latency and calls in flight in the course of the run, where it has a course."""
    in_flight, pace = flights
    has_course = len(course.rows) > len(figures.tables["run_latency"])
    far = max((row["seconds"] for row in (*course.rows, *in_flight.rows, *pace.rows)), default=1)
    seconds = Column("seconds", "seconds into the run", "seconds")
    found = []
    if has_course:
        shown = Table(
            "run_latency_course", course, ("model", "seconds"),
            (Column("model", "model", "text"), seconds, Column("answers", "answers"), Column("p50_ms", "median", "ms"),
             Column("p90_ms", "90 % within", "ms")),
        )  # fmt: skip
        drawing = charts.course_chart(course.rows, far, colours)
        found.append(drawn("course", "Did the answers slow down in the course of the run?", drawing, shown))
    if has_course or len(pace.rows) > _UNCHANGED_PACE:
        columns = (
            seconds, Column("allowed", "allowed in total"), Column("reason", "why", "text"),
            Column("model", "limit of", "text"), Column("limit_allowed", "new limit"),
        )  # fmt: skip
        steps = Table("run_pace", pace, ("seconds", "allowed", "reason", "model", "limit_allowed"), columns)
        drawing = charts.pace_chart(in_flight.rows, pace.rows, figures.provenance.max_in_flight, far)
        found.append(drawn("pace", "How many calls were in flight?", drawing, steps))
    return found
