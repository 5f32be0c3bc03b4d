"""Workbench from Python: a script, a running event loop, an interrupt."""

import asyncio
import inspect
import json
import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import numpy
import pandas
import pytest
from jupyter_client.manager import start_new_kernel

import workbench as wb
from tests.conftest import Workbench, job, quick, sums
from tests.waiting import until, until_on_loop
from workbench.api.functions import on_a_loop
from workbench.api.pipeline import run_job
from workbench.api.session import Target
from workbench.dataset.samples import selected_samples
from workbench.errors import InputError
from workbench.job.job import parse_job
from workbench.local_platform.config import load_config
from workbench.local_platform.server import ThreadedServer
from workbench.running.options import RunOptions, described_options
from workbench.running.signals import Interrupts

MODELS = ["Abacus Large [careful]", "Abacus Mini [fast]"]
ROWS = [{"input": f"What is {n} + {n}? Answer with a number.", "target": 2 * n} for n in range(1, 6)]


@pytest.fixture
def folder(tmp_path: Path, platform: ThreadedServer) -> Path:
    (tmp_path / ".env").write_text(f"WORKBENCH_BASE_URL={platform.base_url}\nWORKBENCH_API_KEY={platform.key}\n")
    return tmp_path


@pytest.fixture(scope="module")
def platform() -> Iterator[ThreadedServer]:
    with ThreadedServer(quick(load_config(), 5.0)) as server:
        yield server


FROM_A_FILE: dict[str, Any] = {"rows": None, "dataset_paths": (str(Path.cwd() / "rows given in Python"),)}


def made(**other: Any) -> wb.Job:
    return wb.make_job("sums", MODELS, ROWS, scorers=["numeric"], request={"max_tokens": 64}, **other)


def test_a_job_made_in_python_is_planned_run_and_resumed(folder: Path) -> None:
    planned = wb.plan(made(), folder=folder)
    assert (planned.planned, planned.to_send, planned.simulated) == (10, 10, True)
    ended = wb.run(made(), folder=folder, progress=False)
    assert (ended.status, ended.summary.completed, ended.exit_code) == (wb.RunStatus.COMPLETE, 10, 0)
    assert ended.report is not None
    assert ended.report.exists()
    assert ended.scores()["value"].mean() > 0.5
    assert len(ended.answers()) == len(ended.calls()) == 10
    again = wb.run(made(), folder=folder, progress=False, report=False)
    assert (again.summary.reused, again.report) == (10, None)
    assert ended.id in repr(ended)


@pytest.mark.slow
def test_a_job_file_and_the_same_job_made_in_python_share_answers(folder: Path) -> None:
    bench = Workbench(folder, None)
    bench.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS))
    bench.write("job.toml", job(*MODELS, dataset="rows.jsonl"))
    wb.run(folder / "job.toml", folder=folder, progress=False)
    assert wb.plan(wb.load_job(folder / "job.toml"), folder=folder).to_send == 0
    made_of = {"list": ROWS, "frame": pandas.DataFrame(ROWS), "file": folder / "rows.jsonl"}
    for dataset in made_of.values():
        same = wb.make_job("other", MODELS, dataset, request={"max_tokens": 64})
        assert wb.plan(same, folder=folder).to_send == 0


@pytest.mark.file_ledger
def test_what_stops_a_run_is_allowed_as_its_message_says(folder: Path) -> None:
    constant = made(prompt={"template": "Say something."})
    with pytest.raises(wb.WorkbenchError) as stopped:
        wb.run(constant, folder=folder, report=False)
    said = re.search(r"allow=(\[.*?\])", str(stopped.value))
    assert said is not None
    ended = wb.run(constant, folder=folder, report=False, allow=json.loads(said[1]))
    assert ended.summary.completed == 10
    one = asyncio.run(wb.run_async(constant, folder=folder, report=False, allow="constant_prompt"))
    assert one.summary.reused == 10
    with pytest.raises(
        wb.WorkbenchError, match=r"allow: 'constant_promt' is not .* \(did you mean 'constant_prompt'\?\)"
    ):
        wb.run(constant, folder=folder, report=False, allow=["constant_promt"])


