"""A run's answers for other programs: rows, OpenAI Batch output lines, and JUnit test cases."""

import json
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from workbench.display import significant, visible
from workbench.ledger.queries import Reader, Row
from workbench.ledger.rows import Provenance, RunShape
from workbench.scoring.scorers import FAILED

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_BEFORE_FORMULA = "\t\r"  # with which a cell is one, whatever follows
_MOST_SAID_CHARS = 2_000


def rows(reader: Reader, run_id: str) -> Iterator[Row]:
    """One flat row a request: the columns of `answers`, and a column `score.NAME` for each scorer.

    Args:
        reader: The ledger.
        run_id: Which run.
    """
    scorers = [row["scorer"] for row in reader.rows("run_scorers", run_ids=[run_id])]
    values: dict[str, dict[str, float | None]] = {}
    for row in reader.rows("scores_of_run", run_id=run_id):
        values.setdefault(row["request_key"], {})[row["scorer"]] = row["value"]
    for row in reader.stream("answers", run_id=run_id):
        own = values.get(row["request_key"], {})
        calls = row["tool_calls"]
        yield (
            row
            | {"tool_calls": json.dumps(calls) if calls else None}
            | {f"score.{scorer}": own.get(scorer) for scorer in scorers}
        )


def safe_for_a_spreadsheet(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it, as spreadsheets write such texts.

    Source: OWASP, CSV Injection.
    """
    if not isinstance(value, str):
        return value
    is_formula = value.startswith(tuple(_BEFORE_FORMULA)) or value.lstrip(" \n\0").startswith(_FORMULA)
    return f"'{value}" if is_formula else value


def batch_lines(reader: Reader, run_id: str) -> Iterator[str]:
    """OpenAI Batch output: a line a request, with its response verbatim or its error.

    `custom_id` is the sample's id, with its epoch and model where the run has several.
    """
    found = reader.only(RunShape, run_id=run_id)
    for row in reader.stream("run_replies", run_id=run_id):
        response, error = None, None
        if row["accepted"] and row["raw"] is not None:
            status = row["http_status"] or 200
            response = {"status_code": status, "request_id": row["request_key"], "body": _json(row["raw"])}
        else:
            error = {
                "code": row["outcome"] or "not_sent",
                "message": row["error_text"] or row["evidence"] or "no answer",
            }
        name = [row["sample_id"]]
        name += [f"epoch {row['epoch']}"] if found.epochs > 1 else []
        name += [row["side"]] if found.models > 1 else []
        line = {"id": row["request_key"], "custom_id": " · ".join(name), "response": response, "error": error}
        yield json.dumps(line, ensure_ascii=False)


def junit(reader: Reader, run_id: str) -> Element:
    """JUnit XML: a suite a model, a case a sample and epoch; a failure where a scorer says wrong, an error where there is no
    answer, or a scorer failed on it.

    A case is skipped where no scorer could judge it, or where it is left out of the scores.
    """
    run = reader.only(Provenance, run_id=run_id)
    broke: dict[str, list[str]] = {}
    for row in reader.rows("scores_of_run", run_id=run_id):
        if row["value"] is None and (row["reason"] or "").startswith(FAILED):
            broke.setdefault(row["request_key"], []).append(f"{row['scorer']}: {row['reason']}")
    root = Element("testsuites", name=visible(run.job))
    suites: dict[str, list[Row]] = {}
    for row in rows(reader, run_id):
        suites.setdefault(side_name_of(row), []).append(row)
    for model, cases in suites.items():
        kinds = ["error" if row["accepted"] and row["request_key"] in broke else _kind(row) for row in cases]
        counts = {name: str(kinds.count(kind)) for name, kind in _COUNTED}
        suite = SubElement(root, "testsuite", {"name": _line(model), "tests": str(len(cases)), **counts})
        for row, kind in zip(cases, kinds, strict=True):
            _add_case(suite, run.job, row, kind, broke.get(row["request_key"], []))
    return root


def side_name_of(row: Row) -> str:
    """A row's model, with its variant where the job has some."""
    return " · ".join(filter(None, (row["requested_model"], row["variant"])))


_COUNTED = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))


def _kind(row: Row) -> str:
    if not row["accepted"]:
        return "error"
    values = [value for value in _scores(row).values() if value is not None]
    if not values or not row["counts"]:
        return "skipped"
    return "failure" if any(value < 1 for value in values) else ""


def _scores(row: Row) -> dict[str, float | None]:
    return {name.removeprefix("score."): value for name, value in row.items() if name.startswith("score.")}


def _add_case(suite: Element, job: str, row: Row, kind: str, broke: list[str]) -> None:
    epoch = f" epoch {row['epoch']}" if row["epoch"] > 1 else ""
    taken = f"{(row['latency_ms'] or 0) / 1000:.3f}"
    case = SubElement(suite, "testcase", classname=_line(job), name=_line(row["sample_id"] + epoch), time=taken)
    if not kind:
        return
    told = [f"{name}: {'not judged' if value is None else significant(value)}" for name, value in _scores(row).items()]
    if kind == "error" and row["accepted"]:
        told = broke
    elif kind == "error":
        told = [(row["outcome"] or "not sent").replace("_", " ")]
    elif not row["counts"]:
        told.insert(0, "left out of the scores")
    found = SubElement(case, kind, message=_line(", ".join(told)))
    if kind == "failure":
        found.text = visible(f"target: {row['target']}\nanswer: {row['answer'] or ''}"[:_MOST_SAID_CHARS])


def _line(text: str) -> str:
    return visible(text).replace("\n", " ")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # kept as it came
        return text
