"""Routes in words."""

from collections.abc import Sequence
from datetime import date, timedelta

import workbench.display.commands as commands
import workbench.display.text as people
import workbench.settings.clock as clock
from workbench.evaluation.attention import Attention, day_of
from workbench.routes.days import RECENT_DAYS, Outage, Strip, StripDay
from workbench.routes.facts import RouteFacts
from workbench.routes.health import Worst
from workbench.routes.identity import RouteIdentity
from workbench.routes.names import Episode
from workbench.routes.overview import STATES, AccountRoute, AccountRoutes, LateAnswers

_NAMED = 3


def days_text(first: date, last: date) -> str:
    """Return a day or several: `3 Nov`, `3–4 Nov`, `28 Oct – 2 Nov`."""
    if first == last:
        return day_text(last)
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{day_text(last)}"
    return f"{day_text(first)} – {day_text(last)}"


def day_text(day: date) -> str:
    """Return a day, with its year where that is not this one."""
    return f"{day.day} {day:%b}" + ("" if day.year == clock.now().year else f" {day.year}")


def routes_verdict(found: AccountRoutes) -> str:
    """Return how the routes are now, in a sentence or two; which were not asked, and when they last were."""
    if not found.routes or found.recent is None:
        return "No calls yet."
    silent = [route for route in found.routes if route.state == "not asked"]
    asked, until = len(found.routes) - len(silent), day_text(found.recent.last_day)
    when = f"in the {RECENT_DAYS} days to {until}"
    if not asked:
        return f"No route was asked {when}. Last asked: {_last_asked(silent, '')}."
    counted = [(state, sum(route.state == state for route in found.routes)) for state in STATES]
    states = people.words([f"{number} {state}" for state, number in counted if number])
    text = f"{people.plural(asked, 'route')} asked {when}: {states}."
    looked = list(dict.fromkeys(item.model for item in found.attention))
    if looked:
        text += f" Needs attention: {_named(looked)}."
    return f"{text} Not asked in these days: {_last_asked(silent, 'last on ')}." if silent else text


def _named(items: Sequence[str]) -> str:
    """Return the first few of a list, and how many others there are."""
    if len(items) <= _NAMED:
        return people.words(items)
    return f"{', '.join(items[:_NAMED])} and {people.plural(len(items) - _NAMED, 'other')}"


def _last_asked(silent: Sequence[AccountRoute], last: str) -> str:
    newest = sorted(silent, key=lambda route: route.last_day, reverse=True)
    return _named([f"{route.model} ({last}{day_text(route.last_day)})" for route in newest])


def attention_text(item: Attention) -> str:
    """Return why a route needs attention, with the days on which it was so."""
    part, whole = people.count(round(item.part)), people.count(item.whole)
    on = days_text(item.first_day, item.last_day)
    match item.kind:
        case "failing":
            return f"{part} of its newest {whole} calls failed, most often {item.detail.replace('_', ' ')} ({on})"
        case "fallback":
            return f"{part} of its {whole} answers are of {item.detail} ({on})"
        case "suspected":
            return (
                f"{part} of its {whole} answers are under {item.detail}, which is not its name: probably another model's "
                f"({on})"
            )
        case "new name":
            return f"it now answers as {item.detail}, which is not confirmed ({on})"
        case "slower":
            longer = f"{people.significant(item.part)} times as long as those of {item.detail} (medians)"
            return f"its {whole} answers of {on} took {longer}"
        case "no tool call":
            return f"answered without a tool call {part} of the {whole} times that one was forced ({on})"
        case _:
            return f"{part} of its {whole} answers came without usage ({on})"


def earlier_text(one: Episode | Outage) -> str:
    """Return what is over of a route, with its days; without the runs."""
    on = days_text(one.first_day, one.last_day)
    if isinstance(one, Episode):
        return f"answered by {one.served_model} on {on}, {people.plural(one.answers, 'answer')}"
    failed = f"dead on {on}, {people.plural(one.calls, 'failed call')}"
    if one.accepted_again is None:
        return f"{failed}, and not asked since"
    return f"{failed}; answers again since {day_text(one.accepted_again)}"


def strip_text(strip: Strip) -> str:
    """Return a route's days in words: how many were fine, and which were not."""
    first, last = strip.days[0].day, strip.days[-1].day
    parts = []
    for state, says in _DAYS.items():
        days = [one.day for one in strip.days if one.state == state]
        if days:
            parts.append(f"{says} on {people.words([days_text(*ends) for ends in _in_a_row(days)])}")
    fine = sum(one.state == "ok" for one in strip.days)
    return f"{days_text(first, last)}: " + people.words([f"ok on {people.plural(fine, 'day')}", *parts])


_DAYS = {"fallback": "answered by another model", "failed": "failed", "no call": "no call"}


