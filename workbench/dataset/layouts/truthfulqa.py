"""TruthfulQA, as a table of answers or as multiple choice."""

from typing import Any

from workbench.dataset.layouts.layout import Layout, Row, always, mixed, refused, without
from workbench.dataset.layouts.options import option_text


def _recognises(row: Row) -> bool:
    return ("mc1_targets" in row and "question" in row) or {
        "Question",
        "Best Answer",
        "Incorrect Answers",
    } <= row.keys()


def _read(place: str, row: Row) -> Row:
    if "Question" in row:
        question = row["Question"]
        right = option_text(f"{place}: Best Answer", row["Best Answer"])
        wrong = [text.strip() for text in row["Incorrect Answers"].split(";") if text.strip()]
        return row | {"input": question, "choices": mixed([right], wrong, question), "target": right}
    question, marks = str(row["question"]), _marks(place, row["mc1_targets"])
    right_ones = [text for text, mark in marks.items() if mark == 1]
    options = mixed(right_ones, [text for text, mark in marks.items() if mark != 1], question)
    return without(row, "mc0_targets", "mc1_targets", "mc2_targets") | {
        "input": question, "choices": options, "target": right_ones,
    }  # fmt: skip


def _marks(place: str, options: Any) -> dict[str, int]:
    """Each option with 1 where it is right: an object of those, or one of two lists."""
    if isinstance(options, dict) and options.keys() == {"choices", "labels"}:
        return dict(zip(options["choices"], options["labels"], strict=True))
    if not isinstance(options, dict) or 1 not in options.values():
        raise refused(f"{place}: mc1_targets", "expected an object of options, the right one with 1")
    return options


LAYOUT = Layout(
    "truthfulqa", "TruthfulQA", _recognises, always(_read),
    "`question` with `mc1_targets`, or `Question`, `Best Answer` and `Incorrect Answers`",
    "scored by choice; the options are in an order that does not tell the right one, and the template shows them",
)  # fmt: skip
