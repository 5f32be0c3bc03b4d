from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.calls import Sample, ToolCall
from workbench.scoring.given import Given
from workbench.scoring.json_fields import JsonFields
from workbench.scoring.scorers import score
from workbench.scoring.structure import object_in, same
from workbench.scoring.tool_call import CalledTool

TARGET = {"name": "Ana", "total": 12.5, "paid": True, "tags": ["a", "b"], "note": None}


def judged(answer: str, target: Any = TARGET, **settings: Any) -> tuple[float | None, str]:
    found = score(JsonFields(**settings), Given(answer), Sample(id="s", input="", target=target))
    return found.value, found.reason


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('{"name": "Ana", "total": 12.5, "paid": true, "tags": ["a", "b"], "note": null}', 1.0),
        (
            'Here it is:\n```json\n{"name": "ANA ", "total": "12.50", "paid": true, "tags": ["a", "b"], "note": null}\n```',
            1.0,
        ),
        ('{"draft": 1} then {"name": "Ana", "total": 12.5, "paid": 1, "tags": ["b", "a"], "note": null}', 0.6),
        ('{"name": "Ana"}', 0.2),
        ('{"name": "Ana"', 0.0),
        ("no", 0.0),
        ("[1, 2]", 0.0),
    ],
)
def test_json_counts_the_fields_that_are_right(answer: str, value: float) -> None:
    assert judged(answer)[0] == pytest.approx(value)
    assert judged(answer, whole=True)[0] == float(value == 1)


def test_json_says_what_is_wrong() -> None:
    assert (
        judged('{"name": "Ben", "total": 12.5, "paid": true, "tags": ["a", "b"], "note": null}')[1]
        == "4 of 5 fields are right, wrong: name"
    )
    assert judged("{}", target="text") == (None, "nothing to judge by: the target is not a JSON object")
    assert judged("")[0] is None


def called(calls: list[tuple[str, str]], target: Any = None, **settings: Any) -> tuple[float | None, str]:
    wanted = target or {"name": "book", "arguments": {"people": 4, "at": "19:30"}}
    made = [ToolCall(None, name, arguments) for name, arguments in calls]
    found = score(CalledTool(**settings), Given("", made), Sample(id="s", input="", target=wanted))
    return found.value, found.reason


def test_a_tool_call_needs_name_and_arguments() -> None:
    assert called([("book", '{"people": 4, "at": "19:30"}')])[0] == 1
    assert called([("find", "{}"), ("book", '{"people": "4", "at": "19:30"}')])[0] == 1
    assert called([("book", '{"people": 5, "at": "19:30"}')]) == (0, "wrong: people")
    assert called([("book", '{"people": 4, "at": "19:30", "dog": true}')]) == (0, "wrong: dog")
    assert called([("book", '{"people": 4')]) == (0, "wrong: arguments that are not valid JSON, people, at")
    assert called([("book", "[]")])[0] == 0
    assert called([("find", "{}")]) == (0, "not a call of book")
    assert called([]) == (0, "no tool was called")
    assert called([("book", "")], name_only=True)[0] == 1
    assert called([("book", "")], target={"name": "book"})[0] == 1
    assert called([("book", "{}")], target={"call": "book"})[0] is None


@pytest.mark.slow
@given(st.text())
def test_any_text_is_searched_for_an_object(text: str) -> None:
    found = object_in(text, ())
    assert found is None or isinstance(found, dict)
    assert found is not None or object_in("x" + '{"a": 1}', ()) == {"a": 1}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_everything_is_the_same_as_itself(value: Any) -> None:
    assert same(value, value, JsonFields())


def test_braces_without_end_do_not_take_forever() -> None:
    assert object_in("{" * 1_000_000, ()) is None
    assert object_in('{"a":' * 100_000, ()) is None


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('{"city": "Rome"}\n\nIf nothing is found, `{}` would be right.', 1.0),
        ('{"city": "Paris", "previous": {"city": "Rome"},}', 0.0),
        ('{"city": "Rome", "p": {"x": 1},}', 0.0),
        ('{"a":' * 1000 + "1" + "}" * 1000, 0.0),
        ('{"city": "cut \\ud83d"}', 0.0),
    ],
)
def test_the_object_is_the_answers(answer: str, value: float) -> None:
    assert judged(answer, target={"city": "Rome"})[0] == value


def test_whole_numbers_are_compared_to_the_last_digit() -> None:
    assert not same(1700000001, 1700000000, JsonFields())
    assert not same("4111111111111111", 4111111111111199, JsonFields())
    assert same("1700000000", 1700000000, JsonFields())
    assert same(147.6, "147.60", JsonFields())
    assert same(5.0, "5", JsonFields())
    assert same("0.1", 0.1, JsonFields())


def test_a_target_may_be_json_text() -> None:
    assert judged('{"a": 1}', target='{"a": 1}')[0] == 1
    openai = {"name": "book", "arguments": '{"people": 4}'}
    assert called([("book", '{"people": 4}')], target=openai)[0] == 1
    assert called([], target=openai)[0] == 0
    assert called([("book", "{}")], target={"name": "book", "arguments": [1]})[0] is None
    assert called([], target={"name": "book", "arguments": [1]})[0] is None
    assert called([("book", "[" * 5000)])[0] == 0
