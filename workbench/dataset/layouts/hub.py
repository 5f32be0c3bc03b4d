"""Questions with their answers and options: under the usual names of public hubs, of GSM8K and of TruthfulQA."""

import itertools
import json
import re
from typing import Any, NamedTuple

from workbench.dataset.layouts.chat import answer_in
from workbench.dataset.layouts.layout import Layout, Row, always, mixed, refused, without
from workbench.dataset.layouts.options import Choosable, option_text, options_of, right_one
from workbench.records.calls import are_messages

_BOX = "\\boxed{"
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)  # an escaped brace is part of the text
_SHAPES = '{"value": …, "aliases": […]}, {"text": …} or {"number": …, "spans": […], "date": {…}}'


class _Columns(NamedTuple):
    """Which columns make a sample."""

    asked: tuple[str, ...]
    """Joined by blank lines; the ones that are empty left out."""
    target: str | None
    options: str | tuple[str, ...] | None = None
    optional: tuple[str, ...] = ()
    """Put between the first and the others where they are there."""
    labels: tuple[str, ...] = ()
    """Of options that are columns of their own."""

    @property
    def by_label(self) -> bool:
        """Whether the answer is never an option's text: the convention of the benchmarks that have these columns."""
        return isinstance(self.options, tuple) or self.target in ("answerKey", "label") or "article" in self.asked


# The first whose columns are all there; after the name of a project that has it.
_KNOWN: tuple[_Columns, ...] = (
    _Columns(("question",), "answerKey", "choices"),  # ARC, CommonsenseQA, OpenBookQA (question_stem)
    _Columns(("question_stem",), "answerKey", "choices"),
    _Columns(("article", "question"), "answer", "options"),  # RACE
    _Columns(("question",), "answer", "choices", optional=("context",)),  # MMLU
    _Columns(("question",), "answer", "options", optional=("context",)),  # MMLU-Pro, MedQA
    _Columns(
        ("Question",), "Correct Answer", ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
    ),  # GPQA
    _Columns(("question",), "correct_answer", ("distractor1", "distractor2", "distractor3")),  # SciQ
    _Columns(("ctx",), "label", "endings"),  # HellaSwag
    _Columns(("goal",), "label", ("sol1", "sol2"), labels=("0", "1")),  # PIQA
    _Columns(("sentence",), "answer", ("option1", "option2"), labels=("1", "2")),  # WinoGrande
    _Columns(("context", "question"), "label", ("answerA", "answerB", "answerC"), labels=("1", "2", "3")),  # SocialIQA
    _Columns(("context", "question"), "answers"),  # SQuAD
    _Columns(("passage", "question"), "answer"),  # BoolQ, DROP
    _Columns(("instruction",), "output", optional=("input", "context")),  # Alpaca
    _Columns(("instruction",), "response", optional=("context", "input")),  # Dolly
    _Columns(("problem",), "answer"),  # MATH-500, AIME
    _Columns(("problem",), "solution"),  # MATH
    _Columns(("question",), "answer_matching_behavior"),  # model-written evaluations
    _Columns(("Body", "Question"), "Answer"),  # SVAMP
    _Columns(("question",), "answer", optional=("context",)),  # TriviaQA and many
    _Columns(("question",), "answers"),
    _Columns(("question",), "best_answer"),
    _Columns(("question",), "correct_answer"),
    _Columns(("question",), "ground_truth"),
    _Columns(("prompt",), "completion"),
    _Columns(("prompt",), "response"),
    _Columns(("prompt",), "chosen"),
)

_QUESTIONS = ("question", "Question", "question_stem")
_PASSAGES = ("passage", "article", "story", "body", "paragraph", "document", "table")
"""What a question may be about; it stands before it."""
_LETTERS, _LEAST_OPTIONS = "ABCDEFGHIJ", 2
_LETTERED = (
    "{A}",
    "op{a}",
    "option_{a}",
    "option_{A}",
    "option{A}",
    "option{a}",
    "Option {A}",
    "choice_{a}",
    "choice_{A}",
    "choice{A}",
)
_NUMBERED = ("option_{n}", "option{n}", "Option {n}", "choice_{n}", "choice{n}")
"""How options are named that are columns of their own, as those of C-Eval, MedMCQA and many tables."""
_LETTER_BEFORE = re.compile(r"\(([A-J])\)\s*")


