"""A model of a run as one side of a comparison, and what a paired test shows of two of them."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from workbench.job.file import MIN_ANSWERED
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance
from workbench.ledger.score_rows import SideFigures, SideSample, UnsentKey
from workbench.stats.intervals import AskedValues, ClusterSum, Interval, mean_intervals, student
from workbench.stats.paired import LEVEL, Bounded, Paired, holm_of_known, level_shown, paired

FEW_DIFFER = 10
"""Where fewer samples differ and no difference is shown, there were too few to say anything."""


class Coverage(msgspec.Struct, frozen=True):
    """How much is known of a model by one scorer."""

    known: int
    """Answers that are scored or not right."""
    wanted: int
    """The most answers that any model of its run was to be asked for."""
    is_bounded: bool
    """Whether it is known between which its mean over all asked is."""

    def is_enough(self, min_answered: float) -> bool:
        """Return whether that is enough to rank the model."""
        return self.is_bounded and self.known >= min_answered * self.wanted


def least_answered(runs: Iterable[Provenance]) -> float:
    """Return the share of its answers that must be known of a model that is ranked: the largest of the runs' jobs."""
    return max(MIN_ANSWERED if run.min_answered is None else run.min_answered for run in runs)


class ModelResult(msgspec.Struct, frozen=True):
    """One model of one run, with what it took."""

    run_id: str
    model: str
    """With its variant, where the job has some: each combination is a side."""
    requested_model: str
    variant: str | None
    """None: the job has none."""
    asked: int
    """Requests: samples times epochs."""
    answered: int
    cut_off: int
    """Answers that their token limit ended."""
    refused: int
    """Answers that the model refused, or a filter took."""
    samples: int
    """Those that it, or another model of its run, was asked and that can be judged."""
    scored: int
    """Samples with a score that counts."""
    not_right: int
    """Answers without a score by the model's own doing."""
    not_right_as: dict[str, int]
    """Why these have none, as `[unscored]` names it -> how many."""
    unknown: int
    """Answers of which a score is not known, those never asked for among them."""
    coverage: Coverage
    left_out: int
    """Samples whose only scores are of another model's answers, where those do not count."""
    unread: int
    """Answers that the scorer could not judge."""
    mean_of_scored: float | None
    """Over the samples that are scored; None where none is."""
    interval: Interval | None
    """Of the mean over all samples asked; None where nothing is known."""
    completion_tokens: float | None
    tokens_bounds: tuple[float, float] | None
    """The mean's interval."""
    p50_ms: float | None
    p50_bounds_ms: tuple[float, float] | None
    """The median's interval."""
    p90_ms: float | None
    fallbacks: int
    """Answers of another model than the one that was asked; see the view `item_identities`."""
    fallback_name: str | None
    """Who gave most of them."""
    unnamed: int
    """Answers whose model cannot be told."""
    suspected: int
    """Of them, those that are taken for another model's, as the model names itself in others."""
    reused: int
    """Answers of earlier runs."""
    oldest_at: datetime | None
    newest_at: datetime | None
    """When the reused ones were asked for, in UTC."""

    @property
    def key(self) -> tuple[str, str]:
        """The run's id and the model, by which `Samples` and amounts are looked up."""
        return self.run_id, self.model


class Lost(msgspec.Struct, frozen=True):
    """Samples without a score on one of two sides, for one reason."""

    run_id: str
    model: str
    reason: str
    samples: int


class Difference(msgspec.Struct, frozen=True):
    """A side beside its baseline."""

    side: ModelResult
    baseline: ModelResult
    asked: int
    """Samples that both were asked, or one was and the other was to be."""
    shared: int
    """Of them, those of which something is known of both."""
    unknown: int
    """Of them, those of which unknown answers could change the difference."""
    not_right: int
    """Of the shared, those without a score on either side by a model's own doing."""
    only_side: int
    only_baseline: int
    """Samples that only one of them was to be asked."""
    found: Paired | None
    """On the shared samples; None where there is none."""
    at_lowest: Paired | None
    at_highest: Paired | None
    """On all that were asked, at the ends of what is unknown; None where no scale says what it could be."""
    adjusted_p: float | None
    """For all differences that are looked at together."""
    low: float | None
    high: float | None
    """At the confidence that makes the interval say the same as the adjusted decision."""
    low_of_all: float | None
    high_of_all: float | None
    """At a confidence that holds for all differences together; None where some of what is unknown has no scale."""
    detectable: float | None
    """What the decision could have shown, whatever the other differences are; None where nothing that is possible."""
    verdict: str
    """One of better, worse, open, none shown, too few, not comparable; open: it is shown on the shared samples alone, and the
    unknown ones could change it."""
    among_scored: Paired | None = None
    """On the samples that both were scored on, where a shown difference is not shown there: it rests on what is not right."""
    better: list[str] = []
    worse: list[str] = []
    """Sample keys."""
    lost: list[Lost] = []
    """Why samples of either side have no score, where that was looked up (`lost_samples`)."""

    @property
    def is_finished_only(self) -> bool:
        """Whether only the known answers are tested, as no scale says what the unknown ones could have scored."""
        return self.unknown > 0 and self.at_lowest is None


