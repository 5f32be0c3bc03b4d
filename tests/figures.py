"""Prints the figures by which the code's size and habits are watched, of this checkout or another one.

python -m tests.figures [FOLDER]
"""

import ast
import re
import sys
from pathlib import Path

from workbench.display.text import count

_COLUMN = re.compile(r"\w\[[\"'][a-z_0-9]+[\"']\]")
_ASKS_THE_TIME = re.compile(r"datetime\.now\(|time\.time\(\)|\.utcnow\(")
_KIND_OF_LEDGER = re.compile(r"\bteam is (?:not )?None|\baddress\.is_shared")
_COMMAND = re.compile(r"\bworkbench (?:[a-z]+ )?[a-z]+\b")
_ARGUMENT = re.compile(r"^ {8,12}\*{0,2}\w+: ([A-Z][^()\n]*\.)$", re.MULTILINE)
_BY_DICTIONARY = re.compile(r"reader\.(?:rows|row|stream)\(")


def figures(root: Path) -> dict[str, str]:
    """What there is of each, in words."""
    paths = sorted((root / "workbench").rglob("*.py"))
    texts = {path: path.read_text("utf-8") for path in paths}
    lengths = {path: len(text.splitlines()) for path, text in texts.items()}
    looked_up = {path: [line for line in text.splitlines() if _COLUMN.search(line)] for path, text in texts.items()}
    lines = [line for found in looked_up.values() for line in found]
    clocks = {path: len(_ASKS_THE_TIME.findall(text)) for path, text in texts.items()}
    outside = [text for path, text in texts.items() if path.relative_to(root / "workbench").parts[0] != "ledger"]
    queries = list((root / "workbench" / "ledger" / "sql" / "queries").glob("*.sql"))
    structs = sum(text.count("\n    query = ") for text in texts.values())
    return _house(root / "workbench", texts) | {
        "package": f"{count(sum(lengths.values()))} lines in {len(paths)} modules",
        "modules under 60 lines": str(sum(length < 60 for length in lengths.values())),
        "longest module": f"{max(lengths.values())} lines",
        "longest function": f"{max(map(longest_function, texts.values()))} lines",
        "look-ups by a string": f"{sum(len(_COLUMN.findall(line)) for line in lines)} on {len(lines)} lines",
        "queries with a struct": f"{structs} of {len(queries)}",
        "questions answered as dictionaries": str(sum(len(_BY_DICTIONARY.findall(text)) for text in outside)),
        "places that ask the time": f"{sum(clocks.values())} in {sum(map(bool, clocks.values()))} files",
        "tzinfo=UTC outside the ledger": str(sum(text.count("tzinfo=UTC") for text in outside)),
    }


def _house(package: Path, texts: dict[Path, str]) -> dict[str, str]:
    """The rooms, what ties them, and what is known in more than one of them."""
    arrows = arrows_between_rooms(package, texts)
    rooms = {path.name for path in package.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    loose = [path.stem for path in package.glob("*.py") if not path.stem.startswith("__")]
    asks = {path: len(_KIND_OF_LEDGER.findall(text)) for path, text in texts.items()}
    building = [path for path, text in texts.items() if any(map(_COMMAND.match, shell_words(text)))]
    headings = [path for path, text in texts.items() if re.search(r"(?<!class )\bColumn\(|print_table\(.*\{", text)]
    described = [text for module in texts.values() for text in _ARGUMENT.findall(module)]
    logging = [text for text in texts.values() if "logging.getLogger" in text]
    return {
        "rooms, loose modules": f"{len(rooms)}, {len(loose)}",
        "arrows between them, floors": f"{len(arrows)}, {floors(arrows)}",
        "the kind of the ledger as an if": f"{sum(asks.values())} in {sum(map(bool, asks.values()))} files",
        "rooms that import PostgreSQL's client": str(
            len(
                {
                    _room(package, path)
                    for path, text in texts.items()
                    if re.search(r"^import psycopg", text, re.MULTILINE)
                }
            )
        ),
        "modules that build a command": str(len(building)),
        "modules with headings of columns": str(len(headings)),
        "arguments described in two words": f"{sum(len(text.split()) < 3 for text in described)} of {len(described)}",
        "modules with a logger": str(len(logging)),
    }


def _room(package: Path, path: Path) -> str:
    inside = path.relative_to(package)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def arrows_between_rooms(package: Path, texts: dict[Path, str]) -> set[tuple[str, str]]:
    """Which room, or module beside them, imports which other one; that of the ledger's address into a team's aside."""
    found = set()
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            found |= {(_room(package, path), name.split(".")[1]) for name in modules if name.startswith("workbench.")}
    return {(one, other) for one, other in found if one != other and not one.startswith("__")}


def floors(arrows: set[tuple[str, str]]) -> int:
    """How many floors a house has in which each room stands above all that it imports."""
    rooms = {room for arrow in arrows for room in arrow}
    heights = dict.fromkeys(rooms, 1)
    for _ in rooms:
        for one, other in arrows:
            if (one, other) != ("ledger", "team"):
                heights[one] = max(heights[one], heights[other] + 1)
    return max(heights.values(), default=0)


def shell_words(text: str) -> list[str]:
    """What of a module's strings begins as a command would, docstrings aside; a list of words is one."""
    tree = ast.parse(text)
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found = [
        part
        for node in strings
        if id(node) not in described
        for part in re.findall(r"workbench [a-z].*", str(node.value))
    ]
    lists = [node for node in ast.walk(tree) if isinstance(node, ast.List) and node.elts]
    firsts = [node.elts[0] for node in lists]
    return found + ["workbench word" for node in firsts if isinstance(node, ast.Constant) and node.value == "workbench"]


def longest_function(text: str) -> int:
    """The lines of the longest function in a module's text."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return max(((node.end_lineno or 0) - node.lineno + 1 for node in functions), default=0)


def main() -> None:
    """Print them, a line each."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    found = figures(root)
    width = max(map(len, found))
    for name, told in found.items():
        print(f"{name:<{width}}  {told}")


if __name__ == "__main__":
    main()
