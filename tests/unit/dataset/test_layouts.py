"""Datasets of other projects: what they are taken for, what becomes of their rows, and which are refused by name."""

import csv
import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from workbench.dataset.layouts.known import LAYOUTS, layout_named, layout_of
from workbench.dataset.overview import converted, write_converted
from workbench.dataset.samples import samples_in, selected_samples
from workbench.errors import InputError
from workbench.job.job import parse_job
from workbench.job.prompt import Prompt
from workbench.records.calls import Sample
from workbench.records.keys import request_key, sample_key
from workbench.scoring.by_sample import BySample
from workbench.scoring.given import Given
from workbench.scoring.scorers import score

USER = {"role": "user", "content": "What is 2 + 2?"}
FOUR = {"role": "assistant", "content": "4"}
CALL = {"name": "add", "arguments": '{"a": 2, "b": 2}'}
ADD = {"name": "math.add", "description": "Add.", "parameters": {"type": "dict", "properties": {
    "a": {"type": "float"}, "b": {"type": "tuple", "items": {"type": "any"}}}}}  # fmt: skip

# layout, a row, and what it gives: input, target, choices
TAKEN: list[tuple[str, dict[str, Any], Any, Any, tuple[str, ...]]] = [
    ("plain", {"input": "Two?", "target": "2"}, "Two?", "2", ()),
    ("plain", {"name": "Ann", "question": "Where?"}, {"name": "Ann", "question": "Where?"}, None, ()),
    ("plain", {"messages": [USER], "target": "4"}, [USER], "4", ()),
    ("chat", {"messages": [USER, FOUR]}, [USER], "4", ()),
    ("chat", {"messages": [USER, FOUR, USER, FOUR | {"weight": 1}]}, [USER, FOUR, USER], "4", ()),
    ("chat", {"messages": [USER, {"role": "assistant", "function_call": CALL}], "functions": [{"name": "add"}]}, [USER], CALL, ()),
    ("chat", {"messages": [USER, {"role": "assistant", "tool_calls": [{"id": "c", "function": CALL}]}]}, [USER], CALL, ()),
    ("chat", {"conversations": [{"from": "human", "value": "What is 2 + 2?"}, {"from": "gpt", "value": "4"}]}, [USER], "4", ()),
    ("chat", {"messages": [USER, {"role": "assistant", "content": [{"type": "text", "text": "4"}, {"type": "text", "text": "!"}]}]},
     [USER], "4!", ()),
    ("batch", {"custom_id": "r", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": [USER]}},
     [USER], None, ()),
    ("batch", {"custom_id": "r", "body": {"messages": [USER]}}, [USER], None, ()),
    ("openai_evals", {"input": [USER], "ideal": ["4", "four"]}, [USER], ["4", "four"], ()),
    ("openai_evals", {"input": "Two?", "ideal": "2"}, "Two?", "2", ()),
    ("bfcl", {"id": "s_0", "question": [[USER]], "function": [ADD], "ground_truth": [{"math.add": {"a": [2]}}]}, [USER],
     [{"math.add": {"a": [2]}}], ()),
    ("promptfoo", {"body": "Hello", "__expected": "icontains:bonjour"}, {"body": "Hello"},
     [{"scorer": {"name": "includes"}, "target": "bonjour"}], ()),
    ("truthfulqa", {"question": "Q?", "mc1_targets": {"Yes": 1}, "mc2_targets": {}}, "Q?", ["Yes"], ("Yes",)),
    ("inspect", {"input": "Q?", "target": "B", "choices": "one, two", "metadata": {"level": 3}}, "Q?", "B", ("one", "two")),
    ("gsm8k", {"question": "Q?", "answer": "6 * 200 = <<6*200=1200>>1200\n#### 1,200"}, "Q?", "1200", ()),
    ("hub", {"question": "Q?", "answer": "#### A heading\nand a text"}, "Q?", "#### A heading\nand a text", ()),
    ("hub", {"question": "Q?", "answer": "x\n#### four"}, "Q?", "x\n#### four", ()),
    ("gsm8k", {"question": "Q?", "answer": "#### -1,200.5 \n"}, "Q?", "-1200.5", ()),
    ("plain", {"question": "Q?", "answer": "#### 5", "target": "5"}, {"question": "Q?", "answer": "#### 5"}, "5", ()),
    ("plain", {"input": "Summarise", "target": "x", "files": ["a.txt"], "setup": "A man walks in"}, "Summarise", "x", ()),
    ("plain", {"input1": "a", "input2": "b", "note": "n"}, {"input1": "a", "input2": "b", "note": "n"}, None, ()),
    ("plain", {"spec": "a car", "text": "run_id"}, {"spec": "a car", "text": "run_id"}, None, ()),
    ("inspect", {"input": "Q?", "target": "B", "metadata": {"tools": ["grep"], "choices": 5, "input": "I", "target": "T"}}, "Q?", "B", ()),
    ("benchmark", {"key": 7, "prompt": "P", "instruction_id_list": ["punctuation:no_comma"], "kwargs": []}, "P", None, ()),
    ("benchmark", {"task_id": "t/0", "prompt": "def f():", "test": "assert 1", "canonical_solution": "x"}, "def f():", None, ()),
    ("benchmark", {"question_id": 1, "category": "c", "turns": ["P"], "reference": ["R"]}, "P", "R", ()),
    ("hub", {"question": "Q?", "choices": ["x", "y"], "answer": 1}, "Q?", "y", ("x", "y")),
    ("hub", {"question": "Q?", "options": ["x", "y"], "answer": "B", "answer_index": 1}, "Q?", "y", ("x", "y")),
    ("hub", {"question": "Q?", "options": {"A": "x", "B": "y"}, "answer": "B"}, "Q?", "y", ("x", "y")),
    ("hub", {"question": "Q?", "choices": {"text": ["x", "y"], "label": ["1", "2"]}, "answerKey": "1"}, "Q?", "x", ("x", "y")),
    ("hub", {"ctx": "She", "endings": ["runs", "sings"], "label": "1"}, "She", "sings", ("runs", "sings")),
    ("hub", {"goal": "Open", "sol1": "pull", "sol2": "push", "label": 0}, "Open", "pull", ("pull", "push")),
    ("hub", {"sentence": "_ ran", "option1": "Ann", "option2": "Bob", "answer": "2"}, "_ ran", "Bob", ("Ann", "Bob")),
    ("hub", {"context": "C", "question": "Q?", "answers": {"text": ["a", "b", "a"], "answer_start": [1, 2, 1]}}, "C\n\nQ?", ["a", "b"], ()),
    ("hub", {"passage": "P", "question": "q", "answer": True}, "P\n\nq", True, ()),
    ("hub", {"instruction": "Add", "input": "2, 2", "output": "4"}, "Add\n\n2, 2", "4", ()),
    ("hub", {"instruction": "Add", "input": "", "output": "4"}, "Add", "4", ()),
    ("hub", {"problem": "P", "solution": "so $\\boxed{\\frac{1}{2}}$", "level": "1"}, "P", "\\frac{1}{2}", ()),
    ("hub", {"problem": "P", "solution": "$\\boxed{1}$, so $\\boxed{a^{b^{c^{d}}}}$"}, "P", "a^{b^{c^{d}}}", ()),
    ("hub", {"problem": "P", "solution": "$\\boxed{\\left\\{ x \\right.}$ {"}, "P", "\\left\\{ x \\right.", ()),
    ("hub", {"problem": "P", "solution": "$\\boxed{1}$, \\boxed{2"}, "P", "1", ()),
    ("hub", {"passage": "P", "question": "q", "answer": {"number": "4", "date": {"day": "", "month": "", "year": ""}, "spans": []}}, "P\n\nq", "4", ()),
    ("hub", {"passage": "P", "question": "q", "answer": {"number": "", "date": {}, "spans": ["Rome", "Oslo"]}}, "P\n\nq", ["Rome", "Oslo"], ()),
    ("hub", {"passage": "P", "question": "q", "answer": {"number": "", "date": {"day": "", "month": "May", "year": "1992"}, "spans": []}}, "P\n\nq", "May 1992", ()),
    ("hub", {"question": "Q?", "answer": {"text": " Paris"}}, "Q?", "Paris", ()),
    ("hub", {"question": "Q?", "answer": {"value": "UK", "aliases": ["GB", "UK"]}}, "Q?", ["UK", "GB"], ()),
    ("hub", {"question": "Q?", "answer_matching_behavior": " Yes", "answer_not_matching_behavior": " No"}, "Q?", "Yes", ()),
    ("hub", {"prompt": "P", "chosen": "good", "rejected": "bad"}, "P", "good", ()),
    ("hub", {"prompt": "P", "chosen": [USER, FOUR], "rejected": [USER]}, "P", "4", ()),
    ("hub", {"prompt": [USER], "completion": [FOUR]}, [USER], "4", ()),
    ("hub", {"prompt": [USER], "completion": [FOUR | {"content": [{"type": "text", "text": "4"}]}]}, [USER], "4", ()),
    ("hub", {"instruction": "Translate to French", "input": "Hello", "response": "Bonjour"}, "Translate to French\n\nHello", "Bonjour", ()),
    ("hub", {"instruction": "Add", "context": "2, 2", "output": "4"}, "Add\n\n2, 2", "4", ()),
    ("hub", {"context": ["It’s", 1], "question": "Q?", "answers": "a"}, '["It’s", 1]\n\nQ?', "a", ()),
    ("hub", {"goal": "boil water", "sol1": "heat it", "sol2": "freeze it", "label": -1}, "boil water", None, ("heat it", "freeze it")),
    ("hub", {"ctx": "She", "endings": ["runs", "sings"], "label": ""}, "She", None, ("runs", "sings")),
    ("hub", {"ctx": "Count", "endings": ["1", "0"], "label": "1"}, "Count", "0", ("1", "0")),
    ("hub", {"goal": "Open", "sol1": "pull", "sol2": "push", "label": 1.0}, "Open", "push", ("pull", "push")),
    ("hub", {"question": "Q?", "choices": ["5", "-1"], "answer": -1}, "Q?", "-1", ("5", "-1")),
    ("hub", {"question": "Q?", "choices": '["red", "blue"]', "answer": "blue"}, "Q?", "blue", ("red", "blue")),
    ("hub", {"question": "Q?", "options": '{"A": "red", "B": "blue"}', "answer": "B"}, "Q?", "blue", ("red", "blue")),
    ("hub", {"question": "Q?", "choices": [{"label": "X", "text": "x"}, {"label": "Y", "text": "y"}], "answerKey": "Y"}, "Q?", "y", ("x", "y")),
    ("hub", {"question": "Q?", "subject": "algebra", "choices": ["1", "2", "3"], "answer": 2}, "Q?", "3", ("1", "2", "3")),
    ("hub", {"question": "Q?", "options": ["B", "A"], "answer": "A", "answer_index": 0}, "Q?", "B", ("B", "A")),
    ("hub", {"question": "Q?", "options": {"A": "B", "B": "A"}, "answer": "A", "answer_idx": "B"}, "Q?", "A", ("B", "A")),
    ("hub", {"article": "T", "question": "Q?", "options": ["B", "A"], "answer": "A"}, "T\n\nQ?", "B", ("B", "A")),
    ("hub", {"context": "C", "question": "Q?", "choices": ["x", "y"], "answer": "B"}, "Q?\n\nC", "y", ("x", "y")),
    ("hub", {"question": "Q?", "choices": ["0", "1", "2"], "answer": 1}, "Q?", "1", ("0", "1", "2")),
    ("hub", {"question": "Q?", "A": "x", "B": "y", "C": "z", "D": "", "answer": "b"}, "Q?", "y", ("x", "y", "z")),
    ("hub", {"question": "Q?", "opa": "1", "opb": "2", "cop": 2, "answer": "B"}, "Q?", "2", ("1", "2")),
    ("hub", {"question": "Q?", "option_a": "x", "option_b": "y", "answer": "y"}, "Q?", "y", ("x", "y")),
    ("hub", {"Question": "Q?", "option_1": "x", "option_2": "y", "answer": 2}, "Q?", "y", ("x", "y")),
    ("hub", {"prompt": "Q?", "A": "x", "B": "y", "answer": "A"}, "Q?", "x", ("x", "y")),
    ("hub", {"passage": "P is.", "question": "Q?", "options": ["(A)x", "(B) y"], "label": "B", "answer": None}, "P is.\n\nQ?", "y", ("x", "y")),
    ("hub", {"passage": None, "question": "Q?", "options": None, "label": None, "answer": "5"}, "Q?", "5", ()),
    ("hub", {"context": "C", "question": "Q?", "answerA": "x", "answerB": "y", "answerC": "z", "label": "3"}, "C\n\nQ?", "z", ("x", "y", "z")),
    ("hub", {"Body": "Ann has 3.", "Question": "How many?", "Answer": 3}, "Ann has 3.\n\nHow many?", 3, ()),
    ("hub", {"question": "Q?", "answer": "B", "option_a": "x", "option_b": "y", "option_c": None, "option_d": "w"}, "Q?", "B", ()),
    ("hub", {"question": "Q?", "answer": "Paris", "A": "foo", "B": "bar"}, "Q?", "Paris", ()),
    ("hub", {"question": "Q?", "option_1": "x", "option_2": "y", "answer": 0}, "Q?", 0, ()),
    ("hub", {"question": "Q?", "options": ["x", "y"], "label": "good", "answer": "x"}, "Q?", "x", ("x", "y")),
    ("hub", {"question": "Q?", "answer": "a", "document": "doc_0001.pdf"}, "Q?", "a", ()),
    ("hub", {"question": "Q?", "answer": "a", "document": {"id": 1}}, "Q?", "a", ()),
    ("hub", {"question": "Q?", "table": [["a", 1]], "answer": "1"}, '[["a", 1]]\n\nQ?', "1", ()),
    *(("hub", {"question": "Q?", name: "P is.", "answer": "1"}, "P is.\n\nQ?", "1", ())
      for name in ("passage", "article", "story", "body", "paragraph", "document")),
    ("hub", {"question": "Q?", "choices": ["2", "3", "4"], "answer": "4"}, "Q?", "4", ("2", "3", "4")),
]  # fmt: skip


def written(folder: Path, row: dict[str, Any]) -> Path:
    path = folder / "d.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return path


@pytest.mark.parametrize(("name", "row", "asked", "target", "choices"), TAKEN)
def test_a_row_is_recognised_and_named_our_way(
    name: str, row: dict[str, Any], asked: Any, target: Any, choices: tuple[str, ...], tmp_path: Path
) -> None:
    assert layout_of(row).name == name
    (sample,) = samples_in(written(tmp_path, row))
    assert (sample.input, sample.target, sample.choices) == (asked, target, choices)


@pytest.mark.parametrize("row", [row for _, row, *_ in TAKEN])
def test_what_is_converted_reads_back_as_the_same_sample(row: dict[str, Any], tmp_path: Path) -> None:
    before = list(samples_in(path := written(tmp_path, row)))
    own = tmp_path / "own.jsonl"
    own.write_bytes(b"".join(converted(path, None)))
    assert list(samples_in(own)) == before
    assert layout_of(json.loads(own.read_text())).name == "plain"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"custom_id": "r", "url": "/v1/embeddings", "body": {"input": "x"}}, "url: a batch request to /v1/embeddings"),
        ({"custom_id": "r", "method": "GET", "body": {"messages": [USER]}}, "method: expected POST"),
        ({"custom_id": "r", "body": {}}, "body: expected a request with a list of messages"),
        ({"input1": "a", "input2": "b"}, "a battle of two prompts"),
        ({"id": "s", "ground_truth": []}, "answers of BFCL, not its questions"),
        ({"id": "s", "question": [[USER], [USER]], "function": []}, "a BFCL question of 2 turns"),
        ({"question_id": 1, "turns": ["a", "b"]}, "turns: an MT-Bench question of 2 turns"),
        ({"question_id": 1, "answer_id": "x", "choices": []}, "answers to MT-Bench questions"),
        ({"task_id": "t", "completion": "x"}, "HumanEval completions, not its problems"),
        ({"doc": {}, "resps": [], "doc_id": 1}, "a log of lm-evaluation-harness"),
        (
            {"body": "x", "__expected": "javascript: output > 1"},
            "__expected: a promptfoo check in code (javascript:), which is never executed",
        ),
        ({"body": "x", "__expected1": "python: 1"}, "__expected1: a promptfoo check in code (python:)"),
        ({"body": "x", "__expected": "llm-rubric: is polite"}, "a check 'llm-rubric', which is not supported"),
        ({"input": "Q", "target": "A", "sandbox": "docker"}, "an Inspect sample that runs in a sandbox"),
        ({"messages": [FOUR]}, "nothing is asked before the assistant's message"),
        (
            {"question": "Which?", "choices": ["1", "2", "3"], "answer": 2},
            "answer: 2 is the number (counted from 0) of '3' and the text of another option (write the option's text",
        ),
        (
            {"question": "Which?", "choices": ["B", "A", "C"], "answer": "A"},
            "answer: 'A' is the label of 'B' and the text of another option",
        ),
        ({"question": "Which?", "choices": ["1", "2", "3"], "answer": "2"}, "answer: '2' is the number"),
        (
            {"question": "Which?", "choices": ["x", "y"], "answer": 2},
            "answer: expected one of A, B or a number from 0 to 1, found the number 2",
        ),
        ({"question": "Which?", "choices": ["x", "y"], "answer": "C"}, "answer: expected one of A, B"),
        ({"goal": "g", "sol1": "a", "sol2": "b", "label": -2}, "label: expected one of 0, 1 or a number"),
        ({"goal": "g", "sol1": "a", "sol2": "b", "label": "9" * 5000}, "label: expected one of 0, 1 or a number"),
        ({"goal": "g", "sol1": "a", "sol2": None, "label": 0}, "sol2: expected an option's text, found null"),
        (
            {"question": "Which?", "choices": "red", "answer": "B"},
            "choices: expected a list of options, found the text 'red'",
        ),
        (
            {"question": "Which?", "options": 5, "answer": "B"},
            "options: expected a list of options, found the number 5",
        ),
        (
            {"question": "Q?", "answer": {"label": "yes"}},
            'answer: expected text or {"value": …, "aliases": […]}, {"text": …} or',
        ),
        ({"question": "Q?", "answer": {"label": "yes"}}, ", found an object with label ([dataset.fields] takes"),
        ({"question": "Q?", "answer": {}}, ", found an empty object"),
        ({"prompt": [USER], "completion": [USER]}, "completion: expected the assistant's message at the end"),
        (
            {"messages": [USER, FOUR | {"content": [{"type": "image_url"}]}]},
            "messages: the assistant's message has parts",
        ),
        ({"conversations": [{"from": "robot", "value": "x"}]}, "conversations[0]: expected one of human"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(row: dict[str, Any], problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        list(samples_in(written(tmp_path, row)))
    assert problem in str(raised.value)
    assert "d.jsonl:1" in str(raised.value)
    assert PLAIN in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("promptfooconfig.yaml", b"prompts:\n  - x\n", "a promptfoo suite in YAML, not rows"),
        ("d.yml", b"a: 1\n", "a YAML file, not rows"),
        ("log.eval", b"PK\x03\x04", "a log of Inspect"),
        ("log.json", b'{\n "version": 2,\n "status": "success",\n "eval": {}\n}', "a log of Inspect"),
        ("out.json", b'{"evalId": "x", "results": []}', "results of promptfoo"),
        ("d.jsonl", b'{\n  "input": "x"\n}\n', "an object that goes on over several lines"),
    ],
)
def test_a_file_that_is_something_else_is_refused_by_name(
    name: str, content: bytes, problem: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as raised:
        list(samples_in(tmp_path / name))
    assert problem in str(raised.value)


def test_a_line_that_is_far_too_long_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(b'{"input": "' + b"x" * (2**26 + 10) + b'"}')
    with pytest.raises(InputError, match=r"d\.jsonl:1: a line of more than 64 MiB"):
        list(samples_in(tmp_path / "d.jsonl"))


def test_a_row_after_the_first_that_is_another_endpoints_is_named_by_its_line(tmp_path: Path) -> None:
    rows = [
        {"custom_id": str(n), "url": url, "body": {"messages": [USER]}}
        for n, url in enumerate(("/v1/chat/completions", "/v1/score"))
    ]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"d\.jsonl:2: url"):
        list(samples_in(tmp_path / "d.jsonl"))


