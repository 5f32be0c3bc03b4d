"""What has changed of a job's models: alarms, and the newest run beside the one before."""

import math
from collections.abc import Sequence
from datetime import date
from typing import Any

import msgspec

import workbench.display.commands as commands
from workbench.display.text import count, plural, words
from workbench.evaluation.alarms import Alarm, Watch, open_of
from workbench.evaluation.job_changes import JobChange
from workbench.evaluation.ongoing import NOT_ENDED, RUNNING
from workbench.ledger.gates import DropFound
from workbench.ledger.job_rows import JobCourse, JobRun
from workbench.records.endings import SETTLED, RunStatus
from workbench.stats.series import FEW_NIGHTS
from workbench.wording.routes import day_text
from workbench.wording.scores import size


def alarm_text(alarm: Alarm) -> str:
    """Return an alarm in a sentence: `Quill 32B is 23.9 points below its level before 10 Nov by “numeric”; 15 nights; open`."""
    return drop_text(alarm.model, alarm.scorer, alarm.found)


def alarm_what(alarm: Alarm) -> str:
    """Return the same without how long it shows, and its state."""
    return drop_what(alarm.model, alarm.scorer, alarm.found)


def alarm_lasts(alarm: Alarm) -> str:
    """Return how long it shows."""
    return _many(alarm.found.occasions, alarm.found)


def drop_text(model: str, scorer: str | None, found: DropFound) -> str:
    """Return a drop in a sentence."""
    return f"{drop_what(model, scorer, found)}; {_many(found.occasions, found)}; {found.state}"


def drop_what(model: str, scorer: str | None, found: DropFound) -> str:
    """Return what a drop is."""
    since = f"before {_day(found.began_here or found.began, found.are_nights)}"
    if found.kind == "slower":
        return f"{model} takes {found.difference:.1f} times as long as {since}"
    below = f"{size(-found.difference, are_shares=found.are_shares)} below its level {since} by “{scorer}”"
    if found.kind == "worse":
        return f"{model} is {below}"
    return f"unusable answers of {model} rose: it is {below}, which its scored answers alone do not show"


def assumes_text(found: DropFound) -> str:
    """Return what a drop rests on that its nights did not show; empty where they are enough."""
    if found.before >= FEW_NIGHTS:
        return ""
    assumed = size(found.assumed, are_shares=found.are_shares)
    return f"assuming that nights differ by {assumed} for reasons of their own: {_many(found.before, found)} before it"


def _many(number: int, found: DropFound) -> str:
    return plural(number, "night" if found.are_nights else "run")


def _day(occasion: str, are_nights: bool) -> str:
    """Return an occasion as people say it."""
    try:
        day = date.fromisoformat(occasion[:10])
    except ValueError:
        return occasion
    return day_text(day) if are_nights else f"{day_text(day)} {occasion[11:16]}".strip()


def alarm_objects(found: Sequence[Alarm]) -> list[dict[str, Any]]:
    """Alarms as plain values, each with its sentence."""
    return [
        {"job": alarm.job, "model": alarm.model, "scorer": alarm.scorer}
        | msgspec.structs.asdict(alarm.found)
        | {name: getattr(alarm, name) for name in ("seen", "fails_run_id", "ended", "accepted_at", "reason", "level")}
        | {"says": alarm_text(alarm)}
        for alarm in found
    ]


def open_lines(found: Sequence[Alarm], ledger: str, *, named: bool = True) -> list[str]:
    """Return what is open, a line per alarm, and the command that accepts it.

    Args:
        found: Of which some are open.
        ledger: The path that commands take.
        named: Whether each line names its job.
    """
    standing = [alarm for alarm in found if alarm.state == "open"]
    lines = [f"{alarm.job}: {alarm_text(alarm)}" if named else alarm_text(alarm) for alarm in standing]
    jobs = dict.fromkeys(alarm.job for alarm in standing)
    return lines + [f"accept it with: {commands.accept_changes(job, ledger)}" for job in jobs]


def findable_text(watch: Watch) -> str:
    """Return how large a drop must be to be found soon."""
    series = f"{watch.model}, “{watch.scorer}”"
    if watch.findable is None:
        return f"{series}: {'one is open' if watch.alarms else 'how large a drop must be shows with its first run'}"
    drop = _findable_drop(watch)
    if drop is None:
        return f"{series}: no drop is found within three runs: it has too few samples, or too few runs so far"
    return f"{series}: a drop of {drop} is found within three runs, nine times in ten"


