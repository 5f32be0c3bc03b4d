"""Promises of the package as a whole."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import get_args

import msgspec
import pytest

import workbench
from tests.figures import longest_function
from workbench.cli.help import TOPICS
from workbench.cli.main import _COMMANDS
from workbench.cli.main import workbench as command_line
from workbench.errors import ExitCode
from workbench.job.file import (
    BudgetTable,
    DatasetTable,
    FieldNames,
    JobFile,
    PromptTable,
    RunTable,
    ScheduleTable,
)
from workbench.job.keys import keys_of
from workbench.ledger.entries import journal_columns
from workbench.ledger.ingest import ingest_text
from workbench.records.outcomes import Outcome
from workbench.scoring.scorers import AnyScorer
from workbench.settings.file import Settings

ROOT = Path(__file__).parents[2]
ROOMS = {path.stem for path in (ROOT / "workbench").iterdir() if path.suffix == ".py" or path.is_dir()} - {
    "__init__", "__main__", "__pycache__",
}  # fmt: skip
HEAVY = {"pandas", "pyarrow", "duckdb", "scipy", "altair", "aiohttp", "httpx", "jinja2"}


def loaded_by(statement: str) -> set[str]:
    script = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy_and_no_server() -> None:
    loaded = loaded_by("import workbench")
    assert not loaded & HEAVY
    assert not any(name.startswith("workbench.local_platform") for name in loaded)


def test_help_loads_nothing_heavy() -> None:
    statement = "from workbench.cli.main import workbench\nworkbench.main(['--help'], standalone_mode=False)"
    assert not loaded_by(statement) & HEAVY


@pytest.mark.slow
def test_no_command_needs_pandas(tmp_path: Path) -> None:
    statement = (
        f"import os; os.chdir({str(tmp_path)!r})\nfrom workbench.cli.main import workbench\ntry:\n"
        "    workbench.main(['demo', '--no-progress'], standalone_mode=False)\n"
        "except SystemExit as end:\n    assert end.code == 0, end.code"
    )
    assert "pandas" not in loaded_by(statement)


def test_the_first_request_waits_for_nothing_it_does_not_need(tmp_path: Path) -> None:
    script = f"""
import json, os, sys
from workbench.cli.main import workbench
from workbench.client.chat import ChatClient

async def complete(*_):
    print(json.dumps(sorted(sys.modules)), flush=True)
    os._exit(0)

ChatClient.complete = complete
os.chdir({str(tmp_path)!r})
workbench.main(["demo", "--no-progress"], standalone_mode=False)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout.splitlines()[-1])) & HEAVY == {"aiohttp", "duckdb", "httpx"}