def _columns_of(row: Row) -> _Columns | None:
    def has(columns: _Columns) -> bool:
        options = columns.options if isinstance(columns.options, tuple) else (columns.options,)
        return all(name in row for name in (*columns.asked, columns.target, *options) if name is not None)

    if "target" in row or ("input" in row and "instruction" not in row):
        return None
    if {"question", "options", "label"} <= row.keys() and row["label"] is not None and not row.get("answer"):
        return _Columns(("question",), "label", "options")  # AGIEval, which has an empty answer beside it
    if {"passage", "question", "options", "label", "answer"} <= row.keys():
        return _Columns(("question",), "answer")  # its questions without options
    found = next(filter(has, _KNOWN), None)
    return found if found is not None and found.options is not None else _with_columns_of_options(row) or found


def _with_columns_of_options(row: Row) -> _Columns | None:
    """Return the question, the answer and the options, where each of these is a column of its own."""
    question = next((name for name in (*_QUESTIONS, "prompt") if name in row), None)
    answer = next((name for name in ("answer", "label", "answerKey") if name in row), None)
    if question is None or answer is None:
        return None
    for patterns, labels in ((_LETTERED, tuple(_LETTERS)), (_NUMBERED, tuple(map(str, range(1, 11))))):
        for pattern in patterns:
            names = [pattern.format(A=label, a=label.lower(), n=label) for label in labels]
            there = tuple(itertools.takewhile(row.__contains__, names))
            if len(there) >= _LEAST_OPTIONS and _are_options(row, there, row[answer], labels):
                return _Columns((question,), answer, there, ("context",), labels[: len(there)])
    return None


def _are_options(row: Row, names: tuple[str, ...], answer: Any, labels: tuple[str, ...]) -> bool:
    """Return whether columns are what can be chosen: without a gap, and an answer that there is names one of them."""
    texts = [row[name] for name in names]
    while texts and texts[-1] in (None, ""):
        texts.pop()
    if len(texts) < _LEAST_OPTIONS or any(text in (None, "") or isinstance(text, list | dict) for text in texts):
        return False
    given = str(answer).strip()
    is_number = labels[0] == _LETTERS[0] and type(answer) is int and 0 <= answer < len(texts)
    return answer in (None, "") or given.upper() in labels[: len(texts)] or given in map(str, texts) or is_number


def _is_about(name: str, value: Any) -> bool:
    """Return whether a column holds what a question is about, and not the name of it."""
    if name == "table":
        return isinstance(value, str | list) and bool(value)
    return isinstance(value, str) and " " in value.strip()


def _read(place: str, row: Row) -> Row:
    columns = _columns_of(row)
    if columns is None:
        raise refused(place, f"other columns than the first row: {', '.join(row)}")
    first, *rest = columns.asked
    given = row.get(columns.target) if columns.target else None
    about = _PASSAGES if columns.asked[-1] in _QUESTIONS else ()
    others = [name for name in about if name not in (*columns.asked, columns.target)]
    before = [name for name in others if _is_about(name, row.get(name))]
    asked = _asked([row.get(name) for name in (*before, first, *columns.optional, *rest)])
    found = row | {"input": asked, "target": _target(f"{place}: {columns.target}", columns, given)}
    if columns.options is not None:
        found |= _choices(place, columns, row, given, asked)
    return found


def _asked(parts: list[Any]) -> Any:
    """Return the parts of a question as one text, everything but text as JSON; messages stay what they are."""
    parts = [part for part in parts if part not in (None, "")]
    if len(parts) == 1 and are_messages(parts[0]):
        return parts[0]
    return "\n\n".join(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts)


def _target(place: str, columns: _Columns, given: Any) -> Any:
    if are_messages(given):  # a conversation, whose last message is the answer
        if given[-1]["role"] != "assistant":
            raise refused(place, f"expected the assistant's message at the end, found one of {given[-1]['role']!r}")
        return answer_in(place, given[-1])
    if isinstance(given, dict):
        return _in_object(place, given)
    if columns.target == "solution" and (boxed := _last_box(str(given))) is not None:
        return boxed
    return given.strip() if isinstance(given, str) else given


def _in_object(place: str, given: dict[str, Any]) -> Any:
    """Return the target that an object holds: of SQuAD texts with places, of TriviaQA aliases, of DROP one of three kinds."""
    if isinstance(given.get("text"), list):
        return list(dict.fromkeys(text for text in given["text"] if text is not None)) or None
    if isinstance(given.get("text"), str):
        return given["text"].strip()
    if given.keys() & {"value", "aliases"}:
        texts = [given.get("value"), *(given.get("aliases") or ())]
        return list(dict.fromkeys(text for text in texts if text is not None)) or None
    if given.keys() & {"number", "spans", "date"}:
        date = given.get("date") or {}
        day = " ".join(str(date[part]) for part in ("day", "month", "year") if date.get(part) not in (None, ""))
        return given.get("number") or given.get("spans") or day or None
    found = f"found an object with {', '.join(given)}" if given else "found an empty object"
    raise refused(place, f"expected text or {_SHAPES}, {found}", "[dataset.fields] takes the column as it is")


