"""The page of one run: which model leads, what went wrong, what it cost, and every answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

import workbench.display.commands as commands
from workbench.evaluation.alarms import Alarm, open_of
from workbench.evaluation.ongoing import status_now
from workbench.evaluation.references import label_or_length
from workbench.evaluation.run_figures import RunFigures, find_run, run_figures
from workbench.evaluation.run_samples import run_samples, without_texts
from workbench.ledger.answer_rows import UnsentSample
from workbench.ledger.gates import DropFound, OverConstant, decoded, encoded
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.run_rows import InFlight, LatencySpan, PaceStep, RunGate, SuspectSample
from workbench.ledger.score_rows import Acceptance, SideFigures
from workbench.records.endings import RunStatus
from workbench.report.build import Draft, Page, PageContext, PageHead, result, write_html
from workbench.report.run_charts import SCORE_NOTE, Flights, course_charts, of_run, run_charts, run_tables
from workbench.report.run_data import ModelRow, model_data, model_files, model_rows
from workbench.report.samples import MOST_SAMPLES, remove_earlier_parts, sample_browser
from workbench.report.tables import Result, job_page_name
from workbench.wording.agreements import CLASSES, agreement_table
from workbench.wording.factors import cell_mark, factors_text
from workbench.wording.gates import outdated_text
from workbench.wording.references import exceeded_text, reference_name
from workbench.wording.runs import (
    not_known,
    resends_text,
    resume_text,
    run_verdict,
    same_samples_text,
    to_judge_text,
    to_judge_words,
)
from workbench.wording.scores import mean_text

_MOST_SPANS, _CALLS_A_SPAN = 60, 12  # 90 % within of eight calls is the slowest one
_MOST_CLASS_TABLES = 24  # of many fields and models


def run_page(
    asked: PageContext, run_id: str, pages: Sequence[Page], known: RunFigures | None = None
) -> tuple[str, Draft]:
    """Ask what a run's page shows; texts that are too large for it are put beside it at once.

    Args:
        pages: Those that its head links.
        known: Its figures, where they were asked for just before.

    Returns:
        The name of the run's job, and the page.

    Raises:
        InputError: There is no such run.
    """
    reader, folder = asked.reader.about(run_id), asked.folder
    figures = _shown_figures(known or run_figures(reader, find_run(reader, run_id)), asked)
    asked.rankings[run_id] = figures.standing
    rows = model_rows(figures)
    whole = run_samples(reader, run_id, MOST_SAMPLES)
    unsent = reader.all(UnsentSample, run_id=run_id, most=MOST_SAMPLES) if figures.on_record.unsent else []
    if not asked.has_texts:
        whole, unsent = without_texts(whole), [msgspec.structs.replace(one, sample=None) for one in unsent]
    samples = sample_browser(
        whole,
        sum(row.items for row in figures.items),
        None if asked.is_single else folder / f"{run_id}.samples",
        models=[row.model for row in rows],
        scorer=figures.standing.scorer,
        unsent=unsent,
    )
    course, flights = _course(reader, figures)
    suspects = _suspects(reader, figures) if asked.has_texts else []
    stored = _stored(figures, asked)
    sides = Result(SideFigures.query, {"run_ids": [run_id], "on_fallback": None}, figures.standing.figures)

    def write() -> Path:
        content = _content(figures, asked) | {
            "charts": [*run_charts(figures, asked.colours), *course_charts(figures, course, flights, asked.colours)],
            "rows": rows,
            "some_unscored": any(side.scored < side.samples for side in figures.standing.sides),
            "some_unread": any(side.unread for side in figures.standing.sides),
            "sides": sides,
            **stored,
            **_further(figures, rows, asked, pages),
            "suspects": suspects,
            "corrected": figures.corrected,
            "by_model": {row.model: row for row in sides.rows},
            "samples": samples,
        }
        name = f"{run_id}.single.html" if asked.is_single else f"{run_id}.html"
        path = write_html(asked, name, _head(figures.provenance, asked), pages, content)
        if not asked.is_single:
            remove_earlier_parts(folder / f"{run_id}.samples", samples)
        return path

    return figures.provenance.job, write


def _suspects(reader: Reader, figures: RunFigures) -> list[SuspectSample]:
    """Return the samples of which perhaps the target is wrong; fewer models than three say nothing of that."""
    if len(figures.standing.sides) < 3:
        return []
    return reader.all(SuspectSample, run_id=figures.provenance.run_id, scorer=figures.standing.scorer or "")


def _stored(figures: RunFigures, asked: PageContext) -> dict[str, Any]:
    """Return what is on record beside the answers: samples taken out, gates, and what is open of the job."""
    run = figures.provenance
    reader = asked.reader.about(run.run_id)
    gates = reader.all(RunGate, run_id=run.run_id) if figures.on_record.gated else []
    if not asked.has_texts:
        gates = list(map(_without_text, gates))
    accepted = asked.reader.all(Acceptance, job=run.job) if any(gate.result == "open" for gate in gates) else []
    alarms = open_of(asked.watched(run.job))
    said = [(gate, _alarm_of(gate, alarms)) for gate in gates]
    by_gates = [alarm for _, alarm in said if alarm is not None]
    return {
        "invalid": figures.taken_out,
        "gates": said,
        "outdated": outdated_text(gates, figures.taken_out, figures.corrected, accepted),
        "alarms": alarms,
        "alarms_apart": [alarm for alarm in alarms if alarm not in by_gates],
        "accepting": commands.accept_changes(run.job, asked.ledger),
    }


def _shown_figures(figures: RunFigures, asked: PageContext) -> RunFigures:
    """Return the figures of a run; of a file without texts without what reference points, targets and the reason of its end
    quote.
    """
    if asked.has_texts:
        return figures
    run = figures.provenance
    if run.status == RunStatus.GATE_FAILED:
        run = msgspec.structs.replace(run, reason="a gate was not met")
    points = [point.without_text() for point in figures.standing.references]
    standing = msgspec.structs.replace(figures.standing, references=points)
    agreement = None if figures.agreement is None else figures.agreement.without_texts()
    return msgspec.structs.replace(figures, provenance=run, standing=standing, agreement=agreement)


def _without_text(gate: RunGate) -> RunGate:
    """Return a gate that names no text of the dataset."""
    found = None if gate.evidence is None else decoded(gate.evidence)
    if not isinstance(found, OverConstant):
        return gate
    short = msgspec.structs.replace(found, constant=label_or_length(found.constant))
    return msgspec.structs.replace(gate, evidence=encoded(short))


def _alarm_of(gate: RunGate, alarms: Sequence[Alarm]) -> Alarm | None:
    """Return the open alarm that a gate of a run names; a gate of an earlier version says in words only what it found."""
    found = None if gate.evidence is None else decoded(gate.evidence)
    if not isinstance(found, DropFound):
        return None
    named = (gate.model, gate.scorer, found.began)
    return next((alarm for alarm in alarms if (alarm.model, alarm.scorer, alarm.found.began) == named), None)


def _further(
    figures: RunFigures, rows: Sequence[ModelRow], asked: PageContext, pages: Sequence[Page]
) -> dict[str, Any]:
    """Return where the page leads, and what its table of models is beside its rows."""
    run, sent = figures.provenance, sum(row.items for row in figures.items)
    data = model_data(run.run_id, figures.standing, rows, _other_scorers(figures))
    return {
        "files": model_files(run.run_id, data),
        "comparison": "" if asked.is_single else _comparison(asked.folder, run.run_id),
        "has_routes": any(page.name == "routes" for page in asked.linked(pages)),
        "same_samples": same_samples_text(
            figures.standing, are_all_sent=sent == run.planned, repeats=run.reduce is not None
        ),
    }


def _other_scorers(figures: RunFigures) -> list[str]:
    """Return the scorers after the first that scored anything."""
    return list(dict.fromkeys(row.scorer for row, _ in figures.scores if row.scored))[1:]


def _comparison(folder: Path, run_id: str) -> str:
    """Return the name of the page that compares this run's models, or else the newest one that compares it with others."""
    own = f"{run_id}.compare.html"
    if (folder / own).is_file():
        return own
    others = [path for path in folder.glob("*.compare.html") if run_id in path.name.split(".")]
    return max(others, key=lambda path: path.stat().st_mtime).name if others else ""


