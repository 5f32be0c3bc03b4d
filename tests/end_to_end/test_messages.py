"""Every error that a command can end with, as it is printed: the table `tests/messages.txt`, made by these cases."""

import gzip
import os
import re
import shlex
import socket
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from importlib import resources
from importlib.util import find_spec
from typing import Any

import duckdb
import openpyxl
import pyarrow
import pyarrow.parquet
import pytest

from tests import messages
from tests.compared_runs import record
from tests.conftest import Workbench, job, sums
from tests.end_to_end.test_wrong_input import CASES as WRONG_INPUT
from tests.end_to_end.test_wrong_input import Change, data, job_with, prompt, request, tool
from tests.unit.test_words import STUMBLED_OVER
from workbench.errors import ExitCode
from workbench.ledger.store import Ledger

EXAMPLE = resources.files("workbench.local_platform").joinpath("example.toml").read_text("utf-8")
OTHER_WEIGHT = '[[allowance.weights]]\nmodel = "other"\nsince = 2026-01-01\nprompt = 1\ncompletion = 1\n'
NIGHTLY = 'reuse = "occasion"\n[schedule]\non_calendar = "02:00"\n'


def nothing(bench: Workbench) -> None:
    pass


def then(*changes: Change) -> Change:
    def change(bench: Workbench) -> None:
        for one in changes:
            one(bench)

    return change


def files(**texts: str) -> Change:
    """Files by name, with `_` for the dot before the suffix."""

    def change(bench: Workbench) -> None:
        for name, text in texts.items():
            bench.write(name.replace("_", "."), text)

    return change


def after(*commands: str) -> Change:
    """The state that other commands leave."""

    def change(bench: Workbench) -> None:
        for command in commands:
            bench(*shlex.split(command))

    return change


def given(**variables: str) -> Change:
    return lambda bench: bench.environment.update(variables)


def without(*variables: str) -> Change:
    def change(bench: Workbench) -> None:
        for name in variables:
            del bench.environment[name]

    return change


def scored(bench: Workbench) -> None:
    """A run whose two models are scored."""
    record(bench, "r1", {"a": [1.0], "b": [0.0]})


def reduced(bench: Workbench) -> None:
    """Two runs whose jobs make other scores of the same epochs."""
    record(bench, "r1", {"a": [1.0]})
    record(bench, "r2", {"a": [1.0]}, reduce="pass@2")


def parquet(row: dict[str, Any]) -> Change:
    def change(bench: Workbench) -> None:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), bench.folder / "d.parquet", compression="zstd")

    return change


def twice(bench: Workbench) -> None:
    """A table with two columns of one name."""
    table = pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], names=["input", "input"])
    pyarrow.parquet.write_table(table, bench.folder / "d.parquet")


def folder(name: str) -> Change:
    return lambda bench: (bench.folder / name).mkdir(parents=True)


def fifo(name: str) -> Change:
    return lambda bench: os.mkfifo(bench.folder / name)


def sheets(**tables: list[list[Any]]) -> Change:
    """A workbook."""

    def change(bench: Workbench) -> None:
        book = openpyxl.Workbook()
        book.remove(book.worksheets[0])
        for name, rows in tables.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        book.save(bench.folder / "d.xlsx")

    return change


def packed_table(bench: Workbench) -> None:
    (bench.folder / "d.csv.gz").write_bytes(gzip.compress(b"input\na\n"))


def broken_workbook(bench: Workbench) -> None:
    with zipfile.ZipFile(bench.folder / "d.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<")


def dataset(path: str) -> Change:
    return job_with("sums.jsonl", path)


def run(*lines: str) -> Change:
    return job_with("passes = 1", "\n".join(("passes = 1", *lines)))


def scorer(*lines: str) -> Change:
    return job_with('name = "numeric"', "\n".join(lines))


def schedule(line: str) -> Change:
    return run(NIGHTLY.replace('on_calendar = "02:00"', line))


def named(field: str) -> Change:
    """A dataset that takes a field from a column."""
    return job_with("[request]", f"fields = {{ {field} }}\n[request]")


def platform(old: str, new: str) -> Change:
    assert old in EXAMPLE
    return files(platform_toml=EXAMPLE.replace(old, new))


def changed_ledger(*statements: str) -> Change:
    def change(bench: Workbench) -> None:
        bench("run", "job.toml", "--no-report")
        with duckdb.connect(str(bench.folder / "ledger.duckdb")) as db:
            for statement in statements:
                db.execute(statement)

    return change


def other_database(bench: Workbench) -> None:
    with duckdb.connect(str(bench.folder / "other.duckdb")) as db:
        db.execute("CREATE TABLE a (b INTEGER)")


def other_state(bench: Workbench) -> None:
    with closing(sqlite3.connect(bench.folder / "platform.sqlite")) as db, db:
        db.execute("CREATE TABLE a (b)")


def newer_state(bench: Workbench) -> None:
    bench("platform", "keys", "create", "lab")
    with closing(sqlite3.connect(bench.folder / "platform.sqlite")) as db, db:
        db.execute("PRAGMA user_version = 99")


def crontab(script: str) -> Change:
    """A program `crontab` that does as the script says."""

    def change(bench: Workbench) -> None:
        bench.write("bin/crontab", f"#!/bin/sh\n{script}\n").chmod(0o755)
        bench.environment["PATH"] = f"{bench.folder / 'bin'}:{bench.environment['PATH']}"
        run(NIGHTLY)(bench)

    return change


