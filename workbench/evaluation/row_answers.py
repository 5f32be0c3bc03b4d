"""What each row of a filled sheet gets: its answer, its scores, and what keeps either from counting."""

from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from workbench.evaluation.attention import ANOTHER
from workbench.evaluation.exports import scored_answers
from workbench.ledger.answer_rows import RecordedAnswer
from workbench.ledger.queries import Reader
from workbench.ledger.score_rows import AnswerScore
from workbench.records.outcomes import EFFECTS, Outcome
from workbench.scoring.judge import Judge, is_pending
from workbench.scoring.scorer import Scorer
from workbench.scoring.scorers import NOTHING_TO_JUDGE_BY

Kind = Literal[
    "failed", "another model", "cut off", "refused", "filtered", "empty", "taken out", "pending judgement", "not scored",
    "not asked yet", "changed", "shortened", "characters replaced",
]  # fmt: skip
_ENDS: dict[str, Kind] = {"cut_off": "cut off", "refused": "refused", "filtered": "filtered", "empty": "empty"}


class Flag(msgspec.Struct, frozen=True):
    """Why a row has no answer, or no score that counts."""

    kind: Kind
    detail: str = ""
    """The outcome, the other model, or the scorer and what it says."""


class RowAnswer(msgspec.Struct, frozen=True):
    """What a row gets."""

    answer: str | None = None
    """Its text, or its tool calls as JSON."""
    scores: dict[str, float | None] = {}
    """By scorer; None where there is none that counts."""
    reasons: dict[str, str | None] = {}
    """Of the judges among the scorers."""
    flags: tuple[Flag, ...] = ()


def row_answers(
    reader: Reader, run_id: str, scorers: Sequence[Scorer], idle: Collection[str] = ()
) -> dict[str, RowAnswer]:
    """Return what the requests of a run give to their rows, by request key.

    Args:
        idle: Those that have a target in no row, of which no row lacks a score.
    """
    return {answer.request_key: _of_row(answer, said, scorers, idle) for answer, said in scored_answers(reader, run_id)}


def _of_row(
    answer: RecordedAnswer, said: dict[str, AnswerScore], scorers: Sequence[Scorer], idle: Collection[str]
) -> RowAnswer:
    text = answer.answer or (msgspec.json.encode(answer.tool_calls).decode() if answer.tool_calls else None)
    flags = _of_answer(answer, text)
    counted = {name: one.value if answer.counts else None for name, one in said.items()}
    if not flags:
        flags = [
            _of_score(scorer.named, said.get(scorer.named))
            for scorer in scorers
            if counted.get(scorer.named) is None and scorer.named not in idle
        ]
    return RowAnswer(
        text if answer.accepted else None,
        {scorer.named: counted.get(scorer.named) for scorer in scorers},
        {one.named: said[one.named].reason for one in scorers if isinstance(one, Judge) and one.named in said},
        tuple(flags),
    )


def _of_answer(answer: RecordedAnswer, text: str | None) -> list[Flag]:
    """Return why an answer is none, or does not count."""
    if answer.outcome is None:
        return [Flag("not asked yet")]
    ends = _ENDS.get(EFFECTS[Outcome(answer.outcome)].ends)
    if not answer.accepted:
        return [Flag("failed", answer.outcome.replace("_", " ")) if ends is None else Flag(ends)]
    flags = [] if ends is None else [Flag(ends)]
    if text is None and not flags:
        flags.append(Flag("empty"))
    if not answer.counts:
        is_another = answer.identity in ANOTHER
        flags.append(Flag("another model", answer.served_model or "") if is_another else Flag("taken out"))
    return flags


def _of_score(name: str, score: AnswerScore | None) -> Flag:
    if score is None:
        return Flag("not scored", name)
    if is_pending(score.reason):
        return Flag("pending judgement", name)
    why = (score.reason or "").removeprefix(NOTHING_TO_JUDGE_BY)
    return Flag("not scored", f"{name}: {why}" if why else name)
