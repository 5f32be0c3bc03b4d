"""What an answer key takes for right and for wrong: what a job's own scorers do."""

import contextlib
import json
import resource
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from workbench.api.made_jobs import make_job
from workbench.local_platform.answer_key import AnswerKey, AnswerKeyFile, Entry, KeyedAnswer, digest_of
from workbench.planning.answer_key import TOGETHER, write_answers

CALL = {"name": "book", "arguments": {"city": "Oslo", "nights": 2}}
OTHER_CALL = {"name": "book", "arguments": {"city": "Rome", "nights": 3}}
ACCEPTED: list[Any] = [{"book": {"city": ["Oslo", "oslo"], "nights": [2], "breakfast": ["", True]}}]
ELSEWHERE: list[Any] = [{"find": {"city": ["Rome"]}}, {"book": {"city": ["Rome"]}}]


def entries(folder: Path, targets: list[Any], *scorers: str | dict[str, Any], **job: Any) -> list[Entry | None]:
    """What the key has for a question of each target."""
    rows = [{"id": str(n), "input": f"Question {n}?", "target": target} for n, target in enumerate(targets)]
    made = make_job("keyed", ["m"], rows, scorers=scorers, folder=folder, **job)
    write_answers(folder / "key", made)
    with contextlib.closing(AnswerKey(folder / "key")) as key:
        return [key.entry(digest_of([{"role": "user", "content": f"Question {n}?"}])) for n in range(len(targets))]


@pytest.mark.parametrize(
    ("targets", "scorers", "right", "wrong", "takes_words"),
    [
        (["Oslo", "Rome"], ["exact"], "Oslo", "Rome", False),
        (["Oslo", "Rome"], ["includes"], "Oslo", "Rome", True),
        ([43, 8], ["numeric"], "43", "8", True),
        ([43, 8], [], "43", "8", False),
        (["Oslo", "Rome"], [{"name": "answer_line"}], "Answer: Oslo", "Answer: Rome", True),
        (["Oslo", "Rome"], [{"name": "pattern", "pattern": r"answer is (\w+)"}], "The answer is Oslo.", "The answer is Rome.", True),
        ([{"a": 1}, {"a": 2}], ["json"], '{"a": 1}', '{"a": 2}', True),
        ([["Oslo", "Christiania"], ["Rome"]], ["exact"], "Oslo", "Rome", False),
        (["B", "C"], ["choice"], "B", "C", True),
        (["Oslo", "Rome"], ["exact", {"name": "length", "at_most": 9}], "Oslo", "Rome", False),
        ([{"scorer": "includes", "target": "Oslo"}, {"scorer": "numeric", "target": 7}], ["by_sample"], "Oslo", "7", True),
    ],
)  # fmt: skip
def test_what_scores_one_is_right_and_another_samples_is_wrong(
    tmp_path: Path, targets: list[Any], scorers: list[Any], right: str, wrong: str, takes_words: bool
) -> None:
    found = entries(tmp_path, targets, *scorers)
    assert found[0] == Entry(KeyedAnswer(right), KeyedAnswer(wrong), takes_words)


@pytest.mark.parametrize(
    ("target", "right"), [(1, "B"), ("Rome", "Rome"), ("B", "B")], ids=["by number", "by text", "by letter"]
)
def test_the_letter_of_an_option_is_found(tmp_path: Path, target: Any, right: str) -> None:
    rows = [{"id": "a", "input": "Where?", "choices": ["Oslo", "Rome"], "target": target}]
    write_answers(tmp_path / "key", make_job("keyed", ["m"], rows, scorers=["choice"]))
    with contextlib.closing(AnswerKey(tmp_path / "key")) as key:
        found = key.entry(digest_of([{"role": "user", "content": "Where?"}]))
    assert found is not None
    assert found.right == KeyedAnswer(right)


@pytest.mark.parametrize(
    ("targets", "scorer", "right", "wrong"),
    [
        ([CALL, OTHER_CALL], "tool_call", [("book", CALL["arguments"])], [("book", OTHER_CALL["arguments"])]),
        (
            [ACCEPTED, ELSEWHERE],
            "tool_calls",
            [("book", {"city": "Oslo", "nights": 2})],
            [("find", {"city": "Rome"}), ("book", {"city": "Rome"})],
        ),
    ],
)
def test_tool_calls_are_right_or_wrong(
    tmp_path: Path, targets: list[Any], scorer: str, right: list[Any], wrong: list[Any]
) -> None:
    entry, _ = entries(tmp_path, targets, scorer)
    assert entry is not None
    assert entry.wrong is not None
    assert [(name, json.loads(arguments)) for name, arguments in entry.right.calls] == right
    assert [(name, json.loads(arguments)) for name, arguments in entry.wrong.calls] == wrong


def test_a_sample_without_a_target_has_no_entry_and_an_only_one_has_no_wrong_answer(tmp_path: Path) -> None:
    nothing, only = entries(tmp_path, [None, "Oslo"], "exact")
    assert nothing is None
    assert only == Entry(KeyedAnswer("Oslo"), None, takes_words=False)


def test_of_answers_that_are_alike_none_is_wrong_and_over_many_samples_each_finds_one(tmp_path: Path) -> None:
    same = entries(tmp_path, ["Oslo"] * 3, "exact")
    assert {entry.wrong for entry in same if entry} == {None}
    (tmp_path / "many").mkdir()
    many = entries(tmp_path / "many", [f"n{n}" for n in range(TOGETHER + 1)], "exact")
    assert all(entry is not None and entry.wrong not in (None, entry.right) for entry in many)


def test_a_custom_scorer_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def score(answer, sample):\n    raise SystemExit('asked')\n")
    first, _ = entries(tmp_path, ["Oslo", "Rome"], {"name": "custom", "function": "mine.py:score"})
    assert first == Entry(KeyedAnswer("Oslo"), KeyedAnswer("Rome"), takes_words=False)


def test_every_variant_has_its_own_messages(tmp_path: Path) -> None:
    variants = [{"name": "a", "prompt": {"system": "Short."}}, {"name": "b", "prompt": {"system": "Long."}}]
    assert entries(tmp_path, ["Oslo"], "exact", variants=variants) == [None]
    with contextlib.closing(AnswerKey(tmp_path / "key")) as key:
        for system in ("Short.", "Long."):
            sent = [{"role": "system", "content": system}, {"role": "user", "content": "Question 0?"}]
            assert key.entry(digest_of(sent)) is not None


def test_the_file_is_its_users_alone_and_of_two_answers_to_a_question_the_first_counts(tmp_path: Path) -> None:
    for target in ("Oslo", "Rome"):
        found = entries(tmp_path, [target], "exact")
    assert found[0] is not None
    assert found[0].right.text == "Oslo"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_a_disk_that_takes_no_more_is_told_as_one(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with contextlib.closing(AnswerKeyFile(tmp_path / "key")) as file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            with pytest.raises(OSError, match="disk"):
                file.add([([], Entry(KeyedAnswer("x")))])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_the_order_of_keys_in_messages_makes_no_difference() -> None:
    assert digest_of([{"role": "user", "content": "a"}]) == digest_of([{"content": "a", "role": "user"}])
    assert digest_of(msgspec.json.decode(b'[{"role":"user","content":"\\u00e9"}]')) == digest_of(
        [{"role": "user", "content": "é"}]
    )
