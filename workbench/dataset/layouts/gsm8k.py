"""GSM8K: a worked solution whose last line is `#### N`."""

import re
from typing import Any

from workbench.dataset.layouts.layout import Layout, Row, always

_RESULT = re.compile(r"(?:\A|\n)#### *([-+]?\$?(?=[.\d])[\d,]*(?:\.\d+)?)\s*\Z")


def _recognises(row: Row) -> bool:
    # a `####` elsewhere is a heading of Markdown, and a row with a target says itself what is right
    return "target" not in row and isinstance(row.get("question"), str) and _result(row.get("answer")) is not None


def _read(_: str, row: Row) -> Row:
    answer = row.get("answer")
    result = _result(answer)
    return row | {"input": row["question"], "target": answer if result is None else result}


def _result(answer: Any) -> str | None:
    """The number in the last line of a solution."""
    found = _RESULT.search(answer) if isinstance(answer, str) else None
    return found[1].replace(",", "") if found else None


LAYOUT = Layout(
    "gsm8k",
    "GSM8K",
    _recognises,
    always(_read),
    "`question` and `answer`, whose last line is `#### N`",
    "scored by numeric",
)
