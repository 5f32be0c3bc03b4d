"""How a simulated route answers from an answer key: its shares, and that chance repeats."""

import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cases import first_of
from tests.contract.asking import FORCED, TOOL, Caller, platform_of
from workbench.local_platform.answer_key import AnswerKeyFile, Entry, KeyedAnswer
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings

QUESTIONS = 400
CALLS = KeyedAnswer(None, (("get_weather", '{"city": "Oslo"}'),))
OTHER_CALLS = KeyedAnswer(None, (("get_weather", '{"city": "Rome"}'),))


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    with contextlib.closing(AnswerKeyFile(path)) as file:
        file.add(
            (
                [{"role": "user", "content": f"Question {n}?"}],
                Entry(KeyedAnswer(f"right {n}"), KeyedAnswer(f"wrong {n}"), n % 2 == 0),
            )
            for n in range(QUESTIONS)
        )
        file.add([([{"role": "user", "content": "Weather?"}], Entry(CALLS, OTHER_CALLS))])
    return path


@contextlib.contextmanager
def asked(key: Path, *routes: dict[str, Any], scheduled: str = "", **fields: Any) -> Iterator[Caller]:
    """A platform that has the key; its routes answer from it."""
    config = platform_of(*({"simulated": "answers"} | route for route in routes), **fields)
    around = Surroundings(answers=key, scheduled=scheduled)
    with ThreadedServer(config, around=around) as server, Caller(server) as caller:
        yield caller


def standings(caller: Caller, model: str = "m", text: str = "Question {}?", times: int = QUESTIONS) -> list[str]:
    """How the answer to each question stands to the key."""
    found = []
    for n in range(times):
        choice = caller.ask(model, text.format(n)).json()["choices"][0]
        said = choice["message"]["content"] or ""
        words = {"right": "right", "wrong": "wrong", "views": "prose"}
        kind = next((kind for word, kind in words.items() if word in said.split()), "empty")
        kind = "refused" if choice["message"].get("refusal") else kind
        found.append("cut" if choice["finish_reason"] == "length" else kind)
    return found


def near(count: int, share: float, among: int = QUESTIONS) -> bool:
    """Within four standard errors."""
    return bool(abs(count - share * among) <= 4 * (share * (1 - share) * among) ** 0.5)


def test_a_route_is_right_as_often_as_is_set_and_wrong_in_the_ways_that_are_set(key: Path) -> None:
    shares = {"right": 0.5, "empty": 0.2, "cut": 0.1, "refused": 0.2, "prose": 0.1}
    with asked(key, {"id": "m", "answers": [shares]}) as caller:
        counted = Counter(standings(caller))
    wrong = QUESTIONS - counted["right"]
    assert near(counted["right"], 0.5)
    assert all(near(counted[kind], share, wrong) for kind, share in list(shares.items())[1:])
    assert near(counted["wrong"], 0.4, wrong)


def test_a_question_that_is_hard_for_one_route_is_hard_for_another(key: Path) -> None:
    with asked(key, {"id": "m", "answers": [{"right": 0.5}]}, {"id": "n", "answers": [{"right": 0.5}]}) as caller:
        one, other = standings(caller), standings(caller, "n")
    both = sum(a == b == "right" for a, b in zip(one, other, strict=True))
    assert both > 0.29 * QUESTIONS, "a quarter if they had nothing to do with each other"
    assert one != other


def test_equal_requests_draw_again_and_a_platform_started_again_draws_the_same(key: Path) -> None:
    drawn = []
    for _ in range(2):
        with asked(key, {"id": "m", "answers": [{"right": 0.5}]}) as caller:
            drawn.append([standings(caller, times=60) for _ in range(2)])
    assert drawn[0] == drawn[1]
    assert drawn[0][0] != drawn[0][1]


def test_two_nights_differ_and_one_repeats(key: Path) -> None:
    nights = {}
    for night in ("2026-11-20", "2026-11-21", "2026-11-20 "):
        with asked(key, {"id": "m", "answers": [{"right": 0.5}]}, scheduled=night.strip()) as caller:
            nights[night] = standings(caller, times=60)
    assert nights["2026-11-20"] == nights["2026-11-20 "]
    assert nights["2026-11-20"] != nights["2026-11-21"]


