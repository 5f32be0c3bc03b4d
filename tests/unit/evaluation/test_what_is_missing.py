"""What becomes of answers without a score: scales, refusals, states, and reductions at both ends."""

import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import msgspec
import pytest
import tomli_w

from workbench.evaluation.differing import NO_MATTER, job_values
from workbench.job.file import (
    BudgetTable,
    CompareTable,
    DatasetTable,
    JobFile,
    PromptTable,
    RequestFields,
    RunTable,
    UnscoredTable,
)
from workbench.ledger.schema import sql
from workbench.records.calls import Sample, Score
from workbench.records.outcomes import EFFECTS
from workbench.scoring.custom import Custom
from workbench.scoring.exact import Exact
from workbench.scoring.given import Given
from workbench.scoring.judge import Judge
from workbench.scoring.scorer import NO_TEXT, Scorer
from workbench.scoring.scorers import NOTHING_TO_JUDGE_BY, score


@pytest.fixture(scope="module")
def db() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name in ("reduced", "completions", "scale_of", "state_of"):
        connection.execute(sql("views", name))
    return connection


@pytest.mark.parametrize(
    "scorer",
    [
        Exact(),
        Judge(model="m"),
        Judge(model="m", verdicts={"A": 0.9, "B": 0.25, "C": 0.5}),
        Custom(function="f.py:f"),
        Custom(function="f.py:f", scale=(1.0, 5.0)),
        Custom(function="f.py:f", scale=(-1.0, 0.0), label="x"),
    ],
)
def test_queries_read_the_scale_that_the_scorer_has(db: duckdb.DuckDBPyConnection, scorer: Scorer) -> None:
    config = msgspec.json.encode(scorer).decode()
    (found,) = db.execute("SELECT scale_of(?)", [config]).fetchone() or ()
    assert found == (None if scorer.ends is None else list(scorer.ends))


def test_an_option_that_is_not_given_is_not_in_a_scorer_s_settings() -> None:
    """Scores of earlier versions have none: they are of the same settings, and a judge is not asked again."""
    settings = msgspec.json.decode(msgspec.json.encode(Judge(model="m")))
    assert settings.keys().isdisjoint({"scale", "refusals"})


def test_a_value_outside_its_scale_is_unscored_and_says_so(tmp_path: Any) -> None:
    (tmp_path / "own.py").write_text("def f(answer, sample):\n    return float(answer.text)\n")
    scorer = Custom(function=f"{tmp_path}/own.py:f", scale=(1.0, 5.0))
    assert score(scorer, Given("5"), Sample("1", "q")).value == 5
    assert score(scorer, Given("7"), Sample("1", "q")) == Score(
        None, "the scorer failed: 7 is outside its scale from 1 to 5"
    )
    assert score(msgspec.structs.replace(scorer, scale=msgspec.UNSET), Given("7"), Sample("1", "q")).value == 7


REFUSED = Given("I can't help with that.", refused=True)
WANTED: dict[str, Any] = {"refusal": "right"}


@pytest.mark.parametrize(
    ("answer", "sample", "scorer", "expected"),
    [
        (REFUSED, Sample("1", "q", "x"), Exact(), None),
        (REFUSED, Sample("1", "q", "x", metadata=WANTED), Exact(), 1.0),
        (REFUSED, Sample("1", "q", None, metadata=WANTED), Exact(), 1.0),
        (REFUSED, Sample("1", "q", "x", metadata={"refusal": "rite"}), Exact(), None),
        (Given("Sure: do this."), Sample("1", "q", None, metadata=WANTED), Exact(), 0.0),
        (Given("x"), Sample("1", "q", "x", metadata=WANTED), Exact(), 1.0),
        (REFUSED, Sample("1", "q", "i can't help with that."), Exact(ignore_case=True, refusals=True), 1.0),
        (REFUSED, Sample("1", "q", "x"), Exact(refusals=True), 0.0),
        (REFUSED, Sample("1", "q", metadata=WANTED), Judge(model="m", verdicts={"A": 0.9, "B": 0.1}), 0.9),
    ],
)
def test_a_refusal_is_right_where_the_sample_or_the_scorer_says_so(
    answer: Given, sample: Sample, scorer: Scorer, expected: float | None
) -> None:
    assert score(scorer, answer, sample).value == expected


