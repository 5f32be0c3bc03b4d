"""Scores of recorded answers, for the first time or again: no model is called, and an unchanged score is not written."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from workbench.job.file import cluster_column
from workbench.ledger.entries import ReferenceScored, newer_than, score_entry
from workbench.ledger.ingest import Ingested, ingest, record
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import Reader, reading
from workbench.ledger.rows import AnsweringRun, CurrentScore, Provenance, ScorableAnswer, UncountedAnswer
from workbench.ledger.score_rows import CorrectedTarget, ReferenceRow, RunSampleKey, RunScorer, SampleText
from workbench.ledger.store import Ledger
from workbench.records.calls import Sample, SampleContent, Score, ToolCall
from workbench.records.outcomes import EFFECTS, Outcome
from workbench.scoring.given import Given
from workbench.scoring.judge import NOT_COUNTED, PENDING
from workbench.scoring.reference import MOST_SAMPLES, ReferenceScores, column_scores, reference_scores
from workbench.scoring.scorer import Scorer
from workbench.scoring.scorers import recorded_scorer, score, without_use

_ANSWERS_AT_ONCE = 2_000
_BYTES_AT_ONCE = 2**24  # of answers: so that a few long ones do not fill the memory
_ANSWERS_A_FILE = 20_000
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class DatasetColumns(NamedTuple):
    """The columns of a dataset that are reference points."""

    samples: Mapping[str, Sample] | None
    """By their keys in the ledger, as the dataset has them now; None: as the ledger has them, which keeps a sample as it was
    first seen.
    """
    reference: Mapping[str, str]
    """Name -> column."""
    second_target: str | None


def rescore(
    ledger: Ledger, run_id: str, scorers: Sequence[Scorer], columns: DatasetColumns | None = None
) -> tuple[int, Ingested]:
    """Score every answer of a run, and what is known without a model, for the first time or again; keep what is new or different.

    Args:
        columns: Those that are reference points; None: as they are recorded, for the dataset is not at hand.

    Returns:
        How many scores were written, and how the ingest went.
    """
    if not scorers:
        return 0, Ingested()
    configured = [(scorer, (scorer.named, scorer.settings)) for scorer in scorers]
    written = 0
    with (
        contextlib.closing(JournalWriter(ledger.journal_folder, in_flight=0)) as journal,
        reading(ledger, frugal=True) as reader,
    ):
        before = reader.all(CurrentScore, run_id=run_id)
        known = {(old.request_key, old.scorer, old.scorer_config): old for old in before}
        corrected_at = _corrected_at(reader, run_id, scorers)
        uncounted = _uncounted(reader, run_id, scorers)
        recorded_at = newer_than([*(old.recorded_at for old in before), *corrected_at.values()])
        samples: dict[str, Sample] = {}
        for count, answer in enumerate(scorable_answers(reader, run_id)):
            sample = msgspec.json.decode(answer.sample or "{}", type=SampleContent).sample(answer.sample_id)
            if len(samples) < MOST_SAMPLES:
                samples.setdefault(answer.sample_key, sample)
            for scorer, name in configured:
                old = known.get((answer.request_key, *name))
                if old and scorer.asks_a_model and _stands(old, corrected_at.get(answer.sample_key, _LONG_AGO)):
                    continue
                verdict = _judged(answer, scorer, sample, counts=answer.request_key not in uncounted)
                if old is None or Score(old.value, old.reason, old.extracted) != verdict:
                    journal.append(score_entry(run_id, answer.request_key, name, recorded_at, verdict))
                    written += 1
            if count % _ANSWERS_AT_ONCE == 0:
                journal.flush()
            if count % _ANSWERS_A_FILE == _ANSWERS_A_FILE - 1:
                journal.rotate()  # the ingest takes a file at a time
        references = _recorded_references(reader, run_id, scorers, columns, samples)
        for entry in references:
            journal.append(entry)
    return written, ingest(ledger, whole=journal.whole) if written or references else Ingested()


def score_references(ledger: Ledger, run_id: str) -> Ingested:
    """Score again what is known without a model, on the samples of a run that count now."""
    with reading(ledger, frugal=True) as reader:
        scorers = [recorded_scorer(row.scorer_config) for row in reader.all(RunScorer, run_ids=[run_id])]
        keys = {row.content_key: row for row in reader.all(RunSampleKey, run_id=run_id)}
        first = sorted(keys)[:MOST_SAMPLES]
        texts = {row.sample_key: row.sample for row in reader.all(SampleText, keys=first)}
        decoder = msgspec.json.Decoder(SampleContent)
        samples = {
            keys[key].scored_key: decoder.decode(text).sample(keys[key].sample_id) for key, text in texts.items()
        }
        known = [scorer for scorer in scorers if scorer is not None]
        found = _recorded_references(reader, run_id, known, None, samples)
    return record(ledger, found) if found else Ingested()


def _stands(old: CurrentScore, corrected_at: datetime) -> bool:
    """Return whether a judge was heard, by the target of now."""
    return old.reason not in (PENDING, NOT_COUNTED) and old.recorded_at > corrected_at


def _uncounted(reader: Reader, run_id: str, scorers: Sequence[Scorer]) -> set[str]:
    """Return the requests whose answers count in no mean: what a judge would say of them is paid for and seen nowhere."""
    if not any(scorer.asks_a_model for scorer in scorers):
        return set()
    return {row.request_key for row in reader.all(UncountedAnswer, run_id=run_id)}


def _corrected_at(reader: Reader, run_id: str, scorers: Sequence[Scorer]) -> dict[str, datetime]:
    """Return when targets were corrected, by sample: what a judge had said by the wrong one is to be judged again."""
    if not any(scorer.asks_a_model for scorer in scorers):
        return {}
    return {row.sample_key: row.recorded_at for row in reader.all(CorrectedTarget, run_id=run_id)}


def _recorded_references(
    reader: Reader,
    run_id: str,
    scorers: Sequence[Scorer],
    columns: DatasetColumns | None,
    samples: Mapping[str, Sample],
) -> list[ReferenceScored]:
    """Return what scores without a model on some samples, where that is not what the ledger has."""
    taken_out = {row.scored_key for row in reader.all(RunSampleKey, run_id=run_id) if row.invalid}
    # by their keys, as a plan has them: of many targets some are tried and drawn, and answers come in another order each time
    all_of_them = dict(sorted(samples.items()))
    counted = {key: sample for key, sample in all_of_them.items() if key not in taken_out}
    asked = _AskedSamples(all_of_them, counted, cluster_column(reader.only(Provenance, run_id=run_id).job_toml))
    return list(_references(run_id, asked, scorers, columns, reader.all(ReferenceRow, run_ids=[run_id])))


class _AskedSamples(NamedTuple):
    """What a run asked."""

    samples: dict[str, Sample]
    counted: dict[str, Sample]
    """Those that were not taken out: a constant is chosen by them. A column's scores are left out when they are read."""
    cluster: str | None
    """The column that its job names as that of the clusters."""


