"""What is open of a job's models: a drop of its scores, or answers that take longer, until it is over or somebody accepts it.

Nothing of it is stored: an alarm follows from the scores of the job's occasions and from what was accepted.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

import msgspec

from workbench.evaluation.attention import SLOWER
from workbench.evaluation.sides import Coverage
from workbench.job.file import CompareTable, GatesTable, recorded_table
from workbench.job.job import Job
from workbench.ledger.gates import DropFound
from workbench.ledger.queries import Reader
from workbench.ledger.score_rows import Acceptance, OccasionScore, WatchedJob
from workbench.stats.series import ASSUMED_SPREAD, Drop, Nights, Rule, watch

if TYPE_CHECKING:
    import numpy
    import pyarrow


_MOST_UNWATCHED = 30
"""Occasions of a job that watches for nothing, as its page has them; the page of all runs asks for each such job after a run."""


class Alarm(msgspec.Struct, frozen=True):
    """A model of a job shows less than it did, since some occasion."""

    job: str
    model: str
    scorer: str | None
    """None: of `slower`."""
    found: DropFound
    seen: str
    """The occasion that opened it."""
    fails_run_id: str | None
    """The run that ends with a failed gate for it: the first one from then on that is complete."""
    ended: str | None
    """The occasion that showed that it is over; None: it is open, or accepted."""
    accepted_at: datetime | None
    reason: str | None
    """Why it was accepted."""
    level: float
    """The mean of the occasions before it; of `slower` in s."""

    @property
    def state(self) -> Literal["open", "recovered", "accepted"]:
        """Whether it is over, or somebody accepted it."""
        return self.found.state


class Watch(msgspec.Struct, frozen=True):
    """What one scorer shows of one model over the occasions of a job."""

    scorer: str | None
    model: str
    run_ids: list[str]
    """Of the occasions that asked the model, the oldest first."""
    newest_run_id: str
    """Of the newest occasion of the job."""
    counting: frozenset[str]
    """Those of which enough is known."""
    coverage: Coverage
    """Of the newest."""
    alarms: list[Alarm]
    is_possible: bool
    """Whether the newest occasion would open one, if what is not known were the lowest that it can be."""
    is_compared: bool
    """Whether the newest occasion has samples enough in common with those before."""
    findable: float | None
    """How far a score must fall to be found within three occasions, nine times in ten."""
    room: float | None
    """How far it can fall; None: no scale says so."""
    are_shares: bool


def alarms(reader: Reader, job: str | None = None) -> list[Alarm]:
    """Return every alarm of the jobs that watch for them, the newest last of each.

    Args:
        job: Only of this one; None takes all.
    """
    return _in_order(JobWatches().watched(reader, job))


def open_alarms(reader: Reader, job: str | None = None) -> list[Alarm]:
    """Return those that are neither over nor accepted."""
    return open_of(JobWatches().watched(reader, job))


def open_of(found: Sequence[Watch]) -> list[Alarm]:
    """Return the alarms among these that are neither over nor accepted."""
    return [alarm for alarm in _in_order(found) if alarm.state == "open"]


def _in_order(found: Sequence[Watch]) -> list[Alarm]:
    every = [alarm for one in found for alarm in one.alarms]
    return sorted(every, key=lambda alarm: (alarm.job, alarm.found.began))


class JobWatches:
    """What the jobs of a ledger show over their occasions; each is worked out once, when it is first asked for.

    Several threads may ask: at worst two work out the same.
    """

    def __init__(self) -> None:
        self._jobs: list[WatchedJob] | None = None
        self._watched: dict[str, list[Watch]] = {}
        self._unwatched: dict[str, list[Watch]] = {}

    def watched(self, reader: Reader, job: str | None = None) -> list[Watch]:
        """Return what the jobs that watch for changes show, by the job files of their newest occasions."""
        asked = self._asked(reader, job)
        for one in asked:
            if one.job not in self._watched:
                gates, least = _rules(one)
                self._watched[one.job] = watches(reader, one.job, gates, least)
        return [watch for one in asked for watch in self._watched[one.job]]

    def unwatched(self, reader: Reader, job: str | None = None) -> list[Watch]:
        """Return what the jobs that watch for no change show by their first scorer: for pages to say, and to be accepted.

        No run fails for it.
        """
        asked = self._asked(reader, job)
        for one in asked:
            if one.job not in self._unwatched:
                self._unwatched[one.job] = _by_first_scorer(reader, one)
        return [watch for one in asked for watch in self._unwatched[one.job]]

    def _asked(self, reader: Reader, job: str | None) -> list[WatchedJob]:
        if self._jobs is None:
            self._jobs = reader.all(WatchedJob)
        return [one for one in self._jobs if job in (None, one.job)]


def _by_first_scorer(reader: Reader, one: WatchedJob) -> list[Watch]:
    gates, least = _rules(one)
    if one.scorer is None or gates.steady:
        return []
    asked = {"job": one.job, "scorers": [one.scorer], "until_at": None, "most": _MOST_UNWATCHED}
    series = _JobScores(reader.arrow(OccasionScore.query, **asked), least)
    accepted = standing_acceptances(reader, one.job)
    scores = [own for own in series.each() if own.scorer is not None]
    return [_watched(one.job, own, gates.false_alarm_rate, accepted, reader.zone) for own in scores]


def _rules(one: WatchedJob) -> tuple[GatesTable, float]:
    """Return the gates of a job, and the share of a model's answers that must be known for an occasion to count."""
    least = recorded_table(one.job_toml, "compare", CompareTable).min_answered
    return recorded_table(one.job_toml, "gates", GatesTable), least