Samples = dict[tuple[str, str], list[SideSample]]
"""(run id, model) -> its samples, and those that its run was to ask it and did not, as far as that is known."""


class Sides(msgspec.Struct, frozen=True):
    """The models of some runs by one scorer."""

    sides: list[ModelResult]
    samples: Samples
    are_shares: bool
    """Whether all scores are from 0 to 1, and no scale reaches further, so that differences are points."""
    figures: list[SideFigures]
    """What each was asked and used."""


def sides_of(
    reader: Reader, run_ids: Sequence[str], scorer: str, *, cluster: str = "cluster", on_fallback: str | None = None
) -> Sides:
    """Return every model of some runs, in the order in which each was first asked.

    Args:
        cluster: The metadata column that says which samples belong together.
        on_fallback: `exclude` or `accept`; None as each run's job says.
    """
    figures = reader.all(SideFigures, run_ids=list(run_ids), on_fallback=on_fallback)
    # also where every sample of a side was taken out: then `side_samples` has none of it
    samples: Samples = {(row.run_id, row.model): [] for row in figures}
    asked = {"run_ids": list(run_ids), "scorer": scorer, "cluster": cluster, "on_fallback": on_fallback}
    for row in reader.all(SideSample, **asked):
        samples[row.run_id, row.model].append(row)
    _add_unsent(samples, reader.all(UnsentKey, run_ids=list(run_ids), cluster=cluster))
    ends = {end for rows in samples.values() for row in rows for end in (row.value, row.least, row.most)}
    are_shares = all(end is None or 0 <= end <= 1 for end in ends)
    intervals = mean_intervals([of_samples(samples[row.run_id, row.model]) for row in figures])
    most = Counter[str]()
    for (run_id, _), rows in samples.items():
        wanted = sum(row.scored + row.not_right + row.unknown for row in rows if row.excluded is None)
        most[run_id] = max(most[run_id], wanted)
    sides = [
        _side(row, samples[row.run_id, row.model], interval, most[row.run_id])
        for row, interval in zip(figures, intervals, strict=True)
    ]
    return Sides(sides, samples, are_shares, figures)


def _add_unsent(samples: Samples, unsent: Sequence[UnsentKey]) -> None:
    """Add what a run was to send and sent to none of its models: what it would have scored is unknown."""
    examples = {run_id: rows[0] for (run_id, _), rows in samples.items() if rows}
    for (run_id, model), rows in samples.items():
        there = {row.sample_key for row in rows}
        for key in unsent if run_id in examples else ():
            if key.run_id == run_id and key.sample_key not in there:
                there.add(key.sample_key)
                rows.append(_never_asked(examples[run_id], model, key))


def _never_asked(like: SideSample, model: str, key: UnsentKey) -> SideSample:
    return SideSample(
        like.run_id, model, key.sample_key, key.sample_id, asked=0, answered=0, scored=0, not_right=0, not_right_ends=[],
        unknown=0, unread=0, left_out=0, excluded=None, of_scored=None, value=None, low=like.least, high=like.most,
        least=like.least, most=like.most, cluster=key.cluster,
    )  # fmt: skip


def of_samples(rows: Sequence[SideSample]) -> AskedValues:
    """Return what an interval of the mean needs of the samples of a side that it, or another model of its run, was asked."""
    asked = [row for row in rows if (row.asked or row.unknown) and row.excluded is None]
    scale = next(((row.least, row.most) for row in asked if row.least is not None and row.most is not None), None)
    return AskedValues(
        Counter(row.value for row in asked if row.value is not None),
        Counter(row.low for row in asked if row.low is not None),
        Counter(row.high for row in asked if row.high is not None),
        scale,
        len(asked),
        _clusters(asked),
    )


