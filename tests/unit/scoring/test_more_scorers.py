"""Scorers that follow the conventions of others: SQuAD, the Berkeley Function-Calling Leaderboard, JSON Schema."""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import InputError
from workbench.job.job import parse_job
from workbench.records.calls import Sample, Score, ToolCall
from workbench.scoring.answer_line import AnswerLine
from workbench.scoring.by_sample import BySample
from workbench.scoring.choices import Choices
from workbench.scoring.custom import Custom
from workbench.scoring.f1 import F1
from workbench.scoring.given import Given
from workbench.scoring.json_fields import JsonFields
from workbench.scoring.json_schema import JsonSchema
from workbench.scoring.latency import Latency
from workbench.scoring.length import Length
from workbench.scoring.match import Match
from workbench.scoring.scorer import Scorer
from workbench.scoring.scorers import judges, score
from workbench.scoring.served_model import ServedModel
from workbench.scoring.tokens import Tokens
from workbench.scoring.tool_call import CalledTool
from workbench.scoring.tool_calls import CalledTools

OPTIONS = ("one", "two", "three", "four")


def judged(scorer: Scorer, answer: str | Given, target: Any = None, choices: tuple[str, ...] = ()) -> Score:
    given = answer if isinstance(answer, Given) else Given(answer)
    return score(scorer, given, Sample("1", "q", target, choices))


@pytest.mark.parametrize(
    ("scorer", "answer", "target", "value"),
    [
        (Match(), "The capital is **Paris**.", "paris", 1),
        (Match(), "Paris is the capital", "Paris", 0),
        (Match(at="begin"), "Paris, surely", "paris", 1),
        (Match(at="any"), "It is Paris, surely", "paris", 1),
        (Match(at="any"), "Comparison", "paris", 0),
        (Match(ignore_case=False), "paris", "Paris", 0),
        (Match(), "The answer is 5.", 5.0, 1),
        (Match(), "x", "...", None),
        (Match(), "The answer is -5", "5", 0),
        (Match(), "The answer is 1.5", "15", 0),
        (Match(), "The answer is -5.", "-5", 1),
        (Match(at="begin"), "Yes—it is", "yes", 1),
        (Match(at="begin"), "Yes,it is", "yes", 1),
        (Match(at="any"), "Paris/London", "paris", 1),
        (Match(), "“Paris”", "paris", 1),
        (Match(), "पाना", "पानी", 0),
        (Match(), "2/3", "3", 0),
        (Match(), ".5", "5", 0),
        (Match(), "It is .5", "0.5", 0),
        (Match(), "I use C", "C++", 0),
        (Match(), "I use C++.", "C++", 1),
        (Match(), "I don't", "don’t", 1),
        (Match(), "答案是巴黎。", "巴黎", 1),
        (Match(), "答案是巴黎。", "黎巴", 0),
        (Match(), "不是", "是", 0),
        (Match(), "不是", "不是", 1),
        (Match(), "It weighs 10.5kg", "5kg", 0),
        (Match(at="begin"), "5km of road", "5", 1),
        (Match(at="begin"), "3.2GB", "3", 0),
        (Match(at="begin"), "3.2GB", "3.2", 1),
        (AnswerLine(), "Some words.\n\nANSWER: Paris.", "paris", 1),
        (AnswerLine(), "**Answer:** Paris\nand more", "Paris", 1),
        (AnswerLine(), "ANSWER: London\nANSWER: Paris", "Paris", 1),
        (AnswerLine(), "It is Paris", "Paris", 0),
        (AnswerLine(), "**ANSWER: Paris.**", "Paris", 1),
        (AnswerLine(), "ANSWER: **“Paris”**.", "Paris", 1),
        (AnswerLine(), "ANSWER: `_Paris_`", "Paris", 1),
        (AnswerLine(), "ANSWER：巴黎", "巴黎", 1),
        (AnswerLine(), "ANSWER: .5", "5", 0),
        (AnswerLine(), "ANSWER: __init__", "__init__", 1),
        (AnswerLine(), "ANSWER: __Paris__", "Paris", 1),
        (AnswerLine(), "**Answer: **Paris", "Paris", 1),
        (AnswerLine(), "Answer: 'Schindler's List'", "Schindler's List", 1),
        (AnswerLine(), "Answer: **5 * 3 * 2**", "5 * 3 * 2", 1),
        (AnswerLine(), "ANSWER: *.py", "*.py", 1),
        (AnswerLine(marker="Solution"), "Solution: 12", 12, 1),
        (F1(), "The cat sat", "a cat sat down", 0.8),
        (F1(), "Paris", ["London", "paris!"], 1),
        (F1(), "the", "an", 1),
        (F1(), "the", "cat", 0),
    ],
)
def test_texts(scorer: Scorer, answer: str, target: Any, value: float | None) -> None:
    found = judged(scorer, answer, target).value
    assert found == (value if value is None else pytest.approx(value))


