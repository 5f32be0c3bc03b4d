"""The labels that scorers read, set beside those of the targets."""

from typing import Any, get_args

import pytest

from workbench.records.calls import Sample, ToolCall
from workbench.scoring.answer_line import AnswerLine
from workbench.scoring.choice import Choice
from workbench.scoring.choices import Choices
from workbench.scoring.exact import Exact
from workbench.scoring.given import Given
from workbench.scoring.includes import Includes
from workbench.scoring.kinds import Kind
from workbench.scoring.match import Match
from workbench.scoring.pattern import Pattern
from workbench.scoring.scorer import Scorer
from workbench.scoring.scorers import score
from workbench.scoring.tool_call import CalledTool

OPTIONS = ("red", "green", "blue")
CALL = {"name": "look_up", "arguments": {}}
CASES: list[tuple[Scorer, Any, Given, list[str], str | None]] = [
    (Exact(), "yes", Given("no"), ["yes", "no"], "no"),
    (Exact(), "Yes", Given("yes"), ["Yes", "No"], None),
    (Exact(ignore_case=True), "Yes", Given("NO"), ["Yes", "No"], "no"),
    (Match(), "positive", Given("I think it is not positive."), ["positive", "not positive"], "not positive"),
    (Match(at="begin"), "yes", Given("No, for once."), ["yes", "no"], "no"),
    (Match(), "yes", Given("It is unknown"), ["yes", "no"], None),
    (AnswerLine(), "yes", Given("So.\nANSWER: **No**."), ["yes", "no"], "no"),
    (AnswerLine(), "*.py", Given("ANSWER: __init__"), ["*.py", "__init__"], "__init__"),
    (Pattern(pattern=r"label=(\w+)"), "a", Given("label=B"), ["a", "b"], "b"),
    (Choice(), "A", Given("The answer is (C)."), ["A", "B", "C"], "C"),
    (Choice(), "red", Given("blue"), ["A", "B", "C"], "C"),
    (Choices(), "A, C", Given("B and A"), ["A, C", "A, B"], "A, B"),
    (CalledTool(name_only=True), CALL, Given("", (ToolCall(None, "send", "{}"),)), ["look_up", "send"], "send"),
]


@pytest.mark.parametrize(("scorer", "target", "answer", "labels", "read"), CASES)
def test_a_label_is_read_as_the_scorer_compares_it(
    scorer: Scorer, target: Any, answer: Given, labels: list[str], read: str | None
) -> None:
    choices = OPTIONS if isinstance(scorer, Choice | Choices) else ()
    sample = Sample("s", "q", target, choices)
    assert scorer.reads == "label"
    targets = [{"name": label} if isinstance(scorer, CalledTool) else label for label in labels]
    known = [scorer.right_labels(scorer.target_of(Sample("s", "q", one, choices)))[0] for one in targets]
    given = score(scorer, answer, sample)
    assert given.extracted is not None
    assert scorer.label_read(given.extracted, known) == read


def test_what_is_not_compared_with_a_target_is_not_a_label() -> None:
    no_labels: list[Scorer] = [
        Match(at="any"), Includes(), Pattern(pattern="yes"), Pattern(pattern="(yes)", use_group=False), CalledTool(),
    ]  # fmt: skip
    assert all(scorer.reads is None for scorer in no_labels)


def test_every_scorer_of_labels_is_tried() -> None:
    makes_labels = {kind for kind in get_args(Kind) if "right_labels" in vars(kind)}
    assert makes_labels == {type(scorer) for scorer, *_ in CASES}