CASES: list[tuple[str, str, Change]] = [
    # the command itself
    ("unknown command", "rnu job.toml", nothing),
    ("pilot of a part", "run job.toml --pilot 5 --limit 3", nothing),
    ("unknown option", "run job.toml --fersh", nothing),
    ("no job named", "run", nothing),
    ("fresh and resumed", "run job.toml --fresh --resume last", nothing),
    ("two endpoints", "run job.toml --local --base-url http://127.0.0.1:9", nothing),
    ("unknown topic", "help runz", nothing),
    ("topic that is a command", "help plan", nothing),
    ("empty question", "ask sim/instant ''", nothing),
    ("empty standard input", "ask sim/instant -", nothing),
    ("run and all", "report last --all", nothing),
    ("all runs in one file", "report --all --single-file", nothing),
    ("note without a file to send", "report last --note x", nothing),
    ("corrected targets without a reason", "targets apply job.toml", nothing),
    ("corrected rows that are to be put back", "targets apply job.toml --restore --dataset sums.jsonl", nothing),
    ("corrected rows that are not there", "targets diff job.toml --dataset key.csv", nothing),
    ("sheet of no corrected rows", "targets diff job.toml --sheet One", nothing),
    ("corrected rows that no run asked", "targets diff job.toml --dataset key.csv", then(after("run job.toml --no-report"), files(key_csv="input,target\nWhat is it?,1\n"))),
    ("corrected targets of a job that never ran", "targets diff job.toml", scored),
    ("one file of no run", "report --single-file", nothing),
    ("days in the wrong order", "usage --since 2026-11-02 --until 2026-11-01", nothing),
    ("no such day", "usage --since 2026-02-30", nothing),
    ("due and fresh", "run job.toml --occasion due --fresh", nothing),
    ("no column of a second annotator", "lint job.toml", job_with("[request]", 'second_target = "secnd"\n[request]')),
    ("reference that is the target", "lint job.toml", job_with("[request]", 'reference = { old = "target" }\n[request]')),
    ("workbook of several sheets", "datasets show d.xlsx", sheets(One=[["input"], ["a"]], Two=[["input"], ["b"]])),
    ("workbook of nothing", "datasets show d.xlsx", sheets(One=[])),
    ("sheet that is not there", "lint job.toml", then(sheets(Marks=[["input"], ["a"]]), job_with('path = "sums.jsonl"', 'path = "d.xlsx"\nsheet = "Mraks"'))),
    ("formula without a result", "datasets show d.xlsx", sheets(One=[["input"], ["=1+1"]])),
    ("formula that gives an error", "datasets show d.xlsx", sheets(One=[["input"], ["#DIV/0!"]])),
    ("index that is none", "datasets show d.csv", files(d_csv=",target\nWhat is it?,b\n")),
    ("cell beyond the header", "datasets show d.xlsx", sheets(One=[["input"], ["a", "b"]])),
    ("broken workbook", "datasets show d.xlsx", broken_workbook),
    ("sheet of no workbook", "datasets show d.csv --sheet One", files(d_csv="input\na\n")),
    ("no sheet to fill", "fill mraks.csv --job job.toml", files(marks_csv="input\na\n")),
    ("folder to fill", "fill . --job job.toml", nothing),
    ("fill of a dataset that is no sheet", "fill sums.jsonl --job job.toml", nothing),
    ("fill of a compressed table", "fill d.csv.gz --job job.toml", packed_table),
    ("sheet without a column", "fill d.csv --job job.toml", then(files(d_csv="inptu\na\n"), job_with("[request]", 'fields = { input = "input" }\n[request]'))),
    ("sheet without a variable", "fill d.csv --job job.toml", then(files(d_csv="text\na\n"), prompt("{{ txt }}"))),
    ("fill by several models", "fill d.csv --job job.toml", then(files(d_csv="input\na\n"), job_with('["sim/instant"]', '["sim/instant", "sim/prose"]'))),
    ("fill by a variant that is none", "fill d.csv --job job.toml --variant b", files(d_csv="input\na\n")),
    ("fill by several variants", "fill d.csv --job job.toml",
     then(files(d_csv="input\na\n"), job_with("[request]", '[[variants]]\nname = "a"\n[[variants]]\nname = "b"\nseed = 2\n[request]'))),
    ("fill to another format", "fill d.csv --job job.toml --out x.xlsx", files(d_csv="input\na\n")),
    ("fill to a folder", "fill d.csv --job job.toml --out .", files(d_csv="input\na\n")),
    ("fill to no folder", "fill d.csv --job job.toml --out none/d.csv", files(d_csv="input\na\n")),
    ("fill to a folder of the kernel", "fill d.csv --job job.toml --out /proc/d.csv", files(d_csv="input\na\n")),
    ("cut workbook", "datasets show d.xlsx", lambda bench: (bench.folder / "d.xlsx").write_bytes(b"PK\x03\x04\x14")),
    ("due and narrowed", "run job.toml --occasion due --limit 1", run(NIGHTLY)),
    ("occasion that is no time", "run job.toml --occasion someday", run(NIGHTLY)),
    ("occasion of a plain job", "run job.toml --occasion 2026-11-01", nothing),
    ("job of occasions without one", "run job.toml", run(NIGHTLY)),
    ("occasion narrowed", "run job.toml --occasion 2026-11-01 --limit 1", run(NIGHTLY)),
    ("occasion to come", "run job.toml --occasion 2999-11-01", run(NIGHTLY)),
    ("occasion and fresh", "run job.toml --occasion 2026-11-01 --fresh", run(NIGHTLY)),
    ("limit of none", "run job.toml --limit 0", nothing),
    ("more in flight than the job", "run job.toml --max-in-flight 9", nothing),
    ("too many in flight", "run job.toml --max-in-flight 64", nothing),
    ("model that the job has not", "run job.toml --model sim/instnat", nothing),
    ("init over files", "init", files(workbench_toml="")),
    ("too many folders", "init one two", nothing),
    # endpoint and key
    ("glob in a list of models", "lint job.toml", files(job_toml=job("sim/*"))),
    ("every model in a list", "lint job.toml", files(job_toml=job("visible"))),
    ("all models", "lint job.toml", files(job_toml=job().replace('["sim/instant"]', '"all"'))),
    ("table of models", "lint job.toml", files(job_toml=job().replace('models = ["sim/instant"]\n', "") + '[models]\nid = "m"\n')),
    ("model by its name", "lint job.toml", files(job_toml=job().replace('models = ["sim/instant"]\n', "") + '[[models]]\nname = "m"\n')),
    ("scorer by its type", "lint job.toml", files(job_toml=job().replace('name = "numeric"', 'type = "numeric"'))),
    ("template of a variant", "lint job.toml", files(job_toml=job() + '[[variants]]\nname = "v"\ntemplate = "{{ input }}"\n')),
    ("prompt as a text", "lint job.toml", files(job_toml=job() + '[[variants]]\nname = "v"\nprompt = "{{ input }}"\n')),
    ("cap below a request", "run job.toml", files(workbench_toml='[[caps]]\nper = "day"\ntotal_tokens = 50\n')),
    ("verbose after its command", "run job.toml -v", nothing),
    ("option before its command", "--local run job.toml", nothing),
    ("total of no units", "allowance reading --used 1k --of lots", run()),
    ("endpoint in quotes", "models", given(WORKBENCH_BASE_URL='"http://127.0.0.1:1"')),
    ("no endpoint", "run job.toml", without("WORKBENCH_BASE_URL", "WORKBENCH_API_KEY")),
    ("misspelt environment", "models", then(without("WORKBENCH_BASE_URL"), given(WORKBENCH_BASEURL="http://h"))),
    ("no key", "run job.toml", without("WORKBENCH_API_KEY")),
    ("blank key", "models", given(WORKBENCH_API_KEY=" ")),
    ("key with Bearer", "models", given(WORKBENCH_API_KEY="Bearer sk-0123456789abcdef")),
    ("quoted key", "models", given(WORKBENCH_API_KEY="'sk-0123456789abcdef'")),
    ("placeholder", "models", given(WORKBENCH_API_KEY="sk-...")),
    ("key of two words", "models", given(WORKBENCH_API_KEY="sk-01 23")),
    ("rejected key", "run job.toml", given(WORKBENCH_API_KEY="sk-00000000000000000000000000000000")),
    ("empty base URL", "models --base-url ''", nothing),
    ("no scheme", "models --base-url 127.0.0.1:8080", nothing),
    ("no host", "models --base-url http://", nothing),
    ("no port", "models --base-url http://h:abc", nothing),
    ("query", "models --base-url http://h?x=1", nothing),
    ("user in the URL", "models --base-url http://u:p@h", nothing),
    ("more than the base", "models --base-url http://h/api/chat/completions", nothing),
    ("unreachable", "run job.toml --base-url http://127.0.0.1:9", nothing),
    ("SOCKS proxy", "models --base-url http://chat.example.org", lambda bench: bench.environment.update(HTTP_PROXY="socks5://p:1080", NO_PROXY="")),
    ("proxy of another kind", "models --base-url http://chat.example.org", lambda bench: bench.environment.update(HTTP_PROXY="ftp://p", NO_PROXY="")),
    ("proxy that is none", "models --base-url http://chat.example.org", lambda bench: bench.environment.update(HTTP_PROXY="http://p:x", NO_PROXY="")),
    ("elsewhere", "models", lambda bench: bench.environment.update(WORKBENCH_BASE_URL=f"{bench.environment['WORKBENCH_BASE_URL']}/x")),
    ("unknown profile", "models --profile lab", files(workbench_toml='[profiles.labs]\nbase_url = "http://h"\n')),
    ("key in place of its variable", "models --profile lab", files(workbench_toml='[profiles.lab]\nbase_url = "http://h"\nkey_env = "sk-0123456789"\n')),
    ("profile without a key", "models --profile lab", files(workbench_toml='[profiles.lab]\nbase_url = "http://h"\nkey_env = "LAB_KEY"\n')),
    ("profile without a key file", "models --profile lab", files(workbench_toml='[profiles.lab]\nbase_url = "http://h"\nkey_file = "key"\n')),
    ("URL of a file for another's key", "models", then(without("WORKBENCH_BASE_URL"), given(WORKBENCH_BASE_URL="http://ours"), files(workbench_toml='default_profile = "lab"\n[profiles.lab]\nbase_url = "http://theirs"\n'))),
    ("team's folder by a relative path", "runs", files(workbench_toml='[ledger]\nurl = "ducklake:postgres:dbname=x"\ndata = "data"\n')),
    ("broken settings", "models", files(workbench_toml="[profiles\n")),
    ("unknown setting", "models", files(workbench_toml="defalt_profile = 1\n")),
    ("rights of pages", "models", files(workbench_toml='reports_mode = "group"\n')),
    ("unreadable settings", "models", lambda bench: (bench.folder / "workbench.toml").write_bytes(b"\xff")),
    ("default profile that is not there", "models", files(workbench_toml='default_profile = "lba"\n[profiles.lab]\nbase_url = "http://h"\n')),
    ("date as people write it", "runs", files(workbench_toml='[[allowance.weights]]\nmodel = "m"\nprompt = 1\ncompletion = 1\nsince = "01.11.2026"\n')),
    ("list as a table", "runs", files(workbench_toml='[allowance.weights]\nmodel = "m"\n')),
    ("misspelt list of tables", "runs", files(workbench_toml='[[weights]]\nmodel = "m"\n')),
    ("cap of a job without a name", "runs", files(workbench_toml='[[caps]]\nper = "day"\njob = ""\nrequests = 1\n')),
    ("URL of a profile that is not used", "runs", files(workbench_toml='[profiles.old]\nbase_url = "https://h/api/v1/models"\n')),
    ("key in two places", "models", files(workbench_toml='[profiles.lab]\nbase_url = "http://h"\nkey_env = "LAB_KEY"\nkey_file = "key"\n')),
    ("two weights of a day", "models", files(workbench_toml='[[allowance.weights]]\nmodel = "m"\nprompt = 1\ncompletion = 1\n' * 2)),
    ("time zone", "models", files(workbench_toml='[account]\ntime_zone = "Europe/Berln"\n')),
    ("cap of nothing", "models", files(workbench_toml='[[caps]]\nper = "day"\n')),
    ("cap in an unknown window", "models", files(workbench_toml="[[caps]]\nrequests = 5\n")),
    ("cap in no window", "models", files(workbench_toml='[[caps]]\nper = "dya"\nrequests = 5\n')),
    ("share of an unknown total", "run job.toml", files(workbench_toml='[[caps]]\nper = "day"\nshare = 0.5\n')),
    ("cap without a weight", "run job.toml", files(workbench_toml=OTHER_WEIGHT + '[[caps]]\nper = "day"\nunits = 5\n')),
    ("cap without max_tokens", "run job.toml", then(job_with("max_tokens = 64", ""), files(workbench_toml='[[caps]]\nper = "day"\ntotal_tokens = 5\n'))),
    ("share of nothing", "run job.toml --fresh", then(after("run job.toml --no-report"), files(workbench_toml='[allowance]\nwindow = "month"\ntotal_units = 10\n'), after("allowance reading --used 100%"), job_with("[run]", "[budget]\nshare_of_left = 0.5\n[run]"))),
    ("share of what is not known", "run job.toml", job_with("[run]", "[budget]\nshare_of_left = 0.5\n[run]")),
    ("signature", "models", files(workbench_toml='[allowance]\nsignature = "("\n')),
    (".env without =", "models", files(_env="WORKBENCH_API_KEY\n")),
    ("unreadable .env", "models", lambda bench: (bench.folder / ".env").write_bytes(b"A=\xff\n")),
    # job files
    ("job that is a folder", "run jobs", folder("jobs")),
    ("job in Latin-1", "run job.toml", lambda bench: (bench.folder / "job.toml").write_bytes(b'name = "\xe9"\n')),
    ("deep job", "run job.toml", lambda bench: bench.write("job.toml", f"a = {'[' * 2000}{']' * 2000}\n")),
    ("no dataset", "run job.toml", job_with('path = "sums.jsonl"', "")),
    ("no file of a dataset", "run job.toml", job_with('"sums.jsonl"', "[]")),
    ("no models", "run job.toml", job_with('models = ["sim/instant"]', "models = []")),
    ("key twice", "run job.toml", job_with('name = "numeric"', 'name = "numeric"\nname = "exact"')),
    ("key of an inline table twice", "run job.toml", job_with("models =", 'tags = { a = "x", a = "y" }\nmodels =')),
    ("table for a key", "run job.toml", job_with("[run]", "[name]\n[run]")),
    ("model twice", "run job.toml", job_with('models = ["sim/instant"]', 'models = ["sim/instant", "sim/instant"]')),
    ("model without id", "run job.toml", job_with('models = ["sim/instant"]', "models = [{ max_tokens = 5 }]")),
    ("unknown gate", "run job.toml", job_with("[run]", "[gates]\nx = 1\n[run]")),
    ("gate on another scorer", "run job.toml", job_with("[run]", "[gates]\nmin_mean = { exact = 0.5 }\n[run]")),
    ("gate on labels of numbers", "run job.toml", job_with("[run]", "[gates]\nmin_macro_f1 = { numeric = 0.5 }\n[run]")),
    ("gate on a field of numbers", "run job.toml", job_with("[run]", '[gates]\nmin_kappa = { "numeric.x" = 0.5 }\n[run]')),
    ("scale of no field", "run job.toml", then(files(sums_jsonl='{"input": "a", "target": {"grade": 4}}\n'), job_with('name = "numeric"', 'name = "json"\ntarget_scales = { garde = [0, 5] }'))),
    ("gate on an object", "run job.toml", job_with('name = "numeric"', 'name = "json"\n[gates]\nmin_kappa = { json = 0.5 }')),
    ("gate on a series without occasions", "run job.toml", job_with("[run]", '[gates]\nsteady = ["numeric"]\n[run]')),
    ("gate beside another run", "run job.toml", then(scored, job_with("[run]", '[gates]\nbaseline = "r9"\n[run]'))),
    ("format without a file", "export r1 --format parquet", scored),
    ("samples that are not there", "invalidate r1 --sample x --reason y", scored),
    ("team's rows in an object store", "ledger create ducklake:postgres:dbname=x --data s3://bucket/rows", nothing),
    ("nothing to leave behind", "run job.toml --leave-behind r1", nothing),
    ("again without a cap", "run job.toml --again truncated", job_with("[run]", "[run]")),
    ("cap without again", "run job.toml --max-tokens 9", nothing),
    ("higher cap that is lower", "run job.toml --again truncated --max-tokens 9", nothing),
    ("higher cap of none", "run job.toml --again truncated --max-tokens 9", job_with("max_tokens = 64", "")),
    ("export over a ledger", "export r1 --output ledger.duckdb --format csv", then(scored, after("ledger recover"))),
    ("export into no folder", "export r1 --output nowhere/x.csv --format csv", scored),
    ("conversion into no folder", "datasets convert sums.jsonl nowhere/x.jsonl", nothing),
    ("asking nobody", "ask -- ' ' hi", nothing),
    ("again and fresh", "run job.toml --again invalidated --fresh", job_with("[run]", "[run]")),
    ("again without samples", "run job.toml --again invalidated", job_with("[run]", "[run]")),
    ("draws of more epochs than there are", "run job.toml", run('reduce = "pass@3"')),
    ("variant twice", "run job.toml", job_with("[run]", '[[variants]]\nname = "a"\n[[variants]]\nname = "a"\n[run]')),
    ("variant without a name", "run job.toml", job_with("[run]", "[[variants]]\nseed = 1\n[run]")),
    ("change accepted without a reason", "accept j", scored),
    ("change of a job that never ran", "accept k --reason y", scored),
    ("change where nothing is open", "accept j --reason y", scored),
    ("change that nobody accepted", "accept j --reopen", scored),
    ("samples without a reason", "invalidate r1 --sample 0", scored),
    ("share of a window", "run job.toml", job_with("[run]", "[budget]\nwindow_share = 0.5\n[run]")),
    ("budget without a cap", "run job.toml", job_with("max_tokens = 64\n[run]", "[budget]\ntotal_tokens = 5000\n[run]")),
    ("limit of words", "run job.toml", job_with('path = "sums.jsonl"', 'path = "sums.jsonl"\nlimit = "many"')),
    ("template and messages", "run job.toml", job_with("[request]", '[prompt]\ntemplate = "a {{ input }}"\n[[prompt.messages]]\nrole = "user"\ncontent = "x"\n[request]')),
    ("system and messages", "run job.toml", job_with("[request]", '[prompt]\nsystem = "a"\n[[prompt.messages]]\nrole = "user"\ncontent = "x"\n[request]')),
    ("broken template", "run job.toml", job_with("[request]", '[prompt]\ntemplate = "{{ input"\n[request]')),
    ("template of too many levels", "run job.toml", job_with("[request]", f'[prompt]\ntemplate = "{{{{ {"(" * 300}1{")" * 300} }}}}"\n[request]')),
    ("endless macro", "run job.toml", job_with("[request]", '[prompt]\ntemplate = "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"\n[request]')),
    ("wrong type", "run job.toml", run('epochs = "two"')),
    ("wrong word", "run job.toml", run('reuse = "sometimes"')),
    ("negative", "run job.toml", run("deadline_s = -3")),
    ("unknown scorer", "run job.toml", scorer('name = "numerc"')),
    ("scale that is not the scorer's", "run job.toml", scorer('name = "numeric"\nscale = [0, 5]')),
    ("scale upside down", "run job.toml", then(files(own_py="def f(answer, sample):\n    return 1\n"), scorer('name = "custom"\nfunction = "own.py:f"\nscale = [1, 1]'))),
    ("scale too wide", "run job.toml", then(files(own_py="def f(answer, sample):\n    return 1\n"), scorer('name = "custom"\nfunction = "own.py:f"\nscale = [0, 2e12]'))),
    ("what is missing, misspelt", "run job.toml", job_with("[run]", '[unscored]\ncut_of = "unknown"\n[run]')),
    ("what is missing, narrowed", "run job.toml", job_with("[run]", '[unscored]\ncut_off = "right"\n[run]')),
    ("margin by a scorer that is not there", "run job.toml", job_with("[run]", "[compare]\nmargin = { exakt = 0.02 }\n[run]")),
    ("margin of nothing", "run job.toml", job_with("[run]", "[compare]\nmargin = { exact = 0 }\n[run]")),
    ("margin without its scorer", "run job.toml", job_with("[run]", "[compare]\nmargin = 0.02\n[run]")),
    ("percent for a share", "run job.toml", job_with("[run]", "[compare]\nmin_answered = 80\n[run]")),
    ("two scorers of one name", "run job.toml", scorer('name = "numeric"', "[[scorers]]", 'name = "numeric"')),
    ("infinite tolerance", "run job.toml", scorer('name = "numeric"', "tolerance = inf")),
    ("broken pattern", "run job.toml", scorer('name = "pattern"', 'pattern = "("')),
    ("not a number", "run job.toml", request("temperature = nan")),
    ("no whole number", "run job.toml", request("seed = 3.0")),
    ("date for a text", "run job.toml", job_with("models =", "tags = { since = 2026-11-01 }\nmodels =")),
    ("date in a list", "run job.toml", job_with("models =", "tags = [2026-11-01]\nmodels =")),
    ("number for a text", "run job.toml", job_with("models =", "tags = { seed = 3 }\nmodels =")),
    ("one model without a list", "run job.toml", job_with('["sim/instant"]', '"sim/instant"')),
    ("unquoted id", "run job.toml", job_with('["sim/instant"]', "[sim/instant]")),
    ("unquoted path", "run job.toml", job_with('"sums.jsonl"', "sums.jsonl")),
    ("scorers as one table", "run job.toml", job_with("[[scorers]]", "[scorers]")),
    ("key after a table", "run job.toml", job_with("[request]", 'tags = { a = "b" }\n[request]')),
    ("key of another table", "run job.toml", job_with("[request]", "epochs = 3\n[request]")),
    ("job as YAML", "run job.yaml", lambda bench: bench.write("job.yaml", "name: sums\nmodels: [a]\n")),
    ("job as JSON", "run job.json", lambda bench: bench.write("job.json", '{"name": "sums"}\n')),
    ("dataset for a job", "run sums.jsonl", nothing),
    ("constant prompt", "run job.toml", job_with("[request]", '[prompt]\ntemplate = "What is it?"\n[request]')),
    ("single braces", "run job.toml --yes", job_with("[request]", '[prompt]\ntemplate = "{input}"\n[request]')),
    ("no targets", "run job.toml", data('{"input": "What is 1 + 1?"}\n')),
    ("options in no prompt", "run job.toml", data('{"input": "Which?", "choices": ["7", "8"], "target": "7"}\n')),
    ("passage in no prompt", "run job.toml", data('{"input": "Who?", "passage": "Ann was 7 years old then.", "target": 7}\n')),
    ("gate above the scale", "run job.toml", job_with("[[scorers]]", "[gates]\nmin_mean = { numeric = 1.5 }\n[[scorers]]")),
    ("no such finding", "run job.toml --allow all", nothing),
    ("scorer of one's own that fails", "run job.toml", then(job_with('name = "numeric"', 'name = "custom"\nfunction = "own.py:score"'), lambda bench: bench.write("own.py", "def score(answer):\n    return 1\n"))),
    ("prompt before the model", "ask 'What is 1 + 1?' sim/instant", nothing),
    ("job in YAML with its first mark", "run job.toml", files(job_toml="---\nname: sums\n")),
    ("key and table of a name", "run job.toml", job_with("[request]", "[models]\nid = 'a'\n[request]")),
    ("column with a blank in a block", "run job.toml", job_with("[request]", '[prompt]\ntemplate = "{% if the input %}{{ input }}{% endif %}"\n[request]')),
    ("column with a hyphen", "run job.toml", then(job_with("[request]", '[prompt]\ntemplate = "{{ free-text }} {{ input }}"\n[request]'), files(sums_jsonl='{"input": "What is 1 + 1?", "free-text": "x", "target": 2}\n'))),
    ("column with a blank", "run job.toml", job_with("[request]", '[prompt]\ntemplate = "{{ the input }}"\n[request]')),
    ("dry run", "run job.toml --dry-run", nothing),
    ("concurrency", "run job.toml --concurrency 4", nothing),
    ("concurrency of a probe", "probe --concurrency 4", nothing),
    ("requests in flight of a report", "report --max-in-flight 4", nothing),
    ("key on the command line", "run job.toml --api-key sk-0", nothing),
    ("output folder", "run job.toml -o pages", nothing),
    ("output file", "export last -o answers.jsonl", scored),
    ("number of samples", "run job.toml -n 3", nothing),
    ("infinite extra", "run job.toml", request("extra = { top_k = inf }")),
    ("field of ours", "run job.toml", request("extra = { stream = true }")),
    ("field of the platform's", "run job.toml", request("extra = { session_id = 1 }")),
    ("several answers by extra", "run job.toml", request("extra = { n = 2 }")),
    ("field that has a key", "run job.toml", request("extra = { temperature = 1 }")),
    ("tools twice", "run job.toml", request("tools_path = 'tools.json'", tool('{ name = "f" }'))),
    ("two tools of one name", "run job.toml", request('tools = [{ type = "function", function = { name = "f" } }, { type = "function", function = { name = "f" } }]')),
    ("no file of tools", "run job.toml", request("tools_path = 'tools.json'")),
    ("unknown tool", "run job.toml", request(tool('{ name = "find" }'), 'tool_choice = { type = "function", function = { name = "fnd" } }')),
    ("neither calendar nor cron", "run job.toml", schedule("")),
    ("no time of a calendar", "run job.toml", schedule("on_calendar = []")),
    ("broken cron", "run job.toml", schedule('cron = "0 25 * * *"')),
    ("four fields", "run job.toml", schedule('cron = "0 2 * *"')),
    ("broken calendar", "run job.toml", schedule('on_calendar = "Fridy 02:00"')),
    ("schedule that reuses", "run job.toml", run('[schedule]\non_calendar = "02:00"')),
    # datasets
    ("dataset that is a folder", "run job.toml", then(folder("rows"), dataset("rows"))),
    ("dataset that is a pipe", "run job.toml", then(fifo("rows"), dataset("rows"))),
    ("glob without a file", "run job.toml", dataset("*.csv")),
    ("cut gzip", "run job.toml", data(gzip.compress(b'{"input": "a"}\n' * 99)[:-12], "d.jsonl.gz")),
    ("gzip bomb", "run job.toml", data(gzip.compress(b"x" * 2**20) * 1025, "d.jsonl.gz")),
    ("object that is no array", "run job.toml", data('{"a": [1,\n2]}', "d.json")),
    ("array that is not closed", "run job.toml", data('[{"input": "a"}')),
    ("more after the array", "run job.toml", data('[{"input": "a"}] x')),
    ("empty input", "run job.toml", data('{"input": ""}\n')),
    ("messages that are none", "run job.toml", data('{"messages": [{"content": "x"}]}\n')),
    ("input that is a list", "run job.toml", data('{"input": [{"content": "x"}]}\n')),
    ("choices that are no list", "run job.toml", data('{"input": "a", "choices": 5}\n')),
    ("choices that are no JSON", "run job.toml", data("input,choices\na,[1\n", "d.csv")),
    ("column without a name", "run job.toml", data("input,\na,b\n", "d.csv")),
    ("column twice", "run job.toml", data("input,input\na,b\n", "d.csv")),
    ("input that is an object", "run job.toml", data('{"input": {"a": 1}}\n')),
    ("no input", "run job.toml", data('{"question": "a"}\n')),
    ("broken Parquet", "run job.toml", data(b"PAR1 and no more", "d.parquet")),
    ("mapped column", "run job.toml", named('target = "anser"')),
    # ledgers
    ("no ledger", "runs", nothing),
    ("no ledger there", "runs --ledger there.duckdb", nothing),
    ("ledger elsewhere", "run job.toml --ledger postgres://h", nothing),
    ("team's ledger with a password", "runs --ledger 'ducklake:postgres:dbname=x password=secret'", nothing),
    ("team's ledger without an address", "runs --ledger ducklake:postgres:nonsense", nothing),
    ("team's ledger whose server does not answer", "runs --ledger 'ducklake:postgres:host=127.0.0.1 port=9 dbname=x'", nothing),
    ("team's ledger that is a file", "ledger create ledger.duckdb --data /data", nothing),
    ("team's rows in a relative folder", "ledger create ducklake:postgres:dbname=x --data rows", nothing),
    ("team's rows below a file", "ledger create ducklake:postgres:dbname=x --data /dev/null/rows", nothing),
    ("copy of nothing", "ledger copy nothing.duckdb 'ducklake:postgres:dbname=x'", nothing),
    ("copy into a file", "ledger copy ledger.duckdb other.duckdb", folder("ledger.duckdb.journal")),
    ("ledger in no folder", "run job.toml --ledger no/l.duckdb", nothing),
    ("ledger that is a folder", "run job.toml --ledger jobs", folder("jobs")),
    ("ledger of no name", "runs --ledger ''", nothing),
    ("ledger with a question mark above", "run job.toml --ledger 'a?/l.duckdb'", folder("a?")),
    ("not a database", "runs --ledger sums.jsonl", nothing),
    ("another database", "run job.toml --ledger other.duckdb", other_database),
    ("damaged database", "runs --ledger l.duckdb", lambda bench: (bench.folder / "l.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 9000)),
    ("journal in the way", "run job.toml", files(**{"ledger_duckdb.journal": ""})),
    ("newer ledger, read", "runs", changed_ledger("INSERT INTO schema_versions SELECT 99, 'later', sha256, applied_at FROM schema_versions LIMIT 1")),
    ("newer ledger, written", "run job.toml --fresh", changed_ledger("INSERT INTO schema_versions SELECT 99, 'later', sha256, applied_at FROM schema_versions LIMIT 1")),
    ("mixed ledger", "run job.toml --fresh --local --ledger ledger.duckdb", changed_ledger("UPDATE runs SET simulated = false")),
    ("no runs", "show", changed_ledger("DELETE FROM runs")),
    ("empty name of a run", "show ''", after("run job.toml --no-report")),
    ("unknown run", "show 20200101T000000-abcdef", after("run job.toml --no-report")),
    ("several runs", "show 20", after("run job.toml --no-report", "run job.toml --no-report --fresh")),
    ("resumed in an empty ledger", "run --resume last", nothing),
    ("resumed with another dataset", "run --resume last", then(after("run job.toml --no-report"), lambda bench: bench.write("sums.jsonl", sums(4)))),
    ("reports in a file", "run job.toml --reports sums.jsonl/x", nothing),
    ("slots in a file", "run job.toml", lambda bench: bench.environment.update(XDG_STATE_HOME=str(bench.write("state", "")))),
    # schedules
    ("schedule list and install", "schedule --cron --install", nothing),
    ("install what", "schedule job.toml --install", run(NIGHTLY)),
    ("both kinds", "schedule job.toml --systemd --cron", run(NIGHTLY)),
    ("install and remove", "schedule job.toml --cron --install --remove", run(NIGHTLY)),
    ("job without a schedule", "schedule job.toml", nothing),
    ("crontab that is cut", "schedule job.toml --cron --remove", lambda bench: crontab(f"echo '# workbench schedule of {bench.folder}/job.toml'")(bench)),
    ("crontab that fails", "schedule job.toml --cron --install", crontab("echo 'you may not' >&2; exit 1")),
    ("no crontab", "schedule job.toml --cron --install", then(run(NIGHTLY), lambda bench: bench.environment.update(PATH=str(bench.folder)))),
    ("folder with a line break", "schedule job.toml --cron --ledger 'a\nb.duckdb'", run(NIGHTLY)),
    # routes
    ("probe of no route", "probe sim/instnat", nothing),
    ("name of no route", "routes confirm c x", scored),
    ("name never seen", "routes confirm a x", scored),
    ("another route's name", "routes confirm a b", lambda bench: record(bench, "r1", {"a": [1.0], "b": [0.0]}, served={"a": "b"})),
    # the embedded platform
    ("history without a call", "platform init --from-history", changed_ledger("DELETE FROM attempts")),
    ("ledger of no history", "platform init --ledger ledger.duckdb", nothing),
    ("exposed for once", "platform serve --host 0.0.0.0 --ephemeral", nothing),
    ("ephemeral state", "platform serve --ephemeral --state s.sqlite", nothing),
    ("no platform state", "platform serve", nothing),
    ("no key of an account", "platform serve", after("platform keys create lab", "platform init")),
    ("platform twice", "platform init", after("platform init")),
    ("no configuration", "platform serve --config no.toml --ephemeral", nothing),
    ("unknown account", "platform usage add labb 5", nothing),
    ("usage still to come", "platform usage add lab 5 --at 2999-01-01T12:00", nothing),
    ("usage at no time", "platform usage add lab 5 --at yesterday", nothing),
    ("unknown draw", "platform usage remove 1", after("platform keys create lab")),
    ("no unsettled draw", "platform usage settle 1 5 --reason log", after("platform keys create lab")),
    ("no reason", "platform usage release 1 --reason ' '", after("platform keys create lab")),
    ("unknown key id", "platform keys revoke 0123abcd", after("platform keys create lab")),
    ("another's state", "platform keys", other_state),
    ("newer state", "platform keys", newer_state),
    ("damaged state", "platform keys", lambda bench: bench.write("platform.sqlite", "no database at all, but long enough")),
    ("port in use", "platform serve --ephemeral --port PORT", nothing),
    ("blank around a route", "platform serve --ephemeral", files(platform_toml='[[routes]]\nid = " r"\nsimulated = "prose"\n')),
    ("no routes", "platform serve --ephemeral", files(platform_toml="routes = []\naccounts = []\n")),
    ("more slots than there are", "platform serve --ephemeral", platform("max_in_flight = 16", "max_in_flight = 65")),
    ("unknown route", "platform serve --ephemeral", platform('fallback = "Rehearsal"', 'fallback = "Rehearsel"')),
    ("account twice", "platform serve --ephemeral", platform('name = "ben"', 'name = "ada"')),
    ("neither simulated nor real", "platform serve --ephemeral", platform('base_url = "http://127.0.0.1:11434/v1"', "")),
    ("URL of a server", "platform serve --ephemeral", platform("http://127.0.0.1:11434/v1", "ftp://h")),
    ("secrets in a URL", "platform serve --ephemeral", platform("http://127.0.0.1:11434/v1", "http://u:p@h/v1")),
    ("too long a URL", "platform serve --ephemeral", platform("http://127.0.0.1:11434/v1", "http://h/v1/chat/completions")),
    ("latency of a server", "platform serve --ephemeral", platform('base_url = "http://127', 'latency_ms = { median = 5 }\nbase_url = "http://127')),
    ("faults of a server", "platform serve --ephemeral", platform('base_url = "http://127', 'faults = [{ kind = "hang" }]\nbase_url = "http://127')),
    ("secret of a simulation", "platform serve --ephemeral", platform('simulated = "answers"', 'simulated = "answers"\nsecret_env = "X"')),
    ("slow without a delay", "platform serve --ephemeral", platform('simulated = "answers"', 'simulated = "answers"\nfaults = [{ kind = "slow" }]')),
    ("half a burst", "platform serve --ephemeral", platform('simulated = "answers"', 'simulated = "answers"\nfaults = [{ every_s = 5 }]')),
    ("ends before it begins", "platform serve --ephemeral", platform('simulated = "answers"', 'simulated = "answers"\nfaults = [{ from_s = 5, until_s = 2 }]')),
    ("status of a hang", "platform serve --ephemeral", platform('simulated = "answers"', 'simulated = "answers"\nfaults = [{ kind = "hang", status = 500 }]')),
    ("answers of prose", "platform serve --ephemeral", platform('simulated = "answers"', 'simulated = "prose"\nanswers = [{}]')),
    ("more than all wrong", "platform serve --ephemeral", platform('simulated = "answers"', 'simulated = "answers"\nanswers = [{ empty = 0.6, cut = 0.6 }]')),
    ("more than all", "platform serve --ephemeral", platform('simulated = "answers"', 'simulated = "answers"\nfaults = [{ share = 0.6 }, { share = 0.6 }]')),
    ("field of a preset", "platform serve --ephemeral", platform("temperature = 0.2", 'model = "x"')),
    ("status of no failure", "platform serve --ephemeral", platform("[silent]", "[silent]\ncooldown_after = [999]")),
    ("runs and a job", "compare r1 --job j", scored),
    ("no page in one file", "compare --single-file --no-report", scored),
    ("two lists of one run", "show --calls --suspects", scored),
    ("other reducers", "compare r1 r2", reduced),
    ("export over a dataset", "export r1 --format csv --output sums.jsonl", scored),
    ("job without runs", "compare --job k", scored),
    ("job with one run", "compare --job j", scored),
    ("score by another", "compare --scorer exakt", scored),
    ("points for a share", "compare --margin 2", scored),
    ("answer of another", "compare --model c", scored),
    ("baseline that did not answer", "compare --baseline c", scored),
    ("one model", "compare --model a", scored),
    ("clusters that are not there", "compare --cluster text", scored),
    ("parts by a column that is not there", "compare --by topic", scored),
    ("parts by a column of many values", "compare --by row", lambda bench: record(
        bench, "r1", {"a": [1.0] * 70, "b": [0.0] * 70}, metadata=[{"row": row} for row in range(70)])),
    ("reload of no platform", "platform reload", nothing),
    ("invitation of a stranger", "platform accounts invite laab --base-url http://h", nothing),
    ("invitation to no platform", "platform accounts invite lab", nothing),
    ("invitation to no address", "platform accounts invite lab --base-url chat.lab.example", nothing),
    ("reading of nothing", "allowance reading", scored),
    ("key of a name that is too long", f"platform keys create lab --name {'x' * 101}", nothing),
    ("reading of the embedded platform", "allowance reading --from-platform --local", scored),
    ("reading of two things", "allowance reading --from-platform --of 7", scored),
    ("reading that is no amount", "allowance reading --used much", scored),
    ("reading of more than everything", "allowance reading --used 120%", scored),
    ("reading beyond the total", "allowance reading --used 50k --of 40000", scored),
    ("reading at no time", "allowance reading --used 3% --at tomorrow", scored),
    ("reading of the future", "allowance reading --used 3% --at 2999-01-01", scored),
    ("reading of an endless total", "allowance reading --used 3% --of 1e200", scored),
    ("reading of too much", "allowance reading --used 9000000000000000000", scored),
    ("reading before calendars", "allowance reading --used 3% --at 0001-01-01T00:00+05:00", scored),
    ("reading that is not there", "allowance reading --withdraw abc", scored),
    ("window that is none", "allowance", then(scored, files(workbench_toml='[allowance]\nwindow = "fortnight"\n'))),
    ("price without a currency", "allowance", then(scored, files(workbench_toml='[allowance]\nprice_per_unit = 0.1\n'))),
    ("no model in common", "compare r1 r2", then(scored, lambda bench: record(bench, "r2", {"c": [1.0]}))),
    ("nothing scored", "compare", lambda bench: record(bench, "r1", {"a": [None], "b": [None]})),
    ("layout of no project", "datasets show sums.jsonl --layout gms8k", nothing),
    ("converted onto a file", "datasets convert sums.jsonl sums.jsonl", nothing),
    ("suite in YAML", "datasets show suite.yaml", files(suite_yaml="prompts:\n  - x\n")),
    ("log of Inspect", "datasets show log.eval", lambda bench: (bench.folder / "log.eval").write_bytes(b"PK\x03\x04")),
    ("results of promptfoo", "datasets show out.json", files(out_json='{"evalId": "x", "results": []}')),
    ("another endpoint", "datasets show batch.jsonl", files(batch_jsonl='{"custom_id": "r", "url": "/v1/embeddings", "body": {}}')),
    ("check in code", "datasets show tests.csv", files(tests_csv="body,__expected\nHello,javascript: 1\n")),
    ("line without an end", "datasets show long.jsonl", lambda bench: bench.write("long.jsonl", '{"input": "' + "x" * 2**26)),
    ("bytes that are not text", "datasets show d.parquet", parquet({"input": "x", "image": b"\xff"})),
    ("value of many megabytes", "datasets show d.parquet", parquet({"input": "x" * (2**26 + 2**20)})),
    ("columns of one name", "datasets show d.parquet", twice),
    ("object around the rows", "datasets show d.json", files(d_json='{"version": 1, "data": [{"question": "a"}]}')),
    ("answer of two readings", "datasets show d.jsonl", files(d_jsonl='{"question": "Which?", "choices": ["B", "A"], "answer": "A"}\n')),
    ("answer of no option", "datasets show d.jsonl", files(d_jsonl='{"question": "Which?", "choices": ["x", "y"], "answer": 2}\n')),
    ("row that does not fit", "datasets show d.jsonl --layout bfcl", files(d_jsonl='{"question": "a"}\n')),
    ("gap among options", "lint job.toml", lambda bench: (bench.write("sums.jsonl", '{"input": "Q", "a": "x", "b": "", "c": "y"}\n'), named('choices = ["a", "b", "c"]')(bench))),
    ("answer of unknown shape", "datasets show d.jsonl", files(d_jsonl='{"question": "Q?", "answer": {"label": "yes"}}\n')),
    ("missing schema", "lint job.toml", scorer('name = "json_schema"', 'schema_path = "schema.json"')),
    ("schema of an unknown draft", "lint job.toml", scorer('name = "json_schema"', 'schema = { "$schema" = "http://json-schema.org/draft-03/schema#" }')),
    ("async scorer", "lint job.toml", lambda bench: (bench.write("mine.py", "async def f(answer, sample): ...\n"), scorer('name = "custom"', 'function = "mine.py:f"')(bench))),
    ("role of a message", "run job.toml", files(sums_jsonl='{"messages": [{"role": "usr", "content": "hi"}], "target": "a"}\n')),
    ("message without content", "run job.toml", files(sums_jsonl='{"input": [{"role": "user"}], "target": "a"}\n')),
    ("options numbered from 1", "run job.toml", then(scorer('name = "choice"'), files(sums_jsonl='{"input": "q", "choices": ["a", "b"], "target": 2}\n'))),
    ("column of a judge", "run job.toml", scorer('name = "judge"', 'model = "sim/instant"', 'template = "{{ answr }}"')),
    ("verdicts of a judge", "lint job.toml", scorer('name = "judge"', 'model = "sim/instant"', 'verdicts = { "A" = 1, "a." = 0 }')),
    ("judge that is not visible", "run job.toml", scorer('name = "judge"', 'model = "sim/instnat"')),
    ("option that is not text", "datasets show d.jsonl", files(d_jsonl='{"input": "a", "choices": ["x", null]}\n')),
    ("number that is too large", "datasets show d.jsonl", files(d_jsonl='{"input": "a", "target": 1e999}\n')),
    ("column of another layout", "datasets convert d.jsonl --layout plain", files(d_jsonl='{"input": "a", "metadata": {"b": 1}}\n')),
    ("null in a prompt", "plan job.toml", then(
        files(d_jsonl='{"note": null, "text": "x"}\n'),
        job_with('path = "sums.jsonl"', 'path = "d.jsonl"\n[prompt]\ntemplate = "{{ text }} {{ note }}"'))),
]  # fmt: skip


ALONE = "job that is running"
OF_A_TEAM = ("copy of nothing",)
NOT_HERE = {
    "api/made_jobs.py: _records": "of the Python API",
    "api/made_jobs.py: _scorers": "of the Python API",
    "api/functions.py: _where": "of the Python API",
    "api/frames.py: _factors": "of the Python API",
    "running/options.py: check_options": "of the Python API; the command line checks the number",
    "evaluation/gates.py: _baseline": "a run that is its own baseline",
    "job/narrowing.py: _first": "of the Python API; the command line checks the number",
    "job/narrowing.py: flag": "of the Python API",
    "job/narrowing.py: allowing": "of the Python API; the command line checks the name",
    "allowance/readings.py: read_from_platform": "a platform whose routes have weights",
    "cli/allowance.py: _asked": "a platform that does not say what was used",
    "client/chat.py: _listed": "a platform that lists no models",
    "client/chat.py: usage": "a platform that does not say what was used although it offers that",
    "api/pipeline.py: _is_simulated": "a platform of simulated and real models",
    "cli/schedule.py: _files": "systemd refuses a timer that was checked before",
    "schedule/systemd.py: install": "a timer that was installed for another file",
    "schedule/due.py: due": "another file's job of the same name",
    "running/slots.py: _require_layout": "slots of a newer version",
    "api/session.py: _announced": "the embedded platform does not start",
    "dataset/json_rows.py: _elements": "the format is given, and the file has another",
    "dataset/overview.py: converted": "a row of many megabytes that has more in our own form",
    "dataset/python_rows.py: _object": "of the Python API",
    "dataset/python_rows.py: _value": "of the Python API",
    "dataset/python_rows.py: _number": "of the Python API",
    "dataset/python_rows.py: _text": "of the Python API",
    "api/made_jobs.py: _plain": "of the Python API",
    "api/made_jobs.py: _require_text": "of the Python API",
    "api/made_jobs.py: _prompt": "of the Python API",
    "api/arguments.py: as_several": "of the Python API",
    "evaluation/run_figures.py: find_run": "of the Python API",
    "api/functions.py: question": "of the Python API",
    "ledger/store.py: locked": "another process holds the ledger",
    "ledger/engine.py: _open": "another process holds the ledger",
    "ledger/upkeep.py: compact_ledger": "another process holds the ledger",
    "ledger/schema.py: _migrate": "an edited migration",
    "ledger/database.py: copied": "a full disk",
    "ledger/ingest.py: stage": "a damaged journal",
    "ledger/ingest.py: _ingest_lines": "a journal of a newer version",
    "errors.py: internal_error": "a fault of ours",
    "api/filling.py: as_it_is_now": "a sheet that is another one by the end, which test_fill.py makes",
    "ledger/address.py: team_room": "the packages of a team's ledger are not installed",
    "ledger/queries.py: _explained": "a damaged ledger",
    "team/lake.py: _lost_connection": "tests/team cuts connections",
    "team/server.py: transaction": "tests/team asks a server",
    "running/options.py: within_open_files": "test_machine_trouble.py lowers the limit of a process",
    "ledger/undoing.py: undo_torn_write": "test_undoing.py has another program open the ledger",
    "cli/platform_files.py: reload_served": "a platform that is stopped with SIGSTOP",
    "cli/platform_files.py: serving": "test_platform_command.py serves twice",
    "team/store.py: require_rights": "tests/team asks a server as a role that only reads",
    "team/claims.py: leave_behind": "tests/team asks a server",
    "team/address.py: team_address": "tests/team names addresses",
    "team/lake.py: _load_extensions": "an extension of another version",
    "team/lake.py: _require_same_folder": "tests/team asks a server",
    "team/copying.py: _refuse_mixing": "tests/team asks a server",
    "team/copying.py: copy_ledger": "a server that goes away",
    "ledger/combined.py: _stage_live": "a damaged journal",
    "ledger/combined.py: _not_a_ledger": "a damaged ledger",
    "local_platform/accounts.py: open_draw": "a full disk",
    "running/spending.py: _lock_patiently": "a process that was stopped while it held the lock",
    "local_platform/state.py: _look_after_file": "a file that is deleted while a platform serves",
    "local_platform/state.py: revoke_key": "two keys whose ids begin alike",
}
"""The errors that the table does not have, and what they need; tests elsewhere cause them."""


@pytest.fixture
def taken_port() -> Iterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield str(taken.getsockname()[1])


ABOUT_FILES = {
    "team's folder by a relative path", "nothing to leave behind", "no ledger", "journal in the way", "newer ledger, read",
    "newer ledger, written", "mixed ledger", "no runs", "resumed in an empty ledger", "slots in a file", "history without a call",
    "export over a ledger",
}  # fmt: skip
"""Cases that change the ledger's file, or need that there is none."""


OF_A_WHOLE_FILE = {
    # it is empty, is something else, cannot be read, or is not there
    "empty dataset", "empty array", "header only", "header only, with fields", "workbook of nothing",
    "UTF-16", "Git LFS", "web page", "xz archive", "zip archive", "workbook with a password", "broken workbook", "cut workbook",
    "broken Parquet", "cut gzip", "gzip bomb", "suite in YAML", "log of Inspect", "results of promptfoo",
    "fill of a dataset that is no sheet", "fill of a compressed table", "corrected rows that no run asked",
    "unreadable settings", "unreadable .env", "job in Latin-1", "deep job",
    "missing job", "no configuration", "no sheet to fill", "conversion into no folder",
    "init over files", "platform twice", "converted onto a file",
    # its rows are in one value, in several sheets, or in columns
    "object that is no array", "object around the rows", "rows by column", "workbook of several sheets", "sheet that is not there",
    "value of many megabytes", "columns of one name",
    # it was read before, and its text is not at hand
    "share of an unknown total",
    # it does not have the table of which it is
    "job without a schedule", "options in no prompt", "passage in no prompt", "input that is a list", "input that is an object",
}  # fmt: skip
"""Cases whose message names a file and no line of it."""

SAID_AT = {
    ExitCode.KEY_REJECTED: r"\bAPI key\b(?! in its path)|key_file: ",
    ExitCode.LOCKED: "is running already",
    ExitCode.UNREACHABLE: r"does not answer|answered with HTTP|accept the connection",
}
"""What a message says that ends with each code; those of all others end with that of wrong usage."""

HAS_TEAM = find_spec("workbench.team") is not None
"""False where that folder was removed, which takes nothing from a file's ledger."""


FIRST = {command.split()[0]: case for case, command, _ in reversed(CASES)}
"""Of each command its first case: these run by default, the whole table with the slow tests."""


def _marks(case: str, command: str) -> list[pytest.MarkDecorator]:
    marks = [] if FIRST[command.split()[0]] == case else [pytest.mark.slow]
    marks += [pytest.mark.file_ledger] if case in ABOUT_FILES else []
    if "team" in case or case in OF_A_TEAM:
        marks.append(pytest.mark.skipif(not HAS_TEAM, reason="it is of a team's ledger"))
    return marks


@pytest.mark.parametrize(
    ("case", "command", "change"), [pytest.param(*case, id=case[0], marks=_marks(*case[:2])) for case in CASES]
)
def test_a_command_says_what_the_table_has(
    bench: Workbench, request: pytest.FixtureRequest, taken_port: str, case: str, command: str, change: Change
) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    bench.environment = {name: value for name, value in bench.environment.items() if not name.startswith("SSL_CERT")}
    change(bench)
    done = bench(*shlex.split(command.replace("PORT", taken_port)), code=None)
    assert done.returncode in (2, 3, 4, 5, 6), done.stderr
    messages.check(case, bench, done, writing=request.config.getoption("--write-messages"))


@pytest.mark.file_ledger
def test_a_job_runs_once_at_a_time(bench: Workbench, request: pytest.FixtureRequest) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    with Ledger(bench.folder / "ledger.duckdb").running("sums"):
        done = bench("run", "job.toml", code=5)
    messages.check(ALONE, bench, done, writing=request.config.getoption("--write-messages"))


@pytest.mark.parametrize("message", messages.table().values(), ids=messages.table())
def test_the_table_is_in_plain_words(message: messages.Message) -> None:
    assert not [pattern for pattern in STUMBLED_OVER if re.search(pattern, message.text)]
    assert "sk-0" not in message.text


def test_every_message_names_its_place_and_few_lack_the_right_thing() -> None:
    grades = {case: messages.grade(message) for case, message in messages.table().items()}
    assert len(grades) >= 200
    assert not [case for case, grade in grades.items() if not grade.place]
    assert {case for case, grade in grades.items() if grade.is_whole_file} == OF_A_WHOLE_FILE
    without = [case for case, grade in grades.items() if not grade.remedy]
    assert len(without) <= len(grades) / 10, without
    assert sum(grade.paste for grade in grades.values()) > len(grades) / 2


def test_every_exit_code_is_the_documented_one() -> None:
    for message in messages.table().values():
        expected = next((code for code, words in SAID_AT.items() if re.search(words, message.text)), ExitCode.USAGE)
        assert message.exit_code == expected, message


def test_the_table_has_every_error() -> None:
    known = [message.text for message in messages.table().values()]
    missing = {site for site in messages.sites() if not any(re.search(site.pattern, text) for text in known)}
    expected = {place for place in NOT_HERE if HAS_TEAM or not place.startswith("team/")}
    assert {site.place for site in missing} == expected, sorted(missing)


def test_no_case_was_left_in_the_table() -> None:
    assert set(messages.table()) == {*(case[0] for case in (*WRONG_INPUT, *CASES)), ALONE}
