"""The samples on which two sides differ, with what each side answered."""

import difflib
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from workbench.evaluation.comparison import Comparison
from workbench.evaluation.sides import Difference, Side
from workbench.ledger.queries import Reader, Row

MOST_CHARS = 4_000
"""Of an answer or a prompt; the whole is in the ledger."""
_MOST_WORDS = 600
_LEAST_ALIKE = 0.3  # below it the marks say nothing


class Piece(msgspec.Struct, frozen=True):
    """A stretch of an answer."""

    text: str
    differs: bool


class Said(msgspec.Struct, frozen=True):
    """What one side answered to a sample, in one epoch."""

    epoch: int
    pieces: list[Piece]
    value: float | None
    reason: str
    outcome: str


class Apart(msgspec.Struct, frozen=True):
    """One sample with the answers of both sides."""

    sample_id: str
    asked: str
    target: str
    baseline: list[Said]
    side: list[Said]


class SideBySide(msgspec.Struct, frozen=True):
    """The samples of one difference, the first of each kind."""

    difference: Difference
    worse: list[Apart]
    better: list[Apart]


def side_by_side(reader: Reader, comparison: Comparison, most: int) -> list[SideBySide]:
    """The answers to the samples on which sides differ.

    Args:
        reader: The ledger.
        comparison: Of it.
        most: How many samples of each kind and difference.
    """
    wanted = {key for one in comparison.differences for key in (*one.worse[:most], *one.better[:most])}
    run_ids = [run.run_id for run in comparison.runs]
    answers: dict[tuple[str, str, str], list[Row]] = {}
    asked = {"run_ids": run_ids, "sample_keys": sorted(wanted), "scorer": comparison.scorer, "most_chars": MOST_CHARS}
    for row in reader.rows("side_answers", **asked):
        answers.setdefault((row["run_id"], row["model"], row["sample_key"]), []).append(row)
    contents = {row["sample_key"]: row["sample"] for row in reader.rows("sample_texts", keys=sorted(wanted))}

    def apart(one: Difference, keys: Sequence[str]) -> list[Apart]:
        return [_apart(one, key, contents.get(key), answers, comparison.on_fallback) for key in keys[:most]]

    return [SideBySide(one, apart(one, one.worse), apart(one, one.better)) for one in comparison.differences]


def _apart(
    one: Difference, key: str, content: str | None, answers: dict[tuple[str, str, str], list[Row]], on_fallback: str
) -> Apart:
    here, there = _rows(one.side, key, answers), _rows(one.baseline, key, answers)
    sample: dict[str, Any] = msgspec.json.decode(content) if content else {}
    texts = {row["epoch"]: row["answer"] or "" for row in there}
    others = {row["epoch"]: row["answer"] or "" for row in here}
    return Apart(
        sample_id=here[0]["sample_id"] if here else key,
        asked=_text(sample.get("input")),
        target=_text(sample.get("target")),
        baseline=[_said(row, others.get(row["epoch"], ""), on_fallback) for row in there],
        side=[_said(row, texts.get(row["epoch"], ""), on_fallback) for row in here],
    )


def _rows(side: Side, key: str, answers: dict[tuple[str, str, str], list[Row]]) -> list[Row]:
    return answers.get((side.run_id, side.model, key), [])


def _said(row: Row, other: str, on_fallback: str) -> Said:
    pieces = marked(row["answer"] or "", other)
    if row["identity"] == "fallback" and on_fallback == "exclude":
        return Said(row["epoch"], pieces, None, f"left out: {row['served_model']} answered", row["outcome"])
    return Said(row["epoch"], pieces, row["value"], row["reason"] or "not scored", row["outcome"] or "no answer yet")


def marked(text: str, other: str) -> list[Piece]:
    """A text in pieces, the words marked that another does not have in that place; unmarked where little is alike."""
    words, others = _words(text), _words(other)
    if not words or not others or len(words) > _MOST_WORDS or len(others) > _MOST_WORDS:
        return [Piece(text, differs=False)]
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return [Piece(text, differs=False)]
    pieces = [
        Piece("".join(words[start:end]), differs=kind != "equal")
        for kind, start, end, _, _ in matcher.get_opcodes()
        if end > start
    ]
    return pieces


def _words(text: str) -> list[str]:
    return re.findall(r"\s+|\w+|[^\w\s]", text)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else msgspec.json.encode(value).decode()
    return text[:MOST_CHARS]