def _references(
    run_id: str,
    asked: _AskedSamples,
    scorers: Sequence[Scorer],
    columns: DatasetColumns | None,
    before: Sequence[ReferenceRow],
) -> Iterator[ReferenceScored]:
    """Return what scores without a model, of the scorers for which that is not what the ledger has."""
    now = newer_than(old.recorded_at for old in before)
    for scorer in scorers:
        held = [_held(row, now) for row in before if row.scorer == scorer.named]
        found = [_entry(run_id, now, scorer, one) for one in reference_scores(asked.counted, scorer, asked.cluster)]
        if columns is None:
            found += [one for one in held if one.reference in ("column", "people")]
        else:
            now_there = asked.samples if columns.samples is None else columns.samples
            own = {key: sample for key, sample in now_there.items() if key in asked.samples}
            found += [
                _entry(run_id, now, scorer, one)
                for one in column_scores(own, scorer, columns.reference, columns.second_target)
            ]
        if not found and held:  # a row all the same: the newest ones of a scorer count
            found = [ReferenceScored(run_id, now, scorer.named, "none", "", [], [])]
        if _by_name(found) != _by_name(held):
            yield from found


def _by_name(entries: Sequence[ReferenceScored]) -> dict[tuple[str, str], ReferenceScored]:
    return {(one.reference, one.column_name): one for one in entries}


def _held(row: ReferenceRow, at: datetime) -> ReferenceScored:
    values = {name: getattr(row, name) for name in ReferenceScored.__struct_fields__}
    return ReferenceScored(**values | {"recorded_at": at})


def _entry(run_id: str, now: datetime, scorer: Scorer, found: ReferenceScores) -> ReferenceScored:
    keys = sorted(found.values)  # the same however the samples were read
    values, texts = [found.values[key] for key in keys], [found.texts[key] for key in keys] if found.texts else None
    return ReferenceScored(run_id, now, scorer.named, found.reference, found.column, keys, values, found.answer, texts)


def scorable_answers(reader: Reader, run_id: str) -> Iterator[ScorableAnswer]:
    """Yield the answers that a run uses, with their samples, some at a time in memory.

    Cut off, empty and refused ones are among them: their score says why there is none.
    """
    for paid in reader.all(AnsweringRun, run_id=run_id):
        at_once = min(_ANSWERS_AT_ONCE, max(1, _BYTES_AT_ONCE // max(1, paid.longest_bytes)))
        for first in range(paid.first_call_no, paid.last_call_no + 1, at_once):
            yield from reader.all(
                ScorableAnswer,
                run_id=run_id,
                answer_run_id=paid.answer_run_id,
                first_call_no=first,
                end_call_no=first + at_once,
            )


def _judged(answer: ScorableAnswer, scorer: Scorer, sample: Sample, *, counts: bool) -> Score:
    refused = EFFECTS[Outcome(answer.outcome)].ends == "refused"
    if not answer.scorable and not refused:
        return without_use(scorer, sample, answer.outcome.replace("_", " "))
    calls = [ToolCall(None, call["name"], call["arguments"]) for call in answer.tool_calls or []]
    given = Given(
        text=answer.answer or "",
        calls=calls,
        latency_ms=answer.latency_ms,
        completion_tokens=answer.completion_tokens,
        total_tokens=answer.total_tokens,
        requested_model=answer.requested_model,
        served_model=answer.served_model,
        refused=refused,
    )
    found = score(scorer, given, sample)
    return found if counts or found.reason != PENDING else Score(None, NOT_COUNTED)