def _head(run: Provenance, asked: PageContext) -> PageHead:
    ended_at = run.ended_at or run.started_at
    title = f"{run.job} · run {run.run_id}"
    return PageHead(
        "run", title, run.endpoint, run.key_fingerprint, run.simulated, run.started_at, ended_at, asked.as_of
    )


def _content(figures: RunFigures, asked: PageContext) -> dict[str, Any]:
    """Return what the page shows of the run's figures."""
    run, by_model = figures.provenance, figures.items
    plain = msgspec.structs.asdict(run)
    return {
        "run": plain,
        "summary": of_run(figures, "run_summary", [figures.numbers]),
        "provenance": of_run(figures, "run_provenance", [plain]),
        "tables": run_tables(figures),
        "fallbacks": sum(row.fallbacks for row in by_model),
        "cut_off": sum(row.cut_off for row in by_model),
        "refused": sum(row.refused for row in by_model),
        "standing": figures.standing,
        "mean_text": mean_text,
        "cell_mark": cell_mark,
        "factors_text": factors_text,
        "score_note": SCORE_NOTE,
        "references": [one for one in figures.standing.references if one.scorer == figures.standing.scorer],
        "reference_name": reference_name,
        "agreement": None if figures.agreement is None else agreement_table(figures.agreement),
        "class_columns": CLASSES,
        "most_class_tables": _MOST_CLASS_TABLES,
        "all_classes": commands.on_ledger(asked.ledger, "show", run.run_id, "--agreement"),
        "exceeded_text": exceeded_text,
        "others": _other_scorers(figures),
        "asked": {row.model: msgspec.structs.asdict(row) for row in by_model},
        "status_now": status_now(run.run_id, run.status, asked.as_of.ongoing),
        "verdict": run_verdict(figures),
        "to_judge": to_judge_text(figures),
        "asks_judge": to_judge_words(figures),
        "job_page": "" if asked.is_single else f"{job_page_name(run.job)}.html",
        "command": asked.command,
        "continuation": resume_text(run, asked.ledger),
        "resends": resends_text(run, is_complete=run.status == RunStatus.COMPLETE),
        "has_job_file": not run.job_path.endswith(commands.MADE_IN_PYTHON),
        "unknown": not_known(figures, asked.ledger),
        "ledger": asked.ledger,
    }


def _course(reader: Reader, figures: RunFigures) -> tuple[Result[LatencySpan], Flights]:
    """Latency over the run, in as many spans as its answers fill; and its calls in flight, with how many were allowed."""
    run_id = figures.provenance.run_id
    fewest = min((row.answers for row in figures.latency), default=0)
    spans = min(_MOST_SPANS, max(1, fewest // _CALLS_A_SPAN))
    in_flight = result(reader, InFlight, run_id=run_id, spans=_MOST_SPANS)
    course = result(reader, LatencySpan, run_id=run_id, spans=spans)
    moments = max(2, _MOST_SPANS // 3 // max(1, len(figures.latency)))  # each route's limit grows on its own
    return course, (in_flight, result(reader, PaceStep, run_id=run_id, spans=moments))
