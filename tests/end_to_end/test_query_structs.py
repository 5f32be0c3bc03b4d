"""What queries answer over real ledgers is what their structs promise: every column, its type, and where it may be missing."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

import workbench.ledger.combined as combined
from tests.asked_rows import rows_of
from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.unit.ledger.ledger_rows import every_kind
from workbench.errors import WorkbenchError
from workbench.ledger.queries import Reader, reading
from workbench.ledger.rows import QueryRow, RunId
from workbench.ledger.schema import sql
from workbench.ledger.score_rows import BesideBefore, JobPair, SideSample
from workbench.ledger.store import Ledger
from workbench.local_platform.server import ThreadedServer
from workbench.records.outcomes import UNKNOWN_REASON
from workbench.scoring.judge import PENDING_BEGINS
from workbench.scoring.scorer import FAILED

KINDS = [kind for kind in every_kind(QueryRow) if hasattr(kind, "query")]
SILENT = {
    "judged_answers",
    "accepted_answers",
    "earlier_latencies",
    "tools_forced",
    "readings",
    "scorer_faults",
    "run_cluster_sums",
    "run_suspects",
    "route_retries",
    "answered_by_another",
    "run_unknown_ends",
    "run_unsent",
    "run_corrections",
    "unsent_keys",
    "acceptances",
    "higher_caps",
    "refusals",
    "verdicts",
}
"""They may have nothing to say here; `tests/unit/ledger/test_rows.py` asks them of a journal that was made for it."""
MODELS = ("good", "rescued", "down")
CLUSTERED = [{"input": f"What is {n} + {n}?", "target": 2 * n, "cluster": f"c{n // 2}"} for n in range(8)]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """A job asked three times with what fails and falls back, another on two occasions, and a judge's scores of none."""
    routes = (
        {"id": "good", "simulated": "answers"},
        {"id": "rescued", "unavailable": True, "fallback": "good", "simulated": "answers"},
        {"id": "down", "unavailable": True},
    )
    with ThreadedServer(platform_of(*routes, limits={"retries": 0})) as server:
        bench = Workbench(tmp_path_factory.mktemp("structs"), server)
        bench.write("sums.jsonl", sums(6))
        bench.write("job.toml", job(*MODELS))
        for fresh in ((), ("--fresh",), ("--fresh",), ()):
            bench("run", "job.toml", *fresh, "--no-report", code=None)
        bench.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in CLUSTERED))
        nightly = job("good", "rescued", dataset="rows.jsonl", name="nightly")
        bench.write("nightly.toml", nightly.replace("passes = 1", 'passes = 1\nreuse = "occasion"'))
        bench.write("nightly.toml", (bench.folder / "nightly.toml").read_text() + "[gates]\nmax_failed_share = 0.5\n")
        for day in ("2026-11-20", "2026-11-21"):
            bench("run", "nightly.toml", "--occasion", day, "--no-report", code=None)
        bench("invalidate", "last", "--sample", "1", "--reason", "wrong")
        bench("probe", "good", code=None)
        yield bench.ledger


@pytest.fixture(scope="module")
def reader(ledger: Ledger) -> Iterator[Reader]:
    with reading(ledger) as reader:
        yield reader


@pytest.fixture(scope="module")
def given(reader: Reader) -> dict[str, Any]:
    """A value for each parameter of any query: the newest run that is no probe, and everything."""
    newest, *others = [run.run_id for run in reader.all(RunId)][1:]
    keys = [row["sample_key"] for row in rows_of(reader, "run_sample_keys", run_id=newest)]
    long_ago = datetime.now(UTC) - timedelta(days=1)
    return {
        "answer_run_id": newest, "cluster": "cluster", "edges": [long_ago], "end_call_no": 10**6, "failed": FAILED, "pending": PENDING_BEGINS,
        "first_call_no": 1, "generation": None, "in_part": True, "in_parts": False, "job": "nightly", "keys": keys,
        "models": list(MODELS), "most": 100, "most_chars": 100, "on_fallback": None,
        "request_keys": [row["request_key"] for row in rows_of(reader, "answers", run_id=newest)], "run_id": newest,
        "run_ids": [newest, *others], "sample_keys": keys, "scorer": "numeric", "scorer_config": '{"name":"numeric"}', "scorers": ["numeric"], "since": long_ago, "tries": 3,
        "until_at": None, "zone": "UTC", "span": "minute", "newest": 50, "most_runs": 3, "first_day": long_ago.date(), "margin_s": 15.0, "least_failures": 5,
        "times": 3.0, "medians_ms": {"good": 1.0}, "unknown_reason": UNKNOWN_REASON, "by": "day", "until": None, "others": "others", "spans": 5, "call_nos": [1, 2], "last_call_no": 9,
    }  # fmt: skip


