"""Common layouts of public hubs: questions with their options and answers under usual names."""

import re
from typing import Any, NamedTuple

from workbench.dataset.layouts.layout import Layout, Row, always, mixed, refused

_BOXED = r"\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"


class _Columns(NamedTuple):
    """Which columns make a sample."""

    asked: tuple[str, ...]
    """Joined by blank lines; the ones that are empty left out."""
    target: str | None
    options: str | tuple[str, ...] | None = None
    optional: tuple[str, ...] = ()
    """Put between the first and the others where they are there."""


# The first whose columns are all there; after the name of a project that has it.
_KNOWN: tuple[_Columns, ...] = (
    _Columns(("question",), "answerKey", "choices"),  # ARC, CommonsenseQA, OpenBookQA (question_stem)
    _Columns(("question_stem",), "answerKey", "choices"),
    _Columns(("question",), "answer", "choices"),  # MMLU
    _Columns(("question",), "answer", "options"),  # MMLU-Pro, MedQA
    _Columns(("article", "question"), "answer", "options"),  # RACE
    _Columns(
        ("Question",), "Correct Answer", ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
    ),  # GPQA
    _Columns(("question",), "correct_answer", ("distractor1", "distractor2", "distractor3")),  # SciQ
    _Columns(("ctx",), "label", "endings"),  # HellaSwag
    _Columns(("goal",), "label", ("sol1", "sol2")),  # PIQA
    _Columns(("sentence",), "answer", ("option1", "option2")),  # WinoGrande
    _Columns(("context", "question"), "answers"),  # SQuAD
    _Columns(("passage", "question"), "answer"),  # BoolQ, DROP
    _Columns(("instruction",), "output", optional=("input",)),  # Alpaca
    _Columns(("instruction",), "response", optional=("context",)),  # Dolly
    _Columns(("problem",), "answer"),  # MATH-500, AIME
    _Columns(("problem",), "solution"),  # MATH
    _Columns(("question",), "answer_matching_behavior"),  # model-written evaluations
    _Columns(("question",), "answer", optional=("context",)),  # TriviaQA and many
    _Columns(("question",), "answers"),
    _Columns(("question",), "best_answer"),
    _Columns(("question",), "correct_answer"),
    _Columns(("question",), "ground_truth"),
    _Columns(("prompt",), "completion"),
    _Columns(("prompt",), "response"),
    _Columns(("prompt",), "chosen"),
)


def _columns_of(row: Row) -> _Columns | None:
    def has(columns: _Columns) -> bool:
        options = columns.options if isinstance(columns.options, tuple) else (columns.options,)
        return all(name in row for name in (*columns.asked, columns.target, *options) if name is not None)

    if "target" in row or ("input" in row and "instruction" not in row):
        return None
    return next(filter(has, _KNOWN), None)


def _read(place: str, row: Row) -> Row:
    columns = _columns_of(row)
    if columns is None:
        raise refused(place, f"other columns than the first row: {', '.join(row)}")
    first, *rest = columns.asked
    parts = [row.get(name) for name in (first, *columns.optional, *rest)]
    asked = "\n\n".join(str(part) for part in parts if part not in (None, ""))
    given = row.get(columns.target) if columns.target else None
    found = row | {"input": asked, "target": _target(columns, given)}
    if columns.options is not None:
        found |= _choices(place, columns, row, given, asked)
    return found


def _target(columns: _Columns, given: Any) -> Any:
    if isinstance(given, dict):  # TriviaQA has aliases, SQuAD texts with places
        value, aliases = given.get("value"), given.get("aliases")
        texts = given.get("text") if isinstance(given.get("text"), list) else [value, *(aliases or ())]
        return list(dict.fromkeys(text for text in texts or () if text is not None)) or None
    if columns.target == "solution" and (boxed := re.findall(_BOXED, str(given))):
        return boxed[-1]
    return given.strip() if isinstance(given, str) else given


def _choices(place: str, columns: _Columns, row: Row, given: Any, asked: str) -> Row:
    """The options, and which of them is right."""
    if isinstance(columns.options, tuple):
        texts = [str(row[name]) for name in columns.options]
        if columns.target in ("Correct Answer", "correct_answer"):
            return {"choices": mixed([str(given)], texts, asked), "target": str(given)}
        labels = ["1", "2"] if columns.target == "answer" else ["0", "1"]
    else:
        texts, labels = _labelled(place, row[columns.options or ""])
    if str(given) in labels:
        return {"choices": texts, "target": texts[labels.index(str(given))]}
    is_number = type(given) is int or (isinstance(given, str) and given.isdecimal() and given not in texts)
    if is_number and int(given) < len(texts):  # as datasets count options, from 0
        return {"choices": texts, "target": texts[int(given)]}
    return {"choices": texts, "target": given}


def _labelled(place: str, options: Any) -> tuple[list[str], list[str]]:
    """The options and their labels: a list, an object of those, or an object of two lists."""
    if isinstance(options, dict) and isinstance(options.get("text"), list) and isinstance(options.get("label"), list):
        return [str(text) for text in options["text"]], [str(label) for label in options["label"]]
    if isinstance(options, dict):
        return [str(text) for text in options.values()], [str(label) for label in options]
    if isinstance(options, list) and options and isinstance(options[0], dict):
        return [str(one.get("text")) for one in options], [str(one.get("label")) for one in options]
    if isinstance(options, list):
        return [str(text) for text in options], [chr(ord("A") + number) for number in range(len(options))]
    raise refused(f"{place}: choices", f"expected a list of options, found {type(options).__name__}")


LAYOUT = Layout(
    "hub", "a question and its answer under usual names", lambda row: _columns_of(row) is not None, always(_read)
)
