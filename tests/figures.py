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
    return {
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
