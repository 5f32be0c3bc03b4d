"""What the answers to a probe show of a route; None wherever they show nothing."""

import statistics
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from workbench.display.text import words
from workbench.evaluation.attention import ANOTHER
from workbench.ledger.rows import ProbeAnswer
from workbench.planning.models import PROBE

JOB = TAG = PROBE
"""A run of this job with this tag is a probe, as the view `probe_runs` has it; its value is the version of the questions."""
VERSION = "1"
PLAIN, TOOL, CAP = "plain", "tool", "cap"
CAP_TOKENS = 8
"""Fewer than any answer to its question needs."""
ROOM_TOKENS = 1024
"""Of the other two: enough for a model that thinks first."""
_FUNCTION = {
    "name": "report_weather",
    "description": "Report the weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The city's name."}},
        "required": ["city"],
    },
}
QUESTIONS: dict[str, dict[str, Any]] = {
    PLAIN: {"prompt": {"template": "What is 17 + 25? Answer with the number only."}, "max_tokens": ROOM_TOKENS},
    TOOL: {
        "prompt": {"template": "How is the weather in Lisbon?"},
        "max_tokens": ROOM_TOKENS,
        "tools": [{"type": "function", "function": _FUNCTION}],
        "tool_choice": {"type": "function", "function": {"name": _FUNCTION["name"]}},
    },
    CAP: {
        "prompt": {"template": "Write the numbers from 1 to 40 in words, one on each line."},
        "max_tokens": CAP_TOKENS,
    },
}
"""By variant of the job: its prompt and body fields."""


Answers = Literal["itself", "not told", "fallback", "no"]
Tools = Literal["called", "prose", "called by another model"]


class RouteFacts(msgspec.Struct, frozen=True):
    """One route, as one probe found it."""

    answers: Answers | None = None
    """`itself`: under its own name or a confirmed one; `not told`: under another one, or none; `fallback`: every answer was
    another model's, or is taken for it."""
    failure: str | None = None
    """How its calls ended, where none was answered."""
    names: tuple[str, ...] | None = None
    """Under which it answered itself; empty: its answers name none."""
    substitutes: tuple[str, ...] = ()
    """Other models that answered in its place."""
    unconfirmed: tuple[str, ...] = ()
    """Those of them that neither the model list nor the settings know."""
    tools: Tools | None = None
    """What a forced tool choice gave; by another model: under another name than the plain question's."""
    thinks: bool | None = None
    """Whether it reported reasoning, as text or as tokens."""
    reports_usage: bool | None = None
    """In every answer."""
    keeps_cap: bool | None = None
    """Whether it stopped at `max_tokens`."""
    latency_ms: float | None = None
    """Median of its answers."""


class RouteChange(msgspec.Struct, frozen=True):
    """What a probe found otherwise than the one that knew it before."""

    model: str
    what: str
    before: str
    after: str
    since: datetime
    """When the probe began that found it so."""
    before_at: datetime
    """When the last one began that found it as it was."""

    def __str__(self) -> str:
        return f"{self.what}: {self.before} → {self.after}"


def facts_of(answers: Sequence[ProbeAnswer]) -> RouteFacts:
    """Return what a probe's answers show of one route; of what another model answered, only that it did.

    Args:
        answers: To every question, those that failed too.
    """
    answered = [one for one in answers if one.accepted]
    failed = [one.outcome for one in answers if one.outcome is not None and one.concluded and not one.accepted]
    if not answered:
        return RouteFacts(answers="no", failure=statistics.mode(failed)) if failed else RouteFacts()
    own = [one for one in answered if one.identity not in ANOTHER]
    substitutes = _names([one for one in answered if one.identity in ANOTHER])
    if not own:
        return RouteFacts(answers="fallback", substitutes=substitutes)
    return RouteFacts(
        answers="itself" if any(one.identity != "unknown" for one in own) else "not told",
        names=_names(own),
        substitutes=substitutes,
        unconfirmed=_names([one for one in own if one.identity == "unknown"]),
        tools=_tools(answered),
        thinks=any(one.reasoned or one.reasoning_tokens for one in own),
        reports_usage=all(one.total_tokens is not None for one in own),
        keeps_cap=_keeps_cap([one for one in own if one.question == CAP]),
        latency_ms=statistics.median(one.latency_ms for one in own if one.latency_ms is not None),
    )


