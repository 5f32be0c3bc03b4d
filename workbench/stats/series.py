"""A model's scores over a series of nights: when they fell, and whether they have come back.

Nights are not independent repeats: a model server has bad nights of its own. So a drop must be shown twice, over the samples
that both sides have, by a paired test, and over whole nights, beside how much nights differ.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    import numpy

WINDOWS = (1, 2, 3, 7)
"""How many of the newest nights are compared with those before: a drop too small for one night shows over more."""
CLOSING_WINDOWS = (1, 2, 3)
FEW_NIGHTS = 8
"""Fewer nights before a drop do not say how much nights differ; also what the assumption about that weighs, in nights."""
ASSUMED_SPREAD = 0.03
"""How much nights are assumed to differ for reasons of their own: their standard deviation, as a share of the scale."""
WITHIN_NIGHTS, POWER_Z = 3, 1.2816
"""Within how many nights, and in nine cases of ten, a drop that is told to be findable is found."""
_SINGLE = 9.0
"""A single night shows a drop only where it lies so many standard deviations of a night below; others wait for the next."""
_WITHOUT_WORST = 0.8
"""So much of a drop must be left without the worst of its nights: two bad nights among seven are no lasting change."""
LEAST_SAMPLES = 5
"""Fewer are never compared."""
_LATE = 10
_CLOSING_LEVEL = 0.05


class Nights(msgspec.Struct, frozen=True):
    """What one model scored on the nights that count, the oldest first: a row per night, a column per sample."""

    at: list[datetime]
    known: "numpy.ndarray[Any, Any]"
    """NaN: it was not asked, or what it scored is not known."""
    low: "numpy.ndarray[Any, Any]"
    high: "numpy.ndarray[Any, Any]"
    """Between these each score is; NaN: it was not asked."""
    scored: "numpy.ndarray[Any, Any]"
    """Of the answers that have a score alone; NaN: none has."""


class Rule(msgspec.Struct, frozen=True):
    """When a drop counts."""

    rates: Sequence[float]
    """By night: how probably the whole series would have a change found by chance, as seen on that night."""
    places: Sequence[int]
    """By night: its number among all of the job's nights, as the series that share the rate need not begin together."""
    assumed: Sequence[float] | None
    """By night: how much nights differ before `FEW_NIGHTS` have shown it, in the units of the scores; None: nothing is told till
    then."""
    least: float = 0.0
    """Drops below it are none."""


class Drop(msgspec.Struct, frozen=True):
    """From some night on a model scores less than before; nights by their number."""

    began: int
    seen: int
    """The night that showed it."""
    ended: int | None
    """The night that showed that it is over, or the first one after it was accepted."""
    ending: Literal["recovered", "accepted"] | None
    level: float
    """The mean of the nights before."""
    difference: float
    """Of the nights since it began, on the samples of both."""
    nights: int
    samples: int
    before: int
    """How many nights were before it."""
    is_of_scored: bool
    """Whether it is shown over the scored answers alone; else it is that unusable ones rose."""
    accepted_at: datetime | None = None


class Watched(msgspec.Struct, frozen=True):
    """What a series of nights shows."""

    drops: list[Drop]
    is_possible: bool
    """Whether the newest night would show a drop, if what is not known were the lowest that it can be."""
    is_compared: bool
    """Whether the newest night shares samples enough with those before it."""
    findable: float | None
    """How large a drop must be to be found within `WITHIN_NIGHTS`, infinite where none can; None: too few nights, or one is
    open."""
    level: float | None
    """The mean of the nights before; None: there is none."""


class _Look(msgspec.Struct, frozen=True):
    """Some nights beside those before them."""

    difference: float
    samples: int
    p_value: float
    spread: float
    """Of a night, as a standard deviation."""
    freedom: int
    unit: float
    """What the variance of a night is times to be that of the difference."""


def watch(nights: Nights, rule: Rule, accepted: Sequence[datetime] = ()) -> Watched:
    """Find every drop of a series, and whether it is over.

    On each night the newest one, two, three and seven are compared with all before them. The looks share the rate: the
    t-th night may spend rate * 10 / ((t + 9) (t + 10)), which sums to the rate over any number of them. A rise moves the
    level without a word. A drop stays until the newest one to three nights are shown (one-sided 95 %) to lie above the
    level less half the drop, and then its bad nights count for no level; or until it is accepted, and then they are the level.

    Source: Bonferroni's inequality; the sum is the telescoping series of 1/(t + 9) - 1/(t + 10).

    Args:
        nights: Of one model.
        accepted: When somebody accepted what was there.
    """
    course = _Course(nights, rule)
    moments = sorted(accepted)
    for now in range(len(nights.at)):
        while moments and moments[0] <= nights.at[now]:
            course.accept(now, moments.pop(0))
        course.take(now)
    if moments:
        course.accept(len(nights.at), moments[0])
    return Watched(course.drops, course.is_possible, course.is_compared, course.findable(), course.level())