@pytest.fixture(scope="module")
def parameters_of(given: dict[str, Any]) -> Callable[[type[QueryRow]], dict[str, Any]]:
    """The values for a query's parameters."""

    def parameters_of(kind: type[QueryRow]) -> dict[str, Any]:
        return {name: given[name] for name in re.findall(r"\$([a-z_]+)", sql("queries", kind.query))}

    return parameters_of


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_row_is_what_its_struct_promises(
    reader: Reader, parameters_of: Callable[[type[QueryRow]], dict[str, Any]], kind: type[QueryRow]
) -> None:
    parameters = parameters_of(kind)
    table = reader.arrow(kind.query, **parameters)
    assert tuple(table.column_names) == kind.__struct_fields__
    found: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="strict")  # as `rows_of` says it
    assert found or kind.query in SILENT
    for row in found:
        msgspec.convert(row, kind)  # raises where a value is of another type, or missing


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_about_some_runs_every_query_about_them_answers_the_same(
    reader: Reader, parameters_of: Callable[[type[QueryRow]], dict[str, Any]], several: bool
) -> None:
    """Of every run: one that failed in part, one that uses its answers, those of a job with clusters, and a probe."""
    about_runs = [
        (kind, parameters) for kind in KINDS if not {"run_id", "run_ids"}.isdisjoint(parameters := parameters_of(kind))
    ]
    assert len(about_runs) > 40
    every = [run.run_id for run in reader.all(RunId)]
    for run_id, other in zip(every, [*every[1:], every[0]], strict=True):
        run_ids = [run_id, other] if several else [run_id]
        about_them = {"run_id": run_id, "run_ids": run_ids, "answer_run_id": run_id}
        for kind, parameters in about_runs:
            asked = {name: about_them.get(name, value) for name, value in parameters.items()}
            both = [rows_of(asking, kind.query, **asked) for asking in (reader.about(*run_ids), reader)]
            assert in_any_order(both[0]) == in_any_order(both[1]), kind.query
        asked = {"run_ids": run_ids, "scorer": "numeric", "cluster": None, "on_fallback": "accept"}
        if several:
            assert reader.about(*run_ids).all(SideSample, **asked) == reader.all(SideSample, **asked)
        elif reader.all(SideSample, **asked):
            with pytest.raises(WorkbenchError, match="only by the rule of its job"):
                reader.about(run_id).all(SideSample, **asked)


@pytest.mark.slow
def test_what_is_read_at_once_for_pages_is_the_same(
    ledger: Ledger,
    reader: Reader,
    parameters_of: Callable[[type[QueryRow]], dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_once = reader.at_once()
    assert at_once is not reader
    assert at_once.about("any run") is at_once.at_once() is at_once
    for kind in KINDS:
        if kind is not BesideBefore:
            both = [rows_of(asking, kind.query, **parameters_of(kind)) for asking in (at_once, reader)]
            assert in_any_order(both[0]) == in_any_order(both[1]), kind.query
    assert changes_of(at_once) == changes_of(reader)
    with pytest.raises(WorkbenchError, match="only by the rule of its job"):
        at_once.all(SideSample, **parameters_of(SideSample) | {"on_fallback": "accept"})
    monkeypatch.setattr(combined, "_FEW_ITEMS", 1)
    with reading(ledger) as of_many:
        assert of_many.at_once() is of_many


@pytest.mark.slow
def test_about_the_two_newest_runs_of_each_job_their_changes_are_the_same(reader: Reader) -> None:
    runs = [run for pair in reader.all(JobPair) for run in (pair.run_id, pair.before_run_id)]
    assert runs
    assert changes_of(reader.about(*runs)) == changes_of(reader) != []


def changes_of(reader: Reader) -> list[str]:
    rows = rows_of(reader, BesideBefore.query)
    for row in rows:
        for ends in ("known", "lowest", "highest"):
            row[ends]["clustered"].sort(key=repr)  # in no order
    return in_any_order(rows)


def in_any_order(rows: list[dict[str, Any]]) -> list[str]:
    """Rows to compare: not every query needs an order."""
    return sorted(map(repr, rows))