def _names(answers: Sequence[ProbeAnswer]) -> tuple[str, ...]:
    return tuple(sorted({one.served_model for one in answers if one.served_model is not None}))


def _tools(answered: Sequence[ProbeAnswer]) -> Tools | None:
    """Return what a forced choice gave; a call counts only if whoever answered the plain question made it."""
    plain = {one.served_model for one in answered if one.question == PLAIN and one.identity not in ANOTHER}
    asked = [one for one in answered if one.question == TOOL]
    if not asked:
        return None
    own = [one for one in asked if one.identity not in ANOTHER and (not plain or one.served_model in plain)]
    if any(one.tool_calls for one in own):
        return "called"
    if own:
        return "prose"
    return "called by another model" if any(one.tool_calls for one in asked) else None


def _keeps_cap(capped: Sequence[ProbeAnswer]) -> bool | None:
    found = [kept for one in capped if (kept := _kept(one)) is not None]
    return all(found) if found else None


def _kept(answer: ProbeAnswer) -> bool | None:
    """Return whether an answer kept to its cap: by its usage, else by its words, of which each is at least a token."""
    if answer.completion_tokens is not None and answer.completion_tokens > CAP_TOKENS:
        return False
    if len((answer.answer or "").split()) > CAP_TOKENS:
        return False
    return True if answer.finish_reason == "length" else None


def merge_facts(known: RouteFacts, newer: RouteFacts) -> RouteFacts:
    """Return what is known after another probe: what it found, else what was known."""
    if newer.answers is None:
        return known
    found = {name: value for name, value in msgspec.structs.asdict(newer).items() if value is not None}
    if newer.answers not in ("itself", "not told"):
        del found["unconfirmed"]
    if set(found.get("names", ())) <= set(known.names or ()):  # servers that share the work answer in turn
        found.pop("names", None)
    return msgspec.structs.replace(known, **{"failure": None, **found})


def differences(known: RouteFacts, newer: RouteFacts) -> Iterator[tuple[str, str, str]]:
    """Return what a newer probe found otherwise, as (what, before, after) in words; latency varies and is left out."""
    for name, title in _TITLES.items():
        before, after = getattr(known, name), getattr(newer, name)
        if name == "answers":  # whichever way a route fails, it does not answer
            before, after = (before and (before, known.substitutes)), (after and (after, newer.substitutes))
        if name == "names" and set(after or ()) <= set(before or ()):
            continue
        if before is not None and after is not None and before != after:
            yield title, fact_text(name, known), fact_text(name, newer)


def titles_found(facts: RouteFacts) -> Iterator[str]:
    """Return what of a route is known, in the words of its changes."""
    return (title for name, title in _TITLES.items() if getattr(facts, name) is not None)


_TITLES = {
    "answers": "who answers",
    "names": "answers as",
    "tools": "forced tool call",
    "thinks": "reasoning",
    "reports_usage": "usage",
    "keeps_cap": "max_tokens",
}
_SAID = {
    "thinks": ("reported", "none"),
    "reports_usage": ("in every answer", "missing"),
    "keeps_cap": ("kept", "ignored"),
}


def fact_text(name: str, facts: RouteFacts) -> str:
    """Return one fact in words; `–` where it is not known.

    Args:
        name: Of a field of `RouteFacts`.
        facts: Of the route.
    """
    value = getattr(facts, name)
    if value is None:
        return "–"
    if name == "answers":
        failed, others = (facts.failure or "").replace("_", " "), words(list(facts.substitutes))
        if value == "no":
            return f"no: {failed}"
        if value == "fallback":
            return f"{others} in its place"
        own = "itself" if value == "itself" else "not told by its name"
        return f"{own}, and {others}" if others else own
    if name == "names":
        return words(list(value)) if value else "not named"
    return _SAID[name][0 if value else 1] if name in _SAID else str(value)