class _Scores:
    """Scores by night, with their sums up to each, so that a mean over many nights takes no longer than one over few."""

    def __init__(self, rows: "numpy.ndarray[Any, Any]") -> None:
        import numpy

        known, zero = ~numpy.isnan(rows), numpy.zeros((1, rows.shape[1]))
        self.rows = rows
        self._sums = numpy.vstack([zero, numpy.cumsum(numpy.where(known, rows, 0.0), axis=0)])
        self._counts = numpy.vstack([zero, numpy.cumsum(known, axis=0)])

    def means(self, nights: list[int]) -> "numpy.ndarray[Any, Any]":
        """Return the mean of each sample over some nights, in their order; NaN where it has none."""
        import numpy

        places = numpy.asarray(nights)
        breaks = numpy.flatnonzero(numpy.diff(places) != 1) + 1
        first, after = places[[0, *breaks]], places[[*(breaks - 1), len(places) - 1]] + 1
        sums, counts = (each[after].sum(axis=0) - each[first].sum(axis=0) for each in (self._sums, self._counts))
        return numpy.where(counts > 0, sums / numpy.maximum(counts, 1), numpy.nan)


class _Course:
    """The nights taken so far."""

    def __init__(self, nights: Nights, rule: Rule) -> None:
        self.drops: list[Drop] = []
        self.is_possible = self.is_compared = False
        self._nights, self._rule = nights, rule
        self._now = 0
        self._known, self._scored = _Scores(nights.known), _Scores(nights.scored)
        self._low, self._high = _Scores(nights.low), _Scores(nights.high)
        self._is_known = not (nights.high > nights.low).any()
        self._level: list[int] = []
        self._since: list[int] | None = None
        """The nights of a drop that is open."""
        self._from = 0
        """No window reaches back over this place in the level: what came before was compared already."""
        self._before = 0
        """The place before which what was spent counts no more."""

    def take(self, now: int) -> None:
        self._now = now
        self.is_possible = self.is_compared = False
        if self._since is not None:
            self._since.append(now)
            self._tell(now)
            return
        self.is_compared = bool(self._level) and self._apart(self._known, self._level, self._known, [now]) is not None
        share = self._share(0)
        rows = [*self._level, now]
        cuts = [len(rows) - window for window in WINDOWS if max(self._from, 1) <= len(rows) - window]
        shown = {cut: look for cut in cuts if (look := self._shown(rows[:cut], rows[cut:], share)) is not None}
        if not shown:
            self._level = rows
            self.is_possible = any(self._is_possible(rows[:cut], rows[cut:], share) for cut in cuts)
            return
        look, cut = shown[min(shown)], self._began(rows, min(shown))
        before, after = rows[:cut], rows[cut:]
        if look.difference > 0:
            self._level, self._from = after, 0
            return
        self._level, self._since, self._from = before, after, len(before)
        scored = self._look(self._scored, before, self._scored, after)
        is_of_scored = scored is not None and scored.difference < 0 and scored.p_value < share
        level = float(_means(self._known.rows[before]).mean())
        self.drops.append(
            Drop(after[0], now, None, None, level, look.difference, len(after), look.samples, len(before), is_of_scored)
        )
        self._tell(None)

    def _share(self, later: int) -> float:
        """Return the p-value below which a look shows a change: of the night that is looked at, or a few later."""
        looks = self._rule.places[self._now] - self._before + later
        return self._rule.rates[self._now] * _LATE / ((looks + _LATE - 1) * (looks + _LATE)) / len(WINDOWS)

    def _began(self, rows: list[int], first: int) -> int:
        """From which place on the nights differ most: the widest window that shows a change may begin before it."""

        def p_value(cut: int) -> float:
            look = self._look(self._known, rows[:cut], self._known, rows[cut:])
            return 1.0 if look is None else look.p_value

        return min(range(first, len(rows)), key=p_value)

    def _tell(self, now: int | None) -> None:
        """Bring an open drop up to date, and close it where the newest nights show that it is over."""
        since = self._since or []
        drop = self.drops[-1]
        for window in CLOSING_WINDOWS if now is not None else ():
            earlier, newest = since[:-window], since[-window:]
            if newest[0] <= drop.seen:
                break
            before = self._apart(self._known, self._level, self._known, earlier)
            again = self._apart(self._high, self._level, self._low, newest)
            if before is None or again is None or again.mean() <= before.mean() / 2:
                continue
            look = self._look(self._high, self._level, self._low, newest)
            if look is not None and _is_over(look, float(before.mean()) / 2):
                found = _so_far(drop, before, earlier)
                self.drops[-1] = msgspec.structs.replace(found, ended=now, ending="recovered")
                self._from = len(self._level)
                self._level, self._since = [*self._level, *newest], None
                return
        apart = self._apart(self._known, self._level, self._known, since)
        if apart is not None:
            self.drops[-1] = _so_far(drop, apart, since)

    def accept(self, now: int, moment: datetime) -> None:
        if self._since is not None:
            self.drops[-1] = msgspec.structs.replace(self.drops[-1], ended=now, ending="accepted", accepted_at=moment)
            self._level, self._since, self._from = self._since, None, 0
            self._before = self._rule.places[now - 1]

    def _shown(self, before: list[int], after: list[int], share: float) -> _Look | None:
        """Return a change that the nights show, whatever the scores were that are not known."""
        look = self._look(self._known, before, self._known, after, share)
        if look is None or abs(look.difference) < self._rule.least or look.p_value >= share:
            return None
        if self._is_known:
            return look
        ends = (self._low, self._high) if look.difference < 0 else (self._high, self._low)
        sure = self._look(ends[0], before, ends[1], after, share)
        agrees = sure is not None and sure.p_value < share and sure.difference * look.difference > 0
        return look if agrees else None

    def _is_possible(self, before: list[int], after: list[int], share: float) -> bool:
        if self._is_known:
            return False
        look = self._look(self._high, before, self._low, after, share)
        return look is not None and look.p_value < share and look.difference < -self._rule.least

    def _apart(
        self, befores: "_Scores", before: list[int], afters: "_Scores", after: list[int]
    ) -> "numpy.ndarray[Any, Any] | None":
        """By how much each sample of both sides differs; None: there are too few."""
        import numpy

        apart = afters.means(after) - befores.means(before)
        apart = apart[~numpy.isnan(apart)]
        return apart if len(apart) >= LEAST_SAMPLES else None

    def _look(
        self, befores: "_Scores", before: list[int], afters: "_Scores", after: list[int], share: float = math.inf
    ) -> _Look | None:
        """Compare nights with nights before, on the samples of both; no further where the samples alone do not reach `share`."""
        import numpy
        from scipy.special import stdtr

        apart = self._apart(befores, before, afters, after)
        if apart is None:
            return None
        level = befores.means(before)
        there = ~numpy.isnan(level + afters.means(after))
        known, newer = self._known.rows[before][:, there], afters.rows[after][:, there] - level[there]
        known = known[~numpy.isnan(known).all(axis=1)]
        newer, assumed = newer[~numpy.isnan(newer).all(axis=1)], self._assumed()
        if not len(known) or (assumed is None and len(known) < FEW_NIGHTS):
            return None
        samples, unit = len(apart), 1 / len(newer) + 1 / len(known)
        mean, deviation = float(apart.mean()), float(apart.std(ddof=1))
        if deviation < 1e-9:  # every sample by the same: as sure as the number of samples can make it
            paired = 2.0 ** (1 - samples) if abs(mean) > 1e-9 else 1.0
        else:
            paired = 2 * float(stdtr(samples - 1, -abs(mean) / (deviation / samples**0.5)))
        if paired >= share:
            return _Look(mean, samples, paired, 0.0, 0, unit)
        spread, freedom = _spread(known, assumed)
        over_nights = 2 * float(stdtr(freedom, -abs(mean) / (spread * unit**0.5 or 1e-12)))
        if not _is_of_all_nights(_means(newer), mean, spread):
            over_nights = 1.0
        return _Look(mean, samples, max(paired, over_nights), spread, freedom, unit)

    def _assumed(self) -> float | None:
        return None if self._rule.assumed is None else self._rule.assumed[self._now]

    def level(self) -> float | None:
        """Return the mean of the nights before."""
        return float(_means(self._known.rows[self._level]).mean()) if self._level else None

    def findable(self) -> float | None:
        """Return how large a drop from the present level must be to be found within `WITHIN_NIGHTS`, nine times in ten."""
        import numpy
        from scipy.special import stdtrit

        assumed = self._assumed() if self._nights.at else None
        if self._since is not None or not self._level or assumed is None:
            return None
        before = self._known.rows[self._level]
        before = before[:, ~numpy.isnan(before).all(axis=0)]
        samples, unit = before.shape[1], 1 / WITHIN_NIGHTS + 1 / len(before)
        if samples < LEAST_SAMPLES:
            return math.inf
        share = self._share(WITHIN_NIGHTS)
        spread, freedom = _spread(before, assumed)
        over_nights = (POWER_Z - float(stdtrit(freedom, share / 2))) * spread * unit**0.5
        # of samples that never varied a drop turns some over and leaves others: their differences vary by drop * (span - drop)
        reach = (POWER_Z - float(stdtrit(samples - 1, share / 2))) ** 2 / samples
        span, never = assumed / ASSUMED_SPREAD, _never_varied(before)
        variance, turned = reach * samples * _repeats(before) * unit, reach * never
        paired = (turned * span + ((turned * span) ** 2 + 4 * (1 + turned) * variance) ** 0.5) / (2 * (1 + turned))
        return float(max(over_nights, paired, self._rule.least))