@pytest.mark.file_ledger
def test_a_run_of_a_part_says_so_and_is_no_occasion(folder: Path) -> None:
    part = wb.run(made(), folder=folder, progress=False, limit=2, models=MODELS[:1], max_in_flight=1)
    assert part.summary.planned == 2
    shown = Workbench(folder, None)("show", part.id).stdout
    assert f"narrowed to the first 2 samples, only {MODELS[0]}, at most 1 in flight" in shown
    nightly = made(run={"reuse": "occasion"})
    with pytest.raises(wb.WorkbenchError, match="a scheduled run is of the whole job"):
        wb.run(nightly, folder=folder, occasion="2026-11-22", limit=1)


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_resumed_run_asks_the_part_that_it_asked_before(folder: Path) -> None:
    bench = Workbench(folder, None)
    bench.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS))
    bench.write("job.toml", job(*MODELS, dataset="rows.jsonl"))
    part = bench.json("run", "job.toml", "--local", "--fresh", "--limit", "2", "--model", MODELS[0], "--no-report")
    again = bench.json("run", "--local", "--resume", part["run_id"], "--no-report")
    assert (part["planned"], again["planned"], again["reused"]) == (2, 2, 2)
    more = bench.json("run", "job.toml", "--local", "--resume", part["run_id"], "--model", MODELS[1], "--no-report")
    assert (more["planned"], more["reused"]) == (2, 0), "what is typed comes before what was recorded"
    in_python = wb.run(
        folder / "job.toml", local=True, folder=folder, resume=part["run_id"], progress=False, report=False
    )
    assert in_python.summary.planned == 2
    with duckdb.connect(str(folder / "local.duckdb")) as db:  # as an earlier version recorded it
        db.execute("UPDATE runs SET part = NULL WHERE run_id = ?", [part["run_id"]])
    whole = bench("run", "--local", "--resume", part["run_id"], "--no-report", code=2)  # other samples are refused
    assert f"{part['run_id']} was narrowed to the first 2 samples, only {MODELS[0]}" in whole.stderr


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"request": {"temperature": "hot"}}, r"request.temperature"),
        ({"request": {"max_token": 5}}, r"max_tokens"),
        ({"scorers": ["numerical"]}, r"numeric"),
        ({"scorers": "numeric"}, r'scorers: expected a list, found .numeric. \(scorers = \["numeric"\]\)'),
        ({"scorers": {"name": "numeric"}}, r"scorers: expected a list, found \{'name': 'numeric'\}"),
        (
            {"scorers": [print]},
            r"scorers\[0\]: expected a name or a table, found <built-in .*\"function\": \"file.py:name\"",
        ),
        ({"run": {"max_in_flight": 64}}, r"63"),
        ({"request": {"extra": {"x": object()}}}, r"request.extra.x: expected a text, a number, .*, found <object"),
        ({"request": {"temperature": None}}, r"request.temperature: expected a value, found None \(leave it out\)"),
        ({"prompt": 3}, r"prompt: expected a template or the \[prompt\] table, found 3"),
        ({"prompt": "\ud800 {{ input }}"}, r"prompt.template: half a pair of surrogates"),
        ({"gates": {"min_mean": {"numeric": float("nan")}}}, r"gates.min_mean.numeric: expected a number, found nan"),
        ({"gates": {"max_drop": {"numeric": float("inf")}}}, r"gates.max_drop.numeric: expected at most"),
    ],
)
def test_a_fault_is_named(wrong: dict[str, Any], message: str) -> None:
    given = {"scorers": ["numeric"]} | wrong
    with pytest.raises(wb.WorkbenchError, match=message):
        wb.make_job("sums", MODELS, ROWS, **given)