def standing_acceptances(reader: Reader, job: str) -> list[Acceptance]:
    """Return what was accepted of a job and not taken back, in the order in which it was said."""
    found: list[Acceptance] = []
    for one in reader.all(Acceptance, job=job):
        if one.accepted:
            found.append(one)
        else:
            places = (place for place in reversed(range(len(found))) if found[place].model == one.model)
            newest = next(places, None)
            if newest is not None:  # else two took it back at once
                del found[newest]
    return found


def watches(
    reader: Reader, job: str, gates: GatesTable, min_answered: float, until_at: datetime | None = None
) -> list[Watch]:
    """Return what each scorer that a job watches, and how long answers take, shows of each model.

    Args:
        min_answered: The share of a model's answers that must be known for an occasion to count.
        until_at: As it was when a run began; None is now.
    """
    if not gates.steady:
        return []
    table = reader.arrow(OccasionScore.query, job=job, scorers=gates.steady, until_at=until_at, most=None)
    series, accepted = _JobScores(table, min_answered), standing_acceptances(reader, job)
    return [_watched(job, one, gates.false_alarm_rate, accepted, reader.zone) for one in series.each()]


class _ModelNights(msgspec.Struct, frozen=True):
    """One scorer and model over the occasions of a job."""

    scorer: str | None
    model: str
    occasions: list[str]
    run_ids: list[str]
    newest_run_id: str
    settled: list[bool]
    counts: list[bool]
    nights: Nights
    """Those that count."""
    shares: list[int]
    """Of each that counts, among how many series its rate is shared: those that there were by then, so that what comes later does
    not change what was found."""
    places: list[int]
    """Of each that counts, which one of the job's it is."""
    coverage: Coverage
    assumed: list[float]
    """Of each that counts, by how much nights are taken to differ."""
    scale: list[float] | None
    """The least and the most that a score may be; None: that is not known."""

    @property
    def are_shares(self) -> bool:
        """Whether all scores are from 0 to 1, and its scale reaches no further."""
        import numpy

        known = self.nights.known[~numpy.isnan(self.nights.known)]
        return bool(((known >= 0) & (known <= 1)).all()) and all(0 <= end <= 1 for end in self.scale or ())