@pytest.mark.parametrize(
    ("night", "share"), first_of(("2026-11-19T23:00Z", 1.0), ("2026-11-20", 0.3), ("2026-12-01", 0.3), default=2)
)
def test_a_route_gets_worse_from_a_day_on(key: Path, night: str, share: float) -> None:
    answers = [{"right": 1.0}, {"right": 0.3, "from_date": "2026-11-20"}]
    with asked(key, {"id": "m", "answers": answers}, scheduled=night) as caller:
        assert near(standings(caller).count("right"), share)


def test_a_share_may_be_for_prompts_that_have_a_text(key: Path) -> None:
    answers = [{"right": 1.0}, {"right": 0.0, "contains": "Question 1"}]
    with asked(key, {"id": "m", "answers": answers}) as caller:
        found = standings(caller, times=30)
    assert [n for n, kind in enumerate(found) if kind != "right"] == [1, *range(10, 20)]


def test_presets_and_fallbacks_answer_from_the_key(key: Path) -> None:
    routes = {"id": "m", "answers": [{"right": 1.0}]}, {"id": "down", "unavailable": True, "fallback": "m"}
    with asked(key, *routes, presets=[{"id": "tutor", "base": "m", "system": "Be kind."}]) as caller:
        assert [standings(caller, model, times=5) for model in ("tutor", "down")] == [["right"] * 5] * 2


def test_words_stand_before_an_answer_only_where_it_stays_right(key: Path) -> None:
    with asked(key, {"id": "m", "answers": [{"right": 1.0, "tokens": {"median": 30}}]}) as caller:
        replies = [caller.ask("m", f"Question {n}?").json() for n in (1, 2)]
    alone, long = (reply["choices"][0]["message"]["content"] for reply in replies)
    assert alone == "right 1"
    assert long.endswith("\nright 2")
    assert 28 <= replies[1]["usage"]["completion_tokens"] <= 34


@pytest.mark.parametrize(
    ("fields", "right", "said"),
    [
        ({"calls_tools": True}, 1.0, {"city": "Oslo"}),
        ({"calls_tools": True}, 0.0, {"city": "Rome"}),
        ({}, 1.0, None),
    ],
)
def test_tool_calls_come_from_the_key_where_a_route_calls_tools(
    key: Path, fields: dict[str, Any], right: float, said: dict[str, str] | None
) -> None:
    with asked(key, {"id": "m", "answers": [{"right": right}]} | fields) as caller:
        message = caller.message("m", "Weather?", tools=[TOOL], tool_choice=FORCED)
    calls = message.get("tool_calls")
    assert (calls and json.loads(calls[0]["function"]["arguments"])) == said


def test_a_call_that_is_cut_off_is_no_json(key: Path) -> None:
    with asked(key, {"id": "m", "calls_tools": True, "answers": [{"right": 0.0, "cut": 1.0}]}) as caller:
        choice = caller.ask("m", "Weather?", tools=[TOOL]).json()["choices"][0]
    assert choice["finish_reason"] == "length"
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == '{"city":'


def test_what_the_key_does_not_have_is_computed_or_said_to_be_unknown(key: Path) -> None:
    with asked(key, {"id": "m"}) as caller:
        assert caller.message("m", "What is 2 + 3 * 4?")["content"].endswith("The answer is 14.")
        assert "no answer key has the question" in caller.message("m", "Why is the sky blue?")["content"]


def test_a_judge_errs_in_the_share_that_is_set(key: Path) -> None:
    judged = (
        "<reference>\nOslo\n</reference>\n<answer>\nIt is Oslo, {}.\n</answer>\nVERDICT: and one of CORRECT, INCORRECT."
    )
    with asked(key, {"id": "m", "wrong_verdicts": 0.3}) as caller:
        said = [caller.message("m", judged.format(n))["content"].split()[-1] for n in range(200)]
    assert near(said.count("INCORRECT"), 0.3, 200)


def test_a_key_that_is_not_there_answers_nothing(tmp_path: Path) -> None:
    with asked(tmp_path / "none", {"id": "m"}) as caller:
        assert "no answer key" in caller.message("m", "Question 1?")["content"]