def _in_a_row(days: Sequence[date]) -> list[tuple[date, date]]:
    """Return the first and the last of each row of days that follow each other."""
    found: list[tuple[date, date]] = []
    for day in days:
        if found and day - found[-1][1] == timedelta(days=1):
            found[-1] = found[-1][0], day
        else:
            found.append((day, day))
    return found


def strip_day_text(one: StripDay) -> str:
    """Return what a day of a route was like."""
    on = day_text(one.day)
    if not one.calls:
        return f"{on}: no call"
    parts = [f"{on}: {one.state}", people.plural(one.calls, "call")]
    parts += [f"{people.count(one.not_accepted)} failed"] if one.not_accepted else []
    parts += [f"{people.count(one.substituted)} answered by another model"] if one.substituted else []
    return ", ".join(parts)


EVIDENCE = {
    "names itself": "its id",
    "base in the model list": "the base that the model list names for it",
    "base in the model list, without a prefix": "the base that the model list names for it, but for a prefix or capitals",
    "confirmed in the settings": "confirmed as its name in workbench.toml",
    "its id without a prefix": "its id but for a prefix or capitals",
    "another model of the list": "another model of the list, so a fallback",
    "confirmed name of another model": "confirmed in workbench.toml as the name of another model, so a fallback",
    "not the confirmed name": "not a name that workbench.toml confirms, so a fallback",
    "not in the model list": "not in the model list, so perhaps its own name and perhaps another model's",
    "not its name, which it has given": "not the name that it gave in other answers, so probably another model's",
    "not its name, where all others give theirs": "not its name, where all others give theirs, so probably another model's",
}
"""What each evidence of `served_identities` says that a name is."""


def identity_text(one: RouteIdentity, zone: str) -> str:
    """Return what it rests on that a route is who it says, in a sentence."""
    parts = []
    for row in one.names:
        which = "all" if row.answers == one.answers else f"{people.count(row.answers)} of"
        on = days_text(day_of(row.first_at, zone), day_of(row.last_at, zone))
        came = f"{which} {people.plural(one.answers, 'answer')} ({on}) came as {row.served_model}"
        parts.append(f"{came}, which is {EVIDENCE[str(row.evidence)]}")
    if one.probed is not None:
        day = day_text(day_of(one.probed.probed_at, zone))
        parts.append(f"the probe of {day} {_probe_found(one.probed.facts)}")
    return "; ".join(parts)


def _probe_found(facts: RouteFacts) -> str:
    """Return what a probe says of who answers."""
    names, others = people.words(list(facts.names or ())), people.words(list(facts.substitutes))
    match facts.answers:
        case "itself":
            text = f"confirms it: it was answered under {names}"
        case "not told":
            text = (
                f"does not settle it: it was answered under {names}"
                if names
                else "does not settle it: no answer named a model"
            )
        case "fallback":
            return f"casts doubt on it: {others} answered in its place"
        case _:
            return f"got no answer: {(facts.failure or 'not known').replace('_', ' ')}"
    return f"{text}, and by {others} in its place" if others else text


def unconfirmed_text(model: str, served: str, constancy: str, ledger: str) -> str:
    """Return what to do about a served name in a ledger that may be the model itself."""
    return (
        f"Whether {served}, {constancy} of {model}, is that model: the model list does not have "
        f"it. Where it is, confirm it: {commands.confirm_name(model, served, ledger)}"
    )


def worst_text(one: Worst) -> str:
    """Return how bad a route was at its worst, beside how it usually is."""
    if one.what == "slow answers":
        usual = people.milliseconds(one.usual)
        return f"median {people.milliseconds(one.part)} of {people.plural(one.whole, 'answer')} (usually {usual})"
    of = "calls" if one.what == "failures" else "answers"
    return f"{people.percent(one.part)} of {people.count(one.whole)} {of} ({people.percent(one.usual)} over all)"


def late_text(late: LateAnswers) -> str:
    """Return the shares and what they rest on."""
    row, parts = late.row, []
    if late.beyond_limit:
        parts.append(
            f"{_share(late.beyond_limit, late.answers)} came later than one try may last "
            f"({people.milliseconds(row.limit_ms)}, as its runs assume; the latest after {people.milliseconds(row.longest_ms)})"
        )
    if late.near_failures:
        parts.append(
            f"{_share(late.near_failures, late.answers)} came as late as one or two failed tries and an answer "
            f"(a try of its {people.count(row.failures)} failures lasts {people.milliseconds(row.try_ms)}, an answer "
            f"{people.milliseconds(row.p50_ms)}, by their medians)"
        )
    return "; ".join(parts)


def _share(part: int, whole: int) -> str:
    return f"{people.percent(part / whole)} of its answers ({people.count(part)} of {people.count(whole)})"


def no_name_text(answers: int, substituted: int) -> str:
    """Return why no name is known under which a route itself answers.

    Args:
        answers: Its answers, whoever gave them.
        substituted: Those that another model gave.
    """
    if not answers:
        return "never answered"
    return "never by itself" if substituted == answers else "not named"