def found_soon_text(watches: Sequence[Watch]) -> str:
    """Return how large a drop of each model must be to be found soon, in a line; empty where that is not known of any."""
    known = [f"{drop} of {one.model} by “{one.scorer}”" for one in watches if (drop := _findable_drop(one)) is not None]
    return f"Found within three runs, nine times in ten: a drop of {words(known)}." if known else ""


def _findable_drop(watch: Watch) -> str | None:
    """Return how large a drop must be; None where it is not known, or larger than the score can fall."""
    if watch.findable is None or watch.findable == math.inf or (watch.room is not None and watch.findable > watch.room):
        return None
    return size(watch.findable, are_shares=watch.are_shares)


def course_title(question: str, alarms: Sequence[Alarm]) -> str:
    """Return what a chart over a job's runs shows where something is open, or else the question that it answers.

    Args:
        alarms: The open ones of what the chart shows.
    """
    if not alarms:
        return question
    if len(alarms) > 1:
        slower = all(alarm.found.kind == "slower" for alarm in alarms)
        return f"{plural(len(alarms), 'model')} {'take longer' if slower else 'score less'} than before"
    (alarm,) = alarms
    since = f"since {_day(alarm.found.began_here or alarm.found.began, alarm.found.are_nights)}"
    if alarm.found.kind == "slower":
        return f"{alarm.model} takes {alarm.found.difference:.1f} times as long {since}"
    return f"{alarm.model} scores {alarm.level + alarm.found.difference:.2f} {since}, {alarm.level:.2f} before"


def change_text(change: JobChange) -> str:
    """Return what the newest run shows: `mini scores 12.0 points less by “numeric”, 14–2 on 60 samples`."""
    pair = change.known
    value = size(abs(pair.difference), are_shares=change.are_shares)
    more = "more" if pair.difference > 0 else "less"
    ahead, behind = sorted((pair.better, pair.worse), reverse=True)
    return f"{change.model} scores {value} {more} by “{change.scorer}”, {ahead}–{behind} on {plural(pair.n, 'sample')}"


_MOST_NAMED = 3
"""Models that a sentence names."""


def job_verdict(
    runs: Sequence[JobRun],
    changes: Sequence[JobChange],
    watches: Sequence[Watch],
    course: Sequence[JobCourse],
    *,
    is_cut: bool,
    is_watched: bool,
) -> str:
    """Return what is open, or else the newest run against the level before or the run before, in a sentence or two.

    Args:
        runs: The newest ones, the newest first.
        watches: What its scheduled runs show of a level; none where it has none.
        is_cut: Whether the job may have more runs.
        is_watched: Whether it watches for changes, so that they are alarms.
    """
    newest = runs[0]
    how_many = f"{plural(len(runs), 'run')}{' or more' if is_cut else ''}"
    ended = f"{how_many}; the newest {_ended(newest.status)}{_unanswered(newest, course)}."
    if standing := open_of(watches):
        state = "; open" if is_watched else ""
        text = ". ".join(f"{alarm_what(alarm)}; {alarm_lasts(alarm)}{state}" for alarm in standing)
        return f"{text}. {ended}" if is_watched else f"{text}. {unwatched_text(standing)} {ended}"
    if len(runs) == 1:
        how = f"{_ended(newest.status)}{_unanswered(newest, course)}"
        such = "" if how == _ended(RunStatus.COMPLETE) else f", which {how}"
        return f"One run so far{such}: there is nothing to compare it with."
    beside = _beside_the_run_before(runs, changes)
    if not (level := _beside_the_level(runs, watches)):
        return f"{ended} {beside}"
    return (
        f"{ended} {level} {beside}" if any(change.verdict != "none shown" for change in changes) else f"{ended} {level}"
    )


def unwatched_text(found: Sequence[Alarm]) -> str:
    """Return how a job would have watched for what it shows."""
    scorers = words(list(dict.fromkeys(f'"{one.scorer}"' for one in found)))
    return f"No alarm is set for it: steady = [{scorers}] under [gates] sets one."


def accepted_lately(runs: Sequence[JobRun], watches: Sequence[Watch]) -> list[Alarm]:
    """Return what began with one of these runs and was accepted."""
    occasions = {run.occasion for run in runs}
    found = [alarm for watch in watches for alarm in watch.alarms if alarm.state == "accepted"]
    return [alarm for alarm in found if alarm.found.began in occasions]