def _last_box(solution: str) -> str | None:
    """Return what the last box of a solution that closes holds, at any depth; None where there is none."""
    for rest in reversed(solution.split(_BOX)[1:]):
        depth = 1
        for match in _BRACE.finditer(rest):
            depth += {"{": 1, "}": -1}.get(match.group(), 0)
            if depth == 0:
                return rest[: match.start()]
    return None


def _choices(place: str, columns: _Columns, row: Row, given: Any, asked: Any) -> Row:
    """Return the options, and which of them is right."""
    if isinstance(columns.options, tuple):
        names = list(columns.options)
        while columns.labels and len(names) > _LEAST_OPTIONS and row[names[-1]] in (None, ""):
            names.pop()  # a question may have fewer options than the table has columns
        texts = [option_text(f"{place}: {name}", row[name]) for name in names]
        if columns.target in ("Correct Answer", "correct_answer"):
            right = option_text(f"{place}: {columns.target}", given)
            return {"choices": mixed([right], texts, str(asked)), "target": right}
        options = Choosable(texts, list(columns.labels[: len(texts)]))
        given = given.strip().upper() if isinstance(given, str) and given.strip().upper() in options.labels else given
    else:
        name = columns.options or ""
        options = options_of(f"{place}: {name}", row[name])
        if columns.target == "label":
            options = Choosable(_without_letters(options.texts), options.labels)
    if given is None or given == "":
        return {"choices": options.texts, "target": None}
    is_mmlu = "subject" in row and type(given) is int
    target = right_one(f"{place}: {columns.target}", options, given, row, by_label=columns.by_label or is_mmlu)
    return {"choices": options.texts, "target": target}


def _without_letters(texts: list[str]) -> list[str]:
    """Options without the letters `(A)`, `(B)` … before them, where all have theirs."""
    found = [_LETTER_BEFORE.match(text) for text in texts]
    letters = "".join(match[1] for match in found if match)
    return [_LETTER_BEFORE.sub("", text, 1) for text in texts] if letters == _LETTERS[: len(texts)] else texts


LAYOUT = Layout(
    "hub", "a question and its answer under usual names", lambda row: _columns_of(row) is not None, always(_read),
    "the question, the answer and the options as the first row has them",
)  # fmt: skip


_RESULT = re.compile(r"(?:\A|\n)#### *([-+]?\$?(?=[.\d])[\d,]*(?:\.\d+)?)\s*\Z")


def _is_gsm8k(row: Row) -> bool:
    # a `####` elsewhere is a heading of Markdown, and a row with a target says itself what is right
    return "target" not in row and isinstance(row.get("question"), str) and _result(row.get("answer")) is not None


def _read_gsm8k(_: str, row: Row) -> Row:
    answer = row.get("answer")
    result = _result(answer)
    return row | {"input": row["question"], "target": answer if result is None else result}


def _result(answer: Any) -> str | None:
    """Return the number in the last line of a solution."""
    found = _RESULT.search(answer) if isinstance(answer, str) else None
    return found[1].replace(",", "") if found else None


GSM8K = Layout(
    "gsm8k",
    "GSM8K",
    _is_gsm8k,
    always(_read_gsm8k),
    "`question` and `answer`, whose last line is `#### N`",
    "scored by numeric",
)


def _is_truthfulqa(row: Row) -> bool:
    return ("mc1_targets" in row and "question" in row) or {
        "Question",
        "Best Answer",
        "Incorrect Answers",
    } <= row.keys()


def _read_truthfulqa(place: str, row: Row) -> Row:
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
    """Return each option with 1 where it is right: an object of those, or one of two lists."""
    if isinstance(options, dict) and options.keys() == {"choices", "labels"}:
        return dict(zip(options["choices"], options["labels"], strict=True))
    if not isinstance(options, dict) or 1 not in options.values():
        raise refused(f"{place}: mc1_targets", "expected an object of options, the right one with 1")
    return options


TRUTHFULQA = Layout(
    "truthfulqa", "TruthfulQA", _is_truthfulqa, always(_read_truthfulqa),
    "`question` with `mc1_targets`, or `Question`, `Best Answer` and `Incorrect Answers`",
    "scored by choice; the options are in an order that does not tell the right one, and the template shows them",
)  # fmt: skip
