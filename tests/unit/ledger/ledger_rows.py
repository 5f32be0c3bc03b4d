"""A run's journal lines, made as a run makes them."""

import importlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from workbench.ledger import rows
from workbench.ledger.entries import Answer, CallEntry, Intent, RunEnded, RunStarted, SampleSeen
from workbench.ledger.journal import JournalWriter
from workbench.ledger.rows import QueryRow
from workbench.records.keys import body_key, canonical, request_key

STARTED_AT = datetime(2026, 11, 20, 2, 0, tzinfo=UTC)


def started(run_id: str, planned: int, **fields: object) -> RunStarted:
    given: dict[str, object] = {
        "run_id": run_id, "recorded_at": STARTED_AT, "job": "j", "job_path": "jobs/j.toml", "job_toml": "", "job_hash": "h",
        "tags": {"team": "optics"}, "generation": "base", "planned": planned, "dataset_paths": "d", "dataset_hash": "h",
        "dataset_rows": planned, "endpoint": "http://h", "identity": "http://h", "simulated": False,
        "key_fingerprint": "f", "host": "h", "pid": 1, "max_in_flight": 8, "versions": {}, "limits": {},
    }  # fmt: skip
    return RunStarted(**(given | fields))  # type: ignore[arg-type]


def body(number: int) -> str:
    return canonical({"model": "m", "messages": [{"role": "user", "content": str(number)}]}).decode()


def key(number: int) -> str:
    return request_key("http://h", body(number).encode(), 1, 0)


def intent(run_id: str, number: int) -> Intent:
    return Intent(
        run_id=run_id, call_no=number, request_key=key(number), generation="base",
        body_key=body_key(body(number).encode()), body=body(number),
        model="m", sample_id=str(number), sample_key=f"sample{number}", epoch=1, occurrence=0,
        sent_at=STARTED_AT + timedelta(seconds=number),
    )  # fmt: skip


def answer(run_id: str, number: int, **fields: object) -> Answer:
    at = STARTED_AT + timedelta(seconds=number)
    given: dict[str, object] = {
        "run_id": run_id, "call_no": number, "request_key": key(number), "generation": "base", "model": "m",
        "sample_key": f"sample{number}", "epoch": 1, "outcome": "ok", "accepted": True, "rerun": False, "scorable": True,
        "drew": "yes", "evidence": "e", "sent": "answered", "sent_at": at, "ended_at": at + timedelta(seconds=1),
        "latency_ms": 1000.0, "served_model": "m", "answer": f"answer {number}", "raw": "{}", "total_tokens": 10,
        "prompt_tokens": 4, "completion_tokens": 6, "tool_calls": [CallEntry("f", '{"a": 1}', "c1"), CallEntry("g", "{}")],
    }  # fmt: skip
    return Answer(**(given | fields))  # type: ignore[arg-type]


def write_run(folder: Path, run_id: str, calls: int, *, ended: bool = True) -> Path:
    """Journal a run of that many answered calls, in a file of its own."""
    writer = JournalWriter(folder)
    writer.append(started(run_id, calls))
    for number in range(1, calls + 1):
        writer.append(SampleSeen(f"sample{number}", '{"input": "q"}'))
        writer.append(intent(run_id, number))
        writer.append(answer(run_id, number))
        writer.flush()
    if ended:
        writer.append(RunEnded(run_id, STARTED_AT + timedelta(minutes=1), "complete", 0, 60.0))
    path = writer.rotate()
    writer.close()
    assert path is not None
    return path


def every_kind(base: type[QueryRow]) -> list[type[QueryRow]]:
    """Every struct of a query, those that extend another one too."""
    for path in Path(rows.__file__).parent.glob("*_rows.py"):
        importlib.import_module(f"workbench.ledger.{path.stem}")
    return [found for kind in base.__subclasses__() for found in (kind, *every_kind(kind))]
