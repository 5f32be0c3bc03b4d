"""The commands that messages ask for exist, with the options that they name, and stand in one module."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

import workbench.display.commands as commands
from workbench.cli.main import workbench
from workbench.display.commands import MADE_IN_PYTHON
from workbench.job.job import Part
from workbench.ledger.rows import Provenance
from workbench.wording.routes import unconfirmed_text
from workbench.wording.runs import resends_text, resume_text

PACKAGE = Path(commands.__file__).parents[1]
NAMED = {name: value for name, value in vars(commands).items() if name.isupper() and str(value).count("workbench ")}
MADE = {
    "resume": commands.resume("jobs/a.toml", ["--local"], "2026-11-22"),
    "resume a run": commands.resume("jobs/a.toml", ["--ledger", "l.duckdb"], run_id="r1"),
    "fill": commands.fill(
        "my marks.xlsx", "jobs/a.toml", ["--sheet", "One", "--variant", "v", "--out", "x.xlsx", "--local"]
    ),
    "confirm a name": commands.confirm_name("-m", "a b", "l.duckdb"),
    "accept": commands.accept_changes("-nightly", "l.duckdb"),
    "reopen": commands.take_back_acceptance("nightly", "Quill 32B", ["--ledger", "l.duckdb"]),
    "corrected targets": commands.corrected_targets("jobs/a.toml", "l.duckdb"),
    "corrected targets of a job made in Python": commands.corrected_targets(f"/work/sums {MADE_IN_PYTHON}"),
    "create a key": commands.create_key("ada"),
    "create a ledger": commands.create_ledger("postgresql://host/team"),
}


def began(**other: Any) -> Provenance:
    known = {
        "run_id": "r1", "job": "sums", "job_path": "/my jobs/sums.toml", "generation": "base", "identity": "local",
        "endpoint": "local", "tags": {}, **other,
    }  # fmt: skip
    return Provenance(**(dict.fromkeys(Provenance.__struct_fields__) | known))  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [*NAMED.values(), *MADE.values()])
def test_the_command_line_has_it(asked: str) -> None:
    _, _, words = asked.removeprefix('eval "$(').removesuffix(')"').partition("workbench ")
    context, rest = click.Context(workbench), shlex.split(words.partition(" >")[0])
    while rest and isinstance(context.command, click.Group) and rest[0] in context.command.list_commands(context):
        found = context.command.get_command(context, rest.pop(0))
        assert found is not None
        context = click.Context(found, parent=context)
    assert context.command is not workbench, f"there is no command {words!r}"
    known = {name for option in context.command.params for name in option.opts}
    options = rest[: rest.index("--")] if "--" in rest else rest
    assert {word for word in options if word.startswith("--")} <= known


def test_no_other_module_spells_a_command() -> None:
    names = "|".join(workbench.list_commands(click.Context(workbench)))
    command = re.compile(rf"\bworkbench ({names})\b")
    elsewhere = [
        f"{path.relative_to(PACKAGE)}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "commands.py"
        and path.relative_to(PACKAGE).parts[0] != "local_platform"  # it imports nothing of ours
        for text in texts(ast.parse(path.read_text("utf-8")))
        if command.search(text) and not text.startswith("# ")  # what marks the lines of a timer
    ]
    assert elsewhere == []


def texts(tree: ast.AST) -> Iterator[str]:
    """The strings of a module that are not docstrings."""
    described = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.value


@pytest.mark.parametrize(
    ("run", "options"),
    [
        (began(), ["--local", "--ledger", "/l.duckdb"]),
        (began(endpoint="http://127.0.0.1:8080"), ["--base-url", "http://127.0.0.1:8080", "--ledger", "/l.duckdb"]),
        (began(generation="r0"), ["--local", "--ledger", "/l.duckdb", "--resume", "r1"]),
        (
            began(generation="sums@2026-11-22", occasion="2026-11-22"),
            ["--local", "--ledger", "/l.duckdb", "--occasion", "2026-11-22"],
        ),
    ],
)
def test_what_the_ledger_knows_is_enough_to_resume_a_run(run: Provenance, options: list[str]) -> None:
    assert shlex.split(resume_text(run, "/l.duckdb")) == [
        "workbench",
        "run",
        "/my jobs/sums.toml",
        *options,
    ]


def test_a_job_without_a_file_is_resumed_from_python() -> None:
    found = resume_text(began(job_path=f"/work/sums {MADE_IN_PYTHON}"), "/l.duckdb")
    assert found == "the same call, in Python or by `workbench ask MODEL TEXT`: its job 'sums' has no file"


def test_the_run_of_a_judge_is_continued_by_scoring_again() -> None:
    judged = began(job_path=f"/work/sums judged by judge {MADE_IN_PYTHON}", tags={"judge": "judge", "judged_run": "r0"})
    found = resume_text(judged, "/l.duckdb")
    assert shlex.split(found) == ["workbench", "score", "r0", "--yes", "--local", "--ledger", "/l.duckdb"]


def test_a_probe_is_continued_by_probing_again() -> None:
    """Neither a question of one's own nor a call in Python repeats it, and it asks everything again."""
    probe = began(job_path=f"/work/probe {MADE_IN_PYTHON}", tags={"probe": "1"})
    assert shlex.split(resume_text(probe, "/l.duckdb")) == ["workbench", "probe", "--local", "--ledger", "/l.duckdb"]
    assert resends_text(probe, is_complete=False) == "it asks every visible route again."