def test_the_embedded_platform_starts_before_what_speaks_to_it_is_loaded(tmp_path: Path) -> None:
    """Both take a third of a second, and side by side no longer than one."""
    script = f"""
import json, os, subprocess, sys
from workbench.cli.main import workbench

class Started(subprocess.Popen):
    def __init__(self, *_, **__):
        print(json.dumps(sorted(sys.modules)), flush=True)
        os._exit(0)

subprocess.Popen = Started
os.chdir({str(tmp_path)!r})
workbench.main(["demo", "--no-progress"], standalone_mode=False)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout.splitlines()[-1])) & HEAVY == {"duckdb"}


def test_what_is_exported_is_there_and_shares_no_name_with_a_room() -> None:
    assert workbench.__all__ == sorted(workbench.__all__)
    assert all(getattr(workbench, name).__doc__ for name in workbench.__all__)
    assert not ROOMS & set(workbench.__all__)  # importing such a room would put it in the function's place


def test_the_map_names_every_room() -> None:
    assert workbench.__doc__ is not None
    assert ROOMS | {"team"} == set(re.findall(r"`(\w+)`", workbench.__doc__)), "that of teams may be removed"


def test_the_unit_tests_are_laid_out_as_the_package_is() -> None:
    here = Path(__file__).parent
    of_all = {"architecture", "package", "words"}
    assert {path.name for path in here.iterdir() if path.is_dir()} - {"__pycache__"} <= ROOMS
    assert {path.stem.removeprefix("test_") for path in here.glob("test_*.py")} - of_all <= ROOMS


def test_nothing_inside_imports_the_package_root() -> None:
    for path in (ROOT / "workbench").rglob("*.py"):
        assert not re.search(r"^\s*(from workbench import|import workbench$)", path.read_text(), re.MULTILINE), path


PUBLIC = {"_replace", "_fields", "_asdict", "_exit"}  # documented, in spite of their names


def test_no_private_name_of_another_library_is_used() -> None:
    trees = {path: ast.parse(path.read_text()) for path in (ROOT / "workbench").rglob("*.py")}
    ours = {name for tree in trees.values() for name in names_made_in(tree)} | PUBLIC
    assert not [(path.name, name) for path, tree in trees.items() for name in private_uses(tree) if name not in ours]


def names_made_in(tree: ast.AST) -> set[str]:
    """What a module gives a private name: functions, classes, variables, attributes of its own objects."""
    made = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                made.add(node.name)
            case ast.Name(ctx=ast.Store()):
                made.add(node.id)
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                made.add(node.attr)
    return made


def private_uses(tree: ast.AST) -> set[str]:
    """The private names that a module reads from other objects, or imports."""
    used = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute():
                used.add(node.attr)
            case ast.ImportFrom() if not (node.module or "").startswith("workbench"):
                used |= {*(node.module or "").split("."), *(alias.name for alias in node.names)}
            case ast.Import():
                used |= {part for alias in node.names for part in alias.name.split(".")}
    return {name for name in used if name.startswith("_") and not name.endswith("__")}


def test_every_module_is_under_600_lines() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in (ROOT / "workbench").rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length >= 600} == {}


def test_every_command_is_documented() -> None:
    text = resources.files("workbench.starter").joinpath("topics", "commands.md").read_text("utf-8")
    for name in _COMMANDS:
        assert re.search(rf"`(workbench )?{name}\b", text), name


def test_the_commands_name_every_topic_of_help() -> None:
    _, text = _COMMANDS["help"]
    assert re.findall(r"[\w-]+", text.partition(": ")[2]) == list(TOPICS)


def test_the_readme_leads_to_every_topic_and_to_the_contributors_texts() -> None:
    linked = set(re.findall(r"\]\(([\w/.-]+\.md)\)", (ROOT / "README.md").read_text()))
    assert all((ROOT / path).is_file() for path in linked)
    assert {f"workbench/starter/topics/{name}.md" for name in TOPICS} <= linked
    assert {"CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md"} <= linked


def test_every_exit_code_is_documented() -> None:
    text = resources.files("workbench.starter").joinpath("topics", "exit-codes.md").read_text("utf-8")
    listed = {
        int(code) for codes in re.findall(r"^    ([\d, ]+?) {2,}", text, re.MULTILINE) for code in codes.split(",")
    }
    assert listed == set(ExitCode)


def test_every_key_of_a_job_file_is_explained() -> None:
    text = "".join(
        file.read_text("utf-8")
        for file in resources.files("workbench.starter").joinpath("topics").iterdir()
        if file.is_file()
    )
    for table in (DatasetTable, PromptTable, RunTable, BudgetTable, ScheduleTable, FieldNames, *get_args(AnyScorer)):
        for key in table.__struct_fields__:
            assert re.search(rf"\b{key}\b", text), f"{table.__name__}.{key}"


def test_every_key_of_the_settings_is_explained() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "help", "settings"], capture_output=True, text=True, check=True
    )
    tables = msgspec.json.schema(Settings)["$defs"]
    assert len(tables) == done.stdout.count("\n## ")
    for table, described in tables.items():
        for key in described["properties"]:
            assert re.search(rf"^    {key} \(.*\)\n        \S", done.stdout, re.MULTILINE), f"{table}.{key}"


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_every_topic_is_there(topic: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "help", topic], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("# ")
    keys = re.findall(r"^    \w+ \(.+\)\n(?:        \S.*\n)+", done.stdout, re.MULTILINE)
    assert len(keys) == len(set(keys))  # what several tables have is explained once
    lists = done.stdout.partition("\n## Top level\n" if topic != "scorers" else "\n## Every table\n")[2]
    told = Counter(
        line for line in re.findall(r"^ {8}(\S.*)$", lists, re.MULTILINE) if not line.startswith("As under ")
    )
    assert [line for line, times in told.items() if times > 1] == []
    assert bool(lists) == (topic in ("jobs", "scorers", "settings"))


def test_topics_whose_keys_are_generated_say_so_in_the_repository_alone() -> None:
    for topic in ("jobs", "scorers", "settings"):
        pointer = f"`workbench help {topic}` lists every key"
        text = resources.files("workbench.starter").joinpath("topics", f"{topic}.md").read_text("utf-8")
        assert text.splitlines()[-1].startswith(pointer)
        done = subprocess.run(
            [sys.executable, "-m", "workbench", "help", topic], capture_output=True, text=True, check=True
        )
        assert pointer not in done.stdout


def test_a_table_that_has_all_keys_of_another_names_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "help", "jobs"], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("    every key of [request]\n") == 2
    assert done.stdout.count("frequency_penalty") == 1


def test_every_table_of_a_job_file_has_its_keys_in_help() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "help", "jobs"], capture_output=True, text=True, check=True
    )
    tables = [
        name
        for name in msgspec.json.schema(JobFile)["$defs"]
        if name not in {one.__name__ for one in get_args(AnyScorer)}
    ]
    assert len(tables) == done.stdout.count("\n## ")


def test_help_has_both_bounds_of_a_key() -> None:
    kinds = {key.name: key.kind for table in ("AllowanceSettings", "CapSettings") for key in keys_of(table, Settings)}
    assert kinds["warn_at"] == kinds["share"] == "number above 0, up to 1"
    assert kinds["price_per_unit"] == "number 0 to 1_000_000_000"
    assert (kinds["anchor_day"], kinds["requests"]) == ("whole number 1 to 31", "whole number from 1")


def test_a_topic_that_is_not_there_is_named() -> None:
    command = [sys.executable, "-m", "workbench", "help"]
    done = subprocess.run([*command, "job"], capture_output=True, text=True, check=False)
    assert (done.returncode, "did you mean 'jobs'?" in done.stderr) == (2, True)
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.split()[2] for line in listed.splitlines()] == list(TOPICS)


def test_the_readmes_job_is_understood() -> None:
    from workbench.job.job import parse_job

    readme = (ROOT / "README.md").read_text()
    text = readme.split("```toml\n")[1].split("```")[0]
    assert parse_job(text, ROOT / "jobs" / "readme.toml").name == "readme"
    tomllib.loads(text)


def test_nothing_lies_at_the_top_level_that_is_not_meant_to() -> None:
    """A job that is tried in the repository's own folder is committed with the next change otherwise."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    top = {name.partition("/")[0] for name in listed if name}
    assert {name for name in top if not name.startswith(".") and not name.endswith(".md")} == {
        "LICENSE", "constraints.txt", "datasets", "jobs", "notebooks", "pyproject.toml", "reports", "tests", "workbench",
    }  # fmt: skip


