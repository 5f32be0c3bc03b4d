"""A column is declared once, and its heading is the same wherever it is shown, but for words of the terminal."""

import ast
import re
from pathlib import Path

import pytest

import workbench.display.columns
from tests.conftest import Workbench
from tests.pages import Page
from workbench.display.columns import DECLARED, Column, column, columns
from workbench.ledger import answer_rows, job_rows, route_rows, rows, run_rows, score_rows, usage_rows
from workbench.ledger.rows import QueryRow

PACKAGE = Path(workbench.display.columns.__file__).parents[1]
QUERIES = {
    field
    for module in (answer_rows, job_rows, route_rows, rows, run_rows, score_rows, usage_rows)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, QueryRow)
    for field in kind.__struct_fields__
}
MADE = {
    "usual_name", "names", "tools", "thinks", "reports_usage", "keeps_cap", "cap",  # of a route's probes and names
    "changed", "of_asked", "interval", "unread", "mean_of_scored", "scores", "difference", "verdict", "tokens_an_answer",
    "behind", "unscored", "since", "what", "before", "after", "source", "worst", "how_bad",  # of pages' own tables
    "main_effect", "over", "tokens_per_right", "best", "best_model", "worst_model",
    "affordable", "occasions", "each", "needs", "next_at", "read_at", "in_a_row", "failed_trials",
    "verdict_here", "verdict_there",
}  # fmt: skip
"""What is made of rows: no query has a column of that name."""


def test_a_declared_column_is_one_of_a_query_or_made_of_rows() -> None:
    assert set(DECLARED) - QUERIES <= MADE


def test_columns_are_declared_in_one_module() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.name != "columns.py":
            calls = (node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))
            assert not [one for one in calls if isinstance(one, ast.Name) and one.id == "Column"], path


def test_a_table_may_give_a_column_another_heading() -> None:
    shown = columns(
        "p90_ms", column("p90_ms", "slow"), column("p90_ms", "nine of ten", word="slow"), column("busy_until")
    )
    assert [(one.name, one.heading, one.head, one.kind) for one in shown] == [
        ("p90_ms", "90 % within", "p90", "ms"), ("p90_ms", "slow", "slow", "ms"), ("p90_ms", "nine of ten", "slow", "ms"),
        ("busy_until", "busy until", "busy until", "plain"),
    ]  # fmt: skip


def heads_of(path: Path) -> set[str]:
    """The heads of a module's tables, as far as they stand there: a scorer's name, for one, does not."""
    found: set[str] = set()
    tree = ast.parse(path.read_text("utf-8"))
    named = {
        target.id: node.value.elts
        for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        if call.func.id == "columns":
            words = list(call.args)
            for each in (one.value for one in call.args if isinstance(one, ast.Starred)):
                words += named.get(getattr(each.value if isinstance(each, ast.Subscript) else each, "id", ""), [])
            found |= {column(str(one.value)).head for one in words if isinstance(one, ast.Constant)}
        elif call.func.id == "column":
            given = dict(zip(("name", "heading", "kind", "description", "word"), call.args, strict=False))
            given |= {str(name.arg): name.value for name in call.keywords}
            told = {name: str(one.value) for name, one in given.items() if isinstance(one, ast.Constant)}
            if given.keys() - told.keys() <= {"description"}:
                found.add(column(**told).head)
    return found


def test_every_head_on_the_terminal_is_one_word_of_the_glossary() -> None:
    modules = [
        *PACKAGE.joinpath("cli").glob("*.py"),
        *(PACKAGE / "wording" / name for name in ("agreements.py", "allowance.py")),
    ]
    heads = set().union(*map(heads_of, modules))
    assert {"mean", "not-right", "tokens/right", "p90", "until", "streak"} <= heads
    assert [head for head in heads if " " in head] == []
    text = PACKAGE.joinpath("starter", "topics", "glossary.md").read_text("utf-8").partition("## Heads of tables")[2]
    told = re.findall(r"^ {4}(\S.*?)(?: {2,}.*)?$", text, re.MULTILINE)
    words = {word for line in told for word in line.split(", ")}
    assert heads - words == {"model"}, "which stands above, among the words"
    assert words <= heads


@pytest.mark.parametrize(
    ("kind", "value", "text", "unit"),
    [
        ("count", 1234, "1 234", ""), ("amount", 28_812, "28.8 k", ""), ("ms", 1800.0, "1.80 s", "ms"),
        ("seconds", 125.0, "2 m 05 s", "s"), ("share", 0.25, "25 %", ""), ("number", 0.8979, "0.898", ""),
    ],
)  # fmt: skip
def test_a_figure_is_shown_by_its_kind(kind: str, value: float, text: str, unit: str) -> None:
    one = Column("x", "x", kind)
    assert (one.shown(value).replace("\u202f", " "), one.unit) == (text, unit)


def test_the_terminal_and_the_page_have_the_same_headings(bench: Workbench) -> None:
    from tests.conftest import job, sums

    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    page = Page(bench.json("run", "job.toml")["report"])
    printed = bench("show").stdout
    for name in ("prompt_tokens", "completion_tokens", "calls_without_usage", "of_asked", "asked"):
        assert DECLARED[name].head in printed, name
        assert DECLARED[name].heading in page.text, name