def test_what_has_nothing_to_judge_by_is_told_from_what_cannot_be_read() -> None:
    assert score(Exact(), Given("x"), Sample("1", "q")).reason.startswith(NOTHING_TO_JUDGE_BY)
    assert score(Exact(), Given(" "), Sample("1", "q", "x")).reason == NO_TEXT


def state(db: duckdb.DuckDBPyConnection, *values: Any) -> str:
    (found,) = db.execute("SELECT state_of(?, ?, ?, ?, ?)", list(values)).fetchone() or ()
    return str(found)


def test_every_state_of_an_answer(db: duckdb.DuckDBPyConnection) -> None:
    for name in {follows.ends for follows in EFFECTS.values()} - {""}:
        assert state(db, True, name, None, None, None) == "not right"
        assert state(db, True, name, None, "the answer is refused", [name]) == "unknown"
        assert state(db, True, name, None, None, ["other"]) == "not right"
        assert state(db, False, name, None, None, None) == "unknown", "another model may have said it"
    assert state(db, True, "", None, NO_TEXT, None) == "not right"
    assert state(db, True, "", None, NO_TEXT, ["tool_call"]) == "unknown"
    assert state(db, True, "", 0.5, "r", ["tool_call"]) == "scored"
    assert state(db, False, "", 0.5, "r", None) == "unknown"
    assert state(db, True, "", None, f"{NOTHING_TO_JUDGE_BY}the sample has no target", None) == "not asked"
    assert state(db, False, "", None, f"{NOTHING_TO_JUDGE_BY}the sample has no target", None) == "not asked"
    for reason in ("the scorer failed: ValueError", "pending: …", None):
        assert state(db, True, "", None, reason, None) == "unknown"


def test_the_table_of_a_job_names_every_state() -> None:
    assert UnscoredTable(cut_off="unknown", tool_call="unknown").unknown == ["cut_off", "tool_call"]
    assert {follows.ends for follows in EFFECTS.values()} - {""} == set(UnscoredTable.__struct_fields__) - {"tool_call"}


def mode(values: Sequence[float]) -> float:
    return min(values, key=lambda value: (-values.count(value), value))


def drawn(k: int, of: Callable[[Sequence[bool]], bool]) -> Callable[[Sequence[float]], float]:
    def reduce(values: Sequence[float]) -> float:
        draws = list(itertools.combinations([value >= 1 for value in values], k))
        return sum(map(of, draws)) / len(draws)

    return reduce


REDUCERS: dict[str | None, Callable[[Sequence[float]], float]] = {
    None: lambda values: math.fsum(values) / len(values), "mode": mode,
    "at_least_2": lambda values: float(sum(value >= 1 for value in values) >= 2), "pass@2": drawn(2, any), "pass^3": drawn(3, all),
}  # fmt: skip


def reduced_within(
    db: duckdb.DuckDBPyConnection, reducer: str | None, known: list[float], missing: int, scale: list[float] | None
) -> tuple[float | None, float | None]:
    """The lowest and the highest that a sample's score can be."""
    found = db.execute(
        "SELECT list_min(ends), list_max(ends) FROM (SELECT list_transform("
        "completions($1::VARCHAR, $2::DOUBLE[], $3, $4::DOUBLE[]), lambda l: reduced($1::VARCHAR, l, ($4::DOUBLE[])[2])) AS ends)",
        [reducer, known, missing, scale],
    ).fetchone()
    assert found is not None
    return found


@pytest.mark.parametrize("reducer", REDUCERS, ids=str)
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_reduction_is_between_what_any_completion_makes_of_it(
    db: duckdb.DuckDBPyConnection, reducer: str | None, missing: int
) -> None:
    """By trying them all: every epoch that is missing takes every value of a grid of the scale."""
    grid = (0.0, 0.25, 0.5, 1.0)
    for known in itertools.combinations_with_replacement((0.0, 0.5, 1.0), 4):
        values = [REDUCERS[reducer]([*known, *more]) for more in itertools.product(grid, repeat=missing)]
        found = reduced_within(db, reducer, list(known), missing, [0.0, 1.0])
        assert found == pytest.approx((min(values), max(values))), known