def test_every_sql_file_says_what_it_is_for() -> None:
    root = resources.files("workbench.ledger").joinpath("sql")
    for folder in ("queries", "views", "schema"):
        for file in root.joinpath(folder).iterdir():
            text = file.read_text("utf-8")
            assert text.startswith("-- "), file.name
            if folder == "queries":
                assert "-- Parameters:" in text, file.name


def test_what_follows_from_an_outcome_is_said_in_one_place() -> None:
    """No query lists outcomes by name, or reads what followed from one when it was recorded."""
    root = resources.files("workbench.ledger").joinpath("sql")
    for folder in ("queries", "views"):
        for file in root.joinpath(folder).iterdir():
            text = re.sub(r"--.*", "", file.read_text("utf-8"))
            assert not [name for name in Outcome if f"'{name}'" in text and name != "unknown"], (
                file.name
            )  # of a model too
            stored = re.search(r"\b(?:FROM|JOIN)\s+attempts\b", text) and file.name not in (
                "judged_attempts.sql",
                "ledger_state.sql",
            )
            assert not (stored and re.search(r"\b(?:outcome|accepted|rerun|scorable|drew)\b", text)), file.name
    for path in (ROOT / "workbench").rglob("*.py"):
        if path.name not in ("outcomes.py", "completion.py") and path.parent.name not in ("client", "local_platform"):
            assert not re.search(r"\bOutcome\.[A-Z]", path.read_text()), path


def test_the_ingest_reads_every_journal_column() -> None:
    text = ingest_text()
    unread = [name for name in journal_columns() if not re.search(rf"\b{name}\b", text)]
    assert not unread


@pytest.mark.parametrize("name", sorted(_COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command_line.main([name, "--help"], standalone_mode=False)
    assert "Usage:" in capsys.readouterr().out


def test_no_two_things_have_one_name() -> None:
    """Outside the embedded platform, which stands alone and speaks of the same things from its own side."""
    modules = [path for path in (ROOT / "workbench").rglob("*.py") if "local_platform" not in path.parts]
    names = [name for path in modules for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE)]
    assert [name for name in set(names) if names.count(name) > 1] == []


def test_every_function_is_under_60_lines() -> None:
    longest = {path.name: longest_function(path.read_text()) for path in (ROOT / "workbench").rglob("*.py")}
    assert {name: length for name, length in longest.items() if length >= 60} == {}