def _clusters(asked: Sequence[SideSample]) -> list[ClusterSum]:
    """Return the clusters of samples, where some belong to the same; one without a cluster is one of its own."""
    found: dict[str, tuple[int, float, float]] = {}
    for row in asked:
        if row.low is None or row.high is None:
            return []
        own = row.cluster or row.sample_key
        samples, low, high = found.get(own, (0, 0.0, 0.0))
        found[own] = samples + 1, low + row.low, high + row.high
    return [ClusterSum(*sums) for sums in found.values()] if len(found) < len(asked) else []


_AS_RECORDED = tuple({*SideFigures.__struct_fields__} & {*ModelResult.__struct_fields__} - {"unknown"})
"""What a side has as the query gives it; there, `unknown` are answers whose model cannot be told."""


def _side(
    figures: SideFigures, samples: Sequence[SideSample], interval: Interval | None, most_asked: int
) -> ModelResult:
    asked = [row for row in samples if (row.asked or row.unknown) and row.excluded is None]
    scored = [row.of_scored for row in asked if row.of_scored is not None]
    return ModelResult(
        **{name: getattr(figures, name) for name in _AS_RECORDED},
        samples=len(asked),
        scored=len(scored),
        not_right=sum(row.not_right for row in asked),
        not_right_as=dict(Counter(ends or "tool_call" for row in asked for ends in row.not_right_ends)),
        unknown=sum(row.unknown for row in asked),
        coverage=Coverage(
            known=sum(row.scored + row.not_right for row in asked),
            wanted=most_asked,
            is_bounded=interval is not None and interval.at_worst is not None,
        ),
        left_out=sum(row.left_out > 0 and not row.scored for row in asked),
        unread=sum(row.unread for row in asked),
        mean_of_scored=sum(scored) / len(scored) if scored else None,
        interval=interval,
        tokens_bounds=_tokens_bounds(figures),
        p50_bounds_ms=_bounds(figures.p50_low_ms, figures.p50_high_ms),
        unnamed=figures.unknown + figures.suspected,
    )


def side_without_calls(run_id: str, name: str, samples: int, interval: Interval | None) -> ModelResult:
    """Return what is not a model, but is tested beside others like one, as a side; it took no tokens and no time."""
    return ModelResult(
        run_id=run_id, model=name, requested_model=name, variant=None, asked=samples, answered=samples, cut_off=0, refused=0,
        samples=samples, scored=samples, not_right=0, not_right_as={}, unknown=0,
        coverage=Coverage(samples, samples, is_bounded=True), left_out=0, unread=0, mean_of_scored=None, interval=interval,
        completion_tokens=None, tokens_bounds=None, p50_ms=None, p50_bounds_ms=None, p90_ms=None, fallbacks=0,
        fallback_name=None, unnamed=0, suspected=0, reused=0, oldest_at=None, newest_at=None,
    )  # fmt: skip