def test_rows_are_what_the_job_says_they_are_and_can_be_sent(folder: Path) -> None:
    rows = [{"input": "Hi", "metadata": {"level": 1}, "target": "x"}]
    no_more_and_plain: list[dict[str, Any]] = [{}, {"layout": "plain"}]
    jobs = [wb.make_job("rows", MODELS, rows, **more) for more in no_more_and_plain]
    assert [next(selected_samples(job)).metadata for job in jobs] == [{"level": 1}, {"metadata": {"level": 1}}]
    with pytest.raises(wb.WorkbenchError, match="row 1: target: nan is not a JSON number"):
        wb.make_job("rows", MODELS, [{"input": "x", "target": float("nan")}])


def test_a_list_of_files_is_no_list_of_samples() -> None:
    with pytest.raises(wb.WorkbenchError, match="for several files"):
        wb.make_job("sums", MODELS, ["a.jsonl", "b.jsonl"])


def test_wrong_places_and_parts_are_named(folder: Path) -> None:
    with pytest.raises(wb.WorkbenchError, match="only one of them"):
        wb.plan(made(), folder=folder, local=True, base_url="http://127.0.0.1:1")
    with pytest.raises(wb.WorkbenchError, match="did you mean 'Abacus Mini \\[fast\\]'"):
        wb.plan(made(), folder=folder, models=["Abacus Mini [fas]"])
    with pytest.raises(TypeError, match="locl"):
        wb.run(made(), folder=folder, locl=True)  # type: ignore[call-arg]
    with pytest.raises(wb.WorkbenchError, match="from 1"):
        wb.plan(made(), folder=folder, limit=0)
    for part in ({"limit": 2.5}, {"limit": "3"}, {"limit": True}, {"max_in_flight": "2"}):
        with pytest.raises(wb.WorkbenchError, match=f"{next(iter(part))}: expected a whole number, found"):
            wb.plan(made(), folder=folder, **part)
    for name, given in (("fresh", "no"), ("fixed", 1), ("local", "yes"), ("report", "no"), ("progress", "yes")):
        with pytest.raises(wb.WorkbenchError, match=f"^{name}: expected True or False, found {given!r}"):
            wb.run(made(), folder=folder, **{name: given})  # type: ignore[arg-type]
    with pytest.raises(wb.WorkbenchError, match="max_tokens: expected a number of tokens from 1, found 0"):
        wb.run(made(), folder=folder, again="truncated", max_tokens=0)
    with pytest.raises(wb.WorkbenchError, match=r"not one of truncated, .*did you mean 'truncated'"):
        wb.run(made(), folder=folder, again="truncatd")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a job or the path of one, found 3; `make_job` makes one"):
        wb.run(3, folder=folder)  # type: ignore[arg-type]
    with pytest.raises(wb.WorkbenchError, match="the dataset has no rows"):
        wb.plan(wb.make_job("none", MODELS, []), folder=folder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fresh": True, "resume": "x"}, "resume: cannot be combined with fresh"),
        ({"again": "empt"}, "again: 'empt' is not one of .*did you mean 'empty'"),
        ({"again": "truncated"}, r"again: truncated needs the higher cap \(max_tokens N\)"),
        ({"occasion": "x"}, "occasion: 'x' is not a valid time"),
        ({"models": ["nope"]}, "models: 'nope' is not one of the job's models"),
        ({"models": 3}, "models: expected a text or a list of texts, found 3"),
        ({"ledger": "/nowhere/x.duckdb"}, "ledger: there is no folder /nowhere"),
        ({"allow": 3}, "allow: expected a text or a list of texts, found 3"),
    ],
)
def test_errors_name_arguments_and_no_options_of_a_command(folder: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(wb.WorkbenchError, match=message):
        wb.run(made(), folder=folder, report=False, **options)


def test_arguments_are_taken_as_a_notebook_has_them(folder: Path) -> None:
    given: Any = numpy.array(MODELS)
    nothing: Any = None
    job = wb.make_job("numpy", given, ROWS, request={"max_tokens": numpy.int64(64)}, scorers=["numeric"])
    assert list(job.ids) == MODELS
    ended = wb.run(job, folder=folder, report=False, models=given[:1], allow=nothing)
    frames: Any = wb.open(folder=folder)
    assert len(frames.scores(ended)) == len(frames.scores(ended.id)) > 0
    assert wb.run(job, folder=folder, report=False, resume=ended).summary.completed == 0
    with pytest.raises(wb.WorkbenchError, match="run: expected the id of a run, found 3"):
        frames.calls(3)
    with pytest.raises(wb.WorkbenchError, match=r"margin: expected a number, found '0\.1'"):
        frames.compare(ended, margin="0.1")


def frame_of_twins() -> pandas.DataFrame:
    """A table in which `input` is the name of two columns."""
    return pandas.DataFrame([["x", "y", 1]], columns=["input", "input", "target"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"models": {"id": "m"}}, "models: expected 'visible' or a list, found {'id': 'm'}"),
        ({"dataset": None}, "dataset: expected a file, a [dataset] table, or samples as dictionaries"),
        ({"dataset": 5}, "dataset: expected a file"),
        ({"dataset": pandas.Series(["a"], name="input")}, "dataset: expected a file"),
        ({"dataset": frame_of_twins()}, "dataset: two columns are named 'input' (give each column its own name)"),
    ],
)
def test_a_job_is_not_made_of_what_is_of_another_type(wrong: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"models": MODELS, "dataset": ROWS} | wrong
    with pytest.raises(InputError) as refused:
        wb.make_job("sums", **given)
    assert said in str(refused.value)


