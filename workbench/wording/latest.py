"""What has changed since yesterday, in words, each with the command that leads on."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

import workbench.display.commands as commands
from workbench.allowance.lately import Lately
from workbench.display.text import percent, plural
from workbench.evaluation.alarms import Alarm
from workbench.evaluation.latest import Latest
from workbench.evaluation.ongoing import NOT_ENDED
from workbench.ledger.job_rows import RunLine
from workbench.wording.allowance import at_least, units
from workbench.wording.changes import alarm_what

_MOST_NAMED = 3


class Line(NamedTuple):
    """One thing that has changed."""

    says: str
    """How it begins; the names of jobs and the rest follow."""
    jobs: tuple[str, ...]
    then: str
    command: str
    """What leads on."""
    kind: str = ""
    """The mark before it: ok, wasted or failed; empty: none."""


def latest_lines(found: Latest, drawn: Lately, zone: str, ledger: str) -> list[Line]:
    """Return what has changed, alarms first."""
    return [
        *(
            Line(
                "Alarm opened: ", (one.job,), f": {alarm_what(one)}", commands.accept_changes(one.job, ledger), "wasted"
            )
            for one in found.opened
            if one.state == "open"
        ),
        *(
            Line(f"Alarm {one.state}: ", (one.job,), f": {alarm_what(one)}", _over(one, ledger), "ok")
            for one in found.over
        ),
        *(
            []
            if found.scheduled or not found.has_schedule
            else [Line("No scheduled run", (), "", commands.on_ledger(ledger, "schedule"))]
        ),
        *_runs(found.scheduled, "scheduled run", found, ledger),
        *_runs(found.others, "other run" if found.has_schedule else "run", found, ledger),
        *(
            [Line(_drawn_text(drawn, zone), (), "", commands.on_ledger(ledger, "allowance"))]
            if drawn.since.calls or drawn.window is not None
            else []
        ),
    ]


def _runs(runs: Sequence[RunLine], what: str, found: Latest, ledger: str) -> Iterator[Line]:
    """Return how many runs there were, and how they ended."""
    if not runs:
        return
    ends = Counter((run.status or NOT_ENDED).replace("_", " ") for run in runs)
    jobs = tuple(dict.fromkeys(run.job for run in runs))
    named, of = (jobs, "") if len(jobs) <= _MOST_NAMED else ((), f"{len(jobs)} jobs")
    many = plural(len(runs), what) if found.is_whole else f"At least {plural(len(runs), what)}"
    is_well = set(ends) == {"complete"}
    how = next(iter(ends)) if len(ends) == 1 else ", ".join(f"{number} {end}" for end, number in ends.most_common())
    yield Line(f"{many} of ", named, f"{of}: {how}", commands.on_ledger(ledger, "runs"), "ok" if is_well else "wasted")


def _over(alarm: Alarm, ledger: str) -> str:
    """Return what leads on from an alarm that is over: an acceptance can be taken back."""
    if alarm.state == "accepted":
        return commands.take_back_acceptance(alarm.job, alarm.model, ["--ledger", ledger])
    return commands.on_ledger(ledger, "runs")


def _drawn_text(drawn: Lately, zone: str) -> str:
    """Return what our calls used, and how much of the window that makes with what was used before."""
    least = "at least " if drawn.since.unknown_calls else ""
    says = f"Our calls used {least}{units(drawn.since.units)} {drawn.unit}"
    if drawn.since.unweighted_tokens:
        says += f", and {units(drawn.since.unweighted_tokens)} tokens of models without a weight"
    if drawn.window is None or drawn.in_window is None:
        return says
    of = (
        ""
        if drawn.total_units is None
        else f" of {units(drawn.total_units)} ({percent(drawn.in_window.units / drawn.total_units)})"
    )
    begin = drawn.window.start_at.astimezone(ZoneInfo(zone))
    used = f"{at_least(drawn.in_window)}{units(drawn.in_window.units)}{of}"
    return f"{says}; {used} since the window began on {begin.day} {begin:%b}"
