"""Frames and the notebook: the same numbers as the pages', also while a run is writing."""

import json
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import nbclient
import nbformat
import pytest

from tests.asked_rows import rows_of
from tests.compared_runs import record
from tests.conftest import Workbench, job, quick, sums
from tests.unit.ledger.ledger_rows import STARTED_AT
from tests.waiting import until
from workbench.api.frames import Frames
from workbench.errors import InputError
from workbench.ledger.queries import reading
from workbench.local_platform.config import PlatformConfig, load_config
from workbench.local_platform.server import ThreadedServer

VARIANTS = """
[[variants]]
name = "plain"
[[variants]]
name = "terse"
prompt = { system = "Answer with the number alone.", template = "{{ input }}" }
"""
NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "explore.ipynb"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, catalogue: PlatformConfig) -> Workbench:
    with ThreadedServer(catalogue) as server:
        bench = Workbench(tmp_path_factory.mktemp("recorded"), server)
        bench.write("sums.jsonl", sums(15))
        bench.write("job.toml", job("Abacus Large [careful]", "sim/prose", "sim/flaky"))
        bench("run", "job.toml", "--no-report", code=None)
        bench("run", "job.toml", "--fresh", "--no-report", code=None)
    return bench


def test_frames_say_what_the_queries_say(recorded: Workbench) -> None:
    frames = Frames(folder=recorded.folder)
    newest = frames.runs()["run_id"].iloc[0]
    with reading(recorded.ledger) as reader:
        summary = rows_of(reader, "run_summary", run_id=newest)[0]
        scores = {row["model"]: row for row in rows_of(reader, "run_scores", run_id=newest)}
        spend = rows_of(reader, "spend")[0]
    calls = frames.calls(newest)
    assert len(calls) == summary["calls"]
    assert calls["total_tokens"].sum() == summary["total_tokens"]
    assert frames.usage()["total_tokens"].sum() == spend["total_tokens"]
    means = frames.scores(newest).groupby("requested_model")["value"].mean()
    assert {model: means.get(model) for model in scores} == {model: row["mean"] for model, row in scores.items()}
    assert len(frames.answers(newest)) == summary["planned"]
    assert frames.answers(newest)["answer"].isna().sum() == summary["failed"]


def test_units_zones_and_missing_values(recorded: Workbench) -> None:
    frames = Frames(folder=recorded.folder)
    calls = frames.arrow("calls")
    assert {field.name: str(field.type) for field in calls.schema if field.name.endswith("_at")} == {
        "sent_at": "timestamp[us, tz=UTC]",
        "ended_at": "timestamp[us, tz=UTC]",
    }
    numbers = {field.name for field in calls.schema if str(field.type) in ("double", "int64")}
    assert numbers - {"call_no", "epoch", "http_status"} == {
        "latency_ms", "prompt_tokens", "completion_tokens", "reasoning_tokens", "total_tokens", "tool_calls", "units", "price",
        "hour",
    }  # fmt: skip
    for frame in (frames.routes(), frames.substitutions(), frames.probes()):
        moments = [name for name in frame if name.endswith("_at")]
        assert moments
        assert {str(frame[name].dtype) for name in moments} == {"datetime64[us, UTC]"}
        assert not frame.isin(["–"]).any(axis=None)
    failed = frames.calls().query("outcome == 'route_down'")
    assert failed["total_tokens"].isna().all()
    assert frames.arrow("calls").num_rows == len(frames.calls())


def test_calls_and_answers_have_what_they_drew_and_when(bench: Workbench) -> None:
    record(bench, "r1", {"m": [1.0, 0.0], "unweighted": [1.0, 0.0]})
    bench.write(
        "workbench.toml",
        '[account]\ntime_zone = "Asia/Kolkata"\n[allowance]\nprice_per_unit = 0.5\ncurrency = "EUR"\n'
        '[[allowance.weights]]\nmodel = "m"\nsince = 2026-01-01\nprompt = 1000\ncompletion = 4000\n',
    )
    frames = Frames(folder=bench.folder)
    calls = frames.calls().query("requested_model == 'm'")
    expected = calls["prompt_tokens"] + 4 * calls["completion_tokens"]
    assert list(calls["units"]) == list(expected)
    assert list(calls["price"]) == list(expected / 2)
    assert set(calls["hour"]) == {(STARTED_AT + timedelta(hours=1)).astimezone(ZoneInfo("Asia/Kolkata")).hour}
    assert frames.calls().query("requested_model == 'unweighted'")["units"].isna().all(), "unweighted is not free"
    answers = frames.answers().query("requested_model == 'm'")
    assert list(answers["units"]) == list(expected)
    bench.write("workbench.toml", "")
    plain = Frames(folder=bench.folder).calls()
    assert list(plain["units"]) == list(plain["total_tokens"])
    assert plain["price"].isna().all()