def _so_far(drop: Drop, apart: "numpy.ndarray[Any, Any]", since: list[int]) -> Drop:
    """Return a drop as its nights so far have it."""
    return msgspec.structs.replace(drop, difference=float(apart.mean()), samples=len(apart), nights=len(since))


def _is_over(again: _Look, half: float) -> bool:
    from scipy.special import stdtr

    apart = (again.difference - half) / (again.spread * again.unit**0.5 or 1e-12)
    return float(stdtr(again.freedom, -apart)) < _CLOSING_LEVEL


def _is_of_all_nights(apart: "numpy.ndarray[Any, Any]", mean: float, spread: float) -> bool:
    """Return whether a change rests on more than one bad night."""
    if len(apart) < 2:
        return abs(mean) >= _SINGLE * spread
    worst = float(apart.min() if mean < 0 else apart.max())
    others = (float(apart.sum()) - worst) / (len(apart) - 1)
    return others / mean >= _WITHOUT_WORST if mean else False


def _spread(before: "numpy.ndarray[Any, Any]", assumed: float | None) -> tuple[float, int]:
    """Return the standard deviation of a night and its degrees of freedom: at least that of repeats of the same samples.

    The assumption weighs as `FEW_NIGHTS` nights would, so that few nights that happen to agree do not speak for more.
    """
    import numpy

    before = before[:, ~numpy.isnan(before).all(axis=0)]
    apart = _means(before - numpy.nanmean(before, axis=0))
    repeats, squares, freedom = _repeats(before), float((apart * apart).sum()), len(apart) - 1
    if assumed is not None:
        squares, freedom = squares + FEW_NIGHTS * (repeats + assumed * assumed), freedom + FEW_NIGHTS
    return max(squares / freedom, repeats) ** 0.5, freedom