def _beside_the_level(runs: Sequence[JobRun], watches: Sequence[Watch]) -> str:
    """Return how the newest occasion stands beside the level before, where nothing is open; empty where there is no level yet."""
    scored = [watch for watch in watches if watch.scorer is not None]
    if not any(watch.is_compared for watch in scored):
        return ""
    accepted = accepted_lately(runs, watches)
    says = "".join(f"{alarm_what(one)}; accepted{f': {one.reason}' if one.reason else ''}. " for one in accepted)
    since = " since" if accepted else ""
    untold = words(list(dict.fromkeys(one.model for one in scored if one.is_possible or not one.is_compared)))
    of_them = f"; of {untold} it cannot be told" if untold else ""
    return f"{says}No model is shown to be below its level{since}{of_them}."


def compared_text(runs: Sequence[JobRun]) -> str:
    """Return which runs a job's differences are of, as the head of their list: runs that are not complete are passed over."""
    if runs[0].status not in SETTLED:
        return "The two newest complete runs"
    is_next = len(runs) > 1 and runs[1].status in SETTLED
    return f"Beside the {'run' if is_next else 'complete run'} before"


def _beside_the_run_before(runs: Sequence[JobRun], changes: Sequence[JobChange]) -> str:
    is_of_newest = runs[0].status in SETTLED
    if not changes:
        if not is_of_newest or runs[1].status not in SETTLED:
            return "Runs that are not complete are not compared."
        return "It asked nothing again that the run before has a result for."
    shown = _shown_text([change for change in changes if change.verdict != "none shown"])
    before = "the run before" if runs[1].status in SETTLED else "the complete run before"
    if not shown:
        which = f"from {before}" if is_of_newest else "between the two complete runs before it"
        return f"No difference {which} is shown."
    if is_of_newest:
        return f"{shown}, compared with {before}."
    return f"In the complete run before it {shown}, compared with the one before that."


def _shown_text(shown: Sequence[JobChange]) -> str:
    if len(shown) <= _MOST_NAMED:
        return "; ".join(map(change_text, shown))
    worse = sum(one.verdict == "worse" for one in shown)
    counted = [
        f"{plural(number, 'model')} score{'s' if number == 1 else ''} {how}"
        for number, how in ((worse, "less"), (len(shown) - worse, "more"))
        if number
    ]
    return f"{words(counted)} by “{shown[0].scorer}”"


def listed_changes(changes: Sequence[JobChange], open_alarms: Sequence[Alarm]) -> list[JobChange]:
    """Return the changes that a test shows and `job_verdict` does not name one by one."""
    shown = [change for change in changes if change.verdict != "none shown"]
    return shown if open_alarms or len(shown) > _MOST_NAMED else []


def _unanswered(run: JobRun, course: Sequence[JobCourse]) -> str:
    """Return which models of a run that is over lack answers, the worst first, as the end of a sentence."""
    if run.status == RUNNING:
        return ""
    own = [row for row in course if row.run_id == run.run_id]
    answered = {row.model: round((1 - row.failed_share) * row.requests) for row in own}
    each = max((row.requests for row in own), default=0)
    if sum(row.requests for row in own) < run.planned:
        if each * len(own) != run.planned:  # it ended before it came to the others, of whichever model
            unanswered = run.planned - sum(answered.values())
            return f" ({count(unanswered)} of {plural(run.planned, 'request')} unanswered)"
        asked = dict.fromkeys(answered, each)  # a model was given up, and another one sent all of its part
    else:
        asked = {row.model: row.requests for row in own}
    lacking = sorted((model for model in asked if answered[model] < asked[model]), key=lambda model: answered[model])
    said = [
        f"{model}: {count(asked[model] - answered[model])} of {plural(asked[model], 'request')} unanswered"
        for model in lacking[:_MOST_NAMED]
    ]
    if len(lacking) > len(said):
        said.append(f"and {len(lacking) - len(said)} more")
    return f" ({'; '.join(said)})" if said else ""


def _ended(status: str | None) -> str:
    """Return how a run ended, as a sentence goes on."""
    return "failed its gates" if status == "gate_failed" else f"is {(status or NOT_ENDED).replace('_', ' ')}"
