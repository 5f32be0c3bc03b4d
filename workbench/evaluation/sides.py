"""A model of a run as one side of a comparison, and what a paired test shows of two of them."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from workbench.ledger.queries import Reader
from workbench.ledger.score_rows import SideFigures, SideSample
from workbench.stats.intervals import Interval, mean_interval, student
from workbench.stats.paired import LEVEL, Paired, holm, level_shown, paired

FEW_DIFFER = 10
"""Where fewer samples differ and no difference is shown, there were too few to say anything."""


class Side(msgspec.Struct, frozen=True):
    """One model of one run, with what it took."""

    run_id: str
    model: str
    asked: int
    """Requests: samples times epochs."""
    answered: int
    cut_off: int
    refused: int
    """Answers of no use to a scorer: their token limit ended them."""
    samples: int
    scored: int
    """Samples with a score that counts."""
    left_out: int
    """Samples whose only scores are of a fallback's answers, where those do not count."""
    unread: int
    """Answers that the scorer could not judge."""
    interval: Interval | None
    """Of the mean over what is scored; None where nothing is."""
    mean_of_asked: float | None
    """The same with every sample that is not scored taken for wrong; None where scores are not shares."""
    completion_tokens: float | None
    tokens_bounds: tuple[float, float] | None
    """The mean's interval."""
    p50_ms: float | None
    p50_bounds_ms: tuple[float, float] | None
    """The median's interval."""
    p90_ms: float | None
    fallbacks: int
    """Answers of another model than the one that was asked; see the view `call_identities`."""
    fallback_name: str | None
    """Who gave most of them."""
    unknown: int
    """Answers whose model cannot be told."""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The mean if all samples left out had been wrong, and if all had been right; None where none was left out."""
        if self.interval is None or not self.left_out or self.mean_of_asked is None:
            return None
        total, n = self.interval.mean * self.scored, self.scored + self.left_out
        return total / n, (total + self.left_out) / n


class Lost(msgspec.Struct, frozen=True):
    """Samples without a score on one of two sides, for one reason."""

    run_id: str
    model: str
    reason: str
    samples: int


class Difference(msgspec.Struct, frozen=True):
    """A side beside its baseline."""

    side: Side
    baseline: Side
    shared: int
    """Samples scored on both sides."""
    only_side: int
    only_baseline: int
    """Samples scored on one side alone."""
    found: Paired | None
    """None where no sample is shared."""
    adjusted_p: float | None
    """For all differences that are looked at together."""
    low: float | None
    high: float | None
    """At the confidence that makes the interval say the same as the adjusted decision."""
    detectable: float | None
    """What the decision could have shown, whatever the other differences are; None where nothing that is possible."""
    verdict: str
    """One of better, worse, none shown, too few, not comparable."""
    better: list[str] = []
    worse: list[str] = []
    """Sample keys."""
    lost: list[Lost] = []
    """Why samples of either side are not among the shared, where that was looked up (`lost_samples`)."""


Samples = dict[tuple[str, str], list[SideSample]]
"""(run id, model) -> its `side_samples` rows."""


class Sides(msgspec.Struct, frozen=True):
    """The models of some runs by one scorer."""

    sides: list[Side]
    samples: Samples
    are_shares: bool
    """Whether all scores are from 0 to 1, so that differences are points."""


def sides_of(
    reader: Reader, run_ids: Sequence[str], scorer: str, *, cluster: str = "cluster", on_fallback: str | None = None
) -> Sides:
    """Every model of some runs, in the order in which each was first asked.

    Args:
        reader: The ledger.
        run_ids: Whose.
        scorer: By whose scores.
        cluster: The metadata column that says which samples belong together.
        on_fallback: `exclude` or `accept`; None as each run's job says.
    """
    figures = reader.all(SideFigures, run_ids=list(run_ids), on_fallback=on_fallback)
    # also where every sample of a side was taken out: then `side_samples` has none of it
    samples: Samples = {(row.run_id, row.model): [] for row in figures}
    asked = {"run_ids": list(run_ids), "scorer": scorer, "cluster": cluster, "on_fallback": on_fallback}
    for row in reader.all(SideSample, **asked):
        samples[row.run_id, row.model].append(row)
    values = [row.value for rows in samples.values() for row in rows if row.value is not None]
    are_shares = all(0 <= value <= 1 for value in values)
    sides = [_side(row, samples[row.run_id, row.model], are_shares) for row in figures]
    return Sides(sides, samples, are_shares)


def _side(figures: SideFigures, samples: Sequence[SideSample], are_shares: bool) -> Side:
    values = [row.value for row in samples if row.value is not None]
    return Side(
        run_id=figures.run_id,
        model=figures.model,
        asked=figures.asked,
        answered=figures.answered,
        cut_off=figures.cut_off,
        refused=figures.refused,
        samples=len(samples),
        scored=len(values),
        left_out=sum(row.value is None and row.left_out > 0 for row in samples),
        unread=sum(row.unread for row in samples),
        interval=mean_interval(values) if values else None,
        mean_of_asked=sum(values) / len(samples) if values and are_shares else None,
        completion_tokens=figures.completion_tokens,
        tokens_bounds=_tokens_bounds(figures),
        p50_ms=figures.p50_ms,
        p50_bounds_ms=_bounds(figures.p50_low_ms, figures.p50_high_ms),
        p90_ms=figures.p90_ms,
        fallbacks=figures.fallbacks,
        fallback_name=figures.fallback_name,
        unknown=figures.unknown,
    )


def _bounds(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _tokens_bounds(figures: SideFigures) -> tuple[float, float] | None:
    n, mean = figures.tokens_known, figures.completion_tokens
    if not n or mean is None:
        return None
    found = student(n, mean, figures.tokens_deviation)
    return None if found.low is None or found.high is None else (max(found.low, 0.0), found.high)


def differences(
    pairs: Sequence[tuple[Side, Side]], samples: Samples, *, are_shares: bool, family: int | None = None
) -> list[Difference]:
    """Each side beside its baseline, tested on the samples that both were scored on.

    Args:
        pairs: Side and baseline; p-values are adjusted for all of them.
        samples: Of the sides.
        are_shares: Whether all scores are from 0 to 1: then no difference is beyond 1.
        family: How many of the pairs, the first ones, are given back; by default all.
    """
    return differences_within(pairs, [samples], are_shares=are_shares)[0][:family]


def differences_within(
    pairs: Sequence[tuple[Side, Side]], parts: Sequence[Samples], *, are_shares: bool
) -> list[list[Difference]]:
    """Each side beside its baseline within each part of the samples; p-values are adjusted for all pairs and parts.

    Args:
        pairs: Side and baseline.
        parts: Of the sides' samples.
        are_shares: Whether all scores are from 0 to 1.
    """
    asked = [(side, base, part) for part in parts for side, base in pairs]
    joined = [_joined(*one) for one in asked]
    found = [_paired(rows) if rows else None for rows in joined]
    adjusted = iter(holm([pair.p_value for pair in found if pair is not None]))
    alone = LEVEL / max(sum(pair is not None for pair in found), 1)
    tests = [_Tested(pair, None if pair is None else next(adjusted), alone) for pair in found]
    made = iter(
        _difference(*one, rows, test, are_shares=are_shares)
        for one, rows, test in zip(asked, joined, tests, strict=True)
    )
    return [[next(made) for _ in pairs] for _ in parts]


def why_unscored(row: SideSample | None) -> str:
    """Why a sample has no score on a side, given its row of `side_samples`; None where it has no row."""
    if row is None:
        return "not asked, or taken out"
    if row.left_out:
        return "answered by a fallback"
    if not row.answered:
        return "unanswered"
    if row.unread:
        return "unread by the scorer"
    return "too few epochs are scored" if row.scored else "not scored"


class _Shared(NamedTuple):
    """A sample that both sides were scored on."""

    sample_key: str
    value: float
    of_baseline: float
    cluster: str | None


class _Tested(NamedTuple):
    """What a test found, among all that are looked at together."""

    pair: Paired | None
    adjusted_p: float | None
    alone: float
    """Below this p-value it shows a difference whatever the others do."""


def _joined(one: Side, other: Side, samples: Samples) -> list[_Shared]:
    there = {row.sample_key: row.value for row in samples[other.run_id, other.model] if row.value is not None}
    return [
        _Shared(row.sample_key, row.value, there[row.sample_key], row.cluster)
        for row in samples[one.run_id, one.model]
        if row.value is not None and row.sample_key in there
    ]


def _paired(joined: Sequence[_Shared]) -> Paired:
    clusters = [one.cluster for one in joined if one.cluster is not None]
    known = clusters if len(clusters) == len(joined) else None
    return paired([one.value for one in joined], [one.of_baseline for one in joined], known)


def lost_samples(side: Side, base: Side, samples: Samples) -> list[Lost]:
    """What each of two sides lacks of all samples of both."""
    rows = [{row.sample_key: row for row in samples[one.run_id, one.model]} for one in (side, base)]
    found: dict[tuple[str, str, str], int] = {}
    for one, there in zip((side, base), rows, strict=True):
        for key in rows[0].keys() | rows[1].keys():
            row = there.get(key)
            if row is None or row.value is None:
                reason = one.run_id, one.model, why_unscored(row)
                found[reason] = found.get(reason, 0) + 1
    return [Lost(*reason, number) for reason, number in sorted(found.items(), key=lambda entry: -entry[1])]


def _difference(
    side: Side, base: Side, samples: Samples, joined: Sequence[_Shared], tested: _Tested,
    *, are_shares: bool,
) -> Difference:  # fmt: skip
    pair, adjusted, alone = tested
    scored, base_scored = (sum(row.value is not None for row in samples[one.run_id, one.model]) for one in (side, base))
    apart = [(one.sample_key, one.value - one.of_baseline) for one in joined]
    bounds = reach = None
    if pair is not None and adjusted is not None:
        bounds, reach = pair.interval(level_shown(pair.p_value, adjusted)), pair.detectable(alone)
    if bounds is not None and are_shares:
        bounds = max(bounds[0], -1.0), min(bounds[1], 1.0)
    if reach is not None and are_shares and reach > 1:  # no difference is as large
        reach = None
    return Difference(
        side=side,
        baseline=base,
        shared=len(joined),
        only_side=scored - len(joined),
        only_baseline=base_scored - len(joined),
        found=pair,
        adjusted_p=adjusted,
        low=bounds[0] if bounds else None,
        high=bounds[1] if bounds else None,
        detectable=reach,
        verdict=_verdict(pair, adjusted),
        better=[key for key, difference in apart if difference > 1e-9],
        worse=[key for key, difference in apart if difference < -1e-9],
    )


def _verdict(pair: Paired | None, adjusted: float | None) -> str:
    if pair is None or adjusted is None:
        return "not comparable"
    if adjusted < LEVEL:
        return "better" if pair.difference > 0 else "worse"
    return "too few" if pair.better + pair.worse < FEW_DIFFER else "none shown"
