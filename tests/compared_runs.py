"""Runs whose models score as a test says."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import msgspec

from tests.conftest import Workbench
from tests.unit.ledger.ledger_rows import STARTED_AT, answer, intent, started
from workbench.ledger.entries import ModelSeen, RunEnded, SampleSeen, score_entry
from workbench.ledger.ingest import ingest
from workbench.ledger.journal import JournalWriter
from workbench.records.calls import Score
from workbench.records.outcomes import EFFECTS, Effects, Outcome

Values = Sequence[float | None]
_MOST_JOURNALS = 2


def ingest_journals(bench: Workbench, most: int = 0) -> None:
    """Ingest journals where there are more than so many: every command would read each of them again."""
    if len(bench.ledger.journals()) > most:
        assert not ingest(bench.ledger).deferred


@contextmanager
def one_journal(bench: Workbench) -> Iterator[JournalWriter]:
    """A journal for many runs, which is ingested at the end: to ingest one of each run takes some 60 ms a run."""
    journal = JournalWriter(bench.ledger.journal_folder)
    yield journal
    journal.close()
    assert not ingest(bench.ledger, whole=journal.whole).deferred


def record(
    bench: Workbench,
    run_id: str,
    values: Mapping[str, Values],
    *,
    served: Mapping[str, str] | None = None,
    listed: Mapping[str, str] | None = None,
    config: str = "{}",
    **more: Any,
) -> None:
    """Record a run whose models score so on samples 0, 1, 2 and so on; None is a sample without a score.

    With `variants` a side is `MODEL · VARIANT`.
    `served` names who answered for a model, `served_by` for a model and sample, and `listed` the base of a preset; `outcomes` and
    `reasons` say how an answer ended and why it has no score, and `tokens` what it took. With `journal`, of `one_journal`, it is written there.
    """
    clusters: Sequence[str] = more.pop("clusters", ())
    columns: Sequence[dict[str, Any]] = more.pop("metadata", ())
    latency_ms: Callable[[int, int], float] = more.pop("latency_ms", lambda place, _sample: 100.0 * (place + 1))
    said: str | Mapping[tuple[str, int], str] = more.pop("said", "answer {1} of {0}")
    extracted: Callable[[str, int], str | None] = more.pop("extracted", lambda _model, _sample: None)
    status: str = more.pop("status", "complete")
    apart: Mapping[tuple[str, int], str] = more.pop("served_by", {})
    outcomes: Mapping[tuple[str, int], Outcome] = more.pop("outcomes", {})
    reasons: Mapping[tuple[str, int], str] = more.pop("reasons", {})
    targets: Sequence[Any] = more.pop("targets", ())
    tokens: Mapping[tuple[str, int], int] = more.pop("tokens", {})
    journal: JournalWriter | None = more.pop("journal", None)
    writer = journal or JournalWriter(bench.ledger.journal_folder)
    at = STARTED_AT + timedelta(hours=int(run_id.strip("r")))
    writer.append(started(run_id, sum(map(len, values.values())), recorded_at=at, **more))
    parts = {side: _parts(side, more.get("variants")) for side in values}
    for model in {**{model: None for model, _ in parts.values()}, **(listed or {})}:
        base = (listed or {}).get(model)
        raw = msgspec.json.encode({"id": model, "info": {"base_model_id": base}} if base else {"id": model}).decode()
        writer.append(ModelSeen(run_id, at, model, base is not None, raw))
    for place, (model, scores) in enumerate(values.items()):
        for sample, value in enumerate(scores):
            number = 1 + place * 10_000 + sample
            metadata = {"cluster": clusters[sample]} if clusters else columns[sample] if columns else {}
            target = {"target": targets[sample]} if targets else {}
            content = msgspec.json.encode({"input": f"q{sample}", **target, "metadata": metadata}).decode()
            key = f"sample{sample}"
            own, variant = parts[model]
            asked = msgspec.structs.replace(
                intent(run_id, number), model=own, variant=variant, sample_id=str(sample), sample_key=key
            )
            writer.append(SampleSeen(key, content))
            writer.append(asked)
            ended = outcomes.get((model, sample), Outcome.OK)
            follows = EFFECTS[ended]
            writer.append(
                answer(run_id, number, model=own, sample_key=key, sent_at=at + timedelta(milliseconds=number), ended_at=at + timedelta(seconds=1, milliseconds=number),
                       served_model=apart.get((model, sample), (served or {}).get(model, own)),
                       latency_ms=latency_ms(place, sample), **_tokens(follows, place, tokens.get((model, sample))), answer=_said(said, model, sample),
                       outcome=str(ended), accepted=follows.accepted, scorable=follows.scorable, rerun=follows.rerun)
            )  # fmt: skip
            if follows.accepted:
                reason = reasons.get((model, sample), "r")
                scored = Score(value, reason, extracted(model, sample))
                writer.append(score_entry(run_id, asked.request_key, ("exact", config), at, scored))
    writer.append(RunEnded(run_id, at + timedelta(minutes=1), status, 0, 60.0))
    if journal is None:
        writer.close()
        ingest_journals(bench, _MOST_JOURNALS)


def _tokens(follows: Effects, place: int, taken: int | None) -> dict[str, int | None]:
    """Return the usage of a call beside what all have; one that failed says nothing of it."""
    if follows.drew != "yes":
        return dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"))
    return {"completion_tokens": 10 * (place + 1) if taken is None else taken}


def _parts(side: str, variants: Sequence[str] | None) -> tuple[str, str | None]:
    """Return the model and the variant of a side."""
    model, _, variant = side.partition(" · ") if variants else (side, "", "")
    return model, variant or None


def _said(said: str | Mapping[tuple[str, int], str], model: str, sample: int) -> str:
    if isinstance(said, str):
        return said.format(model, sample)
    return said.get((model, sample), f"answer {sample} of {model}")


class AskedEpoch(NamedTuple):
    """One request of a run: what was asked, how it ended, and its score by the scorer `exact`."""

    model: str
    sample: int
    epoch: int = 1
    value: float | None = None
    outcome: Outcome = Outcome.OK


def record_epochs(
    bench: Workbench, run_id: str, asked: Sequence[AskedEpoch], *, config: str = "{}", **more: Any
) -> None:
    """Record a run of these requests, each epoch of a sample by itself."""
    status: str = more.pop("status", "complete")
    at = STARTED_AT + timedelta(hours=int(run_id.strip("r")))
    writer = JournalWriter(bench.ledger.journal_folder)
    writer.append(started(run_id, len(asked), recorded_at=at, scorers=["exact"], **more))
    for number, one in enumerate(asked, 1):
        follows, key = EFFECTS[one.outcome], f"sample{one.sample}"
        sent = msgspec.structs.replace(
            intent(run_id, number), model=one.model, sample_id=str(one.sample), sample_key=key, epoch=one.epoch
        )
        writer.append(SampleSeen(key, msgspec.json.encode({"input": f"q{one.sample}"}).decode()))
        writer.append(sent)
        writer.append(
            answer(run_id, number, model=one.model, served_model=one.model, sample_key=key, epoch=one.epoch, outcome=str(one.outcome),
                   accepted=follows.accepted, scorable=follows.scorable, rerun=follows.rerun)
        )  # fmt: skip
        if follows.accepted or follows.ends:
            scored = Score(one.value, "r")
            writer.append(score_entry(run_id, sent.request_key, ("exact", config), at, scored))
    writer.append(RunEnded(run_id, at + timedelta(minutes=1), status, 0, 60.0))
    writer.close()
    ingest_journals(bench, _MOST_JOURNALS)
