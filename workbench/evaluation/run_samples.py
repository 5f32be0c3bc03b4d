"""A run's samples whole, however long their texts are: a window of them in memory at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from workbench.ledger.queries import LedgerMemoryError, Reader, Row

_WINDOW = 500
_TEXTS = ("answer", "reasoning", "raw", "error_text", "tool_calls", "body")


def run_samples(reader: Reader, run_id: str, most: int) -> Iterator[Row]:
    """`run_samples` rows with the texts of `call_texts`, `sample_texts` and `body_texts`, in the order of the run.

    `attempted` has the `run_attempts` of those that were sent more than once.

    Args:
        reader: Of the ledger.
        run_id: Whose.
        most: How many.
    """
    lines = reader.stream("run_samples", run_id=run_id, most=most)
    while window := list(islice(lines, _WINDOW)):
        yield from _whole(reader, window)


def _whole(reader: Reader, window: list[Row]) -> Iterator[Row]:
    """The window's rows with their texts; by halves where they are too long to be read at once."""
    try:
        rows = _with_texts(reader, window)
    except LedgerMemoryError:
        if len(window) == 1:
            raise
        middle = len(window) // 2
        yield from _whole(reader, window[:middle])
        yield from _whole(reader, window[middle:])
    else:
        yield from rows


def _with_texts(reader: Reader, window: list[Row]) -> list[Row]:
    several = [row["request_key"] for row in window if row["attempts"] > 1]
    attempts: dict[str, list[Row]] = {}
    for row in reader.rows("run_attempts", run_id=window[0]["run_id"], request_keys=several) if several else ():
        attempts.setdefault(row["request_key"], []).append(row)
    calls: dict[str, list[int]] = {}
    for row in window:
        calls.setdefault(row["answer_run_id"], []).append(row["answer_call_no"])
    said: dict[tuple[str, int], Row] = {}
    for run_id, numbers in calls.items():
        bounds = {"first_call_no": min(numbers), "last_call_no": max(numbers), "call_nos": sorted(set(numbers))}
        for row in reader.rows("call_texts", run_id=run_id, **bounds):
            said[run_id, row["call_no"]] = row
    samples = _by_key(reader, "sample", (row["sample_key"] for row in window))
    bodies = _by_key(reader, "body", (row["body_key"] for row in said.values()))
    found = []
    for row in window:
        texts: dict[str, Any] = said[row["answer_run_id"], row["answer_call_no"]]
        whole = texts | {"body": bodies.get(texts["body_key"])}
        more = {"sample": samples.get(row["sample_key"]), "attempted": attempts.get(row["request_key"], [])}
        found.append(row | {name: whole[name] for name in _TEXTS} | more)
    return found


def _by_key(reader: Reader, what: str, keys: Iterable[str | None]) -> dict[str, str]:
    wanted = sorted({key for key in keys if key is not None})
    return {row[f"{what}_key"]: row[what] for row in reader.rows(f"{what}_texts", keys=wanted)}