@pytest.mark.parametrize(
    ("answer", "target", "value"),
    [
        ("Answer: A, C", ["A", "C"], 1), ("Answer: C and A", "A, C", 1), ("The answers are **A** and **C**.", ["A", "C"], 1),
        ("\\boxed{A, C}", ["A", "C"], 1), ("A, C", [0, 2], 1), ("(A), (B), and (C)", ["A", "B", "C"], 1), ("#### A,C", ["A", "C"], 1),
        ("Answer: A", ["A", "C"], 0), ("Answer: A, B, C", ["A", "C"], 0), ("<answer>A, C</answer>", ["A", "C"], 1),
        ("First A, then C.\n\nFinal answer: B", ["A", "C"], 0), ("I cannot say.", ["A"], 0), ("B", ["B"], 1), ("B", ["Z"], None),
        ("Answer: A, C\n\nThe rest is wrong.", ["A", "C"], 1), ("**Answer:** A, C", ["A", "C"], 1), ("Both A and C are correct.", ["A", "C"], 1),
        ("Answer:\nA) Paris\nC) Rome", ["A", "C"], 1), ("Answer: A. Paris, C. Rome", ["A"], 0), ('{"answer": ["A", "C"]}', ["A", "C"], 1),
        ("Answer: A", ["A", "F"], None),
        ("The correct options are:\n- A. w\n- C. y", ["A", "C"], 1), ("A. w\nC. y", ["A", "C"], 1), ("- A) w\n- C) y", ["A", "C"], 1),
        ("Answer: A) w and C) y", ["A", "C"], 1), ("A and C are correct, B is not.", ["A", "C"], 1),
        ("A is correct. B is wrong. C is correct.", ["A", "C"], 1), ("A is correct. C is correct.", ["C"], 0), ("Answer: AC", ["A", "C"], 1),
        ("AC", ["A", "C"], 1), ("Answer: CA", ["A", "C"], 0), ("Answer: NO", ["A", "C"], 0),
        ("Answer: A, C", "AC", 1), ("Answer: A, C", "A and C", 1), ("Answer: A, C", '["A","C"]', 1), ("Answer: A", "CAB", None),
    ],
)  # fmt: skip
def test_several_choices(answer: str, target: Any, value: float | None) -> None:
    assert judged(Choices(), answer, target, OPTIONS).value == value


def test_what_is_missing_or_wrong_among_choices_is_named() -> None:
    assert judged(Choices(), "Answer: A, B", ["A", "C"], OPTIONS).reason == "without C; with B, which is wrong"


SCHEMA = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('{"age": 3}', 1), ('Here: ```json\n{"age": 3}\n```', 1), ('{"age": -1}', 0), ('{"age": "3"}', 0), ("{}", 0), ("[1]", 0), ("no", 0),
        ("{'age': 3}", 0), ('Draft {"age": "x"}, final {"age": 3}', 1), ('{"age": None}', 0),
    ],
)  # fmt: skip
def test_a_schema_accepts_or_refuses(answer: str, value: float) -> None:
    assert judged(JsonSchema(schema=SCHEMA), answer).value == value
    assert judged(JsonSchema(), answer, SCHEMA).value == value


def test_a_schema_says_where_it_does_not_fit() -> None:
    assert judged(JsonSchema(schema=SCHEMA), '{"age": -1}').reason == "age: -1 is less than the minimum of 0"


