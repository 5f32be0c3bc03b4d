"""A run's answers for other programs: rows, OpenAI Batch output lines, and JUnit test cases."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement

import msgspec

from workbench.display.text import significant, visible
from workbench.evaluation.failures import planned_by_side
from workbench.ledger.answer_rows import RecordedAnswer, RunReply
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance, RunShape
from workbench.ledger.score_rows import AnswerScore, RunScorer
from workbench.scoring.scorer import FAILED

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_BEFORE_FORMULA = "\t\r"  # with which a cell is one, whatever follows
_MOST_SAID_CHARS = 2_000


def rows(reader: Reader, run_id: str) -> Iterator[dict[str, Any]]:
    """Return one flat row per request: the columns of `answers`, and what each scorer says in columns `score.NAME`,
    `extracted.NAME`, `reason.NAME` and `state.NAME`.
    """
    scorers = [scorer.scorer for scorer in reader.all(RunScorer, run_ids=[run_id])]
    for answer, own in scored_answers(reader, run_id):
        calls = answer.tool_calls
        yield (
            msgspec.structs.asdict(answer)
            | {"tool_calls": json.dumps(calls) if calls else None}
            | {name: value for scorer in scorers for name, value in said_by(scorer, own.get(scorer)).items()}
        )


_FIRST = ("sample_id", "epoch", "requested_model", "variant", "input", "target")
_LAST = (
    "outcome", "counts", "served_model", "identity", "finish_reason", "prompt_tokens", "completion_tokens", "reasoning_tokens",
    "total_tokens", "latency_ms", "reused", "reasoning", "run_id", "job", "request_key",
)  # fmt: skip


def table_rows(reader: Reader, run_id: str) -> Iterator[dict[str, Any]]:
    """Return the same for people: the sample with the columns of its dataset, the answer, what each scorer says of it and why.

    How it came about is last. A column of the dataset that has one of these names is `metadata.NAME`. Where ids repeat, a column
    `id` has them as the dataset does.
    """
    scorers = [scorer.scorer for scorer in reader.all(RunScorer, run_ids=[run_id])]
    own: dict[str, None] = {}
    repeat = False
    for answer in reader.each(RecordedAnswer, run_id=run_id):
        own |= dict.fromkeys(_metadata(answer))
        repeat |= answer.own_id != answer.sample_id
    ours = {*_FIRST, *_LAST, "answer", "tool_calls", *(["id"] if repeat else [])}
    named = {name: f"metadata.{name}" if name in ours or "." in name else name for name in own}
    for answer, scores in scored_answers(reader, run_id):
        whole, metadata = msgspec.structs.asdict(answer), _metadata(answer)
        yield (
            {name: whole[name] for name in _FIRST}
            | ({"id": answer.own_id} if repeat else {})
            | {title: _cell(metadata.get(name)) for name, title in named.items()}
            | {"answer": answer.answer}
            | {name: value for scorer in scorers for name, value in said_by(scorer, scores.get(scorer)).items()}
            | {name: whole[name] for name in _LAST}
            | {"tool_calls": json.dumps(answer.tool_calls) if answer.tool_calls else None}
        )


def _metadata(answer: RecordedAnswer) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(answer.metadata or "{}")
    return found


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def said_by(scorer: str, score: AnswerScore | None) -> dict[str, Any]:
    """Return what a scorer says of an answer: of a judge, its verdict and its reason."""
    values = (None, None, None, None) if score is None else (score.value, score.extracted, score.reason, score.state)
    return dict(zip((f"{name}.{scorer}" for name in ("score", "extracted", "reason", "state")), values, strict=True))


def scored_answers(reader: Reader, run_id: str) -> Iterator[tuple[RecordedAnswer, dict[str, AnswerScore]]]:
    """Return every request of a run with its scores by scorer."""
    scores: dict[str, dict[str, AnswerScore]] = {}
    for score in reader.each(AnswerScore, run_id=run_id):
        scores.setdefault(score.request_key, {})[score.scorer] = score
    return ((answer, scores.get(answer.request_key, {})) for answer in reader.each(RecordedAnswer, run_id=run_id))


def safe_for_a_spreadsheet(value: Any) -> Any:
    """Return a text, with an apostrophe before it where a spreadsheet would take it for a formula.

    Source: OWASP, CSV Injection.
    """
    if not isinstance(value, str):
        return value
    is_formula = value.startswith(tuple(_BEFORE_FORMULA)) or value.lstrip(" \n\0").startswith(_FORMULA)
    return f"'{value}" if is_formula else value


def batch_lines(reader: Reader, run_id: str) -> Iterator[bytes]:
    """OpenAI Batch output: a line per request, with its response verbatim or its error.

    `custom_id` is the sample's id, with its epoch and model where the run has several.
    """
    found = reader.only(RunShape, run_id=run_id)
    for row in reader.each(RunReply, run_id=run_id):
        response, error = None, None
        if row.accepted and row.raw is not None:
            status = row.http_status or 200
            response = {"status_code": status, "request_id": row.request_key, "body": _json(row.raw)}
        else:
            error = {
                "code": row.outcome or "not_sent",
                "message": row.error_text or row.evidence or "no answer",
            }
        name = [row.sample_id]
        name += [f"epoch {row.epoch}"] if found.epochs > 1 else []
        name += [row.side] if found.models > 1 else []
        line = {"id": row.request_key, "custom_id": " · ".join(name), "response": response, "error": error}
        yield json_line(line)


def json_line(value: Any) -> bytes:
    """Return a value as a line of JSON: as it is read best,
    or in escapes where it holds half of a surrogate pair, as answers may.
    """
    try:
        return json.dumps(value, ensure_ascii=False, default=_as_text).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value, default=_as_text).encode() + b"\n"


def _as_text(value: Any) -> str:
    """Return a value that JSON does not have: a time as every `--json` writes it."""
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)


def junit(reader: Reader, run_id: str) -> Element:
    """JUnit XML: a suite per model, a case per sample and epoch; a failure where a scorer says wrong or there is no score by the
    model's own doing, an error where there is no answer, or a scorer failed on it.

    A case is skipped where no scorer could judge it, or where it is left out of the scores. All requests of a model that were
    never sent are one more error.
    """
    run = reader.only(Provenance, run_id=run_id)
    names = [scorer.scorer for scorer in reader.all(RunScorer, run_ids=[run_id])]
    root = Element("testsuites", name=visible(run.job))
    suites: dict[str, list[_Case]] = {}
    for answer, own in scored_answers(reader, run_id):
        case = _Case(answer, {name: own[name] for name in names if name in own})
        suites.setdefault(answer.side, []).append(case)
    for side, planned in planned_by_side(run, {side: len(cases) for side, cases in suites.items()}).items():
        cases = suites.get(side, [])
        unsent = planned - len(cases)
        kinds = [case.kind for case in cases] + (["error"] if unsent else [])
        counts = {name: str(kinds.count(kind)) for name, kind in _COUNTED}
        suite = SubElement(root, "testsuite", {"name": _line(side), "tests": str(len(kinds)), **counts})
        for case in cases:
            _add_case(suite, run.job, case)
        if unsent:
            added = SubElement(suite, "testcase", classname=_line(run.job), name=f"{unsent} not sent", time="0.000")
            SubElement(added, "error", message=f"{unsent} of {planned} requests were never sent")
    return root


_COUNTED = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))


class _Case(NamedTuple):
    """A request as a test."""

    answer: RecordedAnswer
    scores: dict[str, AnswerScore]

    @property
    def broke(self) -> list[str]:
        """What the scorers say that failed on it."""
        return [
            f"{name}: {score.reason}"
            for name, score in self.scores.items()
            if score.value is None and (score.reason or "").startswith(FAILED)
        ]

    @property
    def kind(self) -> str:
        """How it ended, as JUnit names it; empty where it passed."""
        if any(score.state == "not right" for score in self.scores.values()):
            return "failure"
        if not self.answer.accepted or self.broke:
            return "error"
        scored = [score for score in self.scores.values() if score.value is not None]
        if not scored or not self.answer.counts:
            return "skipped"
        if any(score.value is not None and score.value < (1 if score.most is None else score.most) for score in scored):
            return "failure"
        return "skipped" if any(score.state == "unknown" for score in self.scores.values()) else ""


def _add_case(suite: Element, job: str, case: _Case) -> None:
    answer, kind = case.answer, case.kind
    epoch = f" epoch {answer.epoch}" if answer.epoch > 1 else ""
    taken = f"{(answer.latency_ms or 0) / 1000:.3f}"
    added = SubElement(suite, "testcase", classname=_line(job), name=_line(answer.sample_id + epoch), time=taken)
    if not kind:
        return
    reasons = [
        f"{name}: {score.state if score.value is None else significant(score.value)}"
        for name, score in case.scores.items()
    ]
    if kind == "error" and answer.accepted:
        reasons = case.broke
    elif kind == "error":
        reasons = [(answer.outcome or "not sent").replace("_", " ")]
    elif not answer.counts:
        reasons.insert(0, "left out of the scores")
    found = SubElement(added, kind, message=_line(", ".join(reasons)))
    if kind == "failure":
        said = [f"{name}: {score.reason}" for name, score in case.scores.items() if score.reason]
        lines = [f"target: {answer.target}", *said, f"answer: {answer.answer or ''}"]
        found.text = visible("\n".join(lines)[:_MOST_SAID_CHARS])


def _line(text: str) -> str:
    return visible(text).replace("\n", " ")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # kept as it came
        return text