def test_what_a_continuation_sends_is_said_of_commands_only() -> None:
    assert resends_text(began(), is_complete=True) == "it sends nothing twice."
    assert resends_text(began(), is_complete=False) == "it sends only what is missing."
    assert not resends_text(began(job_path=f"/work/ask {MADE_IN_PYTHON}"), is_complete=True)


def test_a_run_that_fills_a_sheet_is_continued_by_filling_it() -> None:
    part = msgspec.json.encode(Part(2, ("m",))).decode()
    tags = {"filled": "a.xlsx", "filled_sheet": "One", "filled_to": "/my/b.xlsx"}
    filled = began(tags=tags, dataset_paths="/my/a.xlsx", part=part, variants=["v"])
    words = ["--sheet", "One", "--out", "/my/b.xlsx", "--variant", "v", "--model", "m", "--limit", "2"]
    words += ["--local", "--ledger", "/l.duckdb"]
    found = resume_text(filled, "/l.duckdb")
    assert shlex.split(found) == ["workbench", "fill", *words, "--job", "/my jobs/sums.toml", "/my/a.xlsx"]


def test_a_run_of_a_part_says_that_the_command_is_of_the_whole() -> None:
    found = resume_text(began(narrowed="the first 2 samples"), "/l.duckdb")
    assert found.endswith("  # the whole job; this run was narrowed to the first 2 samples")
    assert shlex.split(found, comments=True) == shlex.split(resume_text(began(), "/l.duckdb"))


def test_a_run_of_a_part_is_continued_with_its_options() -> None:
    part = msgspec.json.encode(Part(2, ("a model",), 4)).decode()
    found = resume_text(
        began(narrowed="the first 2 samples, only a model, at most 4 in flight", part=part), "/l.duckdb"
    )
    assert {"--limit", "2", "--model", "a model", "--max-in-flight", "4"} <= set(shlex.split(found))
    own = resume_text(began(narrowed="the first 2 samples", part=part, generation="r1"), "/l.duckdb")
    assert "--limit" not in own, "--resume asks the same part"
    assert "#" not in found + own


def test_a_command_about_a_ledger_names_it() -> None:
    found = commands.on_ledger("/my data/l.duckdb", "compare", "r1", "r2")
    assert shlex.split(found) == ["workbench", "compare", "r1", "r2", "--ledger", "/my data/l.duckdb"]


def test_an_occasion_needs_no_run_to_resume() -> None:
    resumed = commands.resume("a.toml", [], occasion="2026-11-22", run_id="r1")
    assert resumed == "workbench run a.toml --occasion 2026-11-22"


def test_a_name_is_confirmed_on_the_ledger_that_has_it() -> None:
    found = unconfirmed_text("m", "s", "the name on 2 of 3 answers", "l.duckdb")
    assert "confirm it: workbench routes confirm --ledger l.duckdb m s" in found


def test_names_with_a_dash_are_no_options() -> None:
    assert MADE["confirm a name"] == "workbench routes confirm --ledger l.duckdb -- -m 'a b'"
    assert MADE["accept"] == "workbench accept --reason TEXT --ledger l.duckdb -- -nightly"
