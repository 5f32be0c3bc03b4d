"""How far the numbers in a run's answers agree with the targets, where these are a scale such as grades."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from workbench.evaluation.sides import least_answered
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.score_rows import ReferenceRow, RunNumber, RunScorer
from workbench.stats.agreement import Agreement, agreement

_MOST_LEVELS = 25
"""More different targets are no scale: an outlier decides then."""
_LEAST_SAMPLES = 10


class SideAgreement(msgspec.Struct, frozen=True):
    """How far one model, or a second annotator, agrees with the targets."""

    name: str
    """Of the model and its variant, or of the annotator's column."""
    is_people: bool
    asked: int
    """Answers that were asked for, or samples; `found.n` of them have a number that counts."""
    found: Agreement
    is_ranked: bool
    """Whether enough of them have one: what is left out may be what is hard."""


class RunAgreement(msgspec.Struct, frozen=True):
    """The agreement of everybody in a run with its targets."""

    scorer: str
    """By which the numbers were read."""
    sides: list[SideAgreement]
    """The nearest first, by weighted kappa; after them those that are not ranked, and people."""


def run_agreement(reader: Reader, run: Provenance) -> RunAgreement | None:
    """Return how far the answers of a run agree with its targets; None where it has no scorer of numbers, or no scale.

    Answers without a number that counts are left out, and counted.
    """
    scorers = [row.scorer for row in reader.all(RunScorer, run_ids=[run.run_id]) if _reads_numbers(row)]
    if not scorers:
        return None
    rows = reader.all(RunNumber, run_id=run.run_id, scorer=scorers[0])
    targets = {row.sample_key: number for row in rows if (number := _number(row.target)) is not None}
    if len(targets) < _LEAST_SAMPLES or not _is_scale(list(targets.values())):
        return None
    sides: dict[str, list[RunNumber]] = {}
    for row in rows:
        sides.setdefault(row.side, []).append(row)
    least = least_answered([run])
    found = [_agreement(name, ((row, row.given) for row in own), targets, least) for name, own in sides.items()]
    samples = {row.sample_key: row for row in rows}
    for one in reader.all(ReferenceRow, run_ids=[run.run_id]):
        if one.reference == "people" and one.scorer == scorers[0]:
            said = zip(one.sample_keys, one.sample_texts or (), strict=False)
            given = [(samples[key], text) for key, text in said if key in samples]
            found.append(_agreement(one.column_name, given, targets, least, is_people=True))
    known = [one for one in found if one is not None]
    return RunAgreement(scorers[0], sorted(known, key=_by_kappa)) if known else None


def _by_kappa(one: SideAgreement) -> tuple[bool, bool, float]:
    kappa = one.found.weighted_kappa
    return one.is_people, not one.is_ranked, math.inf if kappa is None else -kappa.value


def _reads_numbers(row: RunScorer) -> bool:
    config: dict[str, Any] = msgspec.json.decode(row.scorer_config)
    return config.get("name") == "numeric"


def _is_scale(targets: Sequence[float]) -> bool:
    levels = len(set(targets))
    return 1 < levels <= _MOST_LEVELS and 2 * levels <= len(targets)


def _agreement(
    name: str,
    given: Iterable[tuple[RunNumber, str | None]],
    targets: dict[str, float],
    least: float,
    *,
    is_people: bool = False,
) -> SideAgreement | None:
    asked = [(row, _number(text)) for row, text in given if row.sample_key in targets]
    known = [(row, number) for row, number in asked if number is not None]
    if not known:
        return None
    found = agreement(
        [number for _, number in known],
        [targets[row.sample_key] for row, _ in known],
        [row.cluster or row.sample_key for row, _ in known],
    )
    return SideAgreement(name, is_people, len(asked), found, found.n >= least * len(asked))


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None