def _bounds(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _tokens_bounds(figures: SideFigures) -> tuple[float, float] | None:
    n, mean = figures.tokens_known, figures.completion_tokens
    if not n or mean is None:
        return None
    found = student(n, mean, figures.tokens_deviation)
    return None if found.low is None or found.high is None else (max(found.low, 0.0), found.high)


Pairs = Sequence[tuple[ModelResult, ModelResult]]
"""Sides, each with its baseline."""


def differences(
    pairs: Pairs, samples: Samples, *, are_shares: bool, family: Pairs = (), reaches: bool = True
) -> list[Difference]:
    """Return each side beside its baseline, tested on the samples that both were asked.

    Args:
        are_shares: Whether all scores can only be from 0 to 1: then no difference is beyond 1.
        family: Further pairs that could be looked at as well: p-values are adjusted for them too.
        reaches: Whether it is wanted what each could have shown, which takes most of the time.
    """
    return differences_within(pairs, [samples], are_shares=are_shares, family=family, reaches=reaches)[0]


def differences_within(
    pairs: Pairs, parts: Sequence[Samples], *, are_shares: bool, family: Pairs = (), reaches: bool = True
) -> list[list[Difference]]:
    """Return each side beside its baseline within each part of the samples; p-values are adjusted for all pairs and parts.

    Args:
        parts: Of the sides' samples.
    """
    every, beside = [*pairs, *family], []
    for part in parts:
        rows = {side: {row.sample_key: row for row in own} for side, own in part.items()}
        for side, base in every:
            beside.append(_Beside(side, base, _joined(rows[side.key], rows[base.key])))
    tested = [one.tested() for one in beside]
    adjusted = holm_of_known([found.p_value for found in tested])
    finished = holm_of_known([None if found.finished is None else found.finished.p_value for found in tested])
    scored = [one.among_scored() for one in beside]
    only_scored = holm_of_known([None if found is None else found.p_value for found in scored])
    alone = LEVEL / max(sum(p_value is not None for p_value in adjusted), 1)
    tests = list(map(_Tests, tested, adjusted, finished, scored, only_scored, itertools.repeat(alone)))
    return [
        [
            beside[n].difference(tests[n], are_shares=are_shares, reaches=reaches)
            for n in range(first, first + len(pairs))
        ]
        for first in (place * len(every) for place in range(len(parts)))
    ]


def why_unscored(row: SideSample | None) -> str:
    """Return why a sample has no score on a side, given its row of `side_samples`; None where it has no row."""
    if row is None:
        return "not asked"
    if row.excluded is not None:
        return row.excluded
    if not row.asked:
        return "not sent"
    if row.left_out:
        return "answered by another model"
    if row.unread:
        return "not judged by the scorer"
    if row.not_right and not row.unknown:
        return "not right without a score"
    if not row.answered:
        return "unanswered"
    return "too few of its answers are scored" if row.scored else "not scored"


class _Both(NamedTuple):
    """A sample that both sides were asked, or one was and the other was to be."""

    one: SideSample
    other: SideSample

    @property
    def is_shared(self) -> bool:
        """Whether something is known of both."""
        return self.one.value is not None and self.other.value is not None

    @property
    def is_open(self) -> bool:
        """Whether unknown answers could change the difference."""
        ends = self.one.low, self.one.high, self.other.low, self.other.high
        return None in ends or ends[0] != ends[1] or ends[2] != ends[3]


class _Tests(NamedTuple):
    """What the tests of one pair found, among all that are looked at together."""

    found: Bounded
    adjusted_p: float | None
    finished_p: float | None
    """Adjusted, on the shared samples alone."""
    among_scored: Paired | None
    among_scored_p: float | None
    alone: float
    """Below this p-value a difference is shown whatever the others do."""


class _Beside:
    """Two sides, sample by sample."""

    def __init__(self, side: ModelResult, base: ModelResult, joined: "_Joined") -> None:
        self._side, self._base, self._joined = side, base, joined
        self._known = [one for one in joined.both if one.is_shared]
        self._open = sum(one.is_open for one in joined.both)
        self._not_right = sum(one.one.not_right > 0 or one.other.not_right > 0 for one in self._known)

    def tested(self) -> Bounded:
        """Return the tests on the shared samples, and at both ends of what is unknown."""
        both, known = self._joined.both, self._known
        finished = _paired([one.one.value for one in known], [one.other.value for one in known], known)
        if not self._open and len(known) == len(both):
            return Bounded(finished, finished, finished)
        lowest = _paired([one.one.low for one in both], [one.other.high for one in both], both)
        highest = _paired([one.one.high for one in both], [one.other.low for one in both], both)
        return Bounded(finished, lowest, highest)

    def among_scored(self) -> Paired | None:
        """Return the test on the samples that both were scored on; None where that is all that is known."""
        if not self._not_right:
            return None
        scored = [one for one in self._known if not one.one.not_right and not one.other.not_right]
        return _paired([one.one.value for one in scored], [one.other.value for one in scored], scored)

    def difference(self, tests: _Tests, *, are_shares: bool, reaches: bool) -> Difference:
        """Return what is said of the two."""
        found, p_value = tests.found, tests.found.p_value
        bounds = together = reach = None
        if p_value is not None and tests.adjusted_p is not None:
            bounds = found.interval(level_shown(p_value, tests.adjusted_p))
            if reaches:
                reach = found.detectable(tests.alone)
            if not self._open or found.at_lowest is not None:
                # of two models at most one is worse than the other by more than a margin: so many tests are made as there
                # are pairs, at a level that no p-value chose
                together = found.interval(tests.alone)
        if are_shares:
            bounds, together = _within_one(bounds), _within_one(together)
        if reach is not None and are_shares and reach > 1:  # no difference is as large
            reach = None
        verdict = _verdict(tests)
        apart = [
            (one.one.sample_key, one.one.value - one.other.value)
            for one in self._known
            if one.one.value is not None and one.other.value is not None
        ]
        return Difference(
            side=self._side,
            baseline=self._base,
            asked=len(self._joined.both),
            shared=len(self._known),
            unknown=self._open,
            not_right=self._not_right,
            only_side=self._joined.only_one,
            only_baseline=self._joined.only_other,
            found=found.finished,
            at_lowest=found.at_lowest,
            at_highest=found.at_highest,
            adjusted_p=tests.adjusted_p,
            low=bounds[0] if bounds else None,
            high=bounds[1] if bounds else None,
            low_of_all=together[0] if together else None,
            high_of_all=together[1] if together else None,
            detectable=reach,
            verdict=verdict,
            among_scored=_rests_on(tests, verdict, any_not_right=self._not_right > 0),
            better=[key for key, difference in apart if difference > 1e-9],
            worse=[key for key, difference in apart if difference < -1e-9],
        )


def _within_one(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the interval of a difference of shares."""
    return None if bounds is None else (max(bounds[0], -1.0), min(bounds[1], 1.0))


def _rests_on(tests: _Tests, verdict: str, *, any_not_right: bool) -> Paired | None:
    """Return what the samples that both were scored on show, where it is not what is said."""
    if verdict not in ("better", "worse") or not any_not_right:
        return None
    nothing = Paired(0, 0, 0, 0.0, 1.0, "no sample is scored on both")
    among = tests.among_scored or nothing
    shown = tests.among_scored_p is not None and tests.among_scored_p < LEVEL
    agrees = shown and (among.difference > 0) == (verdict == "better")
    return None if agrees else among


class _Joined(NamedTuple):
    """The samples of two sides."""

    both: list[_Both]
    only_one: int
    only_other: int


def _joined(rows: dict[str, SideSample], others: dict[str, SideSample]) -> _Joined:
    both = [
        _Both(row, there)
        for key, row in rows.items()
        if (there := others.get(key)) is not None
        and row.excluded is None
        and there.excluded is None
        and (row.asked or there.asked)
    ]
    only = [
        sum(key not in there and row.asked > 0 and row.excluded is None for key, row in own.items())
        for own, there in ((rows, others), (others, rows))
    ]
    return _Joined(both, *only)


def _paired(values: Sequence[float | None], others: Sequence[float | None], joined: Sequence[_Both]) -> Paired | None:
    """Return the test of two models' values of the same samples; None where there is none, or one is not known."""
    one, other = ([value for value in side if value is not None] for side in (values, others))
    if not joined or len(one) < len(joined) or len(other) < len(joined):
        return None
    return paired(one, other, _clusters_of(joined), span=_span_of(joined))


def _span_of(joined: Sequence[_Both]) -> float | None:
    """Return the length of the scale of some samples; None where one of them has none."""
    ends = {(row.least, row.most) for both in joined for row in both}
    spans = [None if least is None or most is None else most - least for least, most in ends]
    known = [span for span in spans if span is not None]
    return max(known) if len(known) == len(spans) else None


def _clusters_of(joined: Sequence[_Both]) -> list[str]:
    """Return what each sample belongs to; one without a cluster is one of its own."""
    return [one.cluster or other.cluster or one.sample_key for one, other in joined]


def lost_samples(side: ModelResult, base: ModelResult, samples: Samples) -> list[Lost]:
    """Return what each of two sides lacks of all samples that one of them was asked."""
    rows = [{row.sample_key: row for row in samples[one.key]} for one in (side, base)]
    found: dict[tuple[str, str, str], int] = {}
    for one, there in zip((side, base), rows, strict=True):
        for key in rows[0].keys() | rows[1].keys():
            if not any(key in own and own[key].asked for own in rows):
                continue
            row = there.get(key)
            if row is None or row.of_scored is None or row.low != row.high:
                reason = *one.key, why_unscored(row)
                found[reason] = found.get(reason, 0) + 1
    return [Lost(*reason, number) for reason, number in sorted(found.items(), key=lambda entry: -entry[1])]


def _verdict(tests: _Tests) -> str:
    found, pair = tests.found, tests.found.finished
    if tests.adjusted_p is None or pair is None:
        return "not comparable"
    if tests.adjusted_p < LEVEL:
        if found.at_lowest is None:  # no scale bounds what is unknown
            return "open"
        return "better" if found.is_ahead else "worse"
    # nothing is open where all is known: then only the families differ that the two are adjusted for
    if found.at_lowest is not pair and tests.finished_p is not None and tests.finished_p < LEVEL:
        return "open"
    return "too few" if pair.better + pair.worse < FEW_DIFFER else "none shown"