def test_a_job_made_of_the_same_values_is_recorded_as_the_same_text() -> None:
    golden = wb.make_job(
        "golden",
        ["a", {"id": "b", "max_in_flight": 2}],
        [{"input": "1+1?", "target": 2}],
        prompt={"system": "Be short.", "template": "{{ input }}"},
        scorers=["numeric", {"name": "exact", "label": "e"}],
        request={"max_tokens": 64, "temperature": 0.5, "extra": {"top_k": 3}},
        run={"epochs": 2},
        tags={"team": "lab"},
        description="A golden job",
        budget={"requests": 9},
        fields={"input": "input"},
        layout="plain",
    )
    assert golden.hash == "4b0c93c649fed7a80f9995ac63a2efc09491ee033d514798675f6997127a2711"
    assert parse_job(golden.text, Path(golden.source)) == msgspec.structs.replace(golden, **FROM_A_FILE)


def test_an_option_of_a_run_is_declared_once_and_an_argument_of_the_same_name() -> None:
    runs = [inspect.signature(function).parameters for function in (wb.run, wb.run_async)]
    plans = [inspect.signature(function).parameters for function in (wb.plan, wb.plan_async)]
    assert (runs[0], plans[0]) == (runs[1], plans[1])
    declared = {option.name: getattr(RunOptions(), option.name) for option in described_options()}
    assert {name: runs[0][name].default for name in declared} == declared
    assert all(one.kind is one.KEYWORD_ONLY for one in list(runs[0].values())[1:])
    assert set(plans[0].items()) <= set(runs[0].items())
    asked = inspect.signature(wb.ask).parameters.items()
    assert {name for name, one in asked if (name, one) not in runs[0].items()} == {"model", "text", "system", "request"}
    assert wb.run.__doc__ is not None
    assert [name for name in runs[0] if not re.search(rf"^ +{name}: ", wb.run.__doc__, re.MULTILINE)] == []


def test_a_single_model_may_be_named_without_a_list(folder: Path) -> None:
    assert wb.plan(made(), folder=folder, models=MODELS[1], limit=2).to_send == 2


@pytest.mark.slow
def test_occasions_are_those_of_the_command_line(folder: Path) -> None:
    nightly = made(run={"reuse": "occasion"})
    ended = wb.run(nightly, folder=folder, occasion="2026-11-21T02:00+01:00", report=False)
    again = wb.run(nightly, folder=folder, occasion="2026-11-21T01:00Z", report=False)
    assert (ended.summary.completed, again.summary.reused) == (10, 10)
    assert set(wb.open(folder=folder).runs()["occasion"]) == {"2026-11-21T01:00Z"}
    days = {f"{datetime.now().astimezone():%Y-%m-%d}"}
    today = wb.run(nightly, folder=folder, occasion="today", report=False)
    days.add(f"{datetime.now().astimezone():%Y-%m-%d}")  # another one, where midnight came between
    assert (today.summary.completed, today.summary.reused) == (10, 0)
    assert days & set(wb.open(folder=folder).runs()["occasion"])
    for wrong in ("garbage !", "due", datetime(2026, 11, 21, tzinfo=UTC)):
        with pytest.raises(wb.WorkbenchError, match="is not a valid time"):
            wb.run(nightly, folder=folder, occasion=wrong)  # type: ignore[arg-type]


