"""The probes of a ledger: what each found of every route, what is known after all of them, and what changed."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

import msgspec

from workbench.ledger.queries import Reader
from workbench.ledger.rows import ForcedTools, ProbeAnswer
from workbench.planning.lint import RouteExperience
from workbench.routes.facts import RouteChange, RouteFacts, differences, facts_of, merge_facts, titles_found


class Probe(msgspec.Struct, frozen=True):
    """One run that asked routes what they can do."""

    run_id: str
    started_at: datetime
    routes: dict[str, RouteFacts]
    """By model, as found."""
    changes: tuple[RouteChange, ...]
    """From what was known before."""


class KnownRoute(msgspec.Struct, frozen=True):
    """What all probes together know of a route, and when the newest one asked it."""

    facts: RouteFacts
    probed_at: datetime


class Probed(msgspec.Struct, frozen=True):
    """Every probe of a ledger."""

    probes: tuple[Probe, ...] = ()
    """From the oldest to the newest."""
    known: dict[str, KnownRoute] = {}
    """By model."""

    @property
    def changes(self) -> list[RouteChange]:
        """All of them, the newest first."""
        return [change for probe in reversed(self.probes) for change in probe.changes]


def probed(reader: Reader) -> Probed:
    """Read what the probes of a ledger found; as their answers are kept, nothing more is recorded."""
    rows = reader.all(ProbeAnswer)
    known: dict[str, tuple[RouteFacts, dict[str, datetime]]] = {}
    probes = []
    for (run_id, started_at), answers in groupby(rows, key=lambda row: (row.run_id, row.started_at)):
        routes = {model: facts_of(list(own)) for model, own in groupby(answers, key=lambda row: row.model)}
        changes = [change for model, facts in routes.items() for change in _taken(known, model, facts, started_at)]
        probes.append(Probe(run_id, started_at, routes, tuple(changes)))
    newest = {model: probe.started_at for probe in probes for model in probe.routes}
    return Probed(tuple(probes), {model: KnownRoute(facts, newest[model]) for model, (facts, _) in known.items()})


def experience_of(reader: Reader, *, tools: bool) -> dict[str, RouteExperience]:
    """Return what lint may know of each route: what probes found, and how often forced tool calls came.

    Args:
        tools: Whether the latter is asked, which is looked for in every call.
    """
    known = probed(reader).known
    forced = {row.model: row for row in reader.all(ForcedTools)} if tools else {}
    found = {}
    for model in {*known, *forced}:
        facts = known[model].facts if model in known else RouteFacts()
        asked, called = (forced[model].forced, forced[model].called) if model in forced else (0, 0)
        found[model] = RouteExperience(asked, called, facts.thinks, facts.reports_usage, facts.keeps_cap)
    return found


def _taken(
    known: dict[str, tuple[RouteFacts, dict[str, datetime]]], model: str, facts: RouteFacts, at: datetime
) -> Sequence[RouteChange]:
    """Add what a probe found to what is known, and say what of it is new."""
    before, seen = known.get(model, (RouteFacts(), {}))
    changes = [
        RouteChange(model, what, old, new, at, seen.get(what, at)) for what, old, new in differences(before, facts)
    ]
    known[model] = (merge_facts(before, facts), seen | dict.fromkeys(titles_found(facts), at))
    return changes