def test_a_schema_is_checked_before_anything_is_sent_and_fetches_nothing() -> None:
    assert list(JsonSchema(schema={"type": "objekt"}).faults())
    assert list(JsonSchema(schema={"$ref": "http://127.0.0.1:9/schema"}).faults()) == [
        (
            "schema",
            "not a JSON Schema: Resource 'http://127.0.0.1:9/schema' is not present in a registry and retrieving it failed: "
            "Retrieval is disabled, cannot fetch http://127.0.0.1:9/schema",
        )
    ]
    assert judged(JsonSchema(), "{}", "text").value is None
    assert judged(JsonSchema(), "{}", {"type": "objekt"}).value is None


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"$ref": "#/$defs/a/enum/x", "$defs": {"a": {"enum": [1]}}}, "Failed to parse array index 'x'"),
        ({"$ref": "#/$defs/a/enum/0", "$defs": {"a": {"enum": [1]}}}, "/$defs/a/enum/0: 1 is not of types"),
        ({"items": {"$ref": "#/of/a"}, "of": {"a": {"type": "objekt"}}}, "/of/a/type: "),
        ({"$dynamicRef": "#none"}, "Anchor 'none' does not exist"),
        ({"pattern": "a{99999999999}"}, "is not a \"regex\""),
        ({"patternProperties": {"(": {}}}, "is not a \"regex\""),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "$schema: unknown draft 'http://json-schema.org/draft-03/schema#'; those from draft-04 to 2020-12 are known"),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_be_used_is_an_input_error(schema: dict[str, Any], problem: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(schema))
    ((field, found),) = JsonSchema(schema=schema).faults()
    assert (field, problem in found) == ("schema", True), found
    with pytest.raises(InputError, match=r"scorers\[0\].schema_path: s.json is not a JSON Schema: ") as raised:
        parse_job(job_with('name = "json_schema"\nschema_path = "s.json"'), tmp_path / "job.toml")
    assert problem in str(raised.value)


DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize(
    ("schema", "answer", "value"),
    [
        ({"pattern": r"^\p{L}+$"}, '"Zoë"', 1),
        ({"pattern": r"^\p{L}+$"}, '"2"', 0),
        ({"$schema": DRAFT_7, "dependencies": {"a": ["b"]}}, '{"a": 1}', 0),
        ({"$schema": DRAFT_7, "dependencies": {"a": ["b"]}}, '{"a": 1, "b": 2}', 1),
        ({"$schema": DRAFT_7, "items": {"$ref": "#"}, "pattern": r"^\p{L}+$"}, '["a", ["b"]]', 1),
        ({"$id": "http://x/y", "$ref": "#q", "$defs": {"a": {"$anchor": "q", "type": "integer"}}}, '"a"', 0),
        ({"$id": "http://x/y", "$ref": "#q", "$defs": {"a": {"$anchor": "q", "type": "integer"}}}, "3", 1),
        ({"unevaluatedProperties": False, "patternProperties": {"^a": {}}}, '{"ab": 1, "b": 1}', 0),
        ({"items": {"$schema": DRAFT_7, "type": "integer"}}, '["a"]', 0),
        ({"$schema": "https://json-schema.org/draft-07/schema", "dependencies": {"a": ["b"]}}, '{"a": 1}', 0),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3, "exclusiveMaximum": True}, "3", 0),
        ({"$schema": "http://json-schema.org/schema#", "type": "integer"}, "3", 1),
        ({"patternProperties": {"^a": {"type": "integer"}}}, '{"ab": "x"}', 0),
        ({"patternProperties": {"^a": {"type": "integer"}}}, '{"ab": 1, "b": "x"}', 1),
        ({"patternProperties": {"^a": {}}, "properties": {"b": {}}, "additionalProperties": False}, '{"ab": 1, "b": "x"}', 1),
        ({"patternProperties": {"^a": {}}, "additionalProperties": False}, '{"ab": 1, "b": "x"}', 0),
        ({"patternProperties": {"^a": {}}, "additionalProperties": {"type": "integer"}}, '{"ab": "x", "b": 1}', 1),
        ({"patternProperties": {"^a": {}}, "additionalProperties": {"type": "integer"}}, '{"ab": "x", "b": "x"}', 0),
        ({"properties": {"b": {}}, "unevaluatedProperties": False}, '{"a": 1, "b": 1}', 0),
        ({"multipleOf": 0.01}, "19.99", 1),
        ({"multipleOf": 0.01}, "19.995", 0),
        ({"multipleOf": 3}, "1" + "0" * 40, 0),
        ({"multipleOf": 0.5}, "1e400", 0),
        ({}, "NaN", 0),
        ({}, "[1, -Infinity]", 0),
        ({"type": "object"}, 'So {"a": NaN}', 0),
    ],
)  # fmt: skip
def test_a_schema_says_of_a_value(schema: dict[str, Any], answer: str, value: float) -> None:
    assert not list(JsonSchema(schema=schema).faults())
    assert judged(JsonSchema(schema=schema), answer).value == value
    assert judged(JsonSchema(schema=schema, alone=True), answer).value == value