def test_a_table_keeps_the_values_it_has() -> None:
    exact = {"input": "x", "target": 0.24691357802, "tiny": 1.2345e-12, "n": 3, "tags": ["a", "b"]}
    at = datetime(2026, 3, 29, 3, 30, tzinfo=timezone(timedelta(hours=2)))
    rows = [{**exact, "note": None, "at": at}, {**exact, "note": "y", "at": at}]
    (table, listed) = (wb.make_job("t", MODELS, given) for given in (pandas.DataFrame(rows), rows))
    assert table.rows == listed.rows
    with pytest.raises(wb.WorkbenchError, match="row 2: target: inf is not a JSON number"):
        wb.make_job(
            "t", MODELS, pandas.DataFrame([{"input": "x", "target": 1.0}, {"input": "y", "target": float("inf")}])
        )


@pytest.mark.slow
def test_a_question_is_asked_anew_each_time(folder: Path, platform: ThreadedServer) -> None:
    before = platform.platform.statistics.requests[MODELS[0]]
    answers = [wb.ask(MODELS[0], "What is 6 * 7?", folder=folder) for _ in range(2)]
    assert all(answer and "42" in answer for answer in answers)
    assert platform.platform.statistics.requests[MODELS[0]] == before + 2
    assert list(wb.open(folder=folder).runs()["job"]) == ["ask", "ask"]
    assert wb.ask(MODELS[0], "What is 6 * 7?", folder=folder, ledger="other.duckdb")
    assert (folder / "other.duckdb").exists()
    assert len(wb.open("other.duckdb", folder=folder).runs()) == 1


@pytest.mark.slow
def test_both_kinds_of_function_work_where_a_loop_is_running(folder: Path) -> None:
    async def cell() -> list[wb.Run]:
        plain = wb.run(made(), folder=folder, progress=False, report=False)  # as a notebook's cell calls it
        twin = await wb.run_async(made(), folder=folder, progress=False, report=False)
        assert (await wb.plan_async(made(), folder=folder)).to_send == 0
        return [plain, twin]

    handled = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    plain, twin = asyncio.run(cell())
    assert (plain.summary.completed, twin.summary.reused) == (10, 10)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handled
    assert "workbench" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.slow
def test_runs_that_overlap_leave_signals_as_they_were(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 50.0)) as server:
        bench = Workbench(tmp_path, server)
        (tmp_path / ".env").write_text(f"WORKBENCH_BASE_URL={server.base_url}\nWORKBENCH_API_KEY={server.key}\n")

        async def both() -> list[wb.Run]:
            long = wb.make_job("long", MODELS[:1], ROWS, run={"epochs": 20, "max_in_flight": 4})
            first = asyncio.create_task(wb.run_async(made(), folder=bench.folder, progress=False, report=False))
            await until_on_loop(lambda: server.platform.statistics.requests)
            return [await wb.run_async(long, folder=bench.folder, progress=False, report=False), await first]

        handled = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        assert [run.status for run in asyncio.run(both())] == [wb.RunStatus.COMPLETE] * 2
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handled