def test_one_right_of_four_asked_is_not_all_right(db: duckdb.DuckDBPyConnection) -> None:
    assert reduced_within(db, None, [1.0], 3, [0.0, 1.0]) == (0.25, 1.0)
    for reducer in (None, "mode"):
        assert reduced_within(db, reducer, [1.0], 1, None) == (None, None), "no scale bounds it"


JOB: dict[str, Any] = {"models": ["m"], "dataset": {"path": "d.jsonl"}, "scorers": [{"name": "exact"}]}
BODY: dict[str, Any] = {
    "max_tokens": 9, "max_completion_tokens": 9, "temperature": 0.5, "top_p": 0.5, "stop": ["x"], "seed": 1, "presence_penalty": 1.0,
    "frequency_penalty": 1.0, "response_format": {"type": "json_object"}, "tools": [{"type": "function"}], "tools_path": "t.json",
    "tool_choice": "none", "tool_ids": ["a"], "parallel_tool_calls": False, "extra": {"a": 1},
}  # fmt: skip
OTHERS: dict[str, dict[str, Any]] = {
    "dataset": {
        "path": "other.jsonl", "format": "csv", "delimiter": ";", "layout": "gsm8k", "limit": 5, "sample_ids": ["a*"], "shuffle_seed": 3,
        "fields": {"input": "q"}, "second_target": "second", "reference": {"old": "before"}, "sheet": "One", "cluster": "id",
    },
    "prompt": {"system": "Think.", "template": "{{ id }}", "messages": [{"role": "user", "content": "x"}]},
    "request": BODY,
    "run": {
        "epochs": 3, "reduce": "mode", "max_in_flight": 3, "reuse": "occasion", "on_fallback": "accept", "ghost_s": 1.0,
        "order": "file", "passes": 3, "gateway_limit_s": 9.0, "deadline_s": 9.0, "request_deadline_s": 9.0, "patience_s": 9.0,
        "max_reply_bytes": 2**20, "max_failed_share": 0.5, "allow": ["no_targets"],
    },
    "budget": {"requests": 9, "total_tokens": 9, "units": 9.0, "share_of_left": 0.5},
    "compare": {"min_answered": 0.5, "margin": {"exact": 0.02}},
    "unscored": dict.fromkeys(UnscoredTable.__struct_fields__, "unknown"),
}  # fmt: skip
"""Of each table of a job and each of its keys a value that is not the default."""
LISTS: dict[str, Any] = {
    "models": ["m", {"id": "n"}], "variants": [{"name": "a", "seed": 1}], "scorers": [{"name": "exact", "ignore_case": True}],
}  # fmt: skip
TABLES: dict[str, type[msgspec.Struct]] = {
    "dataset": DatasetTable, "prompt": PromptTable, "request": RequestFields, "run": RunTable, "budget": BudgetTable,
    "compare": CompareTable, "unscored": UnscoredTable,
}  # fmt: skip


def changed(job: dict[str, Any]) -> set[str]:
    """The keys under which a comparison lists a difference from `JOB`."""
    before, after = (job_values(tomli_w.dumps(one)) for one in (JOB, job))
    return {key for key in before | after if before.get(key) != after.get(key)}


def test_every_table_of_a_job_is_told_apart_or_makes_no_difference() -> None:
    assert set(JobFile.__struct_fields__) - NO_MATTER == set(OTHERS) | set(LISTS), "a new one belongs to one of them"
    assert changed(JOB | {"run": {"epochs": 1}}) == set(), "a default that is written is no difference"
    for name, value in LISTS.items():
        assert {re.split(r"[.\[]", key)[0] for key in changed(JOB | {name: value})} == {name}


@pytest.mark.parametrize("table", OTHERS)
def test_every_key_of_a_job_that_could_make_a_difference_is_listed_where_it_differs(table: str) -> None:
    assert set(OTHERS[table]) == set(TABLES[table].__struct_fields__), "a new key is listed too"
    for key, value in OTHERS[table].items():
        found = changed(JOB | {table: JOB.get(table, {}) | {key: value}})
        assert found, key
        assert all(name.startswith(f"{table}.{key}") for name in found), key