def test_json_is_found_in_a_fence_and_through_a_reference() -> None:
    assert (
        judged(JsonSchema(schema={"type": "array", "items": {"type": "integer"}}), "So:\n```json\n[1, 2]\n```").value
        == 1
    )
    referring = {"$ref": "#/$defs/M", "$defs": {"M": SCHEMA}}
    assert judged(JsonSchema(schema=referring), 'Draft {"age": "x"}, final {"age": 3}').value == 1


@pytest.mark.parametrize(
    ("schema", "answer", "value"),
    [
        (SCHEMA, '```json {"age": 3}``` Then run it: ```42```', 1),
        ({"properties": {"age": {"minimum": 4}}}, '```{"age": 3}``` then ```42```', 0),
        ({"type": ["null", "integer"]}, '```json {"age": 3}``` Then run it: ```42```', 1),
        (SCHEMA, 'It is {"age": 3}, as ```42``` says', 1),
        (SCHEMA, '```{"age": "x"}``` better ```{"age": 3}```', 1),
        ({"enum": ["a"]}, 'Of {"a": 1}: ```"a"```', 1),
    ],
)
def test_the_fence_counts_that_has_the_type_of_the_schema(schema: dict[str, Any], answer: str, value: float) -> None:
    assert judged(JsonSchema(schema=schema), answer).value == value


def test_a_reference_that_leads_nowhere_is_found_before_anything_is_sent() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/Typo"}}}
    assert list(JsonSchema(schema=schema).faults())
    assert judged(JsonSchema(), "{}", schema).value is None


@pytest.mark.parametrize(
    ("schema", "answer", "value"),
    [
        ({"pattern": "^(a|aa)+$"}, "a" * 60 + "b", 0),
        ({"items": {"pattern": "^(a|aa)+$"}}, ["a" * 60 + "b"] * 50, 0),
        ({"patternProperties": {"^(a|aa)+$": False}}, {"a" * 60 + "b": 1}, 1),
        ({"patternProperties": {"^(a|aa)+$": {}}, "additionalProperties": False}, {"a" * 60 + "b": 1}, 0),
        ({"pattern": r"^(a|aa)+\1$"}, "a" * 60 + "b", None),
    ],
)
def test_no_pattern_of_a_schema_takes_for_ever(schema: dict[str, Any], answer: Any, value: float | None) -> None:
    start = time.thread_time()
    assert judged(JsonSchema(schema=schema), json.dumps(answer)).value == value
    assert time.thread_time() - start < 5


TOOL = {
    "type": "function",
    "function": {
        "name": "geo_distance",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}, "x": {"type": "number"}, "unit": {"type": "string"},
                                                             "marks": {"type": "array", "items": {"type": "integer"}}, "deep": {"type": "boolean"}}},
    },
}  # fmt: skip
WANTED = [
    {
        "geo.distance": {
            "n": [5],
            "x": [2.5, 3],
            "unit": ["km", ""],
            "marks": [[85, 90], ""],
            "deep": ["", False],
            "stops": [["Rome", "Oslo"]],
            "at": [{"lat": [1.0], "z": [0, ""]}],
        }
    }
]
RIGHT = {"n": 5, "x": 2.5, "unit": "KM.", "stops": ["rome", "Oslo"], "at": {"lat": 1}}


