"""Every text for people avoids the turns of phrase that newcomers stumbled over."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUMBLED_OVER = (
    r"\bmend", r"\bgone on with\b", r"\bgoes on with\b", r"\b[Gg]o on with\b", r"(?<![Tt]here )\bis no (?!longer\b|such\b|more\b)", r"\bno (?:TOML|JSON|UTF-8)\b",
    r"\btold of\b", r"\btells of\b", r"\bnobody\b", r"\bdearest\b", r"\bwhat came of\b", r"\bWhat needs you\b", r"\blet into flight\b",
    r"\bleft most open\b", r"\bmade up for\b", r"\bgives a line\b", r"\basks? again what\b", r"\bis there already\b",
    r"\bothers go on\b", r"\bmaybe drawn\b", r"\bof it thinking\b", r"\banew\b", r"\bby the clock\b", r"\bliving keys?\b", r"\b(?:became|came) of\b", r"\bstill goes on\b",
    r"\bto be said\b", r"\b[Pp]uts? down\b", r"\b(?:[Oo]ne|[Aa]) (?:flat )?(?:row|line|file|struct|module|column) an? (?!second)\w",
    r"(?m)^\s+\w+: (?:Which|Whose|The same|Of it|Of them|Of both)\.$",  # of an argument: its name says as much
)  # fmt: skip


def texts(source: str) -> Iterator[tuple[int, str]]:
    """The text literals of a module, its docstrings and its comments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def readable() -> Iterator[tuple[str, str]]:
    for path in (ROOT / "workbench").rglob("*.py"):
        for line, text in texts(path.read_text()):
            yield f"{path.relative_to(ROOT)}:{line}", text
    for path in (ROOT / "workbench" / "report" / "templates").iterdir():
        for line, text in enumerate(re.sub(r"\{[{%#].*?[}%#]\}", "", path.read_text()).splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{line}", text
    for path in (*ROOT.glob("*.md"), *(ROOT / "workbench" / "starter" / "topics").glob("*.md")):
        for line, text in enumerate(path.read_text().splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{line}", text


@pytest.fixture(scope="module")
def all_texts() -> list[tuple[str, str]]:
    return list(readable())


@pytest.mark.parametrize("pattern", STUMBLED_OVER)
def test_texts_for_people_are_plain(pattern: str, all_texts: list[tuple[str, str]]) -> None:
    assert [f"{place}: {text}" for place, text in all_texts if re.search(pattern, text)] == []