class _JobScores:
    """The scores of a job's occasions as arrays."""

    def __init__(self, table: "pyarrow.Table", min_answered: float) -> None:
        import numpy

        self._min_answered = min_answered
        self._runs, self._run_ids = _coded(table["run_id"])
        self._scorers, self._scorer_names = _coded(table["scorer"])
        self._models, self._model_names = _coded(table["model"])
        self._samples, self._keys = _coded(table["sample_key"])
        firsts = numpy.unique(self._runs, return_index=True)[1]
        self._occasions = table["occasion"].take(firsts).to_pylist()
        self._at = table["started_at"].take(firsts).to_pylist()
        self._settled = table["settled"].take(firsts).to_pylist()
        self._unsent = table["unsent"].take(firsts).to_numpy()
        began = numpy.full(len(self._model_names), len(firsts))
        numpy.minimum.at(began, self._models, self._runs)
        models = numpy.searchsorted(numpy.sort(began), numpy.arange(len(firsts)), side="right")
        self._series = models * (1 + numpy.maximum.accumulate(table["scorers"].take(firsts).to_numpy()))
        """By occasion: how many models it or an earlier one asked, times the scorers that its job has and the time they take."""
        self._values = {
            name: table[name].to_numpy(zero_copy_only=False).astype(float)
            for name in ("value", "low", "high", "of_scored")
        }
        self._scales = table["scale"]

    def each(self) -> list[_ModelNights]:
        """Return the series of every scorer and model."""
        found = []
        for scorer, name in enumerate(self._scorer_names):
            models = dict.fromkeys(self._models[self._scorers == scorer].tolist())
            found += [self._scores(scorer, name, model) for model in models]
        return found

    def _scores(self, scorer: int, name: str | None, model: int) -> _ModelNights:
        import numpy

        rows = numpy.flatnonzero((self._scorers == scorer) & (self._models == model))
        runs, samples = self._runs[rows], self._samples[rows]
        asked, known, unbounded = (
            numpy.bincount(runs[which], minlength=len(self._run_ids))
            for which in (
                numpy.ones(len(rows), bool),
                ~numpy.isnan(self._values["value"][rows]),
                numpy.isnan(self._values["low"][rows] + self._values["high"][rows]) & (name is not None),
            )
        )
        there = [place for place in range(len(self._run_ids)) if asked[place]]
        wanted = self._most_asked(scorer) + self._unsent
        covered = {
            place: Coverage(int(known[place]), int(wanted[place]), is_bounded=not unbounded[place]) for place in there
        }
        counting = [place for place in there if known[place] and covered[place].is_enough(self._min_answered)]
        arrays = {}
        for column, values in self._values.items():
            whole = numpy.full((len(self._run_ids), len(self._keys)), numpy.nan)
            whole[runs, samples] = values[rows]
            arrays[column] = whole[counting]
        at, scale = [self._at[place] for place in counting], self._scales[int(rows[-1])].as_py()
        return _ModelNights(
            name,
            self._model_names[model],
            [self._occasions[place] for place in there],
            [self._run_ids[place] for place in there],
            self._run_ids[-1],
            [self._settled[place] for place in there],
            [place in set(counting) for place in there],
            Nights(at, arrays["value"], arrays["low"], arrays["high"], arrays["of_scored"]),
            [int(self._series[place]) for place in counting],
            [place + 1 for place in counting],
            covered[there[-1]],
            self._assumed(scale, arrays["value"]),
            scale,
        )

    def _most_asked(self, scorer: int) -> "numpy.ndarray[Any, Any]":
        """By occasion the most samples that any of its models was asked."""
        import numpy

        found = numpy.zeros(len(self._run_ids), dtype=int)
        for model in range(len(self._model_names)):
            of_model = self._runs[(self._scorers == scorer) & (self._models == model)]
            found = numpy.maximum(found, numpy.bincount(of_model, minlength=len(found)))
        return found

    def _assumed(self, scale: list[float] | None, known: "numpy.ndarray[Any, Any]") -> list[float]:
        """By night a share of the scale; of a scorer without one, of how far apart nine tenths of its values were until then."""
        import numpy

        if scale is not None:
            return [ASSUMED_SPREAD * (scale[1] - scale[0])] * len(known)
        ends = [numpy.nanquantile(known[: night + 1], [0.05, 0.95]) for night in range(len(known))]
        return [ASSUMED_SPREAD * float(most - least) for least, most in ends]