def called(*calls: tuple[str, Any], target: Any = WANTED, text: str = "") -> Score:
    made = [ToolCall(None, name, given if isinstance(given, str) else json.dumps(given)) for name, given in calls]
    return score(CalledTools(), Given(text, made), Sample("1", "q", target, tools=(TOOL,)))


def test_the_wanted_call_is_accepted_in_all_its_forms() -> None:
    assert called(("geo_distance", RIGHT)).value == 1
    assert called(("geo.distance", RIGHT)).value == 1
    assert called(("geo_distance", {name: value for name, value in RIGHT.items() if name != "unit"})).value == 1
    assert called(("geo_distance", RIGHT | {"x": 3.0})).value == 1
    assert called(("geo_distance", RIGHT | {"unit": "", "marks": [85, 90], "deep": False})).value == 1
    assert called(("geo_distance", RIGHT | {"at": {"lat": 1, "z": 0}})).value == 1


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("distance", {}, "wrong name: distance instead of geo.distance"),
        ("geo_distance", {"n": None, "x": 9}, "wrong type of n: null; wrong value of x"),
        ("geo_distance", {"n": 6}, "wrong value of n"),
        ("geo_distance", {"n": "5"}, "wrong type of n: text"),
        ("geo_distance", {"n": 5.0}, "wrong type of n: a number that is not whole"),
        ("geo_distance", {"n": True}, "wrong type of n: boolean"),
        ("geo_distance", {"unit": "miles"}, "wrong value of unit"),
        ("geo_distance", {"stops": ["Oslo", "Rome"]}, "wrong value of stops"),
        ("geo_distance", {"stops": "Rome"}, "wrong type of stops: text"),
        ("geo_distance", {"at": {"lat": 2}}, "wrong value of at"),
        ("geo_distance", {"at": {"lat": 1, "high": 1}}, "wrong value of at"),
        ("geo_distance", {"extra": 1}, "unexpected parameter extra"),
        ("geo_distance", {"marks": [85.0, 90]}, "wrong type of marks: a number that is not whole"),
        ("geo_distance", {"marks": ""}, "wrong type of marks: text"),
        ("geo_distance", {"deep": ""}, "wrong type of deep: text"),
    ],
)
def test_a_call_that_differs_is_refused_with_its_reason(name: str, change: dict[str, Any], reason: str) -> None:
    found = called((name, RIGHT | change))
    assert (found.value, found.reason[: len(reason)]) == (0, reason)


def test_a_missing_parameter_is_refused() -> None:
    assert called(("geo_distance", {k: v for k, v in RIGHT.items() if k != "n"})).reason == "missing parameter n"


def test_an_empty_text_is_a_value_where_arguments_are_given_plainly() -> None:
    target = [{"name": "f", "arguments": {"x": ""}}]
    assert called(("f", {}), target=target).reason == "missing parameter x"
    assert called(("f", {"x": ""}), target=target).value == 1


@pytest.mark.parametrize(
    "call",
    [
        {"name": "f", "arguments": '{"x": 1}'},
        {"type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
        {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}},
    ],
)
def test_a_call_may_be_wanted_as_openais_api_has_it(call: dict[str, Any]) -> None:
    for target in ([call], call, json.dumps([call])):
        assert called(("f", {"x": 1}), target=target).value == 1
        assert called(("f", {"x": 2}), target=target).value == 0
    answer = Given("", [ToolCall(None, "f", '{"x": 1}')])
    assert judged(CalledTool(), answer, call).value == 1
    assert judged(CalledTool(), answer, call | {"name": "g"}).value != 1
    assert called(("f", ""), target=[{"name": "f", "arguments": ""}]).value == 1


