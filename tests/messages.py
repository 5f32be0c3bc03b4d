"""The table of what commands say when they cannot do what was asked: `messages.txt`, made by running the cases.

`pytest tests/end_to_end/test_messages.py tests/end_to_end/test_wrong_input.py -m "(slow or not slow) and not team" -n 0 --write-messages` writes it again.
"""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.conftest import Workbench

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_name("messages.txt")
_HEAD = re.compile(r"^(.+?) · (workbench .*) · exit (\d+)$")
_BESIDE = ("note: ", "Usage: ", "Try '", "configuration: ")
_CHANGING = (
    (r"(?<=127\.0\.0\.1:)\d+|(?<=--port )\d+", "PORT"),
    (r"localhost-\d+-\w{8}", "ENDPOINT"),
    (r"\d{8}T\d{6}-[0-9a-f]{6}", "RUN"),
    (r"(?<=in process )\d+", "PID"),
    (r"\d{15,}", "NUMBER"),
)


class Message(NamedTuple):
    """What a command said."""

    case: str
    command: str
    exit_code: int
    text: str
    """Its errors, without what differs from one machine or moment to another."""

    def __str__(self) -> str:
        lines = "".join(f"    {line}\n" for line in self.text.splitlines())
        return f"{self.case} · workbench {self.command} · exit {self.exit_code}\n{lines}"


def table() -> dict[str, Message]:
    """The table, by case."""
    found: dict[str, Message] = {}
    for block in filter(None, TABLE.read_text("utf-8").split("\n\n")):
        head, *lines = block.strip("\n").split("\n")
        match = _HEAD.fullmatch(head)
        assert match, head
        text = "\n".join(line[4:] for line in lines)
        found[match[1]] = Message(match[1], match[2].removeprefix("workbench").strip(), int(match[3]), text)
    return found


def check(case: str, bench: Workbench, done: subprocess.CompletedProcess[str], *, writing: bool) -> None:
    """Compare what a finished command said with the table, or write it there."""
    message = _said(case, bench, done)
    if writing:
        _write(message)
    assert message == table().get(case)


def _said(case: str, bench: Workbench, done: subprocess.CompletedProcess[str]) -> Message:
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith(_BESIDE)]
    command = " ".join(word if re.fullmatch(r"\S+", word) else repr(word) for word in done.args[1:])
    text, command = _settled("\n".join(lines), bench), _settled(command, bench)
    return Message(case, command, done.returncode, text)


def _settled(text: str, bench: Workbench) -> str:
    text = text.replace(str(bench.folder), "FOLDER")
    for pattern, name in _CHANGING:
        text = re.sub(pattern, name, text)
    return text


def _write(message: Message) -> None:
    """Put one message into the table, in the place that it has or at the end."""
    known = table()
    known[message.case] = message
    TABLE.write_text("\n".join(map(str, known.values())), "utf-8")


class Grade(NamedTuple):
    """What a message gives to whoever reads it."""

    place: bool
    """Each fault names the line and the field of a file, or what was typed: an option, an argument, a variable, an address."""
    is_whole_file: bool
    """One of a file names no line; right where the fault is of the file as a whole."""
    remedy: bool
    """It says what was expected, what is the nearest right thing, or what to do."""
    paste: bool
    """It has what can be pasted: a command, an option, or text for the file."""


_FILE = re.compile(r"(?:FOLDER/)?[\w./-]*\.(?:toml|yaml|jsonl?|csv|xlsx|parquet|eval|gz|xz|zip|env)(?=:)")
_ROW = re.compile(r":\d+: |: (?:element|row|sample) \S+: |: sheet '.*', row \d+: ")
_FIELD = re.compile(r":\d+: (?:[\w.\[\]⏎-]+: |not valid TOML: |expected NAME=VALUE)")
_TYPED = re.compile(
    r"(?:--?[a-z]|[A-Z][A-Z_]+\b|crontab|slots|schedule|\.: |\S+\.sqlite\b|http://|job '|Got unexpected extra argument)"
    r"|.*(?:\s--[a-z]|[A-Z]+_[A-Z]+|FOLDER|server at |on 127)"
)
_REMEDY = re.compile(
    "|".join(
        (
            "did you mean|expected|such as|for example|is meant",
            r"\(.+\)\.?$",  # as hints are printed
            "`",
            r"\b(?:add|copy|give|leave|must|name|needs?|only|put|remove|say|set|upgrade|use|wait|write)\b",
            r"\b(?:at least|at most|columns are|it has|letters|up to|workbench)\b",
        )
    )
)
_PASTE = re.compile(r"`|--?[a-z]+\b|\w+ = |\{[{%]|\w+_\w+=|[A-Z]+_[A-Z]+|\[\[|workbench \w+|did you mean '|\(\w+ -")


def grade(message: Message) -> Grade:
    """Return what a message has; of several faults all name their places."""
    words = (word.strip("'\"") for word in message.command.split())
    # quoted where it is a plain word: "run" is one of many messages
    typed = [repr(word) if word.isalpha() else word for word in words if word.isalpha() or len(word) > 1]
    names, whole = list[bool](), list[bool]()
    for fault in (line.partition(": ")[2] for line in message.text.splitlines()):
        if file := _FILE.match(fault):
            rest = fault[file.end() :]
            whole.append(not _ROW.match(rest))
            names.append(whole[-1] or not _is_ours(file[0]) or bool(_FIELD.match(rest)))
        else:
            names.append(bool(_TYPED.match(fault)) or any(word in fault for word in typed))
    return Grade(all(names), any(whole), bool(_REMEDY.search(message.text)), bool(_PASTE.search(message.text)))


def _is_ours(file: str) -> bool:
    """Return whether a file is one that the workbench defines: its faults are of fields, those of a dataset perhaps of a row."""
    return file.endswith((".toml", ".yaml", ".env"))


class Site(NamedTuple):
    """A place in the program that makes a message, and what of the message does not depend on values."""

    place: str
    pattern: str


_MAKERS = {
    "Fault",
    "Problem",
    "Contradiction",
    "UsageError",
    "BadParameter",
    "ConfigError",
    "StateError",
    "UnknownKeyError",
}
_ENDINGS = {"WorkbenchError", "KeyRejectedError", "UnreachableError", "LockHeldError", "LedgerBusyError"}


def sites() -> Iterator[Site]:
    """Every error message of the program."""
    for path in sorted((ROOT / "workbench").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _sites_in(function, str(path.relative_to(ROOT / "workbench")))


def _sites_in(function: ast.FunctionDef | ast.AsyncFunctionDef, file: str) -> Iterator[Site]:
    texts: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            texts.setdefault(node.targets[0].id, []).append(node.value)
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _last_name(node.func) in _MAKERS | _ENDINGS:
            words = node.args[1:2] if _last_name(node.func) in ("Fault", "Problem", "Contradiction") else node.args[:1]
            for word in words:
                for text in texts.get(word.id, []) if isinstance(word, ast.Name) else [word]:
                    pattern = _pattern(text)
                    if re.search(r"[a-z]{3}", pattern):
                        yield Site(f"{file}: {function.name}", pattern)


def _last_name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _pattern(text: ast.expr) -> str:
    match text:
        case ast.Constant(value=str(words)):
            return re.escape(words)
        case ast.JoinedStr(values=parts):
            return "".join(map(_pattern, parts))
        case ast.IfExp(body=one, orelse=other):
            return f"(?:{_pattern(one)}|{_pattern(other)})"
        case _:
            return r"[\s\S]*"