def _coded(column: "pyarrow.ChunkedArray") -> "tuple[numpy.ndarray[Any, Any], list[Any]]":
    """Return a column's values as numbers from 0 on, in the order in which they appear, and what each stands for."""
    coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return coded.indices.to_numpy(zero_copy_only=False), coded.dictionary.to_pylist()


def _watched(job: str, scores: _ModelNights, rate: float, accepted: Sequence[Acceptance], zone: str) -> Watch:
    own = [one for one in accepted if one.model == scores.model]
    is_slower = scores.scorer is None
    rates = [rate / shared for shared in scores.shares]
    rule = Rule(rates, scores.places, scores.assumed)
    if is_slower:
        rule = Rule(rates, scores.places, None, math.log(SLOWER))
    found = watch(scores.nights, rule, [one.recorded_at for one in own])
    return Watch(
        scores.scorer,
        scores.model,
        scores.run_ids,
        scores.newest_run_id,
        frozenset(run_id for run_id, counts in zip(scores.run_ids, scores.counts, strict=True) if counts),
        scores.coverage,
        [_alarm(job, scores, drop, own, zone) for drop in found.drops],
        found.is_possible,
        found.is_compared,
        found.findable,
        None if found.level is None or scores.scale is None else found.level - scores.scale[0],
        scores.are_shares,
    )


def _here(occasion: str, zone: str) -> str:
    """Return a time in UTC as a zone has it; a day, which is one of that zone, and any other name as they are."""
    try:
        at = datetime.fromisoformat(occasion) if "T" in occasion else None
    except ValueError:
        at = None
    return occasion if at is None or at.tzinfo is None else f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M}"


def _alarm(job: str, scores: _ModelNights, drop: Drop, accepted: Sequence[Acceptance], zone: str) -> Alarm:
    counted = [place for place, counts in enumerate(scores.counts) if counts]
    began, seen = counted[drop.began], counted[drop.seen]
    is_slower = scores.scorer is None
    reasons = {one.recorded_at: one.reason for one in accepted}
    complete = (run_id for run_id, settled in list(zip(scores.run_ids, scores.settled, strict=True))[seen:] if settled)
    found = DropFound(
        kind="slower" if is_slower else "worse" if drop.is_of_scored else "unusable",
        state=drop.ending or "open",
        began=scores.occasions[began],
        difference=math.exp(-drop.difference) if is_slower else drop.difference,
        occasions=drop.nights,
        samples=drop.samples,
        before=drop.before,
        assumed=scores.assumed[drop.seen],
        are_shares=scores.are_shares,
        are_nights=len({_here(name, zone)[:10] for name in scores.occasions}) == len(scores.occasions),
        began_here=_here(scores.occasions[began], zone),
    )
    return Alarm(
        job,
        scores.model,
        scores.scorer,
        found,
        seen=scores.occasions[seen],
        fails_run_id=next(complete, None),
        ended=scores.occasions[counted[drop.ended]] if drop.ending == "recovered" and drop.ended is not None else None,
        accepted_at=drop.accepted_at,
        reason=None if drop.accepted_at is None else reasons[drop.accepted_at],
        level=math.exp(-drop.level) / 1000 if is_slower else drop.level,
    )


def watches_of(reader: Reader, job: Job) -> list[Watch]:
    """Return what a job watches of its models' scores; nothing where it watches for no change."""
    if job.gates is None:
        return []
    return [one for one in watches(reader, job.name, job.gates, job.compare.min_answered) if one.scorer is not None]