def test_bfcl_finds_its_answers_beside_it_and_speaks_the_apis_json_schema(tmp_path: Path) -> None:
    (tmp_path / "possible_answer").mkdir()
    (tmp_path / "possible_answer" / "d.jsonl").write_text(
        json.dumps({"id": "s", "ground_truth": [{"math.add": {"a": [2]}}]})
    )
    (sample,) = samples_in(written(tmp_path, {"id": "s", "question": [[USER]], "function": [ADD]}))
    assert sample.target == [{"math.add": {"a": [2]}}]
    function = sample.tools[0]["function"]
    assert function["name"] == "math_add"
    properties = {"a": {"type": "number"}, "b": {"type": "array", "items": {}}}
    assert function["parameters"] == {"type": "object", "properties": properties}


def test_the_right_option_does_not_stand_where_the_file_has_it(tmp_path: Path) -> None:
    rows = [{"question": f"Q{n}?", "mc1_targets": {"right": 1, "one": 0, "two": 0, "three": 0}} for n in range(200)]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    first = list(samples_in(tmp_path / "d.jsonl"))
    places = [sample.choices.index("right") for sample in first]
    assert all(30 < places.count(place) < 70 for place in range(4))
    assert first == list(samples_in(tmp_path / "d.jsonl"))


@pytest.mark.parametrize(
    ("expected", "answer", "value"),
    [
        ("Bonjour", "Bonjour", 1), ("Bonjour", "Bonjour!", 0), ("equals: Bonjour", "Bonjour", 1), ("contains:jour", "Bonjour", 1),
        ("contains:JOUR", "Bonjour", 0), ("icontains:JOUR", "Bonjour", 1), ("not-contains:x", "Bonjour", 1), ("not-icontains:B", "b", 0),
        ("contains-any:x, jour", "Bonjour", 1), ("contains-all:Bon,jour", "Bonjour", 1), ("contains-all:Bon,x", "Bonjour", 0.0),
        ("icontains-any:X,JOUR", "Bonjour", 1), ("starts-with:Bon", "Bonjour", 1), ("starts-with:jour", "Bonjour", 0),
        ("regex:B(o)n", "Bonjour", 1), ("is-json", '{"a": 1}', 1), ("is-json", 'So {"a": 1}', 0), ("contains-json", 'So {"a": 1}', 1),
        ("Note: this", "Note: this", 1),
    ],
)  # fmt: skip
def test_what_promptfoo_expects_is_checked(expected: str, answer: str, value: float, tmp_path: Path) -> None:
    (sample,) = samples_in(written(tmp_path, {"body": "x", "__expected": expected, "__description": "d"}))
    assert score(BySample(), Given(answer), sample).value == value
    assert sample.metadata["description"] == "d"


