"""The scorers: 1 is right, 0 is wrong, and what cannot be judged is unscored, never 0.

Each is a module with two functions: `target_of` reads what is right from a sample, or says that it cannot judge by it, and
`score` compares an answer with that. A scorer's options, with their descriptions, are its table in `job_file`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from workbench.job_file import CalledTool, Choice, Exact, Includes, JsonFields, Numeric, Pattern, ScorerTable
from workbench.records import Sample, Score, ToolCall
from workbench.scoring import choice, exact, includes, json_fields, numeric, pattern, tool_call
from workbench.scoring.given import Given
from workbench.scoring.targets import CannotJudgeError


class Scorer(NamedTuple):
    """One way to score answers."""

    target_of: Callable[[Any, Sample], Any]
    score: Callable[[Any, Given, Any], Score]
    needs_text: bool = True
    """Whether an answer without text is left unscored."""


SCORERS: dict[type[ScorerTable], Scorer] = {
    Exact: Scorer(exact.target_of, exact.score),
    Includes: Scorer(includes.target_of, includes.score),
    Pattern: Scorer(pattern.target_of, pattern.score),
    Numeric: Scorer(numeric.target_of, numeric.score),
    Choice: Scorer(choice.target_of, choice.score),
    JsonFields: Scorer(json_fields.target_of, json_fields.score),
    CalledTool: Scorer(tool_call.target_of, tool_call.score, needs_text=False),
}


def score(table: ScorerTable, answer: str | None, sample: Sample, calls: Sequence[ToolCall] = ()) -> Score:
    """Judge one answer; a scorer that breaks leaves it unscored and says how.

    Args:
        table: Which scorer, with its options.
        answer: The text; None or empty (a tool call alone, for one) is unscored by what needs text.
        sample: Brings the target.
        calls: The tools that the answer calls, in its order.
    """
    scorer, text = SCORERS[type(table)], answer or ""
    if scorer.needs_text and not text.strip():
        return Score(None, "no text to score")
    try:
        return scorer.score(table, Given(text, calls), scorer.target_of(table, sample))
    except CannotJudgeError as error:
        return Score(None, str(error))
    except Exception as error:  # a crash in a scorer must not lose the answers it was given
        return Score(None, f"the scorer failed: {type(error).__name__}: {error}")


def judges(table: ScorerTable, sample: Sample) -> bool:
    """Whether a sample has the kind of target that a scorer needs, so that an answer to it can be judged at all."""
    try:
        SCORERS[type(table)].target_of(table, sample)
    except CannotJudgeError:
        return False
    return True
