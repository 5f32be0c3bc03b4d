"""The samples behind a difference, with what each side answered."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from workbench.evaluation.attention import ANOTHER
from workbench.evaluation.comparison import ComparisonInput
from workbench.evaluation.sides import Difference, Samples, why_unscored
from workbench.ledger.queries import Reader
from workbench.ledger.score_rows import SampleText, SideAnswer, SideSample
from workbench.scoring.scorer import grade

MOST_CHARS = 4_000
"""Of an answer or a prompt; the whole is in the ledger."""

SampleGroup = Literal["worse", "better", "same", "not comparable"]


class AskedSample(msgspec.Struct, frozen=True):
    """A sample as it was asked."""

    sample_id: str
    asked: str
    target: str


class SampleAnswer(msgspec.Struct, frozen=True):
    """What one side answered to a sample, in one epoch."""

    epoch: int
    text: str
    value: float | None
    reason: str
    scale: list[float] | None = None
    """The least and the most that the value may be; None: nothing says so."""

    @property
    def grade(self) -> Literal["right", "partly", "wrong", "unknown"]:
        """Whether the value is at the top of its scale or at its bottom."""
        return "unknown" if self.value is None else grade(self.value, self.scale)


class Texts(msgspec.Struct, frozen=True):
    """Samples and what was answered to them."""

    samples: dict[str, AskedSample]
    """By sample key."""
    answers: dict[tuple[str, str, str], list[SampleAnswer]]
    """By run, model and sample key, an entry an epoch."""


def samples_by_kind(difference: Difference, samples: Samples) -> dict[SampleGroup, list[str]]:
    """Return the keys of all samples of two sides by how they differ."""
    sides = [samples[side.key] for side in (difference.side, difference.baseline)]
    scored = [{row.sample_key for row in rows if row.value is not None} for rows in sides]
    shared, everything = scored[0] & scored[1], dict.fromkeys(row.sample_key for rows in sides for row in rows)
    apart = {*difference.better, *difference.worse}
    return {
        "worse": difference.worse,
        "better": difference.better,
        "same": [key for key in everything if key in shared and key not in apart],
        "not comparable": [key for key in everything if key not in shared],
    }


def texts_of(reader: Reader, material: ComparisonInput, keys: Iterable[str]) -> Texts:
    """Return the answers of all sides to some samples."""
    wanted = sorted(set(keys))
    rows = {(side, row.sample_key): row for side, found in material.samples.items() for row in found}
    names: dict[str, str] = {row.sample_key: row.sample_id for row in rows.values()}
    samples = {}
    run_ids = [run.run_id for run in material.runs]
    about = reader.about(*run_ids)
    for text in about.all(SampleText, keys=wanted):
        content, key = msgspec.json.decode(text.sample), text.sample_key
        samples[key] = AskedSample(names.get(key, key), _text(content.get("input")), _text(content.get("target")))
    answers: dict[tuple[str, str, str], list[SampleAnswer]] = {}
    parameters = {"run_ids": run_ids, "sample_keys": wanted, "scorer": material.scorer, "most_chars": MOST_CHARS}
    for row in about.all(SideAnswer, **parameters):
        answers.setdefault((row.run_id, row.model, row.sample_key), []).append(
            _answer_of(row, rows.get(((row.run_id, row.model), row.sample_key)), material.on_fallback)
        )
    return Texts(samples, answers)


def _answer_of(row: SideAnswer, sample: SideSample | None, on_fallback: str) -> SampleAnswer:
    text = row.answer or ""
    if row.identity in ANOTHER and on_fallback == "exclude":
        return SampleAnswer(row.epoch, text, None, f"left out: {row.served_model} answered")
    if row.reason is not None:
        return SampleAnswer(row.epoch, text, row.value, row.reason, row.scale)
    ended = (row.outcome or "no answer yet").replace("_", " ")
    return SampleAnswer(row.epoch, text, None, why_unscored(sample) if row.scorable else ended)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else msgspec.json.encode(value).decode()
    return text[:MOST_CHARS]