@pytest.mark.parametrize(
    ("expected", "answer", "value"),
    [
        ("not-contains-all: a1, b1", "a1 b1", 0), ("not-contains-all: a1, b1", "a1", 1), ("not-contains-all: a1, b1", "A1\nB1", 1),
        ("not-icontains-all: a1, b1", "B1\nA1", 0), ("not-contains-all: a.", "a.", 0), ("not-contains-any: a1, b1", "a1", 0),
        ("python", "python", 1), ("contains", "contains", 1), ("similar", "other", 0), ("not-is-json", "{", 1),
    ],
)  # fmt: skip
def test_what_promptfoo_does_not_expect_is_checked(expected: str, answer: str, value: float, tmp_path: Path) -> None:
    (sample,) = samples_in(written(tmp_path, {"body": "x", "__expected": expected}))
    assert score(BySample(), Given(answer), sample).value == value


PLAIN = 'dataset.layout = "plain" or --layout plain takes the rows as they are'
ODD_ROWS: list[tuple[str, dict[str, Any], str]] = [
    ("truthfulqa", {"Question": "Q?"}, "TruthfulQA (no column 'Best Answer')"),
    ("truthfulqa", {"question": "Q?", "mc1_targets": {"choices": ["a"], "labels": 1}}, "TruthfulQA"),
    ("truthfulqa", {"Question": "Q?", "Best Answer": "a", "Incorrect Answers": None}, "TruthfulQA"),
    ("bfcl", {"question": "Q?", "name": "x"}, "BFCL questions (no column 'function')"),
    ("bfcl", {"id": ["x"], "question": [], "function": 5}, "BFCL questions"),
    ("chat", {"messages": [USER, {"role": "assistant", "tool_calls": 5}]}, "chat fine-tuning rows"),
    ("chat", {"messages": [USER, {"role": "assistant", "tool_calls": [{"function": None}]}]}, "chat fine-tuning rows"),
    ("chat", {"messages": [USER, FOUR], "functions": True}, "chat fine-tuning rows"),
    ("chat", {"messages": [USER, {"role": "assistant", "content": [5]}]}, "chat fine-tuning rows"),
    ("chat", {"conversations": [{"from": ["x"]}]}, "chat fine-tuning rows"),
    ("chat", {"conversations": True}, "chat fine-tuning rows"),
    ("gsm8k", {"answer": "#### 5"}, "GSM8K (no column 'question')"),
    ("benchmark", {"turns": ["x"]}, "prompts of a benchmark (IFEval, HumanEval, MT-Bench) (no column 'question_id')"),
    (
        "hub",
        {"question": "Q?", "choices": {"text": ["a"], "label": ["A", "B"]}, "answerKey": "B"},
        "a question and its answer under usual names",
    ),
    (
        "hub",
        {"question": "Q?", "choices": [{"text": "a"}, "b"], "answer": "b"},
        "a question and its answer under usual names",
    ),
    ("hub", {"question": "Q?", "answer": {"value": "x", "aliases": 5}}, "a question and its answer under usual names"),
    (
        "hub",
        {"context": "C", "question": "Q?", "answers": {"text": [{"a": 1}]}},
        "a question and its answer under usual names",
    ),
    ("promptfoo", {"x": "y", "__expected": "latency(1.2.3)"}, "a promptfoo test table"),
]


