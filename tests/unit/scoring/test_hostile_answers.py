"""Long answers that were made to be slow: every scorer is done with each of them in a moment, by its length."""

import json
import time
from typing import Any

import pytest

from workbench.records.calls import Sample, ToolCall
from workbench.scoring.answer_line import AnswerLine
from workbench.scoring.choice import Choice
from workbench.scoring.choices import Choices
from workbench.scoring.exact import Exact
from workbench.scoring.f1 import F1
from workbench.scoring.given import Given
from workbench.scoring.includes import Includes
from workbench.scoring.json_fields import JsonFields
from workbench.scoring.json_schema import JsonSchema
from workbench.scoring.match import Match
from workbench.scoring.numeric import Numeric
from workbench.scoring.pattern import Pattern
from workbench.scoring.scorer import Scorer
from workbench.scoring.scorers import score
from workbench.scoring.tool_call import CalledTool

BYTES = [200_000, pytest.param(1_000_000, marks=pytest.mark.long)]
SLOWEST_S_PER_MB = 5.0
"""Twice what the slowest takes on a slow machine; what grows with the square of the length takes many times as long."""
OWN_LIMIT_S = 1.0
"""After which a user's pattern is given up, and a schema earlier."""
CHOICES = ("one", "two", "three", "four")
TEXTS = {
    "newlines": "\n",
    "spaces": " ",
    "blank lines": " \n",
    "tabs": "\t\n",
    "answer and blanks": "answer" + " " * 5_000,
    "answer:": "answer: ",
    "answer is is": "answer" + " is" * 5_000,
    "stars": "*",
    "brackets": "(",
    "letters in brackets": "(A",
    "final": "final " + " " * 2_000,
    "hashes": "#### ",
    "boxed": "\\boxed{",
    "boxed blanks": "\\boxed{" + " " * 3_000,
    "digits": "1",
    "groups": "1,111",
    "commas": ",111",
    "dots and commas": "1.111,",
    "signs": "-",
    "currency": "$ ",
    "slashes": "1/",
    "exponents": "1e",
    "equals": "answer = 1 = ",
    "braces": "{",
    "objects": '{"a": 1}',
    "open strings": '{"a": "',
    "nested": '{"a": {"a": ',
    "quotes": '"',
    "backslashes": "\\",
    "letters": "A ",
    "ruled out": "not A. ",
    "list of letters": "- A. x\n",
    "words": "the answer is B. ",
    "marks": "\u0301\u0323",
    "mark": "a" + "\u0301" * 40,
    "ligatures": "\ufdfa",
    "full width": "\uff11",
    "emoji": "\U0001f600",
}
SCORERS: dict[str, tuple[Scorer, Any]] = {
    "exact": (Exact(ignore_case=True, ignore_punctuation=True), "four"),
    "includes": (Includes(), "a" * 500 + "b"),
    "numeric": (Numeric(tolerance=0.1), 4),
    "choice": (Choice(), "A"),
    "choice text": (Choice(), "two"),
    "json": (JsonFields(), {"a": "b", "c": [1, 2]}),
    "pattern": (Pattern(r"(\s+)+x"), "x"),
    "choices": (Choices(), ["A"]),
    "json schema": (JsonSchema(schema={"type": "object", "required": ["a"]}), None),
    "answer line": (AnswerLine(), "four"),
    "match": (Match(), "four"),
    "f1": (F1(), "four"),
    "nested pattern": (Pattern(r"^(([a-z])+.)+[A-Z]([a-z])+$"), "x"),
}


def answers(most_bytes: int) -> dict[str, str]:
    return {name: (text * (most_bytes // len(text.encode()) + 1))[:most_bytes] for name, text in TEXTS.items()}


@pytest.mark.parametrize("most_bytes", BYTES)
@pytest.mark.parametrize(
    "scorer",
    [
        pytest.param(name, marks=pytest.mark.slow if name not in ("exact", "pattern", "json") else ())
        for name in SCORERS
    ],
)
def test_a_long_answer_is_scored_in_a_moment(scorer: str, most_bytes: int) -> None:
    table, target = SCORERS[scorer]
    sample = Sample("1", "q", target=target, choices=CHOICES if "choice" in scorer else ())
    most_s = SLOWEST_S_PER_MB * most_bytes / 1_000_000 + (
        OWN_LIMIT_S if "pattern" in scorer or "schema" in scorer else 0
    )
    score(table, Given("{}"), sample)  # what is imported at the first time is not the text's
    slow = {}
    for name, answer in answers(most_bytes).items():
        for _ in range(3):  # a machine that shares its cores has slow moments
            began = time.thread_time()  # what else the machine does is not the scorer's
            score(table, Given(answer), sample)
            took_s = time.thread_time() - began
            if took_s <= most_s:
                break
        else:
            slow[name] = round(took_s, 1)
    assert not slow


@pytest.mark.parametrize("most_bytes", BYTES)
def test_a_long_tool_call_is_scored_in_a_moment(most_bytes: int) -> None:
    sample = Sample("1", "q", target={"name": "f", "arguments": {"a": "b"}})
    for answer in answers(most_bytes).values():
        began = time.thread_time()  # what else the machine does is not the scorer's
        for arguments in (answer, json.dumps({"a": answer})):
            score(CalledTool(), Given("", [ToolCall("c", "f", arguments)]), sample)
        assert time.thread_time() - began < SLOWEST_S_PER_MB * most_bytes / 1_000_000


@pytest.mark.parametrize(
    ("answer", "target", "right"),
    [
        ("the answer\n\n  is \n\n 12", 12, 1.0),
        ("e\u0301" + "\u0301" * 20, "e\u0301" + "\u0301" * 20, 1.0),
        ("\uff11\uff12", "12", 1.0),
        ("x" * 300_000 + " four", "four", 0.0),
    ],
)
def test_what_is_not_hostile_is_read_as_before(answer: str, target: Any, right: float) -> None:
    scorer: Scorer = Numeric() if isinstance(target, int) else Exact()
    assert score(scorer, Given(answer), Sample("1", "q", target=target)).value == right