def _repeats(before: "numpy.ndarray[Any, Any]") -> float:
    """Return the variance of a night's mean by the repeats of its samples; of a single night at most what its samples say."""
    import numpy

    if len(before) < 2:
        return float(numpy.nanvar(before) / before.shape[1])
    known = numpy.maximum((~numpy.isnan(before)).sum(axis=0), 1)
    squares = numpy.nansum((before - numpy.nanmean(before, axis=0)) ** 2, axis=0)
    return float((squares / numpy.maximum(known - 1, 1)).mean() / before.shape[1])


def _never_varied(before: "numpy.ndarray[Any, Any]") -> float:
    """Return the share of the samples that scored alike on all nights; none where there was one night."""
    import numpy

    if len(before) < 2:
        return 0.0
    return float((numpy.nanmax(before, axis=0) - numpy.nanmin(before, axis=0) < 1e-9).mean())


def _means(scores: "numpy.ndarray[Any, Any]") -> "numpy.ndarray[Any, Any]":
    """Return the mean of each night that has any of the samples."""
    import numpy

    known = ~numpy.isnan(scores)
    counts = known.sum(axis=1)
    means: numpy.ndarray[Any, Any] = numpy.where(known, scores, 0.0).sum(axis=1)[counts > 0] / counts[counts > 0]
    return means
