"""A comparison within parts of the dataset: the samples that share a value of one of their further columns."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from workbench.errors import Fault, InputError, nearest
from workbench.evaluation.sides import Difference, ModelResult, Pairs, Samples, differences_within, of_samples
from workbench.ledger.score_rows import SideSample
from workbench.stats.intervals import Interval, mean_intervals

MOST_VALUES = 12
"""A column with more values is not offered as slices; one that is named may have `MOST_NAMED_VALUES`."""
MOST_NAMED_VALUES = 60
MOST_COLUMNS = 6
NOT_GIVEN = "(not given)"

Metadata = Mapping[str, Mapping[str, Any]]
"""Sample key -> its further columns."""


class SliceScore(msgspec.Struct, frozen=True):
    """One side's scores in a slice."""

    run_id: str
    model: str
    scored: int
    mean_of_scored: float | None
    interval: Interval | None
    """Of the mean over what was asked; None where nothing is known."""


class Slice(msgspec.Struct, frozen=True):
    """The samples with one value of a column."""

    column: str
    value: str
    samples: list[str]
    """Their keys."""
    scores: list[SliceScore]
    differences: list[Difference]
    """As of the whole comparison; p-values are adjusted for all values of the column and all pairs of sides."""


class Parted(NamedTuple):
    """What is compared within parts of the dataset."""

    metadata: Metadata
    """Of the samples of all sides."""
    sides: Sequence[ModelResult]
    pairs: Pairs
    family: Pairs
    """Further pairs that p-values are adjusted for as well."""
    samples: Samples
    are_shares: bool
    """Whether all scores are from 0 to 1."""


def slices_of(of: Parted) -> list[Slice]:
    """Return every column that takes few values, sliced."""
    metadata = of.metadata
    columns = dict.fromkeys(name for row in metadata.values() for name in row)
    parted = ((column, _parts(metadata, column)) for column in columns)
    few = [
        (column, parts) for column, parts in parted if 2 <= len(parts) <= min(MOST_VALUES, max(2, len(metadata) // 2))
    ]
    return [found for column, parts in few[:MOST_COLUMNS] for found in _sliced(column, parts, of)]


def sliced_by(column: str, of: Parted) -> list[Slice]:
    """Return one column, sliced, though it has many values.

    Raises:
        InputError: No sample has the column, or it has too many values.
    """
    columns = dict.fromkeys(name for row in of.metadata.values() for name in row)
    if column not in columns:
        known = f"there are: {', '.join(columns)}" if columns else "the samples have no further columns"
        raise InputError(Fault("--by", f"no sample has a column {column!r}", nearest(column, columns) or known))
    parts = _parts(of.metadata, column)
    if len(parts) > MOST_NAMED_VALUES:
        hint = f"a column with at most {MOST_NAMED_VALUES} of them has samples enough in each"
        raise InputError(Fault("--by", f"{column!r} has {len(parts)} values", hint))
    return list(_sliced(column, parts, of))


def _parts(metadata: Metadata, column: str) -> dict[str, set[str]]:
    """Value -> the samples that have it; a sample with a list of values belongs to each of them."""
    parts: dict[str, set[str]] = {}
    for key, row in metadata.items():
        for value in _values(row.get(column)):
            parts.setdefault(value, set()).add(key)
    return dict(sorted(parts.items(), key=lambda part: (part[0] == NOT_GIVEN, part[0])))


def _values(value: Any) -> list[str]:
    if value is None or value == "":
        return [NOT_GIVEN]
    if isinstance(value, list):
        return [text for one in value for text in _values(one)] or [NOT_GIVEN]
    return [value if isinstance(value, str) else msgspec.json.encode(value).decode()]


def _sliced(column: str, parts: Mapping[str, set[str]], of: Parted) -> Iterator[Slice]:
    sides = of.sides
    within = [
        {side: [row for row in rows if row.sample_key in keys] for side, rows in of.samples.items()}
        for keys in parts.values()
    ]
    tested = differences_within(of.pairs, within, are_shares=of.are_shares, family=of.family)
    # at once: each by itself takes 1.6 ms where there are more values than two
    intervals = iter(mean_intervals([of_samples(part[side.key]) for part in within for side in sides]))
    for (value, keys), part, found in zip(parts.items(), within, tested, strict=True):
        scores = [_score(side, part[side.key], next(intervals)) for side in sides]
        yield Slice(column, value, sorted(keys), scores, found)


def _score(side: ModelResult, rows: Sequence[SideSample], interval: Interval | None) -> SliceScore:
    scored = [row.of_scored for row in rows if row.of_scored is not None]
    mean = math.fsum(scored) / len(scored) if scored else None
    return SliceScore(side.run_id, side.model, len(scored), mean, interval)