def test_parallel_calls_count_in_any_order_and_each_once() -> None:
    target = [{"f": {"a": [1, 2]}}, {"f": {"a": [1]}}, {"name": "g", "arguments": {"b": [1, 2]}}]
    calls = (("f", {"a": 1}), ("f", {"a": 2}), ("g", {"b": [1, 2]}))
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        assert called(*(calls[number] for number in order), target=target).value == 1
    assert called(calls[1], calls[1], calls[2], target=target).value == 0
    assert called(calls[0], calls[1], ("g", {"b": 1}), target=target).reason == "wrong type of b: number"
    assert called(*calls, calls[0], target=target).reason == "wrong number of calls: 4 where 3 are wanted"


def test_no_call_prose_and_a_call_in_the_text_are_told_apart() -> None:
    assert called(target=[]).value == called(target=[], text="I cannot.").value == 1
    assert called(("f", {}), target=[]).reason == "a call where none is wanted"
    assert called().reason == "no call"
    assert called(text="I would call it.").reason == "no call, but prose"
    assert called(text='{"name": "f", "arguments": {}}').reason.startswith("malformed call")
    assert called(text="geo.distance(n=5)").reason.startswith("malformed call")
    assert called(("geo_distance", "{n: 5}")).reason.startswith("malformed call")


@pytest.mark.parametrize(
    "target",
    [
        None,
        "text",
        [1],
        [{"f": 1}],
        {"f": {"a": 1}},
        [{"name": "f", "arguments": []}],
        [{"name": "f", "arguments": '{"a"'}],
        [{"type": "function", "function": 5}],
    ],
)
def test_what_is_no_list_of_calls_cannot_be_judged_by(target: Any) -> None:
    assert called(("f", {}), target=target).value is None


def test_how_an_answer_came_about() -> None:
    answer = Given(
        "two words", latency_ms=120.0, completion_tokens=5, total_tokens=20, requested_model="a", served_model="b"
    )
    assert judged(Latency(at_most_ms=120), answer).value == 1
    assert judged(Latency(at_most_ms=100), answer) == Score(0, "not within 100 ms", "120 ms")
    assert judged(Length(at_most=9), answer).value == 1
    assert judged(Length(at_least=3, unit="words"), answer) == Score(0, "not at least 3 words", "2 words")
    assert judged(Tokens(at_most=5), answer).value == 1
    assert judged(Tokens(at_most=5, count="total"), answer).value == 0
    assert judged(ServedModel(), answer) == Score(0, "not served by a", "b")
    assert judged(ServedModel(names=("b*",)), answer).value == 1
    for scorer in (Latency(at_most_ms=1), Tokens(at_most=5), ServedModel()):
        assert judged(scorer, "x").value is None