def test_without_a_ledger_the_message_is_the_command_lines(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="workbench"):
        Frames(folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        pytest.param("explore", 20, marks=pytest.mark.slow),
        *(pytest.param(name, 60, marks=pytest.mark.slow) for name in ("compare", "allowance", "routes")),
    ],
)
def test_a_notebook_runs_a_job_where_nothing_is_recorded(
    name: str, answers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "above" / "empty"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    notebook = nbformat.read(NOTEBOOK.with_stem(name), as_version=4)  # type: ignore[no-untyped-call]
    client: Any = nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(folder)}})
    client.execute()
    assert list(Frames(folder=folder).runs()["status"]) == ["complete"]
    assert len(Frames(folder=folder).answers()) == answers


@pytest.mark.slow
@pytest.mark.file_ledger
def test_the_notebook_runs_while_a_run_is_writing(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 100)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(4000))
        bench.write("job.toml", job("sim/instant", "sim/prose", limit=8))
        with bench.start("run", "job.toml", "--no-report") as process:
            until(lambda: server.platform.statistics.requests["sim/prose"] >= 10)
            bench("score", bench.json("runs")[0]["run_id"])
            notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
            client: Any = nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}})
            shown = len(Frames(folder=tmp_path).answers())
            client.execute()
            assert process.poll() is None, "the run was to outlast the notebook"
            assert len(Frames(folder=tmp_path).answers()) > shown > 0
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    texts = [
        output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    assert "runs recorded: 1" in texts[0]
    assert any("sim/prose" in text and "The answer is" not in text for text in texts)


@pytest.mark.slow
def test_frames_have_what_one_groups_by(bench: Workbench) -> None:
    rows = [
        {"id": str(n), "input": f"What is {n} + 1?", "target": n + 1, "level": "easy", "topic": "sums"} for n in (1, 2)
    ]
    rows.append({"id": "3", "input": "Book a table for 4 people at 19:30.", "target": 4, "level": "hard"})
    bench.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    bench.write(
        "job.toml", 'tags = { team = "optics", night = "1" }\n' + job("Abacus Large [careful]", dataset="d.jsonl")
    )
    bench("run", "job.toml", "--no-report", code=None)
    frames = Frames(folder=bench.folder)
    calls, answers, scores = frames.calls("last"), frames.answers("last"), frames.scores("last")
    assert set(calls["sample_key"]) == set(answers["sample_key"])
    assert answers.set_index("sample_id")["metadata.level"].to_dict() == {"1": "easy", "2": "easy", "3": "hard"}
    assert answers.set_index("sample_id")["metadata.topic"].isna().to_dict() == {"1": False, "2": False, "3": True}
    assert {"served_model", "identity", "variant"} <= set(scores.columns) & set(calls.columns)
    for other in (calls, answers):
        joined = scores.merge(other, on=["run_id", "request_key"], validate="one_to_one", suffixes=("", "_of_other"))
        assert (joined["sample_id"] == joined["sample_id_of_other"]).tolist() == [True] * 3
    assert frames.tags()[["tag", "value"]].to_numpy().tolist() == [["night", "1"], ["team", "optics"]]
    assert json.loads(frames.runs()["parameters"].iloc[0]) == {"max_tokens": 64}


def test_further_columns_have_the_types_of_their_values(bench: Workbench, tmp_path: Path) -> None:
    more: list[dict[str, Any]] = [
        {
            "count": 3,
            "share": 1,
            "mixed": 1,
            "words": ["a"],
            "box": {"a": 1},
            "nothing": None,
            "large": 2**70,
            "ok": True,
        },
        {"share": 0.5, "mixed": "1", "words": [], "box": {"b": None}, "nothing": None, "large": 1, "ok": False},
        {"count": 2**60 + 1, "share": 2.0, "mixed": ["x"], "nothing": None},
    ]
    rows = [
        {"id": str(number), "input": f"What is {number} + 1?", "target": number + 1} | row
        for number, row in enumerate(more)
    ]
    bench.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    bench.write("job.toml", job("Abacus Large [careful]", dataset="d.jsonl"))
    bench("run", "job.toml", "--no-report")
    answers = Frames(folder=bench.folder).answers("last").sort_values("sample_id")
    found = answers[[name for name in answers if name.startswith("metadata.")]].rename(columns=lambda name: name[9:])
    assert {name: str(kind) for name, kind in found.dtypes.items()} == {
        "count": "int64[pyarrow]", "share": "double[pyarrow]", "mixed": "string[pyarrow]", "box": "string[pyarrow]",
        "words": "list<item: string>[pyarrow]", "nothing": "string[pyarrow]", "large": "string[pyarrow]", "ok": "bool[pyarrow]",
    }  # fmt: skip
    assert found["count"].dropna().tolist() == [3, 2**60 + 1]
    assert found["mixed"].tolist() == ["1", '"1"', '["x"]']
    assert found["box"].dropna().tolist() == ['{"a": 1}', '{"b": null}']
    answers.to_parquet(tmp_path / "answers.parquet")


@pytest.mark.slow
def test_tags_can_be_grouped_by_in_every_frame(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", 'tags = { team = "öptics", night = "1" }\n' + job())
    bench("run", "job.toml", "--no-report")
    bench.write("job.toml", job(name="untagged"))
    bench("run", "job.toml", "--no-report", "--fresh")
    frames = Frames(folder=bench.folder)
    found = [set(frame.drop_duplicates()["tags"]) for frame in (frames.runs(), frames.calls(), frames.usage())]
    assert found[0] == found[1] == found[2]
    assert sorted(map(json.loads, found[0]), key=len) == [{}, {"team": "öptics", "night": "1"}]
    assert frames.usage().groupby("tags")["calls"].sum().tolist() == [2, 2]


def test_tool_calls_are_rows(bench: Workbench) -> None:
    tool = '{ type = "function", function = { name = "book", parameters = { type = "object", properties = { people = { type = "integer" } } } } }'
    bench.write("d.jsonl", '{"id": "1", "input": "Book a table for 4 people.", "target": 4}\n')
    bench.write(
        "job.toml",
        job("Toolsmith (forced ok)", dataset="d.jsonl").replace(
            "max_tokens = 64", f'max_tokens = 64\ntools = [{tool}]\ntool_choice = "required"'
        ),
    )
    bench("run", "job.toml", "--no-report", code=None)
    called = Frames(folder=bench.folder).tool_calls("last")
    assert called[["position", "name"]].to_numpy().tolist() == [[1, "book"]]
    answers = Frames(folder=bench.folder).answers("last")
    keys = ["run_id", "request_key", "sample_key", "requested_model", "variant"]
    assert called[keys].to_numpy().tolist() == answers[keys].to_numpy().tolist()
    assert isinstance(json.loads(called["arguments"].iloc[0]), dict)


@pytest.mark.slow
@pytest.mark.file_ledger
@pytest.mark.parametrize("name", ["explore", "compare"])
def test_notebooks_leave_out_fallbacks_and_keep_variants_apart(name: str, bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(6))
    bench.write("job.toml", job("Abacus Large [careful]", "Abacus Mini [fast]", "Abacus Classic") + VARIANTS)
    bench("run", "job.toml", "--no-report")
    notebook = nbformat.read(NOTEBOOK.with_stem(name), as_version=4)  # type: ignore[no-untyped-call]
    client: Any = nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(bench.folder)}})
    client.execute()
    (shown,) = (
        cell.outputs[0].data["text/plain"]
        for cell in notebook.cells
        if cell.cell_type == "code" and any(f'scores["{name}"]' in cell.source for name in ("counts", "state"))
    )
    assert all(f"{model} · {variant}" in shown for model in ("careful]", "[fast]") for variant in ("plain", "terse"))
    assert "Classic" not in shown, "another model answered for it"
    means = [cell for cell in notebook.cells if cell.cell_type == "code" and "of_models" in cell.source]
    assert not any("Classic" in str(cell.outputs) for cell in means)


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_notebook_leaves_out_scores_that_nothing_bounds(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(6))
    bench.write(
        "mine.py",
        "def length(answer, sample):\n    return None if answer.text.endswith('4') else len(answer.text) / 100\n",
    )
    own = '\n[[scorers]]\nname = "custom"\nfunction = "mine.py:length"\n'
    bench.write("job.toml", job("Abacus Mini [fast]") + own)
    bench("run", "job.toml", "--no-report")
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    client: Any = nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(bench.folder)}})
    client.execute()