SCRIPT = """
import asyncio, sys
import workbench as wb

job = wb.load_job("job.toml")

async def cell():
    return wb.run(job, report=False, progress=False)

run = asyncio.run(cell()) if sys.argv[1] == "cell" else wb.run(job, report=False, progress=False)
print(run.status, run.summary.completed, run.summary.reused, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["script", pytest.param("cell", marks=pytest.mark.slow)])
def test_an_interrupt_drains_and_the_same_call_resumes(tmp_path: Path, kind: str) -> None:
    with ThreadedServer(quick(load_config(), 100.0)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(100))
        bench.write("job.toml", job("sim/instant", limit=4))
        bench.write("script.py", textwrap.dedent(SCRIPT))
        command = [sys.executable, "script.py", kind]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=bench.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        until(lambda: server.platform.statistics.requests["sim/instant"] >= 10 or process.poll() is not None)
        assert process.poll() is None, process.stderr and process.stderr.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        status, completed, reused = out.split()
        assert (status, reused, process.returncode) == ("interrupted", "0", 0), err
        done = subprocess.run(command, cwd=tmp_path, env=bench.environment, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["complete", str(100 - int(completed)), completed]
        assert server.platform.statistics.requests["sim/instant"] == 100


OVERLAPPING = """
import asyncio, sys
import workbench as wb

async def run(model, samples):
    rows = [{"input": f"{n} + 1"} for n in range(samples)]
    job = wb.make_job(model[4:], [model], rows, run={"max_in_flight": 2})
    return await wb.run_async(job, report=False, progress=False)

async def main():
    runs = run("sim/instant", int(sys.argv[1])), run("sim/prose", int(sys.argv[2]))
    for ended in asyncio.as_completed(runs):
        print((await ended).status, flush=True)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("samples", [(100, 100), (100, 2), (2, 100)], ids=["both", "the first", "the second"])
def test_an_interrupt_drains_all_runs_that_overlap(tmp_path: Path, samples: tuple[int, int]) -> None:
    with ThreadedServer(quick(load_config(), 100.0)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("script.py", OVERLAPPING)
        command = [sys.executable, "script.py", *map(str, samples)]
        process = subprocess.Popen(command, cwd=tmp_path, env=bench.environment, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        short = 2 in samples
        if short:
            assert process.stdout.readline() == "complete\n"
        asked = server.platform.statistics.requests
        until(lambda: all(asked[model] >= 2 for model in ("sim/instant", "sim/prose")))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert (out.split(), process.returncode) == (["interrupted"] * (1 if short else 2), 0)
    ended = {run["status"]: run["completed"] for run in bench.json("runs")}
    assert ended["interrupted"] < 100


def test_an_interrupt_before_the_first_request_is_not_forgotten(folder: Path) -> None:
    interrupts = Interrupts()
    interrupts.send()  # as while the platform lists its models
    options = RunOptions(interrupts=interrupts)
    end = on_a_loop(partial(run_job, Target(folder), made(), options), interrupts)
    assert (end.summary.status, end.summary.pending) == (wb.RunStatus.INTERRUPTED, 10)


CELL = """
import workbench as wb
run = wb.run(wb.load_job("job.toml"), report=False)
print(run.status, run.summary.completed, run.summary.reused, flush=True)
"""


@pytest.mark.slow
def test_an_interrupted_cell_of_a_notebook_drains_and_resumes(tmp_path: Path) -> None:
    with ThreadedServer(quick(load_config(), 100.0)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(100))
        bench.write("job.toml", job("sim/instant", limit=4))
        manager, client = start_new_kernel(cwd=str(tmp_path), env=bench.environment)
        try:
            message = client.execute(CELL)
            until(lambda: server.platform.statistics.requests["sim/instant"] >= 10 or not manager.is_alive())
            assert manager.is_alive()
            manager.interrupt_kernel()
            status, completed, reused = printed(client, message).split()
            assert (status, reused) == ("interrupted", "0")
            assert printed(client, client.execute(CELL)).split() == ["complete", str(100 - int(completed)), completed]
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    assert server.platform.statistics.requests["sim/instant"] == 100


def printed(client: Any, message: str) -> str:
    """What a cell printed on standard output, once it ended."""
    text = ""
    while True:
        came = client.get_iopub_msg(timeout=60)
        if came["parent_header"].get("msg_id") != message:
            continue
        assert came["msg_type"] != "error", came["content"]
        if came["msg_type"] == "stream" and came["content"]["name"] == "stdout":
            text += came["content"]["text"]
        if came["msg_type"] == "status" and came["content"]["execution_state"] == "idle":
            return text
