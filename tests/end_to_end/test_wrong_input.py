"""Everything that can be wrong before a run: one clear message, the documented code, and nothing is sent."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import messages
from tests.cases import first_of
from tests.conftest import COMMAND, Workbench, job, sums
from workbench.local_platform.server import ThreadedServer

Change = Callable[[Workbench], object]


def job_with(old: str, new: str) -> Change:
    return lambda bench: bench.write("job.toml", job().replace(old, new))


def data(text: str | bytes, name: str = "sums.jsonl") -> Change:
    def change(bench: Workbench) -> None:
        (bench.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        bench.write("job.toml", job(dataset=name))

    return change


def request(*lines: str) -> Change:
    return job_with("max_tokens = 64", "\n".join(("max_tokens = 64", *lines)))


def prompt(template: str) -> Change:
    return job_with("[request]", f"[prompt]\ntemplate = {json.dumps(template)}\n[request]")


def tool(function: str) -> str:
    return f'tools = [{{ type = "function", function = {function} }}]'


def then_sheet(bench: Workbench) -> None:
    bench.write("d.csv", "input\na\n")
    bench.write("job.toml", job(dataset="d.csv").replace('path = "d.csv"', 'path = "d.csv"\nsheet = "One"'))


def named_columns(bench: Workbench) -> None:
    bench.write("d.csv", "question,answer\n")
    fields = 'path = "d.csv"\nfields = { input = "question", target = "answer" }'
    bench.write("job.toml", job(dataset="d.csv").replace('path = "d.csv"', fields))


def two_line_header(bench: Workbench) -> None:
    bench.write("d.csv", '"Question\n(EN)",target\na,1\n')
    fields = 'path = "d.csv"\nfields = { input = "Question" }'
    bench.write("job.toml", job(dataset="d.csv").replace('path = "d.csv"', fields))


CASES: list[tuple[str, Change, str]] = [
    ("unknown key", job_with("max_in_flight", "max_in_fligth"), "job.toml:9: run.max_in_fligth: unknown key (did you mean 'max_in_flight'?)"),
    ("limit 64", job_with("max_in_flight = 8", "max_in_flight = 64"), "job.toml:9: run.max_in_flight: expected at most 63, found 64"),
    ("empty model", job_with('"sim/instant"', '"sim/instant", " "'), "job.toml:3: models[1]: a model's id must not be empty"),
    ("endless deadline", job_with("passes = 1", "passes = 1\ndeadline_s = inf"), "run.deadline_s: expected at most"),
    ("misspelt team's ledger", lambda bench: bench.write("workbench.toml", '[ledger]\nurl = "ducklak:postgres:dbname=x"\n'),
     "workbench.toml:2: ledger.url: 'ducklak:postgres:dbname=x' is not the address of a team's ledger"),
    ("missing dataset", job_with("sums.jsonl", "sum.jsonl"), "did you mean 'sums.jsonl'?"),
    ("empty dataset", data(""), "sums.jsonl: the dataset is empty (expected a sample a line"),
    ("role in a row", data('{"input": [{"role": "human", "content": "hi"}], "target": "a"}\n'), "sums.jsonl:1: input[0].role: 'human' is not a role"),
    ("broken line", data(sums(6) + "{oops\n"), "sums.jsonl:7: not valid JSON"),
    ("half a pair", data('[{"input": "a"}, {"input": "\\ud800"}]'), "sums.jsonl: element 2: not valid JSON: a \\u escape is half of a surrogate pair"),
    ("deep array", data("[" + "[" * 1200 + "]" * 1200 + "]"), "sums.jsonl: element 1: not valid JSON: nested too deeply"),
    ("deep row", data('[{"input": ' + "[" * 5000 + "]" * 5000 + "}]"), "sums.jsonl: element 1: not valid JSON: nested too deeply"),
    ("no number", data('[{"input": "a", "target": NaN}]'), "sums.jsonl: element 1: not valid JSON: NaN is not a JSON number"),
    ("ragged table", data("input,target\na,1\nb,2,3\n", "d.csv"), "d.csv:3: 3 cells where the header has 2"),
    ("delimiter of no table", job_with('path = "sums.jsonl"', 'path = "sums.jsonl"\ndelimiter = ";"'),
     "job.toml:6: dataset.delimiter: separates the cells of tables, and "),
    ("long delimiter", job_with('path = "sums.jsonl"', 'path = "sums.jsonl"\ndelimiter = ";;"'), "dataset.delimiter: "),
    ("rows by column", data('{"input": ["a", "b"], "target": ["1", "2"]}'), "one object, not rows: a list for each column"),
    ("comment in JSON Lines", data('# ours\n{"input": "a"}\n'), "sums.jsonl:1: a comment, which JSON Lines does not have"),
    ("missing column", job_with('path = "sums.jsonl"', 'path = "sums.jsonl"\nfields = { input = "inptu" }'), "did you mean 'input'?"),
    ("undefined variable", job_with("[request]", '[prompt]\ntemplate = "{{ qustion }}"\n[request]'), "'qustion' is undefined"),
    ("invisible model", job_with("sim/instant", "sim/instnat"), "'sim/instnat' is not visible to this account (did you mean 'sim/instant'?)"),
    ("tool without type", request('tools = [{ name = "f" }]'), "job.toml:8: request.tools[0]: its type must be 'function'; a tool is {type"),
    ("tool without function", request('tools = [{ type = "function" }]'), "request.tools[0]: its function must be a table"),
    ("tool without name", request(tool("{}")), "request.tools[0]: its function has no name"),
    ("tool name", request(tool('{ name = "my f" }')), "'my f' is not a function name: 1 to 64 letters"),
    ("tool parameters", request(tool('{ name = "f", parameters = "x" }')), "the parameters of 'f' must be a JSON Schema, found the text 'x'"),
    ("tool in a row", data('{"input": "a", "tools": [{"name": "f"}]}'), "sums.jsonl:1: tools[0]: its type must be 'function'"),
    ("tools of a row", data('{"input": "a", "tools": 5}'), "sums.jsonl:1: tools: expected a list, found the number 5"),
    ("choice of no tool", request(tool('{ name = "f" }'), 'tool_choice = { type = "function", function = { name = "g" } }'), "job.toml:9: request.tool_choice: there is no tool 'g' (its tools: f)"),
    ("shapeless choice", request('tool_choice = { type = "function" }'), 'request.tool_choice: expected {type = "function", function'),
    ("hot", request("temperature = 9"), "request.temperature: expected at most 2, found 9"),
    ("several answers", request("n = 3"), "request.n: unknown key (each request asks for one answer; repeat it with run.epochs)"),
    ("blank name", job_with('name = "sums"', 'name = " "'), "job.toml:2: name: expected 1 to 100 printable characters, found ' '"),
    ("no name", job_with('name = "sums"', 'name = ""'), "job.toml:2: name: expected 1 to 100 printable characters, found ''"),
    ("long name", job_with('name = "sums"', f'name = "{"x" * 300}"'), "name: expected 1 to 100 printable characters"),
    ("name of two lines", job_with('name = "sums"', 'name = "a\\nb"'), "name: expected 1 to 100 printable characters"),
    ("label of two lines", job_with('name = "numeric"', 'name = "numeric"\nlabel = "a\\nb"'), "scorers[0].label: expected 1 to 100 printable characters"),
    ("empty label", job_with('name = "numeric"', 'name = "numeric"\nlabel = ""'), "scorers[0].label: expected 1 to 100 printable characters, found ''"),
    ("empty reference", job_with('path = "sums.jsonl"', 'path = "sums.jsonl"\nreference = { "" = "target" }'), "job.toml:6: dataset.reference.: expected 1 to 100 printable characters, found ''"),
    ("reference of two lines", job_with('path = "sums.jsonl"', 'path = "sums.jsonl"\nreference = { "a\\nb" = "target" }'),
     "job.toml:6: dataset.reference.a⏎b: expected 1 to 100 printable characters"),
    ("column with a capital", data("ID;Input;Target\n1;a;2\n", "d.csv"),
     "'input' is undefined (fields = { input = \"COLUMN\" } under [dataset] names its column; did you mean 'Input'?)"),
    ("column after a blank", data("id, input, target\n1, a, 2\n", "d.csv"), "'input' is undefined (fields = { input = \"COLUMN\" } under [dataset] names its column; did you mean ' input'?)"),
    ("header over lines", two_line_header, "d.csv:3: no column 'Question'; the columns are: Question⏎(EN), target (did you mean 'Question\\n(EN)'?)"),
    ("empty template", prompt(" "), "prompt.template: is empty"),
    ("empty prompt", prompt("{# nothing #}"), "prompt.template: sample 's0': the prompt is empty"),
    ("misspelt variable", prompt("{{ inpt }}"), "job.toml:7: prompt.template: sample 's0': 'inpt' is undefined (did you mean 'input'?)"),
    ("huge prompt", prompt("{{ 'x' * 20000000 }}"), "sample 's0': it makes more than 16,777,216 characters"),
    ("included file", prompt("{% include 'x' %}"), "include, import and extends are not available"),
    ("small budget", job_with("[run]", "[budget]\ntotal_tokens = 10\n[run]"), "job.toml:9: budget.total_tokens: 10 tokens are fewer than one request may use"),
    ("no such ids", job_with('path = "sums.jsonl"', 'path = "sums.jsonl"\nsample_ids = ["zzz*"]'), "job.toml:6: dataset.sample_ids: none of 3 samples has an id like 'zzz*'"),
    ("limit beyond", job_with('path = "sums.jsonl"', 'path = "sums.jsonl"\nlimit = "5-9"'), "job.toml:6: dataset.limit: there are only 3 samples"),
    ("line of a model", job_with("sim/instant", "sim/instnat"), "job.toml:3: models[0]: 'sim/instnat' is not visible"),
    ("header only", data("input,target\n", "d.csv"), "d.csv: the dataset has no rows"),
    ("header only, with fields", named_columns, "d.csv: the dataset has no rows (expected at least one sample)"),
    ("empty array", data("[]"), "sums.jsonl: the dataset has no rows (expected at least one sample)"),
    ("header without a name, below an empty line", data("\ninput,,target\na,b,c\n", "d.csv"), "d.csv:2: column 2 of the header has no name"),
    ("null row", data("null\n"), "sums.jsonl:1: expected one JSON object per line, found null"),
    ("number row", data('{"input": "a"}\n5\n'), "sums.jsonl:2: expected one JSON object per line, found the number 5"),
    ("null element", data('[{"input": "a"}, null]'), "sums.jsonl: element 2: expected an object, found null"),
    ("zip archive", data(b"PK\x03\x04\x14\x00\x06\x00", "d.zip"), "d.zip: a zip archive, not a dataset (unzip d.zip)"),
    ("workbook with a password", data(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", "d.xlsx"), "or one with a password (save it as .xlsx without a password)"),
    ("sheet of a table", then_sheet, "job.toml:6: dataset.sheet: names a sheet of a workbook, and "),
    ("xz archive", data(b"\xfd7zXZ\0", "d.jsonl.xz"), "d.jsonl.xz: an xz archive; only .gz and .zst are read as they are (xz -dk d.jsonl.xz)"),
    ("object over lines", data('{\n "input": "a"\n}\n'), "sums.jsonl:1: an object that goes on over several lines"),
    ("key in the path", lambda bench: bench.environment.update(WORKBENCH_BASE_URL="http://127.0.0.1:1/sk-0abcdefghijklmnop/api"),
     "WORKBENCH_BASE_URL: it must not carry an API key in its path"),
    ("UTF-16", data('{"input": "a"}\n'.encode("utf-16")), "sums.jsonl: it is UTF-16, not UTF-8 (iconv -f UTF-16 -t UTF-8 sums.jsonl)"),
    ("Latin-1", data('{"input": "fünf"}\n'.encode("latin-1")), "is not UTF-8 (is it Latin-1?)"),
    ("Git LFS", data("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"), "sums.jsonl: a Git LFS pointer, not the data (git lfs pull)"),
    ("web page", data("<!DOCTYPE html><html><body>Sign in</body></html>"), "sums.jsonl: an HTML page, not data"),
    ("open quote", data('input\n"a\n', "d.csv"), "a quote opened on line 2 is never closed"),
    ("reducer", job_with("passes = 1", 'passes = 1\nepochs = 3\nreduce = "pas@3"'),
     "job.toml:12: run.reduce: expected one like mean, mode, at_least_2, pass@3, pass^3, found 'pas@3' (did you mean 'pass@3'?)"),
    ("fallback", job_with("passes = 1", 'passes = 1\non_fallback = "refuse"'), "run.on_fallback: expected"),
    ("not valid TOML", job_with("[dataset]", "[dataset"), "not valid TOML"),
    ("missing job", lambda bench: (bench.folder / "job.toml").rename(bench.folder / "jobs.toml"), "did you mean 'jobs.toml'?"),
]  # fmt: skip


OF_A_TEAM = [pytest.mark.file_ledger]  # where the address of a team's ledger is given, that in the settings is not read


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case[0], marks=OF_A_TEAM if "team" in case[0] else ()) for case in CASES]
)
@pytest.mark.parametrize("command", ["run", "lint"])
def test_faults_of_job_and_dataset(
    bench: Workbench,
    platform: ThreadedServer,
    request: pytest.FixtureRequest,
    command: str,
    case: tuple[str, Change, str],
) -> None:
    name, change, expected = case
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    change(bench)
    done = bench(command, "job.toml", code=2)
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
    if command == "run":
        messages.check(name, bench, done, writing=request.config.getoption("--write-messages"))
    assert not platform.platform.statistics.requests
    assert not list(bench.folder.glob("*.duckdb*"))


def test_all_faults_come_at_once(bench: Workbench) -> None:
    bench.write("job.toml", job("a", "a").replace("max_in_flight = 8", "max_in_flight = 64\ndeadline_s = -3"))
    assert len(bench("run", "job.toml", code=2).stderr.splitlines()) == 2


def test_no_endpoint_comes_before_no_key(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    done = bench("run", "job.toml", code=2)
    assert "no endpoint is configured" in done.stderr
    assert "--local" in done.stderr
    bench.environment["WORKBENCH_BASE_URL"] = "http://127.0.0.1:9"
    assert "WORKBENCH_API_KEY" in bench("run", "job.toml", code=4).stderr


def test_a_bad_key_is_4(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    bench.environment["WORKBENCH_API_KEY"] = "sk-0000"
    for command in (("run", "job.toml"), ("models",), ("doctor",)):
        bench(*command, code=4)


def test_an_unreachable_platform_is_6(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    bench.environment["WORKBENCH_BASE_URL"] = "http://127.0.0.1:9"
    for command in (("run", "job.toml"), ("models",), ("doctor",)):
        bench(*command, code=6)


def test_a_page_in_place_of_the_api_is_6(bench: Workbench, platform: ThreadedServer) -> None:
    bench.environment["WORKBENCH_BASE_URL"] = platform.base_url + "/elsewhere"
    assert "is the base URL the platform's" in bench("models", code=6).stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("rnu", "job.toml"), "did you mean 'run'?"),
        (("probe", "no such route"), "is not visible to this account"),
        (("run",), "name a job file"),
        (("run", "job.toml", "--fresh", "--resume", "x"), "cannot be combined with --fresh"),
        (("run", "job.toml", "--local", "--base-url", "http://h"), "give only one of"),
        (("run", "job.toml", "--ledger", "postgres://h"), "is neither a file nor a team's ledger"),
        (("run", "job.toml", "--ledger", "no/such/folder/l.duckdb"), "there is no folder"),
        (("run", "job.toml", "--profile", "lab"), "workbench.toml has no profile 'lab'"),
        (("run", "job.toml", "--resume", "20260101T000000-abcdef"), "there is no run"),
        pytest.param(("show", "20260101T000000-abcdef"), "there is no ledger", marks=pytest.mark.file_ledger),
        (("usage", "--by", "moon"), "moon"),
        (("platform", "serve", "--host", "0.0.0.0", "--ephemeral"), "use stored keys, not --ephemeral"),
        (("platform", "serve"), "no platform state yet"),
        (("platform", "serve", "--ephemeral", "--config", "no.toml"), "no.toml"),
    ],
)
def test_usage_is_2(bench: Workbench, arguments: tuple[str, ...], expected: str) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    assert expected in bench(*arguments, code=2).stderr


def test_simulated_data_and_an_accounts_never_mix(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    bench("run", "job.toml", "--local", "--no-report")
    import duckdb

    with duckdb.connect(str(bench.folder / "local.duckdb")) as db:
        db.execute("UPDATE runs SET simulated = false")
    done = bench("run", "job.toml", "--local", "--fresh", code=2)
    assert "needs its own ledger" in done.stderr


def test_a_file_that_is_no_ledger_gets_no_company(bench: Workbench) -> None:
    bench.write("notes.txt", "no ledger at all")
    assert "notes.txt is not a DuckDB file" in bench("runs", "--ledger", "notes.txt", code=2).stderr
    assert not list(bench.folder.glob("notes.txt.*"))


def test_lint_says_what_no_scorer_can_judge(bench: Workbench) -> None:
    bench.write("sums.jsonl", '{"input": "a", "target": "many"}\n{"input": "b", "target": 2}\n')
    bench.write("job.toml", job() + '\n[[scorers]]\nname = "numeric"\nlabel = "n"\n')
    assert "scorers 'n': 1 of 2 samples do not have a target that it can judge by" in bench("lint", "job.toml").stdout


def test_a_number_that_is_none_is_no_tolerance(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(1))
    bench.write("job.toml", job() + '\n[[scorers]]\nname = "numeric"\nlabel = "n"\ntolerance = inf\n')
    assert "tolerance: expected a finite number" in bench("lint", "job.toml", code=2).stderr


@pytest.mark.parametrize("closed", first_of(">&-", "2>&-", ">&- 2>&-"))
def test_a_closed_stream_is_no_error(bench: Workbench, closed: str) -> None:
    bench.write("sums.jsonl", sums(1))
    bench.write("job.toml", job())
    bench("run", "job.toml", "--no-report")
    done = subprocess.run(
        ["bash", "-c", f"{COMMAND} runs {closed}"], cwd=bench.folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_run_whose_output_is_full_has_its_scores_and_pages(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", job())
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [COMMAND, "run", "job.toml"], cwd=bench.folder, env=bench.environment, stdout=full, stderr=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
    (run,) = bench.json("runs")
    assert done.returncode == 3
    assert "missing" not in done.stderr
    assert f"`workbench show {run['run_id']}" in done.stderr
    assert "error: No space left on device: standard output" in done.stderr
    assert (bench.folder / "reports" / f"{run['run_id']}.html").exists()
    assert "numeric" in bench("show", run["run_id"]).stdout


@pytest.mark.slow
def test_a_terminal_without_unicode_gets_numbers(bench: Workbench) -> None:
    bench.write("sums.jsonl", '{"input": "é", "id": "é", "target": 1}\n')
    bench.write("job.toml", job(name="→"))
    bench.environment["PYTHONIOENCODING"] = "latin-1"
    bench("run", "job.toml", "--no-report")
    assert "\\u2192" in bench.process("runs").stdout


def test_times_for_programs_say_that_they_are_utc(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(1))
    bench.write("job.toml", job())
    bench("run", "job.toml", "--no-report")
    assert all(row["started_at"].endswith("Z") for row in bench.json("runs"))


@pytest.mark.slow
@pytest.mark.file_ledger
def test_of_two_ledgers_in_a_folder_the_accounts_is_read_with_a_note(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    bench("run", "job.toml", "--local", "--no-report")
    bench("run", "job.toml", "--no-report")
    bench("run", "job.toml", "--no-report", "--fresh")
    done = bench("runs", "--json")
    assert done.stderr == "note: reading ledger.duckdb; --local reads local.duckdb\n"
    assert len(json.loads(done.stdout)) == 2
    assert len(bench.json("runs", "--local")) == len(bench.json("runs", "--ledger", "local.duckdb")) == 1


def test_an_empty_ledger_is_refused(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("sums.jsonl", sums(1))
    bench.write("job.toml", job())
    for command in (("run", "job.toml", "--local"), ("runs",)):
        assert "--ledger: must not be empty" in bench(*command, "--ledger", "", code=2).stderr