@pytest.mark.parametrize(("name", "row", "title"), ODD_ROWS)
def test_a_row_that_does_not_fit_its_layout_is_refused_with_what_was_expected(
    name: str, row: dict[str, Any], title: str, tmp_path: Path
) -> None:
    layout = layout_named(name)
    with pytest.raises(InputError) as raised:
        list(samples_in(written(tmp_path, row), layout))
    assert str(raised.value) == f"{tmp_path}/d.jsonl:1: cannot be read as {title}: expected {layout.expects} ({PLAIN})"


def test_a_table_that_is_something_else_is_refused_where_a_layout_is_named(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"question": "Q?"}]), tmp_path / "d.parquet")
    with pytest.raises(
        InputError, match=r"d\.parquet: row 1: cannot be read as BFCL questions \(no column 'function'\)"
    ):
        list(samples_in(tmp_path / "d.parquet", layout_named("bfcl")))


def test_every_layout_says_what_it_expects() -> None:
    assert [layout.name for layout in LAYOUTS if not layout.expects] == ["plain"]


@pytest.mark.parametrize("row", [{"input": "Q", "target": "A", "id": "a", "metadata": {"id": "77", "level": 3}}])
def test_metadata_of_inspect_is_beside_the_sample(row: dict[str, Any], tmp_path: Path) -> None:
    (sample,) = samples_in(written(tmp_path, row))
    assert (sample.id, sample.metadata) == ("a", {"level": 3})