SCRIPT = """
import sys

def length(answer, sample):
    return {"value": len(answer.text) / sample.target, "reason": f"{len(answer.text)} characters"}

def flag(answer, sample): return answer.text == "x"
def silent(answer, sample): return None
def odd(answer, sample): return "many"
def endless(answer, sample): return float("nan")
def other(answer, sample): return {"score": 1}
def broken(answer, sample): raise KeyError("column")
def leaves(answer, sample): sys.exit(3)
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("length", Score(0.5, "2 characters")),
        ("flag", Score(0, "as the function says")),
        ("silent", Score(None, "the function did not judge it")),
        ("odd", Score(None, "the scorer failed: the function returned str, not a number")),
        ("endless", Score(None, "the scorer failed: the function returned nan: not a score")),
        ("other", Score(None, "the scorer failed: the function returned an object with score, not with value")),
        ("broken", Score(None, "the scorer failed: KeyError: 'column'")),
        ("leaves", Score(None, "the scorer failed: the function ended with sys.exit(3)")),
    ],
)
def test_a_function_of_ones_own(name: str, expected: Score, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCRIPT)
    assert judged(Custom(f"mine.py:{name}").in_folder(tmp_path), "ab", 4) == expected


def test_a_function_that_changed_is_loaded_again_and_may_use_dataclasses(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    head = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n"
    for moment, value in ((1, 0.25), (2, 0.75)):
        path.write_text(f"{head}def f(answer, sample): return {value}\n")
        os.utime(path, (moment, moment))
        assert judged(Custom("mine.py:f").in_folder(tmp_path), "x").value == value


def test_what_a_function_prints_is_not_among_what_a_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text("print('loaded')\ndef f(answer, sample):\n    print('called')\n    return 1\n")
    scorer = Custom("mine.py:f").in_folder(tmp_path)
    assert not list(scorer.faults())
    assert judged(scorer, "x").value == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "loaded\ncalled\n")


def job_with(scorer: str) -> str:
    return f'models = ["m"]\n[dataset]\npath = "d.jsonl"\n[[scorers]]\n{scorer}\n'


@pytest.mark.parametrize(
    ("scorer", "problem"),
    [
        ('name = "custom"\nfunction = "none.py:f"', "there is no file"),
        ('name = "custom"\nfunction = "json:nothing"', "it has no function 'nothing'"),
        ('name = "custom"\nfunction = "f"', 'expected "file.py:name" or "package.module:name"'),
        ('name = "custom"\nfunction = "job.py:f"', "is an async function; expected a plain one"),
        ('name = "length"', "give at_least, at_most or both"),
        ('name = "length"\nat_least = 5\nat_most = 4', "is below at_least"),
        ('name = "json_schema"\nschema_path = "none.json"', "scorers[0].schema_path: there is no file none.json"),
        ('name = "json_schema"\nschema_path = "."', "scorers[0].schema_path: . cannot be read: Is a directory"),
        ('name = "json_schema"\nschema_path = "job.py"', "scorers[0].schema_path: job.py is not valid JSON"),
        ('name = "json_schema"\nschema_path = "job.py"\nschema = {}', "schema_path: give either schema or schema_path"),
        ('name = "json_schema"\nschema = { type = "objekt" }', "not a JSON Schema"),
        ('name = "json"\nrelative_tolerance = inf', "expected a finite number"),
        ('name = "answer_line"\nmarker = " "', "is empty"),
        ('name = "tokens"', "at_most missing"),
    ],
)
def test_a_wrong_option_is_named_before_anything_is_sent(scorer: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("async def f(answer, sample): return 1\n")
    with pytest.raises(InputError) as raised:
        parse_job(job_with(scorer), tmp_path / "job.toml")
    assert problem in str(raised.value)
    assert "scorers[0]" in str(raised.value)


def test_files_of_scorers_are_beside_the_job(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCRIPT)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    job = parse_job(
        job_with(
            'name = "json_schema"\nschema_path = "schema.json"\n[[scorers]]\nname = "custom"\nfunction = "mine.py:flag"'
        ),
        tmp_path / "j.toml",
    )
    assert [judged(scorer, answer).value for scorer, answer in zip(job.scorers, ('{"age": 1}', "x"), strict=True)] == [
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("target", "answer", "value"),
    [
        ({"scorer": "includes", "target": "Paris"}, "It is Paris", 1),
        ([{"scorer": "includes", "target": "Paris"}, {"scorer": {"name": "length", "at_most": 5}}], "It is Paris", 0.5),
        ({"scorer": "includes", "target": "Paris", "not": True}, "It is Paris", 0),
        ({"scorer": {"name": "numeric", "tolerance": 1}, "target": 4}, "5", 1),
        ({"scorer": "numeric", "target": "many"}, "5", None),
        ({"scorer": "nothing"}, "5", None),
        ({"scorer": {"name": "custom", "function": "os:getcwd"}}, "5", None),
        ({"scorer": "includes", "traget": "x"}, "5", None),
        ([], "5", None),
        ('[{"scorer": "includes", "target": "Paris"}]', "It is Paris", 1),
        ({"scorer": {"name": "json_schema", "schema_path": "x.json"}}, "{}", None),
        ("Paris", "Paris", None),
        (None, "Paris", None),
    ],
)
def test_a_sample_may_bring_its_scorers(target: Any, answer: str, value: float | None) -> None:
    assert judged(BySample(), answer, target).value == value
    if value is not None:
        assert judged(BySample(whole=True), answer, target).value == float(value == 1)


def test_a_judge_in_a_target_is_refused_as_nothing_would_ask_it() -> None:
    sample = Sample("1", "q", {"scorer": {"name": "judge", "model": "m"}})
    assert not judges(BySample(), sample)
    assert score(BySample(), Given("x"), sample).reason.startswith(
        "nothing to judge by: a dataset cannot bring a judge"
    )


def test_a_target_of_a_sample_s_own_scorer_stays_on_the_scale_that_it_declares() -> None:
    numeric = {"name": "numeric", "target_scale": [0, 5]}
    assert judged(BySample(), "4", {"scorer": numeric, "target": 4}).value == 1
    beyond = Sample("1", "q", {"scorer": numeric, "target": 7})
    assert score(BySample(), Given("7"), beyond).reason == "nothing to judge by: the target 7 is outside 0 to 5"


@pytest.mark.parametrize(
    ("settings", "answer", "value"),
    [
        ({}, '{"a": "X", "b": 5, "c": {"d": 1, "e": 2}}', 1),
        ({"case": "exact"}, '{"a": "X", "b": 5, "c": {"d": 1}}', 0),
        ({}, '{"a": "x", "b": "5", "c": {"d": 1}}', 1),
        ({"types": "exact"}, '{"a": "x", "b": "5", "c": {"d": 1}}', 0),
        ({"extra": "refuse"}, '{"a": "x", "b": 5, "c": {"d": 1}, "f": 1}', 0),
        ({"extra": "refuse"}, '{"a": "x", "b": 5, "c": {"d": 1, "e": 2}}', 0),
        ({}, '{"a": "x", "b": 5.2, "c": {"d": 1}}', 0),
        ({"tolerance": 0.3}, '{"a": "x", "b": 5.2, "c": {"d": 1}}', 1),
        ({"relative_tolerance": 0.05}, '{"a": "x", "b": 5.2, "c": {"d": 1}}', 1),
        ({}, "{'a': 'x', 'b': 5, 'c': {'d': 1}}", 0),
        ({}, '{"a": "x", "b": 5, "c": {"d": True}}', 0),
    ],
)
def test_how_values_of_json_compare(settings: dict[str, Any], answer: str, value: float) -> None:
    target = {"a": "x", "b": 5, "c": {"d": 1}}
    assert judged(JsonFields(whole=True, **settings), answer, target).value == value
    strict = {"extra": "accept"} | settings
    call = Given("", [ToolCall(None, "f", answer)])
    assert judged(CalledTool(**strict), call, {"name": "f", "arguments": target}).value == value


def test_a_tiny_number_is_not_zero() -> None:
    assert judged(JsonFields(), '{"q": 1.602e-19}', {"q": 0}).value == 0
    assert judged(JsonFields(), '{"q": 0}', {"q": 1.602e-19}).value == 0
    assert judged(JsonFields(), '{"q": 1.602e-19}', {"q": 1.602e-19}).value == 1


def test_what_an_answer_spells_and_utf_8_cannot_hold_reaches_no_reason() -> None:
    """JSON may spell half a pair of surrogates; a journal that meets one loses the scores of all answers."""
    answer = '{"a\\ud800": "x"}'
    for scorer, target in (
        (JsonFields(extra="refuse"), {"b": 1}),
        (JsonSchema(schema={"additionalProperties": False}), None),
    ):
        found = judged(scorer, answer, target)
        assert found.value == 0
        assert f"{found.reason}{found.extracted}".encode()


def test_two_threads_that_score_leave_standard_output_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text("def noisy(answer, sample):\n    print(answer)\n    return 1\n")
    scorer, before = Custom(function="noisy.py:noisy").in_folder(tmp_path), sys.stdout
    threads = [threading.Thread(target=lambda: [judged(scorer, "x") for _ in range(300)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.stdout is before


def test_a_function_that_was_changed_is_another_scorer(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    scorer, settings = Custom("mine.py:f").in_folder(tmp_path), set[str]()
    for text in ("def f(answer, sample): return 1", "def f(answer, sample): return 0"):
        file.write_text(text)
        settings.add(scorer.settings)
    assert len(settings) == 2
    assert {json.loads(one)["function"] for one in settings} == {f"{file}:f"}
