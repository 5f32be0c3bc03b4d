"""GSM8K: a worked solution whose last line is `#### N`."""

from workbench.dataset.layouts.layout import Layout, Row, always


def _recognises(row: Row) -> bool:
    return isinstance(row.get("question"), str) and "#### " in str(row.get("answer"))


def _read(_: str, row: Row) -> Row:
    solution = str(row.get("answer") or "")
    result = solution.rpartition("####")[2].strip().replace(",", "") if "####" in solution else None
    return row | {"input": row.get("question"), "target": result}


LAYOUT = Layout("gsm8k", "GSM8K", _recognises, always(_read), "scored by numeric")