def test_a_solution_without_its_last_line_is_the_target_as_it_is(tmp_path: Path) -> None:
    rows = [{"question": "Q?", "answer": answer} for answer in ("#### 4", "about four", "#### 4 or so")]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [sample.target for sample in samples_in(tmp_path / "d.jsonl")] == ["4", "about four", "#### 4 or so"]


def test_several_expectations_make_several_checks(tmp_path: Path) -> None:
    (sample,) = samples_in(written(tmp_path, {"body": "x", "__expected1": "contains:a", "__expected2": "contains:b"}))
    assert score(BySample(), Given("a"), sample).value == 0.5


def identities(folder: Path, path: str) -> list[tuple[Sample, str, str]]:
    job = parse_job(f'models = ["m"]\n[dataset]\npath = "{path}"\n', folder / "job.toml")
    prompt, found = Prompt(job.prompt, partial(job.where, "prompt")), []
    for sample in selected_samples(job):
        body = json.dumps(prompt.messages(sample)).encode()
        found.append((sample, sample_key(sample), request_key("local", body, 1, 0)))
    return found


@pytest.mark.parametrize(
    "rows",
    [
        [{"question": f"Q{n}, “{n}”?\nAnd?", "answer": f"{n} + 1\n#### {n + 1}"} for n in range(3)],
        [{"Question": "Q?", "Best Answer": "Yes", "Incorrect Answers": "No; Never"}],
        [{"instruction": "Add", "input": "", "output": "4"}],
        [{"id": "a", "input": "x", "target": "y", "note": "n"}],
    ],
)
def test_one_dataset_is_the_same_in_every_format(rows: list[dict[str, str]], tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    (tmp_path / "d.csv").write_bytes(table.getvalue().encode())
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "d.parquet")
    assert identities(tmp_path, "d.jsonl") == identities(tmp_path, "d.csv") == identities(tmp_path, "d.parquet")


