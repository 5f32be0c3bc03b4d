"""A run's samples whole, however long their texts are, a window of them in memory at a time; and how each ended."""

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from workbench.ledger.answer_rows import CallTexts, RunAttempt, RunSample, SaidScore, WholeSample
from workbench.ledger.queries import LedgerMemoryError, Reader
from workbench.ledger.score_rows import SampleText
from workbench.records.outcomes import EFFECTS, Outcome
from workbench.scoring.judge import is_pending
from workbench.scoring.scorer import grade

_WINDOW = 500


def run_samples(reader: Reader, run_id: str, most: int) -> Iterator[WholeSample]:
    """Return a run's requests with their texts, in the order of the run."""
    lines = reader.each(RunSample, run_id=run_id, most=most)
    while window := list(islice(lines, _WINDOW)):
        yield from _whole(reader, window)


def _whole(reader: Reader, window: list[RunSample]) -> Iterator[WholeSample]:
    """Return the window's requests with their texts; by halves where they are too long to be read at once."""
    try:
        rows = _with_texts(reader, window)
    except LedgerMemoryError:
        if len(window) == 1:
            raise
        middle = len(window) // 2
        yield from _whole(reader, window[:middle])
        yield from _whole(reader, window[middle:])
    else:
        yield from rows


def _with_texts(reader: Reader, window: list[RunSample]) -> list[WholeSample]:
    several = [line.request_key for line in window if line.attempts > 1]
    attempts: dict[str, list[RunAttempt]] = {}
    for one in reader.all(RunAttempt, run_id=window[0].run_id, request_keys=several) if several else ():
        attempts.setdefault(one.request_key, []).append(one)
    calls: dict[str, list[int]] = {}
    for line in window:
        calls.setdefault(line.answer_run_id, []).append(line.answer_call_no)
    answered: dict[tuple[str, int], CallTexts] = {}
    for run_id, numbers in calls.items():
        bounds = {"first_call_no": min(numbers), "last_call_no": max(numbers), "call_nos": sorted(set(numbers))}
        answered |= {(run_id, texts.call_no): texts for texts in reader.all(CallTexts, run_id=run_id, **bounds)}
    content_keys = sorted({line.content_key for line in window})
    samples = {found.sample_key: found.sample for found in reader.all(SampleText, keys=content_keys)}
    whole = []
    for line in window:
        texts = answered[line.answer_run_id, line.answer_call_no]
        whole.append(
            WholeSample(
                *msgspec.structs.astuple(line),
                answer=texts.answer,
                reasoning=texts.reasoning,
                raw=texts.raw,
                error_text=texts.error_text,
                tool_calls=texts.tool_calls,
                body=texts.body,
                sample=samples.get(line.content_key),
                attempted=attempts.get(line.request_key, []),
            )
        )
    return whole


def without_texts(rows: Iterable[WholeSample]) -> Iterator[WholeSample]:
    """Return requests without what was asked, answered or right: how each ended and what it scored is left."""
    for row in rows:
        scores = [score | {"reason": "", "extracted": None} for score in row.scores or []]
        yield msgspec.structs.replace(
            row, answer=None, reasoning=None, raw=None, error_text=None, tool_calls=None, body=None, sample=None,
            attempted=[], scores=scores,
        )  # fmt: skip


def mark(row: WholeSample, judged: SaidScore | None) -> str:
    """Return how a request ended, for the table of samples: right, wrong, partly, answered, pending, unread,
    left out, cut off, refused, failed.

    Args:
        judged: Its score by the first scorer of the run.
    """
    if row.outcome is None:
        return "no end"
    if not row.accepted:
        return "failed"
    if ends := EFFECTS[Outcome(row.outcome)].ends:
        return "cut off" if ends == "cut_off" else "refused"
    if not row.counts:
        return "left out"
    if judged is None:
        return "answered"
    if judged["value"] is None:
        return "pending" if is_pending(judged["reason"]) else "unread"
    return grade(judged["value"], judged["scale"])
