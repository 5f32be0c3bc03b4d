"""What an answer that says a target may look like."""

import contextlib
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from workbench.records.calls import Sample, ToolCall
from workbench.scoring.choice import right_letters
from workbench.scoring.given import Given
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.scorers import score
from workbench.scoring.targets import targets_of
from workbench.scoring.tool_call import CalledTool
from workbench.scoring.tool_calls import AcceptedCall, CalledTools

_SHAPES = ("{}", "The answer is {}.", "Answer: {}", "ANSWER: {}")


def right_answer(sample: Sample, scorer: Scorer) -> Given | None:
    """Return the plainest answer that a scorer takes for right, or else the one that it likes best; None where it likes none."""
    best: tuple[float, Given] | None = None
    most = 1.0 if scorer.ends is None else scorer.ends[1]
    try:
        for answer in itertools.chain(_by_letter(sample), right_answers(sample, (scorer,))):
            value = score(scorer, answer, sample).value
            if value is not None and value >= most:
                return answer
            if value is not None and (best is None or value > best[0]):
                best = value, answer
    except Exception:  # whatever is wrong with a target, its answers are unscored
        return None
    return None if best is None else best[1]


def _by_letter(sample: Sample) -> Iterator[Given]:
    """Return the letters of the right options, which other questions with other options have too."""
    if sample.choices and sample.target is not None:
        with contextlib.suppress(CannotJudgeError):
            yield Given(", ".join(right_letters(sample)))


def right_answers(sample: Sample, scorers: Sequence[Scorer]) -> Iterator[Given]:
    """Return what may be right for a sample by some scorers, the plainest first; nothing where it has no target."""
    if sample.target is None:
        return
    for scorer in scorers:
        if calls := _calls(scorer, sample):
            yield Given("", calls)
    targets = list(_checked(sample.target)) or [sample.target]
    for target in targets:
        for text in _texts(msgspec.structs.replace(sample, target=target)):
            yield from (Given(shape.format(text)) for shape in _SHAPES)
        yield Given(json.dumps(target, ensure_ascii=False, default=str))


def _texts(sample: Sample) -> Iterator[str]:
    """Return a target as text: as it stands, its letter among options, and all that are accepted in one line."""
    texts = targets_of(sample) if not isinstance(sample.target, dict) else []
    yield from texts[:1]
    if sample.choices and texts:
        try:
            letters = right_letters(sample)
        except CannotJudgeError:
            return
        yield letters[0]
        yield ", ".join(letters)
    elif len(texts) > 1:
        yield ", ".join(texts)


def _checked(target: Any) -> Iterator[Any]:
    """Return the targets within one that says itself how it is scored."""
    for entry in target if isinstance(target, list | tuple) else [target]:
        if isinstance(entry, dict) and "scorer" in entry and entry.get("target") is not None:
            yield entry["target"]


def _calls(scorer: Scorer, sample: Sample) -> tuple[ToolCall, ...]:
    """Return the tool calls that a scorer wants of a sample; none where it looks at something else."""
    try:
        if isinstance(scorer, CalledTool):
            wanted = scorer.target_of(sample)
            return (ToolCall(None, wanted.name, json.dumps(wanted.arguments, ensure_ascii=False)),)
        if isinstance(scorer, CalledTools):
            return tuple(
                ToolCall(None, call.name, json.dumps(_first_accepted(call))) for call in scorer.target_of(sample)
            )
    except CannotJudgeError:
        pass
    return ()


def _first_accepted(call: AcceptedCall) -> dict[str, Any]:
    """Of every parameter that may not be left out the first value that is accepted."""
    if not call.nested_lists_are_alternatives:
        return {name: values[0] for name, values in call.accepted.items()}
    return {name: _plain(values[0]) for name, values in call.accepted.items() if values and "" not in values}


def _plain(value: Any) -> Any:
    """Return an accepted value; an object in it has lists of values as well."""
    if not isinstance(value, dict):
        return value
    return {
        name: _plain(inner[0] if isinstance(inner, list) and inner else inner)
        for name, inner in value.items()
        if not (isinstance(inner, list) and "" in inner)
    }