CLASHES: list[dict[str, Any]] = [
    {"input": "Q?", "target": "A", "files": ["a"], "setup": "x"},
    {"question": "Q?", "answer": "#### 5"},
    {"prompt": "P", "completion": "c"},
    {"question": "Q?", "function": [{"name": "f"}]},
    {"body": "x", "__expected": "contains: x"},
    {"body": {"messages": ["x"]}, "url": "x"},
    {"task_id": 1, "prompt": "P", "test": "t"},
    {"Question": "Q?", "Best Answer": "a", "Incorrect Answers": "b"},
    {"question_id": 1, "turns": ["a", "b"]},
    {"doc": {"a": 1}, "resps": ["x"]},
    {"spec": {"run_id": 1}},
    {"conversations": [{"from": "human", "value": "x"}]},
    {"evalId": "x", "note": "y"},
    {"data": [{"a": 1}]},
    {"text": "x", "status": "success", "eval": {"a": 1}},
]


@pytest.mark.parametrize("row", CLASHES)
def test_what_is_taken_as_it_is_reads_back_as_it_is(row: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"  # as JSON Lines, some are logs
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), path)
    before = list(samples_in(path, layout_named("plain")))
    assert write_converted(path, layout_named("plain"), tmp_path / "own.json") == 1
    assert list(samples_in(tmp_path / "own.json")) == before


@pytest.mark.parametrize(("column", "value"), [("metadata", {"level": 1}), ("sandbox", "docker")])
def test_a_column_that_would_make_a_converted_row_another_layouts_is_refused(
    column: str, value: Any, tmp_path: Path
) -> None:
    path = written(tmp_path, {"input": "Q?", column: value})
    with pytest.raises(InputError, match=rf"sample 1: {column}: a row with this column would be read back as Inspect"):
        write_converted(path, layout_named("plain"), tmp_path / "own.jsonl")
    assert list(tmp_path.glob("own*")) == []


def test_a_line_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    path = written(tmp_path, {"question": "x" * (40 * 2**20), "answer": "4"})  # in our own form the text is there twice
    with pytest.raises(InputError, match="sample 1: a line of more than 64 MiB in our own form"):
        write_converted(path, None, tmp_path / "own.jsonl")


def test_a_job_may_say_what_its_rows_are_and_its_columns_go_first(tmp_path: Path) -> None:
    written(tmp_path, {"question": "Q?", "answer": "so\n#### 4"})
    text = 'models = ["m"]\n[dataset]\npath = "d.jsonl"\n'

    def target(more: str) -> Any:
        return next(selected_samples(parse_job(text + more, tmp_path / "job.toml"))).target

    assert target("") == "4"
    assert target('layout = "hub"') == "so\n#### 4"
    assert target('layout = "plain"') is None
    assert target('fields = { input = "question", target = "answer" }') == "so\n#### 4"
    with pytest.raises(InputError, match=r"there is no layout 'gms8k'; did you mean 'gsm8k'\?"):
        target('layout = "gms8k"')


def test_names_of_layouts_are_all_different() -> None:
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS)
